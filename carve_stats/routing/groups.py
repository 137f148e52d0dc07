"""The questions that a deferral repairs, harms and leaves as they are, at larger budgets.

Each of the three is a population of its own, since what a fallback is worth may go with the
score. Given the flips that a question showed, its group's population predicts the next ones;
`contrast_bounds` says what the replays leave open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.clusters import Estimate
from carve_stats.inference.prediction import Range
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.subsampling import subsampled_flips
from carve_stats.population.bounds import LARGEST_TARGET
from carve_stats.population.cells import budget_cells
from carve_stats.population.fit import fit_population
from carve_stats.population.grid import binomial_rows, cell_matrix
from carve_stats.population.group_bounds import GroupCells, contrast_bounds, group_cells
from carve_stats.population.mixing import Population
from carve_stats.routing.joined import RoutingData

__all__ = ["LARGEST_TARGET", "VALUES", "GainBands", "ValueGroups", "fit_groups"]

Floats = NDArray[np.float64]

VALUES = (1, -1, 0)
"""The groups: repaired by a deferral, harmed, neither."""


class GainBands(NamedTuple):
    """What the replays say of a gain at another budget, in percentage points."""

    identified: Range
    interval: Range


class ValueGroups(NamedTuple):
    """Fitted populations of the questions with each value, and what was observed of them.

    Parameters
    ----------
    made : int
        Replays in each arm of what was observed.
    n : int
        All questions, those without a score too.
    observed : ndarray, shape (3, cells)
        Scored questions of each of `VALUES` with each pair of flips; expected ones, where
        replays were subsampled.
    populations : tuple of Population or None
        Of each of `VALUES`; None where there is no such question.
    smooth : tuple of Population or None
        The ``em`` fits of the repaired and the harmed ones, behind the bands.
    cells : GroupCells
        Of the repaired and the harmed ones.
    """

    made: int
    n: int
    observed: Floats
    populations: tuple[Population | None, ...]
    smooth: tuple[Population | None, ...]
    cells: GroupCells

    def by_cell(
        self, table: NDArray[np.float64], *, before: NDArray[np.float64] | None = None
    ) -> Floats:
        """Mean of a table over the outcomes at a larger budget, given each pair of flips.

        Parameters
        ----------
        table : ndarray, shape (k + 1, k + 1)
            What each outcome at k >= made counts.
        before : ndarray, shape (k′ + 1, k′ + 1), optional
            Times what the outcome counts at k′ of these replays, made < k′ < k.

        Returns
        -------
        ndarray, shape (3, cells)
            Under the population of each of `VALUES`: the flips that were observed stay, and the
            others follow from the posterior of a question that shows them.
        """
        return np.stack([_predict(one, table, self.made, before) for one in self.populations])

    def expected(
        self, table: NDArray[np.float64], *, before: NDArray[np.float64] | None = None
    ) -> Floats:
        """Expected questions of each of `VALUES`, weighted as in `by_cell`; shape (3,)."""
        return (self.observed * self.by_cell(table, before=before)).sum(axis=1)

    def bands(self, rule: ScoreRule, k: int, level: float, made_gain: Estimate) -> GainBands:
        """Identified range and interval of the gain of a rule at k replays in each arm.

        Parameters
        ----------
        rule, k, level
            The rule, the budget and the confidence level.
        made_gain : Estimate
            The gain of the rule at the replays that were made, in points, with its interval.

        Returns
        -------
        GainBands
            The range of `contrast_bounds`, moved by as much as the log's cells differ from the
            fit's. The interval is moved at each end by as much as it would have to be at the
            replays made, where the right one is known, and ends at ±100.
        """
        table = rule.table(k, k)
        if not table.any():
            return GainBands(Range(0.0, 0.0), Range(None, None))
        identified, interval = self._contrast(table, level)
        moved = 100.0 * self._misfit(table.astype(float))
        low, high = (100.0 * end + moved for end in identified)
        if interval is None:
            return GainBands(Range(low, high), Range(None, None))
        ends = [100.0 * end for end in interval]
        if made_gain.low is not None and made_gain.high is not None:
            _, here = self._contrast(rule.table(self.made, self.made), level)
            assert here is not None
            ends[0] += made_gain.low - 100.0 * here[0]
            ends[1] += made_gain.high - 100.0 * here[1]
        ends = [max(min(ends[0], low), -100.0), min(max(ends[1], high), 100.0)]
        return GainBands(Range(low, high), Range(*ends))

    def _contrast(
        self, table: NDArray[np.bool_], level: float
    ) -> tuple[tuple[float, float], tuple[float, float] | None]:
        shape = self.cells.share.shape
        fitted = np.zeros(shape)
        for place, population in enumerate(self.smooth):
            if population is not None:
                fitted[place] = self.cells.share[place].sum() * _cells(population, self.made)
        return contrast_bounds(self.cells, fitted, np.array(VALUES[:2]), table, level=level)

    def _misfit(self, table: Floats) -> float:
        """The gain of the smooth fits given the log's cells, less theirs by themselves."""
        gain = 0.0
        for sign, share, population in zip(VALUES, self.cells.share, self.smooth, strict=False):
            if population is not None:
                difference = share - share.sum() * _cells(population, self.made)
                gain += sign * float(difference @ _predict(population, table, self.made))
        return gain


def fit_groups(data: RoutingData, made: int, model: str) -> ValueGroups:
    """Fit a population to the scored questions of each value.

    Parameters
    ----------
    data : RoutingData
        The questions; those with a score have at least `made` replays in both arms.
    made : int
        Replays in each arm of the cells behind the bands.
    model : str
        As in `fit_population`; the bands are those of ``em`` whatever the model is.

    Returns
    -------
    ValueGroups
        Populations and cells.
    """
    scored = data.counts.scored
    groups = [data.counts.select(scored & (data.value == value)) for value in VALUES]
    populations = [fit_population(one, method=model) if len(one) else None for one in groups]
    smooth = populations[:2]
    if model != "em":
        smooth = [fit_population(one) if len(one) else None for one in groups[:2]]
    group = np.select([data.value == 1, data.value == -1], [0, 1], -1)
    group[~scored] = -1
    cells = group_cells(data.counts, group, 2, (made, made))
    others = np.zeros(cells.share.shape[1])
    if len(groups[2]):
        others = budget_cells(groups[2], made, made).share * len(groups[2])
    return ValueGroups(
        made=made,
        n=len(data),
        observed=np.vstack([cells.share * len(data), others]),
        populations=tuple(populations),
        smooth=tuple(smooth),
        cells=cells,
    )


def _cells(population: Population, made: int) -> Floats:
    """Its cell probabilities."""
    return cell_matrix(made, made, population.p_sham, population.p_destroy) @ population.weights


def _predict(
    population: Population | None, table: Floats, made: int, before: Floats | None = None
) -> Floats:
    """Mean of a table over the outcomes at a larger budget, given each pair of flips; (cells,)."""
    places = made + 1
    if population is None:
        return np.zeros(places * places)
    more = table.shape[0] - made  # outcomes of the replays that are still to be made
    joint = cell_matrix(made, made, population.p_sham, population.p_destroy) * population.weights
    # Flips that the population cannot give leave it as it is.
    joint[joint.sum(axis=1) == 0.0] = population.weights
    if more == 1:
        return table.ravel().copy()
    sham = binomial_rows(more - 1, population.p_sham)
    destroy = binomial_rows(more - 1, population.p_destroy)
    means = np.empty(places * places)
    first = 0 if before is None else before.shape[0] - made  # outcomes of the first of these
    keep = subsampled_flips(more - 1, first - 1) if first else None
    for cell in range(places * places):
        x, y = divmod(cell, places)
        new = table[x : x + more, y : y + more]
        if before is not None and keep is not None:
            new = new * (keep @ before[x : x + first, y : y + first] @ keep.T)
        of_atoms = ((new.T @ sham) * destroy).sum(axis=0)
        means[cell] = of_atoms @ joint[cell] / joint[cell].sum()
    return means
