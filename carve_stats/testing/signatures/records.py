"""A list of a dataclass, a NamedTuple or a TypedDict: ``delta(replays: list[Replay])``."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args, get_origin

from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import (
    NO_SELF,
    Parameter,
    Reading,
    call_with,
    fields_of,
    in_ways,
)

__all__ = ["WORDS", "read"]

WORDS = "a list of a dataclass, a NamedTuple or a TypedDict, one record a replay"

_CONDITIONS = ("sham", "destroy", "self")
_FILLED: dict[Any, Callable[[int], Any]] = {int: int, str: lambda _: "q", float: float}


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """One argument annotated as a list of records with a condition (or arm) and a flip."""
    required = [p for p in parameters if p.required]
    if len(required) != 1:
        return None
    (only,) = required
    inside = get_args(only.annotation) if get_origin(only.annotation) is not dict else ()
    made = inside[0] if inside else None
    fields = {f.name: f for f in fields_of(made) or ()}
    if made is None or not fields:
        return None
    arm = next((name for name in ("condition", "arm") if name in fields), None)
    flip = next((name for name in ("flip", "flipped") if name in fields), None)
    rest = [f for f in fields.values() if f.required and f.name not in (arm, flip)]
    if arm is None or flip is None or any(f.annotation not in _FILLED for f in rest):
        return None
    names = _condition_names(fields[arm].annotation)
    if names is not None and not {"sham", "destroy"} <= names.keys():
        return None

    def reading(names: Mapping[str, Any], own: bool) -> Reading:
        def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
            rows = [
                made(
                    **{f.name: _FILLED[f.annotation](i) for f in rest},
                    **{arm: names[c], flip: value},
                )
                for c, replays in zip(_CONDITIONS, flips, strict=True)
                if c in names and (own or c != "self")
                for i, value in enumerate(None if f is None else bool(f) for f in replays)
            ]
            return call_with(parameters, {only.name: rows})

        shown = f"{only.name} = a list of {made.__name__}, {arm} = {names['sham']!r}"
        words = f"{shown} and {names['destroy']!r}, {flip} = None an invalid replay"
        return Reading(words + NO_SELF * (not own), make, takes_self=own)

    if names is None:
        return in_ways(lambda spell, own: reading({c: spell(c) for c in _CONDITIONS}, own))
    if "self" not in names:
        return reading(names, own=False)
    return replace(reading(names, own=True), others=(reading(names, own=False),))


def _condition_names(annotation: Any) -> dict[str, Any] | None:
    """What this record calls each condition: members of an enumeration, or literal texts."""
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        values = {str(member.value).lower(): member for member in annotation}
        return values | {member.name.lower(): member for member in annotation}
    named = [value for value in get_args(annotation) if isinstance(value, str)]
    return {value.lower(): value for value in named} or None
