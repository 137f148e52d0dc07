"""Which inputs a table needs and does not have, in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from carve_stats.report.paper_tables.inputs import PaperInputs

__all__ = ["what_is_missing"]


def what_is_missing(needs: Iterable[str], inputs: PaperInputs) -> list[str]:
    """Which inputs are not there, in words, with the option that gives them.

    Parameters
    ----------
    needs : iterable of str
        Of ``several runs``, ``scores``, ``outcomes``, ``alternative``, ``fallback``, ``covered``,
        ``confidence``, ``second backbone`` and ``videos``.
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


def _several_runs(inputs: PaperInputs) -> str | None:
    runs, other = inputs.separate_runs()
    if len(runs) > 1:
        return None
    there = "".join(f"; {note}" for note in other)
    return f"a second run (records with another run, or --run-per-log){there}"


def _scores(inputs: PaperInputs) -> str | None:
    if inputs.main.scored.any():
        return None
    return "scores (a question with a valid SHAM and a valid DESTROY replay)"


def _outcomes(inputs: PaperInputs) -> str | None:
    return NO_OUTCOMES if inputs.outcomes is None else None


def _alternative(inputs: PaperInputs) -> str | None:
    if inputs.outcomes is None:
        return NO_OUTCOMES
    if inputs.outcomes.alternatives:
        return None
    return "an alternative answerer (a column NAME_correct in OUTCOMES, or --answers)"


def _fallback(inputs: PaperInputs) -> str | None:
    if (without := _alternative(inputs)) is not None or inputs.outcomes is None:
        return without
    names = list(inputs.outcomes.alternatives)
    if len(names) > 1 and inputs.fallback is None:
        return f"to know who answers deferred questions (--fallback {' or '.join(names)})"
    return None


def _covered(inputs: PaperInputs) -> str | None:
    if inputs.outcomes is None:
        return NO_OUTCOMES
    if "covered" in inputs.outcomes.covariates:
        return None
    return "gold coverage (--intervals and --interval-format, or a column covered in OUTCOMES)"


def _confidence(inputs: PaperInputs) -> str | None:
    if inputs.outcomes is None:
        return NO_OUTCOMES
    if inputs.confidence is not None or "confidence" in inputs.outcomes.covariates:
        return None
    if np.any(inputs.main.self_replays):
        return None
    return "a confidence (--confidence COLUMN of OUTCOMES, or SELF replays)"


def _second_backbone(inputs: PaperInputs) -> str | None:
    return None if inputs.second is not None else SECOND


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
    "videos": _videos,
}
