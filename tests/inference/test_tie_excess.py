import csv
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from excess_oracles import excess as enumerated_excess
from excess_oracles import subsampled
from hypothesis import given
from hypothesis import strategies as st

from carve_stats import clusters
from carve_stats.counts import UNKNOWN_CLUSTERS, Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.tie_excess import DESCRIPTOR, RATES_BY_T, tie_excess
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.population.mixing import Population

PUBLISHED = Path(__file__).parents[1] / "data" / "published"
SIGNS = ("negative", "zero", "positive")


def counts_of(rows, cluster=None, **more):
    x, k_sham, y, k_destroy = np.array(rows, int).reshape(-1, 4).T
    ids = [f"q{i:05}" for i in range(len(x))]
    return ReplayCounts(ids, x, k_sham, y, k_destroy, cluster=cluster, **more)


def points(result):
    return [estimate.estimate for estimate in result.excess]


def draw_log(rng, n=120, videos=15, ragged=False):
    k_sham = rng.choice([2, 3, 4], n, p=[0.1, 0.8, 0.1]) if ragged else np.full(n, 3)
    k_destroy = rng.choice([2, 3, 4], n, p=[0.1, 0.8, 0.1]) if ragged else np.full(n, 3)
    x = rng.binomial(k_sham, rng.beta(1, 2, n))
    y = rng.binomial(k_destroy, rng.beta(2, 1, n))
    rows = np.stack([x, k_sham, y, k_destroy], axis=1)
    return rows, [f"v{i}" for i in rng.integers(0, videos, n)]


flips = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)


@given(flips)
def test_at_k_1_the_excess_is_a_covariance_for_any_data(pairs):
    n = len(pairs)
    mean_x, mean_y = (Fraction(sum(column), n) for column in zip(*pairs, strict=True))
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in pairs) / n
    negative, zero, positive = points(tie_excess(counts_of([(x, 1, y, 1) for x, y in pairs])))
    assert zero == pytest.approx(float(2 * covariance), abs=1e-13)
    assert negative == pytest.approx(float(-covariance), abs=1e-13)
    assert positive == pytest.approx(float(-covariance), abs=1e-13)


def row(most=4):
    return st.tuples(st.integers(0, most), st.integers(0, most)).flatmap(
        lambda k: st.tuples(
            st.integers(0, k[0]), st.just(k[0]), st.integers(0, k[1]), st.just(k[1])
        )
    )


some_scored = st.lists(row(), min_size=1, max_size=15).filter(
    lambda rows: any(k and m for _, k, _, m in rows)
)


@given(some_scored)
def test_excess_is_the_enumerated_one_and_sums_to_zero(rows):
    result = tie_excess(counts_of(rows))
    scored = [r for r in rows if r[1] and r[3]]
    exact = [float(e) for e in enumerated_excess(scored)]
    assert points(result) == pytest.approx(exact, abs=1e-13)
    assert math.fsum(points(result)) == pytest.approx(0, abs=1e-13)
    assert math.fsum(result.observed) == pytest.approx(1, abs=1e-13)
    for sign in SIGNS:
        difference = getattr(result.observed, sign) - getattr(result.predicted, sign)
        assert getattr(result.excess, sign).estimate == pytest.approx(difference, abs=1e-15)
    questions = result.questions
    assert questions["read"] == questions["scored"] + sum(questions["left_out"].values())
    json.dumps(result.to_dict(), allow_nan=False)


@given(some_scored, st.data())
def test_symmetries(rows, data):
    codes = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    result = tie_excess(counts_of(rows, codes))
    relabelled = tie_excess(counts_of([(k - x, k, m - y, m) for x, k, y, m in rows], codes))
    swapped = tie_excess(counts_of([(y, m, x, k) for x, k, y, m in rows], codes))
    for mirrored in (relabelled, swapped):
        for sign, opposite in zip(SIGNS, SIGNS[::-1], strict=True):
            a, b = getattr(result.excess, sign), getattr(mirrored.excess, opposite)
            assert a.estimate == pytest.approx(b.estimate, abs=1e-13)
            assert a.note == b.note
            assert (a.se or 0) == pytest.approx(b.se or 0, abs=1e-12)
            null = getattr(mirrored.null_se, opposite)
            # The square root turns a rounding of 1e-17 into one of 3e-9.
            assert getattr(result.null_se, sign) == pytest.approx(null, abs=1e-8)


def test_doubling_every_question_within_its_cluster_changes_no_interval(rng):
    rows, cluster = draw_log(rng, ragged=True)
    once = tie_excess(counts_of(rows, cluster))
    twice = tie_excess(counts_of(np.concatenate([rows, rows]), cluster * 2))
    for a, b in zip(once.excess, twice.excess, strict=True):
        assert (a.estimate, a.se, a.low) == pytest.approx((b.estimate, b.se, b.low), rel=1e-10)
    for a, b in zip(once.null_se, twice.null_se, strict=True):
        assert a == pytest.approx(b * math.sqrt(2), rel=1e-10)


def test_linearised_se_is_close_to_the_delete_one_cluster_jackknife(rng):
    rows, cluster = draw_log(rng, n=900, videos=60, ragged=True)
    names = np.array(cluster)
    result = tie_excess(counts_of(rows, cluster))
    left_out = np.array(
        [points(tie_excess(counts_of(rows[names != name]))) for name in np.unique(names)]
    )
    v = len(left_out)
    jackknife = np.sqrt((v - 1) / v * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    # They differ by terms of order 1/v.
    assert [e.se for e in result.excess] == pytest.approx(jackknife, rel=0.03)


@pytest.mark.parametrize("k", [3, 10])
def test_homogeneous_rows_of_the_published_table(k):
    # The prediction at the k = 3 flip rates of the published strata, pooled by size. The rates
    # themselves were not printed; the project's notes expect agreement within .003.
    with (PUBLISHED / "a3_components.csv").open() as file:
        strata = [row for row in csv.DictReader(file) if row["k"] == "3"]
    with (PUBLISHED / "a2_tie_excess.csv").open() as file:
        (printed,) = (
            row for row in csv.DictReader(file)
            if row["k"] == str(k) and row["distribution"] == "homogeneous"
        )  # fmt: skip
    n = [int(row["n"]) for row in strata]
    total = sum(n)
    rates = [
        sum(m * float(row[arm]) for m, row in zip(n, strata, strict=True)) / total
        for arm in ("sham", "destroy")
    ]
    assert total == 1249
    law = FiniteReplayLaw(*rates, k=k).signs()
    # A log with these rates to within a half flip: its spread does not matter here.
    columns = []
    for rate in rates:
        whole = round(rate * k * total)
        flips = np.full(total, whole // total)
        flips[: whole % total] += 1
        columns += [flips, np.full(total, k)]
    result = tie_excess(counts_of(np.stack(columns, axis=1)))
    for sign in SIGNS:
        assert getattr(law, sign) == pytest.approx(float(printed[sign]), abs=0.003)
        assert getattr(result.predicted, sign) == pytest.approx(getattr(law, sign), abs=5e-4)


def test_a_very_heterogeneous_population_can_have_no_tie_excess():
    # Mass 3/28 on (0, 0) and (1, 1), 11/28 on (0, 1/2) and (1, 1/2); logs with exactly the
    # expected counts, 28·2^k questions.
    expected = {1: Fraction(3, 28), 2: Fraction(1, 28), 3: 0, 10: Fraction(71301, 1835008)}
    for k, tau in expected.items():
        rows = [(0, k, 0, k), (k, k, k, k)] * (3 * 2**k)
        for y in range(k + 1):
            rows += [(0, k, y, k), (k, k, y, k)] * (11 * math.comb(k, y))
        result = tie_excess(counts_of(rows))
        assert result.excess.zero.estimate == pytest.approx(float(tau), abs=1e-14)
    assert DESCRIPTOR in result.notes


@pytest.mark.parametrize("flips", [(0, 0), (3, 3), (0, 3)])
def test_pooled_rates_of_zero_and_one(flips):
    x, y = flips
    result = tie_excess(counts_of([(x, 3, y, 3)] * 4, list("abcd")))
    assert points(result) == [0, 0, 0]
    assert result.null_se == (0, 0, 0)
    # No question differs from another, so nothing says how far this could be off.
    assert [e.se for e in result.excess] == [None] * 3
    assert clusters.NO_SPREAD in result.notes


def test_ragged_logs_come_at_equal_k_as_well():
    rows = [
        (1, 3, 2, 3), (0, 3, 3, 3), (2, 3, 2, 3),  # the mode
        (2, 4, 1, 3), (1, 5, 4, 5),                # more: subsampled
        (1, 2, 1, 3), (0, 3, 1, 1),                # fewer: left out
        (1, 1, 0, 0),                              # no score
    ]  # fmt: skip
    result = tie_excess(counts_of(rows, list("abcabcab")))
    assert result.k == {"sham": None, "destroy": None}
    equal = result.equal_k
    assert equal.k == {"sham": 3, "destroy": 3}
    assert equal.questions == {
        "read": 8,
        "scored": 5,
        "subsampled": 2,
        "left_out": {
            "no valid destroy replay": 1,
            "fewer valid replays than 3 sham and 3 destroy": 2,
        },
    }
    kept = rows[:5]
    exact = [float(e) for e in enumerated_excess(kept, at=(3, 3))]
    assert points(equal) == pytest.approx(exact, abs=1e-14)
    shares = [subsampled(*r, 3, 3) for r in kept]
    assert list(equal.observed) == pytest.approx(
        [float(sum(s[i] for s in shares) / 5) for i in range(3)], abs=1e-14
    )
    assert equal.flip_rates.sham.questions == 5
    assert all(e.low < e.estimate < e.high for e in equal.excess)
    assert equal.interval.df == 2
    assert equal.equal_k is None
    (note,) = (n for n in result.notes if n.startswith("k differs"))
    assert "2 questions with more were subsampled" in note
    assert "2 questions with fewer were left out" in note
    assert "2 of the questions subsampled" in str(result)
    fewer = tie_excess(counts_of([*rows[:3], *rows[5:]], list("abcabc")))
    assert "subsampled" not in str(fewer)
    one = tie_excess(counts_of([*rows[:4]], list("abca")))
    assert any("in each arm 1 question with more was subsampled (exactly)" in n for n in one.notes)
    assert not any("fewer" in n for n in one.notes if n.startswith("k differs"))


def test_one_ragged_arm_names_the_k_of_the_other():
    result = tie_excess(counts_of([(1, 3, 2, 3), (0, 3, 1, 2), (1, 3, 3, 3)]))
    assert result.k == {"sham": 3, "destroy": None}
    assert result.equal_k.questions["scored"] == 2


@pytest.mark.parametrize(
    ("k", "expected"),
    [(3, (0.13042, 0.29219, 0.57739)), (10, (0.16548, 0.12417, 0.71036))],
)
def test_paper_like_logs_show_the_population_s_sign_shares(k, expected, rng):
    # The shares are the project's published figures for its paper-like population.
    counts = Population.paper().sample(n=1249, k=k, clusters=103, icc=0.1, rng=rng)
    result = tie_excess(counts)
    for observed, share in zip(result.observed_intervals, expected, strict=True):
        assert abs(observed.estimate - share) < 4 * observed.se
    # The excess stands out from chance, as it did in the published table.
    assert result.excess.zero.low > 3 * result.null_se.zero


def test_equal_logs_have_no_second_view():
    result = tie_excess(counts_of([(1, 3, 2, 3), (0, 3, 1, 3)]))
    assert result.k == {"sham": 3, "destroy": 3}
    assert result.equal_k is None
    assert result.to_dict()["equal_k"] is None
    assert "k = 3" in str(result)


def test_observed_intervals_are_those_of_a_share():
    # One question a cluster: the usual standard error of a share, with n − 1.
    result = tie_excess(counts_of([(0, 1, 0, 1)] * 3 + [(0, 1, 1, 1)] * 7, list("abcdefghij")))
    zero = result.observed_intervals.zero
    assert zero.estimate == result.observed.zero == pytest.approx(0.3)
    assert zero.se == pytest.approx(math.sqrt(0.3 * 0.7 / 9))
    assert result.observed_intervals.negative.se is None


def test_bootstrap_agrees_with_the_linearisation(rng):
    rows, cluster = draw_log(rng, n=600, videos=40, ragged=True)
    counts = counts_of(rows, cluster)
    linear = tie_excess(counts)
    resampled = tie_excess(counts, interval="bootstrap", resamples=400, rng=11)
    assert resampled.interval.to_dict() == {"method": "bootstrap", "level": 0.95, "df": None}
    assert RATES_BY_T in resampled.notes
    # 400 resamples give a standard error to 1/√800 = 3.5 %; four of them, and 5 % for
    # what linearisation leaves out.
    for name in ("excess", "observed_intervals"):
        for result, again in ((linear, resampled), (linear.equal_k, resampled.equal_k)):
            for a, b in zip(getattr(result, name), getattr(again, name), strict=True):
                assert b.se == pytest.approx(a.se, rel=0.19)
                assert b.low < b.estimate == a.estimate < b.high
                assert b.high - b.low == pytest.approx(a.high - a.low, rel=0.3)


def test_bootstrap_depends_on_the_generator_and_not_on_row_order(rng):
    rows, cluster = draw_log(rng, n=40, videos=6)
    order = rng.permutation(40)
    ids = np.array([f"q{i}" for i in range(40)])

    def run(rows_, cluster_, ids_, seed):
        x, k, y, m = rows_.T
        counts = ReplayCounts(ids_, x, k, y, m, cluster=cluster_)
        return tie_excess(counts, interval="bootstrap", resamples=100, rng=seed).to_dict()

    once = run(rows, np.array(cluster), ids, 5)
    assert run(rows[order], np.array(cluster)[order], ids[order], np.random.default_rng(5)) == once
    assert run(rows, np.array(cluster), ids, 6)["excess"] != once["excess"]


def test_row_order_changes_no_bit(rng):
    rows, cluster = draw_log(rng, ragged=True)
    order = rng.permutation(len(rows))
    ids = np.array([f"q{i}" for i in range(len(rows))])
    results = [
        tie_excess(ReplayCounts(ids[o], *rows[o].T, cluster=np.array(cluster)[o])).to_dict()
        for o in (slice(None), order)
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize("interval", ["t", "bootstrap"])
@pytest.mark.parametrize(
    ("cluster", "reason"), [(None, UNKNOWN_CLUSTERS), (["v"] * 3, clusters.ONE_CLUSTER)]
)
def test_without_two_clusters_there_are_estimates_and_no_intervals(interval, cluster, reason):
    rows = [(1, 3, 2, 3), (0, 3, 3, 3), (2, 3, 2, 3)]
    result = tie_excess(counts_of(rows, cluster), interval=interval, rng=1)
    assert points(result) == points(tie_excess(counts_of(rows, list("uvw"))))
    for estimate in (*result.excess, *result.observed_intervals):
        assert (estimate.se, estimate.low, estimate.high) == (None, None, None)
        assert estimate.note == reason
    assert result.notes[0] == reason  # once, not once a figure
    assert result.interval.df is None
    assert result.to_dict()["excess"]["zero"]["low"] is None


def test_clusters_are_those_of_the_scored_questions():
    result = tie_excess(counts_of([(1, 3, 2, 3), (0, 3, 1, 3), (0, 0, 1, 3)], list("uvw")))
    assert (result.clusters, result.interval.df) == (2, 1)


@pytest.mark.parametrize("rows", [[], [(1, 3, 0, 0), (0, 0, 1, 3), (0, 0, 0, 0)]])
def test_without_a_scored_question_everything_is_undefined(rows):
    result = tie_excess(counts_of(rows, list("uvw")[: len(rows)]))
    plain = result.to_dict()
    for key in ("observed", "predicted", "null_se"):
        assert plain[key] == dict.fromkeys(SIGNS)
    for sign in SIGNS:
        assert plain["excess"][sign] == dict.fromkeys(("estimate", "se", "low", "high"))
    assert plain["k"] == {"sham": None, "destroy": None}
    assert plain["equal_k"] is None
    assert clusters.NO_QUESTIONS in plain["notes"][0]
    assert plain["questions"]["scored"] == 0
    if rows:
        assert plain["questions"]["left_out"] == {
            "no valid sham replay": 1,
            "no valid destroy replay": 1,
            "no valid sham or destroy replay": 1,
        }
    json.dumps(plain, allow_nan=False)
    assert "no scores" in str(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"interval": "bootstrap"}, "interval='bootstrap' needs rng"),
        ({"interval": "wald"}, "unknown interval 'wald': the known ones are t, bootstrap"),
        ({"level": 95}, "level=95 must lie between 0 and 1"),
        ({"interval": "bootstrap", "rng": 1, "resamples": 10}, "resamples=10 must be a whole"),
        ({"interval": "bootstrap", "rng": "x"}, "rng='x' must be"),
    ],
)
def test_wrong_arguments(arguments, message):
    counts = counts_of([(1, 3, 2, 3), (0, 3, 1, 3)], ["u", "v"])
    with pytest.raises(InputError, match=message):
        tie_excess(counts, **arguments)


def test_to_dict_has_the_promised_keys(rng):
    rows, cluster = draw_log(rng, n=30, ragged=True)
    ledger = Ledger(200, 190, {"invalid": 10}, ("a torn last line was left out",), ("log.jsonl",))
    plain = tie_excess(counts_of(rows, cluster, ledger=ledger)).to_dict()
    assert set(plain) == {
        "questions", "records", "clusters", "k", "flip_rates", "mean_score", "observed",
        "predicted", "excess", "interval", "notes", "null_se", "equal_k", "observed_intervals",
    }  # fmt: skip
    assert plain["records"] == {"read": 200, "used": 190, "left_out": {"invalid": 10}}
    assert set(plain["questions"]) == {"read", "scored", "left_out"}
    assert set(plain["k"]) == {"sham", "destroy"}
    assert set(plain["flip_rates"]) == {"self", "sham", "destroy"}
    assert set(plain["interval"]) == {"method", "level", "df"}
    for key in ("observed", "predicted", "excess", "null_se"):
        assert set(plain[key]) == set(SIGNS)
    assert set(plain["excess"]["zero"]) == {"estimate", "se", "low", "high"}
    assert plain["notes"][0] == "a torn last line was left out"
    assert set(plain["equal_k"]) == set(plain)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_text_and_html_show_the_table(rng):
    rows, cluster = draw_log(rng, ragged=True)
    ledger = Ledger(1, 1, notes=("<b>bold</b> file",))
    result = tie_excess(counts_of(rows, cluster, ledger=ledger))
    text, html = str(result), result._repr_html_()
    assert repr(result) == text
    assert text.count("Tie excess: k") == html.count("Tie excess: k") == 2
    for sign in SIGNS:
        line = next(line for line in text.splitlines() if line.startswith(sign))
        assert f"{getattr(result.observed, sign):.4f}" in line
        assert f"{getattr(result.excess, sign).estimate:+.4f}" in line
    assert "k = 3" in text
    assert "mean score" in text
    assert "(120 questions, 15 clusters; 95 % cluster t intervals with 14 df)" in text
    single = str(tie_excess(counts_of([(1, 3, 2, 3)], ["v"])))
    assert "(1 question, 1 cluster; 95 % cluster t intervals)" in single
    assert "&lt;b&gt;bold&lt;/b&gt; file" in html
    assert "<b>" not in html
    assert html.count("<table>") == html.count("</table>") == 3


def test_a_sign_that_no_question_shows_has_no_interval():
    # With x̄ and ȳ near the ends the linearised variance of the negative share is only that of
    # its prediction, a tenth of what chance allows; every resample lacks it as well.
    counts = ReplayCounts(
        list("abcdefgh"), [0, 1, 0, 1, 0, 0, 1, 0], [3] * 8, [3, 3, 2, 3, 3, 2, 3, 3], [3] * 8,
        cluster=list("uuvvwwxx"),
    )  # fmt: skip
    for interval in ("t", "bootstrap"):
        result = tie_excess(counts, interval=interval, rng=1)
        for excess in result.excess:
            assert excess.estimate == excess.estimate
            assert (excess.se, excess.low, excess.high) == (None, None, None)
        assert any("no question has a score of this sign" in note for note in result.notes)
    assert result.null_se.negative > 0.01


def test_a_sign_that_few_questions_show_is_noted():
    flips = [1] * 3 + [0] * 27
    counts = ReplayCounts(
        [f"q{i}" for i in range(30)], flips, [1] * 30, flips[::-1], [1] * 30,
        cluster=[f"v{i % 10}" for i in range(30)],
    )  # fmt: skip
    notes = tie_excess(counts).notes
    assert any(note.startswith("fewer than 5 questions tell negative") for note in notes)


@pytest.mark.parametrize("budget", [(10, 9), (3, 5)])
def test_arms_of_unequal_k_are_also_shown_at_equal_k(budget, rng):
    n = 200
    counts = ReplayCounts(
        [f"q{i}" for i in range(n)],
        rng.binomial(budget[0], 0.3, n), [budget[0]] * n,
        rng.binomial(budget[1], 0.5, n), [budget[1]] * n,
        cluster=[f"v{i % 20}" for i in range(n)],
    )  # fmt: skip
    result = tie_excess(counts)
    assert result.k == {"sham": budget[0], "destroy": budget[1]}
    assert result.equal_k.k == {"sham": min(budget), "destroy": min(budget)}
    assert result.equal_k.questions["subsampled"] == n


def test_k_that_differs_without_an_invalid_replay_is_remarked_on():
    def notes(sham_replays, invalid):
        counts = ReplayCounts(
            list("abcd"), [1, 0, 1, 0], sham_replays, [2, 1, 0, 3], [3] * 4,
            cluster=list("uvuv"), sham_invalid=invalid,
        )  # fmt: skip
        return [n for n in tie_excess(counts).notes if n.startswith("no replay was invalid")]

    assert len(notes([3, 2, 3, 3], [0] * 4)) == 1
    assert notes([3, 2, 3, 3], [0, 1, 0, 0]) == []
    assert notes([3] * 4, [0] * 4) == []
    assert notes([2] * 4, [0] * 4) == []  # the arms differ, no question from another
