"""Data frames that DuckDB can scan: pandas, polars, Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError
from carve_stats.logs.columns import refuse_alike
from carve_stats.logs.parquet import scan_table
from carve_stats.logs.scan import Scan, duckdb_message

__all__ = ["column_names", "is_mine", "register", "scan"]


def is_mine(source: object) -> bool:
    """Whether this reader reads the source: it has columns, and is no path."""
    # Of a polars LazyFrame the columns are slow to ask for, and it warns of that.
    return not isinstance(source, Path) and (
        hasattr(source, "collect_schema")
        or hasattr(source, "columns")
        or hasattr(source, "__arrow_c_stream__")
    )


def scan(connection: Any, sources: Sequence[Any], mapping: Mapping[str, str]) -> list[Scan]:
    """Make a scan of each data frame.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the data frames are registered.
    sources : sequence of data frames
        As pandas, polars and Arrow have them.
    mapping : mapping of str to str
        Our names of columns to theirs.

    Returns
    -------
    list of Scan
        None of the data is copied.
    """
    scans = []
    for number, source in enumerate(sources, 1):
        table = f"frame_{number}"
        place = "data frame" if len(sources) == 1 else f"data frame {number}"
        refuse_alike(column_names(source), place)
        register(connection, table, source)
        scans.append(scan_table(connection, table, place, mapping))
    return scans


def column_names(source: Any) -> list[str]:
    """The names of the columns as the data frame has them, as far as it says them."""
    if hasattr(source, "collect_schema"):
        return list(source.collect_schema().names())
    names = getattr(source, "column_names", getattr(source, "columns", ()))
    return [name for name in names if isinstance(name, str)]


def register(connection: Any, table: str, source: Any) -> None:
    """Let DuckDB see a data frame under a name."""
    import duckdb

    try:
        connection.register(table, source)
    except (duckdb.Error, TypeError) as error:
        raise InputError(
            f"source of type {type(source).__name__} cannot be scanned ({duckdb_message(error)}):"
            " give a path, or a pandas, polars or Arrow table"
        ) from None
