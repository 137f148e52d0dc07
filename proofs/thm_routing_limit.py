r"""Which questions a fixed rule selects as replays become many

A question flips with probability $p_s$ under SHAM and $p_d$ under DESTROY; $X$ and $Y$ are its
flips in $k$ replays each, $q = 1 - p$, and $t_k$ is the probability that they are equal. If
$p_s = p_d$, the rules $Y \le X$ and $Y < X$ select it with the probabilities

[[equal_at_most]]

[[equal_below]]

If $p_s = p_d = p$ is neither 0 nor 1, then

[[ties_vanish]]

so that both tend to one half; if $p$ is 0 or 1, then $t_k = 1$, and $Y \le X$ always selects it and
$Y < X$ never. If $p_d < p_s$, a rule does not select it with a probability of at most

[[fails]]

where

[[below_one]]

is positive, so that the probability of selection tends to 1; if $p_s < p_d$, the same with the
arms exchanged bounds the probability of selection, which tends to 0. So the set that a rule
selects tends to $\{p_d < p_s\}$ and half of $\{0 < p_s = p_d < 1\}$, for $Y \le X$ with all of
$\{p_s = p_d \in \{0, 1\}\}$. In a population the shares converge likewise.

Proof

1. If $p_s = p_d$, $(X, Y)$ and $(Y, X)$ have the same law: $Y < X$ and $Y > X$ have one
   probability, say $w$, and $2w + t_k = 1$. For $p \in \{0, 1\}$ both are 0 or both $k$, so that
   $t_k = 1$.
2. By thm_tie_closed_forms, with $a = p^2$, $b = q^2$ and $2\sqrt{ab} = 2pq$,
   $t_k = \frac1\pi\int_0^\pi (1 - 4pq\sin^2(\theta/2))^k d\theta$. Since
   $0 \le 1 - v \le e^{-v}$ for $v = 4pq\sin^2(\theta/2) \le 1$ and,
   by concavity of the sine, $\sin(\theta/2) \ge \theta/\pi$, the integrand is at most
   $e^{-4kpq\,\theta^2/\pi^2}$. Over all $\theta > 0$ instead of those up to $\pi$ this gives the
   bound.
3. With $A = q_d p_s$, $C = p_d q_s$ and $B = q_d q_s + p_d p_s$ the generating function of
   $Y - X$ is $\mathrm{E} z^{Y-X} = (A/z + B + Cz)^k$. For $p_d < p_s$ is $C < A$, and
   $z = \sqrt{A/C} > 1$ gives $P(Y \ge X) \le \mathrm{E} z^{Y-X} = (B + 2\sqrt{AC})^k$, which is
   the bound. (For $p_d = 0$ or $p_s = 1$ let $z \to \infty$.) What $Y < X$ does not select is
   $Y \ge X$; what $Y \le X$ does not select is less.
4. $1 = (p_s + q_s)(p_d + q_d)$, and the difference to the square of
   $\sqrt{p_s p_d} + \sqrt{q_s q_d}$ is a square, which is 0 only for $p_s q_d = p_d q_s$, that is
   $p_s = p_d$.
5. A population's share is the mean of the questions' probabilities, which lie in $[0, 1]$: by
   dominated convergence it tends to the mean of their limits; here for finitely many kinds of
   questions.

References

- H. Chernoff, A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
  observations, *Annals of Mathematical Statistics* 23 (1952) 493–507, for the bound of step 3.
"""

from fractions import Fraction
from itertools import product
from math import comb

import pytest
import sympy
from sympy import Eq, IndexedBase, Integral, Le, cos, exp, oo, pi, sin, sqrt

import carve_stats as cs

p_s, p_d, q_s, q_d, p, theta, v, z = sympy.symbols("p_s p_d q_s q_d p theta v z", positive=True)
k = sympy.symbols("k", integer=True, positive=True)
t = IndexedBase("t")
at_most, below, not_below = sympy.symbols("P(Y≤X) P(Y<X) P(Y≥X)", positive=True)

FORMULAS = {
    "equal_at_most": Eq(at_most, (1 + t[k]) / 2),
    "equal_below": Eq(below, (1 - t[k]) / 2),
    "ties_vanish": Le(t[k], sqrt(pi) / (4 * sqrt(k * p * (1 - p)))),
    "fails": Le(not_below, (sqrt(p_s * p_d) + sqrt(q_s * q_d)) ** (2 * k)),
    "below_one": Eq(
        1 - (sqrt(p_s * p_d) + sqrt(q_s * q_d)) ** 2, (sqrt(p_s * q_d) - sqrt(p_d * q_s)) ** 2
    ),
}
USED_BY = ("routing_curve",)


def test_step_1():
    w = sympy.Symbol("w")
    (one,) = sympy.solve(2 * w + t[k] - 1, w)
    assert sympy.expand(one - FORMULAS["equal_below"].rhs) == 0
    assert sympy.expand(one + t[k] - FORMULAS["equal_at_most"].rhs) == 0
    certain = {t[k]: 1}
    said = [FORMULAS[name].rhs.subs(certain) for name in ("equal_at_most", "equal_below")]
    assert said == [1, 0]


def test_step_2():
    a, b = p**2, (1 - p) ** 2
    base = a + b + 2 * p * (1 - p) * cos(theta)
    half = 1 - 4 * p * (1 - p) * sin(theta / 2) ** 2
    assert sympy.expand((base - half).rewrite(exp)).simplify() == 0
    # 1 − v ≤ e^(−v): a convex function with its least value, 0, at v = 0.
    gap = exp(-v) - (1 - v)
    u = sympy.Symbol("u")
    assert sympy.diff(gap, v, 2).is_positive
    assert gap.subs(v, u).subs(u, 0) == sympy.diff(gap, v).subs(v, u).subs(u, 0) == 0
    # sin(θ/2) ≥ θ/π: a concave function that is 0 at both ends.
    gap = sin(theta / 2) - theta / pi
    assert gap.subs(theta, 0) == gap.subs(theta, pi) == 0
    assert sympy.simplify(sympy.diff(gap, theta, 2) + sin(theta / 2) / 4) == 0
    rate = sympy.Symbol("rate", positive=True)
    gauss = Integral(exp(-rate * theta**2), (theta, 0, oo)).doit() / pi
    bound = gauss.subs(rate, 4 * k * p * (1 - p) / pi**2)
    assert sympy.simplify(bound / FORMULAS["ties_vanish"].gts) == 1
    assert FORMULAS["ties_vanish"].lts == t[k]


def test_step_3():
    A, B, C = q_d * p_s, q_d * q_s + p_d * p_s, p_d * q_s
    one = (q_d + p_d * z) * (q_s + p_s / z)
    assert sympy.expand(one - (A / z + B + C * z)) == 0
    rates = {q_s: 1 - p_s, q_d: 1 - p_d}
    assert sympy.expand((A - C).subs(rates) - (p_s - p_d)) == 0
    a, c = sympy.symbols("a c", positive=True)  # A and C
    assert sympy.simplify((a / z + c * z).subs(z, sqrt(a / c)) - 2 * sqrt(a * c)) == 0
    # √(AC) = √(p_s p_d) √(q_s q_d), in squares: all are positive.
    first, second = sqrt(p_s * p_d), sqrt(q_s * q_d)
    assert sympy.expand(A * C - first**2 * second**2) == 0
    assert sympy.expand((first + second) ** 2 - (B + 2 * first * second)) == 0
    assert FORMULAS["fails"].gts == (first + second) ** (2 * k)
    assert FORMULAS["fails"].lts == not_below
    # z^d is at least 1 for d ≥ 0 if z = 1 + v: it starts at 1, and grows.
    d = sympy.Symbol("d", integer=True, nonnegative=True)
    assert (z**d).subs(d, 0) == 1
    assert sympy.simplify(((1 + v) ** (d + 1) - (1 + v) ** d) / (1 + v) ** d) == v


def test_step_4():
    said = FORMULAS["below_one"]
    one = (p_s + q_s) * (p_d + q_d)
    assert sympy.expand(said.lhs - 1 + one - said.rhs) == 0
    root = sqrt(p_s * q_d) - sqrt(p_d * q_s)
    assert said.rhs == root**2
    above = sympy.expand(root * (sqrt(p_s * q_d) + sqrt(p_d * q_s)))
    assert sympy.expand(above.subs({q_s: 1 - p_s, q_d: 1 - p_d})) == p_s - p_d


def test_step_5():
    """The limits of the four kinds of question, and so that of a population of them."""
    vanishing = sympy.limit(FORMULAS["ties_vanish"].gts, k, oo)
    assert vanishing == 0
    limits = [FORMULAS[name].rhs.subs(t[k], vanishing) for name in ("equal_at_most", "equal_below")]
    assert limits == [sympy.Rational(1, 2)] * 2
    rate = sympy.Symbol("rate", positive=True)
    base = 1 / (1 + rate)  # any number between 0 and 1
    assert sympy.limit(base ** (2 * k), k, oo) == 0


def law(p_sham, p_destroy, replays):
    """P(Y < X), P(Y = X) and P(Y > X), as fractions."""
    shares = [Fraction(0)] * 3
    for a, b in product(range(replays + 1), repeat=2):
        one = comb(replays, a) * p_sham**a * (1 - p_sham) ** (replays - a)
        one *= comb(replays, b) * p_destroy**b * (1 - p_destroy) ** (replays - b)
        shares[1 + (b > a) - (b < a)] += one
    return shares


def questions(p_sham, p_destroy, replays):
    """Each outcome as often as its probability says: no sampling error."""
    unit = (p_sham.denominator * p_destroy.denominator) ** replays
    rows = []
    for a, b in product(range(replays + 1), repeat=2):
        one = comb(replays, a) * p_sham**a * (1 - p_sham) ** (replays - a)
        one *= comb(replays, b) * p_destroy**b * (1 - p_destroy) ** (replays - b)
        rows += [(a, b)] * int(one * unit)
    assert len(rows) == unit
    names = [f"q{place}" for place in range(unit)]
    sham, destroy = zip(*rows, strict=True)
    counts = cs.ReplayCounts(names, sham, [replays] * unit, destroy, [replays] * unit)
    right = [1] * unit
    return counts, cs.Outcomes(names, right, {"strong": right})


HALF, QUARTER, NEVER = Fraction(1, 2), Fraction(1, 4), Fraction(0)
CASES = [(HALF, HALF, 4), (QUARTER, QUARTER, 3), (HALF, QUARTER, 3), (QUARTER, HALF, 3),
         (NEVER, NEVER, 5), (1 - NEVER, 1 - NEVER, 5)]  # fmt: skip


@pytest.mark.parametrize(("p_sham", "p_destroy", "replays"), CASES)
def test_implementation_routing_curve(p_sham, p_destroy, replays):
    counts, outcomes = questions(p_sham, p_destroy, replays)
    size = len(counts)
    ks = range(1, replays + 1)
    at_most_, below_ = (
        cs.routing_curve(counts, outcomes, rule, k=ks) for rule in ("score <= 0", "score < 0")
    )
    for one, other in zip(at_most_.points, below_.points, strict=True):
        smaller, tie, _ = law(p_sham, p_destroy, one.k)
        selected = Fraction(one.selected) / size, Fraction(other.selected) / size
        expected = smaller + tie, smaller
        if p_sham == p_destroy:
            assert expected == ((1 + tie) / 2, (1 - tie) / 2)
            assert p_sham not in (0, 1) or tie == 1
        for found, exact in zip(selected, expected, strict=True):
            assert abs(found - exact) <= Fraction(1, 10**14)
        # (√a + √b)² = a + b + 2√(ab), to the k-th power; wrong selections are no more.
        a, b = p_sham * p_destroy, (1 - p_sham) * (1 - p_destroy)
        bound = (float(a + b) + 2 * float(a * b) ** 0.5) ** one.k * (1 + 1e-14)
        wrong = 1 - selected[1] if p_destroy < p_sham else selected[0]
        assert p_sham == p_destroy or wrong <= bound
