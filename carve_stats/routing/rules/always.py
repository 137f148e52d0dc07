"""``always``: defer every question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from carve_stats.routing.rules.base import RuleInput

__all__ = ["TEXT", "Always", "parse"]

TEXT = "always"


@dataclass(frozen=True, slots=True)
class Always:
    """Defer every question, with or without a score."""

    decides_on: ClassVar[str] = "question"

    @property
    def conditions(self) -> tuple[str, ...]:
        """None: no replay is looked at."""
        return ()

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """All 1; shape (n,)."""
        return np.ones(len(questions.counts))

    def __str__(self) -> str:
        return "always"


def parse(text: str) -> Always | None:
    """The rule, if the text says it."""
    return Always() if text == TEXT else None
