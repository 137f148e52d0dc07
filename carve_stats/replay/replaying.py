"""One replay: the request that an agent is given, and the record that its reply becomes."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import msgspec

from carve_stats.errors import AgentError, InputError, one_line
from carve_stats.replay.parsing import TRANSPORT_MARK
from carve_stats.replay.protocols import Agent, Evidence, Rendering, ReplayReply, ReplayRequest
from carve_stats.replay.records import Replay, ReplayKey
from carve_stats.replay.redaction import redact
from carve_stats.replay.rendering import EvidenceRenderer, RenderingError, hash_frames
from carve_stats.replay.replies import judge_reply, plain_reply, plain_text, plain_transport
from carve_stats.replay.seeds import evidence_seed, replay_seed
from carve_stats.replay.trajectories import Trajectory

__all__ = [
    "Concurrently",
    "InThread",
    "Replayer",
    "Waiting",
    "finished",
    "is_coroutine_function",
    "reply_of_failure",
]

T = TypeVar("T")

# Known by the names of their classes and bases, so that no client library is imported. An
# HTTPError is an URLError, but one that the server did answer.
_TRANSPORT_FAILURES = frozenset(
    ("ConnectionError", "TimeoutError", "gaierror", "URLError", "APIConnectionError",
     "APITimeoutError", "ConnectError", "ConnectTimeout", "ReadTimeout")
)  # fmt: skip
_ANSWERED = frozenset(("HTTPError",))


class Waiting(Protocol):
    """How a replay waits for what takes time."""

    async def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """What a function gives, or the coroutine that it gives."""
        ...


class InThread:
    """Waits where it stands: a replay has a thread of its own.

    A coroutine that an agent gives is run to its end by an event loop of the thread.
    """

    def __init__(self) -> None:
        self._threads = threading.local()

    async def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """What a function gives, or the coroutine that it gives."""
        value = function(*args, **kwargs)
        if isinstance(value, str | ReplayReply) or not inspect.isawaitable(value):
            return value
        runner: asyncio.Runner | None = getattr(self._threads, "runner", None)
        if runner is None:
            runner = self._threads.runner = asyncio.Runner()
        return runner.run(_awaited(value))

    def close(self) -> None:
        """Close the event loop of this thread, if it has one."""
        runner: asyncio.Runner | None = self._threads.__dict__.pop("runner", None)
        if runner is not None:
            runner.close()


class Concurrently:
    """Waits while others go on, in one event loop; what is no coroutine has a thread."""

    async def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """What a function gives, or the coroutine that it gives."""
        if is_coroutine_function(function):
            return await function(*args, **kwargs)
        value = await asyncio.to_thread(function, *args, **kwargs)
        return await value if inspect.isawaitable(value) else value


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine, as far as that can be seen before."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 (an object's, not whether it has one)
    )


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, as every one does under `InThread`.

    Parameters
    ----------
    coroutine : coroutine
        Of a `Replayer`.

    Returns
    -------
    object
        What it returns.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise RuntimeError("the coroutine waits: it needs an event loop")


class Replayer:
    """What all replays of a run share. It can be sent to another process, if its agent can.

    Parameters
    ----------
    agent : callable
        The agent.
    renderer : EvidenceRenderer
        What prepares its evidence.
    run_id : str
        The run's name in its records.
    seed : int
        The run's seed.
    equal : callable, optional
        Whether two open answers are the same.
    stopping : str, optional
        The sha256 of the plan by which the run stops questions early.
    waiting : Waiting, optional
        How it waits for the agent; `InThread` if not given.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        renderer: EvidenceRenderer,
        run_id: str,
        seed: int,
        equal: Callable[[str, str], bool] | None = None,
        stopping: str | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self.agent = agent
        self.waiting = InThread() if waiting is None else waiting
        self._renderer = renderer
        self._run_id = run_id
        self._seed = seed
        self._equal = equal
        self._stopping = stopping

    def load(self, trajectory: Trajectory) -> tuple[Evidence, ...]:
        """Load a question's evidence as it is stored.

        Parameters
        ----------
        trajectory : Trajectory
            The question.

        Returns
        -------
        tuple of Evidence
            What SELF shows.
        """
        return self._renderer.load(trajectory)

    async def request(
        self,
        trajectory: Trajectory,
        stored: tuple[Evidence, ...],
        condition: str,
        repetition: int,
        attempt: int,
    ) -> ReplayRequest:
        """What the agent is given for one replay.

        Parameters
        ----------
        trajectory : Trajectory
            The question.
        stored : tuple of Evidence
            Its evidence, as `load` gives it.
        condition : str
            ``self``, ``sham`` or ``destroy``.
        repetition, attempt : int
            Both from 0.

        Returns
        -------
        ReplayRequest
            With the evidence of the condition, and captions where the agent makes them.

        Raises
        ------
        RenderingError
            Frames that cannot be rendered. What the agent's ``render`` raises passes.
        """
        key = trajectory.question_id, condition, repetition, attempt
        return await self._request(trajectory, stored, key, replay_seed(self._seed, *key))

    async def ask(self, request: ReplayRequest) -> ReplayReply:
        """Put one request to the agent.

        Parameters
        ----------
        request : ReplayRequest
            The request.

        Returns
        -------
        ReplayReply
            In plain values. Where the agent could not be reached, its text says so after
            `TRANSPORT_MARK`.

        Raises
        ------
        AgentError
            The agent raised something else, or gave something that is no reply.
        """
        try:
            return plain_reply(await self.waiting.call(self.agent, request))
        except _NOT_THE_AGENTS:
            raise
        except BaseException as error:  # the agent's sys.exit() too is a failure of the agent's
            key = request.question_id, request.condition, request.repetition, request.attempt
            return reply_of_failure(error, key)

    async def replay(
        self,
        trajectory: Trajectory,
        stored: tuple[Evidence, ...],
        condition: str,
        repetition: int,
        attempt: int,
    ) -> Replay:
        """Make one replay.

        Parameters
        ----------
        trajectory, stored, condition, repetition, attempt
            As for `request`.

        Returns
        -------
        Replay
            The record, which is not stored yet.

        Raises
        ------
        RenderingError
            Frames that cannot be rendered.
        AgentError
            The agent raised something else than a failure to reach it, or gave no reply.
        InputError
            `equal` failed.
        """
        key = trajectory.question_id, condition, repetition, attempt
        seed = replay_seed(self._seed, *key)
        started_at = time.time()
        begun = rendered = time.perf_counter()
        evidence = stored
        try:
            request = await self._request(trajectory, stored, key, seed)
            if stored:
                evidence = request.evidence
                rendered = time.perf_counter()
            reply = plain_reply(await self.waiting.call(self.agent, request))
        except _NOT_THE_AGENTS:
            raise
        except BaseException as error:  # the agent's sys.exit() too is a failure of the agent's
            reply = reply_of_failure(error, key)
        answered = time.perf_counter()
        parsed = judge_reply(reply, trajectory.options)
        flip = None
        if parsed.letter is not None:
            flip = int(not self._same(parsed.letter, trajectory))
        return Replay(
            run=self._run_id,
            question_id=trajectory.question_id,
            video_id=trajectory.video_id,
            condition=condition,
            repetition=repetition,
            attempt=attempt,
            text=reply.text,
            answer=parsed.letter,
            reference_answer=trajectory.answer,
            status=parsed.status,
            rule=parsed.rule,
            flip=flip,
            seed=seed,
            started_at=started_at,
            seconds={"render": rendered - begun, "answer": answered - rendered},
            evidence_sha256=hash_frames(evidence) if evidence else None,
            finish_reason=reply.finish_reason,
            model=reply.model,
            from_cache=reply.from_cache,
            usage=reply.usage,
            stopping=self._stopping,
            transport=reply.transport,
        )

    async def _request(
        self,
        trajectory: Trajectory,
        stored: tuple[Evidence, ...],
        key: ReplayKey,
        seed: int,
    ) -> ReplayRequest:
        question, condition, repetition, attempt = key
        evidence = stored
        if stored and condition != "self":
            evidence = await self.waiting.call(
                self._renderer.render,
                stored,
                question_id=question,
                condition=condition,
                repetition=repetition,
                seed=seed,
            )
            if isinstance(self.agent, Rendering):
                evidence = tuple(
                    [await self._captioned(item, seed) if item.frames else item
                     for item in evidence]
                )  # fmt: skip
        return ReplayRequest(
            question_id=question,
            video_id=trajectory.video_id,
            condition=condition,
            repetition=repetition,
            attempt=attempt,
            question=trajectory.question,
            options=dict(trajectory.options),
            evidence=evidence,
            frozen=_copy(trajectory.frozen),
            seed=seed,
        )

    async def _captioned(self, item: Evidence, seed: int) -> Evidence:
        assert isinstance(self.agent, Rendering)
        text = await self.waiting.call(self.agent.render, item, seed=evidence_seed(seed, item.id))
        if not isinstance(text, str):
            raise TypeError(f"render() gave {type(text).__name__}, it must give a str")
        return replace(item, text=text)

    def _same(self, answer: str, trajectory: Trajectory) -> bool:
        if trajectory.options:
            return answer == trajectory.answer
        assert self._equal is not None
        try:
            return bool(self._equal(answer, trajectory.answer))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise InputError(
                f"equal= failed on question {trajectory.question_id!r}, answer {answer!r}:"
                f" {one_line(error)}"
            ) from error


_NOT_THE_AGENTS = (KeyboardInterrupt, RenderingError)
_UNCHANGING = (str, int, float, bool, type(None))


async def _awaited(value: Any) -> Any:
    return await value


def _copy(value: Any) -> Any:
    """A copy of a JSON value for one request, by the cheapest way that is safe."""
    if isinstance(value, _UNCHANGING):
        return value
    if type(value) is dict and all(isinstance(v, _UNCHANGING) for v in value.values()):
        return value.copy()
    return msgspec.json.decode(msgspec.json.encode(value))


def reply_of_failure(error: BaseException, key: ReplayKey) -> ReplayReply:
    """What is stored where the agent could not be reached.

    Parameters
    ----------
    error : BaseException
        What the agent raised.
    key : ReplayKey
        Question, condition, repetition and attempt, for the message.

    Returns
    -------
    ReplayReply
        Its text says what was wrong, after `TRANSPORT_MARK`.

    Raises
    ------
    AgentError
        Another failure than one to reach it.
    """
    said = redact(one_line(error))
    if not _is_transport_failure(error):
        question, condition, repetition, attempt = key
        raise AgentError(
            f"agent failed on question {question!r}, condition {condition}, repetition"
            f" {repetition}, attempt {attempt}: {said}"
        ) from error
    return ReplayReply(
        text=plain_text(f"{TRANSPORT_MARK} {said}"),
        transport=plain_transport(getattr(error, "transport", ())),
    )


def _is_transport_failure(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & _TRANSPORT_FAILURES) and not names & _ANSWERED
