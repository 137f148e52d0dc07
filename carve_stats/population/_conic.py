"""The two convex programs behind the bounds, posed for clarabel.

Both are posed in the dual, where the unknowns are the few coefficients of a function in a
given span and every atom of the population is one inequality.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import SolverError

__all__ = ["Minorant", "largest_minorant", "nearest_mixture"]

_Floats = NDArray[np.float64]

_LARGEST = 100.0
"""Norm that the coefficients of a minorant may have; those of interior cells have norm 1."""

_LOOSER = 1e-6


class Minorant(NamedTuple):
    """constant + Σ_j coefficients[j]·φ_j, which is nowhere above the target."""

    constant: float
    coefficients: _Floats


def largest_minorant(
    functions: _Floats, target: _Floats, centre: _Floats, radius: float
) -> Minorant:
    """The function below the target on the atoms whose least expectation is largest.

    Parameters
    ----------
    functions : ndarray, shape (atoms, m)
        Values φ_j of the span, beside the constant.
    target : ndarray, shape (atoms,)
        Values T of the function to stay below.
    centre : ndarray, shape (m,)
        Expectations of the φ_j under the population.
    radius : float
        How far, in Euclidean distance, the expectations may be from `centre`.

    Returns
    -------
    Minorant
        Maximises y₀ + zᵀcentre − radius·‖z‖ over y₀ + φzᵀ <= T.

    Raises
    ------
    SolverError
        The solver gave up.

    Notes
    -----
    It is the dual of min Tᵀw over weights w >= 0, Σw = 1, with ‖φᵀw − centre‖ <= radius. For a
    centre that no weights come near the dual is unbounded, and ‖z‖ <= 100 ends that.
    """
    import clarabel

    atoms, m = functions.shape
    # Unknowns y₀, z and a bound on ‖z‖; rows: the atoms, the largest norm, the cone.
    rows = np.zeros((atoms + m + 2, m + 2))
    rows[:atoms, 0] = 1.0
    rows[:atoms, 1:-1] = functions
    rows[atoms, -1] = 1.0
    rows[atoms + 1, -1] = -1.0
    rows[atoms + 2 :, 1:-1] = -np.eye(m)
    limits = np.concatenate([target, [_LARGEST], np.zeros(m + 1)])
    cones = [clarabel.NonnegativeConeT(atoms + 1), clarabel.SecondOrderConeT(m + 1)]
    cost = np.concatenate([[-1.0], -centre, [radius]])
    solution = _solve(np.zeros(m + 2), cost, rows, limits, cones, "bounds of the sign shares")
    x = np.array(solution.x)
    return Minorant(float(x[0]), x[1:-1])


def nearest_mixture(functions: _Floats, centre: _Floats) -> _Floats:
    """Weights of the atoms whose expectations of the functions are nearest to the centre.

    Parameters
    ----------
    functions : ndarray, shape (atoms, m)
        Values of the functions.
    centre : ndarray, shape (m,)
        Where their expectations should be.

    Returns
    -------
    ndarray, shape (atoms,)
        At least 0, with sum 1.

    Raises
    ------
    SolverError
        The solver gave up.

    Notes
    -----
    The weights are the multipliers of max y₀ + zᵀcentre − ‖z‖²/2 over y₀ + φzᵀ <= 0.
    """
    import clarabel

    atoms, m = functions.shape
    rows = np.column_stack([np.ones(atoms), functions])
    quadratic = np.ones(m + 1)
    quadratic[0] = 0.0
    cost = np.concatenate([[-1.0], -centre])
    cones = [clarabel.NonnegativeConeT(atoms)]
    solution = _solve(quadratic, cost, rows, np.zeros(atoms), cones, "nearest population")
    weights = np.maximum(np.array(solution.z), 0.0)
    return weights / weights.sum()


def _solve(
    quadratic: _Floats, cost: _Floats, rows: _Floats, limits: _Floats, cones: list[Any], what: str
) -> Any:
    """Minimise ½xᵀdiag(quadratic)x + costᵀx over limits − rows·x in the cones."""
    import clarabel
    from scipy import sparse

    statuses = []
    for tolerance in (1e-8, _LOOSER):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix(np.diag(quadratic)),
            cost,
            sparse.csc_matrix(rows),
            limits,
            cones,
            settings,
        )
        solution = solver.solve()
        if solution.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
            return solution
        statuses.append(str(solution.status))
    raise SolverError(
        f"{what}: the solver ended with {' and, less exactly, '.join(statuses)}; please report"
        " the counts, or leave this interval out"
    )
