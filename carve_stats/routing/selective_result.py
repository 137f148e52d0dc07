"""What selective prediction says of one score, and of two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import Estimate, IntervalMethod
from carve_stats.routing.evaluate import clusters_and_intervals
from carve_stats.routing.ranked_risk import COVERAGES

__all__ = ["ACCURACIES", "FIGURES", "RiskCoverage", "SelectiveComparison", "labelled"]

Floats = NDArray[np.float64]

ACCURACIES = tuple(f"accuracy_at_{round(100 * coverage)}" for coverage in COVERAGES)
FIGURES = ("aurc", "augrc", "partial_risk", *ACCURACIES)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RiskCoverage:
    """Risk against coverage of one score, from `risk_coverage`.

    Parameters
    ----------
    name : str
        What the score is called.
    questions : dict
        ``read``, ``used`` and ``left_out`` (reason: count).
    clusters : int or None
        Clusters of the questions used; None where they are not known.
    error_rate : float
        Share of wrong answers: the AURC of a score that says nothing.
    score, coverage, risk : ndarray of float, shape (groups,)
        One point for each group of equal scores, the most trusted first: its score, the share
        of questions with at least that score, and the share of wrong answers among these.
    aurc, augrc : Estimate
        Mean of the risk, and of errors among those kept/n, over all numbers of questions kept.
    partial_range : (float, float)
        A range of coverage.
    partial_risk : Estimate
        Mean risk over it.
    accuracy_at : mapping of float to Estimate
        Share of right answers among those kept, at coverage 1, 0.9 and 0.7.
    interval : IntervalMethod
        How the intervals were made.
    notes : tuple of str
        What a reader has to know.
    """

    name: str
    questions: Mapping[str, Any]
    clusters: int | None
    error_rate: float
    score: Floats
    coverage: Floats
    risk: Floats
    aurc: Estimate
    augrc: Estimate
    partial_range: tuple[float, float]
    partial_risk: Estimate
    accuracy_at: Mapping[float, Estimate]
    interval: IntervalMethod
    notes: tuple[str, ...]

    @property
    def figures(self) -> dict[str, Estimate]:
        """Every estimate by name, ``accuracy_at_90`` for the accuracy at coverage 0.9."""
        areas = {name: getattr(self, name) for name in ("aurc", "augrc", "partial_risk")}
        return {**areas, **dict(zip(ACCURACIES, self.accuracy_at.values(), strict=True))}

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "name": self.name,
            "questions": dict(self.questions),
            "clusters": self.clusters,
            "error_rate": _display.plain(self.error_rate),
            "points": {
                # An infinite score has a place in the order, and none in JSON.
                "score": [_display.plain(x) for x in self.score.tolist()],
                "coverage": self.coverage.tolist(),
                "risk": self.risk.tolist(),
            },
            **{name: estimate.to_dict() for name, estimate in self.figures.items()},
            "partial_range": list(self.partial_range),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        caption = (
            f"Selective prediction by {self.name}:"
            f" {_caption(self.questions, self.clusters, self.interval)}\n"
            f"{_display.counted(self.score.size, 'different score')}; share of wrong answers"
            f" {_display.number(self.error_rate)}, the AURC of a score that says nothing"
        )
        rows: list[list[object]] = [
            [label, _display.number(e.estimate), _display.interval(e.low, e.high)]
            for label, e in zip(_labels(self.partial_range), self.figures.values(), strict=True)
        ]
        return caption, ["", "estimate", "interval"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SelectiveComparison:
    """Two scores on the same questions, from `compare_selective`.

    Parameters
    ----------
    questions : dict
        ``read``, ``used`` (those that have both scores) and ``left_out`` (reason: count).
    a, b : RiskCoverage
        Each score on the questions used.
    differences : mapping of str to Estimate
        Each figure of a less that of b, with a paired interval; names as in
        `RiskCoverage.figures`.
    p_values : mapping of str to float or None
        Of the hypothesis that the difference is zero, by the t distribution; None for the
        bootstrap and where there is no standard error.
    interval : IntervalMethod
        How the intervals were made.
    notes : tuple of str
        What a reader has to know.
    """

    questions: Mapping[str, Any]
    a: RiskCoverage
    b: RiskCoverage
    differences: Mapping[str, Estimate]
    p_values: Mapping[str, float | None]
    interval: IntervalMethod
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "questions": dict(self.questions),
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "differences": {name: e.to_dict() for name, e in self.differences.items()},
            "p_values": {name: _display.plain(p) for name, p in self.p_values.items()},
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        caption = (
            f"a: {self.a.name}; b: {self.b.name}\nSelective prediction:"
            f" {_caption(self.questions, self.a.clusters, self.interval)}"
        )
        a, b = self.a.figures, self.b.figures
        rows: list[list[object]] = [
            [
                label,
                _display.number(a[name].estimate),
                _display.number(b[name].estimate),
                _display.number(e.estimate, signed=True),
                _display.interval(e.low, e.high, signed=True),
                _display.p_value(self.p_values[name]),
            ]
            for label, (name, e) in zip(
                _labels(self.a.partial_range), self.differences.items(), strict=True
            )
        ]
        return caption, ["", "a", "b", "a − b", "interval", "p-value"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def _labels(partial: tuple[float, float]) -> list[str]:
    areas = ["AURC", "AUGRC", f"mean risk, coverage {partial[0]:g} to {partial[1]:g}"]
    return [*areas, *(f"accuracy at coverage {float(coverage):g}" for coverage in COVERAGES)]


def labelled(
    figures: Mapping[str, Estimate], partial: tuple[float, float]
) -> list[tuple[str, Estimate]]:
    """Estimates in the order of `FIGURES`, with the names that a reader sees."""
    return list(zip(_labels(partial), figures.values(), strict=True))


def _caption(questions: Mapping[str, Any], clusters: int | None, interval: IntervalMethod) -> str:
    used = _display.counted(questions["used"], "question")
    return f"{used}, {clusters_and_intervals(clusters, interval)}"
