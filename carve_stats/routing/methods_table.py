"""The table of methods: what `compare_methods` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carve_stats import _display
from carve_stats.clusters import Estimate, IntervalMethod
from carve_stats.errors import InputError
from carve_stats.routing.evaluate import clusters_and_intervals

__all__ = ["MethodRow", "MethodsTable", "shown_count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRow:
    """One method of a `MethodsTable`.

    Parameters
    ----------
    method : str
        ``original``, the name of an answerer, a rule, or ``random 538``.
    kind : str
        ``original``, ``answerer`` (used for all questions), ``random`` (deferral of as many as
        the first rule defers) or ``rule``.
    n : int
        Questions of which the outcomes are known: the original's and the answerer's.
    clusters : int or None
        Their clusters; None where they are not known.
    selected : float
        Questions whose answer is not the original's.
    accuracy : Estimate
        Share of right answers.
    accuracy_before : float
        That of the original answers to the same questions; NaN where there is none.
    change_points : Estimate
        Accuracy less that of the original answers, in percentage points: paired by question.
        Intervals are over clusters; those of ``random`` over the choice of the questions.
    repairs, harms, net : float
        Original wrong and the method right; the reverse; the difference. Expected numbers where
        something is left to chance.
    tools, tokens : float or None
        Means a question; None where they are not known of every question.
    """

    method: str
    kind: str
    n: int
    clusters: int | None
    selected: float
    accuracy: Estimate
    accuracy_before: float
    change_points: Estimate
    repairs: float
    harms: float
    net: float
    tools: float | None
    tokens: float | None

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values; undefined figures are None."""
        return {
            "method": self.method,
            "kind": self.kind,
            "n": self.n,
            "clusters": self.clusters,
            **{name: _count(getattr(self, name)) for name in ("selected", "repairs", "harms")},
            "net": _count(self.net),
            "accuracy": self.accuracy.to_dict(),
            "accuracy_before": _display.plain(self.accuracy_before),
            "change_points": self.change_points.to_dict(),
            "tools": self.tools,
            "tokens": self.tokens,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MethodsTable:
    """Several methods on the same questions, from `compare_methods`.

    Parameters
    ----------
    rows : tuple of MethodRow
        The original answers, the alternatives by name, chance, and the rules.
    fallback : str or None
        Who answers what the rules defer; None without rules.
    questions : dict
        ``read``, ``used`` (by any row) and ``left_out`` (reason: count, of the row that leaves out
        most).
    interval : IntervalMethod
        How the intervals over clusters were made.
    notes : tuple of str
        What a reader has to know.
    """

    rows: tuple[MethodRow, ...]
    fallback: str | None
    questions: Mapping[str, Any]
    interval: IntervalMethod
    notes: tuple[str, ...]

    def __getitem__(self, method: str) -> MethodRow:
        """The row of a method, by its name."""
        for row in self.rows:
            if row.method == method:
                return row
        known = ", ".join(row.method for row in self.rows)
        raise InputError(f"no method {method!r} in the table: it has {known}")

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "fallback": self.fallback,
            "questions": dict(self.questions),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        first = self.rows[0]
        to = "" if self.fallback is None else f", rules defer to {self.fallback}"
        caption = (
            f"Methods: {_display.counted(first.n, 'question')}{to},"
            f" {clusters_and_intervals(first.clusters, self.interval)}"
        )
        headers = ["method", "accuracy %", "tools", "tokens", "change, points", "interval"]
        headers += ["repairs", "harms", "calls", "n"]
        return caption, headers, [_cells(row) for row in self.rows]

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def _cells(row: MethodRow) -> list[object]:
    change = row.change_points
    original = row.kind == "original"
    return [
        row.method,
        _display.number(100 * row.accuracy.estimate, 2),
        _display.number(row.tools, 2),
        _display.number(row.tokens, 1),
        None if original else _display.number(change.estimate, 2, signed=True),
        _display.interval(change.low, change.high, 2, signed=True),
        *([None] * 3 if original else map(shown_count, (row.repairs, row.harms, row.selected))),
        row.n,
    ]


def shown_count(count: float) -> str:
    """A number of questions: whole, or with two decimals where it is an expected one."""
    return str(int(count)) if float(count).is_integer() else _display.number(count, 2)


def _count(count: float) -> int | float:
    return int(count) if float(count).is_integer() else float(count)
