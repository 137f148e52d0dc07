"""Stopping plans: every decision is the one that the full budget brings."""

import json

import numpy as np
import pytest
from stopping_cases import LOPSIDED, ORDERS, RULES, every_pair, full_decisions, plan_of, play

from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.stopping import StoppingPlan, fixed_plan
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("order", ORDERS)
def test_every_sequence_up_to_5_is_decided_as_by_all_replays(rule, order):
    for k_sham in range(1, 6):
        for k_destroy in range(1, 6):
            sham, destroy = every_pair(k_sham, k_destroy)
            full = full_decisions(rule, sham, destroy)
            for minimum in ((0, 0), (1, k_destroy // 2)):
                plan = plan_of(k_sham, k_destroy, rule, order, minimum)
                states, decided = play(plan, sham, destroy)
                assert plan.exact
                assert np.array_equal(decided, full)
                assert (states[:, [0, 2]] >= minimum).all()


def test_a_million_questions_at_10(rng):
    n, k = 1_000_000, 10
    population = Population.paper()
    atom = rng.choice(population.weights.size, n, p=population.weights)
    sham, destroy = (
        (rng.random((n, k), dtype=np.float32) < p[atom, None]).astype(np.int8)
        for p in (population.p_sham, population.p_destroy)
    )
    for rule in ("score < 1/3", "sign"):
        full = full_decisions(rule, sham, destroy)
        plan = stopping_plan(k, rule=rule, population=population)
        states, decided = play(plan, sham, destroy)
        assert np.array_equal(decided, full)
        assert (states[:, 0] + states[:, 2]).mean() < 0.85 * 2 * k


@pytest.mark.parametrize("rule", RULES)
def test_no_question_goes_on_once_it_is_decided(rule):
    # The two-sided oracle: a state is decided exactly where all sequences through it agree.
    sham, destroy = every_pair(3, 2)
    full = full_decisions(rule, sham, destroy)
    plan = plan_of(3, 2, rule, "alternate")
    for i in range(4):
        for j in range(3):
            x, y = sham[:, :i].sum(axis=1), destroy[:, :j].sum(axis=1)
            for flips in set(zip(x.tolist(), y.tolist(), strict=True)):
                seen = set(full[(x == flips[0]) & (y == flips[1])].tolist())
                state = i, flips[0], j, flips[1]
                expected = seen.pop() if len(seen) == 1 else None
                assert plan.decision(*state) == expected
                assert (plan.next_condition(*state) is None) == (expected is not None)


def test_decisions_are_of_the_rules_kind():
    assert fixed_plan(2, 2, "score <= 0", "alternate").decision(2, 2, 0, 0) is True
    assert fixed_plan(2, 2, "score > 0", "alternate").decision(2, 2, 0, 0) is False
    assert fixed_plan(2, 2, "sign", "alternate").decision(2, 2, 1, 0) == -1
    assert fixed_plan(2, 2, "sign", "alternate").decision(2, 2, 0, 0) is None


def test_the_orders():
    def conditions(order):
        plan = fixed_plan(2, 2, "sign", order)
        made, shown = [0, 0], []
        while len(shown) < 3:
            shown.append(plan.next_condition(made[0], 0, made[1], 0))
            made[shown[-1] == "destroy"] += 1
        return shown

    assert conditions("alternate") == ["sham", "destroy", "sham"]
    assert conditions("alternate-destroy-first") == ["destroy", "sham", "destroy"]
    assert conditions("destroy-first") == ["destroy", "destroy", "sham"]


@pytest.mark.parametrize(
    ("order", "k", "minimum", "guaranteed"),
    [
        # METHODS: alternate reaches 2 SHAM and 1 DESTROY at k = 3, all-destroy-first no SHAM.
        ("alternate", 3, (0, 0), (2, 1)),
        ("alternate-destroy-first", 3, (0, 0), (1, 2)),
        ("destroy-first", 3, (0, 0), (0, 3)),
        ("alternate", 10, (0, 0), (5, 5)),
        ("destroy-first", 10, (0, 0), (0, 10)),
        ("destroy-first", 10, (4, 0), (4, 10)),
        ("optimal", 10, (3, 3), (3, 3)),
        ("optimal", 10, (0, 0), (0, 1)),
    ],
)
def test_guaranteed_replays(order, k, minimum, guaranteed):
    plan = plan_of(k, k, "score <= 0", order, minimum)
    assert plan.guaranteed == guaranteed


@pytest.mark.parametrize("order", ORDERS)
def test_guaranteed_is_the_least_of_every_sequence(order):
    plan = plan_of(4, 3, "score < 1/3", order, (0, 1))
    states, _ = play(plan, *every_pair(4, 3))
    assert plan.guaranteed == tuple(states[:, [0, 2]].min(axis=0))
    assert set(map(tuple, plan.terminals.tolist())) == set(map(tuple, states.tolist()))


def test_paths_are_the_sequences_that_lead_there():
    plan = plan_of(4, 4, "score <= 0", "optimal")
    states, _ = play(plan, *every_pair(4, 4))
    # A question that stops at (i, j) stands for 2^(4 − i) 2^(4 − j) sequences.
    for i, x, j, y in plan.terminals:
        sequences = (states == (i, x, j, y)).all(axis=1).sum()
        paths = plan.paths[i * (i + 1) // 2 + x, j * (j + 1) // 2 + y]
        assert sequences == paths * 2 ** (8 - i - j)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", ["score < 1/3", "sign"])
def test_a_plan_is_read_back_from_json(order, rule):
    plan = plan_of(4, 5, rule, order, (1, 2))
    text = json.dumps(plan.to_dict())
    again = StoppingPlan.from_dict(json.loads(text))
    assert again.sha256 == plan.sha256
    assert np.array_equal(again.action, plan.action)
    assert np.array_equal(again.verdict, plan.verdict)
    assert (again.rule, again.order, again.minimum) == (plan.rule, order, (1, 2))
    assert len(text) < 1000


def test_a_plan_that_changes_decisions_is_read_back():
    plan = stopping_plan(6, population=LOPSIDED, changed=0.05)
    again = StoppingPlan.from_dict(plan.to_dict())
    assert not again.exact
    assert np.array_equal(again.action, plan.action)
    assert np.array_equal(again.verdict, plan.verdict)


def test_damaged_records_are_refused():
    fixed = plan_of(3, 3, "score <= 0", "alternate").to_dict()
    optimal = plan_of(3, 3, "score <= 0", "optimal").to_dict()
    other = plan_of(4, 4, "score <= 0", "optimal").to_dict()
    cases = [
        ({**fixed, "minimum": [1, 1]}, "does not fit its sha256"),
        ({**fixed, "order": "destroy-first"}, "does not fit its sha256"),
        ({**optimal, "rule": "score >= 0"}, "a decision that no replay to come brings"),
        ({**optimal, "table": optimal["table"][:-3]}, "table of the stopping plan is damaged"),
        ({**optimal, "table": other["table"]}, "table of the stopping plan is damaged"),
        ({**optimal, "table": None}, "table of the stopping plan is damaged"),
        ({**fixed, "order": "backwards"}, "unknown order 'backwards'"),
        ({**fixed, "speed": 1}, "must have the entries"),
        ([], "must have the entries"),
    ]
    for record, message in cases:
        with pytest.raises(InputError, match=message):
            StoppingPlan.from_dict(record)


def test_tables_that_cannot_be_a_plan_are_refused():
    plan = fixed_plan(2, 2, "score <= 0", "alternate", (1, 0))
    action, verdict = plan.action, plan.verdict

    def build(action=action, verdict=verdict):
        return StoppingPlan(2, 2, "score <= 0", "alternate", (1, 0), action, verdict)

    def changed(table, row, column, value):
        table = table.copy()
        table[row, column] = value
        return table

    build()
    cases = [
        ({"action": changed(action, 3, 1, 0)}, "a replay beyond the budget at row 3, column 1"),
        ({"action": changed(action, 1, 3, 1)}, "a replay beyond the budget at row 1, column 3"),
        ({"action": changed(action, 0, 1, -1)}, "a stop before the minimum at row 0, column 1"),
        ({"action": changed(action, 1, 0, -1)}, "a stop without a decision"),
        ({"verdict": changed(verdict, 5, 1, 0)}, "a decision that no replay to come brings"),
        ({"action": changed(action, 0, 0, 2)}, "action must lie between -1 and 1"),
        ({"action": action[1:]}, r"action must hold whole numbers and have shape \(6, 6\)"),
        ({"verdict": verdict.astype(float)}, "verdict must hold whole numbers"),
    ]
    for tables, message in cases:
        with pytest.raises(InputError, match=message):
            build(**tables)


def test_a_plan_cannot_be_changed():
    plan = fixed_plan(2, 2, ScoreRule.parse("score <= 0"), "alternate")
    for table in (plan.action, plan.verdict):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0] = 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k_sham": 0}, "k_sham=0 must be a whole number of at least 1"),
        ({"k_destroy": 65}, "k_destroy=65 must be at most 64"),
        ({"rule": "tie"}, "rule='tie' must be 'score'"),
        ({"order": "optimal"}, "unknown order 'optimal'"),
        ({"minimum": (4, 0)}, r"minimum=\(4, 0\) must not exceed the budget \(3, 3\)"),
        ({"minimum": 2}, "minimum=2 must be two whole numbers"),
        ({"minimum": (1, -1)}, "minimum=-1 must be a whole number of at least 0"),
    ],
)
def test_arguments_are_checked(change, message):
    given = {"k_sham": 3, "k_destroy": 3, "rule": "score <= 0", "order": "alternate", **change}
    with pytest.raises(InputError, match=message):
        fixed_plan(**given)


@pytest.mark.parametrize("state", [(4, 0, 0, 0), (1, 2, 0, 0), (0, 0, 1, -1), (0, 0, 4, 0)])
def test_states_that_are_none_are_refused(state):
    plan = fixed_plan(3, 3, "score <= 0", "alternate")
    for ask in (plan.next_condition, plan.decision):
        with pytest.raises(InputError, match="is no state of a question"):
            ask(*state)
