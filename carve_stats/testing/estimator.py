"""An estimator of anyone's, called with flips."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from carve_stats.errors import one_line
from carve_stats.testing.flips import Flips
from carve_stats.testing.results import Failed, Value, read_result
from carve_stats.testing.signatures.reading import Reading

__all__ = ["Estimator"]

_NEW = object()


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

    def changes_input(self, flips: Flips) -> bool:
        """Whether its arguments are others after the call."""
        given = self.reading.make(flips)
        before = copy.deepcopy(given)
        self._call(flips, *given)
        return not _same(given, before)

    def _call(self, flips: Flips, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Value:
        try:
            return read_result(self._function(*arguments, **keywords))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() in an estimator is a failure like others
            undefined = not all(any(flip is not None for flip in arm) for arm in flips[:2])
            if isinstance(error, ValueError) and undefined:
                return None  # a refusal to score an arm without a valid replay
            return Failed(f"raises {one_line(error)}")


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if dataclasses.is_dataclass(a):
        names = [f.name for f in dataclasses.fields(a)]
        return all(_same(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b)
