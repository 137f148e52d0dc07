"""Other methods in one table: every answerer used for all questions, rules, and chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    Estimate,
    bootstrap_generator,
    count_clusters,
    explain,
    interval_method,
)
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.outcomes import ORIGINAL, Outcomes, check_outcomes
from carve_stats.routing.controls import random_control
from carve_stats.routing.costs import NO_SELF, deferral_costs
from carve_stats.routing.evaluate import unscored_notes
from carve_stats.routing.joined import NEITHER_KNOWN, NOT_KNOWN, RoutingData, join
from carve_stats.routing.methods_table import MethodRow, MethodsTable, check_answerer_names
from carve_stats.routing.rules.base import (
    Rule,
    looks_at_scores,
    rule_conditions,
    rule_notes,
    rule_propensities,
)
from carve_stats.routing.rules.parsing import as_routing_rule
from carve_stats.routing.value import deferral_value, known, shown_count, whole_if_close

__all__ = ["MethodRow", "MethodsTable", "compare_methods"]

Floats = NDArray[np.float64]

DEFAULT_RULES = ("score <= 0",)
NO_RULES = "no rows of rules on scores: they need replays, counts="
ITSELF = "the original answers do not differ from themselves"
AT_RANDOM = (
    "{name}: exact mean and central range over which questions chance chooses, the videos taken as"
    " given; repairs and harms are expected ones"
)
OWN_COSTS = (
    "tools and tokens: an answerer used for all questions has its own alone; where questions are"
    " deferred, those of the original answers and of the deferred ones' fallback are added up"
)
REPLAYS = "{rules}: {replays} {conditions} replays a question come on top, as logged"
UNEQUAL = (
    "the rows do not speak of the same questions (see n): compare their changes, each against the"
    " original answers to the same questions, rather than their accuracies"
)


def compare_methods(
    outcomes: Outcomes,
    counts: ReplayCounts | None = None,
    *,
    rules: str | Sequence[Rule | ScoreRule | str] | None = None,
    fallback: str | None = None,
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
    allow_mismatch: bool = False,
) -> MethodsTable:
    """Put answerers, rules and chance in one table: accuracy, what it costs, what it changes.

    Parameters
    ----------
    outcomes : Outcomes
        Which answers are right, of the original and of any number of alternatives.
    counts : ReplayCounts, optional
        Flips and replays of each question; rules on scores need them.
    rules : str, Rule, ScoreRule, or a sequence of those, optional
        As for `evaluate_rule`; ``score <= 0`` where not given and there are `counts`. An empty
        sequence: none.
    fallback : str, optional
        Which alternative answers what the rules defer; needed where there are several.
    interval, level, resamples, rng, allow_mismatch
        As for `evaluate_rule`.

    Returns
    -------
    MethodsTable
        A row for the original answers, for each alternative used for all questions, for deferring
        as many questions at random as the first rule does, and for each rule.

    Raises
    ------
    InputError
        As for `evaluate_rule`; a rule on scores without `counts`; an alternative that is called
        like a rule, whose row nobody could tell from the rule's.

    See Also
    --------
    carve_stats.routing.policies.compare_policies : the rules alone, with their yields.
    carve_stats.routing.self_consistency.self_consistency : the majority of the SELF replays as an
        alternative.

    Notes
    -----
    The change of a method is the mean over questions of (method right) − (original right): paired
    by question, with a standard error over clusters. A row has the questions of which both
    outcomes are known; unknown is neither right nor wrong, and is counted. An alternative that
    is used for all questions is the rule ``always`` with it as the fallback, except that it costs
    only its own tokens and tools.

    Chance is exact: the range is that of the hypergeometric law of repairs − harms
    (`random_control`), and no interval over clusters. With the bootstrap all rows
    share their resamples, so that no row depends on which others there are.

    References
    ----------
    - `proofs/thm_yield.py`: repairs less harms, and the standard error of the change.
    - `proofs/thm_random_control.py`: the exact law of deferring as many at random.

    Examples
    --------
    >>> outcomes = Outcomes(["a", "b", "c", "d"], [1, 0, 1, 0],
    ...     {"look_more": [1, 0, 0, 0], "strong": [1, 1, 1, 0]}, cluster=["v", "v", "w", "w"])
    >>> counts = ReplayCounts(["a", "b", "c", "d"], [0, 2, 1, 0], [3] * 4, [3, 1, 1, 0], [3] * 4)
    >>> table = compare_methods(outcomes, counts, fallback="strong")
    >>> [(row.method, row.accuracy.estimate, row.change_points.estimate) for row in table.rows]
    [('original', 0.5, 0.0), ('look_more', 0.25, -25.0), ('strong', 0.75, 25.0), ('random 3', 0.6875, 18.75), ('score <= 0', 0.75, 25.0)]
    """  # noqa: E501 (one line of output)
    check_outcomes(outcomes)
    chosen = _rules(rules, counts)
    check_answerer_names(outcomes.alternatives, map(str, chosen))
    rng = bootstrap_generator(interval, rng)
    seed = None if rng is None else int(rng.integers(2**63))
    # Without replays: counts of none, from which only the clusters' absence could be learnt.
    replays = _no_replays(outcomes) if counts is None else counts

    def joined(among: Outcomes, name: str | None) -> RoutingData:
        return join(replays, among, fallback=name, allow_mismatch=allow_mismatch, stopped=True)

    themselves = Outcomes(
        outcomes.question,
        outcomes.original.correct,
        {"itself": outcomes.original},
        cluster=outcomes.cluster,
        original_tokens=outcomes.original.tokens,
        original_tools=outcomes.original.tools,
        ledger=outcomes.ledger,
    )
    originals = joined(themselves, None)
    reasons = originals.questions["left_out"]
    named = {NOT_KNOWN if why == NEITHER_KNOWN else why: n for why, n in reasons.items()}
    originals = replace(originals, questions={**originals.questions, "left_out": named})
    maker = _RowMaker(interval, level, seed, resamples, replayed=counts is not None)
    rows = [maker.original(originals)]
    data = {ORIGINAL: originals}
    for name in outcomes.alternatives:
        data[name] = joined(outcomes, name)
        rows.append(maker.answerer(name, data[name]))
    to = outcomes.fallback(fallback)[0] if chosen or fallback is not None else None
    if chosen and to is not None:
        rows.append(maker.random(chosen[0], data[to]))
        rows += [maker.rule(rule, data[to]) for rule in chosen]
    notes = [] if counts is not None else _without_replays(rules, data)
    *_, most = sorted(data.values(), key=lambda one: sum(one.questions["left_out"].values()))
    notes = [*_left_out(data), *notes, *maker.notes]
    if len({row.n for row in rows if row.n}) > 1:
        notes.append(UNEQUAL)
    if any(row.tools is not None or row.tokens is not None for row in rows):
        notes.append(OWN_COSTS)
        if counts is not None and to is not None and len(data[to]):
            notes += _replay_notes(chosen, data[to])
    return MethodsTable(
        rows=tuple(rows),
        fallback=to if chosen else None,
        questions={
            "read": originals.questions["read"],
            "used": max(len(one) for one in data.values()),
            "left_out": dict(most.questions["left_out"]),
        },
        interval=interval_method(interval, level, originals.codes),
        notes=tuple(dict.fromkeys(notes)),
    )


class _RowMaker:
    """Rows of one table, and what there is to say of them."""

    def __init__(
        self, interval: str, level: float, seed: int | None, resamples: int, *, replayed: bool
    ) -> None:
        self._interval, self._level, self._replayed = interval, level, replayed
        self._seed, self._resamples = seed, resamples
        self._reasons: list[tuple[str, str | None]] = []
        self._notes: list[str] = []

    @property
    def notes(self) -> list[str]:
        """What was met so far."""
        return [*self._notes, *explain(self._reasons)]

    def original(self, data: RoutingData) -> MethodRow:
        """The original answers; their change is 0 by itself, and has no interval."""
        costs = {what: self._own(ORIGINAL, what, data) for what in ("tools", "tokens")}
        row = self._row(ORIGINAL, "original", np.zeros(len(data)), data, costs)
        change = Estimate(0.0 if len(data) else math.nan, note=ITSELF)
        return replace(row, change_points=change)

    def answerer(self, name: str, data: RoutingData) -> MethodRow:
        """An alternative used for all questions."""
        costs = {what: self._own(name, what, data) for what in ("tools", "tokens")}
        row = self._row(name, "answerer", np.ones(len(data)), data, costs)
        self._reasons.append((name, row.change_points.note))
        return row

    def rule(self, rule: Rule, data: RoutingData) -> MethodRow:
        """The questions that a rule selects are deferred."""
        e = rule_propensities(rule, data.rule_input)
        row = self._row(str(rule), "rule", e, data, self._deferred(str(rule), rule, e, data))
        self._reasons.append((row.method, row.change_points.note))
        if self._replayed:
            self._notes += [f"{row.method}: {note}" for note in unscored_notes(e, data)]
        self._notes += rule_notes(rule, data.rule_input)
        return row

    def random(self, rule: Rule, data: RoutingData) -> MethodRow:
        """As many questions as the rule selects, chosen at random."""
        e, n = rule_propensities(rule, data.rule_input), len(data)
        selected = whole_if_close(float(e.sum()))
        name = f"random {shown_count(selected)}" if n else "random"
        uniform = np.full(n, selected / n if n else 0.0)
        row = self._row(name, "random", uniform, data, self._deferred(name, rule, uniform, data))
        if not n:
            return row
        control = random_control(data.value, e, level=self._level)
        self._notes.append(AT_RANDOM.format(name=name))
        if control.note:
            self._notes.append(f"{name}: {control.note}")
        se = 100 * math.sqrt(control.distribution.var) / n
        before = row.accuracy_before
        return replace(
            row,
            selected=selected,
            change_points=Estimate(control.mean, se, control.low, control.high),
            accuracy=Estimate(
                before + control.mean / 100,
                se / 100,
                before + control.low / 100,
                before + control.high / 100,
            ),
        )

    def _row(
        self, name: str, kind: str, e: Floats, data: RoutingData, costs: dict[str, float | None]
    ) -> MethodRow:
        rng = None if self._seed is None else np.random.default_rng(self._seed)
        method = interval_method(self._interval, self._level, data.codes)
        value = deferral_value(e, data, method=method, rng=rng, resamples=self._resamples)
        return MethodRow(
            method=name,
            kind=kind,
            n=len(data),
            clusters=None if data.codes is None else count_clusters(data.codes),
            selected=known(value.selected),
            accuracy=value.accuracy_after,
            accuracy_before=float(data.original.mean()) if len(data) else math.nan,
            change_points=value.gain_points,
            repairs=known(value.repairs),
            harms=known(value.harms),
            net=known(value.net),
            **costs,
        )

    def _own(self, name: str, what: str, data: RoutingData) -> float | None:
        """The mean cost of an answerer's own answers; None where one is not known."""
        column: Floats | None = getattr(data, f"fallback_{what}")
        if column is None or not column.size:
            return None
        missing = int(np.isnan(column).sum())
        if not missing:
            return math.fsum(column.tolist()) / column.size
        if missing < column.size:
            shown = _display.counted(missing, "question")
            self._notes.append(f"{name}: {what} are not known of {shown}")
        return None

    def _deferred(
        self, name: str, rule: Rule, e: Floats, data: RoutingData
    ) -> dict[str, float | None]:
        costs, notes = deferral_costs(e, data, rule_conditions(rule))
        if costs["tools_after"] is not None or costs["tokens_after"] is not None:
            self._notes += [f"{name}: {note}" for note in notes]
        return {what: costs[f"{what}_after"] for what in ("tools", "tokens")}


def _rules(
    rules: str | Rule | ScoreRule | Sequence[Rule | ScoreRule | str] | None,
    counts: ReplayCounts | None,
) -> list[Rule]:
    if rules is None:
        return [as_routing_rule(rule) for rule in DEFAULT_RULES] if counts is not None else []
    one = isinstance(rules, str | ScoreRule) or not isinstance(rules, Iterable)
    listed: list[Any] = [rules] if one else list(rules)  # type: ignore[arg-type]
    chosen = [as_routing_rule(rule) for rule in listed]
    names = [str(rule) for rule in chosen]
    for rule, name in zip(chosen, names, strict=True):
        if names.count(name) > 1:
            raise InputError(f"rules: {name!r} is there {names.count(name)} times: give it once")
        if counts is None and looks_at_scores(rule):
            # Of which there are none without counts.
            raise InputError(f"rules: {name!r} needs replays: give counts=")
    return chosen


def _no_replays(outcomes: Outcomes) -> ReplayCounts:
    none = np.zeros(len(outcomes), np.int64)
    return ReplayCounts(outcomes.question, none, none, none, none, cluster=outcomes.cluster)


def _without_replays(rules: object, data: Mapping[str, RoutingData]) -> list[str]:
    return [NO_RULES] if rules is None and len(data) > 1 else []


def _replay_notes(rules: Sequence[Rule], data: RoutingData) -> list[str]:
    """What the replays cost that each rule looks at; rules on the same ones together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for rule in rules:
        alike.setdefault(rule_conditions(rule), []).append(str(rule))
    notes = []
    for conditions, names in alike.items():
        spent, told = deferral_costs(np.zeros(len(data)), data, conditions)
        which = "rules" if len(names) == len(rules) else ", ".join(names)
        if conditions and (replays := spent["replays"]) is not None:
            shown = " and ".join(map(str.upper, conditions))
            notes.append(REPLAYS.format(rules=which, replays=f"{replays:.4g}", conditions=shown))
        notes += [f"{which}: {note}" for note in told if note == NO_SELF]
    return notes


def _left_out(data: Mapping[str, RoutingData]) -> list[str]:
    """What the joins have to say, and how many questions each row leaves out, and why."""
    notes: list[str] = []
    for name, one in data.items():
        reasons = one.questions["left_out"]
        if name != ORIGINAL:
            notes += one.notes
        if reasons:
            what = ", ".join(
                f"{n} {reason.replace('fallback', name)}" for reason, n in reasons.items()
            )
            shown = _display.counted(sum(reasons.values()), "question")
            notes.append(f"{name}: {shown} left out ({what})")
    return notes
