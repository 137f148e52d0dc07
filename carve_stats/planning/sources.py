"""What a plan is made from: a given population, or the replays of a pilot."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from carve_stats.clusters import t_interval
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.prediction import TOO_FAR, Range, predict_signs
from carve_stats.inference.rates import mean_score
from carve_stats.law._budgets import budget_groups
from carve_stats.law.finite_replay import FiniteReplayLaw, SignShares
from carve_stats.law.subsampling import subsampled_flips
from carve_stats.planning.known import NOTHING, Known
from carve_stats.planning.score_variance import PilotVariance, ScoreVariance, given_variance
from carve_stats.population.fit import fit_population
from carve_stats.population.grid import cell_matrix
from carve_stats.population.group_bounds import contrast_bounds, group_cells
from carve_stats.population.mixing import Population
from carve_stats.population.patterns import fullest_budget, reaches

__all__ = ["FAR", "GivenPopulation", "Pilot", "Source"]

FAR = 2
"""Times the pilot's replays: beyond it a single figure would be the model's own."""

WRONG_SIGN = (
    "wrong signs are about true flip probabilities, which no replay shows: what is identified is"
    " that they are no more than the rarer sign. The point is a fitted population's, and where its"
    " true difference is 0 half of the signs count as wrong"
)


class Source(Protocol):
    """What goals and tables ask of a source; `made` is 0 where there was no pilot."""

    made: int
    split: ScoreVariance
    notes: list[str]

    def signs(self, k: int) -> SignShares:
        """Share of each sign at k, each a `Known`."""

    def wrong_sign(self, k: int) -> Known:
        """Share of questions whose score has the sign that the true difference has not."""

    def share(self, k: int, table: NDArray[np.bool_]) -> Known:
        """Share of questions whose outcome at k is one of the table's."""

    def variance(self, k: int) -> Known:
        """The variance of the mean score at k, times the number of questions."""

    def reliability(self, k: int) -> Known:
        """Correlation of the scores of two runs at k."""

    def mean(self) -> Known:
        """The mean score."""


class GivenPopulation:
    """A population, or two rates, taken as they are.

    Parameters
    ----------
    population : Population
        The questions.
    design_effect : float
        By how much videos inflate the variance between questions.
    """

    made = 0

    def __init__(self, population: Population, design_effect: float) -> None:
        self.population = population
        self.split = given_variance(population, design_effect)
        self.notes: list[str] = []

    def signs(self, k: int) -> SignShares:
        """As a `Source`."""
        return SignShares(*(Known(share) for share in self.population.signs(k)))

    def wrong_sign(self, k: int) -> Known:
        """As a `Source`; a question without a true difference has no wrong sign."""
        wrong = FiniteReplayLaw(self.population.p_sham, self.population.p_destroy, k=k).wrong_sign()
        return Known(float(self.population.weights @ np.nan_to_num(wrong)))

    def share(self, k: int, table: NDArray[np.bool_]) -> Known:
        """As a `Source`."""
        return Known(_share(self.population, k, table))

    def variance(self, k: int) -> Known:
        """As a `Source`."""
        return Known(self.split.at(k, k))

    def reliability(self, k: int) -> Known:
        """As a `Source`."""
        return Known(self.split.reliability(k))

    def mean(self) -> Known:
        """As a `Source`."""
        return Known(self.split.mean)


class Pilot:
    """The replays of a pilot: exact up to those made, with ranges beyond.

    Parameters
    ----------
    counts : ReplayCounts
        The pilot.
    model : str or None
        As in `predict_signs`.
    level : float
        Confidence level.
    """

    def __init__(self, counts: ReplayCounts, model: str | None, level: float) -> None:
        scored = counts.scored
        if not scored.any():
            raise InputError("source: no question has a valid replay in both arms: nothing to plan")
        self.counts, self.model, self.level = counts, model, level
        used = counts.select(scored)
        self.made = fullest_budget(used, equal=True)[0]
        self._enough = used.select(reaches(used, (self.made, self.made)))
        self._smooth = fit_population(self._enough)
        named = model not in (None, "em")
        self._fit = fit_population(self._enough, method=model) if named else self._smooth  # type: ignore[arg-type]
        self._cells = group_cells(
            self._enough, np.zeros(len(self._enough), np.int64), 1, (self.made, self.made)
        )
        self._variance = PilotVariance(used, self._smooth, level)
        self.split = self._variance.split
        self.notes = list(self._variance.notes)
        self._signs: dict[int, SignShares] = {}

    def signs(self, k: int) -> SignShares:
        """As a `Source`: `predict_signs`."""
        if k not in self._signs:
            told = predict_signs(self.counts, k=k, model=self.model, level=self.level)
            self.notes += [n for n in told.notes if n not in self.notes and not _is_too_far(n)]
            observed = told.model is None
            self._signs[k] = SignShares(
                *(
                    Known(*three, observed)
                    for three in zip(told.point, told.identified, told.interval, strict=True)
                )
            )
        return self._signs[k]

    def wrong_sign(self, k: int) -> Known:
        """As a `Source`."""
        if WRONG_SIGN not in self.notes:
            self.notes.append(WRONG_SIGN)
        signs = self.signs(k)
        identified, interval = (
            _up_to([getattr(sign, name).high for sign in (signs.negative, signs.positive)])
            for name in ("identified", "interval")
        )
        if self._withheld(k):
            return Known(None, identified, interval)
        law = FiniteReplayLaw(self._fit.p_sham, self._fit.p_destroy, k=k)
        wrong, either = law.wrong_sign(), (1.0 - law.tie()) / 2.0
        point = float(self._fit.weights @ np.where(np.isnan(wrong), either, wrong))
        return Known(point, identified, interval)

    def share(self, k: int, table: NDArray[np.bool_]) -> Known:
        """As a `Source`: by subsampling, and beyond by what the cells leave open."""
        if k <= self.made:
            return self._subsampled(k, table)
        fitted = cell_matrix(self.made, self.made, self._smooth.p_sham, self._smooth.p_destroy)
        identified, interval = contrast_bounds(
            self._cells, (fitted @ self._smooth.weights)[None], np.array([1]), table,
            level=self.level,
        )  # fmt: skip
        point = None if self._withheld(k) else _share(self._fit, k, table)
        return Known(point, _within(identified), _within(interval))

    def variance(self, k: int) -> Known:
        """As a `Source`."""
        return self._variance.at(k)

    def reliability(self, k: int) -> Known:
        """As a `Source`."""
        return self._variance.reliability(k)

    def mean(self) -> Known:
        """As a `Source`."""
        score = mean_score(self.counts, level=self.level)
        point = score.estimate
        return Known(point, Range(point, point), Range(score.low, score.high), observed=True)

    def _withheld(self, k: int) -> bool:
        return self.model is None and k > FAR * self.made

    def _subsampled(self, k: int, table: NDArray[np.bool_]) -> Known:
        counts = self._enough
        x, y = counts.sham_flips, counts.destroy_flips
        values = np.empty(len(counts))
        for m, n, rows in budget_groups(counts.sham_replays, counts.destroy_replays):
            means = subsampled_flips(m, k) @ table @ subsampled_flips(n, k).T
            values[rows] = means[x[rows], y[rows]]
        point = float(values.mean())
        ends = t_interval(
            point, values - point, counts.cluster_codes, level=self.level, within=(0.0, 1.0)
        )
        return Known(point, Range(point, point), Range(ends.low, ends.high), observed=True)


def _is_too_far(note: str) -> bool:
    """Whether it says of one k what a plan says once of all."""
    return note.startswith(TOO_FAR.partition("{")[0])


def _share(population: Population, k: int, table: NDArray[np.bool_]) -> float:
    law = FiniteReplayLaw(population.p_sham, population.p_destroy, k=k)
    return float(population.weights @ law.probability(table))


def _up_to(ends: list[float | None]) -> Range:
    """From 0 to the smaller of the ends."""
    known = [end for end in ends if end is not None]
    return Range(0.0, min(known)) if len(known) == len(ends) else NOTHING


def _within(ends: tuple[float, float] | None) -> Range:
    return NOTHING if ends is None else Range(max(ends[0], 0.0), min(ends[1], 1.0))
