"""Compact logs: one record a question, its flips as lists of 0, 1 and null."""

from __future__ import annotations

import json
import math
from typing import Any

from carve_stats.counts import CONDITIONS
from carve_stats.errors import RecordError
from carve_stats.logs.scan import Scan, as_text, identifier, scan_columns

__all__ = ["expand_compact"]


def expand_compact(connection: Any, scan: Scan) -> Scan:
    """Write the lists of a compact log out as one record a replay.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the scan can be read.
    scan : Scan
        Of the form ``compact``.

    Returns
    -------
    Scan
        Of the form ``records``; a replay's repetition is its place in the list.

    Raises
    ------
    RecordError
        Flips that are no list, as they do not say how many replays they are out of, or a
        `delta` that is not the destroy flip rate less the sham flip rate, to three decimals.
    """
    columns: dict[str, list[str]] = {
        name: [] for name in ("run", "question_id", "video_id", "condition", "repetition", "flip")
    }
    sources: list[str] = []
    rows: list[int] = []
    names = ("run", "question_id", "video_id", "delta", *(f"{arm}_flips" for arm in CONDITIONS))
    selected = ", ".join(_json_text(scan, name) for name in names)
    for row, values in enumerate(
        connection.execute(f"SELECT source, {selected} FROM ({scan.sql})").fetchall()
    ):
        source, run, question, video, delta, *lists = values
        rates = {}
        for arm, text in zip(CONDITIONS, lists, strict=True):
            flips = _list(text, f"{scan.locate(row)}: {arm}_flips={text}", arm)
            known = [f for f in flips if f is not None]
            rates[arm] = sum(map(bool, known)) / len(known) if known else math.nan
            for repetition, flip in enumerate(flips):
                values_of_record = (run, question, video, arm, str(repetition), as_text(flip))
                for column, value in zip(columns.values(), values_of_record, strict=True):
                    column.append(value or "")
                sources.append(source)
                rows.append(row)
        _check_delta(delta, rates["destroy"] - rates["sham"], scan, row)
    return scan_columns(
        connection,
        columns,
        form="records",
        source=sources,
        locate=lambda i: scan.locate(rows[i]),
        inputs=scan.inputs,
        left_out=scan.left_out,
        notes=scan.notes,
    )


def _json_text(scan: Scan, name: str) -> str:
    if name not in scan.types:
        return "NULL"
    if scan.types[name].endswith("]"):  # a list of a data frame or a Parquet file
        return f"to_json({identifier(name)})::VARCHAR"
    return f"{identifier(name)}::VARCHAR"


def _list(text: str | None, place: str, arm: str) -> list[Any]:
    if not text:
        return []
    try:
        flips = json.loads(text)
    except json.JSONDecodeError:
        flips = None
    if not isinstance(flips, list):
        raise RecordError(
            f"{place} must be a list of 0, 1 and null, one a replay; where it is a count, give"
            f" {arm}_replays too"
        )
    return flips


def _check_delta(delta: str | None, expected: float, scan: Scan, row: int) -> None:
    if not delta or delta.lower() in ("nan", "null"):
        return
    try:
        agrees = abs(float(delta) - expected) < 1e-3
    except ValueError:
        agrees = False
    if not agrees:
        rate = "undefined" if math.isnan(expected) else f"{expected:.4f}"
        raise RecordError(
            f"{scan.locate(row)}: delta={delta} disagrees with its flips, whose rates differ by"
            f" {rate}: mend the record, or leave delta out and it is derived"
        )
