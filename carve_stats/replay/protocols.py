"""The contract between the loop and an agent: one callable, and what it may have beside.

A plain function is an agent::

    def answer(request: ReplayRequest) -> ReplayReply | str: ...
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from carve_stats.replay.evidence.frames import Frame
from carve_stats.replay.trajectories import Trajectory

__all__ = [
    "Agent",
    "Checking",
    "Declaring",
    "Evidence",
    "Fingerprinted",
    "Rendering",
    "ReplayReply",
    "ReplayRequest",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One item that the agent retrieved: a clip of the video, or a text about it.

    Parameters
    ----------
    id : str
        The item's id within its question.
    start, end : float or None
        The clip's interval in the video, in seconds.
    query : str or None
        What the agent searched for when it retrieved the item.
    text : str or None
        The caption or other text of the item. In SELF it is the frozen one.
    frames : tuple of Frame
        The encoded frames. In SELF they are the stored ones.
    """

    id: str
    start: float | None = None
    end: float | None = None
    query: str | None = None
    text: str | None = None
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What an agent is given to answer one replay.

    Parameters
    ----------
    question_id, video_id : str
        The question, and its video (None where unknown).
    condition : str
        ``self``, ``sham`` or ``destroy``. An agent that reads it is not being audited.
    repetition, attempt : int
        Both from 0.
    question : str
        The question's text.
    options : mapping of str to str
        Label to text, in order; empty for open questions. This and `frozen` are copies of the
        request's own: what an agent does to them changes no other replay.
    evidence : tuple of Evidence
        What the agent retrieved when it first answered, transformed for the condition.
    frozen : any
        The user's own state of that first answer, as it stands in the trajectory; opaque.
    seed : int
        A whole number in [0, 2**53), different for every replay: the only randomness that an
        agent should use.
    """

    question_id: str
    video_id: str | None
    condition: str
    repetition: int
    attempt: int
    question: str
    options: Mapping[str, str]
    evidence: tuple[Evidence, ...]
    frozen: Any
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReply:
    """What an agent answers. Only `text` is needed; a plain str is the same.

    Parameters
    ----------
    text : str
        The raw reply.
    answer : str, optional
        The option label, where the agent knows it; it wins over the text.
    finish_reason : str, optional
        Why the reply ended; ``length`` marks a truncated one.
    usage : mapping of str to number, optional
        Tokens or whatever else the agent counts; True and False count as 1 and 0.
    from_cache : bool, optional
        Whether the reply was read from a cache: it is then no new replay.
    model : str, optional
        What answered.
    transport : sequence of mapping, optional
        One entry for each request that was sent over a network for this reply, the failed ones
        too: ``status`` (of HTTP; None where none came), ``error``, ``seconds`` and ``waited``, the
        seconds of the pause after it.
    """

    text: str
    answer: str | None = None
    finish_reason: str | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    from_cache: bool | None = None
    model: str | None = None
    transport: Sequence[Mapping[str, Any]] = ()


class Agent(Protocol):
    """Anything that can be called with a request; a coroutine function works as well.

    A `ConnectionError` or `TimeoutError` that it raises, or a client library's own, is recorded
    as a failed replay; any other exception stops the run. With several workers it is called from
    several threads.
    """

    def __call__(
        self, request: ReplayRequest, /
    ) -> ReplayReply | str | Awaitable[ReplayReply | str]:
        """Answer one replay."""
        ...


@runtime_checkable
class Rendering(Protocol):
    """An agent that captions its evidence first, and answers from the captions.

    SELF keeps the frozen text; SHAM and DESTROY render each item anew from its frames, and do
    not see the frozen text. An agent without it must not have texts beside frames.
    """

    def render(self, evidence: Evidence, *, seed: int) -> str:
        """The text of one item of evidence, from its frames."""
        ...


@runtime_checkable
class Fingerprinted(Protocol):
    """An agent that can say what it is, for the run's plan."""

    def fingerprint(self) -> Mapping[str, Any]:
        """Name, version and settings; plain values that JSON can hold."""
        ...


@runtime_checkable
class Declaring(Protocol):
    """An agent that says whether its replies to one prompt vary.

    True declares that replays with the same frames and text are fresh draws: replies that never
    differ are then an alarm. False declares that the prompt decides the reply: replays of one
    prompt then count once. An agent that does not know has no such attribute, or None.
    """

    stochastic: bool | None


@runtime_checkable
class Checking(Protocol):
    """An agent that can say before a run which trajectories it could not answer."""

    def check_trajectories(
        self, trajectories: Sequence[Trajectory], conditions: Sequence[str], /
    ) -> None:
        """Raise an `InputError` that names the first such question."""
        ...
