"""The law of the score: expectation and distribution over all sequences of flips, exactly.

Every sequence with x flips of k_sham and y of k_destroy has probability
p_sham^x q_sham^(k_sham−x) p_destroy^y q_destroy^(k_destroy−y), and these polynomials are linearly
independent. So an expectation is p_destroy − p_sham for *all* rates exactly if the sum over the
sequences of each (x, y) is the right one, and a law is the right one for all rates exactly if each
value stands at each (x, y) as often as it should: no rates are tried, except to name some in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby, product
from math import comb
from typing import NamedTuple

from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Flips, describe
from carve_stats.testing.properties import Property, Verdict
from carve_stats.testing.results import Failed, Value, close, exactly

__all__ = ["PROPERTIES"]


class _Budget(NamedTuple):
    """What an estimator says of every sequence with k_sham and k_destroy replays, by (x, y)."""

    k_sham: int
    k_destroy: int
    values: dict[tuple[int, int], list[Value]]
    questions: list[Flips]

    def weight(self, x: int, y: int, p_sham: Fraction, p_destroy: Fraction) -> Fraction:
        """Probability of x and y flips."""
        k_sham, k_destroy = self.k_sham, self.k_destroy
        sham = comb(k_sham, x) * p_sham**x * (1 - p_sham) ** (k_sham - x)
        return sham * comb(k_destroy, y) * p_destroy**y * (1 - p_destroy) ** (k_destroy - y)

    def rates(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Rates to name in words; enough of them to tell any two polynomials apart."""
        yield Fraction(1, 4), Fraction(1, 2)
        n = max(self.k_sham, self.k_destroy) + 2
        yield from product([Fraction(i, n) for i in range(1, n)], repeat=2)

    def __str__(self) -> str:
        replays = "replay" if self.k_destroy == 1 else "replays"
        return f"{self.k_sham} SHAM and {self.k_destroy} DESTROY {replays}"


def _budgets(estimator: Estimator, questions: Sequence[Flips]) -> Iterator[_Budget]:
    """Every budget, the smallest first, at which the estimator never fails."""

    def budget(flips: Flips) -> tuple[int, int, int]:
        k_sham, k_destroy = len(flips.sham), len(flips.destroy)
        return k_sham + k_destroy, k_sham, k_destroy

    for (_, k_sham, k_destroy), group in groupby(sorted(questions, key=budget), budget):
        if not (k_sham and k_destroy):
            continue
        found = _Budget(k_sham, k_destroy, {}, list(group))
        for flips in found.questions:
            at = flips.sham.count(1), flips.destroy.count(1)
            found.values.setdefault(at, []).append(estimator(flips))
        if not any(isinstance(v, Failed) for values in found.values.values() for v in values):
            yield found


def _unbiased(estimator: Estimator, questions: Sequence[Flips]) -> Verdict:
    looked = False
    for budget in _budgets(estimator, questions):
        looked = True
        undefined = next((f for f in budget.questions if estimator(f) is None), None)
        if undefined is not None:
            words = "the function says undefined, so there is no expectation with"
            return f"{describe(undefined)}: {words} {budget}"
        means = {at: _mean(values) for at, values in budget.values.items()}
        if all(close(mean, _score(budget, *at)) for at, mean in means.items()):
            continue
        for p_sham, p_destroy in budget.rates():
            expected: Fraction | float = sum(
                (budget.weight(*at, p_sham, p_destroy) * mean for at, mean in means.items()),
                start=Fraction(0),
            )
            right = p_destroy - p_sham
            if not close(expected, right):
                off = float(expected - right)
                alike = _figure(expected) in (str(right), repr(float(right)))
                by = f" {'−' if off < 0 else '+'} {abs(off):.3g}" if alike else ""
                return (
                    f"{budget}: at p_sham = {p_sham} and p_destroy = {p_destroy} the expectation"
                    f" over all sequences is {_figure(expected)}{by}, not p_destroy − p_sham ="
                    f" {right}"
                )
    return looked


def _distribution(estimator: Estimator, questions: Sequence[Flips]) -> Verdict:
    looked = False
    for budget in _budgets(estimator, questions):
        looked = True
        shares: dict[tuple[int, int], Counter[Fraction | float | None]] = {
            at: Counter(_on_lattice(value, _score(budget, *at)) for value in values)
            for at, values in budget.values.items()
        }
        points = {score for counter in shares.values() for score in counter}
        points |= {_score(budget, *at) for at in shares}
        if all({*counter} == {_score(budget, *at)} for at, counter in shares.items()):
            continue
        for (p_sham, p_destroy), point in product(budget.rates(), sorted(points, key=_order)):
            says = right = Fraction(0)
            for at, counter in shares.items():
                weight = budget.weight(*at, p_sham, p_destroy)
                says += weight * Fraction(counter[point], counter.total())
                right += weight * (_score(budget, *at) == point)
            if says != right:
                value = (
                    "the score is undefined" if point is None else f"the score is {_figure(point)}"
                )
                return (
                    f"{budget}: at p_sham = {p_sham} and p_destroy = {p_destroy} {value} with"
                    f" probability {right}, the function says it with probability {says}"
                )
    return looked


def _mean(values: list[Value]) -> Fraction | float:
    """The mean: of rationals exactly, of floats the float that is nearest to it."""
    numbers = [value for value in values if not (value is None or isinstance(value, Failed))]
    exact = all(isinstance(value, int | Fraction) for value in numbers)
    total = sum(map(exactly, numbers), start=Fraction(0))
    return total / len(numbers) if exact else float(total / len(numbers))


def _score(budget: _Budget, x: int, y: int) -> Fraction:
    return Fraction(y, budget.k_destroy) - Fraction(x, budget.k_sham)


def _on_lattice(value: Value, score: Fraction) -> Fraction | float | None:
    """The value, without the rounding of a float."""
    if value is None or isinstance(value, Failed):
        return None
    return score if close(value, score) else _rounded(exactly(value))


def _rounded(value: Fraction | float) -> Fraction | float:
    if isinstance(value, float):
        return value
    near = value.limit_denominator(1000)
    return near if abs(near - value) <= Fraction(4, 2**53) else value


def _order(point: Fraction | float | None) -> tuple[bool, Fraction | float]:
    return point is None, 0.0 if point is None else point


def _figure(value: Fraction | float) -> str:
    short = _rounded(value)
    plain = isinstance(short, Fraction) and short.denominator < 10**9
    return str(short) if plain else repr(float(value))


PROPERTIES = (
    Property(
        "unbiased", 5, "has expectation p_destroy − p_sham at all rates", holds_over_all=_unbiased
    ),
    Property(
        "distribution", 6, "has the law of the score at all rates", holds_over_all=_distribution
    ),
)
