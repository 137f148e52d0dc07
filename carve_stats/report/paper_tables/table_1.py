"""Table 1: flip rates and mean score over runs."""

from __future__ import annotations

from carve_stats.inference.run_summary import summarize_runs
from carve_stats.report.paper_tables.inputs import PaperInputs
from carve_stats.report.paper_tables.paper_table import Column, Figure, PaperTable, Row, figure
from carve_stats.report.paper_tables.words import say_once

NAME = "1"
CAPTION = "Flip rates and mean score: mean over runs, and SD between runs"
NEEDS = ()
PUBLISHED = "table1_flip_rates.csv"
PUBLISHED_OF = "LVBench, three runs with k = 3"

LABELS = (("metric", ""),)
COLUMNS = (
    Column("mean", "mean", 4, ends=("mean_low", "mean_high")),
    Column("seed_sd", "SD", 4),
)


def build(inputs: PaperInputs) -> PaperTable:
    """SELF, SHAM, DESTROY and the mean score, over the runs that extend no other."""
    runs, other = inputs.separate_runs()
    result = summarize_runs(runs, level=inputs.level)
    figures = {
        ("self_flip_rate", "SELF flip rate"): result.self_,
        ("sham_flip_rate", "SHAM flip rate"): result.sham,
        ("destroy_flip_rate", "DESTROY flip rate"): result.destroy,
        ("mean_delta", "mean Δ̂"): result.mean_score,
    }
    rows = [
        Row((key,), {"mean": figure(one), "seed_sd": Figure(one.sd)}, labels=(label,))
        for (key, label), one in figures.items()
    ]
    n = len(runs)
    return PaperTable(
        name=NAME,
        caption=f"{CAPTION} ({n} run{'s' * (n > 1)})",
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*other, *say_once(result.notes)),
    )
