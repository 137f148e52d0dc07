"""Where a report's figures came from: versions, the run's plan, and the inputs with sha256."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carve_stats import __version__
from carve_stats.counts import CONDITIONS
from carve_stats.report.text import plural

if TYPE_CHECKING:
    from carve_stats.counts import ReplayCounts
    from carve_stats.replay.store import RunStore

__all__ = [
    "Entry",
    "file_sha256",
    "folder_sha256",
    "input_entries",
    "run_entries",
    "software_entries",
]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the provenance: a term and what is known of it."""

    term: str
    value: str


def software_entries() -> tuple[Entry, ...]:
    """The versions that computed the report.

    Returns
    -------
    tuple of Entry
        carve_stats, Python, numpy, scipy and numba.
    """
    packages = [Entry(name, _version(name)) for name in ("numpy", "scipy", "numba")]
    return (
        Entry("carve_stats", __version__),
        Entry("Python", platform.python_version()),
        *packages,
    )


def input_entries(counts: ReplayCounts, report: Path) -> tuple[Entry, ...]:
    """The files that the counts were read from, each with its sha256.

    Parameters
    ----------
    counts : ReplayCounts
        The log; without a ledger nothing is known of its inputs.
    report : Path
        The report itself, which is no input although it may stand in a folder that is.

    Returns
    -------
    tuple of Entry
        One a path, as the reader was given it.
    """
    paths = () if counts.ledger is None else counts.ledger.inputs
    return tuple(Entry(path, _digest_words(Path(path), report)) for path in dict.fromkeys(paths))


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_sha256(folder: Path, files: Iterable[Path]) -> str:
    """SHA-256 of the files of a folder.

    Parameters
    ----------
    folder : Path
        The folder.
    files : iterable of Path
        Which of its files count, in any order.

    Returns
    -------
    str
        The digest of the lines that ``sha256sum`` prints for the files, sorted by their path
        relative to the folder.
    """
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in files):
        digest.update(f"{file_sha256(path)}  {name}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _digest_words(path: Path, report: Path) -> str:
    try:
        if path.is_dir():
            files = _files_of(path, report)
            return f"folder, {plural(len(files), 'file')}, sha256 {folder_sha256(path, files)}"
        if path.is_file():
            return f"sha256 {file_sha256(path)}"
    except OSError as error:
        return f"could not be read again ({error.strerror})"
    return "no file that could be read again"


def _files_of(folder: Path, report: Path) -> list[Path]:
    run = folder / "plan.json"
    if run.is_file():  # a run's directory may hold other things, and its reports
        return [run, *folder.glob("extents/*.json"), *folder.glob("segments/*.jsonl")]
    report = report.absolute()
    return [p for p in folder.rglob("*") if p.is_file() and p.absolute() != report]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _words(value: Any) -> str:
    """Settings in one line: ``name phase, field shared``; what is nested stands in brackets."""
    if isinstance(value, Mapping):
        parts = []
        for name, inner in value.items():
            words = _words(inner)
            parts.append(f"{name} ({words})" if isinstance(inner, Mapping) else f"{name} {words}")
        text = ", ".join(parts)
    elif isinstance(value, list | tuple):
        text = ", ".join(map(_words, value))
    else:
        text = value if isinstance(value, str) else json.dumps(value)
    return text or "none"


def _moment(unix_time: float) -> str:
    return f"{datetime.fromtimestamp(unix_time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def run_entries(run: RunStore) -> tuple[Entry, ...]:
    """The plan of a run, when it ran and what answered.

    Parameters
    ----------
    run : RunStore
        The run.

    Returns
    -------
    tuple of Entry
        The date is that of the records, not of the report.
    """
    first, last = float("inf"), float("-inf")
    models: set[str] = set()
    k = dict.fromkeys(CONDITIONS, 0)
    for record in run.records():
        first = min(first, record.started_at)
        last = max(last, record.started_at + sum(record.seconds.values()))
        k[record.condition] = max(k[record.condition], record.repetition + 1)
        if record.model is not None:
            models.add(record.model)
    entries = [
        Entry("run", f"{run.run_id} (plan sha256 {run.plan.sha256})"),
        Entry("state", str(run.progress.status())),
        Entry("k", ", ".join(f"{condition} {most}" for condition, most in k.items() if most)),
    ]
    if first <= last:
        entries.append(Entry("replayed", f"{_moment(first)} to {_moment(last)}"))
    entries += [Entry("model", model) for model in sorted(models)]
    settings = dict(run.plan.to_dict())
    if "stopping" in settings:  # its table is not for reading, and its sha256 stands for it
        settings["stopping"] = {n: v for n, v in settings["stopping"].items() if n != "table"}
    plan = [Entry(name.replace("_", " "), _words(value)) for name, value in settings.items()]
    return (*entries, *plan, Entry("begun with", _words(run.provenance)))
