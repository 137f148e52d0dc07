"""What an estimator returned, read as a score."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np

__all__ = ["Failed", "Value", "close", "exactly", "read_result", "show"]

_TOLERANCE = Fraction(4, 2**53)  # a few units in the last place of a flip rate


@dataclass(frozen=True, slots=True)
class Failed:
    """No score, and none meant: the words say what happened instead."""

    words: str


Value = int | Fraction | float | Decimal | Failed | None


def read_result(result: Any, depth: int = 0) -> Value:
    """A score from whatever an estimator returns.

    Parameters
    ----------
    result : object
        A number of any kind, an array of one, an object with an attribute ``delta`` or ``score``,
        or a mapping with such a key. None, NaN, pandas.NA and what NumPy masks are an undefined
        score.
    depth : int
        How deep within the result this is.

    Returns
    -------
    int, Fraction, float, Decimal, None or Failed
        Rationals stay exact.

    Examples
    --------
    >>> read_result(Fraction(1, 2)), read_result({"delta": np.float64(0.5)}), read_result([0.5])
    (Fraction(1, 2), 0.5, 0.5)
    >>> read_result("1/2")
    Failed(words="returns '1/2', which is no score")
    """
    if result is None or result is np.ma.masked:
        return None
    if type(result) in (int, Fraction):
        return result
    if isinstance(result, np.ndarray | list | tuple) and np.size(result) == 1 and depth < 3:
        return read_result(np.asarray(result, dtype=object).ravel()[0], depth + 1)
    if isinstance(result, bool | np.bool_ | complex):
        return Failed(f"returns {result!r}, which is no score")
    if isinstance(result, Integral):
        return int(result)
    if isinstance(result, Rational):
        return Fraction(int(result.numerator), int(result.denominator))
    if isinstance(result, Real | Decimal):
        return None if math.isnan(result) else result if type(result) is Decimal else float(result)
    for name in ("delta", "score"):
        if isinstance(result, Mapping):
            if name in result and depth < 3:
                return read_result(result[name], depth + 1)
        elif hasattr(result, name) and depth < 3:
            return read_result(getattr(result, name), depth + 1)
    if type(result).__name__ == "NAType":  # of pandas, which need not be there
        return None
    if inspect.iscoroutine(result):
        result.close()  # else Python warns that nobody waited for it
        return Failed("is async and returns a coroutine: give a plain function")
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        return Failed("is a generator: give a function that returns the score")
    shown = " ".join(repr(result).split())
    return Failed(f"returns {shown[:80]}, which is no score")


def exactly(value: int | Fraction | float | Decimal) -> Fraction | float:
    """The rational that a value is; infinities stay what they are."""
    return Fraction(value) if math.isfinite(value) else float(value)


def close(a: Value, b: Value) -> bool:
    """Whether two values are one score, rounding apart.

    Parameters
    ----------
    a, b : value
        Whole numbers and fractions are compared exactly; floats within 2⁻⁵¹, a few units in the
        last place of a flip rate.

    Returns
    -------
    bool
        False where either failed; two undefined scores are one.
    """
    if a is None or b is None or isinstance(a, Failed) or isinstance(b, Failed):
        return a is None and b is None
    if a == b:
        return True
    if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
        return False
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    return abs(Fraction(a) - Fraction(b)) <= _TOLERANCE


def show(value: Value) -> str:
    """A value in words: ``the function`` … ``says 1/2``.

    Examples
    --------
    >>> show(Fraction(1, 2)), show(None), show(Failed("raises KeyError: 'sham'"))
    ('says 1/2', 'says undefined', "raises KeyError: 'sham'")
    """
    if isinstance(value, Failed):
        return value.words
    return f"says {'undefined' if value is None else value}"
