import pickle

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.counts import Ledger
from carve_stats.errors import InputError
from carve_stats.outcomes import Answerer, Outcomes, check_outcomes

IDS = ["q3", "q1", "q2"]
OUTCOMES = Outcomes(
    IDS,
    [1, 0, None],
    {"weak": [False, True, None],
     "strong": Answerer([1, 1, 0], tokens=[5, None, 7], tools=[0, 1, 2])},
    cluster=["w", "v", "v"],
    original_tokens=[30, 10, 20],
    covariates={"kind": ["a", None, "b"], "confidence": [0.5, None, 1],
                "covered": [True, False, None]},
    ledger=Ledger(3, 3),
)  # fmt: skip


def test_columns_stand_in_order_of_the_ids():
    assert OUTCOMES.question.tolist() == ["q1", "q2", "q3"]
    assert OUTCOMES.cluster.tolist() == ["v", "v", "w"]
    np.testing.assert_array_equal(OUTCOMES.original_correct, [0, np.nan, 1])
    np.testing.assert_array_equal(OUTCOMES.original.tokens, [10, 20, 30])
    assert OUTCOMES.original.tools is None
    strong = OUTCOMES.alternatives["strong"]
    np.testing.assert_array_equal(strong.correct, [1, 0, 1])
    np.testing.assert_array_equal(strong.tokens, [np.nan, 7, 5])
    np.testing.assert_array_equal(strong.tools, [1, 2, 0])
    assert list(OUTCOMES.alternatives) == ["strong", "weak"]


def test_covariates_are_numbers_or_texts():
    covariates = OUTCOMES.covariates
    assert covariates["kind"].tolist() == ["", "b", "a"]
    np.testing.assert_array_equal(covariates["confidence"], [np.nan, 1, 0.5])
    assert covariates["covered"].tolist() == ["false", "", "true"]


def test_what_is_not_known_is_neither_right_nor_wrong():
    assert OUTCOMES.original.known.tolist() == [True, False, True]
    shown = "<Outcomes: 3 questions, 2 clusters, original 1 of 2 right, strong 2 of 3 right, weak"
    assert repr(OUTCOMES) == f"{shown} 1 of 2 right>"
    assert OUTCOMES.to_dict()["original"]["correct"] == [0, None, 1]


def test_to_dict_holds_plain_values():
    assert OUTCOMES.to_dict() == {
        "question": ["q1", "q2", "q3"],
        "cluster": ["v", "v", "w"],
        "original": {"correct": [0, None, 1], "tokens": [10, 20, 30], "tools": None},
        "alternatives": {
            "strong": {"correct": [1, 0, 1], "tokens": [None, 7, 5], "tools": [1, 2, 0]},
            "weak": {"correct": [1, None, 0], "tokens": None, "tools": None},
        },
        "covariates": {
            "confidence": [None, 1, 0.5],
            "covered": ["false", None, "true"],
            "kind": [None, "b", "a"],
        },
    }


def test_columns_are_read_only_and_the_callers_stay_theirs():
    mine = np.array([1.0, 0.0])
    outcomes = Outcomes(["a", "b"], mine, {"x": mine}, covariates={"c": mine})
    for column in (
        outcomes.question, outcomes.original_correct, outcomes.alternatives["x"].correct,
        outcomes.covariates["c"],
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0
    mine[0] = 0
    assert outcomes.original_correct[0] == outcomes.covariates["c"][0] == 1


def test_select_keeps_rows_and_no_ledger():
    chosen = OUTCOMES.select([True, False, True])
    assert chosen.question.tolist() == ["q1", "q3"]
    assert chosen.alternatives["strong"].tools.tolist() == [1, 0]
    assert chosen.covariates["kind"].tolist() == ["", "a"]
    assert chosen.ledger is None
    assert len(chosen) == 2
    with pytest.raises(InputError, match=r"mask has dtype int64 and shape \(3,\): it must be bool"):
        OUTCOMES.select([1, 0, 1])


def test_it_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(OUTCOMES)).to_dict() == OUTCOMES.to_dict()


@given(st.permutations(range(3)))
def test_the_order_of_rows_changes_nothing(order):
    def turned(values):
        return [values[i] for i in order]

    other = Outcomes(
        turned(IDS), turned([1, 0, None]),
        {"strong": Answerer(turned([1, 1, 0]), turned([5, None, 7]), turned([0, 1, 2])),
         "weak": turned([False, True, None])},
        cluster=turned(["w", "v", "v"]), original_tokens=turned([30, 10, 20]),
        covariates={"covered": turned([True, False, None]), "kind": turned(["a", None, "b"]),
                    "confidence": turned([0.5, None, 1])},
    )  # fmt: skip
    assert other.to_dict() == OUTCOMES.to_dict()


def test_columns_of_pandas():
    table = pandas.DataFrame(
        {"q": ["a", "b"], "r": pandas.array([True, None], "boolean"), "k": [1, 2]}
    )
    outcomes = Outcomes(table.q, table.r, {}, covariates={"k": table.k, "r": table.r})
    np.testing.assert_array_equal(outcomes.original_correct, [1, np.nan])
    assert outcomes.covariates["r"].tolist() == ["true", ""]
    assert outcomes.covariates["k"].dtype == float


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": ["q", "q"]}, "question='q' stands in two rows: each question needs one row"),
        ({"question": ["q", None]}, "question=None in row 1: every row needs an id"),
        ({"original_correct": [1, 2]}, "original_correct=2 of question 'b' must be 1, 0 or"),
        ({"original_correct": [1]}, r"original_correct has shape \(1,\): it must be \(2,\)"),
        ({"original_correct": ["A", "B"]}, "original_correct holds values that are not numbers"),
        ({"original_correct": None}, "original_correct is None: give one outcome a question"),
        ({"alternatives": {"x": [0.5, 1]}}, "x_correct=0.5 of question 'a' must be 1, 0 or miss"),
        ({"alternatives": {"original": [1, 1]}}, "alternatives='original' names the frozen answer"),
        ({"alternatives": [1, 1]}, "alternatives is a list: it must be a mapping from names to"),
        ({"alternatives": {"": [1, 1]}}, "alternatives: '' is no name: give a text"),
        ({"alternatives": {"x": Answerer([1, 1], tokens=[1, -2])}}, "x_tokens=-2 of question 'b'"),
        ({"original_tools": [np.inf, 1]}, "original_tools=inf of question 'a' must be a number of"),
        ({"cluster": ["v"]}, "cluster has 1 rows and question has 2: give one cluster a question"),
        ({"covariates": {"c": [1]}}, r"c has shape \(1,\): it must be \(2,\), one a question"),
        ({"covariates": {"c": np.array([b"x", b"y"])}}, "c holds bytes: give texts"),
    ],
)  # fmt: skip
def test_wrong_input_is_named(change, message):
    arguments = {"question": ["a", "b"], "original_correct": [1, 0], "alternatives": {}} | change
    with pytest.raises(InputError, match=message):
        Outcomes(**arguments)


def test_the_fallback_is_the_only_alternative_or_is_named():
    one = Outcomes(["a"], [1], {"strong": [0]})
    assert one.fallback() == one.fallback("strong") == ("strong", one.alternatives["strong"])
    assert OUTCOMES.fallback("weak")[0] == "weak"
    with pytest.raises(InputError, match=r"strong, weak: say which one .*\(--fallback\)"):
        OUTCOMES.fallback()
    with pytest.raises(InputError, match=r"unknown fallback 'stong': .* did you mean 'strong'"):
        OUTCOMES.fallback("stong")
    with pytest.raises(InputError, match=r"no alternative answerer.*\(--answers\)"):
        Outcomes(["a"], [1], {}).fallback()


def test_anything_else_is_refused():
    check_outcomes(OUTCOMES)
    with pytest.raises(
        InputError, match="outcomes is a str: it must be Outcomes, as read_outcomes"
    ):
        check_outcomes("outcomes.csv")


@pytest.mark.parametrize(
    "name",
    ["score", "Score", " delta", "Δ", "Δ̂", "cluster", "posterior mean", "posterior  probability"],
)
def test_names_of_built_in_figures_are_no_covariates(name):
    with pytest.raises(InputError, match=r"covariates: a covariate cannot be called .* rename"):
        Outcomes(["a"], [1], {}, covariates={name: [1.0]})


def test_names_beside_those_of_built_in_figures():
    names = ["my score", "score_2", "Cluster", "posterior", "mean"]
    outcomes = Outcomes(["a"], [1], {}, covariates={name: [1.0] for name in names})
    assert sorted(outcomes.covariates) == sorted(names)


class TestWithCovariates:
    OUTCOMES = Outcomes(
        ["a", "b", "c"],
        [1, 0, None],
        {"strong": Answerer([1, 1, 0], tokens=[5, 6, 7])},
        cluster=["u", "u", "v"],
        original_tools=[1, 2, 3],
        covariates={"kind": ["x", "y", "x"]},
    )

    def test_rows_meet_by_id_and_all_else_is_kept(self):
        more = self.OUTCOMES.with_covariates(
            ["c", "a", "b"], {"covered": [True, None, False], "recall": [0.5, np.nan, 1]}
        )
        assert more.covariates["covered"].tolist() == ["", "false", "true"]
        np.testing.assert_array_equal(more.covariates["recall"], [np.nan, 1, 0.5])
        kept = more.to_dict()
        del kept["covariates"]["covered"], kept["covariates"]["recall"]
        assert kept == self.OUTCOMES.to_dict()
        assert not more.covariates["recall"].flags.writeable

    def test_a_whole_result_is_no_column_of_ids(self):
        with pytest.raises(InputError, match="question holds a whole Outcomes, no ids: give its"):
            self.OUTCOMES.with_covariates(self.OUTCOMES, {"x": [1, 2, 3]})
        with pytest.raises(InputError, match="columns is a list: it must be a mapping"):
            self.OUTCOMES.with_covariates(self.OUTCOMES.question, [1])

    def test_ids_of_one_side_are_refused_or_missing(self):
        rows = ["a", "b", "z"], {"n": [1, 2, 3], "t": ["p", "q", "r"]}
        with pytest.raises(InputError) as error:
            self.OUTCOMES.with_covariates(*rows)
        assert str(error.value) == (
            "question='c' has an outcome and no covariates; question='z' has covariates and no"
            " outcome: mend the ids, or give allow_mismatch=True"
        )
        more = self.OUTCOMES.with_covariates(*rows, allow_mismatch=True)
        np.testing.assert_array_equal(more.covariates["n"], [1, 2, np.nan])
        assert more.covariates["t"].tolist() == ["p", "q", ""]

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ((["x"], {"n": [1]}), "no question id in common: question='a'"),
            ((["a", "a", "b"], {"n": [1, 2, 3]}), "question='a' stands in two rows"),
            ((["a", "b", "c"], {"kind": [1, 2, 3]}), "'kind': the outcomes have such a covariate"),
            ((["a", "b", "c"], {"score": [1, 2, 3]}), "a covariate cannot be called 'score'"),
            ((["a", "b", "c"], {"n": [1, 2]}), "n has shape"),
        ],
    )
    def test_refused(self, rows, said):
        with pytest.raises(InputError, match=said):
            self.OUTCOMES.with_covariates(*rows, allow_mismatch=True)


@pytest.mark.parametrize("values", [[1.0, float("inf")], [None, float("-inf")]])
def test_covariates_are_finite_or_missing(values):
    with pytest.raises(InputError, match=r"x=-?inf of question 'b' must be finite, or missing"):
        Outcomes(["a", "b"], [1, 0], {}, covariates={"x": values})
    outcomes = Outcomes(["a", "b"], [1, 0], {})
    with pytest.raises(InputError, match="must be finite"):
        outcomes.with_covariates(["a", "b"], {"x": values})
