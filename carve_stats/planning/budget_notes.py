"""What a reader of a plan has to know, beyond its figures."""

from __future__ import annotations

import math

from carve_stats.planning.costs import Cost
from carve_stats.planning.goals.base import Study
from carve_stats.planning.sources import FAR
from carve_stats.planning.split import ArmSplit, BudgetSplit

__all__ = ["arm_notes", "range_notes", "split_notes", "study_notes"]

SPARSE = "not every k was looked at: those between two of the table may do as well; name them (k=)"
NOT_BEYOND = (
    "no k beyond the pilot's {made} was looked at, as predictions from so many replays take long:"
    " name it (k=)"
)
POINT_WITHHELD = (
    "beyond twice the pilot's replays no single figure of signs is told, as it would be the model's"
    " own: the ranges are. Name a model (model='em') to have its figure"
)
ARMS = (
    "of {total} replays a question, {sham} SHAM and {destroy} DESTROY give the mean score the least"
    " variance, {saving} below that of {k} and {k} (k_sham/k_destroy = {ratio}). That is for the"
    " mean score alone: with unequal k fewer outcomes tie, and ties and signs no longer mean what"
    " they do, so keep k equal for these"
)
EQUAL_BEST = (
    "of {total} replays a question, equal numbers of SHAM and DESTROY are best for the mean score"
    " as well"
)
SPLIT = (
    "for the most precise mean score, the best split is k_sham = {sham} and k_destroy = {destroy}"
    "{buys}; with equal k it is k = {k}{equal_buys}, {saving}"
)
AT_END = (
    "the best split is at k = {most}, the end of the range looked at: with questions this cheap to"
    " replay, or this much alike, more replays would be better still"
)
PRICES = "no prices were given: without cost there is no split between questions and replays"
FREE = "the prices are all 0: there is no split between questions and replays"
ASSUMED_INDEPENDENT = (
    "questions are taken as independent of each other; if they share videos, say how many"
    " (clusters=) and by how much that inflates the variance between questions (design_effect=)"
)
DESIGN = (
    "videos inflate the variance between questions {effect:.2f} times in the pilot (that of the"
    " mean score at its k, {total:.2f} times); a plan for other questions takes as many to a video"
)
SHARED = "figures are those of two rates: all questions are taken to be alike"


def arm_notes(arms: ArmSplit) -> list[str]:
    """Whether unequal arms would be better for the mean score, and what they would spoil."""
    total = arms.k_sham + arms.k_destroy
    if arms.k_sham == arms.k_destroy:
        return [EQUAL_BEST.format(total=total)]
    return [
        ARMS.format(
            total=total,
            k=total // 2,
            sham=arms.k_sham,
            destroy=arms.k_destroy,
            saving=f"{100 * arms.saving:.2g} %",
            ratio="undefined" if math.isnan(arms.ratio) else f"{arms.ratio:.2f} if divisible",
        )
    ]


def split_notes(split: BudgetSplit | None, cost: Cost | None, most: int) -> list[str]:
    """How money is best split, or why that is not said."""
    if split is None:
        return [PRICES if cost is None else FREE]
    bought = split.questions is not None and split.equal_questions is not None
    saving = f"{100 * split.saving:.2g} %"
    notes = [
        SPLIT.format(
            sham=split.k_sham,
            destroy=split.k_destroy,
            buys=f" for {split.questions:,} questions (standard error {split.se:.4f})"
            if bought
            else "",
            k=split.equal_k,
            equal_buys=f" for {split.equal_questions:,} ({split.equal_se:.4f})" if bought else "",
            saving="which is as good"
            if split.saving < 5e-4
            else f"and the unequal split has {saving} less variance for the same money",
        )
    ]
    return [*notes, AT_END.format(most=most)] if split.at_end else notes


def study_notes(
    study: Study, kind: str, clusters: int | None, design_effect: float | None
) -> list[str]:
    """How questions are taken to depend on each other."""
    notes = [SHARED] if kind == "rates" else []
    if kind != "pilot":
        alone = clusters is None and design_effect is None
        return [*notes, ASSUMED_INDEPENDENT] if alone and study.questions is not None else notes
    effect = study.source.split.design_effect
    if study.per_cluster > 1.0 and not math.isnan(effect):
        split, k = study.source.split, study.source.made
        total = split.at(k, k) / (split.at(k, k) - split.between + split.questions)
        notes.append(DESIGN.format(effect=effect, total=total))
    return notes


def range_notes(study: Study, ks: list[int], model: str | None, *, chosen: bool) -> list[str]:
    """Which k were not looked at, and of which no single figure is told."""
    notes = [SPARSE] if ks != list(range(ks[0], ks[-1] + 1)) else []
    made = study.source.made
    if made and not chosen and ks[-1] == made:
        notes.append(NOT_BEYOND.format(made=made))
    return [*notes, POINT_WITHHELD] if model is None and made and ks[-1] > FAR * made else notes
