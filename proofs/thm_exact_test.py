r"""Exact tests hold their level, and Bernstein coefficients bound their p-values

SHAM flips in $x$ of $k_s$ replays and DESTROY in $y$ of $k_d$, $N = k_s + k_d$, $s = x + y$. If
both arms flip at the same rate $\pi$, a table has the probability

[[table]]

A test orders the tables by a statistic $S$, and the p-value of a table is the supremum over $\pi$
of the probability of tables whose $S$ is at least as large. Whatever $S$ and the true $\pi$ are,

[[valid]]

Let $\beta_s$ be the share of the extreme tables among those of $s$ flips, each table counted
$\binom{k_s}{x}\binom{k_d}{y}$ times, and $b(N,s,\pi) = \binom Ns\pi^s(1-\pi)^{N-s}$. The
probability of an extreme table is $\sum_s \beta_s\,b(N,s,\pi)$, and lies between the least and the
largest $\beta_s$. On the part $\pi = tu$ with $u$ from 0 to 1 it is such a sum again, since

[[halves]]

with weighted means of the $\beta_s$ for its coefficients; so cutting $[0, 1]$ encloses the p-value
ever more closely. Barnard's test orders by the pooled $z$, and with $d = y\,k_s - x\,k_d$

[[order]]

so that whole numbers decide the order (where $s$ is 0 or $N$, $d$ is 0 too, and $z$ is taken as
0). Exchanging the arms, or flips and non-flips, turns the sign
of $z$ and leaves the two-sided p-values as they are.

Proof

1. The arms are independent and binomial, and the powers of $\pi$ and of $1-\pi$ add up. The tables
   of the same $s$ have $\sum_x\binom{k_s}x\binom{k_d}{s-x} = \binom Ns$ in all, so that those that
   are extreme have the part $\beta_s$ of $b(N,s,\pi)$, $0 \le \beta_s \le 1$.
2. Of the tables with a p-value of at most $\alpha$ take one whose $S$ is smallest. The p-value
   does not grow with $S$, so these tables are those with $S$ at least as large; the probability of
   that is at most the supremum of it, which is the p-value of the table taken, and that is at most
   $\alpha$.
3. The $b(N,s,\pi)$ are not negative and sum to 1: the probability is a weighted mean of the
   $\beta_s$.
4. $b(j,s,t)\,b(N,j,u) = b(N,s,tu)\,b(N-s,j-s,v)$ with $v = \frac{u(1-t)}{1-tu}$, and the second
   factor sums to 1 over $j$. So the coefficients on $[0, t]$ are the weighted means
   $\sum_s b(j,s,t)\,\beta_s$; those on $[t, 1]$ are the same for the reversed polynomial.
5. $z = \frac{y/k_d - x/k_s}{\sqrt{\hat p(1-\hat p)(1/k_s + 1/k_d)}}$ with $\hat p = s/N$; its
   square is the form, and its sign that of $d$.
6. Exchanging the arms turns $d$ and keeps $s$; exchanging flips and non-flips turns $d$ and puts
   $N - s$ for $s$. Both keep $z^2$. The first keeps the probability of a table, the second puts
   $1-\pi$ for $\pi$ in it, and the supremum over $\pi$ is the same.

References

- Barnard, "Significance tests for 2×2 tables", *Biometrika* 34 (1947); Suissa and Shuster, "Exact
  unconditional sample sizes for the 2×2 binomial trial", *Journal of the Royal Statistical Society
  A* 148 (1985) 317–327, for the order by the pooled $z$; Lehmann and Romano,
  *Testing Statistical Hypotheses* (3rd ed. 2005), §3.3 (validity of p-values); Lane and
  Riesenfeld, "Bounds on a polynomial", *BIT* 21 (1981).
"""

from fractions import Fraction
from itertools import pairwise, product
from math import comb

import sympy
from sympy import Eq, Function, Sum, Symbol, binomial

import carve_stats as cs

x, y, k_s, k_d, s, j, N = sympy.symbols("x y k_s k_d s j N", integer=True, nonnegative=True)
rate, t, u, alpha = sympy.symbols("pi t u alpha", positive=True)
P, b = Function("P"), Function("b")
rejected = Symbol(r"P_{\pi}(p \leq \alpha)")

FORMULAS = {
    "table": Eq(
        P(x, y),
        binomial(k_s, x) * binomial(k_d, y) * rate ** (x + y) * (1 - rate) ** (k_s + k_d - x - y),
    ),
    "valid": sympy.Le(rejected, alpha),
    "halves": Eq(b(N, s, t * u), Sum(b(j, s, t) * b(N, j, u), (j, s, N))),
    "order": Eq(Symbol("z") ** 2, N * Symbol("d") ** 2 / (k_s * k_d * s * (N - s))),
}
USED_BY = ("exact_p_values", "exact_test")


def pmf(size, flips, at, other):
    """With a symbol for 1 − π, so that powers stay in sight."""
    return binomial(size, flips) * at**flips * other ** (size - flips)


def same(one, other):
    """Whether two products of binomials and powers are the same, for symbolic arguments."""
    ratio = sympy.powsimp(sympy.expand_power_base(one / other, force=True), force=True)
    return sympy.simplify(sympy.combsimp(ratio.rewrite(sympy.factorial))) == 1


def test_step_1():
    q = Symbol("q", positive=True)
    said = FORMULAS["table"].rhs.subs(1 - rate, q)
    assert same(said, pmf(k_s, x, rate, q) * pmf(k_d, y, rate, q))
    # Vandermonde: C(k_s, x) C(k_d, s − x) are the parts of the coefficient of z^s in the product
    # of (1 + z)^k_s and (1 + z)^k_d, and that of (1 + z)^N is C(N, s).
    z = Symbol("z", positive=True)
    assert sympy.powsimp((1 + z) ** k_s * (1 + z) ** k_d) == (1 + z) ** (k_s + k_d)
    assert same(pmf(N, s, rate, q), binomial(N, s) * rate**s * q ** (N - s))


def test_step_2():
    below, margin = sympy.symbols("below margin", nonnegative=True)
    # P(S ≥ s*) = its supremum less `below`, and that supremum, the p-value, is α less `margin`.
    relation = FORMULAS["valid"]
    left = (relation.gts - relation.lts).subs(rejected, (alpha - margin) - below)
    assert left == below + margin
    assert left.is_nonnegative


def test_step_2_for_all_orders_of_one_replay():
    """The tables with p ≤ α are a level set of S: all ways to order the four tables, ties too."""
    tables = list(product((0, 1), repeat=2))
    for ranks in product(range(4), repeat=4):
        values = {}
        for table, rank in zip(tables, ranks, strict=True):
            extreme = [other for other, r in zip(tables, ranks, strict=True) if r >= rank]
            values[table] = largest([share(extreme, 1, 1, flips) for flips in range(3)])
        for level in values.values():
            set_of = [table for table in tables if values[table] <= level]
            worst = largest([share(set_of, 1, 1, flips) for flips in range(3)])
            assert worst <= level


def share(extreme, m, r, flips):
    """β_s: the extreme tables' part of all with so many flips."""
    ways = sum(comb(m, one) * comb(r, two) for one, two in extreme if one + two == flips)
    return Fraction(ways, comb(m + r, flips))


def largest(beta):
    """The maximum over [0, 1] of a polynomial of degree 2 in Bernstein form, exactly."""
    first, middle, last = beta
    best = max(first, last)
    bend = first - 2 * middle + last
    if bend < 0:
        top = (first - middle) / bend
        if 0 < top < 1:
            best = max(best, first - (first - middle) ** 2 / bend)
    return best


def test_step_3():
    over = Symbol("over", integer=True, nonnegative=True)
    q = Symbol("q", positive=True)
    assert (binomial(s + over, s).rewrite(sympy.factorial) * rate**s * q**over).is_positive
    parts = sympy.symbols("part_1:4", nonnegative=True)
    odds = sympy.symbols("odds_1:4", positive=True)
    least = Symbol("least")
    averaged = sum(o * (least + a) for o, a in zip(odds, parts, strict=True)) / sum(odds)
    rest = sum(o * a for o, a in zip(odds, parts, strict=True)) / sum(odds)
    assert sympy.simplify(averaged - least - rest) == 0
    assert rest.is_nonnegative


def test_step_4():
    without, beyond, neither = sympy.symbols("without beyond neither", positive=True)
    # 1 − t, 1 − u and 1 − tu; v = u(1 − t)/(1 − tu) has 1 − v = (1 − u)/(1 − tu).
    v, other = u * without / neither, beyond / neither
    exact = {without: 1 - t, beyond: 1 - u, neither: 1 - t * u}
    assert sympy.simplify((v + other - 1).subs(exact)) == 0
    summed = FORMULAS["halves"].rhs
    assert summed.limits == ((j, s, N),)
    others = {t: without, u: beyond}
    ours = summed.function.replace(b, lambda size, flips, at: pmf(size, flips, at, others[at]))
    assert same(ours, pmf(N, s, t * u, neither) * pmf(N - s, j - s, v, other))


def test_step_5():
    pooled = s / N
    square = (y / k_d - x / k_s) ** 2 / (pooled * (1 - pooled) * (1 / k_s + 1 / k_d))
    (said,) = sympy.solve(FORMULAS["order"].subs(Symbol("z") ** 2, Symbol("square")), "square")
    said = said.subs(Symbol("d"), y * k_s - x * k_d)
    assert sympy.simplify((square - said).subs(s, x + y).subs(N, k_s + k_d)) == 0


def test_step_6():
    difference = y * k_s - x * k_d
    arms = {x: y, y: x, k_s: k_d, k_d: k_s}
    flips = {x: k_s - x, y: k_d - y}
    said = FORMULAS["order"].rhs.subs({Symbol("d"): difference, s: x + y, N: k_s + k_d})
    table = FORMULAS["table"].rhs
    for exchange in (arms, flips):
        turned = difference.subs(exchange, simultaneous=True)
        assert sympy.expand(turned + difference) == 0
        assert sympy.simplify(said.subs(exchange, simultaneous=True) - said) == 0
    assert sympy.simplify(table.subs(arms, simultaneous=True) - table) == 0
    q = Symbol("q", positive=True)
    table = table.subs(1 - rate, q)
    swapped = table.subs({rate: q, q: rate}, simultaneous=True)
    assert same(table.subs(flips, simultaneous=True), swapped)


def enclosed(beta, width):
    """Exact bounds of the maximum of Σ β_s b(N, s, π), by halving as in step 4."""
    lower, pieces = max(beta[0], beta[-1]), [beta]
    while True:
        pieces = [piece for piece in pieces if max(piece) > lower + width]
        if not pieces:
            return lower, lower + width
        halves = []
        for piece in pieces:
            first, row = [piece[0]], piece
            last = [piece[-1]]
            while len(row) > 1:
                row = [(one + two) / 2 for one, two in pairwise(row)]
                first.append(row[0])
                last.append(row[-1])
            lower = max(lower, first[-1])
            halves += [first, last[::-1]]
        pieces = halves


def statistic(a, c, m, r):
    """z² as a fraction, 0 where nothing or everything flipped."""
    flips = a + c
    if flips in (0, m + r):
        return Fraction(0)
    return Fraction((m + r) * (c * m - a * r) ** 2, m * r * flips * (m + r - flips))


WIDTH = Fraction(1, 10**7)


def test_implementation_exact_test():
    for m, r in ((1, 1), (2, 2), (3, 3), (2, 3), (1, 4)):
        found = cs.exact_test(m, r)
        tables = list(product(range(m + 1), range(r + 1)))
        for a, c in tables:
            own = statistic(a, c, m, r)
            extreme = [table for table in tables if statistic(*table, m, r) >= own]
            beta = [share(extreme, m, r, flips) for flips in range(m + r + 1)]
            low, high = enclosed(beta, WIDTH)
            p_value = Fraction(float(found.p_values[a, c]))
            assert low - Fraction(1, 2**51) <= p_value <= high + Fraction(1, 2**51)
            assert Fraction(float(found.lower[a, c])) <= p_value
        exchanged = cs.exact_test(r, m).p_values
        assert (found.p_values == exchanged.T).all()
        assert (found.p_values == found.p_values[::-1, ::-1]).all()


def test_implementation_levels():
    """Every test rejects at a p-value's own level with no more than that probability."""
    for test in ("barnard", "barnard-unpooled", "boschloo", "fisher"):
        for alternative in ("two-sided", "greater", "less"):
            for m, r in ((2, 2), (3, 3), (2, 3)):
                values = cs.exact_test(m, r, test=test, alternative=alternative).p_values
                for level in {float(one) for one in values.ravel()}:
                    rejects = [t for t in product(range(m + 1), range(r + 1)) if values[t] <= level]
                    beta = [share(rejects, m, r, flips) for flips in range(m + r + 1)]
                    low, _ = enclosed(beta, WIDTH)
                    assert low <= Fraction(level) + Fraction(1, 2**51)


def test_implementation_exact_p_values():
    for m, r in ((3, 3), (2, 4)):
        table = cs.exact_test(m, r).p_values
        for a, c in product(range(m + 1), range(r + 1)):
            assert cs.exact_p_values(a, m, c, r) == table[a, c]
    assert Fraction(float(cs.exact_p_values(0, 3, 3, 3))) == Fraction(1, 32)
