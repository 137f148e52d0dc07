"""What deferring is worth: the one place where propensities become figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    Estimate,
    IntervalMethod,
    bootstrap,
    cluster_sums,
    count_clusters,
    percentile_interval,
    t_interval,
)
from carve_stats.errors import InputError
from carve_stats.routing.joined import RoutingData

__all__ = [
    "DeferralValue",
    "deferral_value",
    "gain_influence",
    "in_hundredths",
    "known",
    "original_accuracy",
    "plain_count",
    "resampled_yield",
    "resampling_sums",
    "shown_count",
    "whole_if_close",
    "yield_influence",
]

Floats = NDArray[np.float64]

NONE_DEFERRED = "no question is deferred: there is no yield, and the gain is 0 by itself"
NONE_IN_RESAMPLE = (
    "no interval: some resamples of the clusters defer no question, and have no yield; interval='t'"
    " gives a rough one"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferralValue:
    """What deferring some questions does, from `deferral_value`.

    Parameters
    ----------
    selected : float
        Questions deferred; expected, where a rule leaves some to chance. NaN, like what follows,
        where of no question both outcomes are known: none is not nought.
    repairs, harms, net : float
        Of them: original wrong and fallback right; original right and fallback wrong; the
        difference of the two.
    yield_per_100 : Estimate
        100·net/selected; NaN where no question is deferred.
    accuracy_after : Estimate
        Share of right answers once the fallback's have taken the place of those deferred.
    gain_points : Estimate
        100·net/n, in percentage points.
    """

    selected: float
    repairs: float
    harms: float
    net: float
    yield_per_100: Estimate
    accuracy_after: Estimate
    gain_points: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Plain values; whole numbers as int, undefined figures as None."""
        counts = ("selected", "repairs", "harms", "net")
        return {
            **{name: plain_count(getattr(self, name)) for name in counts},
            "yield_per_100": self.yield_per_100.to_dict(),
            "accuracy_after": self.accuracy_after.to_dict(),
            "gain_points": self.gain_points.to_dict(),
        }

    def reasons(self) -> list[tuple[str, str | None]]:
        """Each estimate's name and why it is incomplete, if it is."""
        return [
            ("yield per 100", self.yield_per_100.note),
            ("accuracy after", self.accuracy_after.note),
            ("gain", self.gain_points.note),
        ]


def deferral_value(
    propensities: Floats,
    data: RoutingData,
    *,
    method: IntervalMethod,
    rng: np.random.Generator | None = None,
    resamples: int = 10_000,
) -> DeferralValue:
    """Repairs, harms, yield, accuracy and gain of deferring with given propensities.

    Parameters
    ----------
    propensities : ndarray of float, shape (n,)
        The probability e that each question is deferred.
    data : RoutingData
        The n questions.
    method : IntervalMethod
        How intervals are made.
    rng : numpy.random.Generator, optional
        The source of randomness of the bootstrap, which needs one.
    resamples : int
        Resamples of the bootstrap.

    Returns
    -------
    DeferralValue
        Expected values over what the rule leaves to chance, with intervals for the choice of
        clusters.

    Notes
    -----
    With the value d of a question, net = Σ e d. Influence functions, in shares: of the gain
    e d − mean(e d), of the accuracy o + e d less its mean (o: the original answer is right), and
    of the yield R = Σ e d/Σ e, a ratio, (e d − R e)/ē. The propensities are taken as given:
    intervals do not speak of how a cut-off or a population was chosen from the same data.
    """
    e, d = np.asarray(propensities, float), data.value
    if e.shape != d.shape:
        raise InputError(f"propensities has shape {e.shape}: it must be {d.shape}, one a question")
    n = len(data)
    selected, repairs, harms = (
        whole_if_close(float(e[mask].sum())) if n else math.nan
        for mask in (np.ones(n, np.bool_), d > 0, d < 0)
    )
    net = whole_if_close(repairs - harms)
    points = {
        "yield": net / selected if selected else math.nan,
        "accuracy": (int(data.original.sum()) + net) / n if n else math.nan,
        "gain": net / n if n else math.nan,
    }
    if method.method == "bootstrap" and data.codes is not None and count_clusters(data.codes) > 1:
        estimates = _by_bootstrap(points, e, data, method.level, rng, resamples)
    else:
        estimates = {
            "yield": t_interval(
                points["yield"],
                yield_influence(e, data),
                data.codes,
                level=method.level,
                within=(-1.0, 1.0),
            ),
            "accuracy": t_interval(
                points["accuracy"],
                gain_influence(e, data) + _centred(data.original),
                data.codes,
                level=method.level,
                within=(0.0, 1.0),
            ),
            "gain": t_interval(
                points["gain"],
                gain_influence(e, data),
                data.codes,
                level=method.level,
                within=(-1.0, 1.0),
            ),
        }
    if n and not e.any():
        estimates["yield"] = Estimate(math.nan, note=NONE_DEFERRED)
        estimates["gain"] = Estimate(0.0, note=NONE_DEFERRED)
    return DeferralValue(
        selected=selected,
        repairs=repairs,
        harms=harms,
        net=net,
        yield_per_100=in_hundredths(estimates["yield"]),
        accuracy_after=estimates["accuracy"],
        gain_points=in_hundredths(estimates["gain"]),
    )


def original_accuracy(
    data: RoutingData,
    *,
    method: IntervalMethod,
    rng: np.random.Generator | None = None,
    resamples: int = 10_000,
) -> Estimate:
    """The share of questions that the original answers get right, with its interval.

    Parameters
    ----------
    data, method, rng, resamples
        As for `deferral_value`.

    Returns
    -------
    Estimate
        That of deferring no question.
    """
    never = np.zeros(len(data))
    return deferral_value(never, data, method=method, rng=rng, resamples=resamples).accuracy_after


def gain_influence(propensities: Floats, data: RoutingData) -> Floats:
    """Influence function of net/n, a value a question; shape (n,)."""
    return _centred(propensities * data.value)


def yield_influence(propensities: Floats, data: RoutingData) -> Floats:
    """Influence function of net/selected, a value a question; NaN where none is deferred."""
    total = float(propensities.sum())
    if not total:
        return np.full(len(data), math.nan)
    net = propensities * data.value
    return (net - net.sum() / total * propensities) * (len(data) / total)


def resampling_sums(propensities: Floats, data: RoutingData) -> Floats:
    """Questions, original answers right, Σ e and Σ e d of each cluster, shape (clusters, 4)."""
    assert data.codes is not None
    columns = [np.ones(len(data)), data.original, propensities, propensities * data.value]
    return cluster_sums(np.stack(columns, axis=1), data.codes)


def resampled_yield(net: Floats, selected: Floats, expected: float) -> Floats:
    """Net/selected of each resample; NaN where it defers no question.

    Parameters
    ----------
    net, selected : ndarray of float, shape (resamples,)
        Sums in single precision: a sum that should be 0 may be nearly so.
    expected : float
        Σ e of the data.

    Returns
    -------
    ndarray of float, shape (resamples,)
        In shares.
    """
    ratio = np.full(net.size, math.nan)
    np.divide(net, selected, out=ratio, where=selected > 1e-5 * expected)
    return ratio


def whole_if_close(total: float) -> float:
    """A sum without the rounding of its terms: t ties at propensity s/t add up to s.

    Examples
    --------
    >>> whole_if_close(7 * (1 / 7 + 1e-16)), whole_if_close(0.25)
    (1.0, 0.25)
    """
    if math.isnan(total):
        return total
    nearest = float(round(total))
    return nearest if abs(total - nearest) <= 1e-9 * max(1.0, abs(nearest)) else total


def known(figure: float) -> float | None:
    """The figure; None where it is NaN, in the rows of tables."""
    return None if math.isnan(figure) else figure


def plain_count(count: float | None) -> int | float | None:
    """A number of questions as JSON can hold it: whole where it is, None where undefined.

    Examples
    --------
    >>> plain_count(3.0), plain_count(2.5), plain_count(math.nan)
    (3, 2.5, None)
    """
    return int(count) if count is not None and count.is_integer() else _display.plain(count)


def shown_count(count: float | None) -> str | None:
    """A number of questions in a table: whole, or with two decimals where it is an expected one.

    Examples
    --------
    >>> shown_count(3.0), shown_count(2.5), shown_count(math.nan)
    ('3', '2.50', None)
    """
    if count is None or math.isnan(count):
        return None
    return str(int(count)) if count.is_integer() else _display.number(count, 2)


def in_hundredths(estimate: Estimate) -> Estimate:
    """A share in points, or for each 100."""
    scaled = {
        name: None if (figure := getattr(estimate, name)) is None else 100.0 * figure
        for name in ("se", "low", "high")
    }
    return replace(estimate, estimate=100.0 * estimate.estimate, **scaled)


def _by_bootstrap(
    points: dict[str, float],
    e: Floats,
    data: RoutingData,
    level: float,
    rng: np.random.Generator | None,
    resamples: int,
) -> dict[str, Estimate]:
    if rng is None:
        raise InputError("interval='bootstrap' needs rng: give a numpy.random.Generator or seed")

    def statistic(sums: Floats) -> Floats:
        n, right, selected, net = sums.T
        ratio = resampled_yield(net, selected, float(e.sum()))
        return np.stack([ratio, (right + net) / n, net / n], axis=1)

    resampled = bootstrap(resampling_sums(e, data), statistic, rng=rng, resamples=resamples)
    estimates = {
        name: percentile_interval(points[name], column, level=level)
        for name, column in zip(points, resampled.T, strict=True)
        if not np.isnan(column).any()
    }
    return {"yield": Estimate(points["yield"], note=NONE_IN_RESAMPLE), **estimates}


def _centred(values: NDArray[Any]) -> Floats:
    return values - values.mean() if values.size else values.astype(float)
