"""What a routing rule does: repairs, harms, yield, gain, and what chance would have done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    Estimate,
    IntervalMethod,
    bootstrap_generator,
    count_clusters,
    explain,
    interval_method,
)
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError, unknown_name
from carve_stats.law.score_rule import ScoreRule
from carve_stats.outcomes import Outcomes
from carve_stats.routing.controls import RandomControl, random_control, strata_codes
from carve_stats.routing.costs import deferral_costs
from carve_stats.routing.joined import RoutingData, join
from carve_stats.routing.rules.always import Always
from carve_stats.routing.rules.base import Rule, rule_conditions, rule_notes, rule_propensities
from carve_stats.routing.rules.parsing import as_routing_rule
from carve_stats.routing.value import (
    DeferralValue,
    deferral_value,
    original_accuracy,
    shown_count,
)

__all__ = ["RoutingEvaluation", "evaluate_rule"]

CONTROLS = {
    "plain": "as many of all questions",
    "by_cluster": "as many of each cluster",
    "matched": "as many of each stratum of {match}",
}
AT_RANDOM = "at random, "
NO_CLUSTERS = "no control by cluster: which questions share a video is not known"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RoutingEvaluation:
    """What a rule does to the answers, from `evaluate_rule`.

    Parameters
    ----------
    rule, fallback : str
        The rule, and the name of the answerer that deferred questions go to.
    questions : dict
        ``read``, ``used`` and ``left_out`` (reason: count).
    scored : int
        Questions used that have a score; the others keep the original answer under every rule
        on scores.
    clusters : int or None
        Clusters of the questions used; None where they are not known.
    selected, repairs, harms, net : float
        Questions deferred; of them the original wrong and the fallback right, and the other way
        round; the difference. Expected numbers, where the rule leaves some to chance; NaN where
        of no question both outcomes are known.
    yield_per_100, gain_points : Estimate
        100·net/selected and, in percentage points, 100·net/n.
    accuracy_before, accuracy_after : Estimate
        Shares of right answers.
    always_defer : DeferralValue
        The same figures of deferring every question, scored or not.
    controls : dict
        ``plain``, ``by_cluster`` and ``matched``: deferring as many questions at random, of all
        questions, of each cluster, of each stratum of `match`; None where that cannot be.
    match : tuple of str
        The covariates that the last of them is matched on.
    costs : dict
        Means a question, as in `deferral_costs`.
    interval : IntervalMethod
        How the intervals were made.
    notes : tuple of str
        What a reader has to know.
    """

    rule: str
    fallback: str
    questions: Mapping[str, Any]
    scored: int
    clusters: int | None
    selected: float
    repairs: float
    harms: float
    net: float
    yield_per_100: Estimate
    accuracy_before: Estimate
    accuracy_after: Estimate
    gain_points: Estimate
    always_defer: DeferralValue
    controls: Mapping[str, RandomControl | None]
    match: tuple[str, ...]
    costs: Mapping[str, float | None]
    interval: IntervalMethod
    notes: tuple[str, ...]

    @property
    def value(self) -> DeferralValue:
        """What the rule does, in the form of `always_defer`."""
        return DeferralValue(
            **{name: getattr(self, name) for name in DeferralValue.__dataclass_fields__}
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        value = self.value.to_dict()
        return {
            "rule": self.rule,
            "fallback": self.fallback,
            "questions": dict(self.questions),
            "scored": self.scored,
            "clusters": self.clusters,
            **{name: value[name] for name in ("selected", "repairs", "harms", "net")},
            "yield_per_100": value["yield_per_100"],
            "accuracy_before": self.accuracy_before.to_dict(),
            "accuracy_after": value["accuracy_after"],
            "gain_points": value["gain_points"],
            "always_defer": self.always_defer.to_dict(),
            "controls": {
                name: None if control is None else control.to_dict()
                for name, control in self.controls.items()
            },
            "match": list(self.match),
            "costs": dict(self.costs),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _tables(self) -> list[tuple[str, list[str], list[list[object]]]]:
        caption = (
            f"Routing to {self.fallback}: {_display.counted(self.questions['used'], 'question')},"
            f" {self.scored} scored, {clusters_and_intervals(self.clusters, self.interval)}"
        )
        headers = ["deferred", "calls", "repairs", "harms", "net"]
        headers += ["net per 100", "interval", "accuracy %", "gain, points", "interval"]
        nobody: list[object] = ["nobody", "0", "0", "0", "0", None, None]
        before = self.accuracy_before.estimate
        rows = [
            [*nobody, _display.number(100 * before, 2), _display.number(0.0, 2), None],
            _row(self.rule, self.value),
            _row("always", self.always_defer),
        ]
        tables = [(caption, headers, rows)]
        chance: list[list[object]] = [
            [
                control_label(name, self.match),
                str(control.strata),
                _display.number(control.net_mean, 2),
                f"[{control.net_low}, {control.net_high}]",
                _display.number(control.mean, 2, signed=True),
                _display.interval(control.low, control.high, 2, signed=True),
                _display.number(control.yield_per_100, 2, signed=True),
                _display.p_value(control.p_value),
            ]
            for name, control in self.controls.items()
            if control is not None
        ]
        if chance:
            level = f"central {100 * self.interval.level:g} %"
            headers = ["at random", "strata", "net", level, "gain, points", level]
            headers += ["net per 100", "p-value"]
            caption = (
                "Deferring at random (exact); p-value: chance that as many questions deferred at"
                " random\nhave at least the net of the rule"
            )
            tables.append((caption, headers, chance))
        known = {name: cost for name, cost in self.costs.items() if cost is not None}
        spent: list[list[object]] = [
            [name.replace("_", " "), _display.number(cost, 3)] for name, cost in known.items()
        ]
        tables.append(("Costs", ["", "mean a question"], spent))
        return tables

    def __str__(self) -> str:
        *first, last = self._tables()
        blocks = [_display.text_block(*table) for table in first]
        return "\n\n".join([*blocks, _display.text_block(*last, self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        *first, last = self._tables()
        blocks = [_display.html_block(*table) for table in first]
        return "\n".join([*blocks, _display.html_block(*last, self.notes)])


def evaluate_rule(
    counts: ReplayCounts,
    outcomes: Outcomes,
    rule: Rule | ScoreRule | str = "score <= 0",
    *,
    fallback: str | None = None,
    match: str | Sequence[str] | None = None,
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
    allow_mismatch: bool = False,
) -> RoutingEvaluation:
    """What deferring by a rule gains, against deferring always and at random.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        Which answers are right, of the original and of the fallback; joined by question id.
    rule : Rule, ScoreRule or str
        Which questions to defer: a text as in `as_routing_rule`, or an object whose
        ``propensities(questions)`` gives the probability of deferring each.
    fallback : str, optional
        Which alternative answers the deferred questions; needed where there are several.
    match : str or sequence of str, optional
        Covariates, such as the evidence that a question rests on: the matched control defers as
        many questions of each of their combinations as the rule does. ``cluster`` may be among
        them.
    interval : str
        ``t``: linearised cluster standard error and Student's t. ``bootstrap``: percentiles of
        the cluster bootstrap.
    level : float
        Confidence level of the intervals, and the share of the controls' central range.
    resamples : int
        Resamples of the bootstrap, at least 100.
    rng : numpy.random.Generator or int, optional
        The bootstrap's source of randomness, or a seed; the bootstrap needs one.
    allow_mismatch : bool
        Whether questions may lack replays (they have no score then) or outcomes (they are left
        out then); both are counted.

    Returns
    -------
    RoutingEvaluation
        What is not estimable is NaN or None, with a note.

    Raises
    ------
    InputError
        Ids that do not match, replays stopped by another rule, an unknown rule, score, fallback or
        covariate, propensities that are none, a bootstrap without `rng`.

    See Also
    --------
    carve_stats.routing.comparison.compare_rules : two rules, paired by question.

    Notes
    -----
    A repair is a deferred question whose original answer is wrong and the fallback's right; a
    harm the reverse. Deferring *every* question has the yield of random deferral: a rule
    earns its replays by what it adds to that, which is why the row is always there.

    A question without a score keeps the original answer under every rule on scores. Of replays
    that were stopped early the rule that they were stopped by can be evaluated: its decisions are
    those of the full budget. Intervals
    speak of other videos, with the rule as it stands; that a cut-off or a population was chosen
    from the same questions is not in them.

    References
    ----------
    - `proofs/thm_yield.py`: repairs less harms, and the standard errors of gain and yield.
    - `proofs/thm_random_control.py`: the exact law of deferring as many at random.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c", "d"], [0, 2, 1, 0], [3] * 4, [3, 1, 1, 0], [3] * 4,
    ...     cluster=["v", "v", "w", "w"])
    >>> outcomes = Outcomes(["a", "b", "c", "d"], [1, 0, 1, 0], {"strong": [1, 1, 0, 1]})
    >>> result = evaluate_rule(counts, outcomes, "score <= 0")
    >>> result.selected, result.repairs, result.harms, result.gain_points.estimate
    (3.0, 2.0, 1.0, 25.0)
    >>> result.always_defer.gain_points.estimate, result.controls["plain"].mean
    (25.0, 18.75)
    """
    rule = as_routing_rule(rule)
    rng = bootstrap_generator(interval, rng)
    data = join(counts, outcomes, fallback=fallback, allow_mismatch=allow_mismatch, stopped=True)
    method = interval_method(interval, level, data.codes)
    strata, match, match_notes = _strata(data, match)
    propensities = rule_propensities(rule, data.rule_input)
    always = rule_propensities(Always(), data.rule_input)
    value, always_defer = (
        deferral_value(e, data, method=method, rng=rng, resamples=resamples)
        for e in (propensities, always)
    )
    before = original_accuracy(data, method=method, rng=rng, resamples=resamples)
    controls = _controls(propensities, data, strata, method.level)
    costs, cost_notes = deferral_costs(propensities, data, rule_conditions(rule))
    reasons = [("accuracy before", before.note), *value.reasons()]
    reasons += [(f"always-defer {name}", note) for name, note in always_defer.reasons()]
    notes = [*data.notes, *unscored_notes(propensities, data), *rule_notes(rule, data.rule_input)]
    notes += explain(reasons)
    notes += match_notes
    notes += [control.note for control in controls.values() if control and control.note]
    notes += [
        f"{AT_RANDOM}{control_label(name, match)}: {control.chance}"
        for name, control in controls.items()
        if control and control.chance
    ]
    if data.codes is None and len(data):
        notes.append(NO_CLUSTERS)
    return RoutingEvaluation(
        rule=str(rule),
        fallback=data.fallback_name,
        questions=data.questions,
        scored=int(data.scored.sum()),
        clusters=None if data.codes is None else count_clusters(data.codes),
        **{name: getattr(value, name) for name in DeferralValue.__dataclass_fields__},
        accuracy_before=before,
        always_defer=always_defer,
        controls=controls,
        match=match,
        costs=costs,
        interval=method,
        notes=tuple(dict.fromkeys([*notes, *cost_notes])),
    )


def clusters_and_intervals(clusters: int | None, interval: IntervalMethod) -> str:
    """How many clusters there are, and which intervals, for the caption of a table."""
    if clusters is None:
        return "clusters unknown (no intervals)"
    return f"{_display.counted(clusters, 'cluster')} ({interval})"


def control_label(name: str, match: Sequence[str]) -> str:
    """What a control chooses at random, in words; `match` names what makes its strata."""
    return CONTROLS[name].format(match=", ".join(match))


def unscored_notes(propensities: NDArray[np.float64], data: RoutingData) -> list[str]:
    """How many questions have no score, and whether they keep the original answer.

    Parameters
    ----------
    propensities : ndarray of float, shape (n,)
        The probability that each question is deferred.
    data : RoutingData
        The n questions.

    Returns
    -------
    list of str
        Empty where all have a score.
    """
    without = ~data.scored
    n = int(without.sum())
    if not n:
        return []
    shown = "1 question has" if n == 1 else f"{n} questions have"
    kept = (
        "the rule may defer it all the same" if n == 1 else "the rule may defer them all the same"
    )
    if not propensities[without].any():
        kept = f"keep{'s' if n == 1 else ''} the original answer"
    return [f"{shown} no score and {kept}"]


def _strata(
    data: RoutingData, match: str | Sequence[str] | None
) -> tuple[NDArray[np.int64] | None, tuple[str, ...], list[str]]:
    """The stratum of each question, the names that make it, and what is missing of them."""
    given = () if match is None else (match,) if isinstance(match, str) else match
    if not isinstance(given, Iterable) or not all(isinstance(name, str) for name in given):
        raise InputError(f"match={match!r} must be the name of a covariate, or a list of names")
    names = tuple(given)
    columns = dict(data.covariates)
    if data.codes is not None:
        columns.setdefault("cluster", data.codes)
    for name in names:
        if name not in columns:
            raise InputError(unknown_name("covariate in match", name, columns))
    notes = []
    for name in names:
        column = columns[name]
        missing = int((np.isnan(column) if column.dtype.kind == "f" else column == "").sum())
        if missing:
            shown = "1 question has" if missing == 1 else f"{missing} questions have"
            notes.append(f"match: {shown} no {name}, which counts as a value of its own")
    return (strata_codes(*(columns[name] for name in names)) if names else None), names, notes


def _controls(
    propensities: NDArray[np.float64],
    data: RoutingData,
    strata: NDArray[np.int64] | None,
    level: float,
) -> dict[str, RandomControl | None]:
    if not len(data):
        return dict.fromkeys(CONTROLS)
    wanted = {"plain": np.zeros(len(data), np.int64), "by_cluster": data.codes, "matched": strata}
    return {
        name: None
        if codes is None
        else random_control(data.value, propensities, codes, level=level)
        for name, codes in wanted.items()
    }


def _row(name: str, value: DeferralValue) -> list[object]:
    gain, per_100 = value.gain_points, value.yield_per_100
    counted = [value.selected, value.repairs, value.harms, value.net]
    return [
        name,
        *map(shown_count, counted),
        _display.number(per_100.estimate, 2, signed=True),
        _display.interval(per_100.low, per_100.high, 2, signed=True),
        _display.number(100 * value.accuracy_after.estimate, 2),
        _display.number(gain.estimate, 2, signed=True),
        _display.interval(gain.low, gain.high, 2, signed=True),
    ]
