"""Law of repairs − harms when questions are chosen at random, in one stratum or in many.

Of N questions R are repairable, H harmable and Z = N − R − H neither; m are chosen, each set of
m as likely as any other. Binomial counts that are given their sum have that law, whatever p is:

    P(a repairs, b harms) = b_R(a; p) b_H(b; p) b_Z(m − a − b; p) / b_N(m; p),

so that three laws of one variable, made outward from their modes, give all cells by products,
and the sum over the cells sets the level. No term is negative, there nor in the convolutions
that add independent strata: nothing cancels. At p = ½ the probabilities of few questions are
whole numbers over 2**N, and the law is exact but for one rounding or two.

What can be left out of the ends of a law, with a probability of CUT at each end, is left out; the
sum of what was left out is kept beside the law.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.binomial import SMALL, binomial, constants
from carve_stats._kernels.jit import kernel

__all__ = ["CUT", "convolve_all", "stratum_laws"]

CUT = 1e-32

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]


@kernel
def _ends(law: _Floats) -> tuple[int, int, float]:
    """First entry and the one after the last to be kept, and the sum of the others."""
    first, below = 0, 0.0
    while below + law[first] <= CUT:
        below += law[first]
        first += 1
    last, above = law.size, 0.0
    while above + law[last - 1] <= CUT:
        above += law[last - 1]
        last -= 1
    return first, last, below + above


@kernel
def _normalise(law: _Floats) -> float:
    """Make the sum 1; returns what it was."""
    total = 0.0
    for start in range(0, law.size, 64):  # sums of sums lose less
        part = 0.0
        for j in range(start, min(start + 64, law.size)):
            part += law[j]
        total += part
    for j in range(law.size):
        law[j] /= total
    return total


@kernel
def _binomial(k: int, p: float, q: float) -> tuple[_Floats, int, int, float]:
    """b_k(j; p) for j = 0 … k, and its `_ends`."""
    law = np.empty(k + 1)
    binomial(k, p, q, constants(k), np.empty(k + 1, np.int64), law)
    first, last, lost = _ends(law)
    return law, first, last, lost


@kernel
def _net_law(repairs: int, harms: int, questions: int, selected: int, out: _Floats) -> float:
    """P(net = d) into out[d + harms], which is zero before; returns what was left out."""
    if questions <= SMALL:
        p = q = 0.5
    elif 2 * selected <= questions:
        p = selected / questions
        q = 1.0 - p
    else:
        q = (questions - selected) / questions
        p = 1.0 - q
    repair, a_first, a_last, a_lost = _binomial(repairs, p, q)
    harm, b_first, b_last, b_lost = _binomial(harms, p, q)
    other, c_first, c_last, c_lost = _binomial(questions - repairs - harms, p, q)
    backward = harm[::-1].copy()
    for a in range(a_first, a_last):
        least = max(b_first, selected - a - c_last + 1)
        most = min(b_last - 1, selected - a - c_first)
        if least > most:
            continue
        # As the net goes up by one with a fixed, harms go down and the others up by one.
        nets = out[a - most + harms : a - least + harms + 1]
        harmed = backward[harms - most : harms - least + 1]
        others = other[selected - a - most : selected - a - least + 1]
        weight = repair[a]
        for j in range(nets.size):
            nets[j] += weight * harmed[j] * others[j]
    return (a_lost + b_lost + c_lost) / _normalise(out)


@kernel
def stratum_laws(
    repairs: _Integers,
    harms: _Integers,
    questions: _Integers,
    selected: _Integers,
    share: _Floats,
    start: _Integers,
    values: _Floats,
    stop: _Integers,
    lowest: _Integers,
    lost: _Floats,
) -> None:
    """Law of the net in each stratum by itself.

    Parameters
    ----------
    repairs, harms, questions, selected : ndarray of int, shape (strata,)
        How many there are of each, and how many are chosen.
    share : ndarray of float, shape (strata,)
        How often one more is chosen than `selected`.
    start : ndarray of int, shape (strata,)
        In: where in `values` the repairs + harms + 1 entries of a stratum begin. Out: where what
        was kept of them begins.
    values : ndarray of float
        The laws; zero before.
    stop : ndarray of int, shape (strata,)
        Out: where what was kept ends.
    lowest : ndarray of int, shape (strata,)
        Out: the net at `start`.
    lost : ndarray of float, shape (strata,)
        Out: at most so much of the probability was left out.
    """
    for i in range(repairs.size):
        size = repairs[i] + harms[i] + 1
        law = values[start[i] : start[i] + size]
        out = _net_law(repairs[i], harms[i], questions[i], selected[i], law)
        if share[i] > 0.0:
            more = np.zeros(size)
            out += _net_law(repairs[i], harms[i], questions[i], selected[i] + 1, more)
            for j in range(size):
                law[j] = (1.0 - share[i]) * law[j] + share[i] * more[j]
        first, last, ends = _ends(law)
        lost[i] = out + ends
        lowest[i] = first - harms[i]
        stop[i] = start[i] + last
        start[i] += first


@kernel
def _convolve(a: _Floats, b: _Floats, out: _Floats) -> None:
    if a.size > b.size:
        a, b = b, a
    out[:] = 0.0
    for i in range(a.size):
        shifted = out[i : i + b.size]
        weight = a[i]
        for j in range(b.size):
            shifted[j] += weight * b[j]
    _normalise(out)


@kernel
def convolve_all(
    values: _Floats, start: _Integers, stop: _Integers, lowest: _Integers, lost: _Floats
) -> tuple[_Floats, int, float]:
    """Law of the sum over all strata, at least one: of pairs, of pairs of pairs, and on.

    Parameters
    ----------
    values, start, stop, lowest, lost
        As `stratum_laws` leaves them.

    Returns
    -------
    law : ndarray of float
        Without its ends.
    lowest : int
        The net at its beginning.
    lost : float
        At most so much of the probability was left out.
    """
    room = 0
    for i in range(start.size):
        room += stop[i] - start[i]
    # Of each two neighbours the sum takes less room than they do.
    one, other = np.empty(room), np.empty(room)
    begin, low, out = np.empty(start.size + 1, np.int64), lowest.copy(), lost.copy()
    begin[0] = 0
    for i in range(start.size):
        begin[i + 1] = begin[i] + stop[i] - start[i]
        one[begin[i] : begin[i + 1]] = values[start[i] : stop[i]]
    laws = start.size
    while laws > 1:
        end = 0
        for i in range(0, laws - 1, 2):
            a, b = one[begin[i] : begin[i + 1]], one[begin[i + 1] : begin[i + 2]]
            both = other[end : end + a.size + b.size - 1]
            _convolve(a, b, both)
            first, last, ends = _ends(both)
            for j in range(first, last):
                other[end + j - first] = both[j]
            low[i // 2] = low[i] + low[i + 1] + first
            out[i // 2] = out[i] + out[i + 1] + ends
            begin[i // 2] = end
            end += last - first
        if laws % 2:
            i = laws - 1
            size = begin[i + 1] - begin[i]
            other[end : end + size] = one[begin[i] : begin[i + 1]]
            low[i // 2], out[i // 2], begin[i // 2] = low[i], out[i], end
            end += size
        laws = (laws + 1) // 2
        begin[laws] = end
        one, other = other, one
    return one[: begin[1]].copy(), low[0], out[0]
