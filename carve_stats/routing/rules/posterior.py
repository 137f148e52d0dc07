"""``posterior mean <= 0``: defer on what the replays say of a question, given the others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, check_name
from carve_stats.inference.posterior import PARTLY_IDENTIFIED, question_posteriors
from carve_stats.law.score_rule import COMPARISONS
from carve_stats.population.fit import fit_population
from carve_stats.population.mixing import Population
from carve_stats.routing.rules.base import ON_SCORES, RuleInput
from carve_stats.routing.rules.comparing import (
    as_threshold,
    compare,
    parse_comparison,
    shown_threshold,
)

__all__ = ["POSTERIOR_FIGURES", "TEXT", "PosteriorRule", "parse"]

TEXT = "posterior mean <= 0"

_POSTERIOR = re.compile(r"posterior\s+(\S+)")


POSTERIOR_FIGURES = MappingProxyType(
    {"mean": "mean_difference", "probability": "probability_not_above"}
)


@dataclass(frozen=True, slots=True)
class PosteriorRule:
    """Defer where a question's posterior compares with a threshold.

    Parameters
    ----------
    figure : str
        ``mean``: E[p_destroy − p_sham | counts], the shrunken score; ``probability``:
        P(p_destroy <= p_sham | counts).
    comparison : str
        One of ``<``, ``<=``, ``=``, ``>=`` and ``>``.
    threshold : float
        What it is compared with.
    population : Population, optional
        The population of the questions. Fitted to the counts where not given.

    Notes
    -----
    All questions with the same flips and replays have the same posterior to the last bit, so
    they are deferred together. Questions without a score keep the original answer, as under
    every rule on the replays.

    See Also
    --------
    carve_stats.inference.posterior.question_posteriors : the figures.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts(["a", "b", "c"], [0, 2, 0], [3, 3, 0], [3, 1, 0], [3, 3, 0])
    >>> rule = PosteriorRule("probability", ">=", 0.5, Population([.2, .5], [.8, .5]))
    >>> rule.propensities(RuleInput(counts, {}))
    array([0., 1., 0.])
    """

    decides_on: ClassVar[str] = "replays"

    figure: str
    comparison: str
    threshold: float
    population: Population | None = None

    def __post_init__(self) -> None:
        check_name("figure", self.figure, POSTERIOR_FIGURES)
        check_name("comparison", self.comparison, COMPARISONS)
        object.__setattr__(self, "threshold", as_threshold(self.threshold))
        if self.population is not None and not isinstance(self.population, Population):
            raise InputError(
                f"population is a {type(self.population).__name__}: it must be a Population, as"
                " fit_population(counts) gives one"
            )

    @property
    def conditions(self) -> tuple[str, ...]:
        """SHAM and DESTROY, which scores are made of."""
        return ON_SCORES

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """1 where the posterior is selected, 0 elsewhere and without a score; shape (n,)."""
        counts = questions.counts
        population = fit_population(counts) if self.population is None else self.population
        posteriors = question_posteriors(counts, population)
        values: NDArray[np.float64] = getattr(posteriors, POSTERIOR_FIGURES[self.figure])
        return (counts.scored & compare(values, self.comparison, self.threshold)).astype(float)

    def notes(self, questions: RuleInput) -> list[str]:
        """Where the population came from, and what that leaves open."""
        if self.population is not None:
            return [PARTLY_IDENTIFIED]
        fitted = "the population is fitted to these questions; intervals take it as given"
        return [f"rule {str(self)!r}: {fitted}", PARTLY_IDENTIFIED]

    def __str__(self) -> str:
        return f"posterior {self.figure} {self.comparison} {shown_threshold(self.threshold)}"


def parse(text: str) -> PosteriorRule | None:
    """The rule, if the text says it."""
    found = parse_comparison(text)
    posterior = None if found is None else _POSTERIOR.fullmatch(found[0])
    if found is None or posterior is None or posterior[1] not in POSTERIOR_FIGURES:
        return None
    return PosteriorRule(posterior[1], *found[1:])
