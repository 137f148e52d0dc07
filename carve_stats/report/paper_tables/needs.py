"""Which inputs a table needs and does not have, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from carve_stats.counts import ReplayCounts
from carve_stats.outcomes import Outcomes
from carve_stats.report.paper_tables.inputs import PaperInputs

__all__ = ["what_is_missing"]


def what_is_missing(needs: Iterable[str], inputs: PaperInputs) -> list[str]:
    """Which inputs are not there, in words, with the option that gives them.

    Parameters
    ----------
    needs : iterable of str
        Of ``several runs``, ``scores``, ``outcomes``, ``alternative``, ``fallback``, ``covered``,
        ``confidence``, ``second backbone``, ``second scores`` and ``videos``.
    inputs : PaperInputs
        What is there.

    Returns
    -------
    list of str
        Empty where all is there. Without outcomes, what they would hold is not asked for too.
    """
    missing = [text for need in needs if (text := _MISSING[need](inputs)) is not None]
    return list(dict.fromkeys(missing))


SECOND = "a second backbone (--second-backbone LOGS OUTCOMES)"
NO_OUTCOMES = "outcomes (OUTCOMES, a table of which answers are right)"
NONE_KNOWN = (
    "outcomes of {name}: of no question with replays it is known whether {what} right (--gold FILE"
    " or a column gold_answer of OUTCOMES judges answers; or a column {column})"
)


def _several_runs(inputs: PaperInputs) -> str | None:
    runs, other = inputs.separate_runs()
    if len(runs) > 1:
        return None
    there = "".join(f"; {note}" for note in other)
    return f"a second run (records with another run, or --run-per-log){there}"


SCORES = "scores{of} (a question with a valid SHAM and a valid DESTROY replay)"


def _scores(inputs: PaperInputs) -> str | None:
    return None if inputs.main.scored.any() else SCORES.format(of="")


def _second_scores(inputs: PaperInputs) -> str | None:
    second = inputs.second
    if second is None or second.counts.scored.any():
        return None  # without it that is said already
    return SCORES.format(of=f" of {second.name}")


def _outcomes(inputs: PaperInputs) -> str | None:
    if inputs.outcomes is None:
        return NO_OUTCOMES
    return _unknown(inputs.main, inputs.outcomes, [])


def _alternative(inputs: PaperInputs) -> str | None:
    if inputs.outcomes is None:
        return NO_OUTCOMES
    names = list(inputs.outcomes.alternatives)
    if not names:
        return "an alternative answerer (a column NAME_correct in OUTCOMES, or --answers)"
    return _unknown(inputs.main, inputs.outcomes, names)


def _fallback(inputs: PaperInputs) -> str | None:
    if (without := _alternative(inputs)) is not None or inputs.outcomes is None:
        return without
    names = list(inputs.outcomes.alternatives)
    if len(names) > 1 and inputs.fallback is None:
        return f"to know who answers deferred questions (--fallback {' or '.join(names)})"
    return _unknown(inputs.main, inputs.outcomes, [inputs.fallback or names[0]])


def _unknown(counts: ReplayCounts, outcomes: Outcomes, names: Sequence[str]) -> str | None:
    """What is said where no question is known of the original, or of it and any of the others.

    Ids that do not fit each other are for the table to refuse.
    """
    replayed = np.isin(outcomes.question, counts.question)
    if not replayed.any():
        return None
    known = outcomes.original.known & replayed
    if not known.any():
        return NONE_KNOWN.format(
            name="the original answers", what="they are", column="original_correct"
        )
    if not names or any((outcomes.alternatives[name].known & known).any() for name in names):
        return None
    shown = " and ".join(names)
    what = "it and the original answer are"
    return NONE_KNOWN.format(name=shown, what=what, column=f"{names[0]}_correct")


def _covered(inputs: PaperInputs) -> str | None:
    if inputs.outcomes is None:
        return NO_OUTCOMES
    if _is_known(inputs, "covered"):
        return None
    return "gold coverage (--intervals and --interval-format, or a column covered in OUTCOMES)"


def _confidence(inputs: PaperInputs) -> str | None:
    if inputs.outcomes is None:
        return NO_OUTCOMES
    name = inputs.confidence or "confidence"
    if name not in inputs.outcomes.covariates:
        if np.any(inputs.main.self_replays):
            return None
    elif _is_known(inputs, name):
        return None
    else:
        return f"a confidence: the column {name} of OUTCOMES is empty (--confidence COLUMN)"
    return "a confidence (--confidence COLUMN of OUTCOMES, or SELF replays)"


def _is_known(inputs: PaperInputs, name: str) -> bool:
    """Whether there is a column with a value of any question that has replays."""
    assert inputs.outcomes is not None
    column = inputs.outcomes.covariates.get(name)
    if column is None:
        return False
    replayed = np.isin(inputs.outcomes.question, inputs.main.question)
    there = ~np.isnan(column) if column.dtype.kind == "f" else column != ""
    return bool((there & replayed).any()) or not replayed.any()


def _second_backbone(inputs: PaperInputs) -> str | None:
    second = inputs.second
    if second is None:
        return SECOND
    # Its only alternative is taken, whatever it is called.
    names = list(second.outcomes.alternatives)
    if not names:
        return f"an alternative answerer of {second.name} (a column NAME_correct in its OUTCOMES)"
    named = [name for name in names if name == inputs.fallback]
    if len(names) > 1 and not named:
        return (
            f"to know who answers deferred questions of {second.name}"
            f" (--fallback {' or '.join(names)})"
        )
    unknown = _unknown(second.counts, second.outcomes, named or names)
    return None if unknown is None else f"{second.name}: {unknown}"


def _videos(inputs: PaperInputs) -> str | None:
    if inputs.outcomes is None or inputs.second is None:
        return None  # said already
    second = inputs.second
    sides = ((inputs.main, inputs.outcomes), (second.counts, second.outcomes))
    for counts, outcomes in sides:
        cluster = outcomes.cluster if counts.cluster is None else counts.cluster
        if cluster is None:
            return "to know which questions share a video (--videos FILE or --video-pattern)"
        if np.unique(cluster).size < 2:
            return "at least two videos, since it splits them"
    return None


_MISSING = {
    "several runs": _several_runs,
    "scores": _scores,
    "outcomes": _outcomes,
    "alternative": _alternative,
    "fallback": _fallback,
    "covered": _covered,
    "confidence": _confidence,
    "second backbone": _second_backbone,
    "second scores": _second_scores,
    "videos": _videos,
}
