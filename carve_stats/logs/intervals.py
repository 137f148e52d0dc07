"""`Intervals`: when the evidence of each question was retrieved, and when it is annotated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats import _display
from carve_stats._columns import id_column, is_missing
from carve_stats.counts import Ledger
from carve_stats.errors import InputError
from carve_stats.temporal import (
    Interval,
    Overlap,
    check_duration,
    check_intervals,
    temporal_overlap,
)

__all__ = ["SIDES", "Cell", "Intervals", "describe_intervals", "those"]

Cell = tuple[Interval, ...] | None
"""The intervals of one side of a question; None where they are not known."""

SIDES = {"retrieved": "nothing was retrieved", "gold": "nothing is annotated"}

_UNKNOWN = (
    "{those}: {side} intervals that are not known, and so neither is the overlap ([] says that"
    " {none})"
)
_OPEN = (
    "{those}: open intervals in a video of unknown duration; IoU, and recall where the annotation"
    " is open, are not known without durations="
)
_MOMENTS = (
    "{those}: retrieved moments only, such as frames; they cover, and retrieve nothing of the"
    " length of an annotated interval, so that recall and IoU are 0"
)
_BEYOND = (
    "{those}: {side} intervals that reach past the end of their video, by up to {most:g} s; what is"
    " past it does not count"
)
_POINTS = "{those}: annotated moments only; recall is the share of the moments that were retrieved"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Intervals:
    """Retrieved and annotated intervals of each question, sorted by question id.

    Parameters
    ----------
    question : array_like of str, shape (n,)
        Question ids, each once.
    retrieved, gold : sequence, length n
        The intervals of each question, as `temporal_overlap` takes them; None where not known.
    durations : array_like of float, shape (n,), optional
        Seconds of each question's video, None or NaN where not known. What reaches past it stays
        as it is given, and does not count in the overlap.
    ledger : Ledger, optional
        What the reader used and left out.

    Raises
    ------
    InputError
        A question id twice, lengths that differ, or an interval that cannot be, such as one that
        starts a second or more after its video's end; names the question.

    Examples
    --------
    >>> intervals = Intervals(["q2", "q1"], [[(0, 10)], None], [[(5, 25)], [(1, 2)]])
    >>> intervals
    <Intervals: 2 questions, 1 with retrieved and annotated intervals>
    >>> intervals.overlap()
    {'covered': [None, True], 'recall': array([ nan, 0.25]), 'iou': array([nan, 0.2])}
    """

    question: NDArray[np.str_]
    retrieved: tuple[Cell, ...]
    gold: tuple[Cell, ...]
    durations: NDArray[np.float64] | None
    ledger: Ledger | None

    def __init__(
        self,
        question: ArrayLike,
        retrieved: Sequence[Iterable[Any] | None],
        gold: Sequence[Iterable[Any] | None],
        *,
        durations: ArrayLike | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        ids = id_column("question", question)
        order = np.argsort(ids, kind="stable")
        twice = np.flatnonzero(ids[order][1:] == ids[order][:-1])
        if twice.size:
            raise InputError(
                f"question={str(ids[order][twice[0]])!r} stands in two rows: each question needs"
                " one row"
            )
        columns: dict[str, Sequence[Any]] = {"retrieved": retrieved, "gold": gold}
        given = None if durations is None else list(durations)  # type: ignore[arg-type]
        for name, column in (*columns.items(), ("durations", given)):
            if column is not None and len(column) != ids.size:
                raise InputError(
                    f"{name} has {len(column)} rows and question has {ids.size}: give one a"
                    " question"
                )
        seconds = None
        if given is not None:
            seconds = np.full(ids.size, np.nan)
            for i in order.tolist():
                if not is_missing(given[i]):
                    name = f"durations of question {str(ids[i])!r}"
                    seconds[i] = check_duration(name, given[i])
        for name, column in columns.items():
            checked = [
                _checked(f"{name} of question {str(ids[i])!r}", column[i], _at(seconds, i))
                for i in order.tolist()
            ]
            object.__setattr__(self, name, tuple(checked))
        for name, array in (
            ("question", ids[order]),
            ("durations", None if seconds is None else seconds[order]),
        ):
            if array is not None:
                array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "ledger", ledger)

    def __len__(self) -> int:
        return int(self.question.size)

    def overlaps(self) -> list[Overlap]:
        """The `temporal_overlap` of each question, in order of their ids."""
        return [
            temporal_overlap(found, asked, duration=_at(self.durations, i))
            for i, (found, asked) in enumerate(zip(self.retrieved, self.gold, strict=True))
        ]

    def overlap(self) -> dict[str, Any]:
        """The overlap as covariates, for `Outcomes.with_covariates`.

        Returns
        -------
        dict
            ``covered``, a list of True, False and None; ``recall`` and ``iou``, arrays with NaN
            where undefined; all of length n.
        """
        overlaps = self.overlaps()
        return {
            "covered": [one.covered for one in overlaps],
            "recall": np.array([one.recall for one in overlaps], float),
            "iou": np.array([one.iou for one in overlaps], float),
        }

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as plain lists, ready for JSON, the overlap among them."""

        def listed(side: tuple[Cell, ...]) -> list[Any]:
            return [None if cell is None else [list(pair) for pair in cell] for cell in side]

        overlaps = self.overlaps()
        return {
            "question": self.question.tolist(),
            "retrieved": listed(self.retrieved),
            "gold": listed(self.gold),
            "duration": [_at(self.durations, i) for i in range(len(self))],
            **{name: [getattr(one, name) for one in overlaps] for name in Overlap._fields},
        }

    def __repr__(self) -> str:
        both = sum(
            found is not None and bool(asked)
            for found, asked in zip(self.retrieved, self.gold, strict=True)
        )
        return f"<Intervals: {len(self)} questions, {both} with retrieved and annotated intervals>"


def describe_intervals(found: Intervals) -> list[str]:
    """What a person has to know of the overlaps, as notes."""
    kinds = (*(_UNKNOWN.format(those="{those}", side=k, none=v) for k, v in SIDES.items()),)
    listed: dict[str, list[str]] = {text: [] for text in (*kinds, _OPEN, _MOMENTS, _POINTS)}
    for i, (retrieved, gold) in enumerate(zip(found.retrieved, found.gold, strict=True)):
        question = [str(found.question[i])]
        for text, cell in zip(kinds, (retrieved, gold), strict=True):
            listed[text] += question if cell is None else []
        if retrieved is None or not gold:
            continue
        moments = [bool(side) and all(a == b for a, b in side) for side in (retrieved, gold)]
        endless = any(b is None for _, b in (*retrieved, *gold))
        listed[_OPEN] += question if endless and _at(found.durations, i) is None else []
        listed[_MOMENTS] += question if moments[0] and not moments[1] else []
        listed[_POINTS] += question if moments[1] else []
    notes = [text.format(those=those(ids)) for text, ids in listed.items() if ids]
    return notes + _describe_beyond(found)


def _describe_beyond(found: Intervals) -> list[str]:
    notes = []
    for side in SIDES:
        past: dict[str, float] = {}
        for i, cell in enumerate(getattr(found, side)):
            duration = _at(found.durations, i)
            latest = max((a if b is None else b for a, b in cell or ()), default=0.0)
            if duration is not None and latest > duration:
                past[str(found.question[i])] = latest - duration
        if past:
            notes.append(
                _BEYOND.format(those=those(list(past)), side=side, most=max(past.values()))
            )
    return notes


def those(questions: Sequence[str]) -> str:
    """How many questions, and the first of them.

    Examples
    --------
    >>> those(["q1"]), those(["q2", "q1"])
    ("1 question ('q1')", "2 questions (the first 'q1')")
    """
    shown = repr(min(questions)) if len(questions) == 1 else f"the first {min(questions)!r}"
    return f"{_display.counted(len(questions), 'question')} ({shown})"


def _checked(name: str, given: Iterable[Any] | None, duration: float | None) -> Cell:
    return None if given is None else tuple(check_intervals(name, given, duration))


def _at(seconds: NDArray[np.float64] | None, i: int) -> float | None:
    return None if seconds is None or np.isnan(seconds[i]) else float(seconds[i])
