"""From the table of arms to `ReplayCounts`: runs chosen, videos assigned, a ledger kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from carve_stats.counts import CONDITIONS, UNKNOWN_CLUSTERS, Ledger, ReplayCounts
from carve_stats.errors import InputError, RecordError, unknown_name
from carve_stats.logs.scan import Scan, literal
from carve_stats.logs.shared_replays import find_shared_replays
from carve_stats.logs.videos import assign_videos

if TYPE_CHECKING:
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["assemble_counts", "assemble_runs"]

NO_RUN = "records without a run are the run ''"
TWICE = (
    "{shared}: these runs are not independent, and added up those replays count twice; leave one of"
    " the two out"
)

_LEFT_OUT = {
    "invalid": "invalid",
    "unparsed": "unparsed reference",
    "duplicate": "duplicate",
    "earlier": "earlier attempt",
    "later": "later attempt",
}
_COUNTED = {"flips": "flips", "replays": "flips + keeps", "invalid": "invalid"}


def assemble_counts(
    connection: Any,
    scans: Sequence[Scan],
    *,
    run: str | None,
    pool_runs: bool,
    run_sql: str,
    mapping: Mapping[str, str] | None,
    pattern: re.Pattern[str] | None,
) -> ReplayCounts:
    """Sum the table ``arms`` over conditions and runs.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the table is.
    scans : sequence of Scan
        What it was made of.
    run : str, optional
        The one run to be counted.
    pool_runs : bool
        Whether to add several runs.
    run_sql : str
        SQL of the run of a record, as for `tally_records`.
    mapping : mapping of str to str, optional
        Question to video.
    pattern : re.Pattern, optional
        What to take videos from question ids with.

    Returns
    -------
    ReplayCounts
        With its ledger.

    Raises
    ------
    InputError
        Runs to be chosen among, or to be added up although one holds all of another.
    """
    runs = _choose_runs(connection, scans, run, pool_runs)
    stopping = _shared_stopping(scans, runs if run is None else [run])
    notes = []
    if run is not None and len(runs) > 1:
        notes.append(f"read run {run!r}, one of {len(runs)}")
    elif len(runs) > 1:
        _refuse_copies(scans)
        shown = ", ".join(repr(r) for r in runs[:5])
        notes.append(f"pooled {len(runs)} runs: {shown}{', …' if len(runs) > 5 else ''}")
        notes += _count_twice(connection, scans, run_sql)
    return _assemble(
        connection,
        scans,
        (),
        run=run,
        mapping=mapping,
        pattern=pattern,
        stopping=stopping,
        notes=notes,
    )


def assemble_runs(
    connection: Any,
    scans: Sequence[Scan],
    *,
    run_sql: str,
    mapping: Mapping[str, str] | None,
    pattern: re.Pattern[str] | None,
) -> dict[str, ReplayCounts]:
    """Sum the table ``arms`` over conditions, each run apart.

    Parameters
    ----------
    connection, scans, run_sql, mapping, pattern
        As in `assemble_counts`.

    Returns
    -------
    dict of str to ReplayCounts
        By the run's id, in order. The ledger of each speaks of all that was read; what was left
        out of a run directory, and its notes, stay with its own run. Of a run that is in another
        the ledgers of both say so.
    """
    counts = {}
    runs = _find_runs(connection, scans)
    held = [set(runs) if len(scans) == 1 else _runs_of(connection, scan) for scan in scans]
    shared = find_shared_replays(connection, scans, run=run_sql) if len(runs) > 1 else []
    for run in runs:
        notes = {
            (one.whole if run == one.part else one.part): TWICE.format(shared=one)
            for one in shared
            if run in (one.part, one.whole)
        }
        own = [scan for scan, there in zip(scans, held, strict=True) if run in there]
        others = [scan for scan, there in zip(scans, held, strict=True) if run not in there]
        counts[run] = _assemble(
            connection,
            own,
            others,
            run=run,
            mapping=mapping,
            pattern=pattern,
            stopping=_shared_stopping(own, [run]),
            notes=[*([] if run else [NO_RUN]), *notes.values()],
            shared=notes,
            held_by=tuple(one.whole for one in shared if one.part == run and one.complete),
        )
    return counts


def _count_twice(connection: Any, scans: Sequence[Scan], run_sql: str) -> list[str]:
    """What to say of runs that are in others; one that is there as a whole is no second run."""
    shared = find_shared_replays(connection, scans, run=run_sql)
    for one in shared:
        if one.complete:
            raise InputError(
                f"{one}: added up they would count twice; read one of the two with run= (--run)"
            )
    return [TWICE.format(shared=one) for one in shared]


def _runs_of(connection: Any, scan: Scan) -> set[str]:
    sql = f"SELECT DISTINCT coalesce({scan.text('run')}, '') FROM ({scan.sql})"
    return {run for (run,) in connection.execute(sql).fetchall()}


def _assemble(
    connection: Any,
    scans: Sequence[Scan],
    others: Sequence[Scan],
    *,
    run: str | None,
    mapping: Mapping[str, str] | None,
    pattern: re.Pattern[str] | None,
    stopping: StoppingPlan | None,
    notes: Sequence[str],
    **shared: Any,
) -> ReplayCounts:
    """The counts of one run, or of all; `others` are scans in which that run is not."""
    counted = "true" if run is None else f"run = {literal(run)}"
    sums = ", ".join(
        f"coalesce(sum({sql}) FILTER (arm = {number}), 0)::BIGINT AS {arm}_{what}"
        for number, arm in enumerate(CONDITIONS)
        for what, sql in _COUNTED.items()
    )
    table = connection.execute(f"""
        SELECT question_id, any_value(video) AS video, {sums},
            coalesce(min(video_low) <> max(video_high), false) AS contradicted
        FROM arms WHERE {counted} GROUP BY question_id ORDER BY question_id""").fetchnumpy()
    contradicted = np.flatnonzero(table["contradicted"])
    if contradicted.size:
        _refuse_videos(connection, scans, table["question_id"][contradicted[0]])
    cluster = assign_videos(
        table["question_id"].tolist(), table["video"].tolist(), mapping=mapping, pattern=pattern
    )
    columns = {f"{arm}_{what}": table[f"{arm}_{what}"] for arm in CONDITIONS for what in _COUNTED}
    notes = [*notes, *([UNKNOWN_CLUSTERS] if cluster is None else [])]
    ledger = _keep_ledger(connection, scans, others, counted, notes, **shared)
    return ReplayCounts(
        np.asarray(table["question_id"]).astype(np.str_),
        cluster=cluster,
        ledger=ledger,
        stopping=stopping,
        **columns,
    )


def _choose_runs(
    connection: Any, scans: Sequence[Scan], run: str | None, pool_runs: bool
) -> list[str]:
    """The runs in the logs, once it is clear which of them count."""
    runs = _find_runs(connection, scans)
    if run is not None and run not in runs:
        raise InputError(f"run: {unknown_name('run', run, [r or '(no run)' for r in runs])}")
    if run is None and not pool_runs and len(runs) > 1:
        shown = ", ".join(repr(r) if r else "records without a run" for r in runs[:5])
        raise InputError(
            f"the logs hold {len(runs)} runs ({shown}{', …' if len(runs) > 5 else ''}): name one"
            " with run= (--run), or add them with pool_runs=True (--pool-runs); read_runs keeps"
            " them apart"
        )
    return runs


def _refuse_copies(scans: Sequence[Scan]) -> None:
    """Refuse to add up runs of which one holds copies of another's replies."""
    before: dict[tuple[str, str, str | None], str] = {}
    for scan in scans:
        if again := [prompt for prompt in scan.prompts if prompt in before]:
            first = min(again, key=lambda prompt: prompt[:2])
            question, condition, _ = first
            raise InputError(
                f"{before[first]} and {scan.inputs[0]} are runs of agents whose prompt decides the"
                f" reply, and share prompts: {condition} of question {question!r} is the first of"
                f" {len(again)}: one's replies to them are copies of the other's, and cannot be"
                " added up: read one of the runs"
            )
        before |= dict.fromkeys(scan.prompts, scan.inputs[0])


def _find_runs(connection: Any, scans: Sequence[Scan]) -> list[str]:
    runs = [r for (r,) in connection.execute("SELECT DISTINCT run FROM arms").fetchall()]
    if not runs:
        raise InputError(f"{', '.join(i for s in scans for i in s.inputs)}: no records")
    return sorted(runs)


def _shared_stopping(scans: Sequence[Scan], counted: Sequence[str]) -> StoppingPlan | None:
    """By which plan the one run that is counted stopped its questions early."""
    stopped = [scan for scan in scans if scan.stopping is not None]
    if not stopped:
        return None
    # The run's id hashes its plan: of one run all have the same.
    if len(counted) > 1 or len(stopped) < len(scans):
        raise InputError(
            f"{stopped[0].inputs[0]}: a run that stopped its questions early cannot be added to"
            " other replays: read it alone"
        )
    return stopped[0].stopping


def _refuse_videos(connection: Any, scans: Sequence[Scan], question: str) -> None:
    parts = [
        f"SELECT {number} AS scan, row, {scan.text('video_id')} AS video FROM ({scan.numbered()})"
        f" WHERE {scan.text('question_id')} = {literal(question)} AND video IS NOT NULL"
        for number, scan in enumerate(scans)
        if "video_id" in scan.types
    ]
    rows = connection.execute(f"{' UNION ALL '.join(parts)} ORDER BY scan, row").fetchall()
    first = rows[0]
    second = next(r for r in rows if r[2] != first[2])
    raise RecordError(
        f"{scans[second[0]].locate(second[1])}: question {question!r} is in video {second[2]!r},"
        f" and in {first[2]!r} at {scans[first[0]].locate(first[1])}: a question has one video"
    )


def _keep_ledger(
    connection: Any,
    scans: Sequence[Scan],
    others: Sequence[Scan],
    counted: str,
    more: Sequence[str],
    **shared: Any,
) -> Ledger:
    sums = ", ".join(f"coalesce(sum({c}) FILTER ({counted}), 0)::BIGINT" for c in _LEFT_OUT)
    read, used, other, *reasons = connection.execute(f"""
        SELECT sum(n)::BIGINT, coalesce(sum(flips + keeps) FILTER ({counted}), 0)::BIGINT,
            coalesce(sum(n) FILTER (NOT ({counted})), 0)::BIGINT, {sums}
        FROM arms""").fetchall()[0]
    left_out = dict(zip(_LEFT_OUT.values(), reasons, strict=True)) | {"other run": other}
    repeated = left_out["duplicate"]
    for scan in scans:
        for reason, n in scan.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + n
            read += n
    elsewhere = sum(n for scan in others for n in scan.left_out.values())
    left_out["other run"] += elsewhere
    read += elsewhere
    notes = [note for scan in scans for note in scan.notes]
    if repeated:
        notes.append(f"{repeated} records repeat another word for word: the first of each is kept")
    return Ledger(
        read=read,
        used=used,
        left_out={reason: n for reason, n in left_out.items() if n},
        notes=tuple(dict.fromkeys([*notes, *more])),
        inputs=tuple(i for scan in (*scans, *others) for i in scan.inputs),
        **shared,
    )
