"""A figure at one budget, with what is known of it."""

from __future__ import annotations

from typing import NamedTuple

from carve_stats.inference.prediction import Range

__all__ = ["NOTHING", "Known"]

NOTHING = Range(None, None)


class Known(NamedTuple):
    """A figure at one budget.

    Parameters
    ----------
    point : float or None
        None where it is not known, or is withheld.
    identified : Range
        What the replays of a pilot leave open, however many questions it had; without ends where
        the source is no pilot.
    interval : Range
        The same with sampling error.
    observed : bool
        Whether the pilot's own replays say it, and no model.
    """

    point: float | None
    identified: Range = NOTHING
    interval: Range = NOTHING
    observed: bool = False

    @property
    def ranges(self) -> bool:
        """Whether the replays leave open more than the point."""
        return self.identified not in (NOTHING, Range(self.point, self.point))
