"""Mixtures of binomials: the probabilities of their cells, sums of rows, the EM algorithm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.binomial import binomial, constants
from carve_stats._kernels.jit import kernel

__all__ = ["add_rows", "binomial_rows", "em_steps"]

_Floats = NDArray[np.float64]


@kernel
def binomial_rows(p: _Floats, out: _Floats) -> None:
    """b_k(j; p_i) in row j and column i of `out`, shape (k + 1, p.size)."""
    k = out.shape[0] - 1
    known = constants(k)
    scale = np.empty(k + 1, np.int64)
    column = np.empty(k + 1)
    for i in range(p.size):
        binomial(k, p[i], 1.0 - p[i], known, scale, column)
        out[:, i] = column


@kernel
def add_rows(
    rows: _Floats,
    place: NDArray[np.int64],
    times: NDArray[np.int64],
    target: NDArray[np.int64],
    out: _Floats,
) -> None:
    """Add times[i] times row place[i] of `rows` to row target[i] of `out`, for every i."""
    for i in range(place.size):
        for c in range(rows.shape[1]):
            out[target[i], c] += times[i] * rows[place[i], c]


@kernel
def em_steps(
    sham: _Floats,
    destroy: _Floats,
    row: NDArray[np.int64],
    column: NDArray[np.int64],
    share: _Floats,
    steps: int,
    weights: _Floats,
    gradient: _Floats,
) -> None:
    """Steps of the EM algorithm for the weights of atoms on a grid.

    A cell c has probability A[c, (i, j)] = sham[row_c, i] destroy[column_c, j] at the atom
    (i, j), and a step is w ← w·g with g = Aᵀ(f/Aw). Since A is such a product, sums over atoms
    are taken an axis at a time, for all cells of a row together.

    Parameters
    ----------
    sham, destroy : ndarray, shapes (rows, points) and (columns, points)
        Binomial probabilities of each number of flips at each grid point.
    row, column : ndarray of int, shape (cells,)
        The rows of `sham` and of `destroy` that belong to each cell.
    share : ndarray, shape (cells,)
        f: the share of the questions in each cell, above 0; they sum to 1.
    steps : int
        How many, at least 0.
    weights : ndarray, shape (points, points)
        w: where to start, with (Aw)_c > 0 in all cells, and the result.
    gradient : ndarray, shape (points, points)
        g at the result.
    """
    half = np.empty(sham.shape)
    back = np.empty(sham.shape)
    for step in range(steps + 1):
        half[:] = 0.0
        back[:] = 0.0
        gradient[:] = 0.0
        for r in range(sham.shape[0]):
            for i in range(weights.shape[0]):
                half[r] += sham[r, i] * weights[i]
        for c in range(share.size):
            ratio = share[c] / np.sum(half[row[c]] * destroy[column[c]])
            back[row[c]] += ratio * destroy[column[c]]
        for r in range(sham.shape[0]):
            for i in range(weights.shape[0]):
                gradient[i] += sham[r, i] * back[r]
        if step < steps:
            weights *= gradient
