"""What the replays that were made leave open about the signs at another budget.

k₀ replays an arm fix the moments of a population up to degree (k₀, k₀) and nothing more, so
that the signs at a larger budget are only known to lie between bounds, however many questions
there are. `identification_bounds` are those for known cell probabilities, `sampling_bounds`
those for estimated ones. Both are certified: no population that fits is outside them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError
from carve_stats.law._arguments import numbers, one_number, one_whole_number
from carve_stats.law.subsampling import subsampled_signs
from carve_stats.population._certified import CellFunctions, certified_minimum
from carve_stats.population._metric import CellMetric, cell_metric, largest_excess

__all__ = [
    "LARGEST_TARGET",
    "Bounds",
    "identification_bounds",
    "identified_extremes",
    "sampling_bounds",
]

_Floats = NDArray[np.float64]

_SLACK = 1e-6  # Euclidean, on the orthonormal moments: what the rounding of a fit may leave
_CONTRADICTION = 1e-3  # by so much a lower bound is above an upper one
LARGEST_TARGET = 64  # beyond it certifying takes many seconds


class Bounds(NamedTuple):
    """Bounds of the shares of the three signs, in the order negative, zero, positive."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def identification_bounds(
    k_sham: int,
    k_destroy: int,
    cell_probabilities: ArrayLike,
    to_k_sham: int,
    to_k_destroy: int,
) -> Bounds:
    """Least and largest share of each sign over all populations with given cell probabilities.

    Parameters
    ----------
    k_sham, k_destroy : int
        Replays an arm behind the cells.
    cell_probabilities : array_like, shape ((k_sham + 1)(k_destroy + 1),)
        Probability of x SHAM and y DESTROY flips at x·(k_destroy + 1) + y, as a population has
        them: fitted ones, not observed shares.
    to_k_sham, to_k_destroy : int
        The budget whose signs are asked for, at most 64 an arm.

    Returns
    -------
    Bounds
        Outer ones: certainly no population with these cells is outside. They are wider than
        the sharp bounds by about 2e-4 a side, and not at all where both target budgets are
        within those that were made, as the cells then fix the signs.

    Raises
    ------
    InputError
        Cells that are no probabilities, or that are those of no population.
    SolverError
        The convex program could not be solved.

    Notes
    -----
    With A(p) the cell probabilities and T(p) the probability of the sign for a question with
    flip probabilities p, the lower bound is min ∫T dG over the laws G with ∫A dG given, by its
    dual: the largest Σ_c y_c ∫A_c dG over yᵀA <= T on the square. The difference T − yᵀA is a
    polynomial, and its certified minimum is added. Cells count as reproduced when their
    orthonormal moments are within 1e-6.

    Cells that nearly no population has, such as those of a few atoms, are on the boundary of
    what is possible. Their bounds stay outer ones, and sharp if the atoms lie on the grid that
    populations are fitted on or are a single one; else they can be much too wide.

    References
    ----------
    Lasserre, *Moments, Positive Polynomials and Their Applications*, Imperial College Press,
    2010.

    Examples
    --------
    One replay an arm, and each of the four outcomes in a quarter of the questions:

    >>> bounds = identification_bounds(1, 1, [0.25, 0.25, 0.25, 0.25], 3, 3)
    >>> bounds.low.round(2), bounds.high.round(2)
    (array([0.24, 0.12, 0.24]), array([0.53, 0.5 , 0.53]))
    """
    made, target = _budgets(k_sham, k_destroy, to_k_sham, to_k_destroy)
    cells = _cells("cell_probabilities", cell_probabilities, made)
    if target[0] <= made[0] and target[1] <= made[1]:
        signs = subsampled_signs(*made, *target)
        shares = np.array([(sign.ravel() * cells).sum() for sign in signs])
        return Bounds(shares, shares.copy())
    bounds = _bounds(_reproducing(made, cells), target)
    if (bounds.low > bounds.high + _CONTRADICTION).any():
        raise InputError(
            "cell_probabilities are those of no population: give the fitted ones of"
            " fit_population, not the observed shares"
        )
    return Bounds(np.minimum(*bounds), np.maximum(*bounds))  # they may cross by rounding


def identified_extremes(
    made: tuple[int, int], cells: NDArray[np.float64], table: NDArray[np.float64]
) -> tuple[float, float]:
    """Least and largest expectation of a table over all populations with given cells.

    Parameters
    ----------
    made : (int, int)
        k_sham and k_destroy behind the cells.
    cells : ndarray, shape (cells,)
        Their probabilities, those of a population.
    table : ndarray, shape (to_k_sham + 1, to_k_destroy + 1)
        What each outcome at another budget counts.

    Returns
    -------
    low, high : float
        Certified, as in `identification_bounds`, which is this for the table of each sign.
    """
    functions = _reproducing(made, cells)
    low, high = (
        certified_minimum(table[None], functions),
        -certified_minimum(-table[None], functions),
    )
    # No expectation is outside the table's own range; by rounding the two may cross.
    low, high = max(low, float(table.min())), min(high, float(table.max()))
    return min(low, high), max(low, high)


def sampling_bounds(
    k_sham: int,
    k_destroy: int,
    share: ArrayLike,
    covariance_of_share: ArrayLike,
    n: int,
    design_effect: float,
    to_k_sham: int,
    to_k_destroy: int,
    *,
    df: int | None = None,
    level: float = 0.95,
) -> Bounds:
    """Confidence interval of each sign's share that allows for all that the cells leave open.

    Parameters
    ----------
    k_sham, k_destroy : int
        Replays an arm behind the cells.
    share : array_like, shape ((k_sham + 1)(k_destroy + 1),)
        Observed shares f of the questions, x SHAM and y DESTROY flips at x·(k_destroy + 1) + y.
    covariance_of_share : array_like, shape (cells, cells)
        Their estimated covariance, questions of a cluster taken together.
    n : int
        Questions.
    design_effect : float
        By how much clustering inflates the multinomial covariance, at least 1.
    to_k_sham, to_k_destroy : int
        The budget whose signs are asked for, at most 64 an arm.
    df : int, optional
        Degrees of freedom of the covariance, one less than its clusters.
    level : float
        Confidence of each of the three intervals by itself.

    Returns
    -------
    Bounds
        Least and largest share over the populations with Q <= Q_min + t², t the two-sided
        quantile of Student's law with `df` degrees of freedom (χ²₁(level) without it), certified
        as in `identification_bounds`.

    Raises
    ------
    InputError
        Arguments of the wrong shape, or no shares.
    SolverError
        The convex program could not be solved.

    Notes
    -----
    Q = (Aw − f)ᵀ Ω⁻¹ (Aw − f), with Ω ⅜ the given covariance and ⅝
    `design_effect` times the multinomial one at the observed shares, half a question added to
    each cell. (At fitted cells instead the intervals are longer and cover less; with half of
    each they cover less where there is no clustering.) Directions in which Ω is below a
    thousandth of its largest eigenvalue are left out, which makes the set larger. One degree of
    freedom, as in profile likelihood, is for one share.

    They contain the identification bounds of a fitted population whose Q is within the limit,
    and need not contain those of another. More questions shrink them to the identification
    bounds, not to a point.
    """
    made, target = _budgets(k_sham, k_destroy, to_k_sham, to_k_destroy)
    observed, metric = _checked_metric(made, share, covariance_of_share, n, design_effect)
    radius = float(np.sqrt(metric.least + largest_excess(level, df)))
    mean = _mean_flip_probabilities(observed, made)
    return _bounds(CellFunctions(*made, metric.whitened[None], metric.centre, radius, mean), target)


def _checked_metric(
    made: tuple[int, int],
    share: ArrayLike,
    covariance_of_share: ArrayLike,
    n: int,
    design_effect: float,
) -> tuple[_Floats, CellMetric]:
    """The observed shares, and their metric."""
    observed = _cells("share", share, made)
    questions = one_whole_number("n", n)
    inflation = one_number("design_effect", design_effect)
    if not 1.0 <= inflation < np.inf:
        raise InputError(f"design_effect={inflation} must be a number of at least 1")
    covariance = numbers("covariance_of_share", covariance_of_share, "a number").astype(float)
    if covariance.shape != (observed.size, observed.size) or not np.isfinite(covariance).all():
        raise InputError(
            f"covariance_of_share has shape {covariance.shape}: give {observed.size} ×"
            f" {observed.size} finite numbers, one row a cell"
        )
    return observed, cell_metric(made, observed, covariance, questions, inflation)


def _reproducing(made: tuple[int, int], cells: _Floats) -> CellFunctions:
    """The populations with these cell probabilities."""
    moments = np.asarray(np.kron(_legendre(made[0]), _legendre(made[1]))[1:], np.float64)
    mean = _mean_flip_probabilities(cells, made)
    return CellFunctions(*made, moments[None], moments @ cells, _SLACK, mean)


def _bounds(functions: CellFunctions, target: tuple[int, int]) -> Bounds:
    difference = (
        np.arange(target[1] + 1) * target[0] - np.arange(target[0] + 1)[:, None] * target[1]
    )
    signs = [(np.sign(difference) == sign).astype(float) for sign in (-1, 0, 1)]
    low = np.array([certified_minimum(sign[None], functions) for sign in signs])
    high = np.array([-certified_minimum(-sign[None], functions) for sign in signs])
    return Bounds(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))


def _budgets(
    k_sham: int, k_destroy: int, to_k_sham: int, to_k_destroy: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    made = one_whole_number("k_sham", k_sham), one_whole_number("k_destroy", k_destroy)
    target = {"to_k_sham": to_k_sham, "to_k_destroy": to_k_destroy}
    to_sham, to_destroy = (one_whole_number(name, value) for name, value in target.items())
    for name, k in zip(target, (to_sham, to_destroy), strict=True):
        if k > LARGEST_TARGET:
            raise InputError(f"{name}={k} must be at most {LARGEST_TARGET}")
    return made, (to_sham, to_destroy)


def _cells(name: str, value: ArrayLike, made: tuple[int, int]) -> _Floats:
    """Probabilities of the cells, with sum 1 to the last digit."""
    cells = numbers(name, value, "a probability, between 0 and 1").astype(float)
    size = (made[0] + 1) * (made[1] + 1)
    if cells.shape != (size,):
        raise InputError(
            f"{name} has shape {cells.shape}: give one number for each of the {size} cells of"
            f" {made[0]} SHAM and {made[1]} DESTROY replays"
        )
    if not (cells.min() >= 0.0 and abs(cells.sum() - 1.0) < 1e-6):
        raise InputError(f"{name} must be at least 0 and sum to 1; the sum is {cells.sum():.9g}")
    return cells / cells.sum()


def _mean_flip_probabilities(cells: _Floats, made: tuple[int, int]) -> _Floats:
    """The atom of the homogeneous population, as a column."""
    table = cells.reshape(made[0] + 1, made[1] + 1)
    sham = table.sum(axis=1) @ np.arange(made[0] + 1) / made[0]
    destroy = table.sum(axis=0) @ np.arange(made[1] + 1) / made[1]
    return np.minimum([[sham], [destroy]], 1.0)


def _legendre(k: int) -> _Floats:
    """Row j: the orthonormal polynomial of degree j on [0, 1], in the Bernstein basis of k."""
    from scipy.special import comb

    j, i, x = np.ogrid[: k + 1, : k + 1, : k + 1]
    # P_j = Σ_i (−1)^(j+i) C(j, i) b_i in its own degree; raised to k by hypergeometric weights.
    terms = np.where(
        (i <= j) & (x >= i),
        (-1.0) ** (j + i) * comb(j, i) * comb(x, i) * comb(k - x, j - i) / comb(k, j),
        0.0,
    )
    return np.sqrt(2.0 * np.arange(k + 1) + 1.0)[:, None] * terms.sum(axis=1)
