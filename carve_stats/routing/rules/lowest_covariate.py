"""``lowest 100 confidence``: defer the questions where a covariate is lowest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from carve_stats.law._arguments import one_whole_number
from carve_stats.routing.rules.base import RuleInput
from carve_stats.routing.rules.covariates import (
    covariate_conditions,
    missing_note,
    numeric_covariate,
)
from carve_stats.routing.rules.ranking import NO_RANK, lowest_propensities

__all__ = ["ANY_NAME", "TEXT", "LowestCovariate", "parse"]

TEXT = "lowest 538 <covariate>"

ANY_NAME = True
"""Tried after the rules whose names are their own."""

_LOWEST = re.compile(r"lowest\s+(\d{1,18})\s+(\S.*)")


@dataclass(frozen=True, slots=True)
class LowestCovariate:
    """Defer the m questions where a covariate is lowest, ties at the boundary by equal chances.

    Parameters
    ----------
    m : int
        How many questions to defer; all that have the covariate, where those are fewer.
    name : str
        The covariate; questions where it is missing keep the original answer.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts(["a", "b", "c"], [0, 0, 0], [3, 3, 3], [1, 1, 1], [3, 3, 3])
    >>> questions = RuleInput(counts, {"confidence": np.array([0.9, np.nan, 0.2])})
    >>> LowestCovariate(1, "confidence").propensities(questions)
    array([0., 0., 1.])
    """

    decides_on: ClassVar[str] = "question"

    m: int
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", one_whole_number("m", self.m, least=0))

    @property
    def conditions(self) -> tuple[str, ...]:
        """SELF for the share of SELF replays that keep the answer; else none."""
        return covariate_conditions(self.name)

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """1 below the boundary, (m − s)/t there, 0 above and where missing; shape (n,)."""
        values = numeric_covariate(self.name, questions)
        known = ~np.isnan(values)
        ranks = np.full(values.size, NO_RANK, np.int64)
        ranks[known] = np.unique(values[known], return_inverse=True)[1]
        return lowest_propensities(ranks, self.m)

    def notes(self, questions: RuleInput) -> list[str]:
        """How many questions lack the covariate, and whether fewer have it than asked for."""
        values = numeric_covariate(self.name, questions)
        known = int((~np.isnan(values)).sum())
        notes = missing_note(self, values, self.name)
        if known < self.m:
            shown = "1 question has" if known == 1 else f"{known} questions have"
            notes.append(f"rule {str(self)!r}: only {shown} a {self.name}, and all are deferred")
        return notes

    def __str__(self) -> str:
        return f"lowest {self.m} {self.name}"


def parse(text: str) -> LowestCovariate | None:
    """The rule, if the text says it."""
    found = _LOWEST.fullmatch(text)
    return None if found is None else LowestCovariate(int(found[1]), found[2])
