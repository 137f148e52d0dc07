"""Which run extends another to more replays, as far as counts and records can tell."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from carve_stats.counts import CONDITIONS, ReplayCounts

__all__ = ["extends", "holding_chance"]

_HARDLY = 1e-6


def holding_chance(longer: ReplayCounts, shorter: ReplayCounts) -> float | None:
    """How likely independent runs would look as these do: one with all replays of the other.

    Parameters
    ----------
    longer, shorter : ReplayCounts
        Two runs of one agent.

    Returns
    -------
    float or None
        The probability that each question of both has, in each arm that both runs have, at least as
        many flips and at least as many replays without one in `longer`. None where that is not so,
        or where `longer` has no more replays.

    Notes
    -----
    Replays of independent runs are exchangeable: given that k₁ + k₂ replays of a question and arm
    flip f times, X of the k₂ of the shorter run do, hypergeometrically. The longer can hold them
    where X ≤ f − X and k₂ − X ≤ k₁ − (f − X); the probability is the product over questions and
    arms.

    Examples
    --------
    >>> a, b = ReplayCounts(["q"], [1], [2], [1], [2]), ReplayCounts(["q"], [1], [1], [0], [1])
    >>> round(holding_chance(a, b), 4)      # of three replays two flip, and of three one: 2/3 each
    0.4444
    """
    _, a, b = np.intersect1d(
        longer.question, shorter.question, assume_unique=True, return_indices=True
    )
    more, log = False, 0.0
    for arm in CONDITIONS:
        names = f"{arm}_flips", f"{arm}_replays"
        if not all(getattr(run, names[1]).any() for run in (longer, shorter)):
            continue
        flips, k = (getattr(longer, name)[a] for name in names)
        held, k_held = (getattr(shorter, name)[b] for name in names)
        if np.any(flips < held) or np.any(k - flips < k_held - held):
            return None
        more = more or bool(np.any(k > k_held))
        cases, times = np.unique(
            np.stack([k, k_held, flips + held], axis=1), axis=0, return_counts=True
        )
        log += sum(
            n * math.log(_holding_chance(*case))
            for case, n in zip(cases.tolist(), times.tolist(), strict=True)
        )
    return math.exp(log) if more else None


def _holding_chance(k: int, k_held: int, flips: int) -> float:
    """Of one question and arm, given the flips of both runs together."""
    least = max(0, -((k - k_held - flips) // 2))  # of 2X ≥ flips + k_held − k
    ways = sum(
        math.comb(k_held, x) * math.comb(k, flips - x)
        for x in range(least, min(k_held, flips // 2) + 1)
    )
    return ways / math.comb(k + k_held, flips)


def extends(runs: Mapping[str, ReplayCounts], longer: str, shorter: str) -> bool | None:
    """Whether one run holds all replays of another, and more.

    Parameters
    ----------
    runs : mapping of str to ReplayCounts
        By their ids.
    longer, shorter : str
        Two of these.

    Returns
    -------
    bool or None
        True where the reader found the records of the one in the other, or where independent runs
        would hardly ever have such counts (`holding_chance` is at most 10⁻⁶). None where the
        counts allow it, and the questions are too few to tell.
    """
    chance = holding_chance(runs[longer], runs[shorter])
    if chance is None:
        return False
    ledger = runs[shorter].ledger
    return True if chance <= _HARDLY or (ledger is not None and longer in ledger.held_by) else None
