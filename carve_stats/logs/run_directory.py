"""Run directories of the replay loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carve_stats.counts import UNFINISHED
from carve_stats.errors import InputError
from carve_stats.logs.columns import RECORD_COLUMNS
from carve_stats.logs.scan import Scan, as_text, scan_columns

if TYPE_CHECKING:
    from carve_stats.replay.records import Replay
    from carve_stats.replay.store import RunStore

__all__ = ["is_mine", "scan"]

FIRST_VALID = "the first valid attempt of each repetition counts, since it decided when to stop"
KEPT_COPIES = (
    "{n} replays that are no new draws count all the same, since its questions were stopped by"
    " them: its figures rest on fewer draws than they count"
)
TWICE = (
    "{n} further records of replays that have one already, as two processes at once make them: the"
    " first of each is kept, whatever the others say"
)


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
    from carve_stats.replay.independence.new_draws import find_copies
    from carve_stats.replay.independence.report import IndependenceTally
    from carve_stats.replay.store import RunStore

    columns: dict[str, list[str]] = {name: [] for name in RECORD_COLUMNS}
    with RunStore.load(path) as store:
        tally = IndependenceTally(store)
        records: Iterable[Replay] = tally.watch(store.records())
        left_out: Counter[str] = Counter()
        if store.stopping is not None:
            records, left_out = _counting(store, records)
        copies, prompts = find_copies(_filling(columns, records), copied=lambda: tally.copied)
        status = store.progress.status()
    notes: tuple[str, ...] = ()
    if not status.finished:
        spared = f" and {status.spared} spared" if status.spared else ""
        notes = (
            f"{path}{UNFINISHED}{status.done} of {status.planned} replays are done{spared};"
            " questions without any are not among those read",
        )
    if status.duplicates:
        notes += (f"{path}: {TWICE.format(n=status.duplicates)}",)
    if store.stopping is not None:
        if store.plan.attempts > 1:
            notes += (f"{path}: {FIRST_VALID}",)
        found = len(copies)
        copies = {row: why for row, why in copies.items() if columns["condition"][row] == "self"}
        if found > len(copies):
            notes += (f"{path}: {KEPT_COPIES.format(n=found - len(copies))}",)
    if copies:
        _take_out(columns, copies, path)
        left_out.update(copies.values())
    notes += tuple(f"{path}: {alarm}" for alarm in tally.report().alarms)
    left_out.update({"duplicate": status.duplicates, "torn line": status.torn_lines})
    scan = scan_columns(
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
        stopping=store.stopping,
    )
    return replace(scan, prompts=prompts)


def _filling(columns: Mapping[str, list[str]], records: Iterable[Replay]) -> Iterator[Replay]:
    for record in records:
        for name, values in columns.items():
            values.append(as_text(getattr(record, name)))
        yield record


def _take_out(columns: dict[str, list[str]], copies: Mapping[int, str], path: Path) -> None:
    """Take out of the columns what is no new draw."""
    for name, values in columns.items():
        columns[name] = [value for row, value in enumerate(values) if row not in copies]
    if not columns["condition"]:
        raise InputError(
            f"{path}: no replay of it is a new draw, all replies come from a cache: turn it off and"
            " begin another run"
        )


def _counting(store: RunStore, records: Iterable[Replay]) -> tuple[list[Replay], Counter[str]]:
    """The records by which questions were stopped, one a repetition, and what is left out."""
    walks = {t.question_id: store.progress.walk(t.question_id) for t in store.trajectories()}
    chosen: dict[tuple[str, str, int], Replay] = {}
    left_out: Counter[str] = Counter()
    for record in sorted(records, key=lambda record: record.key):
        question, condition, repetition = key = record.key[:3]
        if store.progress.next_attempt(*key) is not None:
            left_out["invalid so far, with attempts left"] += 1
        elif condition != "self" and repetition >= getattr(walks[question], condition):
            # Two processes at once may have gone on by outcomes that do not count.
            left_out["after the stop"] += 1
        elif key in chosen and chosen[key].valid:
            left_out["later attempt"] += 1
        else:
            left_out["earlier attempt"] += key in chosen
            chosen[key] = record
    return list(chosen.values()), left_out
