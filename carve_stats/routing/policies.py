"""Rules side by side: what each selects and yields, and what chance would have yielded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from carve_stats import _display
from carve_stats.clusters import Estimate, IntervalMethod, bootstrap_generator
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.outcomes import Outcomes
from carve_stats.routing.controls import RandomControl
from carve_stats.routing.evaluate import (
    AT_RANDOM,
    RoutingEvaluation,
    clusters_and_intervals,
    control_label,
    evaluate_rule,
)
from carve_stats.routing.rules.always import Always
from carve_stats.routing.rules.base import Rule
from carve_stats.routing.value import DeferralValue, known, plain_count, shown_count

__all__ = ["PoliciesTable", "PolicyRow", "compare_policies"]

RANDOM = (
    "at random: as many questions as {rule} defers; exact means and central ranges over which"
    " questions chance chooses, the videos taken as given"
)
ALWAYS = (
    "always: what deferring every question would do; its yield is that of plain random deferral,"
    " and a rule earns its replays by what it adds to it"
)

_COUNTED = ("selected", "repairs", "harms", "net")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    """One policy of a `PoliciesTable`.

    Parameters
    ----------
    policy : str
        A rule, ``always``, or ``plain``, ``by_cluster`` or ``matched`` random deferral.
    kind : str
        ``rule``, ``always`` or ``random``.
    selected : float or None
        Questions deferred. None, like what follows, where no question's outcomes are known.
    repairs, harms : float or None
        Of them; None for ``random`` too, whose `net` is an expected one.
    net : float or None
        Repairs − harms.
    yield_per_100, gain_points : Estimate
        100·net/selected and 100·net/n. Intervals are over clusters; those of ``random`` over the
        choice of the questions.
    p_value : float or None
        Of ``random``: the chance of a net that is at least the last rule's.
    """

    policy: str
    kind: str
    selected: float | None
    repairs: float | None
    harms: float | None
    net: float | None
    yield_per_100: Estimate
    gain_points: Estimate
    p_value: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values; undefined figures are None."""
        return {
            "policy": self.policy,
            "kind": self.kind,
            **{name: plain_count(getattr(self, name)) for name in _COUNTED},
            "yield_per_100": self.yield_per_100.to_dict(),
            "gain_points": self.gain_points.to_dict(),
            "p_value": self.p_value,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PoliciesTable:
    """Several rules on the same questions, from `compare_policies`.

    Parameters
    ----------
    rows : tuple of PolicyRow
        The rules, always deferring, and the controls at random.
    fallback : str
        Who answers the deferred questions.
    control_of : str
        The rule, the last one, that the controls defer as many questions as.
    questions : dict
        ``read``, ``used`` and ``left_out`` (reason: count).
    scored : int
        Questions used that have a score.
    clusters : int or None
        Clusters of the questions used; None where they are not known.
    match : tuple of str
        What the matched control is matched on.
    interval : IntervalMethod
        How the intervals over clusters were made.
    notes : tuple of str
        What a reader has to know.
    """

    rows: tuple[PolicyRow, ...]
    fallback: str
    control_of: str
    questions: Mapping[str, Any]
    scored: int
    clusters: int | None
    match: tuple[str, ...]
    interval: IntervalMethod
    notes: tuple[str, ...]

    def __getitem__(self, policy: str) -> PolicyRow:
        """The row of a policy, by its name."""
        for row in self.rows:
            if row.policy == policy:
                return row
        known = ", ".join(row.policy for row in self.rows)
        raise InputError(f"no policy {policy!r} in the table: it has {known}")

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "fallback": self.fallback,
            "control_of": self.control_of,
            "questions": dict(self.questions),
            "scored": self.scored,
            "clusters": self.clusters,
            "match": list(self.match),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        caption = (
            f"Policies, deferring to {self.fallback}:"
            f" {_display.counted(self.questions['used'], 'question')}, {self.scored} scored,"
            f" {clusters_and_intervals(self.clusters, self.interval)}"
        )
        headers = ["policy", "calls", "repairs", "harms", "net", "net per 100", "interval"]
        headers += ["gain, points", "p-value"]
        return caption, headers, [self._cells(row) for row in self.rows]

    def _cells(self, row: PolicyRow) -> list[object]:
        per_100, name = row.yield_per_100, row.policy
        if row.kind == "random":
            name = f"at random, {control_label(name, self.match)}"
        return [
            name,
            *map(shown_count, (getattr(row, name) for name in _COUNTED)),
            _display.number(per_100.estimate, 2, signed=True),
            _display.interval(per_100.low, per_100.high, 2, signed=True),
            _display.number(row.gain_points.estimate, 2, signed=True),
            None if row.p_value is None else _display.p_value(row.p_value),
        ]

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def compare_policies(
    counts: ReplayCounts,
    outcomes: Outcomes,
    *,
    rules: Sequence[Rule | ScoreRule | str] = ("score < 0", "score = 0", "score <= 0"),
    fallback: str | None = None,
    match: str | Sequence[str] | None = None,
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
    allow_mismatch: bool = False,
) -> PoliciesTable:
    """Put rules side by side with always deferring and with deferring at random.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        Which answers are right, of the original and of the fallback; joined by question id.
    rules : sequence of Rule, ScoreRule or str
        As for `evaluate_rule`. The controls defer as many questions as the last one.
    fallback, match, interval, level, resamples, rng, allow_mismatch
        As for `evaluate_rule`.

    Returns
    -------
    PoliciesTable
        A row a rule, the row ``always``, and a row for each control that there is: ``plain``,
        ``by_cluster`` (as many of each video) and ``matched`` (as many of each stratum of `match`).

    Raises
    ------
    InputError
        As for `evaluate_rule`; no rule.

    See Also
    --------
    carve_stats.routing.evaluate.evaluate_rule : all there is to say of one rule.
    carve_stats.routing.methods.compare_methods : other answerers in the same table.

    References
    ----------
    - `proofs/thm_random_control.py`: the exact law of deferring as many at random.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c", "d"], [0, 2, 1, 0], [3] * 4, [3, 1, 1, 0], [3] * 4,
    ...     cluster=["v", "v", "w", "w"])
    >>> outcomes = Outcomes(["a", "b", "c", "d"], [1, 0, 1, 0], {"strong": [1, 1, 0, 1]})
    >>> table = compare_policies(counts, outcomes)
    >>> [(row.policy, row.selected, row.net) for row in table.rows[:4]]
    [('score < 0', 1.0, 1.0), ('score = 0', 2.0, 0.0), ('score <= 0', 3.0, 1.0), ('always', 4.0, 1.0)]
    >>> table["plain"].yield_per_100.estimate == table["always"].yield_per_100.estimate
    True
    """  # noqa: E501 (one line of output)
    chosen: list[Any] = [rules] if isinstance(rules, str | ScoreRule) else list(rules)
    if not chosen:
        raise InputError("rules is empty: give at least one rule")
    rng = bootstrap_generator(interval, rng)
    seed = None if rng is None else int(rng.integers(2**63))
    evaluations = [
        evaluate_rule(
            counts, outcomes, rule, fallback=fallback, match=match, interval=interval, level=level,
            resamples=resamples, rng=seed, allow_mismatch=allow_mismatch,
        )
        for rule in chosen
    ]  # fmt: skip
    last = evaluations[-1]
    rows = [_row(one.rule, "rule", one.value) for one in evaluations]
    rows.append(_row(str(Always()), "always", last.always_defer))
    controls = {name: control for name, control in last.controls.items() if control is not None}
    rows += [_random(name, last, control) for name, control in controls.items()]
    notes = [*_notes_of(evaluations), ALWAYS]
    if controls:
        notes.append(RANDOM.format(rule=last.rule))
    return PoliciesTable(
        rows=tuple(rows),
        fallback=last.fallback,
        control_of=last.rule,
        questions=last.questions,
        scored=last.scored,
        clusters=last.clusters,
        match=last.match,
        interval=last.interval,
        notes=tuple(dict.fromkeys(notes)),
    )


def _notes_of(evaluations: Sequence[RoutingEvaluation]) -> list[str]:
    """Notes of all rules once; of some only with their names; of controls those that are shown."""
    *others, last = evaluations
    shared = [note for note in last.notes if all(note in one.notes for one in others)]
    own = [
        f"{one.rule}: {note}"
        for one in evaluations
        for note in one.notes
        if note not in shared and (one is last or not note.startswith(AT_RANDOM))
    ]
    return [*shared, *own]


def _row(name: str, kind: str, value: DeferralValue) -> PolicyRow:
    return PolicyRow(
        policy=name,
        kind=kind,
        selected=known(value.selected),
        repairs=known(value.repairs),
        harms=known(value.harms),
        net=known(value.net),
        yield_per_100=value.yield_per_100,
        gain_points=value.gain_points,
    )


def _random(name: str, evaluation: RoutingEvaluation, control: RandomControl) -> PolicyRow:
    selected, n = evaluation.selected, evaluation.questions["used"]
    sd = math.sqrt(control.distribution.var)
    per_100 = Estimate(math.nan)
    if selected:
        scale = 100 / selected
        ends = scale * control.net_low, scale * control.net_high
        per_100 = Estimate(control.yield_per_100, scale * sd, *ends)
    return PolicyRow(
        policy=name,
        kind="random",
        selected=selected,
        repairs=None,
        harms=None,
        net=control.net_mean,
        yield_per_100=per_100,
        gain_points=Estimate(control.mean, 100 * sd / n, control.low, control.high),
        p_value=control.p_value,
    )
