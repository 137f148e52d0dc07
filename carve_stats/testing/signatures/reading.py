"""What a signature's file works with: the parameters of an estimator, and a `Reading` of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from itertools import product
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from carve_stats.testing.flips import Flips

__all__ = ["NO_SELF", "Parameter", "Reading", "call_with", "fields_of", "in_ways", "parameters_of"]

NO_SELF = ", and no SELF replays"


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
            {"list", "tuple", "Sequence", "Iterable", "Collection", "List", "Tuple", "Series"}
            & {*words}
        )

    @property
    def is_series(self) -> bool:
        """Whether it is annotated as a pandas Series."""
        given = self.annotation
        if isinstance(given, type):
            return given.__name__ == "Series" and given.__module__.partition(".")[0] == "pandas"
        return re.match(r"(pd\.|pandas\.)?Series\b", self.type_words) is not None

    @property
    def is_no_flips(self) -> bool:
        """Whether it is annotated as what no list of flips is: a pair, a table, texts."""
        if self.is_array:
            return False
        given = self.annotation
        inside = [one for one in get_args(given) if one is not Ellipsis]
        pair = get_origin(given) is tuple and Ellipsis not in get_args(given) and len(inside) > 1
        holds = pair or any(one is str or get_origin(one) in (tuple, list) for one in inside)
        return (
            holds
            or given in (dict, set, frozenset)
            or (re.search(r"\b(Data|Lazy)Frame\b|\bTable\b", self.type_words) is not None)
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
        The same with the conditions spelled otherwise, or without SELF replays, for a function to
        which these mean nothing.
    """

    words: str
    make: Callable[[Flips], tuple[tuple[Any, ...], dict[str, Any]]]
    ordered: bool = True
    takes_invalid: bool = True
    takes_self: bool = False
    notes: tuple[str, ...] = ()
    others: tuple[Reading, ...] = ()


def in_ways(read: Callable[[Callable[[str], str], bool], Reading], own: bool = True) -> Reading:
    """The reading with conditions in small letters; all other ways of writing it are its others.

    Parameters
    ----------
    read : callable
        From how a condition is spelled, and whether SELF replays are given, to the reading.
    own : bool
        Whether SELF replays are given at first.

    Returns
    -------
    Reading
        The first, whose others have ``SHAM``, ``Sham``, and SELF replays where it has none.
    """
    first, *others = (
        read(spell, given)
        for given, spell in product((own, not own), (str.lower, str.upper, str.title))
    )
    return replace(first, others=tuple(others))


def fields_of(made: Any) -> tuple[Parameter, ...] | None:
    """The fields of a dataclass, a NamedTuple or a TypedDict; None of anything else."""
    if not isinstance(made, type):
        return None
    optional = getattr(made, "_field_defaults", {}).keys()  # of a NamedTuple
    if is_typeddict(made):
        optional = getattr(made, "__optional_keys__", frozenset())
    elif is_dataclass(made):
        return parameters_of(made)
    elif not hasattr(made, "_field_defaults"):
        return None
    try:
        hints = get_type_hints(made)
    except (NameError, TypeError):  # annotations that only a type checker can read
        hints = made.__annotations__
    return tuple(Parameter(name, one, name not in optional) for name, one in hints.items())


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
