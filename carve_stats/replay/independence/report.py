"""`check_independence`: whether the replays of a run are new draws, from its records alone.

A cache and an honest deterministic agent look the same from outside. An alarm therefore needs a
reply that says that it comes from a cache, answers that repeat more than their own flip rates
allow, or an agent that declares its replies to vary and whose replies do not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from carve_stats.counts import CONDITIONS
from carve_stats.replay.independence.alarms import (
    ENOUGH_QUESTIONS,
    find_alarms,
    find_notes,
    find_unvaried,
)
from carve_stats.replay.independence.exchangeability import FrozenAnswerTest, frozen_answer_test
from carve_stats.replay.independence.findings import ConditionDraws, IndependenceReport
from carve_stats.replay.independence.new_draws import declared_stochastic
from carve_stats.replay.independence.reply_cells import Cell, ReplyCells
from carve_stats.replay.records import Replay
from carve_stats.replay.store import RunStore

__all__ = ["IndependenceTally", "check_independence"]


def check_independence(run: str | os.PathLike[str] | RunStore) -> IndependenceReport:
    """Report whether the replays of a run are new draws.

    Parameters
    ----------
    run : path or RunStore
        The run, which may go on.

    Returns
    -------
    IndependenceReport
        Of the records that are there. It takes one pass over them, and memory for the questions.

    Notes
    -----
    Three rules raise an alarm:

    ``from_cache``
        A reply says that it comes from a cache.
    ``repeated_answers``
        The frozen answer and the SELF answers of a question are draws of one distribution if the
        replays are independent. `frozen_answer_test` has p ≤ 0.0001: whatever the flip rates, that
        happens by chance in at most one of ten thousand looks, and in simulations in fewer than one
        of a thousand runs of 60 questions that are looked at 40 times while they go on. An agent
        that is declared to be deterministic is not tested. Where there is no copying, the frozen
        answers are those of another agent, prompt or setting.
    ``unvaried_replies``
        The agent declares that its replies to one prompt vary, and no two texts of one question
        differ, in SELF or in all conditions together, of at least 10 questions (counted in each
        condition). If pairs of replies to a question differ with probability π on average, R
        replies are all the same as the others of their questions with probability at most
        (1 - π)^(R/2), which must be at most 0.001. For SELF, π is taken to be half of what it is in
        SHAM, whose pictures are cropped by a little, and at least 0.05; for all conditions, 0.05:
        270 replies. An agent that is surer than that of all its answers raises the alarm, too.

    Copies among the replies of a part of the run are found by ``repeated_answers``, since it adds
    up all questions. Replies that repeat are no alarm by themselves, since an agent at a low
    temperature repeats itself honestly; nor are replies that differ at temperature 0.

    Examples
    --------
    >>> import tempfile
    >>> from carve_stats.replay.loop import run_replays
    >>> from carve_stats.replay.trajectories import Trajectory
    >>> questions = [Trajectory(question_id=f"q{i}", answer="A", options={"A": "yes", "B": "no"})
    ...              for i in range(12)]
    >>> with tempfile.TemporaryDirectory() as run:
    ...     _ = run_replays(lambda request: "B", questions, k=3, store=run, seed=1)
    ...     print([alarm.rule for alarm in check_independence(run).alarms])
    ['repeated_answers']
    """
    store = run if isinstance(run, RunStore) else RunStore.load(run)
    tally = IndependenceTally(store)
    for record in store.records():
        tally.add(record)
    return tally.report()


class IndependenceTally:
    """Makes the report of `independence` from records that are read for something else, too.

    Parameters
    ----------
    store : RunStore
        The run.
    """

    def __init__(self, store: RunStore) -> None:
        self.declared = declared_stochastic(store.plan.agent)
        self._found = ReplyCells(
            {t.question_id: t.options for t in store.trajectories()},
            declared=self.declared,
            attempts=store.plan.attempts,
        )

    def add(self, record: Replay) -> None:
        """Take the next record of the run."""
        self._found.add(record)

    def watch(self, records: Iterable[Replay]) -> Iterator[Replay]:
        """Take records while they are read for something else."""
        for record in records:
            self.add(record)
            yield record

    def report(self) -> IndependenceReport:
        """The report on the records so far."""
        arms = self._arms()
        same = self.declared is None and self._never_differ()
        unvaried = find_unvaried(arms) if self.declared else None
        test = None if self.declared is False else self._test_frozen_answers()
        return IndependenceReport(
            declared=self.declared,
            conditions={
                name: self._draws(
                    name,
                    cells,
                    by_prompt=same or self.declared is False,
                    one=unvaried in ("all", name),
                )
                for name, cells in arms.items()
            },
            frozen_answers=test,
            alarms=tuple(find_alarms(self._found, arms, test, declared=self.declared)),
            notes=tuple(find_notes(self._found, arms, declared=self.declared, same=same)),
        )

    @property
    def copied(self) -> str | None:
        """Which replies to one question are copies of the first, by what is declared or found.

        ``prompt``: those to one prompt. ``self``: all of SELF. ``all``: all of a condition.
        """
        if self.declared is False:
            return "prompt"
        return find_unvaried(self._arms()) if self.declared else None

    def _arms(self) -> dict[str, list[Cell]]:
        arms: dict[str, list[Cell]] = {}
        for name in CONDITIONS:
            cells = [cell for (_, arm), cell in self._found.cells.items() if arm == name]
            if cells:
                arms[name] = cells
        return arms

    def _never_differ(self) -> bool:
        """Whether there are prompts that were put twice, and none had two different replies."""
        again = sum(
            cell.prompts is not None and cell.draws > len(cell.prompts)
            for cell in self._found.cells.values()
        )
        return not self._found.varied and again >= ENOUGH_QUESTIONS

    def _test_frozen_answers(self) -> FrozenAnswerTest:
        return frozen_answer_test(
            (self._found.frozen[question], cell.answers)
            for (question, _), cell in sorted(self._found.cells.items(), key=lambda item: item[0])
            # Open answers are told apart by a function that the records do not hold.
            if cell.answers is not None and self._found.options.get(question)
        )

    def _draws(
        self, name: str, cells: Sequence[Cell], *, by_prompt: bool, one: bool
    ) -> ConditionDraws:
        new = [
            min(cell.draws, len(cell.prompts or ()) if by_prompt else 1 if one else cell.draws)
            for cell in cells
        ]
        return ConditionDraws(
            questions=len(cells),
            replays=sum(cell.repetitions for cell in cells),
            from_cache=self._found.from_cache[name],
            effective_k=sum(new) / len(new),
            fewest=min(new),
            most=max(new),
            compared=sum(cell.valid > 1 for cell in cells),
            varied=sum(cell.differs for cell in cells),
        )
