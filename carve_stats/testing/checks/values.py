"""The value of the score: that there is one, where it can lie, its sign, and the rational it is."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import product

from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Flips, describe, score_of
from carve_stats.testing.properties import Property, Verdict
from carve_stats.testing.results import Failed, close, show

__all__ = ["PROPERTIES", "contradiction", "quotients"]


def quotients(flips: Flips) -> str:
    """The score as it is computed: ``1/1 − 1/2 = 1/2``."""
    valid = flips.without_invalid
    if not (valid.sham and valid.destroy):
        return "undefined"
    y, k_destroy = valid.destroy.count(1), len(valid.destroy)
    x, k_sham = valid.sham.count(1), len(valid.sham)
    return f"{y}/{k_destroy} − {x}/{k_sham} = {score_of(flips)}"


def contradiction(estimator: Estimator, flips: Flips) -> str:
    """What the score is and what the function says, in words."""
    says = show(estimator(flips))
    return f"{describe(flips)}: the score is {quotients(flips)}, the function {says}"


def _runs(estimator: Estimator, flips: Flips) -> Verdict:
    value = estimator(flips)
    if not isinstance(value, Failed):
        return True
    scores = not isinstance(estimator(Flips((0,), (1,))), Failed)
    missing = score_of(flips) is None and value.words.startswith("raises") and scores
    mend = (
        "; without a valid replay in both arms return None or NaN, or raise ValueError"
        if missing
        else ""
    )
    return f"{describe(flips)}: the function {value.words}{mend}"


def _support(estimator: Estimator, flips: Flips) -> Verdict:
    value, score = estimator(flips), score_of(flips)
    if value is None or score is None or isinstance(value, Failed):
        return False
    k_sham, k_destroy = len(flips.sham), len(flips.destroy)
    if close(value, score) or any(close(value, p) for p in _lattice(k_sham, k_destroy)):
        return True
    return (
        f"{describe(flips)}: the function {show(value)}, and no y/{k_destroy} − x/{k_sham} with x ≤"
        f" {k_sham} and y ≤ {k_destroy} is that"
    )


@lru_cache(maxsize=1024)
def _lattice(k_sham: int, k_destroy: int) -> frozenset[Fraction]:
    shares = range(k_sham + 1), range(k_destroy + 1)
    return frozenset(Fraction(y, k_destroy) - Fraction(x, k_sham) for x, y in product(*shares))


def _sign(estimator: Estimator, flips: Flips) -> Verdict:
    value, score = estimator(flips), score_of(flips)
    if value is None or score is None or isinstance(value, Failed):
        return False
    if (value > 0) - (value < 0) == (score > 0) - (score < 0):
        return True
    sign = "positive" if score > 0 else "negative" if score < 0 else "zero"
    return f"{contradiction(estimator, flips)}; the sign of y·k_sham − x·k_destroy is {sign}"


def _value(estimator: Estimator, flips: Flips) -> Verdict:
    value, score = estimator(flips), score_of(flips)
    if score is None or isinstance(value, Failed):
        return False
    return close(value, score) or contradiction(estimator, flips)


PROPERTIES = (
    Property("runs", 1, "gives a score, or says that there is none, for all flips", _runs),
    Property("support", 2, "is some y/k_destroy − x/k_sham", _support),
    Property("sign", 3, "has the sign of the whole number y·k_sham − x·k_destroy", _sign),
    Property(
        "value", 4, "is y/k_destroy − x/k_sham: fractions exactly, floats but for rounding", _value
    ),
)
