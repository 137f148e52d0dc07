"""Goals about the mean score: the width of its interval, and the power of its test."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import chdtri, ndtr

from carve_stats.inference.prediction import Range
from carve_stats.planning.goals.base import MOST_K, GoalKind, Study
from carve_stats.planning.known import NOTHING, Known

__all__ = ["KINDS", "MeanScoreWidth", "Power"]

_MOST_QUESTIONS = 10**9
_NODES, _WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(256))


class MeanScoreWidth:
    """Expected width of the cluster t interval of the mean score."""

    text = "mean score width <= 0.05"
    figure = "the width of the mean score's interval"
    least, most = 0.0, 2.0
    needs: tuple[str, ...] = ("questions",)
    about = (
        "mean score width: from end to end of the cluster t interval of the mean score. Replays"
        " narrow it only down to what the questions themselves vary; beyond, questions do"
    )
    undefined = "the pilot's scores do not differ from each other"
    monotone = True
    largest_k = MOST_K

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """As a `GoalKind`."""
        assert study.questions is not None
        n = study.questions
        known = [study.source.variance(one) for one in k]
        return [
            Known(
                None if one.point is None else _width(study, one.point, n),
                _map(one.identified, lambda variance: _width(study, variance, n)),
                _map(one.interval, lambda variance: _width(study, variance, n)),
                one.observed,
            )
            for one in known
        ]

    def limit(self, study: Study) -> float | None:
        """The width of what the questions vary."""
        assert study.questions is not None
        return _width(study, study.source.split.between, study.questions)

    def questions_needed(self, study: Study, k: int, number: float) -> int | None:
        """As a `GoalKind`."""
        variance = study.source.split.at(k, k)
        return _fewest(lambda n: _width(study, variance, n) <= number)


class Power:
    """Power of the two-sided cluster t test that the mean score is 0."""

    text = "power >= 0.8"
    figure = "the power of the test that the mean score is 0"
    least, most = 0.0, 1.0
    needs: tuple[str, ...] = ("questions",)
    about = (
        "power: the probability that the two-sided cluster t test rejects a mean score of 0, from"
        " the non-central t law"
    )
    undefined = "the pilot's scores do not differ from each other"
    monotone = True
    largest_k = MOST_K

    def values(self, study: Study, k: list[int]) -> list[Known]:
        """As a `GoalKind`; the interval is that of the pilot's mean score, at its variance."""
        assert study.questions is not None
        n, mean = study.questions, study.source.mean()
        shown = []
        for one in k:
            variance = study.source.variance(one)
            if variance.point is None or mean.point is None:
                shown.append(Known(None))
                continue
            point = _power(study, mean.point, variance.point, n)
            least, most = variance.identified
            if least is None or most is None:
                of_mean = _between_powers(study, mean.interval, variance.point, n)
                shown.append(Known(point, NOTHING, of_mean, variance.observed))
                continue
            identified = Range(*(_power(study, mean.point, v, n) for v in (most, least)))
            of_mean = Range(
                _between_powers(study, mean.interval, most, n).low,
                _between_powers(study, mean.interval, least, n).high,
            )
            shown.append(Known(point, identified, of_mean, variance.observed))
        return shown

    def limit(self, study: Study) -> float | None:
        """The power with endlessly many replays of each question."""
        assert study.questions is not None
        split = study.source.split
        return _power(study, split.mean, split.between, study.questions)

    def questions_needed(self, study: Study, k: int, number: float) -> int | None:
        """As a `GoalKind`."""
        split = study.source.split
        return _fewest(lambda n: _power(study, split.mean, split.at(k, k), n) >= number)


def _width(study: Study, variance: float, questions: int) -> float:
    return 2.0 * study.t(questions) * math.sqrt(variance / questions)


def _power(study: Study, mean: float, variance: float, questions: int) -> float:
    """P(|T| > t), T non-central t: a mean over the standard error that the study will estimate.

    SciPy's distribution function is NaN in the far tail.
    """
    if variance <= 0.0:
        return 1.0 if mean else 1.0 - study.level
    away = abs(mean) / math.sqrt(variance / questions)
    df = study.df(questions)
    threshold = study.t(questions) * np.sqrt(chdtri(df, 0.5 + _NODES) / df)
    return float(_WEIGHTS @ (ndtr(away - threshold) + ndtr(-away - threshold)))


def _between_powers(study: Study, mean: Range, variance: float, questions: int) -> Range:
    """Least and largest power over the mean scores of an interval."""
    if mean.low is None or mean.high is None:
        return NOTHING
    ends = [_power(study, one, variance, questions) for one in (mean.low, mean.high)]
    across = mean.low <= 0.0 <= mean.high
    return Range(_power(study, 0.0, variance, questions) if across else min(ends), max(ends))


def _map(ends: Range, change: Callable[[float], float]) -> Range:
    if ends.low is None or ends.high is None:
        return NOTHING
    return Range(change(ends.low), change(ends.high))


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """The fewest questions that are enough, by doubling and halving; at least two."""
    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_QUESTIONS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


KINDS: tuple[GoalKind, ...] = (MeanScoreWidth(), Power())
