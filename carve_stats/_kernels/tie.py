"""The probability of a tie at one k, the same in both arms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.binomial import SMALL
from carve_stats._kernels.jit import kernel
from carve_stats._kernels.twofold import add, complement, multiply, power, square_root

_BLOCK = 512


@kernel
def _laplace_tie(p_sham: float, p_destroy: float, k: int) -> float:
    """BC**(2k) times the trapezoid sum of (1/π)∫(1 − m sin²(θ/2))**k dθ: a cost flat in k."""
    sham, sham_low = square_root(p_sham, 0.0)
    destroy, destroy_low = square_root(p_destroy, 0.0)
    flip, flip_low = multiply(sham, sham_low, destroy, destroy_low)
    q, q_low = complement(p_sham)
    sham, sham_low = square_root(q, q_low)
    q, q_low = complement(p_destroy)
    destroy, destroy_low = square_root(q, q_low)
    stay, stay_low = multiply(sham, sham_low, destroy, destroy_low)
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
def _polynomial_tie(
    p_sham: NDArray[np.float64], p_destroy: NDArray[np.float64], k: int, out: NDArray[np.float64]
) -> None:
    """Σ_i k!/((k−2i)! i!²) (ab)^i (a+b)^(k−2i): half the terms of Σ C(k,j)² a^j b^(k−j).

    Horner's scheme runs over a block of questions at a time, which the processor takes several
    at once; the block stays in its nearest cache.
    """
    half = k // 2
    weight = np.empty(half + 1)
    weight[0] = 1.0
    for i in range(half):
        weight[i + 1] = weight[i] * ((k - 2 * i) * (k - 2 * i - 1)) / ((i + 1) * (i + 1))
    ab, square, even, total = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(0, out.size, _BLOCK):
        size = min(_BLOCK, out.size - start)
        sham, destroy = p_sham[start : start + size], p_destroy[start : start + size]
        tie = out[start : start + size]
        for n in range(size):
            a, b = sham[n] * destroy[n], (1.0 - sham[n]) * (1.0 - destroy[n])
            ab[n] = a * b
            square[n] = (a + b) * (a + b)
            even[n] = 1.0
            total[n] = weight[half]
            tie[n] = a + b
        for i in range(half - 1, -1, -1):
            w = weight[i]  # read once, or the compiler must fear that the writes below change it
            for n in range(size):
                term = even[n] * square[n]
                even[n] = term
                total[n] = total[n] * ab[n] + w * term
        if k % 2:
            for n in range(size):
                tie[n] = min(tie[n] * total[n], 1.0)
        else:
            for n in range(size):
                tie[n] = min(total[n], 1.0)


@kernel
def equal_tie(
    p_sham: NDArray[np.float64], p_destroy: NDArray[np.float64], k: int, out: NDArray[np.float64]
) -> None:
    """P(X = Y) for X ~ Bin(k, p_sham) and Y ~ Bin(k, p_destroy), a question a row."""
    if k == 3:  # the budget most logs have; a loop with nothing in it but arithmetic
        for n in range(out.size):
            a = p_sham[n] * p_destroy[n]
            b = (1.0 - p_sham[n]) * (1.0 - p_destroy[n])
            s = a + b
            out[n] = min(s * (s * s + 6.0 * a * b), 1.0)  # rounding may step over 1
    elif k <= SMALL:
        _polynomial_tie(p_sham, p_destroy, k, out)
    else:
        for n in range(out.size):
            out[n] = min(_laplace_tie(p_sham[n], p_destroy[n], k), 1.0)
