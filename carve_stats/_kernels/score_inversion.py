"""Exact lower limits for p_destroy − p_sham: the differences that a table does not rule out.

A difference δ is ruled out if at no pair of rates that differ by δ the tables at least as extreme
as the observed one have a probability above `enough`. The limit is the smallest δ that is not
ruled out. Cells of δ are ruled out whole, from −1 upwards, halved where that fails.

On a cell [first, last] the extreme tables are at most those that are as extreme for some δ
of it: an upper set U and, in a two-sided test, a lower set L. U grows likelier with
p_destroy and L less likely, so that P(U) at (π, π + last) plus P(L) at (π, π + first), which is
one polynomial in π, is nowhere exceeded. Where π leaves the range that both allow, the corner of
that sliver bounds it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.bernstein import supremum
from carve_stats._kernels.intervals import score_statistic
from carve_stats._kernels.jit import kernel

__all__ = ["BY_DIFFERENCE", "ONE_SIDED", "TWO_SIDED", "exact_lower_limits"]

TWO_SIDED, ONE_SIDED, BY_DIFFERENCE = 0, 1, 2

_DEEPEST = 44  # cells of width 2**-44, or 5.7e-14
_SLACK = 2.0**-45  # scores closer than this, relative to 1 + |score|, count as equal
_ROUNDING = 2.0**-50

_Integers = NDArray[np.int64]
_Floats = NDArray[np.float64]


@kernel
def _add_replay(flips: _Floats, size: int, p: float, out: _Floats) -> None:
    """The distribution of the flips of `size` + 1 replays, from that of `size`; `out` may be it."""
    out[size + 1] = flips[size] * p
    for x in range(size, 0, -1):
        out[x] = flips[x] * (1.0 - p) + flips[x - 1] * p
    out[0] = flips[0] * (1.0 - p)


@kernel
def _binomial(k: int, p: float, out: _Floats) -> None:
    """P(X = x) for the flips X of k replays."""
    out[0] = 1.0
    for size in range(k):
        _add_replay(out, size, p, out)


@kernel
def _binomial_forms(k: int, low: float, high: float, out: _Floats) -> None:
    """Bernstein coefficients of b_k(x; p) for p from `low` to `high`: out[i, x] = P(X = x).

    X counts the flips of k − i replays at `low` and i at `high`, so that all are positive.
    """
    out[0, 0] = 1.0
    for size in range(k):
        _add_replay(out[size], size, high, out[size + 1])
        for i in range(size + 1):
            _add_replay(out[i], size, low, out[i])


@kernel
def _sums_from(forms: _Floats, k: int, out: _Floats) -> None:
    """P(Y >= y) for y = 0 … k + 1, in each row."""
    for i in range(k + 1):
        out[i, k + 1] = 0.0
        for y in range(k, -1, -1):
            out[i, y] = out[i, y + 1] + forms[i, y]


@kernel
def _sums_below(forms: _Floats, k: int, out: _Floats) -> None:
    """P(Y < y) for y = 0 … k + 1, in each row."""
    for i in range(k + 1):
        out[i, 0] = 0.0
        for y in range(k + 1):
            out[i, y + 1] = out[i, y] + forms[i, y]


@kernel
def _product_weights(m: int, n: int) -> _Floats:
    """C(m, i)·C(n, j) / C(m + n, i + j), which turn products of Bernstein forms into one."""
    weights = np.empty((m + 1, n + 1))
    weights[0, 0] = 1.0
    for j in range(n):
        weights[0, j + 1] = weights[0, j] * (n - j) / (m + n - j)
    for i in range(m):
        for j in range(n + 1):
            weights[i + 1, j] = (
                weights[i, j] * ((m - i) * (i + j + 1)) / ((i + 1) * (m + n - i - j))
            )
    return weights


@kernel
def _narrow(
    x: int, m: int, y: int, n: int, first: float, last: float, two_sided: bool,
    upper: _Integers, lower: _Integers,
) -> None:  # fmt: skip
    """Take out of U and L the tables that are less extreme than (x, y) on the whole cell.

    U holds the tables (i, j) with j >= upper[i], and L those with j < lower[i]. As Z falls in δ,
    its ends on the cell are its values at the cell's ends. Both sets are kept closed under
    further flips in their direction, which the score statistic fulfils but for rounding.
    """
    z = score_statistic(x, m, y, n, last)
    if two_sided:
        at_first = score_statistic(x, m, y, n, first)
        z = min(abs(z), abs(at_first)) if z * at_first > 0.0 else 0.0
    z -= _SLACK * (1.0 + abs(z))
    for i in range(m, -1, -1):
        j = upper[i]
        while j <= n and score_statistic(i, m, j, n, first) < z:
            j += 1
        upper[i] = j if i == m else min(j, upper[i + 1])
    if two_sided:
        for i in range(m + 1):
            j = lower[i]
            while j > 0 and score_statistic(i, m, j - 1, n, last) > -z:
                j -= 1
            lower[i] = j if i == 0 else max(j, lower[i - 1])


@kernel
def _ruled_out(
    m: int, n: int, first: float, last: float, enough: float, upper: _Integers, lower: _Integers,
    weights: _Floats, sham: _Floats, destroy: _Floats, above: _Floats, below: _Floats,
) -> bool:  # fmt: skip
    """Whether P(U) + P(L) is at most `enough` for every δ of the cell."""
    start, stop = max(0.0, -first), min(1.0, 1.0 - last)
    _binomial_forms(m, start, stop, sham)
    _binomial_forms(n, start + last, stop + last, destroy)
    _sums_from(destroy, n, above)
    _binomial_forms(n, start + first, stop + first, destroy)
    _sums_below(destroy, n, below)
    coefficients, tail = np.zeros(m + n + 1), np.empty(m + 1)
    for j in range(n + 1):
        for x in range(m + 1):
            tail[x] = above[j, upper[x]] + below[j, lower[x]]
        for i in range(m + 1):
            total = 0.0
            for x in range(m + 1):
                total += sham[i, x] * tail[x]
            coefficients[i + j] += weights[i, j] * total
    # The sliver: π from −last to −first where δ <= 0, else from 1 − last to 1 − first.
    edge, j = (0.0, 0) if last <= 0.0 else (1.0, n)
    fewest, most = sham[0], sham[1]
    _binomial(m, edge - last, fewest)
    _binomial(m, edge - first, most)
    corner = 0.0
    for x in range(m + 1):
        corner += fewest[x] * above[j, upper[x]] + most[x] * below[j, lower[x]]
    return corner <= enough and supremum(coefficients, enough, 0.0)[1] <= enough


@kernel
def exact_lower_limits(
    x: _Integers, y: _Integers, m: int, n: int, ordering: int, enough: float, out: _Floats
) -> None:
    """The exact lower limits of the tables (x, y), at most 1e-10 below the infimum, a table a row.

    Parameters
    ----------
    x, y : ndarray of int
        Flips of the m sham and the n destroy replays.
    m, n : int
        Replays.
    ordering : int
        What is at least as extreme: ``TWO_SIDED``, a score statistic of at least the observed
        size; ``ONE_SIDED``, one of at least the observed value; ``BY_DIFFERENCE``, a difference
        y/n − x/m of at least the observed one.
    enough : float
        A difference with a probability of at most this is ruled out; less than 1.
    out : ndarray of float
        The limits.
    """
    uppers = np.empty((_DEEPEST + 1, m + 1), np.int64)
    lowers = np.zeros((_DEEPEST + 1, m + 1), np.int64)
    sham, destroy = np.empty((m + 1, m + 1)), np.empty((n + 1, n + 1))
    above, below = np.empty((n + 1, n + 2)), np.empty((n + 1, n + 2))
    weights = _product_weights(m, n)
    enough *= 1.0 - (m + n + 4) * _ROUNDING
    for table in range(out.size):
        a, b = x[table], y[table]
        out[table] = -1.0
        if a == m and b == 0:  # the one table that is certain where δ = −1
            continue
        depth, index = 0, 0
        while True:  # the last cell is never ruled out: at δ = 1 all tables are as extreme
            width = 2.0**-depth
            first = index * width - 1.0
            upper, lower = uppers[depth], lowers[depth]
            if depth > 0:
                upper[:], lower[:] = uppers[depth - 1], lowers[depth - 1]
            elif ordering == BY_DIFFERENCE:
                for i in range(m + 1):
                    upper[i] = min(max(0, -((a * n - b * m - i * n) // m)), n + 1)
            else:
                upper[:], lower[:] = 0, n + 1 if ordering == TWO_SIDED else 0
            if ordering != BY_DIFFERENCE:
                _narrow(a, m, b, n, first, first + width, ordering == TWO_SIDED, upper, lower)
            if _ruled_out(
                m, n, first, first + width, enough, upper, lower,
                weights, sham, destroy, above, below,
            ):  # fmt: skip
                index += 1
                while depth > 0 and index % 2 == 0:
                    index //= 2
                    depth -= 1
            elif depth < _DEEPEST:
                index *= 2
                depth += 1
            else:
                out[table] = first
                break
