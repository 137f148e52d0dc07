"""Which numbers of valid replays the questions have, and one budget for all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts

__all__ = ["group_patterns", "modal_budget", "reaches"]


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


def modal_budget(counts: ReplayCounts) -> tuple[int, int]:
    """The pair (k_sham, k_destroy) that most questions have.

    Parameters
    ----------
    counts : ReplayCounts
        At least one question.

    Returns
    -------
    k_sham, k_destroy : int
        Of pairs that equally many questions have, the one that more questions reach (so that
        fewer are left out when larger budgets are subsampled to it), then the one with the
        larger k_sham, then with the larger k_destroy.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c"], [0] * 3, [3, 3, 3], [0] * 3, [3, 3, 2])
    >>> modal_budget(counts)
    (3, 3)
    >>> modal_budget(counts.select([False, True, True]))       # a tie: both reach (3, 2)
    (3, 2)
    """
    pairs, pattern = group_patterns(counts)
    having = np.bincount(pattern)
    candidates = [
        (int(k_sham), int(k_destroy)) for k_sham, k_destroy in pairs[having == having.max()]
    ]
    return max(candidates, key=lambda budget: (int(reaches(counts, budget).sum()), budget))


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
