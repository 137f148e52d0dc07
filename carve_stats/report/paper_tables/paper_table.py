"""What a table of the paper is: named figures in rows, some with an interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from carve_stats import _display
from carve_stats.clusters import Estimate
from carve_stats.errors import InputError

__all__ = ["HERE", "PUBLISHED", "Column", "Figure", "PaperTable", "Row", "figure", "missing_table"]

HERE, PUBLISHED = "here", "published"


@dataclass(frozen=True, slots=True)
class Column:
    """One kind of figure.

    Parameters
    ----------
    name : str
        Its name in CSV and JSON, that of the published file.
    heading : str
        What stands above it.
    digits : int
        Decimals; 0 for whole numbers.
    signed : bool
        Whether positive figures carry their sign.
    ends : (str, str), optional
        Names of the interval's ends in CSV; None for a column without intervals.
    ends_last : bool
        Whether they stand in CSV after all columns, as in the published file of table 4.
    """

    name: str
    heading: str
    digits: int = 4
    signed: bool = False
    ends: tuple[str, str] | None = None
    ends_last: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, perhaps with an interval; None where it is undefined or not given."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Parameters
    ----------
    key : tuple of str
        What the published file calls it, one text for each of the table's labels.
    figures : mapping of str to Figure
        By the columns' names; a column may be left out.
    labels : tuple of str, optional
        What a reader sees in place of the key.
    source : str
        ``here`` for figures of these logs, ``published`` for the paper's.
    by_chance : bool
        Whether its intervals are over which questions chance chooses, and not over videos.
    """

    key: tuple[str, ...]
    figures: Mapping[str, Figure]
    labels: tuple[str, ...] | None = None
    source: str = HERE
    by_chance: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        """The labels, or the key where there are none."""
        return self.key if self.labels is None else self.labels


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PaperTable:
    """A table of the paper, made of one's own logs.

    Parameters
    ----------
    name : str
        ``1`` to ``4``, ``A1`` to ``A5``.
    caption : str
        What the table shows.
    labels : tuple of (str, str)
        Names in CSV, and headings, of what names a row.
    shown_names : tuple of str
        Names in CSV and JSON of what a reader sees in place of each key; none where the key is
        enough.
    columns : tuple of Column
        The figures of a row.
    rows : tuple of Row
        In the paper's order.
    notes : tuple of str
        What a reader has to know.
    missing : str or None
        What it needs and was not given; it then has no rows.
    level : float
        Confidence level of the intervals.
    """

    name: str
    caption: str
    labels: tuple[tuple[str, str], ...] = ()
    shown_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = field(default=())
    missing: str | None = None
    level: float = 0.95

    @property
    def title(self) -> str:
        """``Table A2: …``; of a table that could not be made, one line that says why."""
        said = self.caption if self.missing is None else f"needs {self.missing}"
        return f"Table {self.name}: {said}"

    @property
    def has_published(self) -> bool:
        """Whether published figures are among the rows."""
        return any(row.source == PUBLISHED for row in self.rows)

    @property
    def has_intervals(self) -> bool:
        """Whether any figure of these logs has one over videos."""
        return any(
            one.low is not None
            for row in self.rows
            if row.source == HERE and not row.by_chance
            for one in row.figures.values()
        )

    def figure(self, column: str, *key: str, source: str = HERE) -> Figure:
        """The figure of one cell.

        Parameters
        ----------
        column : str
            The name of a column.
        *key : str
            What names the row.
        source : str
            ``here`` or ``published``.

        Returns
        -------
        Figure
            An empty one where the row has none.

        Raises
        ------
        InputError
            A table that could not be made; no such column or row: the message lists those there
            are.
        """
        if self.missing is not None:
            raise InputError(self.title)
        names = [one.name for one in self.columns]
        if column not in names:
            raise InputError(f"column={column!r}: table {self.name} has {', '.join(names)}")
        rows = [row for row in self.rows if row.source == source]
        for row in rows:
            if row.key == key:
                return row.figures.get(column, Figure())
        there = "; ".join(", ".join(map(repr, row.key)) for row in rows) or "none"
        shown = ", ".join(map(repr, key))
        raise InputError(f"no row {shown} ({source}) in table {self.name}; its rows are {there}")

    def __str__(self) -> str:
        # Formats are of tables: they cannot be imported before there is one.
        from carve_stats.report.paper_tables.formats import as_text

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from carve_stats.report.paper_tables.formats import as_html

        return as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values that JSON can hold."""
        return {
            "table": self.name,
            "caption": self.caption,
            "missing": self.missing,
            "level": self.level,
            "rows": [self._row(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def _row(self, row: Row) -> dict[str, Any]:
        values: dict[str, Any] = {
            name: text for (name, _), text in zip(self.labels, row.key, strict=True)
        }
        if self.shown_names:
            shown = row.shown if row.source == HERE else [None] * len(self.shown_names)
            values |= dict(zip(self.shown_names, shown, strict=True))
        values["origin"] = row.source
        for column in self.columns:
            one = row.figures.get(column.name, Figure())
            values[column.name] = _plain(one.value, whole=column.digits == 0)
            if column.ends is not None:
                values |= dict(zip(column.ends, (_plain(one.low), _plain(one.high)), strict=True))
        return values


def figure(estimate: Estimate | float | None, *, times: float = 1.0) -> Figure:
    """A figure of an estimate with its interval, or of a number without one.

    Parameters
    ----------
    estimate : Estimate, float or None
        NaN and None are undefined.
    times : float
        What all of it is multiplied with, 100 for percent.

    Returns
    -------
    Figure
        Whole numbers stay whole.
    """
    if isinstance(estimate, Estimate):
        ends = (_times(estimate.low, times), _times(estimate.high, times))
        return Figure(_times(estimate.estimate, times), *ends)
    return Figure(_times(estimate, times))


def missing_table(name: str, caption: str, missing: Iterable[str]) -> PaperTable:
    """A table in whose place stands what it needs."""
    return PaperTable(name=name, caption=caption, missing="; ".join(missing))


def _times(x: float | None, times: float) -> float | None:
    if x is None or not math.isfinite(x):
        return None
    return x if times == 1.0 else times * x


def _plain(x: float | None, *, whole: bool = False) -> float | None:
    if whole and x is not None and float(x).is_integer():
        return int(x)
    return x if isinstance(x, int) else _display.plain(x)
