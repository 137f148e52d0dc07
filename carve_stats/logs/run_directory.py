"""Run directories of the replay loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError
from carve_stats.logs.columns import RECORD_COLUMNS
from carve_stats.logs.scan import Scan, as_text, scan_columns

__all__ = ["is_mine", "scan"]


def is_mine(source: object) -> bool:
    """Whether this reader reads the source."""
    return isinstance(source, Path) and (source / "plan.json").is_file()


def scan(connection: Any, sources: Sequence[Path], mapping: Mapping[str, str]) -> list[Scan]:
    """Make a scan of each run directory.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the columns are registered.
    sources : sequence of Path
        The directories.
    mapping : mapping of str to str
        Must be empty: the columns of a run have our names.

    Returns
    -------
    list of Scan
        Duplicates and torn lines, which the store leaves out, are counted.
    """
    if mapping:
        raise InputError(f"{sources[0]}: columns= (--map) is for other logs than a run directory")
    return [_scan(connection, path) for path in sources]


def _scan(connection: Any, path: Path) -> Scan:
    from carve_stats.replay.store import RunStore

    columns: dict[str, list[str]] = {name: [] for name in RECORD_COLUMNS}
    with RunStore.load(path) as store:
        for record in store.records():
            for name, values in columns.items():
                values.append(as_text(getattr(record, name)))
        status = store.status()
    notes: tuple[str, ...] = ()
    if status.done < status.planned:
        notes = (
            f"{path}: unfinished, {status.done} of {status.planned} replays are done; questions"
            " without any are not among those read",
        )
    left_out = {"duplicate": status.duplicates, "torn line": status.torn_lines}
    return scan_columns(
        connection,
        columns,
        form="records",
        source=str(path),
        locate=lambda row: (
            f"{path}: question {columns['question_id'][row]!r}, {columns['condition'][row]},"
            f" repetition {columns['repetition'][row]}, attempt {columns['attempt'][row]}"
        ),
        inputs=(str(path),),
        left_out={reason: n for reason, n in left_out.items() if n},
        notes=notes,
    )
