r"""Heterogeneity raises ties at one budget and lowers them at another, and can leave none to see

Let $t_k(p_s, p_d)$ be the probability of a tie at $k$ replays in each arm, and let the tie excess
of a population be $\tau_k = E\,t_k(p_s, p_d) - t_k(E\,p_s, E\,p_d)$. Write
$b(k, j, p) = \binom kj p^j (1-p)^{k-j}$.

*A heterogeneous population without tie excess.* With the mass $\frac{3}{28}$ on each of $(0,0)$
and $(1,1)$ and $\frac{11}{28}$ on each of $(0,\frac12)$ and $(1,\frac12)$,

[[population]]

which is positive at $k = 1$ and 2, negative at 4 and 5, positive at every $k \ge 6$, and

[[zero]]

*Little heterogeneity.* If $p_s = m_s + \varepsilon u$ and $p_d = m_d + \varepsilon v$, where $u$
and $v$ have mean 0, variances $\sigma_s^2$, $\sigma_d^2$ and covariance $\gamma$, then as
$\varepsilon \to 0$

[[second]]

The curvature in the rate of one arm is

[[curvature]]

and that in the other rate is the same with the arms exchanged. In the square
$\frac5{16} \le m_s \le \frac38$, $\frac58 \le m_d \le \frac{11}{16}$, near the rates that the
CARVE paper reports,

[[lowers]]

[[raises]]

and both hold for $m_d$ as well, while

[[shared_raises]]

[[shared_lowers]]

So there, if it is small, heterogeneity of each arm for itself ($\gamma = 0$) lowers the ties at
$k = 3$ and raises them at $k = 10$, and what the arms share ($\gamma > 0$) works against it at
both. Tie excess describes a log; it is no test of homogeneity.

Proof

1. Both means are $\frac12$. A question at $(0,0)$ or $(1,1)$ always ties; at $(0,\frac12)$ it ties
   where DESTROY never flips and at $(1,\frac12)$ where it always does, each with probability
   $2^{-k}$. Two fair coins tie with probability
   $\sum_j \binom kj\binom k{k-j}4^{-k} = \binom{2k}{k}4^{-k}$, by Vandermonde.
2. At $k = 1, 2, 3, 10$ the form is $\frac3{28}$, $\frac1{28}$, $0$ and $\frac{71301}{1835008}$; at
   4 and 5 it is negative, at 6 positive. As $\binom{2k}{k}4^{-k}$ falls in $k$, by the factor
   $\frac{2k+1}{2k+2}$, and is less than $\frac3{14}$ at $k = 7$, $\tau_k > 0$ from there on.
3. $t_k$ is a polynomial, so Taylor's formula is exact. The terms of first order have mean 0, and
   what remains of second order is half the quadratic form of the second derivatives in $u$ and
   $v$.
4. $\frac{\partial}{\partial p} b(k,j,p) = k\,[b(k-1,j-1,p) - b(k-1,j,p)]$. Applied twice to
   $t_k = \sum_j b(k,j,p_s)\,b(k,j,p_d)$ this is the curvature.
5. Written in the Bernstein basis of the square, each of the derivatives, with the sign that the
   statement gives it, has positive coefficients only. The basis is not negative and sums to 1, so
   each has that sign on all of the square.

References

- Feller, *An Introduction to Probability Theory and Its Applications* I (3rd ed. 1968), II.12, for
  Vandermonde's sum; Farouki, "The Bernstein polynomial basis: a centennial retrospective",
  *Computer Aided Geometric Design* 29 (2012), for the bounds by coefficients.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Derivative, Eq, Function, IndexedBase, O, Rational, Sum, Symbol, binomial

import carve_stats as cs

k, j = sympy.symbols("k j", integer=True, nonnegative=True)
m_s, m_d, u, v, epsilon = sympy.symbols("m_s m_d u v varepsilon")
sigma_s, sigma_d, gamma = sympy.symbols("sigma_s sigma_d gamma")
tau = IndexedBase("tau")
b, tau_k, t_k, t_3, t_10 = (Function(name) for name in ("b", "tau_k", "t_k", "t_3", "t_10"))

FORMULAS = {
    "population": Eq(
        tau[k],
        Rational(3, 14) + Rational(11, 14) / 2**k - binomial(2 * k, k) / 4**k,
    ),
    "zero": Eq(tau[3], 0, evaluate=False),
    "second": Eq(
        tau_k(epsilon),
        epsilon**2
        / 2
        * (
            sigma_s**2 * Derivative(t_k(m_s, m_d), (m_s, 2))
            + 2 * gamma * Derivative(t_k(m_s, m_d), m_s, m_d)
            + sigma_d**2 * Derivative(t_k(m_s, m_d), (m_d, 2))
        )
        + O(epsilon**3),
    ),
    "curvature": Eq(
        Symbol(r"\frac{\partial^2 t_k}{\partial m_s^{2}}"),
        k
        * (k - 1)
        * Sum(
            (b(k - 2, j - 2, m_s) - 2 * b(k - 2, j - 1, m_s) + b(k - 2, j, m_s)) * b(k, j, m_d),
            (j, 0, k),
        ),
    ),
    "lowers": sympy.Lt(Derivative(t_3(m_s, m_d), (m_s, 2)), 0),
    "raises": sympy.Gt(Derivative(t_10(m_s, m_d), (m_s, 2)), 0),
    "shared_raises": sympy.Gt(Derivative(t_3(m_s, m_d), m_s, m_d), 0),
    "shared_lowers": sympy.Lt(Derivative(t_10(m_s, m_d), m_s, m_d), 0),
}
USED_BY = ("tie_excess", "Population.signs")

HALF = Rational(1, 2)
ATOMS = {  # SHAM rate, DESTROY rate: mass
    (0, 0): Rational(3, 28),
    (1, 1): Rational(3, 28),
    (0, HALF): Rational(11, 28),
    (1, HALF): Rational(11, 28),
}
SQUARE = {m_s: (Rational(5, 16), Rational(3, 8)), m_d: (Rational(5, 8), Rational(11, 16))}


def binomial_pmf(size, successes, rate):
    return binomial(size, successes) * rate**successes * (1 - rate) ** (size - successes)


def tie(size):
    """t_k as a polynomial in both rates."""
    return sum(binomial_pmf(size, i, m_s) * binomial_pmf(size, i, m_d) for i in range(size + 1))


def bernstein_coefficients(polynomial):
    """Those of a polynomial in m_s and m_d over SQUARE: a row for each power of m_s, and so on."""
    table = sympy.Poly(polynomial, m_s, m_d)
    degrees = [table.degree(rate) for rate in (m_s, m_d)]
    matrix = sympy.zeros(degrees[0] + 1, degrees[1] + 1)
    for powers, factor in table.terms():
        matrix[powers] = factor
    left, right = (onto(rate, degree) for rate, degree in zip((m_s, m_d), degrees, strict=True))
    return left * matrix * right.T


def onto(rate, degree):
    """Entry [i, r]: the coefficient i of rate^r in the Bernstein basis of its interval."""
    low, high = SQUARE[rate]
    return sympy.Matrix(
        degree + 1,
        degree + 1,
        lambda i, r: sum(  # (low + width u)^r, and u^h has the coefficients C(i, h)/C(degree, h)
            comb(r, h) * low ** (r - h) * (high - low) ** h * Rational(comb(i, h), comb(degree, h))
            for h in range(r + 1)
        ),
    )


def test_step_1():
    assert sum(ATOMS.values()) == 1
    means = [sum(mass * rates[arm] for rates, mass in ATOMS.items()) for arm in (0, 1)]
    assert means == [HALF, HALF]
    # Each atom's chance to tie at any k: SHAM flips j = 0 or k times, and so must DESTROY.
    size = sympy.Symbol("size", integer=True, positive=True)
    ties = {
        (sham, destroy): binomial_pmf(size, size * sham, destroy) if destroy == HALF else 1
        for sham, destroy in ATOMS
    }
    # C(k, j)² = C(k, j) C(k, k − j), and those add up to C(2k, k).
    assert sympy.combsimp(binomial(k, j) / binomial(k, k - j)) == 1
    fair = sympy.simplify(binomial_pmf(k, j, HALF) ** 2 / (binomial(k, j) ** 2 / 4**k))
    assert fair == 1
    mixed = (
        sum(mass * ties[rates] for rates, mass in ATOMS.items())
        - binomial(2 * size, size) / 4**size
    )
    assert sympy.simplify(mixed - FORMULAS["population"].rhs.subs(k, size)) == 0


def test_step_2():
    excess = FORMULAS["population"].rhs
    values = [excess.subs(k, size) for size in range(11)]
    assert values[1:3] == [Rational(3, 28), Rational(1, 28)]
    assert values[3] == FORMULAS["zero"].rhs
    assert values[10] == Rational(71301, 1835008)
    assert values[4] < 0
    assert values[5] < 0 < values[6]
    fair = binomial(2 * k, k) / 4**k
    ratio = sympy.combsimp((fair.subs(k, k + 1) / fair).rewrite(sympy.factorial))
    assert sympy.simplify(ratio - (2 * k + 1) / (2 * k + 2)) == 0
    assert sympy.simplify(excess + fair - Rational(11, 14) / 2**k) > fair.subs(k, 7)


def test_step_3():
    by = {
        powers: Derivative(t_k(m_s, m_d), *[m_s] * powers[0], *[m_d] * powers[1])
        for powers in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    }
    expanded = epsilon * (u * by[1, 0] + v * by[0, 1]) + epsilon**2 / 2 * (
        u**2 * by[2, 0] + 2 * u * v * by[1, 1] + v**2 * by[0, 2]
    )
    # Taylor's formula, for the powers that the polynomial is a sum of.
    r, s = sympy.symbols("r s", integer=True, positive=True)
    away = (m_s + epsilon * u) ** r * (m_d + epsilon * v) ** s
    ours = expanded.subs(t_k(m_s, m_d), m_s**r * m_d**s).doit()
    for order in (1, 2):
        difference = sympy.diff(away - ours, (epsilon, order)).subs(epsilon, 0)
        assert sympy.simplify(difference) == 0
    mean = {(1, 0): 0, (0, 1): 0, (2, 0): sigma_s**2, (1, 1): gamma, (0, 2): sigma_d**2}
    averaged = sum(
        coefficient * mean[powers] for powers, coefficient in sympy.Poly(expanded, u, v).terms()
    )
    said = FORMULAS["second"].rhs.removeO()
    assert sympy.expand(averaged - said) == 0


def test_step_4():
    def derivative(terms):
        """By p, of a sum of b(size, at, p): its coefficients by (size, at)."""
        grown = {}
        for (size, at), factor in terms.items():
            for where, sign in ((at - 1, 1), (at, -1)):
                grown[size - 1, where] = grown.get((size - 1, where), 0) + sign * size * factor
        return grown

    # The rule itself, at symbolic k and j; with q for 1 − p, d/dp is ∂/∂p − ∂/∂q.
    p, q = sympy.symbols("p q", positive=True)

    def pmf(size, at):
        return binomial(size, at) * p**at * q ** (size - at)

    ruled = k * (pmf(k - 1, j - 1) - pmf(k - 1, j)) / pmf(k, j)
    grown = (sympy.diff(pmf(k, j), p) - sympy.diff(pmf(k, j), q)) / pmf(k, j)
    assert sympy.simplify(sympy.combsimp((grown - ruled).rewrite(sympy.factorial))) == 0
    twice = derivative(derivative({(k, j): 1}))
    curvature = sum(factor * b(size, at, m_s) for (size, at), factor in twice.items())
    said = FORMULAS["curvature"].rhs
    (summed,) = said.atoms(Sum)
    assert summed.limits == ((j, 0, k),)
    ours = sympy.expand(curvature * b(k, j, m_d))
    assert sympy.expand(said / summed * summed.function - ours) == 0


def test_step_5():
    alone, shared = ((m_s, m_s), (m_d, m_d)), ((m_s, m_d),)
    for name, size, of, rates in (
        ("lowers", 3, t_3, alone),
        ("raises", 10, t_10, alone),
        ("shared_raises", 3, t_3, shared),
        ("shared_lowers", 10, t_10, shared),
    ):
        relation, said = FORMULAS[name], Derivative(of(m_s, m_d), *rates[0])
        assert relation.has(said)
        for one in rates:
            positive = (relation.gts - relation.lts).subs(said, sympy.diff(tie(size), *one))
            assert all(c > 0 for c in bernstein_coefficients(positive))


def exact_excess(size):
    return Fraction(3, 14) + Fraction(11, 14 * 2**size) - Fraction(comb(2 * size, size), 4**size)


def test_implementation_tie_excess():
    """Counts that have every cell exactly as often as the population makes it."""
    for size in (1, 2, 3, 10):
        sham, destroy = [0, size] * 3 * 2**size, [0, size] * 3 * 2**size
        for at in (0, size):
            for flips in range(size + 1):
                sham += [at] * (11 * comb(size, flips))
                destroy += [flips] * (11 * comb(size, flips))
        questions = [f"q{i}" for i in range(len(sham))]
        replays = [size] * len(sham)
        found = cs.tie_excess(cs.ReplayCounts(questions, sham, replays, destroy, replays))
        assert abs(Fraction(found.excess.zero.estimate) - exact_excess(size)) <= Fraction(1, 2**51)


def exact_tie(size, sham, destroy):
    a, other = sham * destroy, (1 - sham) * (1 - destroy)
    return sum(comb(size, i) ** 2 * a**i * other ** (size - i) for i in range(size + 1))


def test_implementation_population():
    population = cs.Population([0, 1, 0, 1], [0, 1, 0.5, 0.5], [3, 3, 11, 11])
    for size in range(1, 13):
        found = population.signs(size).zero - cs.FiniteReplayLaw(0.5, 0.5, k=size).tie()
        assert abs(Fraction(float(found)) - exact_excess(size)) <= Fraction(1, 2**51)


def test_implementation_little_heterogeneity():
    """Four atoms a 64th off (11/32, 21/32): fewer ties at k = 3, more at k = 10."""
    rates = [(Fraction(11, 32) + Fraction(i, 64), Fraction(21, 32) + Fraction(h, 64))
             for i, h in product((-1, 1), repeat=2)]  # fmt: skip
    population = cs.Population(*([float(r[arm]) for r in rates] for arm in (0, 1)))
    for size, sign in ((3, -1), (10, 1)):
        mixed = sum(exact_tie(size, *r) for r in rates) / 4
        found = Fraction(population.signs(size).zero)
        assert abs(found - mixed) <= mixed * Fraction(1, 2**50)
        assert sign * (found - exact_tie(size, Fraction(11, 32), Fraction(21, 32))) > Fraction(
            1, 10**5
        )
