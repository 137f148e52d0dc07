"""The lattice of possible scores, and where a threshold cuts it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.law import mark_scores
from carve_stats.errors import InputError
from carve_stats.law._arguments import Rational, as_fraction

__all__ = ["possible_scores", "threshold"]

_MOST_PLACES = 2**26  # a gigabyte for each question's probabilities


def possible_scores(k_sham: int, k_destroy: int) -> tuple[NDArray[np.bool_], int]:
    """Which whole multiples of a step, from −k_sham·k_destroy up, some outcome has; the step."""
    step = math.gcd(k_sham, k_destroy)
    places = 2 * k_sham * k_destroy // step + 1
    if places > _MOST_PLACES:
        raise InputError(
            f"the lattice of k_sham={k_sham} and k_destroy={k_destroy} is too long to list:"
            " use cdf, sf, quantile or probability, which do not need it"
        )
    possible = np.zeros(places, np.bool_)
    if k_sham == k_destroy:
        possible[:] = True
    else:
        mark_scores(k_sham, k_destroy, possible)
    return possible, step


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
