"""Which row of a table speaks of which question: each question has one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.tables import Table

__all__ = ["Questions", "distinct_rows", "match_rows"]


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of a table, each once, in the order in which they come.

    Parameters
    ----------
    ids : list of str, shape (n,)
        Their ids.
    rows : ndarray of int, shape (n,)
        The row that speaks of each.
    repeated : int
        Rows that say the same again.
    """

    ids: list[str]
    rows: NDArray[np.int64]
    repeated: int


def distinct_rows(table: Table, column: str) -> Questions:
    """Find the row of each question.

    Parameters
    ----------
    table : Table
        With a row a question.
    column : str
        Its column of question ids.

    Returns
    -------
    Questions
        Of rows that say the same, the first.

    Raises
    ------
    RecordError
        A row without an id, or two different rows for one question; names where they stand.
    """
    first: dict[str, int] = {}
    for row, one in enumerate(table.texts(column)):
        first.setdefault(one, row)
    if "" in first:
        raise RecordError(f"{table.locate(first[''])}: there is no question_id ({column!r})")
    for one, row in first.items():
        if one.endswith("\0"):
            raise RecordError(
                f"{table.locate(row)}: question_id={one!r} ends in the character NUL: take it off"
            )
    if len(first) < table.rows:
        _refuse_differing(table, column)
    rows = np.fromiter(first.values(), np.int64, len(first))
    return Questions(list(first), rows, table.rows - len(first))


def match_rows(
    own: Table, its: Questions, table: Table, asked: Questions
) -> tuple[NDArray[np.int64], int]:
    """Find the rows of an answerer's own table for the questions of another.

    Parameters
    ----------
    own, its
        The answerer's table and its questions.
    table, asked
        The table of outcomes and its n questions.

    Returns
    -------
    rows : ndarray of int, shape (n,)
        −1 for a question that it did not answer.
    unasked : int
        How many questions it answered that the other table does not hold.

    Raises
    ------
    InputError
        Not one question in common; the message names one of each.
    """
    row_of = dict(zip(its.ids, its.rows.tolist(), strict=True))
    rows = np.array([row_of.get(one, -1) for one in asked.ids], np.int64)
    matched = int((rows >= 0).sum())
    if matched == 0:
        raise InputError(
            f"{own.place}: no question in common with {table.place}: ids are such as"
            f" {its.ids[0]!r} here and {asked.ids[0]!r} there"
        )
    return rows, len(its.ids) - matched


def _refuse_differing(table: Table, column: str) -> None:
    says = ", ".join(f"coalesce({alias}, '')" for alias in table.columns.values())
    differing = table.connection.execute(f"""
        WITH told AS (
            SELECT row, {table.columns[column]} AS id, row({says}) AS says FROM {table.name}),
        firsts AS (
            SELECT id, min(row) AS first, arg_min(says, row) AS says FROM told
            GROUP BY id HAVING count(*) > 1)
        SELECT told.row, first, id FROM told JOIN firsts USING (id)
        WHERE told.says <> firsts.says ORDER BY told.row LIMIT 1""").fetchall()
    if differing:
        row, first, one = differing[0]
        raise RecordError(
            f"{table.locate(row)}: question {one!r} differs from its row at {table.locate(first)}:"
            " keep one"
        )
