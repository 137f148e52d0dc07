r"""The order of replays that costs least

Let $\mu(i,x,j,y) = \mathrm{E}[p_s^x q_s^{i-x} p_d^y q_d^{j-y}]$ over a population of questions:
the probability of one sequence of replays that leads to the state of $i$ SHAM replays with $x$
flips and $j$ DESTROY replays with $y$ flips. A replay costs $c_s$ or $c_d$, and stopping by one
sequence that leads to a state costs $b$, all questions together: 0 where the decision is certain,
infinity where stopping is not allowed. Backwards over the states let

[[least]]

where $V^{s}$, $V^{sf}$ are the values after a SHAM replay that did not flip and one that did, and
$V^{d}$, $V^{df}$ those after a DESTROY replay; at a full arm its term is left out. Then $V$ of
the start is the least expected cost of all plans: for every plan, even one that looks at the
whole sequence, its cost $C$ from a state on satisfies

[[no_plan_is_cheaper]]

and the plan that takes the least term in every state attains it. If stopping where the decision
is open costs $\lambda$ times the probability that the decision changes, then against any other
plan, of cost $C_1$ in replays and with a probability $w_1$ of a changed decision, the least plan
with $C_0$ and $w_0$ satisfies

[[priced]]

so that no plan that changes as few decisions, $w_1 \le w_0$, costs less.

Proof

1. Given the question, the replays are independent: a sequence that leads to a state has the
   probability $p_s^x q_s^{i-x} p_d^y q_d^{j-y}$, whatever order its replays had. One replay more
   of either arm splits it in two, so that $\mu$ is the sum of $\mu$ after a flip and after none.
2. What a plan costs from a sequence on is the replay it makes there, $c\,\mu$, and what it costs
   from the two longer sequences on; or $b$, if it stops. By step 1 the replay is paid with the
   probability of the sequence.
3. By induction from the full budget backwards: where both longer sequences cost at least their
   $V$, the replay costs at least its term, and the least of the terms is at most each. The cost
   depends on the sequence only through its state, so looking at the whole of it does not help.
   The plan that takes the least term has equality throughout.
4. The least plan minimises $C + \lambda w$: $C_0 + \lambda w_0 \le C_1 + \lambda w_1$.

References

- R. Bellman, *Dynamic Programming*, Princeton University Press 1957, chapter III.
- H. Everett, Generalized Lagrange multiplier method for solving problems of optimum allocation of
  resources, *Operations Research* 11 (1963) 399–417, for the price of a changed decision.
"""

from fractions import Fraction
from itertools import product

import pytest
import sympy
from sympy import Eq, Ge, Min

import carve_stats as cs

p_s, p_d, c_s, c_d, mu, stop, price = sympy.symbols("p_s p_d c_s c_d mu b lambda", positive=True)
i, x, j, y = sympy.symbols("i x j y", integer=True, nonnegative=True)
V, C, V_s, V_sf, V_d, V_df = sympy.symbols("V C V^s V^sf V^d V^df")
C_0, C_1, w_0, w_1 = sympy.symbols("C_0 C_1 w_0 w_1", nonnegative=True)

FORMULAS = {
    "least": Eq(V, Min(stop, c_s * mu + V_s + V_sf, c_d * mu + V_d + V_df)),
    "no_plan_is_cheaper": Ge(C, V),
    "priced": Ge(C_1 - C_0, price * (w_0 - w_1)),
}
USED_BY = ("stopping_plan", "curtailment")


def test_step_1():
    one = p_s**x * (1 - p_s) ** (i - x) * p_d**y * (1 - p_d) ** (j - y)
    for replays, flips in ((i, x), (j, y)):
        longer = {replays: replays + 1}
        split = one.subs(longer) + one.subs({**longer, flips: flips + 1})
        assert sympy.simplify(split / one) == 1


def plans(budget, sequence=()):
    """All plans from a sequence on: the sequences that they stop after, and what they cost.

    The cost is what the formula makes of it: the term of a stop, or of a replay.
    """
    made = [[f for one, f in sequence if one == arm] for arm in range(2)]
    probability = 1
    for flips, p in zip(made, (p_s, p_d), strict=True):
        probability *= p ** sum(flips) * (1 - p) ** (len(flips) - sum(flips))
    yield [sequence], 0
    for arm, rest in enumerate(((V_s, V_sf), (V_d, V_df))):
        if len(made[arm]) < budget[arm]:
            (term,) = (one for one in FORMULAS["least"].rhs.args if one.has(rest[0]))
            longer = [list(plans(budget, (*sequence, (arm, flip)))) for flip in (0, 1)]
            for (ends_0, cost_0), (ends_1, cost_1) in product(*longer):
                cost = term.subs({mu: probability, rest[0]: cost_0, rest[1]: cost_1})
                yield ends_0 + ends_1, cost


def test_step_2_for_every_plan_and_budgets_up_to_3_replays():
    """The recursion is the mean of what the replays of a sequence cost."""
    for budget in [(1, 1), (2, 1), (1, 2)]:
        for ends, cost in plans(budget):
            mean = 0
            for sequence in ends:
                probability = 1
                price_of = sum((c_s, c_d)[arm] for arm, _ in sequence)
                for arm, flip in sequence:
                    p = (p_s, p_d)[arm]
                    probability *= p if flip else 1 - p
                mean += probability * price_of
            assert sympy.expand(mean - cost) == 0


def test_step_3():
    more, other, above = sympy.symbols("more other above", nonnegative=True)
    said = FORMULAS["no_plan_is_cheaper"]
    left = said.gts - said.lts
    assert isinstance(FORMULAS["least"].rhs, Min)
    assert stop in FORMULAS["least"].rhs.args
    for cost, followed in ((c_s, (V_s, V_sf)), (c_d, (V_d, V_df))):
        # A plan's cost: what follows costs V and more; the term is the least one and more.
        term = cost * mu + sum(followed)
        plan = cost * mu + (followed[0] + more) + (followed[1] + other)
        assert term in FORMULAS["least"].rhs.args
        assert sympy.expand(left.subs({C: plan, V: term - above}) - (more + other + above)) == 0
    assert sympy.expand(left.subs({C: stop, V: stop - above}) - above) == 0


def test_step_4():
    above = sympy.Symbol("above", nonnegative=True)
    said = FORMULAS["priced"]
    # C_1 + λ w_1 is C_0 + λ w_0 and something above.
    other = C_0 + price * w_0 + above - price * w_1
    assert sympy.expand((said.gts - said.lts).subs(C_1, other) - above) == 0


RULES = {
    "score <= 0": lambda d: d <= 0,
    "score < 0": lambda d: d < 0,
    "sign": lambda d: (d > 0) - (d < 0),
}


def decided(rule, budget, state):
    a, flips_a, b, flips_b = state
    ends = product(range(budget[0] - a + 1), range(budget[1] - b + 1))
    decisions = {
        RULES[rule](Fraction(flips_b + v, budget[1]) - Fraction(flips_a + u, budget[0]))
        for u, v in ends
    }
    return len(decisions) == 1


def all_costs(budget, rule, population, costs, state=(0, 0, 0, 0)):
    """The expected cost of every plan there is from a state on: no least is taken on the way."""
    if decided(rule, budget, state):
        return {Fraction(0)}
    a, flips_a, b, flips_b = state
    mass = sum(
        w * p**flips_a * (1 - p) ** (a - flips_a) * q**flips_b * (1 - q) ** (b - flips_b)
        for p, q, w in population
    )
    found = set()
    if a < budget[0]:
        longer = [(a + 1, flips_a + f, b, flips_b) for f in (0, 1)]
        ends = (all_costs(budget, rule, population, costs, one) for one in longer)
        found |= {costs[0] * mass + u + v for u, v in product(*ends)}
    if b < budget[1]:
        longer = [(a, flips_a, b + 1, flips_b + f) for f in (0, 1)]
        ends = (all_costs(budget, rule, population, costs, one) for one in longer)
        found |= {costs[1] * mass + u + v for u, v in product(*ends)}
    return found


POPULATION = [
    (Fraction(1, 4), Fraction(3, 4), Fraction(1, 2)),
    (Fraction(1, 2), Fraction(1, 8), Fraction(1, 4)),
    (Fraction(0), Fraction(5, 8), Fraction(1, 4)),
]


def expected_replays(plan):
    """Of each arm, following the plan through all sequences of flips."""
    made = [Fraction(0), Fraction(0)]

    def go_on(state, masses):
        condition = plan.next_condition(*state)
        if condition is None:
            return
        arm = ("sham", "destroy").index(condition)
        made[arm] += sum(masses)
        for flip in (0, 1):
            after = list(state)
            after[2 * arm] += 1
            after[2 * arm + 1] += flip
            rates = [one[arm] if flip else 1 - one[arm] for one in POPULATION]
            go_on(tuple(after), [m * p for m, p in zip(masses, rates, strict=True)])

    go_on((0, 0, 0, 0), [one[2] for one in POPULATION])
    return made


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("costs", [(1, 1), (1, 4), (3, 1)])
def test_implementation_stopping_plan(rule, costs):
    population = cs.Population(
        *([float(v) for v in column] for column in zip(*POPULATION, strict=True))
    )
    for budget in ((1, 1), (2, 1), (1, 2), (2, 2), (1, 3)):
        plan = cs.stopping_plan(
            k_sham=budget[0], k_destroy=budget[1], rule=rule, minimum=(0, 0),
            population=population, cost_sham=costs[0], cost_destroy=costs[1],
        )  # fmt: skip
        made = expected_replays(plan)
        cost = costs[0] * made[0] + costs[1] * made[1]
        # The plan is for questions of which one in 10^9 has rates of its own.
        least = min(all_costs(budget, rule, POPULATION, costs))
        assert least <= cost <= least * (1 + Fraction(1, 10**8))


def test_implementation_curtailment():
    population = cs.Population(
        *([float(v) for v in column] for column in zip(*POPULATION, strict=True))
    )
    for budget in ((2, 1), (2, 2)):
        found = cs.curtailment(
            population, k_sham=budget[0], k_destroy=budget[1], minimum=(0, 0)
        )  # fmt: skip
        least = min(all_costs(budget, "score <= 0", POPULATION, (1, 1)))
        assert abs(Fraction(found.total) - least) <= least * Fraction(1, 10**8)
