"""What a threshold on the score would have selected at a smaller k: exactly, by question."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.subsampling import subsampled_flips
from carve_stats.population.cells import locate_cells
from carve_stats.population.patterns import fullest_budget, reaches
from carve_stats.routing.joined import RoutingData

__all__ = ["SubsampledCells", "at_one_budget", "lattice_tables"]

Floats = NDArray[np.float64]


class SubsampledCells:
    """The outcomes that occur in some counts, ready to be subsampled to smaller budgets.

    Parameters
    ----------
    counts : ReplayCounts
        The n questions; some may have no score.

    Notes
    -----
    A question with x of k_sham and y of k_destroy flips is selected at k with the probability
    that a random choice of its replays is. The sums over questions are U-statistics, as in
    `subsampled_signs`.
    """

    def __init__(self, counts: ReplayCounts) -> None:
        self.scored = counts.scored
        self._patterns, self._cell, first = locate_cells(counts.select(self.scored))
        self._cells = int(first[-1])

    def means(self, tables: Sequence[NDArray[Any]] | NDArray[Any], k: int) -> Floats:
        """Means of tables over the outcomes at a smaller budget.

        Parameters
        ----------
        tables : sequence of ndarray, each of shape (k + 1, k + 1)
            What each outcome counts; for the probability of some of them, 0 or 1.
        k : int
            Replays in each arm, no more than any question has.

        Returns
        -------
        ndarray, shape (tables, cells)
            For each outcome that can have occurred; `of_questions` picks those that did.
        """
        stacked = np.array(tables, dtype=float)
        blocks = []
        for k_sham, k_destroy in self._patterns.tolist():
            sham, destroy = subsampled_flips(k_sham, k), subsampled_flips(k_destroy, k)
            blocks.append((sham @ stacked @ destroy.T).reshape(len(stacked), -1))
        return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(stacked), 0))

    def of_questions(self, means: Floats) -> Floats:
        """A row of `means` for each question, shape (n,); 0 where there is no score."""
        values = np.zeros(self.scored.size)
        values[self.scored] = means[self._cell]
        return values

    def tally(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums of whole numbers of the questions over each cell, shape (cells,)."""
        sums = np.bincount(self._cell, weights=weights[self.scored], minlength=self._cells)
        return sums.astype(np.int64)

    def tally_by_cluster(
        self, weights: NDArray[np.int64], codes: NDArray[np.int64], means: Floats
    ) -> Floats:
        """Σ weight·mean of each cluster, shape (clusters, tables)."""
        from scipy import sparse  # loads slowly

        shape = (int(codes.max()) + 1, self._cells)
        place = (codes[self.scored], self._cell)
        sums = sparse.csr_array((weights[self.scored].astype(float), place), shape=shape)
        return np.asarray(sums @ means.T)


def at_one_budget(data: RoutingData) -> tuple[RoutingData, int, int]:
    """The questions that can be followed over k together.

    Parameters
    ----------
    data : RoutingData
        All questions.

    Returns
    -------
    data : RoutingData
        Those without a score, and those that reach the k at which most replays count.
    k : int
        That k, in both arms.
    fewer : int
        How many questions with a score do not reach it.

    Raises
    ------
    InputError
        No question has a score.
    """
    scored = data.counts.scored
    if not scored.any():
        raise InputError(
            "no question with both outcomes has a valid replay in both arms: there is no score"
        )
    made, _ = fullest_budget(data.counts.select(scored), equal=True)
    kept = ~scored | reaches(data.counts, (made, made))
    return data.select(kept), made, int((~kept).sum())


def lattice_tables(
    k: int, *, largest_first: bool = False
) -> list[tuple[ScoreRule, NDArray[np.bool_]]]:
    """Every threshold that can tell scores at one budget apart, and what it selects.

    Parameters
    ----------
    k : int
        Replays in each arm.
    largest_first : bool
        Whether the rules select large scores (``score >= t``), not small ones (``score <= t``).

    Returns
    -------
    list of (ScoreRule, ndarray of bool of shape (k + 1, k + 1))
        From the rule that selects least on, 2k + 1 of them.

    Examples
    --------
    >>> [str(rule) for rule, _ in lattice_tables(1)]
    ['score <= -1', 'score <= 0', 'score <= 1']
    """
    rules = [
        ScoreRule(">=" if largest_first else "<=", Fraction(-step if largest_first else step, k))
        for step in range(-k, k + 1)
    ]
    return [(rule, rule.table(k, k)) for rule in rules]
