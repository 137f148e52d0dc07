"""Agreement of two runs: by hand, by numeric derivatives, by enumeration and by simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import score_pmf, sign
from scipy.stats import t as student

from carve_stats.counts import Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.reproducibility import reproducibility, spearman_brown
from carve_stats.law.score_rule import ScoreRule
from carve_stats.population.mixing import Population

ALIKE = Population.homogeneous(0.3, 0.6)


def run(rng, drawn, k_sham, k_destroy):
    return ReplayCounts(
        drawn.question,
        rng.binomial(k_sham, drawn.p_sham),
        np.broadcast_to(k_sham, len(drawn)),
        rng.binomial(k_destroy, drawn.p_destroy),
        np.broadcast_to(k_destroy, len(drawn)),
        cluster=drawn.cluster,
    )


def two_runs(seed=1, n=120, clusters=12, k=3):
    rng = np.random.default_rng(seed)
    drawn = Population.paper().draw(n, clusters=clusters, icc=0.2, rng=rng)
    return run(rng, drawn, k, k), run(rng, drawn, k, k)


def small(flips, names="abcdef", cluster="uuvvww", k=2):
    x, y = flips
    return ReplayCounts(list(names), x, [k] * len(x), y, [k] * len(y), cluster=list(cluster))


# Scores of A: 1, ½, 0, −½, 0, 1; of B: 1, 0, 0, −½, −½, ½.
A = small(([0, 0, 1, 1, 2, 0], [2, 1, 1, 0, 2, 2]))
B = small(([0, 1, 2, 1, 1, 1], [2, 1, 2, 0, 0, 2]))


class TestObserved:
    def test_by_hand(self):
        result = reproducibility(A, B, population=ALIKE)
        a, b = [1, 0.5, 0, -0.5, 0, 1], [1, 0, 0, -0.5, -0.5, 0.5]
        assert A.score.tolist() == a
        assert B.score.tolist() == b
        assert result.observed.pearson.estimate == pytest.approx(np.corrcoef(a, b)[0, 1])
        assert result.observed.agreement.estimate == pytest.approx(4 / 6)
        assert result.observed.jaccard.estimate == pytest.approx(1 / 2)
        assert result.selected == {"a": 1, "b": 2, "both": 1}
        assert (result.clusters, result.interval.df) == (3, 2)

    def test_another_rule(self):
        result = reproducibility(A, B, rule=ScoreRule("<=", Fraction(0)), population=ALIKE)
        # A selects c, d, e; B selects b, c, d, e.
        assert result.observed.jaccard.estimate == pytest.approx(3 / 4)
        assert str(result.rule) == "score <= 0"

    @pytest.mark.parametrize("seed", range(3))
    def test_intervals_are_linearised_and_clustered(self, seed):
        a, b = two_runs(seed)
        result = reproducibility(a, b, rule="score <= 0", population=ALIKE, level=0.9)
        score = a.score, b.score
        chosen = score[0] <= 0, score[1] <= 0
        same = np.sign(score[0]) == np.sign(score[1])

        def correlation(w):
            return np.cov(*score, aweights=w)[0, 1] / math.sqrt(
                np.cov(score[0], aweights=w) * np.cov(score[1], aweights=w)
            )

        statistics = {
            "pearson": correlation,
            "agreement": lambda w: w @ same / w.sum(),
            "jaccard": lambda w: w @ (chosen[0] & chosen[1]) / (w @ (chosen[0] | chosen[1])),
        }
        codes = np.unique(a.cluster, return_inverse=True)[1]
        for name, statistic in statistics.items():
            # The influence of a cluster is the derivative by the weight of its questions.
            step = 1e-5
            derivatives = np.array(
                [
                    (statistic(1 + step * (codes == v)) - statistic(1 - step * (codes == v)))
                    / (2 * step)
                    for v in range(12)
                ]
            )
            se = math.sqrt(12 / 11 * (derivatives**2).sum())
            estimate = getattr(result.observed, name)
            assert estimate.estimate == pytest.approx(statistic(np.ones(120)), abs=1e-12)
            assert estimate.se == pytest.approx(se, rel=1e-6)
            half = student.ppf(0.95, 11) * se
            assert estimate.high == pytest.approx(min(estimate.estimate + half, 1), rel=1e-6)

    def test_exchanging_the_runs_changes_nothing(self):
        a, b = two_runs()
        one, other = (
            reproducibility(*runs, population=Population.paper()) for runs in ((a, b), (b, a))
        )
        for name in ("pearson", "agreement", "jaccard"):
            first, second = getattr(one.observed, name), getattr(other.observed, name)
            assert first.estimate == pytest.approx(second.estimate, abs=1e-14)
            assert first.se == pytest.approx(second.se, abs=1e-14)
        assert one.predicted == pytest.approx(other.predicted, abs=1e-12)

    def test_row_order_does_not_matter(self):
        turned = small(([1, 1, 1, 2, 1, 0], [2, 0, 0, 2, 1, 2]), names="fedcba", cluster="wwvvuu")
        one, other = (reproducibility(A, r, population=ALIKE) for r in (B, turned))
        assert other.to_dict() == one.to_dict()

    def test_questions_without_a_score_in_one_run_are_counted(self):
        a = ReplayCounts(list("abcde"), [0] * 5, [3, 3, 0, 0, 3], [1] * 5, [3] * 5)
        b = ReplayCounts(list("abcde"), [0] * 5, [3] * 5, [1, 2, 1, 0, 0], [3, 3, 3, 0, 0])
        result = reproducibility(a, b, population=ALIKE)
        assert result.questions == {
            "read": 5,
            "scored": 2,
            "left_out": {
                "no score in run a": 1,
                "no score in run b": 1,
                "no score in either run": 1,
            },
        }

    def test_what_the_readers_said_is_kept(self):
        ledger = Ledger(10, 8, {"late": 2}, notes=("two records were late",))
        columns = (["a"], [0], [3], [1], [3])
        a, b = ReplayCounts(*columns, ledger=ledger), ReplayCounts(*columns)
        result = reproducibility(a, b, population=ALIKE)
        assert result.records == {"a": ledger.to_dict(), "b": None}
        assert result.notes[0] == "two records were late"


class TestUndefined:
    def test_constant_scores_do_not_correlate(self):
        constant = small(([0] * 6, [1] * 6))
        result = reproducibility(constant, B, population=ALIKE)
        assert math.isnan(result.observed.pearson.estimate)
        assert result.observed.pearson.low is None
        assert "correlation: not estimable: the scores of one run do not vary" in result.notes[0]
        assert result.observed.agreement.low is not None
        assert result.to_dict()["observed"]["pearson"] == dict.fromkeys(
            ("estimate", "se", "low", "high")
        )

    def test_equal_scores_at_unequal_k_are_constant(self):
        # 1/3 and 2/6 are one score, whatever rounding does to their sum.
        a = ReplayCounts(list("abc"), [0] * 3, [3, 6, 9], [1, 2, 3], [3, 6, 9])
        b = ReplayCounts(list("abc"), [0, 1, 2], [3] * 3, [1] * 3, [3] * 3)
        assert math.isnan(reproducibility(a, b, population=ALIKE).observed.pearson.estimate)

    def test_a_rule_that_selects_nothing(self):
        result = reproducibility(A, B, rule="score > 1", population=ALIKE)
        assert math.isnan(result.observed.jaccard.estimate)
        assert math.isnan(result.predicted.jaccard)
        assert "Jaccard index: not estimable: the rule selects no question" in result.notes[0]

    def test_a_run_and_itself(self):
        result = reproducibility(A, A, population=ALIKE)
        assert [e.estimate for e in result.observed] == pytest.approx([1, 1, 1])
        assert [e.low for e in result.observed] == [None] * 3
        assert result.notes[0].startswith("no interval: the clusters do not differ at all")
        assert any("one log read twice" in note for note in result.notes)
        assert not any("read twice" in n for n in reproducibility(A, B, population=ALIKE).notes)

    def test_unknown_clusters_and_a_single_one(self):
        without = [
            ReplayCounts(r.question, r.sham_flips, r.sham_replays, r.destroy_flips,
                         r.destroy_replays) for r in (A, B)
        ]  # fmt: skip
        result = reproducibility(*without, population=ALIKE)
        assert result.clusters is None
        assert result.observed.agreement.estimate == pytest.approx(4 / 6)
        assert "no intervals: which questions share a video is not known" in result.notes[0]
        one = [r.select(r.cluster == "v") for r in (A, B)]
        result = reproducibility(*one, population=ALIKE)
        assert result.observed.agreement.low is None
        assert "no intervals: all questions belong to one cluster" in " ".join(result.notes)

    @pytest.mark.parametrize("population", [None, ALIKE])
    def test_no_question_with_a_score(self, population):
        empty = ReplayCounts(["a"], [0], [0], [1], [3])
        result = reproducibility(empty, empty, population=population)
        assert all(math.isnan(e.estimate) for e in result.observed)
        assert all(math.isnan(p) for p in result.predicted)
        assert result.notes == ("not estimable: no question has what the estimate needs",)

    def test_a_single_question(self):
        one = ReplayCounts(["a"], [0], [3], [2], [3], cluster=["v"])
        result = reproducibility(one, one)
        assert math.isnan(result.observed.pearson.estimate)
        assert result.observed.agreement.estimate == 1.0
        assert 0 < result.predicted.agreement <= 1

    def test_a_population_that_cannot_be_fitted_is_a_note(self):
        many = ReplayCounts(["a", "b"], [30, 80], [90, 90], [60, 85], [90, 90])
        result = reproducibility(many, many)  # 180 replays an arm in all
        assert result.population is None
        assert all(math.isnan(p) for p in result.predicted)
        assert any("no population could be fitted: question 'a' has 180" in n for n in result.notes)


def enumerate_runs(atoms, budgets_a, budgets_b, rule):
    """Two runs in fractions: an expectation over questions, atoms and both scores."""
    total = sum(w for _, _, w in atoms) * len(budgets_a)
    moment = dict.fromkeys(("a", "b", "aa", "bb", "ab", "same", "both", "either"), Fraction(0))
    for budget_a, budget_b in zip(budgets_a, budgets_b, strict=True):
        for p_sham, p_destroy, w in atoms:
            pmf_a, pmf_b = (
                score_pmf(*budget, float(p_sham), float(p_destroy))
                for budget in (budget_a, budget_b)
            )
            for a, chance_a in pmf_a.items():
                for b, chance_b in pmf_b.items():
                    chance = chance_a * chance_b * w / total
                    in_a, in_b = (rule.selects(s.numerator, s.denominator) for s in (a, b))
                    for name, value in {
                        "a": a, "b": b, "aa": a * a, "bb": b * b, "ab": a * b,
                        "same": sign(a) == sign(b),
                        "both": bool(in_a and in_b), "either": bool(in_a or in_b),
                    }.items():  # fmt: skip
                        moment[name] += chance * value
    variance = (moment["aa"] - moment["a"] ** 2) * (moment["bb"] - moment["b"] ** 2)
    covariance = moment["ab"] - moment["a"] * moment["b"]
    return (
        float(covariance) / math.sqrt(variance) if variance else math.nan,
        float(moment["same"]),
        float(moment["both"] / moment["either"]) if moment["either"] else math.nan,
    )


probabilities = st.fractions(0, 1, max_denominator=8)
budgets = st.tuples(st.integers(1, 3), st.integers(1, 3))


class TestPredicted:
    @given(
        st.lists(
            st.tuples(probabilities, probabilities, st.integers(1, 4)), min_size=1, max_size=3
        ),
        st.lists(st.tuples(budgets, budgets), min_size=1, max_size=3),
        st.sampled_from(["score < 0", "score <= 1/3", "score = 0"]),
    )
    @settings(max_examples=40)
    def test_each_question_at_its_own_replays(self, atoms, pairs, rule):
        runs = []
        for of_run in zip(*pairs, strict=True):
            sham, destroy = zip(*of_run, strict=True)
            zero = [0] * len(sham)
            runs.append(ReplayCounts(range(len(sham)), zero, sham, zero, destroy))
        population = Population(*(list(map(float, c)) for c in zip(*atoms, strict=True)))
        result = reproducibility(*runs, rule=rule, population=population)
        expected = enumerate_runs(atoms, *zip(*pairs, strict=True), ScoreRule.parse(rule))
        assert result.predicted == pytest.approx(expected, abs=1e-12, nan_ok=True)

    def test_one_budget_is_the_summary(self):
        a, b = two_runs(k=5)
        summary = Population.paper().summary(5)
        predicted = reproducibility(a, b, population=Population.paper()).predicted
        assert predicted == pytest.approx(
            (summary.reliability, summary.agreement, summary.jaccard), abs=1e-14
        )

    @pytest.mark.parametrize("ragged", [False, True])
    def test_actual_runs_are_as_predicted(self, rng, ragged):
        drawn = Population.paper().draw(40_000, clusters=4_000, rng=rng)
        k = rng.integers(1, 5, (4, 40_000)) if ragged else [3, 3, 3, 3]
        a, b = run(rng, drawn, *k[:2]), run(rng, drawn, *k[2:])
        result = reproducibility(a, b, population=Population.paper())
        for observed, predicted in zip(result.observed, result.predicted, strict=True):
            assert abs(observed.estimate - predicted) < 4 * observed.se

    def test_a_fitted_population_predicts_its_own_runs(self):
        a, b = two_runs(n=3_000, clusters=300)
        result = reproducibility(a, b)
        assert result.population.fit.questions == 3_000
        assert any("added up" in note for note in result.notes)
        # What Population.paper() itself has; the fit is as uncertain as 3,000 questions leave it.
        assert result.predicted == pytest.approx((0.5606, 0.6133, 0.2097), abs=0.05)

    def test_runs_that_differ_in_more_than_their_replays_agree_less_than_predicted(self, rng):
        drawn = Population.beta(0.5, 0.5, 0.5, 0.5).draw(2_000, clusters=200, rng=rng)
        other = Population.beta(0.5, 0.5, 0.5, 0.5).draw(2_000, clusters=200, rng=rng)
        a, b = run(rng, drawn, 3, 3), run(rng, other, 3, 3)
        b = ReplayCounts(b.question, b.sham_flips, b.sham_replays, b.destroy_flips,
                         b.destroy_replays, cluster=a.cluster)  # fmt: skip
        result = reproducibility(a, b)
        assert result.observed.pearson.high < result.predicted.pearson


class TestSpearmanBrown:
    def test_the_reference_population(self):
        # METHODS §4: r_3 gives r_10, and .9 needs k = 22.
        three = Population.paper().reliability(3)
        assert spearman_brown(three, 10 / 3) == pytest.approx(0.8096, abs=5e-5)
        assert spearman_brown(three, 21 / 3) < 0.9 <= spearman_brown(three, 22 / 3)

    def test_the_published_runs(self):
        # Table A1: .586, .548, .547, of mean .5603.
        assert spearman_brown((0.586 + 0.548 + 0.547) / 3, 10 / 3) == pytest.approx(0.809, abs=1e-3)

    def test_of_two_runs(self):
        a, b = two_runs()
        result = reproducibility(a, b, population=ALIKE)
        pearson, same, ten = (
            result.observed.pearson, result.reliability_at(3), result.reliability_at(10)
        )  # fmt: skip
        assert same.estimate == pytest.approx(pearson.estimate, abs=1e-15)
        assert (same.se, same.low, same.high) == pytest.approx(
            (pearson.se, pearson.low, pearson.high), abs=1e-15
        )
        r = pearson.estimate
        assert ten.estimate == pytest.approx(10 * r / (3 + 7 * r), abs=1e-15)
        assert ten.low < ten.estimate < ten.high
        step = 1e-6
        slope = (spearman_brown(r + step, 10 / 3) - spearman_brown(r - step, 10 / 3)) / (2 * step)
        assert ten.se == pytest.approx(slope * pearson.se, rel=1e-8)

    def test_a_negative_end_is_no_reliability_at_all(self):
        result = reproducibility(*two_runs(n=12, clusters=4), population=ALIKE)
        assert result.observed.pearson.low < 0 < result.observed.pearson.estimate
        assert result.reliability_at(10).low == 0.0

    def test_negative_correlation(self):
        contrary = small(([2, 1, 1, 0, 2, 2], [0, 0, 1, 1, 1, 0]))
        result = reproducibility(A, contrary, population=ALIKE)
        assert result.observed.pearson.estimate < 0
        reliability = result.reliability_at(10)
        assert math.isnan(reliability.estimate)
        assert reliability.low is None
        assert "correlate negatively" in reliability.note

    def test_without_an_interval(self):
        seven = reproducibility(A, A, population=ALIKE).reliability_at(7)
        assert seven.estimate == pytest.approx(1.0, abs=1e-15)
        assert (seven.se, seven.low, seven.high) == (None, None, None)
        assert seven.note.startswith("no interval")

    def test_mixed_budgets_have_no_one_correlation(self):
        b = ReplayCounts(list("abcdef"), [1] * 6, [3] * 6, [1] * 6, [2] * 6, cluster=list("uuvvww"))
        with pytest.raises(InputError) as refusal:
            reproducibility(A, b, population=ALIKE).reliability_at(10)
        assert str(refusal.value) == (
            "k=10: the formula of Spearman and Brown needs one k for all questions, arms and runs,"
            " and these have {'sham_a': 2, 'destroy_a': 2, 'sham_b': 3, 'destroy_b': 2}: use"
            " .population.reliability(10)"
        )


def test_text_and_html():
    result = reproducibility(A, B, rule="score <= 0", population=ALIKE)
    assert str(result).startswith(
        "Two runs over the same questions (6 scored in both, 3 clusters; 95 % cluster t intervals"
    )
    assert "Jaccard of score <= 0" in repr(result)
    assert "Jaccard of score &lt;= 0" in result._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("a.csv", B), {}, "counts is a str: it must be ReplayCounts"),
        ((A, None), {}, "counts is a NoneType: it must be ReplayCounts"),
        (
            (A, B.select(np.array([True, False, True, True, False, True]))),
            {},
            "question='b' is in counts_a and not in counts_b (2 such questions): give two runs",
        ),
        ((A.select(A.question > "a"), B), {}, "question='a' is in counts_b and not in counts_a"),
        (
            (A, small(([0] * 6, [1] * 6), cluster="uuvvwx")),
            {},
            "question='f' is in cluster 'w' in one run and in 'x' in the other",
        ),
        ((A, B), {"rule": "ties"}, "rule='ties' must be 'score'"),
        ((A, B), {"level": 1}, "level=1 must lie between 0 and 1"),
        ((A, B), {"population": 3}, "population is a int: it must be a Population"),
    ],
)
def test_refusals(arguments, options, message):
    with pytest.raises(InputError) as refusal:
        reproducibility(*arguments, **options)
    assert str(refusal.value).startswith(message)
