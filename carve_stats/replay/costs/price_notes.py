"""What a reader of a `RunPrice` has to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carve_stats.replay.costs.measuring import ENOUGH
from carve_stats.replay.costs.prices import Prices
from carve_stats.replay.costs.run_price import ConditionPrice

__all__ = ["price_notes"]


def price_notes(
    parts: Mapping[str, ConditionPrice],
    sources: Mapping[str, str],
    sampled: int,
    attempts: int,
    *,
    captions: bool,
    prices: Prices | None,
    stopping: Any,
    k: Mapping[str, int],
) -> list[str]:
    """Write the notes of a `RunPrice`.

    Parameters
    ----------
    parts : mapping of str to ConditionPrice
        By condition, and ``canary``.
    sources : mapping of str to str
        For each condition where its figures were measured.
    sampled : int
        Questions that were rendered, for their bytes.
    attempts : int
        How often a replay is tried at most.
    captions : bool
        Whether the agent captions evidence before it answers.
    prices : Prices or None
        The prices.
    stopping : StoppingPlan or None
        The plan by which questions stop early.
    k : mapping of str to int
        Replays of each question, by condition.

    Returns
    -------
    list of str
        A paragraph each.
    """
    notes = []
    needed = [name for name, part in parts.items() if name != "canary" and part.replays.high]
    for source in sorted(set(sources.values())):
        names = ", ".join(c for c in needed if sources.get(c) == source)
        if names:
            notes.append(
                f"what a replay of {names} takes was measured on {source}: the range is a 95 %"
                " prediction interval, if other questions are like those measured"
            )
    unmeasured = [c for c in needed if parts[c].seconds is None]
    untold = [c for c in needed if parts[c].seconds is not None and parts[c].tokens_in is None]
    if unmeasured:
        limit = max(2, *(-(-ENOUGH // k[c]) for c in unmeasured))
        notes.append(
            f"what a replay of {', '.join(unmeasured)} takes is not known: that needs {ENOUGH} of"
            f" each condition. Run with --limit {limit} first: the same store goes on; or give"
            " another run of the same agent (--like)"
        )
    if untold:
        notes.append(
            f"the replies of {', '.join(untold)} do not tell their tokens (usage: prompt_tokens and"
            " completion_tokens)"
        )
    if prices is None:
        notes.append("no money without a price file (--prices)")
    if attempts > 1:
        notes.append(f"a replay is tried up to {attempts} times: the most is if none is valid")
    if stopping is not None:
        notes.append("questions stop once they are decided: the most is if none does")
    if captions:
        notes.append(
            "captions are calls of the agent; their tokens count only if its replies tell them"
        )
    if sampled:
        notes.append(
            f"bytes are those of the encoded frames, measured on {sampled} questions; encoded as"
            " base64 they are a third more"
        )
    if "canary" in parts:
        notes.append("the canary takes two replies if pictures reach the agent, and many if not")
    return notes
