"""What answering costs before and after deferring, as means a question."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.routing.joined import RoutingData

__all__ = ["deferral_costs"]

Floats = NDArray[np.float64]

NO_SELF = "the counts hold no SELF replay: how many the rule takes is not known"


def deferral_costs(
    propensities: Floats, data: RoutingData, conditions: Collection[str]
) -> tuple[dict[str, float | None], list[str]]:
    """Calls, replays, tokens and tool calls a question.

    Parameters
    ----------
    propensities : ndarray of float, shape (n,)
        The probability that each question is deferred.
    data : RoutingData
        The n questions.
    conditions : collection of str
        Those of ``self``, ``sham`` and ``destroy`` whose replays the rule looks at.

    Returns
    -------
    costs : dict
        ``fallback_calls`` and ``replays`` (of the conditions that the rule looks at, valid or not,
        as logged), ``tokens_before``, ``tokens_after``, ``tools_before`` and ``tools_after``: means
        a question. A deferred question has cost its original answer too. None where it is not known
        of every question that it is needed of.
    notes : list of str
        Of how many questions a cost is missing, and what the fallback's is where totals cannot
        be had.
    """
    n, counts = len(data), data.counts
    made = [
        sum(int(getattr(counts, f"{arm}_{what}").sum()) for what in ("replays", "invalid"))
        for arm in conditions
    ]
    costs: dict[str, float | None] = {
        "fallback_calls": float(propensities.sum()) / n if n else None,
        "replays": sum(made) / n if n else None,
    }
    notes: list[str] = []
    if "self" in conditions and n and not any(made):
        # The rule looks at a share of replays that these counts know nothing of.
        costs["replays"] = None
        notes.append(NO_SELF)
    for what in ("tokens", "tools"):
        original: Floats | None = getattr(data, f"original_{what}")
        fallback: Floats | None = getattr(data, f"fallback_{what}")
        needed = propensities > 0
        before = _mean(original, np.ones(n, bool), np.ones(n))
        more = _mean(fallback, needed, propensities)
        costs[f"{what}_before"] = before
        costs[f"{what}_after"] = None if before is None or more is None else before + more
        for whose, column, mask in (("original", original, None), ("fallback", fallback, needed)):
            missing = np.isnan(column) if column is not None else np.zeros(n, bool)
            missing = missing if mask is None else missing & mask
            if missing.any():
                shown = _display.counted(int(missing.sum()), "question")
                notes.append(f"{whose} {what} are not known of {shown}")
        if n and before is None and fallback is not None and more is not None:
            which = "not known" if original is None else "not all known"
            note = f"the original's {what} are {which}: no totals of {what} can be had"
            if needed.any():
                note += f"; the fallback's are {more * n / float(propensities.sum()):.6g} a call"
            notes.append(note)
    return costs, notes


def _mean(column: Floats | None, needed: NDArray[Any], weights: Floats) -> float | None:
    """Σ weight × cost/n over the questions needed; None where a cost is not known."""
    if not weights.size or not needed.any():
        return 0.0 if weights.size else None
    if column is None or np.isnan(column[needed]).any():
        return None
    return float((weights[needed] * column[needed]).sum()) / weights.size
