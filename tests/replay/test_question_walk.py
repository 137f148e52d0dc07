"""The walk of a question: it stops with the decision of the full sequence, and depends on nothing
but the outcomes that it asked for."""

import operator
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.law.stopping import ORDERS, fixed_plan
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population
from carve_stats.replay.stopping import Decider, Walk, check_stopping

COMPARE = {"<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge,
           ">": operator.gt}  # fmt: skip
RULES = ["score <= 0", "score < 1/3", "score >= 0", "sign"]
OUTCOMES = (0, 1, None)


@cache
def plan_of(budget, rule, order, minimum):
    return stopping_plan(k_sham=budget[0], k_destroy=budget[1], rule=rule, order=order,
                         minimum=minimum, population=Population.paper())  # fmt: skip


def full_decision(rule, sham, destroy):
    """What the rule says of the valid replays, in fractions; None without a score."""
    rates = []
    for outcomes in (sham, destroy):
        valid = [flip for flip in outcomes if flip is not None]
        if not valid:
            return None
        rates.append(Fraction(sum(valid), len(valid)))
    score = rates[1] - rates[0]
    if rule == "sign":
        return (score > 0) - (score < 0)
    _, comparison, threshold = rule.split()
    return COMPARE[comparison](score, Fraction(threshold))


def step_by_step(decider, sham, destroy):
    """Make one replay after the other, as the loop does: what was asked for, and the end."""
    made = {"sham": [], "destroy": []}
    coming = {"sham": iter(sham), "destroy": iter(destroy)}
    asked = []
    while (walk := decider.walk(made["sham"], made["destroy"])).next_condition is not None:
        asked.append(walk.next_condition)
        made[walk.next_condition].append(next(coming[walk.next_condition]))
    return asked, walk


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", RULES)
def test_every_sequence_is_decided_as_the_full_one(rule, order):
    stopped_early = 0
    for budget in product((1, 2, 3), repeat=2):
        decider = Decider(plan_of(budget, rule, order, (1, 1)))
        for sham in product(OUTCOMES, repeat=budget[0]):
            for destroy in product(OUTCOMES, repeat=budget[1]):
                walk = decider.walk(sham, destroy)
                assert walk.next_condition is None
                assert walk.decision == full_decision(rule, sham, destroy)
                assert decider.walk(sham[: walk.sham], destroy[: walk.destroy]) == walk
                stopped_early += (walk.sham, walk.destroy) != budget
    assert stopped_early > 100


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", RULES)
def test_without_a_minimum_every_score_is_decided_as_the_full_one(rule, order):
    decider = Decider(plan_of((3, 3), rule, order, (0, 0)))
    for sham in product(OUTCOMES, repeat=3):
        for destroy in product(OUTCOMES, repeat=3):
            decision = full_decision(rule, sham, destroy)
            if decision is not None:
                assert decider.walk(sham, destroy).decision == decision


@st.composite
def sequences(draw):
    budget = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    minimum = draw(st.tuples(*(st.integers(1, k) for k in budget)))
    threshold = draw(st.fractions(-1, 1, max_denominator=6))
    rule = draw(st.sampled_from(["sign", *(f"score {c} {threshold}" for c in COMPARE if c != "=")]))
    plan = plan_of(budget, rule, draw(st.sampled_from(ORDERS)), minimum)
    return plan, *(
        draw(st.lists(st.sampled_from(OUTCOMES), min_size=k, max_size=k)) for k in budget
    )


@given(sequences())
def test_larger_budgets_one_replay_at_a_time(drawn):
    plan, sham, destroy = drawn
    decider = Decider(plan)
    asked, walk = step_by_step(decider, sham, destroy)
    assert walk == decider.walk(sham, destroy)
    assert (walk.sham, walk.destroy) == (asked.count("sham"), asked.count("destroy"))
    assert walk.decision == full_decision(str(plan.rule), sham, destroy)
    # Whatever is still to come, valid or not.
    for rest in OUTCOMES:
        others = (
            [*part[:used], *[rest] * (len(part) - used)]
            for part, used in ((sham, walk.sham), (destroy, walk.destroy))
        )
        assert full_decision(str(plan.rule), *others) == walk.decision


def test_an_arm_without_a_valid_replay_to_come_ends_the_question():
    decider = Decider(fixed_plan(2, 3, "score <= 0", "alternate", (1, 1)))
    assert decider.walk([None, None], [1]) == Walk(2, 0, None, None)
    assert decider.walk([None], [1]) == Walk(1, 0, "sham", None)


def test_an_equality_could_be_decided_wrongly():
    # Which is why runs refuse it: with 1 of 2 SHAM flipped no number of flips in 3 DESTROY makes
    # the score 0, but 1 flip in 2 does, when the third is invalid.
    decider = Decider(fixed_plan(2, 3, "score = 0", "alternate", (1, 1)))
    wrong = [
        (sham, destroy)
        for sham in product(OUTCOMES, repeat=2)
        for destroy in product(OUTCOMES, repeat=3)
        if decider.walk(sham, destroy).decision != full_decision("score = 0", sham, destroy)
    ]
    assert ((0, 1), (0, 1, None)) in wrong


PLAN = fixed_plan(3, 2, "score <= 0", "alternate")


@pytest.mark.parametrize(
    ("stopping", "k", "message"),
    [
        ("score <= 0", {"sham": 3, "destroy": 2}, r"stopping='score <= 0' must be a StoppingPlan"),
        (PLAN, {"self": 3, "sham": 3}, r"conditions=\('self', 'sham'\) must have 'destroy'"),
        (PLAN, {"sham": 3, "destroy": 3}, "k of destroy is 3, the stopping plan's is 2"),
        (fixed_plan(3, 2, "score = 0", "alternate"), {"sham": 3, "destroy": 2}, "'score = 0'"),
    ],
)
def test_what_a_run_cannot_follow_is_refused(stopping, k, message):
    with pytest.raises(InputError, match=message) as caught:
        check_stopping(stopping, k)
    assert "\n" not in str(caught.value)


def test_what_a_run_can_follow():
    assert check_stopping(PLAN, {"self": 9, "sham": 3, "destroy": 2}) is PLAN
