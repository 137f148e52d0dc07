"""What is not there: invalid replays, arms without a valid one, SELF replays."""

from __future__ import annotations

from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Arm, Flips, describe, score_of
from carve_stats.testing.properties import Property, Verdict
from carve_stats.testing.results import Failed, close, show
from carve_stats.testing.signatures.reading import Reading

__all__ = ["PROPERTIES"]

_MOST_SELF = 5
_SELF: tuple[Arm, ...] = (
    (), (1,), (None,), (0, 1), (1, 1),
    *((0,) * (k - x) + (1,) * x for k in range(2, _MOST_SELF + 1) for x in range(k + 1)),
)  # fmt: skip


def _invalid(estimator: Estimator, flips: Flips) -> Verdict:
    if flips.valid:
        return False
    without = estimator(flips.without_invalid)
    if isinstance(without, Failed):
        return False
    value = estimator(flips)
    if close(value, without):
        return True
    return (
        f"{describe(flips)}: the function {show(value)}; without the invalid replays it"
        f" {show(without)}"
    )


def _undefined(estimator: Estimator, flips: Flips) -> Verdict:
    if score_of(flips) is not None:
        return False
    value = estimator(flips)
    if isinstance(value, Failed):
        return False
    return value is None or (
        f"{describe(flips)}: the score is undefined, the function {show(value)}"
    )


def _own(estimator: Estimator, flips: Flips) -> Verdict:
    value = estimator(flips)
    if isinstance(value, Failed):
        return False
    for own in _SELF:
        other = flips._replace(self_flips=own)
        found = estimator(other)
        if not close(found, value):
            return (
                f"{describe(other, self_too=True)}: the function {show(found)}; with"
                f" {describe(flips, self_too=True).rpartition('SELF ')[2]} of SELF it {show(value)}"
            )
    return True


def _holds_invalid(reading: Reading) -> str | None:
    return None if reading.takes_invalid else "it is only given valid replays"


def _holds_self(reading: Reading) -> str | None:
    return None if reading.takes_self else "it takes no SELF replays"


PROPERTIES = (
    Property(
        "invalid replays", 10, "is what it is without the invalid replays", _invalid,
        applies=_holds_invalid, invalid_too=True,
    ),
    Property(
        "undefined", 11, "is None or NaN, or ValueError, where an arm has no valid replay",
        _undefined, invalid_too=True,
    ),
    Property("self", 12, "does not depend on SELF replays", _own, applies=_holds_self, largest=3),
)  # fmt: skip
