r"""What the cluster standard error of a mean estimates

Questions come in $V$ clusters (videos), $m_v$ in cluster $v$ and $n$ in all. Let $S_v$ be the sum
of a figure over the questions of cluster $v$, $\bar x = \sum_v S_v/n$ their mean, and

[[se]]

the sum over clusters of the squared sums of $\varphi_i = x_i - \bar x$. Let the clusters be
independent, whatever holds within them, with $E S_v = m_v\mu_v$ and
$\mathrm{Var}\,S_v = \sigma_v^2$. Where all $\mu_v$ are the same,

[[expected]]

while $\mathrm{Var}\,\bar x = \sum_v \sigma_v^2/n^2$. Where also all clusters have as many
questions, $m_v = n/V$, it is unbiased,

[[unbiased]]

and if the means then differ it is too large on average,

[[conservative]]

With unequal sizes the bias can have either sign: the bracket above, times $\frac{V}{V-1}$, is at
most 1 for the largest cluster, at least 1 for the smallest, and tends to 1 for all as every
cluster's part of the questions gets small.

Proof

1. The clusters are independent: $\mathrm{Var}\,\bar x = \sum_u \sigma_u^2/n^2$ and
   $\mathrm{Cov}(S_v, \bar x) = \sigma_v^2/n$. So
   $\mathrm{Var}(S_v - m_v\bar x) = \sigma_v^2 - 2\frac{m_v}{n}\sigma_v^2 +
   \frac{m_v^2}{n^2}\sum_u\sigma_u^2$.
2. With equal $\mu_v$ the mean of $S_v - m_v\bar x$ is 0. Summed over $v$, the last part becomes
   $\sum_v\sigma_v^2 \cdot \sum_u m_u^2/n^2$, and the form follows.
3. With $m_v = n/V$ the bracket is $1 - \frac2V + V\frac1{V^2} = \frac{V-1}V$.
4. If the means differ, $E(S_v - m_v\bar x)^2$ has the square of its mean besides, which is
   $m_v^2(\mu_v - \bar\mu)^2$ for equal sizes: not negative.
5. Write $w_v = m_v/n$, so that $\sum_v w_v = 1$. Then
   $\sum_u w_u^2 = \frac1V + \sum_u (w_u - \frac1V)^2$ is at least $\frac1V$, and at most the
   largest $w$, as a mean of the $w$. For the smallest cluster $w \le \frac1V$, and the bracket is
   at least $1 - \frac2V + \frac1V$; for the largest $w \ge \frac1V$, and it is at most
   $1 - 2w + w \le 1 - \frac1V$. So $\mathrm{SE}^2$ is too small on average where, as with two
   clusters of sizes $2 : 1$, only the largest varies, and too large where only the smallest does.
   If no $w$ is above $\varepsilon$, the bracket is from $1 - 2\varepsilon$ to $1 + \varepsilon$,
   and $V \ge 1/\varepsilon$.

References

- Binder, "On the variances of asymptotically normal estimators from complex surveys",
  *International Statistical Review* 51 (1983); Cochran, *Sampling Techniques* (3rd ed. 1977),
  chapters 9 and 9A (clusters of equal and of unequal sizes).
"""

from fractions import Fraction
from itertools import product

import sympy
from sympy import Eq, IndexedBase, Sum, Symbol

import carve_stats as cs

V, size = sympy.symbols("V n", integer=True, positive=True)
v, u = sympy.symbols("v u", integer=True, positive=True)
m, sigma, S = IndexedBase("m"), IndexedBase("sigma"), IndexedBase("S")
x_bar = Symbol(r"\bar{x}")
expected, variance = Symbol(r"E\,\mathrm{SE}^2"), Symbol(r"\mathrm{Var}\,\bar{x}")

FORMULAS = {
    "se": Eq(
        Symbol(r"\mathrm{SE}^2"),
        V / (V - 1) / size**2 * Sum((S[v] - m[v] * x_bar) ** 2, (v, 1, V)),
    ),
    "expected": Eq(
        expected,
        V
        / (V - 1)
        / size**2
        * Sum(
            sigma[v] ** 2 * (1 - 2 * m[v] / size + Sum(m[u] ** 2, (u, 1, V)) / size**2), (v, 1, V)
        ),
    ),
    "unbiased": Eq(expected, variance),
    "conservative": sympy.Ge(expected, variance),
}
USED_BY = ("flip_rates", "mean_score", "compare_runs", "summarize_runs", "stratified_scores")

# A cluster's size and variance, and the sums over all clusters that a summand can hold.
size_v, var_v = sympy.symbols("m_v var_v", positive=True)
all_var, all_squares = sympy.symbols("all_var all_squares", positive=True)


def test_step_1():
    # S_v − m_v x̄ = (1 − m_v/n) S_v − m_v/n · (all other sums), and independent sums.
    own = (1 - size_v / size) ** 2 * var_v + (size_v / size) ** 2 * (all_var - var_v)
    said = var_v - 2 * size_v / size * var_v + size_v**2 / size**2 * all_var
    assert sympy.expand(own - said) == 0


def test_step_2():
    # Over v: Σ var_v = all_var and Σ m_v² = all_squares; Σ m_v var_v is a sum of its own.
    mixed = Symbol("mixed")
    total = all_var - 2 * mixed / size + all_squares / size**2 * all_var
    said = FORMULAS["expected"].rhs
    (outer,) = [one for one in said.args if isinstance(one, Sum)]
    assert outer.limits == ((v, 1, V),)
    summand = sympy.expand(
        outer.function.subs(Sum(m[u] ** 2, (u, 1, V)), all_squares).subs(
            {m[v]: size_v, sigma[v]: sympy.sqrt(var_v)}
        )
    )
    polynomial = sympy.Poly(summand, var_v, size_v)
    sums = {(1, 0): all_var, (1, 1): mixed}
    summed = sum(factor * sums[powers] for powers, factor in polynomial.terms())
    (squares,) = [one for one in FORMULAS["se"].rhs.args if isinstance(one, Sum)]
    assert squares == Sum((S[v] - m[v] * x_bar) ** 2, (v, 1, V))  # step 1's, summed
    assert sympy.simplify(said / outer * summed - FORMULAS["se"].rhs / squares * total) == 0


def bracket():
    """1 − 2 m_v/n + Σ m_u²/n² at equal sizes, as the form has it."""
    (outer,) = [one for one in FORMULAS["expected"].rhs.args if isinstance(one, Sum)]
    equal = outer.function.subs(m[v], size / V).subs(Sum(m[u] ** 2, (u, 1, V)), V * (size / V) ** 2)
    factor = FORMULAS["expected"].rhs / outer
    return sympy.simplify(factor * size**2 * equal / sigma[v] ** 2)


def test_step_3():
    assert bracket() == 1
    # So the sum is Σ σ_v²/n², which is the variance of the mean.
    assert (
        FORMULAS["unbiased"].rhs.subs(variance, all_var / size**2) == all_var / size**2 * bracket()
    )


def test_step_4():
    mean_v, average = sympy.symbols("mean_v average", real=True)
    each = size / V
    total = V * average  # Σ μ_v, so that E x̄ = Σ each·μ_v/n
    off = each * mean_v - each * (each * total / size)
    assert sympy.simplify(off**2 - each**2 * (mean_v - average) ** 2) == 0
    beyond = Symbol("beyond", nonnegative=True)  # V/(V − 1)/n² Σ off²
    relation = FORMULAS["conservative"]
    assert (relation.gts - relation.lts).subs(expected, variance + beyond) == beyond


def test_step_5():
    w, squares = sympy.symbols("w squares", positive=True)
    # Σ (w − 1/V)² from Σ w² = squares, Σ w = 1 and Σ 1 = V.
    sums = {2: squares, 1: 1, 0: V}
    polynomial = sympy.Poly((w - 1 / V) ** 2, w)
    above = sum(factor * sums[power] for (power,), factor in polynomial.terms())
    assert sympy.expand(squares - 1 / V - above) == 0
    (outer,) = [one for one in FORMULAS["expected"].rhs.args if isinstance(one, Sum)]
    part = sympy.expand(outer.function / sigma[v] ** 2).subs(
        {m[v]: w * size, Sum(m[u] ** 2, (u, 1, V)): squares * size**2}
    )
    more, less, spread, short = sympy.symbols("more less spread short", nonnegative=True)
    smallest = part.subs({w: 1 / V - less, squares: 1 / V + spread}) - (1 - 1 / V)
    assert sympy.expand(smallest) == 2 * less + spread
    largest = part.subs(squares, w - short).subs(w, 1 / V + more) - (1 - 1 / V)
    assert sympy.expand(largest) == -more - short
    third = sympy.Rational(1, 3)
    factors = [2 * part.subs({w: one, squares: 5 * third**2}) for one in (2 * third, third)]
    assert factors[0] < 1 < factors[1]
    small, below = sympy.symbols("small below", nonnegative=True)  # w and Σ w² are at most small
    assert sympy.expand(part.subs(w, small - below) - (1 - 2 * small)) == 2 * below + squares
    assert sympy.expand((1 + small) - part.subs(squares, small - short)) == 2 * w + short


def average_square(sizes, tables, chances):
    """E SE² of both arms' rates and the score over all outcomes of independent clusters.

    Every question of a cluster has the same table of k = 1, one of two.
    """
    names = [f"v{i}" for i, times in enumerate(sizes) for _ in range(times)]
    questions = [f"q{i}" for i in range(len(names))]
    found = [Fraction(0)] * 3
    for outcome in product((0, 1), repeat=len(sizes)):
        chance = Fraction(1)
        for one, (first, second) in zip(outcome, chances, strict=True):
            chance *= second if one else first
        rows = [
            tables[one] for one, times in zip(outcome, sizes, strict=True) for _ in range(times)
        ]
        sham, destroy = zip(*rows, strict=True)
        ones = [1] * len(rows)
        counts = cs.ReplayCounts(questions, sham, ones, destroy, ones, cluster=names)
        rates = cs.flip_rates(counts)
        for place, estimate in enumerate((rates.sham, rates.destroy, cs.mean_score(counts))):
            found[place] += chance * Fraction(estimate.se or 0) ** 2
    return found


def said(sizes, weights):
    """The form, for figures that are 0 or 1 in all of a cluster with these chances."""
    total, clusters = sum(sizes), len(sizes)
    squares = sum(one**2 for one in sizes)
    return (
        Fraction(clusters, clusters - 1)
        / total**2
        * sum(
            one**2 * low * high * (1 - Fraction(2 * one, total) + Fraction(squares, total**2))
            for one, (low, high) in zip(sizes, weights, strict=True)
        )
    )


ALIKE = (Fraction(1, 4), Fraction(3, 4))


def test_implementation_equal_sizes():
    """Unbiased: the variance of the mean of three clusters is pq/3."""
    for each in (1, 2, 4):
        found = average_square([each] * 3, [(1, 0), (0, 1)], [ALIKE] * 3)
        spread = ALIKE[0] * ALIKE[1] / 3
        for one, exact in zip(found, (spread, spread, 4 * spread), strict=True):
            assert abs(one - exact) <= exact * Fraction(1, 10**14)
        assert said([each] * 3, [ALIKE] * 3) == spread


def test_implementation_unequal_sizes():
    for sizes in ([1, 2, 3], [1, 1, 4, 2], [1, 7]):
        found = average_square(sizes, [(1, 0), (0, 1)], [ALIKE] * len(sizes))
        exact = said(sizes, [ALIKE] * len(sizes))
        for one, factor in zip(found, (1, 1, 4), strict=True):
            assert abs(one - factor * exact) <= factor * exact * Fraction(1, 10**14)


def test_implementation_different_means():
    """Too large on average where clusters of equal size have different chances."""
    chances = [(Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 2), Fraction(1, 2)),
               (Fraction(1, 8), Fraction(7, 8))]  # fmt: skip
    found = average_square([2, 2, 2], [(1, 0), (0, 1)], chances)
    variance_of_mean = sum(low * high for low, high in chances) / 9
    means = [low for low, _ in chances]  # of the SHAM flips
    centre = sum(means) / 3
    exact = variance_of_mean + sum((one - centre) ** 2 for one in means) / 6
    assert exact > variance_of_mean
    for one, factor in zip(found, (1, 1, 4), strict=True):
        assert abs(one - factor * exact) <= factor * exact * Fraction(1, 10**14)


PLACES = "uuuvvwwwwxyy"  # the cluster of each question
FLIPS = [  # of 3 SHAM and of 4 DESTROY replays, in two runs
    [
        (0, 4),
        (1, 3),
        (2, 1),
        (0, 0),
        (3, 2),
        (1, 4),
        (0, 1),
        (2, 2),
        (1, 0),
        (0, 3),
        (1, 1),
        (0, 2),
    ],
    [
        (1, 4),
        (1, 2),
        (0, 1),
        (0, 1),
        (2, 2),
        (1, 3),
        (0, 4),
        (3, 2),
        (1, 1),
        (0, 0),
        (1, 2),
        (2, 2),
    ],
]


def run(flips):
    size_ = len(flips)
    sham, destroy = zip(*flips, strict=True)
    names = [f"q{i:02}" for i in range(size_)]
    return cs.ReplayCounts(names, sham, [3] * size_, destroy, [4] * size_, cluster=list(PLACES))


def figures(flips):
    """The SHAM rate, the DESTROY rate and the score of each question."""
    rates = [(Fraction(x, 3), Fraction(y, 4)) for x, y in flips]
    return zip(*[(p, q, q - p) for p, q in rates], strict=True)


def square(values, places):
    """The statement's SE² of a mean."""
    mean = sum(values) / len(values)
    sums = {place: Fraction(0) for place in places}
    for one, place in zip(values, places, strict=True):
        sums[place] += one - mean
    spread = sum(one**2 for one in sums.values()) / len(values) ** 2
    return mean, Fraction(len(sums), len(sums) - 1) * spread


def check_mean(found, values, places):
    mean, exact = square(values, places)
    assert abs(Fraction(found.estimate) - mean) <= Fraction(1, 10**15)
    assert abs(Fraction(found.se) ** 2 - exact) <= exact * Fraction(1, 10**13)


def test_implementation_compare_runs():
    """The figure is what the second run has more, question by question."""
    result = cs.compare_runs(*map(run, FLIPS))
    rows = (result.sham, result.destroy, result.mean_score)
    for found, one, other in zip(rows, *map(figures, FLIPS), strict=True):
        check_mean(found, [b - a for a, b in zip(one, other, strict=True)], PLACES)


def test_implementation_summarize_runs():
    """The figure is a question's mean over the runs."""
    result = cs.summarize_runs({"1": run(FLIPS[0]), "2": run(FLIPS[1])})
    rows = (result.sham, result.destroy, result.mean_score)
    for found, one, other in zip(rows, *map(figures, FLIPS), strict=True):
        check_mean(found, [(a + b) / 2 for a, b in zip(one, other, strict=True)], PLACES)


def test_implementation_stratified_scores():
    """The clusters of a stratum are those with a question in it."""
    right = [1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0]
    counts = run(FLIPS[0])
    result = cs.stratified_scores(counts, cs.Outcomes(counts.question, right, {}), by="correct")
    for of_stratum, stratum in zip(
        (0, 1), sorted(result.strata, key=lambda s: s.label), strict=True
    ):
        kept = [place for place, one in enumerate(right) if one == of_stratum]
        assert stratum.questions == len(kept)
        rows = (stratum.sham, stratum.destroy, stratum.score)
        for found, values in zip(rows, figures(FLIPS[0]), strict=True):
            check_mean(found, [values[i] for i in kept], [PLACES[i] for i in kept])
