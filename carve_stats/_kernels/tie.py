"""The probability of a tie at one large k, the same in both arms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel
from carve_stats._kernels.twofold import add, complements, multiply, power, square_root


@kernel
def _laplace_tie(p_sham: float, q_sham: float, p_destroy: float, q_destroy: float, k: int) -> float:
    """BC**(2k) times the trapezoid sum of (1/π)∫(1 − m sin²(θ/2))**k dθ: a cost flat in k."""
    p_low, q_low = complements(p_sham, q_sham)
    sham, sham_low = square_root(p_sham, p_low)
    sham_stay, sham_stay_low = square_root(q_sham, q_low)
    p_low, q_low = complements(p_destroy, q_destroy)
    destroy, destroy_low = square_root(p_destroy, p_low)
    destroy_stay, destroy_stay_low = square_root(q_destroy, q_low)
    flip, flip_low = multiply(sham, sham_low, destroy, destroy_low)
    stay, stay_low = multiply(sham_stay, sham_stay_low, destroy_stay, destroy_stay_low)
    affinity, affinity_low = add(flip, flip_low, stay, stay_low)
    if affinity == 0.0:
        return 0.0
    base, base_low = multiply(affinity, affinity_low, affinity, affinity_low)
    m = 4.0 * flip * stay / base
    points = min(k + 1, math.ceil(6.3 * math.sqrt(k * m)) + 16)
    total = 1.0
    for j in range(1, points // 2 + 1):
        sine = math.sin(math.pi / points * j)
        drop = m * sine * sine
        term = math.exp(k * math.log1p(-drop)) if drop < 1.0 else 0.0
        # The circle is folded: the point opposite the first has no mirror image.
        total += term if 2 * j == points else 2.0 * term
        if term < 1e-18:
            break
    return power(base, base_low, k) * total / points


@kernel
def equal_tie(
    p_sham: NDArray[np.float64],
    q_sham: NDArray[np.float64],
    p_destroy: NDArray[np.float64],
    q_destroy: NDArray[np.float64],
    k: int,
    zero: NDArray[np.float64],
) -> None:
    """P(X = Y) for X ~ Bin(k, p_sham) and Y ~ Bin(k, p_destroy), a question a row."""
    for n in range(zero.size):
        tie = _laplace_tie(p_sham[n], q_sham[n], p_destroy[n], q_destroy[n], k)
        zero[n] = min(tie, 1.0)  # rounding may step over 1
