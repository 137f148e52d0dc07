r"""The signs at one k in one sweep of positive terms, and the tie in half the terms

Let SHAM and DESTROY flip independently $k$ times each, $q = 1 - p$, and for $0 \le j \le k$

[[of_S]]

[[of_T]]

[[of_L]]

[[of_Z]]

Then $L_k = \mathrm{P}(\hat\Delta < 0)$ and $Z_k = \mathrm{P}(\hat\Delta = 0)$, and for $j \ge 1$

[[sums]]

[[below]]

[[zero]]

$\mathrm{P}(\hat\Delta > 0)$ is $L_k$ with the arms exchanged. No term is negative and no power of a
$q$ is needed. With $a = p_s p_d$ and $b = q_s q_d$ the tie is also

[[half]]

Proof

1. At $j = k$ the summands are products of two binomial probabilities, over the pairs $y < x$, or
   $x = y$.
2. A summand of $S_j$ with $x \le j - 1$ is $q_s$ times that of $S_{j-1}$; the one with $x = j$ is
   $\binom kj p_s^j$.
3. A summand of $L_j$ or $Z_j$ with $x \le j - 1$ is $q_s q_d$ times that with $j - 1$ for $j$. In
   $L_j$ those with $x = j$ have $y \le j - 1$ and are $\binom kj p_s^j$ times $q_d$ times the
   summands of $T_{j-1}$; in $Z_j$ there is one, ${\binom kj}^2(p_s p_d)^j$.
4. $t_k$ is the mean over the circle of $(a + b + \sqrt{ab}(z + z^{-1}))^k$, $z = e^{i\theta}$
   (thm_tie_closed_forms). In $\sum_l \binom kl (a+b)^{k-l}\sqrt{ab}^{\,l}(z + z^{-1})^l$ the mean
   of the last factor is 0 for odd $l$, and $\binom{2i}{i}$ for $l = 2i$: the last formula.

References

- Graham, Knuth and Patashnik, *Concrete Mathematics*, 2nd edition (Addison-Wesley, 1994), chapter
  5: sums of products of binomial coefficients.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Eq, IndexedBase, Sum, binomial, floor, sqrt

import carve_stats as cs

p_s, p_d, q_s, q_d, a, b, z, theta = sympy.symbols("p_s p_d q_s q_d a b z theta", positive=True)
k, j = sympy.symbols("k j", integer=True, positive=True)
x, y, i = sympy.symbols("x y i", integer=True, nonnegative=True)
S, T, L, Z = (IndexedBase(name) for name in "STLZ")
t = IndexedBase("t")

FORMULAS = {
    "of_S": Eq(S[j], Sum(binomial(k, x) * p_s**x * q_s ** (j - x), (x, 0, j))),
    "of_T": Eq(T[j], Sum(binomial(k, y) * p_d**y * q_d ** (j - y), (y, 0, j))),
    "of_L": Eq(
        L[j],
        Sum(
            binomial(k, x) * binomial(k, y) * p_s**x * q_s ** (j - x) * p_d**y * q_d ** (j - y),
            (y, 0, x - 1),
            (x, 0, j),
        ),
    ),
    "of_Z": Eq(
        Z[j], Sum(binomial(k, x) ** 2 * (p_s * p_d) ** x * (q_s * q_d) ** (j - x), (x, 0, j))
    ),
    "sums": Eq(S[j], q_s * S[j - 1] + binomial(k, j) * p_s**j),
    "below": Eq(L[j], q_s * q_d * L[j - 1] + binomial(k, j) * p_s**j * q_d * T[j - 1]),
    "zero": Eq(Z[j], q_s * q_d * Z[j - 1] + binomial(k, j) ** 2 * (p_s * p_d) ** j),
    "half": Eq(
        t[k],
        Sum(
            binomial(k, 2 * i) * binomial(2 * i, i) * (a * b) ** i * (a + b) ** (k - 2 * i),
            (i, 0, floor(k / 2)),
        ),
    ),
}
USED_BY = (
    "FiniteReplayLaw.signs",
    "FiniteReplayLaw.tie",
    "FiniteReplayLaw.negative",
    "FiniteReplayLaw.positive",
)


def summand(name, *limits):
    """Of a formula that is a sum, over what the statement says."""
    summed = FORMULAS[name].rhs
    assert summed.limits == limits
    return summed.function


def sham(last, flips):
    """The summand of S, and of T with the rates of the other arm."""
    return summand("of_S", (x, 0, j)).subs({x: flips, j: last}, simultaneous=True)


def destroy(last, flips):
    """The summand of T."""
    return summand("of_T", (y, 0, j)).subs({y: flips, j: last}, simultaneous=True)


def same(one, other):
    """Whether a quotient of products of powers is 1."""
    return sympy.simplify(sympy.powsimp(sympy.expand_power_base(one / other), force=True)) == 1


def test_step_1():
    def pmf(flips, rate, stay):
        return binomial(k, flips) * rate**flips * stay ** (k - flips)

    pairs = summand("of_L", (y, 0, x - 1), (x, 0, j))
    assert same(pairs, sham(j, x) * destroy(j, y))
    assert same(pairs.subs(j, k), pmf(x, p_s, q_s) * pmf(y, p_d, q_d))
    squares = summand("of_Z", (x, 0, j))
    assert same(squares, sham(j, x) * destroy(j, x))
    assert same(squares.subs(j, k), pmf(x, p_s, q_s) * pmf(x, p_d, q_d))


def test_step_2():
    said = FORMULAS["sums"]
    assert said.lhs == S[j]
    assert same(sham(j, x), said.rhs.coeff(S[j - 1]) * sham(j - 1, x))
    assert same(sham(j, j), said.rhs.subs(S[j - 1], 0))


def test_step_3():
    below, zero = FORMULAS["below"], FORMULAS["zero"]
    assert (below.lhs, zero.lhs) == (L[j], Z[j])
    earlier = sham(j - 1, x) * destroy(j - 1, y)
    for said, before in ((below, L[j - 1]), (zero, Z[j - 1])):
        factor = said.rhs.coeff(before)
        assert same(sham(j, x) * destroy(j, y), factor * earlier)
        assert not said.rhs.subs({before: 0}).has(before)
    new = below.rhs.coeff(T[j - 1])
    assert below.rhs.subs({L[j - 1]: 0, T[j - 1]: 0}) == 0
    assert same(sham(j, j) * destroy(j, y), new * destroy(j - 1, y))
    assert same(sham(j, j) * destroy(j, j), zero.rhs.subs(Z[j - 1], 0))


def test_step_4():
    said = FORMULAS["half"].rhs
    ((index, first, last),) = said.limits
    assert (index, first, last) == (i, 0, floor(k / 2))  # 2i ≤ k
    # (z + 1/z)^l has the powers z^(l − 2·chosen): 0 for l = 2i and chosen = i only.
    chosen, power = sympy.symbols("chosen l", integer=True, nonnegative=True)
    exponent = power - 2 * chosen
    assert sympy.solve(exponent.subs(power, 2 * i), chosen) == [i]
    assert (exponent.subs(power, 2 * i + 1)).is_odd  # never 0
    nonzero = sympy.Symbol("nonzero", integer=True, nonzero=True)
    around = sympy.integrate(sympy.exp(sympy.I * nonzero * theta), (theta, 0, 2 * sympy.pi))
    assert sympy.simplify(around) == 0
    ours = binomial(k, power) * (a + b) ** (k - power) * sqrt(a * b) ** power
    constant = binomial(power, chosen)
    assert same((ours * constant).subs({power: 2 * i, chosen: i}), said.function)


def exact_signs(k_, flips_s, flips_d, of):
    """P(Y < X), P(Y = X) and P(Y > X) with rates of so many parts of `of`."""
    shares = [0, 0, 0]
    ways_s = [comb(k_, n) * flips_s**n * (of - flips_s) ** (k_ - n) for n in range(k_ + 1)]
    ways_d = [comb(k_, n) * flips_d**n * (of - flips_d) ** (k_ - n) for n in range(k_ + 1)]
    for (n, one), (m, other) in product(enumerate(ways_s), enumerate(ways_d)):
        shares[(m > n) - (m < n) + 1] += one * other
    return [Fraction(share, of ** (2 * k_)) for share in shares]


BUDGETS = (1, 2, 3, 4, 7, 10, 11, 12, 30)


def laws(k_, one, other):
    """The law from its rates, and from what they leave: eighths, so that nothing is rounded."""
    yield cs.FiniteReplayLaw(one / 8, other / 8, k=k_)
    yield cs.FiniteReplayLaw(q_sham=1 - one / 8, q_destroy=1 - other / 8, k=k_)


def close(found, exact):
    return abs(Fraction(float(found)) - exact) <= exact * Fraction(24, 2**52)


def test_implementation_signs():
    for k_, one, other in product(BUDGETS, range(0, 9, 2), (0, 1, 4, 7, 8)):
        exact = exact_signs(k_, one, other, 8)
        for law in laws(k_, one, other):
            assert all(close(*both) for both in zip(law.signs(), exact, strict=True))


def test_implementation_tie():
    for k_, one, other in product(BUDGETS, range(9), (1, 4, 6)):
        a_, b_ = one * other, (8 - one) * (8 - other)
        ways = sum(
            comb(k_, 2 * n) * comb(2 * n, n) * (a_ * b_) ** n * (a_ + b_) ** (k_ - 2 * n)
            for n in range(k_ // 2 + 1)
        )
        for law in laws(k_, one, other):
            assert close(law.tie(), Fraction(ways, 64**k_))


def test_implementation_tie_at_rates_that_are_not_dyadic():
    """The fractions that the doubles are; the rest to 1 is no double."""
    for k_, one, other in product((5, 60, 100), (0.1, 0.7), (0.3, 0.45)):
        p, q = Fraction(one), Fraction(other)
        of = max(p.denominator, q.denominator)
        a_ = int(p * of) * int(q * of)
        b_ = (of - int(p * of)) * (of - int(q * of))
        ways = sum(comb(k_, n) ** 2 * a_**n * b_ ** (k_ - n) for n in range(k_ + 1))
        assert close(cs.FiniteReplayLaw(one, other, k=k_).tie(), Fraction(ways, of ** (2 * k_)))


def test_implementation_negative_and_positive():
    for k_, one, other in product(BUDGETS, (0, 3, 8), (1, 4, 7)):
        below, _, above = exact_signs(k_, one, other, 8)
        for law in laws(k_, one, other):
            assert close(law.negative(), below)
            assert close(law.positive(), above)
