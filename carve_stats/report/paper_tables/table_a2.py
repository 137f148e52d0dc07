"""Table A2: signs of the scores, observed and if all questions were alike."""

from __future__ import annotations

from carve_stats.inference.tie_excess import TieExcess, tie_excess
from carve_stats.report.paper_tables.inputs import PaperInputs, tell_left_out
from carve_stats.report.paper_tables.paper_table import Column, Figure, PaperTable, Row, figure

NAME = "A2"
CAPTION = "Shares of negative, zero and positive scores, and the tie excess"
NEEDS = ("scores",)
PUBLISHED = "a2_tie_excess.csv"

LABELS = (("k", "k"), ("distribution", "distribution"))
COLUMNS = (
    *(
        Column(sign, sign, 3, ends=(f"{sign}_low", f"{sign}_high"))
        for sign in ("negative", "zero", "positive")
    ),
    Column("tie_excess", "tie excess", 3, True, ends=("tie_excess_low", "tie_excess_high")),
)


def build(inputs: PaperInputs) -> PaperTable:
    """Two rows a budget: the homogeneous prediction and what is observed."""
    rows, notes = [], [*inputs.which_budgets()]
    for k, (_, counts) in inputs.budgets().items():
        result = tie_excess(counts, level=inputs.level)
        notes += [*tell_left_out(result.questions), *result.notes]
        rows += _rows(str(k), result if result.equal_k is None else result.equal_k)
    return PaperTable(
        name=NAME,
        caption=CAPTION,
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(dict.fromkeys(notes)),
    )


def _rows(k: str, result: TieExcess) -> list[Row]:
    predicted = {sign: figure(share) for sign, share in result.predicted._asdict().items()}
    observed = {
        sign: figure(estimate) for sign, estimate in result.observed_intervals._asdict().items()
    }
    observed["tie_excess"] = figure(result.excess.zero)
    return [
        Row((k, "homogeneous"), {**predicted, "tie_excess": Figure()}),
        Row((k, "observed"), observed),
    ]
