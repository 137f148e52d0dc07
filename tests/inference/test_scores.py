"""The score table: its columns, who is in the family, what it says that it cannot show."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.counts import UNKNOWN_CLUSTERS, Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.attainable import find_least_k, questions_needed
from carve_stats.inference.scores import score_table
from carve_stats.law.score_rule import ScoreRule
from carve_stats.population.mixing import Population


@pytest.fixture
def counts():
    """Four questions scored at three budgets, and three without a valid replay in an arm."""
    return ReplayCounts(
        ["d", "a", "c", "b", "g", "f", "e"],
        [0, 3, 1, 2, 0, 1, 0],
        [3, 3, 2, 3, 0, 2, 0],
        [3, 0, 1, 2, 2, 0, 0],
        [3, 3, 2, 4, 3, 0, 0],
        cluster=["v2", "v1", "v1", "v2", "v3", "v3", "v3"],
        destroy_invalid=[0, 0, 0, 0, 0, 2, 0],
        ledger=Ledger(29, 27, {"invalid": 2}, notes=("the log says so",)),
    )


def test_every_question_has_a_row_in_the_order_of_the_counts(counts):
    table = score_table(counts)
    assert table.question.tolist() == list("abcdefg")
    assert table.cluster.tolist() == ["v1", "v2", "v1", "v2", "v3", "v3", "v3"]
    assert table.sham_flips.tolist() == [3, 2, 1, 0, 0, 1, 0]
    assert table.destroy_replays.tolist() == [3, 4, 2, 3, 0, 0, 3]
    np.testing.assert_array_equal(table.score, [-1, -1 / 6, 0, 1, np.nan, np.nan, np.nan])
    assert table.signs == {"negative": 2, "zero": 1, "positive": 1}


def test_a_question_without_a_score_is_counted_and_establishes_nothing(counts):
    table = score_table(counts, rule="score >= -1", adjust="none", level=0.5)
    without = ~table.scored
    assert table.question[without].tolist() == ["e", "f", "g"]
    assert table.low[without].tolist() == [-1.0] * 3
    assert table.high[without].tolist() == [1.0] * 3
    for column in (table.p_value, table.adjusted_p_value):
        assert column[without].tolist() == [1.0] * 3
    almost_all = score_table(counts, adjust="none", level=1e-9)  # at a significance of nearly 1
    assert not almost_all.established[without].any()
    assert not table.selected[without].any()
    assert table.selected[~without].all()
    assert table.questions == {
        "read": 7,
        "scored": 4,
        "left_out": {
            "no valid sham replay": 1,
            "no valid destroy replay": 1,
            "no valid sham or destroy replay": 1,
        },
    }
    assert table.records == {"read": 29, "used": 27, "left_out": {"invalid": 2}}
    assert table.notes[0] == "the log says so"
    assert any(
        note.startswith("3 questions without a valid replay in SHAM") for note in table.notes
    )
    one = ReplayCounts(["a", "b"], [0, 0], [3, 0], [3, 0], [3, 3])
    assert any(n.startswith("1 question without a valid") for n in score_table(one).notes)


def test_invalid_replays_are_those_of_the_two_arms():
    # SELF makes no score, so that 7 invalid SELF replays are no matter here.
    arms = dict(sham_flips=[0], sham_replays=[3], destroy_flips=[2], destroy_replays=[2])
    counts = ReplayCounts(["a"], **arms, self_invalid=[7])
    assert not any("no valid answer" in note for note in score_table(counts).notes)
    counts = ReplayCounts(["a"], **arms, self_invalid=[7], sham_invalid=[1], destroy_invalid=[2])
    notes = [note for note in score_table(counts).notes if "no valid answer" in note]
    assert len(notes) == 1
    assert notes[0].startswith("3 of 8 SHAM and DESTROY replays gave no valid answer")
    assert "bounds" not in " ".join(score_table(counts).notes)


@pytest.mark.parametrize("adjust", ["holm", "benjamini-hochberg", "none"])
def test_questions_without_a_score_are_in_no_family(counts, adjust):
    scored = counts.select(counts.scored)
    table, alone = score_table(counts), score_table(scored)
    np.testing.assert_array_equal(table.adjusted(adjust)[counts.scored], alone.adjusted(adjust))


def test_the_columns_are_those_of_published_figures():
    # R. G. Newcombe, Statistics in Medicine 17 (1998), table II, method 10: 9/10 v 3/10 (here
    # DESTROY v SHAM) has (0.1705, 0.8090); 0/3 v 3/3 has p = 2·(1/2)^6 by the pooled z statistic.
    counts = ReplayCounts(["long", "short"], [3, 0], [10, 3], [9, 3], [10, 3])
    table = score_table(counts, interval="newcombe", adjust="none")
    assert (round(table.low[0], 4), round(table.high[0], 4)) == (0.1705, 0.8090)
    assert table.p_value[1] == pytest.approx(1 / 32, abs=1e-12)
    assert table.established.tolist() == [True, True]
    # One-sided: only DESTROY flipping more often is evidence of "greater".
    greater, less = (score_table(counts, alternative=a, interval="newcombe") for a in
                     ("greater", "less"))  # fmt: skip
    assert greater.p_value[1] == pytest.approx(1 / 64, abs=1e-12)
    assert less.p_value[1] == 1.0


def test_holm_holds_the_error_rate_by_enumeration():
    # Two questions at k = 4 whose two flip rates are equal: the exact probability that either is
    # established, over all 625 outcomes of the pair.
    k = 4
    x, y = np.divmod(np.arange((k + 1) ** 2), k + 1)
    first, second = (a.ravel() for a in np.indices((x.size, x.size)))
    established = np.empty((x.size, x.size), bool)
    for i, j in itertools.product(range(x.size), repeat=2):
        pair = ReplayCounts(["a", "b"], x[[i, j]], [k] * 2, y[[i, j]], [k] * 2)
        established[i, j] = score_table(pair, level=0.9, interval="newcombe").established.any()
    assert established.any()
    for p, q in itertools.product([0.05, 0.3, 0.5, 0.9], repeat=2):
        a, b = (
            np.array([math.comb(k, i) * math.comb(k, j) for i, j in zip(x, y, strict=True)])
            * rate ** (x + y)
            * (1 - rate) ** (2 * k - x - y)
            for rate in (p, q)
        )
        assert a.sum() == pytest.approx(1)
        assert a[first] @ (b[second] * established.ravel()) <= 0.1


@given(
    st.integers(1, 5), st.integers(1, 5), st.sampled_from(["<", "<=", "=", ">=", ">"]),
    st.fractions(-1, 1, max_denominator=12),
)  # fmt: skip
def test_the_rule_selects_by_exact_fractions(k_sham, k_destroy, comparison, threshold):
    x, y = np.divmod(np.arange((k_sham + 1) * (k_destroy + 1)), k_destroy + 1)
    n = x.size
    counts = ReplayCounts([f"{i:03}" for i in range(n)], x, [k_sham] * n, y, [k_destroy] * n)
    rule = ScoreRule(comparison, threshold)
    scores = [
        Fraction(b, k_destroy) - Fraction(a, k_sham)
        for a, b in itertools.product(range(k_sham + 1), range(k_destroy + 1))
    ]
    compare = {"<": "__lt__", "<=": "__le__", "=": "__eq__", ">=": "__ge__", ">": "__gt__"}
    expected = [getattr(score, compare[comparison])(threshold) for score in scores]
    table = score_table(counts, rule=rule, interval="newcombe", test="fisher")
    assert table.selected.tolist() == expected
    assert table.signs == {
        "negative": sum(s < 0 for s in scores),
        "zero": sum(s == 0 for s in scores),
        "positive": sum(s > 0 for s in scores),
    }


def test_a_rule_may_be_a_text(counts):
    table = score_table(counts, rule="score <= 0")
    assert table.rule == ScoreRule("<=", Fraction(0))
    assert table.question[table.selected].tolist() == ["a", "b", "c"]
    assert score_table(counts).selected is None


@pytest.mark.parametrize(("level", "significance"), [(0.95, 0.05), (0.9, 0.1), (0.999, 0.001)])
def test_the_level_of_the_test_has_no_rounding_error(counts, level, significance):
    assert score_table(counts, level=level).significance == significance


def test_a_p_value_at_the_significance_is_enough():
    # 0/3 v 3/3 has p = 1/32 by the pooled z statistic; 1 − 31/32 is that without rounding.
    counts = ReplayCounts(["a"], [0], [3], [3], [3])
    (p,) = score_table(counts).p_value
    assert p == 1 / 32
    assert score_table(counts, level=31 / 32).established.all()
    assert not score_table(counts, level=31 / 32 + 1e-9).established.any()


def test_established_is_split_by_the_direction_of_the_score():
    counts = ReplayCounts(list("abcd"), [0, 0, 8, 4], [8] * 4, [8, 8, 0, 4], [8] * 4)
    table = score_table(counts)
    result = table.to_dict()
    assert [result[f"established{which}"] for which in ("", "_above", "_below")] == [3, 2, 1]
    assert "established, score above 0          2           0.5000" in str(table)
    assert "established, score below 0          1           0.2500" in str(table)
    assert any("below 0 DESTROY flips its answer less often" in note for note in table.notes)


@pytest.mark.parametrize(
    ("alternative", "said", "unsaid"),
    [
        ("greater", "depends on the evidence", "no dependence"),
        ("less", "no dependence", "answer depends on"),
    ],
)
def test_a_one_sided_table_says_what_it_establishes(counts, alternative, said, unsaid):
    table = score_table(counts, alternative=alternative)
    (meaning,) = (note for note in table.notes if note.startswith("established"))
    assert said in meaning
    assert unsaid not in meaning
    assert any("one-sided and the intervals are two-sided" in note for note in table.notes)
    assert f"(barnard test, one-sided: {alternative}, exact)" in str(table)
    assert not any("one-sided" in note for note in score_table(counts).notes)


def test_width_and_smallest_p_value_are_of_the_questions_scored(counts):
    table = score_table(counts, interval="newcombe")
    widths = sorted((table.high - table.low)[:4].tolist())
    assert table.median_width == pytest.approx((widths[1] + widths[2]) / 2)
    assert table.smallest_p_value == pytest.approx(1 / 32, abs=1e-12)
    assert table.excluding_zero.tolist() == [True, False, False, True, False, False, False]


def sample(n, k):
    return ReplayCounts([f"q{i:04}" for i in range(n)], [0] * n, [k] * n, [k] * n, [k] * n)


@pytest.mark.parametrize(("alternative", "sides"), [("two-sided", 2), ("greater", 1)])
@pytest.mark.parametrize("n", [2, 40, 1258, 100_000])
def test_the_least_k_is_that_of_the_definition(alternative, sides, n):
    # The most extreme outcomes, 0/k v k/k, have p-value sides·(1/4)^k by the pooled statistic.
    level = Fraction(1, 20)
    expected = next(k for k in itertools.count(1) if n * sides * Fraction(1, 4) ** k <= level)
    least = find_least_k(n, "holm", 0.05, test="barnard", alternative=alternative)
    assert least == (expected, 1)


def test_the_table_says_that_nothing_can_be_established():
    table = score_table(sample(1258, 3), interval="newcombe")
    assert not table.established.any()
    note = (
        "at these budgets the smallest possible p-value is 0.03125: with 1258 questions no"
        " question can be established under holm at 0.05; k = 8 in each arm would be the least"
        " that could"
    )
    assert note in table.notes
    assert score_table(sample(1258, 8), interval="newcombe").established.all()
    assert not any("at these budgets" in note for note in score_table(sample(1, 3)).notes)


def test_the_table_says_how_many_questions_it_takes_together():
    # Benjamini and Hochberg: r questions at 1/32 are established among 100 if 100/32/r ≤ .05.
    mixed = ReplayCounts(
        [f"q{i:03}" for i in range(100)], [0] * 100, [3] * 100, [3] * 62 + [0] * 38, [3] * 100
    )
    table = score_table(mixed, adjust="benjamini-hochberg")
    assert not table.established.any()
    assert any("63 of them have their smallest p-value together" in note for note in table.notes)
    assert score_table(sample(100, 3), adjust="benjamini-hochberg").established.all()
    # At k = 2 a p-value is at least 1/8, so no number of questions is enough.
    table = score_table(sample(100, 2), adjust="benjamini-hochberg")
    assert any("k = 3 in each arm would be the least that could, and only if 63" in note
               for note in table.notes)  # fmt: skip


def test_the_questions_needed_are_those_of_the_procedure():
    smallest = np.array([0.5, 0.001, 0.25, 0.02, 0.03])
    # Sorted, n·p/rank is .005, .05, .05, …: the first alone is enough at .005, not below.
    assert questions_needed(smallest, "benjamini-hochberg", 0.0051) == 1
    assert questions_needed(smallest, "benjamini-hochberg", 0.0049) is None
    assert questions_needed(smallest[[0, 3, 4]], "benjamini-hochberg", 0.05) == 2
    assert questions_needed(smallest, "holm", 0.0049) is None
    assert questions_needed(smallest, "none", 0.001) == 1


def test_more_than_thirty_replays_are_said_to_be_needed():
    table = score_table(
        sample(1000, 1), test="fisher", interval="newcombe", level=0.999999999999999
    )
    assert any("more than 30 replays in each arm would be needed" in note for note in table.notes)


def test_approximate_intervals_are_called_that(counts):
    assert any("santner-snell hold their level" in n for n in
               score_table(counts, interval="newcombe").notes)  # fmt: skip
    assert not any("approximate" in note for note in score_table(counts).notes)


def test_no_clusters_are_needed_and_their_lack_is_no_fault():
    counts = ReplayCounts(["a"], [0], [3], [3], [3], ledger=Ledger(6, 6, notes=(UNKNOWN_CLUSTERS,)))
    assert UNKNOWN_CLUSTERS not in score_table(counts).notes


def test_mixed_budgets_have_no_common_k(counts):
    table = score_table(counts)
    assert table.k == {"sham": None, "destroy": None}
    assert "k differs between questions" in str(table)
    # Of the budgets (3, 3), (3, 4) and (2, 2): 0/3 v 4/4 and its mirror, π⁴(1−π)³ + π³(1−π)⁴ =
    # π³(1−π)³ ≤ 1/64, which no question happens to have.
    assert table.smallest_possible_p_value == pytest.approx(1 / 64, abs=1e-12)
    assert table.smallest_p_value > 1 / 64 + 1e-3
    assert score_table(sample(4, 3)).k == {"sham": 3, "destroy": 3}


def test_rows_are_plain_and_undefined_figures_are_none(counts):
    table = score_table(counts, rule="score < 0")
    rows = json.loads(json.dumps(table.to_dict(), allow_nan=False))["rows"]
    assert list(rows[0]) == [
        "question", "cluster", "sham_flips", "sham_replays", "destroy_flips", "destroy_replays",
        "score", "low", "high", "p_value", "adjusted_p_value", "established", "selected",
    ]  # fmt: skip
    assert rows[0]["question"] == "a"
    assert rows[0]["selected"] is True
    assert [row["score"] for row in rows[3:]] == [1.0, None, None, None]
    unknown = ReplayCounts(["a"], [0], [3], [3], [3])
    (row,) = score_table(unknown).rows()
    assert row["cluster"] is None
    assert "selected" not in row


def test_posteriors_are_columns_where_a_population_is_given(counts):
    two = Population([0.2, 0.5], [0.8, 0.5], [0.5, 0.5])
    table = score_table(counts, rule="score < 0", population=two)
    assert list(table.columns())[-3:] == ["selected", "mean_difference", "probability_not_above"]
    # d: no SHAM flip of 3, every DESTROY flip of 3; Bayes' rule in fractions.
    first = Fraction(8, 10) ** 3 * Fraction(8, 10) ** 3
    second = Fraction(1, 2) ** 6
    row = table.rows()[3]
    assert row["question"] == "d"
    assert row["mean_difference"] == pytest.approx(float(first * 6 / 10 / (first + second)), 1e-13)
    assert row["probability_not_above"] == pytest.approx(float(second / (first + second)), 1e-13)
    assert any("posterior" in note for note in table.notes)
    assert "P(Δ <= 0)" in str(table)
    never = score_table(counts, population=Population([0.0], [0.0]))
    assert never.rows()[0]["mean_difference"] is None  # this population cannot give the flips
    with pytest.raises(InputError, match="Population"):
        score_table(counts, population="paper")


def test_columns_cannot_be_written_to(counts):
    table = score_table(counts, rule="score < 0")
    for values in table.columns().values():
        with pytest.raises(ValueError, match="read-only"):
            values[0] = values[1]


def test_nothing_scored_is_said_and_no_error():
    counts = ReplayCounts(["a", "b"], [0, 0], [0, 3], [1, 0], [3, 0])
    table = score_table(counts)
    assert table.to_dict()["smallest_p_value"] is None
    assert table.median_width is None
    assert table.smallest_possible_p_value is None
    assert str(table).startswith(
        "Scores, DESTROY − SHAM flip rate: 0 of 2 questions scored\n\n"
        "                         questions\n"
        "-----------------------  ---------\n"
        "no valid sham replay             1\n"
        "no valid destroy replay          1\n\n"
        "  * 2 questions without a valid replay"
    )
    for shown in (str(table), table._repr_html_()):
        assert "–" not in shown
        assert "width" not in shown


def test_the_text_shows_the_summary_and_ten_questions():
    table = score_table(sample(12, 3), rule="score > 0", level=0.9)
    text = str(table)
    assert "score above 0                      12           1.0000" in text
    assert "selected (score > 0)               12           1.0000" in text
    assert "90 % intervals (agresti-min, exact): median width 0." in text
    assert "(barnard test, two-sided, exact): the smallest is 0.0312; " in text
    assert "The 10 smallest p-values of 12 (all: --output FILE, or .rows())" in text
    assert "q0009" in text
    assert "q0010" not in text
    assert "--output" not in str(score_table(sample(10, 3)))
    assert repr(table) == text
    approximate = score_table(sample(10, 3), interval="newcombe", two_sided="doubling")
    assert "95 % intervals (newcombe, approximate): " in str(approximate)
    assert "(barnard test, two-sided by doubling, exact)" in str(approximate)


def test_the_questions_shown_are_those_of_the_smallest_p_values():
    # p falls with the flips; c has no score and comes last, also after others whose p-value is 1.
    flips = {"a": 0, "b": 6, "c": 0, "d": 8, "e": 0, "f": 8, "g": 7}
    for more in ("hijklmnop", ""):
        ids = [*flips, *more]
        k = [0 if q == "c" else 8 for q in ids]
        counts = ReplayCounts(
            ids, [0] * len(ids), k, [flips.get(q, 0) for q in ids], [8] * len(ids)
        )
        table = score_table(counts)
        lines = str(table).split("flips/replays")[1].splitlines()[4:]
        shown = "".join(line[0] for line in lines[: lines.index("")])
        assert shown == ("dfgbaehijk" if more else "dfgbaec")
        assert table._repr_html_().count('<th scope="row">d</th>') == 1


def test_small_p_values_have_two_digits():
    # 0/10 v 10/10: 2·4⁻¹⁰ = 1.907e-06, of one question and of two under Holm.
    text = str(score_table(sample(2, 10)))
    assert "the smallest is 1.9e-06; the smallest possible at these k is 1.9e-06" in (
        " ".join(text.split())
    )
    assert "1.9e-06   3.8e-06          yes" in text


def test_ids_are_shown_on_one_line_and_escaped():
    counts = ReplayCounts(["a\n<b>", "x" * 99], [0, 0], [3, 3], [3, 3], [3, 3])
    table = score_table(counts)
    assert "\na\\n<b>  " in str(table)
    assert f"\n{'x' * 39}…  " in str(table)
    assert "a\\n&lt;b&gt;" in table._repr_html_()
    assert "median width" in table._repr_html_()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"adjust": "bonferoni"}, "unknown adjust"),
        ({"interval": "wald"}, "interval"),
        ({"test": "fischer"}, "did you mean 'fisher'"),
        ({"alternative": "both"}, "alternative"),
        ({"two_sided": "twice"}, "two_sided"),
        ({"level": 95}, "level"),
        ({"rule": "delta is 0"}, "rule="),
        ({"rule": 0}, "rule="),
    ],
)
def test_wrong_arguments_are_refused(counts, wrong, word):
    with pytest.raises(InputError, match=word):
        score_table(counts, **wrong)


def test_anything_but_counts_is_refused():
    with pytest.raises(InputError, match="read_replays"):
        score_table("results/")
