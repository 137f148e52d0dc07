"""`RuleProperty` and `Broken`: what a rule must keep, and where it does not; and their words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from carve_stats.testing.rules.asking import AskedRule, Propensities, Raised, Refused, Wrong
from carve_stats.testing.rules.questions import Table
from carve_stats.testing.rules.reading import RuleReading

__all__ = [
    "ROUNDING",
    "Broken",
    "RuleProperty",
    "Verdict",
    "every_row",
    "given",
    "listed",
    "told",
    "which",
]

ROUNDING = 1e-9
"""Of propensities such as (m − s)/t, added up in another order."""


class Broken(NamedTuple):
    """A table on which a property does not hold.

    Parameters
    ----------
    words : str
        The table, and what happens.
    rows : tuple of int
        The rows concerned.
    found : str
        How the table was found, where it was not among all the small ones.
    """

    words: str
    rows: tuple[int, ...]
    found: str = ""


Verdict = Broken | bool
"""True where it holds, False where there is nothing to look at."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleProperty:
    """One thing that holds for a right rule.

    Parameters
    ----------
    name : str
        As in `Check`.
    statement : str
        What it says.
    holds : callable
        From a rule and a table of questions to a verdict.
    applies : callable
        From how a rule is read to None, or to the reason for which there is nothing to check.
    pairs_to : int
        Up to how many replays an arm all pairs of questions are looked at, where it costs calls of
        its own.
    """

    name: str
    statement: str
    holds: Callable[[AskedRule, Table], Verdict]
    applies: Callable[[RuleReading], str | None] = lambda _: None
    pairs_to: int = 99


def every_row(table: Table) -> tuple[int, ...]:
    """All places in a table."""
    return tuple(range(len(table)))


def given(answer: object) -> TypeGuard[Propensities]:
    """Whether an answer is propensities."""
    return type(answer) is tuple


def which(table: Table, row: int) -> str:
    """Which question it is, where there are several."""
    return f" question {row + 1}" if len(table) > 1 else ""


def listed(values: Propensities) -> str:
    """The first propensities."""
    shown = ", ".join(f"{value:.9g}" for value in values[:6])
    return f"({shown}{', …' if len(values) > 6 else ''})"


def told(answer: object) -> str:
    """An answer of any kind, in words."""
    if isinstance(answer, Raised | Wrong | Refused):
        return f"the rule says: {answer.words}"
    return listed(tuple(answer)) if isinstance(answer, tuple) else str(answer)
