"""Tie probabilities, and their derivatives, for every k up to one that is the same in both arms.

With s = p_sham p_destroy + q_sham q_destroy and c = (1 − p_sham − p_destroy)²,

    (k + 1) t_{k+1} = (2k + 1) s t_k − k c t_{k−1},

Bonnet's recursion for the Legendre polynomials. It subtracts, and two equal roots let an error
grow as k²: everything is held to about 32 digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel
from carve_stats._kernels.twofold import add, complements, divide, multiply

_Floats = NDArray[np.float64]
_Twofold = tuple[float, float]


@kernel
def _shares(
    p: float, q: float, u: float, v: float
) -> tuple[_Twofold, _Twofold, _Twofold, _Twofold, _Twofold]:
    """Values of s, c and √c = q − u, and the derivatives of s: u − v by p, p − q by u."""
    p_low, q_low = complements(p, q)
    u_low, v_low = complements(u, v)
    flip, flip_low = multiply(p, p_low, u, u_low)
    stay, stay_low = multiply(q, q_low, v, v_low)
    both = add(flip, flip_low, stay, stay_low)
    root = add(q, q_low, -u, -u_low)
    square = multiply(root[0], root[1], root[0], root[1])
    return both, square, root, add(u, u_low, -v, -v_low), add(p, p_low, -q, -q_low)


@kernel
def _combine(j: int, s: _Twofold, first: _Twofold, c: _Twofold, second: _Twofold) -> _Twofold:
    """Value of (2j + 1) s·first − j c·second."""
    one, one_low = multiply(s[0], s[1], first[0], first[1])
    one, one_low = multiply(one, one_low, 2.0 * j + 1.0, 0.0)
    two, two_low = multiply(c[0], c[1], second[0], second[1])
    two, two_low = multiply(two, two_low, -float(j), 0.0)
    return add(one, one_low, two, two_low)


@kernel
def tie_sequence(
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k: int,
    zero: _Floats,
) -> None:
    """t_0 … t_k, question after question."""
    for n in range(p_sham.size):
        s, c, _, _, _ = _shares(p_sham[n], q_sham[n], p_destroy[n], q_destroy[n])
        before, now = (0.0, 0.0), (1.0, 0.0)
        place = n * (k + 1)
        zero[place] = 1.0
        for j in range(k):
            high, low = _combine(j, s, now, c, before)
            before, now = now, divide(high, low, j + 1.0)
            zero[place + j + 1] = min(max(now[0], 0.0), zero[place + j])  # they never rise


@kernel
def tie_sequence_gradient(
    p_sham: _Floats,
    q_sham: _Floats,
    p_destroy: _Floats,
    q_destroy: _Floats,
    k: int,
    by_sham: _Floats,
    by_destroy: _Floats,
) -> None:
    """Derivatives of t_0 … t_k, question after question: the recursion, differentiated."""
    for n in range(p_sham.size):
        s, c, root, s_sham, s_destroy = _shares(p_sham[n], q_sham[n], p_destroy[n], q_destroy[n])
        c_slope = -2.0 * root[0], -2.0 * root[1]  # by either rate
        before, now = (0.0, 0.0), (1.0, 0.0)
        sham_before, sham = (0.0, 0.0), (0.0, 0.0)
        destroy_before, destroy = (0.0, 0.0), (0.0, 0.0)
        place = n * (k + 1)
        by_sham[place] = by_destroy[place] = 0.0
        for j in range(k):
            one, two = (
                _combine(j, s_sham, now, c_slope, before),
                _combine(j, s, sham, c, sham_before),
            )
            high, low = add(one[0], one[1], two[0], two[1])
            sham_before, sham = sham, divide(high, low, j + 1.0)
            one = _combine(j, s_destroy, now, c_slope, before)
            two = _combine(j, s, destroy, c, destroy_before)
            high, low = add(one[0], one[1], two[0], two[1])
            destroy_before, destroy = destroy, divide(high, low, j + 1.0)
            high, low = _combine(j, s, now, c, before)
            before, now = now, divide(high, low, j + 1.0)
            by_sham[place + j + 1], by_destroy[place + j + 1] = sham[0], destroy[0]
