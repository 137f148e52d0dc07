"""The scores of a log on the lattice of one replay budget, beside the exact law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.law.subsampling import subsampled_flips

if TYPE_CHECKING:
    from carve_stats.inference.tie_excess import TieExcess

__all__ = ["ScoreDistribution", "score_distribution"]


@dataclass(frozen=True, slots=True)
class ScoreDistribution:
    """How the scores spread over the values that k replays allow.

    Parameters
    ----------
    k_sham, k_destroy : int
        The budget that the lattice belongs to.
    support : ndarray of float, shape (m,)
        The possible scores, ascending.
    observed : ndarray of float, shape (m,)
        Share of the questions at each score.
    predicted : ndarray of float, shape (m,)
        The exact law at the pooled flip rates of the same questions.
    questions : int
        How many questions the shares are over.
    subsampled : int
        How many of them had more replays and count by all their possible subsamples.
    left_out : int
        Scored questions with fewer replays than the budget.
    """

    k_sham: int
    k_destroy: int
    support: NDArray[np.float64]
    observed: NDArray[np.float64]
    predicted: NDArray[np.float64]
    questions: int
    subsampled: int
    left_out: int


def score_distribution(counts: ReplayCounts, excess: TieExcess) -> ScoreDistribution | None:
    """Spread the scores over the lattice of the budget that a tie excess speaks of.

    Parameters
    ----------
    counts : ReplayCounts
        The log.
    excess : TieExcess
        Its tie excess; where the log is ragged, the budget is the one of ``excess.equal_k``.

    Returns
    -------
    ScoreDistribution or None
        None where no question has a score.

    Notes
    -----
    A question with more replays than the budget adds the exact distribution of its score over
    all ways to draw the budget's replays from its own, without replacement: hypergeometric in
    each arm. Subsampling keeps each question's expected flip rates, so the law stands at the
    mean of the per-question rates.
    """
    ragged = None in excess.k.values()
    view = excess.equal_k if ragged and excess.equal_k is not None else excess
    k_sham, k_destroy = view.k["sham"], view.k["destroy"]
    if k_sham is None or k_destroy is None:
        return None
    enough = (counts.sham_replays >= k_sham) & (counts.destroy_replays >= k_destroy)
    kept = counts.select(enough)
    law = FiniteReplayLaw(
        float(np.mean(kept.sham_flips / kept.sham_replays)),
        float(np.mean(kept.destroy_flips / kept.destroy_replays)),
        k_sham=k_sham,
        k_destroy=k_destroy,
    )
    numerators, denominator = law.lattice()
    # The score j/k_destroy − i/k_sham over the lattice's denominator, on integers.
    kept_flips = np.arange(k_destroy + 1) * k_sham - np.arange(k_sham + 1)[:, None] * k_destroy
    place = np.searchsorted(numerators, kept_flips * denominator // (k_sham * k_destroy))
    columns = np.stack(
        [kept.sham_flips, kept.sham_replays, kept.destroy_flips, kept.destroy_replays], axis=1
    )
    total = np.zeros(numerators.size)
    for (x, m, y, n), times in zip(*np.unique(columns, axis=0, return_counts=True), strict=True):
        sham = subsampled_flips(int(m), k_sham)[x]
        destroy = subsampled_flips(int(n), k_destroy)[y]
        np.add.at(total, place, times * np.outer(sham, destroy))
    more = (kept.sham_replays > k_sham) | (kept.destroy_replays > k_destroy)
    return ScoreDistribution(
        k_sham=k_sham,
        k_destroy=k_destroy,
        support=numerators / denominator,
        observed=total / len(kept),
        predicted=law.pmf(),
        questions=len(kept),
        subsampled=int(more.sum()),
        left_out=int(counts.scored.sum()) - len(kept),
    )
