"""Monitoring: the martingale, coverage at all times, and what a growing run does to the path."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import skew

from carve_stats.clusters import NO_SPREAD
from carve_stats.counts import UNFINISHED, Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.rates import mean_score
from carve_stats.planning.confidence_sequence import BALANCED, EARLIEST, confidence_sequence
from carve_stats.planning.monitoring import (
    BY_NAME,
    FEWER,
    REVISED,
    UNDER_WAY,
    monitor_mean_score,
)
from carve_stats.population.mixing import Population

PAPER = Population.paper()


def scale(planned, level=0.95):
    log_odds = -2 * math.log(1 - level)
    return (log_odds + math.log(1 + log_odds)) / planned


def evidence(z, c2):
    """e_t of values z by its closed form."""
    t, s, q = len(z), sum(z), sum(v * v for v in z)
    return (1 + t * c2) ** -0.5 * (1 - c2 / (1 + t * c2) * s * s / q) ** (-t / 2)


def balanced(sums, sizes):
    """Whether clusters are enough for an interval."""
    skewness = skew(sums - sums.sum() / sizes.sum() * sizes)
    return len(sums) >= EARLIEST and len(sums) >= BALANCED * skewness**2


def runs(seed=3, videos=30):
    return PAPER.sample(400, 3, clusters=videos, icc=0.1, rng=seed)


def test_the_evidence_is_the_likelihood_ratio_of_its_two_mixtures():
    # Both integrals by quadrature: over log σ, and above over the mean as well.
    z, c2 = np.array([0.4, -0.3, 1.1, 0.9]), 0.2

    def density(log_sigma, mean):
        sigma = math.exp(log_sigma)
        return math.exp(-((z - mean * sigma) ** 2).sum() / (2 * sigma**2)) / sigma ** len(z)

    below = quad(density, -6, 12, args=(0.0,))[0]

    def mixed(delta):
        weight = math.exp(-(delta**2) / (2 * c2)) / math.sqrt(2 * math.pi * c2)
        return weight * quad(density, -6, 12, args=(delta,))[0]

    above = quad(mixed, -4, 4)[0]
    assert evidence(z, c2) == pytest.approx(above / below, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(27, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_is_where_the_evidence_is_below_its_bound(seed, videos, level):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, videos)
    sums = sizes * rng.normal(0.2, 0.2, videos).clip(-1, 1)
    path = confidence_sequence(sums, sizes, level=level, planned=25)
    c2 = scale(25, level)
    for t in range(1, videos + 1):
        s, n = sums[:t], sizes[:t]
        for end, inwards in ((path.low[t - 1], 1e-6), (path.high[t - 1], -1e-6)):
            if abs(end) < 1:
                assert evidence(s - end * n, c2) == pytest.approx(1 / (1 - level), rel=1e-6)
                assert evidence(s - (end + inwards) * n, c2) < 1 / (1 - level)
    shown = [evidence(sums[:t], c2) for t in range(1, videos + 1) if balanced(sums[:t], sizes[:t])]
    assert path.p_value[-1] >= (1 - 1e-9) / max([1.0, *shown])
    if (path.low > -1).any() and path.p_value[-1] < 1:
        least = min(abs(path.p_value[-1] * e - 1) for e in shown)
        assert least < 1e-9  # the evidence of one of the times, and of none that is larger
    excluded = (path.low > 0) | (path.high < 0)
    # Interval and p-value agree on whether 0 was ever excluded.
    assert excluded.any() == (path.p_value[-1] < 1 - level)


def test_all_intervals_together_cover_normal_means():
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(1000):
        sums = rng.normal(0.0, 3.0, 200)
        path = confidence_sequence(sums, np.full(200, 20), level=0.8)
        missed += bool(((path.low > 0) | (path.high < 0)).any())
    # At 200 of infinitely many times: below .2, and not idle.
    assert 0.08 < missed / 1000 < 0.2


@pytest.mark.parametrize(
    ("population", "icc", "videos"),
    [(PAPER, 0.1, 25), (PAPER, 0.1, 103), (Population.homogeneous(0.0, 0.02), 0.0, 100)],
)
def test_the_whole_path_covers(population, icc, videos):
    rng, repetitions = np.random.default_rng(2), 100
    truth = float(population.weights @ (population.p_destroy - population.p_sham))
    missed = 0
    for _ in range(repetitions):
        path = monitor_mean_score(population.sample(500, 3, clusters=videos, icc=icc, rng=rng)).path
        missed += bool(((path.low > truth) | (path.high < truth)).any())
    assert missed / repetitions <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / repetitions)


def test_the_price_against_a_fixed_size():
    counts = PAPER.sample(1258, 3, clusters=103, icc=0.1, rng=1)
    watch, fixed = monitor_mean_score(counts, planned=103), mean_score(counts)
    assert watch.estimate == pytest.approx(fixed.estimate, abs=1e-12)
    assert 1.3 < (watch.high - watch.low) / (fixed.high - fixed.low) < 1.7


def test_a_run_that_grows_keeps_its_path():
    counts = runs()
    order = np.random.default_rng(0).permutation(np.unique(counts.cluster)).tolist()
    whole = monitor_mean_score(counts, order=order)
    watch = None
    for seen in (1, 12, 13, 30):
        part = counts.select(np.isin(counts.cluster, order[:seen]))
        if watch is None:
            watch = monitor_mean_score(part, order=order)
        else:
            watch = watch.update(part, order=order[:seen])
        assert watch.videos == tuple(order[:seen])
        assert np.array_equal(np.array(watch.path), np.array(whole.path)[:, :seen])
    assert watch.notes == whole.notes
    assert watch.excluded_after == whole.excluded_after


def test_an_order_by_name_is_not_called_arrival():
    counts = runs()
    names = np.unique(counts.cluster).tolist()
    named, arrived = monitor_mean_score(counts), monitor_mean_score(counts, order=names)
    assert np.array_equal(np.array(named.path), np.array(arrived.path))
    assert (named.by_name, arrived.by_name) == (True, False)
    assert "in order of name" in str(named)
    assert "arrive" not in str(named).splitlines()[0]
    assert "as videos arrive" in str(arrived)
    assert (BY_NAME in named.notes, BY_NAME in arrived.notes) == (True, False)
    part = counts.select(np.isin(counts.cluster, names[:9]))
    watch = monitor_mean_score(part, order=names[:9])
    assert not watch.update(part).by_name  # nothing new had to be put anywhere
    assert watch.update(counts).by_name
    assert not watch.update(counts, order=names[9:]).by_name
    assert named.update(counts, order=names).by_name


def unfinished(note):
    counts = runs()
    columns = counts.to_dict()
    ids, cluster = columns.pop("question"), columns.pop("cluster")
    ledger = Ledger(read=1, used=1, notes=(note, "another"))
    return ReplayCounts(ids, **columns, cluster=cluster, ledger=ledger)


def test_a_run_that_is_not_finished_is_told():
    note = f"runs/audit{UNFINISHED}3 of 9 replays are done"
    watch = monitor_mean_score(unfinished(note))
    assert watch.notes[2:4] == (note, UNDER_WAY)
    assert UNDER_WAY not in monitor_mean_score(unfinished("read run 'a'")).notes


@pytest.mark.parametrize("arm", ["sham", "destroy"])
def test_questions_with_fewer_replays_than_others_are_told(arm):
    n = 30
    replays = {"sham": [3] * n, "destroy": [3] * n}
    replays[arm][:2] = [0, 2]
    videos = [f"v{i:02d}" for i in range(n)]

    def watch(invalid):
        counts = ReplayCounts(
            videos, [0] * n, replays["sham"], [0] * n, replays["destroy"], cluster=videos,
            **{f"{arm}_invalid": invalid + [0] * (n - 2)},
        )  # fmt: skip
        return monitor_mean_score(counts)

    assert FEWER.format(n=2) in watch([0, 0]).notes
    assert FEWER.format(n=1) in watch([1, 1]).notes
    assert not any("fewer replays" in note for note in watch([3, 1]).notes)


def test_new_videos_follow_by_name_where_no_order_is_given():
    counts = runs()
    names = np.unique(counts.cluster).tolist()
    late = counts.select(np.isin(counts.cluster, names[20:]))
    grown = monitor_mean_score(late).update(counts)
    assert grown.videos == (*names[20:], *names[:20])


def test_a_video_that_changes_after_it_was_counted_is_told():
    counts = runs()
    watch = monitor_mean_score(counts.select(np.arange(len(counts)) > 0))
    assert watch.update(counts).notes[-1] == REVISED.format(n=1)


def test_the_order_may_be_the_video_of_each_record():
    counts = runs()
    order = ["no score", *counts.cluster[::-1].tolist(), *counts.cluster.tolist()]
    seen = monitor_mean_score(counts, order=order)
    assert seen.videos == tuple(dict.fromkeys(counts.cluster[::-1].tolist()))
    assert seen.estimate == pytest.approx(monitor_mean_score(counts).estimate, abs=1e-12)


def test_an_answer_turned_around_mirrors_the_path():
    counts = runs()
    turned = ReplayCounts(
        counts.question, counts.destroy_flips, counts.destroy_replays, counts.sham_flips,
        counts.sham_replays, cluster=counts.cluster,
    )  # fmt: skip
    a, b = monitor_mean_score(counts).path, monitor_mean_score(turned).path
    assert a.low == pytest.approx(-b.high, abs=1e-12)
    assert a.p_value == pytest.approx(b.p_value, rel=1e-9)


def scores(sham, destroy):
    n = len(sham)
    videos = [f"v{i:03d}" for i in range(n)]
    return ReplayCounts(videos, sham, [3] * n, destroy, [3] * n, cluster=videos)


@pytest.mark.parametrize("flips", [0, 3])
def test_videos_that_do_not_differ_allow_no_interval(flips):
    watch = monitor_mean_score(scores([0] * 40, [flips] * 40))
    assert (watch.low, watch.high, watch.p_value, watch.excluded_after) == (-1, 1, 1, None)
    assert NO_SPREAD in watch.notes


@pytest.mark.parametrize("common", [0, 1, -1, 1 / 3])
@pytest.mark.parametrize("change", [-0.25, 0.6])
@pytest.mark.parametrize("every", [4, 7, 19])
def test_few_videos_unlike_the_rest_allow_no_interval(common, change, every):
    # The rest need not have the score 0. Of t videos k unlike the rest have t over their squared
    # skewness k(t − k)t/(t − 2k)².
    unlike = np.arange(400) % every == every - 1
    path = confidence_sequence(np.where(unlike, common + change, common), np.ones(400))
    for t in range(1, 401):
        k = int(unlike[:t].sum())
        enough, needed = k * (t - k) * t, BALANCED * (t - 2 * k) ** 2
        assert enough != needed or t < EARLIEST
        if t >= EARLIEST and k and enough > needed:
            assert (path.low[t - 1] > -1) or (path.high[t - 1] < 1)
        else:
            assert (path.low[t - 1], path.high[t - 1]) == (-1, 1)
    excluded = (path.low > 0) | (path.high < 0)
    assert excluded.any() == (path.p_value[-1] < 0.05)


def test_few_rare_flips_say_how_many_are_needed():
    watch = monitor_mean_score(scores([0] * 100, [0] * 92 + [1] * 8))
    assert (watch.low, watch.high, watch.p_value) == (-1, 1, 1)
    assert f"about {BALANCED}" in watch.notes[-1]


# What the scores of an independent tester were: the common value, its share, the other value.
NEARLY_CONSTANT = [
    (1, 0.8, 0), (1, 0.9, 0), (1, 0.93, 0), (1, 0.95, 0), (1, 0.97, 0), (1 / 3, 0.95, -1),
    (0.1, 0.9, -0.9),
]  # fmt: skip


@pytest.mark.parametrize(("value", "share", "other"), NEARLY_CONSTANT)
def test_nearly_constant_scores_are_covered_throughout(value, share, other):
    rng, repetitions, missed = np.random.default_rng(4), 600, 0
    truth = share * value + (1 - share) * other
    for _ in range(repetitions):
        path = confidence_sequence(np.where(rng.random(200) < share, value, other), np.ones(200))
        missed += bool(((path.low > truth) | (path.high < truth)).any())
    assert missed / repetitions <= 0.05


@pytest.mark.parametrize("large", [8, 20, 60])
def test_sizes_that_go_with_the_score_are_covered_throughout(large):
    rng, repetitions, missed = np.random.default_rng(5), 600, 0
    truth = (0.15 * large * 0.2 + 0.85 * 2 * 0.7) / (0.15 * large + 0.85 * 2)
    for _ in range(repetitions):
        sizes = np.where(rng.random(103) < 0.15, large, 2)
        path = confidence_sequence(rng.binomial(sizes, np.where(sizes == large, 0.2, 0.7)), sizes)
        missed += bool(((path.low > truth) | (path.high < truth)).any())
    assert missed / repetitions <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / repetitions)


def test_lopsided_sizes_allow_no_interval_while_one_video_is_most_of_all_questions():
    sums, sizes = np.tile([3.0, 2.0], 15), np.full(30, 5.0)
    sums[3], sizes[3] = 900.0, 2000.0
    path = confidence_sequence(sums, sizes)
    assert (path.low == -1).all()
    assert (path.high == 1).all()
    assert (path.p_value == 1).all()


def test_one_video_is_too_few():
    watch = monitor_mean_score(scores([0], [2]))
    assert (watch.low, watch.high, watch.p_value) == (-1, 1, 1)
    assert f"fewer than {EARLIEST} videos" in watch.notes[-1]


def test_what_it_shows_and_stores():
    watch = monitor_mean_score(runs())
    text, html, stored = str(watch), watch._repr_html_(), watch.to_dict()
    assert f"0 first excluded after {watch.excluded_after}" in text
    assert "stop whenever you like" in text
    assert "<table>" in html
    assert json.loads(json.dumps(stored)) == stored
    assert stored["path"]["low"][-1] == stored["low"]
    assert stored["videos"] == 30 == len(stored["path"]["video"])
    nothing = monitor_mean_score(scores([0, 1], [1, 0]))
    assert "0 not excluded so far" in str(nothing)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 1.0}, "level"),
        ({"planned": 0}, "planned"),
        ({"order": ["v000"]}, "order does not name the video"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        monitor_mean_score(runs(), **change)


def test_counts_that_cannot_be_monitored_are_refused():
    with pytest.raises(InputError, match="share a video"):
        monitor_mean_score(ReplayCounts(["q"], [1], [3], [1], [3]))
    with pytest.raises(InputError, match="no question"):
        monitor_mean_score(ReplayCounts(["q"], [0], [0], [1], [3], cluster=["v"]))
    with pytest.raises(InputError, match="counts is a str"):
        monitor_mean_score("log.jsonl")
