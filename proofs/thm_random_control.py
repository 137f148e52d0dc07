r"""What deferring as many questions at random gains

Of $N$ questions a deferral repairs $R$ and harms $H$. If $m$ of them are deferred, each choice of
$m$ as likely as any other, the probability of $r$ repairs and $h$ harms is

[[law]]

For $N \ge 2$, with $\bar d = (R-H)/N$ and $s^2 = (R+H)/N - \bar d^2$ the net $r - h$ has the mean
and the variance

[[mean]]

[[variance]]

If $m$ or $m+1$ questions are deferred, $m+1$ with probability $f$, so that $m + f$ are on
average, then

[[mean_between]]

[[variance_between]]

In several strata with a choice of its own in each, means and variances add up, and the law of the
net is the convolution of theirs.

Proof

1. Questions drawn one after the other are a choice of $m$ in random order. Given $m$ draws with
   $r$ repairs and $h$ harms, the next is a repair with probability $(R-r)/(N-m)$, a harm with
   $(H-h)/(N-m)$, and neither with $(N-R-H-m+r+h)/(N-m)$. The law holds for $m = 0$, and from $m$
   to $m+1$ by the sum over these three.
2. A question is among the $m$ with probability $\binom{N-1}{m-1}/\binom{N}{m} = m/N$. The values
   of all questions, 1, $-1$ or 0, add up to $R - H = N\bar d$.
3. Two questions are both among them with probability $\frac{m(m-1)}{N(N-1)}$, so that their
   indicators have the variance $\frac{m(N-m)}{N^2}$ and the covariance
   $-\frac{m(N-m)}{N^2(N-1)}$. The sum over questions of the squared values is $R + H$, and that
   over pairs of the products $(R-H)^2 - (R+H)$.
4. With a random number of draws the mean is $\bar d$ times its mean, and the variance is the mean
   of the variance plus $\bar d^2$ times the variance of the number, $f(1-f)$.
5. Choices in different strata are independent: variances add, and generating functions multiply.

References

- N. L. Johnson, S. Kotz, N. Balakrishnan, *Discrete Multivariate Distributions*, Wiley 1997,
  chapter 39.
- W. G. Cochran, *Sampling Techniques*, 3rd ed., Wiley 1977, theorems 2.1 and 2.2.
"""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
import sympy
from sympy import Eq, binomial

import carve_stats as cs

R, H, N, m, r, h = sympy.symbols("R H N m r h", integer=True, nonnegative=True)
f, d_bar, s = sympy.symbols("f dbar s", nonnegative=True)
probability, mean, variance = sympy.symbols("P mu V")

FORMULAS = {
    "law": Eq(
        probability,
        binomial(R, r) * binomial(H, h) * binomial(N - R - H, m - r - h) / binomial(N, m),
    ),
    "mean": Eq(mean, m * d_bar),
    "variance": Eq(variance, m * s**2 * (N - m) / (N - 1)),
    "mean_between": Eq(mean, (m + f) * d_bar),
    "variance_between": Eq(
        variance,
        s**2 * ((1 - f) * m * (N - m) + f * (m + 1) * (N - m - 1)) / (N - 1)
        + d_bar**2 * f * (1 - f),
    ),
}
USED_BY = ("evaluate_rule", "compare_policies", "deferral_frontier", "compare_methods")
VALUES = {d_bar: (R - H) / N, s: sympy.sqrt((R + H) / N - ((R - H) / N) ** 2)}


def test_step_1():
    law = FORMULAS["law"].rhs
    assert law.subs({m: 0, r: 0, h: 0}) == 1
    drawn = (
        law.subs(r, r - 1) * (R - r + 1) / (N - m)
        + law.subs(h, h - 1) * (H - h + 1) / (N - m)
        + law * (N - R - H - m + r + h) / (N - m)
    )
    ratio = sympy.expand(drawn / law.subs(m, m + 1))
    ratio = sum(sympy.combsimp(term.rewrite(sympy.factorial)) for term in ratio.args)
    assert sympy.simplify(ratio) == 1


def test_step_2():
    among = sympy.combsimp((binomial(N - 1, m - 1) / binomial(N, m)).rewrite(sympy.factorial))
    assert sympy.simplify(among - m / N) == 0
    assert sympy.simplify(FORMULAS["mean"].rhs.subs(VALUES) - among * (R - H)) == 0


def test_step_3():
    one = m / N
    both = sympy.combsimp((binomial(N - 2, m - 2) / binomial(N, m)).rewrite(sympy.factorial))
    assert sympy.simplify(both - m * (m - 1) / (N * (N - 1))) == 0
    own, shared = one - one**2, both - one**2
    assert sympy.simplify(own - m * (N - m) / N**2) == 0
    assert sympy.simplify(shared + m * (N - m) / (N**2 * (N - 1))) == 0
    total = (R + H) * own + ((R - H) ** 2 - (R + H)) * shared
    assert sympy.simplify(FORMULAS["variance"].rhs.subs(VALUES) - total) == 0


def test_step_4():
    less, more = ({name: FORMULAS[name].rhs.subs(m, at) for name in ("mean", "variance")}
                  for at in (m, m + 1))  # fmt: skip
    average = (1 - f) * less["mean"] + f * more["mean"]
    assert sympy.expand(average - FORMULAS["mean_between"].rhs) == 0
    within = (1 - f) * less["variance"] + f * more["variance"]
    between = (1 - f) * (less["mean"] - average) ** 2 + f * (more["mean"] - average) ** 2
    assert sympy.simplify(within + between - FORMULAS["variance_between"].rhs) == 0


def test_step_5():
    """Of generating functions A and B with A(1) = B(1) = 1: the moments of A·B."""
    z = sympy.Symbol("z", positive=True)
    one, other = sympy.Function("A")(z), sympy.Function("B")(z)

    def moments(generating):
        first = sympy.diff(generating, z)
        second = sympy.diff(z * first, z)
        return first, second - first**2

    certain = {one: 1, other: 1}
    (mean_a, var_a), (mean_b, var_b) = moments(one), moments(other)
    mean_both, var_both = moments(one * other)

    def at_one(expression):
        a, b = sympy.symbols("a b", cls=sympy.Function)
        kept = expression.doit()
        for order in (2, 1):
            kept = kept.subs(
                {sympy.diff(one, z, order): a(order), sympy.diff(other, z, order): b(order)}
            )
        return sympy.expand(kept.subs(certain).subs(z, 1))

    assert at_one(mean_both) == at_one(mean_a) + at_one(mean_b)
    assert sympy.expand(at_one(var_both) - at_one(var_a) - at_one(var_b)) == 0


def exact_law(repairs, harms, questions, chosen):
    """Probability of each net, as fractions, from the statement's law."""
    nets = {}
    for a in range(repairs + 1):
        for b in range(harms + 1):
            if 0 <= chosen - a - b <= questions - repairs - harms:
                ways = comb(repairs, a) * comb(harms, b)
                ways *= comb(questions - repairs - harms, chosen - a - b)
                share = Fraction(ways, comb(questions, chosen))
                nets[a - b] = nets.get(a - b, 0) + share
    return nets


def convolved(one, other):
    sums = {}
    for a, p in one.items():
        for b, q in other.items():
            sums[a + b] = sums.get(a + b, 0) + p * q
    return sums


def routed(strata, k=2):
    """Counts and outcomes: of each stratum (repairs, harms, questions, deferred)."""
    rows = []
    for place, (repairs, harms, questions, deferred) in enumerate(strata):
        for one in range(questions):
            original = 0 if one < repairs else 1 if one < repairs + harms else one % 2
            fallback = 1 - original if one < repairs + harms else original
            rows.append((f"v{place}", original, fallback, 2 if one < deferred else 0))
    names = [f"q{place:03}" for place in range(len(rows))]
    clusters, original, fallback, sham = (list(column) for column in zip(*rows, strict=True))
    counts = cs.ReplayCounts(
        names, sham, [k] * len(rows), [1] * len(rows), [k] * len(rows), cluster=clusters
    )
    return counts, cs.Outcomes(names, original, {"strong": fallback})


STRATA = [
    [(3, 2, 9, 4)],
    [(3, 2, 9, 4), (0, 3, 5, 2), (4, 0, 6, 6), (2, 2, 4, 1)],
    [(40, 25, 150, 60), (3, 20, 70, 33)],
]


def pooled(strata):
    return [tuple(sum(column) for column in zip(*strata, strict=True))]


def check_control(control, strata, gain):
    exact = {0: Fraction(1)}
    for one in strata:
        exact = convolved(exact, exact_law(*one))
    law = control.distribution
    found = {law.lowest + place: one for place, one in enumerate(law.probabilities)}
    for net, share in exact.items():
        assert abs(Fraction(float(found.get(net, 0.0))) - share) <= share / 10**13 + Fraction(
            1, 10**30
        )
    average = spread = Fraction(0)
    for repairs, harms, questions, chosen in strata:
        value = Fraction(repairs - harms, questions)
        square = Fraction(repairs + harms, questions) - value**2
        average += chosen * value
        spread += chosen * square * Fraction(questions - chosen, questions - 1)
    assert average == sum(net * share for net, share in exact.items())
    assert spread == sum((net - average) ** 2 * share for net, share in exact.items())
    assert abs(Fraction(law.mean) - average) <= Fraction(1, 10**12)
    assert abs(Fraction(law.var) - spread) <= spread / 10**13
    tail = sum(share for net, share in exact.items() if net >= gain)
    assert abs(Fraction(control.p_value) - tail) <= Fraction(1, 10**12)


@pytest.mark.parametrize("strata", STRATA, ids=["one", "four", "two"])
def test_implementation_evaluate_rule(strata):
    result = cs.evaluate_rule(*routed(strata), "score < 0")
    assert result.selected == sum(one[3] for one in strata)
    check_control(result.controls["plain"], pooled(strata), result.net)
    check_control(result.controls["by_cluster"], strata, result.net)


def test_implementation_compare_policies():
    strata = STRATA[1]
    table = cs.compare_policies(*routed(strata), rules=["score < 0"])
    ((repairs, harms, questions, _),) = whole = pooled(strata)
    assert table["always"].net == repairs - harms
    for policy, choices in (("plain", whole), ("by_cluster", strata)):
        row = table[policy]
        average = sum(Fraction(one[3] * (one[0] - one[1]), one[2]) for one in choices)
        assert abs(Fraction(row.net) - average) <= Fraction(1, 10**14)
        gain = 100 * average / questions
        assert abs(Fraction(row.gain_points.estimate) - gain) <= Fraction(1, 10**13)
        law = {0: Fraction(1)}
        for one in choices:
            law = convolved(law, exact_law(*one))
        tail = sum(share for net, share in law.items() if net >= table["score < 0"].net)
        assert abs(Fraction(row.p_value) - tail) <= Fraction(1, 10**13)


def test_implementation_between_two_numbers():
    """Half of the ties are deferred: a number that is not whole is met on average."""
    counts = cs.ReplayCounts(["a", "b", "c", "d"], [1] * 4, [1] * 4, [0, 0, 0, 1], [1] * 4)
    outcomes = cs.Outcomes(["a", "b", "c", "d"], [0, 1, 1, 0], {"strong": [1, 1, 0, 1]})
    law = cs.evaluate_rule(counts, outcomes, Halves()).controls["plain"].distribution
    repairs, harms, questions, below, f_ = 2, 1, 4, 2, Fraction(1, 2)
    value = Fraction(repairs - harms, questions)
    square = Fraction(repairs + harms, questions) - value**2
    spread = square * ((1 - f_) * below * 2 + f_ * (below + 1)) / 3 + value**2 * f_ * (1 - f_)
    assert Fraction(law.mean) == (below + f_) * value
    assert abs(Fraction(law.var) - spread) <= Fraction(1, 10**15)
    less, more = (exact_law(repairs, harms, questions, at) for at in (below, below + 1))
    for place, found in enumerate(law.probabilities):
        net = law.lowest + place
        exact = (1 - f_) * less.get(net, 0) + f_ * more.get(net, 0)
        assert abs(Fraction(float(found)) - exact) <= Fraction(1, 10**15)


class Halves:
    """A rule that defers two and a half of four questions on average."""

    def propensities(self, questions):
        return np.array([1.0, 1.0, 0.5, 0.0])


def test_implementation_deferral_frontier():
    counts, outcomes = routed(STRATA[1])
    frontier = cs.deferral_frontier(counts, outcomes)
    ((repairs, harms, questions, _),) = pooled(STRATA[1])
    for calls, found in zip(frontier.calls.tolist(), frontier.random_points, strict=True):
        average = Fraction(calls * (repairs - harms), questions)  # the net's
        assert abs(Fraction(float(found)) - 100 * average / questions) <= Fraction(1, 10**12)


def test_implementation_compare_methods():
    counts, outcomes = routed(STRATA[1])
    table = cs.compare_methods(outcomes, counts, rules=["score < 0"])
    ((repairs, harms, questions, chosen),) = pooled(STRATA[1])
    row = table[f"random {chosen}"]
    value = Fraction(repairs - harms, questions)
    square = Fraction(repairs + harms, questions) - value**2
    spread = chosen * square * Fraction(questions - chosen, questions - 1)
    points = 100 * chosen * value / questions
    assert abs(Fraction(row.change_points.estimate) - points) <= Fraction(1, 10**12)
    exact = spread * Fraction(100, questions) ** 2
    assert abs(Fraction(row.change_points.se) ** 2 - exact) <= exact / 10**12
