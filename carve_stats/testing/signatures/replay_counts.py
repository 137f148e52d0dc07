"""``delta(counts: ReplayCounts)``, which gives one score a question."""

from __future__ import annotations

from typing import Any

from carve_stats.counts import ReplayCounts
from carve_stats.testing.flips import Arm, Flips
from carve_stats.testing.signatures.reading import Parameter, Reading, call_with

__all__ = ["WORDS", "read"]

WORDS = "ReplayCounts of one question"


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """One argument, annotated as ReplayCounts or named ``counts``."""
    required = [p for p in parameters if p.required]
    if len(required) != 1:
        return None
    (only,) = required
    named = "ReplayCounts" in only.type_words or (not only.type_words and only.name == "counts")
    if not (declared or named):
        return None

    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        sham, destroy, own = map(_counts, flips)
        counts = ReplayCounts(
            ["q"], *sham[:2], *destroy[:2], self_flips=own[0], self_replays=own[1],
            self_invalid=own[2], sham_invalid=sham[2], destroy_invalid=destroy[2],
        )  # fmt: skip
        return call_with(parameters, {only.name: counts})

    words = f"{only.name} = ReplayCounts of one question"
    return Reading(words, make, ordered=False, takes_self=True)


def _counts(arm: Arm) -> tuple[list[int], list[int], list[int]]:
    invalid = arm.count(None)
    return [arm.count(1)], [len(arm) - invalid], [invalid]
