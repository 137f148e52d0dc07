"""`RunPrice`: what a run will take, as `price_run` tells it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from carve_stats._display import MISSING, counted, html_block, text_block
from carve_stats.replay.costs.measuring import NOTHING, Estimate

__all__ = ["ConditionPrice", "RunPrice"]

_COUNTS = ("planned", "there", "spared")
_OF_PICTURES = ("captions", "frames", "bytes")
_AMOUNTS = (
    "replays", "calls", "captions", "frames", "bytes", "tokens_in", "tokens_out", "seconds", "cost",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionPrice:
    """What the replays of one condition will take.

    Parameters
    ----------
    planned, there, spared : int
        Replays that are asked for; of these, those that are made, and that need not be.
    replays : Estimate
        Replays to be made.
    calls : Estimate
        Calls of the agent that they take: replies, also to further attempts, and captions.
    captions : Estimate
        Of these, captions.
    frames, bytes : Estimate
        Frames that are shown, and their encoded bytes.
    tokens_in, tokens_out : Estimate or None
        Tokens read and written; None where they are not known.
    seconds : Estimate or None
        Time of the replays, one after the other; likewise.
    cost : Estimate or None
        Money; likewise.
    """

    planned: int = 0
    there: int = 0
    spared: int = 0
    replays: Estimate = NOTHING
    calls: Estimate = NOTHING
    captions: Estimate = NOTHING
    frames: Estimate = NOTHING
    bytes: Estimate = NOTHING
    tokens_in: Estimate | None = NOTHING
    tokens_out: Estimate | None = NOTHING
    seconds: Estimate | None = NOTHING
    cost: Estimate | None = NOTHING

    def __add__(self, other: ConditionPrice) -> ConditionPrice:
        """Both together."""
        amounts: dict[str, Any] = {name: getattr(self, name) + getattr(other, name)
                                   for name in _COUNTS}  # fmt: skip
        for name in _AMOUNTS:
            mine, its = getattr(self, name), getattr(other, name)
            amounts[name] = None if mine is None or its is None else mine + its
        return ConditionPrice(**amounts)

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return {name: getattr(self, name) for name in _COUNTS} | {
            name: None if (amount := getattr(self, name)) is None else amount.to_dict()
            for name in _AMOUNTS
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunPrice:
    """What a run will take, from `price_run`.

    Parameters
    ----------
    store : Path
        The run's directory, which need not be there.
    questions : int
        Questions that are asked for.
    workers : int
        How many replays are made at a time.
    conditions : dict of str to ConditionPrice
        By condition, and ``canary`` where one will be sent.
    currency : str or None
        Of the money; None without prices.
    spent_calls : int
        Calls that the run has made already, those of questions that are not asked for too.
    spent_cost : float or None
        What they cost, at most; None where that is not known.
    notes : tuple of str
        What a reader has to know.
    """

    store: Path
    questions: int
    workers: int
    conditions: dict[str, ConditionPrice]
    currency: str | None
    spent_calls: int
    spent_cost: float | None
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> ConditionPrice:
        """All conditions and the canary together."""
        return reduce(add, self.conditions.values())

    @property
    def duration(self) -> Estimate | None:
        """Seconds that it will take, if the workers do not slow one another; None if not known."""
        seconds = self.total.seconds
        return None if seconds is None else seconds.times(1 / self.workers)

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value."""
        duration = self.duration
        return {
            "store": str(self.store),
            "questions": self.questions,
            "workers": self.workers,
            "conditions": {name: part.to_dict() for name, part in self.conditions.items()},
            "total": self.total.to_dict(),
            "duration": None if duration is None else duration.to_dict(),
            "currency": self.currency,
            "spent": {"calls": self.spent_calls, "cost": self.spent_cost},
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[str]]]:
        parts = [*self.conditions.values(), self.total]
        rows = [["replays asked for", *(f"{part.planned:,}" for part in parts), ""]]
        rows.append(["  already there", *(f"{part.there:,}" for part in parts), ""])
        if self.total.spared:
            rows.append(["  spared", *(f"{part.spared:,}" for part in parts), ""])
        unit_of_time, length = self._unit_of_time()
        amounts = [
            ("  to be made", "replays", 1.0, 0),
            ("calls of the agent", "calls", 1.0, 0),
            ("  of these captions", "captions", 1.0, 0),
            ("frames shown", "frames", 1.0, 0),
            ("megabytes of frames", "bytes", 1e-6, 1),
            ("thousand tokens in", "tokens_in", 1e-3, 1),
            ("thousand tokens out", "tokens_out", 1e-3, 1),
            (f"{unit_of_time}, {counted(self.workers, 'worker')}", "seconds", 1 / length, 1),
            (self.currency or "money", "cost", 1.0, 2),
        ]
        for label, name, unit, digits in amounts:
            estimates = [getattr(part, name) for part in parts]
            if name in _OF_PICTURES and not estimates[-1].high:
                continue
            shown = [_shown(estimate, unit, digits) for estimate in estimates]
            rows.append([label, *shown, _ends(estimates[-1], unit, digits)])
        spent = f"{counted(self.spent_calls, 'call')} made"
        if self.currency is not None and self.spent_calls:
            cost = MISSING if self.spent_cost is None else f"{self.spent_cost:.2f}"
            spent += f", {cost} {self.currency} spent"
        caption = f"{self.store}: {counted(self.questions, 'question')}; so far {spent}"
        return caption, ["", *self.conditions, "total", "range"], rows

    def _unit_of_time(self) -> tuple[str, float]:
        """A unit in which the run takes a few, and how many seconds of the replays that is."""
        longest = max(_seconds_of(part.seconds) for part in self.conditions.values())
        for unit, seconds in (("hours", 3600), ("minutes", 60)):
            if longest >= 2 * seconds * self.workers:
                return unit, seconds * self.workers
        return "seconds", self.workers

    def __str__(self) -> str:
        return text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_block(*self._table(), self.notes)


def _shown(estimate: Estimate | None, unit: float, digits: int) -> str:
    """What is expected; where that is not known, the least and the most."""
    if estimate is None:
        return MISSING
    if estimate.expected is None:
        return _ends(estimate, unit, digits) or MISSING
    return f"{unit * estimate.expected:,.{digits}f}"


def _seconds_of(estimate: Estimate | None) -> float:
    return 0.0 if estimate is None else estimate.expected or estimate.high or 0.0


def _ends(estimate: Estimate | None, unit: float, digits: int) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    low, high = (f"{unit * end:,.{digits}f}" for end in (estimate.low, estimate.high))
    return "" if low == high else f"{low} to {high}"
