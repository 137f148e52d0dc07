"""The two convex programs behind the bounds, and the interior point method that solves them.

Both are posed in the dual, where the unknowns are the few coefficients of a function in a
given span and every atom of the population is one inequality. An iteration is then one matrix
product of all atoms and one Cholesky factor of the size of the span.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import SolverError

__all__ = ["Minorant", "largest_minorant", "nearest_mixture"]

_Floats = NDArray[np.float64]

_MOST_ITERATIONS = 100
_EXACT = 1e-7  # gap of the objective, where the caller wants no other
_TOO_LOOSE = 1e-3  # a gap with which no answer is worth having
_LARGEST = 100.0  # norm of the coefficients; of those of interior cells it is about 1
_LEAST_RADIUS = 1e-9  # a cone without an interior has no path through it
_CENTRED = 1e-5  # gap and slack that a start has at least
_TO_THE_BOUNDARY = 0.99  # of the way to it is gone
_RIDGE = 1e-13  # relative to the diagonal, against rounding


class Minorant(NamedTuple):
    """constant + Σ_j coefficients[j]·φ_j, which is nowhere above the target."""

    constant: float
    coefficients: _Floats
    weights: _Floats  # multipliers: of the norm's limit, then of the atoms
    gap: float  # by how much its objective may miss the largest; large where the solver gave up


class _Program(NamedTuple):
    """Maximise y₀ − radius·t − curvature·‖z‖²/2 over y₀ + φzᵀ <= target and ‖z‖ <= t."""

    rows: _Floats  # (1 + atoms, 2 + m), x being (y₀, t, z): t <= 100 first, then the atoms
    target: _Floats
    radius: float
    curvature: float


class _State(NamedTuple):
    """Strictly within what is allowed, and multipliers that are too."""

    x: _Floats
    weights: _Floats  # (1 + atoms,): at least 0
    pull: _Floats  # (1 + m,): in the cone itself, for ‖z‖ <= t


def largest_minorant(
    functions: _Floats,
    target: _Floats,
    centre: _Floats,
    radius: float,
    *,
    curvature: float = 1e-8,
    tolerance: float = _EXACT,
    start: Minorant | None = None,
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
    curvature : float
        Weight of ‖z‖²/2, which keeps the coefficients finite where no population is near.
    tolerance : float
        By how much the objective may miss the largest.
    start : Minorant, optional
        One that was largest for the first of the atoms alone, to start from.

    Returns
    -------
    Minorant
        Maximises y₀ + zᵀcentre − radius·‖z‖ − curvature·‖z‖²/2 over y₀ + φzᵀ <= T, ‖z‖ <= 100.

    Raises
    ------
    SolverError
        The solver gave up.

    Notes
    -----
    It is the dual of min Tᵀw over weights w >= 0, Σw = 1, with ‖φᵀw − centre‖ <= radius.
    """
    program = _program(functions, target, centre, radius, curvature)
    first = _first(program) if start is None else _warm(program, start, centre)
    (x, weights, _), gap = _solve(program, first, tolerance, "bounds of the sign shares")
    return Minorant(float(x[0] - x[2:] @ centre), x[2:], weights, gap)


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
    program = _program(functions, np.zeros(functions.shape[0]), centre, 0.0, 1.0)
    (_, weights, _), _ = _solve(program, _first(program), _EXACT, "nearest population")
    return weights[1:] / weights[1:].sum()


def _program(
    functions: _Floats, target: _Floats, centre: _Floats, radius: float, curvature: float
) -> _Program:
    rows = np.zeros((1 + target.size, 2 + centre.size))
    rows[0, 1] = rows[1:, 0] = 1.0
    rows[1:, 2:] = functions - centre
    return _Program(rows, np.append(_LARGEST, target), max(radius, _LEAST_RADIUS), curvature)


def _first(program: _Program) -> _State:
    atoms, size = program.rows.shape
    x, pull = np.zeros(size), np.zeros(size - 1)
    x[:2] = program.target.min() - 1.0, 1.0
    pull[0] = program.radius
    return _State(x, np.full(atoms, 1.0 / atoms), pull)


def _warm(program: _Program, start: Minorant, centre: _Floats) -> _State:
    """The given function lowered to below the target, and multipliers not too near to 0."""
    z = start.coefficients
    length = float(np.linalg.norm(z))
    length = min(1.2 * length + _CENTRED, (length + _LARGEST) / 2.0)
    x = np.concatenate([[start.constant + z @ centre, length], z])
    slack = program.target - program.rows @ x
    old = start.weights.size
    product = max(float(start.weights @ slack[:old]), _CENTRED) / slack.size
    lowest = min(float(slack.min()), 0.0)
    x[0] += lowest - max(-0.1 * lowest, _CENTRED)
    on_path = product / (program.target - program.rows @ x)
    weights = np.concatenate([np.maximum(start.weights, 0.1 * on_path[:old]), on_path[old:]])
    return _State(x, weights, program.radius * np.append(1.0, -z / length))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # seen in the matrix
def _solve(program: _Program, state: _State, tolerance: float, what: str) -> tuple[_State, float]:
    """The solution, and by how much it may miss the optimum.

    Mehrotra's predictor and corrector, with Nesterov and Todd's scaling of the one cone.
    """
    from scipy.linalg import cho_factor, cho_solve

    rows, target, radius, curvature = program
    x, weights, pull = state
    diagonal = np.arange(x.size)
    quadratic = np.where(diagonal < 2, 0.0, curvature)
    linear = np.where(diagonal < 2, [1.0, -radius, *np.zeros(x.size - 2)], 0.0)
    slack = target - rows @ x
    gap, finite = np.inf, True
    for _ in range(_MOST_ITERATIONS):
        residual = linear - quadratic * x - weights @ rows
        residual[1:] += pull
        gap = float(slack @ weights + x[1:] @ pull)
        if gap < tolerance and np.abs(residual) @ np.abs(x) < tolerance:
            break
        matrix = (rows.T * (weights / slack)) @ rows
        matrix[diagonal, diagonal] += quadratic
        scaling = _cone_scaling(x[1:], pull)
        matrix[1:, 1:] += scaling
        finite = bool(np.isfinite(matrix).all())  # if so, an answer is good for a bound
        if not finite:
            break
        scale = 1.0 / np.sqrt(matrix.diagonal())
        matrix *= scale[:, None] * scale
        matrix[diagonal, diagonal] += _RIDGE
        try:
            factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:  # as exact as rounding lets it be
            break
        products, aim = slack * weights, 0.0
        for corrected in (False, True):
            on_pull = aim * _inverse(x[1:]) - pull
            right = residual + (products / slack) @ rows
            right[1:] += on_pull
            step = scale * cho_solve(factor, scale * right, check_finite=False)
            slack_step = -(rows @ step)
            weights_step = -(products + weights * slack_step) / slack
            pull_step = on_pull - scaling @ step[1:]
            far = min(_reach(slack, slack_step), _cone_reach(x[1:], step[1:]))
            dual_far = min(_reach(weights, weights_step), _cone_reach(pull, pull_step))
            if not corrected:
                ahead = (slack + far * slack_step) @ (weights + dual_far * weights_step)
                ahead += (x + far * step)[1:] @ (pull + dual_far * pull_step)
                aim = (ahead / gap) ** 3 * gap / (slack.size + 1)
                products = products + slack_step * weights_step - aim
        far, dual_far = _TO_THE_BOUNDARY * far, _TO_THE_BOUNDARY * dual_far
        x, slack = x + far * step, slack + far * slack_step
        weights, pull = weights + dual_far * weights_step, pull + dual_far * pull_step
    if not (gap < max(tolerance, _TOO_LOOSE) or finite):
        raise SolverError(
            f"{what}: the solver ended with a gap of {gap:.2g}; please report the counts, or"
            " leave this interval out"
        )
    return _State(x, weights, pull), gap + float(np.abs(residual) @ np.abs(x))


def _reach(values: _Floats, step: _Floats) -> float:
    """How far along a step, a whole one at most, the values stay at least 0."""
    falling = step < 0.0
    return min(1.0, float((-values[falling] / step[falling]).min(initial=np.inf)))


def _cone_reach(point: _Floats, step: _Floats) -> float:
    """How far along a step, a whole one at most, (t, z) stays where ‖z‖ <= t."""
    square = step[0] ** 2 - step[1:] @ step[1:]
    half = point[0] * step[0] - point[1:] @ step[1:]
    now = _determinant(point)
    below = np.sqrt(max(half**2 - square * now, 0.0)) - half
    return min(1.0, float(now / below)) if below > 0.0 else 1.0


def _determinant(point: _Floats) -> float:
    """t² − ‖z‖² of a point (t, z)."""
    length = np.sqrt(point[1:] @ point[1:])
    return float((point[0] - length) * (point[0] + length))


def _inverse(point: _Floats) -> _Floats:
    """The multiplier on the central path with product 1."""
    return np.append(point[0], -point[1:]) / _determinant(point)


def _cone_scaling(point: _Floats, pull: _Floats) -> _Floats:
    """The symmetric matrix of Nesterov and Todd that maps the cone onto itself, point to pull."""
    sizes = np.sqrt([_determinant(point), _determinant(pull)])
    mirrored, other = np.append(point[0], -point[1:]) / sizes[0], pull / sizes[1]
    middle = mirrored + other
    middle /= np.sqrt(_determinant(middle))
    scaling = 2.0 * np.outer(middle, middle)
    scaling[np.arange(pull.size), np.arange(pull.size)] -= np.append(1.0, -np.ones(pull.size - 1))
    return scaling * sizes[1] / sizes[0]
