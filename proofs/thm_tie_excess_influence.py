r"""The influence function of the tie excess, and its variance where all questions are alike

Question $i$ of $n$ has $k_{s,i}$ SHAM and $k_{d,i}$ DESTROY replays, of which $X_i$ and $Y_i$
flip. $T_i$ is 1 where its score has a given sign, and $t_i(p_s, p_d)$ the probability of that at
its own numbers of replays. The pooled rates $\hat p_s$ and $\hat p_d$ are the means of
$X_i/k_{s,i}$ and $Y_i/k_{d,i}$; a bar, and $E$, is a mean over the questions. The excess
$\hat\tau = \bar T - \bar t(\hat p_s, \hat p_d)$ changes, when a question $i$ gains the weight
$\varepsilon$ from all the others, at the rate

[[influence]]

which has mean 0 over the questions. Where $k$ is the same for all, $t_i = \bar t$, and

[[equal]]

Where all questions have the same rates $p_s$ and $p_d$, with $v_s = p_s(1-p_s)$ and
$v_d = p_d(1-p_d)$, the delta method gives, with $g_s$ and $g_d$ for the derivatives of a
question's $t_i$ at those rates,

[[variance]]

and where also $k$ is the same for all and the derivatives are $t_s$ and $t_d$,

[[variance_equal]]

Proof

1. Give the questions the weights $(1-\varepsilon)/n$, and question $i$ another $\varepsilon$. A
   mean $\bar f$ becomes $\bar f + \varepsilon (f_i - \bar f)$, so $\hat\tau$ becomes
   $\bar T + \varepsilon(T_i - \bar T) - (1-\varepsilon)\,\bar t(\hat p^\varepsilon) -
   \varepsilon\,t_i(\hat p^\varepsilon)$.
   Its derivative at $\varepsilon = 0$ is the form, since $\bar T - \bar t(\hat p) = \hat\tau$.
2. The mean over $i$ of $T_i - t_i(\hat p)$ is $\hat\tau$, and that of $X_i/k_{s,i} - \hat p_s$ is
   0. With $t_i = \bar t$ the first two terms are $T_i - \bar T$.
3. $\frac{\partial}{\partial p} b(k,j,p) = b(k,j,p)\,\frac{j - kp}{p(1-p)}$. Hence for any function
   $f$ of the flips $\frac{d}{dp} E f(X) = \mathrm{Cov}(f(X), X)/(p(1-p))$, and
   $\mathrm{Cov}(T_i, X_i/k_{s,i}) = v_s\,g_s/k_{s,i}$; with $f(X) = X$ it says
   $\mathrm{Var}(X_i/k_{s,i}) = v_s/k_{s,i}$.
4. The arms are independent, $T_i$ is 0 or 1 with mean $t_i$, and the questions are independent, so
   $\mathrm{Var}\,\varphi_i = t_i(1-t_i) + \sum v\,(\bar g^2/k_i - 2\bar g\,g_i/k_i)$ over the
   arms. The mean over the questions is $n\,\mathrm{Var}\,\hat\tau$ but for terms of smaller order.
5. With one $k$, $\bar g^2/k - 2\bar g g_i/k = -g^2/k$.

References

- van der Vaart, *Asymptotic Statistics* (1998), §3 (the delta method) and §20.1 (the influence
  function as a derivative).
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Derivative, Eq, Function, binomial

import carve_stats as cs

v_s, v_d, epsilon = sympy.symbols("v_s v_d varepsilon")
x_i, y_i, T_i, T_bar, phi = sympy.symbols(r"x_i y_i T_i \bar{T} varphi_i")
k_si, k_di = sympy.symbols("k_{s\\,i} k_{d\\,i}", positive=True)
hat_s, hat_d, tau_hat = sympy.symbols(r"\hat{p}_s \hat{p}_d \hat{\tau}")
V = sympy.Symbol(r"n\,\mathrm{Var}\,\hat{\tau}")
k, j = sympy.symbols("k j", integer=True, positive=True)
t_i, t_bar = Function("t_i"), Function(r"\bar{t}")
t, t_s, t_d = sympy.symbols("t t_s t_d")
# Means over the questions, of which the last four are of products.
g_s, g_d = sympy.symbols(r"\bar{g}_s \bar{g}_d")
mean_tt = sympy.Symbol(r"E[t_{i}(1-t_{i})]")
mean_s, mean_d, mean_gs, mean_gd = sympy.symbols(
    r"E[1/k_{s}] E[1/k_{d}] E[g_{s}/k_{s}] E[g_{d}/k_{d}]"
)

FORMULAS = {
    "influence": Eq(
        phi,
        T_i
        - t_i(hat_s, hat_d)
        - tau_hat
        - Derivative(t_bar(hat_s, hat_d), hat_s) * (x_i / k_si - hat_s)
        - Derivative(t_bar(hat_s, hat_d), hat_d) * (y_i / k_di - hat_d),
    ),
    "equal": Eq(
        phi,
        T_i
        - T_bar
        - Derivative(t_bar(hat_s, hat_d), hat_s) * (x_i / k_si - hat_s)
        - Derivative(t_bar(hat_s, hat_d), hat_d) * (y_i / k_di - hat_d),
    ),
    "variance": Eq(
        V,
        mean_tt
        + v_s * (g_s**2 * mean_s - 2 * g_s * mean_gs)
        + v_d * (g_d**2 * mean_d - 2 * g_d * mean_gd),
    ),
    "variance_equal": Eq(V, t * (1 - t) - (v_s * t_s**2 + v_d * t_d**2) / k),
}
USED_BY = ("tie_excess",)


def test_step_1():
    moved_s = hat_s + epsilon * (x_i / k_si - hat_s)
    moved_d = hat_d + epsilon * (y_i / k_di - hat_d)
    moved = (
        T_bar
        + epsilon * (T_i - T_bar)
        - (1 - epsilon) * t_bar(moved_s, moved_d)
        - epsilon * t_i(moved_s, moved_d)
    )
    derivative = sympy.diff(moved, epsilon).subs(epsilon, 0).doit()
    said = FORMULAS["influence"].rhs.subs(tau_hat, T_bar - t_bar(hat_s, hat_d))
    assert sympy.simplify(derivative - said) == 0


def test_step_2():
    influence = sympy.expand(FORMULAS["influence"].rhs)
    means = {
        T_i: T_bar,
        t_i(hat_s, hat_d): t_bar(hat_s, hat_d),
        x_i: hat_s * k_si,  # of x_i/k_si, in which the form is linear
        y_i: hat_d * k_di,
        tau_hat: T_bar - t_bar(hat_s, hat_d),
    }
    assert sympy.simplify(influence.subs(means)) == 0
    alike = {t_i(hat_s, hat_d): t_bar(hat_s, hat_d), tau_hat: T_bar - t_bar(hat_s, hat_d)}
    assert sympy.expand(influence.subs(alike) - FORMULAS["equal"].rhs) == 0


def test_step_3():
    # With q for 1 − p, d/dp is ∂/∂p − ∂/∂q.
    p, q = sympy.symbols("p q", positive=True)

    def pmf(size, at):
        return binomial(size, at) * p**at * q ** (size - at)

    slope = (sympy.diff(pmf(k, j), p) - sympy.diff(pmf(k, j), q)) / pmf(k, j)
    slope = sympy.simplify(slope).subs(q, 1 - p)
    assert sympy.simplify(slope - (j - k * p) / (p * (1 - p))) == 0
    # E X = kp: the terms j·b(k, j, p) are kp·b(k − 1, j − 1, p), which add up to kp.
    ratio = j * pmf(k, j) / (k * p * pmf(k - 1, j - 1))
    assert sympy.simplify(sympy.combsimp(ratio.rewrite(sympy.factorial))) == 1
    # So the score has mean 0, Σ f(j) b′(j) = Cov(f(X), X)/(pq), and f = j gives Var X = pqk.
    variance = p * (1 - p) * sympy.diff(k * p, p)
    assert sympy.expand(variance / k**2 - p * (1 - p) / k) == 0


def test_step_4():
    tie, slope_s, slope_d = sympy.symbols("tie slope_s slope_d")
    indicator, rate_s, rate_d = sympy.symbols("indicator rate_s rate_d")
    # φ but for constants, and the covariances of what varies in it.
    varying = {T_i: indicator, x_i: rate_s * k_si, y_i: rate_d * k_di}
    names = {
        Derivative(t_bar(hat_s, hat_d), hat_s): g_s,
        Derivative(t_bar(hat_s, hat_d), hat_d): g_d,
    }
    influence = sympy.expand(FORMULAS["influence"].rhs.subs(varying).subs(names))
    weights = [influence.coeff(of) for of in (indicator, rate_s, rate_d)]
    of_s, of_d = v_s / k_si, v_d / k_di
    covariance = sympy.Matrix(
        [
            [tie * (1 - tie), of_s * slope_s, of_d * slope_d],
            [of_s * slope_s, of_s, 0],
            [of_d * slope_d, 0, of_d],
        ]
    )
    row = sympy.Matrix([weights])
    variance = sympy.expand((row * covariance * row.T)[0])
    inverse_s, inverse_d = sympy.symbols("inverse_s inverse_d")
    polynomial = sympy.Poly(
        variance.subs({k_si: 1 / inverse_s, k_di: 1 / inverse_d}),
        tie, slope_s, slope_d, inverse_s, inverse_d,
    )  # fmt: skip
    means = {  # tie − tie² is kept together
        (0, 0, 0, 1, 0): mean_s,
        (0, 0, 0, 0, 1): mean_d,
        (0, 1, 0, 1, 0): mean_gs,
        (0, 0, 1, 0, 1): mean_gd,
        (1, 0, 0, 0, 0): mean_tt,
        (2, 0, 0, 0, 0): 0,
    }
    terms = dict(polynomial.terms())
    assert terms[1, 0, 0, 0, 0] == -terms[2, 0, 0, 0, 0] == 1
    mean = sum(factor * means[powers] for powers, factor in terms.items())
    assert sympy.expand(mean - FORMULAS["variance"].rhs) == 0


def test_step_5():
    one = {mean_tt: t * (1 - t), g_s: t_s, g_d: t_d, mean_s: 1 / k, mean_d: 1 / k,
           mean_gs: t_s / k, mean_gd: t_d / k}  # fmt: skip
    difference = FORMULAS["variance"].rhs.subs(one) - FORMULAS["variance_equal"].rhs
    assert sympy.expand(difference) == 0


SIGNS = ("negative", "zero", "positive")


def exact_law(sham, destroy, k_sham, k_destroy):
    """Shares of the signs and their two derivatives, as fractions."""
    shares, slopes = [Fraction(0)] * 3, [[Fraction(0)] * 2 for _ in SIGNS]
    for x, y in product(range(k_sham + 1), range(k_destroy + 1)):
        chance = comb(k_sham, x) * sham**x * (1 - sham) ** (k_sham - x)
        chance *= comb(k_destroy, y) * destroy**y * (1 - destroy) ** (k_destroy - y)
        numerator = y * k_sham - x * k_destroy
        sign = (numerator > 0) - (numerator < 0) + 1
        shares[sign] += chance
        slopes[sign][0] += chance * (x - k_sham * sham) / (sham * (1 - sham))
        slopes[sign][1] += chance * (y - k_destroy * destroy) / (destroy * (1 - destroy))
    return shares, slopes


DATA = {  # flips and replays of both arms, and the video
    "equal": [(0, 4, 3, 4, "u"), (1, 4, 1, 4, "u"), (2, 4, 1, 4, "v"), (0, 4, 4, 4, "v"),
              (3, 4, 3, 4, "w"), (1, 4, 2, 4, "w"), (2, 4, 4, 4, "w"), (0, 4, 0, 4, "x")],
    "ragged": [(0, 4, 2, 2, "u"), (1, 2, 1, 4, "u"), (2, 4, 1, 4, "v"), (0, 1, 1, 1, "v"),
               (6, 8, 3, 4, "w"), (1, 4, 1, 2, "w"), (1, 2, 8, 8, "w"), (0, 4, 0, 4, "x")],
}  # fmt: skip


def test_implementation_tie_excess():
    for rows in DATA.values():
        size = len(rows)
        columns = list(zip(*rows, strict=True))
        counts = cs.ReplayCounts(list("abcdefgh"), *columns[:4], cluster=columns[4])
        sham = sum(Fraction(x, m) for x, m, *_ in rows) / size
        destroy = sum(Fraction(y, m) for _, _, y, m, _ in rows) / size
        laws = [exact_law(sham, destroy, row[1], row[3]) for row in rows]
        result = cs.tie_excess(counts)
        for sign, name in enumerate(SIGNS):
            ties = [law[0][sign] for law in laws]
            slope = [sum(law[1][sign][arm] for law in laws) / size for arm in range(2)]
            seen = [
                ((y * m - x * r > 0) - (y * m - x * r < 0) + 1) == sign for x, m, y, r, _ in rows
            ]
            excess = sum(map(Fraction, seen)) / size - sum(ties) / size
            influence = [
                seen[i] - ties[i] - excess - slope[0] * (Fraction(x, m) - sham)
                - slope[1] * (Fraction(y, r) - destroy)
                for i, (x, m, y, r, _) in enumerate(rows)
            ]  # fmt: skip
            by_video = [
                sum(f for f, row in zip(influence, rows, strict=True) if row[4] == video)
                for video in "uvwx"
            ]
            assert sum(by_video) == 0
            square = Fraction(4, 3) * sum(total**2 for total in by_video) / size**2
            null = sum(tie * (1 - tie) for tie in ties) / size
            for arm, rate in enumerate((sham, destroy)):
                replays = [row[1 + 2 * arm] for row in rows]
                inverse = sum(Fraction(1, m) for m in replays) / size
                together = (
                    sum(law[1][sign][arm] / m for law, m in zip(laws, replays, strict=True)) / size
                )
                null += rate * (1 - rate) * (slope[arm] ** 2 * inverse - 2 * slope[arm] * together)
            found = getattr(result.excess, name)
            assert abs(Fraction(found.estimate) - excess) <= Fraction(1, 2**51)
            assert abs(Fraction(found.se) ** 2 - square) <= square * Fraction(1, 10**13)
            exact = null / size
            found_null = Fraction(getattr(result.null_se, name)) ** 2
            assert abs(found_null - exact) <= exact * Fraction(1, 10**13)
