"""Three measures of how two runs agree: observed, and expected under a population."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.clusters import NO_QUESTIONS, Estimate, t_interval
from carve_stats.counts import ReplayCounts
from carve_stats.inference.association import pearson
from carve_stats.law.score_rule import ScoreRule
from carve_stats.population.mixing import Population
from carve_stats.population.patterns import group_patterns
from carve_stats.population.summary import expect_agreement, law_at

__all__ = ["RunAgreement", "observe_agreement", "predict_agreement"]

CONSTANT_SCORES = "not estimable: the scores of one run do not vary, so they correlate with nothing"
NONE_SELECTED = "not estimable: the rule selects no question in either run"


class RunAgreement(NamedTuple):
    """One figure for each measure of how two runs agree.

    Parameters
    ----------
    pearson : Estimate or float
        Correlation of the scores.
    agreement : Estimate or float
        Share of questions whose score has the same sign in both.
    jaccard : Estimate or float
        |A ∩ B|/|A ∪ B| of the sets that the rule selects.
    """

    pearson: Any
    agreement: Any
    jaccard: Any


def observe_agreement(
    a: ReplayCounts,
    b: ReplayCounts,
    chosen: list[NDArray[np.bool_]],
    codes: NDArray[np.int64] | None,
    level: float,
) -> RunAgreement:
    """The three figures of questions that both runs score.

    Parameters
    ----------
    a, b : ReplayCounts
        The same questions in the same order, each with a score in both.
    chosen : list of ndarray of bool
        Which of them the rule selects in each run.
    codes : ndarray of int or None
        Their clusters.
    level : float
        Confidence level.

    Returns
    -------
    RunAgreement of Estimate
        NaN, with a note, where undefined.
    """
    if not len(a):
        return RunAgreement(*[Estimate(math.nan, note=NO_QUESTIONS)] * 3)
    same = (np.sign(a.score_numerator) == np.sign(b.score_numerator)).astype(float)
    agreement = float(same.mean())
    return RunAgreement(
        pearson(a.score, b.score, codes, level, constant=CONSTANT_SCORES),
        t_interval(agreement, same - agreement, codes, level=level, within=(0.0, 1.0)),
        _jaccard(chosen[0] & chosen[1], chosen[0] | chosen[1], codes, level),
    )


def _jaccard(
    both: NDArray[np.bool_],
    either: NDArray[np.bool_],
    codes: NDArray[np.int64] | None,
    level: float,
) -> Estimate:
    if not either.any():
        return Estimate(math.nan, note=NONE_SELECTED)
    index = int(both.sum()) / int(either.sum())
    influence = (both - index * either) / either.mean()
    return t_interval(index, influence, codes, level=level, within=(0.0, 1.0))


def predict_agreement(
    population: Population, a: ReplayCounts, b: ReplayCounts, rule: ScoreRule
) -> RunAgreement:
    """Expectations over the population, at each question's own replays in both runs.

    Parameters
    ----------
    population : Population
        Of the questions, whatever their numbers of replays.
    a, b : ReplayCounts
        The same questions in the same order, at least one, each with a score in both.
    rule : ScoreRule
        What the Jaccard index is about.

    Returns
    -------
    RunAgreement of float
        NaN where undefined.
    """
    (pairs_a, of_a), (pairs_b, of_b) = group_patterns(a), group_patterns(b)
    cells = len(pairs_a), len(pairs_b)
    joint = np.bincount(of_a * cells[1] + of_b, minlength=cells[0] * cells[1])
    shares = joint.reshape(cells) / len(a)
    laws = {
        (sham, destroy): law_at(population, sham, destroy, rule)
        for sham, destroy in np.unique(np.concatenate([pairs_a, pairs_b]), axis=0).tolist()
    }
    laws_a, laws_b = (
        [laws[sham, destroy] for sham, destroy in pairs.tolist()] for pairs in (pairs_a, pairs_b)
    )
    return RunAgreement(*expect_agreement(population.weights, laws_a, laws_b, shares))
