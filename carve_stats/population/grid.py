"""The grid on the unit square that populations are fitted on, and its cell probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.law._arguments import one_whole_number, probability

__all__ = [
    "GRID_POINTS",
    "binomial_rows",
    "cell_matrix",
    "chebyshev_grid",
    "grid_atoms",
]

GRID_POINTS = 33
"""Points an axis. With 33 the sign shares up to k = 10 are interpolated to about .002."""


def chebyshev_grid(points: int = GRID_POINTS) -> NDArray[np.float64]:
    """Flip probabilities that lie densest near 0 and 1.

    Parameters
    ----------
    points : int
        How many, at least 2.

    Returns
    -------
    ndarray, shape (points,)
        (1 − cos(πi/(points − 1)))/2, ascending; the first is 0 and the last 1, exactly, and
        the upper half is 1 minus the lower one.

    Examples
    --------
    >>> chebyshev_grid(5)
    array([0.    , 0.1464..., 0.5   , 0.8535..., 1.    ])
    """
    count = one_whole_number("points", points, least=2)
    index = np.arange(count)
    low = np.sin(np.pi * index / (2 * (count - 1))) ** 2
    middle = 2 * index == count - 1
    return np.where(2 * index < count - 1, low, np.where(middle, 0.5, 1.0 - low[::-1]))


def grid_atoms(points: int = GRID_POINTS) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Every pair of two grid points, as the atoms of a population.

    Parameters
    ----------
    points : int
        Points an axis, at least 2.

    Returns
    -------
    p_sham, p_destroy : ndarray, shape (points²,)
        With p_sham the one that changes slowly.

    Examples
    --------
    >>> p_sham, p_destroy = grid_atoms(2)
    >>> p_sham.tolist(), p_destroy.tolist()
    ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0])
    """
    grid = chebyshev_grid(points)
    return np.repeat(grid, grid.size), np.tile(grid, grid.size)


def cell_matrix(
    k_sham: int, k_destroy: int, p_sham: ArrayLike, p_destroy: ArrayLike
) -> NDArray[np.float64]:
    """Probability of each pair of flips, for questions with given flip probabilities.

    Parameters
    ----------
    k_sham, k_destroy : int
        Replays in each arm.
    p_sham, p_destroy : array_like, shape (atoms,)
        Flip probabilities.

    Returns
    -------
    ndarray, shape ((k_sham + 1)(k_destroy + 1), atoms)
        Row x·(k_destroy + 1) + y: the probability that x SHAM and y DESTROY replays flip.

    Notes
    -----
    b(x; k_sham, p_sham) · b(y; k_destroy, p_destroy), the binomial probabilities: replays are
    independent given the question.

    Examples
    --------
    >>> cell_matrix(1, 1, [0.25], [0.5]).ravel()
    array([0.375, 0.375, 0.125, 0.125])
    """
    sham, destroy = binomial_rows(k_sham, p_sham), binomial_rows(k_destroy, p_destroy)
    return (sham[:, None, :] * destroy[None, :, :]).reshape(-1, sham.shape[1])


def binomial_rows(k: int, p: ArrayLike) -> NDArray[np.float64]:
    """Binomial probabilities of 0, …, k flips, for given flip probabilities.

    Parameters
    ----------
    k : int
        Replays.
    p : array_like, shape (points,)
        Flip probabilities.

    Returns
    -------
    ndarray, shape (k + 1, points)
        One row a number of flips.

    Examples
    --------
    >>> binomial_rows(2, [0.5, 1.0])
    array([[0.25, 0.  ],
           [0.5 , 0.  ],
           [0.25, 1.  ]])
    """
    from carve_stats._kernels import mixture  # needs numba, which loads slowly

    rates = probability("p", p)
    out = np.empty((one_whole_number("k", k) + 1, rates.size))
    mixture.binomial_rows(rates, out)
    return out
