"""Table A1: how well pairs of runs agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.joined_runs import ledger_notes
from carve_stats.inference.reproducibility import reproducibility
from carve_stats.report.paper_tables.inputs import PaperInputs, tell_left_out
from carve_stats.report.paper_tables.paper_table import Column, PaperTable, Row, figure
from carve_stats.report.paper_tables.runs_apart import name_run, tell_by_run
from carve_stats.report.paper_tables.words import say_once

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


_PREDICTED = re.compile(r"^predicted: ")


def published_labels(key: tuple[str, ...]) -> tuple[str, ...]:
    """What a published row is called: the paper numbers its runs."""
    return key


def build(inputs: PaperInputs) -> PaperTable:
    """One row a pair of runs, in order of their ids."""
    runs, other = inputs.separate_runs()
    rows, expected = [], []
    told: dict[str, list[str]] = {}
    for (i, a), (j, b) in combinations(enumerate(runs, start=1), 2):
        one, other_one, alone = _paired(runs, a, b, inputs.allow_mismatch)
        result = reproducibility(one, other_one, rule="score < 0", level=inputs.level)
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
        told[f"{name_run(a)}, {name_run(b)}"] = [
            *tell_left_out(_questions(result.questions, alone, a, b)),
            *(_PREDICTED.sub("would show: ", note) for note in result.notes),
        ]
    return PaperTable(
        name=NAME,
        caption=CAPTION,
        labels=LABELS,
        shown_names=("run_a_name", "run_b_name"),
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*other, *expected, *say_once([*ledger_notes(runs), *tell_by_run(told)])),
    )


def _paired(
    runs: Mapping[str, ReplayCounts], a: str, b: str, allow_mismatch: bool
) -> tuple[ReplayCounts, ReplayCounts, dict[str, int]]:
    """The questions of both runs, without their ledgers, and how many each lacks."""
    first, second = runs[a], runs[b]
    in_second = np.isin(first.question, second.question)
    in_first = np.isin(second.question, first.question)
    alone = {
        f"no replays in {name_run(a)}": int((~in_first).sum()),
        f"no replays in {name_run(b)}": int((~in_second).sum()),
    }
    if not in_second.any():
        raise InputError(
            f"{name_run(a)} and {name_run(b)} have no question id in common"
            f" ({_first(first, in_second)!r}, {_first(second, in_first)!r}): are they of the same"
            " benchmark, with the same ids?"
        )
    if any(alone.values()) and not allow_mismatch:
        name, holder, inside = (
            (b, first, in_second) if not in_second.all() else (a, second, in_first)
        )
        raise InputError(
            f"{name_run(name)} has no replays of question {_first(holder, inside)!r}, which"
            f" {name_run(a if name == b else b)} has ({sum(alone.values())} such questions): mend"
            " the ids, or give allow_mismatch=True (--allow-mismatch): they are then left out"
        )
    return first.select(in_second), second.select(in_first), alone


def _first(counts: ReplayCounts, inside: NDArray[np.bool_]) -> str:
    """The first question that only this run has."""
    return str(counts.question[np.argmin(inside)])


def _questions(
    questions: Mapping[str, Any], alone: Mapping[str, int], a: str, b: str
) -> dict[str, Any]:
    """What a pair leaves out, of all questions of either run and in the runs' own names."""
    named = {"no score in run a": name_run(a), "no score in run b": name_run(b)}
    unscored = {
        f"no score in {named[reason]}" if reason in named else reason: n
        for reason, n in questions["left_out"].items()
    }
    return {
        "read": questions["read"] + sum(alone.values()),
        "left_out": {**alone, **unscored},
    }
