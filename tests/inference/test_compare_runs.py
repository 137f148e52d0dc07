"""Two runs compared: in fractions, by enumerating subsets and resamples, and in every odd case."""

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import stopped_replays as stopped
from hypothesis import given, settings
from hypothesis import strategies as st
from run_cases import (
    SIGNS,
    clustered_mean,
    drawn_questions,
    ragged,
    rows_of,
    shuffled,
    subsampled_sign_shares,
)

from carve_stats.clusters import NO_QUESTIONS, NO_SPREAD, ONE_CLUSTER
from carve_stats.counts import UNKNOWN_CLUSTERS, Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.compare import NO_SELF, SAME_COUNTS, compare_runs

DRAWN = drawn_questions()
A, B = DRAWN.replay(k=3, p_self=0.2, rng=1), DRAWN.replay(k=3, p_self=0.3, rng=2)
FIGURES = ("self_", "sham", "destroy", "mean_score")


def brute_values(a, b):
    """Each figure's question to (value in a, value in b), from plain rows in fractions."""
    rows_a, rows_b = rows_of(a), rows_of(b)
    values = {name: {} for name in FIGURES}
    scored = []
    for question in rows_a.keys() & rows_b.keys():
        two = rows_a[question][1], rows_b[question][1]
        rates = [{arm: Fraction(x, k) for arm, (x, k) in one.items() if k} for one in two]
        if all("self" in r for r in rates):
            values["self_"][question] = tuple(r["self"] for r in rates)
        if all("sham" in r and "destroy" in r for r in rates):
            scored.append(question)
            for arm in ("sham", "destroy"):
                values[arm][question] = tuple(r[arm] for r in rates)
            values["mean_score"][question] = tuple(r["destroy"] - r["sham"] for r in rates)
    return values, scored, (rows_a, rows_b)


def check_row(row, values, clusters, level=0.95):
    """A row of the result against fractions."""
    both = [sum(v[i] for v in values.values()) / len(values) for i in (0, 1)]
    differences = {question: v[1] - v[0] for question, v in values.items()}
    mean, se, low, high, p = clustered_mean(differences, clusters, level)
    assert (row.a, row.b) == pytest.approx(tuple(map(float, both)), abs=1e-13)
    assert row.estimate == pytest.approx(mean, abs=1e-13)
    assert (row.se, row.low, row.high, row.p_value) == pytest.approx((se, low, high, p), rel=1e-9)
    assert row.questions == len(values)
    assert row.clusters == len({clusters[question] for question in values})


@pytest.mark.parametrize(("seed", "least", "signs_k"), [(0, 0, 1), (1, 1, 1), (2, 2, 2), (3, 3, 3)])
def test_every_figure_in_fractions(seed, least, signs_k):
    drawn = drawn_questions(seed)
    # One question falls short, so that there is something to leave out at any k.
    short = ReplayCounts(drawn.question[:1], [0], [1], [1], [1], cluster=drawn.cluster[:1])
    rest = np.arange(40) > 0
    a, b = (ragged(drawn, seed + i, least + 3, least).select(rest).pool(short) for i in (10, 20))
    result = compare_runs(a, b, level=0.9)
    values, scored, (rows_a, rows_b) = brute_values(a, b)
    clusters = {question: cluster for question, (cluster, _) in rows_a.items()}
    for name in FIGURES:
        check_row(getattr(result, name), values[name], clusters, 0.9)
    # The k at which most replays of both runs and arms count, the larger of two that tie.
    least = {
        q: min(rows[q][1][arm][1] for rows in (rows_a, rows_b) for arm in ("sham", "destroy"))
        for q in scored
    }
    k = max(range(1, 7), key=lambda k: (k * sum(m >= k for m in least.values()), k))
    assert result.signs_k == k == signs_k
    shares = {
        q: [subsampled_sign_shares((rows[q][1]["sham"], rows[q][1]["destroy"]), k)
            for rows in (rows_a, rows_b)]
        for q in scored if least[q] >= k
    }  # fmt: skip
    for place, sign in enumerate(SIGNS):
        column = {q: (in_a[place], in_b[place]) for q, (in_a, in_b) in shares.items()}
        check_row(getattr(result.signs, sign), column, clusters, 0.9)
    assert result.questions["scored"] == len(scored)
    assert result.questions["read"] == len(scored) + sum(result.questions["left_out"].values())
    (note,) = [note for note in result.notes if note.startswith("signs are compared at")]
    fewer = len(scored) - len(shares)
    assert f"at {k} replay" in note
    assert ("fewer" in note) == (fewer > 0)
    assert not fewer or f" and {fewer} question" in note


def test_at_one_k_signs_are_those_of_the_scores():
    result = compare_runs(A, B)
    assert result.signs_k == 3
    assert result.k == {"sham_a": 3, "destroy_a": 3, "sham_b": 3, "destroy_b": 3}
    for sign, share in zip(SIGNS, (-1, 0, 1), strict=True):
        row = getattr(result.signs, sign)
        assert row.a == pytest.approx((np.sign(A.score_numerator) == share).mean(), abs=1e-15)
        assert row.b == pytest.approx((np.sign(B.score_numerator) == share).mean(), abs=1e-15)
    assert not any("subsampled" in note for note in result.notes)


def test_k_10_is_brought_to_k_3():
    result = compare_runs(A, DRAWN.replay(k=10, rng=5))
    assert (result.signs_k, result.signs.zero.questions) == (3, 40)
    (note,) = [note for note in result.notes if "subsampled" in note]
    assert note == (
        "signs are compared at 3 replays in each arm of both runs: 40 questions with more were"
        " subsampled to it (exactly)"
    )
    assert "negative scores (k = 3)" in str(result)


def test_arms_of_unequal_k_are_brought_to_the_smaller():
    def run(x, y):
        return ReplayCounts(["q", "r"], x, [2, 2], y, [4, 4], cluster=["v", "w"])

    result = compare_runs(run([1, 2], [2, 4]), run([0, 1], [1, 3]))
    assert result.signs_k == 2
    # Of 4 DESTROY replays 2 are kept, 6 ways; 2 of 4 flips leave 0, 1, 2 in 1, 4, 1 of them;
    # 1 of 4 leaves 0, 1 in 3, 3 and 3 of 4 leaves 1, 2 in 3, 3. In run a, r always ties.
    assert result.signs.zero.a == pytest.approx((4 / 6 + 1) / 2)
    assert result.signs.zero.b == pytest.approx((3 / 6 + 3 / 6) / 2)
    assert result.signs.negative.a == pytest.approx(1 / 6 / 2)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 5))
def test_the_other_way_round_has_the_other_sign(seed, n, clusters):
    drawn = drawn_questions(seed, max(n, clusters), clusters)
    a, b = ragged(drawn, seed + 1), ragged(drawn, seed + 2)
    there, back = compare_runs(a, b), compare_runs(b, a)
    for one, other in zip(there.rows().values(), back.rows().values(), strict=True):
        assert one.a == other.b or math.isnan(one.a)
        assert one.estimate == -other.estimate or math.isnan(one.estimate)
        assert (one.se, one.p_value, one.note) == (other.se, other.p_value, other.note)
        assert (one.low is None) == (one.se is None)
        if one.low is not None:
            assert (one.low, one.high) == (-other.high, -other.low)


def test_the_order_of_rows_changes_nothing():
    a, b = ragged(DRAWN, 3), ragged(DRAWN, 4)
    for options in ({}, {"interval": "bootstrap", "rng": 1, "resamples": 200}):
        found = compare_runs(shuffled(a, 1), shuffled(b, 2), **options).to_dict()
        assert found == compare_runs(a, b, **options).to_dict()


def test_bootstrap_against_all_resamples():
    drawn = drawn_questions(5, 30, 4)
    a, b = (drawn.replay(k=3, p_self=0.2, rng=rng) for rng in (1, 2))
    result = compare_runs(a, b, interval="bootstrap", rng=3, resamples=10_000, level=0.8)
    videos = np.unique(a.cluster)
    difference = b.score - a.score
    exact = []
    for drawn_videos in product(videos, repeat=4):
        chosen = np.concatenate([np.flatnonzero(a.cluster == v) for v in drawn_videos])
        exact.append(difference[chosen].mean())
    row = result.mean_score
    assert row.se == pytest.approx(np.std(exact), rel=0.03)
    low, high = np.quantile(exact, [0.1, 0.9], method="inverted_cdf")
    assert (row.low, row.high) == pytest.approx((low, high), abs=0.1 * (high - low))
    assert row.p_value == compare_runs(a, b).mean_score.p_value
    assert any("p-values are those of the cluster t test" in note for note in result.notes)


class TestMismatch:
    FEWER = B.select(np.arange(40) >= 2)

    def test_is_an_error_that_names_the_first_id(self):
        with pytest.raises(InputError, match=r"'q000000' is in counts_a and not in counts_b \(2"):
            compare_runs(A, self.FEWER)
        with pytest.raises(InputError, match=r"is in counts_b and not in counts_a.*allow_mismatch"):
            compare_runs(self.FEWER, A)

    def test_is_counted_on_request(self):
        result = compare_runs(A.select(np.arange(40) < 39), self.FEWER, allow_mismatch=True)
        assert result.questions == {
            "read": 40,
            "scored": 37,
            "left_out": {"only in run a": 2, "only in run b": 1},
        }
        both = (np.arange(40) >= 2) & (np.arange(40) < 39)
        expected = compare_runs(A.select(both), B.select(both))
        assert result.mean_score == expected.mean_score
        assert result.signs == expected.signs

    def test_no_question_in_common_is_an_error(self):
        other = ReplayCounts(["x"], [0], [3], [1], [3], cluster=["v"])
        with pytest.raises(InputError, match="no question is in both runs: ids are such as 'q0000"):
            compare_runs(A, other, allow_mismatch=True)

    def test_questions_without_a_score_in_one_run(self):
        a = ReplayCounts(
            list("abcd"), [0] * 4, [3, 0, 3, 0], [1] * 4, [3] * 4, cluster=list("uvwx")
        )
        b = ReplayCounts(
            list("abcd"), [0] * 4, [3, 3, 0, 0], [1] * 4, [3] * 4, cluster=list("uvwx")
        )
        assert compare_runs(a, b).questions == {
            "read": 4,
            "scored": 1,
            "left_out": {
                "no score in run a": 1, "no score in run b": 1, "no score in either run": 1
            },
        }  # fmt: skip


class TestClusters:
    def test_that_contradict_are_an_error(self):
        b = ReplayCounts(["q1", "q2"], [0, 0], [3, 3], [1, 1], [3, 3], cluster=["v", "w"])
        a = ReplayCounts(["q1", "q2"], [0, 0], [3, 3], [1, 1], [3, 3], cluster=["v", "v"])
        with pytest.raises(
            InputError, match=r"'q2' is in cluster 'v' in run 'a' and in 'w' in run"
        ):
            compare_runs(a, b)

    def test_in_one_run_only_are_an_error(self):
        b = ReplayCounts(B.question, B.sham_flips, B.sham_replays, B.destroy_flips, B.sham_replays)
        for pair, named in (((A, b), "a"), ((b, A), "b")):
            with pytest.raises(InputError, match=f"run '{named}' names the clusters"):
                compare_runs(*pair)

    def test_unknown_ones_give_no_intervals(self):
        a, b = (
            ReplayCounts(r.question, r.sham_flips, r.sham_replays, r.destroy_flips, r.sham_replays)
            for r in (A, B)
        )
        result = compare_runs(a, b, interval="bootstrap", rng=1)
        assert result.mean_score.estimate == compare_runs(A, B).mean_score.estimate
        assert (result.mean_score.se, result.mean_score.p_value, result.clusters) == (None,) * 3
        assert any(note.endswith(UNKNOWN_CLUSTERS) for note in result.notes)

    def test_one_video(self):
        one = A.cluster == A.cluster[0]
        result = compare_runs(A.select(one), B.select(one), interval="bootstrap", rng=1)
        assert result.destroy.low is None
        assert ONE_CLUSTER in result.notes
        assert "no intervals: all questions belong to one cluster" in str(result)


def test_a_log_compared_with_itself_is_told():
    result = compare_runs(A, A)
    assert SAME_COUNTS in result.notes
    assert NO_SPREAD in result.notes
    assert all(row.estimate == 0 and row.low is None for row in result.rows().values())
    assert SAME_COUNTS not in compare_runs(A, B).notes
    own = A.self_flips.copy()
    own[0] = 1 - own[0] if own[0] < 2 else 0
    other = ReplayCounts(
        A.question, A.sham_flips, A.sham_replays, A.destroy_flips, A.destroy_replays,
        self_flips=own, self_replays=A.self_replays, cluster=A.cluster,
    )  # fmt: skip
    assert SAME_COUNTS not in compare_runs(A, other).notes


def test_no_self_replays():
    result = compare_runs(A, DRAWN.replay(k=3, rng=2))
    assert math.isnan(result.self_.estimate)
    assert (result.self_.questions, result.self_.note) == (0, NO_SELF)
    assert f"SELF: {NO_SELF}" in result.notes
    assert result.to_dict()["self"]["a"] is None
    assert result.sham.low is not None


def test_no_question_scored_in_both():
    none = np.zeros(40, int)
    b = ReplayCounts(A.question, none, none, none, none + 1, cluster=A.cluster)
    result = compare_runs(A, b)
    assert result.signs_k is None
    assert result.mean_score.note == NO_QUESTIONS
    assert result.questions["left_out"] == {"no score in run b": 40}
    json.dumps(result.to_dict(), allow_nan=False)


def test_invalid_replays_and_what_readers_said_are_told():
    a = ReplayCounts(
        ["q", "r"], [0, 1], [3, 3], [1, 2], [2, 3], destroy_invalid=[1, 0], cluster=["v", "w"],
        ledger=Ledger(12, 11, {"invalid": 1}, ("a word",)),
    )  # fmt: skip
    b = ReplayCounts(["q", "r"], [0, 1], [3, 3], [1, 2], [3, 3], cluster=["v", "w"])
    result = compare_runs(a, b)
    assert "run 'a': a word" in result.notes
    assert any("1 of 12 replays in run 'a'" in note for note in result.notes)
    assert result.records == {"a": a.ledger.to_dict(), "b": None}


def test_stopped_runs_and_other_things_are_refused():
    plan = stopped.make_plan((3, 3))
    early = ReplayCounts(["q"], [0], [3], [0], [3], cluster=["v"], stopping=plan)
    for pair in ((early, A), (A, early)):
        with pytest.raises(InputError, match="stopped early"):
            compare_runs(*pair)
    with pytest.raises(InputError, match="must be ReplayCounts"):
        compare_runs(A, "log.jsonl")
    for options, words in (
        ({"interval": "bootstrap"}, "needs rng"),
        ({"interval": "wald"}, "unknown interval"),
        ({"level": 1.0}, "level=1.0"),
        ({"interval": "bootstrap", "rng": 1, "resamples": 10}, "resamples"),
    ):
        with pytest.raises(InputError, match=words):
            compare_runs(A, B, **options)


def test_how_it_looks():
    result = compare_runs(A, B)
    plain = result.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["difference"] == "b - a"
    text, html = str(result), result._repr_html_()
    assert text.splitlines()[0] == (
        "Two runs, b − a (40 questions scored in both, 9 clusters; 95 % cluster t intervals with"
        " 8 df)"
    )
    for name in result.rows():
        assert text.count(name) == html.count(name) == 1
    assert "each p-value stands alone" in html


def test_the_names_of_the_runs_are_those_that_a_reader_sees():
    short = A.select(np.arange(40) > 2)
    plain = compare_runs(short, B, allow_mismatch=True)
    named = compare_runs(short, B, allow_mismatch=True, names=("7B", "32B"))
    assert named.rows() == plain.rows()
    assert plain.names == ("a", "b")
    assert named.to_dict()["names"] == ["7B", "32B"]
    assert named.questions["left_out"] == {"only in run 32B": 3}
    shown = str(named)
    assert "32B − 7B" in shown
    assert "b − a" not in shown
    assert "b − a" in str(plain)
    for wrong in (("a", "a"), ("a",), "ab", ("a", ""), ("a", 1)):
        with pytest.raises(InputError, match="must be two different names"):
            compare_runs(A, B, names=wrong)
