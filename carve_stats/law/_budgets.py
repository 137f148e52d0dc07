"""Run a kernel over questions of mixed budgets: one call for each budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.law._rates import FlipRates

__all__ = ["budget_groups", "compute", "flat", "shaped"]


def flat(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The values broadcast to the shape, contiguous and one-dimensional, as kernels need."""
    return np.ascontiguousarray(np.broadcast_to(values, shape)).ravel()


def shaped(values: NDArray[Any], shape: tuple[int, ...]) -> Any:
    """The values in that shape; a Python float where it is ()."""
    return values.reshape(shape) if shape else float(values.reshape(()))


def budget_groups(
    k_sham: NDArray[np.int64], k_destroy: NDArray[np.int64]
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Each pair of budgets with the rows that have it; 1-D arrays of one length."""
    order = np.lexsort((k_destroy, k_sham))
    changes = (np.diff(k_sham[order]) != 0) | (np.diff(k_destroy[order]) != 0)
    for rows in np.split(order, np.flatnonzero(changes) + 1):
        if rows.size:
            yield int(k_sham[rows[0]]), int(k_destroy[rows[0]]), rows


def compute(
    kernel: Callable[..., None],
    outputs: int,
    shape: tuple[int, ...],
    rates: FlipRates,
    k_sham: NDArray[np.int64],
    k_destroy: NDArray[np.int64],
) -> tuple[Any, ...]:
    """Outputs of ``kernel(rates, k_sham, k_destroy, *out)``, each of the shape."""
    out = [np.empty(len(rates)) for _ in range(outputs)]
    if k_sham.ndim == k_destroy.ndim == 0:
        kernel(rates, int(k_sham), int(k_destroy), *out)
    else:
        for one_sham, one_destroy, rows in budget_groups(
            flat(k_sham, shape), flat(k_destroy, shape)
        ):
            part = [np.empty(rows.size) for _ in range(outputs)]
            kernel(rates[rows], one_sham, one_destroy, *part)
            for whole, values in zip(out, part, strict=True):
                whole[rows] = values
    return tuple(shaped(values, shape) for values in out)
