"""Certified minimum over the unit square of a polynomial in tensor Bernstein form.

A polynomial Σ c[i, j] b_i(p) b_j(q), with b_i the binomial probabilities of degree k, is a
weighted mean of its coefficients at every point: it is nowhere below the smallest, and equals
the corner coefficients at the corners. Cutting a box in two gives the coefficients on the
halves by averages, and the distance from the smallest coefficient to the minimum shrinks with
the square of the box's size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from carve_stats.law.subsampling import subsampled_flips

__all__ = ["elevated", "minimum_on_square"]

_Floats = NDArray[np.float64]

_MOST_COEFFICIENTS = 4_000_000
_DEEPEST = 40


def elevated(coefficients: _Floats, degree: int, other_degree: int) -> _Floats:
    """The same polynomial in the Bernstein basis of a larger bidegree.

    Parameters
    ----------
    coefficients : ndarray, shape (k + 1, l + 1)
        Bernstein coefficients of bidegree (k, l).
    degree, other_degree : int
        The bidegree to raise it to, at least (k, l).

    Returns
    -------
    ndarray, shape (degree + 1, other_degree + 1)
        b_x of degree k is Σ_j H[j, x] b_j of the larger degree, with H the hypergeometric
        law of subsampling: x flips among k replays that were kept of more.
    """
    rows, columns = (
        _raised(k, n) for k, n in zip(coefficients.shape, (degree, other_degree), strict=True)
    )
    return rows @ coefficients @ columns.T


def minimum_on_square(coefficients: _Floats, *, tolerance: float = 1e-6) -> float:
    """A number that the polynomial is certainly nowhere below, and that it nearly attains.

    Parameters
    ----------
    coefficients : ndarray, shape (k + 1, l + 1)
        Bernstein coefficients.
    tolerance : float
        How far below the minimum the answer may be, apart from rounding.

    Returns
    -------
    float
        The lower bound, rounding included. It stays one, if a less sharp one, when the
        polynomial is so flat along a curve that the boxes run out.

    References
    ----------
    Garloff, *Convergent bounds for the range of multivariate polynomials*, Interval
    Mathematics 1985, 37–56.
    """
    halvings = [_halving(size - 1) for size in coefficients.shape]
    boxes = coefficients[None]
    attained = settled = np.inf
    depth = 0
    while True:
        attained = min(attained, boxes[:, [0, 0, -1, -1], [0, -1, 0, -1]].min())
        low = boxes.min(axis=(1, 2))
        if depth == _DEEPEST or boxes.size > _MOST_COEFFICIENTS:
            settled = min(settled, low.min())
            break
        live = low < attained - tolerance
        if not live.all():
            settled = min(settled, low[~live].min())
        boxes = boxes[live]
        if not boxes.size:
            break
        if boxes.shape[1] > 1:
            boxes = np.concatenate([half @ boxes for half in halvings[0]])
        if boxes.shape[2] > 1:
            boxes = np.concatenate([boxes @ half.T for half in halvings[1]])
        depth += 1
    # Every average of n numbers is off by n units at most, and so is what came in.
    roundings = coefficients.size + (depth + 1) * sum(coefficients.shape)
    return float(settled - roundings * 2.0**-52 * (1.0 + np.abs(coefficients).max()))


def _raised(size: int, degree: int) -> _Floats:
    if size == degree + 1:
        return np.eye(size)
    return subsampled_flips(degree, size - 1) if size > 1 else np.ones((degree + 1, 1))


def _halving(degree: int) -> tuple[_Floats, _Floats]:
    """De Casteljau's scheme at ½ as two matrices, for the first and for the second half."""
    i = np.arange(degree + 1)
    first = comb(i[:, None], i) * 0.5 ** i[:, None]
    return first, first[::-1, ::-1]
