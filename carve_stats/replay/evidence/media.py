"""Frames from the disk: stored pictures, and the pictures that a video plays at given times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError
from carve_stats.replay.evidence._playing import Played, check_whole, last_end, pyav
from carve_stats.replay.evidence.frames import Encoder, Frame, decode_picture
from carve_stats.replay.files import inside
from carve_stats.replay.trajectories import EvidenceItem

__all__ = ["decode_frames", "load_frames", "video_seconds"]

_SIGNATURES = {
    "image/jpeg": [(0, b"\xff\xd8\xff")],
    "image/png": [(0, b"\x89PNG\r\n")],
    "image/webp": [(0, b"RIFF"), (8, b"WEBP")],
}


def load_frames(item: EvidenceItem, media_root: str | Path | None = None) -> tuple[Frame, ...]:
    """The frames of one item of evidence, as the agent first saw them.

    Parameters
    ----------
    item : EvidenceItem
        Stored frame files are read as they are. Without any, `video` is decoded at `times`
        and the pictures are encoded without loss.
    media_root : path, optional
        The folder that the item's paths are relative to; the current one if not given.

    Returns
    -------
    tuple of Frame
        Empty for an item that is text only.

    Raises
    ------
    InputError
        A file that is not there, is no picture, or cannot be decoded; a path that leads out of
        the media root.
    MissingExtraError
        PyAV is needed and not installed.
    """
    root = Path() if media_root is None else Path(media_root)
    if item.frames:
        times = item.times or (None,) * len(item.frames)
        return tuple(
            _stored_frame(inside(root, path), time)
            for path, time in zip(item.frames, times, strict=True)
        )
    if item.video is None or not item.times:
        return ()
    png = Encoder("png")
    return tuple(png.encode(p, t) for t, p in decode_frames(inside(root, item.video), item.times))


def decode_frames(
    path: str | Path, times: Sequence[float], *, height: int | None = None
) -> list[tuple[float, NDArray[np.uint8]]]:
    """The pictures that a video plays at the given times.

    Parameters
    ----------
    path : path
        The video file.
    times : sequence of float
        Seconds from the start of the video stream, in any order. A time before the first
        picture gives the first one, a time after the last picture the last one.
    height : int, optional
        Scale the pictures to this height, in pixels, keeping their proportions.

    Returns
    -------
    list of (float, ndarray of uint8, shape (height, width, 3))
        For each time, when its picture begins (seconds from the start of the stream) and the
        picture, turned upright where the file says that it was filmed sideways.

    Raises
    ------
    InputError
        A missing file, one without a video stream, one that cannot be decoded, or one that is
        cut off before a time although it says that it goes on.

    Notes
    -----
    The picture played at t is the one with the greatest presentation time that is at most t,
    whatever the frame rate does. Counting frames at the average rate is seconds off for
    variable frame rates. The picture does not depend on which other times are asked for:
    only containers with an index of their keyframes are jumped about in.
    """
    if not all(math.isfinite(time) for time in times):
        raise InputError(f"times={list(times)} must be finite numbers of seconds")
    if height is not None and height < 1:
        raise InputError(f"height={height} must be at least 1 pixel")
    av = pyav()
    pictures: list[Any] = [None] * len(times)
    with _opened(path) as container:
        try:
            played = Played(container, path)
            for i in sorted(range(len(times)), key=times.__getitem__):
                time, frame = played.at(times[i])
                pictures[i] = (time, _upright(frame, height))
            if len(times):
                check_whole(path, container, played, max(times))
        except av.error.FFmpegError as error:
            raise InputError(f"{path}: cannot be decoded ({error}): re-encode the video") from None
    return pictures


def video_seconds(path: str | Path) -> float:
    """How long a video is, in seconds from its first picture to the end of its last one.

    Parameters
    ----------
    path : path
        The video file.

    Returns
    -------
    float
        As its file declares it. Where that tells only when everything in it ends, sound too, the
        last pictures say it.

    Raises
    ------
    InputError
        No video, or one that does not say how long it is.
    """
    with _opened(path) as container:
        stream = container.streams.video[0]
        if stream.duration:
            return float(stream.duration * stream.time_base)
        try:
            end = last_end(container)
        except pyav().error.FFmpegError:
            end = None
        if end is not None:
            return end - float((stream.start_time or 0) * stream.time_base)
    raise InputError(f"{path}: does not say how long it is: re-encode the video")


def _upright(frame: Any, height: int | None) -> NDArray[np.uint8]:
    quarters = round(frame.rotation / 90) % 4
    if height is not None:
        sideways = quarters % 2
        scale = height / (frame.width if sideways else frame.height)
        size = [max(2, round(side * scale / 2) * 2) for side in (frame.width, frame.height)]
        size[0 if sideways else 1] = height
        frame = frame.reformat(width=size[0], height=size[1])
    pixels = frame.to_ndarray(format="rgb24")
    return np.ascontiguousarray(np.rot90(pixels, quarters))


def _opened(path: str | Path) -> Any:
    av = pyav()
    if not Path(path).is_file():
        raise InputError(f"{path}: no such video: check the media root and the item's video")
    try:
        container = av.open(str(path))
    except av.error.FFmpegError as error:
        raise InputError(f"{path}: is no video ({error.strerror}): give a video file") from None
    if not container.streams.video:
        container.close()
        raise InputError(f"{path}: has no video stream: give a file with pictures")
    return container


def _stored_frame(path: Path, time: float | None) -> Frame:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}): check the media root and the frame's path"
        ) from None
    for media_type, signature in _SIGNATURES.items():
        if all(data.startswith(part, start) for start, part in signature):
            # Now, and not when the first SHAM renders it: here its file is known.
            decode_picture(data, name=str(path))
            return Frame(data, media_type, time)
    raise InputError(f"{path}: is no JPEG, PNG or WebP picture: convert it")
