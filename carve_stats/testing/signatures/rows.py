"""A list of dicts, one a replay: ``delta([{"condition": "sham", "flip": True}, …])``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import NO_SELF, Parameter, Reading, call_with, in_ways

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

    first, *others = (
        in_ways(partial(_reading, parameters, only, *keys))
        for keys in product(("condition", "arm"), ("flip", "flipped"))
    )
    also = [way for other in others for way in (other, *other.others)]
    return replace(first, others=(*first.others, *also))


def _reading(
    parameters: tuple[Parameter, ...],
    only: Parameter,
    arm: str,
    flipped: str,
    spell: Callable[[str], str],
    own: bool,
) -> Reading:
    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rows = [
            {
                "question": "q",
                arm: spell(condition),
                "repetition": repetition,
                flipped: None if flip is None else bool(flip),
            }
            for condition, replays in zip(("sham", "destroy", "self"), flips, strict=True)
            if own or condition != "self"
            for repetition, flip in enumerate(replays)
        ]
        return call_with(parameters, {only.name: rows})

    words = WORDS.replace("sham", spell("sham")).replace("condition", arm).replace("flip", flipped)
    return Reading(f"{only.name} = {words}{NO_SELF * (not own)}", make, takes_self=own)
