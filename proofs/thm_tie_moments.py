r"""Tie rates are moments: what the rates at small k say about every larger k

Let SHAM and DESTROY flip independently $k$ times each, $a = p_s p_d$, $b = q_s q_d$ with
$q = 1 - p$, and let $U = a + b + 2\sqrt{ab}\cos\Theta$ with $\Theta$ uniform on $[0, \pi]$. Then
$0 \le U$, and

[[range]]

so that the tie probabilities $t_k = \mathrm{E}\,U^k$ are the moments of a law on $[0, 1]$. So are
the tie rates of any population of questions, which are averages of such, for every $k$ and $r$:

[[monotone]]

[[convex]]

and for $k \ge K \ge 1$ with $t_{K-1} > 0$

[[upper]]

[[lower]]

Conversely every sequence of moments of a law on $[0, 1]$ is the sequence of tie rates of a
population. So the sharp bounds of $t_k$ from $t_1, \dots, t_K$ are those of the moment problem: a
polynomial $c_0 + \dots + c_K u^K$ that is at most (at least) $u^k$ on $[0, 1]$ bounds $t_k$ from
below (above) by $c_0 + c_1 t_1 + \dots + c_K t_K$. On which side it lies is seen from its
coefficients in

[[bernstein]]

With $t_1$ alone the bounds are $t_1^k \le t_k \le t_1$.

Proof

1. $U = |\sqrt b + \sqrt a\,e^{i\Theta}|^2$ lies between $(\sqrt b - \sqrt a)^2$ and
   $(\sqrt a + \sqrt b)^2$. As $(p_s + q_s)(p_d + q_d) = 1$, the latter falls short of 1 by
   $(\sqrt{p_s q_d} - \sqrt{q_s p_d})^2 \ge 0$. That $t_k = \mathrm{E}\,U^k$ is the Laplace integral
   of thm_tie_closed_forms. For a population $t_k = \mathrm{E}_G\mathrm{E}\,U^k$ is the moment of
   the mixture of these laws, which is one on $[0, 1]$ again.
2. By the binomial theorem the alternating sum is $\mathrm{E}\,U^k(1 - U)^r \ge 0$: both satisfy
   $D_{k, r+1} = D_{k, r} - D_{k+1, r}$ and begin with $D_{k, 0} = t_k$.
3. For every $c$ is $\mathrm{E}\,U^{k-1}(U - c)^2 = t_{k+1} - 2c\,t_k + c^2 t_{k-1} \ge 0$; at
   $c = t_k/t_{k-1}$ this is the convexity of $\log t_k$.
4. The first difference, $r = 1$, says $t_{k+1} \le t_k$, and with it the upper bound. The convexity
   says that the ratios $t_{k+1}/t_k$ do not fall, hence $t_k = t_K \prod_{j=K}^{k-1} t_{j+1}/t_j$
   is at least what the constant ratio $t_K/t_{K-1}$ makes of $t_K$. $K = 1$ gives $t_1^k$ and
   $t_1$, attained by the laws of $U$ with one point, and with the points 0 and 1.
5. $\binom ij \binom ki / \binom kj = \binom{k-j}{i-j}$, so the sum in the last formula is
   $u^j \sum_{i} \binom{k-j}{i-j} u^{i-j}(1-u)^{k-i} = u^j$. All $\binom ki u^i(1-u)^{k-i}$ are at
   least 0 on $[0, 1]$: with coefficients of one sign a polynomial has that sign, and so has its
   expectation, which is linear in the $t_j$.
6. A question with $p_s = 0$ has $a = 0$ and $U = q_d$, without variance. So the population with
   $p_s = 0$ and $q_d$ drawn from a law on $[0, 1]$ has the moments of that law for tie rates.

References

- Hausdorff, *Summationsmethoden und Momentfolgen*, Mathematische Zeitschrift 9 (1921) 74–109 and
  280–299: the moments of laws on $[0, 1]$ are the completely monotone sequences.
- Karlin and Studden, *Tchebycheff Systems: With Applications in Analysis and Statistics*
  (Wiley, 1966), chapter IV: sharp bounds of a moment from others.
"""

from fractions import Fraction
from itertools import pairwise
from math import comb

import sympy
from sympy import Eq, Ge, IndexedBase, Le, Sum, binomial, cos, sqrt

import carve_stats as cs

p_s, p_d, q_s, q_d, u, c, theta = sympy.symbols("p_s p_d q_s q_d u c theta", positive=True)
j, r, i = sympy.symbols("j r i", integer=True, nonnegative=True)
k, K = sympy.symbols("k K", integer=True, positive=True)
t = IndexedBase("t", nonnegative=True)

FORMULAS = {
    "range": Le((sqrt(p_s * p_d) + sqrt(q_s * q_d)) ** 2, 1),
    "monotone": Ge(Sum((-1) ** j * binomial(r, j) * t[k + j], (j, 0, r)), 0),
    "convex": Le(t[k] ** 2, t[k - 1] * t[k + 1]),
    "upper": Le(t[k], t[K]),
    "lower": Ge(t[k], t[K] * (t[K] / t[K - 1]) ** (k - K)),
    "bernstein": Eq(
        u**j,
        Sum(
            binomial(i, j) / binomial(k, j) * (binomial(k, i) * u**i * (1 - u) ** (k - i)),
            (i, j, k),
        ),
    ),
}
USED_BY = ("FiniteReplayLaw.tie_sequence", "Population.signs", "predict_signs", "plan_budget")


def test_step_1():
    said = FORMULAS["range"]
    assert said.rel_op == "<="
    short = (p_s + q_s) * (p_d + q_d) - said.lhs
    square = (sqrt(p_s * q_d) - sqrt(q_s * p_d)) ** 2
    assert sympy.expand(short - square) == 0
    assert said.rhs == 1
    a, b = p_s * p_d, q_s * q_d
    inside = a + b + 2 * sqrt(a * b) * cos(theta)
    above = (1 + cos(theta)) * 2 * sqrt(a * b)  # at least 0, as is the next
    below = (1 - cos(theta)) * 2 * sqrt(a * b)
    assert sympy.expand(inside - (sqrt(b) - sqrt(a)) ** 2 - above) == 0
    assert sympy.expand(said.lhs - inside - below) == 0


def test_step_2():
    said = FORMULAS["monotone"]
    assert (said.rel_op, said.rhs) == (">=", 0)
    summand = said.lhs.function
    assert said.lhs.limits == ((j, 0, r),)
    sign = summand / t[k + j]
    # Of t_{k+j} in D_{k,r+1}, and in D_{k,r} − D_{k+1,r}.
    ours = sign.subs(r, r + 1) - (sign - sign.subs(j, j - 1))
    assert sympy.simplify(sympy.expand_func(sympy.combsimp(ours / sign))) == 0
    assert summand.subs({r: 0, j: 0}) == t[k]
    moment = u**k * (1 - u) ** r
    theirs = moment.subs(r, r + 1) - (moment - moment.subs(k, k + 1))
    assert sympy.simplify(theirs / moment) == 0
    assert moment.subs(r, 0) == u**k


def test_step_3():
    square = sympy.expand(u ** (k - 1) * (u - c) ** 2)
    moments = {u ** (k - 1): t[k - 1], u**k: t[k], u ** (k + 1): t[k + 1]}
    by_c = sympy.Poly(sympy.expand(sympy.powsimp(square)), c).all_coeffs()[::-1]
    expected = [moments[u ** (k + 1)], -2 * moments[u**k], moments[u ** (k - 1)]]
    powers = [u ** (k + 1), -2 * u**k, u ** (k - 1)]
    assert all(sympy.simplify(one / power) == 1 for one, power in zip(by_c, powers, strict=True))
    excess = sum(value * c**power for power, value in enumerate(expected))
    at_ratio = sympy.expand(excess.subs(c, t[k] / t[k - 1]) * t[k - 1])
    said = FORMULAS["convex"]
    assert said.rel_op == "<="
    assert sympy.expand(at_ratio - (said.rhs - said.lhs)) == 0


def test_step_4():
    first = FORMULAS["monotone"].lhs.subs(r, 1).doit()
    assert first == t[k] - t[k + 1]
    convex = FORMULAS["convex"]
    growth = t[k + 1] / t[k] - t[k] / t[k - 1]
    assert sympy.expand((convex.rhs - convex.lhs) / (t[k] * t[k - 1]) - growth) == 0
    upper, lower = FORMULAS["upper"], FORMULAS["lower"]
    assert (upper.rel_op, upper.lhs, upper.rhs) == ("<=", t[k], t[K])
    assert (lower.rel_op, lower.lhs) == (">=", t[k])
    assert lower.rhs.subs(k, K) == t[K]  # it begins with equality, and
    ratio = sympy.Symbol("ratio", positive=True)  # one k more is one factor more
    start = sympy.Symbol("start", positive=True)
    bound = lower.rhs.subs(t[K], ratio * t[K - 1]).subs(t[K - 1], start)
    assert sympy.simplify(bound.subs(k, k + 1) / bound) == ratio
    assert sympy.simplify(lower.rhs.subs(K, 1).subs({t[1]: u, t[0]: 1}) / u**k) == 1
    weight = sympy.Symbol("weight", positive=True)
    two_points = (1 - weight) * 0**k + weight * 1**k
    assert two_points == two_points.subs(k, 1) == weight  # attains t_k = t_1


def test_step_5():
    said = FORMULAS["bernstein"]
    term, ((index, first, last),) = said.rhs.function, said.rhs.limits
    assert (index, first, last) == (i, j, k)
    ours = said.lhs * binomial(k - j, i - j) * u ** (i - j) * (1 - u) ** (k - i)
    ratio = sympy.combsimp((term / ours).rewrite(sympy.factorial))
    assert sympy.simplify(sympy.powsimp(ratio, force=True)) == 1
    # The terms but u^j are a binomial law on 0 … k − j, whose sum is (u + 1 − u)^(k−j).
    assert sympy.simplify((ours / said.lhs).subs({i: j, k: j})) == 1


def test_step_6():
    a, b = p_s * p_d, q_s * q_d
    law = (a + b + 2 * sqrt(a * b) * cos(theta)).subs({p_s: 0, q_s: 1})
    assert law == q_d
    said = FORMULAS["range"].lhs.subs({p_s: 0, q_s: 1})
    assert sympy.simplify(said - law) == 0


EIGHTHS = [Fraction(n, 8) for n in range(9)]  # doubles, so that nothing is rounded


def exact_ties(rate_s, rate_d, largest):
    """t_0 … as fractions."""
    a_, b_ = rate_s * rate_d, (1 - rate_s) * (1 - rate_d)
    return [
        sum(comb(n, flips) ** 2 * a_**flips * b_ ** (n - flips) for flips in range(n + 1))
        for n in range(largest + 1)
    ]


def differences(values):
    """All orders of differences, alternating so that none is negative."""
    while values:
        yield from values
        values = [one - other for one, other in pairwise(values)]


def test_implementation_tie_sequence():
    for rate_s in EIGHTHS:
        for rate_d in EIGHTHS:
            exact = exact_ties(rate_s, rate_d, 10)
            assert min(differences(exact)) >= 0
            found = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k=10).tie_sequence()
            for one, other in zip(found, exact, strict=True):
                assert abs(Fraction(float(one)) - other) <= other * Fraction(4, 2**52)
            assert all(one >= other for one, other in pairwise(found))
    for rate in EIGHTHS:  # without SHAM flips the moments of one point
        found = cs.FiniteReplayLaw(0, float(rate), k=10).tie_sequence()
        assert [Fraction(float(one)) for one in found] == [(1 - rate) ** n for n in range(11)]


POPULATION = [(2, 6, 1), (7, 7, 1), (1, 4, 2)]  # eighths, and weights of a quarter


def population_tie(n):
    return sum(
        Fraction(weight, 4) * exact_ties(EIGHTHS[one], EIGHTHS[other], n)[n]
        for one, other, weight in POPULATION
    )


def test_implementation_population_signs():
    sham, destroy, weights = zip(*POPULATION, strict=True)
    population = cs.Population([one / 8 for one in sham], [one / 8 for one in destroy], weights)
    exact = [population_tie(n) for n in range(13)]
    assert min(differences(exact)) >= 0
    for n in range(1, 13):
        found = Fraction(population.signs(n).zero)
        assert abs(found - exact[n]) <= exact[n] * Fraction(4, 2**52)
        assert exact[1] ** n <= exact[n] <= exact[1]


def test_implementation_predict_signs():
    outcomes = [(0, 0), (0, 1), (0, 1), (1, 1), (1, 0), (0, 1), (0, 0), (1, 1)]  # half are ties
    x, y = zip(*outcomes, strict=True)
    ones = [1] * len(outcomes)
    questions = [f"q{n}" for n in range(len(outcomes))]
    counts = cs.ReplayCounts(questions, x, ones, y, ones, cluster=questions)
    tie = 1 / 2
    for n in (2, 5):
        low, high = cs.predict_signs(counts, k=n).tie_bounds
        assert tie**n - 1e-4 <= low <= tie**n  # from t_1 alone, on the safe side
        assert tie <= high <= tie + 1e-4


def test_implementation_plan_budget():
    """Once the tie rate is small enough it stays so: the first k is the one from which it is."""
    exact = exact_ties(Fraction(1, 4), Fraction(3, 8), 32)
    plan = cs.plan_budget((1 / 4, 3 / 8), goal="tie rate <= 0.15")
    for row in plan.rows:
        tie = Fraction(row.signs.zero.point)
        assert abs(tie - exact[row.k]) <= exact[row.k] * Fraction(8, 2**52)
    first = next(n for n in range(33) if exact[n] <= Fraction(15, 100))
    assert plan.recommended.k == plan.recommended.stable_from_k == first
