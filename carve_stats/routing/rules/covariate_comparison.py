"""``confidence < 0.5``: defer where a covariate stands in one relation to a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import check_name
from carve_stats.law.score_rule import COMPARISONS
from carve_stats.routing.rules.base import RuleInput
from carve_stats.routing.rules.comparing import (
    as_threshold,
    compare,
    parse_comparison,
    shown_threshold,
)
from carve_stats.routing.rules.covariates import (
    covariate_conditions,
    missing_note,
    numeric_covariate,
)

__all__ = ["ANY_NAME", "TEXT", "CovariateComparison", "parse"]

TEXT = "<covariate> < 0.5"

ANY_NAME = True
"""Tried after the rules whose names are their own."""


@dataclass(frozen=True, slots=True)
class CovariateComparison:
    """Defer where a covariate of numbers, such as a confidence, compares with a threshold.

    Parameters
    ----------
    name : str
        The covariate; questions where it is missing keep the original answer.
    comparison : str
        One of ``<``, ``<=``, ``=``, ``>=`` and ``>``.
    threshold : float
        What it is compared with.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts(["a", "b", "c"], [0, 0, 0], [3, 3, 3], [1, 1, 1], [3, 3, 3])
    >>> questions = RuleInput(counts, {"confidence": np.array([0.9, np.nan, 0.2])})
    >>> CovariateComparison("confidence", "<", 0.5).propensities(questions)
    array([0., 0., 1.])
    """

    decides_on: ClassVar[str] = "question"

    name: str
    comparison: str
    threshold: float

    def __post_init__(self) -> None:
        check_name("comparison", self.comparison, COMPARISONS)
        object.__setattr__(self, "threshold", as_threshold(self.threshold))

    @property
    def conditions(self) -> tuple[str, ...]:
        """SELF for the share of SELF replays that keep the answer; else none."""
        return covariate_conditions(self.name)

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """1 where the covariate is selected, 0 elsewhere and where it is missing; shape (n,)."""
        values = numeric_covariate(self.name, questions)
        return compare(values, self.comparison, self.threshold).astype(float)

    def notes(self, questions: RuleInput) -> list[str]:
        """How many questions lack the covariate."""
        return missing_note(self, numeric_covariate(self.name, questions), self.name)

    def __str__(self) -> str:
        return f"{self.name} {self.comparison} {shown_threshold(self.threshold)}"


def parse(text: str) -> CovariateComparison | None:
    """The rule, if the text says it."""
    found = parse_comparison(text)
    return None if found is None else CovariateComparison(*found)
