"""The numba options of every kernel, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba import njit

__all__ = ["kernel"]

_F = TypeVar("_F", bound=Callable[..., object])

# error_model: a division by zero is an inf or a NaN, as in NumPy, and costs no branch.
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def kernel(function: _F) -> _F:
    """Compile a function on its first call, and keep the machine code on disk if possible.

    Parameters
    ----------
    function : callable
        Scalars and arrays in; scalars, or nothing where it writes into `out` arrays.

    Returns
    -------
    callable
        The compiled function; `function` itself under ``NUMBA_DISABLE_JIT=1``.
    """
    try:
        return njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # a read-only install and no writable home: there is nowhere to keep it
        return njit(cache=False, **_OPTIONS)(function)
