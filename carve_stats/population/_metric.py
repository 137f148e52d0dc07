"""How far cell probabilities are from the observed shares of the cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.law._arguments import error_rate, one_whole_number
from carve_stats.population._conic import nearest_mixture
from carve_stats.population.grid import cell_matrix, grid_atoms

__all__ = ["CellMetric", "cell_metric", "largest_excess"]

_Floats = NDArray[np.float64]

_TOO_SMALL = 1e-3  # eigenvalues of the covariance, relative to the largest: noise
_OF_CLUSTERS = 0.375
"""The clusters' part of Ω; more of it is more noise than it takes up of their covariance."""


class CellMetric(NamedTuple):
    """Q of cell probabilities is |whitened·cells − centre|²."""

    whitened: _Floats  # (m, cells)
    centre: _Floats  # (m,)
    least: float  # Q of the population that has the least


def cell_metric(
    made: tuple[int, int],
    observed: _Floats,
    covariance: _Floats,
    n: int,
    design_effect: float,
    *,
    groups: int = 1,
    rest: bool = False,
) -> CellMetric:
    """The metric of observed shares.

    Parameters
    ----------
    made : (int, int)
        k_sham and k_destroy behind the cells.
    observed : ndarray, shape (groups·cells,)
        Shares of all questions in the cells, group after group.
    covariance : ndarray, shape (groups·cells, groups·cells)
        Their covariance, questions of a cluster taken together.
    n : int
        Questions.
    design_effect : float
        By how much clustering inflates the multinomial covariance.
    groups : int
        Groups of questions, each with a population of its own.
    rest : bool
        Whether questions may be of no group; the shares then sum to less than 1.

    Returns
    -------
    CellMetric
        Of Ω as `sampling_bounds` describes it.
    """
    places = observed.size + rest
    smooth = (n * observed + 0.5) / (n + 0.5 * places)
    multinomial = (np.diag(smooth) - np.outer(smooth, smooth)) / n
    mixed = _OF_CLUSTERS * covariance + (1.0 - _OF_CLUSTERS) * design_effect * multinomial
    values, vectors = np.linalg.eigh(mixed)
    kept = values > _TOO_SMALL * values[-1]
    whitened = (vectors[:, kept] / np.sqrt(values[kept])).T
    centre = whitened @ observed
    matrix = np.kron(np.eye(groups), cell_matrix(*made, *grid_atoms()))
    if rest:
        matrix = np.column_stack([matrix, np.zeros(observed.size)])
    on_grid = whitened @ matrix
    nearest = on_grid @ nearest_mixture(on_grid.T, centre)
    least = float(((nearest - centre) ** 2).sum())  # never below that of the square
    return CellMetric(whitened, centre, least)


def largest_excess(level: float, df: int | None) -> float:
    """The quantile at `level` of χ² with one degree of freedom, or of F(1, df)."""
    from scipy.special import chdtri, stdtrit

    error = error_rate(level)
    df = None if df is None else one_whole_number("df", df)
    return float(chdtri(1.0, error) if df is None else stdtrit(df, 1.0 - error / 2.0) ** 2)
