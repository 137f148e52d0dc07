r"""The area under the risk–coverage curve when scores tie

Questions are kept in the order of their scores, the highest first. Before a plateau of $m$ equal
scores, $e$ of whose answers are wrong, come $S$ questions with $E$ wrong answers. If ties are
ordered at random, the first $t$ of the plateau have

[[errors]]

wrong answers on average, and the expected risks of the first $S+1, \dots, S+m$ questions add up to

[[plateau]]

where $\mathrm{harmonic}(S) = H_S = 1 + \frac12 + \dots + \frac1S$ are the harmonic numbers. The
expected numbers of wrong answers add up to

[[generalized]]

So the expected area under the curve (AURC) is the sum of the first over all plateaus, divided by
$n$, and that under the generalized curve (AUGRC) the sum of the second, divided by $n^2$. If all
$n$ scores are equal and $e$ answers wrong, these are

[[all_tied]]

[[all_tied_generalized]]

such as $1/2$ and $5/16$ for four tied questions with two wrong answers. Neither depends on the
order of the rows.

Proof

1. Of the $\binom{m}{t}$ sets that can come first, all equally likely, $\binom{m-1}{t-1}$ hold a
   given one of the wrong answers: it is among them with probability $t/m$. There are $e$.
2. The risk of the first $S + t$ is their number of errors divided by $S+t$, a number, so that its
   expectation is $(E + et/m)/(S+t)$. Put $\rho = e/m$ and let $F(M)$ be
   $\rho M + (E - \rho S)(H_{S+M} - H_S)$. Then $F(0) = 0$, and since
   $H_{S+M} - H_{S+M-1} = 1/(S+M)$,
   $F(M) - F(M-1) = \rho + \frac{E - \rho S}{S+M} = \frac{E + \rho M}{S+M}$. So $F(M)$ is the sum
   up to $M$, and $F(m)$ the closed form.
3. $\sum_{t=1}^m t = m(m+1)/2$ gives the sum of the errors.
4. For one plateau $S = E = 0$ and $m = n$; then the sums are $e$ and $e(n+1)/2$.

References

- Y. Geifman, G. Uziel, R. El-Yaniv, Bias-reduced uncertainty estimation for deep neural
  classifiers, *ICLR* 2019 (AURC).
- J. Traub et al., Overcoming common flaws in the evaluation of selective classification systems,
  *NeurIPS* 2024 (AUGRC).
"""

from fractions import Fraction
from itertools import pairwise, permutations, product

import pytest
import sympy
from sympy import Eq, Sum, harmonic

import carve_stats as cs

S, E, e = sympy.symbols("S E e", integer=True, nonnegative=True)
m, t, size, M = sympy.symbols("m t n M", integer=True, positive=True)
of_first, area, area_generalized = sympy.symbols("e_t A G")

FORMULAS = {
    "errors": Eq(of_first, e * t / m),
    "plateau": Eq(
        Sum((E + e * t / m) / (S + t), (t, 1, m)),
        e + (E - e * S / m) * (harmonic(S + m) - harmonic(S)),
    ),
    "generalized": Eq(Sum(E + e * t / m, (t, 1, m)), m * E + e * (m + 1) / 2),
    "all_tied": Eq(area, e / size),
    "all_tied_generalized": Eq(area_generalized, e * (size + 1) / (2 * size**2)),
}
USED_BY = ("risk_coverage", "compare_selective")


def test_step_1():
    among = sympy.binomial(m - 1, t - 1) / sympy.binomial(m, t)
    said = FORMULAS["errors"].rhs
    assert sympy.combsimp(e * among.rewrite(sympy.factorial) - said) == 0


def test_step_2():
    rho = sympy.Symbol("rho")
    sum_ = FORMULAS["plateau"].lhs
    term = (E + FORMULAS["errors"].rhs) / (S + t)
    assert sum_.limits == ((t, 1, m),)
    assert sympy.simplify(sum_.function - term) == 0
    # With the rate of errors kept, the closed form as a function of how far the sum goes.
    F = FORMULAS["plateau"].rhs.subs(e, rho * m).subs(m, M)
    assert sympy.simplify(F.subs(M, 0)) == 0
    growth = sympy.expand_func(
        (F.subs(M, M + 1) - F).subs(harmonic(S + M + 1), harmonic(S + M) + 1 / (S + M + 1))
    )
    assert sympy.expand_func(harmonic(M + 1)) == harmonic(M) + 1 / (M + 1)
    said = term.subs(e, rho * m).subs(t, M + 1)
    assert sympy.simplify(growth - said) == 0


def test_step_3():
    sum_ = FORMULAS["generalized"].lhs
    assert sympy.simplify(sum_.function - (E + FORMULAS["errors"].rhs)) == 0
    assert sympy.simplify(sum_.doit() - FORMULAS["generalized"].rhs) == 0


def test_step_4():
    one = {S: 0, E: 0, m: size}
    found = FORMULAS["plateau"].rhs.subs(one) / size
    assert sympy.simplify(found - FORMULAS["all_tied"].rhs) == 0
    other = FORMULAS["generalized"].rhs.subs(one) / size**2
    assert sympy.simplify(other - FORMULAS["all_tied_generalized"].rhs) == 0
    four = {size: 4, e: 2}
    assert FORMULAS["all_tied"].rhs.subs(four) == sympy.Rational(1, 2)
    assert FORMULAS["all_tied_generalized"].rhs.subs(four) == sympy.Rational(5, 16)


def exact_areas(score, wrong):
    """Means over every order of the questions that a sort by score can give."""
    size = len(score)
    areas = []
    for order in permutations(range(size)):
        if all(score[a] >= score[b] for a, b in pairwise(order)):
            errors = [sum(wrong[a] for a in order[: t + 1]) for t in range(size)]
            risks = [Fraction(made, t + 1) for t, made in enumerate(errors)]
            areas.append((sum(risks) / size, Fraction(sum(errors), size**2)))
    return [sum(values) / len(areas) for values in zip(*areas, strict=True)]


def closed_form(score, wrong):
    """The same from the statement."""
    size, before, errors, first, second = len(score), 0, 0, Fraction(0), Fraction(0)
    for value in sorted(set(score), reverse=True):
        tied = [wrong[a] for a in range(size) if score[a] == value]
        items, bad = len(tied), sum(tied)
        between = sum(Fraction(1, one) for one in range(before + 1, before + items + 1))
        first += bad + (errors - Fraction(bad * before, items)) * between
        second += items * errors + Fraction(bad * (items + 1), 2)
        before, errors = before + items, errors + bad
    return [first / size, second / size**2]


CASES = [
    (score, wrong)
    for score in [(0, 0, 0, 0), (1, 0, 0, 2), (1, 1, 0, 0), (0, 3, 1, 2), (1, 1, 1, 0)]
    for wrong in product((0, 1), repeat=4)
]


@pytest.mark.parametrize(("score", "wrong"), CASES)
def test_implementation_risk_coverage(score, wrong):
    exact = exact_areas(score, wrong)
    assert exact == closed_form(score, wrong)
    found = cs.risk_coverage(score, [1 - one for one in wrong])
    for estimate, area_ in zip((found.aurc, found.augrc), exact, strict=True):
        assert abs(Fraction(estimate.estimate) - area_) <= Fraction(1, 10**15)


def test_implementation_compare_selective():
    for wrong in product((0, 1), repeat=4):
        one, other = (2, 2, 1, 1), (1, 2, 1, 1)
        found = cs.compare_selective(one, other, [1 - value for value in wrong])
        exact = [
            a - b for a, b in zip(exact_areas(one, wrong), exact_areas(other, wrong), strict=True)
        ]
        for name, difference in zip(("aurc", "augrc"), exact, strict=True):
            estimate = found.differences[name].estimate
            assert abs(Fraction(estimate) - difference) <= Fraction(1, 10**15)
