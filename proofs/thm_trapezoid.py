r"""The tie probability by the trapezoid rule: its error is known, positive and bounded

Let SHAM and DESTROY flip independently $k$ times each, $a = p_s p_d$, $b = q_s q_d$, $q = 1 - p$,
$\beta = \sqrt a + \sqrt b > 0$ and $m = 4\sqrt{ab}/\beta^2$, which is between 0 and 1. Let $w_n$ be
the probability that a lazy random walk is at $n$ after $k$ steps of $-1, 0, 1$ with the
probabilities $\frac m4, 1 - \frac m2, \frac m4$. The trapezoid rule with $N$ points for the Laplace
integral of the tie probability $t_k$ (thm_tie_closed_forms) is

[[aliasing]]

Its relative error, the last sum, is thus never negative, and 0 if $N > k$ or $m = 0$. Else, for
every $\lambda > 0$, with $M = 1 + \frac m2(\cosh\lambda - 1)$,

[[bounded]]

With $N = c\sqrt{km}$ points and $\lambda = 2c/\sqrt{km}$ this tends to
$\sqrt2\,\pi\,e^{c^2}/(e^{2c^2} - 1)$ as $k$ grows: a number of points proportional to $\sqrt k$
keeps the error as small as is wished, at every $k$.

Proof

1. Let $\phi(\theta) = 1 - m\sin^2\frac\theta2 = \left(1 - \frac m2\right) + \frac
   m4\left(e^{i\theta} + e^{-i\theta}\right)$, which is the mean of $e^{i\theta\xi}$ over a step
   $\xi$ of the walk. So its $k$-th power is $\sum_n w_n e^{in\theta}$, with $w_{-n} = w_n$ and
   $w_n = 0$ for $|n| > k$, and its mean over the circle is $w_0$. As
   $a + b + 2\sqrt{ab}\cos\theta = \beta^2\phi(\theta)$, that says $t_k = \beta^{2k} w_0$.
2. At the points $\theta = 2\pi l/N$, $l = 0, \dots, N - 1$, the mean of $e^{in\theta}$ is 1 if $N$
   divides $n$ and else 0, a geometric sum. So the rule's value is $\beta^{2k}\sum_j w_{jN}$: $t_k$
   and twice the terms $j \ge 1$, none negative.
3. $w_n = \frac{1}{2\pi}\int_{-\pi}^{\pi}\phi(\theta)^k e^{-in\theta}\,d\theta$ with the $\phi$ of
   step 1, which is periodic and has no pole: the path may be shifted to $\theta - i\lambda$, which
   takes the factor $e^{-\lambda n}$ out. There $|\phi|^2 = M^2 - m\left(1 - \frac
   m2\right)\cosh\lambda\,(1 - \cos\theta) - \frac{m^2}{4}\sin^2\theta$.
4. As $1 - \frac m2 \ge \frac12$, $\cosh\lambda \ge 1$,
   $1 - \cos\theta = 2\sin^2\frac\theta2 \ge 2\theta^2/\pi^2$ (Jordan, as in thm_tie_decay) and
   $1 - x \le e^{-x}$, it follows that $|\phi|^k \le M^k
   \exp\left(-\frac{km\,\theta^2}{2\pi^2M^2}\right)$. The integral of that, over all $\theta$, gives
   $w_n \le e^{-\lambda n} M^{k+1}\sqrt{\frac{\pi}{2km}}$; and
   $\sum_{j \ge 1} e^{-\lambda jN} = 1/(e^{\lambda N} - 1)$.
5. $1 - ms \ge (1 - s)^m$ for $0 \le s, m \le 1$ (Bernoulli: the right side is convex in $m$, and
   equal to the left at $m = 0$ and 1). So $w_0 \ge V(km)$ with
   $V(x) = \frac2\pi\int_0^{\pi/2}\cos^{2x}\varphi\,d\varphi$, and by parts
   $V(x+1) = \frac{2x+1}{2x+2}V(x)$.
6. $h(x) = \left(x + \frac12\right)V(x)^2$ has $\frac{h(x+1)}{h(x)} =
   \frac{(2x+1)(2x+3)}{(2x+2)^2} = 1 - \frac{1}{(2x+2)^2} < 1$ and, by the limit in thm_tie_decay
   (step 2 with $m = 1$, which does not ask for a whole $k$), falls along $x, x + 1, \dots$ to
   $\frac1\pi$. Hence $w_0 \ge 1/\sqrt{\pi(km + 1/2)}$. With step 4 this is the bound. For the
   limit, $k\log M \to c^2$.

References

- Trefethen and Weideman, *The exponentially convergent trapezoidal rule*, SIAM Review 56 (2014)
  385–458: aliasing on the circle.
- Feller, *An Introduction to Probability Theory and Its Applications*, volume II, 2nd edition
  (Wiley, 1971), chapter XVI, section 7: large deviations by an associated law.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Eq, IndexedBase, Le, Rational, Sum, cos, cosh, exp, oo, pi, sin, sqrt

import carve_stats as cs

a, b, beta, m, M, lam, theta, x = sympy.symbols("a b beta m M lambda theta x", positive=True)
k, N = sympy.symbols("k N", integer=True, positive=True)
i, j = sympy.symbols("l j", integer=True, nonnegative=True)
t, w = IndexedBase("t"), IndexedBase("w")
ERROR = 2 * Sum(w[j * N] / w[0], (j, 1, oo))

FORMULAS = {
    "aliasing": Eq(
        beta ** (2 * k) / N * Sum((1 - m * sin(pi * i / N) ** 2) ** k, (i, 0, N - 1)),
        t[k] * (1 + ERROR),
    ),
    "bounded": Le(
        ERROR,
        2 * pi * sqrt(Rational(1, 2) + 1 / (4 * k * m)) * M ** (k + 1) / (exp(lam * N) - 1),
    ),
}
USED_BY = ("FiniteReplayLaw.tie",)
STEPS = {-1: m / 4, 0: 1 - m / 2, 1: m / 4}


def test_step_1():
    assert sympy.expand(sum(STEPS.values()) - 1) == 0
    mean = sum(share * exp(sympy.I * theta * step) for step, share in STEPS.items())
    base = 1 - m * sin(theta / 2) ** 2
    assert sympy.simplify(sympy.expand((mean - base).rewrite(exp))) == 0
    share = 4 * sqrt(a * b) / (sqrt(a) + sqrt(b)) ** 2
    laplace = a + b + 2 * sqrt(a * b) * cos(theta)
    ours = (sqrt(a) + sqrt(b)) ** 2 * (1 - share * (1 - cos(theta)) / 2)
    assert sympy.simplify(sympy.expand(laplace - ours)) == 0
    nonzero = sympy.Symbol("nonzero", integer=True, nonzero=True)
    assert sympy.integrate(cos(nonzero * theta), (theta, 0, pi)) == 0
    # m ≤ 1: what it falls short by is a square, and 1 − m/2 is no less.
    short = (sqrt(a) + sqrt(b)) ** 2 * (1 - share)
    assert sympy.simplify(sympy.expand(short - (sqrt(a) - sqrt(b)) ** 2)) == 0


def test_step_2():
    said = FORMULAS["aliasing"]
    (total,) = said.lhs.atoms(Sum)
    assert total.limits == ((i, 0, N - 1),)
    at_point = (1 - m * sin(theta / 2) ** 2) ** k
    assert sympy.simplify(total.function - at_point.subs(theta, 2 * pi * i / N)) == 0
    assert sympy.simplify(said.lhs / total * N) == beta ** (2 * k)
    # The geometric sum: (z − 1)(1 + z + … ) telescopes to z^N − 1, and z^N = 1.
    z, place = sympy.Symbol("z", nonzero=True), sympy.Symbol("place", integer=True)
    partial = (z**i - 1) / (z - 1)
    assert sympy.simplify(partial.subs(i, i + 1) - partial - z**i) == 0
    assert partial.subs(i, 0) == 0
    turn = exp(2 * pi * sympy.I * place / N)
    assert sympy.powsimp(turn**N) == exp(2 * pi * sympy.I * place) == 1
    assert turn.subs(place, N * place) == 1  # then each of the N terms is 1
    # β^(2k) Σ_j w_{jN} with w_{−n} = w_n and β^(2k) w_0 = t_k.
    both_sides = (w[0] + 2 * Sum(w[j * N], (j, 1, oo))) / w[0]
    error = sympy.expand(said.rhs / t[k] - 1)
    inner = error / 2
    assert isinstance(inner, Sum)
    assert inner.limits == ((j, 1, oo),)
    assert sympy.simplify(inner.function * w[0] - w[j * N]) == 0
    assert sympy.expand(both_sides - 1 - 2 * Sum(w[j * N], (j, 1, oo)) / w[0]) == 0


def test_step_3():
    shifted = sum(share * exp((sympy.I * theta + lam) * step) for step, share in STEPS.items())
    conjugate = sum(share * exp((lam - sympy.I * theta) * step) for step, share in STEPS.items())
    at_top = 1 + m / 2 * (cosh(lam) - 1)
    loss = m * (1 - m / 2) * cosh(lam) * (1 - cos(theta)) + m**2 / 4 * sin(theta) ** 2
    difference = shifted * conjugate - (at_top**2 - loss)
    assert sympy.simplify(sympy.expand(difference.rewrite(exp))) == 0
    assert sympy.simplify((shifted.subs(theta, 0) - at_top).rewrite(exp)) == 0
    around = exp(sympy.I * (theta + 2 * pi)).expand()
    assert sympy.simplify(around - exp(sympy.I * theta)) == 0


def peak():
    """What step 4 has for w_n without the factor of the shift."""
    gauss = sympy.integrate(exp(-k * m * theta**2 / (2 * pi**2 * M**2)), (theta, -oo, oo))
    return M**k * gauss / (2 * pi)


def test_step_4():
    rest, more = sympy.symbols("rest more", nonnegative=True)
    # With 1 − m/2 = 1/2 + rest and cosh λ = 1 + more the product is at least 1/2.
    assert sympy.expand((Rational(1, 2) + rest) * (1 + more) - Rational(1, 2)).is_nonnegative
    assert sympy.simplify(1 - cos(theta) - 2 * sin(theta / 2) ** 2) == 0
    jordan = 2 * (2 / pi * theta / 2) ** 2
    assert sympy.simplify(m * Rational(1, 2) * jordan - m * theta**2 / pi**2) == 0
    half = exp(-m * theta**2 / pi**2 / M**2) ** (k / 2)  # of |φ|²/M², to the power k/2
    assert sympy.simplify(sympy.log(half) + k * m * theta**2 / (2 * pi**2 * M**2)) == 0
    assert sympy.simplify(peak() / (M ** (k + 1) * sqrt(pi / (2 * k * m)))) == 1
    ratio = sympy.Symbol("ratio", positive=True)  # of the geometric series
    partial = ratio * (1 - ratio**j) / (1 - ratio)
    assert sympy.simplify(partial.subs(j, j + 1) - partial - ratio ** (j + 1)) == 0
    whole = (ratio / (1 - ratio)).subs(ratio, exp(-lam * N))
    assert sympy.simplify(whole - 1 / (exp(lam * N) - 1)) == 0


def test_step_5():
    share, power = sympy.symbols("share power", positive=True)
    right = (1 - share) ** power
    left = 1 - power * share
    assert sympy.simplify(sympy.diff(right, power, 2) - right * sympy.log(1 - share) ** 2) == 0
    for end in (0, 1):
        assert sympy.simplify((left - right).subs(power, end)) == 0
    assert sympy.simplify((1 - sin(theta) ** 2) - cos(theta) ** 2) == 0
    # By parts: sin φ cos^(2x+1) φ is 0 at both ends.
    parts = sin(theta) * cos(theta) ** (2 * x + 1)
    slope = (2 * x + 2) * cos(theta) ** (2 * x + 2) - (2 * x + 1) * cos(theta) ** (2 * x)
    ratio = sympy.diff(parts, theta) / cos(theta) ** (2 * x)
    wanted = sympy.expand(sympy.powsimp(sympy.expand(slope / cos(theta) ** (2 * x))))
    assert sympy.simplify(ratio - wanted) == 0
    assert parts.subs(theta, 0) == 0
    assert parts.subs(theta, pi / 2) == 0


def test_step_6():
    grown = (x + Rational(3, 2)) / (x + Rational(1, 2)) * ((2 * x + 1) / (2 * x + 2)) ** 2
    assert sympy.simplify(grown - (1 - 1 / (2 * x + 2) ** 2)) == 0
    gauss = 2 / pi * sympy.integrate(exp(-(x**2)), (x, 0, oo))  # of √x V(x)
    limit = gauss**2
    assert sympy.simplify(limit - 1 / pi) == 0
    assert sympy.limit((x + Rational(1, 2)) / x, x, oo) == 1
    least = sqrt(limit / (k * m + Rational(1, 2)))  # of w_0
    said = FORMULAS["bounded"]
    assert said.rel_op == "<="
    assert said.lhs == ERROR
    found = 2 * peak() / (exp(lam * N) - 1) / least
    assert sympy.simplify(found / said.rhs) == 1
    c, near = sympy.symbols("c near", positive=True)  # near is 1/√(km)
    top = 1 + m / 2 * (cosh(2 * c * near) - 1)
    assert sympy.limit(sympy.log(top) / (m * near**2), near, 0) == c**2
    assert sympy.limit(top, near, 0) == 1
    whole = exp(lam * N).subs({lam: 2 * c * near, N: c / near})
    assert whole == exp(2 * c**2)
    rest = (said.rhs / M ** (k + 1) * (exp(lam * N) - 1)).subs(k, 1 / (m * near**2))
    assert sympy.simplify(sympy.limit(rest, near, 0) - sqrt(2) * pi) == 0


def test_implementation_tie():
    """At more than 128 replays the package takes the trapezoid rule."""
    for i_, j_ in product(range(9), repeat=2):  # eighths are doubles: nothing is rounded
        for k_ in (129, 400):
            a_, b_ = i_ * j_, (8 - i_) * (8 - j_)
            ways = sum(comb(k_, x_) ** 2 * a_**x_ * b_ ** (k_ - x_) for x_ in range(k_ + 1))
            exact = Fraction(ways, 64**k_)
            found = Fraction(cs.FiniteReplayLaw(i_ / 8, j_ / 8, k=k_).tie())
            # Below the least normal double fewer digits are left, or none.
            assert abs(found - exact) <= exact * Fraction(8, 2**52) + Fraction(1, 2**1022)
