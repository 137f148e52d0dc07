"""The variance of the mean score in its parts: known ones, and those of a pilot."""

import numpy as np
import pytest

from carve_stats.clusters import cluster_se
from carve_stats.counts import ReplayCounts
from carve_stats.planning.score_variance import (
    INDEPENDENT,
    NO_SPREAD_BETWEEN,
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
    population = Population([0.1, 0.8], [0.1, 0.9], [1, 1])
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
