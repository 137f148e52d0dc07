"""One condition's folder of the reference layout: its records, each checked against its path."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from carve_stats.errors import InputError, RecordError, unknown_name
from carve_stats.logs.paths import check_regular
from carve_stats.logs.records import ARMS
from carve_stats.logs.scan import as_text

__all__ = ["RecordDecoder", "arm_of", "files_in", "list_folder", "read_folder"]

_UNSET = msgspec.UNSET
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_MEND = "the file is damaged; take it out, or make it again"
_SIZE = 1 << 14  # bytes read at once: one call for nearly every record


def arm_of(name: str) -> int | None:
    """The arm that a folder of this name is for, if it is for one."""
    return ARMS.get(name.strip().lower())


def list_folder(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """What is in a folder, in the order of the names."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def files_in(entry: os.DirEntry[str]) -> Iterator[str]:
    """The paths of all files in a folder that is passed over, or of the one file that it is.

    Links are not followed: they may lead in a circle. A folder that cannot be listed counts
    as a file.
    """
    if not entry.is_dir(follow_symlinks=False):
        yield entry.path
        return
    try:
        inside = list_folder(entry.path)
    except PermissionError:
        yield entry.path
        return
    for one in inside:
        yield from files_in(one)


class RecordDecoder:
    """Decodes the fields of a record that are asked for, and no others.

    Parameters
    ----------
    names : mapping of str to str
        Our names of the fields to theirs. A record also has the attribute `mode`.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = {"mode": ""} | dict(names)  # unset, where it is not asked for
        fields = [(ours, Any, _UNSET) for ours in self.names]
        self._type = msgspec.defstruct("Record", fields, rename=self.names, gc=False)
        self._decode = msgspec.json.Decoder(self._type).decode

    def decode(self, data: bytes, path: str) -> Any:
        """A record whose missing fields are ``msgspec.UNSET``."""
        try:
            return self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # perhaps only a NaN, which Python's json writes
        except RecursionError:
            raise RecordError(f"{path}: lists in lists too deep to be read: {_MEND}") from None
        try:
            record = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise RecordError(f"{path}: not JSON ({error}): {_MEND}") from None
        if not isinstance(record, dict):
            raise RecordError(f"{path}: not a JSON object: a record has named values")
        return self._type(**{o: record.get(t, _UNSET) for o, t in self.names.items()})


def read_folder(
    question: str, folder: str, decoder: RecordDecoder, question_id: Any = msgspec.UNSET
) -> tuple[list[str], list[Any], list[str]]:
    """Read the records of one question and condition.

    Parameters
    ----------
    question : str
        The name of the question's folder.
    folder : str
        The path of the condition's folder in it.
    decoder : RecordDecoder
        What decodes a record.
    question_id : object
        What the records in the question's other folders call it; unset before the first.

    Returns
    -------
    paths : list of str
        Of the files that hold records, in the order of their names.
    records : list
        Their records, condition and repetition filled in from the path.
    passed_over : list of str
        Of all other files in the folder and below it.

    Raises
    ------
    RecordError
        A file that holds no record, or one of another path, or of another question than the
        files before it.
    InputError
        A ``.json`` file that is none, or cannot be read.
    """
    condition = os.path.basename(folder)
    files, passed_over = _read_files(folder)
    paths: list[str] = []
    records: list[Any] = []
    said: Any = _UNSET
    mode: Any = _UNSET
    for name, data in files:
        path = f"{folder}/{name}"
        record = decoder.decode(data, path)
        # The records of a folder say the same of themselves: what the first says is checked.
        if (
            record.question_id != question_id
            or record.condition != said
            or record.mode != mode
            or not records
        ):
            _check_question(record, question, path)
            _check_condition(record, condition, path)
            if question_id is not _UNSET and as_text(record.question_id) != as_text(question_id):
                raise RecordError(
                    f"{path}: question {record.question_id!r} is in one folder with"
                    f" {question_id!r}: with / as _ they have the same path and overwrite each"
                    " other; keep them in separate trees, or in one JSONL file"
                )
            question_id, said, mode = record.question_id, record.condition, record.mode
        record.condition = condition
        if name != f"{record.repetition}.json":
            _check_repetition(record, name.removesuffix(".json"), path)
        paths.append(path)
        records.append(record)
    return paths, records, passed_over


def _check_question(record: Any, folder: str, path: str) -> None:
    question = record.question_id
    if question is _UNSET or question is None or question == "":
        raise RecordError(f"{path}: there is no question_id: every record needs one")
    if as_text(question).replace("/", "_") != folder:
        raise RecordError(
            f"{path}: question_id={question!r} is not the question of its folder: move the file,"
            " or mend the record"
        )


def _check_condition(record: Any, folder: str, path: str) -> None:
    said = record.condition
    if said is not _UNSET and said is not None and arm_of(as_text(said)) is None:
        raise RecordError(f"{path}: {unknown_name('condition', said, ARMS)}")
    for field in ("condition", "mode"):
        value = getattr(record, field)
        arm = arm_of(value) if isinstance(value, str) else None
        if arm is not None and arm != arm_of(folder):
            raise RecordError(
                f"{path}: {field}={value!r} is not the condition of its folder: move the file, or"
                " mend the record"
            )


def _check_repetition(record: Any, stem: str, path: str) -> None:
    if not stem.isdecimal():
        return  # the file has a name of its own: what the record says counts
    if record.repetition is _UNSET or record.repetition is None:
        record.repetition = int(stem)
    elif record.repetition != int(stem) and record.repetition != stem:
        raise RecordError(
            f"{path}: repetition={as_text(record.repetition)} is not the one that the file is named"
            " for: rename the file, or mend the record"
        )


def _read_files(folder: str) -> tuple[list[tuple[str, bytes]], list[str]]:
    """Names and contents of the ``.json`` files of a folder, and the paths of all others."""
    names: list[str] = []
    passed_over: list[str] = []
    for entry in list_folder(folder):
        if not entry.name.endswith(".json") or entry.name.startswith("."):
            passed_over += files_in(entry)
            continue
        if not entry.is_file():
            check_regular(entry.path)
        names.append(entry.name)
    relative = os.open in os.supports_dir_fd
    # Opening a file relative to its folder spares the kernel the walk down the path.
    where = os.open(folder, os.O_RDONLY) if relative else None
    try:
        files = [
            (name, _read_file(name if relative else f"{folder}/{name}", where)) for name in names
        ]
    except OSError as error:
        path = os.path.join(folder, os.path.basename(error.filename or ""))
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    finally:
        if where is not None:
            os.close(where)
    return files, passed_over


def _read_file(name: str, where: int | None) -> bytes:
    file = os.open(name, _FLAGS, dir_fd=where)
    try:
        data = os.read(file, _SIZE)
        if len(data) == _SIZE:
            while more := os.read(file, 64 * _SIZE):
                data += more
    finally:
        os.close(file)
    return data
