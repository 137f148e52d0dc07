"""Logs with known repairs and harms, and the plain formulas of what deferring is worth."""

import math

import numpy as np

from carve_stats.counts import ReplayCounts
from carve_stats.outcomes import Outcomes

# Of the published LVBench table: score, questions, original right, repairs, harms. 1,258 questions
# with 572 right; 538 have Δ̂ <= 0. The 162 repairs and 98 harms in all are the split that fits the
# published random control; the totals of right answers by sign are not published, and free.
PUBLISHED = [
    ((2, 1, 3), 166, 70, 33, 19),  # Δ̂ < 0: x = 2 SHAM flips, y = 1 DESTROY flip, k = 3
    ((1, 1, 3), 372, 160, 65, 38),  # Δ̂ = 0
    ((0, 2, 3), 711, 338, 64, 41),  # Δ̂ > 0
    ((0, 0, 0), 9, 4, 0, 0),  # no valid replay
]


def published_log(**outcome_columns):
    """Counts and outcomes with the published figures, in 103 videos."""
    rows = []
    for flips, questions, right, repairs, harms in PUBLISHED:
        kinds = [
            (0, 1, repairs),
            (1, 0, harms),
            (1, 1, right - harms),
            (0, 0, questions - right - repairs),
        ]
        rows += [(*flips, before, after) for before, after, n in kinds for _ in range(n)]
    x, y, k, original, fallback = zip(*rows, strict=True)
    ids = [f"q{i:04d}" for i in range(len(rows))]
    videos = [f"v{i % 103:03d}" for i in range(len(rows))]
    counts = ReplayCounts(ids, x, k, y, k, cluster=videos)
    return counts, Outcomes(ids, original, {"strong": fallback}, **outcome_columns)


def random_log(rng, *, n=200, clusters=20, k=3, ragged=False, **outcome_columns):
    """A random log; some questions have no score where it is ragged."""
    replays = rng.integers(0, k + 1, (2, n)) if ragged else np.full((2, n), k)
    ids = [f"q{i:05d}" for i in range(n)]
    videos = [f"v{v:03d}" for v in rng.integers(0, clusters, n)]
    flips = rng.binomial(replays, [[0.4], [0.6]])
    counts = ReplayCounts(ids, flips[0], replays[0], flips[1], replays[1], cluster=videos)
    original, fallback = rng.binomial(1, [[0.5], [0.6]], (2, n))
    return counts, Outcomes(ids, original, {"strong": fallback}, **outcome_columns)


def clustered_se(influence, cluster):
    """√(V/(V−1) Σ_v (Σ_{i∈v} φ_i)²)/n, summed in plain Python."""
    totals = {}
    for phi, video in zip(influence, cluster, strict=True):
        totals[video] = totals.get(video, 0.0) + phi
    v = len(totals)
    return math.sqrt(v / (v - 1) * math.fsum(t * t for t in totals.values())) / len(cluster)


def jackknife_se(statistic, cluster):
    """Delete-one-cluster jackknife of a statistic of a mask of questions."""
    cluster = np.asarray(cluster)
    values = [statistic(cluster != video) for video in np.unique(cluster)]
    v = len(values)
    return math.sqrt((v - 1) / v * np.sum((np.array(values) - np.mean(values)) ** 2))
