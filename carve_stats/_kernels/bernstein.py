"""Certified bounds of the maximum over [0, 1] of a polynomial in Bernstein form.

A polynomial with coefficients b_0 … b_N is nowhere above the largest of them, and is b_0 and
b_N at the ends. De Casteljau's scheme gives the coefficients on both parts of a cell that is
cut in two, by averages of numbers that are not negative: the relative error of a coefficient
is at most one unit for each rounding behind it, however small the coefficient is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel

__all__ = ["peaks_at_half", "supremum"]

_Floats = NDArray[np.float64]

_UNIT = 1.01 * 2.0**-53  # (1 + 2**-53)**n <= 1 + n·_UNIT as long as n < 1e13
_INPUT = 4.0  # roundings before the first cut: of the coefficients, and of the bounds themselves
_SMALL = 2.0**-400  # so that the weights do not overflow below degree 1400
_DEPTH = 60


@kernel
def _halve(cell: _Floats, first: _Floats) -> None:
    """Coefficients on the first half into `first`, on the second half into `cell`."""
    degree = cell.size - 1
    first[0] = cell[0]
    for j in range(1, degree + 1):
        for i in range(degree + 1 - j):
            cell[i] = 0.5 * (cell[i] + cell[i + 1])
        first[j] = cell[0]


@kernel
def _cut(cell: _Floats, t: float, first: _Floats) -> None:
    """Coefficients on [0, t] into `first`, on [t, 1] into `cell`."""
    degree = cell.size - 1
    s = 1.0 - t
    first[0] = cell[0]
    for j in range(1, degree + 1):
        for i in range(degree + 1 - j):
            cell[i] = s * cell[i] + t * cell[i + 1]
        first[j] = cell[0]


@kernel
def _slope(cell: _Floats, t: float) -> tuple[float, float]:
    """Slope and curvature at t, both in one unknown positive unit."""
    degree = cell.size - 1
    # From the end where the weights of the Bernstein polynomials add up to 2**degree at most.
    mirrored = t > 0.5
    odds = (1.0 - t) / t if mirrored else t / (1.0 - t)
    weight, before, after = _SMALL, 0.0, 0.0
    for j in range(degree - 1):
        i = degree - 2 - j if mirrored else j
        before += weight * (cell[i + 1] - cell[i])
        after += weight * (cell[i + 2] - cell[i + 1])
        weight *= odds * (degree - 2 - j) / (j + 1)
    return (1.0 - t) * before + t * after, (degree - 1) * (after - before)


@kernel
def _peak(cell: _Floats, start: float) -> float:
    """Where the slope of a polynomial with one peak vanishes, to about 1e-15."""
    low, high, t, moved = 0.0, 1.0, start, 1.0
    while moved > 1e-14:
        slope, curvature = _slope(cell, t)
        if slope > 0.0:
            low = t
        else:
            high = t
        step = t - slope / curvature
        if not (low < step < high or step == t):  # the bracket shrinks every time, so it ends
            step = 0.5 * (low + high)
        moved = abs(step - t)
        t = step
    return t


@kernel
def _one_peak(cell: _Floats, top: int) -> bool:
    """Whether the coefficients rise up to `top` and fall from there: so does the polynomial."""
    broken = 0
    for i in range(cell.size - 1):
        step = cell[i + 1] - cell[i]
        if (step < 0.0) if i < top else (step > 0.0):
            broken += 1
    return broken == 0


@kernel
def supremum(coefficients: _Floats, enough: float, tolerance: float) -> tuple[float, float]:
    """Certified lower <= max over [0, 1] <= upper of the polynomial with these coefficients.

    Parameters
    ----------
    coefficients : ndarray of float, shape (degree + 1,)
        Bernstein coefficients in [0, 1], correctly rounded.
    enough : float
        Stop as soon as the maximum is known to be at most this, or to exceed it; NaN: neither.
    tolerance : float
        Stop as soon as upper − lower is at most this; at 0, when only rounding separates them.

    Returns
    -------
    lower, upper : float
        Both include the rounding.

    Notes
    -----
    Cells are cut, the more promising part first, and dropped when no coefficient exceeds the
    best value found. Where the coefficients rise and then fall there is one peak, and a cut at
    the peak settles the cell: by variation diminution no coefficient of either part is above
    the value there. Other cells are halved.

    References
    ----------
    Lane and Riesenfeld, *Bounds on a polynomial*, BIT 21 (1981) 112–117.
    """
    size = coefficients.size
    cells, roundings = np.empty((_DEPTH + 2, size)), np.empty(_DEPTH + 2)
    largest = coefficients.max()
    scale = 2.0 ** math.frexp(largest)[1]  # so that nothing that matters can underflow
    cells[0] = coefficients / scale
    roundings[0] = _INPUT
    enough /= scale
    tolerance /= scale
    lower, upper, live = 0.0, 0.0, 1
    while live > 0:
        cell, error = cells[live - 1], roundings[live - 1] * _UNIT
        top = 0
        for i in range(1, size):
            if cell[i] > cell[top]:
                top = i
        ends = max(cell[0], cell[size - 1])
        bound = cell[top] * (1.0 + error)
        lower = max(lower, ends * (1.0 - error))
        if lower > enough:
            return lower * scale, min(largest * (1.0 + _INPUT * _UNIT), 1.0)
        if (
            bound <= lower + tolerance
            or bound <= enough
            or cell[top] - ends <= error * ends  # nothing but rounding is left to gain
            or error > _DEPTH * size * _UNIT
        ):
            upper = max(upper, bound)
            live -= 1
            continue
        first = cells[live]
        if _one_peak(cell, top):
            _cut(cell, _peak(cell, top / (size - 1)), first)
            roundings[live - 1] += 3.0 * size
        else:
            _halve(cell, first)
            roundings[live - 1] += size
        roundings[live] = roundings[live - 1]
        if cell.max() > first.max():  # the last one is taken up next
            for i in range(size):
                cell[i], first[i] = first[i], cell[i]
        live += 1
    return lower * scale, min(upper * scale, 1.0)


@kernel
def peaks_at_half(coefficients: _Floats, flat: int) -> bool:
    """Whether a polynomial that is level at ½ certainly has its maximum there.

    Parameters
    ----------
    coefficients : ndarray of float, shape (degree + 1,)
        Bernstein coefficients in [0, 1], correctly rounded.
    flat : int
        How many derivatives of the exact polynomial vanish at ½, from the first on; at least 1.

    Returns
    -------
    bool
        Certain if True.

    Notes
    -----
    On a cell that begins at ½ the first `flat` + 1 coefficients are exactly the value there,
    as their differences are the derivatives. If no other is larger, neither is the polynomial.
    """
    size = coefficients.size
    before, near, first = np.empty(size), coefficients.copy(), np.empty(size)
    _halve(near, before)
    for side in range(2):
        if side == 1:
            near = before[::-1].copy()
        roundings = _INPUT + size
        while True:  # the far half closes in on ½, and fails at last
            value = near[0] * (1.0 - roundings * _UNIT)
            top = 0.0
            for i in range(flat + 1, size):
                top = max(top, near[i])
            if top * (1.0 + roundings * _UNIT) <= value:
                break
            if near[flat + 1] > near[0]:  # a valley
                return False
            _halve(near, first)
            near, first = first, near
            roundings += size
            # The far half's own coefficients are rounded already; the bar allows for that.
            bar = near[0] * (1.0 - 3.0 * roundings * _UNIT)
            if supremum(first, bar, 0.0)[1] > bar:
                return False
    return True
