"""The lattice of possible scores, and where a threshold cuts it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError
from carve_stats.law._arguments import Rational, as_fraction

__all__ = ["numerators", "threshold"]


def numerators(k_sham: int, k_destroy: int) -> NDArray[np.int64]:
    """y·k_sham − x·k_destroy for x down and y across, shape (k_sham + 1, k_destroy + 1)."""
    x, y = np.arange(k_sham + 1, dtype=np.int64), np.arange(k_destroy + 1, dtype=np.int64)
    return y * k_sham - x[:, None] * k_destroy


def threshold(theta: Rational, denominator: int) -> int:
    """The largest numerator n for which the score n/denominator is at most theta.

    A float stands for the score that rounds to it: the largest n is then the largest one
    whose correctly rounded quotient is at most theta.
    """
    if not isinstance(theta, float | np.floating):
        largest = math.floor(as_fraction("theta", theta) * denominator)
    elif math.isinf(theta):
        largest = denominator if theta > 0 else -denominator - 1
    elif math.isnan(theta):
        raise InputError("theta=nan must be a number, such as 0 or '1/3'")
    elif abs(theta) > 1.0:  # no score is there
        largest = denominator if theta > 0 else -denominator - 1
    else:
        largest = math.floor(as_fraction("theta", float(theta)) * denominator)
        while (largest + 1) / denominator <= theta:
            largest += 1
    return min(max(largest, -denominator - 1), denominator)
