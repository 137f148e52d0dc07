"""Tables already counted: one row a question, flips and replays by condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import CONDITIONS
from carve_stats.errors import RecordError
from carve_stats.logs.scan import Scan, identifier, literal

__all__ = ["tally_counts"]

_WHAT = ("flips", "replays", "invalid")


def tally_counts(connection: Any, scans: Sequence[Scan], *, run: str, only: str | None) -> None:
    """Put counted tables into the table ``arms``: a row for each run, question and arm.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the scans can be read and the table is made.
    scans : sequence of Scan
        All of the form ``counts``.
    run : str
        SQL of the run of a row, from `run` and `source`.
    only : str, optional
        The one run to be counted; rows of others are not looked at.

    Raises
    ------
    RecordError
        A count that is not a whole number, more flips than replays, or two different rows for
        one question; names where they stand. An empty arm may be left empty or be 0.
    """
    rows = " UNION ALL ".join(_rows(scan, number, run) for number, scan in enumerate(scans))
    counted = "true" if only is None else f"run = {literal(only)}"
    connection.execute(f"CREATE TABLE counted AS SELECT *, {counted} AS counted FROM ({rows})")
    table = connection.execute("SELECT * FROM counted WHERE counted").fetchnumpy()
    for arm in CONDITIONS:
        for what in _WHAT:
            value = table[f"{arm}_{what}"]
            _refuse(
                scans, table, (np.ma.filled(value, -1) < 0), arm, what, "must be a whole number"
            )
        flips, replays = (np.ma.filled(table[f"{arm}_{what}"]) for what in ("flips", "replays"))
        _refuse(scans, table, flips > replays, arm, "flips", f"must not exceed {arm}_replays")
    missing = np.flatnonzero(np.ma.getmaskarray(table["question_id"]))
    if missing.size:
        raise RecordError(f"{_place(scans, table, missing[0])}: there is no question_id")
    _refuse_differing(connection, scans)
    arms = " UNION ALL ".join(
        f"""SELECT run, question_id, {number} AS arm, video_id, copy,
            coalesce({arm}_flips, 0) AS flips,
            coalesce({arm}_replays - {arm}_flips, 0) AS keeps,
            coalesce({arm}_invalid, 0) AS invalid FROM copies"""
        for number, arm in enumerate(CONDITIONS)
    )
    connection.execute(f"""
        CREATE TABLE arms AS
        WITH copies AS (
            SELECT *, row_number() OVER (
                PARTITION BY run, question_id ORDER BY scan, row) AS copy
            FROM counted
        )
        SELECT run, question_id, arm, sum(flips + keeps + invalid) AS n,
            sum(flips) FILTER (copy = 1) AS flips, sum(keeps) FILTER (copy = 1) AS keeps,
            sum(invalid) FILTER (copy = 1) AS invalid, 0 AS unparsed,
            coalesce(sum(flips + keeps + invalid) FILTER (copy > 1), 0) AS duplicate,
            0 AS earlier, 0 AS later, any_value(video_id) AS video,
            min(hash(video_id)) FILTER (video_id IS NOT NULL) AS video_low,
            max(hash(video_id)) FILTER (video_id IS NOT NULL) AS video_high
        FROM ({arms}) GROUP BY run, question_id, arm""")


def _rows(scan: Scan, number: int, run: str) -> str:
    def text(name: str) -> str:
        present = name in scan.types
        return f"nullif({identifier(name)}::VARCHAR, '')" if present else "NULL::VARCHAR"

    def count(name: str) -> str:
        """−1 for what is not a count."""
        value = f"try_cast({text(name)} AS DOUBLE)"
        return (
            f"CASE WHEN {text(name)} IS NULL OR lower({text(name)}) = 'nan' THEN 0"
            f" WHEN {value} BETWEEN 0 AND 9007199254740992 AND {value} = floor({value})"
            f" THEN {value}::BIGINT ELSE -1 END AS {name}"
        )

    counts = ", ".join(count(f"{arm}_{what}") for arm in CONDITIONS for what in _WHAT)
    names = ", ".join(f"{text(name)} AS {name}" for name in ("question_id", "video_id"))
    return (
        f"SELECT {number} AS scan, row, {run} AS run, * EXCLUDE (row, run, source)"
        f" FROM (SELECT row, {text('run')} AS run, source, {names}, {counts}"
        f" FROM ({scan.numbered()}))"
    )


def _place(scans: Sequence[Scan], table: Any, i: int) -> str:
    return scans[int(table["scan"][i])].locate(int(table["row"][i]))


def _refuse(
    scans: Sequence[Scan], table: Any, bad: NDArray[np.bool_], arm: str, what: str, rule: str
) -> None:
    where = np.flatnonzero(bad)
    if where.size:
        raise RecordError(
            f"{_place(scans, table, where[0])}: {arm}_{what} of question"
            f" {table['question_id'][where[0]]!r} {rule}"
        )


def _refuse_differing(connection: Any, scans: Sequence[Scan]) -> None:
    columns = ", ".join(f"{arm}_{what}" for arm in CONDITIONS for what in _WHAT)
    twice = connection.execute(f"""
        WITH told AS (SELECT *, row(coalesce(video_id, ''), {columns}) AS says FROM counted
            WHERE counted),
        firsts AS (SELECT run, question_id, arg_min((scan, row, says), (scan, row)) AS first
            FROM told GROUP BY ALL)
        SELECT first[1], first[2], scan, row, question_id
        FROM told JOIN firsts USING (run, question_id)
        WHERE says <> first[3] ORDER BY scan, row LIMIT 1""").fetchall()
    if twice:
        scan_a, row_a, scan_b, row_b, question = twice[0]
        raise RecordError(
            f"{scans[scan_b].locate(row_b)}: question {question!r} differs from its row at"
            f" {scans[scan_a].locate(row_a)}: keep one; where they are of different runs, name"
            " them in a column run, or read with pool_runs=True (--pool-runs)"
        )
