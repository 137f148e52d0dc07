"""Posteriors against fractions, conjugate Beta laws and the law of total expectation."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.posterior import question_posteriors
from carve_stats.population.fit import fit_population
from carve_stats.population.mixing import Population

probabilities = st.fractions(0, 1, max_denominator=8)
populations = st.lists(
    st.tuples(probabilities, probabilities, st.integers(0, 5)), min_size=1, max_size=5
).filter(lambda atoms: any(w for _, _, w in atoms))
outcomes = st.integers(0, 6).flatmap(lambda k: st.tuples(st.integers(0, k), st.just(k)))


def population_of(atoms):
    return Population(*(list(map(float, column)) for column in zip(*atoms, strict=True)))


def counts_of(rows):
    sham, destroy = zip(*rows, strict=True)
    names = [f"q{i:07d}" for i in range(len(rows))]
    return ReplayCounts(names, *zip(*sham, strict=True), *zip(*destroy, strict=True))


def exact(atoms, row):
    """Both figures as fractions; None where the atoms cannot give the outcome."""
    (x, k_sham), (y, k_destroy) = row
    total = mean = not_above = Fraction(0)
    for a, b, w in atoms:
        a, b = Fraction(float(a)), Fraction(float(b))
        joint = w * a**x * (1 - a) ** (k_sham - x) * b**y * (1 - b) ** (k_destroy - y)
        total += joint
        mean += joint * (b - a)
        not_above += joint * (b <= a)
    return (mean / total, not_above / total) if total else None


@given(populations, st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=6))
@settings(max_examples=100)
def test_figures_are_the_exact_sums(atoms, rows):
    posteriors = question_posteriors(counts_of(rows), population_of(atoms))
    for row, mean, not_above in zip(
        rows, posteriors.mean_difference, posteriors.probability_not_above, strict=True
    ):
        expected = exact(atoms, row)
        if expected is None:
            assert np.isnan([mean, not_above]).all()
        else:
            assert (mean, not_above) == pytest.approx(tuple(map(float, expected)), abs=1e-13)


def test_many_replays_do_not_underflow():
    atoms = [(Fraction(1, 4), Fraction(1, 2), 1), (Fraction(5, 16), Fraction(7, 16), 3)]
    rows = [((280, 1000), (470, 1000)), ((0, 5000), (5000, 5000))]
    posteriors = question_posteriors(counts_of(rows), population_of(atoms))
    for i, row in enumerate(rows):
        mean, not_above = exact(atoms, row)
        assert posteriors.mean_difference[i] == pytest.approx(float(mean), rel=1e-9)
        assert posteriors.probability_not_above[i] == float(not_above) == 0.0


@pytest.mark.parametrize("row", [((0, 3), (3, 3)), ((2, 3), (1, 5)), ((0, 0), (2, 4))])
def test_independent_beta_laws_are_conjugate(row):
    (x, k_sham), (y, k_destroy) = row
    population = Population.beta(0.3, 2.0, 0.6, 1.5)
    mean = question_posteriors(counts_of([row]), population).mean_difference[0]
    expected = (0.6 * 1.5 + y) / (1.5 + k_destroy) - (0.3 * 2 + x) / (2 + k_sham)
    # The accuracy of the population's quadrature.
    assert mean == pytest.approx(expected, abs=2e-5)


@given(populations, st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=40)
def test_posteriors_average_to_the_population(atoms, k_sham, k_destroy):
    population = population_of(atoms)
    rows = [((x, k_sham), (y, k_destroy)) for x in range(k_sham + 1) for y in range(k_destroy + 1)]
    posteriors = question_posteriors(counts_of(rows), population)
    a, b = population.p_sham, population.p_destroy
    chances = [
        population.weights
        @ (comb(m, x) * a**x * (1 - a) ** (m - x) * comb(n, y) * b**y * (1 - b) ** (n - y))
        for (x, m), (y, n) in rows
    ]
    figures = np.nan_to_num(
        np.stack([posteriors.mean_difference, posteriors.probability_not_above])
    )
    prior = [population.weights @ (b - a), population.weights @ (b <= a)]
    assert figures @ np.array(chances) == pytest.approx(prior, abs=1e-13)


def test_an_empty_arm_says_nothing_and_no_replays_leave_the_population():
    population = Population([0.25, 0.5, 0.75], [0.5, 0.5, 0.25], [1, 2, 1])
    counts = ReplayCounts(["a", "b"], [0, 2], [0, 3], [0, 0], [0, 0])
    posteriors = question_posteriors(counts, population)
    assert posteriors.mean_difference[0] == pytest.approx(-0.0625, abs=1e-15)
    assert posteriors.probability_not_above[0] == pytest.approx(0.75, abs=1e-15)
    # SHAM alone: p²q = 3/64, 1/8, 9/64 times 1, 2, 1; differences ¼, 0, −½.
    assert posteriors.mean_difference[1] == pytest.approx((3 / 256 - 9 / 128) / (28 / 64))
    assert any(note.startswith("1 question without a valid replay:") for note in posteriors.notes)


def test_impossible_flips_have_no_posterior_and_the_first_is_named():
    counts = ReplayCounts(["a", "b", "c"], [0, 1, 2], [3] * 3, [1, 1, 1], [3] * 3)
    posteriors = question_posteriors(counts, Population.homogeneous(0, 0.5))
    assert posteriors.mean_difference.tolist()[0] == 0.5
    assert np.isnan(posteriors.mean_difference[1:]).all()
    assert np.isnan(posteriors.probability_not_above[1:]).all()
    assert "2 questions with flips that this population cannot give (the first: 'b')" in str(
        " ".join(posteriors.notes)
    )
    rows = posteriors.to_dict()["rows"]
    assert [row["mean_difference"] for row in rows] == [0.5, None, None]


def test_two_populations_that_fit_alike_give_other_posteriors():
    # With no SHAM flips, k = 1 shows only the mean of p_destroy: ½ in both.
    certain, fair = Population([0, 0], [0, 1]), Population.homogeneous(0, 0.5)
    assert certain.signs(1) == fair.signs(1)
    counts = ReplayCounts(["a"], [0], [1], [1], [1])
    results = [question_posteriors(counts, population) for population in (certain, fair)]
    assert [r.mean_difference[0] for r in results] == [1.0, 0.5]
    assert all("populations that fit the log equally well" in r.notes[0] for r in results)


def test_an_insensitive_question_counts_as_not_above():
    counts = ReplayCounts(["a"], [1], [3], [1], [3])
    posteriors = question_posteriors(counts, Population.homogeneous(0.4, 0.4))
    assert posteriors.probability_not_above[0] == 1.0
    assert any("includes p_destroy = p_sham" in note for note in posteriors.notes)


def test_more_destroy_flips_raise_the_difference_and_more_sham_flips_lower_it():
    # Under independent Beta laws; of a correlated population it need not be so.
    rows = [((x, 3), (y, 3)) for x in range(4) for y in range(4)]
    posteriors = question_posteriors(counts_of(rows), Population.beta(0.4, 2, 0.6, 2))
    mean = posteriors.mean_difference.reshape(4, 4)
    not_above = posteriors.probability_not_above.reshape(4, 4)
    assert (np.diff(mean, axis=1) > 0).all()
    assert (np.diff(mean, axis=0) < 0).all()
    assert (np.diff(not_above, axis=1) < 0).all()
    assert (np.diff(not_above, axis=0) > 0).all()


def test_questions_of_one_outcome_are_alike_however_many_there_are(rng):
    k_sham, k_destroy = rng.integers(0, 4, (2, 30_000))
    counts = ReplayCounts(
        [f"q{i:05d}" for i in range(30_000)],
        rng.binomial(k_sham, 0.3),
        k_sham,
        rng.binomial(k_destroy, 0.6),
        k_destroy,
    )
    population = Population(rng.random(500), rng.random(500))
    many = question_posteriors(counts, population)
    for i in range(0, 30_000, 3_000):
        one = question_posteriors(counts.select(np.arange(30_000) == i), population)
        assert many.mean_difference[i] == pytest.approx(one.mean_difference[0], abs=1e-14)
        assert many.probability_not_above[i] == pytest.approx(
            one.probability_not_above[0], abs=1e-14
        )


def test_fitted_populations_serve():
    counts = Population.paper().sample(300, 3, clusters=20, rng=1)
    posteriors = question_posteriors(counts, fit_population(counts))
    # Shrunk: no posterior is as extreme as the most extreme score.
    assert np.abs(posteriors.mean_difference).max() < np.abs(posteriors.score).max() == 1.0
    assert posteriors.cluster is not None


def test_columns_text_and_json():
    counts = ReplayCounts(["a", "b"], [0, 2], [3, 3], [3, 1], [3, 0 + 3], cluster=["v", "w"])
    posteriors = question_posteriors(counts, Population([0.2, 0.5], [0.8, 0.5]))
    assert len(posteriors) == 2
    assert list(posteriors.columns()) == [
        "question", "cluster", "sham_flips", "sham_replays", "destroy_flips", "destroy_replays",
        "score", "mean_difference", "probability_not_above",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="read-only"):
        posteriors.mean_difference[0] = 0.0
    assert posteriors.to_dict()["rows"][0]["cluster"] == "v"
    assert str(posteriors).startswith("Posteriors of 2 questions under <Population: 2 atoms")
    assert "P(p_destroy &lt;= p_sham)" in posteriors._repr_html_()
    assert repr(posteriors) == str(posteriors)


def test_no_questions():
    posteriors = question_posteriors(ReplayCounts([], [], [], [], []), Population.paper())
    assert len(posteriors) == 0
    assert posteriors.to_dict()["rows"] == []
    assert "–" in str(posteriors)


def test_refusals():
    counts = ReplayCounts(["a"], [0], [3], [3], [3])
    with pytest.raises(InputError, match=r"^counts is a str: it must be ReplayCounts"):
        question_posteriors("log.jsonl", Population.paper())
    with pytest.raises(InputError, match=r"^population is a float: it must be a Population"):
        question_posteriors(counts, 0.3)
