"""Intervals of time as they are written in tables; the format is declared, never guessed."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from carve_stats.errors import InputError
from carve_stats.temporal import Interval, check_intervals, shown

__all__ = ["DASHES", "FORMATS", "clock_seconds", "parse_intervals"]

FORMATS = ("seconds", "clock", "pairs")

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212"
"""What may stand between two times: hyphens, dashes, and the minus sign of typesetters."""

# [0-9], as \d is also the digits of other scripts.
_DASH = rf"\s*[{DASHES}]\s*"
_NUMBER = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_SECONDS = re.compile(rf"{_NUMBER}(?:({_DASH}){_NUMBER}?|\s*:\s*{_NUMBER})?")
_MOMENT = re.compile(_NUMBER)
_TIME = r"((?:[0-9]+:)?[0-9]+:[0-9]{2}(?:\.[0-9]+)?)"
_TIMES = re.compile(rf"{_TIME}(?:({_DASH}){_TIME}?)?")
_CLOCK = re.compile(r"(?:([0-9]+):)?([0-9]+):([0-9]{2}(?:\.[0-9]+)?)")
_BETWEEN = re.compile(r"[;,]")
_LAST_COMMA = re.compile(r"([]0-9.l])\s*,\s*(?=\])")
_EXAMPLES = {
    "seconds": "12.5-30, or 12.5:30, in seconds",
    "clock": "12:30-12:45, or 1:02:30-1:03:00, in clock times",
    "pairs": "[[12.5, 30], [41, 47]], in seconds",
}


def parse_intervals(text: str, format: str) -> list[Interval]:
    """Read the intervals in one cell of a table.

    Parameters
    ----------
    text : str
        What is written there. ``[]`` says in every format that there are none.
    format : str
        ``seconds``: ``12.5-30`` or ``12.5:30``; a number alone is a moment. ``clock``: the same
        in minutes:seconds or hours:minutes:seconds, ``12:30-12:45``; a time alone is a moment.
        Several stand between ``;`` or ``,``, of which one may follow the last, and one that ends
        in its dash is open. ``pairs``: ``[[12.5, 30], [41, null]]`` in seconds, or tuples; one
        pair alone needs no outer list. Digits are 0 to 9, and dashes those of `DASHES`.

    Returns
    -------
    list of (float, float or None)
        Start and end in seconds, in the order in which they are written.

    Raises
    ------
    InputError
        What is not written so, or is reversed.

    Examples
    --------
    >>> parse_intervals("12:30", "seconds"), parse_intervals("12:30", "clock")
    ([(12.0, 30.0)], [(750.0, 750.0)])
    >>> parse_intervals("00:15-01:19; 1:02:03.5-", "clock")
    [(15.0, 79.0), (3723.5, None)]
    >>> parse_intervals("(12.5, 30), (41, None)", "pairs")
    [(12.5, 30.0), (41.0, None)]
    """
    stripped = text.strip()
    if format == "pairs":
        return check_intervals("intervals", _pairs(stripped))
    if stripped in ("", "[]"):
        return []
    read = _seconds if format == "seconds" else _clock
    parts = [part.strip() for part in _BETWEEN.split(stripped)]
    if len(parts) > 1 and not parts[-1]:
        parts.pop()
    found = []
    for number, part in enumerate(parts, 1):
        if not part:
            raise InputError(
                f"{shown(stripped)}: interval {number} of {len(parts)} is empty: take the separator"
                " out, or write what is missing"
            )
        interval = read(part)
        if interval is None or not all(t is None or math.isfinite(t) for t in interval):
            raise InputError(_refused(part, format))
        start, end = interval
        if end is not None and end < start:
            hint = "; if these are clock times, the format is 'clock'" if ":" in part else ""
            raise InputError(
                f"{shown(part)} is reversed: its end must not be before its start"
                + (hint if format == "seconds" else "")
            )
        found.append((start, end))
    if re.search("[0-9],[0-9]", stripped) and any(map(_MOMENT.fullmatch, parts)):
        raise InputError(
            f"{shown(stripped)} may hold decimal commas: write decimals with a point, and a"
            " semicolon between moments"
        )
    return found


def clock_seconds(text: str) -> float | None:
    """The seconds of minutes:seconds or hours:minutes:seconds; None for anything else.

    Examples
    --------
    >>> clock_seconds("01:19"), clock_seconds("1:00:02.5"), clock_seconds("00:75")
    (79.0, 3602.5, None)
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds = match.groups()
    # Minutes alone may be 60 or more: "75:30" is an hour and a quarter into the video.
    if float(seconds) >= 60 or (hours is not None and float(minutes) >= 60):
        return None
    total = 3600 * float(hours or 0) + 60 * float(minutes) + float(seconds)
    return total if math.isfinite(total) else None


def _seconds(part: str) -> Interval | None:
    match = _SECONDS.fullmatch(part)
    if match is None:
        return None
    start, dash, dashed, after_colon = match.groups()
    end = dashed or after_colon
    if end is not None:
        return float(start), float(end)
    return float(start), None if dash else float(start)


def _clock(part: str) -> Interval | None:
    match = _TIMES.fullmatch(part)
    if match is None:
        return None
    first, dash, second = match.groups()
    start = clock_seconds(first)
    if start is None or (second and clock_seconds(second) is None):
        return None
    if second:
        return start, clock_seconds(second)
    return start, None if dash else start


def _pairs(text: str) -> list[Any]:
    as_json = re.sub(r"\b(?:None|NULL)\b", "null", text).translate(str.maketrans("()", "[]"))
    # As in the tuple of one pair, ((1, 2),).
    as_json = _LAST_COMMA.sub(r"\1", as_json)
    for attempt in (as_json, f"[{as_json}]"):
        try:
            value = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list):
            alone = len(value) == 2 and not any(isinstance(one, list) for one in value)
            return [value] if alone else value
    raise InputError(_refused(text, "pairs"))


def _refused(part: str, format: str) -> str:
    foreign = any(one.isdigit() and not one.isascii() for one in part)
    digits = ", in the digits 0 to 9" if foreign else ""
    return (
        f"{shown(part)} is not of format={format!r}: expected intervals such as"
        f" {_EXAMPLES[format]}{digits}"
    )
