"""How much of the annotated evidence was retrieved: intervals of time, and how they overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from carve_stats.errors import InputError

__all__ = [
    "Interval",
    "Overlap",
    "check_duration",
    "check_intervals",
    "shown",
    "temporal_overlap",
]

Interval = tuple[float, float | None]
"""Start and end in seconds, both part of it; an end of None is that of the video."""

_Closed = tuple[float, float]

_ROUNDED = 1.0
"""Seconds: less than this a duration may be short by, as those in whole seconds are."""

_SHOWN = 80


class Overlap(NamedTuple):
    """How retrieved and annotated times overlap; None where that is undefined or not known.

    Parameters
    ----------
    covered : bool or None
        Whether any moment is in both.
    recall : float or None
        Share of the annotated time that was retrieved.
    iou : float or None
        Intersection over union: time in both over time in either.
    """

    covered: bool | None
    recall: float | None
    iou: float | None


def temporal_overlap(
    retrieved: Iterable[Any] | None,
    gold: Iterable[Any] | None,
    *,
    duration: float | None = None,
) -> Overlap:
    """Coverage, recall and intersection over union of retrieved and annotated intervals.

    Parameters
    ----------
    retrieved, gold : iterable of (float, float or None), or None
        Intervals [start, end] in seconds, both ends part of them, in any order; they may
        overlap. An end of None is the end of the video. A start that is its own end is a
        moment, such as that of a frame. No intervals: nothing was retrieved, or nothing is
        annotated. None: not known.
    duration : float, optional
        Seconds of the video, where it is known: the end of open intervals, and of all others.
        Times past it count as that moment, since durations are often rounded.

    Returns
    -------
    Overlap
        Each interval counts once however often it is there: sides are unions of intervals.

        - Intervals that only touch have a moment in common: covered, with a recall of 0.
        - Annotated moments alone have no length: recall is the share of the moments retrieved.
        - Where neither side has a length the IoU is 0/0 and undefined.
        - Nothing retrieved: not covered, with a recall of 0. Nothing annotated: all undefined.
        - An open interval of a video of unknown duration reaches at least as far as any other
          time given, so `covered` is certain, and recall where the annotation is closed.

    Raises
    ------
    InputError
        An interval that is not a pair of times, is reversed, begins before 0, or begins a second
        or more after the video's end.

    Notes
    -----
    With R and G the unions and |·| their length, recall = |R ∩ G|/|G| and IoU = |R ∩ G|/|R ∪ G|.
    Frames are moments: they cover, and retrieve nothing of an interval's length.

    Examples
    --------
    >>> temporal_overlap([(0, 10), (5, 20)], [(15, 25)])
    Overlap(covered=True, recall=0.5, iou=0.2)
    >>> temporal_overlap([(12, None)], [(0, 12)])
    Overlap(covered=True, recall=0.0, iou=None)
    >>> temporal_overlap([(12, None)], [(0, 12)], duration=60)
    Overlap(covered=True, recall=0.0, iou=0.0)
    >>> temporal_overlap([], [(30, 30)])
    Overlap(covered=False, recall=0.0, iou=None)
    >>> temporal_overlap([(0, 60)], [(50, 61)], duration=60)
    Overlap(covered=True, recall=1.0, iou=0.16666666666666666)
    """
    if duration is not None:
        check_duration("duration", duration)
    found = None if retrieved is None else check_intervals("retrieved", retrieved, duration)
    asked = None if gold is None else check_intervals("gold", gold, duration)
    if found is None or not asked:
        return Overlap(None, None, None)
    endless = [duration is None and any(b is None for _, b in side) for side in (found, asked)]
    # The video lasts at least as long as any time in it.
    end = max(a if b is None else b for a, b in (*found, *asked)) if duration is None else duration
    one, other = _union(found, end), _union(asked, end)
    common = _intersection(one, other)
    covered, shared = bool(common), _length(common)
    return Overlap(
        covered,
        _recall(common, other) if not endless[1] else None if covered else 0.0,
        None if any(endless) else _share(shared, _length(_union([*one, *other], end))),
    )


def check_intervals(
    name: str, intervals: Iterable[Any], duration: float | None = None
) -> list[Interval]:
    """The intervals as pairs of floats, in the order given.

    Parameters
    ----------
    name : str
        What they are, for messages.
    intervals : iterable of pairs
        Start and end in seconds; an end of None is open.
    duration : float, optional
        Seconds of the video, where it is known.

    Returns
    -------
    list of (float, float or None)
        As they were given.

    Raises
    ------
    InputError
        What is no list of pairs, a time that is no number of at least 0, an end before its start,
        or a start a second or more after the video's end.
    """
    if isinstance(intervals, str | bytes) or not isinstance(intervals, Iterable):
        raise InputError(
            f"{name}={shown(intervals)} must be a list of pairs (start, end) in seconds"
        )
    checked: list[Interval] = []
    for number, pair in enumerate(intervals):
        times = _pair(pair)
        if times is None:
            said = f"{name}[{number}]={shown(pair)}"
            raise InputError(f"{said} must be a pair (start, end) in seconds")
        wrong, start, end = None, _number(times[0]), _number(times[1])
        if start is None or start < 0 or (end is None and times[1] is not None):
            wrong = ": times must be seconds of at least 0; None for an open end"
        elif end is not None and end < start:
            wrong = " is reversed: its end must not be before its start"
        elif duration is not None and start >= duration + _ROUNDED:
            wrong = f" must not start after the video's end at {duration:g} s"
        if start is None or wrong:
            raise InputError(f"{name}[{number}]={shown(pair)}{wrong}")
        checked.append((start, end))
    return checked


def check_duration(name: str, duration: object) -> float:
    """A video's length in seconds: a finite number above 0, or InputError."""
    seconds = _number(duration)
    if seconds is None or seconds <= 0:
        raise InputError(f"{name}={shown(duration)} must be a number of seconds above 0")
    return seconds


def shown(value: object) -> str:
    """How messages show a value: as Python writes it, the middle left out where it is long.

    Examples
    --------
    >>> shown("12-30"), len(shown("12-30;" * 10**6))
    ("'12-30'", 80)
    """
    try:
        text = repr(value)
    except Exception:  # of an integer of thousands of digits, or somebody else's
        return f"<{type(value).__name__}>"
    half = _SHOWN // 2
    return text if len(text) <= _SHOWN else f"{text[: half - 1]}…{text[-half:]}"


def _pair(given: object) -> list[Any] | None:
    """The two values of a pair; None of anything else."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return None
    times = list(given)
    return times if len(times) == 2 else None


def _number(value: Any) -> float | None:
    """A finite number, NumPy's included; None for anything else, such as True and texts."""
    if isinstance(value, str | bytes | bool) or type(value).__name__ == "bool":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _union(intervals: Sequence[Interval], end: float) -> list[_Closed]:
    """The same times up to the end as disjoint intervals in order; those that touch are one."""
    merged: list[_Closed] = []
    closed = ((min(a, end), end if b is None else min(b, end)) for a, b in intervals)
    for start, stop in sorted(closed):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged


def _intersection(one: list[_Closed], other: list[_Closed]) -> list[_Closed]:
    """What two lists of disjoint intervals in order have in common, moments included."""
    common, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        start, stop = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if start <= stop:
            common.append((start, stop))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return common


def _length(disjoint: list[_Closed]) -> float:
    # Rounded once: the same whatever the order, and never longer than what it is part of.
    # A start before its stop: no sum on the way is longer than the longest time.
    return math.fsum(time for start, stop in disjoint for time in (-start, stop))


def _recall(common: list[_Closed], gold: list[_Closed]) -> float:
    length = _length(gold)
    # Of annotated moments each part in common is one of them.
    return _length(common) / length if length > 0 else len(common) / len(gold)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
