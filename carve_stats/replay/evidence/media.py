"""Frames from the disk: stored pictures, and the pictures that a video plays at given times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, MissingExtraError
from carve_stats.replay.evidence.frames import Encoder, Frame
from carve_stats.replay.trajectories import EvidenceItem

__all__ = ["decode_frames", "load_frames", "video_seconds"]

_SIGNATURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n": "image/png", b"RIFF": "image/webp"}

# A jump ahead of more than this many seconds seeks; a shorter one decodes on.
_SEEK_BEYOND = 2.0


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
        A file that is not there, is no picture, or cannot be decoded.
    MissingExtraError
        PyAV is needed and not installed.
    """
    root = Path() if media_root is None else Path(media_root)
    if item.frames:
        times = item.times or (None,) * len(item.frames)
        return tuple(
            _stored_frame(root / path, time) for path, time in zip(item.frames, times, strict=True)
        )
    if item.video is None or not item.times:
        return ()
    png = Encoder("png")
    return tuple(png.encode(p, t) for t, p in decode_frames(root / item.video, item.times))


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
        A missing file, one without a video stream, or one that cannot be decoded.

    Notes
    -----
    The picture played at t is the one with the greatest presentation time that is at most t,
    whatever the frame rate does. Counting frames at the average rate is seconds off for
    variable frame rates.
    """
    av = _pyav()
    pictures: list[Any] = [None] * len(times)
    with _opened(path) as container:
        try:
            played = _Played(container)
            for i in sorted(range(len(times)), key=times.__getitem__):
                time, frame = played.at(times[i])
                pictures[i] = (time, _upright(frame, height))
        except (av.error.FFmpegError, StopIteration) as error:
            raise InputError(f"{path}: cannot be decoded ({error}): re-encode the video") from None
    return pictures


def video_seconds(path: str | Path) -> float:
    """How long a video is, in seconds, as its file declares it."""
    with _opened(path) as container:
        stream = container.streams.video[0]
        if stream.duration:
            return float(stream.duration * stream.time_base)
        if container.duration:
            return float(container.duration / _pyav().time_base)
    raise InputError(f"{path}: does not say how long it is: re-encode the video")


class _Played:
    """The picture that is on at a time, for times that only go forward."""

    def __init__(self, container: Any) -> None:
        self._container = container
        self._stream = container.streams.video[0]
        self._start = self._stream.start_time or 0
        self._base = self._stream.time_base
        self._frames = self._decode()
        self._now = next(self._frames)
        self._next = next(self._frames, None)

    def at(self, time: float) -> tuple[float, Any]:
        if self._seconds(self._now) + _SEEK_BEYOND < time:
            self._seek(time)
        while self._next is not None and self._seconds(self._next) <= time:
            self._now, self._next = self._next, next(self._frames, None)
        return self._seconds(self._now), self._now

    def _seek(self, time: float) -> None:
        # Containers without an index may land past the time, or nowhere: then stay, and
        # decode on from where we are.
        before = self._now, self._next
        here = self._seconds(self._now)
        target = self._start + int(time / self._base)
        self._container.seek(target, stream=self._stream, backward=True)
        frames = self._decode()
        first = next(frames, None)
        if first is not None and here <= self._seconds(first) <= time:
            self._frames, self._now, self._next = frames, first, next(frames, None)
            return
        self._container.seek(self._start, stream=self._stream, backward=True)
        self._now, self._next = before
        resume = self._seconds(self._now if self._next is None else self._next)
        self._frames = (f for f in self._decode() if self._seconds(f) > resume)

    def _decode(self) -> Iterator[Any]:
        return (f for f in self._container.decode(self._stream) if f.pts is not None)

    def _seconds(self, frame: Any) -> float:
        # Correctly rounded, so that 0.7 finds the picture that begins at 7/10.
        return float((frame.pts - self._start) * self._base)


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
    av = _pyav()
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
    for signature, media_type in _SIGNATURES.items():
        if data.startswith(signature):
            return Frame(data, media_type, time)
    raise InputError(f"{path}: is no JPEG, PNG or WebP picture: convert it")


def _pyav() -> ModuleType:
    try:
        import av
    except ImportError:
        raise MissingExtraError("videos need PyAV: pip install 'carve-stats[replay]'") from None
    return av
