"""Rows that shrink one by one, wherever they stand."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

__all__ = ["rows_of"]

Row = TypeVar("Row")


def rows_of(row: st.SearchStrategy[Row], *, least: int, most: int) -> st.SearchStrategy[list[Row]]:
    """Lists of rows, of which each can go without the others.

    Parameters
    ----------
    row : SearchStrategy
        What the rows are.
    least, most : int
        How many there are.

    Returns
    -------
    SearchStrategy
        Shrinks to few rows.

    Notes
    -----
    Hypothesis takes elements of a few draws out of a list one by one, and larger ones from its end
    alone. A flag a row, which says whether it is there, is a single draw.
    """

    def kept(drawn: list[tuple[bool, Row]]) -> list[Row]:
        missing = least - sum(keep for keep, _ in drawn)
        rows = []
        for keep, one in drawn:
            if keep or missing > 0:
                rows.append(one)
                missing -= not keep
        return rows

    return st.lists(st.tuples(st.booleans(), row), min_size=least, max_size=most).map(kept)
