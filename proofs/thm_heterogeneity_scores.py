r"""Where heterogeneity shows: Tarone's Z and the covariance between the arms

A question has $x$ of $k_s$ SHAM and $y$ of $k_d$ DESTROY flips, with probability $L$ at the rates
$p_s$ and $p_d$. If the rates vary between questions, by $\varepsilon a$ and $\varepsilon b$ with
small $\varepsilon$ and means 0, the mean of $L$ changes by $\frac{\varepsilon^2}2$ times the sum
of $L$'s second derivatives with the factors $E\,a^2$, $2\,E\,ab$ and $E\,b^2$. With $v = p(1-p)$
in each arm, two of these, of which the first is the same for DESTROY, are

[[within]]

[[across]]

Where all questions are alike these scores have mean 0 and the variances

[[variance_within]]

[[variance_across]]

At the pooled rates $\hat p = \sum_i x_i/\sum_i k_i$ the sum of the first over the questions, in
units of its standard deviation, is Tarone's

[[tarone]]

and the second gives
$\sum_i (x_i - k_{s,i}\hat p_s)(y_i - k_{d,i}\hat p_d)/\sqrt{v_s v_d \sum_i k_{s,i} k_{d,i}}$. The
three scores of a question are uncorrelated.

Proof

1. The logarithm of $L$ has the derivative $(x - kp)/v$ by $p$. So
   $\partial L/\partial p = L\,(x-kp)/v$, and again: the first form. The arms are independent, so
   that $L$ is a product, and its mixed derivative is the product of the two first ones.
2. A derivative of $L$ sums to 0 over all outcomes, since $L$ sums to 1. So the scores have mean 0.
3. With the generating function $(1 - p + pz)^k$ the central moments of $x$ of the second, third
   and fourth order are $kv$, $kv(1-2p)$ and $kv(1 + 3(k-2)v)$. The square of the first score then
   has the mean $2k(k-1)/v^2$, and that of the second $k_s v_s\,k_d v_d/(v_s v_d)^2$.
4. At $\hat p$ the sum of $x_i - k_i\hat p$ is 0, so that of the first score is
   $\sum_i [(x_i-k_i\hat p)^2 - k_i v]/v^2$; divided by $\sqrt{2\sum_i k_i(k_i-1)}/v$ it is $Z$.
5. The score across the arms has mean 0 given either arm, so that it is uncorrelated with both
   others; and these depend on different arms. None is correlated with $x - kp$ or $y - kp$, so
   that to estimate the rates changes nothing that matters with many questions.

References

- Tarone, "Testing the goodness of fit of the binomial distribution", *Biometrika* 66 (1979); Cox,
  "Some remarks on overdispersion", *Biometrika* 70 (1983).
"""

from fractions import Fraction

import sympy
from sympy import Derivative, Eq, Function, IndexedBase, Sum, Symbol, sqrt

import carve_stats as cs

x, y, k_s, k_d, k, v = sympy.symbols("x y k_s k_d k v", positive=True)
p_s, p_d, v_s, v_d, p, z = sympy.symbols("p_s p_d v_s v_d p z", positive=True)
i, size = sympy.symbols("i n", integer=True, positive=True)
L = Function("L")(p_s, p_d)
x_, k_ = IndexedBase("x"), IndexedBase("k")
within = Symbol(r"\mathrm{Var}_{\mathrm{within}}")
across = Symbol(r"\mathrm{Var}_{\mathrm{across}}")
Z = Symbol("Z")
hat = Symbol(r"\hat{p}", positive=True)

FORMULAS = {
    "within": Eq(
        Derivative(L, (p_s, 2)) / L,
        ((x - k_s * p_s) ** 2 - (1 - 2 * p_s) * (x - k_s * p_s) - k_s * v_s) / v_s**2,
    ),
    "across": Eq(Derivative(L, p_s, p_d) / L, (x - k_s * p_s) * (y - k_d * p_d) / (v_s * v_d)),
    "variance_within": Eq(within, 2 * k_s * (k_s - 1) / v_s**2),
    "variance_across": Eq(across, k_s * k_d / (v_s * v_d)),
    "tarone": Eq(
        Z,
        (
            Sum((x_[i] - k_[i] * hat) ** 2, (i, 1, size)) / (hat * (1 - hat))
            - Sum(k_[i], (i, 1, size))
        )
        / sqrt(2 * Sum(k_[i] * (k_[i] - 1), (i, 1, size))),
    ),
}
USED_BY = ("homogeneity_test",)

V_S, V_D = p_s * (1 - p_s), p_d * (1 - p_d)


def central_moments():
    """Of x, from the generating function: orders 0 to 4, in k and p."""
    generating = (1 - p + p * z) ** k
    factorial_moments = [sympy.diff(generating, z, order).subs(z, 1) for order in range(5)]
    power = Symbol("power")
    moments = []
    for order in range(5):
        falling = sympy.Poly(sympy.expand((power - k * p) ** order), power)
        total = 0
        while not falling.is_zero:  # into falling factorials, the highest first
            degree = falling.degree()
            factor = falling.coeff_monomial(power**degree)
            total += factor * factorial_moments[degree]
            falling -= sympy.Poly(factor * sympy.ff(power, degree), power)
        moments.append(sympy.factor(sympy.simplify(total)))
    return moments


def test_step_1():
    own = x * sympy.log(p_s) + (k_s - x) * sympy.log(1 - p_s)
    other = y * sympy.log(p_d) + (k_d - y) * sympy.log(1 - p_d)
    by_sham, by_destroy = sympy.diff(own, p_s), sympy.diff(other, p_d)
    assert sympy.simplify(by_sham - (x - k_s * p_s) / V_S) == 0
    # L″/L = (log L)″ + ((log L)′)².
    second = sympy.diff(own, p_s, 2) + by_sham**2
    assert sympy.simplify(second - FORMULAS["within"].rhs.subs(v_s, V_S)) == 0
    product = p_s**x * (1 - p_s) ** (k_s - x) * p_d**y * (1 - p_d) ** (k_d - y)
    for name in ("within", "across"):
        said = FORMULAS[name].subs({v_s: V_S, v_d: V_D})
        assert sympy.simplify(said.lhs.subs(L, product).doit() - said.rhs) == 0
    mixed = sympy.diff(own + other, p_s, p_d) + by_sham * by_destroy
    assert sympy.simplify(mixed - FORMULAS["across"].rhs.subs({v_s: V_S, v_d: V_D})) == 0


def test_step_2():
    moments = central_moments()
    # The mean of the first score, from the first two moments of x − kp.
    mean = moments[2] - (1 - 2 * p) * moments[1] - k * p * (1 - p)
    assert sympy.simplify(mean) == 0
    assert moments[0] == 1
    assert moments[1] == 0


def test_step_3():
    moments = central_moments()
    of_p = p * (1 - p)
    for order, said in ((2, k * v), (3, k * v * (1 - 2 * p)), (4, k * v * (1 + 3 * (k - 2) * v))):
        assert sympy.expand(moments[order] - said.subs(v, of_p)) == 0
    away = Symbol("away")
    score = (away**2 - (1 - 2 * p) * away - k * of_p) / of_p**2
    terms = sympy.Poly(sympy.expand(score**2 * of_p**4), away).terms()
    square = sum(factor * moments[power] for (power,), factor in terms) / of_p**4
    said = FORMULAS["variance_within"].rhs.subs({k_s: k, v_s: of_p})
    assert sympy.simplify(square - said) == 0
    product = moments[2].subs({k: k_s, p: p_s}) * moments[2].subs({k: k_d, p: p_d})
    said = FORMULAS["variance_across"].rhs.subs({v_s: V_S, v_d: V_D})
    assert sympy.simplify(product / (V_S * V_D) ** 2 - said) == 0


def test_step_4():
    squares, replays, pairs = sympy.symbols("squares replays pairs", positive=True)
    # Σ (x − kp̂)², Σ k and Σ k(k − 1); Σ (x − kp̂) is 0.
    away = Symbol("away")
    score = FORMULAS["within"].rhs.subs(x, away + k_s * p_s).subs({v_s: v, p_s: hat})
    terms = sympy.Poly(sympy.expand(score * v**2), away, k_s).terms()
    sums = {(2, 0): squares, (1, 0): 0, (0, 1): replays}
    total = sum(factor * sums[powers] for powers, factor in terms) / v**2
    deviation = sqrt(FORMULAS["variance_within"].rhs.subs({k_s * (k_s - 1): pairs}).subs(v_s, v))
    named = FORMULAS["tarone"].rhs.subs(
        {
            Sum((x_[i] - k_[i] * hat) ** 2, (i, 1, size)): squares,
            Sum(k_[i], (i, 1, size)): replays,
            Sum(k_[i] * (k_[i] - 1), (i, 1, size)): pairs,
        }
    )
    at_hat = (total / deviation).subs(v, hat * (1 - hat))
    assert sympy.simplify(at_hat.subs(hat, 1 / (1 + z)) - named.subs(hat, 1 / (1 + z))) == 0


def test_step_5():
    # Given x, the mean over y of the score across is that of y − k_d p_d times a constant.
    moments = central_moments()
    given = FORMULAS["across"].rhs / (y - k_d * p_d)
    assert not sympy.simplify(given).has(y)
    assert moments[1] == 0
    assert not FORMULAS["within"].rhs.has(y)
    # The first score times x − kp, but for a constant, has the mean of the third moment and others.
    own = moments[3] - (1 - 2 * p) * moments[2] - k * p * (1 - p) * moments[1]
    assert sympy.simplify(own) == 0


def test_implementation_homogeneity_test():
    rows = [(0, 4, 3, 4), (1, 2, 1, 4), (5, 8, 1, 1), (2, 2, 0, 2), (3, 4, 4, 4), (0, 4, 0, 8)]
    counts = cs.ReplayCounts(list("abcdef"), *zip(*rows, strict=True))
    result = cs.homogeneity_test(counts, resamples=1, rng=1)
    away, variances, squares = [], [], []
    for arm in (0, 2):
        flips, replays = [row[arm] for row in rows], [row[arm + 1] for row in rows]
        rate = Fraction(sum(flips), sum(replays))
        off = [Fraction(f) - m * rate for f, m in zip(flips, replays, strict=True)]
        spread = sum(one**2 for one in off) / (rate * (1 - rate)) - sum(replays)
        pairs = 2 * sum(m * (m - 1) for m in replays)
        squares.append(spread * abs(spread) / pairs)
        away.append(off)
        variances.append(rate * (1 - rate))
    together = sum(s * d for s, d in zip(*away, strict=True))
    both = sum(row[1] * row[3] for row in rows)
    squares.append(together * abs(together) / (variances[0] * variances[1] * both))
    for found, exact in zip(result.scores, squares, strict=True):
        signed = Fraction(found) * abs(Fraction(found))
        assert abs(signed - exact) <= abs(exact) * Fraction(1, 10**14)
