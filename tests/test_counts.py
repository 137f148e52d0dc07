import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import carve_stats
from carve_stats.counts import Ledger, ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law.stopping import fixed_plan
from carve_stats.outcomes import Outcomes
from carve_stats.population.cells import budget_cells, pattern_cells
from carve_stats.population.mixing import Population
from carve_stats.routing.score_values import score_values

COLUMNS = (
    "self_flips", "self_replays", "self_invalid", "sham_flips", "sham_replays", "sham_invalid",
    "destroy_flips", "destroy_replays", "destroy_invalid",
)  # fmt: skip


def three(**changes):
    columns = {
        "question": ["b", "a", "c"],
        "sham_flips": [1, 0, 0],
        "sham_replays": [3, 3, 0],
        "destroy_flips": [2, 1, 1],
        "destroy_replays": [3, 2, 3],
        "cluster": ["v", "w", "v"],
    }
    return ReplayCounts(**(columns | changes))


def test_rows_are_sorted_by_question():
    counts = three()
    assert counts.question.tolist() == ["a", "b", "c"]
    assert counts.destroy_replays.tolist() == [2, 3, 3]
    assert counts.cluster.tolist() == ["w", "v", "v"]
    assert counts.cluster_codes.tolist() == [1, 0, 0]
    assert counts.self_replays.tolist() == [0, 0, 0]


@given(st.permutations(range(6)))
def test_row_order_never_matters(order):
    rows = np.array(order)
    columns = dict(
        question=np.array(list("abcdef")), sham_flips=np.arange(6), sham_replays=np.arange(6) + 1,
        destroy_flips=np.arange(6)[::-1], destroy_replays=np.full(6, 6),
        cluster=np.array(list("uvwuvw")), self_invalid=np.arange(6),
    )  # fmt: skip
    plain, shuffled = (
        ReplayCounts(**columns),
        ReplayCounts(**{n: c[rows] for n, c in columns.items()}),
    )
    assert shuffled.to_dict() == plain.to_dict()


def test_scores_are_compared_on_integers():
    counts = ReplayCounts(["a", "b"], [1, 3], [3, 10], [2, 3], [6, 10])
    assert counts.score_numerator.tolist() == [0, 0]
    assert counts.score.tolist() == [0, 0]


def test_a_question_without_a_valid_replay_in_an_arm_has_no_score():
    counts = three()
    assert counts.scored.tolist() == [True, True, False]
    assert np.isnan(counts.score).tolist() == [False, False, True]
    np.testing.assert_allclose(counts.score[:2], [1 / 2 - 0, 2 / 3 - 1 / 3])


def test_every_column_is_read_only_and_a_copy():
    given_flips = np.array([1, 0, 0])
    counts = three(sham_flips=given_flips)
    given_flips[:] = 3
    assert counts.sham_flips.tolist() == [0, 1, 0]
    for name in ("question", "cluster", *COLUMNS):
        with pytest.raises(ValueError, match="read-only"):
            getattr(counts, name)[0] = getattr(counts, name)[1]
    with pytest.raises(AttributeError):
        counts.ledger = None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question": ["a", "b", "a"]}, "question='a' stands in two rows"),
        ({"question": ["a", None, "c"]}, "question=None in row 1"),
        ({"question": np.array(["a", np.nan, "c"], object)}, "question=nan in row 1"),
        ({"question": pd.array(["a", pd.NA, "c"])}, "question=.*in row 1"),
        ({"question": ["a", "b", ""]}, "question='' in row 2"),
        ({"question": [["a"], ["b"], ["c"]]}, "question has shape .*one-dimensional"),
        ({"question": [["a"], ["b", "c"]]}, "question holds rows of unequal length"),
        ({"cluster": ["v", "w"]}, "cluster has 2 rows and question has 3"),
        ({"cluster": ["v", None, "w"]}, "cluster=None in row 1"),
        ({"cluster": ["v", "", "w"]}, "cluster='' in row 1"),
        ({"sham_flips": [1, 0]}, r"sham_flips has shape \(2,\): it must be \(3,\)"),
        ({"sham_flips": [4, 0, 0]}, "sham_flips=4 of question 'b' must not exceed sham_replays"),
        ({"destroy_flips": [2, -1, 1]}, "destroy_flips=-1 of question 'a' must not be negative"),
        ({"sham_flips": [0.5, 0, 0]}, "sham_flips=0.5 of question 'b' must be a whole number"),
        ({"sham_flips": [0, np.nan, 0]}, "sham_flips=nan of question 'a' must be a whole number"),
        ({"sham_flips": ["one", 0, 0]}, "sham_flips holds values that are not numbers"),
        ({"self_replays": pd.array([1, pd.NA, 1])}, "self_replays=nan of question .a. must be"),
        ({"sham_replays": [3, 3, 2**40]}, "sham_replays=1099511627776 of question 'c' must be"),
        ({"sham_invalid": [0, 0, -2]}, "sham_invalid=-2 of question 'c' must not be negative"),
    ],
)
def test_wrong_input_is_one_line_that_names_the_place(changes, message):
    with pytest.raises(InputError, match=message) as raised:
        three(**changes)
    assert "\n" not in str(raised.value)


def test_whole_numbers_may_come_as_floats():
    assert three(sham_flips=[1.0, 0.0, 0.0]).sham_flips.dtype == np.int64


def test_select_keeps_rows_and_drops_the_ledger():
    counts = three(ledger=Ledger(3, 3))
    some = counts.select(counts.scored)
    assert some.question.tolist() == ["a", "b"]
    assert some.cluster.tolist() == ["w", "v"]
    assert some.ledger is None
    for mask in ([1, 0, 1], [True, False]):
        with pytest.raises(InputError, match="it must be boolean, of shape"):
            counts.select(mask)


def test_pool_adds_replays_question_by_question():
    a = three(sham_invalid=[0, 1, 3], ledger=Ledger(9, 7, {"invalid": 2}, ("x", "y"), ("a",)))
    b = ReplayCounts(
        ["c", "d"], [1, 2], [2, 2], [0, 0], [1, 1], cluster=["v", "u"], sham_invalid=[1, 0],
        ledger=Ledger(8, 6, {"invalid": 1, "duplicate": 1}, ("y", "z"), ("b",)),
    )  # fmt: skip
    pooled = a.pool(b)
    assert pooled.question.tolist() == ["a", "b", "c", "d"]
    assert pooled.sham_flips.tolist() == [0, 1, 1, 2]
    assert pooled.sham_replays.tolist() == [3, 3, 2, 2]
    assert pooled.destroy_replays.tolist() == [2, 3, 4, 1]
    assert pooled.sham_invalid.tolist() == [1, 0, 4, 0]
    assert pooled.cluster.tolist() == ["w", "v", "v", "u"]
    assert pooled.ledger == Ledger(
        17, 13, {"invalid": 3, "duplicate": 1}, ("x", "y", "z"), ("a", "b")
    )
    assert b.pool(a).to_dict() == pooled.to_dict()


def test_pool_refuses_clusters_that_disagree():
    with pytest.raises(InputError, match="question='b' is in cluster 'v' in one run and in 'z'"):
        three().pool(three(cluster=["z", "w", "v"]))
    with pytest.raises(InputError, match="give both, or neither"):
        three().pool(three(cluster=None))


def test_without_clusters_there_are_no_codes():
    counts = three(cluster=None)
    assert counts.cluster_codes is None
    assert counts.to_dict()["cluster"] == [None] * 3
    assert repr(counts) == "<ReplayCounts: 3 questions, 2 scored, ? clusters>"


def test_there_may_be_no_question_at_all():
    counts = ReplayCounts([], [], [], [], [], cluster=[])
    assert len(counts) == 0
    assert counts.score.shape == (0,)


def test_a_ledger_must_add_up():
    assert Ledger(3, 2, {"invalid": 1}).to_dict() == {
        "read": 3, "used": 2, "left_out": {"invalid": 1},
    }  # fmt: skip
    with pytest.raises(InputError, match="read=4 must equal used=2 plus left_out"):
        Ledger(4, 2, {"invalid": 1})


@pytest.mark.parametrize("name", ["question", "cluster"])
@pytest.mark.parametrize("missing", [float("nan"), None])
def test_a_missing_id_among_texts_is_no_id(name, missing):
    ids = {"question": ["a", "b"], "cluster": ["v", "w"], name: ["x", missing]}
    with pytest.raises(InputError, match=rf"{name}=\w+ in row 1: every row needs an id"):
        ReplayCounts(ids["question"], [1, 0], [3, 3], [2, 1], [3, 3], cluster=ids["cluster"])


def test_bytes_are_no_ids():
    with pytest.raises(InputError, match="question holds bytes"):
        ReplayCounts([b"a"], [1], [3], [2], [3])


def test_required_counts_are_not_taken_for_zeros():
    ids, three = ["a", "b"], [3, 3]
    with pytest.raises(InputError, match="sham_flips is None"):
        ReplayCounts(ids, None, three, [3, 1], three)
    with pytest.raises(InputError, match="destroy_flips has masked entries"):
        ReplayCounts(ids, [1, 1], three, np.ma.array([3, 1], mask=[0, 1]), three)
    with pytest.raises(InputError, match="not numbers"):
        ReplayCounts(ids, np.zeros(2, [("x", int)]), three, [3, 1], three)


ALTERNATE = fixed_plan(3, 3, "score <= 0", "alternate", (1, 1))
WRONG = r"stopped early \(score <= 0\).* would be biased; use stopped_signs\(counts\)"


def stopped(**changes):
    columns = {
        "question": ["b", "a", "c"],
        "sham_flips": [2, 0, 0],
        "sham_replays": [2, 2, 2],
        "destroy_flips": [0, 2, 2],
        "destroy_replays": [1, 2, 2],
        "cluster": ["v", "w", "v"],
        "stopping": ALTERNATE,
    }
    return ReplayCounts(**(columns | changes))


def test_counts_that_were_stopped_early_have_no_score():
    counts = stopped()
    for name in ("score", "score_numerator"):
        with pytest.raises(InputError, match=WRONG) as told:
            getattr(counts, name)
        assert "\n" not in str(told.value)
    assert counts.scored.all()
    assert repr(counts) == (
        "<ReplayCounts: 3 questions, 3 scored, 2 clusters, stopped early by score <= 0>"
    )


def test_the_plan_goes_with_the_counts():
    counts = stopped(sham_invalid=[1, 0, 0])
    for kept in (
        counts.select(counts.scored),
        pickle.loads(pickle.dumps(counts)),
        copy.copy(counts),
        copy.deepcopy(counts),
    ):
        assert kept.stopping.sha256 == ALTERNATE.sha256
        assert kept.to_dict() == counts.to_dict()
        with pytest.raises(InputError, match=WRONG):
            kept.score  # noqa: B018
    assert counts.to_dict()["stopping"] == [ALTERNATE.sha256] * 3
    assert "stopping" not in three().to_dict()


def test_stopped_runs_are_not_pooled():
    for a, b in ((stopped(), stopped()), (stopped(), three()), (three(), stopped())):
        with pytest.raises(InputError, match=WRONG) as told:
            a.pool(b)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stopping": "score <= 0"}, "stopping is a str: it must be a StoppingPlan"),
        ({"stopping": ALTERNATE.to_dict()}, "stopping is a dict: it must be a StoppingPlan"),
        ({"sham_replays": [4, 2, 2]}, "sham_replays=4 of question 'b' must not exceed the 3 of"),
        ({"destroy_replays": [1, 4, 2]}, "destroy_replays=4 of question 'a' must not exceed the 3"),
        ({"sham_invalid": [0, 0, 2]}, "sham_replays=4 of question 'c' .* invalid ones among them"),
        ({"destroy_invalid": [3, 0, 0]}, "destroy_replays=4 of question 'b' must not exceed"),
    ],
)
def test_counts_that_the_plan_cannot_have_made_are_refused(changes, message):
    with pytest.raises(InputError, match=message) as raised:
        stopped(**changes)
    assert "\n" not in str(raised.value)


# Those that know what to do with such counts: their figures are those of full runs. What routes
# by rules takes the decisions of the rule that they were stopped by, and refuses other rules.
KNOW_BETTER = {
    "stopped_signs", "evaluate_rule", "compare_rules", "compare_methods", "compare_policies",
    "rule_transfer", "defer_questions",
}  # fmt: skip
TAKE_COUNTS = {
    name: {p.name: p for p in inspect.signature(getattr(carve_stats, name)).parameters.values()
           if "ReplayCounts" in str(p.annotation)}
    for name in carve_stats.__all__
    if inspect.isfunction(getattr(carve_stats, name))
}  # fmt: skip
NAIVE = {name: takes for name, takes in TAKE_COUNTS.items() if takes and name not in KNOW_BETTER}


def test_the_functions_that_take_counts_are_found():
    assert {name for name, takes in TAKE_COUNTS.items() if takes} >= KNOW_BETTER
    assert NAIVE.keys() >= {
        "curtailment", "deferral_frontier", "fit_population", "flip_rates", "homogeneity_test",
        "mean_score", "monitor_mean_score", "plan_budget", "predict_signs", "question_posteriors",
        "reproducibility", "routing_curve", "score_table", "tie_excess", "write_report",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(NAIVE))
def test_every_public_function_that_takes_counts_refuses_stopped_ones(name, tmp_path):
    function = getattr(carve_stats, name)
    full = three()
    outcomes = Outcomes(["a", "b", "c"], [1, 0, 1], {"strong": [0, 1, 1]})
    given = {
        "outcomes": outcomes,
        "population": Population.paper(),
        "rng": 1,
        "k": 1,
        "goal": "tie rate <= 0.2",
        "excess": carve_stats.tie_excess(full),
        "path": tmp_path / "report.html",
        "title": "An audit",
    }
    parameters = inspect.signature(function).parameters.values()
    needed = {p.name for p in parameters if p.default is p.empty} | ({"k"} & {
        p.name for p in parameters if name in ("predict_signs", "curtailment")})  # fmt: skip
    for one in NAIVE[name]:
        arguments = {n: full if n in NAIVE[name] else given[n] for n in needed}
        mapping = "Mapping" in str(NAIVE[name][one].annotation)
        wrong = {one: {"a": stopped()} if mapping else stopped()}
        with pytest.raises(InputError, match=WRONG) as told:
            function(**{**arguments, **wrong})
        assert "\n" not in str(told.value)
    assert list(tmp_path.iterdir()) == []


def test_methods_and_inner_functions_that_take_counts_refuse_stopped_ones():
    outcomes = Outcomes(["a", "b", "c"], [1, 0, 1], {"strong": [0, 1, 1]})
    watched = carve_stats.monitor_mean_score(three(sham_replays=[3, 3, 3]))
    for call in (
        lambda: watched.update(stopped()),
        lambda: score_values(stopped(), outcomes),
        lambda: pattern_cells(stopped()),
        lambda: budget_cells(stopped(), 1, 1),
    ):
        with pytest.raises(InputError, match=WRONG):
            call()
