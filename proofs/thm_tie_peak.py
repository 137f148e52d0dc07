r"""Where ties are most frequent: not where the two arms flip equally often

Let SHAM and DESTROY flip independently $k$ times each, let $h_y = \binom ky p_s^y(1 - p_s)^{k-y}$
be the law of the SHAM flips, and $t$ the probability of a tie as a function of the two rates. For a
fixed $0 < p_s < 1$

[[slope]]

[[steps]]

and therefore $t$ first rises and then falls in $p_d$ on $[0, 1]$, with one peak: at $p_d = 0$ if
$(k+1)p_s \le 1$, at $p_d = 1$ if $(k+1)p_s \ge k$, and else inside. (For $k = 1$ and
$p_s = \frac12$ it is constant.) Where both arms have the rate $p$

[[equal]]

which is negative for $p < \frac12$ and positive for $p > \frac12$. So the peak is at
$p_d < p_s < \frac12$, or $p_d > p_s > \frac12$: a DESTROY rate beyond the SHAM rate, seen from
$\frac12$, gives more ties than the same rate.

Proof

1. $t = \sum_y h_y\,b_k(y; p_d)$, and by thm_gradient its derivative is the first formula.
2. $\frac{h_{y+1}}{h_y} = \frac{(k-y)p_s}{(y+1)(1-p_s)}$: the second formula. So the steps
   $h_{y+1} - h_y$ are positive for $y + 1 < (k+1)p_s$, and negative for $y + 1 > (k+1)p_s$; all of
   the one sign if $(k+1)p_s$ is not inside $(1, k)$.
3. Let $o = p_d/(1-p_d)$ and $r$ be the first $y$ whose step is not positive. The slope, divided by
   the positive $k(1-p_d)^{k-1}o^r$, is $\sum_y c_y o^{y-r}$ with $c_y \ge 0$ for $y < r$ and
   $c_y \le 0$ for $y \ge r$. Each term has the derivative $(y-r)c_y o^{y-r-1} \le 0$, so the slope
   changes its sign once at most, from plus to minus. If steps of both signs occur, the slope has
   that of the first near $p_d = 0$, and that of the last near 1.
4. $t$ is symmetric in $p_s$ and $p_d$, so on the diagonal its derivative by one of them is half of
   that of $t(p, p)$. There Laplace's integral (thm_tie_closed_forms) has the base
   $p^2 + q^2 + 2pq\cos\theta = 1 - 4pq\sin^2\frac\theta2$, $q = 1 - p$, and
   $\frac{d}{dp}pq = 1 - 2p$.

References

- Karlin, *Total Positivity*, volume I (Stanford University Press, 1968), chapter 1: the binomial
  law does not add changes of sign; step 3 is the case of one, which is Descartes' rule.
"""

from fractions import Fraction
from itertools import pairwise
from math import comb

import sympy
from sympy import (
    Derivative,
    Eq,
    Function,
    IndexedBase,
    Integral,
    Sum,
    Symbol,
    binomial,
    cos,
    pi,
    sin,
)

import carve_stats as cs

p, p_s, p_d, theta, odds = sympy.symbols("p p_s p_d theta o", positive=True)
k = Symbol("k", integer=True, positive=True)
y = Symbol("y", integer=True, nonnegative=True)
h, t = IndexedBase("h"), Function("t")


def pmf(trials, flips, rate):
    """The binomial probability."""
    return binomial(trials, flips) * rate**flips * (1 - rate) ** (trials - flips)


FORMULAS = {
    "slope": Eq(
        Derivative(t(p_s, p_d), p_d),
        k * Sum((h[y + 1] - h[y]) * pmf(k - 1, y, p_d), (y, 0, k - 1)),
    ),
    "steps": Eq(h[y + 1] - h[y], h[y] * ((k + 1) * p_s - (y + 1)) / ((y + 1) * (1 - p_s))),
    "equal": Eq(
        Symbol(r"\frac{\partial t}{\partial p_d}(p,p)"),
        -2
        * k
        * (1 - 2 * p)
        / pi
        * Integral(
            sin(theta / 2) ** 2 * (1 - 4 * p * (1 - p) * sin(theta / 2) ** 2) ** (k - 1),
            (theta, 0, pi),
        ),
    ),
}
USED_BY = ("FiniteReplayLaw.tie", "FiniteReplayLaw.signs_gradient")


def reduced(quotient):
    """A quotient of products of binomials and powers."""
    factorials = sympy.combsimp(quotient.rewrite(sympy.factorial))
    return sympy.simplify(sympy.powsimp(factorials, force=True))


def test_step_1():
    said = FORMULAS["slope"]
    (by_parts,) = said.rhs.atoms(Sum)
    assert said.lhs == Derivative(t(p_s, p_d), p_d)
    assert said.rhs == k * by_parts
    assert by_parts.limits == ((y, 0, k - 1),)
    summand = sympy.expand(by_parts.function)
    # What stands with h_y in all, and the slope of its binomial probability.
    factor = k * (summand.coeff(h[y + 1]).subs(y, y - 1) + summand.coeff(h[y]))
    slope = sympy.diff(pmf(k, y, p_d), p_d)
    shares = sympy.expand((factor - slope) / pmf(k, y, p_d)).args
    assert sympy.simplify(sum(reduced(share) for share in shares)) == 0


def test_step_2():
    said = FORMULAS["steps"]
    assert not (said.rhs / h[y]).has(IndexedBase("h"))
    ratio = reduced(pmf(k, y + 1, p_s) / pmf(k, y, p_s))
    assert sympy.simplify(said.lhs / h[y] - (h[y + 1] / h[y] - 1)) == 0
    assert sympy.simplify(ratio - 1 - said.rhs / h[y]) == 0
    # The sign is that of (k+1)p_s − (y+1): of the first step, and of the last.
    inside = sympy.expand(said.rhs / h[y] * (y + 1) * (1 - p_s))
    assert sympy.simplify(inside.subs(y, 0) - ((k + 1) * p_s - 1)) == 0
    assert sympy.simplify(inside.subs(y, k - 1) - ((k + 1) * p_s - k)) == 0
    assert sympy.simplify(sympy.diff(inside, y)) == -1


def test_step_3():
    size, place = sympy.symbols("size place", nonnegative=True)
    before = size * odds ** (-place - 1)  # y < r: not negative, with a negative exponent
    after = -size * odds**place  # y ≥ r
    for term in (before, after):
        slope = sympy.simplify(sympy.diff(term, odds) * odds ** (place + 2))
        assert sympy.expand(-slope).is_nonnegative
    rate = odds / (1 + odds)
    weight = pmf(k - 1, y, rate) / (binomial(k - 1, y) * odds**y * (1 - rate) ** (k - 1))
    assert sympy.simplify(sympy.powsimp(sympy.simplify(weight), force=True)) == 1


def test_step_4():
    def base(one, other):
        """Of Laplace's integral."""
        a, b = one * other, (1 - one) * (1 - other)
        return a + b, a * b  # to this the root is added, twice, times cos θ

    flips, product = base(p_s, p_d)
    for symmetric in (flips, product):
        exchanged = symmetric.subs({p_s: p_d, p_d: p_s}, simultaneous=True)
        assert sympy.expand(symmetric - exchanged) == 0
    flips, product = base(p, p)
    assert sympy.expand(product - (p * (1 - p)) ** 2) == 0
    on_diagonal = flips + 2 * p * (1 - p) * cos(theta)
    shorter = 1 - 4 * p * (1 - p) * sin(theta / 2) ** 2
    assert sympy.simplify(sympy.expand(on_diagonal - shorter)) == 0
    said = FORMULAS["equal"].rhs
    (integral,) = said.atoms(Integral)
    assert integral.limits == ((theta, 0, pi),)
    factor = said.as_coefficient(integral)
    assert factor is not None
    assert sympy.expand(factor * pi + 2 * k * (1 - 2 * p)) == 0
    inside = factor * integral.function * pi
    half = sympy.diff(shorter**k, p) / 2
    assert sympy.simplify(half / inside) == 1
    assert factor.subs(p, sympy.Rational(1, 2)) == 0


SIXTEENTHS = [Fraction(i, 16) for i in range(17)]  # doubles, so that nothing is rounded


def exact_binomial(trials, rate):
    return [comb(trials, i) * rate**i * (1 - rate) ** (trials - i) for i in range(trials + 1)]


def exact_slope(trials, rate_s, rate_d):
    """The first formula."""
    steps = [other - one for one, other in pairwise(exact_binomial(trials, rate_s))]
    weights = exact_binomial(trials - 1, rate_d)
    return trials * sum(step * weight for step, weight in zip(steps, weights, strict=True))


def test_implementation_signs_gradient():
    for trials in (1, 2, 7):
        for rate_s in [*SIXTEENTHS[1:-1:2], Fraction(1, 2)]:
            exact = [exact_slope(trials, rate_s, rate_d) for rate_d in SIXTEENTHS]
            law = cs.FiniteReplayLaw(
                float(rate_s), [float(rate_d) for rate_d in SIXTEENTHS], k=trials
            )
            _, by_destroy = law.signs_gradient()
            for found, slope in zip(by_destroy.zero, exact, strict=True):
                assert abs(Fraction(float(found)) - slope) <= trials * Fraction(16, 2**52)
            rises = [slope > 0 for slope in exact]
            assert rises == sorted(rises, reverse=True)
            own = exact[SIXTEENTHS.index(rate_s)]
            assert (own > 0, own < 0) == (rate_s > Fraction(1, 2), rate_s < Fraction(1, 2))


def test_implementation_tie():
    for trials in (1, 2, 7):
        for rate_s in [*SIXTEENTHS[1:-1:2], Fraction(1, 2)]:
            rates = [float(rate_d) for rate_d in SIXTEENTHS]
            ties = list(cs.FiniteReplayLaw(float(rate_s), rates, k=trials).tie())
            rises = [other > one for one, other in pairwise(ties)]
            if (trials, rate_s) != (1, Fraction(1, 2)):
                assert rises == sorted(rises, reverse=True)
                place = ties.index(max(ties))
                assert (place == 0) >= ((trials + 1) * rate_s <= 1)
                assert (place == 16) >= ((trials + 1) * rate_s >= trials)
