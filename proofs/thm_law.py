r"""The law of the score: its moments, and a recurrence without cancellation

Let $X \sim \mathrm{Bin}(k_s, p_s)$ SHAM and $Y \sim \mathrm{Bin}(k_d, p_d)$ DESTROY replays flip,
independently, and $\hat\Delta = Y/k_d - X/k_s$, $q = 1 - p$. Then

[[mean]]

[[variance]]

The probabilities $f_n = P(Y - X = n - k_s)$ of the difference of the counts,
$0 \le n \le N = k_s + k_d$, have the generating function and, with $f_{-1} = 0$, the recurrence

[[generating]]

[[recurrence]]

In it the bracket is $S - nB$ with $S = k_d p_s p_d + k_s q_s q_d$ and $B = p_s p_d + q_s q_d$; it
changes its sign once, at a point between $k_s$ and $k_d$. Up to there every term is positive, and
beyond it every term of the recurrence solved for $f_{n-1}$. For one $k$ in both arms, with
$A = p_s q_d$, $C = p_d q_s$, $\gamma = AC/B^2$ and $f_n = A^k (B/A)^n e_n$,

[[scaled]]

where no term is negative up to the middle, $n = k$. For $k_s \ne k_d$ the $f_n$ are not the law of
$\hat\Delta$, whose points are those of thm_support.

Proof

1. For $b_k(x) = \binom kx p^x q^{k-x}$ the products $x\,b_k(x) = kp\,b_{k-1}(x-1)$ and
   $x(x-1)\,b_k(x) = k(k-1)p^2\,b_{k-2}(x-2)$, summed over $x$, give $\mathrm{E}X = kp$ and
   $\mathrm{E}X(X-1) = k(k-1)p^2$, since each law sums to 1.
2. So $\mathrm{Var} X = k(k-1)p^2 + kp - k^2p^2 = kpq$. Expectations subtract, and for independent
   counts the variances of $Y/k_d$ and $X/k_s$ add: the mean and the variance.
3. By Pascal's rule $b_{k+1}(x) = q\,b_k(x) + p\,b_k(x-1)$, so one replay more multiplies
   $\sum_x b_k(x) z^x$ by $q + pz$: it is $(q+pz)^k$. For $k_s - X$ in the place of $X$ it is
   $(p_s + q_s z)^{k_s}$, and for the independent sum $Y + (k_s - X)$ the product.
4. The generating function $G$ has $\frac{G'}{G} = \frac{k_d p_d}{q_d + p_d z} + \frac{k_s
   q_s}{p_s + q_s z}$. Multiplied out, $(q_d + p_d z)(p_s + q_s z)\,G' = \left(k_d p_d (p_s + q_s
   z) + k_s q_s (q_d + p_d z)\right) G$; the coefficient of $z^n$ is the recurrence.
5. The bracket is $S - nB$, and $S/B$ is the mean of $k_d$ and $k_s$ with the weights $p_s p_d$ and
   $q_s q_d$: between the two. Below it the bracket is positive, as is $k_s + k_d - n + 1$; above it
   $(nB - S) f_n$ and $(n+1) f_{n+1}$ add up to a multiple of $f_{n-1}$.
6. At $k_s = k_d = k$ the bracket is $(k-n)B$. With $f_n = A^k(B/A)^n e_n$ every term has the factor
   $A^k (B/A)^n B$; what is left is the last recurrence. Its factors $k - n$ and $\gamma(2k-n+1)$
   are not negative for $n \le k$.

References

- Feller, *An Introduction to Probability Theory and Its Applications*, volume I, 3rd edition
  (Wiley, 1968), chapters VI and XI: the binomial law, and generating functions of sums.
- Stanley, *Differentiably finite power series*, European Journal of Combinatorics 1 (1980) 175–188:
  a differential equation with polynomial coefficients is a recurrence of the coefficients.
"""

import math
from fractions import Fraction
from itertools import accumulate, product
from math import comb

import numpy as np
import pytest
import sympy
from sympy import Eq, IndexedBase, Sum, binomial

import carve_stats as cs

p, p_s, p_d, q_s, q_d, z, gamma = sympy.symbols("p p_s p_d q_s q_d z gamma", positive=True)
k, k_s, k_d = sympy.symbols("k k_s k_d", integer=True, positive=True)
m, x = sympy.symbols("n x", integer=True, nonnegative=True)
f, e = IndexedBase("f"), IndexedBase("e")
MEAN, VARIANCE = sympy.symbols(r"\mathrm{E}\hat{\Delta} \mathrm{Var}\hat{\Delta}")

FORMULAS = {
    "mean": Eq(MEAN, p_d - p_s),
    "variance": Eq(VARIANCE, p_s * q_s / k_s + p_d * q_d / k_d),
    "generating": Eq(
        Sum(f[m] * z**m, (m, 0, k_s + k_d)), (p_d * z + q_d) ** k_d * (p_s + q_s * z) ** k_s
    ),
    "recurrence": Eq(
        p_s * q_d * (m + 1) * f[m + 1],
        (p_s * p_d * (k_d - m) + q_s * q_d * (k_s - m)) * f[m]
        + p_d * q_s * (k_s + k_d - m + 1) * f[m - 1],
    ),
    "scaled": Eq((m + 1) * e[m + 1], (k - m) * e[m] + gamma * (2 * k - m + 1) * e[m - 1]),
}
USED_BY = (
    "FiniteReplayLaw.pmf",
    "FiniteReplayLaw.logpmf",
    "FiniteReplayLaw.mean",
    "FiniteReplayLaw.var",
    "FiniteReplayLaw.cdf",
    "FiniteReplayLaw.sf",
    "FiniteReplayLaw.quantile",
    "FiniteReplayLaw.probability",
)


def pmf(trials, successes):
    """The binomial probability, of p."""
    return binomial(trials, successes) * p**successes * (1 - p) ** (trials - successes)


def ratio(one, other):
    """The quotient of two products of binomials and powers, reduced."""
    reduced = sympy.combsimp((one / other).rewrite(sympy.factorial))
    return sympy.simplify(sympy.powsimp(reduced, force=True))


def first_moments(trials, rate):
    """E X and Var X, from the factorial moments of step 1."""
    mean, second = trials * rate, trials * (trials - 1) * rate**2
    return mean, second + mean - mean**2


def test_step_1():
    assert ratio(x * pmf(k, x), k * p * pmf(k - 1, x - 1)) == 1
    assert ratio(x * (x - 1) * pmf(k, x), k * (k - 1) * p**2 * pmf(k - 2, x - 2)) == 1


def test_step_2():
    (mean_x, var_x), (mean_y, var_y) = first_moments(k_s, p_s), first_moments(k_d, p_d)
    assert sympy.expand(var_x - k_s * p_s * (1 - p_s)) == 0
    assert sympy.expand(mean_y / k_d - mean_x / k_s - FORMULAS["mean"].rhs) == 0
    said = FORMULAS["variance"].rhs.subs({q_s: 1 - p_s, q_d: 1 - p_d})
    assert sympy.expand(var_y / k_d**2 + var_x / k_s**2 - said) == 0


def test_step_3():
    stays, flips = (1 - p) * pmf(k, x), p * pmf(k, x - 1)
    shares = [ratio(one, pmf(k + 1, x)) for one in (stays, flips)]
    assert sympy.simplify(sum(shares)) == 1
    # One replay of each arm: its factor is what the exponent counts.
    assert FORMULAS["generating"].lhs == Sum(f[m] * z**m, (m, 0, k_s + k_d))
    said = FORMULAS["generating"].rhs
    assert said.subs({k_s: 0, k_d: 0}) == 1
    destroy = sum(probability * z**y for y, probability in ((0, q_d), (1, p_d)))
    sham = sum(probability * z ** (1 - flip) for flip, probability in ((0, q_s), (1, p_s)))
    assert sympy.simplify(said.subs(k_d, k_d + 1) / said / destroy) == 1
    assert sympy.simplify(said.subs(k_s, k_s + 1) / said / sham) == 1


def test_step_4():
    g = FORMULAS["generating"].rhs
    left = sympy.expand((q_d + p_d * z) * (p_s + q_s * z))
    right = k_d * p_d * (p_s + q_s * z) + k_s * q_s * (q_d + p_d * z)
    assert sympy.simplify(left * sympy.diff(g, z) / g - right) == 0
    assert g.subs(z, 0) == q_d**k_d * p_s**k_s  # f_0: nobody flips but every SHAM replay
    # The coefficient of z^n in left·G′ − right·G, where G = Σ f[n] z^n.
    by_slope = sympy.Poly(left, z).all_coeffs()[::-1]
    by_value = sympy.Poly(sympy.expand(right), z).all_coeffs()[::-1]
    coefficient = sum(c * (m + 1 - i) * f[m + 1 - i] for i, c in enumerate(by_slope))
    coefficient -= sum(c * f[m - i] for i, c in enumerate(by_value))
    recurrence = FORMULAS["recurrence"]
    assert sympy.expand(coefficient - (recurrence.lhs - recurrence.rhs)) == 0


def test_step_5():
    bracket = sympy.expand(FORMULAS["recurrence"].rhs).coeff(f[m])
    large_s, large_b = k_d * p_s * p_d + k_s * q_s * q_d, p_s * p_d + q_s * q_d
    assert sympy.expand(bracket - (large_s - m * large_b)) == 0
    turns = large_s / large_b
    assert sympy.simplify(turns - k_d - (k_s - k_d) * q_s * q_d / large_b) == 0
    assert sympy.simplify(turns - k_s - (k_d - k_s) * p_s * p_d / large_b) == 0
    recurrence, further = FORMULAS["recurrence"], sympy.Symbol("further", positive=True)
    assert bracket.subs(m, turns - further).equals(further * large_b)  # positive before n*
    for factor in (
        recurrence.lhs / f[m + 1],
        sympy.expand(recurrence.rhs).coeff(f[m - 1]).subs(k_d, m + k_d - k_s),
    ):
        assert sympy.factor(factor).is_positive  # and these for every n ≤ N


def test_step_6():
    a, b, c = sympy.symbols("A B C", positive=True)
    recurrence = FORMULAS["recurrence"]
    equal = sympy.expand(recurrence.rhs - recurrence.lhs).subs({k_s: k, k_d: k})
    factors = [sympy.factor(equal.coeff(f[m + i])) for i in (1, 0, -1)]
    shares = (-p_s * q_d * (m + 1), (k - m) * (p_s * p_d + q_s * q_d), p_d * q_s * (2 * k - m + 1))
    assert all(sympy.expand(one - other) == 0 for one, other in zip(factors, shares, strict=True))

    def put(i):
        return a**k * (b / a) ** i * e[i]

    ours = -a * (m + 1) * put(m + 1) + (k - m) * b * put(m) + c * (2 * k - m + 1) * put(m - 1)
    left = sympy.expand(sympy.powsimp(sympy.expand(ours / (a**k * (b / a) ** m * b))))
    scaled = FORMULAS["scaled"]
    said = (scaled.rhs - scaled.lhs).subs(gamma, a * c / b**2)
    assert sympy.simplify(sympy.expand(left - said)) == 0
    room = sympy.Symbol("room", integer=True, nonnegative=True)  # n ≤ k
    for i in (0, 1):
        factor = sympy.expand(scaled.rhs).coeff(e[m - i]).subs(k, m + room)
        assert sympy.expand(factor).is_nonnegative


RATES = [Fraction(i, 8) for i in (0, 1, 3, 4, 7, 8)]  # doubles, so that nothing is rounded


def exact_binomial(trials, rate):
    return [comb(trials, i) * rate**i * (1 - rate) ** (trials - i) for i in range(trials + 1)]


def exact_law(rate_s, rate_d, trials_s, trials_d):
    """The law of the score, outcome by outcome, in the order of its points."""
    law = {}
    sham, destroy = exact_binomial(trials_s, rate_s), exact_binomial(trials_d, rate_d)
    for (i, one), (j, other) in product(enumerate(sham), enumerate(destroy)):
        score = Fraction(j, trials_d) - Fraction(i, trials_s)
        law[score] = law.get(score, 0) + one * other
    return dict(sorted(law.items()))


def by_recurrence(rate_s, rate_d, trials):
    """f_0 … f_2k at one k, from the recurrence of the statement."""
    stay_s, stay_d = 1 - rate_s, 1 - rate_d
    flips = [Fraction(0), (rate_s * stay_d) ** trials]  # f_−1 and f_0
    for i in range(2 * trials):
        bracket = (rate_s * rate_d + stay_s * stay_d) * (trials - i)
        last = rate_d * stay_s * (2 * trials - i + 1) * flips[-2]
        flips.append((bracket * flips[-1] + last) / (rate_s * stay_d * (i + 1)))
    return flips[1:]


def close(found, exact, ulps):
    return abs(Fraction(float(found)) - exact) <= abs(exact) * Fraction(ulps, 2**52)


def test_implementation_pmf():
    budgets = [(1, 1), (3, 3), (8, 8), (2, 3), (4, 6), (5, 1)]
    for rate_s, rate_d, (i, j) in product(RATES, RATES, budgets):
        exact = list(exact_law(rate_s, rate_d, i, j).values())
        if i == j and 0 not in (rate_s, 1 - rate_d):
            assert exact == by_recurrence(rate_s, rate_d, i)
        found = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k_sham=i, k_destroy=j).pmf()
        assert len(found) == len(exact)
        assert all(close(one, other, 40) for one, other in zip(found, exact, strict=True))


def test_implementation_logpmf():
    for rate_s, rate_d in product(RATES, repeat=2):
        exact = exact_law(rate_s, rate_d, 400, 1).values()
        found = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k_sham=400, k_destroy=1).logpmf()
        for one, other in zip(found, exact, strict=True):
            if other == 0:
                assert one == -math.inf
            else:
                logarithm = math.log(other.numerator) - math.log(other.denominator)
                assert abs(one - logarithm) <= 1e-11


def test_implementation_mean_and_var():
    for rate_s, rate_d, (i, j) in product(RATES, RATES, [(1, 1), (3, 3), (2, 5)]):
        exact = exact_law(rate_s, rate_d, i, j)
        mean = sum(score * share for score, share in exact.items())
        var = sum((score - mean) ** 2 * share for score, share in exact.items())
        law = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k_sham=i, k_destroy=j)
        assert mean == rate_d - rate_s == Fraction(law.mean())
        assert close(law.var(), var, 2)


BUDGETS = [(1, 1), (3, 3), (2, 3), (4, 6), (5, 1)]


@pytest.mark.parametrize(("i", "j"), BUDGETS)
def test_implementation_tails(i, j):
    for rate_s, rate_d in product(RATES, repeat=2):
        exact = exact_law(rate_s, rate_d, i, j)
        law = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k_sham=i, k_destroy=j)
        reached = dict(zip(exact, accumulate(exact.values()), strict=True))
        for point, share in reached.items():
            assert close(law.cdf(point), share, 40)
            assert close(law.sf(point), 1 - share, 40)
            level = float(share) * (1 - 1e-9)  # a little less than what is reached here
            first = next(score for score, one in reached.items() if one >= level and one > 0)
            assert law.quantile(level) == float(first)


@pytest.mark.parametrize(("i", "j"), BUDGETS)
def test_implementation_probability(i, j):
    chosen = np.arange((i + 1) * (j + 1)).reshape(i + 1, j + 1) % 3 == 1
    for rate_s, rate_d in product(RATES, repeat=2):
        exact = exact_law(rate_s, rate_d, i, j)
        law = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k_sham=i, k_destroy=j)
        for rule, kept in RULES.items():
            share = sum(one for score, one in exact.items() if kept(score))
            assert close(law.probability(rule), share, 40)
        sham, destroy = exact_binomial(i, rate_s), exact_binomial(j, rate_d)
        share = sum(sham[x_] * destroy[y_] for x_, y_ in np.argwhere(chosen))
        assert close(law.probability(chosen), share, 40)


RULES = {
    "score < 0": lambda score: score < 0,
    "score <= 1/3": lambda score: score <= Fraction(1, 3),
    "score = 0": lambda score: score == 0,
    "score > -1/2": lambda score: score > Fraction(-1, 2),
    "score >= 1": lambda score: score >= 1,
}
