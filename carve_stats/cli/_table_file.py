"""Tables as files: CSV, JSONL or Parquet, as the name ends; written whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carve_stats.errors import InputError, StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_output", "refuse_input", "write_table"]


Columns = Mapping[str, "NDArray[Any] | None"]
"""Arrays of text, whole numbers, numbers (NaN: null) or truth values; None: a text, all null."""

_SQL_TYPES = {"U": "VARCHAR", "i": "BIGINT", "f": "DOUBLE", "b": "BOOLEAN"}


def check_output(path: str) -> Path:
    """The path of a table that can be written, before any work is done for it.

    Parameters
    ----------
    path : str
        What the user named.

    Returns
    -------
    Path
        The same.

    Raises
    ------
    InputError
        Another ending than .csv, .jsonl and .parquet; a folder or a device; a folder around it
        that does not exist or cannot be written to.
    """
    target = Path(path)
    if target.suffix.lower() not in _ENCODERS:
        raise InputError(
            f"--output {path!r} must end in {', '.join(_ENCODERS)}: that is its format"
        )
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            raise InputError(f"--output {path!r} is no file, but a folder or a device: name a file")
        # Written under a longer name first, as `replace_file` will.
        with tempfile.NamedTemporaryFile(
            prefix=f".{target.name}.", suffix=".part", dir=target.parent
        ):
            pass
    except OSError as error:
        raise InputError(
            f"--output {path!r} cannot be written ({error.strerror}): name a file in a folder"
            " that exists and is yours to write"
        ) from None
    return target


def refuse_input(output: Path, inputs: Iterable[str], *, named: str | None = None) -> None:
    """Refuse to write over a file that will be read, or anywhere in a folder that will be.

    Parameters
    ----------
    output : Path
        As `check_output` gives it.
    inputs : iterable of str
        Paths and globs of what will be read; what is not there is let pass.
    named : str, optional
        What the user wrote; not given, the output as that of ``--output``.

    Raises
    ------
    InputError
        A new file in a folder of logs would be a log to the next command.
    """
    named = named or f"--output {str(output)!r}"
    own = _identity(output)
    # A link stands in one folder and leads into another: either may be read.
    folders = (output.parent.resolve(), Path(os.path.realpath(output)).parent)
    around = {_identity(place) for folder in folders for place in (folder, *folder.parents)}
    for given in inputs:
        for path in [given] if os.path.exists(given) else glob.glob(given, recursive=True):
            for place in _places(path):
                if place == own:
                    raise InputError(f"{named} is one of the files read: name another file")
                if place in around:
                    raise InputError(
                        f"{named} is inside {path!r}, that is read: name a place elsewhere"
                    )


def _places(path: str) -> Iterator[tuple[int, int]]:
    """What reading the path may reach: itself, the folders in it, and where links in it lead."""
    waiting, seen = [path], set()
    while waiting:
        place = waiting.pop()
        identity = _identity(place)
        if identity is None or identity in seen:  # a link to nothing, or a circle of links
            continue
        seen.add(identity)
        yield identity
        # A folder that cannot be listed is for the reader to complain about.
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            waiting += [e.path for e in entries if e.is_symlink() or e.is_dir()]


def _identity(path: str | Path) -> tuple[int, int] | None:
    """What tells files apart under whatever names; None where there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def write_table(path: Path, columns: Columns) -> None:
    """Write a table in the format that the name of the file says.

    Parameters
    ----------
    path : Path
        As `check_output` gives it. A file that is there is replaced in one step.
    columns : mapping of str to array or None
        The columns by name, all of one length; the first is no None.

    Raises
    ------
    StoreError
        The file cannot be written; there is then no part of it either.
    """
    from carve_stats.replay.files import replace_file

    replace_file(path, _ENCODERS[path.suffix.lower()](columns))


def _as_csv(columns: Columns) -> bytes:
    lines = [",".join(columns), *map(",".join, _encoded(columns, _csv_cell))]
    return "".join(f"{line}\n" for line in lines).encode()


def _csv_cell(value: Any) -> str:
    if isinstance(value, str):
        # The csv module of some versions of Python leaves a carriage return unquoted.
        bare = value.isprintable() and value == value.strip() and not set(value) & set(',"')
        return value if bare else '"' + value.replace('"', '""') + '"'
    return "" if value is None else json.dumps(value)  # of a float that is its repr


def _as_jsonl(columns: Columns) -> bytes:
    line = "{" + ", ".join(f"{json.dumps(name)}: %s" for name in columns) + "}\n"
    return "".join(line % row for row in _encoded(columns, json.dumps)).encode()


def _encoded(columns: Columns, encode: Callable[[Any], str]) -> Iterator[tuple[str, ...]]:
    """Rows of encoded cells; None is encoded for nulls."""
    length = next(len(values) for values in columns.values() if values is not None)
    cells = []
    for values in columns.values():
        plain = [None] * length if values is None else values.tolist()
        # Of a million questions at one k few figures differ. A NaN is unlike itself.
        known = {value: encode(value if value == value else None) for value in set(plain)}
        cells.append([known[value] for value in plain])
    return zip(*cells, strict=True)


def _as_parquet(columns: Columns) -> bytes:
    from duckdb import IOException

    from carve_stats.logs.scan import connect, duckdb_message, identifier, literal

    selected, arrays = [], {}
    for name, values in columns.items():
        quoted = identifier(name)
        if values is None:
            selected.append(f"NULL::VARCHAR AS {quoted}")
            continue
        arrays[name] = values.astype(object) if values.dtype.kind == "U" else values
        value = (
            f"CASE WHEN NOT isnan({quoted}) THEN {quoted} END"
            if values.dtype.kind == "f"
            else quoted
        )
        selected.append(f"({value})::{_SQL_TYPES[values.dtype.kind]} AS {quoted}")
    with tempfile.TemporaryDirectory(prefix="carve-stats-") as folder, connect() as connection:
        part = Path(folder, "table.parquet")
        connection.register("columns", arrays)
        try:
            connection.execute(
                f"COPY (SELECT {', '.join(selected)} FROM columns) TO {literal(str(part))}"
                " (FORMAT parquet)"
            )
        except IOException as error:
            raise StoreError(f"{part} cannot be written: {duckdb_message(error)}") from None
        return part.read_bytes()


_ENCODERS = {".csv": _as_csv, ".jsonl": _as_jsonl, ".parquet": _as_parquet}
