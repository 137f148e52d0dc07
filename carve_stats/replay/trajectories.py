"""Frozen trajectories: what the agent retrieved and answered when it first saw a question.

A trajectories file is JSONL, one question a line::

    {"question_id": "q1", "video_id": "v1", "question": "Which animal comes out?",
     "options": {"A": "a rabbit", "B": "a fox"}, "answer": "A", "correct": "A",
     "evidence": [{"id": "0", "frames": ["frames/q1-0.jpg"], "times": [12.0],
                   "start": 12.0, "end": 13.0, "query": "animal", "text": null}],
     "frozen": {"anything": "the agent needs to answer again"}}

`question_id` and `answer` are needed. An item of evidence holds a text, or paths of frames,
or ``"video": "clip.mp4"`` with `times`; paths are relative to the media root. A folder in the
place of the list of frames stands for its pictures, and a video with `start` and `end` and no
`times` for frames spread over that interval (see `carve_stats.replay.evidence.expanding`). An
item without an `id` is known by its place, from 0. An item that is only a text is shown as it
stands in every condition: there are no frames to re-render.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.errors import InputError, RecordError, unknown_name
from carve_stats.replay.files import replace_file

__all__ = ["EvidenceItem", "Trajectory", "read_trajectories", "write_trajectories"]

_MOST_SECONDS = 2.0**53
_MOST_LEVELS = 200  # JSON is read by recursion, and how deep that goes depends on the caller


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceItem:
    """One item that the agent retrieved, as it is stored; nothing is loaded.

    Parameters
    ----------
    id : str
        The item's id, once in its question.
    start, end : float, optional
        The clip's interval in the video, in seconds.
    query : str, optional
        What the agent searched for.
    text : str, optional
        The frozen caption, or another text.
    frames : tuple of str
        Paths of stored frames, relative to the media root.
    times : tuple of float
        When each frame is shown in the video, in seconds.
    video : str, optional
        Path of a video, relative to the media root, of which the frames played at `times`
        are the evidence.
    zero_length : str, optional
        By what policy `times` were chosen for a moment, where they were.
    """

    id: str
    start: float | None = None
    end: float | None = None
    query: str | None = None
    text: str | None = None
    frames: tuple[str, ...] = ()
    times: tuple[float, ...] = ()
    video: str | None = None
    zero_length: str | None = None

    def __post_init__(self) -> None:
        _check_text("id", self.id)
        for name in ("frames", "times"):
            if not isinstance(getattr(self, name), list | tuple):
                raise InputError(f"{name}={getattr(self, name)!r} must be a list")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("query", "text", "video", "zero_length"):
            _check_text(name, getattr(self, name), optional=True)
        for name in ("start", "end"):
            if getattr(self, name) is not None:
                _check_seconds(name, getattr(self, name))
        for path in self.frames:
            _check_text("frames", path)
        for time in self.times:
            _check_seconds("times", time)
        if self.start is not None and self.end is not None and self.start > self.end:
            raise InputError(f"start={self.start} must not be after end={self.end}")
        if self.frames and self.video is not None:
            raise InputError("it has frames and a video: keep one of the two")
        if self.video is not None and not self.times:
            raise InputError(f"video={self.video!r} needs times, the seconds of its frames")
        if self.frames and self.times and len(self.times) != len(self.frames):
            raise InputError(
                f"it has {len(self.frames)} frames and {len(self.times)} times: give one time a"
                " frame"
            )
        if not self.pictured and not self.text:
            raise InputError("it has no text, no frames and no video: give one of them")

    @property
    def pictured(self) -> bool:
        """Whether the item has frames, stored or in a video."""
        return bool(self.frames) or self.video is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One question and the frozen answer that its replays are compared with.

    Parameters
    ----------
    question_id : str
        The question, once in a run.
    answer : str
        The frozen answer: an option's label, or a text where there are no options.
    video_id : str, optional
        The video that the question asks about.
    question : str
        The question's text.
    options : mapping of str to str
        Label to text, in the order shown; empty for an open question.
    correct : str, optional
        The right answer, of the same kind as `answer`.
    evidence : tuple of EvidenceItem
        What the agent retrieved.
    frozen : any
        The agent's own state, which it is given back; JSON values.

    Raises
    ------
    InputError
        A value of the wrong type, an answer that is no option, labels that cannot be told
        apart, or two items of evidence with one id.

    Examples
    --------
    >>> Trajectory(question_id="q1", answer="A", options={"A": "a rabbit", "B": "a fox"}).answer
    'A'
    """

    question_id: str
    answer: str
    video_id: str | None = None
    question: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    correct: str | None = None
    evidence: tuple[EvidenceItem, ...] = ()
    frozen: Any = None

    def __post_init__(self) -> None:
        _check_id("question_id", self.question_id)
        _check_text("answer", self.answer)
        if self.video_id is not None:
            _check_id("video_id", self.video_id)
        _check_text("correct", self.correct, optional=True)
        if not isinstance(self.question, str):
            raise InputError(f"question={self.question!r} must be a string")
        _check_options(self.options)
        for name, label in (("answer", self.answer), ("correct", self.correct)):
            if self.options and label is not None and label not in self.options:
                raise InputError(
                    f"{name}={label!r} must be one of the option labels {', '.join(self.options)}"
                )
        if not isinstance(self.evidence, list | tuple):
            raise InputError(f"evidence={self.evidence!r:.40} must be a list of EvidenceItem")
        object.__setattr__(self, "evidence", tuple(self.evidence))
        seen = set()
        for item in self.evidence:
            if not isinstance(item, EvidenceItem):
                raise InputError(f"evidence holds {item!r:.40}: it must hold EvidenceItem objects")
            if item.id in seen:
                raise InputError(f"evidence id={item.id!r} stands twice: each item needs its own")
            seen.add(item.id)
        self._check_plain()

    def _check_plain(self) -> None:
        """Refuse what a run's store could not hold, or not give back."""
        for name, value in self.to_dict().items():
            try:
                msgspec.json.decode(msgspec.json.encode(value))
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                raise InputError(
                    f"{name} cannot be stored as JSON ({error}): use plain values"
                ) from None
        level = [self.frozen]
        for _ in range(_MOST_LEVELS):
            level = [
                inner
                for outer in level
                if isinstance(outer, dict | list | tuple)
                for inner in (outer.values() if isinstance(outer, dict) else outer)
            ]
            if not level:
                return
        raise InputError(f"frozen is nested more than {_MOST_LEVELS} levels deep: flatten it")

    @property
    def sha256(self) -> str:
        """Hash of everything in it, the order of the options too."""
        content = {**self.to_dict(), "options": list(self.options.items())}
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The trajectory as a file holds it: what is empty is left out."""
        record = _filled(self)
        if self.evidence:
            record["evidence"] = [_filled(item) for item in self.evidence]
        return record

    @classmethod
    def from_dict(cls, record: Any) -> Trajectory:
        """Build a trajectory from a line's JSON object.

        Parameters
        ----------
        record : mapping
            The fields; unknown ones are refused.

        Returns
        -------
        Trajectory
            The checked trajectory.
        """
        values = _known_fields(cls, record, "a trajectory", ("question_id", "answer"))
        items = values.get("evidence", ())
        if not isinstance(items, list | tuple):
            raise InputError(f"evidence={items!r} must be a list of items")
        values["evidence"] = tuple(_read_item(item, place) for place, item in enumerate(items))
        return cls(**values)


def read_trajectories(
    path: str | os.PathLike[str],
    *,
    media: str | os.PathLike[str] | None = None,
    frames: int | None = None,
    zero_length: str | None = None,
) -> list[Trajectory]:
    """Read a trajectories file, or a folder in the CARVE layout.

    Parameters
    ----------
    path : path
        A JSONL file as this module's text describes it; or a folder with a file
        ``<question id>.json`` for each question, as `carve_stats.replay.carve_trajectories`
        describes it. Its questions whose frozen answer cannot be read are left out, and counted
        in a warning of the logger.
    media : path, optional
        The media root, for evidence that is a folder of frames or an interval of a video; the
        folder that `path` is in if not given.
    frames : int, optional
        How many frames an interval of a video shows, where an item has no times.
    zero_length : str, optional
        What an interval without a length shows: ``none`` the moment alone, ``1s`` and ``10s`` so
        many seconds around it.

    Returns
    -------
    list of Trajectory
        In the order of the file; of a folder, in the order of the ids.

    Raises
    ------
    InputError
        No such file, or nothing in it.
    RecordError
        A bad line; the message names file, line and field.
    """
    from carve_stats.replay.evidence.expanding import expand_trajectory

    path = Path(path)
    media = path.parent if media is None else Path(media)
    if path.is_dir():
        from carve_stats.replay.carve_trajectories import read_carve_trajectories

        return read_carve_trajectories(path, media=media)
    try:
        lines = path.read_bytes().splitlines()
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise InputError(
            f"trajectories={str(path)!r} cannot be read ({said}): give a JSONL file"
        ) from None
    trajectories: dict[str, Trajectory] = {}
    first_line: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line)
            record = expand_trajectory(record, media, frames=frames, zero_length=zero_length)
            trajectory = Trajectory.from_dict(record)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RecordError(f"{path}:{number}: not a JSON object ({error})") from None
        except InputError as error:
            raise RecordError(f"{path}:{number}: {error}") from None
        question = trajectory.question_id
        if question in trajectories:
            raise RecordError(
                f"{path}:{number}: question_id={question!r} stands in line"
                f" {first_line[question]} already: keep one of the two"
            )
        trajectories[question] = trajectory
        first_line[question] = number
    if not trajectories:
        raise InputError(f"trajectories={str(path)!r} holds no question: give one a line")
    return list(trajectories.values())


def write_trajectories(path: str | os.PathLike[str], trajectories: Iterable[Trajectory]) -> None:
    """Write a trajectories file, whole or not at all.

    Parameters
    ----------
    path : path
        The file to write, or to replace.
    trajectories : iterable of Trajectory
        The questions, each id once.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_trajectories(f"{folder}/t.jsonl", [Trajectory(question_id="q1", answer="yes")])
    ...     print(Path(folder, "t.jsonl").read_text().strip())
    ...     read_trajectories(f"{folder}/t.jsonl")[0].answer
    {"question_id":"q1","answer":"yes"}
    'yes'
    """
    trajectories = list(trajectories)
    check_distinct(trajectories)
    lines = b"".join(msgspec.json.encode(t.to_dict()) + b"\n" for t in trajectories)
    replace_file(Path(path), lines)


def check_distinct(trajectories: Iterable[Trajectory]) -> None:
    """Refuse two trajectories of one question.

    Parameters
    ----------
    trajectories : iterable of Trajectory
        The questions of one run.
    """
    seen = set()
    for trajectory in trajectories:
        if trajectory.question_id in seen:
            raise InputError(
                f"question_id={trajectory.question_id!r} stands in two trajectories: each question"
                " needs its own id"
            )
        seen.add(trajectory.question_id)


def fold_label(label: str) -> str:
    """The form in which labels are compared: compatibility characters and case do not count."""
    return unicodedata.normalize("NFKC", label).strip().casefold()


def _read_item(record: Any, place: int) -> EvidenceItem:
    try:
        values = _known_fields(EvidenceItem, record, "an item of evidence", ())
        values.setdefault("id", str(place))
        for name in ("frames", "times"):
            if not isinstance(values.get(name, ()), list | tuple):
                raise InputError(f"{name}={values[name]!r} must be a list")
            values[name] = tuple(values.get(name, ()))
        return EvidenceItem(**values)
    except InputError as error:
        raise InputError(f"evidence[{place}]: {error}") from None


def _known_fields(cls: type, record: Any, what: str, needed: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise InputError(f"{what} must be a JSON object, not {type(record).__name__}")
    known = [f.name for f in fields(cls)]
    for name in record:
        if name not in known:
            raise InputError(unknown_name("field", name, known))
    for name in needed:
        if record.get(name) is None:
            raise InputError(f"{name} is missing: {what} needs it")
    # A null stands for what is not there.
    return {n: v for n, v in record.items() if v is not None or n == "frozen"}


def _filled(record: Any) -> dict[str, Any]:
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    return {n: v for n, v in values.items() if v is not None and (v or n == "frozen" or v == 0)}


def _check_text(name: str, value: object, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if not isinstance(value, str):
        raise InputError(f"{name}={value!r} must be a string, in quotes")
    if not value.strip() and not (optional and name in ("query", "text")):
        raise InputError(f"{name}={value!r} must not be empty")


def _check_id(name: str, value: object) -> None:
    _check_text(name, value)
    if str(value).endswith("\0"):
        raise InputError(f"{name}={value!r} must not end in a NUL: arrays of ids would lose it")


def _check_seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name}={value!r} must be a number of seconds")
    if not -_MOST_SECONDS < value < _MOST_SECONDS:
        raise InputError(f"{name}={value!r:.40} must be a finite number of seconds")


def _check_options(options: object) -> None:
    if not isinstance(options, Mapping):
        raise InputError(f"options={options!r} must map each label to its text")
    folded: dict[str, str] = {}
    for label, text in options.items():
        _check_text("option label", label)
        if not isinstance(text, str):
            raise InputError(f"option {label!r}={text!r} must be a string, in quotes")
        other = folded.setdefault(fold_label(label), label)
        if other != label:
            raise InputError(f"option labels {other!r} and {label!r} cannot be told apart")
    if len(options) == 1:
        raise InputError(f"options={dict(options)!r} must be at least two, or none")
