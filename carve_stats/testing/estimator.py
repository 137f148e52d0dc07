"""An estimator of anyone's, called with flips."""

from __future__ import annotations

import copy
import dataclasses
import io
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np

from carve_stats.errors import one_line
from carve_stats.testing.flips import Flips
from carve_stats.testing.results import Failed, Value, read_result
from carve_stats.testing.signatures.reading import Reading

__all__ = ["Estimator"]

_NEW = object()


class _Nowhere(io.TextIOBase):
    """Where what an estimator prints goes: it is called two hundred thousand times."""

    def write(self, text: str, /) -> int:
        return len(text)


_NOWHERE = _Nowhere()


class Estimator:
    """From flips to a score, by somebody's function.

    Parameters
    ----------
    function : callable
        The estimator.
    reading : Reading
        How flips become its arguments.
    """

    def __init__(self, function: Callable[..., Any], reading: Reading) -> None:
        self._function = function
        self.reading = reading
        self._values: dict[Flips, Value] = {}

    def __call__(self, flips: Flips) -> Value:
        """What it says of these replays; asked only once."""
        value: Any = self._values.get(flips, _NEW)
        if value is _NEW:
            value = self._values[flips] = self.ask(flips)
        return value

    def ask(self, flips: Flips) -> Value:
        """What it says of these replays, asked anew."""
        arguments, keywords = self.reading.make(flips)
        return self._call(flips, arguments, keywords)

    def changes_input(self, flips: Flips) -> bool | None:
        """Whether its arguments are others after the call; None where that cannot be told."""
        given = self.reading.make(flips)
        try:
            before = copy.deepcopy(given)
        except Exception:  # what adapt made need not be something that can be copied
            return None
        self._call(flips, *given)
        same = _same(given, before)
        return None if same is None else not same

    def _call(self, flips: Flips, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Value:
        try:
            with redirect_stdout(_NOWHERE), redirect_stderr(_NOWHERE):
                return read_result(self._function(*arguments, **keywords))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() in an estimator is a failure like others
            undefined = not all(any(flip is not None for flip in arm) for arm in flips[:2])
            if isinstance(error, ValueError) and undefined:
                return None  # a refusal to score an arm without a valid replay
            words = one_line(error)
            return Failed(
                f"raises {words.removesuffix(':')}{' without a word' * (words[-1] == ':')}"
            )


def _same(a: Any, b: Any) -> bool | None:
    """Whether one is what the other is; None where they cannot be compared."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, list | tuple):
        return len(a) == len(b) and _all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and _all(_same(a[key], b[key]) for key in a)
    if dataclasses.is_dataclass(a):
        names = [f.name for f in dataclasses.fields(a)]
        return _all(_same(getattr(a, name), getattr(b, name)) for name in names)
    if getattr(type(a), "__eq__", None) is object.__eq__:  # which a copy never passes
        return _same(vars(a), vars(b)) if hasattr(a, "__dict__") else None
    equals = getattr(a, "equals", None)  # a table's == is a table
    try:
        return bool(equals(b) if callable(equals) else a == b)
    except Exception:
        return None


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    found = [*verdicts]
    return False if False in found else None if None in found else True
