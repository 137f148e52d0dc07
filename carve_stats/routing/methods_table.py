"""The table of methods: what `compare_methods` returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from carve_stats import _display
from carve_stats.clusters import Estimate, IntervalMethod
from carve_stats.errors import InputError
from carve_stats.routing.evaluate import clusters_and_intervals
from carve_stats.routing.rules.parsing import as_routing_rule
from carve_stats.routing.value import plain_count, shown_count

__all__ = ["MethodRow", "MethodsTable", "check_answerer_names"]


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
    selected : float or None
        Questions whose answer is not the original's; None where `n` is 0, as `repairs`, `harms`
        and `net`: nothing is known of them then.
    accuracy : Estimate
        Share of right answers.
    accuracy_before : float
        That of the original answers to the same questions; NaN where there is none.
    change_points : Estimate
        Accuracy less that of the original answers, in percentage points: paired by question.
        Intervals are over clusters; those of ``random`` over the choice of the questions.
    repairs, harms, net : float or None
        Original wrong and the method right; the reverse; the difference. Expected numbers where
        something is left to chance.
    tools, tokens : float or None
        Means a question; None where they are not known of every question.
    """

    method: str
    kind: str
    n: int
    clusters: int | None
    selected: float | None
    accuracy: Estimate
    accuracy_before: float
    change_points: Estimate
    repairs: float | None
    harms: float | None
    net: float | None
    tools: float | None
    tokens: float | None

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values; undefined figures are None."""
        return {
            "method": self.method,
            "kind": self.kind,
            "n": self.n,
            "clusters": self.clusters,
            **{
                name: plain_count(getattr(self, name))
                for name in ("selected", "repairs", "harms", "net")
            },
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


def check_answerer_names(names: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Refuse an answerer with the name of another row, or of any rule.

    Parameters
    ----------
    names : iterable of str
        What the answerers are called.
    taken : iterable of str
        What other rows are called.

    Raises
    ------
    InputError
        Names the first that is taken, in whatever case and with whatever blanks.

    Examples
    --------
    >>> check_answerer_names(["look_more", "strong"], ["original answers"])
    >>> check_answerer_names(["strong", "Always"])
    Traceback (most recent call last):
        ...
    carve_stats.errors.InputError: the answerer 'Always' is called like a rule, and no reader could tell the two apart: rename the column (<name>_correct, or the key of alternatives)
    """  # noqa: E501 (one line of output)
    rows = {_folded(name) for name in taken}
    for name in names:
        if _is_rule(_folded(name)):
            what = "a rule"
        elif _folded(name) in rows:
            what = "another row of the table"
        else:
            continue
        raise InputError(
            f"the answerer {name!r} is called like {what}, and no reader could tell the two apart:"
            " rename the column (<name>_correct, or the key of alternatives)"
        )


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _is_rule(name: str) -> bool:
    try:
        as_routing_rule(name)
    except InputError:
        return False
    return True


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
