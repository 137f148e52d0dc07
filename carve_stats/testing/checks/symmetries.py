"""What must turn the sign of the score, and what must leave it."""

from __future__ import annotations

from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Arm, Flips, describe, score_of
from carve_stats.testing.properties import Property, Verdict
from carve_stats.testing.results import Failed, Value, close, show
from carve_stats.testing.signatures.reading import Reading

__all__ = ["PROPERTIES"]


def _compare(flips: Flips, value: Value, other: Flips, same: Value, want: Value) -> Verdict:
    """`same` is what the function says of `other`, and should be `want`."""
    if isinstance(value, Failed) or isinstance(same, Failed) or score_of(flips) is None:
        return False
    if close(same, want):
        return True
    return (
        f"{describe(flips)}: the function {show(value)}; of {describe(other)} it {show(same)},"
        f" not {'undefined' if want is None else want}"
    )


def _negated(value: Value) -> Value:
    return value if value is None or isinstance(value, Failed) else -value


def _arms_swapped(estimator: Estimator, flips: Flips) -> Verdict:
    other = flips._replace(sham=flips.destroy, destroy=flips.sham)
    value = estimator(flips)
    return _compare(flips, value, other, estimator(other), _negated(value))


def _relabelled(estimator: Estimator, flips: Flips) -> Verdict:
    other = flips._replace(sham=_turned(flips.sham), destroy=_turned(flips.destroy))
    value = estimator(flips)
    return _compare(flips, value, other, estimator(other), _negated(value))


def _permuted(estimator: Estimator, flips: Flips) -> Verdict:
    # If every arrangement has the value of the one in order, all have the same.
    sham, destroy = (tuple(sorted(arm, key=bool)) for arm in (flips.sham, flips.destroy))
    other = flips._replace(sham=sham, destroy=destroy)
    if other == flips:
        return False
    value = estimator(other)
    return _compare(other, value, flips, estimator(flips), value)


def _turned(arm: Arm) -> Arm:
    return tuple(None if flip is None else 1 - flip for flip in arm)


def _has_order(reading: Reading) -> str | None:
    return None if reading.ordered else "it is given counts, which have no order"


PROPERTIES = (
    Property("arm swap", 7, "turns its sign where SHAM and DESTROY are swapped", _arms_swapped),
    Property(
        "relabelling", 8, "turns its sign where flips become non-flips and the reverse", _relabelled
    ),
    Property(
        "order", 9, "does not depend on the order of replays", _permuted, applies=_has_order,
        arranged=True,
    ),
)  # fmt: skip
