import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from carve_stats import clusters
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.rates import flip_rates, mean_score

VALID = {
    "question": list("abcdefg"),
    #               a  b  c  d  e  f  g
    "sham_flips": [1, 0, 2, 1, 0, 2, 0],
    "sham_replays": [3, 3, 3, 2, 0, 3, 0],
    "sham_invalid": [0, 0, 0, 1, 2, 0, 0],
    "destroy_flips": [3, 1, 2, 2, 1, 0, 0],
    "destroy_replays": [3, 3, 2, 3, 3, 0, 1],
    "destroy_invalid": [0, 0, 1, 0, 0, 2, 0],
    "self_flips": [0, 1, 0, 0, 1, 0, 0],
    "self_replays": [1, 1, 1, 1, 1, 0, 0],
    "self_invalid": [0, 0, 0, 0, 0, 1, 0],
}
CLUSTER = ["u", "u", "v", "w", "w", "u", "x"]


def log(**changes):
    return ReplayCounts(**({**VALID, "cluster": CLUSTER} | changes))


def mean(values):
    return float(sum(values, Fraction(0)) / len(values))


def test_sham_and_destroy_rates_are_over_the_same_questions():
    rates = flip_rates(log())
    scored = range(4)  # a, b, c, d: a valid replay in both arms
    sham = [Fraction(VALID["sham_flips"][i], VALID["sham_replays"][i]) for i in scored]
    destroy = [Fraction(VALID["destroy_flips"][i], VALID["destroy_replays"][i]) for i in scored]
    assert rates.sham.estimate == pytest.approx(mean(sham), rel=1e-14)
    assert rates.destroy.estimate == pytest.approx(mean(destroy), rel=1e-14)
    score = mean_score(log())
    assert score.estimate == pytest.approx(rates.destroy.estimate - rates.sham.estimate, rel=1e-14)
    assert (rates.sham.questions, rates.sham.replays, rates.sham.flips) == (4, 11, 4)
    assert (rates.destroy.questions, rates.destroy.replays, rates.destroy.flips) == (4, 11, 8)
    assert (rates.sham.clusters, rates.interval.df, score.interval.df) == (3, 2, 2)


def test_self_rate_is_over_the_questions_with_self_replays():
    rate = flip_rates(log()).self_
    assert (rate.estimate, rate.questions, rate.replays, rate.flips) == (0.4, 5, 5, 2)
    assert (rate.attempted, rate.invalid) == (6, 1)
    assert (rate.lowest, rate.highest) == pytest.approx((2 / 6, 3 / 6))


def fill(arm):
    """Every way to fill in an arm's invalid replays, as flips/made of each question."""
    rows = zip(*(VALID[f"{arm}_{what}"] for what in ("flips", "replays", "invalid")), strict=True)
    options = [
        [Fraction(flips + extra, replays + invalid) for extra in range(invalid + 1)]
        if replays + invalid
        else [None]
        for flips, replays, invalid in rows
    ]
    return itertools.product(*options)


def test_worst_case_bounds_are_the_extremes_of_all_ways_to_fill_in_invalid_replays():
    rates, score = flip_rates(log()), mean_score(log())
    for arm in ("sham", "destroy"):
        other = next(fill("destroy" if arm == "sham" else "sham"))
        means = [
            mean([r for r, o in zip(rows, other, strict=True) if None not in (r, o)])
            for rows in fill(arm)
        ]
        assert getattr(rates, arm).lowest == pytest.approx(min(means), rel=1e-14)
        assert getattr(rates, arm).highest == pytest.approx(max(means), rel=1e-14)
    differences = [
        mean([d - s for s, d in zip(sham, destroy, strict=True) if None not in (s, d)])
        for sham in fill("sham")
        for destroy in fill("destroy")
    ]
    assert score.lowest == pytest.approx(min(differences), rel=1e-14)
    assert score.highest == pytest.approx(max(differences), rel=1e-14)
    assert (rates.sham.attempted, rates.destroy.attempted, score.attempted) == (6, 7, 6)


def test_intervals_are_clustered():
    score = mean_score(log())
    values = np.array([2 / 3, 1 / 3, 1 / 3, 1 / 6])  # a, b, c, d
    sums = np.array([values[:2].sum() - 2 * values.mean(), values[2] - values.mean(),
                     values[3] - values.mean()])  # fmt: skip
    se = math.sqrt(3 / 2 * (sums @ sums)) / 4
    half = scipy.stats.t.ppf(0.975, 2) * se
    assert score.se == pytest.approx(se, rel=1e-12)
    assert (score.low, score.high) == pytest.approx(
        (values.mean() - half, values.mean() + half), rel=1e-10
    )
    assert score.p_value == pytest.approx(2 * scipy.stats.t.sf(values.mean() / se, 2), rel=1e-10)


def test_single_question_clusters_give_students_t_test(rng):
    x, y = rng.binomial(3, 0.4, 30), rng.binomial(3, 0.5, 30)
    counts = ReplayCounts(range(30), x, [3] * 30, y, [3] * 30, cluster=range(30))
    student = scipy.stats.ttest_1samp(y / 3 - x / 3, 0)
    assert mean_score(counts).p_value == pytest.approx(student.pvalue, rel=1e-10)
    narrow = mean_score(counts, level=0.5)
    assert (narrow.low, narrow.high) == pytest.approx(
        tuple(student.confidence_interval(0.5)), rel=1e-10
    )


def test_a_mean_score_of_zero_has_p_value_one():
    counts = ReplayCounts(["a", "b"], [1, 0], [1, 1], [0, 1], [1, 1], cluster=["u", "v"])
    assert mean_score(counts).p_value == 1


def test_without_clusters_there_are_estimates_and_no_intervals():
    counts = log(cluster=None)
    rates, score = flip_rates(counts), mean_score(counts)
    assert rates.sham.estimate == flip_rates(log()).sham.estimate
    for figure in (rates.self_, rates.sham, rates.destroy, score):
        assert (figure.se, figure.low, figure.high) == (None, None, None)
    assert score.p_value is None
    assert rates.sham.clusters is None
    assert rates.notes[0] == score.notes[0] == UNKNOWN_CLUSTERS
    assert score.lowest is not None


def test_one_cluster_is_not_estimable():
    score = mean_score(log(cluster=["v"] * 7))
    assert (score.se, score.low, score.p_value, score.interval.df) == (None,) * 4
    assert score.notes[0] == clusters.ONE_CLUSTER


@pytest.mark.parametrize("destroy", [0, 3])
def test_clusters_that_do_not_differ_give_no_interval_and_no_p_value(destroy):
    # A mean score of 0 or of 1, with a standard error of 0: 0/0 or infinite, and no evidence.
    counts = ReplayCounts(
        list("abc"), [0] * 3, [3] * 3, [destroy] * 3, [3] * 3, cluster=list("uvw")
    )
    score = mean_score(counts)
    assert score.estimate == destroy / 3
    assert (score.se, score.low, score.high, score.p_value) == (None,) * 4
    assert score.notes == (clusters.NO_SPREAD,)


def test_without_a_scored_question_rates_are_undefined():
    counts = log(destroy_replays=[0] * 7, destroy_flips=[0] * 7)
    rates, score = flip_rates(counts), mean_score(counts)
    assert math.isnan(rates.sham.estimate)
    assert math.isnan(score.estimate)
    assert rates.self_.estimate == 0.4
    assert score.to_dict()["estimate"] is None
    assert f"SHAM, DESTROY: {clusters.NO_QUESTIONS}" in rates.notes
    # The bounds are over replays made: c and f have two and one invalid DESTROY replays.
    assert (rates.destroy.lowest, rates.destroy.highest, rates.destroy.attempted) == (0, 1, 2)


def test_no_replay_made_has_no_bounds():
    counts = ReplayCounts(["a"], [0], [3], [1], [3], cluster=["v"])
    rate = flip_rates(counts).self_
    assert (rate.lowest, rate.highest, rate.attempted) == (None, None, 0)
    assert not any("SELF" in note for note in flip_rates(counts).notes)


def test_valid_logs_have_nothing_to_explain():
    valid = log(**{f"{arm}_invalid": None for arm in ("self", "sham", "destroy")})
    assert mean_score(valid).notes == ()
    assert mean_score(log()).notes[0].startswith("7 of 41 replays gave no valid answer")


def test_row_order_changes_no_bit():
    order = [4, 2, 6, 0, 1, 5, 3]
    columns = VALID | {"cluster": CLUSTER}
    shuffled = ReplayCounts(**{n: [values[i] for i in order] for n, values in columns.items()})
    assert flip_rates(shuffled).to_dict() == flip_rates(log()).to_dict()
    assert mean_score(shuffled).to_dict() == mean_score(log()).to_dict()


def test_results_are_readable_and_hold_plain_values():
    rates, score = flip_rates(log(self_replays=[0] * 7, self_flips=[0] * 7)), mean_score(log())
    for result in (rates, score):
        json.dumps(result.to_dict(), allow_nan=False)
        assert repr(result) == str(result)
        assert result._repr_html_().startswith("<table>")
    assert set(rates.to_dict()) == {"self", "sham", "destroy", "interval", "notes"}
    assert rates.to_dict()["self"]["estimate"] is None
    assert set(score.to_dict()) == {
        "estimate", "se", "low", "high", "p_value", "questions", "attempted", "lowest", "highest",
        "interval", "notes",
    }  # fmt: skip
    assert "95 % cluster t intervals with 2 df" in str(score)
    assert "+0.3750" in str(score)
    sham = next(line for line in str(rates).splitlines() if line.startswith("sham"))
    assert sham.split()[1] == "0.3750"


@pytest.mark.parametrize("statistic", [flip_rates, mean_score])
def test_level_is_checked_first(statistic):
    with pytest.raises(InputError, match="level=95"):
        statistic(log(cluster=None), level=95)


def test_a_question_that_is_not_finished_widens_no_bound():
    # c has a SHAM replay and no DESTROY replay yet: it is in no figure, and in no bound.
    counts = ReplayCounts(["a", "b", "c"], [1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0])
    rates = flip_rates(counts)
    assert (rates.sham.lowest, rates.sham.estimate, rates.sham.highest) == (1, 1, 1)
    assert (rates.sham.attempted, rates.destroy.attempted) == (3, 2)
