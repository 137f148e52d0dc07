r"""Intervals made by inverting exact tests cover the true difference at least as often as they say

A question has $x$ of $k_s$ SHAM and $y$ of $k_d$ DESTROY flips, at the rates $p_s$ and
$p_d = p_s + \delta$. For each $\delta$ let $p_\delta$ be a p-value whose tables of at most
$\alpha$ have a probability of at most $\alpha$ wherever the rates differ by $\delta$, and let the
interval be the smallest that holds every $\delta$ with $p_\delta > \alpha$. Then

[[coverage]]

The same holds where the interval leaves out the $\delta$ that either of two one-sided p-values
rejects at $\alpha/2$. With the score statistic

[[score]]

at the most likely rates $\tilde p_s$ and $\tilde p_d = \tilde p_s + \delta$, the hypothesis
$\delta = 0$ has

[[pooled]]

and $Z(0)$ is the pooled $z$ of Barnard's test: 0 is outside the interval only where that test
rejects. Exchanging the arms, or flips and non-flips, turns an interval round.

Proof

1. A p-value that is the supremum, over all rates that differ by $\delta$, of the probability of a
   statistic at least as large is such a $p_\delta$: thm_exact_test, step 2, asks nothing of the
   rates over which the supremum is taken. The true $\delta$ is one of those tested. It is outside
   only where $p_\delta \le \alpha$, and
   the probability of that is at most $\alpha$. The hull can only hold more.
2. Of two tests at $\alpha/2$ one or the other rejects with a probability of at most the sum.
3. At $\delta = 0$ the log likelihood is $s\log p + (N-s)\log(1-p)$ with $s = x + y$,
   $N = k_s + k_d$: it is concave with its maximum at $s/N$. There
   $\tilde p\tilde q(1/k_s + 1/k_d)$ is the pooled variance.
4. Exchanging the arms, $\delta$ becomes $-\delta$, and so does $Z$ become $-Z$, at exchanged
   $\tilde p$. Exchanging flips and non-flips puts $k_s - x$, $k_d - y$, $1-\tilde p_s$,
   $1-\tilde p_d$ and $-\delta$ for them, and $Z$ becomes $-Z$. The likelihood, and so the maximum,
   is exchanged with them, and $|Z|$, which orders the tables, is the same.

References

- Santner and Snell, "Small-sample confidence intervals for $p_1 - p_2$ and $p_1/p_2$ in 2×2
  contingency tables", *Journal of the American Statistical Association* 75 (1980) 386–394.
- Agresti and Min, "On small-sample confidence intervals for parameters in discrete distributions",
  *Biometrics* 57 (2001); Chan and Zhang, "Test-based exact confidence intervals for the difference
  of two binomial proportions", *Biometrics* 55 (1999); Lehmann and Romano, *Testing Statistical
  Hypotheses* (3rd ed. 2005), §3.5.
"""

from fractions import Fraction
from itertools import product
from math import comb
from statistics import NormalDist

import sympy
from sympy import Eq, Function, Symbol, log, sqrt

import carve_stats as cs

x, y, k_s, k_d = sympy.symbols("x y k_s k_d", positive=True)
alpha = Symbol("alpha", positive=True)
delta = Symbol("delta")
r_s, r_d = sympy.symbols(r"\tilde{p}_s \tilde{p}_d", positive=True)
covered = Symbol(r"P(\delta \in [\mathrm{low}, \mathrm{high}])")
Z = Function("Z")

FORMULAS = {
    "coverage": sympy.Ge(covered, 1 - alpha),
    "score": Eq(
        Z(delta),
        (y / k_d - x / k_s - delta) / sqrt(r_s * (1 - r_s) / k_s + r_d * (1 - r_d) / k_d),
    ),
    "pooled": Eq(r_s, (x + y) / (k_s + k_d)),
}
USED_BY = ("interval_table", "score_intervals")


def test_step_1():
    spared, filled = sympy.symbols("spared filled", nonnegative=True)
    # P(p_δ ≤ α) = α − spared, and the hull holds δ with the probability `filled` more.
    relation = FORMULAS["coverage"]
    left = (relation.gts - relation.lts).subs(covered, 1 - (alpha - spared) + filled)
    assert sympy.expand(left) == spared + filled


def test_step_2():
    less, more, both = sympy.symbols("less more both", nonnegative=True)
    # P(A ∪ B) = P(A) + P(B) − P(A ∩ B), with P(A) and P(B) α/2 less something.
    either = (alpha / 2 - less) + (alpha / 2 - more) - both
    relation = FORMULAS["coverage"]
    left = sympy.expand((relation.gts - relation.lts).subs(covered, 1 - either))
    assert left == less + more + both


def test_step_3():
    p, s, rest = sympy.symbols("p s rest", positive=True)
    likelihood = s * log(p) + rest * log(1 - p)
    bent = sympy.diff(likelihood, p, 2)
    assert sympy.simplify(bent + s / p**2 + rest / (1 - p) ** 2) == 0  # below 0
    top = FORMULAS["pooled"].rhs
    slope = sympy.diff(likelihood, p).subs({s: x + y, rest: k_s + k_d - x - y}).subs(p, top)
    assert sympy.simplify(slope) == 0
    square = (FORMULAS["score"].rhs ** 2).subs(delta, 0).subs({r_s: top, r_d: top})
    s_, size = x + y, k_s + k_d
    pooled = size * (y * k_s - x * k_d) ** 2 / (k_s * k_d * s_ * (size - s_))
    assert sympy.simplify(square - pooled) == 0
    # And the sign of Z(0) is that of y k_s − x k_d, as its denominator is a root.
    root = sympy.together(FORMULAS["score"].rhs.subs(delta, 0) / (y / k_d - x / k_s))
    assert sympy.simplify(root - 1 / sqrt(r_s * (1 - r_s) / k_s + r_d * (1 - r_d) / k_d)) == 0


def test_step_4():
    score = FORMULAS["score"].rhs
    arms = {x: y, y: x, k_s: k_d, k_d: k_s, r_s: r_d, r_d: r_s, delta: -delta}
    flips = {x: k_s - x, y: k_d - y, r_s: 1 - r_s, r_d: 1 - r_d, delta: -delta}
    likelihood = x * log(r_s) + (k_s - x) * log(1 - r_s) + y * log(r_d) + (k_d - y) * log(1 - r_d)
    for exchange in (arms, flips):
        turned = score.subs(exchange, simultaneous=True)
        assert sympy.simplify(turned + score) == 0
        kept = likelihood.subs(exchange, simultaneous=True)
        assert sympy.expand(kept - likelihood) == 0
        # The rates still differ by the δ that is tested: r_d − r_s = δ becomes the same equation.
        assert sympy.expand((r_d - r_s - delta).subs(exchange, simultaneous=True)
                            + (r_d - r_s - delta)) == 0  # fmt: skip


EXACT = ("agresti-min", "chan-zhang", "santner-snell")
BUDGETS = ((1, 1), (2, 2), (3, 3), (2, 3))


def test_implementation_coverage():
    """At every pair of rates in eighths, and levels that are not those of any table."""
    rates = [Fraction(i, 8) for i in range(9)]
    for interval, (m, r), level in product(EXACT, BUDGETS, (0.75, 0.9375)):
        low, high = cs.interval_table(m, r, interval=interval, level=level)
        for sham, destroy in product(rates, repeat=2):
            chance = Fraction(0)
            for a, c in product(range(m + 1), range(r + 1)):
                if Fraction(float(low[a, c])) <= destroy - sham <= Fraction(float(high[a, c])):
                    there = comb(m, a) * sham**a * (1 - sham) ** (m - a)
                    chance += there * comb(r, c) * destroy**c * (1 - destroy) ** (r - c)
            assert chance >= Fraction(level)


def test_implementation_symmetries():
    for interval, (m, r) in product(EXACT, BUDGETS):
        low, high = cs.interval_table(m, r, interval=interval)
        assert (low == -high[::-1, ::-1]).all()
        other = cs.interval_table(r, m, interval=interval)
        assert (low == -other.high.T).all()


def test_implementation_zero():
    """Outside only where Barnard's test rejects at 1 − level; as often at equal budgets."""
    for (m, r), level in product(BUDGETS, (0.75, 0.9375)):
        rejects = cs.exact_test(m, r).rejects(1 - level)
        low, high = cs.interval_table(m, r, level=level)
        outside = (low > 0) | (high < 0)
        assert not (outside & ~rejects).any()
        if m == r:
            assert (outside == rejects).all()


def test_implementation_score_intervals():
    low, high = cs.interval_table(3, 3)
    for a, c in product(range(4), repeat=2):
        one = cs.score_intervals(a, 3, c, 3)
        assert (one.low, one.high) == (low[a, c], high[a, c])


def test_implementation_miettinen_nurminen():
    """Z²(N − 1)/N = z² at the limits of tables that stay what they are when all is exchanged.

    There y = k − x, and by the last step the most likely rates are (1 − δ)/2 and (1 + δ)/2.
    """
    square = FORMULAS["score"].rhs.subs({r_s: (1 - delta) / 2, r_d: (1 + delta) / 2}) ** 2
    for size, level in product((2, 3, 4, 7), (0.75, 0.9375)):
        quantile = NormalDist().inv_cdf((1 + level) / 2)
        found = cs.interval_table(size, size, interval="miettinen-nurminen", level=level).low
        for a in range(size):
            at = {x: a, y: size - a, k_s: size, k_d: size, delta: float(found[a, size - a])}
            scaled = float(square.subs(at)) * (2 * size - 1) / (2 * size)
            assert abs(scaled - quantile**2) <= 1e-12
