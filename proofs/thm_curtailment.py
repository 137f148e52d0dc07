r"""Stopping early keeps every decision

A question has a budget of $k_s$ SHAM and $k_d$ DESTROY replays. So far $i$ and $j$ of them were
made, and $x$ and $y$ of these flipped; of those to come $w$ and $u$ will flip, so that its score at
the full budget is $(y+u)/k_d - (x+w)/k_s$. It lies between two ends, both of which can be reached:

[[smallest]]

[[largest]]

So the decision is open exactly where two of the scores that can be reached are decided
differently. For $k_s = k_d = k$ and the rule
"defer if and only if $Y \le X$" it is settled exactly when

[[deferred]]

(then the question is deferred) or

[[kept]]

(then it is not). A plan that stops only there makes every decision that the full budget would have
made; a plan that stops anywhere else does not.

If replays may turn out invalid, and the score is of the valid ones, then one that is invalid only
moves the ends inwards,

[[invalid_destroy]]

[[invalid_sham]]

(of an arm with at least one valid replay: without any there is no score),
so that decisions by $<$, $\le$, $\ge$ or $>$ stay what they are. Those by $=$ need not.

Proof

1. $0 \le u \le k_d - j$ and $0 \le w \le k_s - i$. Both ends differ from the score by a sum of
   two terms that are not negative, $(k_d - j - u)/k_d + w/k_s$ above and
   $u/k_d + (k_s - i - w)/k_s$ below; they vanish at $(u, w) = (k_d - j, 0)$ and $(0, k_s - i)$.
2. At equal $k$ the score is at most 0 if and only if $Y \le X$. The upper end is, when
   $y + (k-j) - x \le 0$. The lower end is above 0 when $y - x - (k-i) > 0$, and so at least 1,
   since these are whole numbers.
3. If neither holds, the sequence of step 1 that reaches the upper end is not deferred and the
   one that reaches the lower end is: the decision is open. Both cannot hold, since then
   $x + (k-i) + 1 \le y \le x - (k-j)$.
4. Let $m$ more valid DESTROY replays be made, $u \le m$ of them flips. Then $(y+u)/(j+m)$ is at
   most $(y+m)/(j+m)$, which grows with $m$, since $y \le j$; and $(x+w)/(i+m)$ is at least
   $x/(i+m)$, which falls. So the score is at most what it is at the upper end with every replay
   valid, and likewise at least the lower end, with flips and answers that stay exchanged. With 4
   valid DESTROY replays and one SHAM no score is $1/3$; with 3 valid ones there is such a score,
   so $=$ is not safe.

References

- P. Armitage, C. K. McPherson, B. C. Rowe, Repeated significance tests on accumulating data,
  *Journal of the Royal Statistical Society A* 132 (1969) 235–244, for exact recursions over such
  paths.
- C. Jennison, B. W. Turnbull, *Group Sequential Methods*, Chapman & Hall/CRC 2000, chapter 10
  (stochastic curtailment).
"""

from fractions import Fraction
from itertools import product

import pytest
import sympy
from sympy import Ge, Le

import carve_stats as cs

i, j, x, y, u, w, m = sympy.symbols("i j x y u w m", integer=True, nonnegative=True)
k, k_s, k_d = sympy.symbols("k k_s k_d", integer=True, positive=True)

_SCORE = (y + u) / k_d - (x + w) / k_s
FORMULAS = {
    "smallest": Ge(_SCORE, y / k_d - (x + k_s - i) / k_s),
    "largest": Le(_SCORE, (y + k_d - j) / k_d - x / k_s),
    "deferred": Le(y + (k - j), x),
    "kept": Ge(y, x + (k - i) + 1),
    "invalid_destroy": Le((y + m) / (j + m), (y + m + 1) / (j + m + 1)),
    "invalid_sham": Ge(x / (i + m), x / (i + m + 1)),
}
USED_BY = ("stopping_plan", "curtailment")


def slack(name):
    """The greater side less the smaller one."""
    return FORMULAS[name].gts - FORMULAS[name].lts


def test_step_1():
    above, below = slack("largest"), slack("smallest")
    assert sympy.expand(above - ((k_d - j - u) / k_d + w / k_s)) == 0
    assert sympy.expand(below - (u / k_d + (k_s - i - w) / k_s)) == 0
    assert sympy.expand(above.subs({u: k_d - j, w: 0})) == 0
    assert sympy.expand(below.subs({u: 0, w: k_s - i})) == 0


def test_step_2():
    equal = {k_s: k, k_d: k}
    upper = FORMULAS["largest"].gts.subs(equal)
    lower = FORMULAS["smallest"].lts.subs(equal)
    # deferred: 0 ≤ slack, which is −k times the upper end; kept: 1 ≤ slack + 1, k times the lower.
    assert sympy.expand(slack("deferred") + k * upper) == 0
    assert sympy.expand(slack("kept") + 1 - k * lower) == 0


def test_step_3():
    # X − Y where the upper and the lower end are reached.
    at_upper = x - (y + k - j)
    at_lower = (x + k - i) - y
    assert sympy.expand(slack("deferred") - at_upper) == 0
    assert sympy.expand(slack("kept") + 1 + at_lower) == 0  # not kept: X ≥ Y there
    # Were both met, a sum of two numbers that are not negative would be negative.
    made_up = slack("deferred") + slack("kept")
    assert sympy.expand(made_up + (k - i) + (k - j) + 1) == 0


def test_step_3_also_for_k_up_to_5():
    for budget in range(1, 6):
        for a, b in product(range(budget + 1), repeat=2):
            for flips in product(range(a + 1), range(b + 1)):
                at = {k: budget, i: a, j: b, x: flips[0], y: flips[1]}
                ends = product(range(budget - a + 1), range(budget - b + 1))
                decisions = {flips[1] + more <= flips[0] + other for other, more in ends}
                deferred = bool(FORMULAS["deferred"].subs(at))
                kept = bool(FORMULAS["kept"].subs(at))
                assert (decisions == {True}) == deferred
                assert (decisions == {False}) == kept


def test_step_4():
    stayed = sympy.symbols("stayed", integer=True, nonnegative=True)  # j − y
    grown = slack("invalid_destroy").subs(j, y + stayed)
    assert sympy.factor(grown - stayed / ((y + stayed + m) * (y + stayed + m + 1))) == 0
    fallen = slack("invalid_sham")
    assert sympy.simplify(fallen - x / ((i + m) * (i + m + 1))) == 0

    def scores(valid):
        flips = range(valid + 1)
        return {sympy.Rational(b, valid) - a for a in range(2) for b in flips}

    assert sympy.Rational(1, 3) not in scores(4)
    assert sympy.Rational(1, 3) in scores(3)


def exact_decision(rule, state, budgets):
    """The decision that all ends of the replays bring, at any of the budgets; None if none is."""
    a, flips_a, b, flips_b = state
    decisions = set()
    for full_a, full_b in budgets:
        for other, more in product(range(full_a - a + 1), range(full_b - b + 1)):
            score = Fraction(flips_b + more, full_b) - Fraction(flips_a + other, full_a)
            decisions.add(rule(score))
    return decisions.pop() if len(decisions) == 1 else None


RULES = {
    "score <= 0": lambda score: score <= 0,
    "score < 0": lambda score: score < 0,
    "score >= 1/3": lambda score: score >= Fraction(1, 3),
    "score = 1/2": lambda score: score == Fraction(1, 2),
    "sign": lambda score: (score > 0) - (score < 0),
}


def states(k_sham, k_destroy):
    for a, b in product(range(k_sham + 1), range(k_destroy + 1)):
        for flips in product(range(a + 1), range(b + 1)):
            yield a, flips[0], b, flips[1]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("order", ["optimal", "alternate", "destroy-first"])
def test_implementation_stopping_plan(rule, order):
    population = cs.Population([0.25, 0.5], [0.75, 0.5]) if order == "optimal" else None
    for budget in product((1, 2, 3), (1, 3, 4)):
        plan = cs.stopping_plan(
            k_sham=budget[0], k_destroy=budget[1], rule=rule, order=order, minimum=(0, 0),
            population=population,
        )  # fmt: skip
        for state in states(*budget):
            exact = exact_decision(RULES[rule], state, [budget])
            assert plan.decision(*state) == exact
            assert (plan.next_condition(*state) is None) == (exact is not None)


@pytest.mark.parametrize("rule", [name for name in RULES if "= 1/2" not in name])
def test_implementation_invalid_replays(rule):
    """A decision stays what it is when replays turn out invalid."""
    plan = cs.stopping_plan(3, rule=rule, order="alternate", minimum=(0, 0))
    for spent in product(range(3), repeat=2):
        left = 3 - spent[0], 3 - spent[1]
        reduced = plan.reduced(*spent)
        for state in states(*left):
            decided = plan.decision(*state)
            if decided is not None:
                assert reduced.decision(*state) == decided
            assert reduced.decision(*state) == exact_decision(RULES[rule], state, [left])


@pytest.mark.parametrize("order", ["alternate", "alternate-destroy-first", "destroy-first"])
def test_implementation_curtailment(order):
    """Replays until the stop, against all sequences of flips; rates in quarters are doubles."""
    p_sham, p_destroy, full = Fraction(1, 4), Fraction(1, 2), 3
    population = cs.Population.homogeneous(float(p_sham), float(p_destroy))
    found = cs.curtailment(population, k=full, order=order, minimum=(0, 0))
    made = dict.fromkeys(range(2 * full + 1), Fraction(0))
    for sham, destroy in product(product((0, 1), repeat=full), repeat=2):
        flips = sum(sham), sum(destroy)
        weight = p_sham ** flips[0] * (1 - p_sham) ** (full - flips[0])
        weight *= p_destroy ** flips[1] * (1 - p_destroy) ** (full - flips[1])
        a = b = 0
        while True:
            at = {k: full, i: a, j: b, x: sum(sham[:a]), y: sum(destroy[:b])}
            if at[y] + full - b <= at[x] or at[y] >= at[x] + full - a + 1:
                break
            first = {"alternate": b < a, "alternate-destroy-first": b <= a, "destroy-first": True}
            if (first[order] and b < full) or a == full:
                b += 1
            else:
                a += 1
        made[a + b] += weight
    assert found.changed == 0.0
    for exact, one in zip(made.values(), found.distribution, strict=True):
        assert abs(Fraction(float(one)) - exact) <= Fraction(1, 10**15)
    mean = sum(total * share for total, share in made.items())
    assert abs(Fraction(found.total) - mean) <= Fraction(1, 10**14)
