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
    form_of,
    name_columns,
)
from carve_stats.logs.scan import Scan, identifier, literal

__all__ = ["is_mine", "scan"]

SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

_PEEKED = 100  # lines from which the form of the log and the names of its columns are told


def is_mine(source: object) -> bool:
    """Whether this reader reads the source."""
    return isinstance(source, Path) and source.name.lower().endswith(SUFFIXES)


def scan(connection: Any, sources: Sequence[Path], mapping: Mapping[str, str]) -> list[Scan]:
    """Make scans of JSONL files; those of one form and the same names are scanned as one.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Not used: DuckDB reads the files itself.
    sources : sequence of Path
        The files.
    mapping : mapping of str to str
        Our names of columns to theirs.

    Returns
    -------
    list of Scan
        A torn last line, which a killed writer leaves, is left out and counted.
    """
    alike: dict[tuple[Any, ...], list[Path]] = {}
    torn, empty = set(), []
    for path in sources:
        records, is_torn = _peek(path)
        if is_torn:
            torn.add(path)
        if not records:
            empty.append(path)
            continue
        there = dict.fromkeys(key for record in records for key in record)
        form = form_of(there, mapping)
        found = name_columns(there, mapping, form=form, place=str(path))
        alike.setdefault((form, tuple(found.items()), is_torn), []).append(path)
    if not alike:
        what = "a single record that breaks off" if torn else "no records"
        raise InputError(f"{empty[0]}: {what}: is it the right file?")
    notes = tuple(f"{path}: no records" for path in empty)
    return [
        _scan(paths, form, dict(found), mapping, is_torn, notes)
        for (form, found, is_torn), paths in alike.items()
    ]


def _scan(
    paths: list[Path],
    form: str,
    found: dict[str, str],
    mapping: Mapping[str, str],
    torn: bool,
    notes: tuple[str, ...],
) -> Scan:
    all_columns = {"records": RECORD_COLUMNS, "counts": COUNT_COLUMNS, "compact": COMPACT_COLUMNS}
    # A column may first appear far down: all of them are asked for.
    theirs = {ours: found.get(ours, mapping.get(ours, ours)) for ours in all_columns[form]}
    fields = dict.fromkeys(theirs.values(), "VARCHAR")
    selected = [f"{identifier(name)} AS {ours}" for ours, name in theirs.items()]
    if theirs["run"] == "run":
        fields["run_id"] = "VARCHAR"
        selected[0] = "coalesce(run, run_id) AS run"
    files = ", ".join(literal(escape(str(path))) for path in paths)
    types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in fields)
    sql = (
        f"SELECT {', '.join(selected)}, filename AS source FROM read_json([{files}],"
        f" format='newline_delimited', columns={{{types}}}, filename=true,"
        " hive_partitioning=false,"
        f" ignore_errors={str(torn).lower()})"
    )
    if torn:
        # What cannot be read comes as a row of nulls: only the last line may be one.
        for path in paths:
            _refuse_wrong(path, torn=True, question_id=theirs["question_id"])
        anything = " OR ".join(f"{identifier(name)} IS NOT NULL" for name in fields)
        sql += f" WHERE {anything}"
        notes += tuple(f"{path}: the last line breaks off and is left out" for path in paths)

    def diagnose() -> None:
        for path in paths:
            _refuse_wrong(path, torn=torn)

    return Scan(
        sql=sql,
        types=dict.fromkeys(theirs, "VARCHAR"),
        present=frozenset(found),
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
    try:
        with open_file(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except (EOFError, gzip.BadGzipFile):
        raise RecordError(
            f"{path}: the compressed file breaks off: decompress what there is of it and read that"
        ) from None


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


def _wrong(value: Any, question_id: str | None = None) -> str | None:
    """What is wrong with the value of a line, if anything is."""
    if isinstance(value, _Broken):
        return value
    if not isinstance(value, dict):
        return "not a JSON object"
    if question_id is not None and value.get(question_id) is None:
        return f"there is no {question_id}"
    return None


def _last_line(path: Path) -> bytes:
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
            tail = file.read(end - start).rstrip()
            if start == 0 or b"\n" in tail:
                return tail.rsplit(b"\n", 1)[-1]
            size *= 8


def _peek(path: Path) -> tuple[list[dict[str, Any]], bool]:
    """The first records, and whether the last line breaks off."""
    last = _last_line(path)
    torn = bool(last) and isinstance(_parse(last), _Broken)
    records = []
    for number, line in islice(_lines(path), _PEEKED):
        value = _parse(line)
        if (wrong := _wrong(value)) is None:
            records.append(value)
        elif not (torn and line.strip() == last.strip()):
            raise RecordError(f"{path} line {number}: {wrong}: mend the line, or take it out")
    return records, torn


def _refuse_wrong(path: Path, *, torn: bool, question_id: str | None = None) -> None:
    """Raise for the first wrong line, the last line of a torn file excepted."""
    found: tuple[int, str] | None = None
    for number, line in _lines(path):
        if found:
            break
        wrong = _wrong(_parse(line), question_id)
        found = (number, wrong) if wrong else None
    else:
        if torn or found is None:
            return
    raise RecordError(f"{path} line {found[0]}: {found[1]}: mend the line, or take it out")


def _locate(paths: Sequence[Path], row: int, torn: bool) -> str:
    for path in paths:
        for number, line in _lines(path):
            if torn and isinstance(_parse(line), _Broken):
                continue
            if row == 0:
                return f"{path} line {number}"
            row -= 1
    return str(paths[-1])
