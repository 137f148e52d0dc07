"""Recursions over the states of one question that is replayed step by step.

A state is i SHAM replays, x of them flipped, and j DESTROY replays, y flipped. Arrays over states
have the row i(i + 1)/2 + x and the column j(j + 1)/2 + y.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel

__all__ = ["count_paths", "optimal_actions", "sum_outcomes"]

_Floats = NDArray[np.float64]

_EQUAL = 1.0 - 1e-12  # costs this near are the same: SHAM then goes first, on any machine


@kernel
def sum_outcomes(k_sham: int, k_destroy: int, leaves: _Floats, out: _Floats) -> None:
    """For every state, the sum of `leaves` (x, y) over the sequences that complete it."""
    for i in range(k_sham, -1, -1):
        for x in range(i + 1):
            row = i * (i + 1) // 2 + x
            below = row + i + 1
            for j in range(k_destroy, -1, -1):
                for y in range(j + 1):
                    column = j * (j + 1) // 2 + y
                    if i < k_sham:
                        out[row, column] = out[below, column] + out[below + 1, column]
                    elif j < k_destroy:
                        beside = column + j + 1
                        out[row, column] = out[row, beside] + out[row, beside + 1]
                    else:
                        out[row, column] = leaves[x, y]


@kernel
def optimal_actions(
    k_sham: int,
    k_destroy: int,
    cost_sham: float,
    cost_destroy: float,
    mass: _Floats,
    stop: _Floats,
    action: NDArray[np.int8],
    value: _Floats,
) -> None:
    """The actions of least expected cost: 0 a SHAM replay, 1 a DESTROY replay, −1 stop.

    `mass` is the probability of one sequence that leads to a state, `stop` what it costs to stop
    there, both over all questions, and so is `value`; no transition probability is needed.
    """
    for i in range(k_sham, -1, -1):
        for j in range(k_destroy, -1, -1):
            for x in range(i + 1):
                row = i * (i + 1) // 2 + x
                for y in range(j + 1):
                    column = j * (j + 1) // 2 + y
                    best, least = -1, stop[row, column]
                    if i < k_sham:
                        below = row + i + 1
                        cost = cost_sham * mass[row, column]
                        cost += value[below, column] + value[below + 1, column]
                        if cost < least * _EQUAL:
                            best, least = 0, cost
                    if j < k_destroy:
                        beside = column + j + 1
                        cost = cost_destroy * mass[row, column]
                        cost += value[row, beside] + value[row, beside + 1]
                        if cost < least * _EQUAL:
                            best, least = 1, cost
                    action[row, column] = best
                    value[row, column] = least


@kernel
def count_paths(
    k_sham: int,
    k_destroy: int,
    action: NDArray[np.int8],
    first_sham: tuple[int, int],
    first_destroy: tuple[int, int],
    out: _Floats,
) -> None:
    """How many sequences lead to each state, among those whose first replays are as given.

    `action` and `out` have the shape (A + 1, B + 1, S, D): a invalid SHAM and b invalid DESTROY
    replays come before the row and the column, and A and B are the most that are looked at.
    `first_sham` is (k′, u): u of the first k′ valid SHAM replays flipped; (0, 0) admits all.
    """
    invalid_sham, invalid_destroy = action.shape[0] - 1, action.shape[1] - 1
    out[:] = 0.0
    out[0, 0, 0, 0] = 1.0
    for made in range(k_sham + k_destroy + 1):
        for a in range(min(invalid_sham, made) + 1):
            for b in range(min(invalid_destroy, made - a) + 1):
                valid = made - a - b
                for i in range(max(0, valid - k_destroy + b), min(k_sham - a, valid) + 1):
                    j = valid - i
                    for x in range(i + 1):
                        row = i * (i + 1) // 2 + x
                        below = row + i + 1
                        for y in range(j + 1):
                            column = j * (j + 1) // 2 + y
                            beside = column + j + 1
                            paths = out[a, b, row, column]
                            if (i == first_sham[0] and x != first_sham[1]) or (
                                j == first_destroy[0] and y != first_destroy[1]
                            ):
                                out[a, b, row, column] = 0.0
                            elif action[a, b, row, column] == 0:
                                out[a, b, below, column] += paths
                                out[a, b, below + 1, column] += paths
                                if a < invalid_sham:
                                    out[a + 1, b, row, column] += paths
                            elif action[a, b, row, column] == 1:
                                out[a, b, row, beside] += paths
                                out[a, b, row, beside + 1] += paths
                                if b < invalid_destroy:
                                    out[a, b + 1, row, column] += paths
