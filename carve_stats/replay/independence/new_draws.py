"""Which records of a run are new draws, and which are copies of others, or no replies at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from carve_stats.replay.records import LOST, Replay

__all__ = [
    "ASKED_AGAIN",
    "FROM_CACHE",
    "REPEATED_PROMPT",
    "REPEATED_REPLY",
    "declared_stochastic",
    "find_copies",
]

FROM_CACHE = "from a cache"
REPEATED_PROMPT = "repeated prompt"
REPEATED_REPLY = "repeated reply"
ASKED_AGAIN = "no reply, asked again"


def declared_stochastic(agent: object) -> bool | None:
    """What an agent's description in a run's plan declares.

    Parameters
    ----------
    agent : mapping
        `RunPlan.agent`.

    Returns
    -------
    bool or None
        Whether replies to one prompt vary; None where it is not declared.
    """
    declared = agent.get("stochastic") if isinstance(agent, dict) else None
    return declared if isinstance(declared, bool) else None


def find_copies(records: Iterable[Replay], *, copied: Callable[[], str | None]) -> dict[int, str]:
    """Find the records that are no new draws.

    Parameters
    ----------
    records : iterable of Replay
        Of one run, in any order.
    copied : callable
        Asked when all records have been read: which replies to one question are copies of the
        first, as `IndependenceTally.copied` says it.

    Returns
    -------
    dict of int to str
        From the place among `records`, from 0, to the reason: `FROM_CACHE` for a reply that says
        so, and for further attempts that follow it; `REPEATED_PROMPT` where the prompt decides and
        an earlier repetition or attempt of the same question and condition was shown the same
        frames; `REPEATED_REPLY` where no two replies differ although they should. A failure to
        reach the agent is no reply, and so no copy; it is `ASKED_AGAIN` where a later attempt was
        replied to, which is then the first.

    Examples
    --------
    >>> find_copies([], copied=lambda: "prompt")
    {}
    """
    copies = {}
    asked = []
    lost = []
    later: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    cached: dict[tuple[str, str, int], int] = {}
    for place, record in enumerate(records):
        if record.status == LOST:
            lost.append((record.key, place))
        elif record.attempt:
            later.setdefault(record.key[:3], []).append((record.attempt, place))
        if record.from_cache:
            copies[place] = FROM_CACHE
            replay = record.key[:3]
            cached[replay] = min(record.attempt, cached.get(replay, record.attempt))
        elif record.status != LOST:
            asked.append((record.key, record.evidence_sha256, place))
    for key, place in lost:
        if any(attempt > key[3] for attempt, _ in later.get(key[:3], ())):
            copies.setdefault(place, ASKED_AGAIN)
    for replay, first in cached.items():
        # Further attempts were made by what the copy said.
        for attempt, place in later.get(replay, ()):
            if attempt > first:
                copies.setdefault(place, FROM_CACHE)
    by = copied()
    seen = set()
    for key, shown, place in sorted(asked, key=lambda one: one[0]) if by else ():
        if by == "self" and key[1] != "self":
            continue
        group = key[0], key[1], shown if by == "prompt" else None
        if group in seen:
            copies[place] = REPEATED_PROMPT if by == "prompt" else REPEATED_REPLY
        seen.add(group)
    return copies
