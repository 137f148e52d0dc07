"""CSV and other delimited text with a header line, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any, NamedTuple

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.columns import form_of, name_columns, refuse_alike, select_columns
from carve_stats.logs.scan import Scan, check_gzip, literal

__all__ = ["header", "is_mine", "locate", "refuse_ragged", "scan", "table_sql"]

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")

_DELIMITERS = (",", ";", "\t", "|")
_LONGEST = 2_000_000  # bytes of a record that DuckDB reads
_IN_QUOTES = re.compile(r'[^"]*(?:""[^"]*)*')
_BREAK = re.compile(r"[\r\n]")
_BEFORE_QUOTE = re.compile(r' *"')


def is_mine(source: object) -> bool:
    """Whether this reader reads the source."""
    return isinstance(source, Path) and source.name.lower().endswith(SUFFIXES)


def scan(connection: Any, sources: Sequence[Path], mapping: Mapping[str, str]) -> list[Scan]:
    """Make a scan of each delimited file.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Not used: DuckDB reads the files itself.
    sources : sequence of Path
        The files. Fields are quoted by ``"``, and the delimiter is the one of comma,
        semicolon, tab and bar that splits the header line into most names.
    mapping : mapping of str to str
        Our names of columns to theirs.

    Returns
    -------
    list of Scan
        All columns as text; an empty field is a null.
    """
    return [_scan(path, mapping) for path in sources]


def header(path: Path) -> tuple[list[str], str]:
    """The names in the header of a delimited file, with their line breaks, and its delimiter."""
    check_gzip(path)
    headers: dict[str, list[str]] = {}
    for delimiter in _DELIMITERS:
        try:
            with _opened(path) as file:
                headers[delimiter] = next(csv.reader(file, delimiter=delimiter, strict=True), [])
        except UnicodeDecodeError:
            raise InputError(f"{path}: not UTF-8 text: save it as UTF-8") from None
        except csv.Error:
            continue  # quotes that are none between delimiters of another kind
    delimiter = max(headers, key=lambda d: len(headers[d]), default="")
    names = headers.get(delimiter, [])
    if len(names) < 2 and len(headers) < len(_DELIMITERS):
        raise RecordError(f"{path} line 1: a quote in the header is open or stray: mend the header")
    if not any(name.strip() for name in names):
        raise InputError(
            f"{path}: the file is empty, or its first line is: it needs a header line and records"
        )
    # As the index is that a data frame is written with.
    names = [name or f"(unnamed {number})" for number, name in enumerate(names, 1)]
    refuse_alike(names, str(path))
    if _BREAK.search(names[0]) and _has_mark(path):
        raise InputError(
            f"{path}: the first column's name has a line break, after a byte order mark: take one"
            " of them out"
        )
    return names, delimiter


def table_sql(path: Path, names: Sequence[str], delimiter: str) -> str:
    """SQL that reads the file, with the dialect said rather than guessed."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    end = ""
    if any(_BREAK.search(name) for name in names):
        # DuckDB would take the first line break for that of all records.
        said = _end_of_header(path, delimiter).replace("\r", "\\r").replace("\n", "\\n")
        end = f", new_line={literal(said)}" if said else ""
    return (
        f"read_csv([{literal(escape(str(path)))}], auto_detect=false, header=true,"
        f" delim={literal(delimiter)}, quote='\"', escape='\"', columns={{{columns}}},"
        f" hive_partitioning=false{end})"
    )


def _scan(path: Path, mapping: Mapping[str, str]) -> Scan:
    names, delimiter = header(path)
    form = form_of(names, mapping)
    found = name_columns(names, mapping, form=form, place=str(path))
    selected = select_columns(found, mapping, form=form, there=names)
    return Scan(
        sql=f"SELECT {selected}, {literal(str(path))} AS source"
        f" FROM {table_sql(path, names, delimiter)}",
        types=dict.fromkeys(found, "VARCHAR") | {"strange": "INTEGER"},
        form=form,
        locate=lambda row: locate(path, row, len(names), delimiter),
        inputs=(str(path),),
        diagnose=lambda: refuse_ragged(path, len(names), delimiter),
    )


def _opened(path: Path) -> io.TextIOBase:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _has_mark(path: Path) -> bool:
    """Whether the file begins with a byte order mark, which DuckDB takes for part of a name."""
    open_file: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with open_file(path, "rb") as file:
        return bool(file.read(len(BOM_UTF8)) == BOM_UTF8)


def _end_of_header(path: Path, delimiter: str) -> str:
    """The line break after the header, which may have others in its names; empty for none."""
    quoted = False
    with _opened(path) as file:
        for line in file:
            _, quoted = _split(line, delimiter, quoted)
            if not quoted:
                return line[len(line.rstrip("\r\n")) :]
    return ""


class _Record(NamedTuple):
    line: int
    """Where it begins, counted from 1."""
    fields: int
    size: int
    """Bytes as UTF-8."""
    closed: bool
    """Whether its last quote is."""


def _records(path: Path, fields: int, delimiter: str) -> Iterator[_Record]:
    """The records after the header, as DuckDB tells them apart; a field may be of any length."""
    with _opened(path) as file:
        start, count, size, quoted, is_header = 1, 1, 0, False, True
        for number, line in enumerate(file, 1):
            # Of one column a blank line is a record, of more it is none.
            if size == 0 and not is_header and fields > 1 and not line.strip("\r\n"):
                continue
            if size == 0:
                start = number
            more, quoted = _split(line, delimiter, quoted)
            count, size = count + more, size + len(line.encode())
            if not quoted:
                if not is_header:
                    yield _Record(start, count, size, True)
                count, size, is_header = 1, 0, False
        if size:
            yield _Record(start, count, size, False)


def _split(line: str, delimiter: str, quoted: bool) -> tuple[int, bool]:
    """How many delimiters a line has outside quotes, and whether it ends inside them."""
    found, at = 0, 0
    while True:
        if not quoted and (opening := _BEFORE_QUOTE.match(line, at)):
            quoted, at = True, opening.end()
        if quoted:
            at = _IN_QUOTES.match(line, at).end()  # type: ignore[union-attr]  # also of nothing
            if at == len(line):
                return found, True
            quoted, at = False, at + 1
        at = line.find(delimiter, at) + 1
        if at == 0:
            return found, False
        found += 1


def locate(path: Path, row: int, fields: int, delimiter: str) -> str:
    """File and line in which a record begins, the records counted from 0."""
    for number, record in enumerate(_records(path, fields, delimiter)):
        if number == row:
            return f"{path} line {record.line}"
    return str(path)


def refuse_ragged(path: Path, fields: int, delimiter: str) -> None:
    """Raise for the first record that is too long, or has more or fewer fields than the header."""
    try:
        for record in _records(path, fields, delimiter):
            place = f"{path} line {record.line}"
            if not record.closed:
                raise RecordError(f"{place}: a quote in this record is not closed: close it")
            if record.size > _LONGEST:
                raise RecordError(
                    f"{place}: a record of {record.size} bytes, and {_LONGEST} are read: is a quote"
                    " open? JSONL holds longer ones"
                )
            if record.fields != fields:
                raise RecordError(
                    f"{place}: {record.fields} fields, and the header has {fields}: mend the"
                    " record; a field that holds the delimiter needs quotes"
                )
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text: save it as UTF-8") from None
    _refuse_mixed_ends(path)


def _refuse_mixed_ends(path: Path) -> None:
    """Raise where records end in different ways."""
    ends, quoted = set(), False
    with _opened(path) as file:
        for line in file:
            quoted ^= line.count('"') % 2 == 1
            if not quoted:
                ends.add(line[len(line.rstrip("\r\n")) :])
    if len(ends - {""}) > 1:
        raise InputError(
            f"{path}: some lines end in a carriage return and a line feed, and some in one of"
            " them: save it with one kind of line end"
        )
