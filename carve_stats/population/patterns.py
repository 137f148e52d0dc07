"""Which numbers of valid replays the questions have, and one budget for all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts

__all__ = ["fullest_budget", "group_patterns", "reaches"]


def group_patterns(counts: ReplayCounts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct pairs (k_sham, k_destroy), and which of them each question has.

    Parameters
    ----------
    counts : ReplayCounts
        The questions.

    Returns
    -------
    replays : ndarray of int, shape (P, 2)
        The pairs, in ascending order.
    pattern : ndarray of int, shape (n,)
        The row of `replays` of each question.
    """
    # One key a pair sorts much faster than rows do.
    base = int(counts.destroy_replays.max(initial=0)) + 1
    keys, pattern = np.unique(
        counts.sham_replays * base + counts.destroy_replays, return_inverse=True
    )
    return np.stack(np.divmod(keys, base), axis=1), pattern.astype(np.int64)


def fullest_budget(counts: ReplayCounts, *, equal: bool = False) -> tuple[int, int]:
    """The pair (k_sham, k_destroy) at which most replays count.

    Parameters
    ----------
    counts : ReplayCounts
        At least one question, all with a valid replay in both arms.
    equal : bool
        Whether k_sham and k_destroy must be the same.

    Returns
    -------
    k_sham, k_destroy : int
        The largest (questions that reach it)·(k_sham + k_destroy); of several the largest budget.

    Notes
    -----
    Questions with more replays are subsampled to the budget and those with fewer are left out.
    The pair that most questions have, the obvious choice, goes wrong where a few replays are
    invalid everywhere: if one in twenty is, 36 % of the questions have all of 10 replays in both
    arms and that is the most common pair, but 98 % reach (8, 8).

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c"], [0] * 3, [3, 3, 3], [0] * 3, [3, 3, 2])
    >>> fullest_budget(counts)                                 # 15 replays; (3, 3) has 12
    (3, 2)
    """
    sham, destroy = np.unique(counts.sham_replays), np.unique(counts.destroy_replays)
    if equal:
        sham = destroy = np.union1d(sham, destroy)
    having = np.zeros((sham.size, destroy.size), np.int64)
    place = (
        np.searchsorted(sham, counts.sham_replays),
        np.searchsorted(destroy, counts.destroy_replays),
    )
    np.add.at(having, place, 1)
    reaching = having[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    replays = sham[:, None] + destroy
    if equal:
        reaching = reaching * np.eye(sham.size, dtype=np.int64)
    best = np.argwhere(reaching * replays == (reaching * replays).max())
    return max((int(sham[i]), int(destroy[j])) for i, j in best)


def reaches(counts: ReplayCounts, budget: tuple[int, int]) -> NDArray[np.bool_]:
    """Whether each question has at least the budget's valid replays in both arms.

    Parameters
    ----------
    counts : ReplayCounts
        The questions.
    budget : (int, int)
        k_sham and k_destroy.

    Returns
    -------
    ndarray of bool, shape (n,)
        Those that are True can be subsampled to it.
    """
    return (counts.sham_replays >= budget[0]) & (counts.destroy_replays >= budget[1])
