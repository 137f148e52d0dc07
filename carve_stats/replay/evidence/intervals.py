"""Intervals of a video: what is shown of one that has no length, and which moments of one."""

from __future__ import annotations

import math

from carve_stats.errors import InputError, unknown_name

__all__ = ["ZERO_LENGTH", "shown_interval", "spread_times"]

ZERO_LENGTH = {"none": 0.0, "1s": 1.0, "10s": 10.0}
"""Policies for intervals without a length, and the seconds that each shows around the moment."""


def shown_interval(
    start: float, end: float | None, *, seconds: float, zero_length: str | None = None
) -> tuple[float, float]:
    """The part of a video that an interval shows.

    Parameters
    ----------
    start, end : float
        The interval, in seconds from the first picture; None for `end` is the moment `start`.
    seconds : float
        How long the video is.
    zero_length : str, optional
        What an interval whose start is its end shows: ``none`` the moment alone, ``1s`` and
        ``10s`` so many seconds around it.

    Returns
    -------
    (float, float)
        Within [0, seconds]. A span around a moment near an end of the video is shifted, so that
        it is kept whole; one that is longer than the video is the whole video.

    Raises
    ------
    InputError
        An interval outside the video, or one without a length and no policy for it.

    Examples
    --------
    >>> shown_interval(12, 15, seconds=60)
    (12.0, 15.0)
    >>> shown_interval(58, 58, seconds=60, zero_length="10s")
    (50.0, 60.0)
    """
    if zero_length is not None and zero_length not in ZERO_LENGTH:
        raise InputError(unknown_name("zero_length", zero_length, tuple(ZERO_LENGTH)))
    if not 0 < seconds < math.inf:
        raise InputError(f"seconds={seconds} must be a positive number: the length of the video")
    end = start if end is None else end
    if not start <= end:
        raise InputError(f"start={start} must not be after end={end}")
    if end < 0 or start > seconds:
        raise InputError(
            f"start={start} and end={end} are outside the video, which has {seconds:g} s: give"
            " seconds from its first picture"
        )
    if start < end:
        return max(0.0, float(start)), min(float(end), seconds)
    if zero_length is None:
        raise InputError(
            f"start={start} is the end too: say what such a moment shows ({', '.join(ZERO_LENGTH)})"
            " by zero_length in the item, [input] zero_length in the configuration, or"
            " read_trajectories(zero_length=)"
        )
    span = ZERO_LENGTH[zero_length]
    begin = max(0.0, min(start - span / 2, seconds - span))
    return begin, min(begin + span, seconds)


def spread_times(start: float, end: float, frames: int) -> tuple[float, ...]:
    """The middles of equal parts of an interval.

    Parameters
    ----------
    start, end : float
        The interval, in seconds.
    frames : int
        How many parts.

    Returns
    -------
    tuple of float
        In [start, end), in order; one time for an interval without a length.

    Examples
    --------
    >>> spread_times(12, 16, 4), spread_times(7, 7, 4)
    ((12.5, 13.5, 14.5, 15.5), (7.0,))
    """
    if isinstance(frames, bool) or not isinstance(frames, int) or frames < 1:
        raise InputError(f"frames={frames!r} must be a whole number of at least 1")
    if start == end:
        return (float(start),)
    return tuple(start + (end - start) * (2 * i + 1) / (2 * frames) for i in range(frames))
