"""The binomial probabilities b_k(j; p), without cancellation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel
from carve_stats._kernels.twofold import complements, product

# Up to here powers of p and q cannot underflow unless the result does, and lose under 1e-14.
SMALL = 32

# Small probabilities are held as a mantissa times 2**(-256·scale): products of two mantissas
# stay in range, and a logarithm exists far below the smallest double.
SCALE = 256
_UP = 2.0**SCALE
_DOWN = 2.0**-SCALE


@kernel
def unscale(mantissa: float, scale: int) -> float:
    """A scaled number as a double; 0 where it is too small to be one."""
    if scale > 8:  # mantissas may be large, but no more than 2**1024
        return 0.0
    for _ in range(scale):
        mantissa *= _DOWN
    return mantissa


@kernel
def unscale_all(mantissa: NDArray[np.float64], scale: NDArray[np.signedinteger[Any]]) -> None:
    """Scaled numbers, each row of them, as doubles in the place of the mantissas."""
    for row in range(mantissa.shape[0]):
        for n in range(mantissa.shape[1]):
            mantissa[row, n] = unscale(mantissa[row, n], scale[row, n])


@kernel
def coefficients(k: int, out: NDArray[np.float64]) -> None:
    """C(k, j) for j = 0 … k; exact for k <= SMALL."""
    out[0] = out[k] = 1.0
    for j in range(k // 2):
        out[j + 1] = out[k - j - 1] = out[j] * (k - j) / (j + 1)


@kernel
def ratios(k: int, out: NDArray[np.float64]) -> None:
    """b_k(j)/b_k(j−1) at odds 1 for j = 1 … k, then b_k(j)/b_k(j+1) for j = 0 … k − 1."""
    for j in range(1, k + 1):
        out[j] = (k - j + 1) / j
        out[k + j] = j / (k - j + 1)


@kernel
def constants(k: int) -> NDArray[np.float64]:
    """What `binomial` needs to know of k."""
    out = np.empty(2 * k + 1)
    if k <= SMALL:
        coefficients(k, out)
    else:
        ratios(k, out)
    return out


@kernel
def _small(
    k: int, p: float, q: float, choose: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    power = 1.0
    for j in range(k + 1):
        out[j] = choose[j] * power
        power *= p
    power = 1.0
    for j in range(k, -1, -1):
        out[j] *= power
        power *= q


@kernel
def _walk(
    k: int,
    mode: int,
    up: bool,
    odds: float,
    error: float,
    ratio: NDArray[np.float64],
    mantissa: NDArray[np.float64],
    scale: NDArray[np.int64],
) -> float:
    """From the mode to one end; returns the sum of what it wrote, relative to the mode."""
    odds_scale = 0
    while odds < _DOWN:
        odds *= _UP
        odds_scale += 1
    value, level, total = 1.0, 0, 0.0
    for step in range(1, (k - mode if up else mode) + 1):
        j = mode + step if up else mode - step
        value *= odds * ratio[j if up else k + 1 + j]
        level += odds_scale
        while value < _DOWN:
            value *= _UP
            level += 1
        mantissa[j] = value * (1.0 + step * error)
        scale[j] = level
        if level == 0:
            total += mantissa[j]
    return total


@kernel
def scaled_binomial(
    k: int,
    p: float,
    q: float,
    ratio: NDArray[np.float64],
    mantissa: NDArray[np.float64],
    scale: NDArray[np.int64],
) -> None:
    """b_k(j; p) = mantissa[j]·2**(-256·scale[j]) for j = 0 … k, from the `ratios` of k.

    Of p and q = 1 − p the smaller is exact, and the other one is it rounded.

    Ratios lead from the mode to both ends and the sum, which is 1, sets the level: neither
    powers nor gamma functions are needed. The rounding of the odds, which would grow with
    the distance from the mode, is measured and taken out.
    """
    mantissa[: k + 1] = 0.0
    scale[: k + 1] = 0
    if p == 0.0:
        mantissa[0] = 1.0
        return
    if q == 0.0:
        mantissa[k] = 1.0
        return
    p_low, q_low = complements(p, q)
    mode = min(int((k + 1) * p), k)
    mantissa[mode] = 1.0
    total = 1.0
    if mode < k:
        odds = p / q
        high, low = product(odds, q)
        error = ((p - high) - low + p_low - odds * q_low) / p
        total += _walk(k, mode, True, odds, error, ratio, mantissa, scale)
    if mode > 0:
        odds = q / p
        high, low = product(odds, p)
        error = ((q - high) - low + q_low - odds * p_low) / q
        total += _walk(k, mode, False, odds, error, ratio, mantissa, scale)
    for j in range(k + 1):
        mantissa[j] /= total


@kernel
def binomial(
    k: int,
    p: float,
    q: float,
    known: NDArray[np.float64],
    scale: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """b_k(j; p) for j = 0 … k; `known` are the `constants` of k, and `scale` is scratch."""
    if k <= SMALL:
        _small(k, p, q, known, out)
        return
    scaled_binomial(k, p, q, known, out, scale)
    for j in range(k + 1):
        out[j] = unscale(out[j], scale[j])
