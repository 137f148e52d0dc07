"""The CARVE reference layout: ``results/<question id>/<CONDITION>/<repetition>.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from carve_stats.errors import InputError, RecordError, unknown_name
from carve_stats.logs.columns import RECORD_COLUMNS, name_columns
from carve_stats.logs.records import ARMS
from carve_stats.logs.scan import Scan, as_text, scan_columns

__all__ = ["is_mine", "scan"]

_FIELDS = (*RECORD_COLUMNS, "run_id", "mode")
_UNSET = msgspec.UNSET
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_SIZE = 1 << 16  # bytes read at once: one call for nearly every record


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
            arm.name.strip().lower() in ARMS
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
    names = _field_names(mapping)
    record_type = msgspec.defstruct(
        "Record", [(ours, Any, msgspec.UNSET) for ours in names], rename=names, gc=False
    )
    values: dict[str, list[Any]] = {ours: [] for ours in names}
    adders = [(ours, column.append) for ours, column in values.items()]
    paths: list[str] = []
    root = cast(Path, _root(source))
    other_files = sum(entry.is_file() for entry in os.scandir(root))
    for folder in _arm_folders(root):
        records = _Records(folder, record_type, names)
        for record in records:
            for ours, add in adders:
                add(getattr(record, ours))
        paths += records.paths
        other_files += records.other_files
    if not paths:
        raise InputError(f"{source}: no records: expected <question>/<CONDITION>/<repetition>.json")
    there = [ours for ours, column in values.items() if any(v is not _UNSET for v in column)]
    name_columns([names[c] for c in there], mapping, form="records", place=str(source))
    columns = {
        "run" if ours == "run_id" and "run" not in there else ours: [
            v if v.__class__ is str else "" if v is _UNSET else as_text(v) for v in values[ours]
        ]
        for ours in there
    }
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
            if arm.name.strip().lower() not in ARMS:
                raise InputError(f"{arm.path}: {unknown_name('condition', arm.name, ARMS)}")
            yield question.name, arm.path


class _Records:
    """The records of one condition's folder, each checked against its path."""

    def __init__(
        self, folder: tuple[str, str], record_type: type[msgspec.Struct], names: dict[str, str]
    ) -> None:
        self.question, self.folder = folder
        self.condition = os.path.basename(self.folder)
        self.arm = ARMS[self.condition.strip().lower()]
        self.record_type, self.names = record_type, names
        self.decode = msgspec.json.Decoder(record_type).decode
        self.paths: list[str] = []
        self.other_files = 0

    def __iter__(self) -> Iterator[Any]:
        first: str | None = None
        for name, data in _read_files(self.folder):
            if not name.endswith(".json"):
                self.other_files += 1
                continue
            path = f"{self.folder}/{name}"
            try:
                record: Any = self.decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError):
                record = self._decode_loosely(data, path)
            self._check(record, path, name)
            first = first or record.question_id
            if record.question_id != first:
                raise RecordError(
                    f"{path}: question {record.question_id!r} is in one folder with {first!r}:"
                    " with / as _ they have the same path and overwrite each other; keep them in"
                    " separate trees, or in one JSONL file"
                )
            self.paths.append(path)
            yield record

    def _decode_loosely(self, data: bytes, path: str) -> msgspec.Struct:
        """Decode what Python's json writes and msgspec refuses, such as NaN."""
        try:
            record = json.loads(data.decode("utf-8-sig"))
        except ValueError as error:
            raise RecordError(
                f"{path}: not JSON ({error}): the file is damaged; take it out, or replay it again"
            ) from None
        if not isinstance(record, dict):
            raise RecordError(f"{path}: not a JSON object: a record has named values")
        return self.record_type(**{o: record.get(t, _UNSET) for o, t in self.names.items()})

    def _check(self, record: Any, path: str, name: str) -> None:
        question = record.question_id
        if question is _UNSET or question is None or question == "":
            raise RecordError(f"{path}: there is no question_id: every record needs one")
        if question.__class__ is not str:
            question = record.question_id = as_text(question)
        if question.replace("/", "_") != self.question:
            raise RecordError(
                f"{path}: question_id={question!r} is not the question of its folder: move the"
                " file, or mend the record"
            )
        for field in ("condition", "mode"):
            value = getattr(record, field, None)
            arm = ARMS.get(value.strip().lower()) if isinstance(value, str) else None
            if field == "condition" and value is not None and value is not _UNSET and arm is None:
                raise RecordError(f"{path}: {unknown_name('condition', value, ARMS)}")
            if arm is not None and arm != self.arm:
                raise RecordError(
                    f"{path}: {field}={value!r} is not the condition of its folder: move the file,"
                    " or mend the record"
                )
        record.condition = self.condition
        stem = name[: -len(".json")]
        if stem.isdecimal():
            repetition = record.repetition
            if repetition is _UNSET or repetition is None:
                record.repetition = int(stem)
            elif repetition != int(stem) and as_text(repetition) != stem:
                raise RecordError(
                    f"{path}: repetition={as_text(repetition)} is not the one that the file is"
                    " named for: rename the file, or mend the record"
                )


def _read_files(folder: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of a folder, in the order of their names."""
    relative = os.open in os.supports_dir_fd
    # Opening a file relative to its folder spares the kernel the walk down the path.
    where = os.open(folder, os.O_RDONLY) if relative else None
    try:
        for name in sorted(os.listdir(folder)):
            if name.startswith("."):
                continue
            file = os.open(name if relative else f"{folder}/{name}", _FLAGS, dir_fd=where)
            try:
                data = os.read(file, _SIZE)
                while len(data) % _SIZE == 0 and (more := os.read(file, _SIZE)):
                    data += more
            finally:
                os.close(file)
            yield name, data
    finally:
        if where is not None:
            os.close(where)
