"""EgoSchema: ``questions.json``, and ``subset_answers.json`` with the gold answers of 500."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.benchmarks.base import (
    BenchmarkQuestion,
    Placed,
    Read,
    label_at,
    others,
    text_in,
)
from carve_stats.replay.benchmark_records import OPTION_FIELDS, numbered_options

__all__ = ["NAME", "files_of", "is_mine", "read"]

NAME = "egoschema"

_QUESTIONS, _ANSWERS = "questions.json", "subset_answers.json"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def files_of(path: Path) -> list[Path]:
    """The files to be read for a path: questions and the answers beside them.

    Parameters
    ----------
    path : Path
        A folder with ``questions.json``, or any file.

    Returns
    -------
    list of Path
        Of a folder without it, none.
    """
    questions = path / _QUESTIONS if path.is_dir() else path
    if path.is_dir() and not questions.exists():
        return []
    answers = questions.with_name(_ANSWERS)
    beside = questions.name == _QUESTIONS and answers.exists()
    return [questions, answers] if beside else [questions]


def is_mine(record: Mapping[str, Any]) -> bool:
    """Whether a record is a question, or the gold answers by id."""
    return "q_uid" in record or (bool(record) and all(map(_UUID.fullmatch, record)))


def read(records: Sequence[Placed]) -> Read:
    """The questions, with the gold answers that there are.

    Parameters
    ----------
    records : sequence of Placed
        One a question: `q_uid`, `question` and ``option 0`` to ``option 4``; and one of gold
        answers, the position of the right option, counted from 0, by `q_uid`.

    Returns
    -------
    Read
        The labels are A to E. Each question has a clip of its own, so that the video is the
        `q_uid` as well. Without the questions, those that have a gold answer, without options.
    """
    gold: dict[str, str] = {}
    asked = []
    for placed in records:
        if "q_uid" in placed.record:
            asked.append(placed)
            continue
        for uid, position in placed.record.items():
            if not _is_position(position) or not 0 <= position < len(OPTION_FIELDS):
                raise RecordError(
                    f"{placed.place}: the answer {position!r} to {uid!r} must be a whole number"
                    f" from 0 to {len(OPTION_FIELDS) - 1}"
                )
            gold[uid] = label_at(position)
    if not asked:
        place = records[0].place
        alone = [(place, BenchmarkQuestion(uid, uid, None, {}, gold[uid])) for uid in gold]
        return Read(alone, [f"no {_QUESTIONS}: gold answers without options"])
    questions = [(placed.place, _question(placed, gold)) for placed in asked]
    known = {question.question_id for _, question in questions}
    unasked = [uid for uid in gold if uid not in known]
    if gold and len(unasked) == len(gold):
        raise InputError(
            f"{asked[0].place}: no question of these has a gold answer: ids are such as"
            f" {questions[0][1].question_id!r} here and {unasked[0]!r} there"
        )
    notes = [f"{len(unasked)} gold answers are to questions that are not there"] if unasked else []
    return Read(questions, notes)


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _question(placed: Placed, gold: Mapping[str, str]) -> BenchmarkQuestion:
    uid = text_in(placed, "q_uid")
    text = placed.record.get("question")
    return BenchmarkQuestion(
        question_id=uid,
        video_id=uid,
        text=None if text is None else str(text),
        options=numbered_options(placed),
        answer=gold.get(uid),
        attributes=others(placed.record, "q_uid", "question", *OPTION_FIELDS),
    )
