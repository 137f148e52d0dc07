"""From the columns of an answerer to an `Answerer`: its outcomes, given or judged, and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.benchmarks import Benchmark
from carve_stats.logs.judging import gold_labels, judge_answers
from carve_stats.logs.outcome_columns import AnswererColumns
from carve_stats.logs.outcome_rows import Questions
from carve_stats.logs.records import NULL, flag_sql
from carve_stats.logs.scan import literal
from carve_stats.logs.tables import Table
from carve_stats.outcomes import Answerer

__all__ = ["GoldStandard", "gold_standard", "judge_answerer"]

_NULL, _WRONG = -2.0, -1.0


class GoldStandard(NamedTuple):
    """What answers are compared with.

    Parameters
    ----------
    labels : list of str or None, shape (n,)
        Gold answers as folded labels.
    options : list of mapping, shape (n,)
        Label to text; empty where not known.
    """

    labels: list[str | None]
    options: list[Mapping[str, str]]


def gold_standard(
    table: Table, column: str | None, asked: Questions, benchmark: Benchmark | None
) -> tuple[GoldStandard | None, list[str]]:
    """The gold answers in a table and in a benchmark.

    Parameters
    ----------
    table : Table
        With a row a question.
    column : str or None
        Its column of gold answers.
    asked : Questions
        Its questions.
    benchmark : Benchmark or None
        With gold answers and options.

    Returns
    -------
    standard : GoldStandard or None
        None where neither is there.
    notes : list of str
        On questions that the benchmark does not hold.

    Raises
    ------
    InputError
        A benchmark without a single one of the questions.
    RecordError
        A gold answer that is no label, or another one than the benchmark's.
    """
    if column is None and benchmark is None:
        return None, []
    notes = []
    nothing: Mapping[str, str] = {}
    options = [nothing] * len(asked.ids)
    published: list[str | None] = [None] * len(asked.ids)
    if benchmark is not None:
        unknown = [one for one in asked.ids if one not in benchmark]
        if len(unknown) == len(asked.ids):
            raise InputError(
                f"{table.place}: none of its questions is in {benchmark.name}: ids are such as"
                f" {unknown[0]!r} here and {next(iter(benchmark)).question_id!r} there; name the"
                " column that holds the benchmark's with columns={'question_id': …} (--outcome-map"
                " question_id=…)"
            )
        if unknown:
            notes.append(
                f"{len(unknown)} questions, the first {unknown[0]!r}, are not in {benchmark.name}"
            )
        known = [benchmark.questions.get(one) for one in asked.ids]
        options = [nothing if one is None else one.options for one in known]
        published = [None if one is None else one.answer for one in known]
    given = [""] * len(asked.ids)
    if column is not None:
        texts = table.texts(column)
        given = [texts[row] for row in asked.rows.tolist()]
    labels, wrong = gold_labels(given, published, options)
    if wrong is not None:
        theirs = published[wrong]
        raise RecordError(
            f"{table.locate(int(asked.rows[wrong]))}: {column}={given[wrong]!r} of question"
            f" {asked.ids[wrong]!r} "
            + (
                f"must be the label of an option, such as 'C': {_mend(options[wrong])}"
                if theirs is None
                else f"is not the gold answer of the benchmark, {theirs!r}: mend one"
            )
        )
    return GoldStandard(labels, options), notes


def _mend(options: Mapping[str, str]) -> str:
    if options:
        return f"these are {', '.join(options)}"
    return "or give the outcomes themselves, as <answerer>_correct"


def judge_answerer(
    name: str,
    table: Table,
    columns: AnswererColumns,
    rows: NDArray[np.int64],
    standard: GoldStandard | None,
    notes: list[str],
) -> Answerer:
    """Read one answerer's outcomes and costs.

    Parameters
    ----------
    name : str
        The answerer.
    table : Table
        Where its columns are.
    columns : AnswererColumns
        Which they are.
    rows : ndarray of int, shape (n,)
        The row of each question, −1 where there is none.
    standard : GoldStandard or None
        What its answers are compared with.
    notes : list of str
        What is not known, and why, is added.

    Returns
    -------
    Answerer
        Columns of shape (n,).

    Raises
    ------
    InputError
        Answers without gold answers or outcomes.
    RecordError
        A value that is no outcome or no cost, or an outcome that disagrees with the answer.
    """
    correct = np.full(rows.size, np.nan)
    if columns.correct is not None:
        correct = _outcomes(table, columns.correct, rows)
    reasons = ["not given"] * rows.size
    mend = ""
    if columns.answer is not None and standard is not None:
        texts = table.texts(columns.answer)
        said = [texts[row] if row >= 0 else "" for row in rows.tolist()]
        judged, reasons = judge_answers(said, standard.labels, standard.options)
        disagree = np.flatnonzero(np.abs(judged - correct) == 1)  # false where one is NaN
        if disagree.size:
            i = disagree[0]
            raise RecordError(
                f"{table.locate(int(rows[i]))}: {columns.correct}={int(correct[i])} disagrees with"
                f" {columns.answer}={said[i]!r}, whose gold answer is"
                f" {str(standard.labels[i]).upper()!r}: mend one"
            )
        correct = np.where(np.isnan(correct), judged, correct)
        if any(reason.endswith("no options to read it with") for reason in reasons):
            mend = "; gold= (--gold), the benchmark's file, has them"
    elif columns.answer is not None:
        if columns.correct is None:
            raise InputError(
                f"{table.place}: {columns.answer} needs gold answers to be compared with: add a"
                " column gold_answer, or give gold= (--gold) the benchmark's file"
            )
        notes.append(f"{name}: no gold answers that {columns.answer} could be compared with")
    unknown = np.flatnonzero(np.isnan(correct)).tolist()
    if unknown:
        counted = Counter(
            reasons[i] if rows[i] >= 0 else f"not in {table.place}" for i in unknown
        ).most_common()
        shown = ", ".join(f"{n} {reason}" for reason, n in counted)
        notes.append(
            f"{name}: {len(unknown)} of {rows.size} outcomes are not known ({shown}){mend}"
        )
    return Answerer(
        correct, _costs(table, columns.tokens, rows), _costs(table, columns.tools, rows)
    )


def _taken(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values of these rows; NaN for the null and where there is no row."""
    taken = np.where(rows >= 0, values[rows], _NULL)
    return np.where(taken == _NULL, np.nan, taken)


def _outcomes(table: Table, column: str, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    (values,) = table.fetch(f"coalesce({flag_sql(table.columns[column])}, {_NULL})::DOUBLE")
    _refuse(table, column, values, "must be 1, 0, true, false or null")
    return _taken(values, rows)


def _costs(table: Table, column: str | None, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
    if column is None:
        return None
    text = table.columns[column]
    value = f"try_cast({text} AS DOUBLE)"
    words = ", ".join(map(literal, NULL))
    (values,) = table.fetch(
        f"CASE WHEN {text} IS NULL OR lower(trim({text})) IN ({words}) THEN {_NULL}"
        f" WHEN {value} >= 0 AND isfinite({value}) THEN {value} ELSE {_WRONG} END"
    )
    _refuse(table, column, values, "must be a number of at least 0, or null")
    return _taken(values, rows)


def _refuse(table: Table, column: str, values: NDArray[np.float64], rule: str) -> None:
    wrong = np.flatnonzero(values == _WRONG)
    if wrong.size:
        row = int(wrong[0])
        raise RecordError(f"{table.locate(row)}: {column}={table.texts(column)[row]!r} {rule}")
