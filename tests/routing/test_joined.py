"""Joining replays and outcomes: what is kept, left out, counted and refused."""

import numpy as np
import pytest

from carve_stats.counts import UNKNOWN_CLUSTERS, Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Answerer, Outcomes
from carve_stats.routing.joined import CONDITIONAL, join


def counts_of(ids, **columns):
    n = len(ids)
    return ReplayCounts(ids, range(n), [9] * n, [9] * n, [9] * n, **columns)


def test_rows_meet_by_id_whatever_their_order():
    counts = counts_of(["c", "a", "b"], cluster=["z", "x", "y"])
    outcomes = Outcomes(["b", "c", "a"], [0, 1, 1], {"strong": [1, 1, 0]})
    data = join(counts, outcomes)
    assert data.counts.question.tolist() == ["a", "b", "c"]
    assert data.counts.sham_flips.tolist() == [1, 2, 0]
    assert data.value.tolist() == [-1, 1, 0]
    assert data.original.tolist() == [True, False, True]
    assert data.fallback.tolist() == [False, True, True]
    assert data.codes.tolist() == [0, 1, 2]
    assert data.questions == {"read": 3, "used": 3, "left_out": {}}
    assert data.notes == ()
    assert len(data) == 3
    assert repr(data) == "<RoutingData: 3 questions, 3 scored, fallback strong>"


def test_ids_of_one_side_only_are_refused_and_named():
    counts = counts_of(["a", "b", "x1", "x2"])
    outcomes = Outcomes(["a", "b", "y"], [0, 1, 1], {"strong": [1, 1, 0]})
    with pytest.raises(InputError) as error:
        join(counts, outcomes)
    assert "2 with replays and no outcome (the first: 'x1')" in str(error.value)
    assert "1 with an outcome and no replays (the first: 'y')" in str(error.value)
    assert "--allow-mismatch" in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unfinished_run_is_named_where_ids_are_missing():
    note = "runs/audit: unfinished, 200 of 360 replays are done"
    counts = counts_of(["a", "b"], ledger=Ledger(4, 4, {}, (note, "another note")))
    assert counts.ledger.unfinished == (note,)
    rest = [0, 1, 1], {"strong": [1, 1, 0]}
    with pytest.raises(InputError, match="runs/audit: unfinished, 200 of 360") as error:
        join(counts, Outcomes(["a", "b", "c"], *rest))
    assert "finish the run (the same command goes on with it), or give allow_" in str(error.value)
    assert "another note" not in str(error.value)
    assert "mend the ids" not in str(error.value)
    with pytest.raises(InputError, match="goes on with it\\) and mend the ids, or"):
        join(counts, Outcomes(["a", "x", "c"], *rest))
    # Where only outcomes are missing, finishing would not help.
    with pytest.raises(InputError, match=r"no outcome .the first: 'b'.; mend the ids, or give"):
        join(counts, Outcomes(["a"], [0], {"strong": [1]}))


@pytest.mark.parametrize(("of_counts", "of_outcomes"), [("abx", "ab"), ("ab", "aby")])
def test_a_mismatch_of_either_side_alone_is_refused(of_counts, of_outcomes):
    n = len(of_outcomes)
    outcomes = Outcomes(list(of_outcomes), [0] * n, {"strong": [1] * n})
    with pytest.raises(InputError, match="do not have the same question ids: 1 with"):
        join(counts_of(list(of_counts)), outcomes)


def test_mismatches_that_are_allowed_are_counted():
    counts = counts_of(["a", "b", "x"])
    outcomes = Outcomes(["a", "b", "y"], [0, 1, 1], {"strong": [1, 1, 0]})
    data = join(counts, outcomes, allow_mismatch=True)
    assert data.counts.question.tolist() == ["a", "b", "y"]
    assert data.counts.scored.tolist() == [True, True, False]
    assert data.counts.sham_flips.tolist() == [0, 1, 0]
    assert data.value.tolist() == [1, 0, -1]
    assert data.questions == {"read": 4, "used": 3, "left_out": {"replays without outcome": 1}}
    assert "1 question has an outcome and no replays, and so no score" in data.notes


@pytest.mark.parametrize("allowed", [False, True])
def test_no_id_in_common_is_never_allowed(allowed):
    outcomes = Outcomes(["v_1"], [0], {"strong": [1]})
    with pytest.raises(InputError, match=r"no question id in common.*'1'.*'v_1'"):
        join(counts_of(["1"]), outcomes, allow_mismatch=allowed)


def test_outcomes_that_are_not_known_are_left_out_by_reason():
    ids = list("abcde")
    outcomes = Outcomes(ids, [1, None, 0, None, 0], {"strong": [1, 1, None, None, 1]})
    data = join(counts_of(ids), outcomes)
    assert data.counts.question.tolist() == ["a", "e"]
    assert data.questions == {
        "read": 5,
        "used": 2,
        "left_out": {
            "original outcome not known": 1,
            "fallback outcome not known": 1,
            "neither outcome known": 1,
        },
    }
    assert CONDITIONAL in data.notes


def test_clusters_come_from_either_side():
    ids = ["a", "b"]
    outcomes = Outcomes(ids, [1, 0], {"strong": [1, 1]}, cluster=["w", "v"])
    unknown = Ledger(read=2, used=2, notes=(UNKNOWN_CLUSTERS, "a line about the log"))
    data = join(counts_of(ids, ledger=unknown), outcomes)
    assert data.counts.cluster.tolist() == ["w", "v"]
    assert data.codes.tolist() == [1, 0]
    assert data.notes == ("a line about the log",)
    bare = Outcomes(ids, [1, 0], {"strong": [1, 1]})
    assert join(counts_of(ids, cluster=["w", "v"]), bare).codes.tolist() == [1, 0]
    assert join(counts_of(ids), bare).codes is None


def test_clusters_that_differ_are_refused():
    outcomes = Outcomes(["a", "b"], [1, 0], {"strong": [1, 1]}, cluster=["v", "w"])
    with pytest.raises(
        InputError, match="question='b' is in cluster 'x' in the replays and in 'w'"
    ):
        join(counts_of(["a", "b"], cluster=["v", "x"]), outcomes)


def test_clusters_of_replays_alone_do_not_cover_questions_without_replays():
    outcomes = Outcomes(["a", "b"], [1, 0], {"strong": [1, 1]})
    data = join(counts_of(["a"], cluster=["v"]), outcomes, allow_mismatch=True)
    assert data.codes is None
    assert any("name their videos in the outcomes" in note for note in data.notes)


def test_columns_of_left_out_questions_go_with_them():
    outcomes = Outcomes(
        ["a", "b", "c"],
        [1, None, 0],
        {"strong": Answerer([1, 1, 1], tokens=[7, 8, 9], tools=[1, 2, 3])},
        original_tokens=[4, 5, 6],
        covariates={"confidence": [0.1, 0.2, 0.3], "covered": [True, False, True]},
    )
    data = join(counts_of(["a", "b", "c"]), outcomes)
    assert data.original_tokens.tolist() == [4, 6]
    assert data.original_tools is None
    assert data.fallback_tokens.tolist() == [7, 9]
    assert data.fallback_tools.tolist() == [1, 3]
    assert data.covariates["confidence"].tolist() == [0.1, 0.3]
    assert data.covariates["covered"].tolist() == ["true", "true"]
    assert not data.covariates["confidence"].flags.writeable


def test_invalid_and_self_replays_are_kept():
    counts = ReplayCounts(
        ["a", "b"], [1, 1], [3, 2], [2, 2], [3, 3], self_flips=[1, 0], self_replays=[2, 3],
        sham_invalid=[0, 1], destroy_invalid=[2, 0], self_invalid=[1, 0],
    )  # fmt: skip
    outcomes = Outcomes(["b", "a"], [1, 0], {"strong": [1, 1]}, cluster=["v", "w"])
    joined = join(counts, outcomes).counts.to_dict()
    assert joined | {"cluster": None} == counts.to_dict() | {"cluster": None}


def test_the_fallback_is_named_where_there_are_several():
    outcomes = Outcomes(["a"], [0], {"weak": [0], "strong": [1]})
    with pytest.raises(InputError, match="strong, weak"):
        join(counts_of(["a"]), outcomes)
    with pytest.raises(InputError, match="did you mean 'strong'"):
        join(counts_of(["a"]), outcomes, fallback="strnog")
    assert join(counts_of(["a"]), outcomes, fallback="weak").value.tolist() == [0]


def test_other_types_are_refused():
    outcomes = Outcomes(["a"], [0], {"strong": [1]})
    with pytest.raises(InputError, match="counts is a str"):
        join("log.csv", outcomes)
    with pytest.raises(InputError, match="outcomes is a str"):
        join(counts_of(["a"]), "outcomes.csv")


def test_strings_of_unequal_widths_join():
    ids = np.array(["question-with-a-long-name", "q"])
    data = join(counts_of(["q", "question-with-a-long-name"]), Outcomes(ids, [1, 0], {"f": [0, 0]}))
    assert data.value.tolist() == [0, -1]
