"""Goals of routing: what deferring brings, by call of the fallback and by replay."""

from __future__ import annotations

import math

from carve_stats.inference.prediction import Range
from carve_stats.planning.goals.base import MOST_K, GoalKind, Study
from carve_stats.planning.known import NOTHING, Known

__all__ = ["KINDS", "PerCall", "PerReplay"]


class _NetRepairs:
    least, most = 0.0, 100.0
    needs: tuple[str, ...] = ("outcomes",)
    undefined = "the rule defers no question"
    monotone = False
    largest_k = MOST_K

    def limit(self, study: Study) -> float | None:
        """As a `GoalKind`: not known."""
        return None

    def questions_needed(self, study: Study, k: int, number: float) -> int | None:
        """As a `GoalKind`: more questions do not change it."""
        return None


class PerCall(_NetRepairs):
    """Repairs less harms of 100 questions deferred, from the routing curve."""

    text = "net repairs per 100 calls >= 5"
    figure = "the net repairs of 100 calls of the fallback"
    about = (
        "net repairs per 100 calls: wrong answers that the fallback repairs less right ones that it"
        " harms, of 100 questions that the rule defers; beyond the pilot's k it has no interval"
    )

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """As a `GoalKind`."""
        assert study.curve is not None
        shown = []
        for point in study.curve(k).points:
            gain = point.yield_per_100
            value = None if math.isnan(gain.estimate) else gain.estimate
            same = NOTHING if point.predicted else Range(value, value)
            shown.append(Known(value, same, Range(gain.low, gain.high), not point.predicted))
        return shown


class PerReplay(_NetRepairs):
    """The same of 100 replays made to decide what is deferred."""

    text = "net repairs per 100 replays >= 1"
    figure = "the net repairs of 100 replays"
    about = (
        "net repairs per 100 replays: wrong answers that the fallback repairs less right ones that"
        " it harms, for 100 SHAM and DESTROY replays made to choose what to defer"
    )

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """As a `GoalKind`: gain in points is of 100 questions, and each has 2k replays."""
        assert study.curve is not None
        shown = []
        for point in study.curve(k).points:
            gain, replays = point.gain_points, 2 * point.k
            value = None if math.isnan(gain.estimate) else gain.estimate / replays
            identified, interval = (
                NOTHING if low is None or high is None else Range(low / replays, high / replays)
                for low, high in (point.identified, (gain.low, gain.high))
            )
            shown.append(Known(value, identified, interval, not point.predicted))
        return shown


KINDS: tuple[GoalKind, ...] = (PerCall(), PerReplay())
