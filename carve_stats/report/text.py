"""Figures as a report prints them: percent, points, a true minus, words for what is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from carve_stats._display import number

__all__ = [
    "NOT_ESTIMABLE",
    "clipped",
    "interval",
    "p_value",
    "percent",
    "plural",
    "points",
    "printable",
    "score",
]

NOT_ESTIMABLE = "not estimable"

_PERCENT = "\u00a0%"  # no line may break before it

# Characters that HTML forbids, and lone surrogates, which UTF-8 cannot hold.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def percent(share: float | None) -> str:
    r"""A proportion in percent, one decimal.

    Parameters
    ----------
    share : float or None
        A proportion, 0 to 1.

    Returns
    -------
    str
        "not estimable" where it is undefined; so do the other functions here.

    Examples
    --------
    >>> percent(0.2364).replace("\u00a0", " "), percent(None)
    ('23.6 %', 'not estimable')
    """
    return (
        NOT_ESTIMABLE if share is None or math.isnan(share) else _minus(100 * share, 1) + _PERCENT
    )


def points(difference: float | None) -> str:
    """A difference of proportions in percentage points, one decimal, with its sign.

    Examples
    --------
    >>> points(0.0558), points(-0.02), points(0.0)
    ('+5.6', '−2.0', '0.0')
    """
    if difference is None or math.isnan(difference):
        return NOT_ESTIMABLE
    return _minus(100 * difference, 1, signed=True)


def score(value: float | None) -> str:
    """A score, or a mean of scores: three decimals with its sign.

    Examples
    --------
    >>> score(0.2981), score(-1 / 3)
    ('+0.298', '−0.333')
    """
    if value is None or math.isnan(value):
        return NOT_ESTIMABLE
    return _minus(value, 3, signed=True)


def interval(
    low: float | None, high: float | None, write: Callable[[float | None], str] = percent
) -> str:
    r"""Both ends of an interval, each as `write` writes it, with one unit for both.

    Examples
    --------
    >>> interval(0.196, 0.276).replace("\u00a0", " ")
    '19.6 to 27.6 %'
    >>> interval(-0.01, 0.1, points), interval(None, None)
    ('−1.0 to +10.0', 'not estimable')
    """
    ends = write(low), write(high)
    if NOT_ESTIMABLE in ends:
        return NOT_ESTIMABLE
    return f"{ends[0].removesuffix(_PERCENT)} to {ends[1]}"


def p_value(p: float | None) -> str:
    """A p-value with its relation.

    Examples
    --------
    >>> p_value(0.0321), p_value(1e-9), p_value(None)
    ('p = 0.032', 'p < 0.001', 'p not estimable')
    """
    if p is None or math.isnan(p):
        return f"p {NOT_ESTIMABLE}"
    return "p < 0.001" if p < 0.001 else f"p = {number(p, 3)}"


def plural(n: int, noun: str) -> str:
    """A count and its noun.

    Examples
    --------
    >>> plural(1, "replay"), plural(1249, "question")
    ('1 replay', '1,249 questions')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def printable(text: str) -> str:
    """Put "�" for every character that a page cannot hold.

    Examples
    --------
    >>> printable("bell" + chr(7))
    'bell�'
    """
    return _UNPRINTABLE.sub("�", text)


def clipped(text: str, most: int = 2_000) -> str:
    """The beginning of a text that is too long for a page, and how long it is.

    Examples
    --------
    >>> clipped("a rabbit"), clipped("a rabbit", 3)
    ('a rabbit', 'a r… (8 characters)')
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def _minus(x: float, digits: int, *, signed: bool = False) -> str:
    return number(x, digits, signed=signed).replace("-", "−")
