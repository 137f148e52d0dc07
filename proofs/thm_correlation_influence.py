r"""The influence functions of a correlation and of a ratio

Over the questions let $a$ and $b$ be two figures, each standardised to mean 0 and variance 1, and
$r$ their correlation. When a question gains the weight $\varepsilon$ from all the others, $r$
changes at the rate

[[correlation]]

The ratio $J = \bar I/\bar U$ of the means of two figures $I$ and $U$, such as that of the
questions which two runs both select to those which at least one of them does, changes at the rate

[[ratio]]

Both have mean 0 over the questions.

Proof

1. A mean $\bar f$ becomes $\bar f + \varepsilon(f - \bar f)$ where $f$ is the question's own. So
   the means of $a$ and $b$ become $\varepsilon a$ and $\varepsilon b$, and those of $a^2$, $b^2$
   and $ab$ become $1 + \varepsilon(a^2-1)$, $1 + \varepsilon(b^2-1)$ and
   $r + \varepsilon(ab - r)$. Shifts and scales do not change a correlation, so that this is the
   general case.
2. With these,
   $\frac{\overline{ab} - \bar a\,\bar b}
   {\sqrt{(\overline{a^2} - \bar a^2)(\overline{b^2} - \bar b^2)}}$
   has the derivative $ab - r - \frac r2(a^2 - 1) - \frac r2(b^2 - 1)$ at $\varepsilon = 0$.
3. $(\bar I + \varepsilon(I - \bar I))/(\bar U + \varepsilon(U - \bar U))$ has the derivative
   $(I - \bar I)/\bar U - \bar I\,(U - \bar U)/\bar U^2$.
4. The means of $ab$, $a^2$ and $b^2$ are $r$, 1 and 1; those of $I$ and $U$ are $J\bar U$ and
   $\bar U$.

References

- Devlin, Gnanadesikan and Kettenring, "Robust estimation and outlier detection with correlation
  coefficients", *Biometrika* 62 (1975), for the correlation; Cochran, *Sampling Techniques* (3rd
  ed. 1977), chapter 6, for the ratio.
"""

from fractions import Fraction

import sympy
from sympy import Eq, Symbol, sqrt

import carve_stats as cs

a, b, r, shared, united, J, epsilon = sympy.symbols("a b r I U J varepsilon", real=True)
mean_U = Symbol(r"\bar{U}", positive=True)
phi_r, phi_J = sympy.symbols("varphi_r varphi_J")

FORMULAS = {
    "correlation": Eq(phi_r, a * b - r * (a**2 + b**2) / 2),
    "ratio": Eq(phi_J, (shared - J * united) / mean_U),
}
USED_BY = ("associations", "reproducibility")

MEANS = {a: 0, b: 0, a**2: 1, b**2: 1, a * b: r}


def moved(figure):
    """A mean, with weight moved to the question."""
    return MEANS[figure] + epsilon * (figure - MEANS[figure])


def correlation(of_a, of_b, of_aa, of_bb, of_ab):
    return (of_ab - of_a * of_b) / sqrt((of_aa - of_a**2) * (of_bb - of_b**2))


def test_step_1():
    # The moments after a shift and a scale, from those before.
    shift, other = sympy.symbols("shift other", real=True)
    scale, factor = sympy.symbols("scale factor", positive=True)
    moments = sympy.symbols("mean_a mean_b mean_aa mean_bb mean_ab", real=True)
    mean_a, mean_b, mean_aa, mean_bb, mean_ab = moments
    changed = (
        scale * mean_a + shift,
        factor * mean_b + other,
        scale**2 * mean_aa + 2 * scale * shift * mean_a + shift**2,
        factor**2 * mean_bb + 2 * factor * other * mean_b + other**2,
        scale * factor * mean_ab + scale * other * mean_a + factor * shift * mean_b + shift * other,
    )
    ratio = correlation(*changed) ** 2 / correlation(*moments) ** 2
    assert sympy.simplify(ratio) == 1
    covariance = sympy.expand(changed[4] - changed[0] * changed[1])
    assert sympy.expand(covariance - scale * factor * (mean_ab - mean_a * mean_b)) == 0


def test_step_2():
    after = correlation(*(moved(figure) for figure in (a, b, a**2, b**2, a * b)))
    slope = sympy.diff(after, epsilon).subs(epsilon, 0)
    assert sympy.expand(sympy.simplify(slope) - FORMULAS["correlation"].rhs) == 0


def test_step_3():
    mean_I = J * mean_U
    after = (mean_I + epsilon * (shared - mean_I)) / (mean_U + epsilon * (united - mean_U))
    slope = sympy.diff(after, epsilon).subs(epsilon, 0)
    assert sympy.simplify(slope - FORMULAS["ratio"].rhs) == 0


def test_step_4():
    terms = sympy.Poly(FORMULAS["correlation"].rhs, a, b).terms()
    means = {(1, 1): r, (2, 0): 1, (0, 2): 1}
    assert sympy.expand(sum(factor * means[powers] for powers, factor in terms)) == 0
    ratio = FORMULAS["ratio"].rhs
    assert sympy.expand(ratio.subs({shared: J * mean_U, united: mean_U})) == 0


VIDEOS = list("uuvvwwxx")
RUNS = ([(0, 3), (1, 1), (2, 2), (3, 1), (0, 0), (1, 2), (2, 1), (0, 1)],
        [(1, 3), (1, 0), (2, 3), (2, 1), (0, 0), (0, 2), (1, 1), (1, 1)])  # fmt: skip


def cluster_square(influence):
    """SE² of exact influences, in eight questions of four videos."""
    sums = [influence[i] + influence[i + 1] for i in range(0, 8, 2)]
    assert sum(sums) == 0
    return Fraction(4, 3) * sum(one**2 for one in sums) / 64


def exact_correlation(first, second):
    """r², its sign, and SE² from the moments, without a root of anything."""
    centred = [
        [Fraction(v) - Fraction(sum(column)) / 8 for v in column] for column in (first, second)
    ]
    aa, bb = (sum(v * v for v in column) / 8 for column in centred)
    ab = sum(v * w for v, w in zip(*centred, strict=True)) / 8
    # φ·√(aa·bb) is rational: ab_i − ab·(a²/aa + b²/bb)/2.
    influence = [v * w - ab * (v * v / aa + w * w / bb) / 2 for v, w in zip(*centred, strict=True)]
    return ab * abs(ab) / (aa * bb), cluster_square(influence) / (aa * bb)


def runs():
    return [
        cs.ReplayCounts(list("abcdefgh"), *([row[0] for row in rows], [3] * 8),
                        *([row[1] for row in rows], [3] * 8), cluster=VIDEOS)
        for rows in RUNS
    ]  # fmt: skip


def test_implementation_reproducibility():
    result = cs.reproducibility(*runs(), rule="score < 0").observed
    scores = [[y - x for x, y in rows] for rows in RUNS]
    square, variance = exact_correlation(*scores)
    found = result.pearson
    assert abs(Fraction(found.estimate) * abs(Fraction(found.estimate)) - square) <= Fraction(
        1, 2**49
    )
    assert abs(Fraction(found.se) ** 2 - variance) <= variance * Fraction(1, 10**13)
    both = [Fraction(v < 0 and w < 0) for v, w in zip(*scores, strict=True)]
    either = [Fraction(v < 0 or w < 0) for v, w in zip(*scores, strict=True)]
    index, mean = sum(both) / sum(either), sum(either) / 8
    assert 0 < index < 1
    assert abs(Fraction(result.jaccard.estimate) - index) <= Fraction(1, 2**52)
    variance = cluster_square([(v - index * w) / mean for v, w in zip(both, either, strict=True)])
    assert abs(Fraction(result.jaccard.se) ** 2 - variance) <= variance * Fraction(1, 10**13)


def test_implementation_associations():
    counts = runs()[0]
    covariate = [1, 0.5, 0.25, 0, 2, 1, 0.75, 3]
    outcomes = cs.Outcomes(list("abcdefgh"), [1, 0] * 4, {}, covariates={"recall": covariate})
    found = cs.associations(counts, outcomes)["score", "recall"].pearson
    square, variance = exact_correlation([y - x for x, y in RUNS[0]], covariate)
    assert abs(Fraction(found.estimate) * abs(Fraction(found.estimate)) - square) <= Fraction(
        1, 2**49
    )
    assert abs(Fraction(found.se) ** 2 - variance) <= variance * Fraction(1, 10**13)
