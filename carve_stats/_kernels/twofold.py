"""Numbers held as an unevaluated sum of two doubles, good to about 32 digits.

A power x**k multiplies the relative error of x by k; with x to 32 digits nothing is lost.
The algorithms are Dekker's and Knuth's.
"""

from __future__ import annotations

import math

from carve_stats._kernels.jit import kernel

_SPLIT = 134217729.0  # 2**27 + 1 halves a double's 53 digits


@kernel
def complements(p: float, q: float) -> tuple[float, float]:
    """What the larger of p and q lacks to be 1 less the other one, which is exact; 0 for that."""
    if p <= q:
        return 0.0, (1.0 - q) - p
    return (1.0 - p) - q, 0.0


@kernel
def product(a: float, b: float) -> tuple[float, float]:
    """A·b exactly."""
    high = a * b
    split = _SPLIT * a
    a_high = split - (split - a)
    a_low = a - a_high
    split = _SPLIT * b
    b_high = split - (split - b)
    b_low = b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Sum of two twofold numbers."""
    high = a + b
    rest = high - a
    low = (a - (high - rest)) + (b - rest) + a_low + b_low
    total = high + low
    return total, low - (total - high)


@kernel
def multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Product of two twofold numbers."""
    high, low = product(a, b)
    low += a * b_low + a_low * b
    total = high + low
    return total, low - (total - high)


@kernel
def divide(a: float, a_low: float, b: float) -> tuple[float, float]:
    """A twofold number over a double."""
    quotient = a / b
    high, low = product(quotient, b)
    return quotient, ((a - high) - low + a_low) / b


@kernel
def square_root(a: float, a_low: float) -> tuple[float, float]:
    """Square root of a twofold number that is not negative."""
    if a == 0.0:
        return 0.0, 0.0
    root = math.sqrt(a)
    square, rest = product(root, root)
    return root, ((a - square) - rest + a_low) / (2.0 * root)


@kernel
def power(a: float, a_low: float, k: int) -> float:
    """The k-th power of a twofold number above 0, rounded to a double."""
    return math.pow(a, float(k)) * (1.0 + k * (a_low / a))
