"""Sums over clusters drawn with replacement, as many as there are: the multinomial bootstrap.

Random words come from a counter-based 32-bit hash [1]_ keyed by the seed and the number of the
resample, so that a resample depends on these two only, whatever is computed beside it. The
loops that make words have no branches: the compiler turns them into vector instructions.

Few items are drawn one by one and counted. Of many, each item first gets an independent Poisson
count: given their total these counts are multinomial, so drawing what is missing one by one
makes the resample exactly multinomial [2]_. Where there are already too many, the resample is
drawn anew, one by one, which does not change that law.

A word decides a draw without rejection [3]_, and a Poisson count by comparison with rounded
probabilities: no probability of a draw or a count is off by more than 2**-32. The words of a
resample are all different, which narrows the spread of what n words decide by a share of about
n / 2**32: 2e-5 for 100,000 items.

References
----------
.. [1] G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
   OOPSLA 2014, for the keys; C. Wellons, "Prospecting for hash functions" (2018), lowbias32,
   for the words.
.. [2] L. Devroye, *Non-Uniform Random Variate Generation*, Springer 1986, §XI.1.
.. [3] D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.jit import kernel

__all__ = ["resample_sums"]

# Of more items than this, Poisson counts are quicker than single draws.
MOST_COUNTED = 4096
# How many standard deviations the expected Poisson total stays below what is to be drawn.
MARGIN = 3.0

# A block of counts stays in the processor's cache.
_BLOCK_BYTES = 1 << 18
_TILE = 1024
# Resamples that `count_draws` counts side by side: one row of counts alone would be read again
# before it was written.
_SIDE_BY_SIDE = 4
# More than 12 at a mean of at most 1 has probability 6e-11, which is below 2**-32.
_MOST_POISSON = 12

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)

_HASH_1, _HASH_2 = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
_S15, _S16 = np.uint32(15), np.uint32(16)


def resample_sums(
    table: NDArray[np.float64], seed: np.uint64, resamples: int
) -> NDArray[np.float64]:
    """Column sums of as many rows as the table has, drawn with replacement.

    Parameters
    ----------
    table : ndarray of float, shape (items, m)
        Best with columns of mean zero: the products are in single precision.
    seed : uint64
        Names all the resamples.
    resamples : int
        How many.

    Returns
    -------
    ndarray of float, shape (resamples, m)
        One row a resample.
    """
    with np.errstate(over="ignore"):  # the generator counts modulo 2**32 and 2**64
        if len(table) <= MOST_COUNTED:
            return _sums_of_counts(table, seed, resamples)
        return _sums_of_poisson_counts(table, seed, resamples)


def _sums_of_counts(
    table: NDArray[np.float64], seed: np.uint64, resamples: int
) -> NDArray[np.float64]:
    items = len(table)
    single = table.astype(np.float32)
    groups = -(-resamples // _SIDE_BY_SIDE)
    block = _SIDE_BY_SIDE * min(groups, _BLOCK_BYTES // (4 * items * _SIDE_BY_SIDE))
    counters = _scramble(_SIDE_BY_SIDE * items)
    drawn = np.empty(len(counters), np.uint32)
    counts = np.empty((block, items), np.float32)
    sums = np.empty((groups * _SIDE_BY_SIDE, table.shape[1]))
    for first in range(0, len(sums), block):
        rows = counts[: len(sums) - first]
        count_draws(seed, np.uint64(first), counters, drawn, rows)
        sums[first : first + len(rows)] = rows @ single
    return sums[:resamples]


def _sums_of_poisson_counts(
    table: NDArray[np.float64], seed: np.uint64, resamples: int
) -> NDArray[np.float64]:
    items = len(table)
    single = table.astype(np.float32)
    thresholds = poisson_thresholds(max(0.0, 1 - MARGIN / math.sqrt(items)))
    block = _BLOCK_BYTES // (4 * _TILE)
    counters = _scramble(items)
    counts = np.empty((block, _TILE), np.float32)
    sums = np.zeros((resamples, table.shape[1]))
    totals = np.zeros(resamples, np.int64)
    for first in range(0, resamples, block):
        last = min(first + block, resamples)
        for start in range(0, items, _TILE):
            tile = counters[start : start + _TILE]
            rows = counts[: last - first, : len(tile)]
            count_poisson(seed, np.uint64(first), tile, thresholds, totals[first:last], rows)
            sums[first:last] += rows @ single[start : start + _TILE]
    draw_missing(seed, totals, table, sums)
    return sums


def poisson_thresholds(mean: float) -> NDArray[np.uint32]:
    """The words above which a Poisson count is more than 0, more than 1, up to more than 11.

    Parameters
    ----------
    mean : float
        At most 1.

    Returns
    -------
    ndarray of uint32, shape (12,)
        2**32 P(count <= j) − 1, rounded.
    """
    j = np.arange(_MOST_POISSON)
    factorials = np.cumprod(np.maximum(j, 1), dtype=float)
    at_most = np.cumsum(math.exp(-mean) * mean**j / factorials)
    return (np.rint(np.minimum(at_most, 1) * 2**32) - 1).astype(np.uint32)


def _scramble(size: int) -> NDArray[np.uint32]:
    """The numbers 0, …, size − 1 hashed: all different, and without a pattern."""
    counters = np.empty(size, np.uint32)
    hash_numbers(counters)
    return counters


@kernel
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@kernel
def _hash(counter: np.uint32, key: np.uint32, second_key: np.uint32) -> np.uint32:
    x = np.uint32(counter + key)
    x = np.uint32(np.uint32(x ^ (x >> _S16)) * _HASH_1 + second_key)
    x = np.uint32(np.uint32(x ^ (x >> _S15)) * _HASH_2)
    return np.uint32(x ^ (x >> _S16))


@kernel
def hash_numbers(out: NDArray[np.uint32]) -> None:
    """Hash 0, 1, … without a key, into `out`."""
    zero = np.uint32(0)
    for i in range(out.size):
        out[i] = _hash(np.uint32(i), zero, zero)


@kernel
def _draw(
    counters: NDArray[np.uint32],
    key: np.uint32,
    second_key: np.uint32,
    items: np.uint64,
    out: NDArray[np.uint32],
) -> None:
    for i in range(out.size):
        word = np.uint64(_hash(counters[i], key, second_key))
        out[i] = np.uint32((word * items) >> _32)


@kernel
def count_draws(
    seed: np.uint64,
    first: np.uint64,
    counters: NDArray[np.uint32],
    drawn: NDArray[np.uint32],
    out: NDArray[np.float32],
) -> None:
    """Draw `items` times from `items` items, and count, for each row of `out`.

    Parameters
    ----------
    seed : uint64
        Names all the resamples.
    first : uint64
        The number of the resample in row 0, a multiple of 4.
    counters : ndarray of uint32, shape (4 * items,)
        A different number for each draw of four resamples.
    drawn : ndarray of uint32, shape (4 * items,)
        Scratch.
    out : ndarray of float32, shape (resamples, items)
        The counts, ready for a matrix product; a multiple of 4 resamples.
    """
    items = out.shape[1]
    one = np.float32(1)
    for row in range(0, out.shape[0], 4):
        key = _mix(seed + _GAMMA * _mix(first + np.uint64(row)))
        _draw(counters, np.uint32(key & _LOW), np.uint32(key >> _32), np.uint64(items), drawn)
        rows = out[row : row + 4]
        rows[:, :] = 0
        for i in range(items):
            rows[0, drawn[i]] += one
            rows[1, drawn[i + items]] += one
            rows[2, drawn[i + 2 * items]] += one
            rows[3, drawn[i + 3 * items]] += one


@kernel
def _poisson_row(
    counters: NDArray[np.uint32],
    key: np.uint32,
    second_key: np.uint32,
    thresholds: NDArray[np.uint32],
    out: NDArray[np.float32],
) -> np.int32:
    # Spelled out: a loop over the thresholds would not be turned into vector instructions.
    t0, t1, t2, t3 = thresholds[0], thresholds[1], thresholds[2], thresholds[3]
    t4, t5, t6, t7 = thresholds[4], thresholds[5], thresholds[6], thresholds[7]
    t8, t9, t10, t11 = thresholds[8], thresholds[9], thresholds[10], thresholds[11]
    total = np.int32(0)
    for i in range(out.size):
        u = _hash(counters[i], key, second_key)
        count = np.uint8(
            np.uint8(u > t0) + np.uint8(u > t1) + np.uint8(u > t2) + np.uint8(u > t3)
            + np.uint8(u > t4) + np.uint8(u > t5) + np.uint8(u > t6) + np.uint8(u > t7)
            + np.uint8(u > t8) + np.uint8(u > t9) + np.uint8(u > t10) + np.uint8(u > t11)
        )  # fmt: skip
        total = np.int32(total + np.int32(count))
        out[i] = np.float32(count)
    return total


@kernel
def count_poisson(
    seed: np.uint64,
    first: np.uint64,
    counters: NDArray[np.uint32],
    thresholds: NDArray[np.uint32],
    totals: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Independent Poisson counts of some of the items, for each row of `out`.

    Parameters
    ----------
    seed, first : uint64
        As in `count_draws`; any number of the first resample will do.
    counters : ndarray of uint32, shape (items,)
        A different number for each item.
    thresholds : ndarray of uint32, shape (12,)
        From `poisson_thresholds`.
    totals : ndarray of int64, shape (resamples,)
        The counts of each resample are added to these.
    out : ndarray of float32, shape (resamples, items)
        The counts.
    """
    for row in range(out.shape[0]):
        key = _mix(seed + _GAMMA * _mix(first + np.uint64(row)))
        low, high = np.uint32(key & _LOW), np.uint32(key >> _32)
        totals[row] += _poisson_row(counters, low, high, thresholds, out[row])


@kernel
def draw_missing(
    seed: np.uint64,
    totals: NDArray[np.int64],
    table: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add rows drawn one by one, until each resample has as many as the table.

    Parameters
    ----------
    seed : uint64
        As in `count_draws`.
    totals : ndarray of int64, shape (resamples,)
        How many each resample has; one with too many is drawn anew.
    table : ndarray of float, shape (items, m)
        The rows.
    sums : ndarray of float, shape (resamples, m)
        The sums of each resample.
    """
    items = np.uint64(table.shape[0])
    for row in range(sums.shape[0]):
        state = _mix(~seed + _GAMMA * _mix(np.uint64(row)))  # another stream than the counts'
        missing = table.shape[0] - totals[row]
        if missing < 0:
            sums[row] = 0
            missing = table.shape[0]
        for _ in range(missing):
            state += _GAMMA
            item = ((_mix(state) >> _32) * items) >> _32
            for column in range(table.shape[1]):
                sums[row, column] += table[item, column]
