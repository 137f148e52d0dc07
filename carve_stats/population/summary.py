"""What a population shows at one budget: signs, moments, and how well two runs agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.law.score_rule import ScoreRule

if TYPE_CHECKING:
    from carve_stats.population.mixing import Population

__all__ = [
    "BudgetLaw",
    "PopulationSummary",
    "expect_agreement",
    "law_at",
    "score_variance",
    "summarise",
]

_SIGNS_SELECTED = {
    "<": ("negative",),
    "<=": ("negative", "zero"),
    "=": ("zero",),
    ">=": ("zero", "positive"),
    ">": ("positive",),
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PopulationSummary:
    """A population at one budget, from `Population.summary`; expectations, without sampling error.

    Parameters
    ----------
    k_sham, k_destroy : int
        Replays in each arm.
    negative, zero, positive : float
        Shares of questions whose score has this sign.
    mean, var : float
        Of the score Δ̂, over questions and their replays.
    reliability : float
        Pearson correlation of the scores of two runs; NaN where scores do not vary at all.
    agreement : float
        Probability that two runs give a question's score the same sign.
    jaccard : float
        Expected size of the intersection over that of the union of the sets that the rule selects
        in two runs; NaN where it never selects anything.
    rule : ScoreRule
        The rule of `jaccard`.
    """

    k_sham: int
    k_destroy: int
    negative: float
    zero: float
    positive: float
    mean: float
    var: float
    reliability: float
    agreement: float
    jaccard: float
    rule: ScoreRule

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values that JSON can hold; None where undefined."""
        figures = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain = {
            name: _display.plain(value) for name, value in figures.items() if type(value) is float
        }
        return {**figures, **plain, "rule": str(self.rule)}

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        rows: list[list[object]] = [
            ["score below 0", _display.number(self.negative)],
            ["score 0", _display.number(self.zero)],
            ["score above 0", _display.number(self.positive)],
            ["mean score", _display.number(self.mean, signed=True)],
            ["variance of score", _display.number(self.var)],
            ["two runs: correlation", _display.number(self.reliability)],
            ["two runs: same sign", _display.number(self.agreement)],
            [f"two runs: Jaccard, {self.rule}", _display.number(self.jaccard)],
        ]
        sham, destroy = self.k_sham, self.k_destroy
        k = f"k = {sham}" if sham == destroy else f"k_sham = {sham}, k_destroy = {destroy}"
        return f"Population at {k}", ["", "expected"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table())


class BudgetLaw(NamedTuple):
    """What each atom of a population shows at one budget.

    Parameters
    ----------
    signs : ndarray, shape (3, atoms)
        Probabilities of a negative, zero and positive score.
    selected : ndarray, shape (atoms,)
        Probability that the rule selects the question.
    between, within : float
        As from `score_variance`.
    """

    signs: NDArray[np.float64]
    selected: NDArray[np.float64]
    between: float
    within: float


def law_at(population: Population, k_sham: int, k_destroy: int, rule: ScoreRule) -> BudgetLaw:
    """The exact law of every atom, in one pass where the rule is about the sign."""
    law = FiniteReplayLaw(
        population.p_sham, population.p_destroy, k_sham=k_sham, k_destroy=k_destroy
    )
    signs = law.signs()
    if rule.threshold == 0:
        selected = sum(getattr(signs, sign) for sign in _SIGNS_SELECTED[rule.comparison])
    else:
        selected = law.probability(rule)
    variance = score_variance(population, k_sham, k_destroy)
    return BudgetLaw(np.stack(signs), np.asarray(selected), *variance)


def score_variance(population: Population, k_sham: int, k_destroy: int) -> tuple[float, float]:
    """Variance of the score between questions, and its mean variance within them.

    Parameters
    ----------
    population : Population
        The questions.
    k_sham, k_destroy : int
        Replays in each arm.

    Returns
    -------
    between, within : float
        Var Δ with Δ = p_destroy − p_sham, and E[p_sham q_sham/k_sham + p_destroy q_destroy/
        k_destroy]; they sum to the variance of the score.
    """
    p_sham, p_destroy, weights = population.p_sham, population.p_destroy, population.weights
    difference = p_destroy - p_sham
    between = weights @ (difference - weights @ difference) ** 2
    sham, destroy = p_sham * (1 - p_sham) / k_sham, p_destroy * (1 - p_destroy) / k_destroy
    return float(between), float(weights @ (sham + destroy))


def expect_agreement(
    weights: NDArray[np.float64],
    laws_a: Sequence[BudgetLaw],
    laws_b: Sequence[BudgetLaw],
    shares: NDArray[np.float64],
) -> tuple[float, float, float]:
    """How two independent runs over the same questions agree, in expectation.

    Parameters
    ----------
    weights : ndarray, shape (atoms,)
        Of the population.
    laws_a, laws_b : sequence of BudgetLaw
        The budgets that occur in each run.
    shares : ndarray, shape (len(laws_a), len(laws_b))
        The share of the questions that has each pair of them, whatever its atom; sums to 1.

    Returns
    -------
    reliability, agreement, jaccard : float
        Correlation of the scores, probability of equal signs, and E|A ∩ B|/E|A ∪ B| of the
        selected sets; NaN where scores do not vary, and where nothing is ever selected.
    """
    signs_a, signs_b = (np.stack([law.signs for law in laws]) for laws in (laws_a, laws_b))
    pairs, atoms = len(signs_a), signs_a.size // len(signs_a)
    same = (signs_a * weights).reshape(pairs, atoms) @ signs_b.reshape(-1, atoms).T
    chosen_a, chosen_b = (np.stack([law.selected for law in laws]) for laws in (laws_a, laws_b))
    both = float((shares * ((chosen_a * weights) @ chosen_b.T)).sum())
    each = shares.sum(axis=1) @ chosen_a + shares.sum(axis=0) @ chosen_b
    either = float(each @ weights) - both
    between = laws_a[0].between
    variances = [
        between + sum(share * law.within for share, law in zip(of_run, laws, strict=True))
        for of_run, laws in ((shares.sum(axis=1), laws_a), (shares.sum(axis=0), laws_b))
    ]
    scale = math.sqrt(math.prod(variances))
    return (
        float(between / scale) if scale > 0.0 else math.nan,
        float((shares * same).sum()),
        both / either if either > 0.0 else math.nan,
    )


def summarise(
    population: Population, k_sham: int, k_destroy: int, rule: ScoreRule
) -> PopulationSummary:
    """`Population.summary`, its arguments already checked."""
    weights = population.weights
    law = law_at(population, k_sham, k_destroy, rule)
    reliability, agreement, jaccard = expect_agreement(weights, [law], [law], np.ones((1, 1)))
    negative, zero, positive = (law.signs @ weights).tolist()
    return PopulationSummary(
        k_sham=k_sham,
        k_destroy=k_destroy,
        negative=negative,
        zero=zero,
        positive=positive,
        mean=float(weights @ (population.p_destroy - population.p_sham)),
        var=law.between + law.within,
        reliability=reliability,
        agreement=agreement,
        jaccard=jaccard,
        rule=rule,
    )
