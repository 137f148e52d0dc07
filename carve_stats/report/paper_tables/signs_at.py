"""Signs of the scores at a smaller k than was made: table A2's rows of a run that went on."""

from __future__ import annotations

import numpy as np

from carve_stats.clusters import Estimate
from carve_stats.counts import ReplayCounts
from carve_stats.inference.sign_excess import observe, predict
from carve_stats.inference.sign_intervals import IntervalRequest, sign_intervals
from carve_stats.law.finite_replay import SignShares
from carve_stats.population.patterns import reaches

__all__ = ["signs_at"]


def signs_at(
    counts: ReplayCounts, k: int, *, level: float
) -> tuple[SignShares, SignShares, Estimate, int] | None:
    """Predicted and observed shares and the tie excess, had only k replays of each arm been made.

    Parameters
    ----------
    counts : ReplayCounts
        A run; its questions with at least k valid replays in both arms are taken.
    k : int
        Replays of each arm.
    level : float
        Confidence level.

    Returns
    -------
    predicted : SignShares of float
        If all questions had the same two flip rates.
    observed : SignShares of Estimate
        Exact means over which k of its replays each question had.
    excess : Estimate
        Of zero scores.
    questions : int
        How many were taken.

        None where no question has k replays.
    """
    kept = reaches(counts, (k, k))
    if not kept.any():
        return None
    codes = counts.cluster_codes
    data = observe(counts.select(kept), (k, k))
    observed = data.shares.mean(axis=0)
    predicted = data.weights @ predict(data)[0]
    estimates = sign_intervals(
        data,
        None if codes is None else codes[kept],
        observed,
        predicted,
        IntervalRequest("t", level, 0, None),
    )
    return (
        SignShares(*predicted.tolist()),
        SignShares(*estimates[:3]),
        estimates[4],
        int(np.count_nonzero(kept)),
    )
