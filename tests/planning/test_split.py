"""Splits between arms, and between questions and replays, against enumeration and calculus."""

import itertools
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.planning.costs import Cost
from carve_stats.planning.score_variance import ScoreVariance, given_variance
from carve_stats.planning.split import split_arms, split_budget
from carve_stats.population.mixing import Population

parts = st.floats(0.001, 0.25)


@given(parts, parts, parts, st.floats(0, 50), st.floats(0.01, 5), st.floats(0, 5))
def test_the_best_split_is_next_to_the_real_one(between, sham, destroy, question, replay, extra):
    """In the interior the real optimum is √(v c_q/(σ² c)); the whole numbers are beside it."""
    variance = ScoreVariance(0.3, between, between, sham, destroy)
    cost = Cost(question=question, replay=replay, destroy_extra=extra)
    split = split_budget(variance, cost, most=40)
    real = [
        math.sqrt(v * question / (between * price))
        for v, price in ((sham, replay), (destroy, replay + extra))
    ]
    assert split.unrounded == pytest.approx(tuple(real))

    def objective(a, b):
        price = question + a * replay + b * (replay + extra)
        return (between + sham / a + destroy / b) * price

    best = objective(split.k_sham, split.k_destroy)
    corners = [
        objective(*(min(max(one, 1), 40) for one in pair))
        for pair in itertools.product(*((math.floor(r), math.ceil(r)) for r in real))
    ]
    assert best <= min(corners) * (1 + 1e-12)
    equal = objective(split.equal_k, split.equal_k)
    assert split.saving == pytest.approx(1 - best / equal, abs=1e-12)
    assert equal <= min(objective(k, k) for k in range(1, 41)) * (1 + 1e-12)


@given(parts, parts, parts, st.integers(0, 160), st.integers(1, 24), st.integers(30, 3000))
def test_a_budget_is_split_as_enumeration_has_it(between, sham, destroy, question, replay, money):
    question, replay = question / 8, replay / 8  # so that nothing is rounded here
    variance = ScoreVariance(0.3, between, between, sham, destroy)
    cost = Cost(question=question, replay=replay)
    if money // (question + 2 * replay) < 2:
        return
    split = split_budget(variance, cost, most=12, budget=money)
    best = min(
        (between + sham / a + destroy / b) / (money // (question + (a + b) * replay))
        for a, b in itertools.product(range(1, 13), repeat=2)
        if money // (question + (a + b) * replay) >= 2
    )
    assert split.se**2 == pytest.approx(best, rel=1e-9)
    assert split.questions * split.cost_per_question <= money * (1 + 1e-9)
    assert split.saving == pytest.approx(1 - split.se**2 / split.equal_se**2, abs=1e-9)


def test_the_reference_populations_ratio():
    variance = given_variance(Population.paper(), 1.0)
    assert split_arms(variance, 10).ratio == pytest.approx(1.15, abs=0.005)  # METHODS §6
    arms = split_arms(variance, 22)
    assert (arms.k_sham, arms.k_destroy) == (24, 20)


@given(st.floats(0, 0.25), st.floats(0, 0.25), st.integers(1, 20))
@example(4e-16, 4e-16, 8)  # beside what varies between questions a rounding
def test_arms_by_enumeration(sham, destroy, k):
    variance = ScoreVariance(0.3, 0.1, 0.1, sham, destroy)
    arms = split_arms(variance, k)
    assert arms.k_sham + arms.k_destroy == 2 * k
    least = min(sham / a + destroy / (2 * k - a) for a in range(1, 2 * k))
    assert variance.at(arms.k_sham, arms.k_destroy) == pytest.approx(0.1 + least)
    assert arms.saving >= 0
    if sham == destroy:
        assert arms.k_sham == arms.k_destroy == k


def test_questions_that_are_alike_want_all_the_replays_there_are():
    variance = given_variance(Population.homogeneous(0.3, 0.6), 1.0)
    split = split_budget(variance, Cost(question=1, replay=1), most=16, budget=1000)
    assert split.at_end
    assert split.unrounded[0] > 1e6 or math.isinf(split.unrounded[0])


def test_a_budget_that_buys_nothing_is_refused():
    variance = given_variance(Population.paper(), 1.0)
    with pytest.raises(InputError, match=r"budget=13 buys no two questions: .* costs 7"):
        split_budget(variance, Cost(question=5, replay=1), most=8, budget=13)


def test_prices_add_up():
    cost = Cost(
        question=0.5, replay=0.01, frame=0.001, frames=16, input_token=3, input_tokens=2000,
        output_token=15, output_tokens=100, destroy_extra=0.002,
    )  # fmt: skip
    sham = 0.01 + 0.016 + 0.006 + 0.0015
    assert cost.sham == pytest.approx(sham)
    assert cost.of_question(3, 2) == pytest.approx(0.5 + 3 * sham + 2 * (sham + 0.002))


@pytest.mark.parametrize("price", [-1, math.nan, math.inf])
def test_a_price_that_is_none_is_refused(price):
    with pytest.raises(InputError, match="cost: frame="):
        Cost(frame=price)
