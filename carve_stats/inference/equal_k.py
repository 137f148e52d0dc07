"""One budget for questions with unequal numbers of valid replays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.inference.sign_excess import group_patterns

__all__ = ["modal_budget", "reaches"]


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
