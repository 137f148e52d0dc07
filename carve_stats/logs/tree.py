"""The CARVE reference layout: ``results/<question id>/<CONDITION>/<repetition>.json``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import msgspec

from carve_stats.errors import InputError, unknown_name
from carve_stats.logs.columns import RECORD_COLUMNS, SHA256, STOPPED, STOPPING, name_columns
from carve_stats.logs.records import ARMS
from carve_stats.logs.scan import Scan, as_text, scan_columns
from carve_stats.logs.tree_folder import (
    RecordDecoder,
    arm_of,
    files_in,
    list_folder,
    read_folder,
)

__all__ = ["is_mine", "scan"]

_FIELDS = (*RECORD_COLUMNS, "run_id", "mode", STOPPING)


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
        Hidden files, files elsewhere than in a condition's folder, and those without the
        suffix ``.json`` are no records: a note counts them, and another the folders of
        questions without records.

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


def _folders(folder: str | os.PathLike[str]) -> Iterator[os.DirEntry[str]]:
    return filter(_is_folder, list_folder(folder))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and entry.is_dir()


def _scan(connection: Any, source: Path, mapping: Mapping[str, str]) -> Scan:
    decoder = RecordDecoder(_field_names(mapping))
    root = cast(Path, _root(source))
    records: list[Any] = []
    paths: list[str] = []
    passed_over: list[str] = []
    without_records: list[str] = []
    for question in list_folder(root):
        if not _is_folder(question):
            passed_over += files_in(question)
            continue
        before = len(records)
        question_id: Any = msgspec.UNSET
        for arm in list_folder(question):
            if not _is_folder(arm):
                passed_over += files_in(arm)
                continue
            if arm_of(arm.name) is None:
                raise InputError(f"{arm.path}: {unknown_name('condition', arm.name, ARMS)}")
            in_arm = read_folder(question.name, arm.path, decoder, question_id)
            paths += in_arm[0]
            records += in_arm[1]
            passed_over += in_arm[2]
            if in_arm[1]:
                question_id = in_arm[1][-1].question_id
        if len(records) == before:
            without_records.append(question.path)
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
    stopped = [re.fullmatch(SHA256, _text(getattr(r, STOPPING, msgspec.UNSET))) for r in records]
    if any(stopped):
        columns["strange"] = [str(STOPPED) * bool(match) for match in stopped]
    return scan_columns(
        connection,
        columns,
        form="records",
        source=str(source),
        locate=paths.__getitem__,
        inputs=(str(source),),
        notes=tuple(_notes(source, passed_over, without_records)),
    )


def _notes(source: Path, passed_over: list[str], without_records: list[str]) -> Iterable[str]:
    """What is in the tree and not in the counts."""
    if n := len(passed_over):
        yield (
            f"{source}: {n} {'file is' if n == 1 else 'files are'} not"
            " <question>/<CONDITION>/<repetition>.json, and not read: "
            f"{passed_over[0]}{', …' if n > 1 else ''}"
        )
    if n := len(without_records):
        yield (
            f"{source}: {n} {'question is' if n == 1 else 'questions are'} not counted, whose"
            f" {'folder holds' if n == 1 else 'folders hold'} no records: {without_records[0]}"
            f"{', …' if n > 1 else ''}"
        )


def _text(value: Any) -> str:
    return "" if value is msgspec.UNSET else as_text(value)


def _field_names(mapping: Mapping[str, str]) -> dict[str, str]:
    names = {ours: mapping.get(ours, ours) for ours in _FIELDS}
    for ours in ("run_id", "mode", STOPPING):  # unless a column is mapped to it
        if ours in mapping.values():
            del names[ours]
    for theirs in names.values():
        if list(names.values()).count(theirs) > 1:
            raise InputError(f"columns: two of them are named {theirs!r} (--map): name each once")
    return names
