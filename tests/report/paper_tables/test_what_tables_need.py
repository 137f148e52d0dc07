"""What is given for the tables, and what is not."""

import json
from dataclasses import replace

import numpy as np
import pytest
from paper_table_cases import N

import carve_stats as cs
from carve_stats.errors import InputError
from carve_stats.report.paper_tables import build_tables
from carve_stats.report.paper_tables.formats import FORMATS
from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs
from carve_stats.report.paper_tables.paper_table import Figure


def test_missing_inputs_are_named_in_one_line(inputs):
    bare = PaperInputs(runs={"": inputs.runs["seed 1"]})
    tables = {table.name: table for table in build_tables(bare, published=True)}
    assert [name for name, table in tables.items() if table.missing is None] == ["1", "A2"]
    needed = {"2": "outcomes", "3": "outcomes", "4": "outcomes", "A1": "a second run",
              "A3": "outcomes", "A4": "outcomes", "A5": "second backbone"}  # fmt: skip
    for name, what in needed.items():
        assert what in tables[name].missing
        for form in FORMATS.values():
            if form.ending != "csv":
                assert "\n" not in form.write(tables[name])


@pytest.mark.parametrize("right", [0, 1])
def test_all_right_and_all_wrong(inputs, right):
    outcomes = inputs.outcomes
    same = np.full(N, right)
    all_same = cs.Outcomes(
        outcomes.question, same, {"strong": same}, cluster=outcomes.cluster,
        covariates=outcomes.covariates,
    )  # fmt: skip
    tables = build_tables(replace(inputs, outcomes=all_same))
    for table in tables:
        assert table.missing is None
        json.dumps(table.to_dict(), allow_nan=False)
        for form in FORMATS.values():
            assert "nan" not in form.write(table)
    by_name = {table.name: table for table in tables}
    assert by_name["2"].figure("n", "yes", "no" if right else "yes").value == 0
    assert by_name["2"].figure("mean_delta", "yes", "no" if right else "yes") == Figure()
    assert by_name["3"].figure("repairs", "delta<=0").value == 0
    assert by_name["A4"].figure("delta", "aurc").value == pytest.approx(1 - right)


def test_one_video_has_no_intervals(inputs):
    def in_one(counts):
        data = {k: v for k, v in counts.to_dict().items() if k not in ("question", "cluster")}
        return cs.ReplayCounts(counts.question, **data, cluster=["v"] * N)

    outcomes = inputs.outcomes
    judged = cs.Outcomes(
        outcomes.question, outcomes.original_correct, {"strong": outcomes.alternatives["strong"]},
        cluster=["v"] * N, covariates=outcomes.covariates,
    )  # fmt: skip
    runs = {name: in_one(inputs.runs[name]) for name in ("seed 1", "seed 2")}
    second = Backbone("other", runs["seed 2"], judged)
    *tables, a5 = build_tables(PaperInputs(runs=runs, outcomes=judged, second=second))
    for table in tables:
        assert table.missing is None
        assert not [row for row in table.rows if "random" not in row.key[0]
                    and any(one.low is not None for one in row.figures.values())]  # fmt: skip
        assert any("one cluster" in note for note in table.notes)
    assert "at least two videos" in a5.missing


def test_no_self_replays(inputs):
    def without(counts):
        data = {k: v for k, v in counts.to_dict().items() if not k.startswith("self")}
        return cs.ReplayCounts(**data)

    outcomes = inputs.outcomes
    judged = cs.Outcomes(outcomes.question, outcomes.original_correct, {})
    given = PaperInputs(runs={"a": without(inputs.runs["seed 1"])}, outcomes=judged)
    table_1, a4 = build_tables(given, ["1", "A4"])
    assert table_1.figure("mean", "self_flip_rate") == Figure()
    assert any(note.startswith("SELF") for note in table_1.notes)
    assert "--confidence" in a4.missing
    assert "SELF" in a4.missing


def test_no_scores(inputs):
    counts = inputs.runs["seed 1"]
    zero = np.zeros(N, int)
    none = cs.ReplayCounts(counts.question, zero, zero, zero, zero, cluster=counts.cluster)
    tables = build_tables(replace(inputs, runs={"": none}))
    missing = {table.name for table in tables if table.missing is not None}
    assert missing == {"2", "3", "A1", "A2", "A3", "A4", "A5"}
    other = replace(inputs, second=replace(inputs.second, counts=none))
    (a5,) = build_tables(other, "A5")
    assert a5.missing.startswith("scores of 32B (a question with a valid SHAM")


def test_unknown_names_are_refused(inputs):
    with pytest.raises(InputError, match="A9"):
        build_tables(inputs, ["A9"])
    with pytest.raises(InputError, match="confidnce"):
        replace(inputs, confidence="confidnce")
    with pytest.raises(InputError, match="numbers"):
        build_tables(replace(inputs, confidence="covered"), ["A4"])


def judged(outcomes, original, strong, **covariates):
    return cs.Outcomes(
        outcomes.question, original, {"strong": strong}, cluster=outcomes.cluster,
        covariates={**outcomes.covariates, **covariates},
    )  # fmt: skip


def test_outcomes_that_know_nothing_are_no_figures(inputs):
    outcomes = inputs.outcomes
    nothing, original = np.full(N, np.nan), outcomes.original_correct
    strong = outcomes.alternatives["strong"].correct
    half = np.arange(N) < N / 2
    apart = judged(outcomes, np.where(half, original, np.nan), np.where(half, np.nan, strong))
    for blank, missing, what in (
        (judged(outcomes, nothing, strong), "2 3 4 A3 A4 A5", "of the original answers: of no"),
        (judged(outcomes, original, nothing), "3 4 A5", "of strong: of no question with"),
        (apart, "3 4 A5", "of strong: of no question with replays it is known whether it and"),
        (judged(outcomes, original, strong, covered=[""] * N), "2 A3", "gold coverage ("),
        (judged(outcomes, original, strong, confidence=nothing), "A4", "confidence of OUTCOMES is"),
    ):
        given = replace(inputs, outcomes=blank)
        tables = {table.name: table for table in build_tables(given)}
        assert [n for n, table in tables.items() if table.missing is not None] == missing.split()
        for name in missing.split():
            assert what in tables[name].missing
    for theirs, what in (
        (judged(outcomes, nothing, strong), "32B: outcomes of the original answers"),
        (cs.Outcomes(outcomes.question, original, {}), "an alternative answerer of 32B"),
    ):
        second = replace(inputs.second, outcomes=theirs)
        (table,) = build_tables(replace(inputs, second=second), ["A5"])
        assert table.missing.startswith(what)
    one = cs.Outcomes(outcomes.question, original, {"other": strong}, cluster=outcomes.cluster)
    (table,) = build_tables(replace(inputs, outcomes=one, fallback=None), ["A5"])
    assert table.missing.endswith("questions of 32B (--fallback look_more or strong)")


def test_outcomes_of_questions_without_replays_are_not_known(inputs):
    few = inputs.runs["seed 1"].select(np.arange(N) < 30)
    later = np.where(np.arange(N) < 30, np.nan, inputs.outcomes.original_correct)
    blank = judged(inputs.outcomes, later, inputs.outcomes.alternatives["strong"])
    given = PaperInputs(runs={"": few}, outcomes=blank, allow_mismatch=True)
    for table in build_tables(given, ["2", "3", "4", "A3", "A4"]):
        assert "of no question with replays" in table.missing


def test_ids_of_other_questions_are_an_error_and_not_missing(inputs):
    other = cs.Outcomes(["x", "y"], [1, 0], {"strong": [1, 1]}, covariates={"covered": [1, 0]})
    for name in ("2", "3", "4", "A3", "A4"):
        with pytest.raises(InputError, match="no question id in common"):
            build_tables(replace(inputs, outcomes=other, fallback=None, second=None), [name])


@pytest.mark.parametrize("clusters", [None, ["v"] * N])
def test_tables_without_intervals_say_why_and_speak_of_none(inputs, clusters):
    def bare(counts):
        data = {k: v for k, v in counts.to_dict().items() if k not in ("question", "cluster")}
        return cs.ReplayCounts(counts.question, **data, cluster=clusters)

    outcomes = inputs.outcomes
    here = cs.Outcomes(
        outcomes.question, outcomes.original_correct, outcomes.alternatives, cluster=clusters,
        covariates=outcomes.covariates,
    )  # fmt: skip
    runs = {name: bare(inputs.runs[name]) for name in ("seed 1", "seed 2")}
    given = PaperInputs(runs=runs, outcomes=here, fallback="strong", match=("covered",))
    for table in build_tables(given)[:-1]:
        assert not any("intervals are over videos" in note for note in table.notes)
        assert not any("the interval is" in note for note in table.notes)
        assert any(note.startswith("no intervals: ") for note in table.notes)
        by_chance = [
            row for row in table.rows if any(f.low is not None for f in row.figures.values())
        ]
        assert all(row.by_chance for row in by_chance)
        assert bool(by_chance) == (table.name in ("3", "4"))


@pytest.mark.parametrize("names", [("a", "a"), ("", "b"), ("a", " "), ("a", "a ")])
def test_backbones_have_two_names(inputs, names):
    with pytest.raises(InputError, match="two different names"):
        replace(inputs, name=names[0], second=replace(inputs.second, name=names[1]))


def test_one_name_is_one_table_and_no_list_of_letters(inputs):
    assert [table.name for table in build_tables(inputs, "a2")] == ["A2"]
    with pytest.raises(InputError, match="unknown table '13'"):
        build_tables(inputs, "13")
    with pytest.raises(InputError, match="names=13 must be the name of a table"):
        build_tables(inputs, 13)


def test_inputs_of_another_kind_are_refused_in_one_line(inputs):
    counts, outcomes = inputs.runs["seed 1"], inputs.outcomes
    for given, said in (
        ({"runs": counts}, "runs is a ReplayCounts: it must be a mapping from the id of a run"),
        ({"runs": {"": outcomes}}, "is a Outcomes"),
        ({"second": counts}, "second is a ReplayCounts: it must be Backbone"),
        ({"outcomes": counts}, "outcomes is a ReplayCounts"),
        ({"pooled": outcomes}, "is a Outcomes"),
        ({"match": "covered"}, "match='covered' must be a tuple of names"),
    ):
        with pytest.raises(InputError, match=said) as error:
            replace(inputs, **given)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="outcomes is a ReplayCounts"):
        Backbone("32B", counts, counts)
    with pytest.raises(InputError, match="is a Outcomes"):
        Backbone("32B", outcomes, outcomes)
    with pytest.raises(InputError, match="inputs is a ReplayCounts: it must be PaperInputs"):
        build_tables(counts)


def test_a_cell_that_is_not_there_is_refused_with_those_that_are(made, inputs):
    table = made["3"]
    with pytest.raises(InputError, match=r"column='repair': table 3 has .*repairs"):
        table.figure("repair", "delta<=0")
    with pytest.raises(InputError, match=r"no row 'delta<9' .here. in table 3; .*'delta<=0'"):
        table.figure("repairs", "delta<9")
    with pytest.raises(InputError, match="in table 3; its rows are none"):
        table.figure("repairs", "delta<=0", source="published")
    (needs,) = build_tables(replace(inputs, second=None), "A5")
    with pytest.raises(InputError, match="Table A5: needs a second backbone"):
        needs.figure("source_gain_mean", "7B")


def test_a_confidence_of_texts_is_named_by_its_question(inputs):
    values = [str(i) for i in range(N)]
    values[7] = "inf"
    given = judged(
        inputs.outcomes, inputs.outcomes.original_correct, inputs.outcomes.original_correct,
        sure=values,
    )  # fmt: skip
    said = "holds texts, such as 'inf' of question .*: it must hold finite numbers"
    with pytest.raises(InputError, match=said) as error:
        build_tables(replace(inputs, outcomes=given, confidence="sure"), "A4")
    assert repr(str(inputs.outcomes.question[7])) in str(error.value)
