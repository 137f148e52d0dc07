"""`Work`: the replays that a run does not have yet, handed out to an engine piece by piece.

An engine makes the replays of a `Lane` one after the other, and those of several lanes at a time.
What it made it gives back, to be stored; which replay comes next in a lane may depend on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from itertools import chain
from typing import NamedTuple

from carve_stats.errors import AgentError
from carve_stats.replay.costs.limits import SpendLimit
from carve_stats.replay.protocols import Evidence
from carve_stats.replay.records import LOST, Replay
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

__all__ = ["EvidenceShelf", "Lane", "Work"]

_FAILURES_IN_A_ROW = 20


class Lane(NamedTuple):
    """Replays of one question that are made one after the other.

    Parameters
    ----------
    trajectory : Trajectory
        The question.
    steps : iterator of (str, int)
        Condition and repetition; each is asked for when the one before is stored.
    walked : bool
        Whether what comes next depends on what came before.
    """

    trajectory: Trajectory
    steps: Iterator[tuple[str, int]]
    walked: bool = False


class Work:
    """Hands out what is to be made, and stores what was. Threads may share it.

    Parameters
    ----------
    store : RunStore
        Where records go.
    trajectories : sequence of Trajectory
        The questions.
    k : mapping of str to int
        Replays of each question, by condition.
    progress : callable, optional
        Called with the number of replays done and the number asked for.
    limit : SpendLimit, optional
        What the run may spend; it has begun.
    """

    def __init__(
        self,
        store: RunStore,
        trajectories: Sequence[Trajectory],
        k: Mapping[str, int],
        progress: Callable[[int, int], None] | None = None,
        *,
        limit: SpendLimit | None = None,
    ) -> None:
        self._store = store
        self._k = k
        self._tell = progress
        self._limit = limit
        self._held: list[Lane] = []
        self._held_at = -1
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._failed_in_a_row = 0
        self.failures: list[BaseException] = []
        self._total = len(trajectories) * sum(k.values())
        self._done, _ = store.progress.count_done({t.question_id: k for t in trajectories})
        self._done += sum(store.progress.count_spared(t.question_id) for t in trajectories)
        self._lanes = self._all_lanes(trajectories if self._done < self._total else ())
        if progress is not None:
            progress(self._done, self._total)

    @property
    def left(self) -> int:
        """How many replays are still to be made, or spared."""
        return self._total - self._done

    @property
    def held(self) -> bool:
        """Whether the limit holds replays back."""
        return bool(self._held)

    def next_lane(self) -> Lane | None:
        """A lane that nobody has; None where none is left, or no more is to be made now."""
        with self._lock:
            if self._stopped.is_set():
                return None
            if self._limit is not None and self._held:
                # What a replay in flight leaves over may be enough for another: whoever makes it
                # asks again, so that the last to ask is not refused for what another has reserved.
                return None if self._held_at == self._limit.settled else self._held.pop()
            return next(self._lanes, None)

    def replays(self, lane: Lane) -> Iterator[tuple[str, int, int]]:
        """What is to be made in a lane, each when what came before it is stored.

        Parameters
        ----------
        lane : Lane
            From `next_lane`.

        Yields
        ------
        (str, int, int)
            Condition, repetition and attempt. It ends early where no more is to be made.
        """
        next_attempt = self._store.progress.next_attempt
        question = lane.trajectory.question_id
        spared = self._store.progress.count_spared(question) if lane.walked else 0
        for condition, repetition in lane.steps:
            while (attempt := next_attempt(question, condition, repetition)) is not None:
                if self._stopped.is_set():
                    return
                if self._limit is not None:
                    settled = self._limit.settled
                    if not self._limit.admits((question, condition, repetition, attempt)):
                        self._hold(lane, (condition, repetition), settled)
                        return
                yield condition, repetition, attempt
            self._count(1)
        if lane.walked:
            self._count(self._store.progress.count_spared(question) - spared)

    def add(self, replay: Replay) -> None:
        """Store a replay.

        Parameters
        ----------
        replay : Replay
            Of the lane that its maker has.

        Raises
        ------
        AgentError
            The agent could not be reached for many replays in a row, or what the replay cost cannot
            be known and there is a limit to it.
        """
        self._store.append(replay)
        if self._limit is not None:
            self._limit.add(replay)
        if replay.status != LOST:
            self._failed_in_a_row = 0
            return
        with self._lock:
            self._failed_in_a_row += 1
        if self._failed_in_a_row >= _FAILURES_IN_A_ROW:
            raise AgentError(
                f"agent could not be reached for {_FAILURES_IN_A_ROW} replays in a row, the last"
                f" of question {replay.question_id!r}: {replay.text[:200]}; mend it, and the"
                " same command asks again"
            )

    def fail(self, error: BaseException) -> None:
        """End all work for an error.

        Parameters
        ----------
        error : BaseException
            The first one is what the run fails with.
        """
        self.failures.append(error)
        self.stop()

    def stop(self) -> None:
        """Hand out no more; what is being made may still be added."""
        self._stopped.set()

    def _all_lanes(self, trajectories: Sequence[Trajectory]) -> Iterator[Lane]:
        progress = self._store.progress
        stopping = self._store.stopping is not None
        fixed = {c: n for c, n in self._k.items() if c == "self" or not stopping}
        for trajectory in trajectories:
            question = trajectory.question_id
            # A repetition's SHAM and DESTROY stand together, so that a run that is interrupted
            # has both arms.
            for repetition in range(max(fixed.values(), default=0)):
                for condition, count in fixed.items():
                    if repetition < count and (
                        progress.next_attempt(question, condition, repetition) is not None
                    ):
                        yield Lane(trajectory, iter(((condition, repetition),)))
            if stopping:
                yield Lane(trajectory, self._walk(question), walked=True)

    def _walk(self, question: str) -> Iterator[tuple[str, int]]:
        while (walk := self._store.progress.walk(question)).next_condition is not None:
            yield walk.next_condition, walk.sham if walk.next_condition == "sham" else walk.destroy

    def _hold(self, lane: Lane, step: tuple[str, int], settled: int) -> None:
        with self._lock:
            self._held.append(lane._replace(steps=chain((step,), lane.steps)))
            self._held_at = settled

    def _count(self, replays: int) -> None:
        if replays:
            with self._lock:
                self._done += replays
                if self._tell is not None:
                    self._tell(self._done, self._total)


class EvidenceShelf:
    """The evidence of the questions in hand, each loaded once. Threads may share it.

    Parameters
    ----------
    load : callable
        Gives the evidence of a trajectory.
    places : int
        How many questions are kept.
    """

    def __init__(self, load: Callable[[Trajectory], tuple[Evidence, ...]], *, places: int) -> None:
        self._load = load
        self._places = places
        self._lock = threading.Lock()
        self._kept: dict[str, Future[tuple[Evidence, ...]]] = {}

    def take(self, trajectory: Trajectory) -> tuple[Evidence, ...]:
        """The evidence of a question; loads it, or waits for who is loading it.

        Parameters
        ----------
        trajectory : Trajectory
            The question.

        Returns
        -------
        tuple of Evidence
            What SELF shows.
        """
        if not trajectory.evidence:
            return ()
        with self._lock:
            kept = self._kept.get(trajectory.question_id)
            if kept is None:
                mine = self._kept[trajectory.question_id] = Future()
                if len(self._kept) > self._places:
                    del self._kept[next(iter(self._kept))]
        if kept is not None:
            return kept.result()
        try:
            mine.set_result(self._load(trajectory))
        except BaseException as error:
            mine.set_exception(error)
        return mine.result()
