"""Risk and coverage: every order of ties in fractions, intervals, and what is not defined."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing_cases import clustered_se, jackknife_se

from carve_stats.clusters import NO_QUESTIONS, NO_SPREAD, ONE_CLUSTER
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.routing.ranked_risk import (
    COVERAGES,
    influence_functions,
    kept_at,
    rank_errors,
    risks,
)
from carve_stats.routing.selective import (
    ALL_KEPT,
    SAME_ORDER,
    compare_selective,
    risk_coverage,
)
from carve_stats.routing.selective_result import FIGURES

PARTIAL = Fraction(7, 10), Fraction(1)


def figures_of_order(wrong, partial):
    """The figures of one order of the questions, most trusted first, in fractions."""
    n = len(wrong)
    errors = list(itertools.accumulate(wrong))
    risk = [Fraction(e, j) for j, e in enumerate(errors, 1)]
    low, high = partial
    area = Fraction(0)
    for j, r in enumerate(risk, 1):
        area += max(Fraction(0), min(Fraction(j, n), high) - max(Fraction(j - 1, n), low)) * r
    # Half to even, as in the published table; at least one question is kept.
    kept = [
        max(1, round(coverage * n)) for coverage in (Fraction(1), Fraction(".9"), Fraction(".7"))
    ]
    return [
        sum(risk) / n,
        Fraction(sum(errors), n * n),
        area / (high - low),
        *(1 - risk[j - 1] for j in kept),
    ]


def mean_over_all_orders(score, correct, partial=PARTIAL):
    """The figures' means over all n! orders of the rows, each sorted by the score."""
    rows = list(zip(score, correct, strict=True))
    totals, orders = [Fraction(0)] * len(FIGURES), 0
    for order in itertools.permutations(rows):
        ranked = sorted(order, key=lambda row: -row[0])  # stable: ties stay as they came
        one = figures_of_order([1 - right for _, right in ranked], partial)
        totals = [total + x for total, x in zip(totals, one, strict=True)]
        orders += 1
    return [total / orders for total in totals]


def random_questions(rng, n=600, videos=60, levels=None):
    """A score that says something, tied at `levels` values; videos differ in how hard they are."""
    video = rng.integers(0, videos, n)
    score = rng.random(n)
    hard = rng.normal(0, 0.15, videos)[video]
    correct = rng.random(n) < np.clip(0.25 + 0.45 * score + hard, 0, 1)
    if levels is not None:
        score = np.floor(score * levels)
    return score, correct.astype(int), [f"v{v:03d}" for v in video]


@pytest.mark.parametrize("right", sorted(set(itertools.permutations([0, 0, 1, 1]))))
def test_four_tied_items_with_two_errors_have_an_area_of_one_half(right):
    result = risk_coverage([1, 1, 1, 1], right)
    assert result.aurc.estimate == 0.5
    assert result.partial_risk.estimate == 0.5
    assert [e.estimate for e in result.accuracy_at.values()] == [0.5] * 3


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=6),
    st.integers(0, 9),
    st.integers(1, 10),
)
def test_figures_are_the_means_over_all_orders_of_ties(rows, low, length):
    partial = low / 10, min(10, low + length) / 10
    score, correct = zip(*rows, strict=True)
    exact = mean_over_all_orders(
        score, correct, tuple(Fraction(round(10 * x), 10) for x in partial)
    )
    result = risk_coverage(score, correct, partial=partial)
    for ours, theirs in zip(result.figures.values(), exact, strict=True):
        assert ours.estimate == pytest.approx(float(theirs), abs=1e-14)


def test_every_table_of_four_questions_and_three_scores():
    # One multiset of rows stands for all its orders.
    kinds = [(s, c) for s in range(3) for c in range(2)]
    for rows in itertools.combinations_with_replacement(kinds, 4):
        items = np.array([sum(row[0] == s for row in rows) for s in (2, 1, 0)])
        errors = np.array([sum(row == (s, 0) for row in rows) for s in (2, 1, 0)])
        there = items > 0
        ours = risks(items[there], errors[there], PARTIAL)
        exact = mean_over_all_orders(*zip(*rows, strict=True))
        exact[3:] = [1 - x for x in exact[3:]]
        np.testing.assert_allclose(ours, [float(x) for x in exact], rtol=0, atol=1e-15)


def test_the_closed_form_of_a_plateau_in_harmonic_numbers(rng):
    items = rng.integers(1, 60, 12)
    errors = rng.binomial(items, 0.4)
    n = int(items.sum())
    harmonic = [Fraction(0)]
    for j in range(1, n + 1):
        harmonic.append(harmonic[-1] + Fraction(1, j))
    before = errors_before = 0
    area = generalized = Fraction(0)
    for m, e in zip(items.tolist(), errors.tolist(), strict=True):
        slope = Fraction(e, m)
        area += e + (errors_before - slope * before) * (harmonic[before + m] - harmonic[before])
        generalized += m * errors_before + Fraction(e * (m + 1), 2)
        before, errors_before = before + m, errors_before + e
    ours = risks(items, errors, PARTIAL)
    assert ours[0] == pytest.approx(float(area / n), abs=1e-15)
    assert ours[1] == pytest.approx(float(generalized / n**2), abs=1e-15)


def test_many_questions_lose_no_digits(rng):
    n = 300_000
    wrong = rng.random(n) < 0.4
    errors = np.cumsum(wrong)
    ours = risks(np.ones(n, int), wrong.astype(int), PARTIAL)
    exact = math.fsum(e / j for j, e in enumerate(errors.tolist(), 1)) / n
    assert ours[0] == pytest.approx(exact, rel=1e-13)
    tied = risks(np.array([10**6]), np.array([381_966]), PARTIAL)
    np.testing.assert_allclose(np.delete(tied, 1), 0.381966, rtol=1e-13)


def test_points_are_those_of_the_groups():
    result = risk_coverage([0.5, -1, 0.5, 0, 0.5], [1, 0, 0, 1, 1])
    assert result.score.tolist() == [0.5, 0, -1]
    assert result.coverage.tolist() == [0.6, 0.8, 1.0]
    assert result.risk.tolist() == [1 / 3, 1 / 4, 2 / 5]
    assert result.error_rate == 2 / 5


def test_accuracies_keep_as_many_questions_as_the_published_table():
    # Of 595 questions the confidence is printed as right in .4347 at coverage .9 and .4279 at .7:
    # no other number kept near either gives these digits.
    for coverage, kept, printed in (("9/10", 536, 0.4347), ("7/10", 416, 0.4279)):
        assert kept_at(Fraction(coverage), 595) == kept
        near = range(kept - 2, kept + 3)
        fitting = [m for m in near if any(round(r / m, 4) == printed for r in range(m))]
        assert fitting == [kept]
    assert kept_at(Fraction(7, 10), 1) == kept_at(Fraction(7, 10), 0) == 1


def test_the_range_is_the_decimal_that_was_written():
    # 0.7 as a float lies below 7/10: the seventh step, wrong here, would count a little.
    score = np.arange(10, 0, -1)
    result = risk_coverage(score, [1] * 6 + [0] + [1] * 3, partial=(0.7, 0.8))
    assert result.partial_risk.estimate == pytest.approx(1 / 8, abs=1e-15)
    whole = risk_coverage(score, [1, 0] * 5, partial=(0, 1))
    assert whole.partial_risk.estimate == pytest.approx(whole.aurc.estimate, abs=1e-15)


@pytest.mark.parametrize("options", [{}, {"interval": "bootstrap", "rng": 3, "resamples": 100}])
def test_row_order_changes_nothing(rng, options):
    for levels in (None, 5):
        score, correct, video = random_questions(rng, n=80, videos=9, levels=levels)
        other = np.floor(rng.random(80) * 4)
        other[3] = math.nan
        order = rng.permutation(80)
        shuffled = score[order], correct[order], [video[i] for i in order]
        ours = risk_coverage(score, correct, cluster=video, **options)
        again = risk_coverage(*shuffled[:2], cluster=shuffled[2], **options)
        assert ours.to_dict() == again.to_dict()
        ours = compare_selective(score, other, correct, cluster=video, **options)
        again = compare_selective(
            shuffled[0], other[order], shuffled[1], cluster=shuffled[2], **options
        )
        assert ours.to_dict() == again.to_dict()


def numeric_figures(score, correct):
    """Figures of a plain loop, for the jackknife."""
    ranked = rank_errors(score, correct == 0)
    values = risks(ranked.items, ranked.errors, PARTIAL)
    return np.append(values[:3], 1 - values[3:])


@pytest.mark.parametrize("levels", [None, 7])
def test_influence_functions_have_mean_zero_and_the_standard_error_of_the_jackknife(rng, levels):
    score, correct, video = random_questions(rng, n=2000, videos=150, levels=levels)
    phi = influence_functions(rank_errors(score, correct == 0), correct == 0, PARTIAL)
    np.testing.assert_allclose(phi.mean(axis=1), 0, atol=1e-12)
    result = risk_coverage(score, correct, cluster=video)
    for place, (name, estimate) in enumerate(result.figures.items()):
        assert estimate.se == pytest.approx(clustered_se(phi[place].tolist(), video), rel=1e-9)
        if levels is None and name in ("accuracy_at_90", "accuracy_at_70"):
            continue  # the jackknife of a single cut through untied scores is not consistent
        se = jackknife_se(
            lambda rows, i=place: numeric_figures(score[rows], correct[rows])[i], video
        )
        assert estimate.se == pytest.approx(se, rel=0.03), name


@pytest.mark.parametrize("levels", [None, 7])
def test_the_bootstrap_agrees(rng, levels):
    score, correct, video = random_questions(rng, n=700, videos=100, levels=levels)
    by_t = risk_coverage(score, correct, cluster=video)
    boot = risk_coverage(score, correct, cluster=video, interval="bootstrap", rng=2, resamples=1200)
    for name in FIGURES:
        ours, theirs = boot.figures[name], by_t.figures[name]
        assert ours.estimate == theirs.estimate
        assert ours.se == pytest.approx(theirs.se, rel=0.1), name
        assert ours.low == pytest.approx(theirs.low, abs=0.35 * theirs.se)
    assert boot.interval.method == "bootstrap"


def test_the_bootstrap_is_that_of_repeated_rows(rng):
    # Two videos: each resample is one of three data sets, whose figures bound the percentiles.
    score, correct, video = random_questions(rng, n=12, videos=2, levels=4)
    boot = risk_coverage(score, correct, cluster=video, interval="bootstrap", rng=5, resamples=400)
    first = np.array(video) == "v000"
    rows = np.arange(12)
    sets = [np.repeat(rows[first], 2), rows, np.repeat(rows[~first], 2)]
    for name in FIGURES:
        values = [risk_coverage(score[s], correct[s]).figures[name].estimate for s in sets]
        assert boot.figures[name].low == pytest.approx(min(values), abs=1e-12)
        assert boot.figures[name].high == pytest.approx(max(values), abs=1e-12)


def test_intervals_cover_the_truth_about_as_often_as_they_say(rng):
    # A long list stands for the population: right with chance .25 + .45 × score, videos differ.
    truth = {
        name: np.mean([
            risk_coverage(*random_questions(rng, n=20_000, videos=4000)[:2]).figures[name].estimate
            for _ in range(10)
        ])
        for name in ("aurc", "partial_risk", "accuracy_at_70")
    }  # fmt: skip
    hits = dict.fromkeys(truth, 0)
    for _ in range(300):
        score, correct, video = random_questions(rng, n=300, videos=60)
        result = risk_coverage(score, correct, cluster=video)
        for name, value in truth.items():
            hits[name] += result.figures[name].low <= value <= result.figures[name].high
    # Binomial(300, .95) has mean 285 and standard deviation 3.8.
    for name, n in hits.items():
        assert 270 <= n <= 298, (name, n)


def test_a_comparison_is_the_difference_of_both_on_the_common_questions(rng):
    score, correct, video = random_questions(rng)
    other = np.floor(6 * (0.7 * score + 0.3 * rng.random(600)))
    score, other, correct = score.copy(), other.copy(), correct.astype(float)
    score[[4, 8]] = math.nan
    other[[8, 9]] = math.nan
    correct[20] = math.nan
    result = compare_selective(score, other, correct, cluster=video, names=("Δ̂", "confidence"))
    assert result.questions == {
        "read": 600,
        "used": 596,
        "left_out": {"outcome not known": 1, "no Δ̂": 2, "no confidence": 1},
    }
    kept = ~(np.isnan(score) | np.isnan(other) | np.isnan(correct))
    videos = np.array(video)[kept]
    a, b = (risk_coverage(s[kept], correct[kept], cluster=videos) for s in (score, other))
    phi = [
        influence_functions(rank_errors(s[kept], correct[kept] == 0), correct[kept] == 0, PARTIAL)
        for s in (score, other)
    ]
    for place, name in enumerate(FIGURES):
        difference = result.differences[name]
        assert result.a.figures[name].estimate == a.figures[name].estimate
        assert result.b.figures[name].estimate == b.figures[name].estimate
        expected = a.figures[name].estimate - b.figures[name].estimate
        assert difference.estimate == pytest.approx(expected, abs=1e-12)
        if name == "accuracy_at_100":
            assert difference.low is None
            assert difference.note == ALL_KEPT
            continue
        se = clustered_se((phi[0] - phi[1])[place].tolist(), videos.tolist())
        # The rows of equal scores are in another order: so are sums, and the local error rates not.
        assert difference.se == pytest.approx(se, rel=1e-9)
        assert difference.se < math.hypot(a.figures[name].se, b.figures[name].se)
    t = result.differences["aurc"].estimate / result.differences["aurc"].se
    # Two-sided, from Student's density with 59 degrees of freedom by the trapezoidal rule.
    x = np.linspace(abs(t), abs(t) + 60, 400_001)
    density = (1 + x * x / 59) ** -30 * math.exp(
        math.lgamma(30) - math.lgamma(29.5) - math.log(59 * math.pi) / 2
    )
    assert result.p_values["aurc"] == pytest.approx(2 * np.trapezoid(density, x), rel=1e-6)
    assert result.p_values["accuracy_at_100"] is None


def test_swapping_the_scores_turns_the_signs(rng):
    score, correct, video = random_questions(rng, n=90, videos=12)
    other = np.floor(rng.random(90) * 3)
    one = compare_selective(score, other, correct, cluster=video)
    back = compare_selective(other, score, correct, cluster=video)
    for name in FIGURES:
        assert back.differences[name].estimate == pytest.approx(-one.differences[name].estimate)
        if one.differences[name].low is not None:
            assert back.differences[name].high == pytest.approx(-one.differences[name].low)
            assert back.p_values[name] == pytest.approx(one.p_values[name])


def test_the_paired_bootstrap_agrees(rng):
    score, correct, video = random_questions(rng, n=500, videos=80)
    other = rng.random(500)
    by_t = compare_selective(score, other, correct, cluster=video)
    boot = compare_selective(
        score, other, correct, cluster=video, interval="bootstrap", rng=4, resamples=800
    )
    for name in ("aurc", "augrc", "partial_risk", "accuracy_at_70"):
        assert boot.differences[name].se == pytest.approx(by_t.differences[name].se, rel=0.15)
        assert boot.p_values[name] is None


def test_only_the_order_of_the_scores_counts(rng):
    score, correct, video = random_questions(rng, n=70, videos=8, levels=6)
    result = compare_selective(score, np.exp(score) / 7, correct, cluster=video)
    assert {e.estimate for e in result.differences.values()} == {0.0}
    assert any(SAME_ORDER in note for note in result.notes)
    as_it_is, other = (
        risk_coverage(s, correct, cluster=video).to_dict() for s in (score, np.exp(score) / 7)
    )
    as_it_is["points"].pop("score")
    other["points"].pop("score")
    assert as_it_is == other


@pytest.mark.parametrize(("right", "risk"), [(1, 0.0), (0, 1.0)])
def test_all_right_and_all_wrong(rng, right, risk):
    result = risk_coverage(rng.random(30), [right] * 30, cluster=[f"v{i % 6}" for i in range(30)])
    assert result.aurc.estimate == pytest.approx(risk)
    assert result.accuracy_at[0.7].estimate == pytest.approx(1 - risk)
    assert result.aurc.low is None
    assert NO_SPREAD in result.notes


def test_without_clusters_and_with_one_there_are_points_and_notes(rng):
    score, correct, _ = random_questions(rng, n=40)
    for cluster, note in ((None, UNKNOWN_CLUSTERS), (["v"] * 40, ONE_CLUSTER)):
        for options in ({}, {"interval": "bootstrap", "rng": 1}):
            result = risk_coverage(score, correct, cluster=cluster, **options)
            assert result.aurc.estimate > 0
            assert result.aurc.se is None
            assert result.notes == (note,)


def test_what_is_missing_is_counted():
    result = risk_coverage([3, None, 1, math.nan, 2], [True, False, None, None, False])
    assert result.questions == {
        "read": 5, "used": 2, "left_out": {"outcome not known": 2, "no score": 1},
    }  # fmt: skip
    assert "1 question left out (no score): coverage is a share of the others" in result.notes
    assert result.risk.tolist() == [0.0, 0.5]


def test_no_question_is_left():
    for score, correct in (([], []), ([None], [1]), ([1.0], [None])):
        result = risk_coverage(score, correct, cluster=["v"] * len(score))
        assert math.isnan(result.aurc.estimate)
        assert NO_QUESTIONS in result.notes
        assert result.to_dict()["aurc"]["estimate"] is None
        assert compare_selective(score, score, correct).differences["aurc"].low is None


def test_one_question():
    result = risk_coverage([0.2], [0], cluster=["v"])
    assert result.aurc.estimate == 1.0
    assert "1 question, 1 cluster " in str(result)
    assert "1 different score;" in str(result)


def test_a_score_that_tells_nothing_is_said_to(rng):
    result = risk_coverage([1.0] * 20, [0, 1] * 10, name="confidence")
    assert any(note.startswith("confidence is the same for all questions") for note in result.notes)


def test_infinite_scores_have_a_place_in_the_order():
    result = risk_coverage([math.inf, 0, -math.inf], [1, 0, 0])
    assert result.risk.tolist() == [0, 0.5, 2 / 3]
    json.dumps(result.to_dict(), allow_nan=False)


def test_forms_of_the_results(rng):
    score, correct, video = random_questions(rng, n=60, videos=8)
    result = risk_coverage(score, correct, cluster=video, name="p<q")
    values = result.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert list(result.figures) == list(FIGURES)
    assert list(result.accuracy_at) == [float(c) for c in COVERAGES]
    text = str(result)
    assert text.startswith("Selective prediction by p<q: 60 questions, 8 clusters (95 % cluster t")
    assert "mean risk, coverage 0.7 to 1  " in text
    assert repr(result) == text
    assert "p&lt;q" in result._repr_html_()
    compared = compare_selective(score, -score, correct, cluster=video, names=("up", "down"))
    values = compared.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert str(compared).startswith("a: up; b: down\nSelective prediction: 60 questions")
    assert "a − b" in compared._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1]), "score has 2 rows and correct has 1"),
        (([1], [2]), "correct=2 in row 0 must be 1, 0 or missing"),
        ((["high"], [1]), "score holds values that are not numbers"),
        (([[1.0]], [1]), "score has shape"),
        (([1], ["yes"]), "correct holds values that are not numbers"),
    ],
)
def test_wrong_input_is_one_line(arguments, message):
    with pytest.raises(InputError, match=message) as raised:
        risk_coverage(*arguments)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partial": (0.9, 0.7)}, "must be a lower and a higher coverage"),
        ({"partial": (0.5, 1.1)}, "between 0 and 1"),
        ({"partial": 0.7}, "must be two coverages"),
        ({"partial": (0.7, math.nan)}, "partial='nan' must be a number"),
        ({"cluster": ["v"]}, "cluster has 1 rows"),
        ({"cluster": ["v", None]}, "every row needs an id"),
        ({"interval": "bootstrap"}, "needs rng"),
        ({"interval": "normal"}, "interval"),
        ({"level": 1.0}, "level=1.0 must lie between"),
    ],
)
def test_wrong_options_are_one_line(options, message):
    with pytest.raises(InputError, match=message):
        risk_coverage([1, 2], [1, 0], **options)


def test_two_scores_need_two_names():
    with pytest.raises(InputError, match="must be two different names"):
        compare_selective([1], [2], [1], names=("x", "x"))


def test_ties_that_rounding_broke_are_remarked_on():
    def remarks(score):
        notes = risk_coverage(score, [0, 1, 1]).notes
        return [
            note for note in notes if note.startswith("some values of score differ by rounding")
        ]

    assert len(remarks([2 / 3 - 1 / 3, 1 - 2 / 3, 1 / 3])) == 1
    assert remarks([1 / 3, 1 / 3, 2 / 3]) == []
    assert remarks([1e-9, 2e-9, np.inf]) == []


def test_a_whole_result_in_the_place_of_a_column_is_told_from_one():
    counts = ReplayCounts(["a", "b"], [0, 1], [3, 3], [2, 0], [3, 3])
    outcomes = Outcomes(["a", "b"], [1, 0], {})
    for correct, said in (
        (outcomes, "correct is an Outcomes, no column: give its original_correct"),
        (outcomes.original, "correct is an Answerer, no column: give its correct"),
    ):
        with pytest.raises(InputError, match=said):
            risk_coverage(counts.score, correct)
    with pytest.raises(InputError, match="score b is a ReplayCounts, no column: give its score"):
        compare_selective([1, 2], counts, [1, 0])


def test_infinite_scores_are_the_first_and_the_last():
    finite = risk_coverage([9, 2, 1, 0], [1, 0, 1, 0])
    infinite = risk_coverage([math.inf, 2, 1, -math.inf], [1, 0, 1, 0])
    assert infinite.risk.tolist() == finite.risk.tolist()
    assert infinite.aurc == finite.aurc
