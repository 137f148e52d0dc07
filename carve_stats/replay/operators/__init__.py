"""Destroy operators, one a file: `load_operator` finds them by the file's name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, unknown_name

__all__ = ["Operator", "load_operator", "operator_names"]


class Operator(Protocol):
    """What destroys the content of a frame and keeps its statistics."""

    def __call__(self, pixels: NDArray[np.uint8], /, *, seed: int) -> NDArray[np.uint8]:
        """The destroyed frame: the same shape and type, the same for the same seed."""
        ...

    def parameters(self) -> Mapping[str, Any]:
        """Name and settings, for the run's plan; plain values that JSON can hold."""
        ...


def operator_names() -> tuple[str, ...]:
    """The operators that there are: one for each file of this folder."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name[0] != "_"))


def load_operator(name: str, **parameters: Any) -> Operator:
    """Make the operator of one name.

    Parameters
    ----------
    name : str
        The name of a file in this folder, for example ``phase``; the file has a function
        ``build(**parameters)``.
    **parameters
        The operator's own settings.

    Returns
    -------
    Operator
        Called with the pixels of a frame and a seed.

    Raises
    ------
    InputError
        An unknown name, or a setting that the operator does not have.

    Examples
    --------
    >>> load_operator("phase").parameters()["name"]
    'phase'
    """
    if name not in operator_names():
        raise InputError(unknown_name("operator", name, operator_names()))
    build = importlib.import_module(f"{__name__}.{name}").build
    settings = inspect.signature(build).parameters
    for parameter in parameters:
        if parameter not in settings:
            known = ", ".join(settings) or "none"
            raise InputError(
                f"operator {name!r} has no setting {parameter!r}: its settings are {known}"
            )
    operator: Operator = build(**parameters)
    return operator
