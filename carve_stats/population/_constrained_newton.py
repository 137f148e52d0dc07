"""The weights of largest likelihood on given atoms, by constrained Newton steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["GAP", "maximise_mixture"]

Floats = NDArray[np.float64]

GAP = 1e-10
"""Fits stop at this duality gap: n questions are within n·GAP of the largest log likelihood."""

_STEPS = 500  # a fit takes 5 to 30; those of hundreds of patterns take more
_HALVINGS = 30
_INVISIBLE = 5  # steps without a visible gain before a fit is as good as arithmetic allows
_ROUNDING = 1e-15  # of a log likelihood a question: a smaller loss is none


def maximise_mixture(
    shares: Floats, matrix: Floats, points: int
) -> tuple[NDArray[np.int64], Floats, float]:
    """Maximise the mean log likelihood of a mixture over its weights.

    Parameters
    ----------
    shares : ndarray, shape (cells,)
        The share of the questions in each cell, all above 0.
    matrix : ndarray, shape (cells, atoms)
        Cell probabilities of the atoms. The first points² atoms are a square grid, in its order;
        the last makes every cell possible.
    points : int
        Grid points an axis.

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
    # At the maximum no cell has less than its share times its largest column, by the gap. Half on
    # each cell's own likeliest atom starts above half of that; half on the last, the pooled rates.
    least = shares * matrix.max(axis=1) / 4
    support, start = np.unique(matrix.argmax(axis=1), return_inverse=True)
    weights = np.append(np.bincount(start, weights=shares) / 2, 0.5)
    support = np.append(support, matrix.shape[1] - 1)
    best = (support, weights, math.inf)
    invisible = 0
    for _ in range(_STEPS):
        mixture = matrix[:, support] @ weights
        gradient = (shares / mixture) @ matrix - 1.0
        reached = max(float(gradient.max()), 0.0)
        if reached < best[2]:
            best = support, weights, reached
        if reached <= GAP or invisible > _INVISIBLE:
            break
        joined = np.union1d(support, _peaks(gradient, points))
        old = np.zeros(joined.size)
        old[np.searchsorted(joined, support)] = weights
        columns, floor = matrix[:, joined] / mixture[:, None], least / mixture
        new, gain = _step(shares, columns, floor, old, _newton_target(shares, columns))
        if gain == -math.inf:  # the quadratic misled: more of the steepest atom cannot
            steepest = (joined == gradient.argmax()).astype(float)
            new, gain = _step(shares, columns, floor, old, steepest)
        # Newton's last steps improve the weights by what no likelihood can show any more.
        invisible = invisible + 1 if gain <= _ROUNDING else 0
        support, weights = joined[new > 0], new[new > 0]
    return _reduce(matrix, *best)


def _peaks(gradient: Floats, points: int) -> NDArray[np.int64]:
    """Atoms where the gradient is positive and no less than at its neighbours of the grid."""
    square = np.full((points + 2, points + 2), -np.inf)
    square[1:-1, 1:-1] = gradient[: points * points].reshape(points, points)
    rows = np.maximum(np.maximum(square[:-2], square[1:-1]), square[2:])
    highest = np.maximum(np.maximum(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])
    peaks = (square[1:-1, 1:-1] >= highest) & (square[1:-1, 1:-1] > 0)
    others = points * points + np.flatnonzero(gradient[points * points :] > 0)
    return np.concatenate([np.flatnonzero(peaks), others])


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
    matrix: Floats, support: NDArray[np.int64], weights: Floats, gap: float
) -> tuple[NDArray[np.int64], Floats, float]:
    """The same mixture by no more atoms than there are cells (Carathéodory)."""
    if support.size > matrix.shape[0]:
        columns = matrix[:, support]
        columns = columns / (columns @ weights)[:, None]
        fewer = _least_squares(columns, np.ones(matrix.shape[0]))
        if np.allclose(columns @ fewer, 1.0, rtol=0, atol=1e-12):
            support, weights = support[fewer > 0], fewer[fewer > 0] / fewer.sum()
    return support, weights, gap
