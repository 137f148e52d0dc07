"""What a reader of a plan has to know, beyond its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from carve_stats.planning.budget_plan import PlanRow
from carve_stats.planning.costs import Cost
from carve_stats.planning.goals.base import Study
from carve_stats.planning.sources import FAR
from carve_stats.planning.split import ArmSplit, BudgetSplit

__all__ = ["arm_notes", "pilot_notes", "range_notes", "split_notes", "study_notes"]

READ = (
    "identified: what the pilot's replays leave open of the {figure}, however many questions it"
    " had; {level} interval: the same with the chance of which questions and videos it had"
)
READ_INTERVAL = (
    "{level} interval: of the {figure}, for the chance of which questions and videos the pilot had"
)
SPARSE = (
    "not every k was looked at: those between two of the table may do as well; name them (--k; in"
    " Python: k=)"
)
NOT_BEYOND = (
    "no k beyond the pilot's {made} was looked at, as predictions from so many replays take long:"
    " name it (--k; in Python: k=)"
)
POINT_WITHHELD = (
    "beyond twice the pilot's replays no single figure of signs is told, as it would be the model's"
    " own: the ranges are. Name a model to have its figure (--model em; in Python: model='em')"
)
ARMS = (
    "of {total} replays a question, {sham} SHAM and {destroy} DESTROY give the mean score {saving}"
    " less variance than {k} and {k}; for signs keep k equal, as ties mean something else otherwise"
)
EQUAL_BEST = (
    "of {total} replays a question, equal k is as good for the mean score as any other share of"
    " SHAM and DESTROY"
)
SPLIT = (
    "for the most precise mean score, the best split is k_sham = {sham} and k_destroy = {destroy}"
    "{buys}; with equal k it is k = {k}{equal_buys}, {saving}"
)
EQUAL_SPLIT = "for the most precise mean score, the best split is k = {k} in each arm{equal_buys}"
AT_END = (
    "the best split is at k = {most}, the end of the range looked at: with questions this cheap to"
    " replay, or this much alike, more replays would be better still"
)
PRICES = (
    "no prices were given (--question-cost, --replay-cost and others; in Python: cost=): without"
    " them there is no split between questions and replays"
)
FREE = "the prices are all 0: there is no split between questions and replays"
ASSUMED_INDEPENDENT = (
    "questions are taken as independent of each other; if they share videos, say how many"
    " (--clusters; in Python: clusters=) and by how much that inflates the variance between"
    " questions (--design-effect; in Python: design_effect=)"
)
ALIKE = (
    "in the pilot, questions of one video are alike with ρ = {rho:.3f} ({pilot:.1f} questions to a"
    " video, Σm²/Σm). With m = {m:.1f} in the plan, whose videos are taken to be as uneven, they"
    " inflate the variance between questions 1 + (m − 1)ρ = {effect:.2f} times"
)
NOT_ALIKE = (
    "in the pilot, questions of one video are no more alike than others (ρ = 0; {pilot:.1f}"
    " questions to a video, Σm²/Σm): videos are taken not to inflate the variance between questions"
)
GIVEN_EFFECT = (
    "videos are taken to inflate the variance between questions {effect:g} times, as was given, and"
    " not as the pilot's videos do"
)
SHARED = "figures are those of two rates: all questions are taken to be alike"

_WORTH_SAYING = 0.01  # of a variance: less is not worth unequal arms


def pilot_notes(rows: Sequence[PlanRow], figure: str, level: float) -> list[str]:
    """How to read a table that has ranges."""
    shown = READ if any(row.value.ranges for row in rows) else READ_INTERVAL
    return [shown.format(figure=figure, level=f"{100 * level:g} %")]


def arm_notes(arms: ArmSplit) -> list[str]:
    """Whether unequal arms would be better for the mean score, and what they would spoil."""
    total = arms.k_sham + arms.k_destroy
    if arms.saving < _WORTH_SAYING:
        return [EQUAL_BEST.format(total=total)]
    return [
        ARMS.format(
            total=total,
            k=total // 2,
            sham=arms.k_sham,
            destroy=arms.k_destroy,
            saving=f"{100 * arms.saving:.2g} %",
        )
    ]


def split_notes(split: BudgetSplit | None, cost: Cost | None, most: int) -> list[str]:
    """How money is best split, or why that is not said."""
    if split is None:
        return [PRICES if cost is None else FREE]
    buys = equal_buys = ""
    if split.questions is not None and split.equal_questions is not None:
        buys = f" for {split.questions:,} questions (standard error {split.se:.4f})"
        equal_buys = f" for {split.equal_questions:,} questions ({split.equal_se:.4f})"
    if split.saving < _WORTH_SAYING:
        equal_buys = equal_buys.replace("(", "(standard error ")
        note = EQUAL_SPLIT.format(k=split.equal_k, equal_buys=equal_buys)
    else:
        saving = f"{100 * split.saving:.2g} %"
        note = SPLIT.format(
            sham=split.k_sham,
            destroy=split.k_destroy,
            buys=buys,
            k=split.equal_k,
            equal_buys=equal_buys,
            saving=f"and the unequal split has {saving} less variance for the same money",
        )
    at_end = split.equal_k == most if split.saving < _WORTH_SAYING else split.at_end
    return [note, AT_END.format(most=most)] if at_end else [note]


def study_notes(study: Study, kind: str, design_effect: float | None) -> list[str]:
    """How questions are taken to depend on each other."""
    notes = [SHARED] if kind == "rates" else []
    if kind != "pilot":
        alone = design_effect is None and study.questions is not None
        return [*notes, ASSUMED_INDEPENDENT] if alone else notes
    if design_effect is not None:
        return [GIVEN_EFFECT.format(effect=design_effect)]
    sharing = study.source.sharing
    if sharing is None or math.isnan(sharing.rho):
        return []
    if sharing.rho == 0.0:
        return [NOT_ALIKE.format(pilot=sharing.pilot_size)]
    return [
        ALIKE.format(
            rho=sharing.rho,
            pilot=sharing.pilot_size,
            m=sharing.size,
            effect=study.source.split.design_effect,
        )
    ]


def range_notes(study: Study, ks: list[int], model: str | None, *, chosen: bool) -> list[str]:
    """Which k were not looked at, and of which no single figure is told."""
    notes = [SPARSE] if ks != list(range(ks[0], ks[-1] + 1)) else []
    made = study.source.made
    if made and not chosen and ks[-1] == made:
        notes.append(NOT_BEYOND.format(made=made))
    return [*notes, POINT_WITHHELD] if model is None and made and ks[-1] > FAR * made else notes
