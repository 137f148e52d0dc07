"""Signs, distribution function, probabilities and gradients of the score.

In every kernel x counts SHAM flips of k_sham, y DESTROY flips of k_destroy, and the score is
compared as y·k_sham − x·k_destroy. Every sum has terms of one sign.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.binomial import binomial, constants, ratios, scaled_binomial, unscale
from carve_stats._kernels.jit import kernel
from carve_stats._kernels.tie import equal_tie

_Floats = NDArray[np.float64]


@kernel
def _room(
    k_sham: int, k_destroy: int
) -> tuple[_Floats, _Floats, _Floats, _Floats, NDArray[np.int64]]:
    """Room for both binomial laws, the `constants` of both k, and scratch."""
    a, b = np.empty(k_sham + 1), np.empty(k_destroy + 1)
    scale = np.empty(max(k_sham, k_destroy) + 1, np.int64)
    return a, b, constants(k_sham), constants(k_destroy), scale


@kernel
def _at_most(a: _Floats, k_a: int, b: _Floats, k_b: int, threshold: int) -> float:
    """P(Y·k_a − X·k_b <= threshold) for X with probabilities a and Y with b."""
    if threshold >= k_a * k_b:
        return 1.0  # no score is larger
    total, cumulative, y = 0.0, 0.0, 0
    for x in range(k_a + 1):
        while y <= k_b and y * k_a - x * k_b <= threshold:
            cumulative += b[y]
            y += 1
        total += a[x] * cumulative
    return min(total, 1.0)  # rounding may step over 1


@kernel
def score_cdf(
    p_sham: _Floats, p_destroy: _Floats, k_sham: int, k_destroy: int, threshold: int, out: _Floats
) -> None:
    """P(y·k_sham − x·k_destroy <= threshold), a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    for n in range(out.size):
        binomial(k_sham, p_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], known_b, scale, b)
        out[n] = _at_most(a, k_sham, b, k_destroy, threshold)


@kernel
def _outcomes_at(k_a: int, k_b: int, numerator: int) -> tuple[int, int, int, int]:
    """First x and y with y·k_a − x·k_b = numerator, and the steps to the next; x > k_a if none."""
    common = math.gcd(k_a, k_b)
    x_step, y_step = k_a // common, k_b // common
    x = 0
    while x < x_step and (numerator + x * k_b) % k_a != 0:
        x += 1
    if x == x_step:
        return k_a + 1, 0, x_step, y_step
    y = (numerator + x * k_b) // k_a
    while y < 0:
        x += x_step
        y += y_step
    return x, y, x_step, y_step


@kernel
def _sum_outcomes(
    a: _Floats, k_a: int, b: _Floats, k_b: int, x: int, y: int, x_step: int, y_step: int
) -> float:
    """Probability of the outcomes of one score, from `_outcomes_at`; for a tie gcd + 1 terms."""
    total = 0.0
    while x <= k_a and y <= k_b:
        total += a[x] * b[y]
        x += x_step
        y += y_step
    return min(total, 1.0)


@kernel
def score_point(
    p_sham: _Floats, p_destroy: _Floats, k_sham: int, k_destroy: int, numerator: int, out: _Floats
) -> None:
    """P(y·k_sham − x·k_destroy = numerator), a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    x, y, x_step, y_step = _outcomes_at(k_sham, k_destroy, numerator)
    for n in range(out.size):
        binomial(k_sham, p_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], known_b, scale, b)
        out[n] = _sum_outcomes(a, k_sham, b, k_destroy, x, y, x_step, y_step)


@kernel
def tie(p_sham: _Floats, p_destroy: _Floats, k_sham: int, k_destroy: int, out: _Floats) -> None:
    """P(score = 0), a question a row."""
    if k_sham == k_destroy:
        equal_tie(p_sham, p_destroy, k_sham, out)
    else:
        score_point(p_sham, p_destroy, k_sham, k_destroy, 0, out)


@kernel
def signs(
    p_sham: _Floats,
    p_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    negative: _Floats,
    zero: _Floats,
    positive: _Floats,
) -> None:
    """P(score < 0), P(score = 0) and P(score > 0), a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    x, y, x_step, y_step = _outcomes_at(k_sham, k_destroy, 0)
    for n in range(zero.size):
        binomial(k_sham, p_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], known_b, scale, b)
        if k_sham == k_destroy:
            below, above, sham, destroy = 0.0, 0.0, a[0], b[0]
            for j in range(1, k_sham + 1):
                below += a[j] * destroy
                above += b[j] * sham
                sham += a[j]
                destroy += b[j]
            negative[n] = min(below, 1.0)
            positive[n] = min(above, 1.0)
        else:
            negative[n] = _at_most(a, k_sham, b, k_destroy, -1)
            positive[n] = _at_most(b, k_destroy, a, k_sham, -1)
            zero[n] = _sum_outcomes(a, k_sham, b, k_destroy, x, y, x_step, y_step)
    if k_sham == k_destroy:
        equal_tie(p_sham, p_destroy, k_sham, zero)


@kernel
def _slope(fewer: _Floats, k_a: int, b: _Floats, k_b: int) -> tuple[float, float, float]:
    """Derivatives of P(Y·k_a < X·k_b), P(=) and P(>) by the probability of X.

    `fewer` holds b_{k_a−1}(x). As ∂b_k(x)/∂p = k(b_{k−1}(x−1) − b_{k−1}(x)), summation by
    parts leaves the probability that one more flip of X crosses, meets or leaves Y.
    """
    falls, meets, leaves, rises = 0.0, 0.0, 0.0, 0.0
    y = 0
    for x in range(k_a):
        while y <= k_b and y * k_a < x * k_b:
            y += 1
        here = y
        while here <= k_b and here * k_a <= (x + 1) * k_b:
            weight = fewer[x] * b[here]
            if here * k_a == x * k_b:
                leaves += weight
            else:
                rises += weight
            if here * k_a == (x + 1) * k_b:
                meets += weight
            else:
                falls += weight
            here += 1
    return k_a * falls, k_a * (meets - leaves), 0.0 - k_a * rises


@kernel
def signs_gradient(
    p_sham: _Floats,
    p_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    negative_sham: _Floats,
    zero_sham: _Floats,
    positive_sham: _Floats,
    negative_destroy: _Floats,
    zero_destroy: _Floats,
    positive_destroy: _Floats,
) -> None:
    """Derivatives of the three signs by p_sham, then by p_destroy, a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    known_fewer_a, known_fewer_b = constants(k_sham - 1), constants(k_destroy - 1)
    fewer = np.empty(max(k_sham, k_destroy))
    for n in range(zero_sham.size):
        binomial(k_sham, p_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], known_b, scale, b)
        binomial(k_sham - 1, p_sham[n], known_fewer_a, scale, fewer)
        negative_sham[n], zero_sham[n], positive_sham[n] = _slope(fewer, k_sham, b, k_destroy)
        binomial(k_destroy - 1, p_destroy[n], known_fewer_b, scale, fewer)
        positive_destroy[n], zero_destroy[n], negative_destroy[n] = _slope(
            fewer, k_destroy, a, k_sham
        )


@kernel
def score_pmf(
    p_sham: _Floats,
    p_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    place: NDArray[np.int64],
    points: int,
    mantissa: _Floats,
    scale: NDArray[np.int64],
) -> None:
    """Probability of each lattice point, as mantissa·2**(-256·scale), question after question.

    ``place[x·(k_destroy + 1) + y]`` is the point's position among the `points`.
    """
    a, b = np.empty(k_sham + 1), np.empty(k_destroy + 1)
    scale_a, scale_b = np.empty(k_sham + 1, np.int64), np.empty(k_destroy + 1, np.int64)
    ratio_a, ratio_b = np.empty(2 * k_sham + 1), np.empty(2 * k_destroy + 1)
    ratios(k_sham, ratio_a)
    ratios(k_destroy, ratio_b)
    mantissa[:] = 0.0
    scale[:] = 0
    for n in range(p_sham.size):
        scaled_binomial(k_sham, p_sham[n], ratio_a, a, scale_a)
        scaled_binomial(k_destroy, p_destroy[n], ratio_b, b, scale_b)
        for x in range(k_sham + 1):
            for y in range(k_destroy + 1):
                value = a[x] * b[y]
                if value > 0.0:
                    level = scale_a[x] + scale_b[y]
                    i = n * points + place[x * (k_destroy + 1) + y]
                    if mantissa[i] == 0.0:
                        mantissa[i], scale[i] = value, level
                    elif level < scale[i]:
                        mantissa[i] = value + unscale(mantissa[i], scale[i] - level)
                        scale[i] = level
                    else:
                        mantissa[i] += unscale(value, level - scale[i])
