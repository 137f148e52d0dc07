"""Tables 2 and A3: gold coverage and correctness."""

from dataclasses import replace

import numpy as np
import pytest
from paper_table_cases import N, assert_figure, in_strata, mean_interval, rates, scores

import carve_stats as cs
from carve_stats.report.paper_tables import build_tables


def test_table_2(inputs, made):
    data = inputs.runs["seed 1"].to_dict()
    cells = in_strata(scores(data), data, inputs.outcomes)
    assert [row.key for row in made["2"].rows] == [
        ("yes", "yes"), ("no", "yes"), ("yes", "no"), ("no", "no"),
    ]  # fmt: skip
    for key, (values, videos) in cells.items():
        assert made["2"].figure("n", *key).value == len(values)
        assert_figure(made["2"].figure("mean_delta", *key), mean_interval(values, videos))
    covered = [(s, c == "true") for s, c in zip(
        scores(data), inputs.outcomes.covariates["covered"].tolist(), strict=True)]  # fmt: skip
    pairs = [(a, b) for a, yes in covered if yes for b, other in covered if not other]
    auc = sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)
    assert f"ROC-AUC of the score for gold coverage: {auc:.3f} [" in " ".join(made["2"].notes)
    sides = [[s for s, yes in covered if yes is side] for side in (True, False)]
    difference = sum(sides[0]) / len(sides[0]) - sum(sides[1]) / len(sides[1])
    (told,) = [n for n in made["2"].notes if n.startswith("mean Δ̂, covered − not covered: ")]
    assert told.split(": ")[1].startswith(f"{difference:+.3f} [")
    assert any(n.startswith("mean Δ̂, correct − wrong: ") for n in made["2"].notes)
    for name in ("2", "A3"):
        assert not any("has its own" in n for n in made[name].notes)


def test_table_a3(inputs, made):
    words = {"yes": ("covered", "correct"), "no": ("uncovered", "incorrect")}
    for k, run in (("3", "seed 1"), ("10", "extended")):
        data = inputs.runs[run].to_dict()
        for arm in ("sham", "destroy"):
            for (cover, right), cell in in_strata(rates(data, arm), data, inputs.outcomes).items():
                stratum = f"{words[cover][0]}_{words[right][1]}"
                assert_figure(made["A3"].figure(arm, k, stratum), mean_interval(*cell))
                assert made["A3"].figure("n", k, stratum).value == len(cell[0])


@pytest.mark.parametrize("words", [("yes", "no"), ("True", "False"), (1, 0)])
def test_coverage_in_other_words(inputs, made, words):
    outcomes = inputs.outcomes
    covered = [words[text == "false"] for text in outcomes.covariates["covered"].tolist()]
    judged = cs.Outcomes(
        outcomes.question, outcomes.original_correct, {}, covariates={"covered": covered}
    )
    for table in build_tables(replace(inputs, outcomes=judged, fallback=None), ["2", "A3"]):
        assert table == made[table.name]


def test_questions_left_out_are_told(inputs):
    covered = inputs.outcomes.covariates["covered"].astype("U9")
    covered[:7] = ""
    outcomes = inputs.outcomes
    judged = cs.Outcomes(
        outcomes.question, outcomes.original_correct, {}, covariates={"covered": covered}
    )
    given = replace(inputs, outcomes=judged, fallback=None)
    for table in build_tables(given, ["2", "A3"]):
        assert f"left out of {N} questions: 7 (covered not known)" in table.notes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"correct": 1}, "correctness: not defined: all answers are correct"),
        ({"correct": 0}, "correctness: not defined: all answers are wrong"),
        ({"covered": True}, "gold coverage: not defined: all evidence is covered"),
        ({"covered": False}, "gold coverage: not defined: no evidence is covered"),
    ],
)
def test_an_area_that_is_not_defined_says_why(inputs, change, said):
    outcomes = inputs.outcomes
    correct = outcomes.original_correct
    judged = cs.Outcomes(
        outcomes.question,
        np.full(N, change["correct"]) if "correct" in change else correct,
        {},
        covariates={"covered": np.full(N, change.get("covered", True))}
        if "covered" in change
        else {"covered": outcomes.covariates["covered"]},
    )
    (table,) = build_tables(replace(inputs, outcomes=judged, fallback=None, second=None), ["2"])
    told = [note for note in table.notes if note.startswith("ROC-AUC")]
    assert f"ROC-AUC of the score for {said}" in told
    assert len(told) == 2
    assert "; correlation -" in " ".join(told)  # of the other


def test_equal_scores_have_no_correlation(inputs):
    counts = inputs.runs["seed 1"]
    one = np.ones(N, int)
    equal = cs.ReplayCounts(counts.question, one, 3 * one, one, 3 * one, cluster=counts.cluster)
    (table,) = build_tables(replace(inputs, runs={"": equal}), ["2"])
    told = [note for note in table.notes if note.startswith("ROC-AUC")]
    assert [note.split(": ", 1)[1] for note in told] == [
        "0.500; correlation not defined: all scores are equal"
    ] * 2
