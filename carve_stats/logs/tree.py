"""The CARVE reference layout: ``results/<question id>/<CONDITION>/<repetition>.json``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import msgspec

from carve_stats.errors import InputError, unknown_name
from carve_stats.logs.columns import RECORD_COLUMNS, name_columns
from carve_stats.logs.records import ARMS
from carve_stats.logs.scan import Scan, as_text, scan_columns
from carve_stats.logs.tree_folder import RecordDecoder, arm_of, read_folder

__all__ = ["is_mine", "scan"]

_FIELDS = (*RECORD_COLUMNS, "run_id", "mode")


def is_mine(source: object) -> bool:
    """Whether this reader reads the source."""
    return isinstance(source, Path) and _root(source) is not None


def scan(connection: Any, sources: Sequence[Path], mapping: Mapping[str, str]) -> list[Scan]:
    """Make a scan of each tree.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the columns are registered.
    sources : sequence of Path
        ``results`` or the folder that holds it.
    mapping : mapping of str to str
        Our names of fields to theirs.

    Returns
    -------
    list of Scan
        Files without the suffix ``.json`` are no records, and a note counts them.

    Raises
    ------
    RecordError
        A file that is no record, a record whose question, condition, mode or repetition is not
        that of its path, or records of two questions in one folder.
    """
    return [_scan(connection, path, mapping) for path in sources]


def _root(source: Path) -> Path | None:
    """The folder of the questions: the source, or ``results`` in it."""
    for root in (source, source / "results"):
        if root.is_dir() and any(
            arm_of(arm.name) is not None
            for question in _folders(root)
            for arm in _folders(question)
        ):
            return root
    return None


def _folders(folder: str | Path | os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(".") and entry.is_dir():
                yield entry


def _scan(connection: Any, source: Path, mapping: Mapping[str, str]) -> Scan:
    decoder = RecordDecoder(_field_names(mapping))
    root = cast(Path, _root(source))
    records: list[Any] = []
    paths: list[str] = []
    other_files = sum(entry.is_file() for entry in os.scandir(root))
    for question, folder in _arm_folders(root):
        in_folder = read_folder(question, folder, decoder)
        paths += in_folder[0]
        records += in_folder[1]
        other_files += in_folder[2]
    if not records:
        raise InputError(f"{source}: no records: expected <question>/<CONDITION>/<repetition>.json")
    columns: dict[str, list[str]] = {}
    for ours in (*RECORD_COLUMNS, "run_id"):
        if ours in decoder.names:
            values = list(map(attrgetter(ours), records))
            types = set(map(type, values))
            if types == {int}:
                columns[ours] = list(map(str, values))
            elif types != {msgspec.UnsetType}:
                columns[ours] = [v if v.__class__ is str else _text(v) for v in values]
    theirs = [decoder.names[ours] for ours in columns]
    name_columns(theirs, mapping, form="records", place=str(source))
    if "run_id" in columns:
        columns.setdefault("run", columns["run_id"])
    note = f"{source}: {other_files} files are not <repetition>.json, and no records"
    return scan_columns(
        connection,
        columns,
        form="records",
        source=str(source),
        locate=paths.__getitem__,
        inputs=(str(source),),
        notes=(note,) if other_files else (),
    )


def _text(value: Any) -> str:
    return "" if value is msgspec.UNSET else as_text(value)


def _field_names(mapping: Mapping[str, str]) -> dict[str, str]:
    names = {ours: mapping.get(ours, ours) for ours in _FIELDS}
    for ours in ("run_id", "mode"):  # unless a column is mapped to it
        if ours in mapping.values():
            del names[ours]
    for theirs in names.values():
        if list(names.values()).count(theirs) > 1:
            raise InputError(f"columns: two of them are named {theirs!r} (--map): name each once")
    return names


def _arm_folders(root: Path) -> Iterator[tuple[str, str]]:
    """Question and path of each condition's folder, in the order of their names."""
    for question in sorted(_folders(root), key=lambda entry: entry.name):
        for arm in sorted(_folders(question), key=lambda entry: entry.name):
            if arm_of(arm.name) is None:
                raise InputError(f"{arm.path}: {unknown_name('condition', arm.name, ARMS)}")
            yield question.name, arm.path
