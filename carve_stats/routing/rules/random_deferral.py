"""``random 538``: defer so many questions, whichever they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError
from carve_stats.law._arguments import one_whole_number
from carve_stats.routing.rules.base import RuleInput

__all__ = ["TEXT", "RandomDeferral", "parse"]

TEXT = "random 538"

_RANDOM = re.compile(r"random\s+(\d{1,18})")


@dataclass(frozen=True, slots=True)
class RandomDeferral:
    """Defer m of all questions, with equal chances and whether or not they have a score.

    Parameters
    ----------
    m : int
        How many.

    Notes
    -----
    Each of n questions has propensity m/n: the figures are the means of the random choice, and
    nothing is drawn.
    """

    decides_on: ClassVar[str] = "question"

    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", one_whole_number("m", self.m, least=0))

    @property
    def conditions(self) -> tuple[str, ...]:
        """None: no replay is looked at."""
        return ()

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """All m/n; shape (n,)."""
        n = len(questions.counts)
        if self.m > n:
            there = "there is only 1 question" if n == 1 else f"there are only {n} questions"
            raise InputError(f"rule {str(self)!r}: {there} to choose from")
        return np.full(n, self.m / max(n, 1))

    def __str__(self) -> str:
        return f"random {self.m}"


def parse(text: str) -> RandomDeferral | None:
    """The rule, if the text says it."""
    found = _RANDOM.fullmatch(text)
    return None if found is None else RandomDeferral(int(found[1]))
