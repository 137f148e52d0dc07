"""`FlipTable`: which replays have a record, and what each gave, in about a byte a replay."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from types import EllipsisType

from carve_stats.replay.records import ReplayKey
from carve_stats.replay.stopping import Outcome

__all__ = ["FlipTable", "Lost"]


class Lost(Enum):
    """A record of a replay that no reply came to: the agent could not be reached."""

    EARLIER = "before this process began"
    NOW = "since"


_FLIPS: tuple[Outcome | Lost | EllipsisType, ...] = (
    ..., None, 0, 1, Lost.EARLIER, Lost.NOW,
)  # fmt: skip
"""What the bytes from 0 stand for."""
_NOT_MADE = 0


class FlipTable:
    """The first record of each key, by its flip. Only one thread may add at a time.

    Examples
    --------
    >>> table = FlipTable()
    >>> table.add(("q1", "sham", 2, 0), 1), table.add(("q1", "sham", 2, 0), None)
    (True, False)
    >>> table.get("q1", "sham", 2, 0), table.get("q1", "sham", 0, 0)
    (1, Ellipsis)
    """

    def __init__(self) -> None:
        # A byte for each repetition, up to the last one that has a record.
        self._rows: dict[tuple[str, str, int], bytearray] = {}
        self._records = 0

    def __len__(self) -> int:
        return self._records

    def __iter__(self) -> Iterator[ReplayKey]:
        for (question, condition, attempt), row in self._rows.items():
            for repetition, code in enumerate(row):
                if code != _NOT_MADE:
                    yield question, condition, repetition, attempt

    def add(self, key: ReplayKey, flip: Outcome | Lost) -> bool:
        """Take note of a record.

        Parameters
        ----------
        key : ReplayKey
            Question, condition, repetition and attempt.
        flip : 1, 0, None or Lost
            Whether the answer flipped; None where it is not valid.

        Returns
        -------
        bool
            False where the key has a record already, which then stays.
        """
        question, condition, repetition, attempt = key
        row = self._rows.get((question, condition, attempt))
        if row is None:
            row = self._rows[question, condition, attempt] = bytearray()
        if repetition >= len(row):
            row.extend(bytes(repetition + 1 - len(row)))
        elif row[repetition] != _NOT_MADE:
            return False
        row[repetition] = _FLIPS.index(flip)
        self._records += 1
        return True

    def get(
        self, question_id: str, condition: str, repetition: int, attempt: int
    ) -> Outcome | Lost | EllipsisType:
        """What a key's record has: a flip, None if invalid, `Lost`; ``...`` if there is none."""
        row = self._rows.get((question_id, condition, attempt))
        return _FLIPS[row[repetition]] if row is not None and repetition < len(row) else ...

    def length(self, question_id: str, condition: str) -> int:
        """One more than the last repetition whose first attempt has a record."""
        return len(self._rows.get((question_id, condition, 0), b""))
