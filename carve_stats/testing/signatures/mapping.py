"""One mapping from arms to flips: ``delta({"sham": […], "destroy": […]})``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import Parameter, Reading, call_with, in_spellings

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

    return in_spellings(lambda spell: _reading(parameters, only, spell))


def _reading(
    parameters: tuple[Parameter, ...], only: Parameter, spell: Callable[[str], str]
) -> Reading:
    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arms = {spell("sham"): list(flips.sham), spell("destroy"): list(flips.destroy)}
        return call_with(parameters, {only.name: arms})

    words = WORDS.replace("sham", spell("sham")).replace("destroy", spell("destroy"))
    return Reading(f"{only.name} = {words}", make)
