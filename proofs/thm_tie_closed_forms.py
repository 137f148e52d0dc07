r"""Ties at equal k: four closed forms, their generating function and their recurrence

Let SHAM and DESTROY flip independently $k$ times each, $a = p_s p_d$, $b = q_s q_d$ with
$q = 1 - p$, and let $t_k$ be the probability that both flip equally often. Then

[[squares]]

[[hypergeometric]]

[[legendre]]

[[laplace]]

and the sequence has the generating function and the recurrence

[[generating]]

[[recurrence]]

Proof

1. A tie is $X = Y = j$ for one $j$. By independence its probability is the product of two binomial
   ones, ${\binom kj}^2 (p_s p_d)^j (q_s q_d)^{k-j}$; the sum over $j$ is the first form.
2. The ratio of the terms $j+1$ and $j$ is $\left(\frac{k-j}{j+1}\right)^2 \frac{a}{b}$, which is
   that of $b^k\,{}_2F_1(-k,-k;1;a/b)$, and both begin with $b^k$.
3. By Leibniz' rule the $k$-th derivative of $(x-1)^k(x+1)^k$ is
   $\sum_j \binom{k}{j} \frac{k!}{(k-j)!}(x-1)^{k-j} \frac{k!}{j!}(x+1)^{j}$, so Rodrigues'
   formula reads $P_k(x) = \sum_j {\binom kj}^2
   \left(\frac{x-1}{2}\right)^{k-j}\left(\frac{x+1}{2}\right)^j$. At $x = (a+b)/(b-a)$ the two
   brackets are $a/(b-a)$ and $b/(b-a)$; $j \mapsto k-j$ gives the form.
4. $a + b + 2\sqrt{ab}\cos\theta = |\sqrt b + \sqrt a\,e^{i\theta}|^2$. Its $k$-th power is
   $\sum_{j,l}\binom{k}{j}\binom{k}{l}\sqrt{a}^{\,j+l}\sqrt{b}^{\,2k-j-l} e^{i(j-l)\theta}$, and
   the mean over the circle keeps the terms $j = l$.
5. Summed under the integral, $\sum_k z^k t_k = \frac1\pi\int_0^\pi
   \frac{d\theta}{c - d\cos\theta} = (c^2-d^2)^{-1/2}$ with $c = 1 - (a+b)z$ and
   $d = 2\sqrt{ab}\,z$, since an antiderivative is $\frac{2}{\sqrt{c^2-d^2}}
   \arctan\left(\sqrt{\frac{c+d}{c-d}}\tan\frac{\theta}{2}\right)$, which grows by
   $\frac{\pi}{\sqrt{c^2-d^2}}$. And $c^2 - d^2 = 1 - 2(a+b)z + (b-a)^2z^2$, where
   $b - a = 1 - p_s - p_d$.
6. With $Q$ for that polynomial the generating function $G = Q^{-1/2}$ satisfies
   $2QG' + Q'G = 0$; the coefficient of $z^k$ in it is twice the recurrence.

References

- Olver and others, *NIST Handbook of Mathematical Functions* (Cambridge 2010), 18.5.8 (sum),
  18.10.5 (Laplace's integral), 18.12.11 (generating function) and table 18.9.1 (recurrence) of the
  Legendre polynomials.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Eq, IndexedBase, Integral, Sum, binomial, cos, hyper, legendre, pi, sqrt

import carve_stats as cs

a, b, p_s, p_d, x, z, theta = sympy.symbols("a b p_s p_d x z theta", positive=True)
k, j, m = sympy.symbols("k j m", integer=True, nonnegative=True)
t = IndexedBase("t")

FORMULAS = {
    "squares": Eq(t[k], Sum(binomial(k, j) ** 2 * a**j * b ** (k - j), (j, 0, k))),
    "hypergeometric": Eq(t[k], b**k * hyper((-k, -k), (1,), a / b)),
    "legendre": Eq(t[k], (b - a) ** k * legendre(k, (a + b) / (b - a))),
    "laplace": Eq(t[k], Integral((a + b + 2 * sqrt(a * b) * cos(theta)) ** k, (theta, 0, pi)) / pi),
    "generating": Eq(
        Sum(t[k] * z**k, (k, 0, sympy.oo)),
        1 / sqrt(1 - 2 * (a + b) * z + (1 - p_s - p_d) ** 2 * z**2),
    ),
    "recurrence": Eq(
        (k + 1) * t[k + 1],
        (2 * k + 1) * (a + b) * t[k] - k * (1 - p_s - p_d) ** 2 * t[k - 1],
    ),
}
USED_BY = ("FiniteReplayLaw.tie", "FiniteReplayLaw.tie_sequence")


def term():
    """The summand of the first form."""
    return FORMULAS["squares"].rhs.function


def test_step_1():
    assert FORMULAS["squares"].rhs == Sum(term(), (j, 0, k))

    def pmf(p):
        return binomial(k, j) * p**j * (1 - p) ** (k - j)

    said = term().subs({a: p_s * p_d, b: (1 - p_s) * (1 - p_d)})
    ratio = sympy.expand_power_base(pmf(p_s) * pmf(p_d) / said, force=True)
    assert sympy.simplify(ratio) == 1


def test_step_2():
    form = FORMULAS["hypergeometric"].rhs
    ours = sympy.combsimp(term().subs(j, j + 1) / term())
    series = form.args[-1] if isinstance(form.args[-1], hyper) else form.atoms(hyper).pop()
    theirs = series.argument / (j + 1)
    for upper in series.ap:
        theirs *= upper + j
    for lower in series.bq:
        theirs /= lower + j
    assert sympy.simplify(ours - theirs) == 0
    first = sympy.simplify(form / series)  # a series begins with 1
    assert sympy.simplify(first - term().subs(j, 0)) == 0


def test_step_3():
    def derivative(order, shift):
        """The derivative of this order of (x + shift)^k."""
        return sympy.ff(k, order) * (x + shift) ** (k - order)

    for shift in (-1, 1):  # the derivatives, by induction
        assert derivative(0, shift) == (x + shift) ** k
        grown = sympy.diff(derivative(j, shift), x) / derivative(j + 1, shift)
        assert sympy.combsimp(grown.rewrite(sympy.factorial)) == 1
    of_leibniz = binomial(k, j) * derivative(j, -1) * derivative(k - j, 1)
    of_rodrigues = of_leibniz / (2**k * sympy.factorial(k))
    summand = binomial(k, j) ** 2 * ((x - 1) / 2) ** (k - j) * ((x + 1) / 2) ** j
    ratio = sympy.powsimp(sympy.expand_power_base(of_rodrigues / summand, force=True), force=True)
    assert sympy.simplify(sympy.combsimp(ratio.rewrite(sympy.factorial))) == 1

    form = FORMULAS["legendre"].rhs
    (polynomial,) = form.atoms(legendre)
    degree, at = polynomial.args
    assert degree == k
    factor = form / polynomial  # (b − a)^k, shared out over the k brackets
    brackets = [sympy.simplify((at + side) / 2 * (b - a)) for side in (-1, 1)]
    assert sympy.simplify(factor / (b - a) ** k) == 1
    ours = binomial(k, j) ** 2 * brackets[0] ** (k - j) * brackets[1] ** j
    mirrored = sympy.simplify(ours.subs(j, k - j) / term())
    assert sympy.combsimp(mirrored.rewrite(sympy.factorial)) == 1


def test_step_4():
    form = FORMULAS["laplace"].rhs
    (integral,) = form.atoms(Integral)
    assert sympy.simplify(form / integral - 1 / pi) == 0
    assert integral.limits == ((theta, 0, pi),)
    base, power = integral.function.as_base_exp()
    assert power == k
    turned = sqrt(b) + sqrt(a) * sympy.exp(sympy.I * theta)
    back = sqrt(b) + sqrt(a) * sympy.exp(-sympy.I * theta)
    assert sympy.simplify(sympy.expand(turned * back - base).rewrite(cos)) == 0
    # Each term's mean over half the circle, which is that over all of it: cosines are even.
    difference = sympy.Symbol("difference", integer=True, nonzero=True)
    assert sympy.integrate(cos(difference * theta), (theta, 0, pi)) == 0
    diagonal = binomial(k, j) ** 2 * sqrt(a) ** (2 * j) * sqrt(b) ** (2 * k - 2 * j)
    assert sympy.simplify(diagonal / term()) == 1


def test_step_5():
    # In u = tan(θ/2), with c − d and c + d for symbols, since c > d.
    u, less, more = sympy.symbols("u less more", positive=True)
    c, d = (more + less) / 2, (more - less) / 2
    integrand = 1 / (c - d * (1 - u**2) / (1 + u**2)) * 2 / (1 + u**2)
    root = sqrt(less * more)
    antiderivative = 2 / root * sympy.atan(sqrt(more / less) * u)
    assert sympy.simplify(sympy.diff(antiderivative, u) - integrand) == 0
    assert sympy.expand(c**2 - d**2) == root**2
    growth = sympy.limit(antiderivative, u, sympy.oo) - antiderivative.subs(u, 0)
    summed = 1 / sqrt((1 - (a + b) * z) ** 2 - 4 * a * b * z**2)
    assert sympy.simplify(growth / pi - 1 / root) == 0
    rates = {a: p_s * p_d, b: (1 - p_s) * (1 - p_d)}
    assert FORMULAS["generating"].lhs == Sum(t[k] * z**k, (k, 0, sympy.oo))
    said = FORMULAS["generating"].rhs
    assert sympy.expand((1 / said**2 - 1 / summed**2).subs(rates)) == 0
    assert said.subs({**rates, z: 0}) == summed.subs({**rates, z: 0}) == 1  # the same root


def test_step_6():
    linear, square = sympy.symbols("linear square")
    q = 1 + linear * z + square * z**2
    g = q ** sympy.Rational(-1, 2)
    assert sympy.simplify(2 * q * sympy.diff(g, z) + sympy.diff(q, z) * g) == 0
    # The coefficient of z^k in 2QG′ + Q′G, where G = Σ t[k] z^k.
    coefficient = 2 * ((k + 1) * t[k + 1] + linear * k * t[k] + square * (k - 1) * t[k - 1]) + (
        linear * t[k] + 2 * square * t[k - 1]
    )
    ours = 1 / FORMULAS["generating"].rhs ** 2
    found = sympy.Poly(sympy.expand(ours), z).all_coeffs()[::-1]
    recurrence = FORMULAS["recurrence"]
    twice = 2 * (recurrence.lhs - recurrence.rhs)
    given = coefficient.subs({linear: found[1], square: found[2]})
    assert found[0] == 1
    assert sympy.expand(given - twice) == 0


EIGHTHS = [Fraction(i, 8) for i in range(9)]  # doubles, so that nothing is rounded


def exact_ties(p, q, last=12):
    """t_0 to t_last as fractions, from the recurrence of the statement."""
    a_, b_ = p * q, (1 - p) * (1 - q)
    ties = [Fraction(1), a_ + b_]
    for n in range(1, last):
        ties.append(
            ((2 * n + 1) * (a_ + b_) * ties[n] - n * (1 - p - q) ** 2 * ties[n - 1]) / (n + 1)
        )
    return ties


def test_implementation_tie():
    for p, q in product(EIGHTHS, repeat=2):
        for n, exact in enumerate(exact_ties(p, q)):
            assert exact == sum(
                comb(n, i) ** 2 * (p * q) ** i * ((1 - p) * (1 - q)) ** (n - i)
                for i in range(n + 1)
            )
            if n:
                found = cs.FiniteReplayLaw(float(p), float(q), k=n).tie()
                assert abs(Fraction(float(found)) - exact) <= exact * Fraction(1, 10**15)


def test_implementation_tie_sequence():
    for p, q in product(EIGHTHS, repeat=2):
        found = cs.FiniteReplayLaw(float(p), float(q), k=12).tie_sequence()
        for one, other in zip(found.ravel(), exact_ties(p, q), strict=True):
            assert abs(Fraction(float(one)) - other) <= other * Fraction(1, 10**14)


def test_implementation_tie_sequence_at_rates_that_are_not_dyadic():
    """Of the fractions that the doubles are: within 2 units of 2^−52."""
    for p, q in product((0.1, 0.7), (0.3, 0.45)):
        found = cs.FiniteReplayLaw(p, q, k=60).tie_sequence()
        for one, other in zip(found.ravel(), exact_ties(Fraction(p), Fraction(q), 60), strict=True):
            assert abs(Fraction(float(one)) - other) <= other * Fraction(2, 2**52)
