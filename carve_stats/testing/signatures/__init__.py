"""How estimators take their flips, one way a file.

A file ``signatures/<name>.py`` with ``WORDS`` and a function ``read(parameters, declared=…)``,
which answers "is this mine?" with a `Reading` or None, is all that a new one takes. Those with
``BY_ARM`` read the fields of a dataclass too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from carve_stats.errors import InputError, check_name
from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import Reading, parameters_of

__all__ = ["ADAPT", "adapted", "read_signature", "signatures"]

ADAPT = "give adapt=, a function of (sham, destroy, self_flips) that returns its arguments"


@cache
def signatures() -> dict[str, ModuleType]:
    """The files of this folder that read signatures, by name."""
    modules = {m.name: import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)}
    return {name: module for name, module in modules.items() if hasattr(module, "read")}


def read_signature(function: Callable[..., Any], signature: str | None) -> Reading:
    """How a function takes its flips.

    Parameters
    ----------
    function : callable
        The estimator.
    signature : str, optional
        The name of a file in this folder; without it the names and annotations of the
        parameters decide.

    Returns
    -------
    Reading
        How to call it.

    Raises
    ------
    InputError
        No signature is this function's; the message lists those that there are.

    Examples
    --------
    >>> def delta(destroy_flips, sham_flips): ...
    >>> read_signature(delta, None).words
    'lists of flips, None an invalid replay: destroy_flips = DESTROY, sham_flips = SHAM'
    """
    known = signatures()
    _refuse_unbound(function)
    if signature is not None:
        check_name("signature", signature, known)
    parameters = parameters_of(function)
    ways = {signature: known[signature]} if signature is not None else known
    if parameters is not None:
        for module in ways.values():
            reading: Reading | None = module.read(parameters, declared=signature is not None)
            if reading is not None:
                return reading
    shown = (
        "which cannot be told"
        if parameters is None
        else (f"({', '.join(p.name for p in parameters)})")
    )
    wanted = "none that is known" if signature is None else f"not those of signature={signature!r}"
    listed = "; ".join(f"{name}: {module.WORDS}" for name, module in known.items())
    raise InputError(
        f"the estimator's parameters {shown} are {wanted}: name one of the signatures ({listed}),"
        f" or {ADAPT}"
    )


def _refuse_unbound(function: Callable[..., Any]) -> None:
    """A method taken from its class would be given SELF replays for its object."""
    around, _, name = getattr(function, "__qualname__", "").rpartition(".")
    if inspect.isfunction(function) and around and not around.endswith("<locals>"):
        first = next(iter(inspect.signature(function).parameters), None)
        if first == "self":
            raise InputError(
                f"the estimator {around}.{name} is a method without its object: give"
                f" {around}(...).{name}, or a function that calls it"
            )


def adapted(adapt: Callable[..., Any]) -> Reading:
    """A reading by a function of the user's own.

    Parameters
    ----------
    adapt : callable
        From three lists of 1, 0 and None (SHAM, DESTROY, SELF) to the arguments of the estimator: a
        tuple, and a dict of those by keyword.

    Returns
    -------
    Reading
        How to call it.
    """

    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        try:
            arguments, keywords = adapt(*map(list, flips))
            return tuple(arguments), dict(keywords)
        except (TypeError, ValueError) as error:
            raise InputError(
                "adapt must take the lists (sham, destroy, self_flips) and return (arguments,"
                f" keywords), a tuple and a dict: {error}"
            ) from error

    return Reading("what adapt makes of the flips", make, takes_self=True)
