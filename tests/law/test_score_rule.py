"""Rules against exact fractions, for every outcome."""

import operator
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.law.score_rule import COMPARISONS, ScoreRule

MEANING = {"<": operator.lt, "<=": operator.le, "=": operator.eq,
           ">=": operator.ge, ">": operator.gt}  # fmt: skip
thresholds = st.fractions(min_value=-2, max_value=2, max_denominator=60)
budgets = st.integers(1, 12)


@given(st.sampled_from(COMPARISONS), thresholds, budgets, budgets)
def test_every_outcome_is_decided_as_by_fractions(comparison, threshold, k_sham, k_destroy):
    table = ScoreRule(comparison, threshold).table(k_sham, k_destroy)
    for x in range(k_sham + 1):
        for y in range(k_destroy + 1):
            score = Fraction(y, k_destroy) - Fraction(x, k_sham)
            assert table[x, y] == MEANING[comparison](score, threshold)


def test_floats_would_decide_two_outcomes_wrongly():
    # The project's METHODS: `score <= 0.1` at k = 10.
    x, y = np.arange(11)[:, None], np.arange(11)
    floats = y / 10 - x / 10 <= 0.1
    assert (floats != ScoreRule.parse("score <= 0.1").table(10, 10)).sum() == 2


@given(st.sampled_from(COMPARISONS), thresholds)
def test_text_round_trips(comparison, threshold):
    rule = ScoreRule(comparison, threshold)
    assert ScoreRule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "comparison", "threshold"),
    [
        ("score <= 0", "<=", 0),
        ("score<1/3", "<", Fraction(1, 3)),
        ("Score ≤ -0.25", "<=", Fraction(-1, 4)),
        ("delta == 1", "=", 1),
        ("Δ̂ ≥ 1e-1", ">=", Fraction(1, 10)),
        ("  Δ > +2/6 ", ">", Fraction(1, 3)),
    ],
)
def test_spellings(text, comparison, threshold):
    assert ScoreRule.parse(text) == ScoreRule(comparison, Fraction(threshold))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "score",
        "score <=",
        "score < x",
        "score < nan",
        "score < 1/0",
        "x < 0",
        "score <> 0",
        "score < 0 or score > 1",
        None,
        3,
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(InputError, match=r"rule=|threshold="):
        ScoreRule.parse(text)


def test_wrong_parts_are_refused():
    with pytest.raises(InputError, match="unknown comparison '=<'"):
        ScoreRule("=<", Fraction(0))
    with pytest.raises(InputError, match=r"threshold='half'"):
        ScoreRule("<", "half")


def test_a_threshold_is_the_number_that_it_shows():
    for threshold in (0.1, np.float64(0.1), "0.1", "1/10", Fraction(1, 10)):
        assert ScoreRule("<=", threshold) == ScoreRule.parse("score <= 1/10")


def test_no_score_is_never_selected_and_shapes_broadcast():
    rule = ScoreRule.parse("score >= -1")
    selected = rule.selects([[0], [3]], [0, 9, 4])
    assert selected.tolist() == [[False, True, True], [False, True, True]]
    assert rule.selects(0, 9).shape == ()
    assert rule.selects([], []).shape == (0,)


def test_large_budgets_do_not_overflow():
    k = 2**31 - 1
    rule = ScoreRule.parse("score > 1/3")
    cut = k * k // 3
    assert rule.selects([cut, cut + 1], k * k).tolist() == [False, True]


@given(st.sampled_from(COMPARISONS), thresholds, st.integers(1, 7), st.integers(1, 7),
       st.floats(0, 1), st.floats(0, 1))  # fmt: skip
def test_probability_is_the_sum_over_selected_outcomes(
    comparison, threshold, k_sham, k_destroy, p_sham, p_destroy
):
    rule = ScoreRule(comparison, threshold)
    exact = sum(
        binomial(k_sham, x, p_sham) * binomial(k_destroy, y, p_destroy)
        for x in range(k_sham + 1)
        for y in range(k_destroy + 1)
        if MEANING[comparison](Fraction(y, k_destroy) - Fraction(x, k_sham), threshold)
    )
    law = FiniteReplayLaw(p_sham, p_destroy, k_sham=k_sham, k_destroy=k_destroy)
    assert law.probability(rule) == pytest.approx(float(exact), rel=1e-13, abs=1e-300)


def binomial(k, j, p):
    p = Fraction(p)
    return comb(k, j) * p**j * (1 - p) ** (k - j)


def test_probabilities_of_the_signs_and_of_mixed_budgets():
    law = FiniteReplayLaw([0.2, 0.3, 0.9], 0.6, k_sham=[3, 3, 40], k_destroy=[3, 2, 50])
    signs = law.signs()
    for text, share in zip(("score < 0", "score = 0", "score > 0"), signs, strict=True):
        np.testing.assert_allclose(law.probability(ScoreRule.parse(text)), share, rtol=1e-13)
    assert (law.probability(ScoreRule.parse("score > 1")) == 0).all()
    assert (law.probability(ScoreRule.parse("score >= -1")) == 1).all()


def test_a_number_between_the_points_of_the_lattice_has_no_probability():
    law = FiniteReplayLaw(0.3, 0.6, k_sham=2, k_destroy=2)
    assert law.probability(ScoreRule.parse("score = 1/4")) == 0.0
    assert law.probability(ScoreRule.parse("score = 1/2")) > 0.0


@pytest.mark.parametrize("budget", [(1, 1), (2, 2), (3, 5), (4, 6), (10, 9)])
def test_every_point_of_the_lattice_has_its_probability(budget):
    law = FiniteReplayLaw(0.3, 0.6, k_sham=budget[0], k_destroy=budget[1])
    points, denominator = law.lattice()
    single = [law.probability(ScoreRule("=", Fraction(int(n), denominator))) for n in points]
    np.testing.assert_allclose(single, law.pmf(), rtol=1e-13)


@pytest.mark.parametrize("threshold", ["1e5000", "1e-5000", "1e30000000", "-1E+99_999"])
def test_a_threshold_of_thousands_of_digits_is_refused_at_once(threshold):
    with pytest.raises(InputError, match="threshold="):
        ScoreRule.parse(f"score <= {threshold}")


@pytest.mark.parametrize("k", ["a", None, float("nan"), [1, 2], 2.5, -1, 2**63])
def test_a_table_needs_two_budgets(k):
    with pytest.raises(InputError, match="k_destroy"):
        ScoreRule("<", 0).table(2, k)


def test_a_comparison_is_a_text():
    with pytest.raises(InputError, match="unknown comparison"):
        ScoreRule(np.array(["<", ">"]), 0)
