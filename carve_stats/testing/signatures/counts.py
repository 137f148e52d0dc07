"""Four counts: ``delta(sham_flips, sham_replays, destroy_flips, destroy_replays)``."""

from __future__ import annotations

from typing import Any

from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.names import kind_of
from carve_stats.testing.signatures.reading import Parameter, Reading, call_with

__all__ = ["BY_ARM", "WORDS", "read"]

WORDS = "flips and valid replays of each arm, four whole numbers"
BY_ARM = True

_ROLES = [(arm, kind) for arm in ("sham", "destroy") for kind in ("flips", "replays")]


def read(parameters: tuple[Parameter, ...], *, declared: bool) -> Reading | None:
    """Four whole numbers by name; those whose names mean nothing are SHAM's and then DESTROY's."""
    if not declared and any(p.is_sequence or p.is_array for p in parameters):
        return None
    roles = {
        p.name: (arm, kind or "flips") for p in parameters for arm, kind in [kind_of(p.name)] if arm
    }
    unknown = [p.name for p in parameters if p.required and p.name not in roles]
    notes: tuple[str, ...] = ()
    if len(unknown) == 4 and not roles:
        roles = dict(zip(unknown, _ROLES, strict=True))
        notes = (
            f"The names {', '.join(unknown)} do not say what they count: read as SHAM flips, SHAM"
            " replays, DESTROY flips, DESTROY replays.",
        )
        unknown = []
    given = [*roles.values()]
    if unknown or not {*_ROLES} <= {*given} or len(given) != len({*given}):
        return None

    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arms = {"sham": flips.sham, "destroy": flips.destroy, "self": flips.self_flips}
        values = {}
        for name, (arm, kind) in roles.items():
            replays = arms[arm]
            values[name] = (
                replays.count(1) if kind == "flips" else len(replays) - replays.count(None)
            )
        return call_with(parameters, values)

    words = ", ".join(f"{name} = {arm.upper()} {kind}" for name, (arm, kind) in roles.items())
    takes_self = any(arm == "self" for arm, _ in given)
    return Reading(f"counts: {words}", make, False, False, takes_self, notes)
