"""One mapping from arms to flips: ``delta({"sham": […], "destroy": […]})``."""

from __future__ import annotations

import re
from typing import Any

from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import Parameter, Reading, call_with

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

    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arms = {"sham": list(flips.sham), "destroy": list(flips.destroy)}
        return call_with(parameters, {only.name: arms})

    return Reading(f"{only.name} = {WORDS}", make)
