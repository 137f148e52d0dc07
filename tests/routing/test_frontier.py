"""Gain against calls: a plain loop over the cut-offs, rules at each of them, and edges."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from routing_cases import clustered_se, random_log
from scipy import stats

from carve_stats.clusters import NO_QUESTIONS, ONE_CLUSTER, t_interval
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.routing.evaluate import evaluate_rule
from carve_stats.routing.frontier import POINTWISE, deferral_frontier
from carve_stats.routing.joined import join


def log_with_confidence(rng, **options):
    n = options.setdefault("n", 150)
    confidence = np.where(rng.random(n) < 0.15, np.nan, rng.integers(0, 12, n) / 10 - 0.3)
    texts = rng.integers(0, 3, n).astype(str)
    covariates = {"confidence": confidence, "kind": [f"k{text}" for text in texts]}
    return random_log(rng, ragged=True, covariates=covariates, **options)


def exact_scores(counts):
    return [
        Fraction(y, d) - Fraction(x, k) if k and d else None
        for x, k, y, d in zip(
            counts.sham_flips.tolist(), counts.sham_replays.tolist(),
            counts.destroy_flips.tolist(), counts.destroy_replays.tolist(), strict=True,
        )
    ]  # fmt: skip


def values_by(counts, outcomes, by):
    if by == "score":
        return exact_scores(counts)
    return [None if math.isnan(x) else x for x in outcomes.covariates[by].tolist()]


@pytest.mark.parametrize("by", ["score", "confidence"])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_every_row_is_that_of_a_plain_loop(rng, by, level):
    counts, outcomes = log_with_confidence(rng, k=4)
    frontier = deferral_frontier(counts, outcomes, by, level=level)
    data = join(counts, outcomes)
    values, d = values_by(counts, outcomes, by), data.value
    cuts = sorted({value for value in values if value is not None})
    assert frontier.cut_off == pytest.approx([float(cut) for cut in cuts], abs=1e-15)
    assert len(cuts) > 9
    for i, cut in enumerate(cuts):
        e = np.array([value is not None and value <= cut for value in values], float)
        assert frontier.calls[i] == e.sum()
        assert frontier.repairs[i] == e[d > 0].sum()
        assert frontier.harms[i] == e[d < 0].sum()
        gain, random = (e * d).mean(), e.mean() * d.mean()
        assert frontier.gain_points[i] == pytest.approx(100 * gain, abs=1e-12)
        assert frontier.random_points[i] == pytest.approx(100 * random, abs=1e-12)
        assert frontier.advantage_points[i] == pytest.approx(100 * (gain - random), abs=1e-12)
        parts = e * (d - d.mean()) - e.mean() * d
        of_gain = t_interval(gain, e * d - gain, data.codes, level=level)
        of_advantage = t_interval(gain - random, parts - parts.mean(), data.codes, level=level)
        found = frontier.low[i], frontier.high[i]
        assert found == pytest.approx((100 * of_gain.low, 100 * of_gain.high), abs=1e-9)
        found = frontier.advantage_low[i], frontier.advantage_high[i]
        assert found == pytest.approx((100 * of_advantage.low, 100 * of_advantage.high), abs=1e-9)
        # And without the package.
        quantile = stats.t.ppf((1 + level) / 2, len(set(counts.cluster.tolist())) - 1)
        half = quantile * clustered_se((100 * (parts - parts.mean())).tolist(), counts.cluster)
        assert frontier.advantage_high[i] - frontier.advantage_points[i] == pytest.approx(half)


def test_the_advantage_is_the_derivative_of_its_influence(rng):
    """Of gain less random in the weight of one question, taken by differences."""
    e, d = rng.integers(0, 2, 30).astype(float), rng.integers(-1, 2, 30).astype(float)
    parts = e * (d - d.mean()) - e.mean() * d
    step = 1e-6
    for i in range(30):
        w = np.full(30, (1 - step) / 30)
        w[i] += step
        moved = w @ (e * d) - (w @ e) * (w @ d)
        derivative = (moved - ((e * d).mean() - e.mean() * d.mean())) / step
        assert (parts - parts.mean())[i] == pytest.approx(derivative, abs=1e-5)


@pytest.mark.parametrize("by", ["score", "confidence"])
def test_every_row_is_that_of_the_rule(rng, by):
    counts, outcomes = log_with_confidence(rng, n=60, clusters=6)
    frontier = deferral_frontier(counts, outcomes, by)
    values = values_by(counts, outcomes, by)
    cuts = sorted({value for value in values if value is not None})
    rows = frontier.to_dict()["rows"]
    assert len(rows) == len(cuts)
    for row, cut in zip(rows, cuts, strict=True):
        theirs = evaluate_rule(counts, outcomes, f"{by} <= {cut}")
        assert (row["calls"], row["repairs"], row["harms"]) == (
            theirs.selected, theirs.repairs, theirs.harms,
        )  # fmt: skip
        gain = theirs.gain_points
        assert row["gain_points"] == pytest.approx(gain.estimate, abs=1e-12)
        assert row["low"] == pytest.approx(gain.low, abs=1e-9)
        assert row["high"] == pytest.approx(gain.high, abs=1e-9)
        assert row["random_points"] == pytest.approx(theirs.controls["plain"].mean, abs=1e-10)


def test_intervals_end_where_gains_do():
    ids = list("abcd")
    counts = ReplayCounts(ids, [1] * 4, [1] * 4, [0] * 4, [1] * 4, cluster=list("vvvw"))
    for answers, ends in (([1, 1, 1, 0], (-100, 100)), ([1, 1, 1, 1], (None, None))):
        outcomes = Outcomes(ids, [0] * 4, {"f": answers})
        row = deferral_frontier(counts, outcomes).to_dict()["rows"][0]
        gain = evaluate_rule(counts, outcomes, "always").gain_points
        assert (row["low"], row["high"]) == (gain.low, gain.high)
        assert row["high"] == ends[1]


def test_the_last_row_of_all_scored_is_always_deferring(rng):
    counts, outcomes = random_log(rng, k=3)
    frontier = deferral_frontier(counts, outcomes)
    always = evaluate_rule(counts, outcomes, "always")
    assert frontier.calls[-1] == len(counts) == always.selected
    assert frontier.gain_points[-1] == frontier.always_points
    assert frontier.always_points == pytest.approx(always.gain_points.estimate, abs=1e-12)
    assert frontier.low[-1] == pytest.approx(always.gain_points.low, abs=1e-9)
    # Deferring all at random is deferring all: no advantage, and no spread of it.
    assert frontier.advantage_points[-1] == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(frontier.advantage_low[-1])
    assert math.isnan(frontier.advantage_high[-1])
    assert not np.isnan(frontier.advantage_low[:-1]).any()


def test_rounding_is_no_spread():
    """Large clusters that all gain alike: the sums are large, and their spread is none."""
    n, clusters = 30_000, 7
    ids = [f"q{i:05d}" for i in range(n)]
    videos = [f"v{i % clusters}" for i in range(n)]
    x = np.arange(n) // 7 % 4
    counts = ReplayCounts(ids, x, [3] * n, [0] * n, [3] * n, cluster=videos)
    outcomes = Outcomes(ids, [0] * n, {"f": [1] * n})
    frontier = deferral_frontier(counts, outcomes)
    assert np.isnan(frontier.advantage_low).all()  # d is the same for all: nothing to choose
    assert math.isnan(frontier.low[-1])
    few = Outcomes(ids[:9999], [0] * 9999, {"f": [0, 0] + [1] * 9997})
    in_three = ReplayCounts(
        ids[:9999], x[:9999], [3] * 9999, [0] * 9999, [3] * 9999,
        cluster=[f"v{i % 3}" for i in range(9999)],
    )  # fmt: skip
    frontier = deferral_frontier(in_three, few)
    assert np.isnan(frontier.advantage_low).tolist() == [False, False, False, True]
    one_less = Outcomes(ids, [0] * n, {"f": [0] + [1] * (n - 1)})
    frontier = deferral_frontier(counts, one_less)
    half = stats.t.ppf(0.975, 6) * clustered_se(
        [100 * (d - (n - 1) / n) for d in [0] + [1] * (n - 1)], videos
    )
    assert frontier.high[-1] == 100.0
    assert frontier.gain_points[-1] - frontier.low[-1] == pytest.approx(half, rel=1e-6)


def test_sums_that_were_large_leave_no_spread_behind():
    """Half of each video is repaired and then all but one of it harmed."""
    n = 20_000
    ids = [f"q{i:05d}" for i in range(n)]
    place = np.arange(n) // 2
    x, y = np.where(place % 4 < 2, 3, 0), np.where(place % 4 < 2, 0, place % 2 + 1)
    fallback = (place % 4 < 2) | (place == n // 2 - 1)
    counts = ReplayCounts(ids, x, [3] * n, y, [3] * n, cluster=[f"v{i % 2}" for i in range(n)])
    outcomes = Outcomes(ids, 1 - fallback.astype(int), {"f": fallback.astype(int)})
    frontier = deferral_frontier(counts, outcomes)
    assert frontier.calls.tolist() == [10_000, 15_000, 20_000]
    assert frontier.gain_points[-1] == pytest.approx(0.02, rel=1e-12)
    assert np.isnan(frontier.advantage_low).all()  # both videos alike


def test_ties_of_unlike_budgets_are_one_row():
    ids = list("abcd")
    counts = ReplayCounts(ids, [0, 0, 0, 1], [3, 6, 9, 2], [1, 2, 3, 1], [3, 6, 9, 1])
    outcomes = Outcomes(ids, [0, 0, 1, 0], {"f": [1, 1, 0, 0]})
    frontier = deferral_frontier(counts, outcomes)
    assert frontier.calls.tolist() == [3, 4]
    assert (frontier.repairs.tolist(), frontier.harms.tolist()) == ([2, 2], [1, 1])
    assert frontier.cut_off == pytest.approx([1 / 3, 1 / 2])


def test_zeros_of_both_signs_are_one_value():
    ids = list("abc")
    for zeros in ([0.0, -0.0], [-0.0, 0.0]):
        counts = ReplayCounts(ids, [0] * 3, [1] * 3, [0] * 3, [1] * 3)
        outcomes = Outcomes(ids, [0] * 3, {"f": [1] * 3}, covariates={"c": [*zeros, 1.0]})
        frontier = deferral_frontier(counts, outcomes, "c")
        assert frontier.calls.tolist() == [2, 3]
        assert str(frontier.cut_off[0]) == "0.0"


def test_what_a_reader_has_to_know(rng):
    counts, outcomes = log_with_confidence(rng)
    by_score, by_confidence = (
        deferral_frontier(counts, outcomes, by) for by in ("score", "confidence")
    )
    unscored = int((~counts.scored).sum())
    assert f"{unscored} questions without a value of 'score': never deferred here" in by_score.notes
    missing = int(np.isnan(outcomes.covariates["confidence"]).sum())
    assert f"{missing} questions without a value of 'confidence': never" in str(by_confidence.notes)
    assert by_score.calls[-1] == len(counts) - unscored
    assert POINTWISE in by_score.notes
    assert by_score.questions == {"read": 150, "used": 150, "left_out": {}}
    columns = counts.to_dict()
    for videos, note in ((None, UNKNOWN_CLUSTERS), (["v"] * 150, ONE_CLUSTER)):
        known = ReplayCounts(**{**columns, "cluster": videos})
        frontier = deferral_frontier(known, outcomes)
        assert note in frontier.notes
        assert (frontier.gain_points == by_score.gain_points).all()
        for name in ("low", "high", "advantage_low", "advantage_high"):
            assert np.isnan(getattr(frontier, name)).all()
        json.dumps(frontier.to_dict(), allow_nan=False)
    one = ReplayCounts(["a", "b"], [0, 0], [1, 0], [1, 0], [1, 1])
    found = deferral_frontier(one, Outcomes(["a", "b"], [0, 1], {"f": [1, 1]}))
    assert "1 question without a value of 'score': never deferred here" in found.notes


def test_no_question_and_no_score():
    ids = ["a", "b"]
    counts = ReplayCounts(ids, [0, 0], [0, 0], [0, 0], [1, 0], cluster=["v", "w"])
    frontier = deferral_frontier(counts, Outcomes(ids, [0, 1], {"f": [1, 1]}))
    assert frontier.calls.size == 0
    assert frontier.always_points == 50.0
    assert frontier.to_dict()["rows"] == []
    assert "by score" in str(frontier)
    unknown = deferral_frontier(counts, Outcomes(ids, [math.nan] * 2, {"f": [1, 1]}))
    assert NO_QUESTIONS in unknown.notes
    assert unknown.to_dict()["always_points"] is None
    assert "nan" not in str(unknown)


def test_wrong_arguments(rng):
    counts, outcomes = log_with_confidence(rng)
    with pytest.raises(InputError, match="unknown by 'confidenc': the known ones are score, conf"):
        deferral_frontier(counts, outcomes, "confidenc")
    with pytest.raises(InputError, match="by='kind' is a covariate of texts"):
        deferral_frontier(counts, outcomes, "kind")
    with pytest.raises(InputError, match="level=0 must lie between 0 and 1"):
        deferral_frontier(counts, outcomes, level=0)


def test_columns_and_plain_values(rng):
    frontier = deferral_frontier(*log_with_confidence(rng))
    columns, values = frontier.columns(), frontier.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    names = [
        "cut_off", "calls", "repairs", "harms", "gain_points", "low", "high", "random_points",
        "advantage_points", "advantage_low", "advantage_high",
    ]  # fmt: skip
    assert list(columns) == list(values["rows"][0]) == names
    assert list(values) == [
        "by", "fallback", "rows", "always_points", "questions", "interval", "notes",
    ]  # fmt: skip
    for i, row in enumerate(values["rows"]):
        for name in names:
            assert row[name] == columns[name][i]
        assert isinstance(row["calls"], int)


def test_text_and_html(rng):
    frontier = deferral_frontier(*log_with_confidence(rng, k=5), "score")
    text, html = str(frontier), frontier._repr_html_()
    assert repr(frontier) == text
    m = len(frontier.calls)
    assert m > 12
    assert text.startswith("Deferring to strong by score, smallest first: 150 questions (12 of ")
    for header in ("score up to", "deferred", "repairs", "harms", "gain, points", "advantage"):
        assert header in text
        assert f"{header}</th>" in html
    rows = [line.split() for line in text.splitlines() if line[:1] in "+-0" and "." in line[:8]]
    assert len(rows) == 12
    assert rows[0][:2] == [f"{frontier.cut_off[0]:+.3f}", str(frontier.calls[0])]
    assert rows[-1][:2] == [f"{frontier.cut_off[-1]:+.3f}", str(frontier.calls[-1])]
    assert "nan" not in text
    few = deferral_frontier(*random_log(rng, n=30, k=1))
    assert str(few).splitlines()[0].endswith("30 questions")
