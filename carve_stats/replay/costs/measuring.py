"""What a replay takes, by records that are there: tokens, seconds, money; and what others will."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from carve_stats.replay.costs.metering import Meter, shown_of
from carve_stats.replay.costs.prices import tokens_used
from carve_stats.replay.loop import PreparedRun
from carve_stats.replay.records import Replay
from carve_stats.replay.seeds import replay_seed
from carve_stats.replay.store import RunStore

__all__ = ["ENOUGH", "FIGURES", "NOTHING", "Estimate", "Measured", "measure_bytes", "measure_run"]

ENOUGH = 5
"""Replays that a condition's figure is measured on, at least."""

FIGURES = ("tokens_in", "tokens_out", "seconds", "cost")
"""What is measured of a replay."""

_LEVEL = 0.95
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
        return Estimate(*(None if n is None else n * factor for n in self._figures()))

    def _figures(self) -> tuple[float | None, float | None, float | None]:
        return self.expected, self.low, self.high

    def to_dict(self) -> dict[str, float | None]:
        """The figures by name."""
        return {"expected": self.expected, "low": self.low, "high": self.high}


NOTHING = Estimate(0, 0, 0)


def _sum(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure of the replays of a condition.

    Parameters
    ----------
    replays : int
        Records that tell it.
    questions : int
        Their questions.
    mean : float
        Of the records.
    spread : float or None
        Standard deviation of the questions' means; None for one question.
    """

    replays: int
    questions: int
    mean: float
    spread: float | None

    def of(self, replays: Estimate, questions: int) -> Estimate:
        """The figure for replays to come.

        Parameters
        ----------
        replays : Estimate
            How many.
        questions : int
            Of how many questions.

        Returns
        -------
        Estimate
            With the ends of a prediction interval: what is measured on some questions is off for
            others as questions differ, and Student's t says by how much. None for one question.
        """
        expected = None if replays.expected is None else replays.expected * self.mean
        if not replays.high:
            return NOTHING
        if self.spread is None:
            return Estimate(expected, None, None)
        from scipy.special import stdtrit

        t = float(stdtrit(self.questions - 1, (1 + _LEVEL) / 2))
        half = t * self.spread * math.sqrt(1 / self.questions + 1 / max(questions, 1))
        low = None if replays.low is None else replays.low * max(0.0, self.mean - half)
        return Estimate(expected, low, replays.high * (self.mean + half))


def measure_run(store: RunStore, meter: Meter, *, priced: bool) -> dict[tuple[str, str], Measured]:
    """Measure what the replays of a run took.

    Parameters
    ----------
    store : RunStore
        The run.
    meter : Meter
        Of the run's questions.
    priced : bool
        Whether it has prices.

    Returns
    -------
    dict of (str, str) to Measured
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
    sums: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(dict)
    for replay in store.records():
        if replay.status == "transport_error" or replay.from_cache:
            continue
        for name, figure in figures.items():
            value = figure(replay)
            if value is not None:
                of_question = sums[replay.condition, name].setdefault(replay.question_id, [0, 0.0])
                of_question[0] += 1
                of_question[1] += float(value)
    return {
        place: _measured(list(of_questions.values()))
        for place, of_questions in sums.items()
        if sum(count for count, _ in of_questions.values()) >= ENOUGH
    }


def _measured(of_questions: list[list[float]]) -> Measured:
    replays = sum(count for count, _ in of_questions)
    mean = math.fsum(total for _, total in of_questions) / replays
    spread = None
    if len(of_questions) > 1:
        means = [total / count for count, total in of_questions]
        middle = math.fsum(means) / len(means)
        spread = math.sqrt(math.fsum((m - middle) ** 2 for m in means) / (len(means) - 1))
    return Measured(int(replays), len(of_questions), mean, spread)


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
