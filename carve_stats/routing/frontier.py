"""Gain against fallback calls, for every cut-off of a score, beside deferring at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from carve_stats import _display
from carve_stats.clusters import (
    NO_QUESTIONS,
    ONE_CLUSTER,
    IntervalMethod,
    count_clusters,
    interval_method,
)
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError, unknown_name
from carve_stats.outcomes import Outcomes
from carve_stats.routing.joined import RoutingData, join
from carve_stats.routing.rules.covariates import first_text
from carve_stats.routing.rules.ranking import NO_RANK, score_ranks

__all__ = ["DeferralFrontier", "deferral_frontier"]

Floats = NDArray[np.float64]

_SHOWN = 12  # rows of the table
_ROUNDING = 1e-12  # of the terms of a sum of squares, relative

POINTWISE = (
    "intervals are for one cut-off at a time, chosen beforehand: the best of many cut-offs is"
    " better here than it will be elsewhere"
)
LEFT = "{questions} without a value of {by!r}: never deferred here"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DeferralFrontier:
    """Gain and calls of every cut-off, from `deferral_frontier`; a row a group of tied questions.

    Parameters
    ----------
    by : str
        What the questions are deferred by, smallest first.
    fallback : str
        Who answers them.
    cut_off : ndarray, shape (m,)
        Questions with values up to this one are deferred.
    calls, repairs, harms : ndarray of int, shape (m,)
        Questions deferred; of them repaired and harmed.
    gain_points, low, high : ndarray, shape (m,)
        100·(repairs − harms)/n with its interval; NaN where there is none.
    random_points : ndarray, shape (m,)
        The expected gain of deferring as many of all questions at random.
    advantage_points, advantage_low, advantage_high : ndarray, shape (m,)
        The difference of the two.
    always_points : float
        The gain of deferring every question.
    questions : dict
        ``read``, ``used``, ``left_out`` (reason: count).
    interval : IntervalMethod
        How intervals were made.
    notes : tuple of str
        What a reader has to know.
    """

    by: str
    fallback: str
    cut_off: Floats
    calls: NDArray[np.int64]
    repairs: NDArray[np.int64]
    harms: NDArray[np.int64]
    gain_points: Floats
    low: Floats
    high: Floats
    random_points: Floats
    advantage_points: Floats
    advantage_low: Floats
    advantage_high: Floats
    always_points: float
    questions: dict[str, Any]
    interval: IntervalMethod
    notes: tuple[str, ...]

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name, ready for a data frame."""
        names = ["cut_off", "calls", "repairs", "harms", "gain_points", "low", "high"]
        names += ["random_points", "advantage_points", "advantage_low", "advantage_high"]
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``rows`` has an entry for each cut-off."""
        columns = {
            name: [_display.plain(x) if values.dtype.kind == "f" else x for x in values.tolist()]
            for name, values in self.columns().items()
        }
        return {
            "by": self.by,
            "fallback": self.fallback,
            "rows": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
            "always_points": _display.plain(self.always_points),
            "questions": dict(self.questions),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        level = f"{100 * self.interval.level:g} % interval"
        headers = [f"{self.by} up to", "deferred", "repairs", "harms", "gain, points", level]
        headers += ["at random", "advantage", level]
        m = len(self.calls)
        shown = np.unique(np.linspace(0, m - 1, min(m, _SHOWN)).round().astype(int))
        rows: list[list[object]] = [
            [
                _display.number(self.cut_off[i], 3, signed=self.by == "score"),
                int(self.calls[i]),
                int(self.repairs[i]),
                int(self.harms[i]),
                _display.number(self.gain_points[i], 2, signed=True),
                _display.interval(*_ends(self.low[i], self.high[i]), 2, signed=True),
                _display.number(self.random_points[i], 2, signed=True),
                _display.number(self.advantage_points[i], 2, signed=True),
                _display.interval(
                    *_ends(self.advantage_low[i], self.advantage_high[i]), 2, signed=True
                ),
            ]
            for i in shown.tolist()
        ]
        some = "" if len(rows) == m else f" ({len(rows)} of {m} cut-offs; all in .columns())"
        caption = (
            f"Deferring to {self.fallback} by {self.by}, smallest first:"
            f" {self.questions['used']} questions{some}"
        )
        return caption, headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def deferral_frontier(
    counts: ReplayCounts,
    outcomes: Outcomes,
    by: str = "score",
    *,
    fallback: str | None = None,
    level: float = 0.95,
    allow_mismatch: bool = False,
) -> DeferralFrontier:
    """What deferring the questions with the smallest values gains, at every number of calls.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        Which answers are right.
    by : str
        ``score``, or a covariate of the outcomes with numbers, such as a confidence.
    fallback, level, allow_mismatch
        As in `evaluate_rule`.

    Returns
    -------
    DeferralFrontier
        One row a distinct value: questions with equal values are deferred together.

    Raises
    ------
    InputError
        An unknown covariate or one of texts, and what `evaluate_rule` refuses.

    Notes
    -----
    With e whether a question is deferred and d its value (1 a repair, −1 a harm), gain = mean(e d)
    and the random control mean(e)·mean(d); the influence functions are e d − mean(e d) and, of
    the difference, e (d − d̄) − ē d less its mean. Scores are ordered as whole numbers.

    References
    ----------
    - `proofs/thm_yield.py`: repairs less harms, and the standard error of the gain.
    - `proofs/thm_random_control.py`: the mean of deferring as many at random.

    Examples
    --------
    >>> counts = ReplayCounts(list("abcd"), [2, 1, 0, 0], [2] * 4, [0, 1, 2, 2], [2] * 4,
    ...     cluster=list("vvww"))
    >>> outcomes = Outcomes(list("abcd"), [0, 0, 1, 0], {"strong": [1, 1, 0, 1]})
    >>> frontier = deferral_frontier(counts, outcomes)
    >>> frontier.calls, frontier.gain_points, frontier.random_points
    (array([1, 2, 4]), array([25., 50., 50.]), array([12.5, 25. , 50. ]))
    """
    data = join(counts, outcomes, fallback=fallback, allow_mismatch=allow_mismatch)
    method = interval_method("t", level, data.codes)
    ranks, values = _ranked(data, by)
    ranked = ranks != NO_RANK
    order, m, n = ranks[ranked], len(values), len(data)
    value = data.value[ranked]
    calls, repairs, harms = (
        np.bincount(order, weights=one, minlength=m).astype(np.int64).cumsum()
        for one in (None, value > 0, value < 0)
    )
    mean = float(data.value.mean()) if n else np.nan
    gain, random = (repairs - harms) / max(n, 1), calls / max(n, 1) * mean
    half_gain = half_advantage = np.full(m, np.nan)
    if method.df is not None and m:
        half_gain, half_advantage = _half_widths(data, ranks, m, method)
    advantage = gain - random
    return DeferralFrontier(
        by=by,
        fallback=data.fallback_name,
        cut_off=values,
        calls=calls,
        repairs=repairs,
        harms=harms,
        gain_points=100 * gain,
        low=100 * np.maximum(gain - half_gain, -1.0),
        high=100 * np.minimum(gain + half_gain, 1.0),
        random_points=100 * random,
        advantage_points=100 * advantage,
        advantage_low=100 * (advantage - half_advantage),
        advantage_high=100 * (advantage + half_advantage),
        always_points=100 * mean,
        questions=dict(data.questions),
        interval=method,
        notes=_notes(data, by, int((~ranked).sum())),
    )


def _ranked(data: RoutingData, by: str) -> tuple[NDArray[np.int64], Floats]:
    """The rank of each question's value, and the distinct values."""
    if by == "score":
        ranks, values = score_ranks(data.counts), data.counts.score
    else:
        if by not in data.covariates:
            raise InputError(unknown_name("by", by, ["score", *data.covariates]))
        values = data.covariates[by]
        if values.dtype.kind != "f":
            such = first_text(values, data.counts.question)
            raise InputError(f"by={by!r} is a covariate of texts{such}: it must be one of numbers")
        ranks = np.full(values.size, NO_RANK)
        known = ~np.isnan(values)
        ranks[known] = np.unique(values[known], return_inverse=True)[1]
    distinct = np.empty(int(ranks.max(initial=NO_RANK)) + 1)
    ranked = ranks != NO_RANK
    distinct[ranks[ranked]] = values[ranked] + 0.0  # no negative zero among equal values
    return ranks, distinct


def _half_widths(
    data: RoutingData, ranks: NDArray[np.int64], m: int, method: IntervalMethod
) -> tuple[Floats, Floats]:
    """Half the widths of the intervals of gain and of advantage, at every cut-off.

    Σ_v (S_v − a·T_v)² over the clusters, S_v a sum over the questions deferred so far and T_v one
    over all, is three sums that change only with the clusters of the next rank.
    """
    assert data.codes is not None
    assert method.df is not None
    codes, n = data.codes, len(data)
    clusters = count_clusters(codes)
    sizes = np.bincount(codes).astype(float)
    nets = np.bincount(codes, weights=data.value).astype(float)
    ranked = ranks != NO_RANK
    steps = _steps(codes[ranked], ranks[ranked], data.value[ranked], m)

    def up_to_rank(weights: Floats) -> Floats:
        return np.bincount(steps.rank, weights=weights, minlength=m).cumsum()

    share = up_to_rank(steps.calls) / n
    quantile = float(stdtrit(method.df, (1 + method.level) / 2))
    scale = quantile * np.sqrt(clusters / (clusters - 1)) / n
    halves = []
    # Gain: e d less its mean. Advantage: e (d − d̄) − ē d, less its mean.
    for mean, against in ((0.0, 0.0 * nets), (float(data.value.mean()), nets)):
        added = steps.net - mean * steps.calls
        sums = steps.net_so_far - mean * steps.calls_so_far
        square = up_to_rank(added * (2 * sums - added))
        centre = (up_to_rank(added) - share * against.sum()) / n
        # Σ (A − ē N − c n)², A the sum, N the net and n the size of a cluster.
        own = square + share**2 * (against @ against) + centre**2 * (sizes @ sizes)
        variance = (
            own
            - 2 * share * up_to_rank(added * against[steps.cluster])
            - 2 * centre * up_to_rank(added * sizes[steps.cluster])
            + 2 * share * centre * (against @ sizes)
        )
        # No spread, no interval: what remains is the rounding of the terms.
        variance[variance <= _ROUNDING * own] = np.nan
        halves.append(scale * np.sqrt(variance))
    return halves[0], halves[1]


class _Steps(NamedTuple):
    """What each cluster adds at each rank, and has by then; whole numbers."""

    cluster: NDArray[np.int64]
    rank: NDArray[np.int64]
    net: Floats
    calls: Floats
    net_so_far: Floats
    calls_so_far: Floats


def _steps(
    codes: NDArray[np.int64], ranks: NDArray[np.int64], value: NDArray[np.int64], m: int
) -> _Steps:
    pairs, place = np.unique(codes * m + ranks, return_inverse=True)
    cluster, rank = np.divmod(pairs, m)
    starts = np.searchsorted(cluster, cluster)
    net = np.bincount(place, weights=value).astype(float)
    calls = np.bincount(place).astype(float)

    def so_far(added: Floats) -> Floats:
        # Pairs stand cluster by cluster, in order of rank: running sums that start anew in each.
        running = added.cumsum()
        return running - np.where(starts > 0, running[starts - 1], 0.0)

    return _Steps(cluster, rank, net, calls, so_far(net), so_far(calls))


def _ends(low: float, high: float) -> tuple[float | None, float | None]:
    return _display.plain(low), _display.plain(high)


def _notes(data: RoutingData, by: str, without: int) -> tuple[str, ...]:
    notes = [*data.notes, POINTWISE]
    if without:
        questions = "1 question" if without == 1 else f"{without} questions"
        notes.append(LEFT.format(questions=questions, by=by))
    if not len(data):
        notes.append(NO_QUESTIONS)
    elif data.codes is None:
        notes.append(UNKNOWN_CLUSTERS)
    elif count_clusters(data.codes) < 2:
        notes.append(ONE_CLUSTER)
    return tuple(dict.fromkeys(notes))
