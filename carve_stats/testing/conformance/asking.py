"""An agent of anyone's, asked a request."""

from __future__ import annotations

import asyncio
import copy
import inspect
from typing import Any

from carve_stats.replay.protocols import ReplayReply, ReplayRequest
from carve_stats.replay.replies import plain_reply

__all__ = ["ask", "ask_itself", "name", "said"]


def name(request: ReplayRequest) -> str:
    """What a request is called in a counterexample."""
    return (
        f"question {request.question_id!r}, {request.condition}, repetition {request.repetition},"
        f" seed {request.seed}"
    )


def ask(agent: Any, request: ReplayRequest) -> ReplayReply:
    """A reply to a copy of a request, waited for."""
    given = agent(copy.deepcopy(request))
    if inspect.isawaitable(given):
        given = asyncio.run(_wait(given))
    return plain_reply(given)


async def _wait(given: Any) -> Any:
    return await given


def said(reply: ReplayReply) -> str:
    """What is compared of a reply."""
    return reply.text if reply.answer is None else f"{reply.answer}: {reply.text}"


def ask_itself(agent: Any, request: ReplayRequest) -> None:
    """Hand over the request and no copy of it."""
    replied = agent(request)
    if inspect.isawaitable(replied):
        asyncio.run(_wait(replied))
