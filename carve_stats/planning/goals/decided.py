"""The goal that single questions are decided: an exact test rejects equal flip probabilities."""

from __future__ import annotations

import numpy as np

from carve_stats.law._arguments import error_rate
from carve_stats.law.exact_tests import exact_test
from carve_stats.planning.goals.base import GoalKind, Study
from carve_stats.planning.known import Known
from carve_stats.planning.sources import GivenPopulation

__all__ = ["KINDS", "Decided"]


class Decided:
    """Share of questions for which Barnard's two-sided test rejects p_destroy = p_sham."""

    text = "decided >= 0.5"
    figure = "the share of questions whose exact test rejects equal flip probabilities"
    least, most = 0.0, 1.0
    needs: tuple[str, ...] = ()
    about = (
        "decided: the share of questions for which Barnard's two-sided exact test rejects equal"
        " flip probabilities at 1 − level, question by question, not adjusted for their number;"
        " saw-toothed in k, as the test's own error is"
    )
    undefined = ""
    monotone = False
    largest_k = 100  # the exact tests of larger ones take many seconds

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """As a `GoalKind`."""
        significance = error_rate(study.level)
        return [study.source.share(one, exact_test(one, one).rejects(significance)) for one in k]

    def limit(self, study: Study) -> float | None:
        """At most: every true difference, and the test's own errors among the others."""
        if not isinstance(study.source, GivenPopulation):
            return None
        population = study.source.population
        differs = population.p_sham != population.p_destroy
        sure = np.isin(population.p_sham, (0.0, 1.0)) & ~differs
        share, never = float(population.weights[differs].sum()), population.weights[sure].sum()
        return share + (1.0 - share - float(never)) * error_rate(study.level)

    def questions_needed(self, study: Study, k: int, number: float) -> int | None:
        """As a `GoalKind`: more questions do not change it."""
        return None


KINDS: tuple[GoalKind, ...] = (Decided(),)
