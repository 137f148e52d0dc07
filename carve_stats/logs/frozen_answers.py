"""Whether replays and outcomes speak of the same frozen answers, where both know them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carve_stats.errors import InputError
from carve_stats.logs.columns import check_mapping
from carve_stats.logs.gold_answers import UNKNOWN, GoldAnswer, read_gold
from carve_stats.logs.judging import judge_answers, same_label
from carve_stats.logs.outcome_columns import name_answerer, name_outcomes
from carve_stats.logs.outcome_rows import distinct_rows
from carve_stats.logs.records import Facts, fold_text, read_records
from carve_stats.logs.scan import connect, literal
from carve_stats.logs.sources import expand_sources, scan_sources
from carve_stats.logs.tables import Table, open_table
from carve_stats.outcomes import ORIGINAL, Outcomes

__all__ = ["check_frozen_answers"]


def check_frozen_answers(
    source: Any,
    outcomes: Outcomes,
    table: Any,
    *,
    gold: Any = None,
    answers: Mapping[str, Any] | None = None,
    outcome_columns: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    run: str | None = None,
) -> None:
    """Refuse outcomes whose original answers are not those that the replays were made of.

    Parameters
    ----------
    source : path, glob, data frame, or a list of those
        Replay logs that `read_replays` has read.
    outcomes : Outcomes
        As `read_outcomes` gives them.
    table : path or data frame
        What they were read from.
    gold, answers, outcome_columns
        `gold`, `answers` and `columns` of `read_outcomes`.
    columns, run
        Of `read_replays`.

    Raises
    ------
    InputError
        A frozen answer (`reference_answer`) that means another option than the ``original_answer``
        of the outcomes, or that is right by the gold answer and wrong by the outcomes or the other
        way round; names the first question and says how many there are.

    Notes
    -----
    Answers that cannot be read as an option, and questions that one side does not know, contradict
    nothing. The logs are read a second time, and only if the outcomes have original or gold
    answers.
    """
    with connect() as connection:
        opened = open_table(connection, table, name="outcomes", argument="table")
        original, labels = _told(connection, opened, answers or {}, outcome_columns or {})
    standard = read_gold(gold) if gold is not None else read_gold(labels) if labels else {}
    if not original and not standard:
        return
    frozen = _frozen(source, columns, run)
    right = dict(zip(outcomes.question.tolist(), outcomes.original.correct.tolist(), strict=True))
    wrong = []
    for question, reference in frozen:
        known = standard.get(question, UNKNOWN)
        if reason := _contradiction(
            reference, original.get(question, ""), known, right.get(question)
        ):
            wrong.append((question, reason))
    if wrong:
        question, reason = wrong[0]
        n = len({one for one, _ in wrong})
        more = "" if n == 1 else f" (the first of {n} such questions)"
        raise InputError(
            f"question {question!r}: {reason}{more}: logs and outcomes must be of one backbone;"
            f" mend one of them, or give the outcomes that belong to these logs ({opened.place})"
        )


def _told(
    connection: Any, table: Table, answers: Mapping[str, Any], columns: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The original and the gold answers, by question, of a table of outcomes."""
    found = name_outcomes(table, columns)
    original = {}
    if ORIGINAL in found.answerers:
        original = _texts(table, found.question_id, found.answerers[ORIGINAL].answer)
    elif ORIGINAL in answers:
        own = open_table(connection, answers[ORIGINAL], name="original", argument="answers")
        question_id, its = name_answerer(own)
        original = _texts(own, question_id, its.answer)
    return original, _texts(table, found.question_id, found.gold)


def _texts(table: Table, question_id: str, column: str | None) -> dict[str, str]:
    if column is None:
        return {}
    asked, texts = distinct_rows(table, question_id), table.texts(column)
    return {one: texts[row] for one, row in zip(asked.ids, asked.rows.tolist(), strict=True)}


def _frozen(
    source: Any, columns: Mapping[str, str] | None, run: str | None
) -> list[tuple[str, str]]:
    """Every frozen answer in the logs with its question, in order."""
    with connect() as connection:
        scans = scan_sources(connection, expand_sources(source), check_mapping(columns))
        if scans[0].form != "records":
            return []
        connection.create_function("fold_text", fold_text, ["VARCHAR"], "VARCHAR")
        facts = Facts(only_flips="false", answers="false")
        parts = [
            read_records(scan, number=i, numbered=False, run="coalesce(run, '')", facts=facts)
            for i, scan in enumerate(scans)
            if "reference_answer" in scan.types
        ]
        if not parts:
            return []
        counted = "true" if run is None else f"run = {literal(run)}"
        rows: list[tuple[str, str]] = connection.execute(f"""
            SELECT DISTINCT question_id, reference FROM ({" UNION ALL ".join(parts)})
            WHERE reference IS NOT NULL AND {counted} ORDER BY ALL""").fetchall()
        return rows


def _contradiction(
    reference: str, original: str, gold: GoldAnswer, correct: float | None
) -> str | None:
    if same_label(original, reference, gold.options) is False:
        return (
            f"its frozen answer is {reference!r} in the logs (reference_answer) and {original!r} in"
            " the outcomes (original_answer)"
        )
    judged = float(judge_answers([reference], [gold.label], [gold.options])[0][0])
    if correct is not None and abs(judged - correct) == 1:  # false where one is NaN
        ours, theirs = ("right", "wrong") if judged else ("wrong", "right")
        return (
            f"its frozen answer {reference!r} in the logs is {ours} by the gold answer, and"
            f" {theirs} by the outcomes"
        )
    return None
