"""`expand_trajectory`: names the frames of evidence that a trajectory gives in short.

An item of evidence may say less than a replay needs::

    {"frames": "clips/q1"}                          a folder: its pictures, 2.jpg before 10.jpg
    {"video": "v.mp4", "start": 12.0, "end": 15.0}  an interval: frames spread evenly over it
    {"video": "v.mp4", "start": 12.0}               a moment: what `zero_length` says

What comes of it is an item as it is replayed and stored, with each frame's path or time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError
from carve_stats.replay.evidence.intervals import shown_interval, spread_times
from carve_stats.replay.files import inside

__all__ = ["expand_item", "expand_trajectory"]

_PICTURES = (".jpg", ".jpeg", ".png", ".webp")
_DIGITS = re.compile("([0-9]+)")
_HOW_MANY = "[input] frames in the configuration, or read_trajectories(frames=)"


def expand_trajectory(
    record: Any,
    media: str | Path,
    *,
    frames: int | None = None,
    zero_length: str | None = None,
) -> Any:
    """Name the frames of all evidence of a trajectory.

    Parameters
    ----------
    record : any
        A line of a trajectories file; what is no such thing stays as it is, for `Trajectory` to
        refuse.
    media, frames, zero_length
        As for `expand_item`.

    Returns
    -------
    any
        The record, with its evidence expanded.

    Raises
    ------
    InputError
        The message names the item by its place.
    """
    if not isinstance(record, Mapping) or not isinstance(record.get("evidence"), list):
        return record
    evidence = []
    for place, item in enumerate(record["evidence"]):
        if isinstance(item, Mapping):
            try:
                item = expand_item(item, media, frames=frames, zero_length=zero_length)
            except InputError as error:
                raise InputError(f"evidence[{place}]: {error}") from None
        evidence.append(item)
    return {**record, "evidence": evidence}


def expand_item(
    record: Mapping[str, Any],
    media: str | Path,
    *,
    frames: int | None = None,
    zero_length: str | None = None,
) -> dict[str, Any]:
    """Name the frames of an item of evidence.

    Parameters
    ----------
    record : mapping
        The item, as a line of a trajectories file holds it.
    media : path
        The folder that its paths are relative to.
    frames : int, optional
        How many frames an interval of a video shows; needed where there is one without times.
    zero_length : str, optional
        What an interval without a length shows, if the item does not say it; see
        `shown_interval`.

    Returns
    -------
    dict
        The item with a list of frames, or with times; one that has them is as it was. Where times
        were chosen, `start` and `end` are those of what is shown, and `zero_length` is the policy
        that was needed.

    Raises
    ------
    InputError
        A folder without pictures, or an interval that cannot be shown.

    Examples
    --------
    >>> expand_item({"video": "v.mp4", "times": [12.5]}, ".", frames=4)
    {'video': 'v.mp4', 'times': [12.5]}
    """
    record = dict(record)
    given = record.get("frames")
    if isinstance(given, int | float) and not isinstance(given, bool):
        raise InputError(
            f"frames={given!r} is a number, and an item's frames are paths: take it out, and say"
            f" how many frames every interval shows, by {_HOW_MANY}"
        )
    if isinstance(given, str):
        record["frames"] = _pictures(Path(media), given)
    elif record.get("video") is not None and not record.get("times"):
        record.update(_choose_times(record, Path(media), frames, zero_length))
    return record


def _pictures(media: Path, folder: str) -> list[str]:
    place = _within(media, "frames", folder)
    try:
        names = [name for name in os.listdir(place) if not name.startswith(".")]
    except OSError as error:
        raise InputError(
            f"frames={folder!r}: no folder {str(place)!r} to read ({error.strerror}): give a"
            " folder, or a list of paths"
        ) from None
    pictures = sorted((n for n in names if n.lower().endswith(_PICTURES)), key=_natural)
    if not pictures:
        raise InputError(f"frames={folder!r}: {str(place)!r} holds no JPEG, PNG or WebP picture")
    return [(Path(folder) / name).as_posix() for name in pictures]


def _natural(name: str) -> tuple[list[Any], str]:
    """Runs of digits count as numbers; they stand at every second place."""
    parts = _DIGITS.split(name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], name


def _choose_times(
    record: Mapping[str, Any], media: Path, frames: int | None, zero_length: str | None
) -> dict[str, Any]:
    from carve_stats.replay.evidence.media import video_seconds

    start, end = (_seconds(record, name) for name in ("start", "end"))
    if start is None:
        raise InputError(
            f"video={record['video']!r} has neither times nor a start: give the seconds of its"
            " frames, or the interval that it shows"
        )
    if frames is None:
        raise InputError(
            f"video={record['video']!r} has an interval and no times: give them, or say how many"
            f" frames an interval shows, by {_HOW_MANY}"
        )
    seconds = video_seconds(_within(media, "video", record["video"]))
    zero_length = record.get("zero_length") or zero_length
    shown = shown_interval(start, end, seconds=seconds, zero_length=zero_length)
    chosen = {"start": shown[0], "end": shown[1], "times": list(spread_times(*shown, frames))}
    return chosen if end is not None and start < end else {**chosen, "zero_length": zero_length}


def _within(media: Path, name: str, path: Any) -> Path:
    if not isinstance(path, str):
        raise InputError(f"{name}={path!r} must be a path, in quotes")
    try:
        return inside(media, path)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _seconds(record: Mapping[str, Any], name: str) -> float | None:
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name}={value!r} must be a number of seconds")
    return value
