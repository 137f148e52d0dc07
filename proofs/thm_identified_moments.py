r"""k replays fix the moments of a population up to degree (k, k), and nothing more

Questions have $(p_s, p_d)$ from a population $G$ on the unit square, and $k$ replays in each arm;
$f_{xy}$ is the probability that a question shows $x$ SHAM and $y$ DESTROY flips. For $a, c \le k$,

[[moments]]

and the other way round the probabilities $f_{xy}$ are fixed combinations of these moments, with
$b(k,x,p) = \binom kx p^x(1-p)^{k-x}$ and

[[cells]]

So populations show the same at $k$ replays exactly where they have the same moments
$E[p_s^a p_d^c]$, $a, c \le k$. More is not fixed, for any $k$: give a population $G$ the mass
$\binom{k+1}{j}/2^k$ at $(\frac{j}{k+1}, 1)$ for the even $j$ from 0 to $k+1$, and $H$ the same for
the odd $j$. They show the same at every budget up to $k$, and at $k+1$ their probabilities of a
tie $t_{k+1}$ differ,

[[differ]]

Proof

1. $\binom xa b(k,x,p)/\binom ka = p^a\,b(k-a,x-a,p)$, and the sum over $x$ is $p^a$. The product
   of both arms, averaged over $G$, is the first form.
2. $(1-p)^{k-x}$ is $\sum_m \binom{k-x}{m-x}(-p)^{m-x}$, and
   $\binom kx\binom{k-x}{m-x} = \binom km\binom mx$: the second form. The product of both arms has
   degree $k$ in each, so its average is a combination of those moments.
3. $\sum_j (-1)^j\binom Nj$, over $j$ from 0 to $N$, is $(1-1)^N = 0$ for $N \ge 1$: with $N = k+1$
   the masses of $G$ and $H$ sum to the same, which is half of $2^{k+1}/2^k$.
4. With the falling factorial $j^{\underline m}$,
   $\binom Nj\,j^{\underline m} = N^{\underline m}\binom{N-m}{j-m}$, so
   $\sum_j (-1)^j \binom Nj\,j^{\underline m}$ is $(-1)^m N^{\underline m}(1-1)^{N-m}$: 0 for
   $m < N$, and $(-1)^N N!$ for $m = N$.
5. $j^m$ is a sum of $j^{\underline 0}, \dots, j^{\underline m}$, the last with the coefficient 1.
   So $\sum_j (-1)^j\binom{N}{j} (j/N)^m$ is 0 for $m < N$ and $(-1)^N N!/N^N$ for $m = N$. The
   first says that $E_G\,p_s^m = E_H\,p_s^m$ for $m \le k$; and as $p_d = 1$, that all moments up
   to degree $(k,k)$ agree.
6. Where DESTROY always flips, $k+1$ replays tie if SHAM always does, with probability $p_s^{k+1}$.
   With $N = m = k+1$, step 5 divided by $2^k$ is the difference.

References

- Teicher, "Identifiability of mixtures", *Annals of Mathematical Statistics* 32 (1961); Wood,
  "Binomial mixtures: geometric estimation of the mixing distribution", *Annals of Statistics* 27
  (1999), on the moments that binomial counts identify.
"""

from fractions import Fraction
from math import comb, factorial

import sympy
from sympy import Eq, Function, IndexedBase, Sum, Symbol, binomial

import carve_stats as cs

k, x, y, a, c, m, j = sympy.symbols("k x y a c m j", integer=True, nonnegative=True)
p, p_s, p_d = sympy.symbols("p p_s p_d", positive=True)
f = IndexedBase("f")
b, E = Function("b"), Function("E")
ties = Symbol("t_{k+1}(G) - t_{k+1}(H)")

FORMULAS = {
    "moments": Eq(
        E(p_s**a * p_d**c),
        Sum(
            binomial(x, a) * binomial(y, c) / (binomial(k, a) * binomial(k, c)) * f[x, y],
            (x, 0, k),
            (y, 0, k),
        ),
    ),
    "cells": Eq(
        b(k, x, p),
        Sum((-1) ** (m - x) * binomial(k, m) * binomial(m, x) * p**m, (m, x, k)),
    ),
    "differ": Eq(
        ties,
        (-1) ** (k + 1) * sympy.factorial(k + 1) / (2**k * (k + 1) ** (k + 1)),
    ),
}
USED_BY = ("predict_signs", "Population.signs", "question_posteriors")


def same(one, other):
    """Whether two products of binomials and powers are the same, for symbolic arguments."""
    ratio = sympy.powsimp(sympy.expand_power_base(one / other, force=True), force=True)
    return sympy.simplify(sympy.combsimp(ratio.rewrite(sympy.factorial))) == 1


def pmf(size, successes, rate, other):
    """With a symbol for 1 − rate, so that powers stay in sight."""
    return binomial(size, successes) * rate**successes * other ** (size - successes)


def test_step_1():
    q, q_s, q_d = sympy.symbols("q q_s q_d", positive=True)
    summed = FORMULAS["moments"].rhs.function.subs(
        f[x, y], pmf(k, x, p_s, q_s) * pmf(k, y, p_d, q_d)
    )
    assert FORMULAS["moments"].rhs.limits == ((x, 0, k), (y, 0, k))
    moved = p_s**a * pmf(k - a, x - a, p_s, q_s) * p_d**c * pmf(k - c, y - c, p_d, q_d)
    assert same(summed, moved)
    # Σ_x b(k − a, x − a, p) = (p + q)^(k − a): the binomial theorem, whose terms these are.
    assert same(pmf(k - a, x - a, p, q), binomial(k - a, x - a) * p ** (x - a) * q ** (k - x))


def test_step_2():
    said = FORMULAS["cells"].rhs
    assert said.limits == ((m, x, k),)
    alternating = sympy.Symbol("alternating", positive=True)  # for (−1)^(m − x)
    ours = binomial(k, x) * p**x * binomial(k - x, m - x) * alternating * p ** (m - x)
    assert same(said.function.subs((-1) ** (m - x), alternating), ours)


def test_step_3():
    z = sympy.Symbol("z")
    size = sympy.Symbol("N", integer=True, positive=True)
    assert sympy.simplify(((1 + z) ** size).subs(z, -1)) == 0
    masses = binomial(k + 1, j) / 2**k
    assert sympy.simplify(((1 + z) ** (k + 1)).subs(z, 1) * masses.subs(j, 0)) == 2


def test_step_4():
    size = sympy.Symbol("N", integer=True, positive=True)
    falling = sympy.factorial(j) / sympy.factorial(j - m)
    outside = sympy.factorial(size) / sympy.factorial(size - m)
    assert same(binomial(size, j) * falling, outside * binomial(size - m, j - m))
    # Σ_j (−1)^j C(N − m, j − m) = (−1)^m (1 − 1)^(N − m), which is 0 below m = N.
    positive = sympy.Symbol("positive", integer=True, positive=True)
    assert sympy.Integer(0) ** positive == 0
    assert sympy.Integer(0) ** 0 == 1
    assert outside.subs(m, size) == sympy.factorial(size)


def test_step_5():
    # One factor j more: j·j^(m falling) = j^(m + 1 falling) + m·j^(m falling). By induction j^m is
    # a sum of falling factorials, in which j^(m falling) has the coefficient 1.
    falling = sympy.ff(j, m)
    grown = sympy.ff(j, m + 1) + m * falling
    assert sympy.simplify(sympy.combsimp((grown / (j * falling)).rewrite(sympy.gamma))) == 1
    size = sympy.Symbol("N", integer=True, positive=True)
    top = (-1) ** size * sympy.factorial(size) / size**size
    assert sympy.simplify(top.subs(size, k + 1) / 2**k - FORMULAS["differ"].rhs) == 0


def test_step_6():
    flipped = sympy.Symbol("p_s")
    size = sympy.Symbol("N", integer=True, positive=True)
    # Σ_x b(N, x, p_s) b(N, x, 1): only x = N has a DESTROY probability, 1.
    assert pmf(size, size, flipped, 1 - flipped) == flipped**size
    assert pmf(size, x, 1, 0).subs(x, size) == 1
    assert sympy.Integer(0) ** sympy.Symbol("missing", integer=True, positive=True) == 0
    difference = (-1) ** size * sympy.factorial(size) / size**size / 2 ** (size - 1)
    assert sympy.simplify(difference.subs(size, k + 1) - FORMULAS["differ"].rhs) == 0


def two_populations(size):
    """Atoms and masses of G and H, by the parity of j."""
    return [
        [(Fraction(i, size + 1), Fraction(comb(size + 1, i), 2**size))
         for i in range(parity, size + 2, 2)]
        for parity in (0, 1)
    ]  # fmt: skip


def test_implementation_population():
    for size in (1, 3, 7):  # whose atoms are doubles
        populations = []
        for atoms in two_populations(size):
            rates, masses = ([float(one) for one in column] for column in zip(*atoms, strict=True))
            populations.append(cs.Population(rates, [1.0] * len(rates), masses))
        for budget in range(1, size + 2):
            shares = [population.signs(budget) for population in populations]
            exact = Fraction(0)
            if budget == size + 1:
                exact = Fraction(
                    (-1) ** (size + 1) * factorial(size + 1), 2**size * (size + 1) ** (size + 1)
                )
            found = Fraction(shares[0].zero) - Fraction(shares[1].zero)
            assert abs(found - exact) <= Fraction(1, 2**51)
            negative = Fraction(shares[0].negative) - Fraction(shares[1].negative)
            assert abs(negative) <= Fraction(1, 2**51)


def test_implementation_predict_signs():
    """The two populations give the same counts at k = 3, and the interval at 4 holds both.

    The identified range is that of the fitted cells, which are not quite the observed ones.
    """
    tables, ties = [], []
    for atoms in two_populations(3):
        tables.append(
            [sum(mass * comb(3, i) * rate**i * (1 - rate) ** (3 - i) for rate, mass in atoms)
             for i in range(4)]
        )  # fmt: skip
        ties.append(sum(mass * rate**4 for rate, mass in atoms))
    assert tables[0] == tables[1]
    assert abs(ties[0] - ties[1]) == Fraction(24, 2**3 * 4**4)
    questions = [int(512 * share) for share in tables[0]]
    sham = [i for i, times in enumerate(questions) for _ in range(times)]
    names = [f"q{i}" for i in range(512)]
    counts = cs.ReplayCounts(names, sham, [3] * 512, [3] * 512, [3] * 512, cluster=names)
    for budget in (1, 2, 3):  # fixed
        zero = cs.predict_signs(counts, k=budget).identified.zero
        exact = sum(mass * rate**budget for rate, mass in two_populations(3)[0])
        for end in zero:
            assert abs(Fraction(end) - exact) <= Fraction(1, 2**51)
    prediction = cs.predict_signs(counts, k=4)  # not fixed
    identified, interval = prediction.identified.zero, prediction.interval.zero
    assert identified.low < prediction.population.signs(4).zero < identified.high
    assert interval.low <= min(ties) < max(ties) <= interval.high


def test_implementation_question_posteriors():
    """What all flips say of a question differs between the two: a moment of degree k + 1."""
    for size in (1, 3, 7):
        counts = cs.ReplayCounts(["q"], [size], [size], [size], [size])
        found, exact = [], []
        for atoms in two_populations(size):
            rates, masses = ([float(one) for one in column] for column in zip(*atoms, strict=True))
            population = cs.Population(rates, [1.0] * len(rates), masses)
            found.append(Fraction(cs.question_posteriors(counts, population).mean_difference[0]))
            moments = [sum(mass * rate**n for rate, mass in atoms) for n in (size, size + 1)]
            exact.append(1 - moments[1] / moments[0])
        assert exact[0] != exact[1]
        for one, other in zip(found, exact, strict=True):
            assert abs(one - other) <= Fraction(1, 2**50)
