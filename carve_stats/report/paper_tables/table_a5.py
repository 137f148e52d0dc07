"""Table A5: whether a rule chosen with one backbone gains with the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from carve_stats.counts import ReplayCounts
from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs, tell_left_out
from carve_stats.report.paper_tables.paper_table import Column, Figure, PaperTable, Row, figure
from carve_stats.report.paper_tables.runs_apart import name_run, tell_by_run
from carve_stats.report.paper_tables.words import RULES, in_labels, say_once
from carve_stats.routing.transfer import SAME as SAME_AGENT
from carve_stats.routing.transfer import SPREAD, rule_transfer
from carve_stats.routing.transfer_result import SplitGain

NAME = "A5"
CAPTION = (
    "Gain in points of the rule chosen on one half of the videos: on the other half, and there with"
    " the other backbone"
)
NEEDS = ("outcomes", "fallback", "scores", "second backbone", "second scores", "videos")
PUBLISHED = "a5_transfer.csv"
PUBLISHED_OF = "400 splits of the videos"

LABELS = (("source", "source"),)
COLUMNS = (
    Column("source_gain_mean", "source gain", 2, True),
    Column("source_gain_sd", "SD", 2),
    Column("transfer_gain_mean", "transfer gain", 2, True),
    Column("transfer_gain_sd", "SD", 2),
    Column("rule_selected_pct", "rule chosen %", 1),
)
SPLITS = 400
OVER_SPLITS = "the SD is over splits, and no standard error: all splits share the same videos"
SAME = "{} and {} have the same replays, count by count: one run, not two backbones"
CHOSEN = "{rule} is the rule chosen most often"


def build(inputs: PaperInputs) -> PaperTable:
    """One row a backbone that rules are chosen with."""
    outcomes, second = inputs.outcomes, inputs.second
    assert outcomes is not None  # NEEDS
    assert second is not None
    first = Backbone(inputs.name, inputs.main, outcomes)
    rows, told = [], {}
    for source, target in ((first, second), (second, first)):
        result = rule_transfer(
            source.counts,
            source.outcomes,
            target.counts,
            target.outcomes,
            rng=inputs.seed,
            splits=SPLITS,
            level=inputs.level,
            fallback=_fallback(source, inputs),
            target_fallback=_fallback(target, inputs),
            allow_mismatch=inputs.allow_mismatch,
        )
        most = max(result.rules, key=lambda rule: rule.chosen)  # of equal ones the first
        figures = {
            **_gain("source_gain", result.source_gain),
            **_gain("transfer_gain", result.transfer_gain),
            "rule_selected_pct": figure(100 * most.chosen),
        }
        rows.append(Row((source.name,), figures))
        # Of rows that are not in this table, or said already.
        notes = [note for note in result.notes if note not in (SPREAD, SAME_AGENT)]
        told[source.name] = [
            CHOSEN.format(rule=RULES.get(most.rule, most.rule)),
            *tell_left_out(result.questions["source"]),
            *_name_sides(in_labels(notes, RULES), source.name, target.name),
        ]
    return PaperTable(
        name=NAME,
        caption=f"{CAPTION} ({SPLITS} splits)",
        labels=LABELS,
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(OVER_SPLITS, *say_once([*_tell_runs(inputs, second), *tell_by_run(told)])),
    )


def _name_sides(notes: Sequence[str], source: str, target: str) -> list[str]:
    """The notes with the backbones' names; what is said of both sides stands without any."""
    sides = {"source: ": source, "target: ": target}
    named = []
    for note in notes:
        side = next((side for side in sides if note.startswith(side)), "")
        rest = note.removeprefix(side)
        of_both = all(f"{one}{rest}" in notes for one in sides)
        named.append(rest if of_both or not side else f"{sides[side]}: {rest}")
    return named


def _tell_runs(inputs: PaperInputs, second: Backbone) -> list[str]:
    """Which run each backbone's figures are of."""
    first = list(inputs.which()) or ([name_run(inputs.main_run)] if inputs.main_run else [])
    told = [f"{inputs.name}: {note}" for note in first]
    if second.which:
        told.append(f"{second.name}: {second.which}")
    if _same_counts(inputs.main, second.counts):
        told.append(SAME.format(inputs.name, second.name))
    return told


def _same_counts(a: ReplayCounts, b: ReplayCounts) -> bool:
    names = [f"{arm}_{what}" for arm in ("sham", "destroy") for what in ("flips", "replays")]
    return all(np.array_equal(getattr(a, one), getattr(b, one)) for one in ("question", *names))


def _fallback(backbone: Backbone, inputs: PaperInputs) -> str:
    """The named alternative, or the only one, whatever it is called on this side."""
    alternatives = backbone.outcomes.alternatives
    named = inputs.fallback if len(alternatives) > 1 or inputs.fallback in alternatives else None
    return backbone.outcomes.fallback(named)[0]


def _gain(name: str, gain: SplitGain) -> dict[str, Figure]:
    return {f"{name}_mean": figure(gain.mean), f"{name}_sd": figure(gain.sd)}
