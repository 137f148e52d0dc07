"""Fewer replays for the same decisions: stopping a question once its decision cannot change."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError, check_name
from carve_stats.law._arguments import one_number, replay_budget
from carve_stats.law._flip_states import (
    decision_classes,
    flip_states,
    plan_budget_pair,
    plan_rule,
)
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.stopping import ORDERS, StoppingPlan, fixed_plan
from carve_stats.planning.optimal_order import class_masses, optimal_plan, state_masses
from carve_stats.population.fit import fit_population
from carve_stats.population.mixing import Population

__all__ = ["Curtailment", "curtailment", "stopping_plan"]

Floats = NDArray[np.float64]

_FLOOR = 3, 10  # of the budget, in each arm, before any stop

SAME = "every decision is the one that the full budget brings, whatever the flips"
CHANGED = (
    "{share} of the decisions differ from those of the full budget, if the questions are as the"
    " population says; that share is no bound for other questions"
)
GUARANTEED = (
    "every question gets at least {sham} SHAM and {destroy} DESTROY replays: figures for up to so"
    " many can be estimated without bias from the stopped replays, and no others"
)
NOTHING = (
    "some questions get no {arm} replay at all: nothing about both arms can be estimated from the"
    " stopped replays. Ask for a minimum of replays in each arm"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Curtailment:
    """What stopping early saves, from `curtailment`.

    Parameters
    ----------
    plan : StoppingPlan
        The order of the replays and where they stop.
    sham, destroy, total : float
        Expected replays of a question.
    distribution : ndarray, shape (k_sham + k_destroy + 1,)
        Probability of each total.
    saving : float
        1 − total/(k_sham + k_destroy).
    cost_saving : float
        The same of the cost.
    changed : float
        Share of decisions that the full budget would make otherwise: 0 for an exact plan.
    guaranteed : (int, int)
        SHAM and DESTROY replays that every question gets.
    population : str
        Where the questions' flip probabilities come from: ``as given``, or fitted to how many
        questions.
    notes : tuple of str
        What a reader has to know.
    """

    plan: StoppingPlan
    sham: float
    destroy: float
    total: float
    distribution: Floats
    saving: float
    cost_saving: float
    changed: float
    guaranteed: tuple[int, int]
    population: str
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value, but the plan's table."""
        return {
            "rule": str(self.plan.rule),
            "order": self.plan.order,
            "k": {"sham": self.plan.k_sham, "destroy": self.plan.k_destroy},
            "minimum": _arms(*self.plan.minimum),
            "guaranteed": _arms(*self.guaranteed),
            "expected": {**_arms(self.sham, self.destroy), "total": self.total},
            "distribution": self.distribution.tolist(),
            "saving": self.saving,
            "cost_saving": self.cost_saving,
            "changed": self.changed,
            "plan_sha256": self.plan.sha256,
            "population": self.population,
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        plan = self.plan
        budget = plan.k_sham, plan.k_destroy, plan.k_sham + plan.k_destroy
        made = self.sham, self.destroy, self.total
        rows: list[list[object]] = [
            [name, full, _display.number(some, 2), _percent(1.0 - some / full)]
            for name, full, some in zip(("SHAM", "DESTROY", "both"), budget, made, strict=True)
        ]
        rows.append(["cost", None, None, _percent(self.cost_saving)])
        caption = (
            f"Replays of a question until {plan.rule!s} is decided, order {plan.order!r}\n"
            f"in a population {self.population}"
        )
        return caption, ["replays", "full", "expected", "saved"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def stopping_plan(
    k: int | None = None,
    *,
    k_sham: int | None = None,
    k_destroy: int | None = None,
    rule: ScoreRule | str = "score <= 0",
    order: str = "optimal",
    minimum: tuple[int, int] | None = None,
    population: Population | None = None,
    cost_sham: float = 1.0,
    cost_destroy: float = 1.0,
    changed: float = 0.0,
) -> StoppingPlan:
    """Plan in which order a question is replayed, and when it stops.

    Parameters
    ----------
    k : int, optional
        The full budget: replays in each arm, at most 64.
    k_sham, k_destroy : int, optional
        The same where the arms differ; in the place of `k`.
    rule : ScoreRule or str
        What is to be decided: a rule on the score, or ``"sign"`` for the three signs.
    order : str
        ``optimal``: the least expected cost under the population; ``alternate``: SHAM first;
        ``alternate-destroy-first``; ``destroy-first``: all DESTROY replays before any SHAM.
    minimum : (int, int), optional
        SHAM and DESTROY replays before any stop. By default three tenths of the budget, rounded
        down, and at least 1: a little is given up so that estimates stay possible.
    population : Population, optional
        For ``optimal``: what questions are like, fitted to a pilot or assumed. Only the cost
        depends on it, never a decision, while `changed` is 0.
    cost_sham, cost_destroy : float
        Of a replay, for ``optimal``.
    changed : float
        The largest share of decisions that may differ from those of the full budget, below 1.
        Above 0, the order must be ``optimal``.

    Returns
    -------
    StoppingPlan
        What to replay next in every state.

    Raises
    ------
    InputError
        No budget, or one above 64; an unknown rule or order; a minimum above the budget; no
        population where one is needed; a cost that is not above 0; a share outside [0, 1).

    Notes
    -----
    A question may stop as soon as all flips still to come lead to the same decision: for
    score ≤ 0 at k, when y + (k − j) ≤ x or y > x + (k − i). The optimal order is a dynamic
    program backwards over all states (i, x, j, y), with the population's predictive
    probabilities. For `changed` above 0, a stop that may be wrong costs λ times the probability
    that it is; λ is the least that keeps the share. Of the plans that change no more than this one,
    none costs less (a Lagrangian); one that changes more, within the share, could.

    References
    ----------
    - `proofs/thm_curtailment.py`: when a decision is certain: such a stop changes none.
    - `proofs/thm_optimal_order.py`: no plan costs less, of those that change as few decisions.

    Examples
    --------
    >>> plan = stopping_plan(10, population=Population.paper())
    >>> plan
    StoppingPlan('score <= 0', k_sham=10, k_destroy=10, order='optimal', minimum=(3, 3),
                 guaranteed=(3, 3))
    >>> plan.next_condition(0, 0, 0, 0)
    'sham'
    """
    budget = _budget(k, k_sham, k_destroy)
    rule = plan_rule(rule)
    check_name("order", order, ORDERS)
    costs = _positive("cost_sham", cost_sham), _positive("cost_destroy", cost_destroy)
    changed = one_number("changed", changed)
    if not 0.0 <= changed < 1.0:
        raise InputError(f"changed={changed} must be a share, at least 0 and below 1")
    least = _default_minimum(budget) if minimum is None else minimum
    if order != "optimal":
        if changed > 0.0:
            raise InputError(f"changed={changed} needs order='optimal': other orders are exact")
        return fixed_plan(*budget, rule, order, least)
    if not isinstance(population, Population):
        raise InputError(
            "order='optimal' needs population=, such as fit_population(counts); or give another"
            " order, such as 'alternate'"
        )
    dearer = max(costs)  # only their ratio matters, and sums of large ones would overflow
    costs = costs[0] / dearer, costs[1] / dearer
    plan = optimal_plan(budget, rule, least, population, costs, changed)
    return replace(plan, changed=changed)


def curtailment(
    source: Population | ReplayCounts,
    *,
    k: int | None = None,
    k_sham: int | None = None,
    k_destroy: int | None = None,
    rule: ScoreRule | str = "score <= 0",
    order: str = "optimal",
    minimum: tuple[int, int] | None = None,
    cost_sham: float = 1.0,
    cost_destroy: float = 1.0,
    changed: float = 0.0,
) -> Curtailment:
    """How many replays stopping early saves.

    Parameters
    ----------
    source : Population or ReplayCounts
        What questions are like: a population, or pilot replays that one is fitted to.
    k, k_sham, k_destroy, rule, order, minimum, cost_sham, cost_destroy, changed
        As in `stopping_plan`.

    Returns
    -------
    Curtailment
        The plan, its expected replays and their distribution.

    Raises
    ------
    InputError
        Another source, and what `stopping_plan` refuses.

    References
    ----------
    - `proofs/thm_curtailment.py`: when a decision is certain: such a stop changes none.
    - `proofs/thm_optimal_order.py`: no plan costs less, of those that change as few decisions.

    Examples
    --------
    >>> print(curtailment(Population.paper(), k=10))
    Replays of a question until score <= 0 is decided, order 'optimal'
    in a population as given
    <BLANKLINE>
    replays  full  expected   saved
    -------  ----  --------  ------
    SHAM       10 ...
    """
    notes: tuple[str, ...] = ()
    if isinstance(source, Population):
        population = source
    else:
        check_counts(source)
        population = fit_population(source)
    if population.fit is not None:
        notes = population.fit.notes
    plan = stopping_plan(
        k, k_sham=k_sham, k_destroy=k_destroy, rule=rule, order=order, minimum=minimum,
        population=population, cost_sham=cost_sham, cost_destroy=cost_destroy, changed=changed,
    )  # fmt: skip
    return _expected(plan, population, (cost_sham, cost_destroy), notes)


def _expected(
    plan: StoppingPlan,
    population: Population,
    costs: tuple[float, float],
    notes: tuple[str, ...],
) -> Curtailment:
    """What a plan does to the questions of a population."""
    budget = plan.k_sham, plan.k_destroy
    mass = state_masses(population, *budget)
    paths = np.where(plan.action < 0, plan.paths, 0.0)
    ends = paths * mass
    replays = np.add.outer(flip_states(budget[0])[0], flip_states(budget[1])[0])
    distribution: Floats = np.bincount(
        replays.ravel(), weights=ends.ravel(), minlength=sum(budget) + 1
    ).astype(float)
    sham = float(ends.sum(axis=1) @ flip_states(budget[0])[0])
    destroy = float(ends.sum(axis=0) @ flip_states(budget[1])[0])
    full = sum(budget)
    changed = 0.0
    if not plan.exact:
        by_class = class_masses(mass, decision_classes(*budget, plan.rule))
        other = np.arange(len(by_class))[:, None, None] != plan.verdict
        changed = float((paths * np.where(other, by_class, 0.0).sum(axis=0)).sum())
    cost = costs[0] * sham + costs[1] * destroy
    guaranteed = plan.guaranteed
    share = f"{100 * changed:.2g} %"
    fit = population.fit
    missing = [arm for arm, n in zip(("SHAM", "DESTROY"), guaranteed, strict=True) if n == 0]
    return Curtailment(
        plan=plan,
        sham=sham,
        destroy=destroy,
        total=sham + destroy,
        distribution=distribution,
        saving=1.0 - (sham + destroy) / full,
        cost_saving=1.0 - cost / (costs[0] * budget[0] + costs[1] * budget[1]),
        changed=changed,
        guaranteed=guaranteed,
        population=(
            "as given"
            if fit is None
            else f"fitted to {_display.counted(fit.questions, 'question')}"
        ),
        notes=(
            SAME if plan.exact else CHANGED.format(share=share),
            *(NOTHING.format(arm=arm) for arm in missing),
            *([] if missing else [GUARANTEED.format(sham=guaranteed[0], destroy=guaranteed[1])]),
            *notes,
        ),
    )


def _budget(k: int | None, k_sham: int | None, k_destroy: int | None) -> tuple[int, int]:
    sham, destroy = replay_budget(k, k_sham, k_destroy)
    return plan_budget_pair(sham, destroy)  # type: ignore[arg-type]


def _default_minimum(budget: tuple[int, int]) -> tuple[int, int]:
    sham, destroy = (max(1, _FLOOR[0] * k // _FLOOR[1]) for k in budget)
    return sham, destroy


def _percent(share: float) -> str:
    return f"{_display.number(100.0 * share, 1)} %"


def _arms(sham: float, destroy: float) -> dict[str, float]:
    return {"sham": sham, "destroy": destroy}


def _positive(name: str, value: float) -> float:
    number = one_number(name, value)
    if not 0.0 < number < math.inf:
        raise InputError(f"{name}={value!r} must be a number above 0")
    return number
