"""Correlations and ROC-AUC: against all pairs in fractions, and numeric derivatives."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_cases import judged_log
from scipy.stats import t as student

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.association import associations, roc_auc
from carve_stats.outcomes import Outcomes


def auc_by_pairs(values, true):
    ones = [x for x, t in zip(values, true, strict=True) if t]
    zeros = [x for x, t in zip(values, true, strict=True) if not t]
    wins = sum(Fraction(2 * (a > b) + (a == b), 2) for a in ones for b in zeros)
    return wins / (len(ones) * len(zeros))


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=25).filter(
        lambda rows: len({t for _, t in rows}) == 2
    )
)
def test_roc_auc_counts_every_pair(rows):
    values, true = map(np.array, zip(*rows, strict=True))
    result = roc_auc(values / 3, true, np.arange(len(rows)), 0.95)
    assert result.estimate == float(auc_by_pairs(values.tolist(), true.tolist()))


def weighted_auc(w, x, true):
    wins = (x[true][:, None] > x[~true]) + 0.5 * (x[true][:, None] == x[~true])
    return w[true] @ wins @ w[~true] / (w[true].sum() * w[~true].sum())


def weighted_r(w, x, y):
    covariance = np.cov(x, y, aweights=w)
    return covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])


def derivative_se(statistic, codes):
    """The influence of a cluster is the derivative by the weight of its questions."""
    step, v = 1e-5, len(np.unique(codes))
    slopes = [
        (statistic(1 + step * (codes == c)) - statistic(1 - step * (codes == c))) / (2 * step)
        for c in np.unique(codes)
    ]
    return math.sqrt(v / (v - 1) * sum(slope**2 for slope in slopes))


@pytest.mark.parametrize("seed", range(3))
def test_estimates_and_cluster_intervals(seed):
    counts, outcomes = judged_log(seed)
    result = associations(counts, outcomes, level=0.9)
    flags = {"true": 1.0, "false": 0.0, "": np.nan}
    rows = np.searchsorted(counts.question, outcomes.question)
    columns = {
        "score": counts.score[rows],
        "correct": outcomes.original_correct,
        "covered": np.array([flags[x] for x in outcomes.covariates["covered"]]),
        "recall": outcomes.covariates["recall"],
    }
    assert [(row.predictor, row.target) for row in result.rows] == [
        ("score", "correct"), ("score", "covered"), ("score", "recall"),
        ("covered", "correct"), ("recall", "correct"),
    ]  # fmt: skip
    for row in result.rows:
        x, y = columns[row.predictor], columns[row.target]
        known = ~np.isnan(columns["score"] + x + y)
        x, y, codes = x[known], y[known], outcomes.cluster[known]
        v = len(np.unique(codes))
        assert (row.questions, row.clusters) == (known.sum(), v)
        expected = {"pearson": (np.corrcoef(x, y)[0, 1], lambda w, x=x, y=y: weighted_r(w, x, y))}
        if row.target != "recall":
            true = y == 1
            auc = float(auc_by_pairs(x.tolist(), true.tolist()))
            expected["roc_auc"] = (auc, lambda w, x=x, true=true: weighted_auc(w, x, true))
        else:
            assert row.roc_auc is None
        for name, (value, statistic) in expected.items():
            estimate = getattr(row, name)
            se = derivative_se(statistic, codes)
            assert estimate.estimate == pytest.approx(value, abs=1e-12)
            assert estimate.se == pytest.approx(se, rel=1e-6)
            half = student.ppf(0.95, v - 1) * se
            assert estimate.high == pytest.approx(value + half, rel=1e-6)


def test_coverage_and_correctness_as_published():
    """From the published counts of table 2 alone: 275, 293, 245 and 436 questions."""
    covered = np.repeat([1, 0, 1, 0], [275, 293, 245, 436])
    correct = np.repeat([1, 1, 0, 0], [275, 293, 245, 436])
    n = covered.size
    ids = [f"q{i:04d}" for i in range(n)]
    counts = ReplayCounts(ids, [0] * n, [3] * n, covered + 2 * correct, [3] * n)
    outcomes = Outcomes(ids, correct, {}, covariates={"covered": covered})
    row = associations(counts, outcomes)["covered", "correct"]
    # Of two classes by two values: sensitivity and specificity, averaged.
    assert row.roc_auc.estimate == pytest.approx((275 / 568 + 436 / 681) / 2)
    phi = (275 * 436 - 293 * 245) / math.sqrt(520 * 729 * 568 * 681)
    assert row.pearson.estimate == pytest.approx(phi)


def test_row_order_changes_nothing():
    counts, outcomes = judged_log()
    turn = np.random.default_rng(0).permutation(len(counts))
    turned = ReplayCounts(**{n: np.array(c)[turn] for n, c in counts.to_dict().items()})
    one, other = (associations(c, outcomes).to_dict() for c in (counts, turned))
    assert json.dumps(one, allow_nan=False) == json.dumps(other, allow_nan=False)


def small(correct, recall=(0, 0.5, 0.5, 1), cluster="uvwx"):
    ids = list("abcd")
    counts = ReplayCounts(ids, [0, 1, 2, 1], [3] * 4, [3, 1, 2, 2], [3] * 4, cluster=list(cluster))
    covariates = {"recall": list(recall), "kind": list("aabb")}
    return counts, Outcomes(ids, correct, {}, covariates=covariates)


class TestClearAnswers:
    @pytest.mark.parametrize("correct", [0, 1])
    def test_one_class(self, correct):
        result = associations(*small([correct] * 4))
        row = result["score", "correct"]
        assert row.to_dict()["roc_auc"]["estimate"] is None
        assert row.to_dict()["pearson"]["estimate"] is None
        notes = " ".join(result.notes)
        assert "score → correct (ROC-AUC)" in notes
        assert "all questions are of one class" in notes
        assert not math.isnan(result["score", "recall"].pearson.estimate)

    def test_texts_are_told_and_refused(self):
        result = associations(*small([1, 0, 1, 0]))
        assert {row.predictor for row in result.rows} == {"score", "recall"}
        assert any(note.startswith("kind: texts, which have no order") for note in result.notes)
        with pytest.raises(InputError, match="names='kind' is a text"):
            associations(*small([1, 0, 1, 0]), names=["kind"])

    def test_names_choose(self):
        assert len(associations(*small([1, 0, 1, 0]), names=[]).rows) == 1
        pairs = [
            (r.predictor, r.target) for r in associations(*small([1, 0, 1, 0]), names="recall").rows
        ]
        assert pairs == [("score", "correct"), ("score", "recall"), ("recall", "correct")]

    def test_a_constant_covariate(self):
        result = associations(*small([1, 0, 1, 0], recall=[0.5] * 4))
        assert math.isnan(result["score", "recall"].pearson.estimate)
        assert result["recall", "correct"].roc_auc.estimate == 0.5
        assert "one of the two does not vary" in " ".join(result.notes)

    def test_the_unit_of_a_covariate_changes_nothing(self):
        recall = np.array([0, 0.5, 0.75, 1])
        one, *others = (
            associations(*small([1, 0, 1, 0], recall=recall * unit))["score", "recall"].pearson
            for unit in (1, 1e-200, 1e200, 3)
        )
        for other in others:
            assert other.estimate == pytest.approx(one.estimate, rel=1e-12)
            assert other.se == pytest.approx(one.se, rel=1e-12)

    def test_infinite_values_are_refused(self):
        with pytest.raises(InputError, match="recall=inf of question 'd' must be finite"):
            associations(*small([1, 0, 1, 0], recall=[0, 1, 2, np.inf]))

    def test_a_covariate_called_correct_is_not_looked_at(self):
        counts, _ = small([1, 0, 1, 0])
        outcomes = Outcomes(list("abcd"), [1, 0, 1, 0], {}, covariates={"correct": [0, 0, 0, 0]})
        result = associations(counts, outcomes)
        assert [(row.predictor, row.target) for row in result.rows] == [("score", "correct")]
        assert result["score", "correct"].roc_auc.estimate == 0.625  # 1 and 0 against 0 and 1/3
        assert "the covariate of that name is not looked at" in result.notes[0]

    def test_nothing_known(self):
        result = associations(*small([None] * 4))
        assert result["score", "correct"].questions == 0
        assert "no question has what the estimate needs" in " ".join(result.notes)

    def test_one_video(self):
        row = associations(*small([1, 0, 1, 0], cluster="vvvv"))["score", "correct"]
        assert row.roc_auc.se is None
        assert "one cluster" in row.roc_auc.note

    def test_tables(self):
        result = associations(*small([1, 0, 1, 0]))
        assert "score → correct" in str(result)
        assert "ROC-AUC" in result._repr_html_()

    def test_an_unknown_pair_or_name(self):
        with pytest.raises(InputError, match="unknown pair 'score, kind'"):
            associations(*small([1, 0, 1, 0]))["score", "kind"]
        with pytest.raises(InputError, match=r"unknown covariate 'recal'.*'recall'"):
            associations(*small([1, 0, 1, 0]), names=["recal"])
