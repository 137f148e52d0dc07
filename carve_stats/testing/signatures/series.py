"""A pandas Series of flips an arm: ``delta(sham: pd.Series, destroy: pd.Series)``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from carve_stats.errors import InputError
from carve_stats.testing.flips import Arm
from carve_stats.testing.signatures.names import arm_reading
from carve_stats.testing.signatures.reading import Parameter, Reading

__all__ = ["BY_ARM", "WORDS", "read"]

WORDS = "a pandas Series of 1, 0 and NaN an arm"
BY_ARM = True


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """One Series an arm, of float64, shape (k,); NaN is an invalid replay."""
    if not declared and not any(p.is_series for p in parameters):
        return None
    if find_spec("pandas") is None:
        raise InputError("the estimator takes pandas Series, and pandas is not installed")
    return arm_reading(parameters, _series, "pandas Series of flips, NaN an invalid replay")


def _series(arm: Arm, _: Parameter) -> Any:
    flips = [float("nan") if flip is None else flip for flip in arm]
    return import_module("pandas").Series(flips, dtype="float64")
