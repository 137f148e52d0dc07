"""Segments: the append-only files that a run's records are in, one for each writer.

A line is one record as compact JSON whose last field is its checksum::

    {"run":"…","question_id":"q1",…,"valid":true,"crc":"5f1d0c2a"}

`crc` is the CRC-32 of the line's bytes before ``,"crc":``, in hexadecimal. A line is written
by one system call, so that a killed writer leaves at most its last line torn.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, TypeVar
from zlib import crc32

import msgspec

from carve_stats.errors import StoreError
from carve_stats.replay.files import sync_directory
from carve_stats.replay.records import Replay

__all__ = ["SegmentWriter", "encode_record", "read_segment", "segment_paths"]


class _OfRun(Protocol):
    run: str


T = TypeVar("T", bound=_OfRun)

_encode = msgspec.json.Encoder().encode
_CRC = b',"crc":"%08x"}'
_CRC_BYTES = len(_CRC % 0)


def encode_record(replay: Replay) -> bytes:
    """One record as a line of a segment.

    Parameters
    ----------
    replay : Replay
        The record.

    Returns
    -------
    bytes
        The line, with its checksum and the newline.
    """
    valid = b',"valid":true' if replay.valid else b',"valid":false'
    body = _encode(replay)[:-1]
    # The last fields; records that have neither are as they were before there were any.
    for empty in (b',"transport":[]', b',"stopping":null'):
        body = body.removesuffix(empty)
    body += valid
    return body + _CRC % crc32(body) + b"\n"


def segment_paths(directory: Path) -> list[Path]:
    """The segments of a run, in the order in which their writers began.

    Parameters
    ----------
    directory : Path
        The folder of segments. One that is not there has none.

    Returns
    -------
    list of Path
        By number.

    Raises
    ------
    StoreError
        A folder that cannot be read, or something else in its place.
    """
    names = [name for name in list_folder(directory) if name.endswith(".jsonl")]
    return [directory / name for name in sorted(names, key=lambda name: (len(name), name))]


def list_folder(directory: Path) -> list[str]:
    """The names in a folder of a run; none where it is not there yet.

    Parameters
    ----------
    directory : Path
        The folder.

    Returns
    -------
    list of str
        In no order.

    Raises
    ------
    StoreError
        A folder that cannot be read, or something else in its place.
    """
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            f"{directory} cannot be read ({error.strerror}): make it readable, or restore it"
        ) from None


def read_segment(path: Path, decoder: msgspec.json.Decoder[T], *, run: str) -> Iterator[T | None]:
    """Read the records of one segment.

    Parameters
    ----------
    path : Path
        The segment.
    decoder : msgspec.json.Decoder
        What a line becomes.
    run : str
        The run that all records must be of.

    Yields
    ------
    record or None
        None stands for a torn last line.

    Raises
    ------
    StoreError
        A line that is damaged and is not the last one, with file and byte offset, or one of
        another run, with file and line.
    """
    with open(path, "rb") as file:
        offset = 0
        for number, line in enumerate(file, start=1):
            problem = _damage(line)
            if problem is None:
                try:
                    record = decoder.decode(line)
                except msgspec.DecodeError as error:
                    raise StoreError(
                        f"{path}: byte {offset}: not a replay record ({error}): the file was"
                        " changed, or another version wrote it"
                    ) from None
                if record.run != run:
                    raise StoreError(
                        f"{path}: line {number}: a record of run {record.run!r} in the store of run"
                        f" {run!r}: take the file out"
                    )
                yield record
            # A line without its end is the last one, even if its writer goes on as we read.
            elif not line.endswith(b"\n") or not file.read(1):
                yield None
                return
            else:
                raise StoreError(
                    f"{path}: byte {offset}: {problem}: the file was changed or damaged; restore"
                    " it, or remove that line to have its replay made again"
                )
            offset += len(line)


class SegmentWriter:
    """Appends records to a segment of its own, which it creates at the first one.

    Threads may share a writer; processes each have one.

    Parameters
    ----------
    directory : Path
        The folder of segments.
    sync_every : float
        Seconds between two flushes to the disk, at the least; `close` flushes the rest.
    """

    def __init__(self, directory: Path, *, sync_every: float = 1.0) -> None:
        self._directory = directory
        self._sync_every = sync_every
        self._lock = threading.Lock()
        self._path = directory
        self._file: int | None = None
        self._synced = 0.0
        self._closed = False

    def append(self, line: bytes) -> None:
        """Append one line; when it returns, the death of the process cannot lose it.

        Parameters
        ----------
        line : bytes
            As `encode_record` makes it.

        Raises
        ------
        StoreError
            The disk is full, or cannot be written.
        """
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._path} is closed: run the same command again")
            try:
                if self._file is None:
                    self._file = self._create()
                written = os.write(self._file, line)
                while written < len(line):  # a disk that is nearly full takes a part
                    written += os.write(self._file, line[written:])
                now = time.monotonic()
                if now - self._synced >= self._sync_every:
                    os.fsync(self._file)
                    self._synced = time.monotonic()
            except BaseException as error:
                # A torn line must stay the last one of its file.
                self._closed = True
                if not isinstance(error, OSError):
                    raise
                raise StoreError(
                    f"{self._path} cannot be written ({error.strerror}): make room and run the"
                    " same command again"
                ) from None

    def close(self) -> None:
        """Flush to the disk and close the file.

        Raises
        ------
        StoreError
            The disk does not take it.
        """
        with self._lock:
            self._closed = True
            file, self._file = self._file, None
            if file is None:
                return
            try:
                try:
                    os.fsync(file)
                finally:
                    os.close(file)
            except OSError as error:
                raise StoreError(
                    f"{self._path} cannot be flushed to the disk ({error.strerror}): its last"
                    " records may be lost; mend the disk and run the same command again"
                ) from None

    def _create(self) -> int:
        number = 1 + max((int(p.stem) for p in segment_paths(self._directory) if p.stem.isdigit()),
                         default=0)  # fmt: skip
        while True:
            self._path = self._directory / f"{number:04d}.jsonl"
            try:
                file = os.open(
                    self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644
                )
            except FileExistsError:
                number += 1
            else:
                sync_directory(self._directory)
                return file


def _damage(line: bytes) -> str | None:
    body = line.removesuffix(b"\n")
    if body.endswith(b'"}\r'):
        return "its line ends were changed to CRLF"
    if len(body) <= _CRC_BYTES or not body.endswith(b'"}'):
        return "not a whole record"
    content, crc = body[:-_CRC_BYTES], body[-_CRC_BYTES:]
    return None if crc == _CRC % crc32(content) else "the record and its checksum disagree"
