"""Runs of which one holds another's replays: a run and its extension to more replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from carve_stats.logs.records import Facts, flag_sql, read_records
from carve_stats.logs.scan import Scan

__all__ = ["SharedReplays", "find_shared_replays"]

LEAST = 10
"""Questions that must be alike.

Only questions are looked at whose replays in one arm both flip and keep. That independent replays
say the same in the same order has a probability of at most p(1 − p) ≤ 1/4 there: for ten, 10⁻⁶.
"""

_RECORD = "question_id, arm, repetition, attempt, answer, flip, valid"


class SharedReplays(NamedTuple):
    """A run whose records are in another run as well.

    Parameters
    ----------
    part, whole : str
        The run that is in the other, and that other.
    shared, questions : int
        Of how many questions every record is in the other run, and how many it has.
    """

    part: str
    whole: str
    shared: int
    questions: int

    @property
    def complete(self) -> bool:
        """Whether the other run holds all of it."""
        return self.shared == self.questions

    def __str__(self) -> str:
        return (
            f"the replays of run {self.part!r} are in run {self.whole!r} as well, word for word,"
            f" for {self.shared} of its {self.questions} questions"
        )


def find_shared_replays(connection: Any, scans: Sequence[Scan], *, run: str) -> list[SharedReplays]:
    """Find runs of which most questions stand record for record in another run.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        With the table ``arms`` of these scans.
    scans : sequence of Scan
        All of the form ``records``; of others nothing is found.
    run : str
        SQL of the run of a record, as for `tally_records`.

    Returns
    -------
    list of SharedReplays
        In order of the runs; of two runs with the same records the first is in the second.

    Notes
    -----
    A record is alike where question, condition, repetition, attempt, answer, flip and validity are.
    Conditions that only one of two runs has are not compared: an extension need not log SELF.
    Questions whose flips are the same throughout an arm tell nothing, as independent runs of a
    steady agent agree on them; more than half of the others, and ten at least, must be alike. The
    counts rule out most pairs, and only for the rest are the records read again.
    """
    if scans[0].form != "records":
        return []
    connection.execute("""
        CREATE OR REPLACE TABLE common AS
        WITH made AS (
            SELECT run, arm, sum(n) AS n FROM arms GROUP BY ALL
        )
        SELECT a.run AS part, b.run AS whole, arm, a.n AS n_part, b.n AS n_whole
        FROM made a JOIN made b USING (arm) WHERE a.run <> b.run""")
    connection.execute("""
        CREATE OR REPLACE TABLE pairs AS
        WITH varied AS (
            SELECT run, question_id, arm, flips, keeps FROM arms WHERE flips > 0 AND keeps > 0
        ), sizes AS (
            SELECT part, whole, sum(n_part) AS n_part, sum(n_whole) AS n_whole
            FROM common GROUP BY ALL
        ), asked AS (
            SELECT part, whole, count(DISTINCT question_id) AS questions,
                count(DISTINCT question_id) FILTER (flips > 0 AND keeps > 0) AS varied
            FROM common JOIN arms ON run = part AND arms.arm = common.arm GROUP BY ALL
        ), possible AS (
            SELECT part, whole, count(*) AS n FROM (
                SELECT a.run AS part, b.run AS whole, a.question_id
                FROM varied a JOIN varied b ON a.question_id = b.question_id AND a.arm = b.arm
                    AND a.run <> b.run
                GROUP BY ALL HAVING bool_and(a.flips <= b.flips AND a.keeps <= b.keeps)
            ) GROUP BY ALL
        )
        SELECT part, whole, questions, varied
        FROM possible JOIN sizes USING (part, whole) JOIN asked USING (part, whole)
        WHERE (n_part < n_whole OR (n_part = n_whole AND part < whole))
            AND 2 * possible.n > varied""")
    if not connection.execute("SELECT count(*) FROM pairs").fetchall()[0][0]:
        return []
    facts = Facts(only_flips="false", answers="false")  # what a record says, not what it counts as
    parts = [
        read_records(scan, number=number, numbered=False, run=run, facts=facts)
        for number, scan in enumerate(scans)
    ]
    rows = connection.execute(f"""
        WITH said AS (
            SELECT DISTINCT run, question_id, arm, repetition, attempt,
                coalesce(answer_text, '') AS answer,
                coalesce({flag_sql("flip_text")}, 2) AS flip,
                coalesce({flag_sql("valid_text")}, 2) AS valid
            FROM ({" UNION ALL ".join(parts)})
            WHERE run IN (SELECT part FROM pairs UNION SELECT whole FROM pairs)
        ), made AS (
            SELECT part, whole, question_id, count(*) AS n
            FROM pairs JOIN common USING (part, whole)
            JOIN said ON run = part AND said.arm = common.arm GROUP BY ALL
        ), found AS (
            SELECT part, whole, question_id, count(*) AS n
            FROM pairs JOIN said a ON a.run = part
            JOIN (SELECT run, {_RECORD} FROM said) b USING ({_RECORD}) WHERE b.run = whole
            GROUP BY ALL
        ), alike AS (
            SELECT part, whole, question_id
            FROM found JOIN made USING (part, whole, question_id) WHERE made.n = found.n
        ), varied AS (
            SELECT DISTINCT part, whole, question_id
            FROM common JOIN arms ON run = part AND arms.arm = common.arm
            WHERE flips > 0 AND keeps > 0
        )
        SELECT alike.part, alike.whole, count(*) AS shared, pairs.questions
        FROM alike JOIN pairs USING (part, whole) LEFT JOIN varied USING (part, whole, question_id)
        GROUP BY alike.part, alike.whole, pairs.questions, pairs.varied
        HAVING count(varied.part) >= {LEAST} AND 2 * count(varied.part) > pairs.varied
        ORDER BY alike.part, alike.whole""").fetchall()
    return [SharedReplays(*row) for row in rows]
