"""Table A3: SHAM and DESTROY flip rates by gold coverage, correctness and budget."""

from __future__ import annotations

from carve_stats.report.paper_tables.inputs import PaperInputs
from carve_stats.report.paper_tables.paper_table import Column, PaperTable, Row, figure
from carve_stats.report.paper_tables.runs_apart import tell_by_run
from carve_stats.report.paper_tables.strata import coverage_strata

NAME = "A3"
CAPTION = "Flip rates by gold coverage of the retrieved evidence and correctness of the answer"
NEEDS = ("outcomes", "covered", "scores")
PUBLISHED = "a3_components.csv"
PUBLISHED_OF = "LVBench; 95 % intervals by bootstrap over videos"

LABELS = (("k", "k"), ("stratum", "stratum"))
COLUMNS = (
    Column("n", "n", 0),
    Column("sham", "SHAM", 3, ends=("sham_low", "sham_high")),
    Column("destroy", "DESTROY", 3, ends=("destroy_low", "destroy_high")),
)
_COVERED = {"yes": "covered", "no": "uncovered"}
_CORRECT = {"yes": "correct", "no": "incorrect"}


def published_labels(key: tuple[str, ...]) -> tuple[str, ...]:
    """What a published row is called."""
    k, stratum = key
    return k, stratum.replace("_", ", ")


def build(inputs: PaperInputs) -> PaperTable:
    """One row a budget and stratum."""
    rows = []
    told = {}
    for k, (name, counts) in inputs.budgets().items():
        told[name], strata, _ = coverage_strata(inputs, counts)
        for (covered, correct), stratum in strata.items():
            words = (_COVERED.get(covered, covered), _CORRECT[correct])
            figures = {
                "n": figure(stratum.questions),
                "sham": figure(stratum.sham),
                "destroy": figure(stratum.destroy),
            }
            rows.append(Row((str(k), "_".join(words)), figures, (str(k), ", ".join(words))))
    return PaperTable(
        name=NAME,
        caption=CAPTION,
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*inputs.which_budgets(), *tell_by_run(told)),
    )
