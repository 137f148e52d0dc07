"""What a signature's file works with: the parameters of an estimator, and a `Reading` of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from carve_stats.testing.flips import Flips

__all__ = ["Parameter", "Reading", "call_with", "in_spellings", "parameters_of"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an estimator, or a field of what it takes."""

    name: str
    annotation: Any = None
    required: bool = True
    positional_only: bool = False
    keyword_only: bool = False

    @property
    def type_words(self) -> str:
        """Its annotation as it is written, empty without one."""
        given = self.annotation
        if given is None:
            return ""
        return (
            given.__name__
            if isinstance(given, type) and not hasattr(given, "__args__")
            else str(given)
        )

    @property
    def is_array(self) -> bool:
        """Whether it is annotated as a NumPy array."""
        return re.search("ndarray|NDArray|ArrayLike|_SupportsArray", self.type_words) is not None

    @property
    def is_sequence(self) -> bool:
        """Whether it is annotated as something that holds flips."""
        words = re.split(r"\W+", self.type_words)
        return bool(
            {"list", "tuple", "Sequence", "Iterable", "Collection", "List", "Tuple"} & {*words}
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """How flips become the arguments of an estimator.

    Parameters
    ----------
    words : str
        The same in words.
    make : callable
        Positional and keyword arguments from flips, made anew at each call.
    ordered, takes_invalid, takes_self : bool
        Whether the arguments hold the order of replays, the invalid ones, the SELF replays.
    notes : tuple of str
        What had to be guessed.
    others : tuple of Reading
        The same with the conditions spelled otherwise, for a function to which these mean nothing.
    """

    words: str
    make: Callable[[Flips], tuple[tuple[Any, ...], dict[str, Any]]]
    ordered: bool = True
    takes_invalid: bool = True
    takes_self: bool = False
    notes: tuple[str, ...] = ()
    others: tuple[Reading, ...] = ()


def in_spellings(read: Callable[[Callable[[str], str]], Reading]) -> Reading:
    """The reading with conditions in small letters; ``SHAM`` and ``Sham`` are its others.

    Parameters
    ----------
    read : callable
        From how a condition is spelled to the reading.

    Returns
    -------
    Reading
        The first of the three.
    """
    first, *others = (read(spell) for spell in (str.lower, str.upper, str.title))
    return replace(first, others=tuple(others))


def parameters_of(function: Callable[..., Any]) -> tuple[Parameter, ...] | None:
    """The parameters of a function, a method or a class; None where they cannot be told."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError):
        try:  # annotations that only a type checker can read stay texts
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return None
    found = signature.parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in found):
        return None
    return tuple(
        Parameter(
            p.name,
            None if p.annotation is p.empty else p.annotation,
            p.default is p.empty,
            p.kind is p.POSITIONAL_ONLY,
            p.kind is p.KEYWORD_ONLY,
        )
        for p in found
        if p.kind is not p.VAR_KEYWORD
    )


def call_with(
    parameters: tuple[Parameter, ...], values: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments from values by name."""
    first = {p.name for p in parameters if p.positional_only}
    given = [p.name for p in parameters if p.name in values]
    return (
        tuple(values[name] for name in given if name in first),
        {name: values[name] for name in given if name not in first},
    )
