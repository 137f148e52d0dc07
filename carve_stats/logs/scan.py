"""`Scan`: records that DuckDB can read, and where each of them stands."""

from __future__ import annotations

import gzip
import json
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from carve_stats.errors import InputError, RecordError

if TYPE_CHECKING:  # its kernels are not needed to read a log
    from carve_stats.law.stopping import StoppingPlan

__all__ = [
    "Scan",
    "as_text",
    "check_gzip",
    "connect",
    "duckdb_message",
    "identifier",
    "literal",
    "scan_columns",
    "text_of",
]

Connection = Any
"""A ``duckdb.DuckDBPyConnection``; DuckDB is imported only when a log is read."""


def _nothing() -> None:
    """Most readers know no more about a failed scan than DuckDB says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a reader makes of its sources.

    Parameters
    ----------
    sql : str
        A SELECT of the columns in `types` and of `source`, the file or folder of a record. A
        column `strange` is filled where a record must not be read: a key of `records.PROBLEMS`.
    types : mapping of str to str
        Our names of the columns it selects, and their DuckDB types.
    form : str
        ``records``, ``counts`` or ``compact``.
    locate : callable
        From the number of a row of the scan, counted from 0, to file and line or record.
    inputs : tuple of str
        What was read.
    diagnose : callable
        Called when the scan failed: raises the error that names file and line, if it can.
    left_out : mapping of str to int
        Records that are not among the rows, by reason.
    notes : tuple of str
        What a person should know.
    stopping : StoppingPlan or None
        By which plan the run stopped its questions early; None where it did not.
    prompts : frozenset of tuple
        Question, condition and more of the prompts whose replies are counted once, since further
        ones are copies: those of another run would be, too.
    """

    sql: str
    types: Mapping[str, str]
    form: str
    locate: Callable[[int], str]
    inputs: tuple[str, ...]
    diagnose: Callable[[], None] = _nothing
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    stopping: StoppingPlan | None = None
    prompts: frozenset[tuple[str, str, str | None]] = frozenset()

    def numbered(self) -> str:
        """The same rows with `row`, their number from 0; slower, since in order."""
        return f"SELECT row_number() OVER () - 1 AS row, * FROM ({self.sql})"

    def text(self, name: str) -> str:
        """SQL of one of our columns as text, null where the scan has none."""
        return text_of(identifier(name)) if name in self.types else "NULL::VARCHAR"


@contextmanager
def connect() -> Iterator[Connection]:
    """Open DuckDB for one reading: in memory, no extension fetched, nothing kept.

    Yields
    ------
    duckdb.DuckDBPyConnection
        What it spills, it spills to the system's folder for temporary files.
    """
    import duckdb

    settings = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": tempfile.gettempdir(),
        # Look at every value of an object column of pandas before giving it a type.
        "pandas_analyze_sample": 10**9,
    }
    connection = duckdb.connect(":memory:", config=settings)
    try:
        yield connection
    finally:
        connection.close()


def duckdb_message(error: Exception) -> str:
    """The first line of a message of DuckDB, without the kind of error before it."""
    return str(error).strip().split("\n", 1)[0].split("Error: ", 1)[-1]


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def check_gzip(path: Path) -> None:
    """Raise for a gzipped file that is cut short or damaged, which DuckDB does not notice."""
    if path.suffix.lower() != ".gz":
        return
    try:
        with gzip.open(path, "rb") as file:
            while file.read(1 << 20):
                pass
    except EOFError:
        raise RecordError(
            f"{path}: the compressed file breaks off: decompress what there is of it and read that"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise RecordError(
            f"{path}: the compressed file is damaged ({error}): fetch it again"
        ) from None


def text_of(sql: str) -> str:
    """SQL of a value as text; null where it is empty or not a number.

    The texts ``NaN`` and ``nan`` are null in every format, quoted in JSON or not, as they are
    how a missing value is written where there is no null.
    """
    text = f"{sql}::VARCHAR"
    return f"CASE WHEN {text} NOT IN ('', 'NaN', 'nan') THEN {text} END"


def as_text(value: Any) -> str:
    """A value of a JSON record as the text that the tally reads; nothing for null.

    Examples
    --------
    >>> as_text(True), as_text(2), as_text(None), as_text([0, None])
    ('true', '2', '', '[0, null]')
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if value.__class__ is int:  # what json.dumps would say, in a tenth of the time
        return str(value)
    if value.__class__ is bool:
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)


def scan_columns(
    connection: Connection,
    columns: Mapping[str, Sequence[str]],
    *,
    form: str,
    source: str | Sequence[str],
    locate: Callable[[int], str],
    inputs: tuple[str, ...],
    left_out: Mapping[str, int] | None = None,
    notes: tuple[str, ...] = (),
    stopping: StoppingPlan | None = None,
) -> Scan:
    """Make a scan of columns that a reader holds in memory.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where they are registered.
    columns : mapping of str to sequence of str
        Texts by our names, as `as_text` gives them.
    form, locate, inputs, left_out, notes, stopping
        As in `Scan`.
    source : str or sequence of str
        The source of all records, or of each.

    Returns
    -------
    Scan
        Of as many rows as the columns have.
    """
    if not inputs or not len(next(iter(columns.values()))):
        raise InputError(f"{inputs[0]}: no records")
    arrays = {name: np.array(values, dtype=object) for name, values in columns.items()}
    selected = ", ".join(map(identifier, columns))
    if isinstance(source, str):
        selected += f", {literal(source)} AS source"
    else:
        arrays["source"] = np.array(source, dtype=object)
        selected += ", source"
    table = f"columns_{id(arrays)}"
    connection.register(table, arrays)
    return Scan(
        sql=f"SELECT {selected} FROM {table}",
        types=dict.fromkeys(columns, "VARCHAR"),
        form=form,
        locate=locate,
        inputs=inputs,
        left_out=left_out or {},
        notes=notes,
        stopping=stopping,
    )
