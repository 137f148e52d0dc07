"""How often each item is drawn in a resample: uniform draws with replacement, counted.

The generator is SplitMix64 [1]_, one stream a resample, so that a resample depends on the
seed and its own number only. A word is cut into lanes, and a lane becomes an index by
Lemire's multiplication with rejection [2]_: every item is exactly equally likely.

References
----------
.. [1] G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
   OOPSLA 2014.
.. [2] D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel

__all__ = ["count_draws"]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)


@kernel
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@kernel
def count_draws(
    seed: np.uint64,
    first: np.uint64,
    items: np.uint64,
    bits: np.uint64,
    tally: NDArray[np.uint8],
    out: NDArray[np.float32],
) -> None:
    """Draw `items` times from `items` items, and count, for each row of `out`.

    Parameters
    ----------
    seed : uint64
        Names all the resamples.
    first : uint64
        The number of the resample in row 0.
    items : uint64
        How many items there are; at most 2**bits.
    bits : uint64
        Width of a lane, 16 or 32.
    tally : ndarray of uint8, shape (items,)
        Scratch. No item can be drawn 256 times in less than 10**500 resamples.
    out : ndarray of float32, shape (resamples, items)
        The counts, ready for a matrix product.
    """
    full = np.uint64(1) << bits
    mask = full - np.uint64(1)
    biased = full % items
    lanes = np.int64(np.uint64(64) // bits)
    one = np.uint8(1)
    for row in range(out.shape[0]):
        state = _mix(seed + _GAMMA * _mix(first + np.uint64(row)))
        tally[:] = 0
        missing = np.int64(items)
        while missing > 0:
            state += _GAMMA
            word = _mix(state)
            for _ in range(min(lanes, missing)):
                product = (word & mask) * items
                word >>= bits
                if (product & mask) >= biased:
                    tally[product >> bits] += one
                    missing -= 1
        for item in range(out.shape[1]):
            out[row, item] = tally[item]
