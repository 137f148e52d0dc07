"""Comparisons with a threshold decide as whole numbers do, at every point of the lattice.

Rounding to the nearest float is monotone, and two points of a lattice of small k are never one
float. So ``value <= θ`` and ``value < θ`` decide as they should at *every* θ of the lattice,
written as a float, exactly if the value is the float nearest to the score; where one of them does
not, one does not at the score itself. Values that are exact are compared with exact thresholds.
"""

from __future__ import annotations

from fractions import Fraction

from carve_stats.testing.checks.values import quotients
from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Flips, describe, score_of
from carve_stats.testing.properties import Property, Verdict
from carve_stats.testing.results import Failed, close, show

__all__ = ["PROPERTIES"]


def _decides(estimator: Estimator, flips: Flips) -> Verdict:
    value, score = estimator(flips), score_of(flips)
    if value is None or score is None or isinstance(value, Failed):
        return False
    exact = isinstance(value, int | Fraction)
    threshold: Fraction | float = score if exact else float(score)
    at_most, below = value <= threshold, value < threshold
    if at_most and not below:
        return True
    wrong = f"score < {score}" if at_most else f"score <= {score}"
    written = "" if exact else f" (as a float, {threshold})"
    mend = (
        "; return (y·k_sham − x·k_destroy)/(k_sham·k_destroy), or compare whole numbers"
        if close(value, score)
        else ""
    )
    return (
        f"{describe(flips)}: the score is {quotients(flips)}, the function {show(value)}, so"
        f" {wrong}{written} is {bool(at_most)}{mend}"
    )


PROPERTIES = (
    Property(
        "thresholds", 13, "is decided as whole numbers are by score <= θ and score < θ", _decides
    ),
)
