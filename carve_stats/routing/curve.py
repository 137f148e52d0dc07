"""What a rule gains as a function of k: exactly up to the replays made, with bands beyond."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from carve_stats.clusters import (
    Estimate,
    IntervalMethod,
    explain,
    interval_method,
    t_interval,
)
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError, check_name
from carve_stats.inference.prediction import TOO_FAR, Range
from carve_stats.law._arguments import one_whole_number
from carve_stats.law.score_rule import ScoreRule, as_rule
from carve_stats.outcomes import Outcomes
from carve_stats.population.fit_result import FIT_METHODS
from carve_stats.routing.curve_result import CurvePoint, Retuned, RoutingCurve
from carve_stats.routing.groups import LARGEST_TARGET, ValueGroups, fit_groups
from carve_stats.routing.joined import RoutingData, join
from carve_stats.routing.subsampled import SubsampledCells, at_one_budget, lattice_tables
from carve_stats.routing.transitions import score_transitions
from carve_stats.routing.value import DeferralValue, deferral_value, in_hundredths

__all__ = ["routing_curve"]

Floats = NDArray[np.float64]

_FAR = 2  # times the replays made
_MOST_POINTS = 12  # of a curve whose k were not asked for
_QUICKLY_PREDICTED = 5  # from more replays a prediction takes many seconds

EXACT = (
    "up to k = {k}, every question counts by all subsamples of its replays: nothing is modelled;"
    " intervals are for the choice of videos"
)
BANDS = (
    "beyond k = {k}: what populations fitted to the repaired, the harmed and the other questions"
    " say of the next replays of each question. What is identified is left open by so few replays"
    " of a smooth ('em') fit, however many questions there are, and has no sampling error in it;"
    " the interval has"
)
RETUNED = (
    "re-tuned: the threshold with the largest gain at this k. Where k replays were made, its gain"
    " is that of thresholds chosen anew without each video and applied to it, which need not be the"
    " one shown; beyond, it is what the fits say of the one shown, which flatters"
)
ONE_THRESHOLD = "re-tuned: a rule with '=' has no other thresholds to try"
NOT_CROSSED = (
    "re-tuned: no honest gain, since thresholds cannot be chosen without a question's own video"
    " where there are not two videos"
)
WITHOUT_SCORE = (
    "{questions} have no score: under every threshold they keep the original answer, and deferring"
    " always defers them too"
)
FEWER = "{questions} with a score and fewer valid replays than k = {k} left out, at every k alike"


def routing_curve(
    counts: ReplayCounts,
    outcomes: Outcomes,
    rule: ScoreRule | str = "score <= 0",
    *,
    k: Iterable[int] | None = None,
    fallback: str | None = None,
    model: str | None = None,
    level: float = 0.95,
    allow_mismatch: bool = False,
) -> RoutingCurve:
    """The gain of a rule at one k after another.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        What the original answer and the fallback made of them.
    rule : ScoreRule or str
        A comparison of the score with a rational; the same at every k.
    k : iterable of int, optional
        Replays in each arm. Not given: up to those made, at most twelve, and twice as many where
        they are predicted quickly, from up to 5.
    fallback : str, optional
        Which alternative answers the questions deferred; needed where there are several.
    model : str, optional
        How the populations behind predictions are fitted: ``em``, ``npmle`` or ``copula``. Beyond
        twice the replays made there is a point only if it is named.
    level : float
        Confidence level.
    allow_mismatch : bool
        As in `evaluate_rule`.

    Returns
    -------
    RoutingCurve
        A point for each k, and where the scores go between the smallest and the largest.

    Raises
    ------
    InputError
        No question with a score, a k that is no whole number of at least 1 or is beyond 64 and
        was not made, an unknown model, or what `evaluate_rule` refuses.

    Notes
    -----
    *Up to the replays made* a question is deferred with the probability that a random choice of
    its replays says so; gain and yield are those of `deferral_value` at these propensities. All k
    are of the same questions: those without a score, which keep the original answer, and those
    that reach the k at which most replays count.

    *Beyond*, questions that a deferral repairs, those that it harms and the others are populations
    of their own. The gain 100 (Σ_repaired − Σ_harmed) P(rule)/n is partly identified: its
    range is `contrast_bounds`.

    *Why more replays can weaken a fixed rule.* The questions that it selects tend to those with
    p_destroy below the threshold, to half of those at it, and with ties to all of those at p = 0
    or 1 in both arms. What a fallback is worth on questions that respond a little (small positive
    p_destroy − p_sham) the rule gets from wrong signs and ties, which become rarer.

    References
    ----------
    - Hoeffding, *A class of statistics with asymptotically normal distribution*, Annals of
      Mathematical Statistics 19 (1948) 293–325.
    - `proofs/thm_subsampling.py`: subsamples, the only unbiased estimate and the most precise.
    - `proofs/thm_routing_limit.py`: which questions a fixed rule selects in the end.

    Examples
    --------
    >>> counts = ReplayCounts(list("abcd"), [0, 1, 2, 0], [2] * 4, [2, 1, 1, 0], [2] * 4,
    ...     cluster=list("vvww"))
    >>> outcomes = Outcomes(list("abcd"), [1, 0, 0, 1], {"strong": [0, 1, 1, 1]})
    >>> curve = routing_curve(counts, outcomes, k=[1, 2])
    >>> [(point.k, point.selected, point.gain_points.estimate) for point in curve.points]
    [(1, 2.75, 43.75), (2, 3.0, 50.0)]
    """
    threshold = as_rule(rule)
    if model is not None:
        check_name("model", model, FIT_METHODS)
    data = join(counts, outcomes, fallback=fallback, allow_mismatch=allow_mismatch)
    data, made, smaller = at_one_budget(data)
    method = interval_method("t", level, data.codes)
    wanted = _budgets(k, made)
    exact = _Exact(data, threshold, method)
    groups = None
    named = "em" if model is None else model
    if wanted[-1] > made:
        groups = fit_groups(data, made, named)
    points = [
        exact.point(one)
        if one <= made or groups is None
        else _predicted(one, exact, groups, level, one > _FAR * made and model is None)
        for one in wanted
    ]
    transitions = None
    if len(wanted) > 1 and points[-1].selected is not None:
        beyond = groups if wanted[-1] > made else None
        start = (
            max(one for one in wanted if one <= made) if beyond and wanted[0] <= made else wanted[0]
        )
        transitions = score_transitions(threshold, start, wanted[-1], data=data, groups=beyond)
    read = dict(data.questions)
    if smaller:
        reason = f"with a score and fewer valid replays than k = {made} in an arm"
        read["left_out"] = {**read["left_out"], reason: smaller}
        read["used"] -= smaller
    return RoutingCurve(
        rule=threshold,
        fallback=data.fallback_name,
        made_k=made,
        points=tuple(points),
        always_points=100.0 * float(data.value.mean()),
        transitions=transitions,
        model=None if groups is None else named,
        questions={**read, "scored": int(data.counts.scored.sum())},
        interval=method,
        notes=_notes(data, made, points, smaller, threshold, model),
    )


class _Exact:
    """The points at budgets that were made."""

    def __init__(self, data: RoutingData, rule: ScoreRule, method: IntervalMethod) -> None:
        self.data, self.rule, self.method = data, rule, method
        self.cells = SubsampledCells(data.counts)

    def point(self, k: int) -> CurvePoint:
        data = self.data
        value = self.value(self.rule, k)
        gain = value.gain_points
        return CurvePoint(
            k=k,
            predicted=False,
            selected=value.selected,
            repairs=value.repairs,
            harms=value.harms,
            net=value.net,
            yield_per_100=value.yield_per_100,
            gain_points=gain,
            identified=Range(gain.estimate, gain.estimate),
            random_points=100.0 * value.selected / len(data) * float(data.value.mean()),
            retuned=self.retuned(k),
        )

    def value(self, rule: ScoreRule, k: int) -> DeferralValue:
        """What a rule does at a budget that was made."""
        propensities = self.cells.of_questions(self.cells.means([rule.table(k, k)], k)[0])
        return deferral_value(propensities, self.data, method=self.method)

    def retuned(self, k: int) -> Retuned | None:
        if self.rule.comparison == "=":
            return None
        data = self.data
        rules, tables = zip(
            *lattice_tables(k, largest_first=self.rule.comparison[0] == ">"), strict=True
        )
        means = self.cells.means(tables, k)
        net = means @ self.cells.tally(data.value)
        best = _first_largest(net)
        calls = means @ self.cells.tally(np.ones(len(data), np.int64))
        return Retuned(
            rule=None if best < 0 else rules[best],
            selected=0.0 if best < 0 else float(calls[best]),
            gain_points=self._crossed(means, net),
            best_points=0.0 if best < 0 else 100.0 * float(net[best]) / len(data),
        )

    def _crossed(self, means: Floats, net: Floats) -> Estimate:
        """The gain of thresholds that were chosen without the cluster they are applied to."""
        data, codes = self.data, self.data.codes
        if codes is None or self.method.df is None:
            return Estimate(math.nan, note=NOT_CROSSED)
        own = self.cells.tally_by_cluster(data.value, codes, means)
        # As `_first_largest` chooses, for every cluster that is left out.
        others = np.round(net - own, 9)
        chosen = others.argmax(axis=1)[:, None]
        some = np.take_along_axis(others, chosen, 1) > 0.0
        gains = np.where(some, np.take_along_axis(own, chosen, 1), 0.0)[:, 0]
        gain = float(gains.sum()) / len(data)
        # The influence of a cluster is its sum; spread evenly it is one value a question.
        sizes = np.bincount(codes, minlength=len(own))
        influence = gains[codes] / sizes[codes] - gain
        level = self.method.level
        return in_hundredths(t_interval(gain, influence, codes, level=level, within=(-1.0, 1.0)))


def _predicted(
    k: int, exact: _Exact, groups: ValueGroups, level: float, withheld: bool
) -> CurvePoint:
    """The point of a budget beyond those that were made."""
    rule, data = exact.rule, exact.data
    bands = groups.bands(rule, k, level, exact.value(rule, groups.made).gain_points)
    if withheld:
        nothing = Estimate(math.nan, low=bands.interval.low, high=bands.interval.high)
        return CurvePoint(
            k=k,
            predicted=True,
            selected=None,
            repairs=None,
            harms=None,
            net=None,
            yield_per_100=Estimate(math.nan),
            gain_points=nothing,
            identified=bands.identified,
            random_points=math.nan,
            retuned=None,
        )
    repairs, harms, neither = groups.expected(rule.table(k, k).astype(float)).tolist()
    selected, net = repairs + harms + neither, repairs - harms
    return CurvePoint(
        k=k,
        predicted=True,
        selected=selected,
        repairs=repairs,
        harms=harms,
        net=net,
        yield_per_100=Estimate(100.0 * net / selected if selected else math.nan),
        gain_points=_banded(100.0 * net / len(data), bands.interval),
        identified=bands.identified,
        random_points=100.0 * selected / len(data) * float(data.value.mean()),
        retuned=_retuned_prediction(k, exact, groups, level),
    )


def _retuned_prediction(k: int, exact: _Exact, groups: ValueGroups, level: float) -> Retuned | None:
    rule = exact.rule
    if rule.comparison == "=":
        return None
    candidates = lattice_tables(k, largest_first=rule.comparison[0] == ">")
    expected = np.array([groups.expected(table.astype(float)) for _, table in candidates])
    net = expected[:, 0] - expected[:, 1]
    best = _first_largest(net)
    if best < 0:
        return Retuned(None, 0.0, Estimate(0.0), 0.0)
    gain = 100.0 * float(net[best]) / groups.n
    made_gain = exact.value(candidates[best][0], groups.made).gain_points
    interval = groups.bands(candidates[best][0], k, level, made_gain).interval
    return Retuned(candidates[best][0], float(expected[best].sum()), _banded(gain, interval), gain)


def _banded(gain: float, interval: Range) -> Estimate:
    return Estimate(gain, low=interval.low, high=interval.high)


def _first_largest(net: Floats) -> int:
    """The first threshold with the largest net; −1 where none is above that of deferring none."""
    rounded = np.round(net, 9)  # equal nets are equal but for rounding
    best = int(rounded.argmax())
    return best if rounded[best] > 0.0 else -1


def _budgets(k: Iterable[int] | None, made: int) -> list[int]:
    if k is None:
        every = np.unique(np.geomspace(1, made, _MOST_POINTS).round().astype(int)).tolist()
        known = range(1, made + 1) if made <= _MOST_POINTS else every
        return [*known, *([_FAR * made] if made <= _QUICKLY_PREDICTED else [])]
    try:
        wanted = sorted({one_whole_number("k", one) for one in k})
    except TypeError:
        raise InputError(f"k={k!r} must be several whole numbers, such as range(1, 11)") from None
    if not wanted:
        raise InputError("k is empty: give at least one number of replays")
    if wanted[-1] > max(made, LARGEST_TARGET):
        raise InputError(
            f"k={wanted[-1]} must be at most {LARGEST_TARGET} to be predicted from {made}"
        )
    return wanted


def _notes(
    data: RoutingData,
    made: int,
    points: list[CurvePoint],
    smaller: int,
    rule: ScoreRule,
    model: str | None,
) -> tuple[str, ...]:
    notes = list(data.notes)
    if not points[0].predicted:
        notes.append(EXACT.format(k=made))
    if points[-1].predicted:
        notes.append(BANDS.format(k=made))
        if model is None and points[-1].k > _FAR * made:
            notes.append(TOO_FAR.format(k=points[-1].k))
    if rule.comparison == "=":
        notes.append(ONE_THRESHOLD)
    elif any(point.retuned is not None for point in points):
        notes.append(RETUNED)
    if smaller:
        questions = "1 question" if smaller == 1 else f"{smaller} questions"
        notes.append(FEWER.format(questions=questions, k=made))
    without = int((~data.counts.scored).sum())
    if without:
        notes.append(WITHOUT_SCORE.format(questions=f"{without} of {len(data)} questions"))
    if data.codes is None:
        notes.append(UNKNOWN_CLUSTERS)
    exact = [point for point in points if not point.predicted]
    notes += explain([(f"k = {point.k}", point.gain_points.note) for point in exact])
    if any(point.retuned and point.retuned.gain_points.note == NOT_CROSSED for point in exact):
        notes.append(NOT_CROSSED)
    return tuple(dict.fromkeys(notes))
