"""`RunProgress`: what of a run is done, what it spares by stopping early, and what is to come.

It knows the records by their keys and flips only, and nothing of the files that hold them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from carve_stats.errors import StoreError
from carve_stats.replay.extent import Extent
from carve_stats.replay.flip_table import FlipTable, Lost
from carve_stats.replay.records import ReplayKey
from carve_stats.replay.stopping import Decider, Outcome, Walk

if TYPE_CHECKING:
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["RunProgress", "RunStatus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """How far a run has come.

    Parameters
    ----------
    planned : int
        Replays that the run was ever asked for: for each question and condition the largest
        k. Asking for fewer later takes nothing back.
    done : int
        Replays that need no further attempt: ``valid + invalid``.
    valid, invalid : int
        Of those, how many have a valid answer in some attempt, and how many in none.
    attempts : int
        Different records.
    duplicates : int
        Further records of a replay that has one already, as two processes at once make them.
    torn_lines : int
        Last lines that a killed writer left unfinished; their replays are made again.
    spared : int
        Replays that will not be made, since their questions stop early: a finished run has
        ``done + spared == planned``. 0 for a run without a stopping plan.
    stopped : int
        Questions that some are spared of.
    questions : int
        All questions of the run.
    lost : int
        Replays that are not done, and that no reply came to so far, since the agent could not be
        reached: the same command asks again.

    Examples
    --------
    >>> print(RunStatus(planned=9, done=9, valid=8, invalid=1, attempts=9, duplicates=0,
    ...                 torn_lines=0))
    9 of 9 replays done (8 valid, 1 invalid)
    """

    planned: int
    done: int
    valid: int
    invalid: int
    attempts: int
    duplicates: int
    torn_lines: int
    spared: int = 0
    stopped: int = 0
    questions: int = 0
    lost: int = 0

    @property
    def finished(self) -> bool:
        """Whether no replay is still to come."""
        return self.done + self.spared == self.planned

    def to_dict(self) -> dict[str, int]:
        """The figures by name, and whether the run is finished."""
        return {**asdict(self), "finished": self.finished}

    def __str__(self) -> str:
        text = f"{self.done} of {self.planned} replays done"
        text += f" ({self.valid} valid, {self.invalid} invalid)"
        if self.spared:
            questions = "question" if self.stopped == 1 else "questions"
            text += f"; {self.spared} spared: {self.stopped} {questions} stopped early"
        if self.lost:
            text += f"; {self.lost} got no reply: the same command asks again"
        if self.duplicates:
            text += f"; {self.duplicates} duplicate records not used (two processes at once?)"
        if self.torn_lines:
            lines = "line" if self.torn_lines == 1 else "lines"
            text += f"; {self.torn_lines} unfinished {lines} not used"
        return text


class RunProgress:
    """The records that a run has, by key and flip, against what it was asked for.

    Parameters
    ----------
    extent : Extent
        What the run was asked for; read afresh at each question, as it may grow.
    attempts : int
        How often a repetition is put to the agent at most.
    stopping : StoppingPlan, optional
        The plan by which the run stops questions early; every replay is made if not given.

    Examples
    --------
    >>> extent = Extent(k={"q1": {"sham": 2}})
    >>> progress = RunProgress(extent, attempts=2)
    >>> progress.add(("q1", "sham", 0, 0), None)
    >>> progress.next_attempt("q1", "sham", 0)
    1
    >>> progress.add(("q1", "sham", 0, 1), 1)
    >>> progress.outcomes("q1", "sham")
    [1]
    >>> print(progress.status())
    1 of 2 replays done (1 valid, 0 invalid)
    """

    def __init__(
        self, extent: Extent, *, attempts: int, stopping: StoppingPlan | None = None
    ) -> None:
        self._extent = extent
        self._attempts = attempts
        self._decider = None if stopping is None else Decider(stopping)
        self._lock = threading.Lock()
        self._flips = FlipTable()
        self._lost = Lost.EARLIER
        self._duplicates = 0
        self._torn = 0

    def begin(self) -> None:
        """Take what is added from now on for this process's own."""
        self._lost = Lost.NOW

    def add(self, key: ReplayKey, flip: Outcome, *, lost: bool = False) -> None:
        """Take note of a record; a second one of the same key is a duplicate, and not used.

        Parameters
        ----------
        key : ReplayKey
            Question, condition, repetition and attempt.
        flip : 1, 0 or None
            Whether the answer flipped; None where it is not valid.
        lost : bool
            Whether no reply came, as the agent could not be reached. In a run that stops
            questions early that is an invalid replay like others: what came after rests on it.
        """
        with self._lock:
            kept = self._lost if lost and self._decider is None else flip
            self._duplicates += not self._flips.add(key, kept)

    def add_torn_line(self) -> None:
        """Take note of a line that a killed writer left unfinished."""
        self._torn += 1

    def completed(self) -> set[ReplayKey]:
        """The keys of all records added so far."""
        with self._lock:
            return set(self._flips)

    def next_attempt(self, question_id: str, condition: str, repetition: int) -> int | None:
        """The attempt that a replay still needs.

        Parameters
        ----------
        question_id, condition : str
            The question and the condition.
        repetition : int
            From 0.

        Returns
        -------
        int or None
            The first attempt without a record; None where an attempt gave a valid answer or
            none is left. Attempts that were lost before this process began are not counted.
        """
        tries = attempt = 0
        while (flip := self._flips.get(question_id, condition, repetition, attempt)) is not ...:
            if isinstance(flip, int):
                return None
            tries += flip is not Lost.EARLIER
            attempt += 1
        return attempt if tries < self._attempts else None

    def outcomes(self, question_id: str, condition: str) -> list[Outcome]:
        """What the repetitions of a question gave, up to the first that is not finished.

        Parameters
        ----------
        question_id, condition : str
            The question and the condition.

        Returns
        -------
        list of 1, 0 or None
            Of the repetitions 0, 1, …: whether the first valid attempt flipped; None where no
            attempt is left and none was valid.
        """
        found: list[Outcome] = []
        while self.next_attempt(question_id, condition, len(found)) is None:
            found.append(self._outcome(question_id, condition, len(found)))
        return found

    def walk(self, question_id: str) -> Walk:
        """How far a question of a run with a stopping plan has come, and what it needs next.

        Parameters
        ----------
        question_id : str
            The question.

        Returns
        -------
        Walk
            As `Decider.walk` gives it.
        """
        if self._decider is None:
            raise StoreError(
                f"question {question_id!r}: its run has no stopping plan: every replay is made"
            )
        sham, destroy = (self.outcomes(question_id, c) for c in ("sham", "destroy"))
        return self._decider.walk(sham, destroy)

    def count_spared(self, question_id: str) -> int:
        """How many of the replays asked for a question will not be made.

        Parameters
        ----------
        question_id : str
            The question.

        Returns
        -------
        int
            0 while the question goes on, and without a stopping plan.
        """
        if self._decider is None or self.walk(question_id).next_condition is not None:
            return 0
        k = self._extent.k.get(question_id, {})
        return sum(
            self.next_attempt(question_id, condition, repetition) is not None
            for condition in ("sham", "destroy")
            for repetition in range(k.get(condition, 0))
        )

    def status(self) -> RunStatus:
        """How far the run has come, by the records added so far."""
        done, valid, lost = self._count(self._extent.k)
        spared = [self.count_spared(question) for question in self._extent.k]
        return RunStatus(
            planned=self._extent.planned(),
            done=done,
            valid=valid,
            invalid=done - valid,
            attempts=len(self._flips),
            duplicates=self._duplicates,
            torn_lines=self._torn,
            spared=sum(spared),
            stopped=sum(n > 0 for n in spared),
            questions=len(self._extent.k),
            lost=lost,
        )

    def count_done(self, asked: Mapping[str, Mapping[str, int]]) -> tuple[int, int]:
        """How many of some replays need no further attempt.

        Parameters
        ----------
        asked : mapping of str to mapping
            For each question the replays in each condition.

        Returns
        -------
        (int, int)
            All of them, and those with a valid answer. It takes as long as there are questions
            and records, whatever k was asked for.
        """
        done, valid, _ = self._count(asked)
        return done, valid

    def _count(self, asked: Mapping[str, Mapping[str, int]]) -> tuple[int, int, int]:
        done = valid = lost = 0
        for question, counts in asked.items():
            for condition, count in counts.items():
                for repetition in range(min(count, self._flips.length(question, condition))):
                    flips = list(self._attempts_made(question, condition, repetition))
                    if any(isinstance(flip, int) for flip in flips):
                        valid += 1
                        done += 1
                    elif flips.count(None) >= self._attempts:
                        done += 1
                    else:
                        lost += any(isinstance(flip, Lost) for flip in flips)
        return done, valid, lost

    def _attempts_made(
        self, question_id: str, condition: str, repetition: int
    ) -> Iterator[Outcome | Lost]:
        for attempt in itertools.count():
            flip = self._flips.get(question_id, condition, repetition, attempt)
            if flip is ...:
                return
            yield flip

    def _outcome(self, question_id: str, condition: str, repetition: int) -> Outcome:
        """The flip of a repetition's first valid attempt; None where no attempt was valid."""
        for flip in self._attempts_made(question_id, condition, repetition):
            if isinstance(flip, int):
                return flip
        return None
