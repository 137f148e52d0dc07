r"""A polynomial below the target bounds what k replays leave open

A population $G$ shows the outcome $(x, y)$ at $k_s$ and $k_d$ replays with probability $f_{xy}$,
the mean of $b(k_s, x, p_s)\,b(k_d, y, p_d)$ over $G$, where
$b(k, x, p) = \binom kx p^x(1-p)^{k-x}$. Let $T(p_s, p_d)$ be what is asked for: the probability of
a sign at other budgets. If numbers $c_{xy}$ make
$T \ge \sum_{x,y} c_{xy}\,b(k_s, x, p_s)\,b(k_d, y, p_d)$ on the unit square, then for every
population that shows these $f$

[[bound]]

That $T$ is nowhere below is certain where the difference, written at one budget $K_s$, $K_d$ that
is large enough for both, has no negative coefficient; for $k \le K$

[[elevated]]

Lower bounds of $-T$ are upper ones of $T$. With $\bar t_k$ for the probability $E_G\,t_k$ of a tie
at $k$ replays in each arm,

[[example_low]]

[[example_high]]

for every population, with equality in either for some.

Proof

1. The mean over $G$ of $T - \sum c_{xy}\,b(k_s,x,p_s)\,b(k_d,y,p_d)$, which is nowhere negative,
   is not negative, and it is $E_G T - \sum c_{xy} f_{xy}$.
2. $\binom jx\binom{K-j}{k-x}b(K,j,p)/\binom Kk = b(k,x,p)\,b(K-k,j-x,p)$, and the second factor
   sums to 1 over $j$.
3. So the difference is $\sum_{j,l} d_{jl}\,b(K_s,j,p_s)\,b(K_d,l,p_d)$ with numbers $d_{jl}$. The
   $b$ are not negative and sum to 1: the difference is a weighted mean of the $d_{jl}$, and at
   least the smallest.
4. With $a = p_s p_d$ and $b = q_s q_d$, $t_1 = a + b$ and $t_2 = a^2 + 4ab + b^2$. For any number
   $c$, $t_2 - (2c\,t_1 - c^2) = (t_1 - c)^2 + 2ab \ge 0$, and $2c\,t_1 - c^2$ is of degree 1 in
   $p_s$ and $p_d$. With $c = \bar t_1$ its mean is $\bar t_1^2$.
5. $t_1 - t_2 = (a+b)(1-a-b) - 2ab$, whose coefficients at the budget $(3, 3)$ are all 0 or
   positive (at $(2, 2)$ one is not: a larger budget shows more).
6. Mass ½ on each of $(0, \frac12)$ and $(1, \frac12)$ has $t_1 = \frac12$ and $t_2 = \frac14$;
   mass on the corners of the square only has $t_1 = t_2$.

References

- Lasserre, *Moments, Positive Polynomials and Their Applications* (2010), chapter 1 (the dual of
  the moment problem); Garloff, "Convergent bounds for the range of multivariate polynomials",
  *Interval Mathematics 1985*.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Eq, Function, IndexedBase, Rational, Sum, Symbol, binomial

import carve_stats as cs

k, K, x, y, j = sympy.symbols("k K x y j", integer=True, nonnegative=True)
p, q = sympy.symbols("p q", positive=True)
b = Function("b")
coefficient, f = IndexedBase("c"), IndexedBase("f")
k_s, k_d = sympy.symbols("k_s k_d", integer=True, positive=True)
mean_T = Symbol(r"E_G\,T")
mean_1, mean_2 = Symbol(r"\bar{t}_1"), Symbol(r"\bar{t}_2")

FORMULAS = {
    "bound": sympy.Ge(mean_T, Sum(coefficient[x, y] * f[x, y], (x, 0, k_s), (y, 0, k_d))),
    "elevated": Eq(
        b(k, x, p),
        Sum(binomial(j, x) * binomial(K - j, k - x) / binomial(K, k) * b(K, j, p), (j, 0, K)),
    ),
    "example_low": sympy.Ge(mean_2, mean_1**2),
    "example_high": sympy.Le(mean_2, mean_1),
}
USED_BY = ("predict_signs",)


def pmf(size, flips):
    """With the symbol q for 1 − p, so that powers stay in sight."""
    return binomial(size, flips) * p**flips * q ** (size - flips)


def same(one, other):
    """Whether two products of binomials and powers are the same, for symbolic arguments."""
    ratio = sympy.powsimp(sympy.expand_power_base(one / other, force=True), force=True)
    return sympy.simplify(sympy.combsimp(ratio.rewrite(sympy.factorial))) == 1


def test_step_1():
    relation = FORMULAS["bound"]
    # E_G(T − Σ c b b) = E_G T − Σ c f, which the relation says is not negative.
    averaged = Symbol("averaged", nonnegative=True)
    known = Sum(coefficient[x, y] * f[x, y], (x, 0, k_s), (y, 0, k_d))
    assert (relation.gts - relation.lts).subs(mean_T, averaged + known) == averaged
    # By their definitions, for a population of two kinds of questions at one replay an arm.
    shares, above = sympy.symbols("g_1:3", nonnegative=True), sympy.symbols("above_1:3")
    shown = [IndexedBase(name) for name in ("b_1", "b_2")]
    cells = list(product(range(2), repeat=2))
    targets = [
        sum(coefficient[cell] * one[cell] for cell in cells) + over
        for one, over in zip(shown, above, strict=True)
    ]
    at = {f[cell]: sum(g * o[cell] for g, o in zip(shares, shown, strict=True)) for cell in cells}
    at[mean_T] = sum(g * target for g, target in zip(shares, targets, strict=True))
    left = (relation.gts - relation.lts).subs({k_s: 1, k_d: 1}).doit().subs(at)
    assert sympy.expand(left - sum(g * o for g, o in zip(shares, above, strict=True))) == 0


def test_step_2():
    summed = FORMULAS["elevated"].rhs
    assert summed.limits == ((j, 0, K),)
    ours = summed.function.subs(b(K, j, p), pmf(K, j))
    rest = pmf(K - k, j - x)
    assert same(ours, pmf(k, x) * rest)
    # Over j the rest sums to (p + q)^(K − k) = 1: its terms are those of the binomial theorem.
    assert same(rest, binomial(K - k, j - x) * p ** (j - x) * q ** (K - k - (j - x)))


def test_step_3():
    over = Symbol("over", integer=True, nonnegative=True)
    term = (binomial(j + over, j).rewrite(sympy.factorial)) * p**j * q**over
    assert term.is_nonnegative
    # d_jl = least + above_jl: the mean over weights that sum to 1 is least + a mean of above_jl.
    least = Symbol("least", real=True)
    above = sympy.symbols("above_1:4", nonnegative=True)
    odds = sympy.symbols("odds_1:4", positive=True)
    averaged = sum(o * (least + more) for o, more in zip(odds, above, strict=True)) / sum(odds)
    left = sum(o * more for o, more in zip(odds, above, strict=True)) / sum(odds)
    assert sympy.simplify(averaged - least - left) == 0
    assert left.is_nonnegative


A, B, c = sympy.symbols("a b c", nonnegative=True)
TIES = A + B, A**2 + 4 * A * B + B**2


def test_step_4():
    p_s, p_d = sympy.symbols("p_s p_d")
    for size, form in ((1, TIES[0]), (2, TIES[1])):  # the forms are those of the law
        law = sum(
            comb(size, i) ** 2 * (p_s * p_d) ** i * ((1 - p_s) * (1 - p_d)) ** (size - i)
            for i in range(size + 1)
        )
        assert sympy.expand(law - form.subs({A: p_s * p_d, B: (1 - p_s) * (1 - p_d)})) == 0
    below = 2 * c * TIES[0] - c**2
    assert sympy.expand(TIES[1] - below - (TIES[0] - c) ** 2 - 2 * A * B) == 0
    degrees = sympy.Poly(TIES[0].subs({A: p_s * p_d, B: (1 - p_s) * (1 - p_d)}), p_s, p_d)
    assert [degrees.degree(rate) for rate in (p_s, p_d)] == [1, 1]
    relation = FORMULAS["example_low"]
    excess = Symbol("excess", nonnegative=True)
    above = (2 * c * mean_1 - c**2).subs(c, mean_1) + excess  # E t_2, from step 1
    assert sympy.expand((relation.gts - relation.lts).subs(mean_2, above)) == excess


def test_step_5():
    p_s, p_d = sympy.symbols("p_s p_d")
    polynomial = (TIES[0] - TIES[1]).subs({A: p_s * p_d, B: (1 - p_s) * (1 - p_d)})
    powers = dict(sympy.Poly(sympy.expand(polynomial), p_s, p_d).terms())
    assert max(max(degree) for degree in powers) == 2
    coefficients = {
        (i, h): sum(
            powers.get((r, s), 0) * Rational(comb(i, r) * comb(h, s), comb(3, r) * comb(3, s))
            for r, s in product(range(i + 1), range(h + 1))
        )
        for i, h in product(range(4), repeat=2)
    }
    back = sum(
        value
        * comb(3, i)
        * comb(3, h)
        * p_s**i
        * (1 - p_s) ** (3 - i)
        * p_d**h
        * (1 - p_d) ** (3 - h)
        for (i, h), value in coefficients.items()
    )
    assert sympy.expand(back - polynomial) == 0
    assert all(value >= 0 for value in coefficients.values())
    relation = FORMULAS["example_high"]
    lost = Symbol("lost", nonnegative=True)
    assert (relation.gts - relation.lts).subs(mean_2, mean_1 - lost) == lost


def test_step_6():
    half = Rational(1, 2)
    for relation, atoms in (
        (FORMULAS["example_low"], ((0, half), (1, half))),
        (FORMULAS["example_high"], tuple(product((0, 1), repeat=2))),
    ):
        means = [
            sum(tie.subs({A: s * d, B: (1 - s) * (1 - d)}) for s, d in atoms) / len(atoms)
            for tie in TIES
        ]
        assert (relation.lhs - relation.rhs).subs({mean_1: means[0], mean_2: means[1]}) == 0


SLACK = 3e-4  # that identified ranges may be wider than sharp ones: the package says some 2e-4


def test_implementation_predict_signs():
    """From k = 1, each of the four outcomes as often: [¼, ½] at k = 2, and both ends occur."""
    names = [f"q{i:02}" for i in range(40)]
    counts = cs.ReplayCounts(names, [0, 0, 1, 1] * 10, [1] * 40, [0, 1, 0, 1] * 10, [1] * 40)
    prediction = cs.predict_signs(counts, k=2)
    fitted, zero = prediction.population, prediction.identified.zero
    once = fitted.signs(1).zero
    assert abs(once - 0.5) < 1e-12
    assert once**2 - SLACK <= zero.low <= once**2 + 1e-6
    assert once - 1e-6 <= zero.high <= once + SLACK
    for p_sham, p_destroy in (([0, 1], [0.5, 0.5]), ([0, 0, 1, 1], [0, 1, 0, 1]), ([0.5], [0.5])):
        rival = cs.Population(p_sham, p_destroy)
        assert Fraction(rival.signs(1).zero) == Fraction(1, 2)
        assert zero.low <= rival.signs(2).zero <= zero.high


def test_implementation_other_populations():
    """No population with the fitted cells of k = 1 is outside: corners, and the fit itself."""
    names = [f"q{i:02}" for i in range(32)]
    tables = [(0, 1)] * 15 + [(1, 1)] * 8 + [(0, 0)] * 6 + [(1, 0)] * 3
    sham, destroy = zip(*tables, strict=True)
    counts = cs.ReplayCounts(names, sham, [1] * 32, destroy, [1] * 32)
    for budget in (2, 3, 5):
        prediction = cs.predict_signs(counts, k=budget, model="em")
        fitted, weights = prediction.population, prediction.population.weights
        s, d = fitted.p_sham, fitted.p_destroy
        corners = [weights @ one for one in ((1 - s) * (1 - d), (1 - s) * d, s * (1 - d), s * d)]
        for rival in (fitted, cs.Population([0, 0, 1, 1], [0, 1, 0, 1], corners)):
            for found, bounds in zip(rival.signs(budget), prediction.identified, strict=True):
                assert bounds.low - 1e-9 <= found <= bounds.high + 1e-9
