"""Table 2: mean score by gold coverage and correctness."""

from __future__ import annotations

from carve_stats.inference.association import associations
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
AUC = "ROC-AUC of the score for {target}: {auc:.3f}{interval}; correlation {r:.3f}"
_TARGETS = {"covered": "gold coverage", "correct": "correctness"}


def build(inputs: PaperInputs) -> PaperTable:
    """One row a stratum; how far the score tells the strata apart, in the notes."""
    notes, strata = coverage_strata(inputs, inputs.main)
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
        notes=(*inputs.which(), *_told_apart(inputs), *notes),
    )


def _told_apart(inputs: PaperInputs) -> list[str]:
    assert inputs.outcomes is not None  # NEEDS
    result = associations(
        inputs.main,
        coverage_outcomes(inputs.outcomes),
        level=inputs.level,
        allow_mismatch=inputs.allow_mismatch,
    )
    notes = []
    for row in result.rows:
        auc = row.roc_auc
        if row.predictor != "score" or row.target not in _TARGETS or auc is None:
            continue
        if auc.estimate == auc.estimate:
            ends = "" if auc.low is None else f" [{auc.low:.3f}, {auc.high:.3f}]"
            notes.append(
                AUC.format(
                    target=_TARGETS[row.target],
                    auc=auc.estimate,
                    interval=ends,
                    r=row.pearson.estimate,
                )
            )
    return notes
