"""`canary`: a few requests before a run, which tell whether pictures reach the agent at all.

A cache that is keyed by the text, or a server that drops pictures, gives the same reply to SHAM and
DESTROY: every score of the run is then zero, and nothing in its records says why.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

from carve_stats.errors import AgentError
from carve_stats.replay.independence.canary_pairs import NO_ROOM, CanaryPairs
from carve_stats.replay.independence.canary_report import (
    CanaryReport,
    keep_canary,
    keep_spent,
    read_canary,
)
from carve_stats.replay.independence.new_draws import declared_stochastic
from carve_stats.replay.replaying import (
    Concurrently,
    InThread,
    Replayer,
    finished,
    is_coroutine_function,
)
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

__all__ = ["canary", "send_canary"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


def send_canary(
    run: RunStore,
    replayer: Replayer,
    trajectories: Sequence[Trajectory],
    *,
    mode: str,
    affords: Callable[[CanaryReport], bool] | None = None,
) -> CanaryReport | None:
    """Send the canary of a run, if it has sent none, and say or do what follows from it.

    Parameters
    ----------
    run : RunStore
        The run. What is found is kept in its directory.
    replayer : Replayer
        What makes its replays.
    trajectories : sequence of Trajectory
        The questions that are about to be replayed.
    mode : str
        ``stop``: one that fails raises an error. ``warn``: it is logged. ``off``: none is sent.
    affords : callable, optional
        Whether one more call may be made, after those of a report.

    Returns
    -------
    CanaryReport or None
        What was found, now or when the run began; None where none was ever sent. Where there
        are no pictures that is not kept, since questions to come may have some.

    Raises
    ------
    AgentError
        It failed, and `mode` is ``stop``; or the agent could not be reached. What it cost is kept,
        as it is whatever else ends it, and the same command sends it again, unless the run began
        in spite of it.
    """
    found = read_canary(run.path)
    if mode == "off" or (found is not None and found.passed):
        return found
    kept = found is not None
    if found is None:
        declared = declared_stochastic(run.plan.agent)
        found = _send(run, replayer, trajectories, declared=declared, affords=affords)
        if found.passed and not found.calls:
            return found
        if found.passed is None or (found.passed is False and mode == "stop"):
            keep_spent(run.path, found)
    if found.passed is False and mode == "stop":
        mend = (
            "the run began in spite of it, and its replays may be copies: give another store"
            if kept
            else "mend it, or give canary='warn' (--canary warn) to go on all the same"
        )
        raise AgentError(f"the canary failed: {'; '.join(found.reasons)}: {mend}")
    if found.passed is None:
        raise AgentError(f"{found}: {_mend(found)}")
    if not kept:
        found = keep_canary(run.path, found)
    if not found.passed or found.notes:
        _log.warning("%s", found)
    return found


def _send(
    run: RunStore,
    replayer: Replayer,
    trajectories: Sequence[Trajectory],
    *,
    declared: bool | None,
    affords: Callable[[CanaryReport], bool] | None,
) -> CanaryReport:
    """Send a canary; of one that an error ends, what it has spent is kept."""
    sent = CanaryReport(passed=None)

    def noting(report: CanaryReport) -> bool:
        nonlocal sent
        sent = report
        return affords is None or affords(report)

    try:
        return canary(replayer, trajectories, declared=declared, affords=noting)
    except BaseException:
        if sent.calls or sent.captions:
            keep_spent(run.path, replace(sent, notes=["ended by an error"]))
        raise


def _mend(found: CanaryReport) -> str:
    """What to do about a canary that decided nothing, or what the agent gave last."""
    if NO_ROOM in found.notes:
        return "raise the limit, or give canary='off' (--canary off)"
    return found.pairs[-1].replies[-1] if found.pairs else "mend it"


def canary(
    replayer: Replayer,
    trajectories: Sequence[Trajectory],
    *,
    declared: bool | None = None,
    affords: Callable[[CanaryReport], bool] | None = None,
) -> CanaryReport:
    """Find out whether pictures reach the agent, with as few calls as that takes.

    Parameters
    ----------
    replayer : Replayer
        What makes the run's replays.
    trajectories : sequence of Trajectory
        The questions; those with pictures are looked at, the first ones.
    declared : bool, optional
        Whether the agent declares that its replies to one prompt vary.
    affords : callable, optional
        Whether one more call may be made, after those of a report.

    Returns
    -------
    CanaryReport
        Usually after two calls. `passed` is None where the agent could not be reached, or no
        more calls could be afforded.

    Raises
    ------
    RenderingError, AgentError
        What the first replay would have failed with.

    Notes
    -----
    The SHAM and the DESTROY pictures of one of the first 6 questions must differ. Then the agent is
    asked in pairs: the request of a SHAM replay, and the same one with pictures of coloured patches
    in the place of its own (text, options, frozen state and seed are the same; captions are made
    anew). As soon as the replies of one pair differ, the canary has passed. It fails if those of 20
    pairs are the same. Each pair is of another question, as far as there are any, and has another
    seed. For an agent that is declared to be deterministic that is a note, since it may give one
    answer honestly. A reply that says that it comes from a cache fails it.

    An agent that gives one answer with probability p, and another one otherwise, whatever it is
    shown, fails with probability of about (p² + (1 - p)²)^20: .02 at p = .9, .14 at .95. That is no
    error: its pictures hardly matter. An agent that does not look at its pictures and draws by a
    generator of its own, not by the seed, passes: its replies differ anyhow.
    """
    pictured = [t for t in trajectories if any(item.pictured for item in t.evidence)]
    if not pictured:
        return CanaryReport(passed=True, notes=["no pictures: there is nothing to check"])
    return _apart(lambda: _drive(replayer, CanaryPairs(replayer, pictured, declared, affords).send))


def _drive(replayer: Replayer, send: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Wait for the agent in the way that it needs."""
    before = replayer.waiting
    try:
        if is_coroutine_function(replayer.agent):
            replayer.waiting = Concurrently()
            return asyncio.run(_closing(replayer, send))
        waiting = replayer.waiting = InThread()
        try:
            return finished(send())
        finally:
            waiting.close()
    finally:
        replayer.waiting = before


async def _closing(replayer: Replayer, send: Callable[[], Coroutine[Any, Any, T]]) -> T:
    try:
        return await send()
    finally:
        # Connections belong to the event loop that they were made in.
        close = getattr(replayer.agent, "aclose", None)
        if close is not None:
            await close()


def _apart(function: Callable[[], T]) -> T:
    """Call it in a thread, as an event loop may be running in this one, and a call may hang."""
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(function())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name="replay-canary", daemon=True).start()
    return result.result()
