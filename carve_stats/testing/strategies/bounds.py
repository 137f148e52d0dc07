"""Bounds of a strategy, checked by their names before anything is drawn."""

from __future__ import annotations

from carve_stats.errors import InputError

__all__ = ["check_bounds"]


def check_bounds(floor: int, **bounds: int) -> None:
    """Refuse bounds that leave nothing to draw.

    Parameters
    ----------
    floor : int
        What the first may be at least.
    **bounds : int
        By name, each at least the one before.

    Raises
    ------
    InputError
        No whole number, or one below the one before.

    Examples
    --------
    >>> check_bounds(1, min_k=5, max_k=3)
    Traceback (most recent call last):
    carve_stats.errors.InputError: max_k=3 must be a whole number, at least min_k=5
    """
    least = str(floor)
    for name, value in bounds.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < floor:
            raise InputError(f"{name}={value!r} must be a whole number, at least {least}")
        floor, least = value, f"{name}={value}"
