"""Which k is recommended, from tables written by hand."""

import pytest

from carve_stats.inference.prediction import Range
from carve_stats.law.finite_replay import SignShares
from carve_stats.planning.budget_plan import PlanRow
from carve_stats.planning.goals.base import Study
from carve_stats.planning.goals.parsing import as_goal
from carve_stats.planning.known import Known
from carve_stats.planning.recommendation import recommend
from carve_stats.planning.sources import GivenPopulation
from carve_stats.population.mixing import Population

GOAL = as_goal("tie rate <= 0.1")
WRONG = as_goal("wrong sign <= 0.1")
STUDY = Study(GivenPopulation(Population.homogeneous(0.3, 0.6), 1.0), 50, 1.0, 0.95, None)


def found(*values, budget=None, goal=GOAL, ks=None):
    """Of rows with these values at k = 1, 2, …; a pair is an interval without a point."""
    rows = []
    for k, value in zip(ks or range(1, len(values) + 1), values, strict=True):
        known = Known(None, Range(*value), Range(*value)) if type(value) is tuple else Known(value)
        rows.append(
            PlanRow(
                k=k, signs=SignShares(known, known, known), reliability=known, value=known,
                met=goal.verdict(known), calls=100 * k, cost=10.0 * k, questions_needed=None,
                cost_needed=None,
            )
        )  # fmt: skip
    return recommend(goal, rows, STUDY, budget)


@pytest.mark.parametrize(
    ("values", "k", "stable"),
    [
        ((0.3, 0.1, 0.05), 2, 2),
        ((0.3, 0.1, 0.2, 0.05, 0.04), 2, 4),
        ((0.3, 0.1, 0.2), 2, None),  # fails at the end
        ((0.3, 0.1, (0.0, 0.2)), 2, None),  # open at the end
        ((0.3, (0.0, 0.2), (0.0, 0.1)), 3, 3),  # all of the interval meets it
        ((0.3, (0.2, 0.4)), None, None),
        ((0.05,), 1, 1),
    ],
)
def test_the_smallest_and_the_one_for_good(values, k, stable):
    recommendation = found(*values)
    assert (recommendation.k, recommendation.stable_from_k) == (k, stable)
    if k is not None and stable is None:
        open_ended = type(values[-1]) is tuple
        assert ("is open" if open_ended else "fails again") in recommendation.reason


def test_the_range_is_that_of_the_intervals_ends():
    recommendation = found(0.3, (0.12, 0.3), (0.09, 0.2), (0.02, 0.15), (0.0, 0.1))
    assert (recommendation.k_low, recommendation.k_high) == (3, 5)
    assert (recommendation.best_k, recommendation.best_value) == (1, 0.3)


def test_the_budget_pays_for_some_of_the_questions():
    assert "pays for 37 of the questions" in found(0.3, 0.1, budget=15.0).reason
    assert "pays for" not in found(0.3, 0.1, budget=20.0).reason


def test_for_good_is_not_said_of_a_cut_off_list():
    """Of a figure that can rise and fall, where k beyond or between were not looked at."""
    values = [0.3] * 21 + [0.05] * 11
    whole = found(*values, goal=WRONG)
    assert (whole.k, whole.stable_from_k) == (22, 22)
    assert "does not fail up to k = 32, the last one looked at" in whole.reason
    for ks in ([22, 23], [22], [22, 24, 32], list(range(20, 31))):
        cut = found(*(values[k - 1] for k in ks), goal=WRONG, ks=ks)
        assert (cut.k, cut.stable_from_k) == (22, None)
        assert "none is said to hold for good" in cut.reason
        assert "not looked at" in cut.reason
        falls = found(*(values[k - 1] for k in ks), ks=ks)  # ties never rise
        assert falls.stable_from_k == 22
    again = found(0.05, 0.3, 0.05, goal=WRONG)
    assert "it fails again at some larger ones" in again.reason
    gap_before = found(0.3, *[0.05] * 11, goal=WRONG, ks=[3, *range(22, 33)])
    assert gap_before.stable_from_k == 22


def test_a_budget_that_is_enough_is_said():
    assert "The budget of 20.00 is enough" in found(0.3, 0.1, budget=20.0).reason


def test_only_the_k_that_were_looked_at_are_spoken_of():
    reason = found(0.4, 0.3, ks=[1, 3]).reason
    assert reason.startswith("No k of 2 from 1 to 3 meets tie rate <= 0.1")
    assert found(0.4, 0.3).reason.startswith("No k from 1 to 2 meets")


def test_a_goal_that_only_the_limit_meets_is_said_to_be_out_of_reach():
    never = found(0.4, 0.3, goal=as_goal("tie rate <= 0"))
    assert "only as k grows without end it tends to 0.0000" in never.reason
