"""The weights of largest likelihood on given atoms, by constrained Newton steps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GAP", "GridCells", "maximise_mixture"]

Floats = NDArray[np.float64]
Atoms = NDArray[np.int64]

GAP = 1e-10
"""Fits stop at this duality gap: n questions are within n·GAP of the largest log likelihood."""

_STEPS = 500  # a fit takes 5 to 30; those of hundreds of patterns take more
_HALVINGS = 30
_INVISIBLE = 5  # steps without a visible gain before a fit is as good as arithmetic allows
_ROUNDING = 1e-15  # of a log likelihood a question: a smaller loss is none


class GridCells(NamedTuple):
    """Cell probabilities of the atoms: each pair of grid points, and one pair besides.

    A pair's are products of one factor an arm, so that the matrix of all cells and atoms is
    never made. Pair (i, j) of the points is atom i·points + j. The last point of either arm is
    off the grid: it makes an atom with the last of the other arm, the last atom, and none else.

    Parameters
    ----------
    sham, destroy : ndarray, shape (cells, points)
        Each cell's factors.
    """

    sham: Floats
    destroy: Floats

    def columns(self, atoms: Atoms) -> Floats:
        """Cell probabilities of some atoms, shape (cells, atoms)."""
        i, j = np.divmod(atoms, self.sham.shape[1])
        return self.sham[:, i] * self.destroy[:, j]

    def sums(self, factors: Floats) -> Floats:
        """Each pair's Σ over cells of factor times probability, −∞ for a pair that is no atom."""
        sums = (self.sham * factors[:, None]).T @ self.destroy
        sums[-1, :-1] = sums[:-1, -1] = -np.inf
        return sums

    def last(self) -> Floats:
        """Cell probabilities of the last atom, shape (cells,)."""
        return self.sham[:, -1] * self.destroy[:, -1]

    def likeliest(self) -> Atoms:
        """Each cell's likeliest atom of the grid."""
        i, j = self.sham[:, :-1].argmax(axis=1), self.destroy[:, :-1].argmax(axis=1)
        return i * self.sham.shape[1] + j


def maximise_mixture(shares: Floats, cells: GridCells) -> tuple[Atoms, Floats, float]:
    """Maximise the mean log likelihood of a mixture over its weights.

    Parameters
    ----------
    shares : ndarray, shape (cells,)
        The share of the questions in each cell, all above 0.
    cells : GridCells
        Cell probabilities of the atoms. The last atom makes every cell possible.

    Returns
    -------
    support : ndarray of int, shape (m,)
        The atoms that have weight, m <= cells.
    weights : ndarray, shape (m,)
        Their weights, which sum to 1.
    gap : float
        The duality gap, at most `GAP` wherever double precision can tell.

    Notes
    -----
    Atoms at the gradient's local maxima join the support; the quadratic expansion
    ℓ(v) ≈ const − ½ Σ_c f_c ((A v)_c/(A w)_c − 2)² is maximised over the simplex, which is a
    nonnegative least-squares problem; a line search keeps the likelihood from falling.

    References
    ----------
    Y. Wang, *On fast computation of the non-parametric maximum likelihood estimate of a mixing
    distribution*, Journal of the Royal Statistical Society B 69 (2007). A. Dax, *The smallest
    point of a polytope*, Journal of Optimization Theory and Applications 64 (1990).
    """
    # At the maximum no cell has less than its share times its largest probability, by the gap.
    likeliest, last = cells.likeliest(), cells.last()
    largest = cells.sham[:, :-1].max(axis=1) * cells.destroy[:, :-1].max(axis=1)
    least = shares * np.maximum(largest, last) / 4
    start = np.zeros(cells.sham.shape[1] ** 2)
    start[-1] = 1.0
    # All weight on the last atom, the pooled rates, if that gives every cell so much: few atoms
    # join then. Else half on each cell's own likeliest atom: every cell has at least half of it.
    if (last < least).any():
        start = (start + np.bincount(likeliest, weights=shares, minlength=start.size)) / 2
    support = np.flatnonzero(start)
    weights = start[support]
    mixture = cells.columns(support) @ weights
    best = (support, weights, math.inf)
    invisible = 0
    for _ in range(_STEPS):
        gradient = cells.sums(shares / mixture) - 1.0
        reached = max(float(gradient.max()), 0.0)
        if reached < best[2]:
            best = support, weights, reached
        if reached <= GAP or invisible > _INVISIBLE:
            break
        joined = np.union1d(support, _peaks(gradient))
        old = np.zeros(joined.size)
        old[np.searchsorted(joined, support)] = weights
        columns = cells.columns(joined)
        ratios, floor = columns / mixture[:, None], least / mixture
        new, gain = _step(shares, ratios, floor, old, _newton_target(shares, ratios))
        if gain == -math.inf:  # the quadratic misled: more of the steepest atom cannot
            steepest = (joined == gradient.argmax()).astype(float)
            new, gain = _step(shares, ratios, floor, old, steepest)
        # Newton's last steps improve the weights by what no likelihood can show any more.
        invisible = invisible + 1 if gain <= _ROUNDING else 0
        support, weights, mixture = joined[new > 0], new[new > 0], columns @ new
    return _reduce(cells, *best)


def _peaks(gradient: Floats) -> Atoms:
    """Atoms where the gradient is positive and no less than at its neighbours of the grid."""
    square = np.full((gradient.shape[0] + 1, gradient.shape[1] + 1), -np.inf)
    square[1:-1, 1:-1] = gradient[:-1, :-1]
    rows = np.maximum(np.maximum(square[:-2], square[1:-1]), square[2:])
    highest = np.maximum(np.maximum(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])
    peaks = gradient > 0
    peaks[:-1, :-1] &= gradient[:-1, :-1] >= highest
    return np.flatnonzero(peaks)


def _newton_target(shares: Floats, columns: Floats) -> Floats:
    """Weights v >= 0 that sum to 1 and minimise Σ f (columns·v − 2)²; NaN if they are not found.

    On the simplex columns·v − 2 is (columns − 2)·v, and the shortest point of a simplex's image
    is a nonnegative least-squares problem with one more row (Dax).
    """
    image = np.sqrt(shares)[:, None] * (columns - 2.0)
    if image.shape[0] > 4 * image.shape[1]:
        image = np.asarray(np.linalg.qr(image, mode="r"))
    image = np.concatenate([image, np.ones((1, image.shape[1]))])
    right = np.zeros(image.shape[0])
    right[-1] = 1.0
    target = _least_squares(image, right)
    return target / target.sum()


def _step(
    shares: Floats, columns: Floats, floor: Floats, old: Floats, target: Floats
) -> tuple[Floats, float]:
    """The weights on the way from `old` to `target` that gain enough, and their gain.

    A gain of −∞, and the old weights, where none do. `floor` is the least that each cell's
    probability may become, relative to what it is.
    """
    change = columns @ (target - old)
    slope = shares @ change
    length = 1.0
    for _ in range(_HALVINGS):
        new = target if length == 1.0 else old + length * (target - old)
        if (columns @ new >= floor).all():
            # A change may round to less than −1; its NaN, and a −∞, are no gain.
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = float(shares @ np.log1p(length * change))
            if gain >= length * slope / 4 - _ROUNDING:
                return new, gain
        length /= 2
    return old, -math.inf


def _least_squares(matrix: Floats, right: Floats) -> Floats:
    """The nonnegative vector whose image is nearest to `right`; NaN where the search circles."""
    from scipy.optimize import nnls

    try:
        return nnls(matrix, right, maxiter=30 * matrix.shape[1])[0]
    except RuntimeError:
        return np.full(matrix.shape[1], np.nan)


def _reduce(
    cells: GridCells, support: Atoms, weights: Floats, gap: float
) -> tuple[Atoms, Floats, float]:
    """The same mixture by no more atoms than there are cells (Carathéodory)."""
    if support.size > cells.sham.shape[0]:
        columns = cells.columns(support)
        columns = columns / (columns @ weights)[:, None]
        fewer = _least_squares(columns, np.ones(cells.sham.shape[0]))
        if np.allclose(columns @ fewer, 1.0, rtol=0, atol=1e-12):
            support, weights = support[fewer > 0], fewer[fewer > 0] / fewer.sum()
    return support, weights, gap
