"""A NumPy array of flips an arm: ``delta(sham: np.ndarray, destroy: np.ndarray)``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.testing.flips import Arm
from carve_stats.testing.signatures.names import arm_reading
from carve_stats.testing.signatures.reading import Parameter, Reading

__all__ = ["BY_ARM", "WORDS", "read"]

WORDS = "a NumPy array of 1, 0 and NaN an arm"
BY_ARM = True


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """One array an arm, of float64, shape (k,); NaN is an invalid replay."""
    if not declared and not any(p.is_array for p in parameters):
        return None
    return arm_reading(parameters, _array, "NumPy arrays of flips, NaN an invalid replay")


def _array(arm: Arm, _: Parameter) -> NDArray[np.float64]:
    return np.array([np.nan if flip is None else flip for flip in arm], dtype=float)
