r"""The signs at every k follow from the ties

Let SHAM and DESTROY flip independently $k$ times each, with probabilities $p_s$ and $p_d$, let
$D_k = Y - X$ and $t_k = \mathrm{P}(D_k = 0)$, $t_0 = 1$. The expected sign
$s_k = \mathrm{E}\,\mathrm{sgn}\,D_k$ grows with each replay by

[[increment]]

so that

[[expected]]

[[positive]]

[[negative]]

For a population of questions the increment is $\mathrm{E}[(p_d - p_s)\,t_k]$, over its questions.

Proof

1. With one more replay in each arm $D_{k+1} = D_k + \xi$, where $\xi$ is 1, 0 or $-1$ with the
   probabilities $C = q_s p_d$, $B = p_s p_d + q_s q_d$ and $A = p_s q_d$, $q = 1 - p$, whatever
   $D_k$ is. A step of at most 1 changes the sign only from $D_k \in \{-1, 0, 1\}$, and on average
   by $C$, $C - A$ and $-A$ there.
2. $\mathrm{P}(D_k = 1)\,A = \mathrm{P}(D_k = -1)\,C$: the summands $\binom kj\binom k{j+1}p_s^j
   q_s^{k-j} p_d^{j+1} q_d^{k-j-1}$ of the one and $\binom kj\binom k{j+1}p_s^{j+1} q_s^{k-j-1}
   p_d^j q_d^{k-j}$ of the other have the ratio $C/A$. So the contributions of $\pm 1$ cancel, and
   $s_{k+1} - s_k = (C - A)\,t_k$.
3. $C - A = p_d - p_s$. That is the increment, and as $D_0 = 0$ the sum.
4. $\mathrm{P}(D_k > 0) - \mathrm{P}(D_k < 0) = s_k$ and
   $\mathrm{P}(D_k > 0) + \mathrm{P}(D_k < 0) = 1 - t_k$ give the two signs. Expectations over the
   questions of a population leave the formulas linear in $t_k$ and $(p_d - p_s)\,t_k$.

References

- Feller, *An Introduction to Probability Theory and Its Applications*, volume I, 3rd edition
  (Wiley, 1968), chapter III: the random walk, and how often it is at 0.
"""

from fractions import Fraction
from itertools import product
from math import comb

import sympy
from sympy import Eq, IndexedBase, Sum, binomial

import carve_stats as cs

p_s, p_d = sympy.symbols("p_s p_d", positive=True)
k, j = sympy.symbols("k j", integer=True, nonnegative=True)
s, t = IndexedBase("s"), IndexedBase("t")
TIES = Sum(t[j], (j, 0, k - 1))
ABOVE, BELOW = sympy.symbols(r"\mathrm{P}(D_k>0) \mathrm{P}(D_k<0)")

FORMULAS = {
    "increment": Eq(s[k + 1], s[k] + (p_d - p_s) * t[k]),
    "expected": Eq(s[k], (p_d - p_s) * TIES),
    "positive": Eq(ABOVE, (1 - t[k] + (p_d - p_s) * TIES) / 2),
    "negative": Eq(BELOW, (1 - t[k] - (p_d - p_s) * TIES) / 2),
}
USED_BY = ("FiniteReplayLaw.signs", "Population.signs")
q_s, q_d = 1 - p_s, 1 - p_d
STEPS = {1: q_s * p_d, 0: p_s * p_d + q_s * q_d, -1: p_s * q_d}


def test_step_1():
    # The pairs of one SHAM and one DESTROY replay.
    found = dict.fromkeys(STEPS, 0)
    for x, y in product((0, 1), repeat=2):
        found[y - x] += (p_s if x else q_s) * (p_d if y else q_d)
    assert all(sympy.expand(found[step] - STEPS[step]) == 0 for step in STEPS)
    distance = sympy.Symbol("distance", integer=True, nonnegative=True)
    moved = {
        place: sum(STEPS[step] * (sympy.sign(place + step) - sympy.sign(place)) for step in STEPS)
        for place in (-1, 0, 1, distance + 2, -distance - 2)
    }
    assert moved[distance + 2] == moved[-distance - 2] == 0
    assert sympy.expand(moved[-1] - STEPS[1]) == 0
    assert sympy.expand(moved[0] - (STEPS[1] - STEPS[-1])) == 0
    assert sympy.expand(moved[1] + STEPS[-1]) == 0


def test_step_2():
    def term(up, down):
        """The summand with j + up SHAM and j + down DESTROY flips."""
        sham = binomial(k, j + up) * p_s ** (j + up) * q_s ** (k - j - up)
        return sham * binomial(k, j + down) * p_d ** (j + down) * q_d ** (k - j - down)

    ratio = sympy.powsimp(term(0, 1) * STEPS[-1] / (term(1, 0) * STEPS[1]), force=True)
    assert sympy.simplify(ratio) == 1


def test_step_3():
    increment, expected = FORMULAS["increment"], FORMULAS["expected"]
    assert increment.lhs == s[k + 1]
    drift = STEPS[1] - STEPS[-1]
    assert sympy.expand(increment.rhs - s[k] - drift * t[k]) == 0
    # The sum begins with 0, and one k more adds the increment.
    total = expected.rhs
    assert total.subs(k, 0).doit() == 0
    one_more = (p_d - p_s) * Sum(t[j], (j, 0, k))
    assert total.subs(k, k + 1) == one_more
    last = total.subs(TIES, TIES + t[k]) - total
    assert sympy.expand(last - (increment.rhs - s[k])) == 0


def test_step_4():
    above, below = FORMULAS["positive"], FORMULAS["negative"]
    assert (above.lhs, below.lhs) == (ABOVE, BELOW)
    assert sympy.expand(above.rhs - below.rhs - FORMULAS["expected"].rhs) == 0
    assert sympy.expand(above.rhs + below.rhs - (1 - t[k])) == 0


EIGHTHS = [Fraction(i, 8) for i in range(9)]  # doubles, so that nothing is rounded
LARGEST = 12


def exact_binomial(k_, rate):
    return [comb(k_, x) * rate**x * (1 - rate) ** (k_ - x) for x in range(k_ + 1)]


def exact_signs(rate_s, rate_d, k_):
    """P(D < 0), P(D = 0) and P(D > 0), outcome by outcome."""
    shares = [Fraction(0)] * 3
    sham, destroy = exact_binomial(k_, rate_s), exact_binomial(k_, rate_d)
    for (x, one), (y, other) in product(enumerate(sham), enumerate(destroy)):
        shares[(y > x) - (y < x) + 1] += one * other
    return shares


def signs_from_ties(rate_s, rate_d, ties):
    """The three signs at k = len(ties) − 1, from the statement."""
    expected = (rate_d - rate_s) * sum(ties[:-1])
    return [(1 - ties[-1] - expected) / 2, ties[-1], (1 - ties[-1] + expected) / 2]


def test_implementation_signs():
    for rate_s, rate_d in product(EIGHTHS[::2] + EIGHTHS[7:], EIGHTHS):
        ties = [Fraction(1)]
        for k_ in range(1, LARGEST + 1):
            exact = exact_signs(rate_s, rate_d, k_)
            ties.append(exact[1])
            assert exact == signs_from_ties(rate_s, rate_d, ties)
            found = cs.FiniteReplayLaw(float(rate_s), float(rate_d), k=k_).signs()
            for one, other in zip(found, exact, strict=True):
                assert abs(Fraction(float(one)) - other) <= other * Fraction(16, 2**52)


def test_implementation_population_signs():
    atoms = [(2, 6, 1), (7, 7, 1), (5, 2, 2)]  # eighths, and weights of a quarter
    sham, destroy, weights = zip(*atoms, strict=True)
    population = cs.Population([x / 8 for x in sham], [y / 8 for y in destroy], weights)
    growing = Fraction(0)
    for k_ in range(LARGEST + 1):
        shares = [
            (Fraction(weight, 4), EIGHTHS[y] - EIGHTHS[x], exact_signs(EIGHTHS[x], EIGHTHS[y], k_))
            for x, y, weight in atoms
        ]
        if k_:
            found = population.signs(k_)
            tie = sum(weight * exact[1] for weight, _, exact in shares)
            expected = [(1 - tie - growing) / 2, tie, (1 - tie + growing) / 2]
            for one, other in zip(found, expected, strict=True):
                assert abs(Fraction(one) - other) <= other * Fraction(16, 2**52)
        growing += sum(weight * difference * exact[1] for weight, difference, exact in shares)
