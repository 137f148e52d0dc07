"""`Spending`: what a run has spent, by all its records."""

from __future__ import annotations

import copy
from fractions import Fraction

from carve_stats.replay.costs.metering import Meter
from carve_stats.replay.independence.canary_report import CanaryReport, read_canaries
from carve_stats.replay.records import Replay
from carve_stats.replay.store import RunStore

__all__ = ["Spending"]


class Spending:
    """Adds up calls and money.

    Its `calls` are those made, `dearest` is the most that one replay cost, and `most_replies` the
    most replies that one took.

    Parameters
    ----------
    meter : Meter
        Of the run's questions.
    priced : bool
        Whether it has prices; money is counted only then.
    """

    def __init__(self, meter: Meter, *, priced: bool) -> None:
        self._meter = meter
        self._priced = priced
        self.calls = 0
        self.most_replies = 1
        self.dearest = Fraction(0)
        self._known = Fraction(0)
        self._lost = 0

    @property
    def cost(self) -> Fraction:
        """Money spent at most: what was lost on its way counts as the dearest replay."""
        return self._known + self._lost * self.dearest

    def add(self, replay: Replay) -> bool:
        """Add one record.

        Parameters
        ----------
        replay : Replay
            The record.

        Returns
        -------
        bool
            False where what it cost is not known, although it has a reply.

        Raises
        ------
        InputError
            The model has no price.
        """
        self.calls += self._meter.calls(replay)
        self.most_replies = max(self.most_replies, self._meter.replies(replay))
        if not self._priced:
            return True
        cost = self._meter.cost(replay)
        if cost is not None:
            self._known += cost
            self.dearest = max(self.dearest, cost)
            return True
        self._lost += 1
        return replay.status == "transport_error"

    def add_run(self, run: RunStore) -> Replay | None:
        """Add all that a run has, its canaries too.

        Parameters
        ----------
        run : RunStore
            The run.

        Returns
        -------
        Replay or None
            The first record of which the cost is not known, although it has a reply.
        """
        unknown = None
        for replay in run.records():
            if not self.add(replay) and unknown is None:
                unknown = replay
        status = run.progress.status()
        # Each was a reply once; which, is not looked at.
        unread = status.duplicates + status.torn_lines
        self.calls += unread
        self._lost += unread
        for canary in read_canaries(run.path):
            self.add_canary(canary)
        return unknown

    def add_canary(self, canary: CanaryReport) -> None:
        """Add the calls of a canary.

        Parameters
        ----------
        canary : CanaryReport
            What was sent.
        """
        self.calls += canary.calls + canary.captions
        if not canary.calls:
            return
        cost = self._meter.canary_cost(canary) if self._priced else Fraction(0)
        if cost is None:
            self._lost += canary.calls
        else:
            self._known += cost
            self.dearest = max(self.dearest, cost / canary.calls)

    def with_canary(self, canary: CanaryReport) -> Spending:
        """What will have been spent with a canary that is not counted yet.

        Parameters
        ----------
        canary : CanaryReport
            What was sent.

        Returns
        -------
        Spending
            Another one.
        """
        other = copy.copy(self)
        other.add_canary(canary)
        return other
