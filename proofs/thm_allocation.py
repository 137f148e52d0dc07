r"""The cheapest split of money between questions, SHAM and DESTROY replays

The mean score of $n$ independent questions with $k_s$ SHAM and $k_d$ DESTROY replays has the
variance

[[variance]]

with $\sigma^2 = \mathrm{Var}(p_d - p_s)$ over questions, $v_s = \mathrm{E}[p_s q_s]$ and
$v_d = \mathrm{E}[p_d q_d]$. A question costs $c_q + k_s c_s + k_d c_d$. Variance times money is,
whatever $n$ is, at least

[[bound]]

and, where $\sigma$ and $c_q$ are positive, equal to it exactly at

[[best_sham]]

[[best_destroy]]

which do not depend on how much money there is. If only the number of replays of a question is
fixed, $k_s + k_d = 2k$, then

[[arms]]

with equality exactly where the arms stand in the ratio

[[ratio]]

Proof

1. Given the question, $Y$ and $X$ are independent and binomial, so that the score has mean
   $p_d - p_s$ and variance $p_s q_s/k_s + p_d q_d/k_d$. By the law of total variance that of one
   question's score is $\sigma^2 + v_s/k_s + v_d/k_d$; that of the mean of $n$ independent ones is
   the $n$-th part.
2. Variance times money is $(\sigma^2 + v_s/k_s + v_d/k_d)(c_q + k_s c_s + k_d c_d)$. By
   Lagrange's identity for the vectors $(\sigma, \sqrt{v_s/k_s}, \sqrt{v_d/k_d})$ and
   $(\sqrt{c_q}, \sqrt{k_s c_s}, \sqrt{k_d c_d})$ it exceeds the square of their product by three
   squares.
3. These squares are 0 exactly when $\sigma\sqrt{k_s c_s} = \sqrt{v_s c_q/k_s}$, and likewise for
   DESTROY: the two formulas. The third, $\sqrt{v_s k_d c_d/k_s} - \sqrt{v_d k_s c_s/k_d}$, is
   then 0 as well.
4. The same for the vectors $(\sqrt{v_s/k_s}, \sqrt{v_d/k_d})$ and $(\sqrt{k_s}, \sqrt{k_d})$: the
   difference is $\left(\sqrt{v_s}\,k_d - \sqrt{v_d}\,k_s\right)^2/(2k\,k_s k_d)$.

References

- W. G. Cochran, *Sampling Techniques*, 3rd ed., Wiley 1977, section 10.6 (optimum sampling and
  subsampling fractions in two-stage sampling), and section 5.5 (optimum allocation).
"""

from fractions import Fraction
from itertools import product

import pytest
import sympy
from sympy import Eq, Ge, sqrt

import carve_stats as cs

sigma, v_s, v_d, c_q, c_s, c_d = sympy.symbols("sigma v_s v_d c_q c_s c_d", positive=True)
k_s, k_d, k, size = sympy.symbols("k_s k_d k n", positive=True)
variance = sympy.Symbol("V", positive=True)

_OF_ONE = sigma**2 + v_s / k_s + v_d / k_d
FORMULAS = {
    "variance": Eq(variance, _OF_ONE / size),
    "bound": Ge(
        _OF_ONE * (c_q + k_s * c_s + k_d * c_d),
        (sigma * sqrt(c_q) + sqrt(v_s * c_s) + sqrt(v_d * c_d)) ** 2,
    ),
    "best_sham": Eq(k_s, sqrt(v_s * c_q / (sigma**2 * c_s))),
    "best_destroy": Eq(k_d, sqrt(v_d * c_q / (sigma**2 * c_d))),
    "arms": Ge(v_s / k_s + v_d / k_d, (sqrt(v_s) + sqrt(v_d)) ** 2 / (2 * k)),
    "ratio": Eq(k_s / k_d, sqrt(v_s / v_d)),
}
USED_BY = ("plan_budget",)


def test_step_1():
    z, p = sympy.symbols("z p", positive=True)
    replays = sympy.symbols("replays", integer=True, positive=True)
    generating = (1 - p + p * z) ** replays  # of the binomial law
    mean = sympy.diff(generating, z).subs(z, 1)
    second = sympy.diff(generating, z, 2).subs(z, 1) + mean
    assert sympy.simplify(mean / replays - p) == 0
    assert sympy.simplify((second - mean**2) / replays**2 - p * (1 - p) / replays) == 0
    # Total variance: E[score² | question] = own + (p_d − p_s)², and its mean less that of the mean.
    mean_square, square_of_mean = sympy.symbols("mean_square square_of_mean")
    own = v_s / k_s + v_d / k_d
    total = (own + mean_square) - square_of_mean
    spread = {mean_square: sigma**2 + square_of_mean}  # σ² = E[(p_d − p_s)²] − (E[p_d − p_s])²
    assert sympy.simplify(total.subs(spread) / size - FORMULAS["variance"].rhs) == 0


def squares():
    """The three squares of Lagrange's identity."""
    first = sigma * sqrt(k_s * c_s) - sqrt(v_s * c_q / k_s)
    second = sigma * sqrt(k_d * c_d) - sqrt(v_d * c_q / k_d)
    third = sqrt(v_s * k_d * c_d / k_s) - sqrt(v_d * k_s * c_s / k_d)
    return first, second, third


def test_step_2():
    bound = FORMULAS["bound"]
    money = size * (c_q + k_s * c_s + k_d * c_d)
    assert sympy.simplify(FORMULAS["variance"].rhs * money - bound.gts) == 0
    difference = bound.gts - bound.lts
    assert sympy.expand(difference - sum(one**2 for one in squares())) == 0


def test_step_3():
    best = {FORMULAS[name].lhs: FORMULAS[name].rhs for name in ("best_sham", "best_destroy")}
    assert [sympy.simplify(one.subs(best)) for one in squares()] == [0, 0, 0]
    # And only there: each square has one root.
    first, second, _ = squares()
    assert sympy.solve(first, k_s) == [FORMULAS["best_sham"].rhs]
    assert sympy.solve(second, k_d) == [FORMULAS["best_destroy"].rhs]


def test_step_4():
    arms, ratio = FORMULAS["arms"], FORMULAS["ratio"]
    difference = (arms.gts - arms.lts).subs(k, (k_s + k_d) / 2)
    square = (sqrt(v_s) * k_d - sqrt(v_d) * k_s) ** 2 / ((k_s + k_d) * k_s * k_d)
    assert sympy.simplify(difference - square) == 0
    assert sympy.solve(square, k_s) == [sympy.simplify(ratio.rhs * k_d)]
    assert ratio.lhs == k_s / k_d


POPULATIONS = [
    # Rates in eighths, and weights in quarters: doubles.
    ([(1, 8), (2, 8)], [(6, 8), (2, 8)], [(1, 4), (3, 4)]),
    ([(1, 8), (4, 8), (0, 8)], [(6, 8), (4, 8), (8, 8)], [(1, 4), (2, 4), (1, 4)]),
]
COSTS = [(16, 1, 0), (2, 1, 3), (64, 2, 1)]


def parts(sham, destroy, weights):
    """σ², v_s and v_d as fractions."""
    mean = sum(w * (d - s) for s, d, w in zip(sham, destroy, weights, strict=True))
    between = sum(w * (d - s - mean) ** 2 for s, d, w in zip(sham, destroy, weights, strict=True))
    arms = [
        sum(w * p * (1 - p) for p, w in zip(arm, weights, strict=True)) for arm in (sham, destroy)
    ]
    return between, *arms


@pytest.mark.parametrize("population", POPULATIONS, ids=["two", "three"])
@pytest.mark.parametrize("prices", COSTS)
def test_implementation_plan_budget(population, prices):
    columns = [[Fraction(*one) for one in column] for column in population]
    between, *arms = parts(*columns)
    question, replay, extra = prices
    cost = cs.Cost(question=question, replay=replay, destroy_extra=extra)
    each = replay, replay + extra
    source = cs.Population(*([float(one) for one in column] for column in columns))
    plan = cs.plan_budget(source, goal="reliability >= 0.8", cost=cost, k=range(1, 9))

    for found, v, c in zip(plan.split.unrounded, arms, each, strict=True):
        exact = v * question / (between * c)
        assert abs(Fraction(found) ** 2 - exact) <= exact * Fraction(1, 10**14)
    exact = arms[0] / arms[1]
    assert abs(Fraction(plan.arms.ratio) ** 2 - exact) <= exact * Fraction(1, 10**14)

    def product_of(a, b):
        spread = between + arms[0] / a + arms[1] / b
        return spread * (question + a * each[0] + b * each[1])

    least = min(product_of(a, b) for a, b in product(range(1, 9), repeat=2))
    assert product_of(plan.split.k_sham, plan.split.k_destroy) == least
    both = plan.arms.k_sham + plan.arms.k_destroy
    spread = {a: arms[0] / a + arms[1] / (both - a) for a in range(1, both)}
    assert spread[plan.arms.k_sham] == min(spread.values())
