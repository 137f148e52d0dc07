"""Ray, for replays on many machines: each is a task, and its record comes back to one writer.

The agent is pickled, and its workers need this package, the agent's modules and the media at the
same paths. A worker that dies takes with it the replay that it was making, which is made again.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from carve_stats.errors import AgentError, InputError, MissingExtraError, one_line
from carve_stats.replay.protocols import Agent
from carve_stats.replay.records import Replay
from carve_stats.replay.replaying import InThread, Replayer, finished
from carve_stats.replay.trajectories import Trajectory
from carve_stats.replay.work import EvidenceShelf, Lane, Work

__all__ = ["RayEngine"]


class RayEngine:
    """Tasks of a Ray cluster: the one that RAY_ADDRESS names or that runs here, or a new one.

    Parameters
    ----------
    workers : int
        How many replays are made at a time; each has as large a share of a processor as lets so
        many be made.
    agent : Agent
        What is sent to the workers.

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    InputError
        An agent that cannot be pickled.
    """

    def __init__(self, workers: int, agent: Agent) -> None:
        self._ray = _import_ray()
        self._workers = workers
        _pickled(agent, agent)

    def run(self, replayer: Replayer, work: Work) -> None:
        """Make all replays of some work.

        Parameters
        ----------
        replayer : Replayer
            What makes a replay.
        work : Work
            The replays.
        """
        ray = self._ray
        packed = _packed(replayer)
        begun_here = not ray.is_initialized()
        if begun_here:
            # Its workers' output would be between the lines of ours.
            try:
                ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
            except Exception as error:
                raise InputError(
                    f"engine='ray': no cluster can be used ({one_line(error):.300}): check"
                    " RAY_ADDRESS, and what the cluster wants for authentication"
                ) from None
        try:
            processors = ray.cluster_resources().get("CPU", 1.0)
            task = ray.remote(num_cpus=min(1.0, processors / self._workers))(_replay)
            _make_all(ray, task, ray.put(packed), work, at_a_time=self._workers)
        finally:
            if begun_here:
                ray.shutdown()


_Step = Iterator[tuple[str, int, int]]


def _make_all(ray: Any, task: Any, packed: Any, work: Work, *, at_a_time: int) -> None:
    pending: dict[Any, tuple[Lane, _Step]] = {}

    def begin(lane: Lane, replays: _Step) -> None:
        step = next(replays, None)
        if step is not None:
            pending[task.remote(packed, lane.trajectory, *step)] = lane, replays

    while True:
        while len(pending) < at_a_time and (lane := work.next_lane()) is not None:
            begin(lane, work.replays(lane))
        if not pending:
            return
        [done], _ = ray.wait(list(pending), num_returns=1)
        lane, replays = pending.pop(done)
        try:
            work.add(_result(ray, done, lane))
        except BaseException as error:  # what others are making is still waited for
            work.fail(error)
        begin(lane, replays)


def _result(ray: Any, done: Any, lane: Lane) -> Replay:
    try:
        replay: Replay = ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise AgentError(
            f"agent: its Ray worker died again and again on question"
            f" {lane.trajectory.question_id!r}: {one_line(error):.200}"
        ) from None
    return replay


def _packed(replayer: Replayer) -> bytes:
    """The replayer as bytes, with where its modules are found."""
    sent = copy.copy(replayer)
    del sent.waiting  # belongs to this process
    # Twice, since the inner one can be read only where the modules are found.
    return _pickled((list(sys.path), _pickled(sent, replayer.agent)), replayer.agent)


def _pickled(value: Any, agent: Agent) -> bytes:
    from ray import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise InputError(
            f"agent {agent!r:.80} cannot be sent to other processes ({one_line(error):.200}):"
            " engine='ray' needs an agent that can be pickled, such as a function of a module"
        ) from None


_unpacked: dict[bytes, tuple[Replayer, EvidenceShelf]] = {}


def _replay(
    packed: bytes, trajectory: Trajectory, condition: str, repetition: int, attempt: int
) -> Replay:
    """Runs in a worker, which keeps the agent from one replay to the next."""
    key = sha256(packed).digest()
    if key not in _unpacked:
        import pickle

        path, sent = pickle.loads(packed)
        sys.path += [place for place in path if place not in sys.path]
        replayer: Replayer = pickle.loads(sent)
        replayer.waiting = InThread()
        _unpacked.clear()
        _unpacked[key] = replayer, EvidenceShelf(replayer.load, places=2)
    replayer, shelf = _unpacked[key]
    stored = shelf.take(trajectory)
    return finished(replayer.replay(trajectory, stored, condition, repetition, attempt))


def _import_ray() -> Any:
    # Ray asks the network for nothing, unless the user lets it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtraError(
            "engine='ray' needs Ray, which is not installed: pip install 'carve-stats[ray]'"
        ) from None
    return ray
