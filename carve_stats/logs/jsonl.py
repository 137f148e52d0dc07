"""JSONL: one record a line, plain or gzipped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.columns import (
    COMPACT_COLUMNS,
    COUNT_COLUMNS,
    RECORD_COLUMNS,
    STOPPING,
    form_of,
    name_columns,
    refuse_alike,
    select_columns,
    strange_columns,
)
from carve_stats.logs.scan import Scan, check_gzip, identifier, literal

__all__ = ["is_mine", "scan"]

SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

_COLUMNS = {"records": RECORD_COLUMNS, "counts": COUNT_COLUMNS, "compact": COMPACT_COLUMNS}
_PEEKED = 100  # lines that mostly tell the form of the log
_LONGEST = 1 << 26  # bytes of a line that DuckDB reads; it holds twice as many a thread


def is_mine(source: object) -> bool:
    """Whether this reader reads the source."""
    return isinstance(source, Path) and source.name.lower().endswith(SUFFIXES)


def scan(connection: Any, sources: Sequence[Path], mapping: Mapping[str, str]) -> list[Scan]:
    """Make scans of JSONL files; those of one form and the same names are scanned as one.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Tells which lines of a torn file it can read.
    sources : sequence of Path
        The files.
    mapping : mapping of str to str
        Our names of columns to theirs.

    Returns
    -------
    list of Scan
        A torn last line, which a killed writer leaves, is left out and counted: the beginning
        of a JSON object, without an end of the line.
    """
    alike: dict[tuple[Any, ...], list[Path]] = {}
    torn, empty = set(), []
    for path in sources:
        check_gzip(path)
        records, is_torn = _peek(path)
        if is_torn:
            torn.add(path)
        if not records:
            empty.append(path)
            continue
        alike.setdefault((_form(path, records, mapping), is_torn), []).append(path)
    if not alike:
        what = "a single record that breaks off" if torn else "no records"
        raise InputError(f"{empty[0]}: {what}: is it the right file?")
    notes = tuple(f"{path}: no records" for path in empty)
    return [
        _scan(connection, paths, form, mapping, is_torn, notes)
        for (form, is_torn), paths in alike.items()
    ]


def _form(path: Path, records: Sequence[dict[str, Any]], mapping: Mapping[str, str]) -> str:
    """The form of a log, once it is clear that the columns it needs are somewhere in it."""
    there = dict.fromkeys(key for record in records for key in record)
    form = form_of(there, mapping)
    try:
        name_columns(there, mapping, form=form, place=str(path))
    except InputError:
        form = "unknown"
    if form in ("records", "counts"):
        return form
    # What is not in the first lines may be in others.
    values = (_parse(line) for _, line in _lines(path))
    there = dict.fromkeys(key for value in values if isinstance(value, dict) for key in value)
    form = form_of(there, mapping)
    name_columns(there, mapping, form=form, place=str(path))
    return form


def _scan(
    connection: Any,
    paths: list[Path],
    form: str,
    mapping: Mapping[str, str],
    torn: bool,
    notes: tuple[str, ...],
) -> Scan:
    # A column may first appear far down: all of them are asked for.
    theirs = {ours: mapping.get(ours, ours) for ours in _COLUMNS[form]}
    strange, _ = strange_columns(theirs, mapping, form=form)
    fields = dict.fromkeys([*theirs.values(), "run_id", STOPPING, *strange])
    refuse_alike(fields, str(paths[0]))
    files = ", ".join(literal(escape(str(path))) for path in paths)
    types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in fields)
    sql = (
        f"SELECT {select_columns(theirs, mapping, form=form)}, filename AS source"
        f" FROM read_json([{files}],"
        f" format='newline_delimited', columns={{{types}}}, filename=true,"
        f" hive_partitioning=false, maximum_object_size={_LONGEST},"
        f" ignore_errors={str(torn).lower()})"
    )
    if torn:
        # What cannot be read comes as a row of nulls: the last line must be one, and no other.
        anything = " OR ".join(f"{identifier(name)} IS NOT NULL" for name in fields)
        table = sql[sql.index(" FROM ") :]
        _refuse_unread(connection, paths, table, anything, theirs["question_id"])
        sql += f" WHERE {anything}"
        notes += tuple(f"{path}: the last line breaks off and is left out" for path in paths)

    def diagnose() -> None:
        for path in paths:
            _refuse_wrong(path, torn)

    return Scan(
        sql=sql,
        types=dict.fromkeys(theirs, "VARCHAR") | {"strange": "INTEGER"},
        form=form,
        locate=lambda row: _locate(paths, row, torn),
        inputs=tuple(map(str, paths)),
        diagnose=diagnose,
        left_out={"torn line": len(paths)} if torn else {},
        notes=notes,
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1."""
    open_file: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with open_file(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line


def _records(path: Path, torn: bool) -> Iterator[tuple[int, bytes]]:
    """The same without the torn line."""
    lines = _lines(path)
    before = next(lines, None)
    for line in lines:
        if before:
            yield before
        before = line
    if before and not torn:
        yield before


def _parse(line: bytes) -> Any:
    """The value in a line; a `_Broken` where there is none."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # perhaps only a NaN or a byte order mark, which others write and DuckDB reads
    try:
        return json.loads(line.decode("utf-8-sig"))
    except ValueError as error:
        return _Broken(f"not JSON: {error}")


class _Broken(str):
    """What is wrong with a line."""

    __slots__ = ()


def _wrong(line: bytes) -> str | None:
    """What is wrong with a line, if anything is."""
    value = _parse(line)
    if isinstance(value, _Broken):
        return value
    if not isinstance(value, dict):
        return "not a JSON object"
    if len(line) > _LONGEST:
        return f"{len(line) >> 20} MiB long, and {_LONGEST >> 20} MiB are read"
    return None


def _is_torn(line: bytes) -> bool:
    """Whether a last line is the beginning of a JSON object."""
    text = line.decode("utf-8-sig", errors="replace").lstrip()
    if line.endswith(b"\n") or not text.startswith("{"):
        return False
    try:
        json.JSONDecoder().raw_decode(text)
    except ValueError:
        return True
    return False


def _last_line(path: Path) -> bytes:
    """The last line that is not blank, with the end that it has."""
    if path.suffix.lower() == ".gz":
        last = b""
        for _, line in _lines(path):
            last = line
        return last
    with open(path, "rb") as file:
        end = file.seek(0, 2)
        size = 1 << 12
        while True:
            start = max(0, end - size)
            file.seek(start)
            tail = file.read(end - start)
            cut = tail.rstrip().rfind(b"\n")
            if start == 0 or cut >= 0:
                return tail[cut + 1 :]
            size *= 8


def _peek(path: Path) -> tuple[list[dict[str, Any]], bool]:
    """The first records, and whether the last line breaks off."""
    torn = _is_torn(_last_line(path))
    records = []
    for number, line in islice(_records(path, torn), _PEEKED):
        if wrong := _wrong(line):
            raise _refusal(path, number, wrong)
        records.append(_parse(line))
    return records, torn


def _refusal(path: Path, number: int, wrong: str) -> RecordError:
    return RecordError(f"{path} line {number}: {wrong}: mend the line, or take it out")


def _refuse_wrong(path: Path, torn: bool) -> None:
    """Raise for the first wrong line, the last line of a torn file excepted."""
    for number, line in _records(path, torn):
        if wrong := _wrong(line):
            raise _refusal(path, number, wrong)


def _refuse_unread(
    connection: Any, paths: Sequence[Path], table: str, anything: str, question_id: str
) -> None:
    """Raise unless the torn line of each file is what DuckDB cannot read in it, and all of it."""
    unread = connection.execute(f"""
        SELECT filename, min(row), max(row), list(row) FILTER (NOT filled) FROM (
            SELECT filename, {anything} AS filled, row_number() OVER () AS row{table}
        ) GROUP BY filename""").fetchall()
    for name, first, last, rows in unread:
        if rows == [last]:
            continue
        path = next(path for path in paths if str(path) == name)
        for row, (number, line) in enumerate(_lines(path), first):
            # A last line that DuckDB reads and Python does not is no torn line either.
            if row == last or row in (rows or ()):
                value = _parse(line)
                missing = isinstance(value, dict) and value.get(question_id) is None
                wrong = f"there is no {question_id}" if missing else "cannot be read"
                raise _refusal(path, number, _wrong(line) or wrong)


def _locate(paths: Sequence[Path], row: int, torn: bool) -> str:
    for path in paths:
        for number, _ in _records(path, torn):
            if row == 0:
                return f"{path} line {number}"
            row -= 1
    return str(paths[-1])
