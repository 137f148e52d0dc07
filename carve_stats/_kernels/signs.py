"""The three signs at one k of up to 128, the same in both arms.

With S_j = Σ_{x<=j} C(k,x) p^x q^(j−x), and D_j the same for the other arm (u, v), the shares are

    below_j = below_{j−1} qv + C(k,j) p^j · v D_{j−1},   above_j in the same way,
    zero_j  = zero_{j−1} qv + C(k,j)² (pu)^j,

taken at j = k: every term is positive, no power of q is stored, and nothing depends on the
question but its rates, so that the processor takes several questions at once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.binomial import coefficients
from carve_stats._kernels.jit import kernel
from carve_stats._kernels.twofold import complements, product

__all__ = ["LARGEST", "equal_signs"]

LARGEST = 128  # beyond it the rounding of q would show, and the powers would leave the range

_Floats = NDArray[np.float64]

_LANES = 128
_UP = 2.0**100  # powers of p are held this much larger, the coefficients this much smaller
_DOWN = 2.0**-100


@kernel
def _step(
    c: float,
    rates: tuple[float, float, float, float, float],
    powers: tuple[float, float],
    sums: tuple[float, float],
    shares: tuple[float, float, float],
) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float, float]]:
    """From j − 1 to j, with C(k, j) = c: p^j and u^j, S and D, the three shares."""
    p, q, u, v, qv = rates
    p_power, u_power = powers[0] * p, powers[1] * u
    x, y = c * p_power, c * u_power
    sham, destroy = sums[0] * q, sums[1] * v
    below, zero, above = shares
    return (
        (p_power, u_power),
        (sham + x, destroy + y),
        (below * qv + x * destroy, zero * qv + x * y, above * qv + y * sham),
    )


@kernel
def _one_step(choose: _Floats, lanes: _Floats) -> None:
    """One step for every lane; `lanes` holds a quantity a row."""
    p, q, u, v, p_power, u_power = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5]
    sham, destroy, below, zero, above = lanes[6], lanes[7], lanes[8], lanes[9], lanes[10]
    c = choose[0]
    for i in range(_LANES):
        rates = (p[i], q[i], u[i], v[i], q[i] * v[i])
        powers, sums = (p_power[i], u_power[i]), (sham[i], destroy[i])
        powers, sums, shares = _step(c, rates, powers, sums, (below[i], zero[i], above[i]))
        p_power[i], u_power[i] = powers
        sham[i], destroy[i] = sums
        below[i], zero[i], above[i] = shares


@kernel
def _four_steps(choose: _Floats, lanes: _Floats) -> None:
    """Four steps for every lane: reading and writing the lanes costs more than the arithmetic."""
    p, q, u, v, p_power, u_power = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5]
    sham, destroy, below, zero, above = lanes[6], lanes[7], lanes[8], lanes[9], lanes[10]
    c, second, third, fourth = choose[0], choose[1], choose[2], choose[3]
    for i in range(_LANES):
        rates = (p[i], q[i], u[i], v[i], q[i] * v[i])
        powers, sums = (p_power[i], u_power[i]), (sham[i], destroy[i])
        powers, sums, shares = _step(c, rates, powers, sums, (below[i], zero[i], above[i]))
        powers, sums, shares = _step(second, rates, powers, sums, shares)
        powers, sums, shares = _step(third, rates, powers, sums, shares)
        powers, sums, shares = _step(fourth, rates, powers, sums, shares)
        p_power[i], u_power[i] = powers
        sham[i], destroy[i] = sums
        below[i], zero[i], above[i] = shares


@kernel
def _exact_tie(tie: float, k: int, p: float, q: float, u: float, v: float) -> float:
    """Take out what the rounding of the rates, and of their product, did to Σ C(k,j)² a^j b^(k−j).

    An error ε of b = qv grows to (k − j)ε in the terms at j; j is about k√a/(√a + √b) in those
    that count.
    """
    p_low, q_low = complements(p, q)
    u_low, v_low = complements(u, v)
    a, (b, b_low) = p * u, product(q, v)
    flips, stays, error = math.sqrt(a), math.sqrt(b), 0.0
    if a > 0.0:
        error += flips * (p_low / p + u_low / u)
    if b > 0.0:
        error += stays * (b_low / b + q_low / q + v_low / v)
    if error != 0.0:
        tie += tie * (k * error / (flips + stays))
    return min(tie, 1.0)


@kernel
def equal_signs(
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k: int,
    negative: _Floats,
    zero: _Floats,
    positive: _Floats,
) -> None:
    """P(Y < X), P(Y = X) and P(Y > X), a question a row, for k up to `LARGEST`."""
    choose = np.empty(k + 1)
    coefficients(k, choose)
    choose *= _DOWN
    lanes = np.empty((11, _LANES))
    for start in range(0, zero.size, _LANES):
        size = min(_LANES, zero.size - start)
        lanes[:4] = 0.0
        lanes[0, :size] = p_sham[start : start + size]
        lanes[1, :size] = q_sham[start : start + size]
        lanes[2, :size] = p_destroy[start : start + size]
        lanes[3, :size] = q_destroy[start : start + size]
        lanes[4:6] = _UP
        lanes[6:8] = 1.0
        lanes[8] = 0.0
        lanes[9] = 1.0
        lanes[10] = 0.0
        j = 1
        while j <= k % 4:
            _one_step(choose[j:], lanes)
            j += 1
        while j <= k:
            _four_steps(choose[j:], lanes)
            j += 4
        for i in range(size):
            n = start + i
            negative[n] = min(lanes[8, i], 1.0)
            positive[n] = min(lanes[10, i], 1.0)
            zero[n] = _exact_tie(lanes[9, i], k, p_sham[n], q_sham[n], p_destroy[n], q_destroy[n])
