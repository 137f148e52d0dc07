r"""Subsampling is the only unbiased function of the counts for fewer replays, and most precise

Of $k$ replays $X$ flip. Keep $m \le k$ of them at random: $j$ of the kept ones flip with
probability

[[kernel]]

For any function $g$ of what $m_s$ and $m_d$ replays would show (the sign of the score, whether a
rule defers), let $h(x, y) = \sum_{j,l} g(j, l)\,H(x, j)\,H(y, l)$. Whatever $p_s$ and $p_d$ are,
$h(X, Y)$ has the mean that $g$ has at the smaller budget, because

[[unbiased]]

with $b(k, x, p) = \binom kx p^x(1-p)^{k-x}$. No other function of the counts $(X, Y)$ has that
mean for all $p_s, p_d$. And any unbiased $U$, whatever it makes of which replays flipped, has

[[variance]]

with equality only where $U = h(X, Y)$ for every order of the flips that can occur.

Proof

1. $b(k,x,p)\,H(x,j) = b(m,j,p)\,b(k-m,x-j,p)$: the kept and the other replays are independent
   samples. The sum over $x$ is $b(m,j,p)$. The arms are independent, so $E\,h(X,Y)$ is
   $\sum_{j,l} g(j,l)\,b(m_s,j,p_s)\,b(m_d,l,p_d)$.
2. Let $d(X, Y)$ be the difference of two unbiased functions of the counts. In the odds
   $u = p_s/(1-p_s)$ and $v = p_d/(1-p_d)$ its mean, divided by $(1-p_s)^{k_s}(1-p_d)^{k_d}$, is
   $\sum_{x,y} d(x,y)\binom{k_s}{x}\binom{k_d}{y}u^x v^y$. It is 0 for all $u, v > 0$, so every
   coefficient is 0; binomial coefficients are positive, so every $d(x,y)$ is.
3. Every order of $k$ flips with $x$ in all has the same probability $p^x(1-p)^{k-x}$, so given
   $X = x$ each has the probability $1/\binom kx$, whatever $p$ is. Hence the mean of $U$ given
   $(X, Y)$ does not depend on $p_s$ and $p_d$: it is a function of the counts, unbiased as $U$ is,
   and by step 2 it is $h$.
4. Given the counts, $E\,U^2 - h^2 = E\,(U - h)^2$. Averaged over the counts,
   $\mathrm{Var}\,U = \mathrm{Var}\,h(X,Y) + E\,(U - h(X,Y))^2$, and a mean of squares is not
   negative; it is 0 only where $U = h$.

References

- Halmos, "The theory of unbiased estimation", *Annals of Mathematical Statistics* 17 (1946);
  Hoeffding, "A class of statistics with asymptotically normal distribution", the same 19 (1948);
  Lehmann and Casella, *Theory of Point Estimation* (2nd ed. 1998), §2.1 (Rao, Blackwell, Lehmann
  and Scheffé).
"""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import sympy
from sympy import Eq, Function, Sum, Symbol, binomial

import carve_stats as cs

k, x, j = sympy.symbols("k x j", integer=True, nonnegative=True)
kept = Symbol("m", integer=True, nonnegative=True)
p, q = sympy.symbols("p q", positive=True)
H, b = Function("H"), Function("b")
var_u, var_h, square = (
    Symbol(name)
    for name in (
        r"\mathrm{Var}\,U",
        r"\mathrm{Var}\,h(X, Y)",
        r"E\,(U - h(X, Y))^2",
    )
)

FORMULAS = {
    "kernel": Eq(H(x, j), binomial(x, j) * binomial(k - x, kept - j) / binomial(k, kept)),
    "unbiased": Eq(Sum(b(k, x, p) * H(x, j), (x, 0, k)), b(kept, j, p)),
    "variance": sympy.Ge(var_u, var_h),
}
USED_BY = ("predict_signs", "routing_curve", "tie_excess")


def pmf(size, flips):
    """With the symbol q for 1 − p, so that powers stay in sight."""
    return binomial(size, flips) * p**flips * q ** (size - flips)


def same(one, other):
    """Whether two products of binomials and powers are the same, for symbolic arguments."""
    ratio = sympy.powsimp(sympy.expand_power_base(one / other, force=True), force=True)
    return sympy.simplify(sympy.combsimp(ratio.rewrite(sympy.factorial))) == 1


def test_step_1():
    kernel, unbiased = FORMULAS["kernel"].rhs, FORMULAS["unbiased"]
    rest = pmf(k - kept, x - j)
    assert same(pmf(k, x) * kernel, pmf(kept, j) * rest)
    # Over x the rest sums to (p + q)^(k − m) = 1: its terms are those of the binomial theorem.
    assert same(rest, binomial(k - kept, x - j) * p ** (x - j) * q ** (k - kept - (x - j)))
    assert unbiased.lhs == Sum(b(k, x, p) * H(x, j), (x, 0, k))
    said = unbiased.rhs.replace(b, lambda size, flips, rate: pmf(size, flips))
    assert same(said, pmf(kept, j))


def test_step_2():
    odds = Symbol("u", positive=True)
    in_odds = sympy.powsimp(pmf(k, x).subs(p, odds * q), force=True) / q**k
    assert same(in_odds, binomial(k, x) * odds**x)
    # So d(x, y) stands with the factor C(k_s, x) C(k_d, y), which is not 0 for x ≤ k_s, y ≤ k_d.
    over = Symbol("over", integer=True, nonnegative=True)
    factor = binomial(x + over, x).rewrite(sympy.factorial)
    assert factor.is_nonzero


def test_step_3():
    order = p**x * q ** (k - x)
    assert same(order / pmf(k, x), 1 / binomial(k, x))


def test_step_4():
    u, h, mean = sympy.symbols("u h mean")  # U, h of the same counts, and the common mean
    second = Symbol("second")  # E U² given the counts, where E U is h

    def given_counts(expression):
        moments = {0: 1, 1: h, 2: second}
        return sum(
            factor * moments[power] for (power,), factor in sympy.Poly(expression, u).terms()
        )

    gained = given_counts((u - h) ** 2)
    assert sympy.expand(given_counts((u - mean) ** 2) - (h - mean) ** 2 - gained) == 0
    # So Var U = Var h + E(U − h)², and the relation says that a mean of squares is not negative.
    relation = FORMULAS["variance"]
    difference = (relation.gts - relation.lts).subs(var_u, var_h + square)
    assert difference == square


def exact_shares(x, m, y, r, kept_sham, kept_destroy):
    """Negative, zero, positive among all subsets of the replays, counted one by one."""
    found = [0, 0, 0]
    for sham in combinations([1] * x + [0] * (m - x), kept_sham):
        for destroy in combinations([1] * y + [0] * (r - y), kept_destroy):
            numerator = sum(destroy) * kept_sham - sum(sham) * kept_destroy
            found[(numerator > 0) - (numerator < 0) + 1] += 1
    return [Fraction(one, sum(found)) for one in found]


def test_implementation_predict_signs():
    """Each table of k = 4, alone, at every smaller budget."""
    for x, y in product(range(5), repeat=2):
        counts = cs.ReplayCounts(["a"], [x], [4], [y], [4])
        for budget in ((1, 1), (2, 2), (3, 3), (1, 3), (4, 2)):
            point = cs.predict_signs(counts, k_sham=budget[0], k_destroy=budget[1]).point
            for found, exact in zip(point, exact_shares(x, 4, y, 4, *budget), strict=True):
                assert abs(Fraction(found) - exact) <= Fraction(1, 2**52)


def test_implementation_routing_curve():
    """The questions deferred at each k are the expected ones over all subsets."""
    tables = list(product(range(5), repeat=2))
    names = [f"q{i:02}" for i in range(len(tables))]
    sham, destroy = zip(*tables, strict=True)
    replays = [4] * len(tables)
    counts = cs.ReplayCounts(names, sham, replays, destroy, replays, cluster=names)
    outcomes = cs.Outcomes(names, [0, 1] * 12 + [0], {"other": [1] * len(tables)})
    curve = cs.routing_curve(counts, outcomes, "score <= 0", k=[1, 2, 3, 4])
    for point in curve.points:
        shares = [exact_shares(x, 4, y, 4, point.k, point.k) for x, y in tables]
        exact = sum(negative + zero for negative, zero, _ in shares)
        assert abs(Fraction(point.selected) - exact) <= exact * Fraction(1, 2**49)
        repairs = sum(negative + zero for negative, zero, _ in shares[::2])
        assert abs(Fraction(point.repairs) - repairs) <= exact * Fraction(1, 2**49)


def test_implementation_tie_excess():
    """At equal k: the shares among the subsets of the larger budgets."""
    rows = [(1, 4, 3, 4), (2, 3, 1, 3), (3, 4, 3, 3), (0, 3, 2, 4), (2, 3, 2, 3)]
    counts = cs.ReplayCounts(list("abcde"), *zip(*rows, strict=True))
    equal = cs.tie_excess(counts).equal_k
    assert equal.k == {"sham": 3, "destroy": 3}
    shares = [exact_shares(*row, 3, 3) for row in rows]
    for found, exact in zip(equal.observed, map(sum, zip(*shares, strict=True)), strict=True):
        assert abs(Fraction(found) - exact / len(rows)) <= Fraction(1, 2**52)


def test_implementation_is_unbiased():
    """Over all outcomes at k = 3, at dyadic rates."""
    law = {}
    for x, y in product(range(4), repeat=2):
        counts = cs.ReplayCounts(["a"], [x], [3], [y], [3])
        law[x, y] = [Fraction(one) for one in cs.predict_signs(counts, k=2).point]
    for sham, destroy in ((Fraction(1, 8), Fraction(5, 8)), (Fraction(1, 2), Fraction(3, 4))):

        def chance(size, x, y, s=sham, d=destroy):
            there = comb(size, x) * s**x * (1 - s) ** (size - x)
            return there * comb(size, y) * d**y * (1 - d) ** (size - y)

        mean = sum(chance(3, x, y) * shares[1] for (x, y), shares in law.items())
        exact = sum(chance(2, i, i) for i in range(3))
        assert abs(mean - exact) <= Fraction(1, 2**52)
