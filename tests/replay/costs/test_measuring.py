"""What replays to come will take: by hand, and how often the interval holds."""

import math
from fractions import Fraction

import numpy as np
import pytest

from carve_stats.errors import InputError
from carve_stats.replay.costs.measuring import NOTHING, Estimate, estimate
from carve_stats.replay.costs.prediction import QuestionSample

T_97_5 = {2: 4.302652729911275, 9: 2.262157162740992, 19: 2.093024054408263}
"""Student's t at 97.5 %, by degrees of freedom: published tables give 4.303, 2.262 and 2.093."""


def sample_of(values):
    """Of lists of figures, one a question: q0, q1, …"""
    return QuestionSample.of({f"q{i}": of_it for i, of_it in enumerate(values)})


def all_of(n):
    return Estimate(n, n, n)


def test_questions_that_alone_vary_give_students_t():
    """Replays of one question do not differ: 1000, 1100, 1200 have a deviation of 100."""
    expected, half = sample_of([[1000] * 4, [1100], [1200] * 2]).predict({"new": 2, "other": 3})
    assert expected == 5 * 1100
    assert half == pytest.approx(T_97_5[2] * 100 * math.sqrt(25 / 3 + 4 + 9), rel=1e-6)


def test_replays_that_are_known_to_come_have_no_error_where_they_do_not_differ():
    sample = sample_of([[1000] * 4, [1100], [1200] * 2])
    assert sample.predict({"q0": 3, "q2": 5}) == (3 * 1000 + 5 * 1200, pytest.approx(0, abs=1e-4))
    assert sample_of([[7, 7], [7, 7, 7]]).predict({"q0": 2, "new": 5}) == (49, 0.0)


def test_one_question_tells_of_itself_alone():
    """The mean of 3 and 2 to come: a variance of (2² / 3 + 2), with 2 degrees of freedom."""
    sample = sample_of([[1, 2, 3]])
    expected, half = sample.predict({"q0": 2})
    assert expected == 4
    assert half == pytest.approx(T_97_5[2] * math.sqrt(4 / 3 + 2), rel=1e-6)
    assert sample.predict({"q0": 2, "new": 1}) == (6.0, None)
    assert sample_of([[5]]).predict({"q0": 2}) == (10.0, None)
    assert estimate(sample, {"new": all_of(10)}) == Estimate(20.0, None, None)


def test_one_replay_of_each_does_not_tell_what_varies():
    """All between questions is wider for new ones, all within them for the same ones."""
    values = [[float(i)] for i in range(10)]
    apart = float(Fraction(55, 6))  # the variance of 0, …, 9
    sample = sample_of(values)
    expected, half = sample.predict({f"new{i}": 5 for i in range(20)})
    assert expected == pytest.approx(450)
    between = 100**2 / 10 + 20 * 5**2
    assert half == pytest.approx(T_97_5[9] * math.sqrt(between * apart), rel=1e-6)
    expected, half = sample.predict({f"q{i}": 5 for i in range(10)})
    assert expected == pytest.approx(225)
    within = 10 * 5**2 + 50
    assert half == pytest.approx(T_97_5[9] * math.sqrt(within * apart), rel=1e-6)


def test_expected_is_the_best_linear_prediction():
    """By the mixed model's equations, solved at large: (X'V⁻¹X)⁻¹X'V⁻¹y and GV⁻¹ residuals."""
    values = [[1.0, 2.0, 6.0], [14.0, 18.0], [30.0]]
    sizes = [len(v) for v in values]
    means = np.array([np.mean(v) for v in values])
    noise = sum(((np.array(v) - np.mean(v)) ** 2).sum() for v in values) / (6 - 3)
    between = means.var(ddof=1) - noise * np.mean([1 / n for n in sizes])
    question = np.repeat(np.arange(3), sizes)
    y = np.concatenate(values)
    shared = between * (question[:, None] == question)
    inverse = np.linalg.inv(shared + noise * np.eye(6))
    mean = inverse.sum(0) @ y / inverse.sum()
    own = between * (np.arange(3)[:, None] == question) @ inverse @ (y - mean)
    expected, _ = sample_of(values).predict({"q0": 2, "q2": 1, "new": 4})
    assert expected == pytest.approx(2 * (mean + own[0]) + (mean + own[2]) + 4 * mean, rel=1e-12)


def test_the_ends_are_of_the_fewest_and_the_most():
    sample = sample_of([[90.0, 110.0, 100.0], [120.0, 118.0], [99.0]])
    one, three = sample.predict({"new": 1}), sample.predict({"new": 3})
    found = estimate(sample, {"new": Estimate(None, 1, 3)})
    assert found == Estimate(None, max(0.0, one[0] - one[1]), three[0] + three[1])
    assert estimate(sample, {"new": NOTHING}) == estimate(sample, {}) == NOTHING


def test_questions_of_another_run_are_new_ones():
    sample = sample_of([[90.0, 110.0], [190.0, 210.0], [150.0, 148.0]])
    new = sample.predict({"new": 3})
    assert sample.of_questions({"q1"}).predict({"q0": 3}) == new
    assert sample.of_questions({"q1"}).predict({"q1": 3}) == sample.predict({"q1": 3}) != new


def test_nothing_measured_is_no_sample():
    for values in ({}, {"q0": []}):
        with pytest.raises(InputError, match="a replay of each"):
            QuestionSample.of(values)


def held(counts, further, new, between, within, runs):
    """How often the total is inside."""
    rng = np.random.default_rng(20)
    counts, further, new = (np.array(n, dtype=float) for n in (counts, further, new))
    to_come = {f"q{i}": n for i, n in enumerate(further)} | {f"n{i}": n for i, n in enumerate(new)}
    inside = 0
    for _ in range(runs):
        pilot = 1000 + rng.normal(0, between, len(counts))
        sample = sample_of(
            [m + rng.normal(0, within, int(n)) for m, n in zip(pilot, counts, strict=True)]
        )
        expected, half = sample.predict(to_come)
        total = further @ pilot + new @ (1000 + rng.normal(0, between, len(new)))
        total += rng.normal(0, within * math.sqrt(further.sum() + new.sum()))
        inside += abs(total - expected) <= half
    return inside / runs


RAGGED = [28] + [1] * 9
SETUPS = {
    "noise of replays to come": ([10] * 20, [0] * 20, [1] * 20, 0, 20),
    "little between questions": ([20] * 10, [0] * 10, [1] * 10, 2, 20),
    "ragged, questions alone": (RAGGED, [0] * 10, [3] * 100, 30, 0.01),
    "ragged": (RAGGED, [0] * 10, [3] * 100, 30, 30),
    "equal": ([3] * 20, [0] * 20, [3] * 100, 10, 10),
    "from 1 to 5": ([1] * 20, [0] * 20, [5] * 20, 20, 1),
    "the same questions": ([3] * 20, [7] * 20, [], 10, 10),
    "the same ragged questions": (RAGGED, [0] + [27] * 9, [], 10, 10),
    "both": ([3] * 10, [2] * 5 + [0] * 5, [5] * 40, 10, 10),
}


@pytest.mark.parametrize("setup", SETUPS)
def test_the_interval_holds_as_often_as_it_says(setup):
    """400 runs: two standard errors at 95 % are .022."""
    assert 0.925 <= held(*SETUPS[setup], runs=400) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("setup", SETUPS)
def test_the_interval_holds_as_often_as_it_says_in_many_runs(setup):
    """2,000 runs: two standard errors at 95 % are .01. In "ragged" one question tells the noise."""
    assert 0.935 <= held(*SETUPS[setup], runs=2000) <= 0.985


def test_a_sum_of_many_like_figures_loses_nothing(rng):
    values = 1e9 + rng.normal(0, 1, 1000)
    sample = sample_of([values[:500], values[500:]])
    whole = (values[:500].var() + values[500:].var()) * 500
    assert sample.within == pytest.approx(whole, rel=1e-6)
