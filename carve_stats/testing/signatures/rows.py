"""A list of dicts, one a replay: ``delta([{"condition": "sham", "flip": True}, …])``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import Parameter, Reading, call_with, in_spellings

__all__ = ["WORDS", "read"]

WORDS = 'a list of {"condition": "sham", "flip": True}, one a replay, None an invalid one'


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """One argument annotated as a list of dicts, or named ``records``, ``rows`` or ``replays``."""
    required = [p for p in parameters if p.required]
    if len(required) != 1:
        return None
    (only,) = required
    annotated = re.search(r"\[(collections\.abc\.|typing\.)?([Dd]ict|Mapping)\b", only.type_words)
    starts = re.match(r"(collections\.abc\.|typing\.)?([Dd]ict|Mapping)\b", only.type_words)
    named = not only.type_words and only.name in ("records", "rows", "replays")
    if not (declared or (annotated and not starts) or named):
        return None

    return in_spellings(lambda spell: _reading(parameters, only, spell))


def _reading(
    parameters: tuple[Parameter, ...], only: Parameter, spell: Callable[[str], str]
) -> Reading:
    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rows = [
            {
                "question": "q",
                "condition": spell(condition),
                "repetition": repetition,
                "flip": None if flip is None else bool(flip),
            }
            for condition, replays in zip(("sham", "destroy", "self"), flips, strict=True)
            for repetition, flip in enumerate(replays)
        ]
        return call_with(parameters, {only.name: rows})

    return Reading(f"{only.name} = {WORDS.replace('sham', spell('sham'))}", make, takes_self=True)
