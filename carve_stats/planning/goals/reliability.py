"""The goal that two runs agree: the correlation of their scores."""

from __future__ import annotations

from carve_stats.planning.goals.base import MOST_K, GoalKind, Study
from carve_stats.planning.known import Known
from carve_stats.planning.sources import ROUNDING

__all__ = ["KINDS", "Reliability"]


class Reliability:
    """Correlation of the scores of two independent runs over the same questions."""

    text = "reliability >= 0.8"
    figure = "the correlation of the scores of two runs over the same questions"
    least, most = 0.0, 1.0
    needs: tuple[str, ...] = ()
    about = (
        "reliability: the correlation of the scores of two independent runs over the same"
        " questions; 1 is never reached, and it is 0 where questions are all alike"
    )
    undefined = "the scores do not vary at all"
    monotone = True
    largest_k = MOST_K

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """As a `GoalKind`."""
        return [study.source.reliability(one) for one in k]

    def limit(self, study: Study) -> float | None:
        """1 where questions differ; a pilot that sees no difference does not tell."""
        if study.source.split.questions > ROUNDING:
            return 1.0
        return None if study.source.made else 0.0

    def questions_needed(self, study: Study, k: int, number: float) -> int | None:
        """As a `GoalKind`: more questions do not change it."""
        return None


KINDS: tuple[GoalKind, ...] = (Reliability(),)
