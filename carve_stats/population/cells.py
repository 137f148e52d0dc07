"""The cells: how many questions have x SHAM and y DESTROY flips.

They are all that a fit or a bound needs of the questions, so that a million questions cost
no more than a thousand once they are counted. Cell (x, y) of a budget has the index
x·(k_destroy + 1) + y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.law._arguments import one_whole_number
from carve_stats.law.subsampling import subsampled_flips
from carve_stats.population.patterns import group_patterns, reaches

__all__ = [
    "LARGEST_BUDGET",
    "BudgetCells",
    "PatternCells",
    "budget_cells",
    "cell_covariance",
    "locate_cells",
    "pattern_cells",
]

# Sums of clusters that are held at a time: some megabytes.
_BLOCK_NUMBERS = 1 << 20


LARGEST_BUDGET = 100
"""Valid replays of a question in an arm: the grid of a fit is too coarse for more."""


class PatternCells(NamedTuple):
    """The questions that have one pair of numbers of valid replays.

    Parameters
    ----------
    k_sham, k_destroy : int
        Valid replays in each arm.
    counts : ndarray, shape ((k_sham + 1)(k_destroy + 1),)
        Questions in each cell; expected ones, with fractions, where replays were subsampled.
    """

    k_sham: int
    k_destroy: int
    counts: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BudgetCells:
    """Shares of the cells at one budget, and how precisely they are known.

    Parameters
    ----------
    k_sham, k_destroy : int
        The budget.
    share : ndarray, shape (cells,)
        The share of the questions in each cell; expected, where replays were subsampled.
    n : int
        Questions that reach the budget.
    covariance : ndarray, shape (cells, cells)
        Covariance of `share`, between clusters; NaN for a single question.
    clusters : int or None
        Clusters of these questions; None where they are not known.
    design_effect : float
        Trace of `covariance` over that of independent questions, at least 1; 1 for a single
        question, and where all are in one cell.
    left_out : int
        Questions that do not reach the budget, those without a score included.
    """

    k_sham: int
    k_destroy: int
    share: NDArray[np.float64]
    n: int
    covariance: NDArray[np.float64]
    clusters: int | None
    design_effect: float
    left_out: int


def pattern_cells(counts: ReplayCounts) -> tuple[PatternCells, ...]:
    """Count the cells of every pattern of valid replays.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.

    Returns
    -------
    tuple of PatternCells
        In ascending order of (k_sham, k_destroy); empty where no question has a score.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c"], [0, 1, 0], [1, 1, 1], [1, 2, 1], [1, 2, 1])
    >>> for cells in pattern_cells(counts):
    ...     print(cells.k_sham, cells.k_destroy, cells.counts)
    1 1 [0 2 0 0]
    1 2 [0 0 0 0 0 1]
    """
    check_counts(counts)
    replays, origin, first = locate_cells(counts.select(counts.scored))
    tally = np.bincount(origin, minlength=first[-1])
    return tuple(
        PatternCells(int(k_sham), int(k_destroy), tally[start:stop])
        for (k_sham, k_destroy), start, stop in zip(replays, first[:-1], first[1:], strict=True)
    )


def budget_cells(counts: ReplayCounts, k_sham: int, k_destroy: int) -> BudgetCells:
    """The cells that all questions would show at one budget, with their covariance.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    k_sham, k_destroy : int
        The budget. Questions with more valid replays are subsampled to it, exactly: they are
        in each cell with the probability that a random choice of their replays has. Those
        with fewer are left out.

    Returns
    -------
    BudgetCells
        Shares, covariance and what was left out.

    Raises
    ------
    InputError
        No question reaches the budget.

    Notes
    -----
    With h_i the row of cell probabilities of question i and f their mean, ψ_v = Σ_{i∈v}
    (h_i − f)/n for each of V clusters, and the covariance of f is V/(V − 1) Σ_v ψ_v ψ_vᵀ.
    Where the clusters are not known, or there is only one, each question is its own.

    References
    ----------
    D. A. Binder, "On the variances of asymptotically normal estimators from complex surveys",
    International Statistical Review 51 (1983).

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b"], [0, 1], [1, 1], [1, 1], [1, 2])
    >>> cells = budget_cells(counts, 1, 1)
    >>> cells.share, cells.left_out
    (array([0.  , 0.5 , 0.25, 0.25]), 0)
    """
    check_counts(counts)
    budget = one_whole_number("k_sham", k_sham), one_whole_number("k_destroy", k_destroy)
    kept = counts.select(reaches(counts, budget))
    n = len(kept)
    if n == 0:
        raise InputError(
            f"k_sham={budget[0]} and k_destroy={budget[1]}: no question has as many valid replays"
            " in both arms; give a smaller budget"
        )
    replays, origin, first = locate_cells(kept)
    tables = np.concatenate(
        [
            np.kron(subsampled_flips(made[0], budget[0]), subsampled_flips(made[1], budget[1]))
            for made in replays.tolist()
        ]
    )
    tally = np.bincount(origin, minlength=first[-1])
    share = tally @ tables / n
    codes = kept.cluster_codes
    clusters = None if codes is None else int(codes.max()) + 1
    covariance = cell_covariance(tables - share, tally, origin, codes if clusters != 1 else None)
    independent = 1.0 - share @ share
    effect = n * np.trace(covariance) / independent if independent > 0.0 and n > 1 else 1.0
    return BudgetCells(
        k_sham=budget[0],
        k_destroy=budget[1],
        share=share,
        n=n,
        covariance=covariance,
        clusters=clusters,
        design_effect=max(1.0, float(effect)),
        left_out=len(counts) - n,
    )


def locate_cells(
    counts: ReplayCounts,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The patterns, each question's cell among those of all patterns, and where each begins."""
    replays, pattern = group_patterns(counts)
    for i, arm in enumerate(("sham", "destroy")):
        for question in np.flatnonzero(replays[pattern, i] > LARGEST_BUDGET)[:1]:
            raise InputError(
                f"question {str(counts.question[question])!r} has {replays[pattern[question], i]}"
                f" valid {arm} replays: populations are fitted to at most {LARGEST_BUDGET} a"
                " question; leave it out, or keep fewer"
            )
    first = np.concatenate([[0], np.cumsum((replays + 1).prod(axis=1))])
    columns = replays[:, 1] + 1
    cell = counts.sham_flips * columns[pattern] + counts.destroy_flips
    return replays, first[pattern] + cell, first


def cell_covariance(
    deviation: NDArray[np.float64],
    tally: NDArray[np.int64],
    origin: NDArray[np.int64],
    codes: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """Covariance of the mean of deviation[origin], for clusters or for single questions."""
    from carve_stats._kernels.mixture import add_rows  # needs numba, which loads slowly

    n, cells = origin.size, deviation.shape[1]
    if codes is None:
        units = n
        scatter = (deviation.T * tally) @ deviation
    else:
        # Questions of one cluster and cell count together: there are far fewer such pairs.
        pairs, times = np.unique(codes * tally.size + origin, return_counts=True)
        cluster, place = np.divmod(pairs, tally.size)
        units = int(cluster[-1]) + 1
        scatter = np.zeros((cells, cells))
        block = max(1, _BLOCK_NUMBERS // cells)
        for first in range(0, units, block):
            sums = np.zeros((min(block, units - first), cells))
            here = slice(*np.searchsorted(cluster, [first, first + block]))
            add_rows(deviation, place[here], times[here], cluster[here] - first, sums)
            scatter += sums.T @ sums
    if units < 2:
        return np.full((cells, cells), np.nan)
    return scatter * (units / (units - 1) / n**2)
