"""Threads, for agents that are plain callables."""

from __future__ import annotations

import threading

from carve_stats.replay.replaying import InThread, Replayer, finished
from carve_stats.replay.work import EvidenceShelf, Work

__all__ = ["ThreadEngine"]


class ThreadEngine:
    """As many threads as replays are made at a time.

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
        waiting = InThread()
        replayer.waiting = waiting
        shelf = EvidenceShelf(replayer.load, places=self._workers)

        def take_lanes() -> None:
            try:
                while (lane := work.next_lane()) is not None:
                    trajectory = lane.trajectory
                    stored = shelf.take(trajectory)
                    for condition, repetition, attempt in work.replays(lane):
                        work.add(
                            finished(
                                replayer.replay(trajectory, stored, condition, repetition, attempt)
                            )
                        )
            except BaseException as error:
                work.fail(error)
            finally:
                waiting.close()

        others = [
            threading.Thread(target=take_lanes, name=f"replay-{i}", daemon=True)
            for i in range(1, min(self._workers, work.left))
        ]
        for thread in others:
            thread.start()
        take_lanes()
        for thread in others:
            thread.join()
