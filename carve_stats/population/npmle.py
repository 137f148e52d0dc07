"""The nonparametric maximum likelihood estimate of a population from its flip counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError
from carve_stats.population._constrained_newton import maximise_mixture
from carve_stats.population.cells import PatternCells
from carve_stats.population.grid import GRID_POINTS, cell_matrix, grid_atoms

__all__ = ["GridLikelihood", "Npmle", "npmle", "pooled_rates"]

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
    counts = [pattern.counts for pattern in patterns]
    p_sham, p_destroy, weights, log_likelihood, gap = likelihood.maximise(counts)
    fitted = [cell_matrix(*budget, p_sham, p_destroy) @ weights for budget in budgets]
    return Npmle(p_sham, p_destroy, weights, log_likelihood, gap, fitted)


def pooled_rates(
    budgets: Sequence[tuple[int, int]], counts: Sequence[Counts]
) -> tuple[float, float]:
    """Flips/replays of each arm: the homogeneous population of largest likelihood.

    Parameters
    ----------
    budgets : sequence of (int, int)
        k_sham and k_destroy of each pattern.
    counts : sequence of ndarray, each of shape (cells,)
        How many questions have each pair of flips; expected numbers need not be whole.

    Returns
    -------
    p_sham, p_destroy : float
        Sums of flips over sums of replays.

    Examples
    --------
    >>> pooled_rates([(1, 2)], [np.array([1, 0, 0, 1, 0, 2])])
    (0.75, 0.5)
    """
    flips, replays = [0, 0], [0, 0]
    for budget, cells in zip(budgets, counts, strict=True):
        table = np.asarray(cells).reshape(budget[0] + 1, budget[1] + 1)
        for arm in range(2):
            by_flips = table.sum(axis=1 - arm)
            flips[arm] += (by_flips @ np.arange(budget[arm] + 1)).item()
            replays[arm] += by_flips.sum().item() * budget[arm]
    # Whole numbers cannot, but sums of others may round to more flips than replays.
    return min(flips[0] / replays[0], 1.0), min(flips[1] / replays[1], 1.0)


class GridLikelihood:
    """The cell probabilities of the grid's atoms, ready for many fits at the same budgets.

    Parameters
    ----------
    budgets : sequence of (int, int)
        k_sham and k_destroy of each pattern.
    points : int
        Grid points an axis.
    """

    def __init__(self, budgets: Sequence[tuple[int, int]], *, points: int = GRID_POINTS) -> None:
        self.budgets = list(budgets)
        self.points = points
        self._p_sham, self._p_destroy = grid_atoms(points)
        self._matrix = self._cells(self._p_sham, self._p_destroy)

    def maximise(self, counts: Sequence[Counts]) -> tuple[Floats, Floats, Floats, float, float]:
        """The weights of largest likelihood.

        Parameters
        ----------
        counts : sequence of ndarray, each of shape (cells,)
            How many questions have each pair of flips; some have.

        Returns
        -------
        p_sham, p_destroy, weights : ndarray, shape (m,)
            The atoms that have weight.
        log_likelihood, duality_gap : float
            As in `Npmle`.
        """
        shares, matrix, rates = self._observed(counts)
        support, weights, gap = maximise_mixture(shares, matrix, self.points)
        log_likelihood = float(shares @ np.log(matrix[:, support] @ weights))
        p_sham = np.append(self._p_sham, rates[0])[support]
        p_destroy = np.append(self._p_destroy, rates[1])[support]
        return p_sham, p_destroy, weights, log_likelihood, gap

    def likelihood_ratio(self, counts: Sequence[Counts]) -> float:
        """Twice the log likelihood ratio of the best population to the best homogeneous one.

        Parameters
        ----------
        counts : sequence of ndarray, each of shape (cells,)
            As in `maximise`.

        Returns
        -------
        float
            2n (ℓ − ℓ₀), at least 0; it lacks no more than 2n times the duality gap.
        """
        shares, matrix, _ = self._observed(counts)
        support, weights, _ = maximise_mixture(shares, matrix, self.points)
        gain = shares @ (np.log(matrix[:, support] @ weights) - np.log(matrix[:, -1]))
        return max(0.0, 2.0 * sum(float(cells.sum()) for cells in counts) * float(gain))

    def _observed(self, counts: Sequence[Counts]) -> tuple[Floats, Floats, tuple[float, float]]:
        """Shares and likelihoods of the cells that hold questions, and the pooled rates.

        The last column is the homogeneous population's.
        """
        cells = np.concatenate([np.asarray(block) for block in counts])
        held = np.flatnonzero(cells)
        rates = pooled_rates(self.budgets, counts)
        pooled = self._cells(np.array(rates[:1]), np.array(rates[1:]))
        matrix = np.concatenate([self._matrix[held], pooled[held]], axis=1)
        return cells[held] / cells.sum(), matrix, rates

    def _cells(self, p_sham: Floats, p_destroy: Floats) -> Floats:
        return np.concatenate([cell_matrix(*b, p_sham, p_destroy) for b in self.budgets])
