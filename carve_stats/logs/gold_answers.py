"""Gold answers by themselves: from a mapping, a benchmark's file or a table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.benchmarks import Benchmark, read_benchmark
from carve_stats.logs.judging import gold_labels
from carve_stats.logs.outcome_rows import distinct_rows
from carve_stats.logs.records import fold_text
from carve_stats.logs.scan import connect
from carve_stats.logs.tables import open_table

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
        columns ``question_id`` and ``gold_answer``.

    Returns
    -------
    dict of str to GoldAnswer
        By question id; without options where the source has none.

    Raises
    ------
    InputError
        Anything else, or a file of neither kind.
    RecordError
        A gold answer that is not the label of an option.
    """
    if isinstance(gold, Mapping) and not isinstance(gold, Benchmark):
        return _labelled(list(map(str, gold)), list(map(str, gold.values())), "gold")
    if isinstance(gold, str | os.PathLike):
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


def _table_of_gold(gold: Any) -> dict[str, GoldAnswer] | None:
    with connect() as connection:
        try:
            table = open_table(connection, gold, name="gold", argument="gold")
        except InputError:
            return None
        if not {"question_id", GOLD} <= set(table.columns):
            return None
        asked = distinct_rows(table, "question_id")
        texts = table.texts(GOLD)
    return _labelled(asked.ids, [texts[row] for row in asked.rows.tolist()], table.place)


def _labelled(ids: list[str], given: list[str], place: str) -> dict[str, GoldAnswer]:
    labels, wrong = gold_labels(given, [None] * len(ids), [_NO_OPTIONS] * len(ids))
    if wrong is not None:
        raise RecordError(
            f"{place}: the gold answer {given[wrong]!r} of question {ids[wrong]!r} must be the"
            " label of an option, such as 'C'"
        )
    return {one: GoldAnswer(label, _NO_OPTIONS) for one, label in zip(ids, labels, strict=True)}
