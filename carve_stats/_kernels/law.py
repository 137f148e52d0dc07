"""Signs, distribution function, probabilities and gradients of the score.

In every kernel x counts SHAM flips of k_sham, y DESTROY flips of k_destroy, and the score is
compared as y·k_sham − x·k_destroy. Every sum has terms of one sign.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.binomial import binomial, constants, ratios, scaled_binomial, unscale
from carve_stats._kernels.difference import difference_pmf
from carve_stats._kernels.jit import kernel

_Floats = NDArray[np.float64]
_Integers = NDArray[np.signedinteger[Any]]


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
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    threshold: int,
    out: _Floats,
) -> None:
    """P(y·k_sham − x·k_destroy <= threshold), a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    for n in range(out.size):
        binomial(k_sham, p_sham[n], q_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], q_destroy[n], known_b, scale, b)
        out[n] = _at_most(a, k_sham, b, k_destroy, threshold)


@kernel
def score_quantile(
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    level: float,
    out: _Floats,
) -> None:
    """The smallest y·k_sham − x·k_destroy that at most 1 − level exceeds, a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    for n in range(out.size):
        binomial(k_sham, p_sham[n], q_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], q_destroy[n], known_b, scale, b)
        short, enough = -k_sham * k_destroy - 1, k_sham * k_destroy
        while enough - short > 1:
            middle = (short + enough) // 2
            if level <= 0.5:
                reached = _at_most(a, k_sham, b, k_destroy, middle)
                holds = reached >= level and reached > 0.0
            else:
                holds = _at_most(b, k_destroy, a, k_sham, -middle - 1) <= 1.0 - level
            if holds:
                enough = middle
            else:
                short = middle
        out[n] = enough


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
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    numerator: int,
    out: _Floats,
) -> None:
    """P(y·k_sham − x·k_destroy = numerator), a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    x, y, x_step, y_step = _outcomes_at(k_sham, k_destroy, numerator)
    for n in range(out.size):
        binomial(k_sham, p_sham[n], q_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], q_destroy[n], known_b, scale, b)
        out[n] = _sum_outcomes(a, k_sham, b, k_destroy, x, y, x_step, y_step)


@kernel
def signs(
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    negative: _Floats,
    zero: _Floats,
    positive: _Floats,
) -> None:
    """P(score < 0), P(score = 0) and P(score > 0), a question a row; not the ties at equal k."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    x, y, x_step, y_step = _outcomes_at(k_sham, k_destroy, 0)
    for n in range(zero.size):
        binomial(k_sham, p_sham[n], q_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], q_destroy[n], known_b, scale, b)
        negative[n] = _at_most(a, k_sham, b, k_destroy, -1)
        positive[n] = _at_most(b, k_destroy, a, k_sham, -1)
        if k_sham != k_destroy:
            zero[n] = _sum_outcomes(a, k_sham, b, k_destroy, x, y, x_step, y_step)


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
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
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
        binomial(k_sham, p_sham[n], q_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], q_destroy[n], known_b, scale, b)
        binomial(k_sham - 1, p_sham[n], q_sham[n], known_fewer_a, scale, fewer)
        negative_sham[n], zero_sham[n], positive_sham[n] = _slope(fewer, k_sham, b, k_destroy)
        binomial(k_destroy - 1, p_destroy[n], q_destroy[n], known_fewer_b, scale, fewer)
        positive_destroy[n], zero_destroy[n], negative_destroy[n] = _slope(
            fewer, k_destroy, a, k_sham
        )


@kernel
def score_between(
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    lowest: int,
    highest: int,
    out: _Floats,
) -> None:
    """P(lowest <= y·k_sham − x·k_destroy <= highest), a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    for n in range(out.size):
        binomial(k_sham, p_sham[n], q_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], q_destroy[n], known_b, scale, b)
        total, first = 0.0, 0
        for x in range(k_sham + 1):
            while first <= k_destroy and first * k_sham - x * k_destroy < lowest:
                first += 1
            y = first
            while y <= k_destroy and y * k_sham - x * k_destroy <= highest:
                total += a[x] * b[y]
                y += 1
        out[n] = min(total, 1.0)


@kernel
def outcome_probability(
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    selected: NDArray[np.bool_],
    out: _Floats,
) -> None:
    """P(selected[X, Y]), a question a row."""
    a, b, known_a, known_b, scale = _room(k_sham, k_destroy)
    for n in range(out.size):
        binomial(k_sham, p_sham[n], q_sham[n], known_a, scale, a)
        binomial(k_destroy, p_destroy[n], q_destroy[n], known_b, scale, b)
        total = 0.0
        for x in range(k_sham + 1):
            row = 0.0
            for y in range(k_destroy + 1):
                if selected[x, y]:
                    row += b[y]
            total += a[x] * row
        out[n] = min(total, 1.0)


@kernel
def mark_scores(k_sham: int, k_destroy: int, possible: NDArray[np.bool_]) -> None:
    """Mark each (y·k_sham − x·k_destroy + k_sham·k_destroy) / gcd that some outcome has."""
    common = math.gcd(k_sham, k_destroy)
    x_step, y_step = k_destroy // common, k_sham // common
    for x in range(k_sham + 1):
        for y in range(k_destroy + 1):
            possible[y * y_step + (k_sham - x) * x_step] = True


@kernel
def _spread(
    a: _Floats,
    scale_a: _Integers,
    b: _Floats,
    scale_b: _Integers,
    x_step: int,
    y_step: int,
    mantissa: _Floats,
    scale: _Integers,
) -> None:
    """Add the probability of each outcome to the place of its score."""
    mantissa[:] = 0.0
    scale[:] = 0
    for x in range(a.size):
        for y in range(b.size):
            value = a[x] * b[y]
            if value > 0.0:
                level = scale_a[x] + scale_b[y]
                i = y * y_step + (a.size - 1 - x) * x_step
                if mantissa[i] == 0.0:
                    mantissa[i], scale[i] = value, level
                elif level < scale[i]:
                    mantissa[i] = value + unscale(mantissa[i], scale[i] - level)
                    scale[i] = level
                else:
                    mantissa[i] += unscale(value, level - scale[i])


@kernel
def score_pmf(
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k_sham: int,
    k_destroy: int,
    mantissa: _Floats,
    scale: _Integers,
) -> None:
    """Probability at each place of `mark_scores`, as mantissa·2**(-256·scale); a question a row."""
    if k_sham == k_destroy:
        for n in range(p_sham.size):
            difference_pmf(
                p_sham[n], q_sham[n], p_destroy[n], q_destroy[n], k_sham, mantissa[n], scale[n]
            )
        return
    common = math.gcd(k_sham, k_destroy)
    x_step, y_step = k_destroy // common, k_sham // common
    a, b = np.empty(k_sham + 1), np.empty(k_destroy + 1)
    scale_a, scale_b = np.empty(k_sham + 1, np.int64), np.empty(k_destroy + 1, np.int64)
    ratio_a, ratio_b = np.empty(2 * k_sham + 1), np.empty(2 * k_destroy + 1)
    ratios(k_sham, ratio_a)
    ratios(k_destroy, ratio_b)
    for n in range(p_sham.size):
        scaled_binomial(k_sham, p_sham[n], q_sham[n], ratio_a, a, scale_a)
        scaled_binomial(k_destroy, p_destroy[n], q_destroy[n], ratio_b, b, scale_b)
        _spread(a, scale_a, b, scale_b, x_step, y_step, mantissa[n], scale[n])
