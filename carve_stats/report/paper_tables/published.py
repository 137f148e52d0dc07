"""The paper's own figures, to be put beside one's own."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files

from carve_stats.report.paper_tables.paper_table import PUBLISHED, Column, Figure, PaperTable, Row

__all__ = ["beside_published"]


SOURCE = (
    "published: the CARVE paper, Counterfactual Sensitivity Is Not Repairability (2026); {of}; no"
    " figures of these logs"
)


def beside_published(
    table: PaperTable,
    file: str,
    of: str,
    labels: Callable[[tuple[str, ...]], tuple[str, ...]] | None = None,
) -> PaperTable:
    """Add the published figures, each row below its own.

    Parameters
    ----------
    table : PaperTable
        Rows are matched by their keys.
    file : str
        Name of the published file.
    of : str
        What its figures are of: benchmark, number of questions.
    labels : callable, optional
        What a reader sees in place of a published row's key; not given, what the row of one's own
        beside it is called.

    Returns
    -------
    PaperTable
        Published rows that have no counterpart come last. A table whose inputs are missing stays
        as it is.
    """
    if table.missing is not None:
        return table
    published = {row.key: row for row in _read(table, file)}
    rows: list[Row] = []
    for row in table.rows:
        rows.append(row)
        if row.key in published:
            rows.append(replace(published.pop(row.key), labels=row.labels))
    rows += published.values()
    if labels is not None:
        rows = [r if r.source != PUBLISHED else replace(r, labels=labels(r.key)) for r in rows]
    return replace(table, rows=tuple(rows), notes=(*table.notes, SOURCE.format(of=of)))


def _read(table: PaperTable, file: str) -> list[Row]:
    text = (files(__package__) / "published" / file).read_text(encoding="utf-8")
    return [
        Row(
            tuple(line[name] for name, _ in table.labels),
            {column.name: _figure(line, column) for column in table.columns},
            source=PUBLISHED,
        )
        for line in csv.DictReader(text.splitlines())
    ]


def _figure(line: dict[str, str], column: Column) -> Figure:
    names = (column.name, *(column.ends or ()))
    return Figure(*(_number(line.get(name, ""), column.digits) for name in names))


def _number(text: str, digits: int) -> float | None:
    if not text:
        return None
    return int(text) if digits == 0 else float(text)
