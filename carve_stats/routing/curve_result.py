"""The result of `routing_curve`: a rule at one k after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from carve_stats import _display
from carve_stats.clusters import Estimate, IntervalMethod
from carve_stats.inference.prediction import Range
from carve_stats.law.score_rule import ScoreRule
from carve_stats.routing.transitions import ScoreTransitions

__all__ = ["CurvePoint", "Retuned", "RoutingCurve"]


class Retuned(NamedTuple):
    """The best threshold at one k.

    Parameters
    ----------
    rule : ScoreRule or None
        None where the best is to defer no question.
    selected : float
        Questions deferred, expected.
    gain_points : Estimate
        Of thresholds chosen without the video that they are applied to; beyond the replays made,
        the fitted populations' gain of `rule`, with its interval.
    best_points : float
        The gain of `rule` in the questions that it was chosen on.
    """

    rule: ScoreRule | None
    selected: float
    gain_points: Estimate
    best_points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A rule at one k.

    Parameters
    ----------
    k : int
        Replays in each arm.
    predicted : bool
        Whether that is more than was made.
    selected, repairs, harms, net : float or None
        Expected questions; None where a prediction is withheld.
    yield_per_100, gain_points : Estimate
        As in `evaluate_rule`; predicted ones without a standard error, and the yield without an
        interval.
    identified : Range
        Of the gain: what the replays leave open; the gain itself where they were made.
    random_points : float
        The gain of deferring as many questions at random; NaN where that number is withheld.
    retuned : Retuned or None
        None where there are no thresholds to try, and where a prediction is withheld.
    """

    k: int
    predicted: bool
    selected: float | None
    repairs: float | None
    harms: float | None
    net: float | None
    yield_per_100: Estimate
    gain_points: Estimate
    identified: Range
    random_points: float
    retuned: Retuned | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; undefined figures are None."""
        retuned = None
        if self.retuned is not None:
            retuned = {
                "rule": "never" if self.retuned.rule is None else str(self.retuned.rule),
                "selected": self.retuned.selected,
                "gain_points": self.retuned.gain_points.to_dict(),
                "best_points": self.retuned.best_points,
            }
        return {
            "k": self.k,
            "predicted": self.predicted,
            **{n: getattr(self, n) for n in ("selected", "repairs", "harms", "net")},
            "yield_per_100": self.yield_per_100.to_dict(),
            "gain_points": self.gain_points.to_dict(),
            "identified": self.identified._asdict(),
            "random_points": _display.plain(self.random_points),
            "retuned": retuned,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RoutingCurve:
    """The gain of a rule as a function of k, from `routing_curve`.

    Parameters
    ----------
    rule : ScoreRule
        The rule.
    fallback : str
        Who answers the questions deferred.
    made_k : int
        Replays in each arm that every question with a score has.
    points : tuple of CurvePoint
        In ascending order of k.
    always_points : float
        The gain of deferring every question, in points.
    transitions : ScoreTransitions or None
        Where scores go between the smallest and the largest k; None for a single k, and where
        the prediction is withheld.
    model : str or None
        What predicted points come from; None where nothing was predicted.
    questions : dict
        ``read``, ``used``, ``left_out`` (reason: count), ``scored``.
    interval : IntervalMethod
        How intervals were made.
    notes : tuple of str
        What a reader has to know.
    """

    rule: ScoreRule
    fallback: str
    made_k: int
    points: tuple[CurvePoint, ...]
    always_points: float
    transitions: ScoreTransitions | None
    model: str | None
    questions: dict[str, Any]
    interval: IntervalMethod
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``curve`` has an entry for each k."""
        return {
            "rule": str(self.rule),
            "fallback": self.fallback,
            "made_k": self.made_k,
            "questions": dict(self.questions),
            "curve": [point.to_dict() for point in self.points],
            "always_points": self.always_points,
            "transitions": None if self.transitions is None else self.transitions.to_dict(),
            "model": self.model,
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        level = f"{100 * self.interval.level:g} % interval"
        headers = ["k", "deferred", "net per 100", "gain", level, "identified", "at random"]
        headers += ["re-tuned", "its gain"]
        rows = [_row(point) for point in self.points]
        caption = (
            f"Gain in points of deferring to {self.fallback} where {self.rule}, by k:"
            f" {self.questions['used']} questions, {self.questions['scored']} scored\n(deferring"
            f" always gains {_display.number(self.always_points, 2, signed=True)} at every k)"
        )
        return caption, headers, rows

    def __str__(self) -> str:
        text = _display.text_block(*self._table(), self.notes)
        return text if self.transitions is None else f"{text}\n\n{self.transitions}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        html = _display.html_block(*self._table(), self.notes)
        return html if self.transitions is None else html + self.transitions._repr_html_()


def _row(point: CurvePoint) -> list[object]:
    gain, retuned = point.gain_points, point.retuned
    row: list[object] = [
        f"{point.k} predicted" if point.predicted else str(point.k),
        _display.number(point.selected, 1),
        _display.number(point.yield_per_100.estimate, 2, signed=True),
        _display.number(gain.estimate, 2, signed=True),
        _display.interval(gain.low, gain.high, 2, signed=True),
        _display.interval(*point.identified, 2, signed=True) if point.predicted else "",
        _display.number(point.random_points, 2, signed=True),
    ]
    if retuned is None:
        return [*row, "", ""]
    rule = "never" if retuned.rule is None else str(retuned.rule).removeprefix("score ")
    return [*row, rule, _display.number(retuned.gain_points.estimate, 2, signed=True)]
