"""Intervals of sign shares and of their excesses, by linearisation or by resampling clusters."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    Estimate,
    bootstrap,
    count_clusters,
    percentile_interval,
    t_interval,
)
from carve_stats.inference.sign_excess import (
    SignData,
    resampled_excess,
    resampling_sums,
    sign_influence,
)
from carve_stats.law.finite_replay import SignShares

__all__ = ["IntervalRequest", "plain_shares", "sign_intervals"]

NO_VARIATION = (
    "no interval: no question has a score of this sign, or every one has, so how far the share"
    " could be off cannot be seen in the log"
)


class IntervalRequest(NamedTuple):
    """The intervals that were asked for.

    Parameters
    ----------
    interval : str
        ``t`` or ``bootstrap``.
    level : float
        Confidence level.
    resamples : int
        Resamples of the bootstrap.
    rng : numpy.random.Generator or int or None
        The bootstrap's source of randomness; None for t intervals.
    """

    interval: str
    level: float
    resamples: int
    rng: np.random.Generator | int | None


def sign_intervals(
    data: SignData,
    codes: NDArray[np.int64] | None,
    observed: NDArray[np.float64],
    predicted: NDArray[np.float64],
    request: IntervalRequest,
) -> list[Estimate]:
    """Three observed shares and three excesses, with intervals.

    Parameters
    ----------
    data : SignData
        The questions.
    codes : ndarray of int, shape (n,), or None
        The cluster of each question; None where they are not known.
    observed, predicted : ndarray, shape (3,)
        Mean shares of negative, zero and positive scores.
    request : IntervalRequest
        Which intervals.

    Returns
    -------
    list of Estimate
        Of the observed shares, then of observed − predicted.
    """
    points = [*observed.tolist(), *(observed - predicted).tolist()]
    ranges = [(0.0, 1.0)] * 3 + [(-1.0, 1.0)] * 3
    influence = np.concatenate([data.shares - observed, sign_influence(data)], axis=1)
    estimates = [
        t_interval(point, column, codes, level=request.level, within=within)
        for point, column, within in zip(points, influence.T, ranges, strict=True)
    ]
    if request.rng is None or codes is None or count_clusters(codes) < 2:
        return _without_variation(data, estimates)
    resampled = bootstrap(
        resampling_sums(data, codes),
        lambda sums: resampled_excess(data, sums),
        rng=request.rng,
        resamples=request.resamples,
    )
    estimates = [
        percentile_interval(point, column, level=request.level)
        for point, column in zip(points, resampled.T, strict=True)
    ]
    return _without_variation(data, estimates)


def _without_variation(data: SignData, estimates: list[Estimate]) -> list[Estimate]:
    """No interval for the excess of a share that is 0 or 1 in every question.

    The linearised variance, and every resample, then lacks the share's own part and would
    claim a precision that comes from the prediction alone.
    """
    constant = data.shares.min(axis=0) == data.shares.max(axis=0)
    certain = constant & np.isin(data.shares[0], (0.0, 1.0))
    return [
        replace(estimate, se=None, low=None, high=None, note=estimate.note or NO_VARIATION)
        if place >= 3 and certain[place - 3]
        else estimate
        for place, estimate in enumerate(estimates)
    ]


def plain_shares(shares: SignShares) -> dict[str, float | None]:
    """Three shares by sign, as values that JSON can hold."""
    return {sign: _display.plain(share) for sign, share in shares._asdict().items()}
