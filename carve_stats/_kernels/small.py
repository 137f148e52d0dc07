"""Ties and signs at one small k, the same in both arms: a kernel for each k.

With k known at compile time the loops below have no branch and no memory but the questions':
they run at the speed at which these are read. numba keeps each k's machine code on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel

__all__ = ["LARGEST", "small_differences", "small_tie"]

LARGEST = 10  # beyond it the compiler no longer unrolls

_Floats = NDArray[np.float64]


@cache
def small_tie(k: int) -> Callable[[_Floats, _Floats, _Floats], None]:
    """Kernel of P(X = Y), for X ~ Bin(k, p_sham) and Y ~ Bin(k, p_destroy).

    Σ_i k!/((k−2i)! i!²) (ab)^i (a+b)^(k−2i), by Horner: half the terms of Σ C(k,j)² a^j b^(k−j).
    """
    half, odd = k // 2, k % 2 == 1
    weight = tuple(float(math.comb(k, 2 * i) * math.comb(2 * i, i)) for i in range(half + 1))

    @kernel
    def tie(p_sham: _Floats, p_destroy: _Floats, zero: _Floats) -> None:
        for n in range(zero.size):
            a, b = p_sham[n] * p_destroy[n], (1.0 - p_sham[n]) * (1.0 - p_destroy[n])
            both = a + b
            ab, square, even, total = a * b, both * both, 1.0, weight[half]
            for i in range(half - 1, -1, -1):
                even *= square
                total = total * ab + weight[i] * even
            if odd:
                total *= both
            zero[n] = min(total, 1.0)  # rounding may step over 1

    return tie


@cache
def small_differences(k: int) -> Callable[[_Floats, _Floats, _Floats, _Floats], None]:
    """Kernel of P(Y < X) and P(Y > X), by the recursion of `signs.equal_signs`."""
    choose = tuple(float(math.comb(k, j)) for j in range(k + 1))

    @kernel
    def differences(
        p_sham: _Floats, p_destroy: _Floats, negative: _Floats, positive: _Floats
    ) -> None:
        for n in range(negative.size):
            p, u = p_sham[n], p_destroy[n]
            q, v = 1.0 - p, 1.0 - u
            qv = q * v
            p_power, u_power, sham, destroy, below, above = 1.0, 1.0, 1.0, 1.0, 0.0, 0.0
            for j in range(1, k + 1):
                p_power *= p
                u_power *= u
                sham *= q
                destroy *= v
                x, y = choose[j] * p_power, choose[j] * u_power
                below = below * qv + x * destroy
                above = above * qv + y * sham
                sham += x
                destroy += y
            negative[n] = min(below, 1.0)
            positive[n] = min(above, 1.0)

    return differences
