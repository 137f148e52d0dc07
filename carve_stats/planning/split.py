"""How to split replays between the arms, and money between questions and replays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from carve_stats import _display
from carve_stats.errors import InputError
from carve_stats.planning.costs import Cost
from carve_stats.planning.score_variance import ScoreVariance

__all__ = ["ArmSplit", "BudgetSplit", "check_budget", "split_arms", "split_budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSplit:
    """The best way to share 2k replays of a question between the arms, for the mean score.

    Parameters
    ----------
    k_sham, k_destroy : int
        The best whole numbers.
    ratio : float
        √(E[p_sham q_sham]/E[p_destroy q_destroy]): the best k_sham/k_destroy if replays cost the
        same and could be divided; NaN where an arm does not vary.
    saving : float
        By which share the variance of the mean score is smaller than with k in each arm.
    """

    k_sham: int
    k_destroy: int
    ratio: float
    saving: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None where undefined."""
        return {
            "k_sham": self.k_sham,
            "k_destroy": self.k_destroy,
            "ratio": _display.plain(self.ratio),
            "saving": self.saving,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSplit:
    """The best split of money between questions and replays, for the mean score.

    Parameters
    ----------
    k_sham, k_destroy : int
        Replays of each question.
    unrounded : (float, float)
        What they would be if replays could be divided: √(v_arm c_q/(σ² c_arm)); NaN or infinite
        where a part of the variance or of the cost is 0.
    questions, se : int or None, float or None
        What the budget buys, and the standard error of the mean score then; None without one.
    cost_per_question : float
        Money.
    equal_k, equal_questions, equal_se
        The same with as many SHAM as DESTROY replays.
    saving : float
        By which share the equal split is dearer for the same precision: 1 less the ratio of the
        two products of variance and cost.
    at_end : bool
        Whether the best is at the end of the range that was looked at.
    """

    k_sham: int
    k_destroy: int
    unrounded: tuple[float, float]
    questions: int | None
    se: float | None
    cost_per_question: float
    equal_k: int
    equal_questions: int | None
    equal_se: float | None
    saving: float
    at_end: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None where undefined."""
        names = [name for name in self.__dataclass_fields__ if name != "unrounded"]
        ends = [_display.plain(one) for one in self.unrounded]
        return {**{name: getattr(self, name) for name in names}, "unrounded": ends}


def split_arms(variance: ScoreVariance, k: int) -> ArmSplit:
    """Share 2k replays between the arms.

    Parameters
    ----------
    variance : ScoreVariance
        Where the variance of the mean score comes from.
    k : int
        Half of the replays.

    Returns
    -------
    ArmSplit
        At least one replay in each arm; equal numbers where nothing is better.

    Examples
    --------
    >>> split = split_arms(ScoreVariance(0.3, 0.1, 0.1, 0.16, 0.04), 6)
    >>> split.k_sham, split.k_destroy, split.ratio
    (8, 4, 2.0)
    """
    sham = sorted(range(1, 2 * k), key=lambda one: abs(one - k))
    # Without the part between questions, beside which a small difference would be rounded away.
    best = min(sham, key=lambda one: variance.sham / one + variance.destroy / (2 * k - one))
    equal = variance.at(k, k)
    saving = max(1.0 - variance.at(best, 2 * k - best) / equal, 0.0) if equal > 0.0 else 0.0
    ratio = math.nan
    if variance.sham > 0.0 and variance.destroy > 0.0:
        ratio = math.sqrt(variance.sham / variance.destroy)
    return ArmSplit(k_sham=best, k_destroy=2 * k - best, ratio=ratio, saving=saving)


def split_budget(
    variance: ScoreVariance, cost: Cost, *, most: int, budget: float | None = None
) -> BudgetSplit:
    """Split money between questions and replays.

    Parameters
    ----------
    variance : ScoreVariance
        Where the variance of the mean score comes from.
    cost : Cost
        Of which a question with one replay an arm costs more than 0.
    most : int
        Replays an arm at most.
    budget : float, optional
        Money; without it, the split that is best for large ones.

    Returns
    -------
    BudgetSplit
        The best of all whole numbers up to `most`.

    Raises
    ------
    InputError
        A budget that does not buy two questions with one replay in each arm.

    Notes
    -----
    Var(mean score) = (σ² + v_sham/k_sham + v_destroy/k_destroy)/n, and n is what the budget buys
    at c_q + k_sham c_sham + k_destroy c_destroy a question. With real numbers the least is at
    k_arm = √(v_arm c_q/(σ² c_arm)), whatever the budget is. The design effect of videos, in σ²,
    is taken not to change with the number of questions.

    Examples
    --------
    >>> variance = ScoreVariance(0.3, 0.1, 0.1, 0.16, 0.04)
    >>> split = split_budget(variance, Cost(question=10, replay=1), most=32, budget=1000)
    >>> split.k_sham, split.k_destroy, split.questions, split.equal_k
    (4, 2, 62, 3)
    """
    k = np.arange(1, most + 1)
    sham, destroy = k[:, None], k[None, :]
    total = variance.between + variance.sham / sham + variance.destroy / destroy
    price = cost.question + sham * cost.sham + destroy * cost.destroy
    if budget is None:
        objective = total * price
    else:
        check_budget(budget, cost)
        bought = _bought(budget, price)
        with np.errstate(divide="ignore"):
            objective = np.where(bought >= 2, total / np.maximum(bought, 1), np.inf)
    places = np.unravel_index(objective.argmin(), objective.shape)
    equal = int(np.diag(objective).argmin())
    a, b = (int(place) for place in places)
    least, equal_least = float(objective[a, b]), float(objective[equal, equal])

    def figures(i: int, j: int) -> tuple[int | None, float | None]:
        if budget is None:
            return None, None
        return int(bought[i, j]), math.sqrt(float(objective[i, j]))

    questions, se = figures(a, b)
    equal_questions, equal_se = figures(equal, equal)
    return BudgetSplit(
        k_sham=a + 1,
        k_destroy=b + 1,
        unrounded=(
            _unrounded(variance.sham, variance.between, cost.question, cost.sham),
            _unrounded(variance.destroy, variance.between, cost.question, cost.destroy),
        ),
        questions=questions,
        se=se,
        cost_per_question=float(price[a, b]),
        equal_k=equal + 1,
        equal_questions=equal_questions,
        equal_se=equal_se,
        saving=max(1.0 - least / equal_least, 0.0) if equal_least > 0.0 else 0.0,
        at_end=most in (a + 1, b + 1),
    )


def check_budget(budget: float, cost: Cost) -> None:
    """Refuse a budget that does not buy two questions with one replay in each arm."""
    least = cost.of_question(1, 1)
    if _bought(budget, np.float64(least)) < 2:
        raise InputError(
            f"budget={budget:g} buys no two questions: one with one replay in each arm costs"
            f" {least:g} (--budget)"
        )


def _bought(budget: float, price: Any) -> Any:
    """Whole questions that a budget buys; a price that divides it exactly is not rounded away."""
    return np.floor(budget / price * (1.0 + 1e-12))


def _unrounded(arm: float, between: float, question: float, replay: float) -> float:
    below = between * replay
    if below > 0.0:
        return math.sqrt(arm * question / below)
    return math.inf if arm * question > 0.0 else math.nan
