"""Summaries of populations against enumeration in fractions and the published runs."""

import csv
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import score_pmf, sign

from carve_stats.errors import InputError
from carve_stats.law.score_rule import COMPARISONS
from carve_stats.population.mixing import Population

PUBLISHED = Path(__file__).parents[1] / "data" / "published" / "a1_reproducibility.csv"

probabilities = st.fractions(0, 1, max_denominator=16)
populations = st.lists(
    st.tuples(probabilities, probabilities, st.integers(1, 5)), min_size=1, max_size=4
)

HOLDS = {
    "<": lambda score, cut: score < cut,
    "<=": lambda score, cut: score <= cut,
    "=": lambda score, cut: score == cut,
    ">=": lambda score, cut: score >= cut,
    ">": lambda score, cut: score > cut,
}


def population_of(atoms):
    return Population(*(list(map(float, column)) for column in zip(*atoms, strict=True)))


def enumerated(atoms, k_sham, k_destroy, comparison, cut):
    """Every figure of two runs, by running through all pairs of scores."""
    total = sum(w for _, _, w in atoms)
    moment = dict.fromkeys(("first", "second", "product", "same", "both", "either"), Fraction(0))
    for p_sham, p_destroy, w in atoms:
        pmf = score_pmf(k_sham, k_destroy, float(p_sham), float(p_destroy))
        for a, chance_a in pmf.items():
            moment["first"] += w * chance_a * a
            moment["second"] += w * chance_a * a * a
            for b, chance_b in pmf.items():
                chance = w * chance_a * chance_b
                in_a, in_b = HOLDS[comparison](a, cut), HOLDS[comparison](b, cut)
                moment["product"] += chance * a * b
                moment["same"] += chance * (sign(a) == sign(b))
                moment["both"] += chance * (in_a and in_b)
                moment["either"] += chance * (in_a or in_b)
    return {name: value / total for name, value in moment.items()}


@given(
    populations,
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(COMPARISONS),
    st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(-1, 2)]),
)
@settings(max_examples=60)
def test_a_summary_is_the_enumeration_of_two_runs(atoms, k_sham, k_destroy, comparison, cut):
    exact = enumerated(atoms, k_sham, k_destroy, comparison, cut)
    summary = population_of(atoms).summary(
        k_sham=k_sham, k_destroy=k_destroy, rule=f"score {comparison} {cut}"
    )
    variance = exact["second"] - exact["first"] ** 2
    assert summary.mean == pytest.approx(float(exact["first"]), abs=1e-14)
    assert summary.var == pytest.approx(float(variance), abs=1e-14)
    assert summary.agreement == pytest.approx(float(exact["same"]), abs=1e-14)
    if variance:
        covariance = exact["product"] - exact["first"] ** 2
        assert summary.reliability == pytest.approx(float(covariance / variance), abs=1e-13)
    else:
        assert math.isnan(summary.reliability)
    if exact["either"]:
        assert summary.jaccard == pytest.approx(float(exact["both"] / exact["either"]), abs=1e-13)
    else:
        assert math.isnan(summary.jaccard)


def test_the_reference_population_at_both_budgets():
    # METHODS §4 prints .560 and .809 and the sign rows.
    three, ten = Population.paper().summary(3), Population.paper().summary(k=10)
    assert three.reliability == pytest.approx(0.5606, abs=5e-5)
    assert ten.reliability == pytest.approx(0.8096, abs=5e-5)
    signs = [(s.negative, s.zero, s.positive) for s in (three, ten)]
    assert signs[0] == pytest.approx((0.13042, 0.29219, 0.57739), abs=2e-5)
    assert signs[1] == pytest.approx((0.16548, 0.12417, 0.71036), abs=2e-5)


def test_the_reference_population_agrees_like_the_published_runs():
    with PUBLISHED.open() as file:
        rows = list(csv.DictReader(file))
    mean = {
        name: sum(float(row[name]) for row in rows) / len(rows)
        for name in ("pearson_r", "sign_agreement", "trigger_jaccard")
    }
    assert mean["sign_agreement"] == pytest.approx(0.6117, abs=5e-5)
    summary = Population.paper().summary(3)
    # About the standard errors of the three pairs of runs over 1,249 questions.
    assert summary.reliability == pytest.approx(mean["pearson_r"], abs=0.015)
    assert summary.agreement == pytest.approx(mean["sign_agreement"], abs=0.01)
    assert summary.jaccard == pytest.approx(mean["trigger_jaccard"], abs=0.02)


@given(populations, st.integers(1, 8), st.integers(1, 8))
@settings(max_examples=30)
def test_signs_and_reliability_are_those_of_the_other_methods(atoms, k_sham, k_destroy):
    population = population_of(atoms)
    summary = population.summary(k_sham=k_sham, k_destroy=k_destroy)
    signs = population.signs(k_sham=k_sham, k_destroy=k_destroy)
    assert (summary.negative, summary.zero, summary.positive) == pytest.approx(signs, abs=1e-15)
    same_k = population.summary(k_sham)
    assert same_k.reliability == pytest.approx(population.reliability(k_sham), nan_ok=True)


@given(populations, st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=30)
def test_exchanging_the_arms_exchanges_the_signs(atoms, k_sham, k_destroy):
    one = population_of(atoms).summary(k_sham=k_sham, k_destroy=k_destroy, rule="score < 0")
    exchanged = population_of([(d, s, w) for s, d, w in atoms])
    other = exchanged.summary(k_sham=k_destroy, k_destroy=k_sham, rule="score > 0")
    assert other.negative == pytest.approx(one.positive, abs=1e-14)
    assert other.mean == pytest.approx(-one.mean, abs=1e-14)
    for name in ("zero", "var", "reliability", "agreement", "jaccard"):
        expected = getattr(one, name)
        assert getattr(other, name) == pytest.approx(expected, abs=1e-13, nan_ok=True)


def test_alike_questions_agree_by_chance_and_certain_ones_always():
    alike = Population.homogeneous(0.3, 0.6).summary(3)
    assert alike.reliability == 0.0
    squares = sum(np.array(Population.homogeneous(0.3, 0.6).signs(3)) ** 2)
    assert alike.agreement == pytest.approx(squares, abs=1e-15)
    certain = Population([0, 1], [1, 0]).summary(3)
    assert (certain.reliability, certain.agreement, certain.jaccard) == (1.0, 1.0, 1.0)


def test_undefined_figures_stay_undefined():
    summary = Population.homogeneous(0, 1).summary(3)
    assert math.isnan(summary.reliability)
    assert math.isnan(summary.jaccard)
    plain = summary.to_dict()
    assert (plain["reliability"], plain["jaccard"], plain["agreement"]) == (None, None, 1.0)
    assert plain["rule"] == "score < 0"
    assert (plain["k_sham"], plain["k_destroy"]) == (3, 3)
    assert "two runs: correlation                –" in str(summary)


def test_text_and_html():
    summary = Population.paper().summary(k_sham=3, k_destroy=5, rule="score <= 1/4")
    assert str(summary).startswith("Population at k_sham = 3, k_destroy = 5\n")
    assert "two runs: Jaccard, score <= 1/4" in repr(summary)
    assert "score &lt;= 1/4" in summary._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "replays a question: give k, or both k_sham and k_destroy"),
        ({"k": 3, "k_sham": 3}, "k and k_sham or k_destroy together: give k, or the other two"),
        ({"k": 0}, "k=0 must be a whole number of at least 1"),
        ({"k": [3, 4]}, "k is an array: give one whole number"),
        ({"k": 3, "rule": "ties"}, "rule='ties' must be 'score'"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InputError) as refusal:
        Population.paper().summary(**arguments)
    assert str(refusal.value).startswith(message)
