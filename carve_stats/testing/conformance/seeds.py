"""Whether an agent varies with the seed as it declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from carve_stats.replay.protocols import ReplayRequest
from carve_stats.testing.conformance.asking import ask, name, said
from carve_stats.testing.conformance.requests import evidence_of_each_option

__all__ = ["misdeclares"]

# As far apart as those of a run; no small ones, since some engines take 0 for none.
_SEEDS = tuple((2 * i + 1) * 0x1A36_E2EB_1C43 % 2**53 for i in range(12))


def misdeclares(agent: Any, asked: Sequence[ReplayRequest]) -> str | None:
    """Whether replies to one prompt vary where they are said not to, or never do.

    Parameters
    ----------
    agent : callable
        With an attribute ``stochastic``.
    asked : sequence of ReplayRequest
        What it is tried with.

    Returns
    -------
    str or None
        What is wrong, in words.

    Notes
    -----
    An agent that draws may have one reply to a prompt that leaves no choice. It is told only where
    no prompt had two: each question with its own evidence and with others.
    """
    declared = agent.stochastic
    if not isinstance(declared, bool):
        return f"it is {declared!r:.40}, it must be True, False or None"
    for request in _prompts(asked):
        replies: dict[str, int] = {}
        for repetition, seed in enumerate(_SEEDS):
            again = replace(request, seed=seed, repetition=repetition)
            replies.setdefault(said(ask(agent, again)), seed)
            if len(replies) > 1:
                break
        if len(replies) > 1:
            if declared:
                return None
            (one, first), (other, second) = replies.items()
            return (
                f"{name(replace(request, seed=first))}: it answers {one!r:.60}, and {other!r:.60}"
                f" with seed {second}; replays of one prompt would count once: declare"
                " stochastic = True, or None"
            )
    if not declared:
        return None
    return (
        f"no prompt had two replies for {len(_SEEDS)} seeds; check that the seed and the"
        " temperature reach the model and that nothing caches, or declare stochastic = False"
    )


def _prompts(asked: Sequence[ReplayRequest]) -> list[ReplayRequest]:
    """Each question and evidence once, then with other evidence."""
    prompts: list[ReplayRequest] = []
    for request in asked:
        plain = replace(request, repetition=0, attempt=0, seed=0)
        if plain not in prompts:
            prompts.append(plain)
    others = [
        replace(request, evidence=evidence)
        for request in prompts
        for evidence in evidence_of_each_option(request)
    ]
    return prompts + others
