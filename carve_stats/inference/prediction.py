"""What another budget would have shown: the signs at any k, from replays at one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from carve_stats import _display
from carve_stats.clusters import ONE_CLUSTER, check_level, explain, t_interval
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts, check_counts
from carve_stats.errors import InputError, check_name
from carve_stats.inference.questions import count_questions
from carve_stats.law._arguments import error_rate, replay_budget
from carve_stats.law._budgets import budget_groups
from carve_stats.law.finite_replay import FiniteReplayLaw, SignShares
from carve_stats.law.subsampling import subsampled_signs
from carve_stats.population.bounds import (
    LARGEST_TARGET,
    Bounds,
    identification_bounds,
    sampling_bounds,
)
from carve_stats.population.cells import BudgetCells, PatternCells, budget_cells
from carve_stats.population.fit import fit_population
from carve_stats.population.fit_result import FIT_METHODS
from carve_stats.population.grid import cell_matrix
from carve_stats.population.hausdorff import tie_rate_bounds
from carve_stats.population.mixing import Population
from carve_stats.population.npmle import Npmle, npmle
from carve_stats.population.patterns import fullest_budget, reaches

__all__ = ["Range", "SignPrediction", "predict_signs"]

_SIGNS = ("negative", "zero", "positive")
_FAR = 2  # times the replays made: beyond it they say little
_SURPRISE = 0.001

EXACT = (
    "every question with enough replays counts by all its possible subsamples: unbiased, and"
    " nothing is modelled"
)
IDENTIFIED = (
    "identified: what all populations predict that give these replays the same probabilities as"
    " the one fitted by 'em'; more questions do not narrow it, more replays a question do"
)
OUTSIDE = (
    "the point of {model!r} is outside the identified range, which is about what the 'em' fit makes"
    " of the replays: the two fits differ there already"
)
TOO_FAR = (
    "no point prediction: k = {k} is beyond twice the replays made, where they say little and a"
    " single figure would be the model's own. Name the model (model='em') to have its figure"
)
MODELLED = "the point is what the model {model!r} predicts"
NO_POPULATION = (
    "the flips do not look like independent replays of any population: even the best fit misses"
    " their cells by more than chance would (p < .001). Look for shared seeds or a cache"
)
"""Notes of a prediction."""


class Range(NamedTuple):
    """A lower and an upper end; None where there is none."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SignPrediction:
    """Shares of negative, zero and positive scores at another budget, from `predict_signs`.

    Parameters
    ----------
    k_sham, k_destroy : int
        The budget predicted.
    from_k_sham, from_k_destroy : int
        The budget predicted from: the one at which most replays count.
    model : str or None
        What the point comes from; None where it is exact, by subsampling.
    point : SignShares of float or None
        The prediction; None where it is withheld.
    identified : SignShares of Range
        What all populations predict that have the fitted population's cell probabilities.
    interval : SignShares of Range
        The same with the sampling of questions and replays, and at least the identified range;
        None without two clusters.
    tie_bounds : Range or None
        What the tie rates up to `from_k` alone allow for the tie rate, an elementary check;
        None where the budgets differ between the arms.
    level : float
        Confidence level of `interval`.
    questions, records : dict
        As in `tie_excess`; ``used`` of the questions are those behind the prediction.
    population : Population or None
        The fitted population; None where nothing was modelled.
    notes : tuple of str
        What a reader has to know.
    """

    k_sham: int
    k_destroy: int
    from_k_sham: int
    from_k_destroy: int
    model: str | None
    point: SignShares
    identified: SignShares
    interval: SignShares
    tie_bounds: Range | None
    level: float
    questions: Mapping[str, Any]
    records: Mapping[str, Any] | None
    population: Population | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value, but the population."""
        return {
            "k": {"sham": self.k_sham, "destroy": self.k_destroy},
            "from_k": {"sham": self.from_k_sham, "destroy": self.from_k_destroy},
            "model": self.model,
            "point": self.point._asdict(),
            "identified": {s: r._asdict() for s, r in self.identified._asdict().items()},
            "interval": {s: r._asdict() for s, r in self.interval._asdict().items()},
            "level": self.level,
            "tie_bounds": None if self.tie_bounds is None else self.tie_bounds._asdict(),
            "questions": dict(self.questions),
            "records": None if self.records is None else dict(self.records),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        share = "predicted" if self.model else "share"
        headers = ["score", share, "identified", f"{100 * self.level:g} % interval"]
        rows: list[list[object]] = [
            [
                name,
                _display.number(getattr(self.point, sign)),
                _display.interval(*getattr(self.identified, sign)),
                _display.interval(*getattr(self.interval, sign)),
            ]
            for sign, name in zip(_SIGNS, ("below 0", "0", "above 0"), strict=True)
        ]
        made = _budget(self.from_k_sham, self.from_k_destroy)
        how = f"predicted from {made}" if self.model else "by subsampling, exact"
        caption = (
            f"Signs at {_budget(self.k_sham, self.k_destroy)}, {how}:"
            f" {self.questions['used']} of {self.questions['read']} questions"
        )
        return caption, headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def predict_signs(
    counts: ReplayCounts,
    *,
    k: int | None = None,
    k_sham: int | None = None,
    k_destroy: int | None = None,
    model: str | None = None,
    level: float = 0.95,
) -> SignPrediction:
    """Predict the shares of negative, zero and positive scores at another budget.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    k : int, optional
        Replays in each arm to predict for.
    k_sham, k_destroy : int, optional
        The same where the arms differ; in the place of `k`.
    model : str, optional
        How the population of the point prediction is fitted: ``em``, ``npmle`` or ``copula``, as
        in `fit_population`. Beyond twice the replays made there is a point only if it is named.
        Fewer replays need no model: none is then fitted, whatever is named.
    level : float
        Confidence level.

    Returns
    -------
    SignPrediction
        Point, identified range and interval for each sign.

    Raises
    ------
    InputError
        No question with a score; a budget that is no whole number of at least 1, or above 64
        where it is more than was made; an unknown model; a level outside (0, 1).

    Notes
    -----
    *Fewer replays*, or what at least half of the questions have. Every question with enough of
    them counts by all its possible subsamples. The shares are U-statistics: unbiased, and of
    least variance given the counts. Interval: the cluster t interval.

    *More replays.* k₀ replays an arm fix the moments of the population up to degree k₀ in each arm
    and no more. The identified range is the smallest and the largest share over all populations
    with the cell probabilities of the ``em`` fit, certified from outside. (Those of the best fit
    lie at the edge of what populations can have, and would leave too little open.) It moves with
    the sampling and by itself covers nothing; the interval does. That is the smallest and the
    largest share over all populations whose cell probabilities are within t² of the best ones in
    the metric of their covariance, ⅜ that of the clusters and the rest a multinomial one
    inflated by the design effect. All of this is about the questions that reach the budget at
    which most replays count; those with more are subsampled to it, exactly, for the interval, and
    those with fewer are left out of all of it and counted.

    Never predict from each question's own rates x/k: they vary more than the true ones, which
    makes ties too rare.

    References
    ----------
    - Hoeffding, *A class of statistics with asymptotically normal distribution*, Annals of
      Mathematical Statistics 19 (1948) 293–325.
    - `proofs/thm_subsampling.py`: subsamples, the only unbiased estimate and the most precise.
    - `proofs/thm_identified_moments.py`: which moments the replays fix, and that they fix no more.
    - `proofs/thm_minorant.py`: why the identified range is certain.
    - `proofs/thm_tie_moments.py`: the sharp bounds of tie rates at larger k.

    Examples
    --------
    >>> counts = Population.paper().sample(1258, 3, clusters=103, icc=.1, rng=1)
    >>> prediction = predict_signs(counts, k=2)
    >>> prediction.model is None                       # exact: fewer replays than were made
    True
    >>> round(prediction.point.zero, 2)
    0.37
    """
    check_counts(counts)
    level = check_level(level)
    if model is not None:
        check_name("model", model, FIT_METHODS)
    error_rate(level)
    sham, destroy = (
        _one(*one)
        for one in zip(("k_sham", "k_destroy"), replay_budget(k, k_sham, k_destroy), strict=True)
    )
    scored = counts.scored
    if not scored.any():
        raise InputError("no question has a valid replay in both arms: there is nothing to predict")
    used = counts.select(scored)
    budget = fullest_budget(used)
    enough = sham <= budget[0] and destroy <= budget[1]
    if not enough and 2 * int(reaches(used, (sham, destroy)).sum()) >= len(used):
        enough, budget = True, (sham, destroy)
    predict = _from_more if enough else _from_fewer
    shares = predict(used, budget, (sham, destroy), model, level)
    ledger = counts.ledger
    notes = dict.fromkeys([*([] if ledger is None else ledger.notes), *shares.notes])
    return SignPrediction(
        k_sham=sham,
        k_destroy=destroy,
        from_k_sham=budget[0],
        from_k_destroy=budget[1],
        model=shares.model,
        point=shares.point,
        identified=shares.identified,
        interval=shares.interval,
        tie_bounds=shares.tie_bounds,
        level=level,
        questions={**count_questions(counts), "used": shares.used},
        records=None if ledger is None else ledger.to_dict(),
        population=shares.population,
        notes=tuple(notes),
    )


class _Shares(NamedTuple):
    """What both directions find."""

    model: str | None
    point: SignShares
    identified: SignShares
    interval: SignShares
    tie_bounds: Range | None
    population: Population | None
    used: int
    notes: list[str]


def _from_more(
    counts: ReplayCounts,
    budget: tuple[int, int],
    target: tuple[int, int],
    model: str | None,
    level: float,
) -> _Shares:
    """Exactly, by subsampling."""
    enough = counts.select(reaches(counts, target))
    shares = np.empty((3, len(enough)))
    x, y = enough.sham_flips, enough.destroy_flips
    for k_sham, k_destroy, rows in budget_groups(enough.sham_replays, enough.destroy_replays):
        table = subsampled_signs(k_sham, k_destroy, *target)
        shares[:, rows] = [share[x[rows], y[rows]] for share in table]
    codes = enough.cluster_codes
    estimates = []
    for values in shares:
        mean = float(values.mean())
        estimates.append(t_interval(mean, values - mean, codes, level=level, within=(0.0, 1.0)))
    point = SignShares(*(estimate.estimate for estimate in estimates))
    reasons = [(s, e.note) for s, e in zip(_SIGNS, estimates, strict=True)]
    left_out = len(counts) - len(enough)
    return _Shares(
        model=None,
        point=point,
        identified=SignShares(*(Range(share, share) for share in point)),
        interval=SignShares(*(Range(e.low, e.high) for e in estimates)),
        tie_bounds=Range(point.zero, point.zero) if target[0] == target[1] else None,
        population=None,
        used=len(enough),
        notes=[EXACT, *explain(reasons), *_left_out(left_out, target)],
    )


def _from_fewer(
    counts: ReplayCounts,
    budget: tuple[int, int],
    target: tuple[int, int],
    model: str | None,
    level: float,
) -> _Shares:
    """By what the replays identify, and a fitted population."""
    for name, k in zip(("k_sham", "k_destroy"), target, strict=True):
        if k > LARGEST_TARGET:
            name = "k" if target[0] == target[1] else name
            raise InputError(
                f"{name}={k} must be at most {LARGEST_TARGET} to be predicted from fewer"
            )
    enough = counts.select(reaches(counts, budget))
    smooth = fit_population(enough)
    named = "em" if model is None else model
    population = smooth if named == "em" else fit_population(enough, method=named)
    # The cells of the smooth fit: those of the best fit lie at the edge of what any population
    # has, where hardly another one reproduces them, and would promise too much.
    fitted = cell_matrix(*budget, smooth.p_sham, smooth.p_destroy) @ smooth.weights
    identified = identification_bounds(*budget, fitted, *target)
    notes = [IDENTIFIED]
    cells = budget_cells(enough, *budget)
    best = npmle([PatternCells(*budget, cells.share * cells.n)])
    if cells.clusters is None or cells.clusters < 2:
        interval = SignShares(*[Range(None, None)] * 3)
        notes.append(UNKNOWN_CLUSTERS if cells.clusters is None else ONE_CLUSTER)
    else:
        sampled = sampling_bounds(
            *budget, cells.share, cells.covariance, cells.n, cells.design_effect, *target,
            df=cells.clusters - 1, level=level,
        )  # fmt: skip
        low = np.minimum(sampled.low, identified.low)
        interval = _ranges(Bounds(low, np.maximum(sampled.high, identified.high)))
    if _fits_no_population(cells, best):
        notes.append(NO_POPULATION)
    far = target[0] > _FAR * budget[0] or target[1] > _FAR * budget[1]
    if far and model is None:
        notes.append(TOO_FAR.format(k=max(target)))
        point = SignShares(None, None, None)
    else:
        notes.append(MODELLED.format(model=named))
        point = population.signs(k_sham=target[0], k_destroy=target[1])
        if (np.array(point) < identified.low).any() or (np.array(point) > identified.high).any():
            notes.append(OUTSIDE.format(model=named))
    for fit in dict.fromkeys([smooth.fit, population.fit]):
        notes += [] if fit is None else fit.notes
    return _Shares(
        model=named,
        point=point,
        identified=_ranges(identified),
        interval=interval,
        tie_bounds=_tie_bounds(smooth, budget, target),
        population=population,
        used=cells.n,
        notes=[*notes, *_left_out(len(counts) - len(enough), budget)],
    )


def _fits_no_population(cells: BudgetCells, best: Npmle) -> bool:
    """Whether even the best population misses the cells by more than chance would."""
    seen = cells.share > 0.0
    distance = float(cells.share[seen] @ np.log(cells.share[seen] / best.fitted[0][seen]))
    freedom = cells.share.size - 1
    return 2.0 * cells.n * distance / cells.design_effect > chdtri(freedom, _SURPRISE)


def _tie_bounds(
    fitted: Population, budget: tuple[int, int], target: tuple[int, int]
) -> Range | None:
    """What the fitted tie rates at 1 … k₀ allow at the target; for one k in both arms."""
    if budget[0] != budget[1] or target[0] != target[1]:
        return None
    law = FiniteReplayLaw(fitted.p_sham, fitted.p_destroy, k=budget[0])
    return Range(*tie_rate_bounds((fitted.weights @ law.tie_sequence())[1:], target[0]))


def _one(name: str, k: NDArray[np.int64]) -> int:
    if k.ndim:
        raise InputError(f"{name} is an array: predict for one budget at a time")
    return int(k)


def _ranges(bounds: Bounds) -> SignShares:
    return SignShares(
        *(Range(float(low), float(high)) for low, high in zip(bounds.low, bounds.high, strict=True))
    )


def _left_out(questions: int, budget: tuple[int, int]) -> list[str]:
    if not questions:
        return []
    what, left = ("question has", "is") if questions == 1 else ("questions have", "are")
    return [f"{questions} scored {what} fewer replays than {_budget(*budget)} and {left} left out"]


def _budget(k_sham: int, k_destroy: int) -> str:
    return f"k = {k_sham}" if k_sham == k_destroy else f"k_sham = {k_sham}, k_destroy = {k_destroy}"
