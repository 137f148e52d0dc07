"""Table A2: signs of the scores, observed and if all questions were alike."""

from __future__ import annotations

from carve_stats.clusters import Estimate
from carve_stats.inference.tie_excess import tie_excess
from carve_stats.law.finite_replay import SignShares
from carve_stats.report.paper_tables.inputs import PaperInputs, tell_left_out
from carve_stats.report.paper_tables.paper_table import Column, Figure, PaperTable, Row, figure
from carve_stats.report.paper_tables.runs_apart import tell_by_run
from carve_stats.report.paper_tables.signs_at import signs_at

NAME = "A2"
CAPTION = "Shares of negative, zero and positive scores, and the tie excess"
NEEDS = ("scores",)
PUBLISHED = "a2_tie_excess.csv"
PUBLISHED_OF = "LVBench, n = 1,249"

LABELS = (("k", "k"), ("distribution", "distribution"))
COLUMNS = (
    *(
        Column(sign, sign, 3, ends=(f"{sign}_low", f"{sign}_high"))
        for sign in ("negative", "zero", "positive")
    ),
    Column("tie_excess", "tie excess", 3, True, ends=("tie_excess_low", "tie_excess_high")),
)


PAPERS_K = 3
SUBSAMPLED = (
    "k = {at}: what {name} (k = {k}) would show at {at} of its replays in each arm, over {n}"
    " questions that have them; subsampled exactly"
)
AT = "k = {k} was planned; signs are shown at {budget} valid replays in each arm"


def published_labels(key: tuple[str, ...]) -> tuple[str, ...]:
    """What a published row is called."""
    return key


def build(inputs: PaperInputs) -> PaperTable:
    """Two rows a budget: the homogeneous prediction and what is observed."""
    rows = []
    told = {}
    for k, (name, counts) in inputs.budgets().items():
        result = tie_excess(counts, level=inputs.level)
        at_one_k = result if result.equal_k is None else result.equal_k
        budget = at_one_k.k["sham"]
        told[name] = [*tell_left_out(at_one_k.questions), *result.notes]
        shown = str(k)
        if budget != k:
            shown = f"{k} (at {budget})"
            told[name].append(AT.format(k=k, budget=budget))
        rows += _rows(
            (str(k), shown),
            at_one_k.predicted,
            at_one_k.observed_intervals,
            at_one_k.excess.zero,
        )
    first, notes = _at_the_papers_k(inputs)
    rows = first + rows
    return PaperTable(
        name=NAME,
        caption=CAPTION,
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*inputs.which_budgets(), *notes, *tell_by_run(told)),
    )


def _at_the_papers_k(inputs: PaperInputs) -> tuple[list[Row], list[str]]:
    """The rows of k = 3, where all runs were made with more: of the first that was."""
    budgets = inputs.budgets()
    if inputs.pooled is not None or min(budgets) <= PAPERS_K:
        return [], []
    k, (name, counts) = next(iter(budgets.items()))
    found = signs_at(counts, PAPERS_K, level=inputs.level)
    if found is None:
        return [], []
    predicted, observed, excess, n = found
    note = SUBSAMPLED.format(at=PAPERS_K, name=name, k=k, n=n)
    return _rows((str(PAPERS_K), str(PAPERS_K)), predicted, observed, excess), [note]


def _rows(
    k: tuple[str, str], predicted: SignShares, observed: SignShares, excess: Estimate
) -> list[Row]:
    key, shown = k
    shares = {sign: figure(share) for sign, share in predicted._asdict().items()}
    seen = {sign: figure(estimate) for sign, estimate in observed._asdict().items()}
    return [
        Row((key, "homogeneous"), {**shares, "tie_excess": Figure()}, (shown, "homogeneous")),
        Row((key, "observed"), {**seen, "tie_excess": figure(excess)}, (shown, "observed")),
    ]
