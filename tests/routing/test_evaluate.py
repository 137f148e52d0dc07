"""What a rule does: the published arithmetic, plain formulas, enumeration, jackknife, edges."""

import csv
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routing_cases import PUBLISHED, clustered_se, jackknife_se, published_log, random_log

from carve_stats.clusters import NO_QUESTIONS, ONE_CLUSTER, interval_method
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Answerer, Outcomes
from carve_stats.routing.costs import NO_SELF
from carve_stats.routing.evaluate import NO_CLUSTERS, evaluate_rule
from carve_stats.routing.joined import join
from carve_stats.routing.rules.lowest_scores import LowestScores
from carve_stats.routing.rules.parsing import as_routing_rule
from carve_stats.routing.value import (
    NONE_DEFERRED,
    NONE_IN_RESAMPLE,
    deferral_value,
    gain_influence,
    resampling_sums,
    whole_if_close,
    yield_influence,
)

TABLES = Path(__file__).parents[1] / "data" / "published"
COUNTED = ("selected", "repairs", "harms", "net")
RULES = [
    "score <= 0", "score < 1/3", "lowest 70", "lowest 60 confidence", "confidence < 0.5",
    "random 50", "always", "never",
]  # fmt: skip


class Fixed:
    """A rule of given propensities, in order of the ids."""

    def __init__(self, propensities):
        self.given = np.asarray(propensities, float)

    def propensities(self, questions):
        return self.given

    def __str__(self):
        return "fixed"


def log_with_confidence(rng, **options):
    n = options.setdefault("n", 200)
    confidence = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 9, n) / 8)
    return random_log(rng, ragged=True, covariates={"confidence": confidence}, **options)


class TestPublished:
    """The project's published figures, of LVBench at k = 3."""

    with (TABLES / "table3_policies.csv").open() as file:
        POLICIES = {row["policy"]: row for row in csv.DictReader(file)}
    FACTS = json.loads((TABLES / "facts.json").read_text())

    @pytest.mark.parametrize("sign", ["<", "=", "<="])
    def test_policies(self, sign):
        published = self.POLICIES[f"delta{sign}0"]
        result = evaluate_rule(*published_log(), f"score {sign} 0")
        for figure in ("selected", "repairs", "harms"):
            assert getattr(result, figure) == int(published[figure])
        assert round(result.yield_per_100.estimate, 2) == float(published["yield_per_100"])

    def test_the_rule_and_always(self):
        result = evaluate_rule(*published_log())
        facts = self.FACTS
        assert result.rule == "score <= 0"
        assert result.questions["used"] == facts["lvbench_questions"]
        assert result.scored == facts["lvbench_valid_scores_k3_and_k10"]
        assert round(100 * result.accuracy_before.estimate, 2) == facts["accuracy_vanilla_pct"]
        assert round(100 * result.accuracy_after.estimate, 2) == facts["accuracy_carve_pct"]
        assert result.net == 41
        assert round(result.gain_points.estimate, 2) == 3.26
        always = result.always_defer
        assert (always.selected, always.repairs, always.harms, always.net) == (1258, 162, 98, 64)
        assert round(always.gain_points.estimate, 2) == 5.09
        assert round(always.yield_per_100.estimate, 2) == 5.09
        assert always.accuracy_after.estimate == (572 + 64) / 1258

    def test_the_plain_random_control(self):
        result = evaluate_rule(*published_log())
        plain = result.controls["plain"]
        assert round(plain.yield_per_100, 2) == float(
            self.POLICIES["plain_random"]["yield_per_100"]
        )
        assert [round(x, 2) for x in (plain.mean, plain.low, plain.high)] == [2.18, 0.95, 3.42]
        assert plain.p_value == pytest.approx(0.04885689, abs=5e-9)
        assert result.controls["by_cluster"].strata == 103
        assert result.controls["matched"] is None

    def test_random_deferral_as_a_rule(self):
        result = evaluate_rule(*published_log(), "random 538")
        assert round(result.gain_points.estimate, 2) == 2.18
        assert result.selected == 538
        assert result.net == pytest.approx(538 * 64 / 1258, rel=1e-13)

    def test_questions_without_a_score_keep_the_original_answer(self):
        assert PUBLISHED[-1][:2] == ((0, 0, 0), 9)
        for rule in ("score <= 1", "lowest 1258", "posterior mean <= 1"):
            result = evaluate_rule(*published_log(), rule)
            assert result.selected == 1249
            assert "9 questions have no score and keep the original answer" in result.notes
        result = evaluate_rule(*published_log(), "always")
        assert "9 questions have no score and the rule may defer them all the same" in result.notes


@given(st.integers(0, 2**32 - 1), st.sampled_from(RULES))
def test_row_order_changes_nothing(seed, rule):
    rng = np.random.default_rng(seed)
    n = 80
    counts, outcomes = log_with_confidence(rng, n=n, clusters=7)
    strata = rng.integers(0, 3, n).astype(str)
    left, right = rng.permutation(n), rng.permutation(n)
    columns = counts.to_dict()
    shuffled = ReplayCounts(**{name: np.array(column)[left] for name, column in columns.items()})

    def outcomes_in(order):
        return Outcomes(
            outcomes.question[order],
            outcomes.original_correct[order],
            {"strong": outcomes.alternatives["strong"].correct[order]},
            covariates={
                "confidence": outcomes.covariates["confidence"][order],
                "stratum": strata[order],
            },
        )

    a = evaluate_rule(counts, outcomes_in(np.arange(n)), rule, match="stratum")
    b = evaluate_rule(shuffled, outcomes_in(right), rule, match="stratum")
    assert a.to_dict() == b.to_dict()
    assert str(a) == str(b)


@pytest.mark.parametrize("rule", RULES[:-1])
def test_figures_and_standard_errors_by_the_plain_formulas(rng, rule):
    counts, outcomes = log_with_confidence(rng)
    result = evaluate_rule(counts, outcomes, rule)
    data = join(counts, outcomes)
    e = as_routing_rule(rule).propensities(data.rule_input).tolist()
    d = data.value.tolist()
    original = outcomes.original_correct.tolist()
    n, cluster = len(d), counts.cluster.tolist()
    selected, net = math.fsum(e), math.fsum(p * v for p, v in zip(e, d, strict=True))
    assert result.selected == pytest.approx(selected, rel=1e-12)
    assert result.repairs == pytest.approx(math.fsum(p for p, v in zip(e, d, strict=True) if v > 0))
    assert result.harms == pytest.approx(math.fsum(p for p, v in zip(e, d, strict=True) if v < 0))
    assert result.net == pytest.approx(net, rel=1e-12)
    after = [o + p * v for o, p, v in zip(original, e, d, strict=True)]
    ratio = net / selected
    expected = {
        "gain_points": (
            100 * net / n,
            [100 * (p * v - net / n) for p, v in zip(e, d, strict=True)],
        ),
        "accuracy_after": (math.fsum(after) / n, [a - math.fsum(after) / n for a in after]),
        "accuracy_before": (sum(original) / n, [o - sum(original) / n for o in original]),
        "yield_per_100": (
            100 * ratio,
            [100 * (p * v - ratio * p) / (selected / n) for p, v in zip(e, d, strict=True)],
        ),
    }
    for name, (estimate, influence) in expected.items():
        figure = getattr(result, name)
        assert figure.estimate == pytest.approx(estimate, rel=1e-12), name
        assert figure.se == pytest.approx(clustered_se(influence, cluster), rel=1e-10), name
        # t quantile at 19 df, from tables
        assert (figure.high - figure.estimate) / figure.se == pytest.approx(2.093024, abs=1e-6)
    assert result.interval == interval_method("t", 0.95, counts.cluster_codes)
    assert result.interval.df == 19


def test_standard_errors_are_those_of_the_jackknife(rng):
    n, clusters = 1200, 120
    ids = [f"q{i:05d}" for i in range(n)]
    videos = np.array([f"v{i % clusters}" for i in range(n)])
    x, y = rng.binomial(3, [[0.4], [0.6]], (2, n))
    counts = ReplayCounts(ids, x, [3] * n, y, [3] * n, cluster=videos)
    original, fallback = rng.binomial(1, [[0.5], [0.6]], (2, n))
    outcomes = Outcomes(ids, original, {"strong": fallback})
    result = evaluate_rule(counts, outcomes, "score <= 0")
    e, d = (y <= x).astype(float), fallback - original
    # The gain is a mean over clusters of one size: there both are the same.
    gain = jackknife_se(lambda rows: 100 * (e * d)[rows].mean(), videos)
    assert result.gain_points.se == pytest.approx(gain, rel=1e-10)
    per_100 = jackknife_se(lambda rows: 100 * (e * d)[rows].sum() / e[rows].sum(), videos)
    assert result.yield_per_100.se == pytest.approx(per_100, rel=0.02)
    assert result.yield_per_100.se != pytest.approx(result.gain_points.se / e.mean(), rel=1e-3)


def test_influence_functions_are_derivatives(rng):
    """Of the figures in the weight of one question, taken by differences."""
    counts, outcomes = random_log(rng, n=40)
    data = join(counts, outcomes)
    e, d = rng.random(40), data.value
    step = 1e-6
    for i in range(40):
        w = np.full(40, 1 / 40)
        w = (1 - step) * w
        w[i] += step
        gain = ((w * e * d).sum() - (e * d).mean()) / step
        ratio = ((w * e * d).sum() / (w * e).sum() - (e * d).sum() / e.sum()) / step
        assert gain_influence(e, data)[i] == pytest.approx(gain, abs=1e-8)
        assert yield_influence(e, data)[i] == pytest.approx(ratio, abs=1e-4)


@pytest.mark.parametrize("m", [1, 3, 4, 6, 8])
def test_lowest_scores_are_the_mean_over_all_ways_to_break_the_ties(rng, m):
    scores = [-1, 0, 0, 0, 0, 0, 1, 1]  # thirds, at k = 3
    n = len(scores)
    ids = [f"q{i}" for i in range(n)]
    x = [1 if s < 0 else 0 for s in scores]
    y = [max(s, 0) for s in scores]
    counts = ReplayCounts(ids, x, [3] * n, y, [3] * n, cluster=list("aabbccdd"))
    outcomes = Outcomes(ids, [0, 0, 1, 0, 1, 1, 0, 1], {"f": [1, 1, 0, 1, 0, 1, 1, 0]})
    result = evaluate_rule(counts, outcomes, LowestScores(m))
    sets = [
        chosen
        for chosen in itertools.combinations(range(n), m)
        if max(scores[i] for i in chosen)
        <= min((scores[i] for i in range(n) if i not in chosen), default=9)
    ]
    each = [
        evaluate_rule(counts, outcomes, Fixed([float(i in chosen) for i in range(n)]))
        for chosen in sets
    ]
    assert len(each) == {1: 1, 3: 10, 4: 10, 6: 1, 8: 1}[m]
    for name in ("selected", "repairs", "harms", "net"):
        assert getattr(result, name) == pytest.approx(np.mean([getattr(r, name) for r in each]))
    for name in ("yield_per_100", "accuracy_after", "gain_points"):
        mean = np.mean([getattr(r, name).estimate for r in each])
        assert getattr(result, name).estimate == pytest.approx(mean)


def test_no_rule_sees_outcomes(rng):
    counts, outcomes = log_with_confidence(rng)
    opposite = Outcomes(
        outcomes.question,
        1 - outcomes.original_correct,
        {"strong": 1 - outcomes.alternatives["strong"].correct},
        covariates=outcomes.covariates,
    )
    for rule in [*RULES, "posterior mean <= 0.1"]:
        a, b = evaluate_rule(counts, outcomes, rule), evaluate_rule(counts, opposite, rule)
        assert (a.selected, a.repairs, a.harms) == (b.selected, b.harms, b.repairs), rule


class TestBootstrap:
    def test_its_spread_is_that_of_the_linearised_interval(self, rng):
        counts, outcomes = random_log(rng, n=900, clusters=90)
        by_t = evaluate_rule(counts, outcomes)
        result = evaluate_rule(counts, outcomes, interval="bootstrap", rng=5, resamples=1500)
        assert result.interval.to_dict() == {"method": "bootstrap", "level": 0.95, "df": None}
        for name in ("yield_per_100", "gain_points", "accuracy_before", "accuracy_after"):
            ours, theirs = getattr(result, name), getattr(by_t, name)
            assert ours.estimate == theirs.estimate
            assert ours.se == pytest.approx(theirs.se, rel=0.08)
            assert ours.low == pytest.approx(theirs.low, abs=0.25 * theirs.se)
            assert ours.high == pytest.approx(theirs.high, abs=0.25 * theirs.se)
        assert result.always_defer.gain_points.se == pytest.approx(
            by_t.always_defer.gain_points.se, rel=0.08
        )

    def test_two_clusters_have_three_resamples(self):
        ids = ["a", "b", "c", "d", "e"]
        counts = ReplayCounts(
            ids, [0] * 5, [3] * 5, [0, 0, 1, 0, 1], [3] * 5, cluster=list("vvvww")
        )
        outcomes = Outcomes(ids, [0, 0, 1, 1, 0], {"f": [1, 0, 1, 0, 1]})
        result = evaluate_rule(counts, outcomes, interval="bootstrap", rng=1, resamples=500)
        # v alone: 2 deferred, 1 repair of 3 questions, 1 right; w alone: 1 deferred, a harm, of 2.
        assert (result.yield_per_100.low, result.yield_per_100.high) == pytest.approx((-100, 50))
        assert (result.gain_points.low, result.gain_points.high) == pytest.approx((-50, 100 / 3))
        after = result.accuracy_after
        assert (after.low, after.high) == pytest.approx((0, 2 / 3), abs=1e-6)

    def test_it_depends_on_the_seed_alone(self, rng):
        counts, outcomes = random_log(rng)
        options = {"interval": "bootstrap", "resamples": 200}
        a, b = (evaluate_rule(counts, outcomes, rng=3, **options) for _ in range(2))
        assert a.to_dict() == b.to_dict()
        other = evaluate_rule(counts, outcomes, rng=np.random.default_rng(4), **options)
        assert other.gain_points != a.gain_points

    def test_it_needs_a_source_of_randomness(self, rng):
        with pytest.raises(InputError, match="interval='bootstrap' needs rng"):
            evaluate_rule(*random_log(rng), interval="bootstrap")
        data = join(*random_log(rng))
        with pytest.raises(InputError, match="needs rng"):
            deferral_value(
                np.ones(200), data, method=interval_method("bootstrap", 0.95, data.codes)
            )

    def test_no_yield_interval_where_a_resample_defers_nobody(self):
        counts = ReplayCounts(list("abcd"), [1, 0, 0, 0], [1] * 4, [0, 1, 1, 1], [1] * 4,
                              cluster=list("vvww"))  # fmt: skip
        outcomes = Outcomes(list("abcd"), [0, 0, 1, 0], {"f": [1, 1, 1, 1]})
        result = evaluate_rule(counts, outcomes, interval="bootstrap", rng=1, resamples=200)
        assert result.yield_per_100.estimate == 100
        assert result.yield_per_100.low is None
        assert result.gain_points.high == pytest.approx(50)
        assert any(NONE_IN_RESAMPLE in note for note in result.notes)

    def test_sums_of_each_cluster(self):
        counts = ReplayCounts(list("abc"), [0] * 3, [1] * 3, [0] * 3, [1] * 3, cluster=list("wvw"))
        data = join(counts, Outcomes(list("abc"), [0, 1, 1], {"f": [1, 1, 0]}))
        sums = resampling_sums(np.array([1.0, 0.25, 0.5]), data)
        assert sums.tolist() == [[1, 1, 0.25, 0], [2, 1, 1.5, 0.5]]


class TestEdges:
    def test_none_deferred(self, rng):
        result = evaluate_rule(*random_log(rng), "never")
        assert (result.selected, result.repairs, result.harms, result.net) == (0, 0, 0, 0)
        assert math.isnan(result.yield_per_100.estimate)
        assert result.gain_points.estimate == 0
        assert result.gain_points.low is None
        assert result.accuracy_after == result.accuracy_before
        assert any(NONE_DEFERRED in note for note in result.notes)
        assert result.to_dict()["yield_per_100"]["estimate"] is None
        assert result.controls["plain"].p_value == 1

    def test_all_deferred(self, rng):
        result = evaluate_rule(*random_log(rng), "score <= 1")
        assert result.value == result.always_defer
        assert result.controls["plain"].net_low == result.controls["plain"].net_high == result.net
        assert (
            result.value
            == evaluate_rule(*random_log(np.random.default_rng(20260814)), "always").value
        )

    def test_unknown_clusters(self, rng):
        counts, outcomes = random_log(rng)
        columns = counts.to_dict() | {"cluster": None}
        bare = evaluate_rule(ReplayCounts(**columns), outcomes)
        known = evaluate_rule(counts, outcomes)
        assert bare.clusters is None
        assert bare.gain_points.estimate == known.gain_points.estimate
        assert bare.gain_points.se is None
        assert bare.controls["by_cluster"] is None
        assert bare.controls["plain"].p_value == known.controls["plain"].p_value
        assert UNKNOWN_CLUSTERS in bare.notes
        assert NO_CLUSTERS in bare.notes
        assert "clusters unknown (no intervals)" in str(bare)
        assert "cluster t interval" not in str(bare)
        columns |= {"cluster": ["v"] * 200}
        again = evaluate_rule(ReplayCounts(**columns), outcomes)
        boot = evaluate_rule(ReplayCounts(**columns), outcomes, interval="bootstrap", rng=1)
        for one in (again, boot):
            assert one.clusters == 1
            assert one.yield_per_100.estimate == known.yield_per_100.estimate
            assert one.yield_per_100.low is None
            assert ONE_CLUSTER in one.notes

    def test_no_outcome_is_known(self):
        counts = ReplayCounts(["a"], [0], [3], [0], [3], cluster=["v"])
        result = evaluate_rule(counts, Outcomes(["a"], [None], {"f": [1]}), "score <= 0")
        assert result.questions == {
            "read": 1, "used": 0, "left_out": {"original outcome not known": 1},
        }  # fmt: skip
        assert math.isnan(result.gain_points.estimate)
        for value in (result, result.always_defer):
            assert all(math.isnan(getattr(value, name)) for name in COUNTED)
        plain = result.to_dict()
        assert [plain[name] for name in COUNTED] == [None] * 4
        assert [plain["always_defer"][name] for name in COUNTED] == [None] * 4
        lines = str(result).splitlines()
        (shown,) = (line for line in lines if line.startswith("score <= 0"))
        assert not set("0123456789") & set(shown.removeprefix("score <= 0"))
        assert result.controls == {"plain": None, "by_cluster": None, "matched": None}
        assert any(NO_QUESTIONS in note for note in result.notes)
        assert set(result.costs.values()) == {None}
        json.dumps(result.to_dict(), allow_nan=False)
        assert "0 questions" in str(result)

    def test_questions_without_replays(self, rng):
        counts, outcomes = random_log(rng, n=50)
        some = counts.select(np.arange(50) < 40)
        with pytest.raises(InputError, match="10 with an outcome and no replays"):
            evaluate_rule(some, outcomes)
        wide = Outcomes(
            outcomes.question,
            outcomes.original_correct,
            {"f": outcomes.alternatives["strong"].correct},
            cluster=counts.cluster,
        )
        result = evaluate_rule(some, wide, "score <= 1", allow_mismatch=True)
        assert (result.scored, result.selected, result.questions["used"]) == (40, 40, 50)
        assert result.always_defer.selected == 50

    def test_propensities_of_another_shape(self, rng):
        data = join(*random_log(rng))
        with pytest.raises(InputError, match=r"propensities has shape \(3,\)"):
            deferral_value(np.ones(3), data, method=interval_method("t", 0.95, data.codes))

    def test_other_arguments(self, rng):
        log = random_log(rng)
        with pytest.raises(InputError, match="unknown interval 'z'"):
            evaluate_rule(*log, interval="z")
        with pytest.raises(InputError, match="level"):
            evaluate_rule(*log, level=95)
        with pytest.raises(InputError, match="unknown fallback 'weak'"):
            evaluate_rule(*log, fallback="weak")
        with pytest.raises(InputError, match="unknown score 'confidence'"):
            evaluate_rule(*log, "confidence < 0.5")


class TestMatching:
    def test_on_covariates_and_clusters(self):
        covered = np.arange(1258) % 2 == 0
        kind = np.array(["who", "when", "where"])[np.arange(1258) % 3]
        log = published_log(covariates={"covered": covered, "kind": kind})
        plain = evaluate_rule(*log)
        assert plain.match == ()
        matched = evaluate_rule(*log, match="covered")
        assert matched.match == ("covered",)
        assert matched.controls["matched"].strata == 2
        both = evaluate_rule(*log, match=["covered", "kind"])
        assert both.controls["matched"].strata == 6
        by_cluster = evaluate_rule(*log, match="cluster")
        assert by_cluster.controls["matched"].to_dict() == plain.controls["by_cluster"].to_dict()
        assert matched.to_dict()["match"] == ["covered"]

    def test_its_mean_is_that_of_the_strata(self):
        covered = np.arange(1258) % 2 == 0
        counts, outcomes = published_log(covariates={"covered": covered})
        result = evaluate_rule(counts, outcomes, match="covered")
        value = outcomes.alternatives["strong"].correct - outcomes.original_correct
        deferred = counts.scored & (counts.score_numerator <= 0)
        net = sum(deferred[rows].sum() * value[rows].mean() for rows in (covered, ~covered))
        assert result.controls["matched"].net_mean == pytest.approx(net)

    def test_an_unknown_covariate_lists_the_known_ones(self):
        log = published_log(covariates={"covered": [True] * 1258})
        with pytest.raises(
            InputError,
            match="covariate in match 'kind': the known ones are covered, cl",
        ):
            evaluate_rule(*log, match=["covered", "kind"])

    @pytest.mark.parametrize("match", [5, [5], ["covered", None], [["covered"]]])
    def test_what_is_no_name_is_refused(self, match):
        log = published_log(covariates={"covered": [True] * 1258})
        with pytest.raises(InputError, match="must be the name of a covariate, or a list"):
            evaluate_rule(*log, match=match)

    def test_missing_values_and_a_lack_of_chance_are_told(self):
        text, number = ["yes", "", "yes", ""], [1.0, 2.0, math.nan, 4.0]
        counts = ReplayCounts(list("abcd"), [0] * 4, [3] * 4, [3, 0, 3, 0], [3] * 4)
        outcomes = Outcomes(
            list("abcd"), [0, 1, 0, 1], {"f": [1, 1, 0, 1]},
            covariates={"text": text, "number": number},
        )  # fmt: skip
        notes = evaluate_rule(counts, outcomes, match=["text", "number"]).notes
        assert "match: 2 questions have no text, which counts as a value of its own" in notes
        assert "match: 1 question has no number, which counts as a value of its own" in notes
        assert (
            "at random, as many of each stratum of text, number: nothing is left to chance: the"
            " p-value of 1 says nothing"
        ) in notes
        assert not any("as many of all questions" in note for note in notes)


class TestCosts:
    COUNTS = ReplayCounts(
        ["a", "b"], [0, 1], [3, 2], [3, 0], [3, 3], sham_invalid=[0, 1], cluster=["v", "w"]
    )

    def costs(self, rule="score <= 0", **columns):
        tokens, tools = columns.pop("fallback_tokens", None), columns.pop("fallback_tools", None)
        strong = Answerer([1, 1], tokens=tokens, tools=tools)
        outcomes = Outcomes(["a", "b"], [1, 0], {"strong": strong}, **columns)
        return evaluate_rule(self.COUNTS, outcomes, rule)

    def test_all_known(self):
        result = self.costs(
            original_tokens=[10, 20], original_tools=[1, 2], fallback_tokens=[100, 200],
            fallback_tools=[5, 7],
        )  # fmt: skip
        assert result.costs == {
            "fallback_calls": 0.5, "replays": 6.0, "tokens_before": 15.0, "tokens_after": 115.0,
            "tools_before": 1.5, "tools_after": 5.0,
        }  # fmt: skip
        assert "tokens after" in str(result)

    def test_replays_are_those_of_the_conditions_that_the_rule_looks_at(self):
        class Own:
            def propensities(self, questions):
                return np.ones(len(questions.counts))

        class OnSelf(Own):
            conditions = ("self",)

        counts = ReplayCounts(
            ["a", "b"], [0, 1], [3, 2], [3, 0], [3, 3], sham_invalid=[0, 1],
            self_flips=[1, 0], self_replays=[4, 5], self_invalid=[0, 1],
        )  # fmt: skip
        outcomes = Outcomes(
            ["a", "b"], [1, 0], {"strong": [1, 1]},
            covariates={"sure": [0.1, 0.9], "self_agreement": [0.75, 1.0]},
        )  # fmt: skip
        for rule, replays in (
            ("score <= 0", 6.0), ("lowest 1", 6.0), ("posterior mean <= 0", 6.0), (Own(), 6.0),
            ("self_agreement < 0.8", 5.0), ("lowest 1 self_agreement", 5.0), (OnSelf(), 5.0),
            ("sure < 0.5", 0.0), ("lowest 1 sure", 0.0), ("random 1", 0.0), ("always", 0.0),
            ("never", 0.0),
        ):  # fmt: skip
            assert evaluate_rule(counts, outcomes, rule).costs["replays"] == replays, rule
        # A share of SELF replays that these counts do not have.
        result = evaluate_rule(self.COUNTS, outcomes, "self_agreement < 0.8")
        assert result.costs["replays"] is None
        assert NO_SELF in result.notes

    def test_what_is_not_known_is_none_and_said(self):
        result = self.costs(original_tokens=[None, 20], fallback_tokens=[100, 200])
        assert result.costs["tokens_before"] is None
        assert result.costs["tokens_after"] is None
        assert result.costs["tools_before"] is None
        assert "original tokens are not known of 1 question" in result.notes
        result = self.costs(original_tokens=[10, 20], fallback_tokens=[100, None])
        assert (result.costs["tokens_before"], result.costs["tokens_after"]) == (15.0, None)
        assert "fallback tokens are not known of 1 question" in result.notes

    def test_the_fallbacks_alone(self):
        result = self.costs(fallback_tokens=[100, 200], fallback_tools=[None, 3])
        known = "no totals of {0} can be had; the fallback's are {1} a call"
        for what, each in (("tokens", 200), ("tools", 3)):
            note = f"the original's {what} are not known: " + known.format(what, each)
            assert note in result.notes
        result = self.costs(original_tokens=[None, 20], fallback_tokens=[100, 200])
        assert f"the original's tokens are not all known: {known.format('tokens', 200)}" in (
            result.notes
        )
        both = self.costs(original_tokens=[10, 20], fallback_tokens=[100, 200])
        assert not any("totals" in note for note in (*both.notes, *self.costs().notes))
        never = self.costs("never", fallback_tokens=[100, 200])
        assert "the original's tokens are not known: no totals of tokens can be had" in never.notes

    def test_only_deferred_questions_need_the_cost_of_the_fallback(self):
        result = self.costs(original_tokens=[10, 20], fallback_tokens=[None, 200])
        assert result.costs["tokens_after"] == 115.0
        assert not any("not known" in note for note in result.notes)
        assert self.costs("never", original_tokens=[10, 20]).costs["tokens_after"] == 15.0


def test_plain_values(rng):
    counts, outcomes = log_with_confidence(rng)
    values = evaluate_rule(counts, outcomes, "lowest 70").to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert list(values) == [
        "rule", "fallback", "questions", "scored", "clusters", "selected", "repairs", "harms",
        "net", "yield_per_100", "accuracy_before", "accuracy_after", "gain_points", "always_defer",
        "controls", "match", "costs", "interval", "notes",
    ]  # fmt: skip
    assert values["selected"] == 70
    assert isinstance(values["selected"], int)
    assert set(values["gain_points"]) == {"estimate", "se", "low", "high"}
    assert list(values["always_defer"]) == [
        "selected", "repairs", "harms", "net", "yield_per_100", "accuracy_after", "gain_points",
    ]  # fmt: skip
    assert list(values["controls"]) == ["plain", "by_cluster", "matched"]


def test_text_and_html():
    result = evaluate_rule(*published_log(covariates={"<b>": ["1"] * 1258}), match="<b>")
    text = str(result)
    for row in (
        "Routing to strong: 1258 questions, 1249 scored, 103 clusters",
        "nobody",
        "score <= 0    538       98     57   41        +7.62",
        "always       1258      162     98   64        +5.09",
        "as many of all questions",
        "as many of each stratum of <b>",
        "p-value: chance that as many questions deferred at random",
        "0.0489",
        "  * 9 questions have no score and keep the original answer",
    ):
        assert row in text
    assert repr(result) == text
    html = result._repr_html_()
    assert "score &lt;= 0" in html
    assert html.count("<table>") == 3


@pytest.mark.parametrize(
    ("total", "whole"), [(7 * (1 / 7 + 1e-16), 1.0), (3e5 + 1e-6, 3e5), (0.3, 0.3), (-1e-17, 0.0)]
)
def test_sums_of_shares_that_make_a_whole_number(total, whole):
    assert whole_if_close(total) == whole


def test_one_of_a_kind_in_words():
    counts = ReplayCounts(["a"], [0], [3], [0], [3], cluster=["v"])
    result = evaluate_rule(counts, Outcomes(["a"], [0], {"f": [1]}))
    assert "Routing to f: 1 question, 1 scored, 1 cluster (95 %" in str(result)
