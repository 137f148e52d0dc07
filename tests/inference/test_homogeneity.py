import itertools
import json
import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
from excess_oracles import excess as exact_excess
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2_contingency

from carve_stats.clusters import NO_QUESTIONS
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.homogeneity import homogeneity_test
from carve_stats.population.mixing import Population

# Mass on (p_sham, p_destroy): very different questions without any tie excess at k = 3.
HALF = Fraction(1, 2)
NO_EXCESS = {
    (0, 0): Fraction(3, 28),
    (1, 1): Fraction(3, 28),
    (0, HALF): Fraction(11, 28),
    (1, HALF): Fraction(11, 28),
}


def counts_of(rows, order=None, cluster=None):
    x, k_sham, y, k_destroy = np.array(rows, int).reshape(-1, 4).T
    ids = np.array([f"q{i:05}" for i in range(len(x))])
    order = np.arange(len(x)) if order is None else order
    columns = (column[order] for column in (ids, x, k_sham, y, k_destroy))
    return ReplayCounts(*columns, cluster=cluster)


def ragged_rows(rng, n=40):
    k_sham, k_destroy = rng.integers(1, 5, (2, n))
    x, y = rng.binomial(k_sham, rng.beta(1, 2, n)), rng.binomial(k_destroy, rng.beta(2, 1, n))
    return np.stack([x, k_sham, y, k_destroy], axis=1)


def pairs_at_one_replay(both, sham, destroy, neither):
    """Rows with k = 1: questions that flip in both arms, in one, in none."""
    flips = [(1, 1)] * both + [(1, 0)] * sham + [(0, 1)] * destroy + [(0, 0)] * neither
    return [(x, 1, y, 1) for x, y in flips]


def independence(table):
    """G of a two-by-two table, and 0 where an arm never varies."""
    table = np.reshape(table, (2, 2))
    if not (table.sum(axis=0).all() and table.sum(axis=1).all()):
        return 0.0
    return chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic


# At one replay every table is fitted by some population, so that T is the G of independence.
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any))
@settings(max_examples=40)
def test_at_one_replay_it_is_the_test_of_independence(cells):
    result = homogeneity_test(counts_of(pairs_at_one_replay(*cells)), resamples=1, rng=1)
    assert result.statistic == pytest.approx(independence(cells), abs=1e-6)


def test_p_value_against_every_data_set():
    cells = (2, 3, 4, 3)
    n, statistic = sum(cells), independence(cells)
    p_sham, p_destroy = 5 / 12, 6 / 12
    chances = [p_sham * p_destroy, p_sham * (1 - p_destroy)]
    chances += [(1 - p_sham) * p_destroy, (1 - p_sham) * (1 - p_destroy)]
    exact = 0.0
    for table in itertools.product(range(n + 1), repeat=4):
        if sum(table) == n and independence(table) >= statistic - 1e-9:
            ways = math.factorial(n) / math.prod(math.factorial(t) for t in table)
            exact += ways * math.prod(c**t for c, t in zip(chances, table, strict=True))
    result = homogeneity_test(counts_of(pairs_at_one_replay(*cells)), resamples=1500, rng=3)
    assert 0.3 < exact < 0.8
    assert result.p_value == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 1500))
    # Data sets that tie count, although rounding leaves some of them under the statistic.
    null = result.null_statistics
    assert ((null < result.statistic) & (null > result.statistic - 1e-9)).any()
    assert result.p_value == (1 + np.count_nonzero(null > result.statistic - 1e-6)) / 1501


def test_statistic_is_twice_the_log_likelihood_ratio(rng):
    rows = ragged_rows(rng)
    result = homogeneity_test(counts_of(rows), resamples=1, rng=1)
    x, k_sham, y, k_destroy = rows.T
    assert result.rates == {"sham": x.sum() / k_sham.sum(), "destroy": y.sum() / k_destroy.sum()}

    def log_likelihood(p_sham, p_destroy, weights):
        p_sham, p_destroy = np.reshape(p_sham, (-1, 1)), np.reshape(p_destroy, (-1, 1))
        each = binom.pmf(x, k_sham, p_sham) * binom.pmf(y, k_destroy, p_destroy)
        return np.log(weights @ each).sum()

    best = result.population
    ratio = log_likelihood(best.p_sham, best.p_destroy, best.weights) - log_likelihood(
        result.rates["sham"], result.rates["destroy"], np.ones(1)
    )
    assert result.statistic == pytest.approx(2 * ratio, abs=1e-6)
    assert result.statistic > 0


def test_null_statistics_are_those_of_homogeneous_data_sets(rng):
    rows = ragged_rows(rng, 80)
    result = homogeneity_test(counts_of(rows), resamples=6, rng=8)
    (p_sham, p_destroy), draws = result.rates.values(), np.random.default_rng(8)
    drawn = []
    for k_sham, k_destroy in itertools.product(range(1, 5), repeat=2):
        n = ((rows[:, 1] == k_sham) & (rows[:, 3] == k_destroy)).sum()
        if n:
            sham = binom.pmf(np.arange(k_sham + 1), k_sham, p_sham)
            destroy = binom.pmf(np.arange(k_destroy + 1), k_destroy, p_destroy)
            tables = draws.multinomial(n, np.outer(sham, destroy).ravel(), size=6)
            drawn.append((k_sham, k_destroy, tables))
    assert len(drawn) > 10
    for place, statistic in enumerate(result.null_statistics):
        data_set = []
        for k_sham, k_destroy, tables in drawn:
            for cell, questions in enumerate(tables[place].tolist()):
                x, y = divmod(cell, k_destroy + 1)
                data_set += [(x, k_sham, y, k_destroy)] * questions
        assert len(data_set) == len(rows)
        again = homogeneity_test(counts_of(data_set), resamples=1, rng=1)
        assert statistic == pytest.approx(again.statistic, abs=2 * len(rows) * 1e-10)


def test_tarone_on_his_own_data():
    # Tarone's example as in R's documentation: Z = 2.5988, pooled rate .4359756.
    replays = [30, 32, 40, 28, 29, 35, 30, 34, 31, 39]
    flips = [9, 10, 22, 15, 8, 19, 16, 19, 15, 10]
    rows = [(m, n, 1, 2) for m, n in zip(flips, replays, strict=True)]
    result = homogeneity_test(counts_of(rows), resamples=1, rng=1)
    assert result.rates["sham"] == pytest.approx(0.4359756, abs=5e-8)
    assert result.scores.sham == pytest.approx(2.5988, abs=5e-5)
    # Every question has 1 of 2: Σ (x − kp)² is 0, and Z = −20/√(2·20).
    assert result.scores.destroy == pytest.approx(-20 / math.sqrt(40), abs=1e-12)
    assert result.scores.together == 0.0


@given(st.integers(0, 2**32), st.integers(2, 30))
@settings(max_examples=25)
def test_scores_are_sums_over_questions(seed, n):
    rows = ragged_rows(np.random.default_rng(seed), n)
    result = homogeneity_test(counts_of(rows), resamples=1, rng=1)
    x, k_sham, y, k_destroy = [[int(value) for value in column] for column in rows.T]
    rates = Fraction(sum(x), sum(k_sham)), Fraction(sum(y), sum(k_destroy))
    variances = [p * (1 - p) for p in rates]
    beyond = []
    for flips, replays, p, variance, z in zip(
        (x, y), (k_sham, k_destroy), rates, variances, result.scores[:2], strict=True
    ):
        beyond.append([f - k * p for f, k in zip(flips, replays, strict=True)])
        pairs = sum(k * (k - 1) for k in replays)
        if variance == 0 or pairs == 0:
            assert math.isnan(z)
            continue
        above = sum(b * b for b in beyond[-1]) / variance - sum(replays)
        assert z == pytest.approx(float(above) / math.sqrt(2 * pairs), abs=1e-9)
    if 0 in variances:
        assert math.isnan(result.scores.together)
        return
    product = sum(a * b for a, b in zip(*beyond, strict=True))
    scale = variances[0] * variances[1] * sum(a * b for a, b in zip(k_sham, k_destroy, strict=True))
    assert result.scores.together == pytest.approx(float(product) / math.sqrt(scale), abs=1e-9)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, Fraction(3, 28)),
        (2, Fraction(1, 28)),
        (3, Fraction(0)),
        (10, Fraction(71301, 1835008)),
    ],
)
def test_tie_excess_of_the_counterexample(k, expected):
    ties = sum(mass * oracles.tie(k, k, *rates) for rates, mass in NO_EXCESS.items())
    pooled = [sum(mass * rates[arm] for rates, mass in NO_EXCESS.items()) for arm in (0, 1)]
    assert ties - oracles.tie(k, k, *pooled) == expected


def test_the_counterexample_is_found_where_tie_excess_is_zero():
    rows = []
    for (p_sham, p_destroy), mass in NO_EXCESS.items():
        numerators, scale = oracles.binomial(3, p_destroy)
        for y, numerator in enumerate(numerators):
            questions = mass * Fraction(numerator, scale) * 224
            assert questions.denominator == 1
            rows += [(3 * p_sham, 3, y, 3)] * int(questions)
    assert exact_excess(rows)[1] == 0
    result = homogeneity_test(counts_of(rows), rng=1)
    assert result.tie_excess.estimate == pytest.approx(0, abs=1e-15)
    assert result.p_value == 1 / 1000
    # The log has the population's own shares, which no other population can fit better.
    x, _, y, _ = np.array(rows).T
    seen = np.bincount(4 * x + y, minlength=16)
    pooled = np.outer(binom.pmf(range(4), 3, x.mean() / 3), binom.pmf(range(4), 3, y.mean() / 3))
    gains = [n * math.log(n / (224 * e)) for n, e in zip(seen, pooled.ravel(), strict=True) if n]
    assert result.statistic == pytest.approx(2 * sum(gains), abs=1e-6)


def test_a_homogeneous_log_is_not_rejected(rng):
    counts = Population.homogeneous(0.344, 0.642).sample(1249, 3, rng=rng)
    result = homogeneity_test(counts, resamples=199, rng=2)
    assert result.p_value > 0.05
    assert np.abs(result.scores).max() < 3.5


def test_order_and_clusters_change_nothing_and_the_seed_everything(rng):
    rows = ragged_rows(rng)
    videos = np.array([f"v{i % 7}" for i in range(len(rows))])
    order = rng.permutation(len(rows))
    first = homogeneity_test(counts_of(rows), resamples=50, rng=4)
    mixed = homogeneity_test(
        counts_of(rows, order, cluster=videos[order]), resamples=50, rng=np.random.default_rng(4)
    )
    assert mixed.statistic == first.statistic
    assert mixed.null_statistics.tolist() == first.null_statistics.tolist()
    assert mixed.p_value == first.p_value
    assert mixed.scores == first.scores
    assert mixed.tie_excess.low is not None
    assert first.tie_excess.low is None
    other = homogeneity_test(counts_of(rows), resamples=50, rng=5)
    assert other.null_statistics.tolist() != first.null_statistics.tolist()


@pytest.mark.parametrize(
    ("rows", "notes"),
    [
        ([(1, 3, 2, 3)], ()),
        ([(0, 3, 0, 3)] * 5, ("no replay flips",) * 2),
        ([(3, 3, 2, 2)] * 5, ("every replay flips",) * 2),
    ],
)
def test_without_heterogeneity_to_see_p_is_one(rows, notes):
    result = homogeneity_test(counts_of(rows), resamples=20, rng=1)
    assert (result.statistic, result.p_value) == (0.0, 1.0)
    assert result.population.weights.tolist() == [1.0]
    assert all(note in text for note, text in zip(notes, result.notes, strict=False))
    assert len(result.notes) == (3 if notes else 0)


def test_all_ties_are_heterogeneity():
    rows = [(j, 3, j, 3) for j in range(4)] * 10
    result = homogeneity_test(counts_of(rows), resamples=99, rng=1)
    assert result.p_value == 0.01
    assert result.scores.together > 5


def test_one_replay_shows_only_how_the_arms_move_together():
    result = homogeneity_test(counts_of(pairs_at_one_replay(9, 1, 1, 9)), resamples=99, rng=1)
    assert math.isnan(result.scores.sham)
    assert math.isnan(result.scores.destroy)
    assert result.scores.together == pytest.approx(0.8 * math.sqrt(20), abs=1e-12)
    assert [note.split(" rates")[0] for note in result.notes] == ["SHAM", "DESTROY"]
    assert result.p_value == 0.01


def test_without_a_score_nothing_is_estimable():
    result = homogeneity_test(counts_of([(1, 3, 0, 0), (0, 0, 1, 3)]), rng=1)
    assert result.p_value is None
    assert math.isnan(result.statistic)
    assert result.population is None
    assert result.notes == (NO_QUESTIONS,)
    plain = result.to_dict()
    assert plain["statistic"] is plain["p_value"] is plain["scores"]["sham"] is None
    assert plain["questions"]["scored"] == 0
    assert "–" in str(result)


def test_result_as_json_text_and_html(rng):
    result = homogeneity_test(counts_of(ragged_rows(rng)), resamples=19, rng=1)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["resamples"] == 19
    assert plain["p_value"] == result.p_value
    assert plain["tie_excess"]["estimate"] == result.tie_excess.estimate
    assert list(plain["scores"]) == ["sham", "destroy", "together"]
    text, html = str(result), result._repr_html_()
    for label in ("likelihood ratio", "z: SHAM rates differ", "excess of zero scores"):
        assert label in text
        assert label in html
    assert "(40 questions, 19 resamples)" in text
    assert f"{result.statistic:.4f}" in html


def test_the_least_p_value_of_so_many_resamples_is_shown_as_that():
    alike = ReplayCounts(list("abcdefgh"), [0, 3] * 4, [3] * 8, [0, 3] * 4, [3] * 8)
    assert homogeneity_test(alike, resamples=19, rng=1).p_value == 1 / 20
    assert "≤ 0.0500" in str(homogeneity_test(alike, resamples=19, rng=1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(resamples=0, rng=1), "resamples=0 must be a whole number of at least 1"),
        (dict(rng=None), "rng=None must be a numpy.random.Generator or a seed"),
    ],
)
def test_wrong_arguments_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        homogeneity_test(counts_of([(1, 3, 2, 3)]), **wrong)


def test_a_path_is_no_counts():
    with pytest.raises(InputError, match="counts is a str"):
        homogeneity_test("results/", rng=1)


def test_flips_that_are_too_even_are_told_so():
    # One or two flips of three in every question, and two or one: far from binomial.
    n = 200
    sham, three = np.arange(n) % 2 + 1, np.full(n, 3)
    counts = ReplayCounts([f"q{i}" for i in range(n)], sham, three, 3 - sham, three)
    result = homogeneity_test(counts, resamples=19, rng=1)
    assert result.scores.sham < -3
    assert sum("more even" in note for note in result.notes) == 2
    usual = Population.homogeneous(0.3, 0.6).sample(n, 3, rng=1)
    assert not any("even" in note for note in homogeneity_test(usual, resamples=19, rng=1).notes)
