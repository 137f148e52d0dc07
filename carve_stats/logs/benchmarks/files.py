"""The records in a JSON, JSONL or Parquet file, and where each of them stands."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError, RecordError
from carve_stats.logs import json_file, jsonl, parquet
from carve_stats.logs.benchmarks.base import Placed
from carve_stats.logs.paths import check_regular
from carve_stats.logs.scan import check_gzip, connect, duckdb_message

__all__ = ["load_records"]

_TEXT_OR_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])')


def load_records(path: Path) -> tuple[list[Placed], list[str]]:
    """Read all records of a file.

    Parameters
    ----------
    path : Path
        Ends in ``.json`` (a list of records, or one), ``.jsonl`` or ``.parquet``.

    Returns
    -------
    records : list of Placed
        At least one.
    notes : list of str
        What is wrong with the file and could be read all the same: a comma before a closing
        bracket, which JSON does not allow.

    Raises
    ------
    InputError
        A file of another kind, or without records.
    RecordError
        A record that is no JSON object; names the place.
    """
    check_regular(path)
    notes: list[str] = []
    try:
        if jsonl.is_mine(path):
            values = _lines(path)
        elif json_file.is_mine(path):
            values = _listed(path, notes)
        elif parquet.is_mine(path):
            values = _rows(path)
        else:
            raise InputError(f"{path}: must end in .json, .jsonl or .parquet")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not values:
        raise InputError(f"{path}: no records: is it the right file?")
    for place, value in values:
        if not isinstance(value, dict):
            raise RecordError(f"{place}: not a JSON object: a record has named values")
    return [Placed(place, value) for place, value in values], notes


def _lines(path: Path) -> list[tuple[str, Any]]:
    check_gzip(path)
    values = []
    open_file: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with open_file(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                place = f"{path} line {number}"
                values.append((place, _parsed(line, place)))
    return values


def _listed(path: Path, notes: list[str]) -> list[tuple[str, Any]]:
    content = path.read_bytes()
    try:
        value = _parsed(content, str(path))
    except RecordError:
        text, commas = _without_trailing_commas(content.decode("utf-8-sig", errors="replace"))
        if not commas:
            raise
        value = _parsed(text.encode(), str(path))
        notes.append(f"{path}: {commas} commas before a closing bracket, which JSON does not allow")
    if not isinstance(value, list):
        return [(str(path), value)]
    return [(f"{path} record {number}", one) for number, one in enumerate(value, 1)]


def _without_trailing_commas(text: str) -> tuple[str, int]:
    commas = 0

    def kept(match: re.Match[str]) -> str:
        nonlocal commas
        commas += match[1] is None
        return match[1] or ""

    return _TEXT_OR_TRAILING_COMMA.sub(kept, text), commas


def _parsed(content: bytes, place: str) -> Any:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{place}: not JSON ({error}): fetch the file again") from None


def _rows(path: Path) -> list[tuple[str, Any]]:
    import duckdb

    with connect() as connection:
        try:
            found = connection.execute(f"SELECT * FROM {parquet.table_sql(path)}")
            names = [name for name, *_ in found.description]
            rows = found.fetchall()
        except duckdb.Error as error:
            raise InputError(f"{path}: cannot be read: {duckdb_message(error)}") from None
    return [
        (f"{path} record {number}", dict(zip(names, row, strict=True)))
        for number, row in enumerate(rows, 1)
    ]
