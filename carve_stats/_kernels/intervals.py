"""The score statistic of a difference of two flip rates, and the limits that invert it.

Sham has x flips of m replays, destroy y of n. The statistic Z(δ) measures how far the observed
y/n − x/m is from a difference δ, in standard errors at the most likely rates that differ by δ.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel

__all__ = ["miettinen_nurminen", "score_statistic"]

_STEPS = 64  # halvings leave 2**-63 of [−1, 1]; Newton's method takes about six


@kernel
def _most_likely(x: int, m: int, y: int, n: int, delta: float) -> float:
    """The most likely p_sham if p_destroy = p_sham + delta, for 0 < delta < 1.

    The slope x/p + y/(p + δ) − (m − x)/(1 − p) − (n − y)/(1 − p − δ) of the log likelihood falls
    in p; its root must not be above the middle (1 − δ)/2. Newton steps inside a bracket: the
    trigonometric solution of the cubic equation loses digits.
    """
    width = 1.0 - delta
    if x == 0 and y / delta <= m + (n - y) / width:
        return 0.0
    low, high = 0.0, 0.5 * width
    p = (x + y - n * delta) / (m + n)
    if not low < p < high:
        p = 0.5 * high
    for _ in range(_STEPS):
        q, p_destroy, q_destroy = 1.0 - p, p + delta, width - p
        ups, downs = x / p + y / p_destroy, (m - x) / q + (n - y) / q_destroy
        bend = x / p / p + y / p_destroy / p_destroy + (m - x) / q / q
        bend += (n - y) / q_destroy / q_destroy
        step = (ups - downs) / bend
        if abs(step) <= 4e-16 * p:
            break
        if step > 0.0:
            low = p
        else:
            high = p
        # Far from the pole at 0 a full step can leave the bracket.
        p = p + step if low < p + step < high else 0.5 * (low + high)
    return p


@kernel
def score_statistic(x: int, m: int, y: int, n: int, delta: float) -> float:
    """Z(δ) = (y/n − x/m − δ) / √(p_s q_s/m + p_d q_d/n) at the most likely rates.

    0/0 is 0. It falls in δ. Exchanging the arms turns its sign, and so does exchanging flips
    with replays that did not flip, bit for bit.
    """
    size = abs(delta)
    if delta < 0.0:
        x, m, y, n = y, n, x, m
    gap = (y * m - x * n) / (m * n) - size
    if gap == 0.0:
        return 0.0
    width = 1.0 - size
    # Both exchanges together leave δ as it is: take the side on which p_sham is the small one.
    if (x + y - n) * (1.0 + size) + (x + y - m) * width > 0.0:
        x, m, y, n = n - y, n, m - x, m
    if size == 0.0:
        p = (x + y) / (m + n)
    elif width == 0.0:
        p = 0.0
    else:
        p = _most_likely(x, m, y, n, size)
    variance = p * (1.0 - p) / m + (p + size) * (width - p) / n
    z = gap / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, gap)
    return -z if delta < 0.0 else z


@kernel
def miettinen_nurminen(
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    m: int,
    n: int,
    z: float,
    out: NDArray[np.float64],
) -> None:
    """The lower limits: where Z(δ)·√((N − 1)/N) = z, with N = m + n, a table a row."""
    critical = z * math.sqrt((m + n) / (m + n - 1.0))
    for i in range(out.size):
        low, high = -1.0, (y[i] * m - x[i] * n) / (m * n)
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            if score_statistic(x[i], m, y[i], n, middle) > critical:
                low = middle
            else:
                high = middle
        out[i] = low
