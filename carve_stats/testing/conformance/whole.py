"""What may be wrong with an agent beyond single replies: each function says it, or None."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from carve_stats.errors import one_line
from carve_stats.replay.protocols import ReplayRequest
from carve_stats.testing.conformance.asking import ask, name, said
from carve_stats.testing.conformance.trying import first_failure, is_plain

__all__ = [
    "other_copy",
    "other_in_threads",
    "renders_badly",
    "unpicklable",
    "wrong_fingerprint",
]


def other_in_threads(agent: Any, asked: list[ReplayRequest], deterministic: bool) -> str | None:
    """Whether replies are others beside other threads."""
    several = asked * max(2, 12 // len(asked))
    alone = [said(ask(agent, request)) for request in several]
    with ThreadPoolExecutor(4) as pool:
        together = [said(one) for one in pool.map(lambda request: ask(agent, request), several)]
    for request, one, other in zip(several, alone, together, strict=True):
        if deterministic and one != other:
            return (
                f"{name(request)}: it answers {one!r:.60}, and {other!r:.60} beside other threads"
            )
    return None


def unpicklable(agent: Any) -> str | None:
    """Why it does not pickle, or None."""
    try:
        pickle.loads(pickle.dumps(agent))
    except Exception as error:
        return f"it does not pickle, which nothing here needs ({one_line(error):.80})"
    return None


def other_copy(agent: Any, asked: list[ReplayRequest]) -> str | None:
    """Whether a pickled copy has other replies."""
    copied = pickle.loads(pickle.dumps(agent))

    def fails(request: ReplayRequest) -> str | None:
        one, other = said(ask(agent, request)), said(ask(copied, request))
        return None if one == other else f"it answers {one!r:.60}, and its copy {other!r:.60}"

    return first_failure(asked, fails, name)


def wrong_fingerprint(agent: Any, asked: list[ReplayRequest]) -> str | None:
    """Whether its fingerprint is no JSON, or changes."""
    if (failure := is_plain(agent.fingerprint)) is not None:
        return failure
    before = copy.deepcopy(dict(agent.fingerprint()))
    ask(agent, asked[0])
    if dict(agent.fingerprint()) != before:
        return f"it is {before!r:.80}, and {agent.fingerprint()!r:.80} after an answer"
    return None


def renders_badly(agent: Any, asked: list[ReplayRequest]) -> str | None:
    """Whether it renders no text, or another one each time."""
    for request in asked:
        for item in (item for item in request.evidence if item.frames):
            texts = [agent.render(replace(item, text=None), seed=request.seed) for _ in range(2)]
            if not isinstance(texts[0], str):
                return f"{name(request)}: it renders {type(texts[0]).__name__}, it must be a str"
            if texts[0] != texts[1]:
                return f"{name(request)}: it renders {texts[0]!r:.60}, and then {texts[1]!r:.60}"
    return None
