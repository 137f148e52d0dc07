r"""The support: how many scores there are, and how many outcomes tie

With $k_s$ SHAM and $k_d$ DESTROY replays, $g = \gcd(k_s, k_d)$, the outcomes are the pairs $(x, y)$
with $0 \le x \le k_s$ and $0 \le y \le k_d$, and the score is $y/k_d - x/k_s$. It takes this many
values:

[[points]]

Its value is 0 for this many outcomes, all of them multiples of one pair:

[[ties]]

[[tie]]

So $k_s = k_d = k$ has $2k + 1$ scores and $k + 1$ ties, and coprime budgets have two ties only: all
flip, or none does.

Proof

1. Write $k_s = ga$ and $k_d = gb$ with $a, b$ coprime. Two outcomes that differ by $(u, v)$ have
   equal scores if and only if $va = ub$. A multiple $(u, v) = (ma, mb)$ satisfies it. Conversely
   let $r, s$ be whole numbers with $ra + sb = 1$ (Bézout); then $u = u(ra + sb) = a(ru + sv)$ and
   $v = b(ru + sv)$, so that $(u, v)$ is such a multiple.
2. The outcomes of one score are therefore on a line, at steps of $(a, b)$. If two of them are $m$
   steps apart, what lies between is a convex combination of the two, hence in the rectangle of
   outcomes too: there are no gaps, and exactly one outcome of each score has no predecessor one
   step before it.
3. So the scores are as many as the outcomes less those with a predecessor, which have $x \ge a$ and
   $y \ge b$: $(ga - a + 1)(gb - b + 1)$ of the $(ga + 1)(gb + 1)$.
4. The ties are the outcomes on the line through $(0, 0)$, which has no predecessor: $(ma, mb)$ for
   $0 \le m \le g$. Their probabilities are those of independent binomial counts.

References

- Hardy and Wright, *An Introduction to the Theory of Numbers* (Oxford), theorem 25: $ra + sb = 1$
  has a solution in whole numbers if $a$ and $b$ are coprime.
"""

from fractions import Fraction
from itertools import product
from math import comb, gcd

import sympy
from sympy import Eq, Sum, Symbol, binomial

import carve_stats as cs

a, b, g, k_s, k_d = sympy.symbols("a b g k_s k_d", integer=True, positive=True)
x, y, m = sympy.symbols("x y m", integer=True, nonnegative=True)
p_s, p_d, q_s, q_d = sympy.symbols("p_s p_d q_s q_d", positive=True)
t = Symbol(r"\mathrm{P}(\hat{\Delta}=0)")


def pmf(trials, successes, flips, stays):
    """The binomial probability."""
    return binomial(trials, successes) * flips**successes * stays ** (trials - successes)


FORMULAS = {
    "points": Eq(
        Symbol(r"\mathrm{scores}"),
        (k_s + 1) * (k_d + 1) - (k_s + 1 - k_s / g) * (k_d + 1 - k_d / g),
    ),
    "ties": Eq(Symbol(r"\mathrm{ties}"), g + 1),
    "tie": Eq(t, Sum(pmf(k_s, m * k_s / g, p_s, q_s) * pmf(k_d, m * k_d / g, p_d, q_d), (m, 0, g))),
}
USED_BY = (
    "FiniteReplayLaw.support",
    "FiniteReplayLaw.lattice",
    "FiniteReplayLaw.pmf",
    "FiniteReplayLaw.tie",
)
COPRIME = {k_s: g * a, k_d: g * b}


def score(flips_s, flips_d):
    """The score with the budgets ga and gb."""
    return flips_d / (g * b) - flips_s / (g * a)


def test_step_1():
    u, v, r, s = sympy.symbols("u v r s", integer=True)
    apart = sympy.factor(score(x + u, y + v) - score(x, y))
    assert sympy.expand(apart * g * a * b - (v * a - u * b)) == 0
    assert apart.subs({u: m * a, v: m * b}) == 0
    equal, bezout = v * a - u * b, r * a + s * b - 1  # both 0
    assert sympy.expand(u - a * (r * u + s * v) + u * bezout + s * equal) == 0
    assert sympy.expand(v - b * (r * u + s * v) + v * bezout - r * equal) == 0


def test_step_2():
    steps = sympy.Symbol("l", integer=True, nonnegative=True)
    more = sympy.Symbol("r", integer=True, positive=True)
    share = steps / (steps + more)  # of the way from x to x + (l + r)a
    for start, step in ((x, a), (y, b)):
        between = (1 - share) * start + share * (start + (steps + more) * step)
        assert sympy.simplify(between - (start + steps * step)) == 0
    assert share.is_nonnegative
    assert sympy.simplify(1 - share - more / (steps + more)) == 0


def test_step_3():
    outcomes = Sum(1, (x, 0, g * a), (y, 0, g * b)).doit()
    followers = Sum(1, (x, a, g * a), (y, b, g * b)).doit()
    said = FORMULAS["points"].rhs.subs(COPRIME)
    assert sympy.expand(outcomes - followers - said) == 0


def test_step_4():
    said = FORMULAS["tie"].rhs
    ((index, first, last),) = said.limits
    assert sympy.expand(Sum(1, (index, first, last)).doit() - FORMULAS["ties"].rhs) == 0
    assert score(first * a, first * b) == 0
    assert score(m * a, m * b) == 0
    # One step before the first and one after the last is no outcome.
    assert ((first - 1) * a).is_negative
    assert sympy.expand((last + 1) * a - g * a).is_positive
    term = said.function.subs(COPRIME)
    ours = pmf(g * a, m * a, p_s, q_s) * pmf(g * b, m * b, p_d, q_d)
    assert sympy.simplify(term / ours) == 1


BUDGETS = list(product(range(1, 13), repeat=2))


def scores(k_sham, k_destroy):
    """Every outcome's score."""
    return [
        Fraction(j, k_destroy) - Fraction(i, k_sham)
        for i, j in product(range(k_sham + 1), range(k_destroy + 1))
    ]


def test_implementation_support():
    for i, j in BUDGETS:
        said = FORMULAS["points"].rhs.subs({k_s: i, k_d: j, g: gcd(i, j)})
        law, exact = cs.FiniteReplayLaw(0.5, 0.5, k_sham=i, k_destroy=j), scores(i, j)
        assert said == len(set(exact)) == len(law.support()) == len(law.pmf())
        assert list(law.support()) == [float(point) for point in sorted(set(exact))]


def test_implementation_lattice():
    for i, j in BUDGETS:
        numerators, denominator = cs.FiniteReplayLaw(0.5, 0.5, k_sham=i, k_destroy=j).lattice()
        assert [Fraction(int(one), denominator) for one in numerators] == sorted(set(scores(i, j)))


def test_implementation_tie():
    rates = [Fraction(i, 8) for i in (0, 1, 3, 4, 7, 8)]  # doubles, so that nothing is rounded
    for (i, j), rate_s, rate_d in product([(2, 3), (4, 6), (6, 9), (3, 12)], rates, rates):
        common = gcd(i, j)
        assert FORMULAS["ties"].rhs.subs(g, common) == scores(i, j).count(0)
        exact = Fraction(0)
        for step in range(common + 1):
            one, other = step * i // common, step * j // common
            sham = comb(i, one) * rate_s**one * (1 - rate_s) ** (i - one)
            exact += sham * comb(j, other) * rate_d**other * (1 - rate_d) ** (j - other)
        found = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k_sham=i, k_destroy=j).tie()
        assert abs(Fraction(float(found)) - exact) <= exact * Fraction(16, 2**52)
