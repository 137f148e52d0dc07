"""Curtailment: the published table, brute force over all policies, and simulation."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.stopping import FIXED_ORDERS, StoppingPlan
from carve_stats.planning.curtailment import curtailment, stopping_plan
from carve_stats.population.fit import fit_population
from carve_stats.population.mixing import Population

PAPER = Population.paper()
LOPSIDED = Population([0.1, 0.5, 0.9], [0.6, 0.2, 0.95], [3, 2, 1])


@pytest.mark.parametrize(
    ("order", "saved"),
    [
        ("alternate", (17.4, 18.8, 20.4)),
        ("alternate-destroy-first", (18.1, 19.4, 20.7)),
        ("destroy-first", (23.1, 24.9, 26.6)),
        ("optimal", (27.3, 29.8, 31.7)),
    ],
)
def test_the_table_of_methods(order, saved):
    # The project's METHODS: per cent of the replays of population B saved at k = 3, 5, 10.
    for k, expected in zip((3, 5, 10), saved, strict=True):
        found = curtailment(PAPER, k=k, order=order, minimum=(0, 0))
        assert 100 * found.saving == pytest.approx(expected, abs=0.3)


@pytest.mark.parametrize(("minimum", "saved"), [(None, 29.7), ((3, 3), 29.7), ((5, 5), 26.9)])
def test_the_optimal_order_with_a_floor(minimum, saved):
    found = curtailment(PAPER, k=10, minimum=minimum)
    assert 100 * found.saving == pytest.approx(saved, abs=0.1)
    assert found.guaranteed == (minimum or (3, 3))


def every_policy_cost(population, k, rule, minimum, costs):
    """The least expected cost over all ways to choose the next arm in every state."""
    selected = ScoreRule.parse(rule).table(k, k)
    sequences = list(product((0, 1), repeat=k))

    def stops(i, x, j, y):
        ends = {
            selected[x + a, y + b] for a in range(k - i + 1) for b in range(k - j + 1)
        }  # fmt: skip
        return len(ends) == 1 and i >= minimum[0] and j >= minimum[1]

    choices = [
        (i, x, j, y)
        for i in range(k)
        for x in range(i + 1)
        for j in range(k)
        for y in range(j + 1)
        if not stops(i, x, j, y)
    ]
    law = {
        (s, d): float(
            population.weights
            @ (
                np.prod([population.p_sham if f else 1 - population.p_sham for f in s], axis=0)
                * np.prod(
                    [population.p_destroy if f else 1 - population.p_destroy for f in d], axis=0
                )
            )
        )
        for s in sequences
        for d in sequences
    }
    least = np.inf
    for arms in product((0, 1), repeat=len(choices)):
        policy, cost = dict(zip(choices, arms, strict=True)), 0.0
        for (s, d), p in law.items():
            i = j = 0
            while not stops(i, sum(s[:i]), j, sum(d[:j])):
                destroy = policy.get((i, sum(s[:i]), j, sum(d[:j])), int(i == k))
                i, j = i + 1 - destroy, j + destroy
            cost += p * (costs[0] * i + costs[1] * j)
        least = min(least, cost)
    return least


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("rule", ["score <= 0", "score < 1/3", "score = 0"])
@pytest.mark.parametrize(
    ("minimum", "costs"), [((0, 0), (1, 1)), ((1, 0), (1, 3)), ((0, 0), (2, 1))]
)
def test_the_optimal_order_is_the_best_of_all_policies(k, rule, minimum, costs):
    found = curtailment(
        LOPSIDED, k=k, rule=rule, minimum=minimum, cost_sham=costs[0], cost_destroy=costs[1]
    )
    expected = every_policy_cost(LOPSIDED, k, rule, minimum, costs)
    assert costs[0] * found.sham + costs[1] * found.destroy == pytest.approx(expected, abs=1e-6)
    assert 1 - found.cost_saving == pytest.approx(expected / (k * sum(costs)), abs=1e-6)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=3),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from(["score <= 0", "score > 1/4", "sign"]),
    st.floats(0.2, 5),
)
@settings(max_examples=25)
def test_no_fixed_order_costs_less(atoms, budget, rule, cost):
    population = Population(*zip(*atoms, strict=True))
    asked = dict(
        k_sham=budget[0], k_destroy=budget[1], rule=rule, minimum=(1, 0), cost_destroy=cost
    )
    best = curtailment(population, **asked)
    for order in FIXED_ORDERS:
        other = curtailment(population, order=order, **asked)
        assert best.cost_saving >= other.cost_saving - 1e-7
        assert other.distribution.sum() == pytest.approx(1)
        totals = np.arange(sum(budget) + 1)
        assert other.distribution @ totals == pytest.approx(other.total)


def test_expected_replays_are_those_of_simulated_questions(rng):
    found = curtailment(LOPSIDED, k_sham=4, k_destroy=6, rule="sign")
    n = 20_000
    atoms = rng.choice(3, n, p=LOPSIDED.weights)
    totals = np.empty((n, 2), int)
    for row, atom in enumerate(atoms):
        i = x = j = y = 0
        while condition := found.plan.next_condition(i, x, j, y):
            if condition == "sham":
                i, x = i + 1, x + (rng.random() < LOPSIDED.p_sham[atom])
            else:
                j, y = j + 1, y + (rng.random() < LOPSIDED.p_destroy[atom])
        totals[row] = i, j
    means, errors = totals.mean(axis=0), 4 * totals.std(axis=0) / n**0.5
    assert abs(means[0] - found.sham) < errors[0]
    assert abs(means[1] - found.destroy) < errors[1]
    shares = np.bincount(totals.sum(axis=1), minlength=11) / n
    np.testing.assert_allclose(shares, found.distribution, atol=4 * 0.5 / n**0.5)


def test_changing_one_decision_in_a_hundred():
    # The project's METHODS: 51 % saved at k = 10.
    found = curtailment(PAPER, k=10, changed=0.01, minimum=(0, 0))
    assert 100 * found.saving == pytest.approx(51, abs=0.5)
    assert 0.009 < found.changed <= 0.01
    assert "0.99 % of the decisions differ" in str(found)


@pytest.mark.parametrize("rule", ["score <= 0", "sign"])
def test_changed_decisions_are_those_of_every_sequence(rule):
    found = curtailment(LOPSIDED, k=3, rule=rule, changed=0.1, minimum=(1, 0))
    plan, changed, total = found.plan, 0.0, 0.0
    for flips in product((0, 1), repeat=6):
        sham, destroy = flips[:3], flips[3:]
        p = LOPSIDED.weights @ np.prod(
            [
                *(LOPSIDED.p_sham if f else 1 - LOPSIDED.p_sham for f in sham),
                *(LOPSIDED.p_destroy if f else 1 - LOPSIDED.p_destroy for f in destroy),
            ],
            axis=0,
        )
        i = j = 0
        while condition := plan.next_condition(i, sum(sham[:i]), j, sum(destroy[:j])):
            i, j = i + (condition == "sham"), j + (condition == "destroy")
        net = sum(destroy) - sum(sham)
        full = (net > 0) - (net < 0) if rule == "sign" else net <= 0
        changed += p * (plan.decision(i, sum(sham[:i]), j, sum(destroy[:j])) != full)
        total += p * (i + j)
    assert found.changed == pytest.approx(changed, abs=1e-12)
    assert found.total == pytest.approx(total, abs=1e-12)
    assert 0 < found.changed <= 0.1


def test_more_changes_save_more():
    savings = [curtailment(PAPER, k=5, changed=share).saving for share in (0, 0.005, 0.02, 0.1)]
    assert savings == sorted(set(savings))


def test_states_that_the_population_rules_out_have_an_order_too():
    plan = stopping_plan(4, population=Population.homogeneous(0, 1), minimum=(0, 0))
    assert plan.exact
    # SHAM flips are impossible here; should they come, the order is that of unknown questions.
    unknown = stopping_plan(4, population=Population.beta(0.5, 2, 0.5, 2), minimum=(0, 0))
    impossible = [(i, x, j, y) for i in (1, 2, 3) for x in (1, i) for j in range(4) for y in (0, j)]
    same = [plan.next_condition(*s) == unknown.next_condition(*s) for s in impossible]
    assert np.mean(same) > 0.9


def test_pilot_replays_are_fitted():
    counts = PAPER.sample(400, 3, clusters=40, icc=0.1, rng=1)
    found = curtailment(counts, k=5)
    assert found.saving == pytest.approx(0.29, abs=0.05)
    assert found.guaranteed == (1, 1)


def test_how_it_shows():
    found = curtailment(PAPER, k=3, order="destroy-first", minimum=(0, 0))
    record = found.to_dict()
    assert record["order"] == "destroy-first"
    assert record["guaranteed"] == {"sham": 0, "destroy": 3}
    assert record["expected"]["total"] == found.total == found.sham + found.destroy
    assert record["plan_sha256"] == found.plan.sha256
    assert "some questions get no SHAM replay at all" in str(found)
    assert "every decision is the one that the full budget brings" in repr(found)
    assert found._repr_html_().startswith("<table>")
    assert "at least 1 SHAM and 1 DESTROY" in str(curtailment(PAPER, k=3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": None}, "give k, or both k_sham and k_destroy"),
        ({"k": 65}, "must be at most 64"),
        ({"order": "best"}, "unknown order 'best'"),
        ({"population": None}, "order='optimal' needs population="),
        ({"cost_sham": 0}, "cost_sham=0 must be a number above 0"),
        ({"cost_destroy": float("inf")}, "cost_destroy=inf must be a number above 0"),
        ({"changed": 1}, "changed=1.0 must be a share"),
        ({"changed": 0.1, "order": "alternate"}, "changed=0.1 needs order='optimal'"),
        ({"minimum": (0, 6)}, "must not exceed the budget"),
        ({"rule": 3}, "rule=3 must be 'score'"),
    ],
)
def test_arguments_are_checked(change, message):
    with pytest.raises(InputError, match=message):
        stopping_plan(**{"k": 5, "population": LOPSIDED, **change})


def test_another_source_is_refused():
    with pytest.raises(InputError, match="counts is a str"):
        curtailment("runs/pilot", k=3)


def test_the_caption_names_the_population_and_no_saving_is_minus_zero():
    found = curtailment(PAPER, k=3, minimum=(3, 3))
    assert found.saving == pytest.approx(0.0, abs=1e-12)
    assert "-0.0 %" not in str(found)
    assert str(found).count(" 0.0 %") == 4
    assert "in a population as given" in str(found)
    counts = PAPER.sample(n=200, k=3, rng=np.random.default_rng(1))
    fitted = curtailment(counts, k=3)
    assert "in a population fitted to 200 questions" in str(fitted)
    assert fitted.to_dict()["population"] == "fitted to 200 questions"
    again = curtailment(fit_population(counts), k=3)
    assert again.population == fitted.population


def test_a_plan_keeps_the_share_that_it_may_change():
    plan = stopping_plan(5, population=PAPER, changed=0.02)
    assert plan.changed == 0.02
    again = StoppingPlan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert (again.changed, again.sha256) == (0.02, plan.sha256)
    assert plan.reduced(1, 0).changed == 0.02
    other = StoppingPlan.from_dict(stopping_plan(5, population=PAPER).to_dict())
    assert other.changed == 0.0
    assert "changed" not in other.to_dict()
    with pytest.raises(InputError, match="does not fit its sha256"):
        StoppingPlan.from_dict({**plan.to_dict(), "changed": 0.03})
    with pytest.raises(InputError, match=r"changed=1\.0 must be a share"):
        StoppingPlan.from_dict({**plan.to_dict(), "changed": 1})
    with pytest.raises(InputError, match=r"rule='lowest' must be.*; or 'sign', for the three"):
        stopping_plan(3, rule="lowest", order="alternate")


def test_only_the_ratio_of_costs_matters():
    plans = {
        stopping_plan(
            4, population=Population.paper(), cost_sham=1.0 * unit, cost_destroy=3.0 * unit
        ).sha256
        for unit in (1e-250, 1.0, 5e307)
    }
    assert len(plans) == 1
