import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from carve_stats import clusters
from carve_stats.counts import UNKNOWN_CLUSTERS
from carve_stats.errors import InputError

questions = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(0, 5)), min_size=2, max_size=25
).filter(lambda rows: len({cluster for _, cluster in rows}) > 1)


@given(questions)
def test_cluster_se_is_its_formula_in_exact_fractions(rows):
    n = len(rows)
    mean = Fraction(sum(value for value, _ in rows), n)
    sums = {}
    for value, cluster in rows:
        sums[cluster] = sums.get(cluster, 0) + value - mean
    square = Fraction(len(sums), len(sums) - 1) * sum(s * s for s in sums.values()) / n**2
    se = clusters.cluster_se([float(value - mean) for value, _ in rows], [c for _, c in rows])
    assert se == pytest.approx(math.sqrt(square), rel=1e-12, abs=1e-15)


def test_cluster_se_of_equal_clusters_is_the_delete_one_cluster_jackknife(rng):
    values, codes = rng.normal(size=60), np.repeat(np.arange(12), 5)
    left_out = np.array([values[codes != v].mean() for v in range(12)])
    jackknife = math.sqrt(11 / 12 * ((left_out - left_out.mean()) ** 2).sum())
    assert clusters.cluster_se(values - values.mean(), codes) == pytest.approx(jackknife, rel=1e-12)


def test_t_interval_of_single_questions_is_students(rng):
    values = rng.normal(size=17)
    interval = clusters.t_interval(values.mean(), values - values.mean(), np.arange(17), level=0.9)
    student = scipy.stats.ttest_1samp(values, 0)
    low, high = student.confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-10)
    assert clusters.t_test(interval, 16) == pytest.approx(student.pvalue, rel=1e-10)
    assert interval.note is None


@pytest.mark.parametrize(
    ("influence", "codes", "reason"),
    [
        ([], [], clusters.NO_QUESTIONS),
        ([0.5, -0.5], None, UNKNOWN_CLUSTERS),
        ([0.5, -0.5], [4, 4], clusters.ONE_CLUSTER),
        ([0.0, 0.0, 0.0], [0, 1, 2], clusters.NO_SPREAD),
        ([0.5, -0.5, 0.5, -0.5], [0, 0, 1, 1], clusters.NO_SPREAD),
        ([1e-17, -1e-17], [0, 1], clusters.NO_SPREAD),  # rounding of equal shares
    ],
)
def test_what_is_not_estimable_is_none_with_a_reason(influence, codes, reason):
    interval = clusters.t_interval(0.5, influence, codes)
    assert (interval.se, interval.low, interval.high) == (None, None, None)
    assert interval.note == reason
    assert clusters.t_test(interval, 1) is None
    assert interval.to_dict()["estimate"] == (0.5 if influence else None)


def test_unknown_clusters_are_told_how_to_be_named():
    assert "--videos" in UNKNOWN_CLUSTERS


def test_cluster_sums_skip_codes_without_questions():
    sums = clusters.cluster_sums([[1, 10], [2, 20], [4, 40]], [5, 2, 5])
    assert sums.tolist() == [[2, 20], [5, 50]]
    assert clusters.count_clusters([5, 2, 5]) == 2
    assert math.isnan(clusters.cluster_se([1.0, -1.0], [3, 3]))


@pytest.mark.parametrize("codes", [[0, 1], [[0, 1, 2]], [0, 1, -1], [0.0, 1.0, 2.0]])
def test_codes_must_be_one_whole_number_a_question(codes):
    with pytest.raises(InputError, match="codes"):
        clusters.cluster_sums([1.0, 2.0, 3.0], codes)


@pytest.mark.parametrize("level", [0, 1, 95, math.nan, 1 - 1e-16])
def test_level_must_be_a_share(level):
    for call in (
        lambda: clusters.t_interval(0.5, [0.5, -0.5], [0, 1], level=level),
        lambda: clusters.percentile_interval(0.5, [0.4, 0.6], level=level),
        lambda: clusters.interval_method("t", level, [0, 1]),
    ):
        with pytest.raises(InputError, match=r"level=.* must lie between 0 and 1"):
            call()


def test_interval_methods_name_themselves():
    method = clusters.interval_method("t", 0.95, [0, 1, 1, 7])
    assert method.to_dict() == {"method": "t", "level": 0.95, "df": 2}
    assert str(method) == "95 % cluster t intervals with 2 df"
    assert clusters.interval_method("t", 0.9, [0, 0]).df is None
    assert clusters.interval_method("t", 0.9, None).df is None
    resampled = clusters.interval_method("bootstrap", 0.9, [0, 1])
    assert resampled.df is None
    assert str(resampled) == "90 % cluster bootstrap percentile intervals"
    with pytest.raises(InputError, match=r"unknown interval 'bootstrp'.*did you mean 'bootstrap'"):
        clusters.interval_method("bootstrp", 0.95, None)


def test_bootstrap_resamples_have_the_multinomial_law():
    # Three clusters: 27 equally likely draws, 10 different sums.
    sums = np.array([[1.0], [10.0], [100.0]])
    exact = {}
    for draw in itertools.product((1, 10, 100), repeat=3):
        exact[sum(draw)] = exact.get(sum(draw), 0) + 1 / 27
    resamples = 20_000
    drawn = clusters.bootstrap(sums, lambda s: s[:, 0], rng=5, resamples=resamples)
    values, seen = np.unique(drawn.round(4), return_counts=True)
    assert values.tolist() == sorted(exact)
    share = np.array([exact[value] for value in values])
    assert scipy.stats.chisquare(seen, share * resamples).pvalue > 1e-3


def test_bootstrap_moments_are_those_of_the_finite_population(rng):
    # A resampled total has variance V times the clusters' population variance, exactly.
    sums = rng.normal([3, -1], size=(40, 2))
    resamples = 4000
    drawn = clusters.bootstrap(sums, lambda s: s, rng=rng, resamples=resamples)
    expected = 40 * np.cov(sums.T, bias=True)
    standard_error = np.sqrt(np.diag(expected) / resamples)
    assert (np.abs(drawn.mean(axis=0) - sums.sum(axis=0)) < 4.5 * standard_error).all()
    ratio = np.diag(np.cov(drawn.T)) / np.diag(expected)
    assert (np.abs(ratio - 1) < 4.5 * math.sqrt(2 / resamples)).all()


def test_every_resample_draws_as_many_clusters_as_there_are():
    drawn = clusters.bootstrap(np.ones((37, 1)), lambda s: s, rng=0, resamples=300)
    assert (drawn == 37).all()


def test_bootstrap_percentiles_agree_with_scipy(rng):
    sizes, ties = rng.integers(5, 15, 30), rng.integers(0, 5, 30)
    resamples = 5000
    drawn = clusters.bootstrap(
        np.stack([sizes, ties], axis=1), lambda s: s[:, 1] / s[:, 0], rng=rng, resamples=resamples
    )
    ours = clusters.percentile_interval(ties.sum() / sizes.sum(), drawn)
    theirs = scipy.stats.bootstrap(
        (sizes, ties), lambda n, t, axis: t.sum(axis) / n.sum(axis), paired=True, rng=rng,
        n_resamples=resamples, method="percentile",
    )  # fmt: skip
    # The standard error of an estimated 2.5 % point of a near-normal law is 2.7 sd/√resamples.
    tolerance = 4.5 * math.sqrt(2) * 2.7 * theirs.standard_error / math.sqrt(resamples)
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=tolerance)
    assert ours.se == pytest.approx(theirs.standard_error, rel=0.06)


def test_bootstrap_depends_on_the_generator_only():
    sums = np.arange(20.0).reshape(10, 2)

    def draw(source):
        return clusters.bootstrap(sums, lambda s: s, rng=source, resamples=150)

    first, again, other = draw(3), draw(np.random.default_rng(3)), draw(4)
    assert (first == again).all()
    assert (first != other).any()
    generator = np.random.default_rng(3)
    assert (draw(generator) != draw(generator)).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sums": [[1.0, 2.0]]}, "at least two"),
        ({"sums": [1.0, 2.0]}, "one row a cluster"),
        ({"resamples": 99}, "resamples=99 must be a whole number of at least 100"),
        ({"resamples": 150.5}, "resamples=150.5 must be a whole number"),
        ({"rng": None}, "rng=None must be a numpy.random.Generator or a seed"),
        ({"rng": -1}, "rng=-1 must be"),
    ],
)
def test_bootstrap_refuses_wrong_input(arguments, message):
    call = {"sums": [[1.0], [2.0]], "rng": 1, "resamples": 100} | arguments
    with pytest.raises(InputError, match=message):
        clusters.bootstrap(call["sums"], lambda s: s, rng=call["rng"], resamples=call["resamples"])


def test_resamples_that_do_not_differ_give_no_interval():
    # Every cluster ties one question in three: single precision must not pass for spread.
    sizes = np.array([3.0, 6.0, 9.0, 12.0])
    drawn = clusters.bootstrap(
        np.stack([sizes, sizes / 3], axis=1), lambda s: s[:, 1] / s[:, 0], rng=2, resamples=200
    )
    interval = clusters.percentile_interval(1 / 3, drawn)
    assert interval == clusters.Estimate(1 / 3, note=clusters.NO_SPREAD)


def test_percentile_interval_of_known_resamples():
    interval = clusters.percentile_interval(0.3, np.arange(1001) / 1000, level=0.8)
    assert (interval.low, interval.high) == pytest.approx((0.1, 0.9))
    assert interval.se == pytest.approx(math.sqrt(1001 * 1002 / 12) / 1000)


def test_estimates_show_what_they_have():
    assert str(clusters.Estimate(0.25, 0.1, 0.05, 0.45)) == "0.2500 [0.0500, 0.4500]"
    assert str(clusters.Estimate(0.25)) == "0.2500"
    assert str(clusters.Estimate(math.nan)) == "–"
    assert clusters.Estimate(math.nan).to_dict() == dict.fromkeys(("estimate", "se", "low", "high"))


def test_reasons_are_given_once():
    assert clusters.explain([("A", "x"), ("B", "x")]) == ["x"]
    assert clusters.explain([("A", "x"), ("B", "y"), ("C", "x"), ("D", None)]) == [
        "A, C: x",
        "B: y",
    ]
    assert clusters.explain([("A", None)]) == []
