"""`Extent`: how many replays of which questions a run was ever asked for. It only grows.

Each request that asks for something new is a numbered file, created whole; the extent is the
union of all of them, so that no two processes can undo one another's::

    extents/0001.json    {"request": {"k": {"self": 1, "sham": 3, "destroy": 3},
                                      "questions": ["q1", …],
                                      "trajectories": [those that no earlier file holds]},
                          "sha256": "…"}

`sha256` is the hash of the bytes of the request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.counts import CONDITIONS
from carve_stats.errors import InputError, PlanError, StoreError, unknown_name
from carve_stats.replay.files import create_file
from carve_stats.replay.segments import list_folder
from carve_stats.replay.trajectories import Trajectory

__all__ = ["MOST_REPLAYS", "Extent", "check_replays"]

MOST_REPLAYS = 1_000_000
"""The most replays of one question in one condition; what is more was mistyped."""

_NUMBERED = re.compile(r"[0-9]{4,}\.json")


@dataclass(slots=True)
class Extent:
    """What a run was asked for.

    Parameters
    ----------
    trajectories : dict of str to Trajectory
        By question id, in the order in which they were first asked for.
    k : dict of str to dict
        For each question the replays planned in each condition: the largest k ever asked.
    files : int
        Requests read.
    """

    trajectories: dict[str, Trajectory] = field(default_factory=dict)
    k: dict[str, dict[str, int]] = field(default_factory=dict)
    files: int = 0

    @classmethod
    def read(cls, directory: Path) -> Extent:
        """Read all requests of a run.

        Parameters
        ----------
        directory : Path
            The folder of requests.

        Returns
        -------
        Extent
            Their union.

        Raises
        ------
        StoreError
            A file that is damaged.
        """
        extent = cls()
        extent.catch_up(directory)
        return extent

    def catch_up(self, directory: Path) -> None:
        """Read the requests that others have added.

        Parameters
        ----------
        directory : Path
            The folder of requests.

        Raises
        ------
        StoreError
            A file that is damaged or missing, or a folder that cannot be read.
        """
        names = {name for name in list_folder(directory) if _NUMBERED.fullmatch(name)}
        for number in range(self.files + 1, len(names) + 1):
            path = _path(directory, number)
            if path.name not in names:
                raise StoreError(f"{path} is missing: restore it, or begin another store")
            try:
                request = _decode(path.read_bytes())
                self._add(request.k, request.questions, request.checked())
            except OSError as error:
                raise StoreError(f"{path} cannot be read: {error.strerror}") from None
            except (msgspec.DecodeError, InputError, KeyError, RecursionError) as error:
                raise StoreError(
                    f"{path}: damaged ({error}): restore it, or begin another store"
                ) from None
            self.files += 1

    def check(self, trajectories: Sequence[Trajectory], place: str) -> None:
        """Refuse a question whose trajectory is not the one that the run began with.

        Parameters
        ----------
        trajectories : sequence of Trajectory
            The questions asked for.
        place : str
            Where the run is kept, for the message.

        Raises
        ------
        PlanError
            The message names the question and the fields that differ.
        """
        for asked in trajectories:
            kept = self.trajectories.get(asked.question_id)
            # Not by ==, to which the order of options is nothing and 1 is True.
            if kept is not None and kept.sha256 != asked.sha256:
                before, after = kept.to_dict(), asked.to_dict()
                names = [
                    name
                    for name in {**before, **after}
                    if _plain(before.get(name)) != _plain(after.get(name))
                ]
                raise PlanError(
                    f"{place} holds question {asked.question_id!r} with another trajectory"
                    f" ({', '.join(names) or 'order of options'} differ): give the earlier one, or"
                    " another store"
                )

    def grow(
        self, directory: Path, k: Mapping[str, int], trajectories: Sequence[Trajectory]
    ) -> None:
        """Ask for replays; writes nothing where all of them were asked for before.

        Parameters
        ----------
        directory : Path
            The folder of requests.
        k : mapping of str to int
            Replays of each question, by condition.
        trajectories : sequence of Trajectory
            The questions.
        """
        questions = [t.question_id for t in trajectories]
        while any(
            self.k.get(q, {}).get(condition, 0) < count
            for q in questions
            for condition, count in k.items()
        ):
            new = [t for t in trajectories if t.question_id not in self.trajectories]
            request: dict[str, Any] = {
                "k": dict(k),
                "questions": questions,
                "trajectories": [t.to_dict() for t in new],
            }
            if create_file(_path(directory, self.files + 1), _encode(request)):
                self.files += 1
                self._add(k, questions, new)
            else:  # another process was faster
                self.catch_up(directory)
                self.check(trajectories, str(directory.parent))

    def planned(self) -> int:
        """How many replays the run was ever asked for."""
        return sum(sum(counts.values()) for counts in self.k.values())

    def _add(
        self, k: Mapping[str, int], questions: Sequence[str], new: Sequence[Trajectory]
    ) -> None:
        for trajectory in new:
            self.trajectories.setdefault(trajectory.question_id, trajectory)
        for question in questions:
            counts = self.k.setdefault(self.trajectories[question].question_id, {})
            for condition, count in k.items():
                counts[condition] = max(count, counts.get(condition, 0))


def check_replays(name: str, value: object) -> int:
    """Refuse a number of replays of one question that cannot be right.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
        The number.

    Returns
    -------
    int
        The same number, from 1 to `MOST_REPLAYS`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name}={value!r} must be a whole number of at least 1")
    if value > MOST_REPLAYS:
        raise InputError(f"{name} must be at most {MOST_REPLAYS}: more was asked for")
    return value


class _Request(msgspec.Struct):
    """One file's request."""

    k: dict[str, int]
    questions: list[str]
    trajectories: list[Any]

    def checked(self) -> list[Trajectory]:
        for condition, count in self.k.items():
            if condition not in CONDITIONS:
                raise InputError(unknown_name("condition", condition, CONDITIONS))
            check_replays(f"k of {condition}", count)
        return [Trajectory.from_dict(record) for record in self.trajectories]


class _Signed(msgspec.Struct):
    request: msgspec.Raw
    sha256: str


def _encode(request: Mapping[str, Any]) -> bytes:
    content = msgspec.json.encode(request)
    return msgspec.json.encode(_Signed(msgspec.Raw(content), hashlib.sha256(content).hexdigest()))


def _decode(data: bytes) -> _Request:
    signed = msgspec.json.decode(data, type=_Signed)
    content = bytes(signed.request)
    if hashlib.sha256(content).hexdigest() != signed.sha256:
        raise InputError("it was changed since it was written: its sha256 differs")
    return msgspec.json.decode(content, type=_Request)


def _plain(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _path(directory: Path, number: int) -> Path:
    return directory / f"{number:04d}.json"
