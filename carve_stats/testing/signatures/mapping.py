"""One mapping from arms to flips: ``delta({"sham": […], "destroy": […]})``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import Parameter, Reading, call_with, in_ways

__all__ = ["WORDS", "read"]

WORDS = 'one mapping {"sham": […], "destroy": […]}, None an invalid replay'


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """One argument annotated as a dict or a mapping, or named ``arms`` or ``conditions``."""
    required = [p for p in parameters if p.required]
    if len(required) != 1:
        return None
    (only,) = required
    annotated = re.match(r"(collections\.abc\.|typing\.)?([Dd]ict|Mapping)\b", only.type_words)
    named = not only.type_words and only.name in ("arms", "conditions")
    if not (declared or annotated or named):
        return None

    return in_ways(lambda spell, own: _reading(parameters, only, spell, own), own=False)


def _reading(
    parameters: tuple[Parameter, ...], only: Parameter, spell: Callable[[str], str], own: bool
) -> Reading:
    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arms = {spell("sham"): list(flips.sham), spell("destroy"): list(flips.destroy)}
        if own:
            arms[spell("self")] = list(flips.self_flips)
        return call_with(parameters, {only.name: arms})

    words = WORDS.replace("sham", spell("sham")).replace("destroy", spell("destroy"))
    and_self = " and SELF" if own else ""
    return Reading(f"{only.name} = {words}{and_self}", make, takes_self=own)
