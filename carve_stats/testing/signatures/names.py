"""The arms that the names of parameters mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from carve_stats.testing.flips import Arm, Flips
from carve_stats.testing.signatures.reading import Parameter, Reading, call_with

__all__ = ["arm_reading", "kind_of"]

_ARMS = {
    "self": {"self"},
    "sham": {"sham", "shams", "control", "controls", "ks", "ns"},
    "destroy": {"destroy", "destroyed", "treatment", "treated", "kd", "nd"},
}
_LETTERS = {"s": "sham", "d": "destroy"}  # at the end of a name, as in k_s
_USUAL = {"x": "sham", "xs": "sham", "y": "destroy", "ys": "destroy"}
_FLIPS = {"flip", "flips", "flipped", "x", "y", "xs", "ys", "hits", "successes"}
_REPLAYS = {"replays", "k", "n", "m", "ks", "kd", "ns", "nd", "total", "totals", "trials", "valid"}
_LABELS = {"arm", "arms", "condition", "conditions", "group", "groups", "label", "labels"}
_PLANNED = {"k", "planned", "planned_k", "k_planned", "planned_replays", "n_planned", "budget"}


def kind_of(name: str) -> tuple[str | None, str | None]:
    """The arm that a name means, and whether it counts flips or replays.

    Examples
    --------
    >>> kind_of("sham_flips"), kind_of("k_d"), kind_of("x"), kind_of("values")
    (('sham', 'flips'), ('destroy', 'replays'), ('sham', 'flips'), (None, None))
    """
    found = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    words = {*found}
    named = [arm for arm, known in _ARMS.items() if words & known]
    named += [_LETTERS[word] for word in found[1:] if word in _LETTERS]
    named += [_USUAL[word] for word in found if word in _USUAL]
    kind = "flips" if words & _FLIPS else "replays" if words & _REPLAYS else None
    return named[0] if named else None, kind


def arm_reading(
    parameters: tuple[Parameter, ...], convert: Callable[[Arm, Parameter], Any], what: str
) -> Reading | None:
    """One argument an arm, by name; None where the names are others."""
    found = _arms_by_name(parameters)
    if found is None:
        return None
    arms, notes = found
    taken = [p for p in parameters if p.name in arms]

    def make(flips: Flips) -> tuple[tuple[Any, ...], dict[str, Any]]:
        sham, destroy, own = flips
        given = {"sham": sham, "destroy": destroy, "self": own}
        k = {
            "planned": max(len(sham), len(destroy)),
            "planned sham": len(sham),
            "planned destroy": len(destroy),
            "planned self": len(own),
        }
        values = {
            p.name: convert(given[role], p) if role in given else k[role]
            for p in taken
            for role in [arms[p.name]]
        }
        return call_with(parameters, values)

    roles = ", ".join(f"{name} = {_role_words(arm)}" for name, arm in arms.items())
    return Reading(f"{what}: {roles}", make, takes_self="self" in arms.values(), notes=notes)


def _arms_by_name(
    parameters: tuple[Parameter, ...],
) -> tuple[dict[str, str], tuple[str, ...]] | None:
    """Which parameter takes which arm's replays, or the planned k.

    Parameters
    ----------
    parameters : tuple of Parameter
        Those with names that mean nothing are SHAM and DESTROY, in this order.

    Returns
    -------
    dict and tuple of str, or None
        ``sham``, ``destroy``, ``self``, ``planned`` or ``planned sham`` of each parameter, and what
        was guessed; None where the names do not say it.
    """
    arms: dict[str, str] = {}
    unknown = []
    held = {kind_of(p.name)[0] for p in parameters if p.is_sequence or p.is_array}
    for parameter in parameters:
        arm, kind = kind_of(parameter.name)
        alone = parameter.is_sequence or parameter.is_array or arm not in held
        if _is_planned(parameter.name):
            arms[parameter.name] = "planned"
        elif arm is not None and (kind != "replays" or alone):
            arms[parameter.name] = arm
        elif arm is not None:
            arms[parameter.name] = f"planned {arm}"
        elif parameter.required:
            unknown.append(parameter.name)
    if {*unknown} == {*_LETTERS}:
        arms |= _LETTERS
        unknown = []
    if any(p.is_no_flips for p in parameters if p.name in arms or p.name in unknown):
        return None
    if any(kind_of(name)[1] or _LABELS & {*name.lower().split("_")} for name in unknown):
        return None  # flips beside conditions, or counts, but of which arm?
    in_order = [p.name for p in parameters if p.name in unknown and not p.keyword_only]
    notes: tuple[str, ...] = ()
    if len(unknown) == len(in_order) == 2 and not {"sham", "destroy"} & {*arms.values()}:
        arms |= dict(zip(unknown, ("sham", "destroy"), strict=True))
        notes = (
            f"The names {unknown[0]!r} and {unknown[1]!r} do not say which arm they take: read as"
            " SHAM and DESTROY, in this order.",
        )
        unknown = []
    given = [arm for arm in arms.values() if not arm.startswith("planned")]
    complete = {"sham", "destroy"} <= {*given} and len(given) == len({*given}) and not unknown
    return (arms, notes) if complete else None


def _is_planned(name: str) -> bool:
    """Whether a name means the planned number of replays in an arm."""
    return name.lower() in _PLANNED


def _role_words(role: str) -> str:
    first, _, arm = role.partition(" ")
    return first.upper() if first != "planned" else f"the planned k{arm and ' of ' + arm.upper()}"
