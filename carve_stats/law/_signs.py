"""Which kernel answers at which k: ties and signs of questions that share a budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels import law as kernels
from carve_stats._kernels import signs as equal_k
from carve_stats._kernels import small
from carve_stats._kernels.tie import equal_tie
from carve_stats.law._rates import FlipRates

__all__ = ["signs", "tie"]


def tie(rates: FlipRates, k_sham: int, k_destroy: int, zero: NDArray[np.float64]) -> None:
    """P(score = 0), a question a row."""
    if k_sham != k_destroy:
        kernels.score_point(*rates.columns(), k_sham, k_destroy, 0, zero)
    elif k_sham <= small.LARGEST and rates.only_p:
        small.small_tie(k_sham)(rates.p_sham, rates.p_destroy, zero)
    elif k_sham <= equal_k.LARGEST:
        unused = np.empty((2, zero.size))
        equal_k.equal_signs(*rates.columns(), k_sham, unused[0], zero, unused[1])
    else:
        equal_tie(*rates.columns(), k_sham, zero)


def signs(
    rates: FlipRates,
    k_sham: int,
    k_destroy: int,
    negative: NDArray[np.float64],
    zero: NDArray[np.float64],
    positive: NDArray[np.float64],
) -> None:
    """P(score < 0), P(score = 0) and P(score > 0), a question a row; the tie is that of `tie`."""
    if k_sham != k_destroy or k_sham > equal_k.LARGEST:
        kernels.signs(*rates.columns(), k_sham, k_destroy, negative, zero, positive)
        if k_sham == k_destroy:
            equal_tie(*rates.columns(), k_sham, zero)
    elif k_sham <= small.LARGEST and rates.only_p:
        small.small_differences(k_sham)(rates.p_sham, rates.p_destroy, negative, positive)
        small.small_tie(k_sham)(rates.p_sham, rates.p_destroy, zero)
    else:
        equal_k.equal_signs(*rates.columns(), k_sham, negative, zero, positive)
