"""Standard errors, t intervals and the bootstrap for questions that come in clusters.

Questions about one video are not independent, so every interval of the toolkit treats the
cluster (the video) as the unit that was sampled. A statistic brings its influence function,
one value a question, or its sums, one row a cluster; nothing here knows what it measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from carve_stats import _display
from carve_stats.counts import UNKNOWN_CLUSTERS
from carve_stats.errors import InputError, unknown_name
from carve_stats.law._arguments import generator, one_number, one_whole_number

__all__ = [
    "Estimate",
    "IntervalMethod",
    "bootstrap",
    "bootstrap_generator",
    "check_level",
    "cluster_se",
    "cluster_sums",
    "count_clusters",
    "explain",
    "interval_method",
    "interval_of_se",
    "percentile_interval",
    "t_interval",
    "t_test",
]

NO_QUESTIONS = "not estimable: no question has what the estimate needs"
ONE_CLUSTER = (
    "no intervals: all questions belong to one cluster (video), and the spread between clusters"
    " cannot be estimated from one"
)
NO_SPREAD = (
    "no interval: the clusters do not differ at all, so their spread says nothing of how far the"
    " estimate could be off"
)

# Statistics here are shares and rates, of order one: below this a spread is rounding, that of
# double precision in influence functions and that of single precision in resamples.
_ROUNDING = 1e-12
_RESAMPLE_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its standard error and interval.

    Parameters
    ----------
    estimate : float
        The point estimate; NaN where there is none.
    se, low, high : float or None
        Standard error and the interval's ends; None, all three, where they are not estimable.
    note : str or None
        Why they are not.
    """

    estimate: float
    se: float | None = None
    low: float | None = None
    high: float | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """``estimate``, ``se``, ``low`` and ``high``; None where undefined."""
        return {n: _display.plain(getattr(self, n)) for n in ("estimate", "se", "low", "high")}

    def __str__(self) -> str:
        shown = _display.number(self.estimate)
        return shown if self.low is None else f"{shown} {_display.interval(self.low, self.high)}"


@dataclass(frozen=True, slots=True)
class IntervalMethod:
    """How the intervals of a result were made.

    Parameters
    ----------
    method : str
        ``t``: linearised cluster standard error and Student's t; ``bootstrap``: percentiles of
        the cluster bootstrap.
    level : float
        Confidence level.
    df : int or None
        Degrees of freedom, clusters − 1; None for the bootstrap, and where the clusters are
        not known.
    """

    method: str
    level: float
    df: int | None

    def to_dict(self) -> dict[str, Any]:
        """``method``, ``level`` and ``df``."""
        return {"method": self.method, "level": self.level, "df": self.df}

    def __str__(self) -> str:
        if self.method == "bootstrap":
            return f"{100 * self.level:g} % cluster bootstrap percentile intervals"
        df = "" if self.df is None else f" with {self.df} df"
        return f"{100 * self.level:g} % cluster t intervals{df}"


def interval_method(method: str, level: float, codes: ArrayLike | None) -> IntervalMethod:
    """Name the intervals of a result, after checking what was asked for.

    Parameters
    ----------
    method : str
        ``t`` or ``bootstrap``.
    level : float
        Confidence level, between 0 and 1.
    codes : array_like of int or None
        The clusters; None where they are not known.

    Returns
    -------
    IntervalMethod
        With df None for the bootstrap, and where there are fewer than two clusters.

    Raises
    ------
    InputError
        An unknown method, or a level outside (0, 1).
    """
    if method not in ("t", "bootstrap"):
        raise InputError(unknown_name("interval", method, ["t", "bootstrap"]))
    clusters = 0 if codes is None else count_clusters(codes)
    df = clusters - 1 if method == "t" and clusters > 1 else None
    return IntervalMethod(method, check_level(level), df)


def bootstrap_generator(
    interval: str, rng: np.random.Generator | int | None
) -> np.random.Generator | None:
    """The generator of the bootstrap; None where the intervals need none.

    Parameters
    ----------
    interval : str
        ``bootstrap``, or another method.
    rng : numpy.random.Generator or int, optional
        What the caller gave.

    Returns
    -------
    numpy.random.Generator or None
        The generator itself, or a new one from the seed.

    Raises
    ------
    InputError
        A bootstrap without a source of randomness.
    """
    if interval != "bootstrap":
        return None
    if rng is None:
        raise InputError(
            "interval='bootstrap' needs rng (--seed): give a numpy.random.Generator or seed"
        )
    return generator(rng)


def check_level(level: float) -> float:
    """The confidence level, if it is one.

    Parameters
    ----------
    level : float
        Must lie between 0 and 1, both excluded.

    Returns
    -------
    float
        The level.

    Raises
    ------
    InputError
        Anything else.
    """
    number = one_number("level", level)
    if not 0 < number < 1 or 0.5 + 0.5 * number == 1.0:  # whose quantile is infinite
        raise InputError(f"level={level!r} must lie between 0 and 1, for example 0.95")
    return number


def count_clusters(codes: ArrayLike) -> int:
    """How many different clusters the questions belong to.

    Parameters
    ----------
    codes : array_like of int, shape (n,)
        A whole number of at least 0 for each cluster; gaps are allowed.

    Returns
    -------
    int
        Clusters with at least one question.
    """
    return int(np.count_nonzero(np.bincount(_codes(codes))))


def cluster_sums(values: ArrayLike, codes: ArrayLike) -> NDArray[np.float64]:
    """Sums within each cluster.

    Parameters
    ----------
    values : array_like, shape (n,) or (n, m)
        One row a question.
    codes : array_like of int, shape (n,)
        The cluster of each question, whole numbers of at least 0; gaps are allowed.

    Returns
    -------
    ndarray of float, shape (clusters,) or (clusters, m)
        In the order of the codes; clusters without a question have no row.

    Raises
    ------
    InputError
        Lengths that differ, or a negative code.

    Examples
    --------
    >>> cluster_sums([1.0, 2.0, 4.0], [7, 0, 7])
    array([2., 5.])
    """
    rows, groups = np.asarray(values, float), _codes(codes)
    if rows.shape[:1] != groups.shape:
        raise InputError(
            f"codes has shape {groups.shape} and values {rows.shape}: give one code a question"
        )
    present = np.bincount(groups) > 0
    columns = rows.reshape(groups.size, math.prod(rows.shape[1:])).T
    sums = np.empty((np.count_nonzero(present), len(columns)))
    for place, column in enumerate(columns):
        sums[:, place] = np.bincount(groups, weights=column)[present]
    return sums.reshape(-1, *rows.shape[1:])


def cluster_se(influence: ArrayLike, codes: ArrayLike) -> float:
    """Linearised standard error of a statistic of clustered questions.

    Parameters
    ----------
    influence : array_like, shape (n,)
        The statistic's influence function φ, one value a question, with mean zero.
    codes : array_like of int, shape (n,)
        The cluster of each question.

    Returns
    -------
    float
        NaN for fewer than two clusters: the spread between them is then not estimable.

    Notes
    -----
    SE² = V/(V−1) · Σ_v (Σ_{i∈v} φ_i)² / n², for V clusters and n questions.

    References
    ----------
    D. A. Binder, "On the variances of asymptotically normal estimators from complex surveys",
    International Statistical Review 51 (1983).

    Examples
    --------
    >>> round(cluster_se([0.5, -0.5, 0.5, -0.5], [0, 1, 2, 3]), 6)   # the usual s/√n
    0.288675
    >>> round(cluster_se([0.5, 0.5, -0.5, -0.5], [0, 0, 1, 1]), 6)   # two clusters
    0.5
    """
    sums = cluster_sums(influence, codes)
    if sums.size < 2:
        return math.nan
    n = np.asarray(influence).size
    return math.sqrt(sums.size / (sums.size - 1) * float(sums @ sums)) / n


def t_interval(
    estimate: float,
    influence: ArrayLike,
    codes: ArrayLike | None,
    *,
    level: float = 0.95,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Cluster t interval: the estimate, plus and minus t_{V−1} standard errors.

    Parameters
    ----------
    estimate : float
        The point estimate.
    influence : array_like, shape (n,)
        Its influence function, one value a question.
    codes : array_like of int, shape (n,), or None
        The cluster of each question; None where they are not known.
    level : float
        Confidence level.
    within : (float, float)
        The values that the estimand can have, (0, 1) for a rate: the interval ends there, which
        costs it no coverage.

    Returns
    -------
    Estimate
        Without standard error and interval, and with a note that says why, where there is no
        question, where the clusters are not known, where there is only one, and where they do
        not differ at all: an interval of no width would claim certainty.

    Examples
    --------
    >>> print(t_interval(0.25, [0.5, -0.5, 0.5, -0.5], [0, 1, 2, 3]))
    0.2500 [-0.6687, 1.1687]
    >>> t_interval(0.25, [0.5, -0.5], [0, 0]).se is None
    True
    """
    check_level(level)
    if np.asarray(influence).size == 0:
        return Estimate(math.nan, note=NO_QUESTIONS)
    if codes is None:
        return Estimate(estimate, note=UNKNOWN_CLUSTERS)
    clusters = count_clusters(codes)
    if clusters < 2:
        return Estimate(estimate, note=ONE_CLUSTER)
    return interval_of_se(
        estimate, cluster_se(influence, codes), clusters - 1, level=level, within=within
    )


def interval_of_se(
    estimate: float,
    se: float,
    df: int,
    *,
    level: float = 0.95,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """The estimate, plus and minus t standard errors.

    Parameters
    ----------
    estimate, se : float
        The point estimate and its standard error.
    df : int
        Degrees of freedom of Student's t.
    level, within
        As for `t_interval`.

    Returns
    -------
    Estimate
        Without standard error and interval, and with a note, where the standard error is 0.

    Examples
    --------
    >>> print(interval_of_se(0.25, 0.1, 24, within=(0, 1)))
    0.2500 [0.0436, 0.4564]
    """
    check_level(level)
    if se <= _ROUNDING:
        return Estimate(estimate, note=NO_SPREAD)
    half = float(stdtrit(df, (1 + level) / 2)) * se
    return Estimate(estimate, se, max(estimate - half, within[0]), min(estimate + half, within[1]))


def t_test(estimate: Estimate, df: int | None) -> float | None:
    """Two-sided p-value of the hypothesis that the estimand is zero.

    Parameters
    ----------
    estimate : Estimate
        From `t_interval`.
    df : int or None
        Degrees of freedom, clusters − 1.

    Returns
    -------
    float or None
        None where the standard error is not estimable: there is then nothing to measure the
        estimate against, however far from zero it is.

    Examples
    --------
    >>> round(t_test(Estimate(0.3, se=0.1), 24), 6)
    0.006206
    """
    if df is None or estimate.se is None:
        return None
    return float(2 * stdtr(df, -abs(estimate.estimate) / estimate.se))


def bootstrap(
    sums: ArrayLike,
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    rng: np.random.Generator | int,
    resamples: int = 10_000,
) -> NDArray[np.float64]:
    """Cluster bootstrap of a statistic that is a function of sums over clusters.

    Parameters
    ----------
    sums : array_like, shape (clusters, m)
        Sums within each cluster, in an order that the data's row order does not change.
    statistic : callable
        Takes the sums of all resamples, shape (resamples, m), and returns the statistic of
        each, shape (resamples, ...).
    rng : numpy.random.Generator or int
        The source of randomness, or a seed.
    resamples : int
        How many resamples, at least 100.

    Returns
    -------
    ndarray of float, shape (resamples, ...)
        The statistic of each resample.

    Raises
    ------
    InputError
        Fewer than two clusters, fewer than 100 resamples, or no source of randomness.

    Notes
    -----
    A resample draws as many clusters as there are, with replacement, so its sums are
    (how often each cluster was drawn) × (its sums): one matrix product for a block of
    resamples, in single precision. Columns are centred first, so that its rounding is about
    a millionth of the spread between resamples, and none for a column without spread. What is
    drawn depends on the seed and the number of the resample only; no cluster's probability is
    off by more than 2⁻³².

    References
    ----------
    A. C. Davison, D. V. Hinkley, *Bootstrap Methods and their Application*, Cambridge 1997, §2.

    Examples
    --------
    >>> sums = np.array([[2.0, 1.0], [3.0, 3.0], [1.0, 0.0]])         # questions, ties
    >>> shares = bootstrap(sums, lambda s: s[:, 1] / s[:, 0], rng=1, resamples=2000)
    >>> shares.shape, float(shares.min()), float(shares.max())
    ((2000,), 0.0, 1.0)
    """
    from carve_stats._kernels.resampling import resample_sums  # needs numba, which loads slowly

    table = np.asarray(sums, float)
    if table.ndim != 2 or len(table) < 2:
        raise InputError(
            f"sums has shape {table.shape}: the bootstrap needs one row a cluster, and at least two"
        )
    repeats = one_whole_number("resamples", resamples, least=100)
    seed = generator(rng).integers(2**64, dtype=np.uint64)
    total = table.sum(axis=0)
    resampled = resample_sums(table - total / len(table), seed, repeats)
    resampled += total
    return np.asarray(statistic(resampled))


def percentile_interval(estimate: float, resampled: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Percentile interval from bootstrap resamples.

    Parameters
    ----------
    estimate : float
        The point estimate.
    resampled : array_like, shape (resamples,)
        The statistic of each resample.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Its standard error is the standard deviation of the resamples. Not estimable, with a
        note, where all resamples are equal.

    Examples
    --------
    >>> print(percentile_interval(0.5, np.linspace(0, 1, 101), level=0.9))
    0.5000 [0.0500, 0.9500]
    """
    check_level(level)
    values = np.asarray(resampled, float)
    se = float(values.std(ddof=1))
    if se <= _RESAMPLE_ROUNDING:
        return Estimate(estimate, note=NO_SPREAD)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(estimate, se, float(low), float(high))


def explain(reasons: Iterable[tuple[str, str | None]]) -> list[str]:
    """Why estimates are incomplete, each reason once.

    Parameters
    ----------
    reasons : iterable of (str, str or None)
        The name of an estimate and its note.

    Returns
    -------
    list of str
        A reason that holds for all the estimates stands alone; another one follows the names
        of those that it holds for.

    Examples
    --------
    >>> explain([("SHAM", "too few"), ("DESTROY", "too few"), ("SELF", None)])
    ['SHAM, DESTROY: too few']
    >>> explain([("SHAM", "too few"), ("DESTROY", "too few")])
    ['too few']
    """
    named = list(reasons)
    holders: dict[str, list[str]] = {}
    for name, reason in named:
        if reason is not None:
            holders.setdefault(reason, []).append(name)
    return [
        reason if len(names) == len(named) else f"{', '.join(names)}: {reason}"
        for reason, names in holders.items()
    ]


def _codes(codes: ArrayLike) -> NDArray[np.int64]:
    groups = np.asarray(codes)
    if groups.size and (groups.dtype.kind not in "iu" or groups.min() < 0):
        raise InputError("codes must be whole numbers of at least 0, one for each cluster")
    return groups.astype(np.int64, copy=False)
