"""Tables of one row a question, with all columns that they have, as DuckDB reads them."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, RecordError
from carve_stats.logs import delimited, frame, json_file, jsonl, parquet
from carve_stats.logs.columns import refuse_alike
from carve_stats.logs.paths import readable_path
from carve_stats.logs.scan import (
    as_text,
    check_gzip,
    duckdb_message,
    identifier,
    literal,
    text_of,
)

__all__ = ["Table", "open_table"]

_READERS = (jsonl, delimited, parquet, json_file)
_LONGEST = 1 << 26  # bytes of a line that DuckDB reads
_SUFFIXES = ", ".join(suffix for reader in _READERS for suffix in reader.SUFFIXES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table in DuckDB, its values as texts.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where it is.
    name : str
        What it is called there; it has a column `row`, the number of the row from 0.
    columns : mapping of str to str
        The names that its columns have in the file, and there. An empty text is a null.
    place : str
        The file or data frame, for messages.
    rows : int
        How many rows it has.
    locate : callable
        From the number of a row to file and line, or record where there are no lines.
    """

    connection: Any
    name: str
    columns: Mapping[str, str]
    place: str
    rows: int
    locate: Callable[[int], str]

    def fetch(self, *selected: str) -> list[NDArray[Any]]:
        """The values of SQL expressions, an array each, in order of the rows."""
        names = [f"s{i}" for i in range(len(selected))]
        what = ", ".join(f"{sql} AS {name}" for sql, name in zip(selected, names, strict=True))
        found = self.connection.execute(f"SELECT {what} FROM {self.name} ORDER BY row").fetchnumpy()
        return [np.ma.getdata(found[name]) for name in names]

    def texts(self, column: str) -> list[str]:
        """The values of a column by its name in the file; the empty text where it is null."""
        return list(self.fetch(f"coalesce({self.columns[column]}, '')")[0])


def open_table(connection: Any, source: Any, *, name: str, argument: str) -> Table:
    """Read a file or a data frame into a table of DuckDB.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the table is made.
    source : path or data frame
        A CSV, JSONL, JSON or Parquet file, or what DuckDB can scan.
    name : str
        What to call the table.
    argument : str
        The argument that names the source, for messages.

    Returns
    -------
    Table
        Of at least one row.

    Raises
    ------
    InputError
        No such file, a file of another kind, one that cannot be read, or one without rows.
    RecordError
        A record that is damaged; names the place.
    """
    import duckdb

    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not os.fspath(source) or not path.exists():
            raise InputError(f"{argument}={os.fspath(source)!r}: no such file")
        path = readable_path(path)
        place = str(path)
        if path.is_dir() or not any(reader.is_mine(path) for reader in _READERS):
            raise InputError(f"{path}: not a table: expected a file ending in {_SUFFIXES}")
    elif frame.is_mine(source):
        path, place = None, "data frame" if argument == "source" else f"{argument}, a data frame"
    else:
        raise InputError(
            f"{argument} is a {type(source).__name__}: give the path of a CSV, JSONL, JSON or"
            " Parquet file, or a data frame"
        )
    try:
        if path is None:
            found = _of_frame(connection, source, f"given_{name}", place)
        else:
            found = _of_file(connection, path, f"given_{name}")
        sql, names, locate = found
        aliases = {theirs: f"c{i}" for i, theirs in enumerate(names)}
        selected = "".join(
            f", {text_of(identifier(theirs))} AS {alias}" for theirs, alias in aliases.items()
        )
        connection.execute(
            f"CREATE TABLE {name} AS SELECT row_number() OVER () - 1 AS row{selected} FROM {sql}"
        )
        rows = connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]
    except duckdb.Error as error:
        if path is not None and delimited.is_mine(path):
            names, delimiter = delimited.header(path)
            delimited.refuse_ragged(path, len(names), delimiter)
        raise InputError(f"{place}: cannot be read: {duckdb_message(error)}") from None
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror or error}") from None
    if not rows:
        raise InputError(f"{place}: no rows: a table needs one for each question")
    return Table(
        connection=connection, name=name, columns=aliases, place=place, rows=rows, locate=locate
    )


_Found = tuple[str, list[str], Callable[[int], str]]
"""SQL of a table, the names of its columns, and where its rows stand."""


def _of_frame(connection: Any, source: Any, registered: str, place: str) -> _Found:
    refuse_alike(frame.column_names(source), place)
    frame.register(connection, registered, source)
    return registered, _described(connection, registered), lambda row: f"{place} record {row + 1}"


def _of_file(connection: Any, path: Path, registered: str) -> _Found:
    if delimited.is_mine(path):
        names, delimiter = delimited.header(path)
        sql = delimited.table_sql(path, names, delimiter)
        return sql, names, lambda row: delimited.locate(path, row, len(names), delimiter)
    if parquet.is_mine(path):
        refuse_alike(parquet.column_names(connection, path), str(path))
        sql = parquet.table_sql(path)
        return sql, _described(connection, sql), lambda row: f"{path} record {row + 1}"
    if jsonl.is_mine(path):
        return _of_lines(path)
    listed = _python_json(path.read_bytes(), str(path))
    many = isinstance(listed, list)
    places = [f"{path} record {n}" for n in range(1, len(listed) + 1)] if many else [str(path)]
    records = listed if many else [listed]
    names = _names(path, zip(places, records, strict=True))
    columns = {
        name: np.array([as_text(record.get(name)) for record in records], object) for name in names
    }
    connection.register(registered, columns)
    return registered, names, places.__getitem__


def _of_lines(path: Path) -> _Found:
    """Of JSONL: read once for the names, and to refuse what is damaged, and once by DuckDB."""
    check_gzip(path)
    numbers: list[int] = []

    def records() -> Iterator[tuple[str, Any]]:
        open_file: Any = gzip.open if path.suffix.lower() == ".gz" else open
        decode = msgspec.json.Decoder().decode
        with open_file(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                numbers.append(number)
                place = f"{path} line {number}"
                try:
                    yield place, decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    yield place, _python_json(line, place)

    names = _names(path, records())
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    sql = (
        f"read_json([{literal(escape(str(path)))}], format='newline_delimited',"
        f" columns={{{columns}}}, hive_partitioning=false, maximum_object_size={_LONGEST})"
    )
    return sql, names, lambda row: f"{path} line {numbers[row]}"


def _names(path: Path, records: Iterable[tuple[str, Any]]) -> list[str]:
    """The names in all records, each of which must be an object."""
    names: dict[str, None] = {}
    for place, record in records:
        if not isinstance(record, dict):
            raise RecordError(f"{place}: not a JSON object: a record has named values")
        names.update(dict.fromkeys(record))
    if not names:
        raise InputError(f"{path}: no records: is it the right file?")
    refuse_alike(names, str(path))
    return list(names)


def _described(connection: Any, table: str) -> list[str]:
    return [name for name, *_ in connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]


def _python_json(content: bytes, place: str) -> Any:
    """What msgspec does not read, such as NaN or a byte order mark, if it is JSON at all."""
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{place}: not JSON ({error}): mend it, or take it out") from None
