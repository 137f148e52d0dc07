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
    even : float
        As many questions with equally many records each would tell as much of how questions
        differ: (Σ n)² / Σ n² over the n records of each.
    between, within : float or None
        Variances: of the questions' own means, and of the records of one question. None for one
        question. Where no question has two records, all variance is taken to be between.
    """

    replays: int
    questions: int
    mean: float
    even: float
    between: float | None
    within: float | None

    def of(self, replays: Estimate, questions: int) -> Estimate:
        """The figure for replays to come.

        Parameters
        ----------
        replays : Estimate
            How many.
        questions : int
            Of how many questions, equally many each.

        Returns
        -------
        Estimate
            With the ends of a prediction interval; None for one question.

        Notes
        -----
        A replay takes μ + b + e: b is of its question, with variance `between`, and e its own, with
        variance `within` (method of moments for unequal numbers). The mean of R replays of Q other
        questions is off the measured one by a variance of
        between (1 / even + 1 / Q) + within (1 / replays + 1 / R); the interval takes Student's t
        for the questions measured. It is too wide for further replays of the same questions.
        """
        expected = None if replays.expected is None else replays.expected * self.mean
        if not replays.high:
            return NOTHING
        if self.between is None or self.within is None:
            return Estimate(expected, None, None)
        from scipy.special import stdtrit

        t = float(stdtrit(self.questions - 1, (1 + _LEVEL) / 2))
        between = self.between * (1 / self.even + 1 / max(questions, 1))

        def half(n: float) -> float:
            return t * math.sqrt(between + self.within * (1 / self.replays + 1 / n))  # type: ignore[operator]

        low = None
        if replays.low is not None:
            low = replays.low and replays.low * max(0.0, self.mean - half(replays.low))
        return Estimate(expected, low, replays.high * (self.mean + half(replays.high)))


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
    sums: dict[tuple[str, str], dict[str, _Sums]] = defaultdict(dict)
    for replay in store.records():
        if replay.status == "transport_error" or replay.from_cache:
            continue
        for name, figure in figures.items():
            value = figure(replay)
            if value is not None:
                of_question = sums[replay.condition, name].setdefault(replay.question_id, _Sums())
                of_question.add(float(value))
    return {
        place: _measured(list(of_questions.values()))
        for place, of_questions in sums.items()
        if sum(one.count for one in of_questions.values()) >= ENOUGH
    }


@dataclass(slots=True)
class _Sums:
    """Number, mean and squares about it, of the values added so far."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        off = value - self.mean
        self.mean += off / self.count
        self.squares += off * (value - self.mean)


def _measured(of_questions: list[_Sums]) -> Measured:
    n, questions = sum(one.count for one in of_questions), len(of_questions)
    mean = math.fsum(one.count * one.mean for one in of_questions) / n
    even = n**2 / sum(one.count**2 for one in of_questions)
    if questions == 1:
        return Measured(n, questions, mean, even, None, None)
    within = 0.0
    if n > questions:
        within = math.fsum(one.squares for one in of_questions) / (n - questions)
    between = math.fsum(one.count * (one.mean - mean) ** 2 for one in of_questions)
    # What it is on average, by the two variances: Snedecor and Cochran, unequal sample sizes.
    typical = (n - n / even) / (questions - 1)
    between = max(0.0, (between / (questions - 1) - within) / typical)
    return Measured(n, questions, mean, even, between, within)


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
