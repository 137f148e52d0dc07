"""`verify_agent`: whether an agent keeps the contract of the replay loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from carve_stats.errors import InputError
from carve_stats.replay.protocols import Agent, Fingerprinted, Rendering, ReplayRequest
from carve_stats.testing.conformance.asking import ask, name, said
from carve_stats.testing.conformance.memory import Opening, remembers_question
from carve_stats.testing.conformance.replies import (
    changes_request,
    draws,
    is_steady,
    no_reply,
    no_usage,
    other_reply,
    reads_condition,
    reads_repetition,
)
from carve_stats.testing.conformance.requests import other_evidence, sample_requests
from carve_stats.testing.conformance.seeds import misdeclares
from carve_stats.testing.conformance.trying import (
    Fact,
    first_failure,
    refuse_uncallable,
    try_facts,
)
from carve_stats.testing.conformance.whole import (
    other_copy,
    other_in_threads,
    renders_badly,
    unpicklable,
    wrong_fingerprint,
)
from carve_stats.testing.generators import generators_kept
from carve_stats.testing.verification import Check, Verification

__all__ = ["verify_agent"]

_ASKS = 5  # of one that is said to draw: the same each time is no chance
_DRAWS = "it is said to be not deterministic"
_DIFFERS = "its replies differ from call to call"
BLIND = (
    "its replies were the same with other pictures and texts: where these requests leave it"
    " a choice, it may not look at the evidence, and its scores would be those of chance"
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
        checked; whether it reads the condition is, where its replies are the same each time.

    Returns
    -------
    Verification
        A check a property, each failed one with the first request on which it fails, which is the
        simplest where `requests` are in that order. That an agent
        does not look at the evidence is a note: chance alone may have it so.

    Raises
    ------
    InputError
        No request, or nothing that can be called.

    See Also
    --------
    carve_stats.replay.protocols : `Agent`, the contract; `ReplayRequest` and `Evidence`, what it is
        given; `ReplayReply`, what it may return; `Rendering` and `Fingerprinted`, methods it may
        have. All are to be imported from there.

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
    refuse_uncallable("agent", agent)
    asked = sample_requests() if requests is None else list(requests)
    if not asked:
        raise InputError("requests is empty: give at least one, or none for those of the package")
    asks = 1 if deterministic else _ASKS

    def over_all(fails: Callable[..., str | None], **options: int) -> Callable[[Any], str | None]:
        return lambda one: first_failure(asked, lambda r: fails(one, r, **options), name)

    first = [
        Fact("replies", "gives a str or a ReplayReply that can be stored", over_all(no_reply)),
        Fact("usage", "counts what it uses in numbers, by name", over_all(no_usage)),
        Fact("repeatable", "gives the same reply to the same request", over_all(other_reply)),
    ]
    then = [
        Fact(
            "condition", "does not read the condition", over_all(reads_condition, asks=asks)
        ),
        Fact(
            "repetition", "does not read repetition or attempt",
            over_all(reads_repetition, asks=asks),
        ),
        Fact(
            "stochastic", "varies with the seed, or does not, as it declares",
            lambda one: misdeclares(one, asked),
        ),
        Fact("request", "leaves the request as it is", over_all(changes_request)),
        Fact("generators", "leaves the global random generators alone", over_all(draws)),
        Fact(
            "memory", "answers what it is shown now, not what it was shown before",
            over_all(remembers_question),
        ),
        Fact(
            "threads", "answers from several threads as from one",
            lambda one: other_in_threads(one, asked, deterministic),
        ),
        Fact("pickle", "answers the same after pickling", lambda one: other_copy(one, asked)),
        Fact(
            "fingerprint", "is JSON, and the same each time",
            lambda a: wrong_fingerprint(a, asked),
        ),
        Fact(
            "render", "gives a text, the same for the same seed",
            lambda a: renders_badly(a, asked),
        ),
        Fact("order", "answers the same at the end as at first", lambda a: opening.differs(a)),
    ]  # fmt: skip
    with generators_kept():
        opening = Opening(agent, asked)
        checks = try_facts(first, agent, {} if deterministic else {"repeatable": _DRAWS})
        steady = _steady(checks[-1]) if deterministic else is_steady(agent, asked)
        checks += try_facts(then, agent, _unchecked(agent, deterministic, steady))
        blind = deterministic and steady and _is_blind(agent, asked)
    return Verification(
        f"agent {getattr(agent, '__qualname__', type(agent).__name__)}",
        "a ReplayRequest",
        f"{len(asked)} requests, each under all conditions",
        checks,
        (BLIND,) if blind else (),
    )


def _steady(repeatable: Check) -> bool:
    """Whether replies did not differ; where the agent raises, every check is to say so."""
    return repeatable.passed is True or ": it raises " in str(repeatable.counterexample)


def _unchecked(agent: Any, deterministic: bool, steady: bool) -> dict[str, str]:
    """What is not checked, and why."""
    without = {}
    if not isinstance(agent, Fingerprinted):
        without["fingerprint"] = (
            "it has no method fingerprint(): the run's plan names its class alone"
        )
    if getattr(agent, "stochastic", None) is None:
        without["stochastic"] = (
            "it has no attribute stochastic: whether replies that repeat are an alarm is not known"
        )
    if not isinstance(agent, Rendering):
        without["render"] = "it has no method render()"
    if (reason := unpicklable(agent)) is not None:
        without["pickle"] = reason
    if not deterministic:
        without |= dict.fromkeys(("pickle", "order"), _DRAWS)
    if not steady:
        compared = ("condition", "repetition", "memory", "pickle", "order")
        without |= dict.fromkeys(compared, _DRAWS if not deterministic else _DIFFERS)
        if deterministic:
            without["threads"] = _DIFFERS
    return without


def _is_blind(agent: Any, asked: list[ReplayRequest]) -> bool:
    try:
        return all(
            said(ask(agent, request)) == said(ask(agent, other_evidence(request)))
            for request in asked
            if request.evidence
        )
    except KeyboardInterrupt:
        raise
    except BaseException:  # sys.exit() in an agent is a failure like others
        return False
