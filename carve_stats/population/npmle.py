"""The nonparametric maximum likelihood estimate of a population from its flip counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError
from carve_stats.population._constrained_newton import GridCells, maximise_mixture
from carve_stats.population.cells import PatternCells
from carve_stats.population.grid import GRID_POINTS, binomial_rows, cell_matrix, chebyshev_grid

__all__ = ["GridLikelihood", "Npmle", "npmle"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64] | Floats


class Npmle(NamedTuple):
    """Atoms and weights of largest likelihood, from `npmle`.

    Parameters
    ----------
    p_sham, p_destroy, weights : ndarray, shape (m,)
        The atoms that have weight; no more of them than cells with a question.
    log_likelihood : float
        Mean over the questions of the log probability of their (flips under SHAM, flips under
        DESTROY).
    duality_gap : float
        No population on the grid has a mean log likelihood larger by more than this.
    fitted : list of ndarray, each of shape (cells,)
        Cell probabilities of each pattern.
    """

    p_sham: Floats
    p_destroy: Floats
    weights: Floats
    log_likelihood: float
    duality_gap: float
    fitted: list[Floats]


def npmle(patterns: Sequence[PatternCells], *, points: int = GRID_POINTS) -> Npmle:
    """Fit the population of largest likelihood on a grid of the unit square.

    Parameters
    ----------
    patterns : sequence of PatternCells
        How many questions have each pair of flips, for each pair (k_sham, k_destroy).
    points : int
        Grid points an axis. The pooled rates are an atom besides, so that the fit is never less
        likely than a homogeneous population.

    Returns
    -------
    Npmle
        With a duality gap of at most 1e-10 wherever double precision can tell.

    Raises
    ------
    InputError
        No question.

    See Also
    --------
    carve_stats.population.fit.fit_population : the same from `ReplayCounts`.

    Notes
    -----
    The maximum over weights w of ℓ(w) = Σ_c f_c log (A w)_c, f the shares of the questions in
    the cells of all patterns and A the cell probabilities of the atoms. The fitted cell
    probabilities are unique in the cells that hold questions; the weights need not be. The
    duality gap max_j (Aᵀ(f/Aw))_j − 1 bounds what any other weights can add to ℓ, by concavity.

    References
    ----------
    B. Lindsay, *The geometry of mixture likelihoods: a general theory*, Annals of Statistics 11
    (1983).

    Examples
    --------
    Half of the questions always flip under DESTROY and never under SHAM, the others never flip:

    >>> fit = npmle([PatternCells(2, 2, np.array([5, 0, 5, 0, 0, 0, 0, 0, 0]))])
    >>> fit.p_sham.tolist(), fit.p_destroy.tolist(), fit.weights.round(12).tolist()
    ([0.0, 0.0], [0.0, 1.0], [0.5, 0.5])
    """
    if not any(np.any(pattern.counts) for pattern in patterns):
        raise InputError("patterns hold no question: a fit needs at least one with a score")
    budgets = [(pattern.k_sham, pattern.k_destroy) for pattern in patterns]
    likelihood = GridLikelihood(budgets, points=points)
    counts = np.concatenate([pattern.counts for pattern in patterns])
    p_sham, p_destroy, weights, log_likelihood, gap = likelihood.maximise(counts)
    fitted = [cell_matrix(*budget, p_sham, p_destroy) @ weights for budget in budgets]
    return Npmle(p_sham, p_destroy, weights, log_likelihood, gap, fitted)


class GridLikelihood:
    """The likelihood of populations on the grid and the pooled rates, for many tables of counts.

    Parameters
    ----------
    budgets : sequence of (int, int)
        k_sham and k_destroy of each pattern.
    points : int
        Grid points an axis.

    Notes
    -----
    Binomial probabilities of each arm at the grid points are all that is kept. Cells are those
    of the first pattern, then those of the second, …, as in `PatternCells`.
    """

    def __init__(self, budgets: Sequence[tuple[int, int]], *, points: int = GRID_POINTS) -> None:
        tables = [np.indices((k_sham + 1, k_destroy + 1)) for k_sham, k_destroy in budgets]
        self._flips = np.concatenate([table.reshape(2, -1) for table in tables], axis=1)
        cells = [table[0].size for table in tables]
        self._replays = np.repeat(np.array(budgets).T, cells, axis=1)
        # Patterns share the binomials of their k: rows of x = 0, …, k for each k of an arm.
        self._made = [np.unique(replays) for replays in self._replays]
        self._row = self._flips.copy()
        for row, replays, made in zip(self._row, self._replays, self._made, strict=True):
            first = np.cumsum(made + 1) - (made + 1)
            row += first[np.searchsorted(made, replays)]
        self._grid = chebyshev_grid(points)
        self._on_grid = [self._binomials(arm, self._grid) for arm in range(2)]

    def pooled_rates(self, counts: Counts) -> tuple[float, float]:
        """Flips/replays of each arm: the homogeneous population of largest likelihood.

        Parameters
        ----------
        counts : ndarray, shape (cells,)
            How many questions have each pair of flips; some have. Expected numbers need not be
            whole.

        Returns
        -------
        p_sham, p_destroy : float
            Sums of flips over sums of replays.

        Examples
        --------
        >>> GridLikelihood([(1, 2)]).pooled_rates(np.array([1, 0, 0, 1, 0, 2]))
        (0.75, 0.5)
        """
        held = np.flatnonzero(counts)
        flipped, replays = self._flips[:, held], self._replays[:, held]
        flips, others = flipped @ counts[held], (replays - flipped) @ counts[held]
        # Sums of numbers that are not whole may round to more flips than replays, but not so.
        p_sham, p_destroy = (flips / (flips + others)).tolist()
        return p_sham, p_destroy

    def maximise(self, counts: Counts) -> tuple[Floats, Floats, Floats, float, float]:
        """The weights of largest likelihood.

        Parameters
        ----------
        counts : ndarray, shape (cells,)
            As in `pooled_rates`.

        Returns
        -------
        p_sham, p_destroy, weights : ndarray, shape (m,)
            The atoms that have weight.
        log_likelihood, duality_gap : float
            As in `Npmle`.
        """
        shares, cells, rates = self._observed(counts)
        support, weights, gap = maximise_mixture(shares, cells)
        log_likelihood = float(shares @ np.log(cells.columns(support) @ weights))
        i, j = np.divmod(support, self._grid.size + 1)
        p_sham, p_destroy = np.append(self._grid, rates[0])[i], np.append(self._grid, rates[1])[j]
        return p_sham, p_destroy, weights, log_likelihood, gap

    def likelihood_ratio(self, counts: Counts) -> float:
        """Twice the log likelihood ratio of the best population to the best homogeneous one.

        Parameters
        ----------
        counts : ndarray, shape (cells,)
            As in `pooled_rates`.

        Returns
        -------
        float
            2n (ℓ − ℓ₀), at least 0; it lacks no more than 2n times the duality gap.
        """
        shares, cells, _ = self._observed(counts)
        support, weights, _ = maximise_mixture(shares, cells)
        gain = shares @ (np.log(cells.columns(support) @ weights) - np.log(cells.last()))
        return max(0.0, 2.0 * float(counts.sum()) * float(gain))

    def _observed(self, counts: Counts) -> tuple[Floats, GridCells, tuple[float, float]]:
        """Shares and probabilities of the cells that hold questions, and the pooled rates.

        The last atom is the homogeneous population.
        """
        held = np.flatnonzero(counts)
        rates = self.pooled_rates(counts)
        factors = []
        for arm, row in enumerate(self._row[:, held]):
            pooled = self._binomials(arm, np.array([rates[arm]]))
            factors.append(np.concatenate([self._on_grid[arm], pooled], axis=1)[row])
        return counts[held] / counts.sum(), GridCells(*factors), rates

    def _binomials(self, arm: int, p: Floats) -> Floats:
        return np.concatenate([binomial_rows(k, p) for k in self._made[arm].tolist()])
