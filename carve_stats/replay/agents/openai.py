"""The `openai` agent: any server of OpenAI's chat completions, as vLLM, llama.cpp or Ollama are.

::

    [agent]
    use = "openai"
    model = "Qwen/Qwen2.5-VL-7B-Instruct"
    base_url = "http://localhost:8000/v1"
    temperature = 0.7

A trajectory may hold the conversation at whose end the frozen answer was given, as `frozen`. It is
sent as it stands, but for the evidence in it, which is swapped; nothing is appended::

    {"messages": [
        {"role": "system", "content": "You watch videos."},
        {"role": "user", "content": [
            {"type": "text", "text": "Notes: {evidence:1}"},
            {"type": "image_url", "image_url": {"url": "evidence:0"}},
            {"type": "text", "text": "Which animal comes out? A. a rabbit B. a fox"}]}],
     "evidence_slots": {"2": {"message": 1, "part": 2}}}

- an image whose url is ``evidence:ID`` becomes the frames of that item, an image each, and
  ``evidence:ID/3`` its frame 3, counted from 0;
- ``{evidence:ID}`` in a text becomes the item's text;
- `evidence_slots` names places where there is something else: a part of a message, or all its
  content, becomes the item's text, and an image its frames.

Every item must have a place. Without `messages` the question is asked plainly: its text and
options, the frames and texts of the evidence in order, and "Answer with the option's label."
Queries and intervals are left out, since they tell in words what DESTROY takes out of the frames.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from carve_stats.replay.agents._chat_connection import ChatConnection, require_client_library
from carve_stats.replay.agents._chat_exchange import ChatAsker
from carve_stats.replay.agents._chat_messages import (
    PROMPT_VERSION,
    check_conversation,
    write_messages,
)
from carve_stats.replay.agents._chat_options import ChatOptions, read_options
from carve_stats.replay.agents._rate_limit import Clock
from carve_stats.replay.protocols import ReplayReply, ReplayRequest
from carve_stats.replay.trajectories import Trajectory

__all__ = ["OpenAIAgent", "build"]

PASSING = ("timeout", "patience")


class OpenAIAgent:
    """Asks a chat server, with a seed of its own for each replay.

    Too many requests (429, or 503 with a time to wait) halve the number of requests at a time,
    which then grows again; other failures of the server, and connections that it refuses, are
    waited out. A reply that may have been made and is lost, by a time-out or a broken body, is a
    failed attempt. A request that the server refuses for good stops the run.

    Parameters
    ----------
    options : ChatOptions
        As `build` reads them.
    clock : Clock, optional
        Time and sleep.
    """

    def __init__(self, options: ChatOptions, *, clock: Clock | None = None) -> None:
        self._options = options
        self._clock = clock or Clock()
        self._asker = ChatAsker(options, self._clock)
        self._connections: WeakKeyDictionary[asyncio.AbstractEventLoop, ChatConnection] = (
            WeakKeyDictionary()
        )
        temperature = options.temperature
        self.stochastic: bool | None = None if temperature is None else temperature > 0

    async def __call__(self, request: ReplayRequest, /) -> ReplayReply:
        """Answer one replay."""
        messages = write_messages(request)
        return await self._asker.ask(await self._connect(), messages, request.seed)

    def check_trajectories(
        self, trajectories: Sequence[Trajectory], conditions: Sequence[str], /
    ) -> None:
        """Refuse a conversation whose places and evidence do not fit together."""
        for trajectory in trajectories:
            check_conversation(trajectory)

    def fingerprint(self) -> dict[str, Any]:
        """What decides its replies; no key."""
        options = self._options
        return {
            "name": "openai",
            "model": options.model,
            "base_url": options.base_url,
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
            "extra": dict(options.extra),
            "prompt": PROMPT_VERSION,
        }

    async def aclose(self) -> None:
        """Close the connections of the running event loop; its end does so too."""
        connection = self._connections.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.aclose()

    def __reduce__(self) -> tuple[Any, ...]:
        # The key stays in the environment of each process.
        return (partial(OpenAIAgent, self._options, clock=self._clock), ())

    def __repr__(self) -> str:
        return f"<OpenAIAgent: {self._options.model} at {self._options.base_url}>"

    async def _connect(self) -> ChatConnection:
        loop = asyncio.get_running_loop()
        connection = self._connections.get(loop)
        if connection is None:
            options = self._options
            connection = ChatConnection(
                options.base_url,
                options.read_key() or "none",
                timeout=options.timeout,
                clock=self._clock,
            )
            self._connections[loop] = connection
            await connection.open()
        return connection


def build(
    *,
    model: str,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    temperature: float | None = None,
    max_tokens: int | None = None,
    timeout: float = 120.0,
    patience: float = 600.0,
    extra: Mapping[str, Any] | None = None,
    api_key: None = None,
) -> OpenAIAgent:
    """Make an agent that asks a chat server.

    Parameters
    ----------
    model : str
        As the server names it.
    base_url : str, optional
        The server's address, up to ``/v1``; that of the variable ``OPENAI_BASE_URL``, or
        OpenAI's own, if not given.
    api_key_env : str
        The environment variable that holds the key. A server of your own needs none. Further
        headers are read from ``OPENAI_CUSTOM_HEADERS``, a ``name: value`` a line.
    temperature : float, optional
        The server's own default if not given; whether replays vary is then not known.
    max_tokens : int, optional
        Of the reply.
    timeout : float
        Seconds that one request may take.
    patience : float
        Seconds that one replay may wait in all, where the server limits the rate or is in
        trouble; then it is a failed attempt.
    extra : mapping, optional
        Further parameters of the request, as ``top_p``.
    api_key : None
        Refused: a key in a configuration would be stored with the run.

    Returns
    -------
    OpenAIAgent
        A coroutine agent.

    Raises
    ------
    InputError
        An option that cannot be right, or no key.
    MissingExtraError
        The package openai is not installed.
    """
    require_client_library()
    return OpenAIAgent(
        read_options(
            os.environ,
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            temperature=temperature,
            max_tokens=max_tokens,
            timeout=timeout,
            patience=patience,
            extra=extra,
            api_key=api_key,
        )
    )
