"""The wording and the checks of the arguments that laws and populations share."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError

__all__ = [
    "Rational",
    "as_fraction",
    "error_rate",
    "generator",
    "numbers",
    "one_number",
    "one_whole_number",
    "probability",
    "replay_budget",
    "two_names",
    "whole_number",
]

Rational = Fraction | int | float | str
"""A threshold of the score: ``Fraction(1, 3)``, ``0``, ``"1/3"``, or a float."""

_LONG_EXPONENT = re.compile(r"[eE][+-]?[0-9_]{4}")

_LARGEST = 2**31 - 1  # so that y·k_sham − x·k_destroy fits in 64 bits


def probability(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """A read-only copy as float64; InputError for NaN and anything outside [0, 1]."""
    array = numbers(name, value, "a probability, between 0 and 1").astype(np.float64)
    array += 0.0  # no negative zeros
    # A NaN makes both comparisons false.
    if array.size and not (array.min() >= 0.0 and array.max() <= 1.0):
        _refuse(name, array, ~((array >= 0.0) & (array <= 1.0)), "a probability, between 0 and 1")
    array.flags.writeable = False
    return array


def whole_number(
    name: str, value: ArrayLike, *, least: int = 1, most: int = _LARGEST
) -> NDArray[np.int64]:
    """A read-only copy as int64; InputError for fractions, NaN and what is out of range."""
    rule = f"a whole number of at least {least}"
    array = numbers(name, value, rule)
    _refuse(name, array, ~((array >= least) & (array == np.floor(array))), rule)
    _refuse(name, array, array > most, f"a whole number of at most {most}")
    whole = array.astype(np.int64)
    whole.flags.writeable = False
    return whole


def one_whole_number(name: str, value: ArrayLike, *, least: int = 1) -> int:
    """One whole number as int; InputError for arrays and what `whole_number` refuses."""
    array = whole_number(name, value, least=least)
    if array.ndim:
        raise InputError(f"{name} is an array: give one whole number")
    return int(array)


def one_number(name: str, value: ArrayLike) -> float:
    """One number as float; InputError for anything that is none. Its range is not checked."""
    array = numbers(name, value, "a number")
    if array.ndim:
        raise InputError(f"{name} is an array: give one number")
    return float(array)


def error_rate(level: ArrayLike) -> float:
    """1 − level exactly as the digits of the level have it, so that .95 leaves .05.

    InputError for anything but one number above 0 and below 1.
    """
    number = one_number("level", level)
    error = float(1 - Fraction(repr(number))) if 0.0 < number < 1.0 else 0.0
    if not 0.0 < error < 1.0:
        raise InputError(
            f"level={level!r} must lie between 0 and 1, by more than 1e-16; for example 0.95"
        )
    return error


def replay_budget(
    k: ArrayLike | None, k_sham: ArrayLike | None, k_destroy: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """k_sham and k_destroy, from one k for both or from the two."""
    if k is not None:
        if k_sham is not None or k_destroy is not None:
            raise InputError("k and k_sham or k_destroy together: give k, or the other two")
        both = whole_number("k", k)
        return both, both
    if k_sham is None or k_destroy is None:
        raise InputError("replays a question: give k, or both k_sham and k_destroy")
    return whole_number("k_sham", k_sham), whole_number("k_destroy", k_destroy)


def as_fraction(name: str, value: Rational) -> Fraction:
    """A rational number; InputError for anything else, NaN and infinities included."""
    try:
        # A long exponent would make a number of as many digits.
        if isinstance(value, str) and _LONG_EXPONENT.search(value):
            raise ValueError
        return Fraction(value)
    except (ValueError, OverflowError, TypeError, ZeroDivisionError):
        raise InputError(f"{name}={value!r} must be a number, such as 0 or '1/3'") from None


def generator(rng: np.random.Generator | int) -> np.random.Generator:
    """The generator itself, or a new one from a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(rng)
    raise InputError(f"rng={rng!r} must be a numpy.random.Generator or a seed of at least 0")


def numbers(name: str, value: ArrayLike, rule: str) -> NDArray[Any]:
    """The value as an array of whole numbers or floats; InputError that states the rule."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(f"{name} has masked entries: leave them out, or fill them")
    try:
        array = np.array(value)
    except ValueError:
        raise InputError(f"{name} must be {rule}, or an array of one shape") from None
    if array.dtype.kind not in "iuf":
        given = f"={value!r}" if array.ndim == 0 else f" holds {array.dtype} values and"
        raise InputError(f"{name}{given} must be {rule}")
    return array


def _refuse(name: str, array: NDArray[Any], bad: NDArray[np.bool_], rule: str) -> None:
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        place = name + (f"[{', '.join(map(str, index))}]" if index else "")
        raise InputError(f"{place}={array[index]} must be {rule}")


def two_names(names: object) -> tuple[str, str]:
    """What two results that are compared are called; InputError unless two different texts."""
    if (
        not isinstance(names, tuple | list)
        or len(names) != 2
        or not all(isinstance(name, str) and name.strip() for name in names)
        or names[0] == names[1]
    ):
        raise InputError(f"names={names!r} must be two different names")
    return names[0], names[1]
