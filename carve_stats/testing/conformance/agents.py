"""`verify_agent`: whether an agent keeps the contract of the replay loop."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from carve_stats.counts import CONDITIONS
from carve_stats.errors import InputError, one_line
from carve_stats.replay.protocols import Agent, Fingerprinted, Rendering, ReplayReply, ReplayRequest
from carve_stats.replay.replaying import plain_reply
from carve_stats.testing.conformance.requests import other_evidence, sample_requests
from carve_stats.testing.conformance.trying import Fact, first_failure, is_plain, try_facts
from carve_stats.testing.generators import draws_globally, generators_kept
from carve_stats.testing.verification import Verification

__all__ = ["verify_agent"]

_DRAWS = "it is said to be not deterministic"
BLIND = (
    "its replies were the same with other pictures and texts: where these requests leave it"
    " a choice,"
    " it may not look at the evidence, and its scores would be those of chance"
)


def verify_agent(
    agent: Agent, *, requests: Sequence[ReplayRequest] | None = None, deterministic: bool = True
) -> Verification:
    """Verify an agent.

    Parameters
    ----------
    agent : Agent
        A callable, perhaps with methods `fingerprint` and `render`; a coroutine function too.
    requests : sequence of ReplayRequest, optional
        What it is tried with, where it needs a `frozen` state of its own; the simplest first. Not
        given, a question about texts and one about pictures.
    deterministic : bool
        Whether the same request, seed included, must have the same reply. Without it less can be
        checked.

    Returns
    -------
    Verification
        A check a property, each failed one with the first request on which it fails. That an agent
        does not look at the evidence is a note: chance alone may have it so.

    Raises
    ------
    InputError
        No request.

    Examples
    --------
    >>> def answer(request):
    ...     return "A" if "rabbit" in str(request.evidence) else "D"
    >>> verify_agent(answer).passed
    True
    >>> def cheat(request):
    ...     return "A" if request.condition == "sham" else "B"
    >>> print(verify_agent(cheat)["condition"].counterexample)
    question 'texts', sham, repetition 0, seed 0: it answers 'A', and 'B' in self; an agent ...
    """
    asked = sample_requests() if requests is None else list(requests)
    if not asked:
        raise InputError("requests is empty: give at least one, or none for those of the package")

    def over_all(fails: Callable[[Any, ReplayRequest], str | None]) -> Callable[[Any], str | None]:
        return lambda one: first_failure(asked, lambda request: fails(one, request), _name)

    facts = [
        Fact("replies", "gives a str or a ReplayReply that can be stored", over_all(_no_reply)),
        Fact("usage", "counts what it uses in numbers, by name", over_all(_no_usage)),
        Fact("repeatable", "gives the same reply to the same request", over_all(_other_reply)),
        Fact("condition", "does not read the condition", over_all(_reads_condition)),
        Fact("request", "leaves the request as it is", over_all(_changes_request)),
        Fact("generators", "leaves the global random generators alone", over_all(_draws)),
        Fact(
            "threads", "answers from several threads as from one",
            lambda one: _other_in_threads(one, asked, deterministic),
        ),
        Fact("pickle", "answers the same after pickling", lambda one: _other_copy(one, asked)),
        Fact("fingerprint", "is JSON, and the same each time", lambda a: _fingerprint(a, asked)),
        Fact("render", "gives a text, the same for the same seed", lambda a: _renders(a, asked)),
    ]  # fmt: skip
    without = {} if deterministic else dict.fromkeys(("repeatable", "condition"), _DRAWS)
    if not isinstance(agent, Fingerprinted):
        without["fingerprint"] = (
            "it has no method fingerprint(): the run's plan names its class alone"
        )
    if not isinstance(agent, Rendering):
        without["render"] = "it has no method render()"
    if (reason := _unpicklable(agent)) is not None or not deterministic:
        without["pickle"] = _DRAWS if reason is None else reason
    with generators_kept():
        checks = try_facts(facts, agent, without)
        blind = deterministic and _is_blind(agent, asked)
    return Verification(
        f"agent {getattr(agent, '__qualname__', type(agent).__name__)}",
        "a ReplayRequest",
        f"{len(asked)} requests, each under all conditions",
        checks,
        (BLIND,) if blind else (),
    )


def _name(request: ReplayRequest) -> str:
    return (
        f"question {request.question_id!r}, {request.condition}, repetition"
        f" {request.repetition}, seed"
        f" {request.seed}"
    )


def _ask(agent: Any, request: ReplayRequest) -> ReplayReply:
    """A reply to a copy of a request, waited for."""
    given = agent(copy.deepcopy(request))
    if inspect.isawaitable(given):
        given = asyncio.run(_wait(given))
    return plain_reply(given)


async def _wait(given: Any) -> Any:
    return await given


def _said(reply: ReplayReply) -> str:
    return reply.text if reply.answer is None else f"{reply.answer}: {reply.text}"


def _no_reply(agent: Any, request: ReplayRequest) -> str | None:
    for condition in CONDITIONS:
        _ask(agent, replace(request, condition=condition))
    return None


def _no_usage(agent: Any, request: ReplayRequest) -> str | None:
    usage = _ask(agent, request).usage
    wrong = [name for name, value in usage.items() if value < 0]
    json.dumps(dict(usage), allow_nan=False)
    return f"its usage {wrong[0]!r} is {usage[wrong[0]]}, below 0" if wrong else None


def _other_reply(agent: Any, request: ReplayRequest) -> str | None:
    first = _said(_ask(agent, request))
    for _ in range(2):
        again = _said(_ask(agent, request))
        if again != first:
            return (
                f"it answers {first!r:.60}, and {again!r:.60} when asked again; take all randomness"
                " from request.seed, or say deterministic=False"
            )
    return None


def _reads_condition(agent: Any, request: ReplayRequest) -> str | None:
    first = _said(_ask(agent, request))
    for condition in CONDITIONS:
        other = _said(_ask(agent, replace(request, condition=condition)))
        if other != first:
            return (
                f"it answers {first!r:.60}, and {other!r:.60} in {condition}; an agent that"
                " reads the"
                " condition is not being audited"
            )
    return None


def _changes_request(agent: Any, request: ReplayRequest) -> str | None:
    given = copy.deepcopy(request)
    replied = agent(given)
    if inspect.isawaitable(replied):
        asyncio.run(_wait(replied))
    return None if given == request else "it changes the request; work on a copy"


def _draws(agent: Any, request: ReplayRequest) -> str | None:
    if draws_globally(lambda: _ask(agent, request)):
        return "it draws from a global random generator; use request.seed"
    return None


def _other_in_threads(agent: Any, asked: list[ReplayRequest], deterministic: bool) -> str | None:
    several = asked * max(2, 12 // len(asked))
    alone = [_said(_ask(agent, request)) for request in several]
    with ThreadPoolExecutor(4) as pool:
        together = [_said(one) for one in pool.map(lambda request: _ask(agent, request), several)]
    for request, one, other in zip(several, alone, together, strict=True):
        if deterministic and one != other:
            return (
                f"{_name(request)}: it answers {one!r:.60}, and {other!r:.60} beside other threads"
            )
    return None


def _unpicklable(agent: Any) -> str | None:
    try:
        pickle.loads(pickle.dumps(agent))
    except Exception as error:
        return f"it does not pickle, which nothing here needs ({one_line(error):.80})"
    return None


def _other_copy(agent: Any, asked: list[ReplayRequest]) -> str | None:
    copied = pickle.loads(pickle.dumps(agent))

    def fails(request: ReplayRequest) -> str | None:
        one, other = _said(_ask(agent, request)), _said(_ask(copied, request))
        return None if one == other else f"it answers {one!r:.60}, and its copy {other!r:.60}"

    return first_failure(asked, fails, _name)


def _fingerprint(agent: Any, asked: list[ReplayRequest]) -> str | None:
    before = copy.deepcopy(dict(agent.fingerprint()))
    _ask(agent, asked[0])
    if dict(agent.fingerprint()) != before:
        return f"it is {before!r:.80}, and {agent.fingerprint()!r:.80} after an answer"
    return is_plain(agent.fingerprint)


def _renders(agent: Any, asked: list[ReplayRequest]) -> str | None:
    for request in asked:
        for item in (item for item in request.evidence if item.frames):
            texts = [agent.render(replace(item, text=None), seed=request.seed) for _ in range(2)]
            if not isinstance(texts[0], str):
                return f"{_name(request)}: it renders {type(texts[0]).__name__}, it must be a str"
            if texts[0] != texts[1]:
                return f"{_name(request)}: it renders {texts[0]!r:.60}, and then {texts[1]!r:.60}"
    return None


def _is_blind(agent: Any, asked: list[ReplayRequest]) -> bool:
    try:
        return all(
            _said(_ask(agent, request)) == _said(_ask(agent, other_evidence(request)))
            for request in asked
            if request.evidence
        )
    except Exception:
        return False
