"""Compact logs: one record a question, its flips as lists of 0, 1 and null."""

from __future__ import annotations

import json
import math
from typing import Any

from carve_stats.counts import CONDITIONS
from carve_stats.errors import RecordError
from carve_stats.logs.columns import COUNT_COLUMNS
from carve_stats.logs.records import FALSE, NULL, TRUE
from carve_stats.logs.scan import Scan, as_text, identifier, scan_columns

__all__ = ["expand_compact"]


def expand_compact(connection: Any, scan: Scan) -> Scan:
    """Count the lists of a compact log.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the scan can be read.
    scan : Scan
        Of the form ``compact``.

    Returns
    -------
    Scan
        Of the form ``counts``: a question whose lists are empty is there, with no replays.

    Raises
    ------
    RecordError
        Flips that are no list of flips, as they do not say how many replays they are out of, or a
        `delta` that is not the destroy flip rate less the sham flip rate, to three decimals.
    """
    columns: dict[str, list[str]] = {name: [] for name in COUNT_COLUMNS}
    columns |= {"lists": [], "strange": []}
    sources: list[str] = []
    names = ("run", "question_id", "video_id", "delta", *(f"{arm}_flips" for arm in CONDITIONS))
    selected = ", ".join(_json_text(scan, name) for name in names)
    strange = "strange" if "strange" in scan.types else "NULL"
    for row, values in enumerate(
        connection.execute(f"SELECT source, {strange}, {selected} FROM ({scan.sql})").fetchall()
    ):
        source, is_strange, run, question, video, delta, *lists = values
        counts: list[str] = []
        said: list[str] = []  # rows of one question may have the same counts, and differ
        rates = {}
        for arm, text in zip(CONDITIONS, lists, strict=True):
            place = f"{scan.locate(row)}: {arm}_flips={text}"
            flips = [_flip(f, place) for f in _list(text, place, arm)]
            said.append(as_text(flips))
            known = [f for f in flips if f is not None]
            rates[arm] = sum(known) / len(known) if known else math.nan
            counts += map(str, (sum(known), len(known), len(flips) - len(known)))
        _check_delta(delta, rates["destroy"] - rates["sham"], scan, row)
        values_of_row = (run, question, video, *counts, " ".join(said), str(is_strange or ""))
        for column, value in zip(columns.values(), values_of_row, strict=True):
            column.append(value or "")
        sources.append(source)
    return scan_columns(
        connection,
        columns,
        form="counts",
        source=sources,
        locate=scan.locate,
        inputs=scan.inputs,
        left_out=scan.left_out,
        notes=scan.notes,
    )


def _json_text(scan: Scan, name: str) -> str:
    if scan.types.get(name, "").endswith("]"):  # a list of a data frame or a Parquet file
        return f"to_json({identifier(name)})::VARCHAR"
    return scan.text(name)


def _list(text: str | None, place: str, arm: str) -> list[Any]:
    try:
        flips = json.loads(text or "null")
    except json.JSONDecodeError:
        flips = text
    if flips is None:
        return []
    if not isinstance(flips, list):
        raise RecordError(
            f"{place} must be a list of 0, 1 and null, one a replay; where it is a count, give"
            f" {arm}_replays too"
        )
    return flips


def _flip(value: Any, place: str) -> int | None:
    text = as_text(value).strip().lower().removesuffix(".0")
    if text in NULL:
        return None
    if text not in TRUE + FALSE:
        raise RecordError(f"{place}: flip={text} must be 0, 1, true, false or null")
    return int(text in TRUE)


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
