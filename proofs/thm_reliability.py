r"""The correlation of two runs, and why Spearman and Brown are exact

Questions are drawn from a population of $(p_s, p_d)$, with $\Delta = p_d - p_s$ and $q = 1 - p$.
Two runs replay the same questions independently, $k$ times in each arm, and their scores are
$\hat\Delta_1$ and $\hat\Delta_2$. With $B = \mathrm{Var}\,\Delta$ and $W = E[p_s q_s + p_d q_d]$
the correlation of the two scores is

[[reliability]]

so that at $c$ times as many replays, $c > 0$,

[[spearman_brown]]

and, where $B > 0$ and $W > 0$, a reliability $\rho < 1$ is reached exactly where $k \ge k_\rho$,

[[needed]]

With unequal budgets, $W/k$ becomes $E[p_s q_s]/k_s + E[p_d q_d]/k_d$.

Proof

1. A binomial count of $k$ has the generating function $(q + pz)^k$, so its mean is $kp$ and its
   variance $kpq$. Given the question, then, a score has the mean $\Delta$ and, the arms being
   independent, the variance $w/k$ with $w = p_s q_s + p_d q_d$.
2. Given the question the runs are independent: $E[\hat\Delta_1\hat\Delta_2] = E[\Delta^2]$, and
   both scores have the mean $E\,\Delta$. Their covariance is $B$.
3. $E[\hat\Delta_1^2] = E[\Delta^2 + w/k]$, so the variance of each score is $B + W/k$. The
   quotient is the form.
4. Put $ck$ for $k$: $B/(B + W/(ck)) = cB/(cB + W/k)$, which is the second form, since
   $W/k = B\,(1 - r_k)/r_k$.
5. $r_k$ grows with $k$, as its derivative is $BW/(Bk + W)^2$, and it is $\rho$ at $k_\rho$.

References

- Spearman, "Correlation calculated from faulty data", and Brown, "Some experimental results in the
  correlation of mental abilities", *British Journal of Psychology* 3 (1910); Lord and Novick,
  *Statistical Theories of Mental Test Scores* (1968), chapter 5.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Eq, Function

import carve_stats as cs

k, c, B, W, rho, p, z = sympy.symbols("k c B W rho p z", positive=True)
k_rho = sympy.Symbol("k_rho")
r = Function("r")

FORMULAS = {
    "reliability": Eq(r(k), B / (B + W / k)),
    "spearman_brown": Eq(r(c * k), c * r(k) / (1 + (c - 1) * r(k))),
    "needed": Eq(k_rho, rho / (1 - rho) * W / B),
}
USED_BY = ("Population.reliability", "plan_budget", "reproducibility")


def test_step_1():
    generating = (1 - p + p * z) ** k
    mean = sympy.diff(generating, z).subs(z, 1)
    pairs = sympy.diff(generating, z, 2).subs(z, 1)  # E X(X − 1)
    assert sympy.simplify(mean - k * p) == 0
    assert sympy.simplify(pairs + mean - mean**2 - k * p * (1 - p)) == 0
    p_s, p_d = sympy.symbols("p_s p_d")
    # Var(Y/k − X/k), X and Y being independent.
    score = sum(k * rate * (1 - rate) / k**2 for rate in (p_s, p_d))
    assert sympy.simplify(score - (p_s * (1 - p_s) + p_d * (1 - p_d)) / k) == 0


def test_step_2():
    mean, square = sympy.symbols("mean square")  # E Δ and E Δ²
    delta = sympy.Symbol("delta")
    centred = sympy.Poly((delta - mean) ** 2, delta)
    moments = {0: 1, 1: mean, 2: square}
    variance = sum(factor * moments[power] for (power,), factor in centred.terms())
    assert sympy.expand(square - mean * mean - variance) == 0


def test_step_3():
    mean, square = sympy.symbols("mean square")
    covariance = square - mean**2  # step 2
    variance = (square + W / k) - mean**2
    said = FORMULAS["reliability"].rhs.subs(B, square - mean**2)
    assert sympy.simplify(covariance / variance - said) == 0


def test_step_4():
    reliability = FORMULAS["reliability"].rhs
    said = FORMULAS["spearman_brown"].rhs.subs(r(k), reliability)
    assert sympy.simplify(reliability.subs(k, c * k) - said) == 0


def test_step_5():
    reliability = FORMULAS["reliability"].rhs
    growth = sympy.factor(sympy.diff(sympy.together(reliability), k))
    assert sympy.simplify(growth - B * W / (B * k + W) ** 2) == 0
    assert growth.is_positive
    reached = reliability.subs(k, FORMULAS["needed"].rhs)
    assert sympy.simplify(reached - rho) == 0


POPULATIONS = [  # SHAM rates, DESTROY rates and weights, all of them doubles
    ([Fraction(1, 8), Fraction(1, 2)], [Fraction(1, 4), Fraction(7, 8)], [1, 3]),
    ([Fraction(0), Fraction(3, 8), Fraction(1)], [Fraction(1, 2), Fraction(5, 8), Fraction(1)],
     [1, 2, 5]),
]  # fmt: skip


def exact_parts(sham, destroy, weights):
    """B and W as fractions."""
    total = sum(weights)

    def mean(values):
        return sum(w * v for w, v in zip(weights, values, strict=True)) / Fraction(total)

    delta = [d - s for s, d in zip(sham, destroy, strict=True)]
    within = mean([s * (1 - s) + d * (1 - d) for s, d in zip(sham, destroy, strict=True)])
    return mean([d * d for d in delta]) - mean(delta) ** 2, within


def population_of(sham, destroy, weights):
    return cs.Population([float(s) for s in sham], [float(d) for d in destroy], weights)


def test_implementation_reliability():
    for atoms in POPULATIONS:
        variance, within = exact_parts(*atoms)
        for size in range(1, 13):
            exact = variance / (variance + within / size)
            found = Fraction(population_of(*atoms).reliability(size))
            assert abs(found - exact) <= exact * Fraction(1, 2**49)


def test_implementation_plan_budget():
    for atoms in POPULATIONS:
        variance, within = exact_parts(*atoms)
        for goal in (Fraction(1, 4), Fraction(1, 2)):
            needed = goal / (1 - goal) * within / variance
            plan = cs.plan_budget(
                population_of(*atoms), goal=f"reliability >= {float(goal)}", k=range(1, 31)
            )
            smallest = max(1, -(-needed.numerator // needed.denominator))
            assert plan.recommended.k == smallest <= 30


def test_implementation_reproducibility():
    """Predicted from the population; carried to another k from the observed correlation."""
    atoms, size = POPULATIONS[0], 4
    variance, within = exact_parts(*atoms)
    flips = [[0, 1, 3, 4, 2, 1], [4, 3, 4, 4, 1, 0]], [[1, 1, 2, 4, 1, 0], [3, 4, 4, 2, 2, 1]]
    runs = [
        cs.ReplayCounts(
            list("abcdef"), sham, [size] * 6, destroy, [size] * 6, cluster=list("uuvvww")
        )
        for sham, destroy in flips
    ]
    result = cs.reproducibility(*runs, population=population_of(*atoms))
    exact = variance / (variance + within / size)
    assert abs(Fraction(result.predicted.pearson) - exact) <= exact * Fraction(1, 2**49)
    observed = Fraction(result.observed.pearson.estimate)
    for other in (1, 2, 8, 16):
        factor = Fraction(other, size)
        carried = factor * observed / (1 + (factor - 1) * observed)
        found = Fraction(result.reliability_at(other).estimate)
        assert abs(found - carried) <= carried * Fraction(1, 2**50)
    assert 0 < observed < 1


def test_implementation_by_enumeration():
    """The correlation over all outcomes of two runs, without the formula."""
    for sham, destroy, weights in POPULATIONS:
        for size in (1, 2):
            law = {}
            for s, d, w in zip(sham, destroy, weights, strict=True):
                single = {}
                for x, y in product(range(size + 1), repeat=2):
                    chance = comb(size, x) * s**x * (1 - s) ** (size - x)
                    chance *= comb(size, y) * d**y * (1 - d) ** (size - y)
                    score = Fraction(y - x, size)
                    single[score] = single.get(score, 0) + chance
                for one, other in product(single, repeat=2):
                    chance = single[one] * single[other] * Fraction(w, sum(weights))
                    law[one, other] = law.get((one, other), 0) + chance
            mean = sum(one * chance for (one, _), chance in law.items())
            together = sum(one * other * chance for (one, other), chance in law.items())
            square = sum(one**2 * chance for (one, _), chance in law.items())
            exact = (together - mean**2) / (square - mean**2)
            found = Fraction(population_of(sham, destroy, weights).reliability(size))
            assert abs(found - exact) <= exact * Fraction(1, 2**49)
