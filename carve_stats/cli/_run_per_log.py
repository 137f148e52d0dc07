"""Logs of which each is a run, whatever its records say: ``--run-per-log``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from carve_stats.cli._logs import read_mapping
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from carve_stats.counts import ReplayCounts
    from carve_stats.logs.shared_replays import SharedReplays

__all__ = ["pool_logs", "read_run_per_log"]

NOT_INDEPENDENT = (
    "{shared}: these runs are not independent, and added up those replays count twice; leave one of"
    " the two out"
)


def read_run_per_log(
    logs: tuple[str, ...], *, columns: tuple[str, ...], added_up: bool, **options: Any
) -> dict[str, ReplayCounts]:
    """Read each of the logs as a run.

    Parameters
    ----------
    logs : tuple of str
        Paths and globs.
    columns : tuple of str
        As the option ``--map`` gives them.
    added_up : bool
        Whether the runs will be: one that another holds as a whole is then refused.
    **options
        `videos`, `video_pattern` and `attempts` of `read_replays`.

    Returns
    -------
    dict of str to ReplayCounts
        By the paths. Of a run whose replays are in another the ledgers of both say so.

    Raises
    ------
    InputError
        One file in two of the logs, under whatever names, or a log of several runs.
    """
    from carve_stats.logs.copied_replays import find_copied_replays

    _refuse_same_files(logs)
    mapping = read_mapping(columns)
    runs = {path: _read_one_run(path, columns=mapping, **options) for path in logs}
    shared = find_copied_replays(
        {path: path for path in logs}, columns=mapping, attempts=options["attempts"]
    )
    for one in shared:
        if added_up and one.complete:
            raise InputError(f"{one}: added up they would count twice; leave {one.part!r} out")
    return {path: _told(path, counts, shared) for path, counts in runs.items()}


def pool_logs(runs: Mapping[str, ReplayCounts]) -> ReplayCounts:
    """All runs added up."""
    first, *others = runs.values()
    for other in others:
        first = first.pool(other)
    return first


def _refuse_same_files(logs: tuple[str, ...]) -> None:
    from carve_stats.logs.sources import expand_sources

    holder: dict[tuple[int, int], tuple[str, str]] = {}
    for path in logs:
        for file in map(str, expand_sources(path)):
            status = os.stat(file)
            other, other_file = holder.setdefault((status.st_dev, status.st_ino), (path, file))
            if (other, other_file) == (path, file) and logs.count(path) == 1:
                continue
            at = "" if (other, path) == (other_file, file) else f" ({file})"
            raise InputError(
                f"{other!r} and {path!r} hold the same file{at}: with --run-per-log each of the"
                " LOGS is a run, and no file can be two"
            )


def _read_one_run(path: str, **options: Any) -> ReplayCounts:
    from carve_stats.logs.reader import read_replays
    from carve_stats.logs.runs import read_runs

    try:
        return read_replays(path, **options)
    except InputError:
        found = list(read_runs(path, **options))  # or the same error
        if len(found) < 2:
            raise
        shown = ", ".join(map(repr, found[:5]))
        raise InputError(
            f"{path}: holds {len(found)} runs ({shown}{', …' if len(found) > 5 else ''}), and with"
            " --run-per-log it would be one: leave --run-per-log out, as runs with ids are read"
            " apart, or give each a file of its own"
        ) from None


def _told(path: str, counts: ReplayCounts, shared: list[SharedReplays]) -> ReplayCounts:
    """The same counts, with what is shared in their ledger."""
    notes = {
        (one.whole if path == one.part else one.part): NOT_INDEPENDENT.format(shared=one)
        for one in shared
        if path in (one.part, one.whole)
    }
    if not notes or counts.ledger is None:
        return counts
    ledger = replace(
        counts.ledger,
        notes=(*counts.ledger.notes, *notes.values()),
        shared=notes,
        held_by=tuple(one.whole for one in shared if one.part == path and one.complete),
    )
    return counts.with_ledger(ledger)
