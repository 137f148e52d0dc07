"""Goals about the signs of scores: ties, and wrong signs."""

from __future__ import annotations

from carve_stats.planning.goals.base import MOST_K, GoalKind, Study
from carve_stats.planning.known import Known
from carve_stats.planning.sources import GivenPopulation

__all__ = ["KINDS", "TieRate", "WrongSign"]


class TieRate:
    """Share of questions with a score of exactly 0."""

    text = "tie rate <= 0.1"
    figure = "the share of questions with a score of exactly 0"
    least, most = 0.0, 1.0
    needs: tuple[str, ...] = ()
    about = "tie rate: the share of questions whose score is exactly 0; it never rises with k"
    undefined = ""
    monotone = True
    largest_k = MOST_K

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """As a `GoalKind`."""
        return [study.source.signs(one).zero for one in k]

    def limit(self, study: Study) -> float | None:
        """Only questions that never or always flip, in both arms alike, tie for ever."""
        if not isinstance(study.source, GivenPopulation):
            return None
        sham, destroy = study.source.population.p_sham, study.source.population.p_destroy
        sure = (sham == destroy) & ((sham == 0.0) | (sham == 1.0))
        return float(study.source.population.weights[sure].sum())

    def questions_needed(self, study: Study, k: int, number: float) -> int | None:
        """As a `GoalKind`: more questions do not change it."""
        return None


class WrongSign:
    """Share of questions whose score has the sign that the true difference has not."""

    text = "wrong sign <= 0.05"
    figure = "the share of questions with a score of the wrong sign"
    least, most = 0.0, 1.0
    needs: tuple[str, ...] = ()
    about = (
        "wrong sign: the share of questions whose score has the sign that p_destroy − p_sham has"
        " not. Questions whose true difference is 0 have no right sign and are not counted as"
        " wrong. It can rise with k before it falls, as ties become signs"
    )
    undefined = "no question has a true difference, and so none has a right sign"
    monotone = False
    largest_k = MOST_K

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """As a `GoalKind`."""
        return [study.source.wrong_sign(one) for one in k]

    def limit(self, study: Study) -> float | None:
        """Every true difference shows in the end; without any there are no wrong signs."""
        if not isinstance(study.source, GivenPopulation):
            return None
        population = study.source.population
        differs = population.p_sham != population.p_destroy
        return 0.0 if population.weights[differs].any() else None

    def questions_needed(self, study: Study, k: int, number: float) -> int | None:
        """As a `GoalKind`: more questions do not change it."""
        return None


KINDS: tuple[GoalKind, ...] = (TieRate(), WrongSign())
