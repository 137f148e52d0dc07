r"""The difference of the counts has one peak: its law is log-concave, and more than that

Let $X \sim \mathrm{Bin}(k_s, p_s)$ SHAM and $Y \sim \mathrm{Bin}(k_d, p_d)$ DESTROY replays flip,
independently, $N = k_s + k_d$, and $f_n = \mathrm{P}(Y - X = n - k_s)$. For $0 < n < N$

[[newton]]

[[concave]]

So $f_n/f_{n-1}$ falls in $n$: the probabilities rise to one peak, which may be two neighbours, and
fall from there, ever faster. At one $k$ in both arms they are the law of the score $\hat\Delta$,
point by point. For $k_s \ne k_d$ the law of the score itself has no such shape: for $k_s = 2$,
$k_d = 3$ and rates of $\frac12$ it is $\frac{1}{32}(1, 3, 2, 3, 6, 2, 6, 3, 2, 3, 1)$.

Proof

1. The polynomial $G(z) = \sum_n f_n z^n = (q_d + p_d z)^{k_d}(p_s + q_s z)^{k_s}$ (thm_law) has $N$
   real roots, $-q_d/p_d$ and $-p_s/q_s$, none of them positive. By Rolle's theorem each derivative
   of a polynomial with only real roots has only real roots; so has the polynomial with its
   coefficients in the opposite order, whose roots are the inverse ones.
2. Write $f_n = \binom Nn g_n$. The derivative of $\sum_n \binom Nn g_n z^n$ is
   $N\sum_n \binom{N-1}{n} g_{n+1} z^n$: it shifts the $g$ by one. The opposite order exchanges
   $g_n$ and $g_{N-n}$. So $n - 1$ derivatives of $G$, the opposite order, and $N - n - 1$
   derivatives of that leave a multiple of $g_{n+1} + 2g_n z + g_{n-1}z^2$.
3. This quadratic has real roots: $g_n^2 \ge g_{n-1}g_{n+1}$. In terms of $f$ that is the first
   inequality, since ${\binom Nn}^2 = \binom{N}{n-1}\binom{N}{n+1}\frac{(n+1)(N-n+1)}{n(N-n)}$. The
   last factor exceeds 1, which gives the second. Rates of 0 and 1 are limits of others.

References

- Hardy, Littlewood and Pólya, *Inequalities* (Cambridge, 1934), sections 2.22 and 4.3: Newton's
  inequalities.
- Stanley, *Log-concave and unimodal sequences in algebra, combinatorics, and geometry*, Annals of
  the New York Academy of Sciences 576 (1989) 500–535, section 2.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Ge, IndexedBase, binomial

import carve_stats as cs

p_s, p_d, q_s, q_d, z = sympy.symbols("p_s p_d q_s q_d z", positive=True)
k_s, k_d, N, i = sympy.symbols("k_s k_d N n", integer=True, positive=True)
f, g = IndexedBase("f"), IndexedBase("g")

FORMULAS = {
    "newton": Ge(f[i] ** 2, (i + 1) * (N - i + 1) / (i * (N - i)) * f[i - 1] * f[i + 1]),
    "concave": Ge(f[i] ** 2, f[i - 1] * f[i + 1]),
}
USED_BY = ("FiniteReplayLaw.pmf",)


def test_step_1():
    generating = (q_d + p_d * z) ** k_d * (p_s + q_s * z) ** k_s
    root = sympy.Symbol("root")
    for factor, order in generating.as_powers_dict().items():
        (found,) = sympy.solve(factor.subs(z, root), root)
        assert found.is_negative
        assert order in (k_s, k_d)
    # Between two roots, and at each of a higher order, the derivative has one: Rolle.
    other = sympy.Function("other")(z)
    at = sympy.Symbol("at", real=True)
    slope = sympy.diff((z - at) ** i * other, z) / (z - at) ** (i - 1)
    rest = i * other + (z - at) * sympy.diff(other, z)
    assert sympy.expand(sympy.powsimp(sympy.expand(slope)) - rest) == 0


def test_step_2():
    size, place = sympy.symbols("size place", integer=True, positive=True)
    # Of z^place in the derivative: (place + 1) times what stands with z^(place + 1).
    moved = (place + 1) * binomial(size, place + 1) / (size * binomial(size - 1, place))
    assert sympy.combsimp(moved.rewrite(sympy.factorial)) == 1
    assert sympy.combsimp(binomial(size, size - place) / binomial(size, place)) == 1
    # n − 1 of N derivatives leave the degree N − n + 1, and N − n − 1 of that the degree 2.
    left = N - (i - 1)
    assert sympy.expand(left - (N - i - 1)) == 2
    # g_{n−1+m} stands at m; in the opposite order at left − m, and after that at 2 − m.
    for m, index in enumerate((i - 1, i, i + 1)):
        assert sympy.expand(index - (i - 1) - m) == 0
        assert sympy.expand(left - m - (N - i - 1) - (2 - m)) == 0


def test_step_3():
    quadratic = g[i + 1] + 2 * g[i] * z + g[i - 1] * z**2
    quarter = sympy.expand(sympy.discriminant(quadratic, z) / 4)  # at least 0
    said = FORMULAS["newton"]
    assert said.rel_op == ">="
    difference = said.lhs - said.rhs
    for at in (i - 1, i, i + 1):
        difference = difference.subs(f[at], binomial(N, at) * g[at])
    shares = sympy.expand(difference / binomial(N, i) ** 2)
    ratio = sympy.combsimp(
        sympy.simplify(shares.coeff(g[i - 1] * g[i + 1])).rewrite(sympy.factorial)
    )
    assert sympy.simplify(sympy.gammasimp(ratio)) == -1
    assert sympy.simplify(shares.coeff(g[i] ** 2)) == 1
    assert quarter == g[i] ** 2 - g[i - 1] * g[i + 1]
    concave = FORMULAS["concave"]
    assert (concave.rel_op, concave.lhs) == (">=", said.lhs)
    more = sympy.Symbol("more", integer=True, positive=True)  # n < N
    excess = sympy.factor((said.rhs / concave.rhs - 1).subs(N, i + more))
    assert excess.is_positive


EIGHTHS = [Fraction(n, 8) for n in range(9)]  # doubles, so that nothing is rounded


def exact_differences(trials, rate_s, rate_d):
    """P(Y − X = n − k) for n = 0 … 2k."""
    law = [Fraction(0)] * (2 * trials + 1)
    for x, y in product(range(trials + 1), repeat=2):
        sham = comb(trials, x) * rate_s**x * (1 - rate_s) ** (trials - x)
        law[trials + y - x] += sham * comb(trials, y) * rate_d**y * (1 - rate_d) ** (trials - y)
    return law


def test_implementation_pmf():
    for trials, rate_s, rate_d in product((1, 2, 6), EIGHTHS, EIGHTHS):
        exact = exact_differences(trials, rate_s, rate_d)
        found = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k=trials).pmf()
        for one, other in zip(found, exact, strict=True):
            assert abs(Fraction(float(one)) - other) <= other * Fraction(40, 2**52)
        for n in range(1, 2 * trials):
            factor = Fraction((n + 1) * (2 * trials - n + 1), n * (2 * trials - n))
            assert exact[n] ** 2 >= factor * exact[n - 1] * exact[n + 1]
    unequal = cs.FiniteReplayLaw(0.5, 0.5, k_sham=2, k_destroy=3).pmf() * 32
    assert unequal.tolist() == [1, 3, 2, 3, 6, 2, 6, 3, 2, 3, 1]
