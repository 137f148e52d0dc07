"""Runs over the same questions, and slow references for figures clustered by video."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.stats import t as student

from carve_stats.counts import ReplayCounts
from carve_stats.population.mixing import Population

SIGNS = ("negative", "zero", "positive")


def drawn_questions(seed=1, n=40, clusters=9):
    return Population.paper().draw(n, clusters=clusters, icc=0.2, rng=seed)


def ragged(drawn, seed, most=4, least=0):
    """A run in which every question has its own numbers of valid replays, some of them 0."""
    rng = np.random.default_rng(seed)
    k_self, k_sham, k_destroy = rng.integers(least, most + 1, (3, len(drawn.question)))
    return ReplayCounts(
        drawn.question,
        rng.binomial(k_sham, drawn.p_sham),
        k_sham,
        rng.binomial(k_destroy, drawn.p_destroy),
        k_destroy,
        self_flips=rng.binomial(k_self, 0.2),
        self_replays=k_self,
        cluster=drawn.cluster,
    )


def rows_of(counts):
    """Question to (cluster, {arm: (flips, replays)}), in plain Python."""
    return {
        str(q): (
            None if counts.cluster is None else str(counts.cluster[i]),
            {
                arm: (
                    int(getattr(counts, f"{arm}_flips")[i]),
                    int(getattr(counts, f"{arm}_replays")[i]),
                )
                for arm in ("self", "sham", "destroy")
            },
        )
        for i, q in enumerate(counts.question)
    }


def shuffled(counts, seed=0):
    """The same counts, given in another order of rows."""
    order = np.random.default_rng(seed).permutation(len(counts))
    columns = {
        name: getattr(counts, name)[order]
        for name in ("question", "sham_flips", "sham_replays", "destroy_flips", "destroy_replays",
                     "self_flips", "self_replays", "sham_invalid", "cluster")
    }  # fmt: skip
    return ReplayCounts(**columns)


def clustered_mean(values, clusters, level=0.95):
    """Mean, standard error, ends and p-value from a dict of question to Fraction."""
    n = len(values)
    mean = sum(values.values()) / n
    sums = {}
    for question, value in values.items():
        sums[clusters[question]] = sums.get(clusters[question], 0) + value - mean
    v = len(sums)
    se = math.sqrt(Fraction(v, v - 1) * sum(s * s for s in sums.values())) / n
    half = student.ppf((1 + level) / 2, v - 1) * se
    p = 2 * student.sf(abs(float(mean)) / se, v - 1)
    return float(mean), se, float(mean) - half, float(mean) + half, p


def subsampled_sign_shares(flips_and_replays, k):
    """Shares of the signs over all ways to keep k replays of each arm, by enumeration."""
    arms = []
    for flips, replays in flips_and_replays:
        outcomes = [1] * flips + [0] * (replays - flips)
        arms.append([sum(kept) for kept in combinations(outcomes, k)])
    pairs = [(y > x) - (y < x) for x in arms[0] for y in arms[1]]
    return [Fraction(pairs.count(sign), len(pairs)) for sign in (-1, 0, 1)]
