"""Which replies of a run are new draws, and which are copies of others."""

from __future__ import annotations

from collections.abc import Iterable

from carve_stats.replay.records import Replay

__all__ = ["FROM_CACHE", "REPEATED_PROMPT", "declared_stochastic", "find_copies"]

FROM_CACHE = "from a cache"
REPEATED_PROMPT = "repeated prompt"


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
        reply, and so no copy.

    Examples
    --------
    >>> find_copies([], deterministic=True)
    {}
    """
    copies = {}
    asked = []
    for place, record in enumerate(records):
        if record.from_cache:
            copies[place] = FROM_CACHE
        elif deterministic and record.status != "transport_error":
            asked.append((record.key, record.evidence_sha256, place))
    prompts = set()
    for key, shown, place in sorted(asked, key=lambda one: one[0]):
        prompt = key[0], key[1], shown
        if prompt in prompts:
            copies[place] = REPEATED_PROMPT
        prompts.add(prompt)
    return copies
