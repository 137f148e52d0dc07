"""`ReplyCells`: what the independence report needs of a run's records, in one pass over them.

A cell is a question in a condition. Of a cell a few numbers are kept, and no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from carve_stats.replay.flip_table import FlipTable
from carve_stats.replay.records import Replay

__all__ = ["Cell", "ReplyCells"]


@dataclass(slots=True)
class Cell:
    """The replies of one question in one condition.

    Parameters
    ----------
    repetitions : int
        Those with a reply: a failure to reach the agent is none.
    draws : int
        Those with a reply that does not say that it comes from a cache.
    valid : int
        Replies with an answer, none from a cache.
    first : int
        Hash of the first of these, text and answer.
    differs : bool
        Whether another of them is not the same.
    answers : Counter or None
        How often each answer was given; kept for SELF only.
    prompts : dict or None
        From the hash of the frames shown to that of the first reply, where that is kept.
    """

    repetitions: int = 0
    draws: int = 0
    valid: int = 0
    first: int = 0
    differs: bool = False
    answers: Counter[str] | None = None
    prompts: dict[int, int] | None = None


class ReplyCells:
    """Takes the records of a run one by one, in any order.

    Parameters
    ----------
    options : mapping of str to mapping
        Of each question the options, label to text.
    declared : bool or None
        Whether the agent declares its replies to one prompt to vary. Where it does not, the replies
        to each prompt are compared, which takes memory for each prompt: of one that declares
        nothing only until the first two differ.
    attempts : int
        How often a repetition is put to the agent at most.
    """

    def __init__(
        self,
        options: Mapping[str, Mapping[str, str]],
        *,
        declared: bool | None,
        attempts: int,
    ) -> None:
        self.options = options
        self._declared = declared
        # With one attempt each record is a repetition of its own.
        self._replied = FlipTable() if attempts > 1 else None
        self._drawn = FlipTable() if attempts > 1 else None
        self.cells: dict[tuple[str, str], Cell] = {}
        self.frozen: dict[str, str] = {}
        self.replies: Counter[str] = Counter()
        self.from_cache: Counter[str] = Counter()
        self.repeated = self.varied = 0  # replies to a prompt that had one, and unlike the first

    def add(self, replay: Replay) -> None:
        """Take a record; each replay and attempt once.

        Parameters
        ----------
        replay : Replay
            The record.
        """
        if replay.status == "transport_error":
            return
        question, condition = replay.question_id, replay.condition
        cell = self.cells.get((question, condition))
        if cell is None:
            cell = self.cells[question, condition] = Cell()
            self.frozen[question] = replay.reference_answer
        self.replies[condition] += 1
        repetition = question, condition, replay.repetition, 0
        cell.repetitions += self._replied is None or self._replied.add(repetition, None)
        if replay.from_cache:
            self.from_cache[condition] += 1
            return
        cell.draws += self._drawn is None or self._drawn.add(repetition, None)
        said = hash((replay.text, replay.answer))
        if self._declared is False or (self._declared is None and not self.varied):
            self._compare(cell, hash(replay.evidence_sha256), said)
        if replay.answer is None:
            return
        cell.valid += 1
        if cell.valid == 1:
            cell.first = said
        elif said != cell.first:
            cell.differs = True
        if condition == "self":
            if cell.answers is None:
                cell.answers = Counter()
            cell.answers[replay.answer] += 1

    def _compare(self, cell: Cell, prompt: int, said: int) -> None:
        if cell.prompts is None:
            cell.prompts = {}
        if prompt not in cell.prompts:
            cell.prompts[prompt] = said
            return
        self.repeated += 1
        if cell.prompts[prompt] != said:
            self.varied += 1
            if self._declared is None:
                for other in self.cells.values():
                    other.prompts = None
