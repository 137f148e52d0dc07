"""Which records of a run are new draws, and which are copies of others, or no replies at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from carve_stats.replay.records import LOST, Replay, ReplayKey

__all__ = [
    "ASKED_AGAIN",
    "FROM_CACHE",
    "REPEATED_PROMPT",
    "REPEATED_REPLY",
    "Copies",
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


class Copies(NamedTuple):
    """What `find_copies` found.

    Parameters
    ----------
    reasons : dict of int to str
        From the place of a record, counted from 0, to why it is no new draw.
    prompts : frozenset of (str, str, str or None)
        Question, condition and shown frames of the replies of which further ones are copies, in
        this run or in another one; the frames are None where they do not matter.
    """

    reasons: dict[int, str]
    prompts: frozenset[tuple[str, str, str | None]]


def find_copies(records: Iterable[Replay], *, copied: Callable[[], str | None]) -> Copies:
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
    Copies
        The reasons are `FROM_CACHE` for a reply that says so; `REPEATED_PROMPT` where the prompt
        decides and an earlier repetition or attempt of the same question and condition was shown
        the same frames; `REPEATED_REPLY` where no two replies differ although they should. Where
        the first reply of a repetition is one of these, its further attempts, which were made by
        what the copy said, are left out for the same reason. A failure to reach the agent is no
        reply, and so no copy; it is `ASKED_AGAIN` where a later attempt was replied to, which is
        then the first.

    Examples
    --------
    >>> find_copies([], copied=lambda: "prompt").reasons
    {}
    """
    replied: list[tuple[ReplayKey, str | None, int]] = []
    lost: list[tuple[ReplayKey, int]] = []
    cached: set[int] = set()
    for place, record in enumerate(records):
        if record.from_cache:
            cached.add(place)
        if record.status == LOST and not record.from_cache:
            lost.append((record.key, place))
        else:
            replied.append((record.key, record.evidence_sha256, place))
    reasons = _find_asked_again(lost, replied)
    by = copied()
    prompts: set[tuple[str, str, str | None]] = set()
    replay, of_first = None, None  # why the first reply of a repetition is no new draw
    for key, shown, place in sorted(replied, key=lambda one: one[0]) if by or cached else ():
        prompt = (*key[:2], shown if by == "prompt" else None)
        begins = key[:3] != replay
        if place in cached:
            reason = FROM_CACHE
        elif not begins and of_first:
            reason = of_first
        elif by is None or (by == "self" and key[1] != "self"):
            reason = None
        elif prompt in prompts:
            reason = REPEATED_PROMPT if by == "prompt" else REPEATED_REPLY
        else:
            prompts.add(prompt)
            reason = None
        if begins:
            replay, of_first = key[:3], reason
        if reason:
            reasons[place] = reason
    return Copies(reasons, frozenset(prompts))


def _find_asked_again(
    lost: Sequence[tuple[ReplayKey, int]], replied: Sequence[tuple[ReplayKey, str | None, int]]
) -> dict[int, str]:
    """The failures to reach the agent that were followed by a reply."""
    last = {key[:3]: -1 for key, _ in lost}
    for key, _, _ in replied if last else ():
        if key[:3] in last:
            last[key[:3]] = max(key[3], last[key[:3]])
    return {place: ASKED_AGAIN for key, place in lost if last[key[:3]] > key[3]}
