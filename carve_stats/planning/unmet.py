"""What is said of a goal that no k looked at meets: the best there is, and what would meet it."""

from __future__ import annotations

from collections.abc import Sequence

from carve_stats import _display
from carve_stats.planning.budget_plan import PlanRow, Recommendation
from carve_stats.planning.goals.base import Goal, Study
from carve_stats.planning.sources import FAR
from carve_stats.population.bounds import LARGEST_TARGET

__all__ = ["explain_unmet"]

MODEL = "name a model to have its figure (--model em; in Python: model='em')"


def explain_unmet(
    goal: Goal, rows: Sequence[PlanRow], found: Recommendation, study: Study
) -> list[str]:
    """Sentences for a goal that no k is known to meet.

    Parameters
    ----------
    goal : Goal
        What is to be reached.
    rows : sequence of PlanRow
        In ascending order of k.
    found : Recommendation
        Without a k.
    study : Study
        What the plan is for.

    Returns
    -------
    list of str
        "not known to be met" is said only where that is open at some k.
    """
    first, last = rows[0].k, rows[-1].k
    looked = f"k from {first} to {last}" if first != last else f"k = {last}"
    if len(rows) < last - first + 1:
        looked = f"k of {len(rows)} from {first} to {last}"
    is_open = any(row.met is None for row in rows)
    if found.best_k is None:
        return _without_figures(goal, rows, looked, study, is_open=is_open)
    if rows[-1].value.point is None:
        met = "is not known to be met" if is_open else "is not met"
        return [
            f"{goal} {met} at {looked}: the best single figure is"
            f" {_display.number(found.best_value)}, at k = {found.best_k}.",
            _without_last(goal, rows, study),
        ]
    whose = ""
    if rows[-1].questions_needed is not None and study.questions is not None:
        whose = f" with {study.questions:,} questions"
    meets = "is known to meet" if is_open else "meets"
    sentences = [
        f"No {looked} {meets} {goal}{whose}: the best that can be reached there is"
        f" {_display.number(found.best_value)}, at k = {found.best_k}.",
        *_in_the_limit(goal, last, found, study),
    ]
    if found.cheapest_k is None:
        sentences += _by_questions(rows)
    return sentences


def _without_figures(
    goal: Goal, rows: Sequence[PlanRow], looked: str, study: Study, *, is_open: bool
) -> list[str]:
    if not study.source.made:
        return [
            f"There is no answer to {goal}: its figure is undefined at {looked}, as"
            f" {goal.kind.undefined}."
        ]
    if rows[0].k <= FAR * study.source.made:
        why = f"its figure is undefined at {looked}, as {goal.kind.undefined}"
        return [f"Whether {goal} can be met is open: {why}."]
    told = f"no single figure is told of {looked}, so far beyond the pilot{_range(rows[-1])}"
    if is_open:
        return [f"Whether {goal} can be met is open: {told}; {MODEL}."]
    return [f"{goal} is not met at {looked}: {told}; {MODEL}."]


def _without_last(goal: Goal, rows: Sequence[PlanRow], study: Study) -> str:
    """Why the last k has no single figure."""
    last = rows[-1]
    if last.k <= FAR * study.source.made:
        return f"At k = {last.k} it is undefined, as {goal.kind.undefined}."
    told = max(row.k for row in rows if row.value.point is not None)
    within = _range(last)
    if not within:
        return f"Beyond k = {told}, neither a figure nor a range is told; {MODEL}."
    return f"Beyond k = {told}, only ranges are told{within}; {MODEL}."


def _range(row: PlanRow) -> str:
    ends = row.value.identified if row.value.interval.low is None else row.value.interval
    return "" if ends.low is None else f", at k = {row.k} {_display.interval(*ends)}"


def _in_the_limit(goal: Goal, last: int, found: Recommendation, study: Study) -> list[str]:
    if found.limit is None:
        return []
    tends = f"as k grows without end it tends to {_display.number(found.limit)} at best"
    if not goal.better(found.limit, goal.number):
        whose = "By the pilot's estimate no" if study.source.made else "No"
        if found.limit == goal.number:
            tends = f"only as k grows without end it tends to {_display.number(found.limit)}"
        return [f"{whose} number of replays would do: {tends}."]
    made = study.source.made
    most = max(made, LARGEST_TARGET) if made else goal.kind.largest_k
    if last >= most:
        return [f"More replays would help: {tends}; but {last} is the most that can be planned."]
    larger = _larger_k(goal, study, last, most)
    if larger is None:
        return [f"More replays would help: {tends}; but no k up to {most} was found to meet it."]
    return [f"More replays would help: {tends}; k = {larger} would meet it."]


def _larger_k(goal: Goal, study: Study, low: int, most: int) -> int | None:
    """A k that meets the goal, by doubling and halving: of monotone figures the smallest."""

    def meets(k: int) -> bool:
        (value,) = goal.kind.values(study, [k])
        return bool(goal.verdict(value))

    high = min(2 * low, most)
    while not meets(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def _by_questions(rows: Sequence[PlanRow]) -> list[str]:
    """How many questions would meet the goal at the ends of the table."""
    needed = {row.k: row.questions_needed for row in rows if row.questions_needed is not None}
    if not needed:
        return []
    first, last = min(needed), max(needed)
    told = f"At k = {last}, {needed[last]:,} questions would meet it"
    return [f"{told}." if first == last else f"{told}; at k = {first}, {needed[first]:,}."]
