"""Confidence sequences of a ratio of means, by the mixture of t statistics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py

from carve_stats.clusters import check_level
from carve_stats.law._arguments import one_whole_number

__all__ = ["BALANCED", "EARLIEST", "ROUNDING", "ConfidenceSequence", "confidence_sequence"]

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Below this a spread of scores, which are of order one, is none."""

EARLIEST = 25
"""Clusters before there is an interval: a kind of cluster must have had a chance to turn up."""

BALANCED = 12
"""Clusters over their squared skewness before there is an interval.

About how many clusters unlike the rest there must be, if these are few: a t statistic of
skewed values misses on one side, the more the smaller this ratio is.
"""


class ConfidenceSequence(NamedTuple):
    """A ratio after each cluster, from `confidence_sequence`; arrays of shape (clusters,)."""

    estimate: Floats
    low: Floats
    high: Floats
    p_value: Floats


def confidence_sequence(
    sums: ArrayLike, sizes: ArrayLike, *, level: float = 0.95, planned: int = 50
) -> ConfidenceSequence:
    """Estimate a ratio of means, with intervals that hold after every cluster at once.

    Parameters
    ----------
    sums, sizes : array_like, shape (clusters,)
        The sum of scores in [−1, 1] and how many there are, in the order of arrival.
    level : float
        Probability that all intervals, together, hold the ratio.
    planned : int
        About how many clusters there will be: where the intervals are nearly as short as they
        can be. It must not be chosen after looking.

    Returns
    -------
    ConfidenceSequence
        Estimate, interval and anytime p-value of the hypothesis of 0, after each cluster.

    Notes
    -----
    Under a candidate m the values z_v = S_v − m·n_v have mean zero exactly when m is the ratio
    θ = E S_v / E n_v: nothing is linearised. Of t values with sum s and sum of squares q,
    e_t(m) = (1 + tc²)^(−1/2) · (1 − c²/(1 + tc²) · s²/q)^(−t/2), the likelihood ratio of a normal
    mean of N(0, c²) standard deviations against zero, with the right Haar prior for the standard
    deviation, is a martingale in the filtration of the z_v/|z_1| for normal z_v, whatever their
    variance. By Ville's inequality e_t(θ) stays below 1/(1 − level) at all t with probability
    `level`; the interval is the m that do, the roots of a quadratic. The p-value is the smallest
    1/e_s(0) so far. c² minimises the width at `planned` for large samples. The interval is all of
    [−1, 1], and the p-value takes nothing in, where e_t stays below the bound for large m, where
    the clusters do not differ at all, before there are `EARLIEST` of them, and while t over the
    squared skewness of the S_v − m·n_v at the estimate is below `BALANCED`; all four only make
    the method more careful. Skewness treats all values alike, those of 0 and those that nearly
    all clusters have.
    """
    alpha = 1.0 - check_level(level)
    total, size = np.asarray(sums, float), np.asarray(sizes, float)
    log_odds = -2.0 * np.log(alpha)
    scale = (log_odds + np.log1p(log_odds)) / one_whole_number("planned", planned)
    t = np.arange(1.0, total.size + 1.0)
    s, n = np.cumsum(total), np.cumsum(size)
    squares, products, weights = (np.cumsum(v) for v in (total**2, total * size, size**2))
    estimate = s / n
    spread = squares - 2.0 * estimate * products + estimate**2 * weights
    third = (
        np.cumsum(total**3) - 3.0 * estimate * np.cumsum(total**2 * size)
        + 3.0 * estimate**2 * np.cumsum(total * size**2) - estimate**3 * np.cumsum(size**3)
    )  # fmt: skip
    skewed = BALANCED * third**2 > np.maximum(spread, 0.0) ** 3
    still = (spread <= ROUNDING * weights) | skewed | (t < EARLIEST)
    shrink = scale / (1.0 + t * scale)
    # The interval, around the estimate: the u with a·u² − 2·b·u + d > 0.
    excess = np.expm1((np.log1p(t * scale) - 2.0 * np.log(alpha)) / t)
    a = excess * weights - (1.0 + excess) * shrink * n**2
    b = excess * (products - estimate * weights)
    closed = (a < 0.0) & ~still
    a = np.where(closed, a, -1.0)
    root = np.sqrt(b**2 - a * excess * np.maximum(spread, 0.0))
    low = np.where(closed, np.maximum(estimate + (b + root) / a, -1.0), -1.0)
    high = np.where(closed, np.minimum(estimate + (b - root) / a, 1.0), 1.0)
    share = np.divide(shrink * s**2, squares, out=np.zeros_like(s), where=closed)
    log_e = -0.5 * np.log1p(t * scale) - 0.5 * xlog1py(t, -share)
    evidence = np.maximum.accumulate(np.where(closed, np.maximum(log_e, 0.0), 0.0))
    return ConfidenceSequence(estimate, low, high, np.exp(-evidence))
