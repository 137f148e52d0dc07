"""What a replay takes, by records that are there: tokens, seconds, money; and what others will."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from carve_stats.replay.costs.metering import Meter, shown_of
from carve_stats.replay.costs.prediction import QuestionSample
from carve_stats.replay.costs.prices import tokens_used
from carve_stats.replay.loop import PreparedRun
from carve_stats.replay.records import Replay
from carve_stats.replay.seeds import replay_seed
from carve_stats.replay.store import RunStore

__all__ = ["ENOUGH", "FIGURES", "NOTHING", "Estimate", "estimate", "measure_bytes", "measure_run"]

ENOUGH = 5
"""Replays that a condition's figure is measured on, at least."""

FIGURES = ("tokens_in", "tokens_out", "seconds", "cost")
"""What is measured of a replay."""

_RENDERED = 5


@dataclass(frozen=True, slots=True)
class Estimate:
    """What something will come to.

    Parameters
    ----------
    expected : float or None
        None where only bounds are known.
    low, high : float or None
        The least and the most; None where they are not known. Where figures are measured, the ends
        of a 95 % prediction interval.
    """

    expected: float | None
    low: float | None
    high: float | None

    def __add__(self, other: Estimate) -> Estimate:
        """The sum of two, which may well be too large or too small together."""
        return Estimate(
            _sum(self.expected, other.expected),
            _sum(self.low, other.low),
            _sum(self.high, other.high),
        )

    def times(self, factor: float) -> Estimate:
        """As much of something of which each takes so much."""
        if not factor:
            return NOTHING
        return Estimate(*(None if n is None else n * factor for n in self.figures()))

    def figures(self) -> tuple[float | None, float | None, float | None]:
        """What is expected, the least and the most."""
        return self.expected, self.low, self.high

    def to_dict(self) -> dict[str, float | None]:
        """The figures by name."""
        return {"expected": self.expected, "low": self.low, "high": self.high}


NOTHING = Estimate(0, 0, 0)


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


def estimate(sample: QuestionSample, replays: Mapping[str, Estimate]) -> Estimate:
    """What replays to come take, by those that are there.

    Parameters
    ----------
    sample : QuestionSample
        Those that are there.
    replays : mapping of str to Estimate
        How many are to come, by question.

    Returns
    -------
    Estimate
        With the ends of a 95 % prediction interval: the lower one if the fewest are made, the upper
        one if the most are.
    """
    if not any(number.high for number in replays.values()):
        return NOTHING
    ways = list(zip(*(number.figures() for number in replays.values()), strict=True))
    found: dict[Any, tuple[float | None, float | None]] = {}
    for numbers in set(ways):  # mostly one: what is to come is mostly known
        made = {q: n for q, n in zip(replays, numbers, strict=True) if n is not None}
        found[numbers] = sample.predict(made) if len(made) == len(replays) else (None, None)
    (expected, _), (fewest, below), (most, above) = (found[numbers] for numbers in ways)
    return Estimate(
        expected,
        None if fewest is None or below is None else max(0.0, fewest - below),
        None if most is None or above is None else most + above,
    )


def measure_run(
    store: RunStore, meter: Meter, *, priced: bool, asked: Container[str] | None = None
) -> dict[tuple[str, str], QuestionSample]:
    """Measure what the replays of a run took.

    Parameters
    ----------
    store : RunStore
        The run.
    meter : Meter
        Of the run's questions.
    priced : bool
        Whether it has prices.
    asked : container of str, optional
        Ids of its questions of which more replays may come; all if not given.

    Returns
    -------
    dict of (str, str) to QuestionSample
        By condition and figure; those with at least `ENOUGH` records. Failures to reach the agent
        and replies from a cache are not measured.

    Raises
    ------
    InputError
        A model without a price.
    """
    figures: dict[str, Callable[[Replay], Fraction | float | None]] = {
        "tokens_in": lambda replay: _tokens(replay, 0),
        "tokens_out": lambda replay: _tokens(replay, 1),
        "seconds": lambda replay: math.fsum(replay.seconds.values()) if replay.seconds else None,
    }
    if priced:
        figures["cost"] = meter.cost
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(dict)
    for replay in store.records():
        if replay.status == "transport_error" or replay.from_cache:
            continue
        for name, figure in figures.items():
            value = figure(replay)
            if value is not None:
                values = found[replay.condition, name]
                values.setdefault(replay.question_id, []).append(float(value))
    samples = {place: QuestionSample.of(values) for place, values in found.items()}
    return {
        place: sample if asked is None else sample.of_questions(asked)
        for place, sample in samples.items()
        if sample.replays >= ENOUGH
    }


def _tokens(replay: Replay, which: int) -> Fraction | None:
    used = tokens_used(replay.usage)
    return None if used is None else used[which]


def measure_bytes(prepared: PreparedRun) -> tuple[dict[str, float], int]:
    """Measure the frames that replays show, by rendering those of a few questions.

    Parameters
    ----------
    prepared : PreparedRun
        The run.

    Returns
    -------
    (dict of str to float, int)
        Bytes of a frame, by condition, and the number of questions that were rendered; they are
        spread over the run.
    """
    pictured = [t for t in prepared.trajectories if shown_of(t).items]
    most = min(_RENDERED, len(pictured))
    sample = [pictured[i * len(pictured) // most] for i in range(most)]
    totals = {condition: [0, 0] for condition in prepared.k}
    for trajectory in sample:
        stored = prepared.renderer.load(trajectory)
        for condition, total in totals.items():
            question = trajectory.question_id
            shown = prepared.renderer.render(
                stored,
                question_id=question,
                condition=condition,
                repetition=0,
                seed=replay_seed(prepared.plan.seed, question, condition, 0, 0),
            )
            frames = [frame for item in shown for frame in item.frames]
            total[0] += sum(len(frame.data) for frame in frames)
            total[1] += len(frames)
    return {c: size / frames for c, (size, frames) in totals.items() if frames}, len(sample)
