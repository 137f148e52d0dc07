"""What replays leave open about a sum over groups of questions at another budget.

Groups are told apart by something that is known of each question, such as whether a fallback
would repair its answer, and each is a population of its own. The sum is of a share of questions
that some outcomes select: those of one group may count for it and those of another against it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.law.subsampling import subsampled_flips
from carve_stats.population._certified import CellFunctions, certified_minimum
from carve_stats.population._metric import cell_metric, largest_excess
from carve_stats.population.bounds import identified_extremes
from carve_stats.population.cells import cell_covariance, locate_cells

__all__ = ["GroupCells", "contrast_bounds", "group_cells"]

_Floats = NDArray[np.float64]


class GroupCells(NamedTuple):
    """Shares of all questions in the cells of each group, and how precisely they are known.

    Parameters
    ----------
    k_sham, k_destroy : int
        The budget of the cells.
    share : ndarray, shape (groups, cells)
        They sum to less than 1 where questions are of no group.
    covariance : ndarray, shape (groups·cells, groups·cells)
        Between clusters; NaN for a single question.
    n : int
        Questions, those of no group too.
    clusters : int or None
        None where they are not known.
    design_effect : float
        As in `BudgetCells`.
    """

    k_sham: int
    k_destroy: int
    share: _Floats
    covariance: _Floats
    n: int
    clusters: int | None
    design_effect: float


def group_cells(
    counts: ReplayCounts, group: NDArray[np.int64], groups: int, budget: tuple[int, int]
) -> GroupCells:
    """Count the cells of each group at one budget.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    group : ndarray of int, shape (n,)
        The group of each question from 0; −1: of none. Questions in a group reach the budget, and
        those with more replays are subsampled to it, exactly.
    groups : int
        How many groups there are; some may be empty.
    budget : (int, int)
        k_sham and k_destroy.

    Returns
    -------
    GroupCells
        With the covariance of `budget_cells`.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c"], [0, 1, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0])
    >>> group_cells(counts, np.array([0, 1, -1]), 2, (1, 1)).share.round(3)
    array([[0.   , 0.333, 0.   , 0.   ],
           [0.   , 0.   , 0.333, 0.   ]])
    """
    inside = group >= 0
    replays, origin, _ = locate_cells(counts.select(inside))
    tables = [
        np.kron(subsampled_flips(made[0], budget[0]), subsampled_flips(made[1], budget[1]))
        for made in replays.tolist()
    ]
    cells = (budget[0] + 1) * (budget[1] + 1)
    table = np.concatenate(tables) if tables else np.zeros((0, cells))
    # A block a group, and one row of zeros for the questions of none.
    rows = np.concatenate([np.kron(np.eye(groups), table), np.zeros((1, groups * cells))])
    place = np.full(len(counts), len(rows) - 1)
    place[inside] = group[inside] * len(table) + origin
    tally = np.bincount(place, minlength=len(rows))
    share = tally @ rows / len(counts)
    codes = counts.cluster_codes
    clusters = None if codes is None else int(codes.max()) + 1
    covariance = cell_covariance(rows - share, tally, place, codes if clusters != 1 else None)
    independent = share.sum() - share @ share
    effect = len(counts) * np.trace(covariance) / independent if independent > 0.0 else 1.0
    return GroupCells(
        k_sham=budget[0],
        k_destroy=budget[1],
        share=share.reshape(groups, cells),
        covariance=covariance,
        n=len(counts),
        clusters=clusters,
        design_effect=max(1.0, float(np.nan_to_num(effect, nan=1.0))),
    )


def contrast_bounds(
    cells: GroupCells,
    fitted: _Floats,
    signs: NDArray[np.int64],
    outcomes: NDArray[np.bool_],
    *,
    level: float = 0.95,
) -> tuple[tuple[float, float], tuple[float, float] | None]:
    """Least and largest Σ_g sign_g · (share of questions that are of group g and selected).

    Parameters
    ----------
    cells : GroupCells
        What was observed.
    fitted : ndarray, shape (groups, cells)
        The same shares as a fitted population of each group has them.
    signs : ndarray of int, shape (groups,)
        1 or −1: what a selected question of the group counts.
    outcomes : ndarray of bool, shape (to_k_sham + 1, to_k_destroy + 1)
        The outcomes at the other budget that select a question.
    level : float
        Confidence level.

    Returns
    -------
    identified : (float, float)
        Over all populations with the fitted cell probabilities.
    interval : (float, float) or None
        With sampling, as in `sampling_bounds`, and at least the identified range. None without
        two clusters.

    Notes
    -----
    Given the cells the groups do not depend on each other, and the extremes of the sum are the
    sums of theirs. The interval is one program for all groups, whose cells are estimated
    together: the questions of one video are in several of them.

    Examples
    --------
    Two replays an arm of 30 questions, 10 in each group and 10 in none; which share of all is of
    the first group and has more DESTROY than SHAM flips, less that of the second?

    >>> from carve_stats import Population
    >>> counts = Population.homogeneous(.3, .6).sample(30, 2, clusters=6, rng=1)
    >>> cells = group_cells(counts, np.repeat([0, 1, -1], 10), 2, (2, 2))
    >>> outcomes = np.arange(4) > np.arange(4)[:, None]          # at 3 replays an arm
    >>> identified, interval = contrast_bounds(cells, cells.share, np.array([1, -1]), outcomes)
    >>> interval[0] <= identified[0] <= identified[1] <= interval[1]
    True
    """
    made = (cells.k_sham, cells.k_destroy)
    table = outcomes.astype(float)
    interval = None
    if cells.clusters is not None and cells.clusters >= 2:
        rest = float(cells.share.sum()) < 1.0 - 1e-12
        metric = cell_metric(
            made, cells.share.ravel(), cells.covariance, cells.n, cells.design_effect,
            groups=len(signs), rest=rest,
        )  # fmt: skip
        limit = metric.least + largest_excess(level, cells.clusters - 1)
        functions = CellFunctions(
            *made,
            metric.whitened.reshape(len(metric.whitened), len(signs), -1).swapaxes(0, 1),
            metric.centre,
            float(np.sqrt(limit)),
            np.zeros((2, 0)),
            rest,
        )
        tables = signs[:, None, None] * table
        interval = certified_minimum(tables, functions), -certified_minimum(-tables, functions)
    low = high = 0.0
    for sign, of_group in zip(signs.tolist(), fitted, strict=True):
        weight = float(of_group.sum())
        if weight > 0.0:
            ends = identified_extremes(made, of_group / weight, sign * table)
            low, high = low + weight * ends[0], high + weight * ends[1]
    if interval is not None:
        interval = min(interval[0], low), max(interval[1], high)
    return (low, high), interval
