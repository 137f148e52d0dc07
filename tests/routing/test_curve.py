"""The curve over k: enumeration of replays, plain formulas, searches, truths and edges."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from curve_cases import propensity, rows_of, selects, uneven_log, used, values_of
from routing_cases import clustered_se, random_log
from scipy import stats

from carve_stats.clusters import ONE_CLUSTER
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.prediction import TOO_FAR
from carve_stats.outcomes import Outcomes
from carve_stats.population.mixing import Population
from carve_stats.routing.curve import (
    BANDS,
    EXACT,
    NOT_CROSSED,
    ONE_THRESHOLD,
    RETUNED,
    routing_curve,
)
from carve_stats.routing.evaluate import evaluate_rule
from carve_stats.routing.groups import VALUES, fit_groups
from carve_stats.routing.joined import join
from carve_stats.routing.subsampled import at_one_budget

RULES = ["score <= 0", "score < 1/3", "score >= -1/2", "score = 0", "score > 1/3", "score < -1/2"]


def plain_log(counts, outcomes, k):
    """Rows, values and videos of the questions that the curve is about."""
    mask = used(counts, k)
    rows = [row for row, one in zip(rows_of(counts), mask, strict=True) if one]
    values = [d for d, one in zip(values_of(outcomes), mask, strict=True) if one]
    return rows, values, counts.cluster[mask].tolist()


def plain_propensities(rule, rows, k):
    return [propensity(rule, *row, k) if row[1] and row[3] else Fraction(0) for row in rows]


@pytest.mark.parametrize("rule", RULES)
def test_exact_points_are_the_mean_over_all_choices_of_replays(rng, rule):
    counts, outcomes = uneven_log(rng)
    curve = routing_curve(counts, outcomes, rule, k=range(1, 5))
    rows, values, cluster = plain_log(counts, outcomes, 4)
    n, df = len(rows), len(set(cluster)) - 1
    assert curve.made_k == 4
    assert [point.k for point in curve.points] == [1, 2, 3, 4]
    assert curve.always_points == pytest.approx(100 * sum(values) / n, abs=1e-12)
    for point in curve.points:
        e = plain_propensities(rule, rows, point.k)
        repairs = sum(p for p, d in zip(e, values, strict=True) if d > 0)
        harms = sum(p for p, d in zip(e, values, strict=True) if d < 0)
        gain = float(100 * (repairs - harms) / n)
        assert not point.predicted
        assert point.selected == pytest.approx(float(sum(e)), abs=1e-11)
        assert point.repairs == pytest.approx(float(repairs), abs=1e-11)
        assert point.harms == pytest.approx(float(harms), abs=1e-11)
        assert point.net == pytest.approx(float(repairs - harms), abs=1e-11)
        assert point.gain_points.estimate == pytest.approx(gain, abs=1e-11)
        assert point.identified == (point.gain_points.estimate,) * 2
        at_random = float(100 * sum(e) / n * Fraction(sum(values), n))
        assert point.random_points == pytest.approx(at_random, abs=1e-11)

        se = clustered_se(
            [float(100 * p * d) - gain for p, d in zip(e, values, strict=True)], cluster
        )
        half = stats.t.ppf(0.975, df) * se
        assert point.gain_points.se == pytest.approx(se, rel=1e-9)
        assert point.gain_points.low == pytest.approx(gain - half, abs=1e-9)
        assert point.gain_points.high == pytest.approx(gain + half, abs=1e-9)
        if not sum(e):
            assert math.isnan(point.yield_per_100.estimate)
            continue
        ratio = (repairs - harms) / sum(e)
        influence = [
            float(100 * n * p * (d - ratio) / sum(e)) for p, d in zip(e, values, strict=True)
        ]
        assert point.yield_per_100.estimate == pytest.approx(float(100 * ratio), abs=1e-10)
        assert point.yield_per_100.se == pytest.approx(clustered_se(influence, cluster), rel=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_the_point_of_all_replays_is_that_of_the_rule_itself(rng, rule):
    counts, outcomes = random_log(rng, k=3)
    ours = routing_curve(counts, outcomes, rule, k=[3]).points[0]
    theirs = evaluate_rule(counts, outcomes, rule)
    for name in ("selected", "repairs", "harms", "net"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.gain_points == theirs.gain_points
    assert ours.yield_per_100.to_dict() == theirs.yield_per_100.to_dict()
    level = routing_curve(counts, outcomes, rule, k=[3], level=0.5)
    assert (
        level.points[0].gain_points == evaluate_rule(counts, outcomes, rule, level=0.5).gain_points
    )


def test_questions_with_fewer_replays_are_left_out_at_every_k_and_counted(rng):
    counts, outcomes = uneven_log(rng, smaller=5, without=4)
    curve = routing_curve(counts, outcomes, k=[1, 4])
    reason = "with a score and fewer valid replays than k = 4 in an arm"
    assert curve.questions == {"read": 90, "used": 85, "left_out": {reason: 5}, "scored": 81}
    assert any(note.startswith("5 questions with a score and fewer") for note in curve.notes)
    kept = counts.select(used(counts, 4))
    alone = routing_curve(kept, outcomes, k=[1, 4], allow_mismatch=True)
    assert alone.questions["used"] == 90  # those left out have no score now, and count
    for ours, theirs in zip(curve.points, alone.points, strict=True):
        assert ours.net == pytest.approx(theirs.net, rel=1e-13)
        assert 85 * ours.gain_points.estimate == pytest.approx(90 * theirs.gain_points.estimate)
    one = uneven_log(rng, smaller=1)
    assert any(
        note.startswith("1 question with a score") for note in routing_curve(*one, k=[1]).notes
    )
    none = uneven_log(rng, smaller=0)
    assert not any("fewer valid" in note for note in routing_curve(*none, k=[1]).notes)


def test_questions_without_a_score_keep_the_original_answer():
    ids = list("abcd")
    counts = ReplayCounts(ids, [1, 0, 0, 0], [2, 2, 0, 2], [0, 1, 0, 0], [2, 2, 2, 0])
    outcomes = Outcomes(ids, [0, 0, 0, 0], {"strong": [1, 1, 1, 1]})
    for point in routing_curve(counts, outcomes, "score <= 1", k=[1, 2]).points:
        assert point.selected == 2
        assert point.gain_points.estimate == 50.0


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (1, [1, 2]),
        (2, [1, 2, 4]),
        (6, [1, 2, 3, 4, 5, 6]),  # twice as many would take long to predict
        (66, [1, 2, 3, 5, 7, 10, 14, 21, 31, 45, 66]),
    ],
)
def test_k_not_given_is_some_that_were_made_and_twice_as_many(made, shown):
    counts = ReplayCounts(["a", "b"], [1, 1], [made] * 2, [1, 0], [made] * 2)
    outcomes = Outcomes(["a", "b"], [0, 0], {"f": [0, 1]})
    curve = routing_curve(counts, outcomes, "score = 0")
    assert [point.k for point in curve.points] == shown


class TestRetuned:
    @pytest.mark.parametrize("rule", ["score <= 0", "score > 0"])
    @pytest.mark.parametrize("k", [1, 3, 4])
    def test_the_best_is_that_of_a_search(self, rng, rule, k):
        counts, outcomes = uneven_log(rng)
        rows, values, cluster = plain_log(counts, outcomes, 4)
        sign, order = ("<=", 1) if rule == "score <= 0" else (">=", -1)
        texts = [f"score {sign} {order * Fraction(j, k)}" for j in range(-k, k + 1)]
        added = {
            text: [p * d for p, d in zip(plain_propensities(text, rows, k), values, strict=True)]
            for text in texts
        }

        def best(questions):
            nets = {text: sum(added[text][i] for i in questions) for text in texts}
            found = max(texts, key=nets.get)  # the first of equals
            return found if nets[found] > 0 else None

        retuned = routing_curve(counts, outcomes, rule, k=[k]).points[0].retuned
        n = len(rows)
        found = best(range(n))
        assert str(retuned.rule) == str(found)
        assert retuned.best_points == pytest.approx(float(100 * sum(added[found]) / n), abs=1e-10)
        e = plain_propensities(found, rows, k)
        assert retuned.selected == pytest.approx(float(sum(e)), abs=1e-10)

        gains = [0.0] * n
        for video in set(cluster):
            inside = [i for i in range(n) if cluster[i] == video]
            chosen = best([i for i in range(n) if cluster[i] != video])
            for i in inside:
                gains[i] = float(added[chosen][i]) if chosen else 0.0
        gain = 100 * sum(gains) / n
        assert retuned.gain_points.estimate == pytest.approx(gain, abs=1e-10)
        se = clustered_se([100 * one - gain for one in gains], cluster)
        half = stats.t.ppf(0.975, len(set(cluster)) - 1) * se
        assert retuned.gain_points.se == pytest.approx(se, rel=1e-9)
        assert retuned.gain_points.low == pytest.approx(gain - half, abs=1e-9)

    def test_thresholds_of_other_videos_can_be_others(self):
        """Where one video alone makes a threshold the best, it is not used on it."""
        ids = list("abcdef")
        y = [0, 0, 0, 0, 1, 1]
        counts = ReplayCounts(ids, [1, 1, 0, 0, 0, 0], [1] * 6, y, [1] * 6, cluster=list("vwvwvv"))
        #        score:  -1  -1   0  0  1  1
        outcomes = Outcomes(ids, [0, 0, 1, 1, 0, 0], {"f": [1, 1, 0, 1, 1, 1]})
        retuned = routing_curve(counts, outcomes, k=[1]).points[0].retuned
        assert str(retuned.rule) == "score <= 1"
        assert retuned.best_points == pytest.approx(100 * 3 / 6)
        # v by what is best in w (-1: 1), w by what is best in v (1: 2).
        assert retuned.gain_points.estimate == pytest.approx(100 * (1 + 1) / 6)

    def test_never_where_every_threshold_harms(self, rng):
        ids = [f"q{i}" for i in range(8)]
        x, y = rng.integers(0, 3, (2, 8))
        counts = ReplayCounts(ids, x, [2] * 8, y, [2] * 8, cluster=list("aabbccdd"))
        outcomes = Outcomes(ids, [1] * 8, {"f": [0] * 8})
        for point in routing_curve(counts, outcomes, k=[1, 2]).points:
            assert point.retuned.rule is None
            assert point.retuned.selected == point.retuned.best_points == 0.0
            assert point.retuned.gain_points.estimate == 0.0
            assert point.to_dict()["retuned"]["rule"] == "never"
        assert "never" in str(routing_curve(counts, outcomes, k=[1]))

    def test_equality_has_no_other_thresholds(self, rng):
        curve = routing_curve(*random_log(rng, n=60, k=1), "score = 0", k=[1, 2, 3], model="em")
        assert [point.retuned for point in curve.points] == [None] * 3
        assert ONE_THRESHOLD in curve.notes
        assert RETUNED not in curve.notes
        assert RETUNED in routing_curve(*random_log(rng, n=60), k=[1]).notes

    @pytest.mark.parametrize("videos", [None, ["v"] * 60])
    def test_not_without_two_videos(self, rng, videos):
        counts, outcomes = random_log(rng, n=60, k=1)
        columns = {**counts.to_dict(), "cluster": videos}
        curve = routing_curve(ReplayCounts(**columns), outcomes, k=[1, 2])
        assert NOT_CROSSED in curve.notes
        assert (UNKNOWN_CLUSTERS if videos is None else ONE_CLUSTER) in curve.notes
        assert curve.interval.df is None
        point, beyond = curve.points
        assert math.isnan(point.retuned.gain_points.estimate)
        assert point.retuned.best_points > 0.0
        assert point.gain_points.se is None
        assert not math.isnan(beyond.gain_points.estimate)
        assert (beyond.gain_points.low, beyond.gain_points.high) == (None, None)
        assert beyond.identified.low < beyond.identified.high
        assert NOT_CROSSED not in routing_curve(counts, outcomes, k=[1]).notes

    def test_predicted_ones_search_the_fits(self, rng):
        counts, outcomes = random_log(rng, n=150, k=1)
        point = routing_curve(counts, outcomes, k=[5], model="em").points[0]
        data, made, _ = at_one_budget(join(counts, outcomes))
        fits = fit_groups(data, made, "em")
        nets = []
        for j in range(-5, 6):
            rule = f"score <= {Fraction(j, 5)}"
            repairs, harms, _ = expected_by_scipy(data, fits.populations, rule, 5)
            nets.append(repairs - harms)
        best = int(np.argmax(nets))
        assert str(point.retuned.rule) == f"score <= {Fraction(best - 5, 5)}"
        assert point.retuned.best_points == pytest.approx(100 * nets[best] / 150, abs=1e-9)
        assert point.retuned.gain_points.estimate == point.retuned.best_points
        assert point.retuned.gain_points.low < point.retuned.best_points


def expected_by_scipy(data, populations, rule, k):
    """Expected selected questions of each value: each keeps its flips and has new ones."""
    expected = []
    for value, population in zip(VALUES, populations, strict=True):
        total = 0.0
        for i in np.flatnonzero(data.counts.scored & (data.value == value)):
            x, y = data.counts.sham_flips[i], data.counts.destroy_flips[i]
            made, p, q = data.counts.sham_replays[i], population.p_sham, population.p_destroy
            posterior = population.weights * stats.binom.pmf(x, made, p)
            posterior = posterior * stats.binom.pmf(y, made, q)
            posterior /= posterior.sum()
            total += sum(
                (stats.binom.pmf(a, k - made, p) * stats.binom.pmf(b, k - made, q)) @ posterior
                for a in range(k - made + 1)
                for b in range(k - made + 1)
                if selects(rule, Fraction(int(y + b - x - a), k))
            )
        expected.append(total)
    return expected


class TestPredicted:
    @pytest.mark.parametrize("model", ["em", "copula", "npmle"])
    def test_points_are_those_of_the_fitted_groups(self, rng, model):
        counts, outcomes = random_log(rng, n=60, k=1)
        point = routing_curve(counts, outcomes, "score < 1/3", k=[4], model=model).points[0]
        data, made, _ = at_one_budget(join(counts, outcomes))
        fits = fit_groups(data, made, model)
        sizes = [int((data.counts.scored & (data.value == value)).sum()) for value in VALUES]
        assert fits.observed.sum(axis=1) == pytest.approx(sizes)
        assert {one.fit.method for one in fits.populations} == {model}
        repairs, harms, neither = expected_by_scipy(data, fits.populations, "score < 1/3", 4)
        assert point.predicted
        assert point.repairs == pytest.approx(repairs, abs=1e-8)
        assert point.harms == pytest.approx(harms, abs=1e-8)
        assert point.selected == pytest.approx(repairs + harms + neither, abs=1e-8)
        gain = 100 * (repairs - harms) / len(data)
        assert point.gain_points.estimate == pytest.approx(gain, abs=1e-9)
        ratio = 100 * (repairs - harms) / (repairs + harms + neither)
        assert point.yield_per_100.estimate == pytest.approx(ratio, abs=1e-8)
        at_random = 100 * (repairs + harms + neither) / len(data) * data.value.mean()
        assert point.random_points == pytest.approx(at_random, abs=1e-8)

    def test_where_nothing_depends_on_k_nothing_is_predicted(self, rng):
        counts, outcomes = random_log(rng, n=120, k=1)
        exact, *beyond = routing_curve(
            counts, outcomes, "score <= 1", k=[1, 2, 5], model="em"
        ).points
        for point in beyond:
            assert point.gain_points.estimate == pytest.approx(exact.gain_points.estimate)
            assert point.gain_points.low == pytest.approx(exact.gain_points.low, abs=0.02)
            assert point.gain_points.high == pytest.approx(exact.gain_points.high, abs=0.02)
            assert point.selected == pytest.approx(exact.selected)
        for point in routing_curve(counts, outcomes, "score < -1", k=[1, 3], model="em").points:
            assert point.gain_points.estimate == 0.0
            assert (point.gain_points.low, point.gain_points.high) == (None, None)

    @pytest.mark.parametrize("seed", [1, 2, 5, 6])  # where the first grid has no such questions
    def test_no_gain_is_beyond_what_could_be_repaired_or_harmed(self, seed):
        rng = np.random.default_rng(seed)
        drawn = Population.paper().draw(370, clusters=60, icc=0.1, rng=rng)
        counts = drawn.replay(5, rng=rng)
        effect = drawn.p_destroy - drawn.p_sham
        original = rng.random(370) < 0.46
        right = 0.1 + 0.4 * np.exp(-(((effect - 0.15) / 0.12) ** 2))
        fallback = rng.random(370) < np.where(original, 0.92, right)
        outcomes = Outcomes(drawn.question, original, {"strong": fallback}, cluster=drawn.cluster)
        (point,) = routing_curve(counts, outcomes, k=[6]).points
        assert -8.0 < point.gain_points.low < point.gain_points.estimate
        assert point.gain_points.estimate < point.gain_points.high < 12.0

    def test_the_point_of_em_is_within_what_is_identified(self, rng):
        counts, outcomes = random_log(rng, n=200, k=1)
        for point in routing_curve(counts, outcomes, k=[2, 8], model="em").points:
            gain, identified = point.gain_points, point.identified
            assert identified.low - 1e-6 <= gain.estimate <= identified.high + 1e-6
            assert gain.low <= identified.low < identified.high <= gain.high

    def test_withheld_beyond_twice_the_replays_unless_a_model_is_named(self, rng):
        counts, outcomes = random_log(rng, n=80, k=1)
        curve = routing_curve(counts, outcomes, k=[1, 2, 3])
        named = routing_curve(counts, outcomes, k=[1, 2, 3], model="em")
        assert curve.points[1].selected is not None
        withheld, shown = curve.points[2], named.points[2]
        for name in ("selected", "repairs", "harms", "net", "retuned"):
            assert getattr(withheld, name) is None
            assert getattr(shown, name) is not None
        for figure in (withheld.gain_points, withheld.yield_per_100):
            assert math.isnan(figure.estimate)
        assert math.isnan(withheld.random_points)
        assert withheld.identified == shown.identified
        assert withheld.gain_points.low == shown.gain_points.low
        assert withheld.gain_points.high == shown.gain_points.high
        assert curve.transitions is None
        assert named.transitions.predicted
        assert TOO_FAR.format(k=3) in curve.notes
        assert TOO_FAR.format(k=3) not in named.notes
        assert BANDS.format(k=1) in curve.notes
        assert curve.model == named.model == "em"
        alone = routing_curve(counts, outcomes, k=[3])
        assert ONE_THRESHOLD not in alone.notes  # there are some, of which nothing is said
        assert RETUNED not in alone.notes
        assert EXACT.format(k=1) not in alone.notes

    def test_nothing_is_modelled_up_to_the_replays_made(self, rng):
        curve = routing_curve(*random_log(rng, n=40), k=[1, 3], model="npmle")
        assert curve.model is None
        assert EXACT.format(k=3) in curve.notes
        assert BANDS.format(k=3) not in curve.notes
        assert not curve.transitions.predicted

    def test_no_repair_at_all(self, rng):
        ids = [f"q{i}" for i in range(30)]
        x, y = rng.integers(0, 2, (2, 30))
        counts = ReplayCounts(
            ids, x, [1] * 30, y, [1] * 30, cluster=[f"v{i % 6}" for i in range(30)]
        )
        outcomes = Outcomes(ids, [1] * 30, {"f": [0] * 10 + [1] * 20})
        point = routing_curve(counts, outcomes, k=[2]).points[0]
        assert point.repairs == 0.0
        assert point.harms > 0.0
        assert point.identified.low <= point.gain_points.estimate <= point.identified.high <= 0.0
        assert point.gain_points.low < point.identified.low
        assert point.retuned.rule is None

    def test_a_rule_that_selects_all_leaves_nothing_open(self, rng):
        point = routing_curve(*random_log(rng, n=80, k=1), "score <= 1", k=[2]).points[0]
        assert point.gain_points.estimate == pytest.approx(point.random_points, abs=1e-9)
        assert point.identified == pytest.approx((point.gain_points.estimate,) * 2, abs=1e-9)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        ([0], "k=0 must be a whole number of at least 1"),
        ([1.5], "k=1.5 must be a whole number of at least 1"),
        ([], "k is empty: give at least one number of replays"),
        ([3, 65], "k=65 must be at most 64 to be predicted from 3"),
        (3, "k=3 must be several whole numbers"),
        ([[1, 2], [3, 4]], "k is an array: give one whole number"),
        ("12", "k='1' must be a whole number"),
        ([math.nan], "k=nan must be a whole number"),
    ],
)
def test_wrong_k(rng, k, message):
    with pytest.raises(InputError, match=message):
        routing_curve(*random_log(rng, n=20), k=k)


def test_other_wrong_arguments(rng):
    counts, outcomes = random_log(rng, n=20)
    with pytest.raises(InputError, match="unknown model 'am': the known ones are em"):
        routing_curve(counts, outcomes, model="am")
    with pytest.raises(InputError, match="rule='lowest 3' must be 'score'"):
        routing_curve(counts, outcomes, "lowest 3")
    with pytest.raises(InputError, match=r"level=1\.5 must lie between 0 and 1"):
        routing_curve(counts, outcomes, level=1.5)
    with pytest.raises(InputError, match="unknown fallback 'weak'"):
        routing_curve(counts, outcomes, fallback="weak")
    with pytest.raises(InputError, match="do not have the same question ids"):
        routing_curve(counts.select(np.arange(20) > 0), outcomes)
    no_score = ReplayCounts(counts.question, [0] * 20, [0] * 20, [0] * 20, [3] * 20)
    with pytest.raises(InputError, match="there is no score"):
        routing_curve(no_score, outcomes)


def test_k_may_be_any_iterable_in_any_order(rng):
    log = random_log(rng, n=40)
    expected = routing_curve(*log, k=[1, 2, 3]).to_dict()
    for k in (np.array([3, 1, 2]), {1, 2, 3}, iter([2, 3, 1, 1]), (1.0, 2.0, 3.0)):
        assert routing_curve(*log, k=k).to_dict() == expected


def test_plain_values(rng):
    counts, outcomes = uneven_log(rng, k=1, smaller=0)
    values = routing_curve(counts, outcomes, k=[1, 2, 3]).to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert list(values) == [
        "rule", "fallback", "made_k", "questions", "curve", "always_points", "transitions",
        "model", "interval", "notes",
    ]  # fmt: skip
    for point in values["curve"]:
        assert list(point) == [
            "k", "predicted", "selected", "repairs", "harms", "net", "yield_per_100",
            "gain_points", "identified", "random_points", "retuned",
        ]  # fmt: skip
    first, _, withheld = values["curve"]
    assert set(first["gain_points"]) == {"estimate", "se", "low", "high"}
    assert list(first["retuned"]) == ["rule", "selected", "gain_points", "best_points"]
    assert withheld["gain_points"]["estimate"] is None
    assert withheld["gain_points"]["low"] is not None
    assert withheld["random_points"] is withheld["retuned"] is withheld["net"] is None
    without = ReplayCounts(**{**counts.to_dict(), "cluster": None})
    nothing = routing_curve(without, outcomes, "score < -1", k=[1, 2]).to_dict()
    json.dumps(nothing, allow_nan=False)
    assert nothing["curve"][0]["yield_per_100"]["estimate"] is None
    assert nothing["curve"][1]["yield_per_100"]["estimate"] is None


def test_text_and_html(rng):
    curve = routing_curve(*random_log(rng, n=60, k=1), k=[1, 2, 3])
    text, html = str(curve), curve._repr_html_()
    assert repr(curve) == text
    assert "deferring to strong where score <= 0, by k: 60 questions, 60 scored" in text
    for header in (
        "deferred", "net per 100", "gain", "95 % interval", "identified", "at random", "re-tuned",
        "its gain",
    ):  # fmt: skip
        assert header in text
        assert f"{header}</th>" in html
    rows = [line.split() for line in text.splitlines() if line[:1].isdigit()]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [row[1] == "predicted" for row in rows] == [False, True, True]
    assert rows[2][2] == "–"
    assert "nan" not in text
    assert html.count("<table>") == 1
    assert "score &lt;= 0" in html
    more = routing_curve(*random_log(rng, n=60, k=2), k=[1, 2])
    assert more._repr_html_().count("<table>") == 2
    assert str(more).endswith(str(more.transitions))
