"""`Deferral`: what a deferral has done to the answers, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carve_stats import _display
from carve_stats.clusters import Estimate, IntervalMethod
from carve_stats.outcomes import Outcomes
from carve_stats.routing.value import plain_count, shown_count

__all__ = ["Deferral"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Deferral:
    """What deferring questions to a second agent did, from `defer_questions`.

    Parameters
    ----------
    rule, fallback : str
        Who was to answer what.
    store : str or None
        Where its replies are; None where no question is deferred.
    seed : int
        Of its replies, and of what the rule left to chance.
    questions : dict
        ``read``, ``used`` (both outcomes known, or the first answer stands) and ``left_out``
        (reason: count) for the figures from `repairs` on.
    scored : int
        Questions with a score.
    clusters : int or None
        Of the questions used; None where they are not known.
    deferred : tuple of str
        Ids of the questions that the rule defers, in the order of the run.
    answered, no_answer, not_asked : int
        Of them, those that the fallback answered, gave no answer to, and was not asked yet.
    repairs, harms, net : int
        Answered ones whose first answer is wrong and the fallback's right, and the other way
        round; the difference. None where no right answer is known.
    yield_per_100, accuracy_before, accuracy_after, gain_points : Estimate
        As in `RoutingEvaluation`: 100·net/asked, shares of right answers before and after, and
        100·net/n.
    tokens : float or None
        What the fallback's replies took, where it tells.
    outcomes : Outcomes
        The first answers and, for those deferred, the fallback's, with the covariate ``deferred``.
    interval : IntervalMethod
        How the intervals were made.
    notes : tuple of str
        What a reader has to know.
    """

    rule: str
    fallback: str
    store: str | None
    seed: int
    questions: Mapping[str, Any]
    scored: int
    clusters: int | None
    deferred: tuple[str, ...]
    answered: int
    no_answer: int
    not_asked: int
    repairs: int | None
    harms: int | None
    net: int | None
    yield_per_100: Estimate
    accuracy_before: Estimate
    accuracy_after: Estimate
    gain_points: Estimate
    tokens: float | None
    outcomes: Outcomes
    interval: IntervalMethod
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values that JSON can hold; undefined ones are None."""
        same = ("rule", "fallback", "store", "seed", "scored", "clusters")
        counted = ("answered", "no_answer", "not_asked", "repairs", "harms", "net")
        estimates = ("yield_per_100", "accuracy_before", "accuracy_after", "gain_points")
        return {
            **{name: getattr(self, name) for name in same},
            "questions": dict(self.questions),
            "deferred": len(self.deferred),
            **{name: getattr(self, name) for name in counted},
            **{name: getattr(self, name).to_dict() for name in estimates},
            "tokens": plain_count(self.tokens),
            "deferred_questions": list(self.deferred),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _block(self) -> tuple[str, list[str], list[list[object]], tuple[str, ...]]:
        known = "clusters unknown (no intervals)"
        if self.clusters is not None:
            known = f"{_display.counted(self.clusters, 'cluster')} ({self.interval})"
        caption = (
            f"Deferral to {self.fallback} by {self.rule}:"
            f" {_display.counted(self.questions['read'], 'question')}, {self.scored} scored,"
            f" {known}"
        )
        counted = ("deferred", "answered", "no_answer", "not_asked", "repairs", "harms", "net")
        shown = {name: getattr(self, name) for name in counted} | {"deferred": len(self.deferred)}
        rows: list[list[object]] = [[n.replace("_", " "), v, ""] for n, v in shown.items()]
        rows += [
            _row("net per 100 asked", self.yield_per_100, 1, signed=True),
            _row("accuracy before, %", self.accuracy_before, 100),
            _row("accuracy after, %", self.accuracy_after, 100),
            _row("gain, points", self.gain_points, 1, signed=True),
        ]
        if self.tokens is not None:
            rows.append(["tokens", shown_count(self.tokens), ""])
        return caption, ["", "", "interval"], rows, self.notes

    def __str__(self) -> str:
        return _display.text_block(*self._block())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._block())


def _row(name: str, figure: Estimate, scale: int, *, signed: bool = False) -> list[object]:
    low, high = (None if end is None else scale * end for end in (figure.low, figure.high))
    return [
        name,
        _display.number(scale * figure.estimate, 2, signed=signed),
        _display.interval(low, high, 2, signed=signed),
    ]
