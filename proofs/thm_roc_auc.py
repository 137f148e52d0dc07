r"""The ROC-AUC with midranks, and its influence function

Of $n$ questions $n_1$ are true and $n_0$ false, and each has a figure $a$. With $\psi(a, c)$ equal
to 1 where $a > c$, ½ where they are equal and else 0, the ROC-AUC $A$ is the mean of $\psi$ over
the pairs of a true and a false question. With $R_1$ for the sum of the true questions' midranks
among all,

[[midranks]]

Let $V_i$ be the mean of $\psi$ over the pairs that question $i$ is in. When question $i$ gains the
weight $\varepsilon$ from all the others, $A$ changes at the rate

[[of_true]]

if it is true, and if it is false

[[of_false]]

These have mean 0 over the questions.

Proof

1. The midrank of a figure is half, and the sum of $\psi$ against every figure, its own among them.
   Two true questions give $\psi(a,c) + \psi(c,a) = 1$, and one with itself ½: over all true
   questions $\frac{n_1}2 + \frac{n_1^2}2 + n_1 n_0 A = R_1$.
2. In shares of the questions let $\pi_1 = n_1/n$, $\pi_0 = n_0/n$, and $M = A\pi_1\pi_0$. Weights
   $1-\varepsilon$ for all and $\varepsilon$ more for a true question $i$ make $M$ into
   $(1-\varepsilon)^2M + \varepsilon(1-\varepsilon)\pi_0 V_i$, $\pi_1$ into
   $(1-\varepsilon)\pi_1 + \varepsilon$ and $\pi_0$ into $(1-\varepsilon)\pi_0$. The derivative of
   $M/(\pi_1\pi_0)$ at 0 is the form; a false question is the same with 0 and 1 exchanged.
3. The mean of $V_i$ over the true questions is $A$, and so is that over the false ones.

References

- DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two or more correlated receiver
  operating characteristic curves", *Biometrics* 44 (1988); Obuchowski, "Nonparametric analysis of
  clustered ROC curve data", *Biometrics* 53 (1997).
"""

from fractions import Fraction
from itertools import product

import sympy
from sympy import Eq, Rational, Symbol

import carve_stats as cs

A, R_1, V_i, phi = sympy.symbols("A R_1 V_i varphi_i")
size, true, false = sympy.symbols("n n_1 n_0", positive=True)
epsilon = Symbol("varepsilon")

FORMULAS = {
    "midranks": Eq(A, (R_1 - true * (true + 1) / 2) / (true * false)),
    "of_true": Eq(phi, size / true * (V_i - A)),
    "of_false": Eq(phi, size / false * (V_i - A)),
}
USED_BY = ("associations",)


def psi(one, other):
    return Rational((one > other) - (one < other) + 1, 2)


def test_step_1():
    # Every order of a figure against another: ψ is symmetric about ½.
    for one, other in product(range(3), repeat=2):
        assert psi(one, other) + psi(other, one) == 1
    half = Rational(1, 2)
    smaller, equal = sympy.symbols("smaller equal")  # figures below one, and equal to it
    midrank = ((smaller + 1) + (smaller + equal)) / 2  # of the first and the last of its places
    assert sympy.expand(midrank - half - (smaller * psi(1, 0) + equal * psi(0, 0))) == 0
    among_true = true * (true - 1) / 2 * 1 + true * half  # pairs, and each with itself
    ranks = true * half + among_true + true * false * A
    assert sympy.expand(ranks - true * (true + 1) / 2 - true * false * A) == 0
    assert sympy.simplify(FORMULAS["midranks"].rhs.subs(R_1, ranks) - A) == 0


def test_step_1_also_for_figures_up_to_3():
    """A midrank is half and the sum of ψ: all figures of four questions, from 1 to 3."""
    for figures in product(range(1, 4), repeat=4):
        for one in figures:
            smaller = sum(other < one for other in figures)
            equal = sum(other == one for other in figures)
            midrank = smaller + Rational(equal + 1, 2)
            assert midrank == Rational(1, 2) + sum(psi(one, other) for other in figures)


def test_step_2():
    share_1, share_0 = true / size, false / size
    mass = A * share_1 * share_0
    for name, gains, other in (
        ("of_true", share_1, share_0),
        ("of_false", share_0, share_1),
    ):
        moved = (1 - epsilon) ** 2 * mass + epsilon * (1 - epsilon) * other * V_i
        moved /= ((1 - epsilon) * gains + epsilon) * ((1 - epsilon) * other)
        slope = sympy.diff(moved, epsilon).subs(epsilon, 0)
        assert sympy.simplify(slope - FORMULAS[name].rhs) == 0


def test_step_3():
    # Σ V_i over the true is n_1 times the mean of ψ, and the forms are linear in V_i.
    total = true * FORMULAS["of_true"].rhs.subs(V_i, A) + false * FORMULAS["of_false"].rhs.subs(
        V_i, A
    )
    assert sympy.expand(total) == 0
    for name in ("of_true", "of_false"):
        assert sympy.diff(FORMULAS[name].rhs, V_i, 2) == 0


def test_implementation_associations():
    """Score against correctness, with ties and clusters, in fractions."""
    rows = [(0, 3, 1), (1, 1, 0), (2, 2, 1), (3, 1, 0), (0, 0, 1), (1, 2, 1), (2, 1, 1), (0, 1, 0)]
    names, videos = list("abcdefgh"), list("uuvvwwxx")
    sham, destroy, correct = zip(*rows, strict=True)
    counts = cs.ReplayCounts(names, sham, [3] * 8, destroy, [3] * 8, cluster=videos)
    found = cs.associations(counts, cs.Outcomes(names, correct, {}))["score", "correct"].roc_auc
    figure = [y - x for x, y, _ in rows]
    sides = [[i for i in range(8) if correct[i] == side] for side in (0, 1)]
    means = []
    for i in range(8):
        against = sides[1 - correct[i]]
        pairs = [psi(*((figure[i], figure[j]) if correct[i] else (figure[j], figure[i])))
                 for j in against]  # fmt: skip
        means.append(Fraction(sum(Fraction(one.p, one.q) for one in pairs), len(against)))
    area = sum(means[i] for i in sides[1]) / len(sides[1])
    influence = [Fraction(8, len(sides[correct[i]])) * (means[i] - area) for i in range(8)]
    by_video = [
        sum(influence[i] for i in range(8) if videos[i] == video) for video in dict.fromkeys(videos)
    ]
    assert sum(by_video) == 0
    square = Fraction(4, 3) * sum(one**2 for one in by_video) / 64
    assert abs(Fraction(found.estimate) - area) <= Fraction(1, 2**52)
    assert abs(Fraction(found.se) ** 2 - square) <= square * Fraction(1, 10**14)
