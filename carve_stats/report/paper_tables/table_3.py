"""Table 3: what rules on the score defer, and what that yields against chance."""

from __future__ import annotations

import re

from carve_stats.report.paper_tables.inputs import PaperInputs, tell_left_out
from carve_stats.report.paper_tables.paper_table import Column, PaperTable, Row, figure
from carve_stats.report.paper_tables.words import RULES, in_labels
from carve_stats.routing.policies import PoliciesTable, PolicyRow, compare_policies

NAME = "3"
CAPTION = "Deferral policies: questions deferred, repairs, harms, and net repairs per 100 deferred"
NEEDS = ("outcomes", "fallback", "scores")
PUBLISHED = "table3_policies.csv"
PUBLISHED_OF = "LVBench, n = 1,258, k = 3"

LABELS = (("policy", "policy"),)
COLUMNS = (
    Column("selected", "deferred", 0),
    Column("repairs", "repairs", 0),
    Column("harms", "harms", 0),
    Column("yield_per_100", "per 100", 2, ends=("yield_low", "yield_high")),
)
_KEYS = {
    "score < 0": ("delta<0", "Δ̂ < 0"),
    "score = 0": ("delta=0", "Δ̂ = 0"),
    "score <= 0": ("delta<=0", "Δ̂ ≤ 0"),
    "always": ("always", "every question"),
    "plain": ("plain_random", "at random"),
    "by_cluster": ("video_balanced_random", "at random, as many of each video"),
    "matched": ("evidence_matched_random", "at random, as many of each value of {match}"),
}


_ALWAYS = re.compile(r"^always: ")


def published_labels(key: tuple[str, ...]) -> tuple[str, ...]:
    """What a published row is called: the paper matches on gold coverage."""
    return (dict(_KEYS.values())[key[0]].format(match="covered"),)


def build(inputs: PaperInputs) -> PaperTable:
    """The three rules, deferring always, and deferring at random as many as the last rule."""
    outcomes = inputs.outcomes
    match = inputs.match
    if not match and outcomes is not None and "covered" in outcomes.covariates:
        match = ("covered",)
    result = compare_policies(
        inputs.main,
        outcomes,  # type: ignore[arg-type]  # NEEDS
        rules=("score < 0", "score = 0", "score <= 0"),
        fallback=inputs.fallback,
        match=match or None,
        level=inputs.level,
        allow_mismatch=inputs.allow_mismatch,
    )
    notes = [_ALWAYS.sub("every question: ", note) for note in in_labels(result.notes, RULES)]
    return PaperTable(
        name=NAME,
        caption=f"{CAPTION} to {result.fallback}",
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(_row(row, result) for row in result.rows),
        notes=(*inputs.which(), *tell_left_out(result.questions), *notes),
    )


def _row(row: PolicyRow, result: PoliciesTable) -> Row:
    key, label = _KEYS[row.policy]
    figures = {name: figure(getattr(row, name)) for name in ("selected", "repairs", "harms")}
    figures["yield_per_100"] = figure(row.yield_per_100)
    labels = (label.format(match=", ".join(result.match)),)
    return Row((key,), figures, labels, by_chance=row.kind == "random")
