r"""Repairs, harms, and the standard error of a yield

Of a question, $o$ and $f$ tell whether the original answer and the fallback's are right (1) or
not (0), and $g$ is the probability that a rule defers it. The gain of deferring it is repair less
harm,

[[value]]

and the rule's answer is right with the probability

[[after]]

So accuracy grows by the net $\sum g d$ over $n$. The yield, the net by deferred question, is a
ratio of two means, $D = \frac1n\sum g d$ and $G = \frac1n\sum g$. If a population's are $D_0$ and
$G_0$ and its yield $R = D_0/G_0$, then

[[linear]]

exactly, and the second term is of the order $1/n$. Its influence function is

[[influence]]

with mean zero, at the sample's own values too; that of the gain is $g d - D$. With questions in
$V$ clusters the squared standard error is, for either,
$\frac{V}{V-1}\sum_v (\sum_{i \in v} \varphi_i)^2/n^2$.

Proof

1. $f - o$ is 1 for a repair ($o = 0$, $f = 1$), $-1$ for a harm, and 0 otherwise:
   $f(1-o) - o(1-f)$.
2. With probability $g$ the answer is the fallback's, else the original: $(1-g)o + g f$. The mean
   over the questions exceeds that of $o$ by the mean of $g d$.
3. $D/G - R = (D - R G)/G$, and $1/G = 1/G_0 - (G - G_0)/(G G_0)$. Both factors of the second term
   are deviations of means.
4. The influence of a question is the derivative at $\varepsilon = 0$ of the yield of the
   population with weight $\varepsilon$ moved to that question. Its mean is
   $(D_0 - R G_0)/G_0 = 0$.
5. The linear term is the mean of $n$ influences, which is $\frac1n$ times the sum over $V$
   independent cluster sums with mean zero: its variance is $V/n^2$ times that of a sum, and
   $\frac{1}{V-1}\sum_v(\cdot)^2$ estimates that variance without bias where the sums' mean is
   taken off, which for the sample's influences is 0.

References

- D. A. Binder, On the variances of asymptotically normal estimators from complex surveys,
  *International Statistical Review* 51 (1983) 279–292.
- W. G. Cochran, *Sampling Techniques*, 3rd ed., Wiley 1977, section 2.11 and chapter 6 (ratios).
"""

from fractions import Fraction
from itertools import product

import pytest
import sympy
from sympy import Eq

import carve_stats as cs

o, f, g, d = sympy.symbols("o f g d")
D, G, D_0, G_0, R = sympy.symbols("D G D_0 G_0 R")
value, after, phi, epsilon = sympy.symbols("d c varphi epsilon")

FORMULAS = {
    "value": Eq(value, f * (1 - o) - o * (1 - f)),
    "after": Eq(after, o + g * d),
    "linear": Eq(D / G - R, (D - R * G) / G_0 - (D - R * G) * (G - G_0) / (G * G_0)),
    "influence": Eq(phi, (g * d - R * g) / G_0),
}
USED_BY = (
    "evaluate_rule",
    "compare_rules",
    "deferral_frontier",
    "compare_methods",
    "rule_transfer",
)


def test_step_1():
    said = FORMULAS["value"].rhs
    assert sympy.expand(said - (f - o)) == 0
    found = {(a, b): said.subs({o: a, f: b}) for a, b in product((0, 1), repeat=2)}
    assert found == {(0, 0): 0, (0, 1): 1, (1, 0): -1, (1, 1): 0}


def test_step_2():
    answered = (1 - g) * o + g * f
    said = FORMULAS["after"].rhs.subs(d, FORMULAS["value"].rhs)
    assert sympy.expand(said - answered) == 0


def test_step_3():
    said = FORMULAS["linear"]
    assert sympy.simplify(said.lhs - said.rhs) == 0
    assert sympy.simplify(said.lhs - (D - R * G) / G) == 0
    # The first term is linear in the means, and the second is quadratic in their deviations.
    h, a, b = sympy.symbols("h a b")
    small = said.rhs.subs({D: D_0 + h * a, G: G_0 + h * b}).subs(R, D_0 / G_0)
    first = (a - D_0 / G_0 * b) / G_0
    assert sympy.simplify(small.subs(h, 0)) == 0
    assert sympy.simplify(sympy.diff(small, h).subs(h, 0) - first) == 0


def test_step_4():
    moved = ((1 - epsilon) * D_0 + epsilon * g * d) / ((1 - epsilon) * G_0 + epsilon * g)
    influence = sympy.diff(moved, epsilon).subs(epsilon, 0)
    said = FORMULAS["influence"].rhs
    assert sympy.simplify(influence - said.subs(R, D_0 / G_0)) == 0
    mean = (D_0 - R * G_0) / G_0  # of g·d is D_0, of g is G_0
    assert sympy.simplify(mean.subs(R, D_0 / G_0)) == 0
    # And it is what the linear term of step 3 averages.
    linear = (D - R * G) / G_0
    assert sympy.expand(linear - said.subs(g * d, D).subs(g, G)) == 0


def test_step_5():
    clusters, variance, mean = sympy.symbols("clusters variance mean", positive=True)
    squares = clusters * (variance + mean**2)  # E of the sum of the squared cluster sums
    of_total = squares + clusters * (clusters - 1) * mean**2  # and of the square of their sum
    spread = squares - of_total / clusters
    assert sympy.simplify(spread / (clusters - 1) - variance) == 0
    # The linear term of step 3 is the total by n, and its variance V times that of one sum.
    assert sympy.simplify(of_total - (clusters * mean) ** 2 - clusters * variance) == 0


QUESTIONS = [
    # Cluster, flips under SHAM and DESTROY of 2 replays, original, fallback.
    ("v", 2, 0, 0, 1), ("v", 0, 2, 1, 1), ("v", 1, 1, 1, 0), ("w", 2, 1, 0, 1), ("w", 0, 0, 0, 0),
    ("w", 1, 2, 0, 1), ("x", 0, 0, 0, 1), ("x", 2, 2, 1, 1), ("x", 1, 0, 1, 0), ("x", 0, 1, 1, 0),
    ("y", 1, 1, 0, 1), ("y", 2, 0, 1, 1), ("z", 0, 2, 0, 0), ("z", 2, 1, 0, 1),
]  # fmt: skip
RULES = {
    "score <= 0": lambda x, y: y <= x,
    "score < 0": lambda x, y: y < x,
    "score = 0": lambda x, y: y == x,
    "always": lambda x, y: True,
}


def routed():
    clusters, sham, destroy, original, fallback = zip(*QUESTIONS, strict=True)
    size = len(QUESTIONS)
    names = [f"q{place:02}" for place in range(size)]
    counts = cs.ReplayCounts(names, sham, [2] * size, destroy, [2] * size, cluster=clusters)
    return counts, cs.Outcomes(names, original, {"strong": fallback})


def influences(chosen):
    """Gain, yield and their influence functions where `chosen` tells which are deferred."""
    gain = [fallback - original for *_, original, fallback in QUESTIONS]
    deferred = [int(chosen(x, y)) for _, x, y, _, _ in QUESTIONS]
    net = sum(e * one for e, one in zip(deferred, gain, strict=True))
    mean, ratio = Fraction(sum(deferred), len(gain)), Fraction(net, sum(deferred))
    of_gain = [e * one - Fraction(net, len(gain)) for e, one in zip(deferred, gain, strict=True)]
    of_yield = [(e * one - ratio * e) / mean for e, one in zip(deferred, gain, strict=True)]
    return (Fraction(net, len(gain)), of_gain), (ratio, of_yield)


def square(influence):
    """The statement's squared standard error."""
    sums = {}
    for one, (cluster, *_) in zip(influence, QUESTIONS, strict=True):
        sums[cluster] = sums.get(cluster, 0) + one
    spread = sum(one**2 for one in sums.values()) / Fraction(len(influence) ** 2)
    return Fraction(len(sums), len(sums) - 1) * spread


def check(found, value_, influence, *, unit=100):
    assert abs(Fraction(found.estimate) - unit * value_) <= Fraction(1, 10**12)
    exact = square(influence)
    assert abs((Fraction(found.se) / unit) ** 2 - exact) <= exact / 10**12


@pytest.mark.parametrize("rule", RULES)
def test_implementation_evaluate_rule(rule):
    result = cs.evaluate_rule(*routed(), rule)
    gain, ratio = influences(RULES[rule])
    values = [(x, y, fallback - original) for _, x, y, original, fallback in QUESTIONS]
    kinds = [one for x, y, one in values if RULES[rule](x, y)]
    repairs, harms = kinds.count(1), kinds.count(-1)
    assert (result.selected, result.repairs, result.harms) == (len(kinds), repairs, harms)
    assert result.net == repairs - harms
    assert sum(gain[1]) == sum(ratio[1]) == 0
    check(result.gain_points, *gain)
    check(result.yield_per_100, *ratio)
    right = sum(original for *_, original, _ in QUESTIONS) + repairs - harms
    after_ = Fraction(right, len(QUESTIONS))
    assert abs(Fraction(result.accuracy_after.estimate) - after_) <= Fraction(1, 10**15)


def test_implementation_compare_rules():
    """Influence functions subtract as their figures do."""
    one, other = "score <= 0", "score < 0"
    result = cs.compare_rules(*routed(), one, other)
    rows = (result.gain_difference, result.yield_difference)
    for found, a, b in zip(rows, *(influences(RULES[rule]) for rule in (one, other)), strict=True):
        check(found, a[0] - b[0], [x - y for x, y in zip(a[1], b[1], strict=True)])


def test_implementation_deferral_frontier():
    frontier = cs.deferral_frontier(*routed())
    assert frontier.cut_off.tolist() == [-1, -0.5, 0, 0.5, 1]
    widths = []
    for place, cut_off in enumerate(frontier.cut_off):
        (gain, influence), _ = influences(lambda x, y, most=cut_off: y - x <= 2 * most)
        chosen = [d_ for _, x, y, o_, f_ in QUESTIONS for d_ in [f_ - o_] if y - x <= 2 * cut_off]
        assert frontier.calls[place] == len(chosen)
        assert frontier.repairs[place] == chosen.count(1)
        assert frontier.harms[place] == chosen.count(-1)
        assert abs(Fraction(float(frontier.gain_points[place])) - 100 * gain) <= Fraction(1, 10**12)
        half = Fraction(float(frontier.high[place])) - Fraction(float(frontier.low[place]))
        widths.append((half / 200) ** 2 / square(influence))
    # One quantile of Student's t at all cut-offs, which makes of a standard error half a width.
    assert all(abs(one / widths[0] - 1) <= Fraction(1, 10**11) for one in widths)
    assert abs(widths[0] - Fraction("2.7764451051977987") ** 2) <= Fraction(1, 10**10)


def test_implementation_compare_methods():
    counts, outcomes = routed()
    table = cs.compare_methods(outcomes, counts, rules=["score <= 0", "score < 0"])
    originals = Fraction(sum(original for *_, original, _ in QUESTIONS), len(QUESTIONS))
    for rule in ("score <= 0", "score < 0"):
        (gain, influence), _ = influences(RULES[rule])
        row = table[rule]
        check(row.change_points, gain, influence)
        assert row.repairs - row.harms == row.net == gain * len(QUESTIONS)
        assert abs(Fraction(row.accuracy.estimate) - originals - gain) <= Fraction(1, 10**15)


def test_implementation_rule_transfer():
    result = cs.rule_transfer(*routed(), *routed(), rules=["score <= 0", "score < 0"], rng=1)
    for rule in result.rules:
        gain, ratio = influences(RULES[rule.rule])
        for side in (rule.source, rule.target):
            check(side.gain_points, *gain)
            check(side.yield_per_100, *ratio)
