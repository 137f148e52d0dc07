"""CSV and other delimited text with a header line, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.columns import form_of, name_columns, refuse_alike, select_columns
from carve_stats.logs.scan import Scan, check_gzip, literal

__all__ = ["header", "is_mine", "refuse_ragged", "scan", "table_sql"]

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")

_DELIMITERS = (",", ";", "\t", "|")


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
    """The names in the header line of a delimited file, and its delimiter."""
    check_gzip(path)
    try:
        with _opened(path) as file:
            line = file.readline()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text: save it as UTF-8") from None
    if not line.strip():
        raise InputError(f"{path}: the file is empty: it needs a header line and records")
    delimiter = max(_DELIMITERS, key=lambda d: len(next(csv.reader([line], delimiter=d))))
    names = next(csv.reader([line], delimiter=delimiter))
    # As the index is that a data frame is written with.
    names = [name or f"(unnamed {number})" for number, name in enumerate(names, 1)]
    refuse_alike(names, str(path))
    return names, delimiter


def table_sql(path: Path, names: Sequence[str], delimiter: str) -> str:
    """SQL that reads the file, with the dialect said rather than guessed."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv([{literal(escape(str(path)))}], auto_detect=false, header=true,"
        f" delim={literal(delimiter)}, quote='\"', escape='\"', columns={{{columns}}},"
        " hive_partitioning=false)"
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
        locate=lambda row: f"{path} record {row + 1}",
        inputs=(str(path),),
        diagnose=lambda: refuse_ragged(path, len(names), delimiter),
    )


def _opened(path: Path) -> io.TextIOBase:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def refuse_ragged(path: Path, fields: int, delimiter: str) -> None:
    """Raise for the first record with more or fewer fields than the header."""
    with _opened(path) as file:
        rows = (row for row in csv.reader(file, delimiter=delimiter) if row)  # no blank lines
        next(rows)
        number = 0
        try:
            for number, row in enumerate(rows, 1):
                if len(row) != fields:
                    raise RecordError(
                        f"{path} record {number}: {len(row)} fields, and the header has {fields}:"
                        " mend the record; a field that holds the delimiter needs quotes"
                    )
        except UnicodeDecodeError:
            raise InputError(f"{path}: not UTF-8 text: save it as UTF-8") from None
        except csv.Error as error:
            if "field limit" in str(error):
                error = csv.Error(f"a field of record {number + 1} is too long: is a quote open?")
            raise InputError(f"{path}: cannot be read: {error}") from None
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
