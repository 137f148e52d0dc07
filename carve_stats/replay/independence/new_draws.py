"""Which records of a run are new draws, and which are copies of others, or no replies at all."""

from __future__ import annotations

from collections.abc import Iterable

from carve_stats.replay.records import LOST, Replay

__all__ = ["ASKED_AGAIN", "FROM_CACHE", "REPEATED_PROMPT", "declared_stochastic", "find_copies"]

FROM_CACHE = "from a cache"
REPEATED_PROMPT = "repeated prompt"
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


def find_copies(records: Iterable[Replay], *, deterministic: bool) -> dict[int, str]:
    """Find the records that are no new draws.

    Parameters
    ----------
    records : iterable of Replay
        Of one run, in any order.
    deterministic : bool
        Whether the prompt decides the agent's reply.

    Returns
    -------
    dict of int to str
        From the place among `records`, from 0, to the reason: `FROM_CACHE` for a reply that says
        so, `REPEATED_PROMPT` where the prompt decides and an earlier repetition or attempt of the
        same question and condition was shown the same frames. A failure to reach the agent is no
        reply, and so no copy; it is `ASKED_AGAIN` where a later attempt was replied to, which is
        then the first.

    Examples
    --------
    >>> find_copies([], deterministic=True)
    {}
    """
    copies = {}
    asked = []
    lost = []
    replied: dict[tuple[str, str, int], int] = {}
    for place, record in enumerate(records):
        if record.status == LOST:
            lost.append((record.key, place))
        elif record.attempt:
            replied[record.key[:3]] = max(record.attempt, replied.get(record.key[:3], 0))
        if record.from_cache:
            copies[place] = FROM_CACHE
        elif deterministic and record.status != LOST:
            asked.append((record.key, record.evidence_sha256, place))
    for key, place in lost:
        if replied.get(key[:3], 0) > key[3]:
            copies.setdefault(place, ASKED_AGAIN)
    prompts = set()
    for key, shown, place in sorted(asked, key=lambda one: one[0]):
        prompt = key[0], key[1], shown
        if prompt in prompts:
            copies[place] = REPEATED_PROMPT
        prompts.add(prompt)
    return copies
