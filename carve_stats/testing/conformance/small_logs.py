"""Small logs by hand, the likely faults first, and how a drawn one is made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carve_stats.testing.strategies.logs import Log

__all__ = ["SMALL_LOGS", "smaller_logs"]


def _record(condition: str, flip: int | None, repetition: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "question_id": "q0", "condition": condition, "repetition": repetition, "flip": flip, **more,
    }  # fmt: skip


def _log(*records: dict[str, Any], copies: int = 0) -> Log:
    replays: dict[tuple[str, str, int], tuple[int | None, ...]] = {}
    for one in records:
        key = (one["question_id"], one["condition"], one["repetition"])
        replays[key] = (*replays.get(key, ()), one["flip"])
    return Log([*records, *(dict(records[0]) for _ in range(copies))], replays, {})


_PLAIN = (
    _log(_record("sham", 1)),
    _log(_record("destroy", 1)),
    _log(_record("self", 1)),
    _log(_record("sham", 0)),
    _log(_record("destroy", 1), _record("sham", 0)),
    _log(_record("sham", 1), _record("sham", 0, 1)),
)
_INVALID = (
    _log(_record("sham", None)),
    _log(_record("sham", None, valid=False)),
    _log(_record("destroy", None, valid=False), _record("sham", 1, valid=True)),
)
_RETRIED = (
    _log(_record("sham", 1), _record("sham", 0, attempt=1)),
    _log(_record("sham", None), _record("sham", 1, attempt=1)),
    _log(_record("sham", 0, attempt=0), _record("sham", None, attempt=1)),
)
_COPIED = (_log(_record("sham", 1), copies=1), _log(_record("destroy", 0), copies=2))
_ALL = (_PLAIN[0], _PLAIN[4], _PLAIN[5], _INVALID[1], _RETRIED[0], _COPIED[0])
SMALL_LOGS: dict[str, tuple[Log, ...]] = {
    "counts": _PLAIN, "invalid": _INVALID, "retries": _RETRIED, "duplicates": _COPIED,
    "accounting": _ALL, "row order": _ALL, "parts": _ALL,
}  # fmt: skip
"""By the promise that they are about."""


def smaller_logs(log: Log) -> Iterator[Log]:
    """Logs with the replays of a question fewer; then with one replay, copy or attempt fewer.

    Parameters
    ----------
    log : Log
        The log.

    Yields
    ------
    Log
        Smaller in one step.
    """
    questions = sorted({question for question, _, _ in log.replays})
    for question in questions if len(questions) > 1 else ():
        yield _keeping(
            log, {key: tried for key, tried in log.replays.items() if key[0] != question}
        )
    for key in log.replays if len(log.replays) > 1 else ():
        yield _keeping(log, {other: tried for other, tried in log.replays.items() if other != key})
    for place, one in enumerate(log.records):
        if one in log.records[:place]:
            yield Log(log.records[:place] + log.records[place + 1 :], log.replays, log.videos)
    for key, tried in log.replays.items():
        if len(tried) > 1:
            yield _keeping(log, {**log.replays, key: tried[:-1]})


def _keeping(log: Log, replays: dict[tuple[str, str, int], tuple[int | None, ...]]) -> Log:
    """The log of some replays; one record of each question still names its video."""
    records = []
    for one in log.records:
        tried = replays.get((one["question_id"], one["condition"], one["repetition"]), ())
        if one.get("attempt", 0) < len(tried):
            records.append(one)
    videos = {q: log.videos[q] for q in {key[0] for key in replays} if q in log.videos}
    for question, video in videos.items():
        own = [i for i, one in enumerate(records) if one["question_id"] == question]
        if not any("video_id" in records[i] for i in own):
            named = {**records[own[0]], "video_id": video}
            records = [named if one == records[own[0]] else one for one in records]
    return Log(records, replays, videos)
