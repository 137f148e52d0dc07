"""Table A1: how well pairs of runs agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from carve_stats.counts import ReplayCounts
from carve_stats.inference.reproducibility import reproducibility
from carve_stats.report.paper_tables.inputs import PaperInputs, tell_left_out
from carve_stats.report.paper_tables.paper_table import Column, PaperTable, Row, figure
from carve_stats.report.paper_tables.runs_apart import name_run

NAME = "A1"
CAPTION = "How well pairs of runs agree: scores, their signs, and the questions with a score < 0"
NEEDS = ("several runs",)
PUBLISHED = "a1_reproducibility.csv"
PUBLISHED_OF = "LVBench, three runs with k = 3"

LABELS = (("run_a", "run"), ("run_b", "and run"))
COLUMNS = (
    Column("pearson_r", "Pearson r", 3, ends=("pearson_r_low", "pearson_r_high")),
    Column(
        "sign_agreement", "same sign", 3, ends=("sign_agreement_low", "sign_agreement_high")
    ),
    Column(
        "trigger_jaccard", "Jaccard", 3, ends=("trigger_jaccard_low", "trigger_jaccard_high")
    ),
)  # fmt: skip


def published_labels(key: tuple[str, ...]) -> tuple[str, ...]:
    """What a published row is called: the paper numbers its runs."""
    return key


def build(inputs: PaperInputs) -> PaperTable:
    """One row a pair of runs, in order of their ids."""
    runs, other = inputs.separate_runs()
    rows, expected = [], []
    notes: list[str] = []
    for (i, a), (j, b) in combinations(enumerate(runs, start=1), 2):
        pair = _paired(runs[a], runs[b], inputs.allow_mismatch)
        result = reproducibility(*pair, rule="score < 0", level=inputs.level)
        agreement = result.observed
        figures = {
            "pearson_r": figure(agreement.pearson),
            "sign_agreement": figure(agreement.agreement),
            "trigger_jaccard": figure(agreement.jaccard),
        }
        # The paper numbers its runs; ours have names.
        rows.append(Row((str(i), str(j)), figures, labels=(a or "–", b or "–")))
        shown = ", ".join(
            f"{name} {value:.3f}"
            for name, value in zip(("r", "same sign", "Jaccard"), result.predicted, strict=True)
            if value == value
        )
        if shown:
            expected.append(f"{name_run(a)}, {name_run(b)}: independent replays would show {shown}")
        notes += [*tell_left_out(result.questions), *result.notes]
    return PaperTable(
        name=NAME,
        caption=CAPTION,
        labels=LABELS,
        shown_names=("run_a_name", "run_b_name"),
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(dict.fromkeys([*other, *expected, *notes])),
    )


def _paired(
    a: ReplayCounts, b: ReplayCounts, allow_mismatch: bool
) -> tuple[ReplayCounts, ReplayCounts]:
    if not allow_mismatch:
        return a, b  # `reproducibility` names the first question that only one has
    return (
        a.select(np.isin(a.question, b.question)),
        b.select(np.isin(b.question, a.question)),
    )
