"""Table A4: selective prediction by the score and by a confidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats._columns import find_rows
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.judged import NO_OUTCOME, NO_REPLAYS
from carve_stats.inference.same_questions import check_mismatch, join_clusters
from carve_stats.outcomes import Outcomes
from carve_stats.report.paper_tables.inputs import PaperInputs, tell_left_out
from carve_stats.report.paper_tables.paper_table import Column, PaperTable, Row, figure
from carve_stats.routing.rules.covariates import first_text
from carve_stats.routing.selective import compare_selective
from carve_stats.routing.selective_result import RiskCoverage
from carve_stats.routing.self_consistency import AGREEMENT

NAME = "A4"
CAPTION = (
    "Selective prediction: the answers kept are those with the highest score, or the highest"
    " confidence"
)
NEEDS = ("outcomes", "confidence", "scores")
PUBLISHED = "a4_selective.csv"
PUBLISHED_OF = "Video-MME, n = 595"

LABELS = (("metric", ""),)
COLUMNS = (
    Column("delta", "by Δ̂", 3, ends=("delta_low", "delta_high")),
    Column("confidence", "by confidence", 3, ends=("confidence_low", "confidence_high")),
    Column("difference", "difference", 3, True, ends=("difference_low", "difference_high")),
)
_METRICS = {
    "accuracy_at_100": ("accuracy_at_100", "accuracy, all kept"),
    "accuracy_at_90": ("accuracy_at_90", "accuracy, 90 % kept"),
    "accuracy_at_70": ("accuracy_at_70", "accuracy, 70 % kept"),
    "partial_risk": ("partial_risk_auc_70_100", "mean risk, 70 to 100 % kept"),
    "aurc": ("aurc", "AURC"),
    "augrc": ("augrc", "AUGRC"),
}
BY_COLUMN = "confidence: the column {name} of the outcomes, the higher the surer"
BY_SELF = "confidence: the share of a question's SELF replays that keep its answer"
TIED = (
    "the confidence has {values}: of {n} questions {tied} are tied with others, and it puts them in"
    " no order"
)
IN_TIES = (
    "areas and accuracies are expected ones, where questions of equal score come in random order"
)


def build(inputs: PaperInputs) -> PaperTable:
    """Accuracies and areas by each of the two, over the questions that have both."""
    counts, outcomes = inputs.main, inputs.outcomes
    assert outcomes is not None  # NEEDS
    row = find_rows(counts.question, outcomes.question)
    check_mismatch(counts, outcomes, row, allowed=inputs.allow_mismatch)
    both = row >= 0
    mismatch = {
        NO_OUTCOME: len(counts) - int(both.sum()),
        NO_REPLAYS: int((~both).sum()),
    }
    questions = {"read": len(outcomes) + mismatch[NO_OUTCOME], "left_out": mismatch}
    outcomes, row = outcomes.select(both), row[both]
    confidence, told = _confidence(inputs, outcomes, counts, row)
    result = compare_selective(
        counts.score[row],
        confidence,
        outcomes.original_correct,
        cluster=join_clusters(counts, outcomes, row),
        names=("score", "confidence"),
        level=inputs.level,
    )
    ties = []
    if told == BY_SELF or inputs.confidence == AGREEMENT:
        ties = [_tell_ties(result.b)]
    rows = [
        Row(
            (key,),
            {
                "delta": figure(result.a.figures[name]),
                "confidence": figure(result.b.figures[name]),
                "difference": figure(result.differences[name]),
            },
            labels=(label,),
        )
        for name, (key, label) in _METRICS.items()
    ]
    n = result.questions["used"]
    return PaperTable(
        name=NAME,
        caption=f"{CAPTION} (n = {n})",
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*inputs.which(), told, *ties, *tell_left_out(questions), *result.notes, IN_TIES),
    )


def _tell_ties(by: RiskCoverage) -> str:
    """How many questions share a value with others, and how many values there are."""
    n = by.questions["used"]
    sizes = np.rint(n * np.diff(by.coverage, prepend=0.0)).astype(int)
    tied = int(sizes[sizes > 1].sum())
    return TIED.format(values=_display.counted(sizes.size, "value"), n=n, tied=tied)


def _confidence(
    inputs: PaperInputs, outcomes: Outcomes, counts: ReplayCounts, row: NDArray[np.int64]
) -> tuple[NDArray[np.float64], str]:
    name = inputs.confidence or "confidence"
    if name not in outcomes.covariates:
        with np.errstate(invalid="ignore"):
            kept = (1.0 - counts.self_flips / counts.self_replays)[row]
        return kept, BY_SELF
    column = outcomes.covariates[name]
    if column.dtype.kind != "f":
        such = first_text(column, outcomes.question)
        raise InputError(
            f"confidence={name!r} (--confidence) holds texts{such}: it must hold finite numbers"
        )
    return column.astype(np.float64), BY_COLUMN.format(name=name)
