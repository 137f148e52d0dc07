"""Gold answers by themselves: from a mapping, a benchmark's file or a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from carve_stats._columns import is_missing
from carve_stats._display import visible
from carve_stats.errors import InputError, RecordError
from carve_stats.logs import delimited
from carve_stats.logs.benchmarks import Benchmark, read_benchmark
from carve_stats.logs.judging import gold_labels
from carve_stats.logs.outcome_rows import distinct_rows
from carve_stats.logs.records import fold_text
from carve_stats.logs.scan import connect
from carve_stats.logs.tables import open_table
from carve_stats.temporal import shown

__all__ = ["UNKNOWN", "GoldAnswer", "read_gold"]

GOLD = "gold_answer"

_NO_OPTIONS: Mapping[str, str] = {}


class GoldAnswer(NamedTuple):
    """The right answer of a question.

    Parameters
    ----------
    label : str or None
        The label of the right option, folded; None where it is not known.
    options : mapping of str to str
        Label to text; empty where not known.
    """

    label: str | None
    options: Mapping[str, str]


UNKNOWN = GoldAnswer(None, _NO_OPTIONS)
"""Of a question that the gold answers do not hold."""


def read_gold(gold: Any) -> dict[str, GoldAnswer]:
    """The gold answer of each question.

    Parameters
    ----------
    gold : mapping, path, Benchmark or data frame
        A mapping from question to label, an official file of a benchmark, or a table with the
        columns ``question_id`` and ``gold_answer``. Labels are texts, such as ``"C"`` or ``"2"``
        where options are numbered; one that is missing is not known.

    Returns
    -------
    dict of str to GoldAnswer
        By question id; without options where the source has none.

    Raises
    ------
    InputError
        Anything else, or a file of neither kind.
    RecordError
        A gold answer that is not the label of an option, such as a number in a mapping, of which
        nobody can tell whether it counts from 0 or from 1.
    """
    if isinstance(gold, Mapping) and not isinstance(gold, Benchmark):
        return _mapped(gold)
    if isinstance(gold, str | os.PathLike) and not _is_delimited(gold):
        try:
            gold = read_benchmark(gold)
        except InputError:
            if (labels := _table_of_gold(gold)) is not None:
                return labels
            raise
    if isinstance(gold, Benchmark):
        return {
            one.question_id: GoldAnswer(
                None if one.answer is None else fold_text(one.answer), one.options
            )
            for one in gold.questions.values()
        }
    labels = _table_of_gold(gold)
    if labels is None:
        raise InputError(
            f"gold is a {type(gold).__name__}: give a mapping, a benchmark's file, or a table with"
            f" the columns question_id and {GOLD}"
        )
    return labels


def _is_delimited(gold: Any) -> bool:
    """Whether it is the path of a table that can be no benchmark's official file."""
    return isinstance(gold, str | os.PathLike) and delimited.is_mine(Path(gold))


def _mapped(gold: Mapping[Any, Any]) -> dict[str, GoldAnswer]:
    given: dict[str, str] = {}
    for question, label in gold.items():
        missing = np.ndim(label) == 0 and is_missing(label)
        if not isinstance(label, str) and not missing:
            raise RecordError(
                f"gold: the gold answer {shown(label)} of question {str(question)!r} is a"
                f" {type(label).__name__}, and positions may count from 0 or from 1: give the label"
                " of the option as a text, such as 'C'"
            )
        text = "" if missing else str(label)
        if given.setdefault(str(question), text) != text:
            raise RecordError(f"gold: question {str(question)!r} is there twice: keep one")
    return _labelled(list(given), list(given.values()), lambda _: "gold")


def _table_of_gold(gold: Any) -> dict[str, GoldAnswer] | None:
    with connect() as connection:
        try:
            table = open_table(connection, gold, name="gold", argument="gold")
        except InputError:
            if _is_delimited(gold):
                raise
            return None
        missing = [name for name in ("question_id", GOLD) if name not in table.columns]
        if missing and _is_delimited(gold):
            there = visible(", ".join(table.columns))
            raise InputError(f"{table.place}: no column {missing[0]}; it has {there}: rename yours")
        if missing:
            return None
        asked = distinct_rows(table, "question_id")
        texts, rows = table.texts(GOLD), asked.rows.tolist()
    return _labelled(asked.ids, [texts[row] for row in rows], lambda i: table.locate(rows[i]))


def _labelled(
    ids: list[str], given: list[str], locate: Callable[[int], str]
) -> dict[str, GoldAnswer]:
    labels, wrong = gold_labels(given, [None] * len(ids), [_NO_OPTIONS] * len(ids))
    if wrong is not None:
        raise RecordError(
            f"{locate(wrong)}: the gold answer {shown(given[wrong])} of question {ids[wrong]!r}"
            " must be the label of an option, such as 'C'"
        )
    return {one: GoldAnswer(label, _NO_OPTIONS) for one, label in zip(ids, labels, strict=True)}
