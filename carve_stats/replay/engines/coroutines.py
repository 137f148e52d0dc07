"""One event loop, for agents that are coroutine functions."""

from __future__ import annotations

import asyncio

from carve_stats.replay.replaying import Concurrently, Replayer
from carve_stats.replay.work import EvidenceShelf, Work

__all__ = ["CoroutineEngine"]

_LOOK_EVERY = 1.0
_GRACE = 30.0  # seconds for what is in flight when something fails


class CoroutineEngine:
    """As many replays in flight as are made at a time, in one event loop.

    Parameters
    ----------
    workers : int
        How many.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run(self, replayer: Replayer, work: Work) -> None:
        """Make all replays of some work.

        Parameters
        ----------
        replayer : Replayer
            What makes a replay.
        work : Work
            The replays.
        """
        asyncio.run(self._run(replayer, work))

    async def _run(self, replayer: Replayer, work: Work) -> None:
        waiting = Concurrently()
        replayer.waiting = waiting
        shelf = EvidenceShelf(replayer.load, places=self._workers)

        async def take_lanes() -> None:
            try:
                while (lane := work.next_lane()) is not None:
                    trajectory = lane.trajectory
                    stored = ()
                    if trajectory.evidence:
                        stored = await waiting.call(shelf.take, trajectory)
                    for condition, repetition, attempt in work.replays(lane):
                        work.add(
                            await replayer.replay(
                                trajectory, stored, condition, repetition, attempt
                            )
                        )
            except BaseException as error:
                work.fail(error)

        lanes = [asyncio.create_task(take_lanes()) for _ in range(min(self._workers, work.left))]
        try:
            while lanes:
                # What fails is told to the work, so that no task ends for another.
                _, waiting_lanes = await asyncio.wait(lanes, timeout=_LOOK_EVERY)
                lanes = list(waiting_lanes)
                if work.failures and lanes:
                    # One that waits for a server to let it go on could wait for minutes.
                    _, late = await asyncio.wait(lanes, timeout=_GRACE)
                    for lane in late:
                        lane.cancel()
        finally:
            # Connections belong to the event loop that they were made in.
            close = getattr(replayer.agent, "aclose", None)
            if close is not None:
                await close()
