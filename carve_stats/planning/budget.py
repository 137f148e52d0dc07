"""How many replays are enough for a goal, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from carve_stats.clusters import check_level
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError, check_name
from carve_stats.law._arguments import one_whole_number
from carve_stats.law.score_rule import ScoreRule, as_rule
from carve_stats.outcomes import Outcomes
from carve_stats.planning.arguments import (
    check_design_effect,
    check_money,
    check_needs,
    check_source,
    read_budgets,
    read_clusters,
    read_source,
    replays_made,
)
from carve_stats.planning.budget_notes import (
    arm_notes,
    pilot_notes,
    range_notes,
    split_notes,
    study_notes,
)
from carve_stats.planning.budget_plan import BudgetPlan, PlanRow
from carve_stats.planning.costs import Cost
from carve_stats.planning.goals.base import Goal, Study
from carve_stats.planning.goals.parsing import as_goal
from carve_stats.planning.recommendation import recommend
from carve_stats.planning.split import split_arms, split_budget
from carve_stats.population.fit_result import FIT_METHODS
from carve_stats.population.mixing import Population
from carve_stats.routing.curve import routing_curve
from carve_stats.routing.curve_result import RoutingCurve

__all__ = ["plan_budget"]


def plan_budget(
    source: ReplayCounts | Population | tuple[float, float],
    *,
    goal: str,
    cost: Cost | None = None,
    budget: float | None = None,
    k: Iterable[int] | None = None,
    questions: int | None = None,
    clusters: int | None = None,
    design_effect: float | None = None,
    outcomes: Outcomes | None = None,
    rule: ScoreRule | str = "score <= 0",
    fallback: str | None = None,
    model: str | None = None,
    level: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> BudgetPlan:
    """Find the number of replays that meets a goal.

    Parameters
    ----------
    source : ReplayCounts, Population or (float, float)
        A pilot; or what questions are assumed to be like; or p_sham and p_destroy of all of them.
    goal : str
        ``tie rate <= 0.1``, ``wrong sign <= 0.05``, ``reliability >= 0.8``, ``mean score width <=
        0.05``, ``power >= 0.8`` (of the test that the mean score is 0), ``decided >= 0.5`` (share
        of questions whose exact test rejects), ``net repairs per 100 calls >= 5`` or ``net repairs
        per 100 replays >= 1``.
    cost : Cost, optional
        Prices.
    budget : float, optional
        Money to split between questions and replays; needs `cost`.
    k : iterable of int, optional
        Replays in each arm to look at. By default up to 32: all of them, and of a pilot a choice
        beyond 10; where more than 10 were made, none beyond those.
    questions : int, optional
        How many will be replayed; those of the pilot where not given.
    clusters : int, optional
        Videos that they are from. By default as many to a video as in the pilot, or one to each.
    design_effect : float, optional
        By how much videos inflate the variance between questions, at least 1. Without it, 1 for a
        population or rates; a pilot shows how alike questions of one video are.
    outcomes : Outcomes, optional
        For net repairs: what the original answer and the fallback made of the pilot's questions.
    rule, fallback
        For net repairs, as in `routing_curve`.
    model : str, optional
        As in `predict_signs`: what is told of signs beyond twice the pilot's replays.
    level : float
        Confidence level; tests are at 1 − level.
    progress : callable, optional
        Called with how many k have been looked at, and how many there are; a pilot's take seconds.

    Returns
    -------
    BudgetPlan
        A table over k, the smallest k that meets the goal and the smallest from which it never
        fails again, a range for it from a pilot, with prices the cheapest k and number of
        questions, splits, and a recommendation in words.

    Raises
    ------
    InputError
        An unknown goal or one out of its range; no questions or outcomes where the goal needs
        them; a k that cannot be planned for; a price that is negative or not finite; a budget that
        buys nothing.

    Notes
    -----
    Ties never become more with k. Wrong signs may, at first, and the share of questions decided is
    saw-toothed: hence the two k. Of such figures the second is told only where no k was left out
    from it to 32 at least.

    With n questions, n·Var(mean score) = σ_b² + E[p_sham q_sham]/k_sham + E[p_destroy
    q_destroy]/k_destroy. A pilot shows each part without a model where it has two replays an arm,
    and with σ_b² the videos' part in it: with m questions to a video σ_b² is 1 + (m − 1)ρ times
    that of independent questions, ρ at least 0 and from the pilot, m the plan's. Its signs at
    other k are those of `predict_signs`.

    References
    ----------
    - `proofs/thm_tie_moments.py`: ties never become more, so that a goal for them
      once met is met for good.
    - `proofs/thm_right_sign.py`: the right sign never becomes rarer, and the wrong one may at first
      become likelier.
    - `proofs/thm_reliability.py`: the k that a reliability needs.
    - `proofs/thm_allocation.py`: the cheapest split between questions and replays.

    Examples
    --------
    >>> plan = plan_budget(Population.paper(), goal="reliability >= 0.9")
    >>> plan.recommended.k, round(plan.rows[2].reliability.point, 3)
    (22, 0.561)
    >>> plan = plan_budget((.34, .64), goal="decided >= 0.5")
    >>> plan.recommended.k, plan.recommended.stable_from_k
    (22, 25)
    """
    level = check_level(level)
    wanted = as_goal(goal)
    money = check_money(cost, budget)
    if model is not None:
        check_name("model", model, FIT_METHODS)
    effect = check_design_effect(design_effect)
    given, kind = check_source(source)
    check_needs(wanted, kind, questions, outcomes)
    n = None if questions is None else one_whole_number("questions", questions)
    counts = source if isinstance(source, ReplayCounts) else None
    if counts is not None and n is None:
        n = int(counts.scored.sum())
    if n is not None and n < 2:
        raise InputError(
            f"questions={n}: a plan is for at least 2; say how many are to be replayed"
            " (--questions; in Python: questions=)"
        )
    videos, per_cluster = read_clusters(counts, n, clusters)
    ks = read_budgets(k, replays_made(source))
    curve = None
    if counts is not None and outcomes is not None:
        as_rule(rule)
        curve = partial(_curve, counts, outcomes, rule, fallback, model, level)
    read = read_source(
        given,
        model,
        level,
        per_cluster=None if clusters is None else per_cluster,
        design_effect=effect,
    )
    study = Study(read, n, per_cluster, level, curve)
    rows = _rows(study, wanted, ks, cost, progress)
    recommended = recommend(wanted, rows, study, money)
    arms = split_arms(read.split, recommended.k or ks[-1])
    split = None
    if cost is not None and cost.of_question(1, 1) > 0.0:
        split = split_budget(read.split, cost, most=max(ks[-1], 2), budget=money)
    notes = [
        *(pilot_notes(rows, wanted.name, level) if kind == "pilot" else ()),
        wanted.kind.about,
        *arm_notes(arms),
        *split_notes(split, cost, max(ks[-1], 2)),
    ]
    notes += study_notes(study, kind, effect)
    notes += range_notes(study, ks, model, chosen=k is not None)
    return BudgetPlan(
        goal=wanted,
        rows=tuple(rows),
        recommended=recommended,
        arms=arms,
        split=split,
        cost=cost,
        budget=money,
        questions=n,
        clusters=videos,
        made_k=read.made or None,
        level=level,
        notes=tuple(dict.fromkeys([*notes, *read.notes])),
    )


def _rows(
    study: Study,
    goal: Goal,
    ks: list[int],
    cost: Cost | None,
    progress: Callable[[int, int], None] | None,
) -> list[PlanRow]:
    n = 1 if study.questions is None else study.questions
    values = goal.kind.values(study, ks) if study.curve is not None else None
    rows: list[PlanRow] = []
    if progress is not None:
        progress(0, len(ks))
    for k in ks:
        (value,) = goal.kind.values(study, [k]) if values is None else [values[len(rows)]]
        met = goal.verdict(value)
        if met is None and goal.kind.monotone and any(row.met for row in rows):
            met = True  # as the figure never gets worse
        told = value.point is not None
        needed = goal.kind.questions_needed(study, k, goal.number) if told else None
        price = None if cost is None else cost.of_question(k, k)
        row = PlanRow(
            k=k,
            signs=study.source.signs(k),
            reliability=study.source.reliability(k),
            value=value,
            met=met,
            calls=2 * k * n,
            cost=None if price is None else n * price,
            questions_needed=needed,
            cost_needed=None if price is None or needed is None else needed * price,
        )
        rows.append(row)
        if progress is not None:
            progress(len(rows), len(ks))
    return rows


def _curve(
    counts: ReplayCounts,
    outcomes: Outcomes,
    rule: ScoreRule | str,
    fallback: str | None,
    model: str | None,
    level: float,
    k: list[int],
) -> RoutingCurve:
    return routing_curve(counts, outcomes, rule, k=k, fallback=fallback, model=model, level=level)
