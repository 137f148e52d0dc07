"""What a plan is made from: a given population, or the replays of a pilot."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from carve_stats.clusters import count_clusters, t_interval
from carve_stats.counts import ReplayCounts
from carve_stats.inference.prediction import TOO_FAR, Range, predict_signs
from carve_stats.inference.rates import mean_score
from carve_stats.law._budgets import budget_groups
from carve_stats.law.finite_replay import FiniteReplayLaw, SignShares
from carve_stats.law.subsampling import subsampled_flips
from carve_stats.planning.known import NOTHING, Known
from carve_stats.planning.score_variance import (
    PilotVariance,
    ScoreVariance,
    Sharing,
    given_variance,
)
from carve_stats.population.fit import fit_population
from carve_stats.population.grid import cell_matrix
from carve_stats.population.group_bounds import contrast_bounds, group_cells
from carve_stats.population.mixing import Population
from carve_stats.population.patterns import fullest_budget, reaches

__all__ = ["FAR", "ROUNDING", "GivenPopulation", "Pilot", "Source"]

ROUNDING = 1e-15  # of a variance of equal numbers

FAR = 2
"""Times the pilot's replays: beyond it a single figure would be the model's own."""

_FEW_VIDEOS = 30

WRONG_SIGN = (
    "wrong signs are about true flip probabilities, which no replay shows: what is identified is"
    " that they are no more than the rarer sign. The single figure is that of a fitted population"
)
NO_DIFFERENCE = (
    "{share} of the {whose} has no true difference (p_destroy = p_sham): these questions have no"
    " right sign, and are not counted as wrong"
)
FEW_VIDEOS = (
    "the pilot has {videos} videos: with fewer than 30 its intervals are somewhat short, and hold"
    " the truth less often than they say"
)
NOTHING_TO_INFLATE = (
    "the questions' true differences do not vary: the design effect has nothing to inflate, since"
    " videos only add to the variance between questions"
)


class Source(Protocol):
    """What goals and tables ask of a source; `made` is 0 where there was no pilot."""

    made: int
    split: ScoreVariance
    sharing: Sharing | None
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
    sharing: Sharing | None = None

    def __init__(self, population: Population, design_effect: float) -> None:
        self.population = population
        self.split = given_variance(population, design_effect)
        idle = design_effect > 1.0 and self.split.questions <= ROUNDING
        self.notes: list[str] = [NOTHING_TO_INFLATE] if idle else []

    def signs(self, k: int) -> SignShares:
        """As a `Source`."""
        return SignShares(*(Known(share) for share in self.population.signs(k)))

    def wrong_sign(self, k: int) -> Known:
        """As a `Source`; a question without a true difference has no wrong sign."""
        return Known(_wrong_sign(self.population, k, "population's weight", self.notes))

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
    per_cluster, design_effect
        As in `PilotVariance`.
    """

    def __init__(
        self,
        counts: ReplayCounts,
        model: str | None,
        level: float,
        *,
        per_cluster: float | None = None,
        design_effect: float | None = None,
    ) -> None:
        scored = counts.scored
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
        self._variance = PilotVariance(
            used, self._smooth, level, per_cluster=per_cluster, design_effect=design_effect
        )
        self.split = self._variance.split
        self.sharing: Sharing | None = self._variance.sharing
        self.notes = list(self._variance.notes)
        videos = 0 if used.cluster_codes is None else count_clusters(used.cluster_codes)
        if 1 < videos < _FEW_VIDEOS:
            self.notes.append(FEW_VIDEOS.format(videos=videos))
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
        point = _wrong_sign(self._fit, k, "fitted population's weight", self.notes)
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


def _wrong_sign(population: Population, k: int, whose: str, notes: list[str]) -> float | None:
    """Share of wrong signs; None where no question has a right one. Says how many have none."""
    wrong = FiniteReplayLaw(population.p_sham, population.p_destroy, k=k).wrong_sign()
    none = np.isnan(wrong)
    share = float(population.weights[none].sum())
    if share > 0.0:
        note = NO_DIFFERENCE.format(share=_percent(share), whose=whose)
        notes += [] if note in notes else [note]
    if not (population.weights[~none] > 0.0).any():
        return None
    return float(population.weights @ np.nan_to_num(wrong))


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100.0 * share:.3g} %"


def _up_to(ends: list[float | None]) -> Range:
    """From 0 to the smaller of the ends."""
    known = [end for end in ends if end is not None]
    return Range(0.0, min(known)) if len(known) == len(ends) else NOTHING


def _within(ends: tuple[float, float] | None) -> Range:
    return NOTHING if ends is None else Range(max(ends[0], 0.0), min(ends[1], 1.0))
