r"""Replays that were stopped early: counting paths is unbiased, and what no order can estimate

A question is replayed by a plan that looks at nothing but its state $\tau$: $i$ SHAM replays, $x$
of them flips, and $j$ DESTROY replays, $y$ of them flips. The plan says in every state which arm
comes next, or stops. Let $N_\tau$ count the sequences of flips by which the plan stops in $\tau$,
and $M_\tau$ those of them whose first $k_s$ SHAM replays have $u$ flips and whose first $k_d$
DESTROY replays have $v$. The probability of stopping in $\tau$ is

[[stops]]

and if every sequence has $i \ge k_s$ and $j \ge k_d$ where it stops, then over all $T$ such states

[[unbiased]]

the probability of the outcome $(u, v)$ in a full run with $k_s$ and $k_d$ replays: whatever the two
rates are, and for every order.

The condition is needed. A plan that makes all $k$ DESTROY replays first, and stops when it is
decided whether $Y \le X$, stops without any SHAM replay when none of the $k$ has flipped, of
which the probability is

[[blind]]

Then no estimator from the states is unbiased for $p_s$, nor for any other function of $p_s$ and
$p_d$ that, at $p_d = 0$, depends on $p_s$, such as a tie's probability.

Proof

1. A sequence of flips that ends in $\tau$ has the probability $p_s^x q_s^{i-x} p_d^y q_d^{j-y}$,
   in whatever order the plan made the replays; $N_\tau$ such sequences give the first formula.
   One replay more, of either arm, splits a sequence in two whose probabilities add up to its own.
2. Let $h$ be the probability of the beginning $(u, v)$, given a sequence so far: where $r$ of the
   first $k_s$ SHAM replays are still to come and $g$ flips are missing from $u$, its factor for
   SHAM is $\binom{r}{g} p_s^g q_s^{r-g}$, and so for DESTROY. Pascal's rule, times
   $p_s^g q_s^{r-g}$, says that $h$ is the mean of $h$ after one replay more; from replay
   $k_s + 1$ on it does not change at all.
3. So the sum over all sequences, as far as they were made, of probability times $h$ stays what it
   is when one of them is made longer; by induction it is the same for every plan. At the start,
   with no replay made, it is the right side of the second formula. At the end, where all first
   replays were made, $h$ is 1 or 0, the beginning being there or not, and the sum is
   $\sum_\tau M_\tau\, p_s^x q_s^{i-x} p_d^y q_d^{j-y} = \sum_\tau P_\tau M_\tau/N_\tau$.
4. With $j = k$ and $y = 0$ the rule is decided, $Y = 0 \le X$. At $p_d = 0$ that state has
   probability 1 and all others 0, whatever $p_s$ is: two rates $p_s$ show the same. The
   expectation of an estimator $f$ is a polynomial in $p_s$ and $p_d$, which at $p_d = 0$ is $f$
   of that state, a constant. Were it equal to $p_s$ for all rates between 0 and 1, then, being
   continuous, also at $p_d = 0$.

References

- M. A. Girshick, F. Mosteller, L. J. Savage, Unbiased estimates for certain binomial sampling
  problems with applications, *Annals of Mathematical Statistics* 17 (1946) 13–23.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pytest
import sympy
from sympy import Eq, IndexedBase, Sum, binomial

import carve_stats as cs

p_s, p_d = sympy.symbols("p_s p_d", positive=True)
i, j, x, y, u, v, k_s, k_d = sympy.symbols("i j x y u v k_s k_d", integer=True, nonnegative=True)
k, T = sympy.symbols("k T", integer=True, positive=True)
tau = sympy.Symbol("tau", integer=True)
P, N, M = IndexedBase("P"), IndexedBase("N"), IndexedBase("M")


def weight(i, x, j, y):
    """Of one sequence that ends in a state."""
    return p_s**x * (1 - p_s) ** (i - x) * p_d**y * (1 - p_d) ** (j - y)


def outcome(k, u, p):
    """The binomial probability."""
    return binomial(k, u) * p**u * (1 - p) ** (k - u)


FORMULAS = {
    "stops": Eq(P[tau], N[tau] * weight(i, x, j, y)),
    "unbiased": Eq(
        Sum(P[tau] * M[tau] / N[tau], (tau, 1, T)), outcome(k_s, u, p_s) * outcome(k_d, v, p_d)
    ),
    "blind": Eq(P[0], (1 - p_d) ** k),
}
USED_BY = ("stopped_signs",)


def test_step_1():
    one = FORMULAS["stops"].rhs / N[tau]
    assert one.subs({i: 0, x: 0, j: 0, y: 0}) == 1
    for replays, flips in ((i, x), (j, y)):
        longer = {replays: replays + 1}
        split = one.subs(longer) + one.subs({**longer, flips: flips + 1})
        assert sympy.simplify(split / one) == 1


def test_step_2():
    for p, replays, flips in ((p_s, k_s, u), (p_d, k_d, v)):
        h = outcome(replays, flips, p)
        after = p * outcome(replays - 1, flips - 1, p) + (1 - p) * outcome(replays - 1, flips, p)
        ratio = sympy.expand(sympy.powsimp(sympy.expand(after / h, power_base=False)))
        assert sympy.combsimp(sympy.simplify(ratio.rewrite(sympy.factorial))) == 1
        # At the end the beginning is there or not.
        assert [outcome(0, missing, p) for missing in (-1, 0, 1)] == [0, 1, 0]


def plans(budget, least, state=(0, 0, 0, 0)):
    """All plans from a state on, as the sets of sequences that they stop after.

    A plan that may look at the whole sequence: those that look at its state only are among them.
    """
    a, flips_a, b, flips_b = state
    if a >= least[0] and b >= least[1]:
        yield [((), state)]
    for arm, made in enumerate((a, b)):
        if made == budget[arm]:
            continue
        longer = [
            (a + 1, flips_a + f, b, flips_b) if arm == 0 else (a, flips_a, b + 1, flips_b + f)
            for f in range(2)
        ]
        for rest in product(*(list(plans(budget, least, one)) for one in longer)):
            yield [
                (((arm, f), *sequence), end)
                for f, ends in enumerate(rest)
                for sequence, end in ends
            ]


def begins(sequence, arm, first):
    return sum([f for one, f in sequence if one == arm][:first])


def test_step_3():
    """The sum at the start: no replay made, all of the first ones to come."""
    at_start = outcome(k_s, u, p_s) * outcome(k_d, v, p_d) * weight(0, 0, 0, 0)
    assert sympy.simplify(FORMULAS["unbiased"].rhs / at_start) == 1
    of_state = sympy.solve(FORMULAS["stops"], P[tau])[0]
    assert FORMULAS["unbiased"].lhs.limits == ((tau, 1, T),)
    term = FORMULAS["unbiased"].lhs.function.subs(P[tau], of_state)
    assert sympy.simplify(term - M[tau] * weight(i, x, j, y)) == 0


def test_step_3_for_every_plan_and_budgets_up_to_3_replays():
    for budget in [(1, 1), (2, 1), (1, 2)]:
        for first in product(*(range(one + 1) for one in budget)):
            cells = list(product(*(range(one + 1) for one in first)))
            for plan in plans(budget, first):
                sums = dict.fromkeys(cells, 0)
                for sequence, end in plan:
                    begin = tuple(begins(sequence, arm, first[arm]) for arm in range(2))
                    sums[begin] += weight(*end)
                for cell in cells:
                    at = {k_s: first[0], k_d: first[1], u: cell[0], v: cell[1]}
                    assert sympy.expand(sums[cell] - FORMULAS["unbiased"].rhs.subs(at)) == 0


def test_step_4():
    blind = FORMULAS["blind"].rhs
    assert sympy.simplify(blind / weight(0, 0, k, 0)) == 1
    assert blind.subs(p_d, 0) == 1
    flipped = sympy.symbols("flipped", integer=True, positive=True)
    assert weight(i, x, k, flipped).subs(p_d, 0) == 0
    # What depends on p_s at p_d = 0: the rate itself, and a tie, all answers kept.
    tie = outcome(k, 0, p_s) * outcome(k, 0, p_d)
    for target in (p_s, tie):
        assert sympy.diff(target.subs(p_d, 0), p_s) != 0


RATES = Fraction(1, 4), Fraction(1, 2)


def stopped_counts(plan):
    """Questions in the exact shares in which the plan stops them: no sampling error is left."""
    spread = 4**plan.k_sham * 2**plan.k_destroy

    @cache
    def sequences(a, flips_a, b, flips_b):
        """How many sequences lead to a state."""
        if a == b == 0:
            return 1
        total = 0
        for back in (0, 1):
            if a and 0 <= flips_a - back <= a - 1:
                before = a - 1, flips_a - back, b, flips_b
                total += sequences(*before) if plan.next_condition(*before) == "sham" else 0
            if b and 0 <= flips_b - back <= b - 1:
                before = a, flips_a, b - 1, flips_b - back
                total += sequences(*before) if plan.next_condition(*before) == "destroy" else 0
        return total

    rows = []
    for a, b in product(range(plan.k_sham + 1), range(plan.k_destroy + 1)):
        for flips_a, flips_b in product(range(a + 1), range(b + 1)):
            if plan.next_condition(a, flips_a, b, flips_b) is None:
                p, q = RATES
                one = p**flips_a * (1 - p) ** (a - flips_a) * q**flips_b * (1 - q) ** (b - flips_b)
                questions = one * sequences(a, flips_a, b, flips_b) * spread
                assert questions.denominator == 1
                rows += [(flips_a, a, flips_b, b)] * int(questions)
    assert len(rows) == spread
    names = [f"q{place}" for place in range(spread)]
    return cs.ReplayCounts(names, *np.transpose(rows), stopping=plan)


@pytest.mark.parametrize("order", ["alternate", "alternate-destroy-first", "destroy-first"])
@pytest.mark.parametrize("minimum", [(1, 1), (2, 1)])
def test_implementation_stopped_signs(order, minimum):
    plan = cs.stopping_plan(3, order=order, minimum=minimum)
    counts = stopped_counts(plan)
    for a, b in product(*(range(1, one + 1) for one in plan.guaranteed)):
        exact = [Fraction(0)] * 3
        for flips_a, flips_b in product(range(a + 1), range(b + 1)):
            p, q = RATES
            probability = comb(a, flips_a) * p**flips_a * (1 - p) ** (a - flips_a)
            probability *= comb(b, flips_b) * q**flips_b * (1 - q) ** (b - flips_b)
            numerator = flips_b * a - flips_a * b
            exact[1 + (numerator > 0) - (numerator < 0)] += probability
        signs = cs.stopped_signs(counts, k_sham=a, k_destroy=b)
        for found, share in zip(signs.observed, exact, strict=True):
            assert abs(Fraction(found) - share) <= Fraction(1, 10**14)
        rates = signs.flip_rates["sham"].estimate, signs.flip_rates["destroy"].estimate
        for found, rate in zip(rates, RATES, strict=True):
            assert abs(Fraction(found) - rate) <= Fraction(1, 10**14)


def test_implementation_refuses_what_no_order_can_estimate():
    plan = cs.stopping_plan(2, order="destroy-first", minimum=(0, 0))
    assert plan.next_condition(0, 0, 2, 0) is None
    counts = cs.ReplayCounts(["a"], [0], [0], [0], [2], stopping=plan)
    with pytest.raises(cs.InputError, match="no SHAM replay at all"):
        cs.stopped_signs(counts)
