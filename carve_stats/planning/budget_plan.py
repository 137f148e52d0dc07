"""The result of `plan_budget`: a table over k, what is recommended, and how to split."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from carve_stats import _display
from carve_stats.inference.prediction import Range
from carve_stats.law.finite_replay import SignShares
from carve_stats.planning.costs import Cost
from carve_stats.planning.goals.base import Goal
from carve_stats.planning.known import NOTHING, Known
from carve_stats.planning.split import ArmSplit, BudgetSplit

__all__ = ["BudgetPlan", "PlanRow", "Recommendation"]

_WIDEST = 112  # columns of a terminal, with two after the last


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One k of a plan.

    Parameters
    ----------
    k : int
        Replays in each arm.
    signs : SignShares of Known
        Shares of the scores' signs.
    reliability : Known
        Correlation of two runs' scores.
    value : Known
        The goal's figure.
    met : bool or None
        Whether the goal is met; where the point is withheld, whether all of the range meets it, or
        a smaller k does and the figure never gets worse with k; None where that is open.
    calls : int
        SHAM and DESTROY replays of all questions; of one where their number is not known.
    cost : float or None
        Money for them and the questions; None without prices.
    questions_needed : int or None
        The fewest questions that meet the goal at this k, for goals about the mean score.
    cost_needed : float or None
        Money for those and their replays.
    """

    k: int
    signs: SignShares
    reliability: Known
    value: Known
    met: bool | None
    calls: int
    cost: float | None
    questions_needed: int | None
    cost_needed: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``identified`` and ``interval`` are None where there is no pilot."""
        figures = {**self.signs._asdict(), "reliability": self.reliability}
        known: dict[str, Known] = {**figures, "goal": self.value}
        pairs = {
            which: {name: _pair(getattr(one, which)) for name, one in known.items()}
            for which in ("identified", "interval")
        }
        return {
            "k": self.k,
            **{name: _display.plain(one.point) for name, one in figures.items()},
            "goal": _display.plain(self.value.point),
            "met": self.met,
            "observed": self.value.observed,
            "calls": self.calls,
            "cost": self.cost,
            "questions_needed": self.questions_needed,
            "cost_needed": self.cost_needed,
            **{w: p if any(v is not None for v in p.values()) else None for w, p in pairs.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What a plan recommends.

    Parameters
    ----------
    k : int or None
        The smallest k looked at that meets the goal; None where none is known to.
    stable_from_k : int or None
        The smallest from which it never fails again in the range looked at; None where it fails,
        or is open, at the end of it. For figures that can rise and fall with k (wrong signs,
        questions decided, net repairs) None also where a k from it on was left out, and where the
        range stops short of 32.
    k_low, k_high : int or None
        The smallest k at which the best and the worst end of the interval meet the goal: what the
        pilot leaves open. None where there is no interval, and where no k does.
    best_k, best_value : int or None, float or None
        The k looked at with the best figure, and the figure.
    limit : float or None
        What the figure tends to as k grows without end, where that is known.
    cheapest_k, cheapest_questions, cheapest_cost : int, int and float, or None
        With prices, for goals that questions help: the k looked at, the same in both arms, and the
        number of questions with which the goal costs least.
    reason : str
        The recommendation in words.
    """

    k: int | None
    stable_from_k: int | None
    k_low: int | None
    k_high: int | None
    best_k: int | None
    best_value: float | None
    limit: float | None
    cheapest_k: int | None
    cheapest_questions: int | None
    cheapest_cost: float | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class BudgetPlan:
    """How many replays are enough, from `plan_budget`.

    Parameters
    ----------
    goal : Goal
        What is to be reached.
    rows : tuple of PlanRow
        In ascending order of k.
    recommended : Recommendation
        Which k.
    arms : ArmSplit or None
        The best share of as many replays between the arms, for the mean score.
    split : BudgetSplit or None
        The best split of money between questions and replays; None without prices.
    cost : Cost or None
        The prices.
    budget : float or None
        The money.
    questions, clusters : int or None
        Questions that the plan is for, and their videos; None where not said.
    made_k : int or None
        Replays an arm of the pilot; None where there was none.
    level : float
        Confidence level.
    notes : tuple of str
        What a reader has to know.
    """

    goal: Goal
    rows: tuple[PlanRow, ...]
    recommended: Recommendation
    arms: ArmSplit | None
    split: BudgetSplit | None
    cost: Cost | None
    budget: float | None
    questions: int | None
    clusters: int | None
    made_k: int | None
    level: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; undefined figures are None."""
        return {
            "goal": str(self.goal),
            "questions": self.questions,
            "clusters": self.clusters,
            "made_k": self.made_k,
            "level": self.level,
            "k": [row.to_dict() for row in self.rows],
            "recommended": self.recommended.to_dict(),
            "arms": None if self.arms is None else self.arms.to_dict(),
            "split": None if self.split is None else self.split.to_dict(),
            "prices": None if self.cost is None else self.cost.to_dict(),
            "budget": self.budget,
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        """Caption, headers and rows; signs and reliability as far as there is room for them."""
        name = self.goal.name.partition(" per ")[0]
        values = [row.value for row in self.rows]
        columns: dict[str, list[str]] = {"k": [str(row.k) for row in self.rows]}
        columns[name] = [_display.number(value.point) for value in values]
        if self.made_k is not None:
            level = f"{100 * self.level:g} % interval"
            if any(value.ranges for value in values):
                columns["identified"] = [_display.interval(*value.identified) for value in values]
            columns[level] = [_display.interval(*value.interval) for value in values]
        columns["met"] = [self._verdict(row) for row in self.rows]
        if any(row.questions_needed is not None for row in self.rows):
            columns["needs questions"] = [_shown(row.questions_needed) for row in self.rows]
            if self.cost is not None:
                columns["their cost"] = [_shown(row.cost_needed) for row in self.rows]
        replays = "replays" if self.questions is not None else "replays a question"
        columns[replays] = [_shown(row.calls) for row in self.rows]
        if self.cost is not None:
            columns["cost"] = [_shown(row.cost) for row in self.rows]
        signs = {
            "score < 0": [row.signs.negative for row in self.rows],
            "score = 0": [row.signs.zero for row in self.rows],
            "score > 0": [row.signs.positive for row in self.rows],
        }
        if name == "tie rate":
            del signs["score = 0"]
        others = [signs]
        if name != "reliability":
            others.append({"reliability": [row.reliability for row in self.rows]})
        room = _WIDEST - sum(_width(*column) for column in columns.items())
        for group in others:
            shown = {h: [_display.number(one.point) for one in group[h]] for h in group}
            room -= sum(_width(*column) for column in shown.items())
            if room < 0:
                break
            columns.update(shown)
        whose = "a question" if self.questions is None else f"{self.questions:,} questions"
        if self.clusters is not None:
            whose += f" in {self.clusters:,} videos"
        pilot = "" if self.made_k is None else f", from a pilot of k = {self.made_k}"
        rows: list[list[object]] = [list(row) for row in zip(*columns.values(), strict=True)]
        return f"Plan for {self.goal}: {whose}{pilot}", list(columns), rows

    def _verdict(self, row: PlanRow) -> str:
        found = self.recommended
        if row.k == found.stable_from_k:
            return "yes, for good" if self.goal.kind.monotone else f"yes, to {self.rows[-1].k}"
        if row.k == found.k:
            return "yes, first"
        if row.met is None and self.made_k is None:
            return _display.MISSING  # undefined, and nothing that more of a pilot would tell
        return {True: "yes", False: "no", None: "open"}[row.met]

    def __str__(self) -> str:
        caption, headers, rows = self._table()
        reason = _display.text_block(caption, headers, rows, self.notes)
        return f"{textwrap.fill(self.recommended.reason, 100)}\n\n{reason}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        caption, headers, rows = self._table()
        return _display.html_block(caption, headers, rows, (self.recommended.reason, *self.notes))


def _shown(figure: float | None) -> str:
    """Whole numbers as they are, money with its hundredths."""
    if figure is None:
        return _display.MISSING
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.2f}"


def _width(header: str, cells: list[str]) -> int:
    return max(map(len, [header, *cells])) + 2


def _pair(ends: Range) -> list[float | None] | None:
    return None if ends == NOTHING else [ends.low, ends.high]
