"""`Question`: the counts of one question as a rule sees them, and all small tables of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations_with_replacement
from typing import NamedTuple

__all__ = ["Question", "Table", "all_questions", "all_tables", "describe", "size"]

_SHOWN = 6


class Question(NamedTuple):
    """Flips and valid replays of a question, and one covariate, None where it is missing."""

    sham_flips: int
    sham_replays: int
    destroy_flips: int
    destroy_replays: int
    covariate: float | None = 0.5

    @property
    def score(self) -> Fraction | None:
        """y/k_destroy − x/k_sham, exact; None without a valid replay in both arms."""
        return _score(*self[:4])

    @property
    def replays(self) -> int:
        """In both arms together."""
        return self.sham_replays + self.destroy_replays


Table = tuple[Question, ...]


@lru_cache(maxsize=8192)
def _score(x: int, k_sham: int, y: int, k_destroy: int) -> Fraction | None:
    return Fraction(y, k_destroy) - Fraction(x, k_sham) if k_sham and k_destroy else None


def size(table: Sequence[Question]) -> tuple[int, int, int, list[tuple[int, ...]]]:
    """What orders tables: questions, replays in all, flips in all, then the counts themselves.

    Parameters
    ----------
    table : sequence of Question
        The questions.

    Returns
    -------
    tuple
        To be compared.
    """
    flips = sum(one.sham_flips + one.destroy_flips for one in table)
    return len(table), sum(one.replays for one in table), flips, [one[:4] for one in table]


def all_questions(k: int) -> list[Question]:
    """All counts with 0 to k replays in each arm, the smallest first.

    Parameters
    ----------
    k : int
        The most replays in an arm.

    Returns
    -------
    list of Question
        ((k + 1)(k + 2)/2)² of them, with the same covariate.

    Examples
    --------
    >>> len(all_questions(3))
    100
    """
    arms = [(x, n) for n in range(k + 1) for x in range(n + 1)]
    made = (Question(*sham, *destroy) for sham in arms for destroy in arms)
    return sorted(made, key=lambda one: size([one]))


def all_tables(k: int) -> list[Table]:
    """All tables of one and of two questions with up to k replays an arm, the smallest first.

    Parameters
    ----------
    k : int
        The most replays in an arm.

    Returns
    -------
    list of tuple of Question
        In the order of `size`.

    Examples
    --------
    >>> len(all_tables(3))
    5150
    """
    questions = all_questions(k)
    tables = chain(((one,) for one in questions), combinations_with_replacement(questions, 2))
    return sorted(tables, key=size)


def describe(table: Sequence[Question]) -> str:
    """The questions in words.

    Parameters
    ----------
    table : sequence of Question
        The questions.

    Returns
    -------
    str
        For the beginning of a counterexample.

    Examples
    --------
    >>> describe([Question(0, 1, 2, 3)])
    'one question, SHAM 0 of 1 and DESTROY 2 of 3 flipped'
    >>> describe([Question(0, 1, 0, 0, None), Question(1, 1, 0, 1)])
    '2 questions: SHAM 0 of 1 flipped and DESTROY without a replay, covariate missing; SHAM 1 of 1
    and DESTROY 0 of 1 flipped'
    """
    shown = [_words(one) for one in table[:_SHOWN]]
    more = [f"and {len(table) - _SHOWN} more"] if len(table) > _SHOWN else []
    if len(table) == 1:
        return f"one question, {shown[0]}"
    return f"{len(table)} questions: {'; '.join([*shown, *more])}"


def _words(one: Question) -> str:
    sham, destroy = f"SHAM {one[0]} of {one[1]}", f"DESTROY {one[2]} of {one[3]}"
    if one.sham_replays and one.destroy_replays:
        words = f"{sham} and {destroy} flipped"
    elif one.replays:
        sham = f"{sham} flipped" if one.sham_replays else "SHAM without a replay"
        destroy = f"{destroy} flipped" if one.destroy_replays else "DESTROY without a replay"
        words = f"{sham} and {destroy}"
    else:
        words = "without a replay"
    if one.covariate == Question._field_defaults["covariate"]:
        return words
    shown = "missing" if one.covariate is None else f"{one.covariate:g}"
    return f"{words}, covariate {shown}"
