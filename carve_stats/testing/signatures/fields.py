"""One dataclass, NamedTuple or TypedDict with the arms as fields: ``delta(replays: Replays)``."""

from __future__ import annotations

import dataclasses
from typing import Any

from carve_stats.counts import ReplayCounts
from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import Parameter, Reading, call_with, fields_of

__all__ = ["WORDS", "read"]

WORDS = "one dataclass, NamedTuple or TypedDict with the arms as fields"


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """One argument annotated with a class whose fields are read as parameters are."""
    required = [p for p in parameters if p.required]
    if len(required) != 1:
        return None
    (only,) = required
    made = only.annotation
    fields = fields_of(made)
    if fields is None or made is ReplayCounts:
        return None
    from carve_stats.testing.signatures import signatures

    readers = [m.read for m in signatures().values() if getattr(m, "BY_ARM", False)]
    texts = {f.name: "q" for f in fields if f.required and f.annotation is str}  # ids, say
    arms = tuple(f for f in fields if f.name not in texts)
    inner = next(filter(None, (read(arms, declared=False) for read in readers)), None)
    if inner is None:
        return None

    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arguments, keywords = inner.make(flips)
        return call_with(parameters, {only.name: made(*arguments, **keywords, **texts)})

    return dataclasses.replace(
        inner, words=f"{only.name} = one {made.__name__} of {inner.words}", make=make
    )
