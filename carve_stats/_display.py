"""How results look: plain-text and HTML tables, and one format for each kind of figure.

What is not known, or cannot be estimated, shows as "–" and is None in `to_dict`.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from numbers import Integral

__all__ = [
    "MISSING",
    "counted",
    "html_block",
    "html_table",
    "interval",
    "number",
    "p_value",
    "plain",
    "text_block",
    "text_table",
    "visible",
]

MISSING = "–"


def plain(x: float | None) -> float | None:
    """A figure as JSON can hold it: a Python float, or None where it is undefined.

    Parameters
    ----------
    x : float or None
        Any real number, NumPy's included.

    Returns
    -------
    float or None
        None for None, NaN and the infinities.
    """
    return None if x is None or not math.isfinite(x) else float(x)


def number(x: float | None, digits: int = 4, *, signed: bool = False) -> str:
    """A figure with a fixed number of decimals.

    Parameters
    ----------
    x : float or None
        The figure. Whole numbers are shown without decimals.
    digits : int
        Decimals.
    signed : bool
        Whether a positive figure carries its sign, as differences do.

    Returns
    -------
    str
        "–" where the figure is undefined.

    Examples
    --------
    >>> number(0.23641, 3), number(0.0623, signed=True), number(12), number(None)
    ('0.236', '+0.0623', '12', '–')
    """
    if x is None or not math.isfinite(x):
        return MISSING
    if isinstance(x, Integral):
        return str(x)
    shown = f"{x:+.{digits}f}" if signed else f"{x:.{digits}f}"
    # A figure that rounds to zero has no sign worth showing.
    return shown if float(shown) else f"{0:.{digits}f}"


def interval(
    low: float | None, high: float | None, digits: int = 4, *, signed: bool = False
) -> str:
    """An interval in brackets.

    Parameters
    ----------
    low, high : float or None
        Its ends.
    digits : int
        Decimals.
    signed : bool
        Whether positive ends carry their sign.

    Returns
    -------
    str
        "–" where either end is undefined.

    Examples
    --------
    >>> interval(-0.01, 0.0625, 3)
    '[-0.010, 0.062]'
    >>> interval(None, None)
    '–'
    """
    ends = number(low, digits, signed=signed), number(high, digits, signed=signed)
    return MISSING if MISSING in ends else f"[{ends[0]}, {ends[1]}]"


def p_value(p: float | None) -> str:
    """A p-value to four decimals, and those that would round to zero as a bound.

    Parameters
    ----------
    p : float or None
        The p-value.

    Returns
    -------
    str
        "–" where it is undefined.

    Examples
    --------
    >>> p_value(0.0312), p_value(3e-9)
    ('0.0312', '< 0.0001')
    """
    return "< 0.0001" if p is not None and p < 0.0001 else number(p, 4)


def counted(n: int, noun: str) -> str:
    """A number and its noun: ``1 question``, ``2 questions``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def visible(text: str) -> str:
    r"""A text on one line, whatever a name of somebody's holds.

    Parameters
    ----------
    text : str
        Such as the id of a run or a question.

    Returns
    -------
    str
        With line breaks, control characters and marks of direction as escapes of Python.

    Examples
    --------
    >>> print(visible("seed\n1\u202e"))
    seed\n1\u202e
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def text_table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, words: int = 1) -> str:
    """A table in plain text: columns of words to the left, the others to the right.

    Parameters
    ----------
    headers : sequence of str
        The columns' names.
    rows : iterable of sequences
        One sequence a row, as long as `headers`; None shows as "–".
    words : int
        How many of the first columns are of words.

    Returns
    -------
    str
        Lines without trailing blanks, and no newline at the end.

    Examples
    --------
    >>> print(text_table(["sign", "share"], [["negative", "0.133"], ["zero", None]]))
    sign      share
    --------  -----
    negative  0.133
    zero          –
    """
    lines = [list(headers), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell + pad if i < words else pad + cell
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            for pad in [" " * (width - _width(cell))]
        ).rstrip()
        for line in lines
    )


def html_table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str | None = None
) -> str:
    """The same table in HTML; every text is escaped.

    Parameters
    ----------
    headers : sequence of str
        The columns' names.
    rows : iterable of sequences
        One sequence a row, as long as `headers`; None shows as "–".
    caption : str, optional
        What the table shows.

    Returns
    -------
    str
        One ``<table>`` element, whose first column is made of row headers.

    Examples
    --------
    >>> print(html_table(["video"], [["<b>"]]))
    <table>
    <thead><tr><th scope="col">video</th></tr></thead>
    <tbody>
    <tr><th scope="row">&lt;b&gt;</th></tr>
    </tbody>
    </table>
    """
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headers)
    body = []
    for row in rows:
        first, *others = (escape(_cell(value)) for value in row)
        cells = "".join(f"<td>{text}</td>" for text in others)
        body.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return "\n".join(
        [
            "<table>",
            *([] if caption is None else [f"<caption>{escape(caption)}</caption>"]),
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
        ]
    )


def text_block(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    notes: Iterable[str] = (),
    *,
    words: int = 1,
) -> str:
    """A caption, the table and its notes, as a result prints itself.

    Parameters
    ----------
    caption : str
        One line above the table.
    headers, rows, words
        As in `text_table`.
    notes : iterable of str
        What a reader has to know, a paragraph each.

    Returns
    -------
    str
        Lines; notes are wrapped at 100 columns.
    """
    wrapped = [
        textwrap.fill(note, 100, initial_indent="  * ", subsequent_indent="    ") for note in notes
    ]
    table = text_table(headers, rows, words=words)
    return "\n".join([caption, "", table, *([""] if wrapped else []), *wrapped])


def html_block(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    notes: Iterable[str] = (),
) -> str:
    """The table with its caption and its notes, as a notebook shows a result.

    Parameters
    ----------
    caption : str
        The table's caption.
    headers, rows
        As in `html_table`.
    notes : iterable of str
        What a reader has to know, one item of a list each.

    Returns
    -------
    str
        HTML; every text is escaped.
    """
    table = html_table(headers, rows, caption=caption)
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"{table}\n<ul>{items}</ul>" if items else table


def _cell(value: object) -> str:
    return MISSING if value is None else str(value)


def _width(text: str) -> int:
    """Columns of a terminal: Δ̂ takes one although it is two characters, 影 takes two."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
