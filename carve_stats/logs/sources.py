"""Which reader reads which source: a path, a glob, a data frame, or a list of those."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError
from carve_stats.logs import delimited, frame, json_file, jsonl, parquet, run_directory, tree
from carve_stats.logs.compact import expand_compact
from carve_stats.logs.paths import readable_path
from carve_stats.logs.scan import Scan

__all__ = ["READERS", "expand_sources", "scan_sources"]

READERS = (run_directory, tree, jsonl, delimited, parquet, json_file, frame)
"""One reader a module, with `is_mine` and `scan`; the first that says "mine" reads a source."""

_SUFFIXES = tuple(s for reader in READERS for s in getattr(reader, "SUFFIXES", ()))


def expand_sources(source: Any) -> list[Any]:
    """Spread globs and folders of flat files out.

    Parameters
    ----------
    source : path, glob, data frame, or a list of those
        As the caller gave it. A path that exists is no glob.

    Returns
    -------
    list
        Paths and data frames.
    """
    if not isinstance(source, list | tuple):
        source = [source]
    found: list[Any] = []
    for one in source:
        if not isinstance(one, str | os.PathLike):
            found.append(one)
            continue
        path = Path(one)
        if not os.fspath(one):
            raise InputError("source is an empty path: give a file or a folder")
        if path.exists():
            paths = [path]
        elif not (paths := sorted(map(Path, glob.glob(str(one), recursive=True)))):
            raise InputError(f"{path}: no such file or folder")
        for path in paths:
            files = _flat_files(path) if _is_plain_folder(path) else [path]
            found += map(readable_path, files)
    if not found:
        raise InputError("source is an empty list: give at least one log")
    return found


def _is_plain_folder(path: Path) -> bool:
    return path.is_dir() and not any(reader.is_mine(path) for reader in READERS)


def _flat_files(folder: Path) -> list[Path]:
    files = sorted(p for p in folder.iterdir() if p.name.lower().endswith(_SUFFIXES))
    if not files:
        inside = sorted(folder.glob("*/plan.json"))
        if inside:
            raise InputError(f"{folder}: not a run itself; did you mean {inside[0].parent}?")
        raise InputError(
            f"{folder}: no replay logs in it: expected <question>/<CONDITION>/<repetition>.json, a"
            f" run's plan.json, or files ending in {', '.join(_SUFFIXES)}"
        )
    kinds = {next(r for r in READERS if r.is_mine(p)): p.name for p in files}
    if len(kinds) > 1:
        raise InputError(
            f"{folder}: files of several kinds ({', '.join(sorted(kinds.values()))}): name those"
            " to be read, with a list or a glob"
        )
    return files


def scan_sources(connection: Any, sources: Sequence[Any], mapping: Mapping[str, str]) -> list[Scan]:
    """Make scans of the sources, all of records or all of counts.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where they can be read.
    sources : sequence
        As `expand_sources` gives them.
    mapping : mapping of str to str
        Our names of columns to theirs.

    Returns
    -------
    list of Scan
        At least one.
    """
    mine: dict[Any, list[Any]] = {}
    for source in sources:
        reader = next((r for r in READERS if r.is_mine(source)), None)
        if reader is None:
            what = str(source) if isinstance(source, Path) else f"a {type(source).__name__}"
            raise InputError(
                f"{what}: not a replay log: expected a folder, a file ending in"
                f" {', '.join(_SUFFIXES)}, or a data frame"
            )
        mine.setdefault(reader, []).append(source)
    scans = [
        scan
        for reader, of_reader in mine.items()
        for scan in reader.scan(connection, of_reader, mapping)
    ]
    scans = [expand_compact(connection, s) if s.form == "compact" else s for s in scans]
    if len({scan.form for scan in scans}) > 1:
        raise InputError(
            f"{scans[0].inputs[0]} and {scans[-1].inputs[0]}: some hold records and some counts:"
            " read them apart"
        )
    return scans
