r"""Holm's adjustment: the probability of any false rejection

Of $n$ hypotheses $n_0$ are true, and a true one's p-value is at most $c$ with a probability of at
most $c$, for every $c$; how the p-values depend on one another is left open. In their order
$p_1 \le p_2 \le \dots \le p_n$ the adjusted ones begin with $a_0 = 0$ and are

[[adjusted]]

A hypothesis is rejected where its adjusted p-value is at most $\alpha < 1$. If any true
hypothesis is rejected, then at least one true hypothesis has a p-value of at most
$\alpha/(n - j + 1)$, where $j$ is the place of the first true one, and

[[threshold]]

so that the probability that any is rejected is

[[family]]

Proof

1. $a_j \le \alpha < 1$ means $a_{j-1} \le \alpha$ and $(n-j+1)\,p_j \le \alpha$, since a maximum
   is at most $\alpha$ when both parts are, and a minimum with 1 when the other part is. So the
   first $j$ are rejected exactly if $p_l \le \alpha/(n-l+1)$ for all $l \le j$.
2. Let a true hypothesis be rejected, and $j$ be the place of the first true one, which is then
   rejected too. The $j - 1$ before it are false, and there are $n - n_0$ false ones:
   $n - j + 1 \ge n_0$, and $p_j$ is at most $\alpha/(n-j+1) \le \alpha/n_0$.
3. So one of the $n_0$ true hypotheses has a p-value of at most $\alpha/n_0$. Each has it with a
   probability of at most $\alpha/n_0$, and a union is no more likely than the sum.

References

- S. Holm, A simple sequentially rejective multiple test procedure, *Scandinavian Journal of
  Statistics* 6 (1979) 65–70.
"""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import sympy
from sympy import Eq, IndexedBase, Le, Max, Min

import carve_stats as cs

total, n_0, j = sympy.symbols("n n_0 j", integer=True, positive=True)
alpha, any_rejected = sympy.symbols("alpha P", positive=True)
p, a = IndexedBase("p"), IndexedBase("a")

FORMULAS = {
    "adjusted": Eq(a[j], Max(a[j - 1], Min(1, (total - j + 1) * p[j]))),
    "threshold": Le(alpha / (total - j + 1), alpha / n_0),
    "family": Le(any_rejected, alpha),
}
USED_BY = ("score_table",)


def test_step_1():
    """A maximum of the one before and of a minimum of 1 and the p-value's multiple; no more."""
    said = FORMULAS["adjusted"].rhs
    before, own = sympy.symbols("before own", nonnegative=True)
    plain = said.subs({a[j - 1]: before, p[j]: own / (total - j + 1)})
    assert sympy.simplify(plain - Max(before, Min(1, own))) == 0
    # All orders of the three numbers and 1 about α: small is at most α, large above it, below 1.
    small, large, more = sympy.Rational(1, 3), sympy.Rational(2, 3), sympy.Integer(2)
    for one, other in product((small, large, more), repeat=2):
        for level in (small, large):
            found = plain.subs({before: one, own: other}) <= level
            assert bool(found) == (one <= level and other <= level)


def test_step_2():
    more = sympy.Symbol("more", integer=True, nonnegative=True)  # n − j + 1 is n_0 and more
    said = FORMULAS["threshold"]
    left = (said.gts - said.lts).subs(total, n_0 + more + j - 1)
    assert sympy.simplify(left - alpha * more / (n_0 * (n_0 + more))) == 0


def test_step_2_also_for_n_up_to_7():
    """Every choice of the places of the true hypotheses."""
    for size in range(1, 8):
        for number in range(1, size + 1):
            for places in combinations(range(1, size + 1), number):
                first = min(places)
                assert first - 1 <= size - number
                assert size - first + 1 >= number
                at = {total: size, n_0: number, j: first, alpha: sympy.Rational(1, 20)}
                assert FORMULAS["threshold"].subs(at)


def test_step_3():
    # What is left out of the union bound: each probability's distance, and the overlaps.
    short, overlap = sympy.symbols("short overlap", nonnegative=True)
    union = n_0 * (FORMULAS["threshold"].gts - short) - overlap
    said = FORMULAS["family"]
    left = (said.gts - said.lts).subs(any_rejected, union)
    assert sympy.expand(left - (n_0 * short + overlap)) == 0


COUNTS = [
    # Flips of 6 SHAM and of 6 DESTROY replays; the last question has no score.
    [(0, 6), (1, 5), (0, 0), (2, 5), (0, 4), (6, 0), (3, 3), (0, 6)],
    [(0, 6), (0, 6), (0, 6)],
    [(2, 1), (0, 5)],
]


@pytest.mark.parametrize("flips", COUNTS)
def test_implementation_score_table(flips):
    """Each adjusted p-value is the least level at which the stepwise procedure rejects."""
    sham, destroy = zip(*flips, strict=True)
    size = len(flips)
    names = [f"q{place}" for place in range(size + 1)]
    counts = cs.ReplayCounts(names, [*sham, 0], [6] * size + [0], [*destroy, 1], [6] * (size + 1))
    table = cs.score_table(counts, adjust="holm")
    values = [Fraction(one) for one in table.p_value[:size]]
    order = sorted(range(size), key=values.__getitem__)

    def rejected(level):
        found = set()
        for place, one in enumerate(order):
            if (size - place) * values[one] > level:
                break
            found.add(one)
        return found

    # Levels at which something can change, below 1.
    levels = sorted({multiple * one for one in values for multiple in range(1, size + 1)})
    for one in range(size):
        least = [level for level in levels if level < 1 and one in rejected(level)]
        exact = min(least, default=Fraction(1))
        found = Fraction(table.adjusted_p_value[one])
        assert abs(found - exact) <= exact * Fraction(1, 10**15)
    assert not np.asarray(table.established)[size]
