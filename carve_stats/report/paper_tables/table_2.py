"""Table 2: mean score by gold coverage and correctness."""

from __future__ import annotations

import numpy as np

from carve_stats._columns import find_rows
from carve_stats.inference.association import Association, associations
from carve_stats.report.paper_tables.inputs import PaperInputs
from carve_stats.report.paper_tables.paper_table import Column, PaperTable, Row, figure
from carve_stats.report.paper_tables.strata import coverage_outcomes, coverage_strata

NAME = "2"
CAPTION = "Mean score by gold coverage of the retrieved evidence and correctness of the answer"
NEEDS = ("outcomes", "covered", "scores")
PUBLISHED = "table2_strata.csv"
PUBLISHED_OF = "LVBench, n = 1,249, k = 3; 95 % intervals by bootstrap over videos"

LABELS = (("gold_coverage", "covered"), ("correct", "correct"))
COLUMNS = (
    Column("n", "n", 0),
    Column("mean_delta", "mean Δ̂", 3, True, ends=("ci_low", "ci_high")),
)
AUC = "ROC-AUC of the score for {target}: {auc}"
UNDEFINED = "not defined: {reason}"
_TARGETS = {
    "correct": ("correctness", "all answers are correct", "all answers are wrong"),
    "covered": ("gold coverage", "all evidence is covered", "no evidence is covered"),
}


def build(inputs: PaperInputs) -> PaperTable:
    """One row a stratum; how far the score tells the strata apart, in the notes."""
    notes, strata, differences = coverage_strata(inputs, inputs.main)
    rows = [
        Row(key, {"n": figure(stratum.questions), "mean_delta": figure(stratum.score)})
        for key, stratum in strata.items()
    ]
    return PaperTable(
        name=NAME,
        caption=CAPTION,
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*inputs.which(), *_told_apart(inputs), *differences, *notes),
    )


def _told_apart(inputs: PaperInputs) -> list[str]:
    assert inputs.outcomes is not None  # NEEDS
    judged = coverage_outcomes(inputs.outcomes)
    result = associations(
        inputs.main, judged, level=inputs.level, allow_mismatch=inputs.allow_mismatch
    )
    row = find_rows(inputs.main.question, judged.question)
    scored = np.append(inputs.main.scored, False)[row]
    flags = {
        "correct": judged.original.correct == 1.0,
        "covered": judged.covariates["covered"] == "true",
    }
    notes = []
    for target, (name, all_true, none_true) in _TARGETS.items():
        reason = all_true if (flags[target] & scored).any() else none_true
        notes.append(AUC.format(target=name, auc=_auc(result["score", target], reason)))
    return notes


def _auc(row: Association, one_class: str) -> str:
    """The area and the correlation in words; where undefined, why."""
    auc = row.roc_auc
    assert auc is not None  # both targets are true or false
    if not row.questions:
        return UNDEFINED.format(reason="it is not known for any scored question")
    if auc.estimate != auc.estimate:
        return UNDEFINED.format(reason=one_class)
    ends = "" if auc.low is None else f" [{auc.low:.3f}, {auc.high:.3f}]"
    r = row.pearson.estimate
    correlation = f"{r:.3f}" if r == r else UNDEFINED.format(reason="all scores are equal")
    return f"{auc.estimate:.3f}{ends}; correlation {correlation}"
