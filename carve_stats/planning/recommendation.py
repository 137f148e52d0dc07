"""Which k a plan recommends, and why, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from carve_stats import _display
from carve_stats.planning.arguments import USUAL_K
from carve_stats.planning.budget_plan import PlanRow, Recommendation
from carve_stats.planning.goals.base import Goal, Study
from carve_stats.planning.unmet import explain_unmet

__all__ = ["recommend"]


def recommend(
    goal: Goal, rows: Sequence[PlanRow], study: Study, budget: float | None
) -> Recommendation:
    """The recommendation of a table.

    Parameters
    ----------
    goal : Goal
        What is to be reached.
    rows : sequence of PlanRow
        In ascending order of k.
    study : Study
        What the plan is for.
    budget : float or None
        Money, where there is a limit.

    Returns
    -------
    Recommendation
        With the best that can be reached where no k meets the goal.
    """
    k = next((row.k for row in rows if row.met), None)
    k_low, k_high = (_first_by_end(goal, rows, which) for which in (0, 1))
    if goal.kind.monotone and k is not None and k_low is not None:
        k_low = min(k, k_low)
    best: PlanRow | None = None
    for row in rows:
        if row.value.point is not None and (
            best is None
            or best.value.point is None
            or goal.better(row.value.point, best.value.point)
        ):
            best = row
    priced = [row for row in rows if row.cost_needed is not None]
    cheapest = min(priced, key=lambda row: row.cost_needed or 0.0) if priced else None
    found = Recommendation(
        k=k,
        stable_from_k=_stable(goal, rows),
        k_low=k_low,
        k_high=k_high,
        best_k=None if best is None else best.k,
        best_value=None if best is None else best.value.point,
        limit=goal.kind.limit(study),
        cheapest_k=None if cheapest is None else cheapest.k,
        cheapest_questions=None if cheapest is None else cheapest.questions_needed,
        cheapest_cost=None if cheapest is None else cheapest.cost_needed,
        reason="",
    )
    if k is None:
        sentences = explain_unmet(goal, rows, found, study)
    else:
        sentences = [*_met(goal, rows, found, study), *_of_budget(rows, found, study, budget)]
    sentences += _cheapest(found, study, budget)
    return replace(found, reason=" ".join([*sentences, *_left_open(rows, found, study)]))


def _first_by_end(goal: Goal, rows: Sequence[PlanRow], which: int) -> int | None:
    for row in rows:
        end = goal.ends(row.value.interval)[which]
        if end is not None and goal.met(end):
            return row.k
    return None


def _tail(rows: Sequence[PlanRow]) -> int | None:
    """The smallest k looked at from which none that was looked at fails, or is open."""
    tail = None
    for row in reversed(rows):
        if not row.met:
            break
        tail = row.k
    return tail


def _stable(goal: Goal, rows: Sequence[PlanRow]) -> int | None:
    """The same where nothing can be missed: no gap from it to the usual end, or no way back."""
    tail = _tail(rows)
    if tail is None or goal.kind.monotone:
        return tail
    ks = [row.k for row in rows if row.k >= tail]
    whole = ks == list(range(tail, ks[-1] + 1)) and ks[-1] >= USUAL_K[-1]
    return tail if whole else None


def _met(goal: Goal, rows: Sequence[PlanRow], found: Recommendation, study: Study) -> list[str]:
    (row,) = [row for row in rows if row.k == found.k]
    each = f"{row.k} SHAM and {row.k} DESTROY {'replay' if row.k == 1 else 'replays'}"
    if row.value.point is None:
        first = (
            f"Make {each} of each question: by then all that the pilot leaves open meets"
            f" {goal} (no single figure is told so far beyond the pilot)."
        )
    else:
        first = (
            f"Make {each} of each question: {goal.kind.figure} is then"
            f" {_display.number(row.value.point)}, {_wanted(goal)}."
        )
    if study.questions is None:
        costs = f"That is {row.calls:,} replays a question"
    else:
        costs = f"That is {row.calls:,} replays of {study.questions:,} questions"
    costs += "." if row.cost is None else f", for {row.cost:,.2f} with the questions themselves."
    sentences = [first, costs, *_beyond(goal, rows, row, found)]
    needed = row.questions_needed
    if needed is not None and study.questions is not None and needed < study.questions:
        sentences.append(f"At this k, {needed:,} questions would be enough.")
    return sentences


def _beyond(goal: Goal, rows: Sequence[PlanRow], row: PlanRow, found: Recommendation) -> list[str]:
    """What becomes of the goal at larger k."""
    last, tail = rows[-1].k, _tail(rows)
    fails = any(one.met is False for one in rows if one.k > row.k)
    if found.stable_from_k is not None:
        if found.stable_from_k != row.k:
            lapse = "It fails again" if fails else "It is open again"
            return [
                f"{lapse} at some larger k, and never from k = {found.stable_from_k} to {last}, the"
                " last one looked at."
            ]
        if goal.kind.monotone or last == row.k:
            return []
        return [f"From there on it does not fail up to k = {last}, the last one looked at."]
    if tail is None:
        if fails:
            return [
                f"It fails again at larger k, and no k up to {last}, the last one looked at, is"
                " known to hold for good."
            ]
        return [f"Whether it holds at every larger k up to {last}, the last one, is open."]
    looked = "Of the k looked at, it fails again at some larger ones" if fails else ""
    if tail == last:
        held = (
            f"{looked}, and no larger k than {last} was looked at"
            if fails
            else (f"No larger k than {last} was looked at")
        )
    else:
        held = (
            f"{looked}, and at none from k = {tail} to {last}"
            if fails
            else (f"Of the k looked at, it fails at none from k = {tail} to {last}")
        )
    return [
        f"{held}. This figure can rise and fall with k, so it may fail at k that were not looked"
        " at, and none is said to hold for good."
    ]


def _of_budget(
    rows: Sequence[PlanRow], found: Recommendation, study: Study, budget: float | None
) -> list[str]:
    (row,) = [row for row in rows if row.k == found.k]
    if budget is None or row.cost is None:
        return []
    if study.questions is None:
        if row.cost > budget:
            return [f"That is more than the budget of {budget:,.2f}."]
        return [f"The budget of {budget:,.2f} buys {int(budget / row.cost):,} questions so."]
    if row.cost <= budget:
        return [f"The budget of {budget:,.2f} is enough for that."]
    paid = int(budget / row.cost * study.questions)
    return [f"The budget of {budget:,.2f} pays for {paid:,} of the questions at this k."]


def _cheapest(found: Recommendation, study: Study, budget: float | None) -> list[str]:
    """With how many replays and questions the goal costs least."""
    if found.cheapest_cost is None:
        return []
    whose = "By the pilot's estimate the" if study.source.made else "The"
    told = (
        f"{whose} goal costs least at k = {found.cheapest_k} with {found.cheapest_questions:,}"
        f" questions: {found.cheapest_cost:,.2f}"
    )
    if budget is None:
        return [f"{told}."]
    if found.cheapest_cost <= budget:
        return [f"{told}, which the budget of {budget:,.2f} is enough for."]
    return [f"{told}. The budget of {budget:,.2f} is not enough for it at any k looked at."]


def _left_open(rows: Sequence[PlanRow], found: Recommendation, study: Study) -> list[str]:
    bounded = [row for row in rows if row.value.interval.low is not None]
    if not study.source.made or not bounded:
        return []
    level = f"{100 * study.level:g} % interval"
    if found.k is not None and found.k not in [row.k for row in bounded]:
        return [f"There is no {level} at k = {found.k}: how far off that may be is not known."]
    last = bounded[-1].k
    if found.k_low is None:
        where = "at any k looked at" if len(bounded) == len(rows) else "at any k that has one"
        return [f"Not even the best end of the pilot's {level} meets it {where}."]
    if found.k_high is None and found.k_low == last:
        return [f"By the pilot's {level} k = {found.k_low} may be enough, or not."]
    if found.k_high is None:
        return [
            f"By the pilot's {level} k = {found.k_low} may be enough already, and k ="
            f" {last} may not be."
        ]
    if found.k_low == found.k_high:
        return [f"So says the pilot's whole {level}."]
    return [f"The pilot leaves open anything from k = {found.k_low} to {found.k_high} ({level})."]


def _wanted(goal: Goal) -> str:
    side = "at most" if goal.comparison == "<=" else "at least"
    return f"where {side} {goal.number:g} was asked for"
