"""The lower limit of each kind of interval, for tables of one pair of budgets.

Each takes the SHAM flips x of m and the DESTROY flips y of n replays, of one shape, and the
error probability 1 − level; the upper limits follow by symmetry.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from carve_stats._kernels.intervals import miettinen_nurminen
from carve_stats._kernels.score_inversion import (
    BY_DIFFERENCE,
    ONE_SIDED,
    TWO_SIDED,
    exact_lower_limits,
)
from carve_stats.law.exact_tests import exact_test

__all__ = ["LOWER_LIMITS"]

_ACCURACY = 1e-10  # of exact limits

_Integers = NDArray[np.int64]
_Floats = NDArray[np.float64]


def _agresti_min(x: _Integers, y: _Integers, m: int, n: int, error: float) -> _Floats:
    low = np.empty(x.size)
    exact_lower_limits(x, y, m, n, TWO_SIDED, error, low)
    rejects = exact_test(m, n, test="barnard").rejects(error)
    return _decide_zero(low, rejects[x, y] & (y * m > x * n))


def _chan_zhang(x: _Integers, y: _Integers, m: int, n: int, error: float) -> _Floats:
    low = np.empty(x.size)
    exact_lower_limits(x, y, m, n, ONE_SIDED, error / 2, low)
    test = exact_test(m, n, test="barnard", alternative="greater")
    return _decide_zero(low, test.rejects(error / 2)[x, y])


def _decide_zero(low: _Floats, rejected: NDArray[np.bool_]) -> _Floats:
    """The lower limits, above 0 where the test says so, and nowhere else.

    At δ = 0 the order of the tables is a matter of whole numbers, and the test knows its
    p-value to the last digits: it decides where a limit falls on 0. A limit well below 0 stays,
    for differences there are not ruled out.
    """
    above = np.where(low > -_ACCURACY, np.maximum(low, np.nextafter(0.0, 1.0)), low)
    return np.where(rejected, above, np.minimum(low, 0.0))


def _santner_snell(x: _Integers, y: _Integers, m: int, n: int, error: float) -> _Floats:
    _, first, place = np.unique(y * m - x * n, return_index=True, return_inverse=True)
    low = np.empty(first.size)
    exact_lower_limits(x[first], y[first], m, n, BY_DIFFERENCE, error / 2, low)
    return low[place]


def _miettinen_nurminen(x: _Integers, y: _Integers, m: int, n: int, error: float) -> _Floats:
    low = np.empty(x.size)
    miettinen_nurminen(x, y, m, n, -ndtri(error / 2), low)
    return low


def _newcombe(x: _Integers, y: _Integers, m: int, n: int, error: float) -> _Floats:
    z = -ndtri(error / 2)
    score = (y * m - x * n) / (m * n)
    low = score - np.hypot(_above(x, m, z), _above(n - y, n, z))
    return np.maximum(low, -1.0)


def _above(x: _Integers, k: int, z: float) -> _Floats:
    """How far Wilson's upper limit is above x/k, without cancellation; exactly 0 at x = k."""
    spread = x * (k - x) / k
    root, shift = np.sqrt(spread + z * z / 4.0), z * (2 * x - k) / (2.0 * k)
    few = z * (root - shift) / (k + z * z)
    many = z * spread / (k * (root + np.abs(shift)))
    return np.where(shift > 0.0, many, few)


def _agresti_caffo(x: _Integers, y: _Integers, m: int, n: int, error: float) -> _Floats:
    p_sham, p_destroy = (x + 1) / (m + 2), (y + 1) / (n + 2)
    spread = p_sham * (1.0 - p_sham) / (m + 2) + p_destroy * (1.0 - p_destroy) / (n + 2)
    return np.maximum(p_destroy - p_sham + ndtri(error / 2) * np.sqrt(spread), -1.0)


LOWER_LIMITS: dict[str, Callable[[_Integers, _Integers, int, int, float], _Floats]] = {
    "agresti-min": _agresti_min,
    "chan-zhang": _chan_zhang,
    "santner-snell": _santner_snell,
    "miettinen-nurminen": _miettinen_nurminen,
    "newcombe": _newcombe,
    "agresti-caffo": _agresti_caffo,
}
