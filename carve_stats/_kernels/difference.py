"""Law of Y − X at one k, the same in both arms, in O(k) and without cancellation.

P(Y − X = d) is the coefficient of z^(k+d) in (A + Bz + Cz²)^k, where A = p_sham q_destroy,
C = q_sham p_destroy and B = p_sham p_destroy + q_sham q_destroy. With z = wA/B this is
A^k (1 + w + γw²)^k, γ = AC/B²; its coefficients e_n follow from

    (n + 1) e_{n+1} = (k − n) e_n + γ (2k − n + 1) e_{n−1},

in which no term is negative up to the middle, n = k. Since P(Y − X = d) = P(Y − X = −d)(C/A)^d,
the middle and below is all that is needed:

    P(Y − X = −d) = B^k e_{k−d} (A/B)^d,    P(Y − X = d) = B^k e_{k−d} (C/B)^d.

B^k is left out: the sum, which is 1, sets the level.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.binomial import SCALE, ratios, scaled_binomial, unscale
from carve_stats._kernels.jit import kernel
from carve_stats._kernels.twofold import add, complements, multiply, product

_Floats = NDArray[np.float64]
_Integers = NDArray[np.signedinteger[Any]]

_UP = 2.0**SCALE
_DOWN = 2.0**-SCALE
# Factors are kept between these, so that a product of two is still a good mantissa.
_LEAST = 2.0 ** (-SCALE // 2)
_MOST = 2.0 ** (SCALE // 2)


@kernel
def _levelled(value: float, level: int) -> tuple[float, int]:
    """Bring a positive value·2**(-256·level) between 2**-128 and 2**128."""
    while value < _LEAST:
        value *= _UP
        level += 1
    while value > _MOST:
        value *= _DOWN
        level -= 1
    return value, level


@kernel
def _ratio(
    p: float, p_error: float, q: float, q_error: float, base: float, base_error: float
) -> tuple[float, int, float]:
    """Value of pq/base as mantissa and level, and its relative error; those of p, q, base given."""
    p, level = _levelled(p, 0)
    q, more = _levelled(q, 0)
    numerator, low = product(p, q)
    base, less = _levelled(base, 0)
    ratio = numerator / base
    high, rest = product(ratio, base)
    error = ((numerator - high) - rest + low) / numerator + p_error + q_error - base_error
    ratio, level = _levelled(ratio, level + more - less)
    return ratio, level, error


@kernel
def _share_of_squares(n: int, k: int, g: float) -> float:
    """How many of the n factors w come in pairs, in the terms that matter most to e_n."""
    if g == 0.0:
        return 0.0
    rest = k - n + 4.0 * g * n
    return 2.0 * g * n * n / (rest + math.sqrt(rest * rest + 4.0 * (1.0 - 4.0 * g) * g * n * n))


@kernel
def _coefficients(k: int, g: float, error: float, e: _Floats, level: _Integers) -> None:
    """e_0 … e_k for γ = g(1 + error), as mantissas and levels."""
    e[0], level[0] = 1.0, 0
    before, now, here = 0.0, 1.0, 0
    for n in range(k):
        inverse = 1.0 / (n + 1.0)
        before, now = now, (k - n) * inverse * now + g * ((2.0 * k - n + 1.0) * inverse) * before
        if now > _MOST:
            before, now, here = before * _DOWN, now * _DOWN, here - 1
        elif now < _LEAST:
            before, now, here = before * _UP, now * _UP, here + 1
        e[n + 1], level[n + 1] = now, here
    for n in range(1, k + 1):  # what the rounding of γ did grows with n, and is taken out
        e[n] *= 1.0 + error * _share_of_squares(n, k, g)


@kernel
def _tilt(
    k: int,
    ratio: float,
    ratio_level: int,
    error: float,
    step: int,
    mantissa: _Floats,
    scale: _Integers,
) -> None:
    """Write e_{k−d} ratio^d at k + step·d for d = 0 … k; e_n is read at n."""
    power, level = 1.0, 0
    for d in range(k + 1):
        here = k + step * d
        mantissa[here] = mantissa[k - d] * power * (1.0 + d * error)
        scale[here] = scale[k - d] + level
        power *= ratio
        level += ratio_level
        if power < _LEAST:
            power, level = power * _UP, level + 1
        elif power > _MOST:
            power, level = power * _DOWN, level - 1


@kernel
def _normalise(mantissa: _Floats, scale: _Integers) -> None:
    """Make the sum 1, and the levels at least 0."""
    least = scale.min()
    total = 0.0
    for start in range(0, mantissa.size, 64):  # sums of sums lose less
        part = 0.0
        for n in range(start, min(start + 64, mantissa.size)):
            scale[n] -= least
            if scale[n] <= 2:  # what is further down cannot show
                part += unscale(mantissa[n], scale[n])
        total += part
    for n in range(mantissa.size):
        mantissa[n] /= total


@kernel
def _certain_arm(
    p: float, q: float, u: float, v: float, k: int, mantissa: _Floats, scale: _Integers
) -> None:
    """The law when an arm always flips or never does: the other one is binomial."""
    ratio = np.empty(2 * k + 1)
    ratios(k, ratio)
    flips, level = np.empty(k + 1), np.empty(k + 1, np.int64)
    mantissa[:] = 0.0
    scale[:] = 0
    if p == 0.0 or q == 0.0:
        start = k if p == 0.0 else 0
        scaled_binomial(k, u, v, ratio, flips, level)
        mantissa[start : start + k + 1] = flips
        scale[start : start + k + 1] = level
    else:
        start = k if v == 0.0 else 0
        scaled_binomial(k, q, p, ratio, flips, level)  # the SHAM replays that do not flip
        mantissa[start : start + k + 1] = flips
        scale[start : start + k + 1] = level


@kernel
def difference_pmf(
    p: float, q: float, u: float, v: float, k: int, mantissa: _Floats, scale: _Integers
) -> None:
    """P(Y − X = n − k) = mantissa[n]·2**(-256·scale[n]) for X ~ Bin(k, p) and Y ~ Bin(k, u).

    q = 1 − p and v = 1 − u; of each pair the smaller is exact, and the other one is it rounded.
    """
    if p == 0.0 or q == 0.0 or u == 0.0 or v == 0.0:
        _certain_arm(p, q, u, v, k, mantissa, scale)
        return
    p_low, q_low = complements(p, q)
    u_low, v_low = complements(u, v)
    both, both_low = multiply(p, p_low, u, u_low)
    neither, neither_low = multiply(q, q_low, v, v_low)
    base, base_low = add(both, both_low, neither, neither_low)
    error = base_low / base
    down, down_level, down_error = _ratio(p, p_low / p, v, v_low / v, base, error)
    up, up_level, up_error = _ratio(q, q_low / q, u, u_low / u, base, error)
    g, low = product(down, up)
    g_error = down_error + up_error + low / g
    g = unscale(g, down_level + up_level)
    _coefficients(k, g, g_error, mantissa, scale)
    _tilt(k, up, up_level, up_error, 1, mantissa, scale)  # before e is written over
    _tilt(k, down, down_level, down_error, -1, mantissa, scale)
    _normalise(mantissa, scale)
