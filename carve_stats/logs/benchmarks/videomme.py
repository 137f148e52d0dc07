"""Video-MME: one question a row (Parquet, JSON), or one video a record (the official template)."""

from __future__ import annotations

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
from carve_stats.replay.benchmark_records import prefixed_options

__all__ = ["NAME", "is_mine", "read"]

NAME = "videomme"

_EARLIER = {
    "duration_category": "duration",
    "video_category": "domain",
    "video_subcategory": "sub_category",
}
"""What the first version of the template called these fields; its options were `choices`."""

_ASKED = ("question_id", "question", "options", "choices", "answer")


def is_mine(record: Mapping[str, Any]) -> bool:
    """Whether a record is a question, or a video with its questions."""
    asks = "question_id" in record and ("options" in record or "choices" in record)
    return "video_id" in record and ("questions" in record or asks)


def read(records: Sequence[Placed]) -> Read:
    """The questions of all records.

    Parameters
    ----------
    records : sequence of Placed
        One a question: `question_id` such as ``001-1``, `video_id` such as ``001``, `question`,
        `options` such as ``["A. Apples.", …]``, `answer`, a letter, `duration` (``short``,
        ``medium`` or ``long``) and more; or one a video, with such `questions`.

    Returns
    -------
    Read
        The video is `video_id`; `videoID`, the same video's id at YouTube, is an attribute. A
        `response`, which is a model's, is not read.
    """
    questions = []
    for placed in records:
        video = text_in(placed, "video_id")
        said = _named(others(placed.record, "video_id", "questions", "response", *_ASKED))
        for one in _asked(placed):
            field = "choices" if "options" not in one.record else "options"
            options = prefixed_options(one, field)
            question = BenchmarkQuestion(
                question_id=text_in(one, "question_id"),
                video_id=video,
                text=text_in(one, "question"),
                options=options,
                answer=lettered_gold(one, "answer", options),
                attributes=said | _named(others(one.record, "video_id", "response", *_ASKED)),
            )
            questions.append((one.place, question))
    return Read(questions, [])


def _asked(placed: Placed) -> list[Placed]:
    if "questions" not in placed.record:
        return [placed]
    listed = needed(placed, "questions")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise RecordError(f"{placed.place}: questions must be a list of questions")
    return [
        Placed(f"{placed.place} question {number}", one) for number, one in enumerate(listed, 1)
    ]


def _named(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {_EARLIER.get(name, name): value for name, value in attributes.items()}
