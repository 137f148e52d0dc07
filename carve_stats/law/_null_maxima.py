"""The largest probability, over the common flip probability π, of a table as extreme.

With x of m SHAM and y of n DESTROY flips, s = x + y and N = m + n, it is the maximum of
Σ_s c_s π^s (1 − π)^(N − s), where c_s is the sum of C(m, x) C(n, y) over the extreme tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import comb
from operator import itemgetter, mul

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.bernstein import peaks_at_half, supremum
from carve_stats.law._orderings import Integers, half_expansion, weights

__all__ = ["null_maxima"]


def null_maxima(keys: Integers) -> NDArray[np.float64]:
    """Bounds of the largest probability of a table whose key is as large, for each table.

    Parameters
    ----------
    keys : nested lists of int
        Entry [x][y]: how extreme the table is.

    Returns
    -------
    ndarray, shape (2, m + 1, n + 1)
        Lower and upper bounds, equal where the maximum is correctly rounded.
    """
    m, n = len(keys) - 1, len(keys[0]) - 1
    ways = weights(m, n)
    tails, coefficients = [0] * (m + n + 1), np.zeros(m + n + 1)
    expansion = half_expansion(m + n)
    levels, maxima = [], []
    for tables in _levels(keys):
        for x, y in tables:
            tails[x + y] += ways[x][y]
            coefficients[x + y] = tails[x + y] / comb(m + n, x + y)
        levels.append(tables)
        maxima.append(_maximum(tails, coefficients, expansion))
    # Larger tails have larger maxima, so that a bound of one serves the others.
    lower = np.maximum.accumulate([low for low, _ in maxima])
    upper = np.minimum.accumulate([high for _, high in maxima[::-1]])[::-1]
    bounds = np.empty((2, m + 1, n + 1))
    for tables, low, high in zip(levels, lower, upper, strict=True):
        bounds[(slice(None), *np.transpose(tables))] = [[low], [high]]
    return bounds


def _levels(keys: Integers) -> Iterator[list[tuple[int, int]]]:
    """The tables of each key, the largest key first."""
    ordered = sorted(
        ((key, x, y) for x, row in enumerate(keys) for y, key in enumerate(row)), reverse=True
    )
    for _, group in groupby(ordered, key=itemgetter(0)):
        yield [(x, y) for _, x, y in group]


def _maximum(
    tails: list[int], coefficients: NDArray[np.float64], expansion: Integers
) -> tuple[float, float]:
    """Lower and upper bounds of the maximum of Σ_s c_s π^s (1 − π)^(N − s), c being `tails`."""
    if 1.0 in (coefficients[0], coefficients[-1]):  # certain at π = 0 or 1
        return 1.0, 1.0
    flat = _vanishing_derivatives(tails, expansion)
    if flat and peaks_at_half(coefficients, flat):
        value = sum(tails) / 2 ** (len(tails) - 1)
        return value, value
    # The reverse has the same maximum: taking one of the two makes their bounds the same.
    reverse = coefficients[::-1].copy()
    return supremum(min(coefficients, reverse, key=np.ndarray.tolist), np.nan, 0.0)


def _vanishing_derivatives(tails: list[int], expansion: Integers) -> int:
    """How many derivatives of Σ_s c_s π^s (1 − π)^(N − s) vanish at ½, from the first on."""
    derivatives = (sum(map(mul, tails, row)) for row in expansion)
    return next(order for order, derivative in enumerate(derivatives) if derivative)
