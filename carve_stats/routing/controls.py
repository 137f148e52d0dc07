"""What choosing questions at random would gain: means, ranges and p-values of the controls."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats import _display
from carve_stats.errors import InputError
from carve_stats.law._arguments import numbers, probability, whole_number
from carve_stats.routing.random_net import NetDistribution, net_distribution

__all__ = ["RandomControl", "random_control", "strata_codes"]

SPLIT = (
    "what the rule defers in a stratum is not a whole number on average in {split} of {strata}"
    " strata (ties split at random): there the control defers the whole number below or above, so"
    " that the average is kept"
)
NO_CHANCE = "nothing is left to chance: the p-value of 1 says nothing"
LITTLE_CHANCE = (
    "nothing is left to chance in {fixed} of {strata} strata, which are of one question or deferred"
    " wholly or not at all"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomControl:
    """What as many questions chosen at random would gain, from `random_control`.

    Parameters
    ----------
    mean, low, high : float
        Gain in points, 100·net/n: its mean and the ends of its central range.
    p_value : float
        Probability that the net of the control is at least that of the rule.
    net_mean : float
        Mean of the net.
    net_low, net_high : int
        Its central range.
    yield_per_100 : float
        Mean net per 100 selected questions; NaN where none is.
    strata : int
        In how many strata the questions were chosen, each by itself.
    distribution : NetDistribution
        The law that these figures belong to.
    note : str or None
        What was done where a stratum's expected number is not whole.
    chance : str or None
        That nothing is left to chance, or nothing in more than half of the strata.
    """

    mean: float
    low: float
    high: float
    p_value: float
    net_mean: float
    net_low: int
    net_high: int
    yield_per_100: float
    strata: int
    distribution: NetDistribution = field(repr=False)
    note: str | None = None
    chance: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values; the yield is None where nothing is selected."""
        return {
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "p_value": self.p_value,
            "net": {"mean": self.net_mean, "low": self.net_low, "high": self.net_high},
            "yield_per_100": _display.plain(self.yield_per_100),
            "strata": self.strata,
        }


def random_control(
    value: ArrayLike,
    propensities: ArrayLike,
    strata: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> RandomControl:
    """What choosing as many questions as a rule does, but at random, would gain.

    Parameters
    ----------
    value : array_like of int, shape (n,)
        Of deferring each question: 1 repairs it, −1 harms it, 0 neither.
    propensities : array_like of float, shape (n,)
        The probability that the rule defers each question.
    strata : array_like of int, shape (n,), optional
        The stratum of each question, from `strata_codes`, or its cluster: the control chooses in
        each stratum as many as the rule does. Without it, of all the questions.
    level : float
        Of the central range.

    Returns
    -------
    RandomControl
        Exact; the order of the questions changes nothing.

    Raises
    ------
    InputError
        No questions, lengths that differ, another value, a propensity outside [0, 1].

    Notes
    -----
    A rule that splits ties at random, or defers at random itself, has no fixed number in each
    stratum but an expected one, which need not be whole. The control is matched to it: it defers
    the whole number below or above, independently in each stratum, so that the expected number
    is kept, and with it the mean gain. It does not repeat how the rule's own numbers vary, which
    would change the standard deviation by less than 1 % at 372 ties in 103 videos. The rule's
    net is then the expected one, and `p_value` counts nets that are no lower.

    Examples
    --------
    >>> value = np.repeat([1, 1, -1, -1, 0, 0], [98, 64, 57, 41, 383, 615])   # published rule
    >>> deferred = np.repeat([1, 0, 1, 0, 1, 0], [98, 64, 57, 41, 383, 615])
    >>> control = random_control(value, deferred)
    >>> [round(x, 2) for x in (control.mean, control.low, control.high)]
    [2.18, 0.95, 3.42]
    >>> round(control.p_value, 4)
    0.0489
    """
    d, e = _values(value), probability("propensities", propensities)
    groups = np.zeros(d.shape, int) if strata is None else whole_number("strata", strata, least=0)
    if d.ndim != 1 or d.shape != e.shape or d.shape != groups.shape:
        raise InputError(
            f"value, propensities and strata have shapes {d.shape}, {e.shape} and {groups.shape}:"
            " give each one entry a question"
        )
    n = d.size
    if n == 0:
        raise InputError("value is empty: a control needs at least one question")
    present, codes = np.unique(groups, return_inverse=True)
    questions = np.bincount(codes)
    repairs, harms = (np.bincount(codes[d == v], minlength=present.size) for v in (1, -1))
    # Propensities in whole numbers of a small unit have the same sum in every order. A propensity
    # is off by less than one of them, however its double was computed.
    bits = min(48, 62 - n.bit_length())
    units = np.rint(np.ldexp(e, bits)).astype(np.int64)
    deferred = np.zeros(present.size, np.int64)
    np.add.at(deferred, codes, units)
    selected = _in_ones(deferred, questions, bits)
    split = np.count_nonzero(selected % 1)

    law = net_distribution(repairs, harms, questions, selected)
    net = float(_in_ones(d @ units, n, bits))
    calls = float(_in_ones(units.sum(), n, bits))
    low, high = law.central_range(level)
    fixed = int(np.count_nonzero((selected == 0) | (selected == questions) | (questions == 1)))
    chance = None
    if law.probabilities.size == 1:
        chance = NO_CHANCE
    elif 2 * fixed > present.size:
        chance = LITTLE_CHANCE.format(fixed=fixed, strata=present.size)
    return RandomControl(
        mean=100 * law.mean / n,
        low=100 * low / n,
        high=100 * high / n,
        p_value=law.at_least(net),
        net_mean=law.mean,
        net_low=low,
        net_high=high,
        yield_per_100=100 * law.mean / calls if calls else math.nan,
        strata=present.size,
        distribution=law,
        note=SPLIT.format(split=split, strata=present.size) if split else None,
        chance=chance,
    )


def strata_codes(*columns: ArrayLike) -> NDArray[np.int64]:
    """One stratum for each combination of the columns' values.

    Parameters
    ----------
    *columns : array_like, shape (n,)
        Such as the clusters, or covariates. Missing values, "" or NaN, are a value like others.

    Returns
    -------
    ndarray of int, shape (n,)
        Strata, from 0 on, in the order of the first column's values, then the second's, and on.

    Raises
    ------
    InputError
        No column, columns that are not of one length, or a column of mixed types.

    Examples
    --------
    >>> strata_codes(["v1", "v1", "v0", "v1"], [1.0, 0.5, 1.0, 1.0])
    array([2, 1, 0, 2])
    """
    if not columns:
        raise InputError("strata: give at least one column")
    codes = np.zeros(np.shape(columns[0]), np.int64)
    for place, column in enumerate(map(np.asarray, columns)):
        if column.ndim != 1 or column.shape != codes.shape:
            raise InputError(
                f"strata: column {place} has shape {column.shape} and the first {codes.shape}:"
                " give each one entry a question"
            )
        try:
            values, own = np.unique(column, return_inverse=True)
        except TypeError:
            raise InputError(
                f"strata: column {place} mixes types: make its values all texts, or all numbers"
            ) from None
        codes = np.unique(codes * values.size + own, return_inverse=True)[1]
    return codes


def _values(value: ArrayLike) -> NDArray[np.int64]:
    array = numbers("value", value, "1, 0 or −1")
    if not np.isin(array, (-1, 0, 1)).all():
        place = int(np.flatnonzero(~np.isin(array, (-1, 0, 1)))[0])
        raise InputError(f"value[{place}]={array.flat[place]} must be 1, 0 or −1")
    return array.astype(np.int64)


def _in_ones(total: ArrayLike, terms: ArrayLike, bits: int) -> NDArray[np.float64]:
    """Sums of units of 2**-bits; what only the rounding of the terms parts from a whole is it."""
    units = np.asarray(total, np.int64)
    whole = (units + (1 << (bits - 1))) >> bits
    return np.where(
        np.abs(units - (whole << bits)) <= terms, whole, np.ldexp(units.astype(float), -bits)
    )
