"""Logs with unequal replays, and what a rule does to them by choosing replays one by one."""

import itertools
import operator
from fractions import Fraction
from functools import cache

import numpy as np

from carve_stats.counts import ReplayCounts
from carve_stats.outcomes import Outcomes

COMPARE = {
    "<=": operator.le, "<": operator.lt, "=": operator.eq, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


def selects(rule, score):
    """Whether a rule such as ``score <= 1/3`` selects a score, a Fraction."""
    _, sign, threshold = rule.split()
    return COMPARE[sign](score, Fraction(threshold))


@cache
def propensity(rule, x, k_sham, y, k_destroy, k):
    """The share of all choices of k replays of each arm that the rule selects."""
    sham, destroy = [1] * x + [0] * (k_sham - x), [1] * y + [0] * (k_destroy - y)
    chosen = [
        selects(rule, Fraction(sum(b) - sum(a), k))
        for a in itertools.combinations(sham, k)
        for b in itertools.combinations(destroy, k)
    ]
    return Fraction(sum(chosen), len(chosen))


def rows_of(counts):
    """Flips and replays of each question: x, k_sham, y, k_destroy."""
    columns = counts.sham_flips, counts.sham_replays, counts.destroy_flips, counts.destroy_replays
    return list(zip(*(column.tolist() for column in columns), strict=True))


def values_of(outcomes):
    """1 a repair, -1 a harm, 0 neither."""
    return (
        (outcomes.alternatives["strong"].correct - outcomes.original_correct).astype(int).tolist()
    )


def uneven_log(rng, *, n=90, k=4, clusters=9, smaller=5, without=4):
    """Most questions have k or k + 1 replays an arm; some fewer, and some no score."""
    made = rng.integers(k, k + 2, (2, n))
    made[:, :without] = [[0], [2]]
    made[:, without : without + smaller] = rng.integers(1, k, (2, smaller))
    ids = [f"q{i:03d}" for i in range(n)]
    flips = rng.binomial(made, rng.choice([0.2, 0.5, 0.8], (2, n)))
    videos = [f"v{v}" for v in rng.integers(0, clusters, n)]
    counts = ReplayCounts(ids, flips[0], made[0], flips[1], made[1], cluster=videos)
    original, fallback = rng.binomial(1, [[0.45], [0.6]], (2, n))
    return counts, Outcomes(ids, original, {"strong": fallback})


def used(counts, k):
    """Whether a question is in the curve: it has no score, or k replays in both arms."""
    least = np.minimum(counts.sham_replays, counts.destroy_replays)
    return (least == 0) | (least >= k)
