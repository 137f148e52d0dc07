"""The questions that a deferral repairs, harms and leaves as they are, at larger budgets.

Each of the three is a population of its own, since what a fallback is worth may go with the
score. Their fits give points, `contrast_bounds` says what the replays leave open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.inference.prediction import Range
from carve_stats.law.score_rule import ScoreRule
from carve_stats.population.bounds import LARGEST_TARGET
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
    """Fitted populations of the questions with each value.

    Parameters
    ----------
    n : int
        All questions, those without a score too.
    sizes : tuple of int
        Scored questions with each of `VALUES`.
    populations : tuple of Population or None
        None where there is no such question.
    cells : GroupCells
        Of the repaired and the harmed ones.
    fitted : ndarray, shape (2, cells)
        The same shares as the smooth fits have them.
    """

    n: int
    sizes: tuple[int, ...]
    populations: tuple[Population | None, ...]
    cells: GroupCells
    fitted: Floats

    def expected(self, table: NDArray[np.float64]) -> Floats:
        """Expected questions of each of `VALUES`, weighted by a table of outcomes.

        Parameters
        ----------
        table : ndarray, shape (k + 1, k + 1)
            What each outcome counts.

        Returns
        -------
        ndarray, shape (3,)
            Under the fitted populations.
        """
        return np.array(
            [
                0.0 if population is None else size * _expect(population, table)
                for size, population in zip(self.sizes, self.populations, strict=True)
            ]
        )

    def bands(self, rule: ScoreRule, k: int, level: float) -> GainBands:
        """Identified range and interval of the gain of a rule at k replays in each arm."""
        outcomes = rule.table(k, k)
        identified, interval = contrast_bounds(
            self.cells, self.fitted, np.array(VALUES[:2]), outcomes, level=level
        )
        ends = (None, None) if interval is None else tuple(100.0 * end for end in interval)
        return GainBands(Range(*(100.0 * end for end in identified)), Range(*ends))


def fit_groups(data: RoutingData, budget: tuple[int, int], model: str) -> ValueGroups:
    """Fit a population to the scored questions of each value.

    Parameters
    ----------
    data : RoutingData
        The questions; those with a score reach the budget.
    budget : (int, int)
        k_sham and k_destroy of the cells behind the bands.
    model : str
        As in `fit_population`; the bands are those of ``em`` whatever the model is.

    Returns
    -------
    ValueGroups
        Populations and cells.
    """
    scored = data.counts.scored
    populations: list[Population | None] = []
    sizes, fitted = [], []
    for value in VALUES:
        chosen = scored & (data.value == value)
        sizes.append(int(chosen.sum()))
        some = data.counts.select(chosen)
        population = fit_population(some, method=model) if sizes[-1] else None
        populations.append(population)
        if value == 0:
            continue
        smooth = population
        if population is not None and model != "em":
            smooth = fit_population(some)
        if smooth is None:
            fitted.append(np.zeros((budget[0] + 1) * (budget[1] + 1)))
        else:
            cells = cell_matrix(*budget, smooth.p_sham, smooth.p_destroy) @ smooth.weights
            fitted.append(cells * (sizes[-1] / len(data)))
    group = np.select([data.value == 1, data.value == -1], [0, 1], -1)
    group[~scored] = -1
    return ValueGroups(
        n=len(data),
        sizes=tuple(sizes),
        populations=tuple(populations),
        cells=group_cells(data.counts, group, 2, budget),
        fitted=np.stack(fitted),
    )


def _expect(population: Population, table: Floats) -> float:
    """Mean of a table over the outcomes that a population gives."""
    sham = binomial_rows(table.shape[0] - 1, population.p_sham)
    destroy = binomial_rows(table.shape[1] - 1, population.p_destroy)
    return float(((table.T @ sham) * destroy).sum(axis=0) @ population.weights)
