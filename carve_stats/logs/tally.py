"""The one place where records become counts, whatever they were read from."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from carve_stats.errors import RecordError, unknown_name
from carve_stats.logs.records import (
    ARMS,
    INVALID,
    PROBLEMS,
    SHOWN,
    UNPARSED,
    Facts,
    fold_text,
    read_records,
)
from carve_stats.logs.scan import Scan, literal

__all__ = ["tally_records"]

_KEY = "run, question_id, arm"
_REPLAY = f"{_KEY}, repetition"
_SAYS = ", ".join(
    f"coalesce({c}, '')" for c in ("video_id", "answer_text", "reference_answer_text")
)
_OUTCOMES = f"""
    count(*) FILTER (outcome = 1) AS flips,
    count(*) FILTER (outcome = 0) AS keeps,
    count(*) FILTER (outcome = {INVALID}) AS invalid,
    count(*) FILTER (outcome = {UNPARSED}) AS unparsed"""


def tally_records(
    connection: Any, scans: Sequence[Scan], *, run: str, only: str | None, attempts: str
) -> None:
    """Fold records into the table ``arms``: a row for each run, question and arm.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the scans can be read and the table is made.
    scans : sequence of Scan
        All of the form ``records``.
    run : str
        SQL of the run of a record, from `run` and `source`.
    only : str, optional
        The one run to be counted; records of others are not looked at.
    attempts : str
        ``first`` or ``first-valid``.

    Raises
    ------
    RecordError
        A record that is wrong, or two that contradict each other, in one replay or about the
        frozen answer of a question; names where they stand.

    Notes
    -----
    Most records are read by themselves. Of a record with an answer and no frozen one the flip is
    taken as it is where its source (the file or folder) has flips and no frozen answer at all,
    and else it is left out; a flip without an answer is wrong where its source has answers. What
    a source has is found by a second pass, and only where there are such records.

    One pass folds the records into rows of ``arms``, with the set of repetitions as bits of
    a whole number. Where a set has fewer members than there are records, or a repetition does
    not fit into it, the records of that row are read again, one by one, to find duplicates
    and further attempts. Logs without any are therefore read once and never sorted. Videos are
    compared by their hashes of 64 bits, which take less memory than their texts.
    """
    connection.create_function("fold_text", fold_text, ["VARCHAR"], "VARCHAR")
    facts = Facts(only_flips="true", answers="false")  # until a record makes it doubtful

    def rows(numbered: bool) -> str:
        parts = [
            read_records(scan, number=number, numbered=numbered, run=run, facts=facts)
            for number, scan in enumerate(scans)
        ]
        return " UNION ALL ".join(parts)

    counted = "true" if only is None else f"run = {literal(only)}"
    _fold(connection, rows(numbered=False))
    if _value(connection, f"SELECT coalesce(sum(doubtful), 0) FROM arms WHERE {counted}"):
        facts = _find_facts(connection, rows(numbered=False))
        _fold(connection, rows(numbered=False))
    if _value(connection, f"SELECT coalesce(sum(problems), 0) FROM arms WHERE {counted}"):
        _refuse_problem(connection, scans, f"({rows(numbered=True)}) WHERE {counted}")
    connection.execute(f"""
        CREATE TABLE crowded AS
        SELECT {_KEY} FROM arms WHERE {counted} AND n > coalesce(repetitions, 0)""")
    if _value(connection, "SELECT count(*) FROM crowded"):
        _sort_out(connection, scans, rows(numbered=True), attempts)
    several = connection.execute(f"""
        SELECT run, question_id FROM arms WHERE {counted} GROUP BY ALL
        HAVING min(reference_low) <> max(reference_high) ORDER BY ALL LIMIT 1""").fetchall()
    if several:
        _refuse_references(connection, scans, rows(numbered=True), *several[0])


def _fold(connection: Any, rows: str) -> None:
    """Make the table ``arms`` of records."""
    connection.execute(f"""
        CREATE OR REPLACE TABLE arms AS
        SELECT {_KEY}, count(*) AS n, {_OUTCOMES},
            0 AS duplicate, 0 AS earlier, 0 AS later,
            any_value(video_id) AS video,
            min(hash(video_id)) FILTER (video_id IS NOT NULL) AS video_low,
            max(hash(video_id)) FILTER (video_id IS NOT NULL) AS video_high,
            min(hash(reference)) FILTER (reference IS NOT NULL) AS reference_low,
            max(hash(reference)) FILTER (reference IS NOT NULL) AS reference_high,
            count(problem) AS problems,
            count(*) FILTER (doubtful) AS doubtful,
            bit_count(bit_or(CASE WHEN repetition < 127 THEN 1::HUGEINT << repetition END))
                AS repetitions
        FROM ({rows}) GROUP BY {_KEY}""")


def _find_facts(connection: Any, rows: str) -> Facts:
    """Find what is so of whole sources, whatever the order of their records."""
    connection.execute(f"""
        CREATE TABLE facts AS
        SELECT source, count(flip_text) > 0 AND count(reference_answer_text) = 0 AS only_flips,
            count(answer_text) > 0 AS answers
        FROM ({rows}) GROUP BY source""")
    return Facts(*(f"source IN (SELECT source FROM facts WHERE {f})" for f in Facts._fields))


def _refuse_references(
    connection: Any, scans: Sequence[Scan], rows: str, run: str, question: str
) -> None:
    places = connection.execute(f"""
        SELECT scan, row, reference_answer_text, reference FROM ({rows})
        WHERE run = {literal(run)} AND question_id = {literal(question)}
            AND reference IS NOT NULL ORDER BY scan, row""").fetchall()
    first = places[0]
    second = next(place for place in places if place[3] != first[3])
    shown = [repr(shorten(place[2], 60, placeholder=" …")) for place in (first, second)]
    raise RecordError(
        f"{scans[second[0]].locate(second[1])}: question {question!r} has the reference_answer"
        f" {shown[1]}, and {shown[0]} at {scans[first[0]].locate(first[1])}: a question has one in"
        " a run; where they are of different runs, name them in a column run, or read with"
        " pool_runs=True (--pool-runs)"
    )


def _sort_out(connection: Any, scans: Sequence[Scan], rows: str, attempts: str) -> None:
    """Find duplicates and further attempts among the records of crowded rows."""
    connection.execute(f"""
        CREATE TABLE single AS
        SELECT *, row(outcome, {_SAYS}) AS says
        FROM ({rows}) SEMI JOIN crowded USING ({_KEY})""")
    twice = connection.execute(f"""
        WITH firsts AS (
            SELECT {_REPLAY}, attempt, arg_min((scan, row, says), (scan, row)) AS first
            FROM single GROUP BY ALL
        )
        SELECT first[1], first[2], scan, row, question_id, condition_text, repetition, attempt
        FROM single JOIN firsts USING ({_REPLAY}, attempt)
        WHERE says <> first[3] ORDER BY scan, row LIMIT 1""").fetchall()
    if twice:
        scan_a, row_a, scan_b, row_b, question, condition, repetition, attempt = twice[0]
        raise RecordError(
            f"{scans[scan_b].locate(row_b)}: question {question!r}, {condition}, repetition"
            f" {repetition}, attempt {attempt} differs from the record of the same replay at"
            f" {scans[scan_a].locate(row_a)}: keep one; where they are of different runs, name"
            " them in a column run, or read with pool_runs=True (--pool-runs)"
        )
    order = "attempt" if attempts == "first" else "(outcome <= 1) DESC, attempt"
    connection.execute(f"""
        CREATE TABLE replaced AS
        WITH places AS (
            SELECT *,
                row_number() OVER (PARTITION BY {_REPLAY}, attempt ORDER BY scan, row) AS copy
            FROM single
        ), chosen AS (
            SELECT *, copy = 1 AND row_number() OVER (
                    PARTITION BY {_REPLAY} ORDER BY copy > 1, {order}) = 1 AS used,
                first_value(attempt) OVER (
                    PARTITION BY {_REPLAY} ORDER BY copy > 1, {order}) AS used_attempt
            FROM places
        )
        SELECT {_KEY}, {_OUTCOMES.replace("(outcome", "(used AND outcome")},
            count(*) FILTER (copy > 1) AS duplicate,
            count(*) FILTER (copy = 1 AND attempt < used_attempt) AS earlier,
            count(*) FILTER (copy = 1 AND attempt > used_attempt) AS later
        FROM chosen GROUP BY {_KEY}""")
    changed = ("flips", "keeps", "invalid", "unparsed", "duplicate", "earlier", "later")
    connection.execute(f"""
        UPDATE arms SET {", ".join(f"{c} = replaced.{c}" for c in changed)} FROM replaced
        WHERE arms.run = replaced.run AND arms.question_id = replaced.question_id
            AND arms.arm = replaced.arm""")


def _refuse_problem(connection: Any, scans: Sequence[Scan], rows: str) -> None:
    scan, row, problem, *texts = connection.execute(
        f"SELECT scan, row, problem, {', '.join(f'{c}_text' for c in SHOWN)} FROM {rows}"
        " AND problem IS NOT NULL ORDER BY scan, row LIMIT 1"
    ).fetchall()[0]
    shown = {
        column: "null" if text is None else shorten(text, 60, placeholder=" …")
        for column, text in zip(SHOWN, texts, strict=True)
    }
    text = PROBLEMS[problem].format(**shown)
    if text == "condition":
        text = unknown_name("condition", shown["condition"], ARMS)
    raise RecordError(f"{scans[scan].locate(row)}: {text}")


def _value(connection: Any, sql: str) -> Any:
    return connection.execute(sql).fetchall()[0][0]
