"""The same question has the same answer, and is not touched."""

from __future__ import annotations

from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Flips, describe
from carve_stats.testing.properties import Property, Verdict
from carve_stats.testing.results import Failed, show

__all__ = ["PROPERTIES"]


def _repeats(estimator: Estimator, flips: Flips) -> Verdict:
    first = estimator(flips)
    if isinstance(first, Failed):
        return False
    for again in (estimator.ask(flips), estimator.ask(flips)):
        if again != first:
            return (
                f"{describe(flips)}: the function {show(first)}, and asked again it {show(again)}"
            )
    return True


def _leaves_input(estimator: Estimator, flips: Flips) -> Verdict:
    changes = estimator.changes_input(flips)
    if changes:
        return f"{describe(flips)}: the function changes its arguments; work on a copy"
    return changes is False


PROPERTIES = (
    Property("repeatable", 14, "is the same each time", _repeats, invalid_too=True, largest=3),
    Property(
        "input", 15, "leaves its arguments as they are", _leaves_input, invalid_too=True, largest=3
    ),
)
