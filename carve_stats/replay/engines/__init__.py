"""Engines, one a file: who makes the replays, and how many at a time.

The records of a run are the same whichever makes them, but for their times.
"""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from carve_stats.errors import InputError, unknown_name
from carve_stats.replay.protocols import Agent
from carve_stats.replay.replaying import Replayer, is_coroutine_function
from carve_stats.replay.work import Work

__all__ = ["ENGINES", "Engine", "choose_engine", "run_engine"]

_log = logging.getLogger(__name__)

ENGINES = ("local", "ray")
"""What `choose_engine` knows."""


class Engine(Protocol):
    """Makes all the replays of some work."""

    def run(self, replayer: Replayer, work: Work) -> None:
        """Return when no replay is left to be made; what fails is raised, or told to `work`."""
        ...


def choose_engine(name: str, agent: Agent, *, workers: int) -> Engine:
    """Make the engine that an agent needs.

    Parameters
    ----------
    name : str
        ``local`` or ``ray``.
    agent : Agent
        A local engine has threads for an agent that is a plain callable, and one event loop for
        a coroutine function.
    workers : int
        How many replays are made at a time.

    Returns
    -------
    Engine
        For `run_engine`.

    Raises
    ------
    InputError
        An unknown name, or an agent that the engine cannot use.
    MissingExtraError
        Ray is not installed.
    """
    if name == "ray":
        from carve_stats.replay.engines.ray import RayEngine

        return RayEngine(workers, agent)
    if name != "local":
        raise InputError(unknown_name("engine", name, ENGINES))
    if is_coroutine_function(agent):
        from carve_stats.replay.engines.coroutines import CoroutineEngine

        return CoroutineEngine(workers)
    from carve_stats.replay.engines.threads import ThreadEngine

    return ThreadEngine(workers)


def run_engine(engine: Engine, replayer: Replayer, work: Work) -> None:
    """Let an engine do some work in threads of its own, so that it can be interrupted.

    Parameters
    ----------
    engine : Engine
        The engine.
    replayer : Replayer
        What makes a replay.
    work : Work
        The replays.

    Raises
    ------
    KeyboardInterrupt
        After what was begun is stored. A second interrupt does not wait for it.
    """
    ended = threading.Event()

    def run() -> None:
        try:
            engine.run(replayer, work)
        except BaseException as error:
            work.fail(error)
        finally:
            ended.set()

    # A second interrupt must be able to end the process while an agent hangs.
    threading.Thread(target=run, name="replay-engine", daemon=True).start()
    try:
        # Not Thread.join: an interrupted one takes the thread to have ended (in 3.11).
        ended.wait()
    except KeyboardInterrupt:
        work.stop()
        _log.warning("interrupted: waiting for the replays in flight; again to stop at once")
        ended.wait()
        raise
    if work.failures:
        raise work.failures[0]
