"""What an exact test can show at all: with k replays an arm its p-values end above zero."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.law._budgets import budget_groups
from carve_stats.law.exact_tests import exact_test

__all__ = ["MOST_K", "LeastK", "find_least_k", "questions_needed", "smallest_p_values"]

MOST_K = 30
"""The largest budget that `find_least_k` looks at."""


class LeastK(NamedTuple):
    """A budget, and how many questions must be at its smallest p-value together."""

    k: int
    needed: int


def smallest_p_values(
    k_sham: NDArray[np.int64], k_destroy: NDArray[np.int64], **test: Any
) -> NDArray[np.float64]:
    """The smallest p-value that any outcome of each question could have had.

    Parameters
    ----------
    k_sham, k_destroy : ndarray of int, shape (n,)
        Replays of each question, at least 1.
    **test
        ``test``, ``alternative`` and ``two_sided`` of `exact_test`.

    Returns
    -------
    ndarray of float, shape (n,)
        At k = 3 in each arm it is 1/32 for two-sided tests.
    """
    smallest = np.empty(k_sham.size)
    for sham, destroy, rows in budget_groups(k_sham, k_destroy):
        smallest[rows] = exact_test(sham, destroy, **test).p_values.min()
    return smallest


def questions_needed(smallest: NDArray[np.float64], adjust: str, significance: float) -> int | None:
    """How many questions must be at their smallest p-value for one to be established.

    Parameters
    ----------
    smallest : ndarray of float, shape (n,)
        The smallest p-value of each question.
    adjust : str
        One of `multiplicity.ADJUSTMENTS`.
    significance : float
        A question is established where its adjusted p-value is at most this.

    Returns
    -------
    int or None
        The smallest number; None where no outcome of any number of questions would do.

    Examples
    --------
    >>> smallest = np.full(100, 1 / 32)
    >>> questions_needed(smallest, "holm", 0.05), questions_needed(smallest, "none", 0.05)
    (None, 1)
    >>> questions_needed(smallest, "benjamini-hochberg", 0.05)     # 100·(1/32)/63 ≤ .05
    63
    """
    p, n = np.sort(smallest), smallest.size
    if adjust == "none":
        enough = p <= significance
    elif adjust == "holm":
        enough = n * p <= significance
    else:
        enough = n * p / np.arange(1, n + 1) <= significance
    places = np.flatnonzero(enough)
    return int(places[0]) + 1 if places.size else None


def find_least_k(n: int, adjust: str, significance: float, **test: Any) -> LeastK | None:
    """The least budget, equal in both arms, at which one of n questions could be established.

    Parameters
    ----------
    n : int
        Questions that are tested together.
    adjust, significance
        As in `questions_needed`.
    **test
        ``test``, ``alternative`` and ``two_sided`` of `exact_test`.

    Returns
    -------
    LeastK or None
        None where more than 30 replays an arm are needed.

    Examples
    --------
    >>> find_least_k(1258, "holm", 0.05)                       # 1258·2·4⁻⁸ ≤ .05
    LeastK(k=8, needed=1)
    """
    for k in range(1, MOST_K + 1):
        needed = questions_needed(
            np.full(n, exact_test(k, k, **test).p_values.min()), adjust, significance
        )
        if needed is not None:
            return LeastK(k, needed)
    return None
