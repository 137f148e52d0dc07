"""What every goal is: a figure, on which side of a number it should be, and how it is had."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scipy.special import stdtrit

from carve_stats.errors import InputError
from carve_stats.inference.prediction import Range
from carve_stats.planning.known import Known
from carve_stats.planning.sources import Source
from carve_stats.routing.curve_result import RoutingCurve

__all__ = ["MOST_K", "Goal", "GoalKind", "Study", "read_goal"]

MOST_K = 300
"""The largest k that a plan looks at; exact tests need minutes beyond."""


class Study(NamedTuple):
    """What a plan is for.

    Parameters
    ----------
    source : Source
        What questions are like.
    questions : int or None
        Questions to be replayed, where that was said or a pilot tells.
    per_cluster : float
        Questions to a video; 1 where they are independent.
    level : float
        Confidence level, and one less the significance of tests.
    curve : callable or None
        Gives the routing curve of a list of k; None without outcomes.
    """

    source: Source
    questions: int | None
    per_cluster: float
    level: float
    curve: Callable[[list[int]], RoutingCurve] | None

    def df(self, questions: int) -> int:
        """Degrees of freedom of so many questions' mean: one less than their videos."""
        return max(round(questions / self.per_cluster) - 1, 1)

    def t(self, questions: int) -> float:
        """The two-sided quantile of Student's law for them."""
        return float(stdtrit(self.df(questions), (1.0 + self.level) / 2.0))


class GoalKind(Protocol):
    """A kind of goal. A module of this folder has one or more, in a tuple `KINDS`.

    Attributes
    ----------
    text : str
        An example; what stands before its comparison is the kind's name.
    figure : str
        What the figure is called in a sentence.
    least, most : float
        Numbers that a goal may name.
    needs : tuple of str
        Of ``questions`` and ``outcomes``.
    about : str
        What it means, for a reader of the plan.
    undefined : str
        Why it has no value, where it has none; empty where it always has one.
    monotone : bool
        Whether a goal that is met at one k is met at every larger one.
    largest_k : int
        Up to which a k that meets the goal is searched for, of a population.
    """

    text: str
    figure: str
    least: float
    most: float
    needs: tuple[str, ...]
    about: str
    undefined: str
    monotone: bool
    largest_k: int

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """The figure at each k."""

    def limit(self, study: Study) -> float | None:
        """What it tends to as k grows without end; None where that is not known."""

    def questions_needed(self, study: Study, k: int, number: float) -> int | None:
        """The fewest questions that meet the goal at k; None where that is no question."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal of a plan.

    Parameters
    ----------
    kind : GoalKind
        Which figure.
    number : float
        What it is to be at most, or at least.
    """

    kind: GoalKind
    number: float

    @property
    def comparison(self) -> str:
        """``<=`` or ``>=``."""
        return "<=" if "<=" in self.kind.text else ">="

    @property
    def name(self) -> str:
        """What stands before the comparison."""
        return self.kind.text.partition(self.comparison)[0].strip()

    def met(self, value: float) -> bool:
        """Whether a figure meets the goal; an undefined one does not."""
        return value <= self.number if self.comparison == "<=" else value >= self.number

    def ends(self, known: Range) -> tuple[float | None, float | None]:
        """The end of a range that helps the goal, and the one that harms it."""
        return (known.low, known.high) if self.comparison == "<=" else (known.high, known.low)

    def verdict(self, known: Known) -> bool | None:
        """Whether it is met: by the point, or by all of the range; None where that is open."""
        if known.point is not None:
            return self.met(known.point)
        best, worst = self.ends(known.interval if known.interval.low is not None else known[1])
        if best is None or worst is None:
            return None
        return True if self.met(worst) else None if self.met(best) else False

    def better(self, one: float, other: float) -> bool:
        """Whether one figure is nearer to the goal than the other, or further beyond it."""
        return one < other if self.comparison == "<=" else one > other

    def __str__(self) -> str:
        return f"{self.name} {self.comparison} {self.number:g}"


def read_goal(kinds: list[GoalKind], text: str) -> Goal:
    """The goal of a text, among some kinds.

    Parameters
    ----------
    kinds : list of GoalKind
        Those that exist.
    text : str
        A name, a comparison and a number.

    Returns
    -------
    Goal
        With its number in the kind's range.

    Raises
    ------
    InputError
        An unknown name, a comparison the wrong way round, no number, or one out of range.
    """
    known = {Goal(kind, 0.0).name: kind for kind in kinds}
    if not isinstance(text, str):
        raise InputError(f"goal is a {type(text).__name__}: give a text, such as {kinds[0].text!r}")
    before, comparison, after = [*re.split(r"([<>=]+)", text, maxsplit=1), "", ""][:3]
    name = " ".join(before.casefold().split())
    if name not in known:
        examples = ", ".join(repr(kind.text) for kind in kinds)
        raise InputError(f"goal {text!r} is none of the known ones: give one like {examples}")
    kind = known[name]
    try:
        number = float(after)
    except ValueError:
        number = math.nan
    goal = Goal(kind, number)
    if comparison != goal.comparison or math.isnan(number):
        raise InputError(f"goal {text!r} must be '{name} {goal.comparison} NUMBER': {kind.text!r}")
    if not kind.least <= number <= kind.most or math.isinf(number):
        most = f" and {kind.most:g}" if math.isfinite(kind.most) else ""
        between = f"between {kind.least:g}{most}" if most else f"at least {kind.least:g}"
        raise InputError(f"goal {text!r}: the number must be {between}, as in {kind.text!r}")
    return goal
