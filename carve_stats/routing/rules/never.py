"""``never``: defer no question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from carve_stats.routing.rules.base import RuleInput

__all__ = ["TEXT", "Never", "parse"]

TEXT = "never"


@dataclass(frozen=True, slots=True)
class Never:
    """Keep every original answer."""

    decides_on: ClassVar[str] = "question"

    @property
    def conditions(self) -> tuple[str, ...]:
        """None: no replay is looked at."""
        return ()

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """All 0; shape (n,)."""
        return np.zeros(len(questions.counts))

    def __str__(self) -> str:
        return "never"


def parse(text: str) -> Never | None:
    """The rule, if the text says it."""
    return Never() if text == TEXT else None
