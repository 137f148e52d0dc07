"""Signs at other budgets: exact downwards, ranges upwards, and no bare figure far away."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from oracles import sign

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.prediction import predict_signs
from carve_stats.population.mixing import Population

SIGNS = ("negative", "zero", "positive")


def subsets(flips, k, to_k):
    """How often j of the kept replays flipped, over all subsets."""
    replays = [1] * flips + [0] * (k - flips)
    return [sum(kept) for kept in combinations(replays, to_k)]


def average_signs(counts, to_k):
    """Shares over all pairs of subsets of each question, as fractions."""
    total, used = [Fraction(0)] * 3, 0
    for i in range(len(counts)):
        k_sham, k_destroy = int(counts.sham_replays[i]), int(counts.destroy_replays[i])
        if min(k_sham, k_destroy) < to_k:
            continue
        used += 1
        sham = subsets(int(counts.sham_flips[i]), k_sham, to_k)
        destroy = subsets(int(counts.destroy_flips[i]), k_destroy, to_k)
        for x in sham:
            for y in destroy:
                total[sign(y - x) + 1] += Fraction(1, len(sham) * len(destroy))
    return [t / used for t in total], used


@pytest.fixture(scope="module")
def counts():
    return Population.paper().sample(400, 3, clusters=40, icc=0.1, rng=3)


@pytest.fixture(scope="module")
def ragged():
    rng = np.random.default_rng(1)
    k_sham, k_destroy = rng.choice([0, 2, 3, 3, 3, 4], (2, 60))
    return ReplayCounts(
        [f"q{i}" for i in range(60)],
        rng.binomial(k_sham, 0.4), k_sham, rng.binomial(k_destroy, 0.6), k_destroy,
        cluster=[f"v{i % 7}" for i in range(60)],
    )  # fmt: skip


class TestFewerReplays:
    @pytest.mark.parametrize("k", [1, 2, 3])
    def test_shares_are_the_averages_over_all_subsets(self, ragged, k):
        exact, used = average_signs(ragged, k)
        prediction = predict_signs(ragged, k=k)
        assert prediction.questions["used"] == used
        assert prediction.model is None
        for share, expected, identified in zip(
            prediction.point, exact, prediction.identified, strict=True
        ):
            assert share == pytest.approx(float(expected), abs=1e-14)
            assert identified == (share, share)
        for share, interval in zip(prediction.point, prediction.interval, strict=True):
            assert interval.low < share < interval.high

    def test_at_the_budget_of_the_log_they_are_the_observed_shares(self, counts):
        point = predict_signs(counts, k=3).point
        score = np.sign(counts.destroy_flips - counts.sham_flips)
        assert tuple(point) == pytest.approx([(score == s).mean() for s in (-1, 0, 1)])

    def test_questions_with_too_few_replays_are_counted(self, ragged):
        prediction = predict_signs(ragged, k=3)
        scored = prediction.questions["scored"]
        left_out = scored - prediction.questions["used"]
        assert left_out > 0
        assert any(
            note.startswith(f"{left_out} scored questions have fewer") for note in prediction.notes
        )


@pytest.fixture(scope="module")
def prediction(counts):
    return predict_signs(counts, k=5)


class TestMoreReplays:
    def test_the_point_is_identified_and_that_is_within_the_interval(self, prediction):
        assert prediction.model == "em"
        for place in range(3):
            low, high = prediction.identified[place]
            assert low <= prediction.point[place] <= high
            assert prediction.interval[place].low <= low
            assert prediction.interval[place].high >= high
            assert (
                prediction.interval[place].low
                < prediction.point[place]
                < prediction.interval[place].high
            )
        assert sum(prediction.point) == pytest.approx(1)

    def test_tie_rates_alone_say_less(self, prediction):
        low, high = prediction.tie_bounds
        assert low <= prediction.identified.zero.low + 1e-6
        assert high >= prediction.identified.zero.high - 1e-6

    def test_the_truth_is_covered(self, prediction):
        truth = Population.paper().signs(k=5)
        for share, interval in zip(truth, prediction.interval, strict=True):
            assert interval.low <= share <= interval.high

    def test_far_away_there_is_no_point_unless_the_model_is_named(self, counts):
        prediction = predict_signs(counts, k=7)
        assert tuple(prediction.point) == (None, None, None)
        assert any("model='em'" in note for note in prediction.notes)
        assert prediction.identified.zero.low < prediction.identified.zero.high
        named = predict_signs(counts, k=7, model="em")
        assert named.point == named.population.signs(k=7)
        assert named.interval == prediction.interval
        assert predict_signs(counts, k=6).point.zero is not None

    def test_budgets_of_their_own(self, counts):
        prediction = predict_signs(counts, k_sham=2, k_destroy=5)
        assert prediction.tie_bounds is None
        assert prediction.identified.zero.low <= prediction.identified.zero.high

    def test_row_order_does_not_matter(self, counts, prediction, rng):
        order = rng.permutation(len(counts))
        shuffled = ReplayCounts(
            counts.question[order], counts.sham_flips[order], counts.sham_replays[order],
            counts.destroy_flips[order], counts.destroy_replays[order],
            cluster=counts.cluster[order],
        )  # fmt: skip
        assert predict_signs(shuffled, k=5).to_dict() == prediction.to_dict()


class TestEdges:
    def make(self, x, y, k, clusters=True):
        ids = [f"q{i}" for i in range(len(x))]
        each = [k] * len(x)
        return ReplayCounts(ids, x, each, y, each, cluster=ids if clusters else None)

    @pytest.mark.parametrize(
        ("x", "y", "k"),
        [([0] * 30, [0] * 30, 3), ([3] * 30, [3] * 30, 3), ([0] * 30, [3] * 30, 3),
         ([1], [2], 3), ([0, 1, 0, 1], [1, 1, 0, 1], 1), ([1, 2] * 20, [1, 2] * 20, 3)],
        ids=["no flips", "all flips", "all differ", "one question", "k is 1", "all ties"],
    )  # fmt: skip
    def test_every_log_is_answered(self, x, y, k):
        prediction = predict_signs(self.make(x, y, k), k=2 * k)
        for point, (low, high) in zip(prediction.point, prediction.identified, strict=True):
            assert 0 <= low <= high <= 1
            assert 0 <= point <= 1

    @pytest.mark.parametrize("cluster", [None, ["v"] * 40])
    def test_no_interval_without_two_videos(self, cluster):
        rng = np.random.default_rng(0)
        each = [3] * 40
        counts = ReplayCounts(
            [f"q{i}" for i in range(40)], rng.binomial(3, 0.3, 40), each, rng.binomial(3, 0.6, 40),
            each, cluster=cluster,
        )  # fmt: skip
        for k in (2, 5):
            prediction = predict_signs(counts, k=k)
            assert all(interval == (None, None) for interval in prediction.interval)
            assert prediction.point.zero is not None
            assert any("video" in note or "cluster" in note for note in prediction.notes)

    def test_flips_that_no_population_gives_are_told_so(self):
        # Every question ties, at one flip of three or two: far too even for any rates.
        x = [1, 2] * 100
        assert any(
            "no" in n and "population" in n for n in predict_signs(self.make(x, x, 3), k=5).notes
        )
        usual = predict_signs(Population.paper().sample(400, 3, clusters=40, rng=3), k=5)
        assert not any("of any population" in note for note in usual.notes)

    def test_nothing_scored(self):
        with pytest.raises(InputError, match="no question has a valid replay in both arms"):
            predict_signs(ReplayCounts(["a"], [0], [0], [0], [3]), k=3)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [({}, "replays a question"), ({"k": 0}, "k=0"), ({"k": 2.5}, "k=2.5"),
         ({"k": 3, "level": 2}, "level"), ({"k": 9, "model": "magic"}, "magic"),
         ({"k": 2, "model": "magic"}, "magic"), ({"k": [5]}, "array"), ({"k": 65}, "at most 64")],
    )  # fmt: skip
    def test_wrong_arguments(self, counts, arguments, message):
        with pytest.raises(InputError, match=message):
            predict_signs(counts, **arguments)


def test_text_and_plain_values(counts):
    prediction = predict_signs(counts, k=9)
    text = str(prediction)
    assert "Signs at k = 9, predicted from k = 3: 400 of 400 questions" in text
    assert text.splitlines()[2].split() == [
        "score",
        "predicted",
        "identified",
        "95",
        "%",
        "interval",
    ]
    plain = prediction.to_dict()
    assert plain["point"] == {"negative": None, "zero": None, "positive": None}
    assert set(plain["interval"]["zero"]) == {"low", "high"}
    assert "<table" in prediction._repr_html_()


def test_everything_is_of_the_questions_that_reach_the_budget():
    """A question with fewer replays moves neither point nor identified range."""
    whole = Population.paper().sample(300, 3, clusters=30, rng=1)
    x, y = whole.sham_flips.copy(), whole.destroy_flips.copy()
    replays = np.full(300, 3)
    x[:20], y[:20], replays[:20] = 0, 1, 1
    ragged = ReplayCounts(whole.question, x, replays, y, replays, cluster=whole.cluster)
    prediction = predict_signs(ragged, k=5)
    alone = predict_signs(whole.select(np.arange(300) >= 20), k=5)
    assert prediction.questions["used"] == 280
    for part in ("point", "identified", "interval"):
        assert getattr(prediction, part) == getattr(alone, part)
    assert any("20 scored questions have fewer replays" in note for note in prediction.notes)


def test_what_half_of_the_questions_have_is_not_predicted():
    whole = Population.paper().sample(100, 4, clusters=20, rng=2)
    fewer = np.where(np.arange(100) < 50, 4, 2)
    counts = ReplayCounts(
        whole.question,
        np.minimum(whole.sham_flips, fewer),
        fewer,
        np.minimum(whole.destroy_flips, fewer),
        fewer,
        cluster=whole.cluster,
    )
    assert predict_signs(counts, k=4).model is None
    assert predict_signs(counts.select(np.arange(100) > 0), k=4).model == "em"


def test_a_point_outside_the_identified_range_is_told():
    counts = Population.paper().sample(400, 3, clusters=60, icc=0.1, rng=1)
    prediction = predict_signs(counts, k=10, model="npmle")
    pairs = zip(prediction.point, prediction.identified, strict=True)
    assert not all(low <= share <= high for share, (low, high) in pairs)
    assert any("outside the identified range" in note for note in prediction.notes)
    inside = predict_signs(counts, k=10, model="em")
    assert not any("outside the identified range" in note for note in inside.notes)
