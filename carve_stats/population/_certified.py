"""The least share of a sign over populations whose cell probabilities are known or estimated.

Duality with a certificate: a function y₀ + Σ_j z_j φ_j(p) below the target T(p) on the whole
square has an expectation below that of T, and its own expectation follows from the cell
probabilities alone. It is found on a grid of atoms, which make it stay below T there; between
them it may pass T by a little, and y₀ is lowered by as much. Atoms are added where it passed.
Any function certifies, so that the first ones are found roughly, and kept small: where the
first atoms cannot have the cell probabilities, the largest function would be without bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.population._conic import largest_minorant
from carve_stats.population._square_minimum import elevated, minimum_on_square
from carve_stats.population.grid import binomial_rows, cell_matrix, chebyshev_grid, grid_atoms

__all__ = ["CellFunctions", "certified_minimum"]

_Floats = NDArray[np.float64]

_CLOSE_ENOUGH = 2e-4  # between the bound on the atoms and the certified one
_MOST_ROUNDS = 25
_POINTS = 17  # an axis, of the first atoms
_CHECKED = (65, 129, 257, 513)  # where each round's function is checked; each has the last
_MOST_ADDED = 200
_CURVATURES = 1e-3, 1e-8  # the first, and the least: lowered where little is passed
_LITTLE = 0.1
_ROUGHLY = 1e-2  # tolerance of the first round
_EXACTLY = 5e-5  # and that of the last ones


class CellFunctions(NamedTuple):
    """Linear functions of the cell probabilities, and where their values should be."""

    k_sham: int
    k_destroy: int
    coefficients: _Floats  # (m, cells)
    centre: _Floats  # (m,)
    radius: float  # Euclidean distance from the centre that is allowed
    atoms: _Floats  # (2, a): some likely atoms of the population, beside the grid's


def certified_minimum(target: _Floats, functions: CellFunctions) -> float:
    """A lower bound, nearly sharp, of the expectation of a polynomial over populations.

    Parameters
    ----------
    target : ndarray, shape (to_k_sham + 1, to_k_destroy + 1)
        Its Bernstein coefficients: what each outcome at the target budget counts.
    functions : CellFunctions
        The populations: those whose functions come within `radius` of `centre`.

    Returns
    -------
    float
        Certainly below the expectation under every one of them, on a grid or not.
    """
    best = -np.inf
    for bound, gap in _bounds(target, functions):
        best = max(best, bound)
        if gap <= _CLOSE_ENOUGH or best > target.max() + _CLOSE_ENOUGH:  # the latter: of none
            break
    return best


def _bounds(target: _Floats, functions: CellFunctions) -> Iterator[tuple[float, float]]:
    """Certified bounds, each with by how much it may miss the sharp one, on ever more atoms."""
    k_sham, k_destroy, coefficients, centre, radius, start = functions
    degrees = max(k_sham, target.shape[0] - 1), max(k_destroy, target.shape[1] - 1)
    target = elevated(target, *degrees)
    atoms = np.column_stack([grid_atoms(_POINTS), start])
    minorant, tolerance, curvature = None, _ROUGHLY, _CURVATURES[0]
    for i in range(_MOST_ROUNDS):
        values = (coefficients @ cell_matrix(k_sham, k_destroy, *atoms)).T
        minorant = largest_minorant(
            values, _values(target, *atoms), centre, radius,
            curvature=curvature, tolerance=tolerance, start=minorant,
        )  # fmt: skip
        constant, z, _ = minorant
        cells = (z @ coefficients).reshape(k_sham + 1, k_destroy + 1)
        excess = target - elevated(cells, *degrees)
        lowest = minimum_on_square(excess)
        passed = constant - lowest
        length = float(np.linalg.norm(z))
        sharp = curvature == _CURVATURES[1] or curvature * length < 0.1 * radius
        bound = float(lowest + z @ centre) - radius * length
        yield bound, passed + tolerance if sharp else np.inf
        added = _minima_below(excess, constant, _CHECKED[min(i, len(_CHECKED) - 1)])
        atoms = np.column_stack([atoms, added])
        if added.size == 0 and sharp and tolerance == _EXACTLY:
            return
        tolerance = _EXACTLY if added.size == 0 else min(tolerance, max(0.2 * passed, _EXACTLY))
        if passed < _LITTLE:
            curvature = max(0.01 * curvature, _CURVATURES[1])


def _values(coefficients: _Floats, p_sham: _Floats, p_destroy: _Floats) -> _Floats:
    """A polynomial at some points, from its Bernstein coefficients."""
    sham = binomial_rows(coefficients.shape[0] - 1, p_sham)
    destroy = binomial_rows(coefficients.shape[1] - 1, p_destroy)
    return ((coefficients.T @ sham) * destroy).sum(axis=0)


def _minima_below(coefficients: _Floats, level: float, points: int) -> _Floats:
    """Grid points where a polynomial is least among its neighbours, and below a level."""
    grid = chebyshev_grid(points)
    sham, destroy = (binomial_rows(size - 1, grid) for size in coefficients.shape)
    values = sham.T @ coefficients @ destroy
    padded = np.pad(values, 1, constant_values=np.inf)
    least = np.minimum.reduce(
        [padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
    )
    found = np.nonzero((values < level) & (values <= least))
    every = max(1, -(-found[0].size // _MOST_ADDED))
    return np.stack([grid[axis[::every]] for axis in found])
