"""LongVideoBench: ``lvb_val.json`` and ``lvb_test_wo_gt.json``, or the same as Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from carve_stats.errors import RecordError
from carve_stats.logs.benchmarks.base import (
    BenchmarkQuestion,
    Placed,
    Read,
    label_at,
    others,
    text_in,
)
from carve_stats.replay.benchmark_records import OPTION_COLUMNS, candidate_options

__all__ = ["NAME", "is_mine", "read"]

NAME = "longvideobench"

_NO_GOLD = (None, "", "@", -1)
"""``@`` is what the official loader makes of −1, the choice before A: the test split has none."""


def is_mine(record: Mapping[str, Any]) -> bool:
    """Whether a record is a question."""
    return (
        "id" in record and "video_id" in record and ("candidates" in record or "option0" in record)
    )


def read(records: Sequence[Placed]) -> Read:
    """The questions of all records.

    Parameters
    ----------
    records : sequence of Placed
        One a question: `id`, `video_id`, `question`, `candidates`, of which there are not always
        as many (in Parquet ``option0`` to ``option4``, ``N/A`` where there is none), and
        `correct_choice`, the position of the right one counted from 0.

    Returns
    -------
    Read
        `duration` is in seconds. `position` counts frames of the video, whose rate the file does
        not say: it is an attribute, and no question has an interval.
    """
    return Read([(placed.place, _question(placed)) for placed in records], [])


def _question(placed: Placed) -> BenchmarkQuestion:
    record = placed.record
    options = candidate_options(placed)
    return BenchmarkQuestion(
        question_id=text_in(placed, "id"),
        video_id=text_in(placed, "video_id"),
        text=text_in(placed, "question"),
        options=options,
        answer=_gold(placed, len(options)),
        attributes=others(
            record, "id", "video_id", "question", "candidates", "correct_choice", *OPTION_COLUMNS
        ),
    )


def _gold(placed: Placed, candidates: int) -> str | None:
    choice = placed.record.get("correct_choice")
    if choice in _NO_GOLD:
        return None
    if isinstance(choice, bool) or not isinstance(choice, int) or not 0 <= choice < candidates:
        raise RecordError(
            f"{placed.place}: correct_choice={choice!r} must be a whole number from 0 to"
            f" {candidates - 1}, or '@' where there is no gold answer"
        )
    return label_at(choice)
