"""What may be wrong with an agent's replies to one request: each function says it, or None."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from carve_stats.counts import CONDITIONS
from carve_stats.replay.protocols import ReplayRequest
from carve_stats.testing.conformance.asking import ask, ask_itself, said
from carve_stats.testing.generators import draws_globally

__all__ = [
    "changes_request",
    "draws",
    "is_steady",
    "no_reply",
    "no_usage",
    "other_reply",
    "reads_condition",
    "reads_repetition",
]


def no_reply(agent: Any, request: ReplayRequest) -> str | None:
    """Whether it has a reply in every condition."""
    for condition in CONDITIONS:
        ask(agent, replace(request, condition=condition))
    return None


def no_usage(agent: Any, request: ReplayRequest) -> str | None:
    """Whether its usage is no numbers."""
    usage = ask(agent, request).usage
    wrong = [name for name, value in usage.items() if value < 0]
    json.dumps(dict(usage), allow_nan=False)
    return f"its usage {wrong[0]!r} is {usage[wrong[0]]}, below 0" if wrong else None


def other_reply(agent: Any, request: ReplayRequest) -> str | None:
    """Whether it has another reply to the same request."""
    first = said(ask(agent, request))
    for _ in range(2):
        again = said(ask(agent, request))
        if again != first:
            return (
                f"it answers {first!r:.60}, and {again!r:.60} when asked again; take all randomness"
                " from request.seed, or say deterministic=False"
            )
    return None


def reads_condition(agent: Any, request: ReplayRequest, *, asks: int = 1) -> str | None:
    """Whether the condition alone changes the reply, each time of several."""
    others = [(condition, replace(request, condition=condition)) for condition in CONDITIONS]
    mend = "an agent that reads the condition is not being audited"
    return _other_to(agent, request, others, mend, asks)


def reads_repetition(agent: Any, request: ReplayRequest, *, asks: int = 1) -> str | None:
    """Whether repetition or attempt alone change the reply, each time of several."""
    others = [(f"repetition {i}", replace(request, repetition=i)) for i in range(4)]
    others += [(f"attempt {i}", replace(request, attempt=i)) for i in range(4)]
    return _other_to(agent, request, others, "request.seed is the only randomness to use", asks)


def _other_to(
    agent: Any,
    request: ReplayRequest,
    others: Iterable[tuple[str, ReplayRequest]],
    mend: str,
    asks: int,
) -> str | None:
    first = {said(ask(agent, request)) for _ in range(asks)}
    for words, other in others:
        again = {said(ask(agent, other)) for _ in range(asks)}
        if len(first) == len(again) == 1 and first != again:
            return f"it answers {min(first)!r:.60}, and {min(again)!r:.60} in {words}; {mend}"
    return None


def changes_request(agent: Any, request: ReplayRequest) -> str | None:
    """Whether it writes to the request."""
    given = copy.deepcopy(request)
    ask_itself(agent, given)
    return None if given == request else "it changes the request; work on a copy"


def draws(agent: Any, request: ReplayRequest) -> str | None:
    """Whether it draws from a global generator."""
    if draws_globally(lambda: ask(agent, request)):
        return "it draws from a global random generator; use request.seed"
    return None


def is_steady(agent: Any, asked: Sequence[ReplayRequest]) -> bool:
    """Whether no request had two replies; one at which it raises has none."""
    try:
        return all(other_reply(agent, request) is None for request in asked)
    except KeyboardInterrupt:
        raise
    except BaseException:  # sys.exit() in an agent is a failure like others
        return True
