"""Ranks of scores, exactly, and the propensities that take the m lowest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts

__all__ = ["lowest_propensities", "score_ranks"]

NO_RANK = -1


def score_ranks(counts: ReplayCounts) -> NDArray[np.int64]:
    """The place of each question's score among the distinct scores, from 0 for the lowest.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question; budgets may differ.

    Returns
    -------
    ndarray of int, shape (n,)
        Equal scores, and only those, have equal ranks: 1/3 is 2/6. −1 where there is no score.

    Notes
    -----
    Two different fractions with denominators of at most D differ by at least 1/D². The whole
    numbers ⌊2ˢ·numerator/denominator⌋ with 2ˢ > D² are therefore in the order of the
    fractions, and equal where those are.

    Examples
    --------
    >>> score_ranks(ReplayCounts(["a", "b", "c"], [0, 0, 0], [3, 6, 3], [1, 2, 0], [3, 6, 3]))
    array([1, 1, 0])
    """
    scored = counts.scored
    numerators, of_numerator = np.unique(counts.score_numerator[scored], return_inverse=True)
    replays = (counts.sham_replays * counts.destroy_replays)[scored]
    denominators, of_denominator = np.unique(replays, return_inverse=True)
    ranks = np.full(len(counts), NO_RANK, np.int64)
    if not denominators.size:
        return ranks
    pairs, place = np.unique(of_numerator * denominators.size + of_denominator, return_inverse=True)
    shift = 2 * int(denominators[-1]).bit_length()
    tops, bottoms = np.divmod(pairs, denominators.size)
    keys = [
        (top << shift) // bottom
        for top, bottom in zip(
            numerators[tops].tolist(), denominators[bottoms].tolist(), strict=True
        )
    ]
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    ranks[scored] = np.array([rank[key] for key in keys])[place]
    return ranks


def lowest_propensities(ranks: NDArray[np.int64], m: int) -> NDArray[np.float64]:
    """Propensities that select the m lowest ranks, ties at the boundary by equal chances.

    Parameters
    ----------
    ranks : ndarray of int, shape (n,)
        Ranks without gaps from 0 on; −1 where a question has none and is never selected.
    m : int
        How many to select.

    Returns
    -------
    ndarray of float, shape (n,)
        With s ranks below those of the boundary and t there: 1 below, (m − s)/t there, and 0
        above. 1 for every rank where there are no more than m.

    Examples
    --------
    >>> lowest_propensities(np.array([1, 0, 1, -1, 2]), 2)
    array([0.5, 1. , 0.5, 0. , 0. ])
    """
    tied = np.bincount(ranks[ranks >= 0])
    below = np.cumsum(tied) - tied
    share = np.clip(m - below, 0, tied) / np.maximum(tied, 1)
    # The last entry is for questions without a rank, which −1 points to.
    return np.append(share, 0.0)[ranks]
