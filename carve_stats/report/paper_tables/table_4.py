"""Table 4: every method's accuracy, its cost, and what it changes."""

from __future__ import annotations

from carve_stats.report.paper_tables.inputs import PaperInputs
from carve_stats.report.paper_tables.needs import what_is_missing
from carve_stats.report.paper_tables.paper_table import Column, Figure, PaperTable, Row, figure
from carve_stats.report.paper_tables.runs_apart import planned_k
from carve_stats.report.paper_tables.words import in_labels
from carve_stats.routing.methods import MethodRow, compare_methods
from carve_stats.routing.methods_table import check_answerer_names

NAME = "4"
CAPTION = "Accuracy of each method, and its change from the original answers, in points"
NEEDS = ("outcomes", "alternative")
PUBLISHED = "table4_accuracy.csv"
PUBLISHED_OF = "LVBench, n = 1,258; 95 % intervals"

LABELS = (("method", "method"),)
COLUMNS = (
    Column("accuracy_pct", "accuracy %", 2),
    Column("tools", "tools", 2),
    Column("tokens_k", "tokens, k", 1),
    Column("delta_accuracy", "change", 2, True, ends=("ci_low", "ci_high"), ends_last=True),
    Column("repairs", "repairs", 0),
    Column("harms", "harms", 0),
    Column("n", "n", 0),
)
_OF_A_RULE = ("rule", "random")
RULE = "score <= 0"
WITHOUT_RULE = "no rows of deferral by the score and at random: they need {missing}"


_LABELS = {
    "vanilla": "original answers",
    "random_deferral": "at random, as many as Δ̂ ≤ 0",
    "carve_le0_k3": "Δ̂ ≤ 0, k = 3",
}


def published_labels(key: tuple[str, ...]) -> tuple[str, ...]:
    """What a published row is called."""
    return (_LABELS.get(key[0], key[0]),)


def build(inputs: PaperInputs) -> PaperTable:
    """The original answers, each alternative, chance, and the rule."""
    missing = what_is_missing(("scores", "fallback"), inputs)
    k = planned_k(inputs.main)
    taken = (*_LABELS, *_LABELS.values(), *_rule_names(k))
    check_answerer_names(inputs.outcomes.alternatives, taken)  # type: ignore[union-attr]  # NEEDS
    result = compare_methods(
        inputs.outcomes,  # type: ignore[arg-type]  # NEEDS
        inputs.main,
        rules=() if missing else (RULE,),
        fallback=inputs.fallback,
        level=inputs.level,
        allow_mismatch=inputs.allow_mismatch,
    )
    notes = [WITHOUT_RULE.format(missing="; ".join(missing))] if missing else []
    labels = {row.method: _row(row, k).shown[0] for row in result.rows if row.kind in _OF_A_RULE}
    return PaperTable(
        name=NAME,
        caption=CAPTION + ("" if result.fallback is None else f"; deferral to {result.fallback}"),
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(_row(row, k) for row in result.rows),
        notes=(*inputs.which(), *notes, *inputs.method_notes, *in_labels(result.notes, labels)),
    )


def _rule_names(k: int | None) -> tuple[str, str]:
    """The key and the label of the rule's row."""
    return f"carve_le0_k{k}", f"Δ̂ ≤ 0, k = {k}"


def _row(row: MethodRow, k: int | None) -> Row:
    key, label = row.method, row.method
    if row.kind == "rule":
        key, label = _rule_names(k)
    elif row.kind != "answerer":
        key = "vanilla" if row.kind == "original" else "random_deferral"
        label = _LABELS[key]
    itself = row.kind == "original"
    figures = {
        "accuracy_pct": Figure(figure(row.accuracy, times=100).value),
        "tools": figure(row.tools),
        "tokens_k": figure(row.tokens, times=1 / 1000),
        "delta_accuracy": Figure() if itself else figure(row.change_points),
        "repairs": Figure() if itself else figure(row.repairs),
        "harms": Figure() if itself else figure(row.harms),
        "n": figure(row.n),
    }
    return Row((key,), figures, labels=(label,), by_chance=row.kind == "random")
