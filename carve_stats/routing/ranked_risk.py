"""Risks of the questions trusted most, under random tie order, and their influence functions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["COVERAGES", "RankedErrors", "influence_functions", "kept_at", "rank_errors", "risks"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COVERAGES = (Fraction(1), Fraction(9, 10), Fraction(7, 10))
"""The coverages at which accuracies are reported."""


class RankedErrors(NamedTuple):
    """Questions in groups of equal scores, the most trusted first.

    Parameters
    ----------
    score : ndarray of float, shape (groups,)
        The score of each group, decreasing.
    items, errors : ndarray of int, shape (groups,)
        Its questions, at least 1, and how many of them are answered wrongly.
    group : ndarray of int, shape (n,)
        The group of each question, in the order of the questions.
    """

    score: Floats
    items: Integers
    errors: Integers
    group: Integers


def rank_errors(score: Floats, wrong: NDArray[np.bool_]) -> RankedErrors:
    """Group questions by their scores.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
        The higher, the more trusted; no NaN.
    wrong : ndarray of bool, shape (n,)
        Whether each answer is wrong.

    Returns
    -------
    RankedErrors
        Equal scores, and only those, share a group.

    Examples
    --------
    >>> ranked = rank_errors(np.array([0.0, 1.0, 0.0]), np.array([True, False, False]))
    >>> ranked.score, ranked.items, ranked.errors
    (array([1., 0.]), array([1, 2]), array([0, 1]))
    """
    values, place = np.unique(score, return_inverse=True)
    group = values.size - 1 - place
    items = np.bincount(group, minlength=values.size)
    return RankedErrors(
        values[::-1], items, np.bincount(group[wrong], minlength=values.size), group
    )


def kept_at(coverage: Fraction, n: int) -> int:
    """How many of n questions a coverage keeps: the nearest whole number, at least 1.

    Halves go to the even neighbour, as in the published table: 536 and 416 of 595 at .9 and .7.
    """
    return max(1, round(coverage * n))


def risks(items: Integers, errors: Integers, partial: tuple[Fraction, Fraction]) -> Floats:
    """Expected risks under random tie order.

    Parameters
    ----------
    items, errors : ndarray of int, shape (groups,)
        As in `RankedErrors`.
    partial : (Fraction, Fraction)
        The range of coverage of the partial area.

    Returns
    -------
    ndarray of float, shape (3 + len(COVERAGES),)
        AURC; AUGRC; mean risk over `partial`; risk at each of `COVERAGES`.

    Notes
    -----
    With S questions and E errors in the groups before, t of a group's m questions have e·t/m of
    its e errors in expectation, and the risk is linear in the errors: the expected risk of the
    first j = S + t is R_j = (E + e·t/m)/(S + t). Each figure is a mean Σ a_j R_j. All terms are
    positive and n is the number of terms, so that nothing cancels, which the closed form with
    harmonic numbers, Σ_t R = e + (E − eS/m)(H_{S+m} − H_S), does not say of itself.

    Examples
    --------
    >>> risks(np.array([4]), np.array([2]), (Fraction(7, 10), Fraction(1)))   # 4 tied, 2 errors
    array([0.5   , 0.3125, 0.5   , 0.5   , 0.5   , 0.5   ])
    """
    n = int(items.sum())
    return _weights(n, partial) @ _expected_risks(items, errors)


def influence_functions(ranked: RankedErrors, wrong: NDArray[np.bool_],
                        partial: tuple[Fraction, Fraction]) -> Floats:  # fmt: skip
    """Influence functions of the figures of `risks`.

    Parameters
    ----------
    ranked : RankedErrors
        The n questions.
    wrong : ndarray of bool, shape (n,)
        Whether each answer is wrong.
    partial : (Fraction, Fraction)
        As for `risks`.

    Returns
    -------
    ndarray of float, shape (3 + len(COVERAGES), n)
        Each of mean zero.

    Notes
    -----
    A question of rank i changes the risk at every later rank j by its own error, and moves one
    question of rank j out, whose chance ℓ_j of an error is the slope of the errors at j:

        φ_i = n Σ_{j≥i} a_j (x_i − ℓ_j)/j − Σ_j a_j (R_j − ℓ_j),

    averaged over the ranks that ties allow. At one coverage all the weight is on one j, so ℓ is
    the share of errors in the n^(2/3) ranks around the middle of a group (its own, where it has
    as many): a single question's 0 or 1 would not converge.
    """
    items, errors = ranked.items, ranked.errors
    n = int(items.sum())
    starts = np.cumsum(items) - items
    slope = np.repeat(_local_error_rates(items, errors), items)
    weights = _weights(n, partial)
    own = weights / np.arange(1, n + 1)
    to_come = own[:, ::-1].cumsum(axis=1)[:, ::-1]
    displaced = (own * slope)[:, ::-1].cumsum(axis=1)[:, ::-1]
    of_group = [np.add.reduceat(sums, starts, axis=1) / items for sums in (to_come, displaced)]
    gained, lost = (sums[:, ranked.group] for sums in of_group)
    offset = weights @ (_expected_risks(items, errors) - slope)
    return np.asarray(n * (wrong * gained - lost) - offset[:, None])


def _expected_risks(items: Integers, errors: Integers) -> Floats:
    """R_j for j = 1 to n."""
    before = np.cumsum(items) - items
    errors_before = np.cumsum(errors) - errors
    count = np.arange(1, int(items.sum()) + 1)
    place = count - np.repeat(before, items)
    expected = np.repeat(errors_before, items) + np.repeat(errors, items) * place / np.repeat(
        items, items
    )
    return np.asarray(expected / count)


def _weights(n: int, partial: tuple[Fraction, Fraction]) -> Floats:
    """The weight a_j of each R_j in each figure; shape (3 + len(COVERAGES), n)."""
    count = np.arange(1, n + 1)
    # R_j is the risk at coverages from (j − 1)/n to j/n: of the first and the last step that the
    # range touches a part may count.
    low, high = partial[0] * n, partial[1] * n
    first, last = math.floor(low), math.ceil(high)
    inside = np.zeros(n)
    inside[first:last] = 1.0
    inside[first] -= float(low - first)
    inside[last - 1] -= float(last - high)
    at = np.zeros((len(COVERAGES), n))
    for row, coverage in zip(at, COVERAGES, strict=True):
        row[kept_at(coverage, n) - 1] = 1.0
    return np.vstack([np.full(n, 1 / n), count / n**2, inside / float(high - low), at])


def _local_error_rates(items: Integers, errors: Integers) -> Floats:
    """The chance of an error in the ranks around the middle of each group."""
    n = int(items.sum())
    width = math.ceil(n ** (2 / 3))
    cumulative = np.append(0.0, np.cumsum(np.repeat(errors / items, items)))
    middle = np.cumsum(items) - items / 2
    low = np.clip(np.floor(middle - width / 2), 0, n).astype(np.int64)
    high = np.clip(np.ceil(middle + width / 2), 0, n).astype(np.int64)
    return np.asarray((cumulative[high] - cumulative[low]) / (high - low))
