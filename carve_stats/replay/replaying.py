"""One replay: the request that an agent is given, and the record that its reply becomes."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral, Real
from types import TracebackType
from typing import Any

import msgspec
import numpy as np

from carve_stats.errors import AgentError, InputError, one_line
from carve_stats.replay.parsing import (
    TRANSPORT_MARK,
    ParsedAnswer,
    parse_answer,
    parse_open_answer,
)
from carve_stats.replay.protocols import (
    Agent,
    Evidence,
    ReplayReply,
    ReplayRequest,
)
from carve_stats.replay.records import Replay
from carve_stats.replay.rendering import EvidenceRenderer, RenderingError, hash_frames
from carve_stats.replay.seeds import replay_seed
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

__all__ = ["Replayer", "judge_reply", "plain_reply"]

# Known by the names of their classes and bases, so that no client library is imported. An
# HTTPError is an URLError, but one that the server did answer.
_TRANSPORT_FAILURES = frozenset(
    ("ConnectionError", "TimeoutError", "gaierror", "URLError", "APIConnectionError",
     "APITimeoutError", "ConnectError", "ConnectTimeout", "ReadTimeout")
)  # fmt: skip
_ANSWERED = frozenset(("HTTPError",))


class Replayer:
    """What all replays of a run share.

    Parameters
    ----------
    agent : callable
        The agent.
    renderer : EvidenceRenderer
        What prepares its evidence.
    store : RunStore
        Where records go.
    equal : callable or None
        Whether two open answers are the same.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        renderer: EvidenceRenderer,
        store: RunStore,
        equal: Callable[[str, str], bool] | None,
    ) -> None:
        self.agent = agent
        self.renderer = renderer
        self.store = store
        self.equal = equal

    def session(self) -> ReplaySession:
        """A session for one worker thread."""
        return ReplaySession(self)


class ReplaySession:
    """One worker thread's replays, with an event loop of its own for coroutine agents.

    Parameters
    ----------
    replayer : Replayer
        What all sessions share.
    """

    def __init__(self, replayer: Replayer) -> None:
        self._agent = replayer.agent
        self._renderer = replayer.renderer
        self._store = replayer.store
        self._equal = replayer.equal
        self._plan = replayer.store.plan
        self._run = replayer.store.run_id
        stopping = replayer.store.stopping
        self._stopping = None if stopping is None else stopping.sha256
        self._runner: asyncio.Runner | None = None

    def __enter__(self) -> ReplaySession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._runner is not None:
            self._runner.close()

    def replays(
        self, trajectory: Trajectory, wanted: Iterable[tuple[str, int]]
    ) -> Iterator[tuple[str, int]]:
        """Make and store some replays of one question; its evidence is loaded once.

        Parameters
        ----------
        trajectory : Trajectory
            The question.
        wanted : iterable of (str, int)
            Conditions and repetitions.

        Yields
        ------
        (str, int)
            Each one when it has a valid answer or no attempt is left.
        """
        evidence: tuple[Evidence, ...] | None = None
        copy_frozen = _copier(trajectory.frozen)
        question = trajectory.question_id
        for condition, repetition in wanted:
            if evidence is None:
                evidence = self._renderer.load(trajectory)
            while True:
                attempt = self._store.progress.next_attempt(question, condition, repetition)
                if attempt is None:
                    break
                self._store.append(
                    self._replay(trajectory, evidence, copy_frozen, condition, repetition, attempt)
                )
            yield condition, repetition

    def _replay(
        self,
        trajectory: Trajectory,
        stored: tuple[Evidence, ...],
        copy_frozen: Callable[[], Any],
        condition: str,
        repetition: int,
        attempt: int,
    ) -> Replay:
        question = trajectory.question_id
        seed = replay_seed(self._plan.seed, question, condition, repetition, attempt)
        started_at = time.time()
        begun = rendered = time.perf_counter()
        evidence = stored
        try:
            if stored:
                evidence = self._renderer.render(
                    stored,
                    question_id=question,
                    condition=condition,
                    repetition=repetition,
                    seed=seed,
                    settle=self._settle,
                )
                rendered = time.perf_counter()
            request = ReplayRequest(
                question_id=question,
                video_id=trajectory.video_id,
                condition=condition,
                repetition=repetition,
                attempt=attempt,
                question=trajectory.question,
                options=dict(trajectory.options),
                evidence=evidence,
                frozen=copy_frozen(),
                seed=seed,
            )
            reply = plain_reply(self._settle(self._agent(request)))
        except (KeyboardInterrupt, RenderingError):
            raise
        except BaseException as error:  # the agent's sys.exit() too is a failure of the agent's
            if not _is_transport_failure(error):
                raise AgentError(
                    f"agent failed on question {question!r}, condition {condition}, repetition"
                    f" {repetition}, attempt {attempt}: {one_line(error)}"
                ) from error
            reply = ReplayReply(text=_plain_text(f"{TRANSPORT_MARK} {one_line(error)}"))
        answered = time.perf_counter()
        parsed = judge_reply(reply, trajectory.options)
        flip = None
        if parsed.letter is not None:
            flip = int(not self._same(parsed.letter, trajectory))
        return Replay(
            run=self._run,
            question_id=question,
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
        )

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

    def _settle(self, value: Any) -> Any:
        if isinstance(value, str | ReplayReply) or not inspect.isawaitable(value):
            return value
        if self._runner is None:
            self._runner = asyncio.Runner()

        async def wait() -> Any:
            return await value

        return self._runner.run(wait())


def judge_reply(reply: ReplayReply, options: Mapping[str, str]) -> ParsedAnswer:
    """What a reply answers: its own `answer` if it has one, or what its text says.

    Parameters
    ----------
    reply : ReplayReply
        What the agent gave.
    options : mapping of str to str
        Label to text; empty for an open question.

    Returns
    -------
    ParsedAnswer
        Answer, status and rule.
    """
    if reply.answer is not None:
        if options and reply.answer not in options:
            return ParsedAnswer(None, "out_of_set", "the reply's own answer")
        return ParsedAnswer(reply.answer, "ok", "the reply's own answer")
    if reply.finish_reason == "length":
        return ParsedAnswer(None, "truncated", "finish reason")
    return parse_answer(reply.text, options) if options else parse_open_answer(reply.text)


_NO_USAGE: dict[str, float] = {}
_EXACT = 2**53
_UNCHANGING = (str, int, float, bool, type(None))
_OPTIONAL_FIELDS: dict[str, type] = {
    "answer": str,
    "finish_reason": str,
    "model": str,
    "from_cache": bool,
}


def plain_reply(reply: object) -> ReplayReply:
    """The reply in plain values, if every part of it can be stored and read again.

    Parameters
    ----------
    reply : object
        What an agent gave.

    Returns
    -------
    ReplayReply
        Its texts are Python's own, and its numbers those that JSON has.

    Raises
    ------
    TypeError, ValueError
        Something else, or a part that cannot be stored; says what it is.
    """
    if isinstance(reply, str):
        return ReplayReply(text=_plain_text(reply), usage=_NO_USAGE)
    if not isinstance(reply, ReplayReply):
        raise TypeError(f"it gave {type(reply).__name__}, it must give a ReplayReply or a str")
    if not isinstance(reply.text, str):
        raise TypeError(f"its reply's text is {type(reply.text).__name__}, it must be a str")
    values: dict[str, Any] = {}
    for name, kind in _OPTIONAL_FIELDS.items():
        value = getattr(reply, name)
        if isinstance(value, np.bool_):
            value = bool(value)
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"its reply's {name}={value!r} must be a {kind.__name__} or None")
        values[name] = _plain_text(value) if isinstance(value, str) else value
    if not isinstance(reply.usage, Mapping):
        raise TypeError(f"its reply's usage={reply.usage!r} must be a mapping")
    usage = {}
    for name, value in reply.usage.items():
        if not isinstance(name, str):
            raise TypeError(f"its reply's usage {name!r}={value!r} must have a str for its name")
        usage[_plain_text(name)] = _plain_number(name, value)
    return ReplayReply(text=_plain_text(reply.text), usage=usage, **values)


def _plain_number(name: str, value: object) -> float:
    """Python's own int or float: other numbers, flags too, cannot be read back as a number."""
    if not isinstance(value, Real | np.bool_):
        raise TypeError(f"its reply's usage {name!r}={value!r} must be a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"its reply's usage {name!r} is too large for a number") from None
    if not math.isfinite(number):
        raise ValueError(f"its reply's usage {name!r}={value!r} must be finite")
    whole = isinstance(value, Integral | np.bool_) and abs(number) < _EXACT
    return int(number) if whole else number


def _plain_text(text: str) -> str:
    """Python's own str, without halves of characters, which a cut-off reply may end in."""
    text = str.__str__(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _copier(value: Any) -> Callable[[], Any]:
    """What makes a copy of a JSON value for each request, by the cheapest way that is safe."""
    if isinstance(value, _UNCHANGING):
        return lambda: value
    if type(value) is dict and all(isinstance(v, _UNCHANGING) for v in value.values()):
        return value.copy
    encoded = msgspec.json.encode(value)
    return lambda: msgspec.json.decode(encoded)


def _is_transport_failure(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & _TRANSPORT_FAILURES) and not names & _ANSWERED
