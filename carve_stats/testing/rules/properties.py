"""What every routing rule must do: the list of properties."""

from __future__ import annotations

from carve_stats.testing.rules.answers import (
    does_what_it_says,
    gives_propensities,
    leaves_undefined,
    runs,
)
from carve_stats.testing.rules.invariance import (
    ignores_names,
    ignores_other_replays,
    ignores_row_order,
    leaves_generators,
    leaves_input,
    repeats,
)
from carve_stats.testing.rules.reading import RuleReading
from carve_stats.testing.rules.ties import decides_ties_alike, ignores_rounding
from carve_stats.testing.rules.verdicts import RuleProperty

__all__ = ["PROPERTIES"]


def _of_scores(reading: RuleReading) -> str | None:
    return None if reading.takes_scores else "whole numbers come with the counts that it takes"


def _of_counts(reading: RuleReading) -> str | None:
    return "it sees scores, and no ids" if reading.takes_scores else None


def _needing_scores(reading: RuleReading) -> str | None:
    return "it says that it needs no score" if reading.decides_on == "question" else None


def _of_score_rules(reading: RuleReading) -> str | None:
    if reading.takes_scores:
        return "it sees scores, and no replays"
    if reading.decides_on != "score":
        return f"it says that it decides on more than the score: {reading.decides_on}"
    return None


def _named(reading: RuleReading) -> str | None:
    return None if reading.comparison else "its name is no comparison such as 'score <= 0'"


_TIES = "equal scores, and what else is equal where it looks at more, have equal propensities"
PROPERTIES = (
    RuleProperty("runs", "gives an answer and raises nothing", runs),
    RuleProperty("propensities", "is one number in [0, 1] a question", gives_propensities),
    RuleProperty(
        "undefined scores", "a question without a score is not deferred", leaves_undefined,
        _needing_scores,
    ),
    RuleProperty("ties", _TIES, decides_ties_alike),
    RuleProperty(
        "thresholds", "decides as its name says, on whole numbers", does_what_it_says, _named
    ),
    RuleProperty(
        "float scores", "scores that differ by rounding alone are decided alike",
        ignores_rounding, _of_scores,
    ),
    RuleProperty(
        "row order", "the order of the questions changes nothing", ignores_row_order, pairs_to=2
    ),
    RuleProperty(
        "names", "question ids, the ledger and clusters change nothing", ignores_names,
        _of_counts, 1,
    ),
    RuleProperty(
        "other replays", "invalid and SELF replays change nothing of a score rule",
        ignores_other_replays, _of_score_rules, 1,
    ),
    RuleProperty("repeatable", "is the same each time", repeats, pairs_to=1),
    RuleProperty(
        "generators", "leaves the global random generators alone", leaves_generators, pairs_to=1
    ),
    RuleProperty("input", "leaves what it is given as it is", leaves_input, pairs_to=1),
)  # fmt: skip
"""In the order in which they are reported."""
