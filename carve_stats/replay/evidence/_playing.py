"""What a video plays at a time: jumping where that is exact, and noticing a lost end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from carve_stats.errors import InputError, MissingExtraError

__all__ = ["Played", "check_whole", "last_end", "pyav"]

# A jump ahead of more than this many seconds seeks; a shorter one decodes on.
_SEEK_BEYOND = 2.0

_LAST_TICK = 2**62  # FFmpeg counts in 64 bits

# Containers that stamp every picture and list their keyframes. In the others the times that
# follow a seek are a guess, so that they are always decoded from the start.
_INDEXED = {"mov", "matroska", "webm"}

# Containers whose header says how long the video is, and how many seconds may be missing.
_LENGTH_DECLARED = {*_INDEXED, "avi"}
_MAY_MISS = 1.0


class Played:
    """The picture that is on at a time, for times that only go forward."""

    def __init__(self, container: Any, path: str | Path) -> None:
        self._container = container
        self._stream = container.streams.video[0]
        self._start = self._stream.start_time
        self._seeks = bool(_INDEXED & _formats(container))
        self._frames = self._decode()
        first = next(self._frames, None)
        if first is None:
            raise InputError(f"{path}: holds no picture that has a time: convert it to MP4")
        self._now: tuple[float, Any] = first
        self._next = next(self._frames, None)

    def at(self, time: float) -> tuple[float, Any]:
        if self._seeks and self._now[0] + _SEEK_BEYOND < time:
            self._seek(time)
        while self._next is not None and self._next[0] <= time:
            self._now, self._next = self._next, next(self._frames, None)
        return self._now

    def end(self) -> float | None:
        """When the last picture ends; None if it has not been reached."""
        if self._next is not None:
            return None
        begin, frame = self._now
        if frame.duration:
            return begin + float(frame.duration * self._stream.time_base)
        rate = self._stream.average_rate
        return begin + (float(1 / rate) if rate else 0.0)

    def _seek(self, time: float) -> None:
        # A seek may land past the time, or nowhere: then stay, and decode on from where we are.
        before = self._now, self._next
        start = self._start or 0
        target = min(start + int(time / self._stream.time_base), _LAST_TICK)
        self._container.seek(target, stream=self._stream, backward=True)
        frames = self._decode()
        first = next(frames, None)
        if first is not None and self._now[0] <= first[0] <= time:
            self._frames, self._now, self._next = frames, first, next(frames, None)
            return
        self._container.seek(start, stream=self._stream, backward=True)
        self._now, self._next = before
        resume = (self._now if self._next is None else self._next)[0]
        self._frames = (shown for shown in self._decode() if shown[0] > resume)

    def _decode(self) -> Iterator[tuple[float, Any]]:
        if "avi" in _formats(self._container):
            return self._decode_by_order()
        return (
            (self._seconds(frame.pts), frame)
            for frame in self._container.decode(self._stream)
            if frame.pts is not None
        )

    def _decode_by_order(self) -> Iterator[tuple[float, Any]]:
        # An AVI file says when its packets are decoded, not when their pictures are shown,
        # which is another order. Its pictures leave the decoder in the order in which they are
        # shown, one in each packet's turn.
        turns: deque[int] = deque()
        for packet in self._container.demux(self._stream):
            if packet.size and packet.dts is not None:
                turns.append(packet.dts)
            for frame in packet.decode():
                if turns:
                    yield self._seconds(turns.popleft()), frame

    def _seconds(self, ticks: int) -> float:
        if self._start is None:
            self._start = ticks
        # Correctly rounded, so that 0.7 finds the picture that begins at 7/10.
        return float((ticks - self._start) * self._stream.time_base)


def _formats(container: Any) -> set[str]:
    return set(container.format.name.split(","))


def check_whole(path: str | Path, container: Any, played: Played, time: float) -> None:
    """Refuse a time after the last picture of a file that has lost its end."""
    end = played.end()
    if end is None or time <= end:
        return
    declared = _declared_seconds(container)
    if end + _MAY_MISS >= declared or not _LENGTH_DECLARED & _formats(container):
        return
    # Sound may go on when the pictures end: what counts is whether anything is there.
    held = max((_packet_end(packet) for packet in _all_packets(container)), default=0.0)
    if held + _MAY_MISS < declared:
        raise InputError(
            f"{path}: is cut off after {end:.2f} of {declared:.2f} s and cannot show {time:g} s:"
            " get the whole file"
        )


def last_end(container: Any) -> float | None:
    """When the last picture ends, by the clock of the file; None if nothing says it."""
    stream = container.streams.video[0]
    if container.duration:
        end = float(container.duration / pyav().time_base)
        container.seek(int(end / stream.time_base), stream=stream, backward=True)
    return max((_packet_end(p) for p in container.demux(stream) if p.size), default=None)


def _declared_seconds(container: Any) -> float:
    stream = container.streams.video[0]
    # FFmpeg shortens the duration of an AVI file that has lost its end, and not its count.
    if "avi" in _formats(container) and stream.average_rate:
        return float(stream.frames / stream.average_rate)
    return float((container.duration or 0) / pyav().time_base)


def _all_packets(container: Any) -> Iterator[Any]:
    stream = container.streams.video[0]
    container.seek(stream.start_time or 0, stream=stream, backward=True)
    try:
        yield from container.demux()
    except pyav().error.FFmpegError:
        return  # damage ends the file


def _packet_end(packet: Any) -> float:
    ticks = packet.dts if packet.pts is None else packet.pts
    return 0.0 if ticks is None else float((ticks + (packet.duration or 0)) * packet.time_base)


def pyav() -> ModuleType:
    try:
        import av
    except ImportError:
        raise MissingExtraError("videos need PyAV: pip install 'carve-stats[replay]'") from None
    return av
