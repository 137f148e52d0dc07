"""LVBench: ``video_info.meta.jsonl``, one video a line, its questions in ``qa``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from carve_stats.errors import RecordError
from carve_stats.logs.benchmarks.base import (
    BenchmarkQuestion,
    Placed,
    Read,
    lettered_gold,
    needed,
    others,
    text_in,
)
from carve_stats.logs.interval_texts import DASHES, clock_seconds
from carve_stats.replay.benchmark_records import inline_options

__all__ = ["NAME", "is_mine", "read"]

NAME = "lvbench"

_DASH = re.compile(f"[{DASHES}]")


def is_mine(record: Mapping[str, Any]) -> bool:
    """Whether a record is a video with its questions."""
    return "key" in record and "qa" in record


def read(records: Sequence[Placed]) -> Read:
    """The questions of all videos.

    Parameters
    ----------
    records : sequence of Placed
        One a video: `key`, the video's id, and `qa`, a list of questions with `uid`, `question`,
        which ends in the options as lines ``(A) …``, `answer`, a letter, `question_type`, a
        list, and `time_reference`, two clock times such as ``00:15-01:19``.

    Returns
    -------
    Read
        Ids are the `uid`. What cannot be read of options and times is left empty, with a note.
    """
    questions, bare, untimed = [], [], []
    for placed in records:
        video = text_in(placed, "key")
        listed = needed(placed, "qa")
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise RecordError(f"{placed.place}: qa must be a list of questions")
        for number, record in enumerate(listed, 1):
            one = Placed(f"{placed.place} question {number}", record)
            uid = text_in(one, "uid")
            text, options = inline_options(text_in(one, "question"))
            interval = None
            if record.get("time_reference"):
                interval = _interval(text_in(one, "time_reference"))
                untimed += [uid] if interval is None else []
            bare += [] if options else [uid]
            question = BenchmarkQuestion(
                question_id=uid,
                video_id=video,
                text=text,
                options=options,
                answer=lettered_gold(one, "answer", options),
                interval=interval,
                attributes=others(placed.record, "key", "qa")
                | others(record, "uid", "question", "answer"),
            )
            questions.append((one.place, question))
    notes = [
        f"{len(uids)} questions, the first {uids[0]!r}, have {what}"
        for uids, what in (
            (bare, "no options as lines (A), (B), …: free text cannot be read for them"),
            (untimed, "a time_reference that is not an interval of clock times"),
        )
        if uids
    ]
    return Read(questions, notes)


def _interval(text: str) -> tuple[float, float] | None:
    """The seconds of two clock times, minutes:seconds or hours:minutes:seconds."""
    times = [clock_seconds(time.strip()) for time in _DASH.split(text)]
    if len(times) != 2:
        return None
    start, end = times
    return (start, end) if start is not None and end is not None and start <= end else None
