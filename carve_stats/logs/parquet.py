"""Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from carve_stats.logs.columns import form_of, name_columns, refuse_alike, select_columns
from carve_stats.logs.scan import Scan, literal

__all__ = ["column_names", "is_mine", "scan"]

SUFFIXES = (".parquet",)


def is_mine(source: object) -> bool:
    """Whether this reader reads the source."""
    return isinstance(source, Path) and source.name.lower().endswith(SUFFIXES)


def scan(connection: Any, sources: Sequence[Path], mapping: Mapping[str, str]) -> list[Scan]:
    """Make a scan of each Parquet file.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Tells the columns of a file.
    sources : sequence of Path
        The files.
    mapping : mapping of str to str
        Our names of columns to theirs.

    Returns
    -------
    list of Scan
        Only the columns that are needed are read.
    """
    for path in sources:
        refuse_alike(column_names(connection, path), str(path))
    return [scan_table(connection, table_sql(path), str(path), mapping) for path in sources]


def column_names(connection: Any, path: Path) -> list[str]:
    """The names of the columns as the file has them; DuckDB renames those that it cannot tell."""
    schema = connection.execute(
        f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({literal(escape(str(path)))})"
    ).fetchall()
    names, inside = [], 0  # the first element is the root
    for name, children in schema[1:]:
        if inside == 0:
            names.append(name)
        else:
            inside -= 1
        inside += children
    return names


def table_sql(path: Path) -> str:
    """SQL that reads the file; folder names such as ``video_id=7`` add no column."""
    return f"read_parquet([{literal(escape(str(path)))}], hive_partitioning=false)"


def scan_table(connection: Any, table: str, place: str, mapping: Mapping[str, str]) -> Scan:
    """Make a scan of any table that DuckDB can describe.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the table can be read.
    table : str
        SQL of the table.
    place : str
        What to call it.
    mapping : mapping of str to str
        Our names of columns to theirs.

    Returns
    -------
    Scan
        The columns with their own types.
    """
    described = connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
    there = {name: kind for name, kind, *_ in described}
    form = form_of(there, mapping)
    found = name_columns(there, mapping, form=form, place=place)
    selected = select_columns(found, mapping, form=form, there=there)
    return Scan(
        sql=f"SELECT {selected}, {literal(place)} AS source FROM {table}",
        types={ours: str(there[theirs]) for ours, theirs in found.items()} | {"strange": "INTEGER"},
        form=form,
        locate=lambda row: f"{place} record {row + 1}",
        inputs=(place,),
    )
