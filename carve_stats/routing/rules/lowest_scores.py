"""``lowest 538``: defer the questions with the lowest scores, as many as there is money for."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carve_stats.law._arguments import one_whole_number
from carve_stats.routing.rules.base import ON_SCORES, RuleInput
from carve_stats.routing.rules.ranking import lowest_propensities, score_ranks

__all__ = ["TEXT", "LowestScores", "parse"]

TEXT = "lowest 538"

_LOWEST = re.compile(r"lowest\s+(\d{1,18})(?:\s+score)?")


@dataclass(frozen=True, slots=True)
class LowestScores:
    """Defer the m questions with the lowest scores, ties at the boundary by equal chances.

    Parameters
    ----------
    m : int
        How many questions to defer; all that have a score, where those are fewer.

    Notes
    -----
    Where s scores lie below those of the boundary and t there, each of the t questions has
    propensity (m − s)/t. Figures of merit are then means over all ways to break the ties, and
    the order of the rows decides nothing. Scores of different budgets are compared exactly.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts(["a", "b", "c", "d"], [0, 2, 2, 0], [3] * 4, [3, 1, 1, 0], [3] * 4)
    >>> LowestScores(1).propensities(RuleInput(counts, {}))
    array([0. , 0.5, 0.5, 0. ])
    """

    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", one_whole_number("m", self.m, least=0))

    @property
    def conditions(self) -> tuple[str, ...]:
        """SHAM and DESTROY, which scores are made of."""
        return ON_SCORES

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """1 below the boundary, (m − s)/t there, 0 above and without a score; shape (n,)."""
        return lowest_propensities(score_ranks(questions.counts), self.m)

    def notes(self, questions: RuleInput) -> list[str]:
        """Whether there are fewer scores than asked for."""
        scored = int(questions.counts.scored.sum())
        if scored >= self.m:
            return []
        shown = "1 question has" if scored == 1 else f"{scored} questions have"
        return [f"rule {str(self)!r}: only {shown} a score, and all are deferred"]

    def __str__(self) -> str:
        return f"lowest {self.m}"


def parse(text: str) -> LowestScores | None:
    """The rule, if the text says it."""
    found = _LOWEST.fullmatch(text)
    return None if found is None else LowestScores(int(found[1]))
