"""The likelihood of populations whose atoms stand on a product of two sets of rates.

A cell's probability is then a product of two binomial ones, and the sums over atoms can be
taken an arm at a time. Patterns that share a k_sham or a k_destroy share its binomial rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carve_stats.population.cells import PatternCells
from carve_stats.population.grid import binomial_rows

__all__ = ["ObservedCells", "observed_cells"]


@dataclass(frozen=True, slots=True, eq=False)
class ObservedCells:
    """The cells that hold questions, of all patterns.

    Parameters
    ----------
    k_sham, k_destroy : tuple of int
        The different numbers of valid replays, ascending.
    sham_used, destroy_used : ndarray of int
        Which of the binomial rows of all of them, stacked, some cell needs.
    row, column : ndarray of int, shape (cells,)
        Which row of `sham_rows` and of `destroy_rows` each cell has.
    share : ndarray, shape (cells,)
        The share of all questions in each cell, above 0.
    """

    k_sham: tuple[int, ...]
    k_destroy: tuple[int, ...]
    sham_used: NDArray[np.int64]
    destroy_used: NDArray[np.int64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    share: NDArray[np.float64]

    def sham_rows(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Binomial probabilities of the SHAM flips of cells, shape (rows, points)."""
        return np.concatenate([binomial_rows(k, p) for k in self.k_sham])[self.sham_used]

    def destroy_rows(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for DESTROY."""
        return np.concatenate([binomial_rows(k, p) for k in self.k_destroy])[self.destroy_used]

    def log_likelihood(
        self,
        p_sham: NDArray[np.float64],
        p_destroy: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> float:
        """Mean logarithm of the probability of a question's flips.

        Parameters
        ----------
        p_sham, p_destroy : ndarray, shapes (points_sham,) and (points_destroy,)
            Flip probabilities.
        weights : ndarray, shape (points_sham, points_destroy)
            Probability of each pair of them.

        Returns
        -------
        float
            Σ_c f_c log(Aw)_c; −inf where a cell that holds questions has probability 0.
        """
        half = self.sham_rows(p_sham) @ weights
        cells = np.einsum("cj,cj->c", half[self.row], self.destroy_rows(p_destroy)[self.column])
        with np.errstate(divide="ignore"):
            return float(self.share @ np.log(cells))


def observed_cells(patterns: Sequence[PatternCells]) -> ObservedCells:
    """The cells that hold questions.

    Parameters
    ----------
    patterns : sequence of PatternCells
        At least one question in all.

    Returns
    -------
    ObservedCells
        Over all patterns.
    """
    sham, sham_start = _stack(block.k_sham for block in patterns)
    destroy, destroy_start = _stack(block.k_destroy for block in patterns)
    rows, columns, counts = [], [], []
    for block in patterns:
        here = np.flatnonzero(block.counts)
        x, y = np.divmod(here, block.k_destroy + 1)
        rows.append(sham_start[block.k_sham] + x)
        columns.append(destroy_start[block.k_destroy] + y)
        counts.append(block.counts[here])
    sham_used, row = np.unique(np.concatenate(rows), return_inverse=True)
    destroy_used, column = np.unique(np.concatenate(columns), return_inverse=True)
    tally = np.concatenate(counts)
    return ObservedCells(sham, destroy, sham_used, destroy_used, row, column, tally / tally.sum())


def _stack(budgets: Iterable[int]) -> tuple[tuple[int, ...], dict[int, int]]:
    """The different budgets, and the first row of each when their rows are stacked."""
    different = tuple(sorted(set(budgets)))
    starts, first = {}, 0
    for k in different:
        starts[k] = first
        first += k + 1
    return different, starts
