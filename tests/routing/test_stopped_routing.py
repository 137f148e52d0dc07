"""Routing by replays that were stopped early: the rule that stopped them decides as with all."""

import math

import numpy as np
import pytest
from stopped_replays import (
    ORDERS,
    counts_of,
    draw_outcomes,
    full_counts,
    ids,
    make_plan,
    stopped_counts,
)

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.stopping import fixed_plan
from carve_stats.outcomes import Outcomes
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population
from carve_stats.routing.comparison import compare_rules
from carve_stats.routing.curve import routing_curve
from carve_stats.routing.evaluate import evaluate_rule
from carve_stats.routing.frontier import deferral_frontier
from carve_stats.routing.score_values import score_values

N, K = 150, 4


@pytest.fixture
def calls(rng):
    """The outcomes of all calls, a tenth of them invalid; two questions have no score."""
    sham, destroy = draw_outcomes(rng, rng.beta(1, 2, N), rng.beta(2, 1, N), K, invalid=0.1)
    sham[3] = destroy[7] = -1
    return sham, destroy


@pytest.fixture
def outcomes(rng):
    return Outcomes(
        ids(N),
        rng.integers(0, 2, N),
        {"strong": rng.integers(0, 2, N)},
        covariates={"confidence": rng.random(N), "covered": rng.choice(["yes", "no"], N)},
    )


CLUSTERS = [f"v{q % 19}" for q in range(N)]
SAID = "the replays were stopped early, when {rule} was decided"


def both(plan, calls):
    """What was counted with and without the plan."""
    return (stopped_counts(plan, *calls, cluster=CLUSTERS), full_counts(*calls, cluster=CLUSTERS))


def figures(result):
    """All of a result but what its replays took, and its notes."""
    return {n: v for n, v in result.to_dict().items() if n not in ("costs", "notes")}


def check_same(found, full, rule):
    assert figures(found) == figures(full)  # to the last bit
    told = [note for note in found.notes if note.startswith(SAID.format(rule=rule))]
    assert len(told) == 1
    assert set(full.notes) <= set(found.notes)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", ["score <= 0", "score < 0", "score > 1/4", "score <= -1/2"])
@pytest.mark.parametrize("minimum", [(1, 1), (1, 2)])
def test_the_plans_rule_is_evaluated_as_with_all_replays(calls, outcomes, order, rule, minimum):
    stopped, full = both(make_plan((K, K), order, minimum, rule=rule), calls)
    assert stopped.sham_replays.sum() < full.sham_replays.sum()
    found = evaluate_rule(stopped, outcomes, rule, match=["covered"])
    check_same(found, evaluate_rule(full, outcomes, rule, match=["covered"]), rule)
    assert found.scored == N - 2
    assert 0 < found.selected < N
    assert any(note.startswith("2 questions have no score and keep") for note in found.notes)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", ["score <= 0", "sign"])
def test_without_a_minimum_decisions_are_the_same_where_there_are_scores(
    calls, outcomes, order, rule
):
    for arm in calls:  # whose questions all have one
        arm[[3, 7]] = arm[0]
    stopped, full = both(make_plan((K, K), order, (0, 0), rule=rule), calls)
    check_same(evaluate_rule(stopped, outcomes), evaluate_rule(full, outcomes), rule)


def test_bootstrap_intervals_are_the_same_too(calls, outcomes):
    stopped, full = both(make_plan((K, K)), calls)
    options = {"interval": "bootstrap", "resamples": 200, "rng": 3, "level": 0.9}
    check_same(
        evaluate_rule(stopped, outcomes, **options),
        evaluate_rule(full, outcomes, **options),
        "score <= 0",
    )
    check_same(
        compare_rules(stopped, outcomes, "score <= 0", "always", **options),
        compare_rules(full, outcomes, "score <= 0", "always", **options),
        "score <= 0",
    )


SAME_RULE = ["score <= 0", "score<=0", "Δ ≤ 0", "delta <= 0/3", ScoreRule.parse("score <= 0")]


@pytest.mark.parametrize("rule", SAME_RULE)
def test_the_rule_may_be_said_in_any_way(calls, outcomes, rule):
    stopped, full = both(make_plan((K, K)), calls)
    check_same(
        evaluate_rule(stopped, outcomes, rule), evaluate_rule(full, outcomes, rule), "score <= 0"
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("comparison", ["<", "<=", "=", ">=", ">"])
def test_the_sign_tells_every_comparison_with_zero(calls, outcomes, order, comparison):
    stopped, full = both(make_plan((K, K), order, rule="sign"), calls)
    rule = f"score {comparison} 0"
    found = evaluate_rule(stopped, outcomes, rule)
    check_same(found, evaluate_rule(full, outcomes, rule), "sign")
    assert 0 < found.selected < N
    check_same(
        compare_rules(stopped, outcomes, rule, "score = 0"),
        compare_rules(full, outcomes, rule, "score = 0"),
        "sign",
    )


OTHER_RULES = ["always", "never", "random 40", "confidence < 0.4", "lowest 30 confidence"]


@pytest.mark.parametrize("rule", OTHER_RULES)
def test_rules_without_the_score_work_as_ever(calls, outcomes, rule):
    stopped, full = both(make_plan((K, K)), calls)
    check_same(
        evaluate_rule(stopped, outcomes, rule, match="covered"),
        evaluate_rule(full, outcomes, rule, match="covered"),
        "score <= 0",
    )
    for pair in (("score <= 0", rule), (rule, "score <= 0"), (rule, "always")):
        check_same(
            compare_rules(stopped, outcomes, *pair),
            compare_rules(full, outcomes, *pair),
            "score <= 0",
        )


@pytest.mark.parametrize(
    ("decided", "rule"),
    [
        ("score <= 0", "score < 0"),
        ("score <= 0", "score > 0"),  # not its complement: questions without a score
        ("score <= 0", "score <= 1/4"),
        ("sign", "score <= 1/4"),
        ("sign", "score > -1/4"),
        ("score <= 0", "lowest 30"),
        ("score <= 0", "posterior mean <= 0"),
        ("sign", "lowest 30"),
    ],
)
def test_other_rules_on_the_score_are_refused(calls, outcomes, decided, rule):
    stopped, _ = both(make_plan((K, K), rule=decided), calls)
    for call in (
        lambda: evaluate_rule(stopped, outcomes, rule),
        lambda: compare_rules(stopped, outcomes, "always", rule),
        lambda: compare_rules(stopped, outcomes, rule, "always"),
    ):
        with pytest.raises(InputError, match="stopped") as told:
            call()
        assert "\n" not in str(told.value)
    if rule.startswith("score"):
        assert f"stopped when '{decided}' was decided; give that rule, or full replays" in str(
            told.value
        )


def test_what_needs_all_scores_is_refused(calls, outcomes):
    stopped, _ = both(make_plan((K, K)), calls)
    for call in (
        lambda: routing_curve(stopped, outcomes),
        lambda: routing_curve(stopped, outcomes, k=[1]),
        lambda: deferral_frontier(stopped, outcomes),
        lambda: deferral_frontier(stopped, outcomes, by="confidence"),
        lambda: score_values(stopped, outcomes),
    ):
        with pytest.raises(
            InputError, match=r"stopped early \(score <= 0\).*stopped_signs"
        ) as told:
            call()
        assert "\n" not in str(told.value)


def test_costs_are_those_of_the_replays_that_were_made(calls, outcomes):
    stopped, full = both(make_plan((K, K)), calls)
    found, all_ = (evaluate_rule(counts, outcomes).costs for counts in (stopped, full))
    made = [getattr(stopped, f"{arm}_{what}").sum() for arm in ("sham", "destroy")
            for what in ("replays", "invalid")]  # fmt: skip
    assert found["replays"] == sum(made) / N < all_["replays"] == 2 * K
    assert {**found, "replays": None} == {**all_, "replays": None}


def test_a_question_may_be_decided_without_a_replay_in_an_arm():
    # All three DESTROY replays kept: whatever SHAM does, y/3 <= x/3.
    plan = fixed_plan(3, 3, "score <= 0", "destroy-first")
    state = np.array([(0, 0, 3, 0, 0, 0), (1, 0, 3, 3, 0, 0)]).T
    counts = counts_of(state, plan=plan, cluster=["v", "w"])
    outcomes = Outcomes(ids(2), [0, 0], {"strong": [1, 1]})
    found = evaluate_rule(counts, outcomes)
    assert counts.scored.tolist() == [False, True]
    assert (found.scored, found.selected, found.repairs) == (2, 1.0, 1.0)


def test_unfinished_questions_and_those_without_replays_have_no_score(calls, outcomes):
    plan = make_plan((K, K), "alternate", (1, 1))
    stopped, _ = both(plan, calls)
    finished = evaluate_rule(stopped, outcomes)
    columns = stopped.to_dict()
    cluster = columns.pop("cluster")
    columns.pop("stopping")
    q = int(np.flatnonzero(stopped.sham_flips == 2)[0])
    for name in columns:
        if name != "question":
            columns[name][q] = 0
    unfinished = ReplayCounts(**columns, cluster=cluster, stopping=plan)
    found = evaluate_rule(unfinished, outcomes)
    assert found.scored == finished.scored - 1
    some = np.arange(N) != q
    absent = evaluate_rule(stopped.select(some), outcomes, allow_mismatch=True)
    for name in ("scored", "selected", "repairs", "harms"):
        assert getattr(absent, name) == getattr(found, name)
    with pytest.raises(InputError, match="allow_mismatch"):
        evaluate_rule(stopped.select(some), outcomes)


def test_unfinished_questions_are_left_out_by_reason(calls, outcomes):
    plan = make_plan((K, K), "alternate", (1, 1))
    columns = both(plan, calls)[0].to_dict()
    cluster = columns.pop("cluster")
    columns.pop("stopping")
    for arm, replays in (("sham", 1), ("destroy", 0)):
        for what, value in (("flips", 0), ("replays", replays), ("invalid", 0)):
            columns[f"{arm}_{what}"][5] = value
    counts = ReplayCounts(**columns, cluster=cluster, stopping=plan)
    found = evaluate_rule(counts, outcomes)
    assert found.questions["used"] == N - 1
    assert found.questions["left_out"] == {"replays not finished: the stopping plan goes on": 1}
    assert any(note.startswith("1 question not finished") for note in found.notes)
    without = np.arange(N) != 5
    rest = Outcomes(
        outcomes.question[without], outcomes.original_correct[without],
        {"strong": outcomes.alternatives["strong"].correct[without]},
    )  # fmt: skip
    absent = evaluate_rule(counts.select(without), rest)
    for name in ("scored", "selected", "repairs", "harms", "net", "accuracy_after"):
        assert getattr(absent, name) == getattr(found, name)


def test_a_plan_that_changes_decisions_is_not_said_to_keep_them(calls, outcomes):
    plan = stopping_plan(K, population=Population.paper(), changed=0.05)
    assert not plan.exact
    notes = evaluate_rule(both(plan, calls)[0], outcomes).notes
    assert any("otherwise than the full budget" in note for note in notes)
    assert not any(note.startswith(SAID.format(rule="score <= 0")) for note in notes)


def test_counts_of_another_plan_are_refused(outcomes):
    plan = make_plan((K, K), "alternate", (1, 1))
    state = np.tile([[K], [K], [K], [K], [0], [0]], N)
    with pytest.raises(InputError, match=r"question='q000000': 4 of 4 SHAM .* of another plan"):
        evaluate_rule(counts_of(state, plan=plan, cluster=CLUSTERS), outcomes)


def test_without_clusters_there_are_figures_without_intervals(calls, outcomes):
    stopped = stopped_counts(make_plan((K, K)), *calls)
    found = evaluate_rule(stopped, outcomes)
    full = evaluate_rule(full_counts(*calls), outcomes)
    assert figures(found) == figures(full)
    assert found.gain_points.low is None
    assert math.isfinite(found.gain_points.estimate)
