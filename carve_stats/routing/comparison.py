"""Two rules on the same questions: paired differences, and how far they defer the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    Estimate,
    IntervalMethod,
    bootstrap,
    bootstrap_generator,
    cluster_sums,
    count_clusters,
    explain,
    interval_method,
    percentile_interval,
    t_interval,
)
from carve_stats.counts import ReplayCounts
from carve_stats.law.score_rule import ScoreRule
from carve_stats.outcomes import Outcomes
from carve_stats.routing.evaluate import clusters_and_intervals, unscored_notes
from carve_stats.routing.joined import RoutingData, join
from carve_stats.routing.rules.base import Rule, rule_notes, rule_propensities
from carve_stats.routing.rules.parsing import as_routing_rule
from carve_stats.routing.value import (
    NONE_DEFERRED,
    NONE_IN_RESAMPLE,
    DeferralValue,
    deferral_value,
    gain_influence,
    in_hundredths,
    resampled_yield,
    whole_if_close,
    yield_influence,
)

__all__ = ["RuleComparison", "compare_rules"]

Floats = NDArray[np.float64]

SAME = "both rules defer the same questions: all differences are 0 by themselves"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RuleComparison:
    """Two rules on the same questions, from `compare_rules`.

    Parameters
    ----------
    rule_a, rule_b, fallback : str
        The two rules, and the answerer that deferred questions go to.
    questions : dict
        ``read``, ``used`` and ``left_out`` (reason: count).
    scored : int
        Questions used that have a score.
    clusters : int or None
        Clusters of the questions used; None where they are not known.
    a, b : DeferralValue
        What each rule does.
    gain_difference, yield_difference : Estimate
        That of `rule_a` less that of `rule_b`, in points and per 100 deferred, with paired
        intervals.
    selected_difference, net_difference : float
        The same for the numbers of questions deferred and the nets.
    overlap : dict
        ``both``, ``only_a``, ``only_b`` and ``neither``: questions by who defers them;
        ``jaccard``, both/(both + only_a + only_b), None where nobody defers any.
    interval : IntervalMethod
        How the intervals were made.
    notes : tuple of str
        What a reader has to know.
    """

    rule_a: str
    rule_b: str
    fallback: str
    questions: Mapping[str, Any]
    scored: int
    clusters: int | None
    a: DeferralValue
    b: DeferralValue
    gain_difference: Estimate
    yield_difference: Estimate
    selected_difference: float
    net_difference: float
    overlap: Mapping[str, float | None]
    interval: IntervalMethod
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "rule_a": self.rule_a,
            "rule_b": self.rule_b,
            "fallback": self.fallback,
            "questions": dict(self.questions),
            "scored": self.scored,
            "clusters": self.clusters,
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "difference": {
                "gain_points": self.gain_difference.to_dict(),
                "yield_per_100": self.yield_difference.to_dict(),
                "selected": _display.plain(self.selected_difference),
                "net": _display.plain(self.net_difference),
            },
            "overlap": dict(self.overlap),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        caption = (
            f"a: {self.rule_a}; b: {self.rule_b}\nRouting to {self.fallback}:"
            f" {_display.counted(self.questions['used'], 'question')},"
            f" {clusters_and_intervals(self.clusters, self.interval)}"
        )
        headers = ["", "a", "b", "a − b", "interval"]
        a, b = self.a, self.b
        sums = [
            ("calls", a.selected, b.selected, self.selected_difference),
            ("net", a.net, b.net, self.net_difference),
        ]
        figures = [
            ("net per 100", a.yield_per_100, b.yield_per_100, self.yield_difference),
            ("gain, points", a.gain_points, b.gain_points, self.gain_difference),
        ]
        rows: list[list[object]] = [
            [name, *(_count(x) for x in numbers), None] for name, *numbers in sums
        ]
        rows += [
            [
                name,
                *(_display.number(e.estimate, 2, signed=True) for e in (of_a, of_b, difference)),
                _display.interval(difference.low, difference.high, 2, signed=True),
            ]
            for name, of_a, of_b, difference in figures
        ]
        shown = ", ".join(f"{_count(self.overlap[name])} by {who}" for name, who in _WHO.items())
        return f"{caption}\nDeferred: {shown}", headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


_WHO = {"both": "both", "only_a": "a alone", "only_b": "b alone", "neither": "neither"}


def compare_rules(
    counts: ReplayCounts,
    outcomes: Outcomes,
    rule_a: Rule | ScoreRule | str,
    rule_b: Rule | ScoreRule | str,
    *,
    fallback: str | None = None,
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
    allow_mismatch: bool = False,
) -> RuleComparison:
    """How much more one rule gains than another, on the same questions.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        Which answers are right, of the original and of the fallback; joined by question id.
    rule_a, rule_b : Rule, ScoreRule or str
        As for `evaluate_rule`.
    fallback, interval, level, resamples, rng, allow_mismatch
        As for `evaluate_rule`.

    Returns
    -------
    RuleComparison
        Differences a − b with paired cluster intervals.

    Raises
    ------
    InputError
        As for `evaluate_rule`.

    Notes
    -----
    The influence function of a difference is the difference of the two, so that questions that
    both rules treat alike add nothing to the interval of the gain. Where rules leave a question
    to chance, with propensities e_a and e_b, both are said to defer min(e_a, e_b) of it.

    References
    ----------
    - `proofs/thm_yield.py`: the influence functions whose difference is taken.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c", "d"], [0, 2, 1, 0], [3] * 4, [3, 1, 1, 0], [3] * 4,
    ...     cluster=["v", "v", "w", "w"])
    >>> outcomes = Outcomes(["a", "b", "c", "d"], [1, 0, 1, 0], {"strong": [1, 1, 0, 1]})
    >>> result = compare_rules(counts, outcomes, "score < 0", "score <= 0")
    >>> result.selected_difference, result.gain_difference.estimate
    (-2.0, 0.0)
    >>> result.overlap
    {'both': 1.0, 'only_a': 0.0, 'only_b': 2.0, 'neither': 1.0, 'jaccard': 0.333...}
    """
    rules = as_routing_rule(rule_a), as_routing_rule(rule_b)
    rng = bootstrap_generator(interval, rng)
    data = join(counts, outcomes, fallback=fallback, allow_mismatch=allow_mismatch, stopped=True)
    method = interval_method(interval, level, data.codes)
    propensities = [rule_propensities(rule, data.rule_input) for rule in rules]
    a, b = (
        deferral_value(e, data, method=method, rng=rng, resamples=resamples) for e in propensities
    )
    gain, per_call = _differences(a, b, propensities, data, method, rng, resamples)
    notes = list(data.notes)
    for rule, e in zip(rules, propensities, strict=True):
        notes += [*unscored_notes(e, data), *rule_notes(rule, data.rule_input)]
    reasons = [(f"a: {name}", note) for name, note in a.reasons()]
    reasons += [(f"b: {name}", note) for name, note in b.reasons()]
    reasons += [("gain difference", gain.note), ("yield difference", per_call.note)]
    return RuleComparison(
        rule_a=str(rules[0]),
        rule_b=str(rules[1]),
        fallback=data.fallback_name,
        questions=data.questions,
        scored=int(data.scored.sum()),
        clusters=None if data.codes is None else count_clusters(data.codes),
        a=a,
        b=b,
        gain_difference=gain,
        yield_difference=per_call,
        selected_difference=whole_if_close(a.selected - b.selected),
        net_difference=whole_if_close(a.net - b.net),
        overlap=_overlap(*propensities),
        interval=method,
        notes=tuple(dict.fromkeys([*notes, *explain(reasons)])),
    )


def _differences(
    a: DeferralValue,
    b: DeferralValue,
    propensities: list[Floats],
    data: RoutingData,
    method: IntervalMethod,
    rng: np.random.Generator | None,
    resamples: int,
) -> tuple[Estimate, Estimate]:
    """Gain and yield of a less those of b, in points and per 100."""
    e_a, e_b = propensities
    gain = (a.gain_points.estimate - b.gain_points.estimate) / 100
    per_call = (a.yield_per_100.estimate - b.yield_per_100.estimate) / 100
    if len(data) and np.array_equal(e_a, e_b):
        note = SAME if e_a.any() else NONE_DEFERRED
        return Estimate(0.0, note=note), Estimate(100 * per_call, note=note)
    if rng is not None and data.codes is not None and count_clusters(data.codes) > 1:
        estimates = _by_bootstrap((gain, per_call), e_a, e_b, data, method.level, rng, resamples)
    else:
        estimates = (
            t_interval(
                gain,
                gain_influence(e_a, data) - gain_influence(e_b, data),
                data.codes,
                level=method.level,
                within=(-1.0, 1.0),
            ),
            t_interval(
                per_call,
                yield_influence(e_a, data) - yield_influence(e_b, data),
                data.codes,
                level=method.level,
                within=(-2.0, 2.0),
            ),
        )
    if len(data) and not (e_a.any() and e_b.any()):
        undefined = "a rule defers no question: there is no yield to compare"
        estimates = estimates[0], Estimate(per_call, note=undefined)
    return in_hundredths(estimates[0]), in_hundredths(estimates[1])


def _by_bootstrap(
    points: tuple[float, float],
    e_a: Floats,
    e_b: Floats,
    data: RoutingData,
    level: float,
    rng: np.random.Generator,
    resamples: int,
) -> tuple[Estimate, Estimate]:
    assert data.codes is not None
    d = data.value
    columns = [np.ones(len(data)), (e_a - e_b) * d, e_a, e_a * d, e_b, e_b * d]

    def statistic(sums: Floats) -> Floats:
        n, net, of_a, net_a, of_b, net_b = sums.T
        yield_a = resampled_yield(net_a, of_a, float(e_a.sum()))
        yield_b = resampled_yield(net_b, of_b, float(e_b.sum()))
        return np.stack([net / n, yield_a - yield_b], axis=1)

    gain, per_call = bootstrap(
        cluster_sums(np.stack(columns, axis=1), data.codes),
        statistic,
        rng=rng,
        resamples=resamples,
    ).T
    return (
        percentile_interval(points[0], gain, level=level),
        Estimate(points[1], note=NONE_IN_RESAMPLE)
        if np.isnan(per_call).any()
        else percentile_interval(points[1], per_call, level=level),
    )


def _overlap(e_a: Floats, e_b: Floats) -> dict[str, float | None]:
    both = np.minimum(e_a, e_b)
    parts = {
        "both": float(both.sum()),
        "only_a": float((e_a - both).sum()),
        "only_b": float((e_b - both).sum()),
        "neither": float((1.0 - np.maximum(e_a, e_b)).sum()),
    }
    parts = {name: whole_if_close(part) for name, part in parts.items()}
    either = parts["both"] + parts["only_a"] + parts["only_b"]
    return {**parts, "jaccard": parts["both"] / either if either else None}


def _count(x: float | None) -> str:
    whole = x is not None and float(x).is_integer()
    return _display.number(int(x) if x is not None and whole else x, 2)
