r"""The rates are means of the questions' own, and their difference is the mean score

Question $i$ of $n$ has $k_{s,i}$ valid SHAM and $k_{d,i}$ valid DESTROY replays, at least one of
each, of which $x_i$ and $y_i$ flip. Its score is

[[score]]

an integer over a positive one, so that whole numbers decide its sign. With the mean rates
$\hat p_s = \frac1n\sum_i x_i/k_{s,i}$ and $\hat p_d = \frac1n\sum_i y_i/k_{d,i}$ over the same
questions

[[difference]]

exactly, however much the numbers of replays differ. If these do not depend on the answers, and
question $i$ flips with probability $p_i$ in an arm, $\hat p$ has the mean $\bar p$, the average of
the $p_i$. The ratio of sums $\sum_i x_i/\sum_i k_i$ has not:

[[ratio_of_sums]]

with the covariance over the questions, divisor $n$. It is off where questions that flip more have
more valid replays.

Proof

1. The score is $y_i/k_{d,i} - x_i/k_{s,i}$; over the common denominator it is the form.
2. A mean is linear, and both rates are means over the same $n$ questions with the same weights.
3. Given the numbers of replays $E\,x_i = k_i p_i$. So $E\,\hat p = \frac1n\sum_i p_i$, and the
   ratio of sums has the mean $\overline{kp}/\bar k$, which is
   $\bar p + (\overline{kp} - \bar k\,\bar p)/\bar k$.

References

- Cochran, *Sampling Techniques* (3rd ed. 1977), chapter 6 (the mean of ratios and the ratio of
  means).
"""

from fractions import Fraction

import sympy
from sympy import Eq, IndexedBase, Sum, Symbol

import carve_stats as cs

size = Symbol("n", integer=True, positive=True)
i = Symbol("i", integer=True, positive=True)
x_i, y_i = sympy.symbols("x_i y_i", nonnegative=True)
k_s, k_d = sympy.symbols(r"k_{s\,i} k_{d\,i}", positive=True)
delta = IndexedBase(r"\hat{\Delta}")
score, rate_s, rate_d = sympy.symbols(r"\hat{\Delta}_i \hat{p}_s \hat{p}_d")
p_bar, k_bar, kp_bar = sympy.symbols(r"\bar{p} \bar{k} \overline{kp}", positive=True)
expected = Symbol(r"E\,\frac{\sum_i x_i}{\sum_i k_i}")

FORMULAS = {
    "score": Eq(score, (y_i * k_s - x_i * k_d) / (k_s * k_d)),
    "difference": Eq(rate_d - rate_s, Sum(delta[i], (i, 1, size)) / size),
    "ratio_of_sums": Eq(expected - p_bar, (kp_bar - k_bar * p_bar) / k_bar),
}
USED_BY = ("flip_rates", "mean_score")


def test_step_1():
    assert sympy.simplify(FORMULAS["score"].rhs - (y_i / k_d - x_i / k_s)) == 0


def test_step_2():
    difference = FORMULAS["difference"]
    (summed,) = difference.rhs.atoms(Sum)
    assert summed.limits == ((i, 1, size),)
    weight = difference.rhs / summed  # of each question, as in both rates
    rates = {rate_d: y_i / k_d / size, rate_s: x_i / k_s / size}  # what the question adds
    own = weight * summed.function.subs(delta[i], FORMULAS["score"].rhs)
    assert sympy.simplify(own - difference.lhs.subs(rates)) == 0


def test_step_3():
    k, p = sympy.symbols("k p", positive=True)
    assert (k * p) / k == p  # E x/k: the mean of a question's own rate
    ratio = kp_bar / k_bar  # n and n cancel
    said = FORMULAS["ratio_of_sums"]
    assert sympy.simplify(said.lhs.subs(expected, ratio) - said.rhs) == 0


ROWS = [(0, 4, 3, 4), (1, 2, 1, 4), (5, 8, 1, 1), (2, 2, 0, 2), (0, 0, 3, 4), (3, 4, 0, 0)]


def counts():
    """Six questions; one has no valid SHAM, one no valid DESTROY replay."""
    columns = zip(*ROWS, strict=True)
    return cs.ReplayCounts(list("abcdef"), *columns, cluster=list("uuvvww"))


def test_implementation_flip_rates():
    found = cs.flip_rates(counts())
    scored = [row for row in ROWS if row[1] and row[3]]
    sham = sum(Fraction(x, m) for x, m, _, _ in scored) / len(scored)
    destroy = sum(Fraction(y, r) for _, _, y, r in scored) / len(scored)
    assert Fraction(found.sham.estimate) == sham  # halves of halves, so that nothing is rounded
    assert Fraction(found.destroy.estimate) == destroy
    pooled = Fraction(sum(row[0] for row in scored), sum(row[1] for row in scored))
    assert pooled != sham


def test_implementation_mean_score():
    rates, found = cs.flip_rates(counts()), cs.mean_score(counts())
    difference = Fraction(rates.destroy.estimate) - Fraction(rates.sham.estimate)
    assert Fraction(found.estimate) == difference
    assert found.questions == rates.sham.questions == rates.destroy.questions == 4
