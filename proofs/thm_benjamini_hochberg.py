r"""Benjamini and Hochberg's adjustment: the expected share of false rejections

Of $n$ hypotheses $n_0$ are true. A true one's p-value is at most $c$ with a probability of at
most $c$, for every $c$, and independent of all other p-values. In their order
$p_1 \le p_2 \le \dots \le p_n$ the adjusted ones end with $a_{n+1} = 1$ and are

[[adjusted]]

A hypothesis is rejected where its adjusted p-value is at most $\alpha < 1$; let $R$ be how many
are, and $F$ the expected share of true hypotheses among them (0 if none is rejected). With
$\pi_r$ for the probability that $R = r$ when the p-value of one true hypothesis is put to 0,

[[one]]

bounds what this hypothesis adds to $F$, and so

[[rate]]

Proof

1. $a_j \le \alpha$ if and only if $n p_l/l \le \alpha$ for an $l \ge j$, since a minimum is at
   most $\alpha$ when one of its parts is. So $R$ is the largest $l$ with $p_l \le l\alpha/n$: the
   largest $l$ for which at least $l$ p-values are at most $l\alpha/n$; and rejected are those
   that are at most $R\alpha/n$.
2. Put the p-value of hypothesis $i$ to 0 and let $R_i$ be the number rejected then. This adds one
   to how many p-values are at most $l\alpha/n$ for the $l$ with $l\alpha/n < p_i$ and changes
   nothing else, so $R_i \ge R$. If $p_i \le R\alpha/n$, or if $p_i \le R_i\alpha/n$, nothing
   changes from that $l$ on, and $R_i = R$. So $i$ is rejected if and only if
   $p_i \le R_i\alpha/n$, and then $R = R_i$.
3. So hypothesis $i$ adds $\sum_r \frac1r P(p_i \le r\alpha/n,\; R_i = r)$ to $F$. $R_i$ is a
   function of the other p-values, independent of $p_i$: each term is at most
   $\frac1r \frac{r\alpha}{n}\,\pi_r$, and the $\pi_r$ add up to 1, as $R_i \ge 1$.
4. $F$ is the sum over the $n_0$ true hypotheses, and $n_0 \le n$.

References

- Y. Benjamini, Y. Hochberg, Controlling the false discovery rate: a practical and powerful
  approach to multiple testing, *Journal of the Royal Statistical Society B* 57 (1995) 289–300.
- Y. Benjamini, D. Yekutieli, The control of the false discovery rate in multiple testing under
  dependency, *Annals of Statistics* 29 (2001) 1165–1188, for positively dependent p-values.
"""

from fractions import Fraction
from itertools import product

import pytest
import sympy
from sympy import Eq, IndexedBase, Le, Min, Sum

import carve_stats as cs

total, n_0, j, r = sympy.symbols("n n_0 j r", integer=True, positive=True)
alpha, rate = sympy.symbols("alpha F", positive=True)
p, a, share = IndexedBase("p"), IndexedBase("a"), IndexedBase("pi")

FORMULAS = {
    "adjusted": Eq(a[j], Min(a[j + 1], total * p[j] / j)),
    "one": Eq(Sum(r * alpha / total * share[r] / r, (r, 1, total)), alpha / total),
    "rate": Le(rate, n_0 * alpha / total),
}
USED_BY = ("score_table",)


def test_step_1():
    after, own = sympy.symbols("after own", nonnegative=True)
    said = FORMULAS["adjusted"].rhs.subs({a[j + 1]: after, p[j]: own * j / total})
    assert sympy.simplify(said - Min(after, own)) == 0
    small, large = sympy.Rational(1, 3), sympy.Rational(2, 3)
    for one, other in product((small, large), repeat=2):  # about a level: at most it, or above
        found = said.subs({after: one, own: other}) <= small
        assert bool(found) == (small in (one, other))


def rejections(cells):
    """R, where cells[i] = c says that p_i is above (c − 1)α/n and at most cα/n (c = 0: p_i = 0)."""
    size = len(cells)
    met = [some for some in range(1, size + 1) if sum(c <= some for c in cells) >= some]
    return max(met, default=0)


def test_step_1_for_n_up_to_3():
    """The recursion rejects as many, in every order of p-values and thresholds."""
    for size in range(1, 4):
        level = sympy.Rational(1, 2)
        for cells in product(range(size + 2), repeat=size):
            values = sorted(c * level / size for c in cells)
            adjusted = sympy.Integer(1)
            found = 0
            for place in range(size, 0, -1):
                at = {a[j + 1]: adjusted, p[j]: values[place - 1], j: place, total: size}
                adjusted = FORMULAS["adjusted"].rhs.subs(at)
                found += bool(adjusted <= level)
            assert found == rejections(cells)


def test_step_2_for_n_up_to_5():
    """All places that the p-values can have among the thresholds lα/n; above all: n + 1."""
    for size in range(1, 6):
        for cells in product(range(1, size + 2), repeat=size):
            found = rejections(cells)
            for one in range(size):
                put = rejections((*cells[:one], 0, *cells[one + 1 :]))
                rejected = cells[one] <= found
                assert rejected == (cells[one] <= put)
                assert put >= 1
                if rejected:
                    assert put == found


def test_step_3():
    said = FORMULAS["one"]
    (sum_,) = said.lhs.atoms(Sum)
    assert said.lhs == sum_
    assert sum_.limits == ((r, 1, total),)
    threshold = r * alpha / total
    assert sympy.simplify(sum_.function - threshold * share[r] / r) == 0
    factor = sympy.simplify(sum_.function / share[r])
    assert not factor.has(r)  # so that it stands before Σ π_r = 1
    assert sympy.simplify(factor - said.rhs) == 0


def test_step_4():
    short, others = sympy.symbols("short others", nonnegative=True)
    said = FORMULAS["rate"]
    left = (said.gts - said.lts).subs(rate, n_0 * (FORMULAS["one"].rhs - short))
    assert sympy.expand(left - n_0 * short) == 0
    bound = said.gts.subs(total, n_0 + others)
    assert sympy.simplify(alpha - bound - alpha * others / (n_0 + others)) == 0


COUNTS = [
    # Flips of 6 SHAM and of 6 DESTROY replays; the last question has no score.
    [(0, 6), (1, 5), (0, 0), (2, 5), (0, 4), (6, 0), (3, 3), (0, 6)],
    [(0, 6), (0, 6), (0, 6)],
    [(2, 1), (0, 5)],
]


@pytest.mark.parametrize("flips", COUNTS)
def test_implementation_score_table(flips):
    """Each adjusted p-value is the least level at which the procedure rejects."""
    sham, destroy = zip(*flips, strict=True)
    size = len(flips)
    names = [f"q{place}" for place in range(size + 1)]
    counts = cs.ReplayCounts(names, [*sham, 0], [6] * size + [0], [*destroy, 1], [6] * (size + 1))
    table = cs.score_table(counts, adjust="benjamini-hochberg")
    values = [Fraction(one) for one in table.p_value[:size]]

    def rejected(level):
        counts_at = {k: sum(v <= k * level / size for v in values) for k in range(1, size + 1)}
        met = [k for k, passed in counts_at.items() if passed >= k]
        return {one for one in range(size) if values[one] <= max(met, default=0) * level / size}

    levels = sorted({size * v / k for v in values for k in range(1, size + 1)})
    for one in range(size):
        least = [level for level in levels if level < 1 and one in rejected(level)]
        exact = min(least, default=Fraction(1))
        found = Fraction(table.adjusted_p_value[one])
        assert abs(found - exact) <= exact * Fraction(1, 10**15)
