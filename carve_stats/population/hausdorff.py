"""What the tie rates at small k alone say about the tie rate at a larger k."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError, SolverError
from carve_stats.law._arguments import numbers, one_number, one_whole_number
from carve_stats.population._square_minimum import minimum_on_square
from carve_stats.population.grid import chebyshev_grid

__all__ = ["tie_rate_bounds"]

_POINTS = 4097
_ROUNDING = 1e-12
_LARGEST = 100


def tie_rate_bounds(ties: ArrayLike, k: int, *, error: float = 0.0) -> tuple[float, float]:
    """Least and largest tie rate at k of a population with given tie rates at smaller k.

    Parameters
    ----------
    ties : array_like, shape (K,)
        Tie rates of one population at 1, …, K replays in each arm.
    k : int
        Replays in each arm at which the tie rate is asked for, from K + 1 to 100.
    error : float
        How far each of `ties` may be off, as by rounding to four digits.

    Returns
    -------
    low, high : float
        Certainly no population with these tie rates is outside. Without an error they are
        wider than the sharp bounds by about 2e-5 at K + 1, and by .001 to .02 far beyond
        K = 10.

    Raises
    ------
    InputError
        Rates outside [0, 1], or those of no population: observed ones are off by their
        sampling error, and then often increase, which tie rates cannot.

    Notes
    -----
    The tie rates 1, t_1, t_2, … of any population at equal k are the moments ∫ uᵏ dμ of a law
    on [0, 1] (Laplace's integral for the Legendre polynomials). The bounds are those of
    ∫ uᵏ dμ by linear programming over laws on a fine grid; the dual solution, a polynomial of
    degree K below or above uᵏ, is certified on all of [0, 1] by its Bernstein form. With one
    rate they are t_1ᵏ and t_1.

    References
    ----------
    Karlin and Studden, *Tchebycheff Systems*, Wiley, 1966, chapter IV.

    Examples
    --------
    >>> low, high = tie_rate_bounds([0.6], 2)
    >>> round(low, 4), round(high, 4)
    (0.36, 0.6)
    """
    rates = np.atleast_1d(numbers("ties", ties, "a probability, between 0 and 1")).astype(float)
    if rates.ndim != 1 or not rates.size or not (rates.min() >= 0.0 and rates.max() <= 1.0):
        raise InputError("ties must be tie rates at k = 1, 2, …, each between 0 and 1")
    target = one_whole_number("k", k)
    if not rates.size < target <= _LARGEST:
        raise InputError(
            f"k={target} must be from {rates.size + 1} to {_LARGEST}: ties has the rates at up to"
            f" {rates.size} replays"
        )
    allowed = one_number("error", error)
    if not 0.0 <= allowed < 1.0:
        raise InputError(f"error={allowed} must be at least 0 and below 1")
    low = _least_moment(rates, target, 1.0, allowed)
    high = -_least_moment(rates, target, -1.0, allowed)
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def _least_moment(rates: NDArray[np.float64], k: int, sign: float, error: float) -> float:
    """A certified lower bound of sign · ∫ uᵏ dμ."""
    from scipy.optimize import linprog

    degrees = np.arange(rates.size + 1)
    grid = chebyshev_grid(_POINTS)
    # So that there is a law on the grid: an atom between two points h apart is split between
    # them, which keeps the first moment and moves the one of degree j by j(j − 1)h²/8 at most.
    spacing = np.pi / 2 / (_POINTS - 1)
    slack = error + degrees[1:] * (degrees[1:] - 1) * spacing**2 / 8 + _ROUNDING
    powers = grid ** degrees[:, None]
    moments = np.concatenate([[1.0], rates])
    off = np.vstack([np.zeros(rates.size), np.eye(rates.size)])
    solution = linprog(
        np.concatenate([sign * grid**k, np.zeros(rates.size)]),
        A_eq=np.hstack([powers, off]),
        b_eq=moments,
        bounds=[(0.0, None)] * grid.size + [(-s, s) for s in slack],
        method="highs-ipm",
        options={"presolve": False},  # it takes rates of 0, or all alike, for contradictory
    )
    if solution.status == 2:
        raise InputError(
            "ties are the tie rates of no population: they must fall convexly, and ever more"
            " slowly; give the error of observed ones"
        )
    if solution.status != 0:
        raise SolverError(f"tie rate at k = {k}: the linear program failed: {solution.message}")
    y = solution.eqlin.marginals[1:]  # the best constant follows
    below = np.concatenate([[0.0], y])
    excess = sign * _powers(k)[:, k] - _powers(k)[:, : below.size] @ below
    constant = minimum_on_square(excess[:, None], tolerance=1e-9)
    return float(constant + y @ rates - (error + _ROUNDING) * np.abs(y).sum())


def _powers(k: int) -> NDArray[np.float64]:
    """Column j: the Bernstein coefficients of degree k of uʲ, C(i, j)/C(k, j)."""
    from scipy.special import comb

    i = np.arange(k + 1)
    return comb(i[:, None], i) / comb(k, i)
