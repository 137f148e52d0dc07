"""Tables already counted: one row a question, flips and replays by condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import CONDITIONS
from carve_stats.errors import RecordError
from carve_stats.logs.records import PROBLEMS
from carve_stats.logs.scan import Scan, literal

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
        one question; names where they stand. An arm without replays may be left empty or be 0:
        flips without replays, or replays without flips, are an error; no `…_invalid` is none.
    """
    rows = " UNION ALL ".join(_rows(scan, number, run) for number, scan in enumerate(scans))
    counted = "true" if only is None else f"run = {literal(only)}"
    connection.execute(f"CREATE TABLE counted AS SELECT *, {counted} AS counted FROM ({rows})")
    table = connection.execute(
        "SELECT * FROM counted WHERE counted ORDER BY scan, row"
    ).fetchnumpy()
    strange = np.ma.filled(table["strange"], 0)
    if strange.any():
        first = int(np.flatnonzero(strange)[0])
        raise RecordError(f"{_place(scans, table, first)}: {PROBLEMS[int(strange[first])]}")
    for arm in CONDITIONS:
        for what in _WHAT:
            value = table[f"{arm}_{what}"]
            _refuse(
                scans, table, np.ma.filled(value, -1) == -1, arm, what, "must be a whole number"
            )
            rule = "is empty: give it, or leave the whole arm empty"
            _refuse(scans, table, np.ma.filled(value, -1) == -2, arm, what, rule)
        flips, replays = (np.ma.filled(table[f"{arm}_{what}"]) for what in ("flips", "replays"))
        _refuse(scans, table, flips > replays, arm, "flips", f"must not exceed {arm}_replays")
    missing = np.flatnonzero(np.ma.getmaskarray(table["question_id"]))
    if missing.size:
        raise RecordError(f"{_place(scans, table, missing[0])}: there is no question_id")
    _refuse_differing(connection, scans)
    arms = " UNION ALL ".join(
        # Rows of other runs are not looked at: what is no count there counts for none.
        f"""SELECT run, question_id, {number} AS arm, video_id, copy, {arm}_flips AS flips,
            {arm}_replays - {arm}_flips AS keeps, {arm}_invalid AS invalid,
            greatest({arm}_replays, 0) + greatest({arm}_invalid, 0) AS n FROM copies"""
        for number, arm in enumerate(CONDITIONS)
    )
    connection.execute(f"""
        CREATE TABLE arms AS
        WITH copies AS (
            SELECT *, row_number() OVER (
                PARTITION BY run, question_id ORDER BY scan, row) AS copy
            FROM counted
        )
        SELECT run, question_id, arm, sum(n) AS n,
            sum(flips) FILTER (copy = 1) AS flips, sum(keeps) FILTER (copy = 1) AS keeps,
            sum(invalid) FILTER (copy = 1) AS invalid, 0 AS unparsed,
            coalesce(sum(n) FILTER (copy > 1), 0) AS duplicate,
            0 AS earlier, 0 AS later, any_value(video_id) AS video,
            min(hash(video_id)) FILTER (video_id IS NOT NULL) AS video_low,
            max(hash(video_id)) FILTER (video_id IS NOT NULL) AS video_high
        FROM ({arms}) GROUP BY run, question_id, arm""")


def _rows(scan: Scan, number: int, run: str) -> str:
    def count(name: str, other: str | None) -> str:
        """−1 for what is not a count, −2 for none where there is another of the arm."""
        value = f"try_cast({scan.text(name)} AS DOUBLE)"
        told = "NULL" if other is None else scan.text(other)
        if name.endswith("_flips"):  # none of 0 replays is 0
            told = f"nullif(try_cast({told} AS DOUBLE), 0)"
        missing = f"{told} IS NOT NULL"
        return (
            f"CASE WHEN {scan.text(name)} IS NULL THEN CASE WHEN {missing} THEN -2 ELSE 0 END"
            f" WHEN {value} BETWEEN 0 AND 9007199254740992 AND {value} = floor({value})"
            f" THEN {value}::BIGINT ELSE -1 END AS {name}"
        )

    needs = {"flips": "replays", "replays": "flips", "invalid": None}
    counts = ", ".join(
        count(f"{arm}_{what}", other and f"{arm}_{other}")
        for arm in CONDITIONS
        for what, other in needs.items()
    )
    names = ", ".join(
        f"{scan.text(name)} AS {name}" for name in ("question_id", "video_id", "lists")
    )
    strange = (
        "nullif(strange::VARCHAR, '')::INTEGER" if "strange" in scan.types else "NULL::INTEGER"
    )
    return (
        f"SELECT {number} AS scan, row, {run} AS run, * EXCLUDE (row, run, source)"
        f" FROM (SELECT row, {scan.text('run')} AS run, source, {strange} AS strange, {names},"
        f" {counts} FROM ({scan.numbered()}))"
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
        WITH told AS (
            SELECT *, row(coalesce(video_id, ''), coalesce(lists, ''), {columns}) AS says
            FROM counted WHERE counted),
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
