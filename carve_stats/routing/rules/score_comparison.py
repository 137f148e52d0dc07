"""``score <= 0``: defer where the score stands in one relation to a threshold."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.routing.rules.base import ON_SCORES, RuleInput

__all__ = ["TEXT", "ScoreComparison", "parse"]

TEXT = "score <= 0"

_SCORE = re.compile(r"(?:score|delta|Δ̂?)\s*[<>=≤≥].*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ScoreComparison:
    """Defer the questions that a `ScoreRule` selects, and none without a score.

    Parameters
    ----------
    rule : ScoreRule
        The comparison, which is decided on integers.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts(["a", "b", "c"], [0, 2, 1], [3, 3, 3], [3, 1, 0], [3, 3, 0])
    >>> rule = ScoreComparison(ScoreRule.parse("score <= 0"))
    >>> rule.propensities(RuleInput(counts, {}))
    array([0., 1., 0.])
    """

    rule: ScoreRule

    @property
    def conditions(self) -> tuple[str, ...]:
        """SHAM and DESTROY, which scores are made of."""
        return ON_SCORES

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """1 where the score is selected, 0 elsewhere; shape (n,)."""
        counts = questions.counts
        if counts.stopping is not None:
            return self._decided(counts)
        denominator = counts.sham_replays * counts.destroy_replays
        return self.rule.selects(counts.score_numerator, denominator).astype(float)

    def _decided(self, counts: ReplayCounts) -> NDArray[np.float64]:
        """What the plan that stopped the replays early decided: as all of them would have."""
        from carve_stats.inference.stopped import stopped_decisions

        decided_rule = None if counts.stopping is None else counts.stopping.rule
        decisions = stopped_decisions(counts)
        known = ~np.isnan(decisions)
        if decided_rule == "sign" and self.rule.threshold == 0:
            # A score between −1 and 1 stands to 0 as its sign does.
            sign = np.where(known, decisions, 0.0).astype(np.int64)
            return (known & self.rule.selects(sign, 1)).astype(float)
        if decided_rule != self.rule:
            raise InputError(
                f"rule {str(self.rule)!r} is not known of all questions: their replays were"
                f" stopped when {str(decided_rule)!r} was decided; give that rule, or full replays"
            )
        return np.where(known, decisions, 0.0)

    def __str__(self) -> str:
        return str(self.rule)


def parse(text: str) -> ScoreComparison | None:
    """The rule, if the text says it."""
    return ScoreComparison(ScoreRule.parse(text)) if _SCORE.fullmatch(text) else None
