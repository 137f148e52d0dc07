"""Which k a plan recommends, and why, in words."""

from __future__ import annotations

from collections.abc import Sequence

from carve_stats import _display
from carve_stats.planning.budget_plan import PlanRow, Recommendation
from carve_stats.planning.goals.base import Goal, Study

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
    stable = None
    for row in reversed(rows):
        if not row.met:
            break
        stable = row.k
    k_low, k_high = (_first_by_end(goal, rows, which) for which in (0, 1))
    best: PlanRow | None = None
    for row in rows:
        if row.value.point is not None and (
            best is None
            or best.value.point is None
            or goal.better(row.value.point, best.value.point)
        ):
            best = row
    found = Recommendation(
        k=k,
        stable_from_k=stable,
        k_low=k_low,
        k_high=k_high,
        best_k=None if best is None else best.k,
        best_value=None if best is None else best.value.point,
        limit=goal.kind.limit(study),
        reason="",
    )
    sentences = _unmet(goal, rows, found, study) if k is None else _met(goal, rows, found, study)
    sentences += [] if k is None else _beyond_budget(rows, found, study, budget)
    reason = " ".join([*sentences, *_left_open(rows, found, study)])
    fields = {n: getattr(found, n) for n in found.__dataclass_fields__ if n != "reason"}
    return Recommendation(**fields, reason=reason)


def _first_by_end(goal: Goal, rows: Sequence[PlanRow], which: int) -> int | None:
    for row in rows:
        end = goal.ends(row.value.interval)[which]
        if end is not None and goal.met(end):
            return row.k
    return None


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
    sentences = [first, costs]
    last = rows[-1].k
    if found.stable_from_k is None:
        fails = any(one.met is False for one in rows if one.k > row.k)
        sentences.append(
            f"It fails again at larger k, and no k up to {last}, the last one looked at, is known"
            " to hold for good."
            if fails
            else f"Whether it holds at every larger k up to {last}, the last one, is open."
        )
    elif found.stable_from_k != found.k:
        sentences.append(
            "It fails again at some larger k, and never from"
            f" k = {found.stable_from_k} to {last}, the last one looked at."
        )
    return sentences


def _beyond_budget(
    rows: Sequence[PlanRow], found: Recommendation, study: Study, budget: float | None
) -> list[str]:
    (row,) = [row for row in rows if row.k == found.k]
    if budget is None or row.cost is None or row.cost <= budget:
        return []
    if study.questions is None:
        return [f"That is more than the budget of {budget:,.2f}."]
    paid = int(budget / row.cost * study.questions)
    return [f"The budget of {budget:,.2f} pays for {paid:,} of the questions at this k."]


def _unmet(goal: Goal, rows: Sequence[PlanRow], found: Recommendation, study: Study) -> list[str]:
    first, last = rows[0].k, rows[-1].k
    looked = f"k from {first} to {last}" if first != last else f"k = {last}"
    if rows[-1].value.point is None and found.best_k is not None:
        value = rows[-1].value
        within = _display.interval(
            *(value.identified if value.interval.low is None else value.interval)
        )
        met = "is not known to be met" if any(row.met is None for row in rows) else "is not met"
        return [
            f"{goal} {met} at {looked}: the best single figure is"
            f" {_display.number(found.best_value)}, at k = {found.best_k}. Beyond, only ranges"
            f" are told, at k = {last} {within}; name a model to have its figure."
        ]
    if found.best_k is None:
        why = "no single figure is told" if study.source.made else "its figure is undefined"
        return [f"Whether {goal} can be met is open: {why} at {looked}."]
    sentences = [
        f"No {looked} meets {goal}: the best that can be reached there is"
        f" {_display.number(found.best_value)}, at k = {found.best_k}."
    ]
    if found.limit is not None:
        tends = f"as k grows without end it tends to {_display.number(found.limit)} at best"
        if goal.better(found.limit, goal.number):
            sentences.append(f"More replays would help: {tends}; look at larger k.")
        else:
            whose = "By the pilot's estimate no" if study.source.made else "No"
            sentences.append(f"{whose} number of replays would do: {tends}.")
    needed = rows[-1].questions_needed
    if needed is not None:
        sentences.append(f"At k = {last}, {needed:,} questions would meet it.")
    return sentences


def _left_open(rows: Sequence[PlanRow], found: Recommendation, study: Study) -> list[str]:
    if not study.source.made or all(row.value.interval.low is None for row in rows):
        return []
    level = f"{100 * study.level:g} % interval"
    if found.k_low is None:
        return [f"Not even the best end of the pilot's {level} meets it at any k looked at."]
    if found.k_high is None and found.k_low == rows[-1].k:
        return [f"By the pilot's {level} k = {found.k_low} may be enough, or not."]
    if found.k_high is None:
        return [
            f"By the pilot's {level} k = {found.k_low} may be enough already, and k ="
            f" {rows[-1].k} may not be."
        ]
    if found.k_low == found.k_high:
        return [f"So says the pilot's whole {level}."]
    return [f"The pilot leaves open anything from k = {found.k_low} to {found.k_high} ({level})."]


def _wanted(goal: Goal) -> str:
    side = "at most" if goal.comparison == "<=" else "at least"
    return f"where {side} {goal.number:g} was asked for"
