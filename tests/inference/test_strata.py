"""Strata: against pandas, the unstratified figures, resampling by hand and the published table."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pandas
import pytest
from judged_cases import judged_log
from scipy.stats import t as student

from carve_stats.counts import Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.rates import flip_rates, mean_score
from carve_stats.inference.strata import stratified_scores
from carve_stats.outcomes import Outcomes

# The project's published figures.
TABLE_2 = Path(__file__).parents[1] / "data" / "published" / "table2_strata.csv"


def as_frame(counts, outcomes):
    frame = pandas.DataFrame(counts.to_dict()).set_index("question")
    beside = pandas.DataFrame(
        {"correct": outcomes.original_correct, **outcomes.covariates}, index=outcomes.question
    )
    frame = frame.join(beside).query("sham_replays > 0 and destroy_replays > 0")
    frame["sham"] = frame.sham_flips / frame.sham_replays
    frame["destroy"] = frame.destroy_flips / frame.destroy_replays
    frame["score"] = frame.destroy - frame.sham
    frame["self_"] = (frame.self_flips / frame.self_replays).where(frame.self_replays > 0)
    return frame


def same(one, other):
    return json.dumps(one.to_dict()) == json.dumps(other.to_dict())


@pytest.mark.parametrize("seed", range(3))
def test_equals_a_table_made_by_hand(seed):
    counts, outcomes = judged_log(seed)
    result = stratified_scores(counts, outcomes, level=0.9)
    frame = as_frame(counts, outcomes)
    known = frame[frame.correct.notna() & (frame.covered != "")]
    assert result.total.questions == len(known) == sum(one.questions for one in result.strata)
    for stratum in (*result.strata, result.total):
        rows = known
        if stratum.values:
            right = known.correct == float(stratum.values["correct"] == "true")
            rows = known[right & (known.covered == stratum.values["covered"])]
        assert stratum.questions == len(rows)
        assert stratum.clusters == rows.cluster.nunique()
        for name in ("score", "sham", "destroy", "self_"):
            values = rows[name].dropna()
            estimate = getattr(stratum, name)
            assert estimate.estimate == pytest.approx(values.mean(), abs=1e-12)
            sums = (values - values.mean()).groupby(rows.cluster).sum()
            v = len(sums)
            se = math.sqrt(v / (v - 1) * (sums**2).sum()) / len(values)
            assert estimate.se == pytest.approx(se, rel=1e-9)
            low = estimate.estimate - student.ppf(0.95, v - 1) * se
            bound = -1 if name == "score" else 0
            assert estimate.low == pytest.approx(max(low, bound), abs=1e-9)
        assert stratum.self_questions == rows.self_.notna().sum()


def test_a_stratum_is_the_unstratified_figure_of_its_questions():
    counts, outcomes = judged_log(4)
    result = stratified_scores(counts, outcomes, by="kind")
    frame = as_frame(counts, outcomes)
    for kind in "abc":
        mine = counts.select(np.isin(counts.question, frame.index[frame.kind == kind]))
        assert result[kind].score.low == mean_score(mine).low
        assert result[kind].destroy.high == flip_rates(mine).destroy.high
        assert result[kind].self_.se == flip_rates(mine).self_.se


def test_what_is_left_out_is_counted():
    counts, outcomes = judged_log(2)
    result = stratified_scores(counts, outcomes)
    frame = as_frame(counts, outcomes)
    expected = {
        "no valid sham replay": int((counts.sham_replays == 0).sum()),
        "covered not known": int((frame.covered == "").sum()),
        "correct not known": int((frame.correct.isna() & (frame.covered != "")).sum()),
    }
    assert min(expected.values()) > 0
    assert result.questions["left_out"] == expected
    assert result.questions["read"] == result.questions["used"] + sum(expected.values()) == 200


def test_the_published_shape():
    with TABLE_2.open() as file:
        published = list(csv.DictReader(file))
    rows = [
        (flag(row["gold_coverage"]), flag(row["correct"]))
        for row in published
        for _ in range(int(row["n"]))
    ]
    n = len(rows)
    assert n == 1249
    rng = np.random.default_rng(5)
    ids = [f"q{i:04d}" for i in range(n)]
    x, y = rng.binomial(3, 0.34, n), rng.binomial(3, 0.64, n)
    order = rng.permutation(n)
    counts = ReplayCounts(ids, x, [3] * n, y, [3] * n, cluster=[f"v{i % 103}" for i in range(n)])
    outcomes = Outcomes(
        np.array(ids)[order],
        np.array([correct for _, correct in rows])[order],
        {},
        covariates={"covered": np.array([covered for covered, _ in rows])[order]},
    )
    result = stratified_scores(counts, outcomes)
    for stratum, row in zip(result.strata, published, strict=True):
        assert stratum.questions == int(row["n"])
        assert stratum.label == (
            f"covered {str(flag(row['gold_coverage'])).lower()} ×"
            f" correct {str(flag(row['correct'])).lower()}"
        )
        mine = [
            i
            for i, one in enumerate(rows)
            if one == (flag(row["gold_coverage"]), flag(row["correct"]))
        ]
        assert stratum.score.estimate == pytest.approx(np.mean((y - x)[mine] / 3))


def flag(text):
    return {"yes": True, "no": False}[text]


class TestBootstrap:
    def test_against_resampling_by_hand(self):
        counts, outcomes = judged_log(3)
        result = stratified_scores(
            counts, outcomes, by="kind", interval="bootstrap", rng=1, resamples=2000
        )
        assert result.interval.method == "bootstrap"
        frame = as_frame(counts, outcomes).query("kind == 'b'")
        groups = [rows for _, rows in frame.groupby("cluster")[["score", "sham", "destroy"]]]
        rng = np.random.default_rng(9)
        means = np.array(
            [
                pandas.concat(
                    [groups[i] for i in rng.integers(len(groups), size=len(groups))]
                ).mean()
                for _ in range(600)
            ]
        )
        for i, name in enumerate(("score", "sham", "destroy")):
            estimate = getattr(result["b"], name)
            assert estimate.estimate == pytest.approx(frame[name].mean())
            assert estimate.se == pytest.approx(means[:, i].std(), rel=0.12)
            low, high = np.quantile(means[:, i], [0.025, 0.975])
            assert estimate.low == pytest.approx(low, abs=0.3 * estimate.se)
            assert estimate.high == pytest.approx(high, abs=0.3 * estimate.se)

    def test_a_seed_is_needed_and_decides(self):
        counts, outcomes = judged_log()
        with pytest.raises(InputError, match="needs rng"):
            stratified_scores(counts, outcomes, interval="bootstrap")
        one, again, other = (
            stratified_scores(counts, outcomes, interval="bootstrap", rng=seed, resamples=200)
            for seed in (1, 1, 2)
        )
        assert same(one, again)
        assert not same(one, other)


def test_row_order_changes_nothing():
    counts, outcomes = judged_log()
    turn = np.random.default_rng(0).permutation(len(counts))
    columns = {name: np.array(column)[turn] for name, column in counts.to_dict().items()}
    turned = ReplayCounts(**columns)
    assert same(stratified_scores(counts, outcomes), stratified_scores(turned, outcomes))


def small(correct, covered=(True, True, False, False), cluster="uvwx", **more):
    ids = list("abcd")
    counts = ReplayCounts(
        ids, [0, 1, 2, 1], [3] * 4, [3, 1, 2, 2], [3] * 4, cluster=list(cluster), **more
    )
    return counts, Outcomes(ids, correct, {}, covariates={"covered": covered})


class TestClearAnswers:
    @pytest.mark.parametrize("correct", [1, 0])
    def test_all_correct_or_all_wrong(self, correct):
        result = stratified_scores(*small([correct] * 4))
        assert [one.questions for one in result.strata] == ([2, 2, 0, 0], [0, 0, 2, 2])[1 - correct]
        empty = result[True, not correct]
        assert empty.to_dict()["score"] == {"estimate": None, "se": None, "low": None, "high": None}
        wrong = "false" if correct else "true"
        assert (
            f"covered true × correct {wrong}, covered false × correct {wrong}: not estimable: no"
            " question has what the estimate needs"
        ) in result.notes
        json.dumps(result.to_dict(), allow_nan=False)

    def test_one_video(self):
        result = stratified_scores(*small([1, 0, 1, 0], cluster="vvvv"))
        assert result[True, True].score.estimate == 1.0
        assert result.total.score.se is None
        assert sum("one cluster" in note for note in result.notes) == 1

    def test_no_videos(self):
        counts, outcomes = small([1, 0, 1, 0])
        counts = ReplayCounts(
            list("abcd"), counts.sham_flips, [3] * 4, counts.destroy_flips, [3] * 4
        )
        result = stratified_scores(counts, outcomes, by="correct")
        assert result[True].clusters is None
        assert [note for note in result.notes if "video" in note]
        named = Outcomes(list("abcd"), [1, 0, 1, 0], {}, cluster=list("uvwx"))
        assert stratified_scores(counts, named, by="correct")[True].clusters == 2

    def test_no_self_replays(self):
        result = stratified_scores(*small([1, 0, 1, 0]))
        assert result.total.self_questions == 0
        assert math.isnan(result.total.self_.estimate)
        assert "SELF: not estimable" in " ".join(result.notes)
        assert "self" not in str(result).splitlines()[2]
        asked = stratified_scores(
            *small([1, 0, 1, 0], self_flips=[1, 0, 0, 0], self_replays=[1] * 4)
        )
        assert asked.total.self_.estimate == 0.25
        assert "self" in str(asked).splitlines()[2]

    def test_nothing_known(self):
        result = stratified_scores(*small([None] * 4))
        assert result.questions["left_out"] == {"correct not known": 4}
        assert result.total.questions == 0
        assert any("no question has what the estimate needs" in note for note in result.notes)
        assert "–" in str(result)

    def test_numbers_are_strata_in_order(self):
        counts, outcomes = small([1, 0, 1, 0], covered=[10.0, 2.0, 10.0, 0.5])
        result = stratified_scores(counts, outcomes, by=["covered"])
        assert [one.label for one in result.strata] == ["covered 0.5", "covered 2", "covered 10"]
        assert result[10.0].questions == 2

    def test_readers_notes_are_kept(self):
        counts, outcomes = small([1, 0, 1, 0], ledger=Ledger(9, 9, notes=("a note",)))
        assert stratified_scores(counts, outcomes).notes[0] == "a note"

    def test_a_covariate_called_correct_is_told(self):
        counts, _ = small([1, 0, 1, 0])
        outcomes = Outcomes(list("abcd"), [1, 0, 1, 0], {}, covariates={"correct": [0, 0, 0, 0]})
        result = stratified_scores(counts, outcomes, by="correct")
        assert result[True].questions == 2
        assert "the covariate of that name is not looked at" in result.notes[0]

    def test_html(self):
        html = stratified_scores(*small([1, 0, 1, 0]))._repr_html_()
        assert html.startswith("<table>")
        assert "covered × correct" in html


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"by": "coverd"}, "unknown covariate 'coverd'.*did you mean 'covered'"),
            ({"by": ()}, "names nothing"),
            ({"by": ("correct", "correct")}, "names 'correct' twice"),
            ({"interval": "normal"}, "unknown interval 'normal'"),
            ({"level": 95}, "level=95 must lie between 0 and 1"),
        ],
    )
    def test_options(self, options, said):
        with pytest.raises(InputError, match=said):
            stratified_scores(*small([1, 0, 1, 0]), **options)

    def test_a_measure_is_no_stratum(self):
        counts, outcomes = judged_log()
        many = outcomes.with_covariates(outcomes.question, {"seconds": np.arange(200.0)})
        with pytest.raises(InputError, match=r"by='seconds' has .* values: strata are made of"):
            stratified_scores(counts, many, by="seconds")
        twice = outcomes.with_covariates(
            outcomes.question, {"again": outcomes.covariates["recall"][::-1]}
        )
        with pytest.raises(InputError, match="makes 121 strata"):
            stratified_scores(counts, twice, by=("recall", "again"))

    def test_ids_of_one_side(self):
        counts, _ = small([1, 0, 1, 0])
        outcomes = Outcomes(list("abce"), [1, 0, 1, 0], {})
        with pytest.raises(InputError, match=r"the first: 'd'.*the first: 'e'.*allow_mismatch"):
            stratified_scores(counts, outcomes, by="correct")
        result = stratified_scores(counts, outcomes, by="correct", allow_mismatch=True)
        assert result.questions == {
            "read": 5,
            "used": 3,
            "left_out": {"replays without outcome": 1, "outcome without replays": 1},
        }
        assert result.total.clusters == 3

    def test_clusters_that_contradict(self):
        counts, _ = small([1, 0, 1, 0])
        outcomes = Outcomes(list("abcd"), [1, 0, 1, 0], {}, cluster=list("uvwz"))
        with pytest.raises(InputError, match=r"question='d' is in cluster 'x'.*'z'"):
            stratified_scores(counts, outcomes, by="correct")

    def test_an_unknown_stratum(self):
        with pytest.raises(InputError, match=r"no stratum .*covered true × correct true"):
            stratified_scores(*small([1, 0, 1, 0]))["yes", "no"]


def test_a_left_out_question_is_noted_and_a_note_of_strata_is_not_one_of_all():
    counts = ReplayCounts(list("abc"), [0, 1, 0], [3] * 3, [2, 1, 3], [3] * 3, cluster=list("uvw"))
    outcomes = Outcomes(list("abc"), [1, 0, 1], {}, covariates={"covered": ["yes", "no", ""]})
    result = stratified_scores(counts, outcomes, by="covered")
    assert "1 question left out: covered not known" in result.notes
    (alone,) = (n for n in result.notes if "one cluster" in n)
    assert alone.startswith("covered")
    assert result.total.score.low is not None
