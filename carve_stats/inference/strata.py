"""Mean score and flip rates by strata, such as gold coverage × correctness."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    NO_QUESTIONS,
    Estimate,
    bootstrap,
    bootstrap_generator,
    cluster_sums,
    count_clusters,
    explain,
    interval_method,
    percentile_interval,
    t_interval,
)
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.inference.judged import CORRECT, JudgedQuestions, join_outcomes
from carve_stats.inference.strata_differences import StratumDifference, sum_strata
from carve_stats.inference.strata_result import StratifiedScores, Stratum, label_of
from carve_stats.outcomes import Outcomes

__all__ = ["StratifiedScores", "Stratum", "stratified_scores"]

_MOST_VALUES, _MOST_STRATA = 20, 100
_MEASURES = {"score": (-1.0, 1.0), "sham": (0.0, 1.0), "destroy": (0.0, 1.0), "self_": (0.0, 1.0)}

NO_SELF = "SELF: not estimable, since no question of these has a valid SELF replay"
INTERVALS = (
    "each stratum's intervals are over the clusters that have a question in it: strata share"
    " clusters, so two intervals that overlap are no test of a difference, which has its own"
)


class _Request(NamedTuple):
    method: str
    level: float
    resamples: int
    rng: np.random.Generator | None


def stratified_scores(
    counts: ReplayCounts,
    outcomes: Outcomes,
    *,
    by: str | Iterable[str] = ("covered", CORRECT),
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
    allow_mismatch: bool = False,
) -> StratifiedScores:
    """Mean score, SHAM, DESTROY and SELF flip rates of each stratum, with cluster intervals.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        Which original answers are right, and covariates; `Outcomes.with_covariates` adds those
        of `read_intervals`.
    by : str or iterable of str
        What strata are made of: ``correct``, whether the original answer is right, and names of
        covariates.
    interval : str
        ``t``: linearised cluster standard error and Student's t; ``bootstrap``: percentiles of
        the cluster bootstrap, with `resamples` from `rng`.
    level : float
        Confidence level.
    resamples : int
        Bootstrap resamples.
    rng : numpy.random.Generator or int, optional
        Source of randomness of the bootstrap, or a seed.
    allow_mismatch : bool
        Whether ids that only one side has are allowed; such questions are left out and counted.

    Returns
    -------
    StratifiedScores
        Over the questions with a score of which all of `by` are known; the others are left out
        and counted. A combination of values without a question is there, and undefined.

    Raises
    ------
    InputError
        Ids that do not fit each other, an unknown name, one with too many values to be strata,
        counts that were stopped early, or a level outside (0, 1).

    See Also
    --------
    associations : correlations and ROC-AUC of the same figures.

    Notes
    -----
    A stratum's mean m̂ has the influence function x_i − m̂ over its own questions, which are summed
    within its own clusters; V in the standard error and the degrees of freedom V − 1 are those
    clusters. It is `mean_score` and `flip_rates` of the stratum.

    A difference of two means has the difference of their influence functions, since a cluster that
    both sides have moves both: SE² = Σ_v (a_v − b_v)², where a_v is the sum of x_i − m̂ within
    cluster v, over the side's number of questions, times √(V/(V − 1)), V the side's clusters.
    Sides without a common cluster have SE² = SE_a² + SE_b². Student's t has the clusters of the
    side with fewer, less 1.

    With 20 videos and some 50 questions in a stratum the 95 % t intervals cover .93 to .96, those
    of differences .94 to .96 (`simulations/study_strata_coverage.py`).

    References
    ----------
    - `proofs/thm_cluster_variance.py`: what the standard error of a stratum's mean estimates.

    Examples
    --------
    >>> counts = ReplayCounts(list("abcdef"), [0, 1, 2, 0, 1, 1], [3] * 6, [3, 2, 2, 0, 3, 1],
    ...     [3] * 6, cluster=list("uuvvww"))
    >>> outcomes = Outcomes(list("abcdef"), [1, 0, 1, 0, 1, 0], {},
    ...     covariates={"covered": [True, True, False, False, True, True]})
    >>> result = stratified_scores(counts, outcomes)
    >>> [(stratum.label, stratum.questions) for stratum in result.strata[:2]]
    [('covered true × correct true', 2), ('covered false × correct true', 1)]
    >>> round(result[True, True].score.estimate, 3), round(result[True, True].sham.estimate, 3)
    (0.833, 0.167)
    """
    rng = bootstrap_generator(interval, rng)
    data = join_outcomes(counts, outcomes, allow_mismatch=allow_mismatch)
    names = (by,) if isinstance(by, str) else tuple(by)
    if not names:
        raise InputError("by=() names nothing: give correct, or a covariate")
    for name in names:
        data.check_known(name)
        if names.count(name) > 1:
            raise InputError(f"by={names!r} names {name!r} twice: once is enough")
    columns = {name: _column(data, name) for name in names}
    left_out, known = _known(data, columns)
    values = [_values(name, column[known]) for name, column in columns.items()]
    if math.prod(map(len, values)) > _MOST_STRATA:
        raise InputError(
            f"by={names!r} makes {math.prod(map(len, values))} strata: at most {_MOST_STRATA} are"
            " tabulated; use fewer names, or coarser values"
        )
    codes = None if data.codes is None else data.codes[known]
    method = replace(interval_method(interval, level, codes), df=None)
    request = _Request(interval, level, resamples, rng)
    strata: list[Stratum] = []
    place = np.zeros(len(data.counts), np.int64)
    # The first name runs fastest, as coverage does within correctness in the paper's table.
    for backwards in product(*reversed(values)):
        chosen = dict(zip(names, reversed(backwards), strict=True))
        mask = known.copy()
        for name, value in chosen.items():
            mask &= columns[name] == value
        place[mask] = len(strata)
        strata.append(_stratum(data, mask, chosen, request))
    total = _stratum(data, known, {}, request)
    sums = sum_strata(data.counts.select(known), place[known], len(strata), codes)
    differences = []
    for name, of_name in zip(names, values, strict=True):
        if len(of_name) == 2:
            first, second = (
                (label_of({name: value}), _with(strata, name, value)) for value in _pair(of_name)
            )
            differences.append(sums.compare(first, second, level))
    return StratifiedScores(
        by=names,
        strata=tuple(strata),
        total=total,
        differences=tuple(differences),
        questions={
            **data.questions,
            "used": int(known.sum()),
            "left_out": {**data.questions["left_out"], **left_out},
        },
        interval=method,
        notes=tuple(
            dict.fromkeys([*data.notes, *_left_out(left_out), *_notes(strata, total, differences)])
        ),
        _sums=sums,
    )


def _column(data: JudgedQuestions, name: str) -> NDArray[Any]:
    """A column whose values are strata: texts, or numbers that are not true or false."""
    column = data.columns[name]
    if name == CORRECT:
        texts = np.where(column == 1.0, "true", "false")
        return np.where(np.isnan(column), "", texts)
    return column


def _known(
    data: JudgedQuestions, columns: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, int], NDArray[np.bool_]]:
    """Questions left out, each for the first thing that is not known of it, and the others."""
    known = np.ones(len(data.counts), bool)
    left_out = {}
    for name, column in columns.items():
        missing = np.isnan(column) if column.dtype.kind == "f" else column == ""
        n = int((known & missing).sum())
        if n:
            left_out[f"{name} not known"] = n
        known &= ~missing
    return left_out, known


def _values(name: str, column: NDArray[Any]) -> list[Any]:
    """The values that strata are made of; true and false are both there if one of them is."""
    values = np.unique(column).tolist()
    if len(values) > _MOST_VALUES:
        raise InputError(
            f"by={name!r} has {len(values)} values: strata are made of at most {_MOST_VALUES}; give"
            " a covariate of coarser values, or use associations()"
        )
    if set(values) <= {"true", "false"} and (values or name == CORRECT):
        return ["true", "false"]
    return values


def _stratum(
    data: JudgedQuestions, mask: NDArray[np.bool_], values: Mapping[str, Any], request: _Request
) -> Stratum:
    counts = data.counts
    codes = None if data.codes is None else data.codes[mask]
    sham = counts.sham_flips[mask] / counts.sham_replays[mask]
    destroy = counts.destroy_flips[mask] / counts.destroy_replays[mask]
    has_self = mask & (counts.self_replays > 0)
    self_ = counts.self_flips[has_self] / counts.self_replays[has_self]
    self_codes = None if data.codes is None else data.codes[has_self]
    figures = {"score": counts.score[mask], "sham": sham, "destroy": destroy}
    estimates = _means(figures, codes, request) | _means({"self_": self_}, self_codes, request)
    return Stratum(
        values=dict(values),
        questions=int(mask.sum()),
        clusters=None if codes is None else count_clusters(codes),
        self_questions=int(has_self.sum()),
        **estimates,
    )


def _means(
    figures: Mapping[str, NDArray[np.float64]], codes: NDArray[np.int64] | None, request: _Request
) -> dict[str, Estimate]:
    """The mean of each figure over the same questions; one set of resamples for all."""
    size = len(next(iter(figures.values())))
    if not size:
        return {name: Estimate(math.nan, note=NO_QUESTIONS) for name in figures}
    means = {name: float(values.mean()) for name, values in figures.items()}
    estimates = {
        name: t_interval(
            means[name], values - means[name], codes, level=request.level, within=_MEASURES[name]
        )
        for name, values in figures.items()
    }
    if request.rng is None or codes is None or count_clusters(codes) < 2:
        return estimates
    table = np.column_stack([np.ones(size), *figures.values()])
    resampled = bootstrap(
        cluster_sums(table, codes),
        lambda sums: sums[:, 1:] / sums[:, :1],
        rng=request.rng,
        resamples=request.resamples,
    )
    return {
        name: one
        if one.se is None
        else percentile_interval(one.estimate, resampled[:, i], level=request.level)
        for i, (name, one) in enumerate(estimates.items())
    }


def _left_out(left_out: Mapping[str, int]) -> list[str]:
    return [
        f"{_display.counted(n, 'question')} left out: {reason}" for reason, n in left_out.items()
    ]


def _with(strata: list[Stratum], name: str, value: object) -> list[int]:
    return [place for place, stratum in enumerate(strata) if stratum.values[name] == value]


def _pair(values: list[Any]) -> list[Any]:
    """In the order in which two values are compared: of numbers the larger goes first."""
    return values if isinstance(values[0], str) else values[::-1]


def _notes(
    strata: list[Stratum], total: Stratum, differences: Iterable[StratumDifference]
) -> list[str]:
    reasons: list[tuple[str, str | None]] = []
    figures: list[Stratum | StratumDifference] = [*strata, *differences]
    for one in figures:
        arms = {"mean score": one.score, "SHAM": one.sham, "DESTROY": one.destroy}
        if total.self_questions:
            arms["SELF"] = one.self_
        own = {estimate.note for estimate in arms.values()}
        if len(own) == 1:  # what holds for all figures of a stratum is said once
            reasons.append((one.label, own.pop()))
        else:
            reasons += [(f"{one.label}: {arm}", estimate.note) for arm, estimate in arms.items()]
    # With that of all questions, what holds for every stratum is not said as if of all.
    reasons.append(("all questions", total.score.note))
    notes = explain(reasons) if total.questions else [NO_QUESTIONS]
    if total.questions and not total.self_questions:
        notes.append(NO_SELF)
    if total.questions and total.clusters is not None and total.clusters > 1:
        notes.append(INTERVALS)
    return notes
