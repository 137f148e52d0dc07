"""Differences between strata: against regression with clusters, pandas, and plain cases."""

import json
import math

import numpy as np
import pandas
import pytest
from judged_cases import judged_log
from scipy.stats import t as student

from carve_stats.clusters import ONE_CLUSTER
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.strata import stratified_scores
from carve_stats.inference.strata_differences import EMPTY_SIDE, ONE_SIDE
from carve_stats.outcomes import Outcomes

MEASURES = ("score", "sham", "destroy", "self_")


def log(covered, videos, *, seed=0, correct=None, self_replays=1):
    """Random replays of questions of which it is given whether they are covered."""
    rng = np.random.default_rng(seed)
    n = len(covered)
    ids = [f"q{i:03d}" for i in range(n)]
    k = rng.integers(1, 4, (2, n))
    asked = np.broadcast_to(self_replays, n)
    counts = ReplayCounts(
        ids,
        rng.binomial(k[0], 0.4),
        k[0],
        rng.binomial(k[1], 0.6),
        k[1],
        self_flips=rng.binomial(asked, 0.3),
        self_replays=asked,
        cluster=videos,
    )
    right = rng.integers(0, 2, n) if correct is None else correct
    return counts, Outcomes(ids, right, {}, covariates={"covered": covered})


def measures(counts):
    sham = counts.sham_flips / counts.sham_replays
    destroy = counts.destroy_flips / counts.destroy_replays
    return {"score": destroy - sham, "sham": sham, "destroy": destroy}


@pytest.mark.parametrize("seed", range(3))
def test_is_the_slope_of_a_regression_with_clustered_errors(seed):
    """Every video has questions on both sides, so that CR0 · V/(V − 1) is the whole correction."""
    rng = np.random.default_rng(seed)
    videos = np.arange(90) % 15
    covered = rng.random(90) < 0.4
    covered[:15], covered[15:30] = True, False
    counts, outcomes = log(covered, videos.astype(str), seed=seed, self_replays=0)
    result = stratified_scores(counts, outcomes, by="covered", level=0.9).difference(True, False)
    design = np.column_stack([np.ones(90), covered])
    bread = np.linalg.inv(design.T @ design)
    for name, values in measures(counts).items():
        slope = bread @ design.T @ values
        residual = values - design @ slope
        scores = [design[videos == v].T @ residual[videos == v] for v in range(15)]
        meat = sum(np.outer(one, one) for one in scores)
        se = math.sqrt(15 / 14 * (bread @ meat @ bread)[1, 1])
        found = getattr(result, name)
        assert found.estimate == pytest.approx(slope[1], abs=1e-12)
        assert found.se == pytest.approx(se, rel=1e-9)
        assert found.df == 14
        assert found.p_value == pytest.approx(2 * student.sf(abs(slope[1]) / se, 14), rel=1e-9)
        half = student.ppf(0.95, 14) * se
        assert (found.low, found.high) == pytest.approx((slope[1] - half, slope[1] + half))


def by_hand(values, a, b, video):
    """Estimate, standard error and degrees of freedom, from the questions one by one."""
    means, moves, clusters = [], pandas.Series(0.0, sorted(set(video))), []
    for side, sign in ((a, 1), (b, -1)):
        rows = side & values.notna()
        v = video[rows].nunique()
        influence = (values[rows] - values[rows].mean()) / rows.sum() * math.sqrt(v / (v - 1))
        moves = moves.add(sign * influence.groupby(video[rows]).sum(), fill_value=0.0)
        means.append(values[rows].mean())
        clusters.append(v)
    return means[0] - means[1], math.sqrt((moves**2).sum()), min(clusters) - 1


@pytest.mark.parametrize("seed", range(3))
def test_strata_that_share_some_clusters_by_hand(seed):
    counts, outcomes = judged_log(seed)
    result = stratified_scores(counts, outcomes)
    frame = pandas.DataFrame(counts.to_dict()).set_index("question")
    frame = frame.join(
        pandas.DataFrame(
            {"correct": outcomes.original_correct, "covered": outcomes.covariates["covered"]},
            index=outcomes.question,
        )
    ).query("sham_replays > 0 and destroy_replays > 0 and correct == correct and covered != ''")
    frame["sham"] = frame.sham_flips / frame.sham_replays
    frame["destroy"] = frame.destroy_flips / frame.destroy_replays
    frame["score"] = frame.destroy - frame.sham
    frame["self_"] = frame.self_flips / frame.self_replays.where(frame.self_replays > 0)
    covered, right = frame.covered == "true", frame.correct == 1
    asked = {
        ((True, True), (False, False)): (covered & right, ~covered & ~right),
        ((False, True), (False, False)): (~covered & right, ~covered & ~right),
        (("covered", True), ("covered", False)): (covered, ~covered),
        (("correct", False), ("correct", True)): (~right, right),
    }
    for (a, b), sides in asked.items():
        given = [dict([one]) if isinstance(one[0], str) else one for one in (a, b)]
        found = result.difference(*given)
        assert found.questions == tuple(int(side.sum()) for side in sides)
        for name in MEASURES:
            estimate, se, df = by_hand(frame[name], *sides, frame.cluster)
            one = getattr(found, name)
            assert (one.estimate, one.se) == pytest.approx((estimate, se), rel=1e-9, abs=1e-12)
            assert one.df == df
            assert one.p_value == pytest.approx(2 * student.sf(abs(estimate) / se, df), rel=1e-9)


def test_differences_are_of_each_name_over_all_values_of_the_others():
    counts, outcomes = judged_log(2)
    result = stratified_scores(counts, outcomes)
    assert [one.label for one in result.differences] == [
        "covered true − covered false",
        "correct true − correct false",
    ]
    for one in result.differences:
        name = one.label.split()[0]
        same = result.difference({name: True}, {name: False})
        assert one.to_dict() == same.to_dict()
        turned = result.difference({name: False}, {name: True})
        assert turned.score.estimate == -one.score.estimate
        assert (turned.score.se, turned.score.p_value) == (one.score.se, one.score.p_value)
    mean = result.difference({"correct": True}, {"correct": False}).score.estimate
    assert mean != pytest.approx(
        result[True, True].score.estimate - result[True, False].score.estimate
    )


def test_sides_without_a_common_cluster_are_independent():
    videos = [f"v{i // 4}" for i in range(48)]
    covered = np.arange(48) < 20
    counts, outcomes = log(covered, videos, seed=4)
    result = stratified_scores(counts, outcomes, by="covered")
    (found,) = result.differences
    for name in MEASURES:
        parts = [getattr(result[value], name).se for value in (True, False)]
        assert getattr(found, name).se == pytest.approx(math.hypot(*parts), rel=1e-12)
        assert getattr(found, name).df == 4  # five videos, and seven


def test_a_cluster_effect_that_both_sides_share_is_no_uncertainty_of_their_difference():
    """Every video has one question of either side, and the same difference but for a little."""
    n = 40
    x = np.repeat(np.arange(20) % 3, 2)
    y = x + np.tile([1, 0], 20)
    y[0] -= 1
    ids, videos = [f"q{i:02d}" for i in range(n)], [f"v{i // 2:02d}" for i in range(n)]
    counts = ReplayCounts(ids, np.zeros(n, int), [3] * n, y, [3] * n, cluster=videos)
    outcomes = Outcomes(ids, [1] * n, {}, covariates={"covered": [True, False] * 20})
    result = stratified_scores(counts, outcomes, by="covered")
    (found,) = result.differences
    paired = (y[0::2] - y[1::2]) / 3
    assert found.score.estimate == pytest.approx(paired.mean())
    assert found.score.se == pytest.approx(paired.std(ddof=1) / math.sqrt(20))
    assert found.score.se < 0.3 * math.hypot(result[True].score.se, result[False].score.se)
    assert found.score.p_value < 1e-9


def test_the_order_of_numbers_and_texts():
    counts, outcomes = log([0, 1] * 6, list("uvwxyz") * 2)
    (found,) = stratified_scores(counts, outcomes, by="covered").differences
    assert found.label == "covered 1 − covered 0"
    counts, outcomes = log(["b", "a"] * 6, list("uvwxyz") * 2)
    (found,) = stratified_scores(counts, outcomes, by="covered").differences
    assert found.label == "covered a − covered b"


def test_of_three_values_two_are_compared_on_request():
    counts, outcomes = judged_log(5)
    result = stratified_scores(counts, outcomes, by=("kind", "correct"))
    assert [one.label for one in result.differences] == ["correct true − correct false"]
    found = result.difference({"kind": "c"}, {"kind": "a"})
    assert found.label == "kind c − kind a"
    alone = stratified_scores(counts, outcomes, by="kind").difference("c", "a")
    assert alone.questions > found.questions  # those whose correctness is not known count here
    both = result.difference({"correct": True, "kind": "b"}, ("b", False))
    assert both.label == "kind b × correct true − kind b × correct false"


def test_row_order_changes_nothing():
    counts, outcomes = judged_log(6)
    turn = np.random.default_rng(0).permutation(len(counts))
    turned = ReplayCounts(**{k: np.array(v)[turn] for k, v in counts.to_dict().items()})
    one, other = (
        [d.to_dict() for d in stratified_scores(c, outcomes).differences] for c in (counts, turned)
    )
    assert one == other


class TestWhatCannotBeSaid:
    def only(self, covered, videos, **more):
        counts, outcomes = log(covered, videos, **more)
        result = stratified_scores(counts, outcomes, by="covered")
        (found,) = result.differences
        for name in MEASURES:
            one = getattr(found, name)
            assert (one.se, one.low, one.high, one.p_value, one.df) == (None,) * 5
        json.dumps(result.to_dict(), allow_nan=False)
        return found, result

    def test_one_side_is_empty(self):
        found, result = self.only([True] * 4, list("uvwx"))
        assert math.isnan(found.score.estimate)
        assert found.questions == (4, 0)
        assert f"{found.label}: {EMPTY_SIDE}" in result.notes
        assert str(found).splitlines()[-1].strip().startswith("* no difference")

    def test_one_side_is_one_video(self):
        found, result = self.only([True] * 2 + [False] * 4, list("uuvwvw"))
        assert not math.isnan(found.score.estimate)
        assert any(found.label in note and ONE_SIDE in note for note in result.notes)

    def test_all_is_one_video(self):
        found, result = self.only([True, True, False, False], list("uuuu"))
        assert found.score.note == ONE_CLUSTER
        assert ONE_CLUSTER in result.notes

    def test_videos_are_not_known(self):
        found, _ = self.only([True, True, False, False], None)
        assert found.score.note == UNKNOWN_CLUSTERS

    def test_without_self_replays_the_rest_is_there(self):
        counts, outcomes = log([True, False] * 6, list("uvwxyz") * 2, self_replays=0)
        result = stratified_scores(counts, outcomes, by="covered")
        (found,) = result.differences
        assert math.isnan(found.self_.estimate)
        assert found.score.se is not None
        assert not any(found.label in note for note in result.notes)
        assert "self" not in str(found)

    def test_a_side_that_has_every_question(self):
        counts, outcomes = log([True, False] * 6, list("uvwxyz") * 2)
        result = stratified_scores(counts, outcomes)
        with pytest.raises(InputError, match="both have covered true × correct true: no question"):
            result.difference({"covered": True}, {"correct": True})
        for strange in ((True,), "true", {}, {"coverd": True}, {"covered": "yes"}, (1, 2, 3)):
            with pytest.raises(InputError, match=r"no stratum .* of covered, correct: the strata"):
                result.difference((True, True), strange)


def test_intervals_end_where_differences_do():
    counts = ReplayCounts(
        list("abcdef"), [0, 0, 0, 3, 3, 2], [3] * 6, [3, 3, 2, 0, 0, 0], [3] * 6,
        cluster=list("uvwuvw"),
    )  # fmt: skip
    outcomes = Outcomes(list("abcdef"), [1, 1, 1, 0, 0, 0], {})
    (found,) = stratified_scores(counts, outcomes, by="correct", level=0.9999).differences
    assert found.score.high == 2.0
    assert found.sham.low == -1.0


def test_a_bootstrap_of_the_strata_leaves_differences_as_they_are():
    counts, outcomes = judged_log(3)
    options = {"interval": "bootstrap", "rng": 1, "resamples": 200}
    one = stratified_scores(counts, outcomes, **options).differences[0]
    assert one.to_dict() == stratified_scores(counts, outcomes).differences[0].to_dict()


def test_the_result_shows_them():
    result = stratified_scores(*judged_log(1))
    found = result.differences[0]
    shown = str(result)
    assert "Differences (95 % cluster t intervals)" in shown
    (line,) = (line for line in shown.splitlines() if line.startswith(found.label))
    assert f"{found.score.estimate:+.3f}" in line
    assert f"{found.score.p_value:.4f}" in line
    assert line in str(found)
    assert f"{found.score.estimate:+.3f}" in found._repr_html_()
    assert result._repr_html_().count("<table>") == 2
    assert result.to_dict()["differences"][0] == found.to_dict()
