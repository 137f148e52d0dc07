"""A list of flips an arm: ``delta(sham, destroy)``."""

from __future__ import annotations

from typing import Any

from carve_stats.testing.flips import Arm
from carve_stats.testing.signatures.names import arm_reading
from carve_stats.testing.signatures.reading import Parameter, Reading

__all__ = ["BY_ARM", "WORDS", "read"]

WORDS = "a list of 1, 0 and None an arm"
BY_ARM = True


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """One list an arm; with 1 a flip, 0 none and None an invalid replay."""
    if not declared and any(p.is_array or p.is_series for p in parameters):
        return None
    return arm_reading(parameters, _flips, "lists of flips, None an invalid replay")


def _flips(arm: Arm, parameter: Parameter) -> Any:
    as_bool = "bool" in parameter.type_words
    values = [bool(f) if as_bool and f is not None else f for f in arm]
    return tuple(values) if parameter.type_words.lower().startswith("tuple") else values
