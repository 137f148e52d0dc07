"""Gold coverage × correctness, in the paper's words and order."""

from __future__ import annotations

import numpy as np

from carve_stats import _display
from carve_stats.counts import ReplayCounts
from carve_stats.inference.strata import StratifiedScores, Stratum, stratified_scores
from carve_stats.outcomes import Outcomes
from carve_stats.report.paper_tables.inputs import PaperInputs, tell_left_out

__all__ = ["coverage_outcomes", "coverage_strata"]

_HAS_ITS_OWN = ", which has its own"  # not where no differences are
_YES, _NO = ("true", "yes", "1", 1.0), ("false", "no", "0", 0.0)


def coverage_strata(
    inputs: PaperInputs, counts: ReplayCounts
) -> tuple[list[str], dict[tuple[str, str], Stratum], list[str]]:
    """Scores and rates by gold coverage and correctness.

    Parameters
    ----------
    inputs : PaperInputs
        With outcomes, and gold coverage among their covariates.
    counts : ReplayCounts
        The run.

    Returns
    -------
    notes : list of str
        What a reader has to know.
    strata : dict
        By (covered, correct), ``yes`` or ``no`` each, in the paper's order; what else stands in the
        column ``covered`` comes after these.
    differences : list of str
        In words, of the mean score: covered and not, correct and wrong; none of an empty side.
    """
    assert inputs.outcomes is not None
    result = stratified_scores(
        counts,
        inputs.outcomes,
        by=("covered", "correct"),
        level=inputs.level,
        allow_mismatch=inputs.allow_mismatch,
    )
    named = {
        (_word(one.values["covered"]), _word(one.values["correct"])): one for one in result.strata
    }
    order = {"yes": 0, "no": 1}
    keys = sorted(named, key=lambda key: (order[key[1]], order.get(key[0], 2), key[0]))
    notes = [note.removesuffix(_HAS_ITS_OWN) for note in result.notes]
    return (
        [*tell_left_out(result.questions), *notes],
        {key: named[key] for key in keys},
        _differences(result),
    )


def _differences(result: StratifiedScores) -> list[str]:
    told = []
    for name, words in (("covered", "covered − not covered"), ("correct", "correct − wrong")):
        values = {_word(one.values[name]): one.values[name] for one in result.strata}
        if not values.keys() >= {"yes", "no"}:
            continue
        score = result.difference({name: values["yes"]}, {name: values["no"]}).score
        if score.estimate == score.estimate:
            shown = _display.number(score.estimate, 3, signed=True)
            ends = _display.interval(score.low, score.high, 3, signed=True)
            told.append(f"mean Δ̂, {words}: {shown}" + (f" {ends}" if score.low is not None else ""))
    return told


def coverage_outcomes(outcomes: Outcomes) -> Outcomes:
    """The original answers with gold coverage as true and false, however it is written.

    Parameters
    ----------
    outcomes : Outcomes
        With a covariate ``covered``.

    Returns
    -------
    Outcomes
        With no other covariate; what is neither yes nor no is missing.
    """
    flags = {"yes": True, "no": False}
    covered = [flags.get(_word(value)) for value in outcomes.covariates["covered"].tolist()]
    return Outcomes(
        outcomes.question,
        outcomes.original_correct,
        {},
        cluster=outcomes.cluster,
        covariates={"covered": np.array(covered, object)},
    )


def _word(value: str | float) -> str:
    folded = value.lower() if isinstance(value, str) else value
    return "yes" if folded in _YES else "no" if folded in _NO else str(value)
