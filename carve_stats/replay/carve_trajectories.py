"""Frozen trajectories in the CARVE reference layout: a folder with ``<question id>.json``.

Each file holds ``question_id``, ``raw_data`` (the benchmark's record), ``messages``,
``evidence_indices``, ``reference_answer``, ``prepped`` (``[{idx, clip, query, timestamps}]``),
``evidence_slots`` and perhaps ``video_id``. A ``/`` of an id is ``_`` in the file's name.

A clip is a video, a picture, a list of pictures or a folder of them, below the media root, and
`timestamps` are the seconds of its frames. A slot says where in `messages` an item of evidence
stands: ``{idx: {"message": m, "part": p}}``, ``{idx: [m, p]}``, ``{idx: m}``, or a list of such
places beside `evidence_indices`. What stands there in words is the item's frozen text; in the
messages it gives way to a mark, so that no agent can read it, or see a frozen frame, in SHAM or
DESTROY.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.errors import InputError, RecordError
from carve_stats.replay.benchmark_records import (
    OPTION_COLUMNS,
    OPTION_FIELDS,
    Placed,
    candidate_options,
    inline_options,
    labelled_in_order,
    numbered_options,
    prefixed_options,
)
from carve_stats.replay.carve_evidence import read_evidence
from carve_stats.replay.files import inside
from carve_stats.replay.parsing import parse_answer
from carve_stats.replay.trajectories import Trajectory

__all__ = ["read_carve_trajectories"]

logger = logging.getLogger(__name__)

_NO_GOLD = (None, "", "@", -1)
_GOLD = ("answer", "correct_choice", "truth", "gold")
_VIDEO = ("video_id", "key", "q_uid")


def read_carve_trajectories(folder: Path, *, media: Path) -> list[Trajectory]:
    """Read a folder of frozen trajectories.

    Parameters
    ----------
    folder : Path
        With a file ``<question id>.json`` for each question; other files are not read.
    media : Path
        The media root.

    Returns
    -------
    list of Trajectory
        In the order of their ids. One whose frozen answer is no option is left out; a warning of
        the logger says how many are, and why.

    Raises
    ------
    InputError
        No trajectory in the folder, or none with a frozen answer.
    RecordError
        A file that is not as described; the message names it.
    """
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise InputError(f"trajectories={str(folder)!r} cannot be read: {error.strerror}") from None
    files = [folder / n for n in names if n.endswith(".json") and not n.startswith(".")]
    if not files:
        raise InputError(
            f"trajectories={str(folder)!r} holds no file <question id>.json: give a folder of"
            " frozen trajectories, or a JSONL file"
        )
    read: dict[str, tuple[Path, Trajectory | None]] = {}
    left_out: Counter[str] = Counter()
    for file in files:
        try:
            record = _load(file, folder)
            question = _question_id(record, file)
            if question in read:
                raise InputError(
                    f"question_id={question!r} stands in {read[question][0].name} already: keep one"
                )
            reason, trajectory = _trajectory(record, question, str(file), media)
        except InputError as error:
            said = str(error).removeprefix(f"{file}: ")
            raise RecordError(f"{file}: {said}") from None
        left_out[reason] += trajectory is None
        read[question] = file, trajectory
    trajectories = [t for _, (_, t) in sorted(read.items()) if t is not None]
    if left_out.total():
        reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(left_out.items()) if n)
        said = (
            f"{folder}: {left_out.total()} of {len(read)} questions are left out, since their"
            f" frozen answer cannot be read: {reasons}"
        )
        if not trajectories:
            raise InputError(f"{said}: none is left")
        logger.warning(said)
    return trajectories


def _load(file: Path, folder: Path) -> Mapping[str, Any]:
    path = inside(folder, file.name)
    if not path.is_file():
        raise InputError("not a regular file: take it out")
    try:
        record = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not JSON ({error}): restore the file") from None
    if not isinstance(record, dict):
        raise InputError("not a JSON object: is it a frozen trajectory?")
    return record


def _question_id(record: Mapping[str, Any], file: Path) -> str:
    question = record.get("question_id")
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"question_id={question!r} must be a string: is it a frozen trajectory?")
    if re.sub(r"\W", "_", question) != re.sub(r"\W", "_", file.stem):
        raise InputError(
            f"its question_id is {question!r}, and the name of the file is that of another: rename"
            " one"
        )
    return question


def _trajectory(
    record: Mapping[str, Any], question: str, place: str, media: Path
) -> tuple[str, Trajectory | None]:
    """The trajectory, or why there is none."""
    raw = record.get("raw_data")
    if not isinstance(raw, dict):
        raise InputError(f"raw_data={raw!r:.40} must be the benchmark's record, a JSON object")
    text, options = _asked(Placed(place, raw))
    reference = record.get("reference_answer")
    if reference is None or reference == "":
        return "no reference_answer", None
    if isinstance(reference, bool | float | list | dict):
        raise InputError(f"reference_answer={reference!r:.40} must be a label or a text")
    options = _as_labelled(options, reference)
    answer = str(reference).strip()
    if options and answer not in options:
        parsed = parse_answer(answer, options)
        if parsed.letter is None:
            return parsed.status, None
        answer = parsed.letter
    items, frozen = read_evidence(record, media)
    video = record.get("video_id") or next((raw[n] for n in _VIDEO if raw.get(n)), None)
    return "", Trajectory(
        question_id=question,
        video_id=None if video is None else str(video),
        question=text,
        options=options,
        answer=answer,
        correct=_gold(raw, options),
        evidence=items,
        frozen=frozen,
    )


# --- question and options -----------------------------------------------------------------------


def _asked(placed: Placed) -> tuple[str, dict[str, str]]:
    raw = placed.record
    text = raw.get("question")
    if text is not None and not isinstance(text, str):
        raise InputError(f"raw_data question={text!r:.40} must be a string")
    field = next((name for name in ("options", "choices") if raw.get(name)), None)
    if OPTION_FIELDS[0] in raw:
        return text or "", numbered_options(placed)
    if "candidates" in raw or OPTION_COLUMNS[0] in raw:
        return text or "", candidate_options(placed)
    if field is None:
        return inline_options(text or "")
    if isinstance(raw[field], dict):
        return text or "", dict(raw[field])
    try:
        return text or "", prefixed_options(placed, field)
    except RecordError:  # options without labels
        return text or "", labelled_in_order(raw[field], placed, field)


def _as_labelled(options: dict[str, str], reference: str | int) -> dict[str, str]:
    """The options with the labels that the frozen answer is of: letters, or numbers from 0."""
    number = str(reference).strip()
    if number.isdecimal() and number not in options and int(number) < len(options):
        return {str(i): text for i, text in enumerate(options.values())}
    return options


def _gold(raw: Mapping[str, Any], options: Mapping[str, str]) -> str | None:
    value = next((raw[name] for name in _GOLD if raw.get(name) is not None), None)
    if value in _NO_GOLD or isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if not options:
        return str(value)
    labels = list(options)
    if str(value).strip() in options:
        return str(value).strip()
    if isinstance(value, int) or value.strip().isdecimal():
        position = int(value)
        return labels[position] if position < len(labels) else None
    letter = value.strip().upper()
    position = ord(letter) - ord("A") if len(letter) == 1 else len(labels)
    if 0 <= position < len(labels):
        return labels[position]
    return parse_answer(value, options).letter
