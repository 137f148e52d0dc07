"""The least share of a sign over populations whose cell probabilities are known or estimated.

Questions may come in groups, each with a population and a target of its own, whose sum is asked
for; then one function stays below the target of every group.

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
    coefficients: _Floats  # (groups, m, cells)
    centre: _Floats  # (m,)
    radius: float  # Euclidean distance from the centre that is allowed
    atoms: _Floats  # (2, a): some likely atoms of the populations, beside the grid's
    rest: bool = False  # whether questions may be of no group, where functions and target are 0


def certified_minimum(target: _Floats, functions: CellFunctions) -> float:
    """A lower bound, nearly sharp, of the expectation of a polynomial over populations.

    Parameters
    ----------
    target : ndarray, shape (groups, to_k_sham + 1, to_k_destroy + 1)
        Its Bernstein coefficients in each group: what each outcome at the target budget counts.
    functions : CellFunctions
        The populations: those whose functions come within `radius` of `centre`.

    Returns
    -------
    float
        Certainly below the expectation under every one of them, on a grid or not.
    """
    best = min(float(target.min()), 0.0 if functions.rest else np.inf)  # a mean is no less
    for bound, gap in _bounds(target, functions):
        best = max(best, bound)
        if gap <= _CLOSE_ENOUGH or best > target.max() + _CLOSE_ENOUGH:  # the latter: of none
            break
    return best


def _bounds(target: _Floats, functions: CellFunctions) -> Iterator[tuple[float, float]]:
    """Certified bounds, each with by how much it may miss the sharp one, on ever more atoms."""
    made, centre, radius = functions[:2], functions.centre, functions.radius
    degrees = max(made[0], target.shape[1] - 1), max(made[1], target.shape[2] - 1)
    groups = list(
        zip(functions.coefficients, [elevated(one, *degrees) for one in target], strict=True)
    )
    beginning = np.column_stack([grid_atoms(_POINTS), functions.atoms])
    values, limits = map(list, zip(*(_rows(made, *one, beginning) for one in groups), strict=True))
    if functions.rest:
        values.append(np.zeros((1, centre.size)))
        limits.append(np.zeros(1))
    minorant, tolerance, curvature = None, _ROUGHLY, _CURVATURES[0]
    for i in range(_MOST_ROUNDS):
        minorant = largest_minorant(
            np.concatenate(values), np.concatenate(limits), centre, radius,
            curvature=curvature, tolerance=tolerance, start=minorant,
        )  # fmt: skip
        constant, z, _, missed = minorant
        lowest, added = 0.0 if functions.rest else np.inf, 0
        for coefficients, polynomial in groups:
            cells = (z @ coefficients).reshape(made[0] + 1, made[1] + 1)
            excess = polynomial - elevated(cells, *degrees)
            lowest = min(lowest, minimum_on_square(excess))
            found = _minima_below(excess, constant, _CHECKED[min(i, len(_CHECKED) - 1)])
            if found.size:
                more = _rows(made, coefficients, polynomial, found)
                values.append(more[0])
                limits.append(more[1])
                added += found.shape[1]
        passed = constant - lowest
        length = float(np.linalg.norm(z))
        sharp = curvature == _CURVATURES[1] or curvature * length < 0.1 * radius
        bound = float(lowest + z @ centre) - radius * length
        yield bound, max(passed, 0.0) + max(tolerance, missed) if sharp else np.inf
        if not added and sharp and max(tolerance, missed) == _EXACTLY:
            return
        tolerance = _EXACTLY if not added else min(tolerance, max(0.2 * passed, _EXACTLY))
        if passed < _LITTLE:
            curvature = max(0.01 * curvature, _CURVATURES[1])


def _rows(
    made: tuple[int, int], coefficients: _Floats, target: _Floats, atoms: _Floats
) -> tuple[_Floats, _Floats]:
    """Values of the functions and of the target at atoms of a group."""
    return (coefficients @ cell_matrix(*made, *atoms)).T, _values(target, *atoms)


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
