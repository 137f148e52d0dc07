"""`Extent`: how many replays of which questions a run was ever asked for. It only grows.

Each request that asks for something new is a numbered file, created whole; the extent is the
union of all of them, so that no two processes can undo one another's::

    extents/0001.json    {"k": {"self": 1, "sham": 3, "destroy": 3}, "questions": ["q1", …],
                          "trajectories": [the questions that no earlier file holds]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.errors import InputError, PlanError, StoreError
from carve_stats.replay.files import create_file
from carve_stats.replay.trajectories import Trajectory

__all__ = ["Extent"]


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
        """
        while (path := _path(directory, self.files + 1)).exists():
            try:
                request = msgspec.json.decode(path.read_bytes())
                trajectories = [Trajectory.from_dict(t) for t in request["trajectories"]]
                self._add(request["k"], request["questions"], trajectories)
            except (msgspec.DecodeError, InputError, KeyError, TypeError) as error:
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
            if kept is not None and kept != asked and kept.sha256 != asked.sha256:
                before, after = kept.to_dict(), asked.to_dict()
                names = [n for n in {**before, **after} if before.get(n) != after.get(n)]
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
            if create_file(_path(directory, self.files + 1), msgspec.json.encode(request)):
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


def _path(directory: Path, number: int) -> Path:
    return directory / f"{number:04d}.json"
