"""Two rules on the same questions: paired intervals, overlap, and what is not defined."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routing_cases import clustered_se, jackknife_se, published_log, random_log

from carve_stats.clusters import ONE_CLUSTER
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.routing.comparison import SAME, compare_rules
from carve_stats.routing.evaluate import evaluate_rule
from carve_stats.routing.value import NONE_DEFERRED, NONE_IN_RESAMPLE


def masks(counts):
    """Who is deferred by score < 0 and by score <= 0."""
    return (
        (counts.scored & (counts.score_numerator < 0)).astype(float),
        (counts.scored & (counts.score_numerator <= 0)).astype(float),
    )


def values_of(outcomes):
    return outcomes.alternatives["strong"].correct - outcomes.original_correct


def test_each_side_is_its_own_evaluation_and_the_difference_theirs(rng):
    log = random_log(rng, ragged=True)
    result = compare_rules(*log, "score < 0", "lowest 70")
    a, b = evaluate_rule(*log, "score < 0"), evaluate_rule(*log, "lowest 70")
    assert result.a == a.value
    assert result.b == b.value
    assert result.selected_difference == a.selected - b.selected
    assert result.net_difference == pytest.approx(a.net - b.net)
    for ours, name in (
        (result.gain_difference, "gain_points"),
        (result.yield_difference, "yield_per_100"),
    ):
        difference = getattr(a, name).estimate - getattr(b, name).estimate
        assert ours.estimate == pytest.approx(difference, abs=1e-12)
    assert (result.scored, result.clusters) == (a.scored, a.clusters)
    unscored = 200 - a.scored
    assert f"{unscored} questions have no score and keep the original answer" in result.notes


def test_paired_standard_errors_by_the_plain_formulas(rng):
    counts, outcomes = random_log(rng, ragged=True)
    result = compare_rules(counts, outcomes, "score < 0", "score <= 0")
    (e_a, e_b), d = masks(counts), values_of(outcomes)
    gain = 100 * ((e_a - e_b) * d - ((e_a - e_b) * d).mean())
    per_100 = [100 * (e * d - (e @ d) / e.sum() * e) / e.mean() for e in (e_a, e_b)]
    cluster = counts.cluster.tolist()
    assert result.gain_difference.se == pytest.approx(clustered_se(gain, cluster), rel=1e-10)
    paired = clustered_se(per_100[0] - per_100[1], cluster)
    assert result.yield_difference.se == pytest.approx(paired, rel=1e-10)
    half = result.gain_difference.high - result.gain_difference.estimate
    assert half / result.gain_difference.se == pytest.approx(2.093024, abs=1e-6)
    # Unpaired, it would be larger: the second rule defers all that the first one does.
    unpaired = math.hypot(result.a.gain_points.se, result.b.gain_points.se)
    assert result.gain_difference.se < 0.95 * unpaired


def test_paired_standard_errors_are_those_of_the_jackknife(rng):
    counts, outcomes = random_log(rng, n=2400, clusters=150)
    result = compare_rules(counts, outcomes, "score < 0", "score <= 0")
    (e_a, e_b), d = masks(counts), values_of(outcomes)

    def gain(rows):
        return 100 * ((e_a - e_b) * d)[rows].mean()

    def per_100(rows):
        return sum(
            sign * 100 * (e * d)[rows].sum() / e[rows].sum() for sign, e in ((1, e_a), (-1, e_b))
        )

    cluster = counts.cluster
    assert result.gain_difference.se == pytest.approx(jackknife_se(gain, cluster), rel=0.02)
    assert result.yield_difference.se == pytest.approx(jackknife_se(per_100, cluster), rel=0.02)


def test_the_bootstrap_agrees(rng):
    log = random_log(rng, n=900, clusters=90)
    by_t = compare_rules(*log, "score < 0", "score <= 0")
    boot = compare_rules(
        *log, "score < 0", "score <= 0", interval="bootstrap", rng=2, resamples=1500
    )
    for name in ("gain_difference", "yield_difference"):
        ours, theirs = getattr(boot, name), getattr(by_t, name)
        assert ours.estimate == theirs.estimate
        assert ours.se == pytest.approx(theirs.se, rel=0.08)
        assert ours.low == pytest.approx(theirs.low, abs=0.25 * theirs.se)
    assert boot.interval.method == "bootstrap"
    with pytest.raises(InputError, match="needs rng"):
        compare_rules(*log, "score < 0", "score <= 0", interval="bootstrap")


@given(st.integers(0, 2**32 - 1))
def test_swapping_the_rules_turns_the_signs_and_row_order_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    counts, outcomes = random_log(rng, n=60, clusters=6, ragged=True)
    result = compare_rules(counts, outcomes, "score <= 0", "lowest 20")
    order = rng.permutation(60)
    shuffled = ReplayCounts(**{n: np.array(c)[order] for n, c in counts.to_dict().items()})
    assert (
        compare_rules(shuffled, outcomes, "score <= 0", "lowest 20").to_dict() == result.to_dict()
    )
    back = compare_rules(counts, outcomes, "lowest 20", "score <= 0")
    assert back.selected_difference == -result.selected_difference
    assert back.gain_difference.estimate == -result.gain_difference.estimate
    if result.gain_difference.low is not None:
        assert back.gain_difference.high == pytest.approx(-result.gain_difference.low)
    assert back.overlap["only_a"] == result.overlap["only_b"]
    parts = [result.overlap[name] for name in ("both", "only_a", "only_b", "neither")]
    assert sum(parts) == pytest.approx(60)
    assert parts[0] + parts[1] == pytest.approx(result.a.selected)
    assert parts[0] + parts[2] == pytest.approx(result.b.selected)


def test_the_published_rule_against_always():
    result = compare_rules(*published_log(), "always", "score <= 0")
    assert result.selected_difference == 720
    assert result.net_difference == 23
    assert round(result.gain_difference.estimate, 2) == 1.83
    assert round(result.yield_difference.estimate, 2) == -2.53
    assert result.overlap == {
        "both": 538, "only_a": 720, "only_b": 0, "neither": 0, "jaccard": 538 / 1258,
    }  # fmt: skip
    text = str(result)
    assert "a: always; b: score <= 0\nRouting to strong" in text
    assert "Deferred: 538 by both, 720 by a alone, 0 by b alone, 0 by neither" in text
    assert repr(result) == text
    assert "score &lt;= 0" in result._repr_html_()


def test_overlap_of_propensities_is_the_smaller_one():
    counts = ReplayCounts(["a", "b"], [0, 1], [1, 1], [1, 0], [1, 1], cluster=["v", "w"])
    outcomes = Outcomes(["a", "b"], [0, 1], {"f": [1, 1]})
    result = compare_rules(counts, outcomes, "random 1", "score < 0")
    assert result.overlap == {
        "both": 0.5, "only_a": 0.5, "only_b": 0.5, "neither": 0.5, "jaccard": 1 / 3,
    }  # fmt: skip


def test_the_same_rule_twice(rng):
    result = compare_rules(*random_log(rng), "score <= 0", "score < 1/10")
    assert result.gain_difference.estimate == result.yield_difference.estimate == 0
    assert result.gain_difference.low is None
    assert result.overlap["jaccard"] == 1
    assert any(SAME in note for note in result.notes)
    never = compare_rules(*random_log(rng), "never", "score < -1")
    assert never.overlap["jaccard"] is None
    assert never.gain_difference.estimate == 0
    assert math.isnan(never.yield_difference.estimate)
    assert any(NONE_DEFERRED in note for note in never.notes)


@pytest.mark.parametrize("options", [{}, {"interval": "bootstrap", "rng": 1}])
def test_a_rule_that_defers_nobody_has_no_yield_to_compare(rng, options):
    result = compare_rules(*random_log(rng), "score <= 0", "never", **options)
    assert result.gain_difference.se == pytest.approx(result.a.gain_points.se, rel=0.1)
    assert math.isnan(result.yield_difference.estimate)
    assert result.yield_difference.low is None
    assert any("there is no yield to compare" in note for note in result.notes)
    values = result.to_dict()
    assert values["difference"]["yield_per_100"]["estimate"] is None
    assert json.loads(json.dumps(values, allow_nan=False)) == values


def test_no_yield_interval_where_a_resample_defers_nobody():
    counts = ReplayCounts(
        list("abcd"), [1, 0, 0, 0], [1] * 4, [0, 1, 1, 0], [1] * 4, cluster=list("vvww")
    )
    outcomes = Outcomes(list("abcd"), [0, 0, 1, 0], {"f": [1, 1, 1, 1]})
    result = compare_rules(
        counts, outcomes, "score < 0", "always", interval="bootstrap", rng=1, resamples=200
    )
    assert result.yield_difference.low is None
    assert result.yield_difference.estimate == pytest.approx(100 - 75)
    assert any(NONE_IN_RESAMPLE in note for note in result.notes)


def test_without_clusters_there_are_points_and_notes(rng):
    counts, outcomes = random_log(rng)
    for cluster, note in ((None, UNKNOWN_CLUSTERS), (["v"] * 200, ONE_CLUSTER)):
        alike = ReplayCounts(**(counts.to_dict() | {"cluster": cluster}))
        for options in ({}, {"interval": "bootstrap", "rng": 1}):
            result = compare_rules(alike, outcomes, "score < 0", "score <= 0", **options)
            assert result.gain_difference.estimate != 0
            assert result.gain_difference.se is None
            assert note in result.notes


def test_no_question_is_left():
    counts = ReplayCounts(["a"], [0], [3], [0], [3], cluster=["v"])
    result = compare_rules(counts, Outcomes(["a"], [None], {"f": [1]}), "always", "never")
    assert math.isnan(result.gain_difference.estimate)
    assert result.overlap["jaccard"] is None
    json.dumps(result.to_dict(), allow_nan=False)


def test_one_of_a_kind_and_unknown_clusters_in_words():
    outcomes = Outcomes(["a"], [0], {"f": [1]})
    known = ReplayCounts(["a"], [0], [3], [0], [3], cluster=["v"])
    unknown = ReplayCounts(["a"], [0], [3], [0], [3])
    shown = str(compare_rules(known, outcomes, "always", "never"))
    assert "Routing to f: 1 question, 1 cluster (95 %" in shown
    shown = str(compare_rules(unknown, outcomes, "always", "never"))
    assert "1 question, clusters unknown (no intervals)\n" in shown
