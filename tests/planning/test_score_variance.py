"""The variance of the mean score in its parts: known ones, and those of a pilot."""

import numpy as np
import pytest

from carve_stats.clusters import cluster_se
from carve_stats.counts import ReplayCounts
from carve_stats.planning.score_variance import (
    INDEPENDENT,
    NO_SPREAD_BETWEEN,
    NOTHING_ALIKE,
    ONE_REPLAY,
    PilotVariance,
    given_variance,
)
from carve_stats.population.mixing import Population

ASSUMED = Population.homogeneous(0.3, 0.6)


def test_at_its_own_budget_it_is_the_cluster_standard_error(rng):
    counts = Population.paper().sample(400, 3, clusters=40, icc=0.2, rng=rng)
    variance = PilotVariance(counts, ASSUMED, 0.95)
    score = counts.score
    se = cluster_se(score - score.mean(), counts.cluster_codes)
    assert variance.at(3).point == pytest.approx(400 * se**2, rel=1e-12)
    assert variance.split.at(3, 3) == pytest.approx(400 * se**2, rel=1e-12)
    assert variance.at(3).observed
    assert not variance.at(4).observed


def test_the_parts_are_unbiased(rng):
    """Mean of the parts over many pilots, against those of the population."""
    population = Population([0.1, 0.6, 0.3], [0.2, 0.7, 0.9], [1, 1, 2])
    truth = given_variance(population, 1.0)
    splits = []
    for _ in range(400):
        counts = population.sample(60, 2, rng=rng)
        one = PilotVariance(counts, ASSUMED, 0.95).split
        splits.append((one.questions, one.between, one.sham, one.destroy))
    mean, se = np.mean(splits, axis=0), np.std(splits, axis=0) / 20
    expected = np.array([truth.questions, truth.between, truth.sham, truth.destroy])
    assert (np.abs(mean - expected) < 4 * se).all()


def test_videos_inflate_the_part_between_questions_only(rng):
    """Two copies of each question in a video: twice the part between, the same replays."""
    population = Population([0.1, 0.8], [0.6, 0.3], [1, 1])
    truth = given_variance(population, 1.0)
    between, sham = [], []
    for _ in range(150):
        drawn = population.draw(100, rng=rng)
        p, q = np.repeat(drawn.p_sham, 2), np.repeat(drawn.p_destroy, 2)
        k = np.full(200, 3)
        names = [f"q{i}" for i in range(200)]
        videos = [f"v{i // 2}" for i in range(200)]
        counts = ReplayCounts(names, rng.binomial(k, p), k, rng.binomial(k, q), k, cluster=videos)
        split = PilotVariance(counts, ASSUMED, 0.95).split
        between.append(split.between)
        sham.append(split.sham)
    assert np.mean(between) == pytest.approx(2 * truth.questions, abs=4 * np.std(between) / 12)
    assert np.mean(sham) == pytest.approx(truth.sham, abs=4 * np.std(sham) / 12)


def test_one_replay_leaves_bounds(rng):
    counts = Population.paper().sample(300, 1, clusters=50, rng=rng)
    variance = PilotVariance(counts, ASSUMED, 0.95)
    assert ONE_REPLAY in variance.notes
    total = variance.at(1).identified.high
    assert variance.at(1).identified.low == total
    low, high = variance.at(5).identified
    assert (low, high) == pytest.approx((total / 5, total))
    interval = variance.at(5).interval
    assert interval.low < low < high < interval.high
    assert tuple(variance.reliability(5).interval) == (0, 1)


def test_unknown_videos_and_no_spread_are_said():
    names = [f"q{i}" for i in range(6)]
    counts = ReplayCounts(names, [1] * 6, [2] * 6, [1] * 6, [2] * 6)
    variance = PilotVariance(counts, ASSUMED, 0.95)
    assert INDEPENDENT in variance.notes
    assert NO_SPREAD_BETWEEN in variance.notes
    assert variance.split.between == 0
    assert variance.at(3).interval.low is None
    assert variance.split.at(5, 5) == pytest.approx((0.5 + 0.5) / 5)  # x(k−x)/(k(k−1)) = 1/2


def test_scores_that_do_not_differ_tell_no_variance():
    counts = ReplayCounts(list("abcd"), [0] * 4, [3] * 4, [3] * 4, [3] * 4, cluster=list("vvww"))
    variance = PilotVariance(counts, ASSUMED, 0.95)
    assert variance.at(3).point is None
    assert variance.reliability(3).point is None


def in_videos(counts, size):
    """The same questions, so many to a video in their order."""
    return ReplayCounts(
        counts.question, counts.sham_flips, counts.sham_replays, counts.destroy_flips,
        counts.destroy_replays, cluster=[f"v{i // size}" for i in range(len(counts))],
    )  # fmt: skip


def pairs(rng, n=400, k=3):
    """Questions two by two of one kind, ρ = 1."""
    drawn = Population([0.1, 0.8], [0.6, 0.3], [1, 1]).draw(n, rng=rng)
    p, q = np.repeat(drawn.p_sham, 2), np.repeat(drawn.p_destroy, 2)
    made = np.full(2 * n, k)
    names = [f"q{i:04d}" for i in range(2 * n)]
    counts = ReplayCounts(names, rng.binomial(k, p), made, rng.binomial(k, q), made)
    return in_videos(counts, 2)


@pytest.mark.parametrize("k", [1, 3])
def test_other_numbers_of_questions_to_a_video(rng, k):
    """σ²(1 + (m − 1)ρ): ρ is that of the pilot, m the plan's."""
    counts = pairs(rng, k=k)
    own = PilotVariance(counts, ASSUMED, 0.95)
    alone = PilotVariance(counts, ASSUMED, 0.95, per_cluster=1.0).at(k).point
    excess = own.at(k).point - alone
    for m in (1.5, 2.0, 5.0):
        one = PilotVariance(counts, ASSUMED, 0.95, per_cluster=m)
        assert one.at(k).point == pytest.approx(alone + (m - 1) * excess, rel=1e-9)
        assert (one.sharing.pilot_size, one.sharing.size) == pytest.approx((2, m))
        low, high = one.at(k).interval
        assert low < one.at(k).point < high
        if k > 1:
            assert one.sharing.rho == pytest.approx(own.split.design_effect - 1, rel=1e-9)
            assert one.split.design_effect == pytest.approx(1 + (m - 1) * one.sharing.rho)
            assert one.sharing.rho == pytest.approx(1, abs=0.25)
    assert alone == pytest.approx(len(counts) * cluster_se(
        counts.score - counts.score.mean(), np.arange(len(counts))) ** 2)  # fmt: skip


def test_uneven_videos_weigh_by_their_squares(rng):
    counts = Population.paper().sample(300, 2, clusters=20, icc=0.4, rng=3)
    sizes = np.bincount(counts.cluster_codes)
    own = PilotVariance(counts, ASSUMED, 0.95)
    assert own.sharing.pilot_size == pytest.approx((sizes**2).sum() / 300)
    effect = own.split.design_effect
    assert own.sharing.rho == pytest.approx((effect - 1) / (own.sharing.pilot_size - 1))
    same = PilotVariance(counts, ASSUMED, 0.95, per_cluster=15.0)
    assert same.split.between == pytest.approx(own.split.between)


def test_a_design_effect_below_1_is_not_carried_over(rng):
    """Two opposite questions in each video: their sums vary less than those of any two."""
    n = 200
    kind = np.repeat([[0, 1]], n, axis=0).ravel()
    p, q = np.array([0.1, 0.8])[kind], np.array([0.6, 0.3])[kind]
    made = np.full(2 * n, 3)
    names = [f"q{i:04d}" for i in range(2 * n)]
    counts = in_videos(ReplayCounts(names, rng.binomial(3, p), made, rng.binomial(3, q), made), 2)
    for per_cluster in (None, 2.0, 10.0):
        one = PilotVariance(counts, ASSUMED, 0.95, per_cluster=per_cluster)
        assert one.split.design_effect == 1.0
        assert one.sharing.rho == 0.0


def test_a_given_design_effect_wins(rng):
    counts = pairs(rng)
    one = PilotVariance(counts, ASSUMED, 0.95, per_cluster=7.0, design_effect=3.0)
    assert one.split.design_effect == pytest.approx(3)
    alone = PilotVariance(counts, ASSUMED, 0.95, per_cluster=1.0)
    assert one.split.questions == alone.split.questions
    assert one.at(3).point == pytest.approx(alone.at(3).point + 2 * alone.split.questions)
    single = pairs(rng, k=1)
    bounds = PilotVariance(single, ASSUMED, 0.95, design_effect=3.0).at(1)
    least = PilotVariance(single, ASSUMED, 0.95, per_cluster=1.0).at(1).point
    assert bounds.identified == pytest.approx((least, 3 * least))
    assert least < bounds.point < 3 * least


def test_videos_of_one_question_show_nothing_of_videos_with_more(rng):
    counts = in_videos(Population.paper().sample(60, 2, rng=rng), 1)
    assert NOTHING_ALIKE not in PilotVariance(counts, ASSUMED, 0.95).notes
    assert NOTHING_ALIKE in PilotVariance(counts, ASSUMED, 0.95, per_cluster=4.0).notes
