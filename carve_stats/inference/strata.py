"""Mean score and flip rates by strata, such as gold coverage × correctness."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    NO_QUESTIONS,
    Estimate,
    IntervalMethod,
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
from carve_stats.outcomes import Outcomes

__all__ = ["StratifiedScores", "Stratum", "stratified_scores"]

_MOST_VALUES, _MOST_STRATA = 20, 100
_MEASURES = {"score": (-1.0, 1.0), "sham": (0.0, 1.0), "destroy": (0.0, 1.0), "self_": (0.0, 1.0)}
_TOTAL = "all"

NO_SELF = "SELF: not estimable, since no question of these has a valid SELF replay"
INTERVALS = (
    "each stratum's intervals are over the clusters that have a question in it: strata share"
    " clusters, so two intervals that overlap are no test of a difference"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """The questions of one stratum.

    Parameters
    ----------
    values : mapping of str to str or float
        The value of each name; empty for all questions together.
    questions : int
        Scored questions in it.
    clusters : int or None
        Their clusters; None where not known.
    score, sham, destroy : Estimate
        Mean score and flip rates over these questions.
    self_ : Estimate
        SELF flip rate over those of them with a valid SELF replay.
    self_questions : int
        How many these are.
    """

    values: Mapping[str, str | float]
    questions: int
    clusters: int | None
    score: Estimate
    sham: Estimate
    destroy: Estimate
    self_: Estimate
    self_questions: int

    @property
    def label(self) -> str:
        """How it is called: ``covered true × correct false``."""
        return " × ".join(f"{k} {_shown(v)}" for k, v in self.values.items()) or _TOTAL

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value."""
        return {
            "values": dict(self.values),
            "questions": self.questions,
            "clusters": self.clusters,
            "score": self.score.to_dict(),
            "self": self.self_.to_dict() | {"questions": self.self_questions},
            "sham": self.sham.to_dict(),
            "destroy": self.destroy.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StratifiedScores:
    """Mean score and flip rates by strata, from `stratified_scores`.

    Parameters
    ----------
    by : tuple of str
        What the strata are made of.
    strata : tuple of Stratum
        Every combination of the values, the first name's running fastest; true before false,
        numbers and texts in order.
    total : Stratum
        The questions of all strata together.
    questions : dict
        ``read``, ``used``, ``left_out`` (reason: count).
    interval : IntervalMethod
        How the intervals were made; without df, since each stratum's is its own clusters − 1.
    notes : tuple of str
        What is not estimable and why, and what else a reader has to know.
    """

    by: tuple[str, ...]
    strata: tuple[Stratum, ...]
    total: Stratum
    questions: Mapping[str, Any]
    interval: IntervalMethod
    notes: tuple[str, ...]

    def __getitem__(self, values: object) -> Stratum:
        """A stratum by its values in the order of `by`: ``result[True, False]``."""
        wanted = values if isinstance(values, tuple) else (values,)
        for stratum in self.strata:
            own = tuple(stratum.values.values())
            if own == tuple(_key(one) for one in wanted):
                return stratum
        raise InputError(
            f"no stratum {wanted!r} of {', '.join(self.by)}: the strata are"
            f" {'; '.join(stratum.label for stratum in self.strata)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values; undefined figures are None."""
        return {
            "by": list(self.by),
            "strata": [stratum.to_dict() for stratum in self.strata],
            "total": self.total.to_dict(),
            "questions": dict(self.questions),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        arms = ["sham", "destroy", *(["self_"] if self.total.self_questions else [])]
        headers = [" × ".join(self.by), "questions", "clusters", "mean score", "interval"]
        for arm in arms:
            headers += [arm.rstrip("_"), "interval"]
        rows: list[list[object]] = []
        for stratum in (*self.strata, self.total):
            row: list[object] = [
                ", ".join(map(_shown, stratum.values.values())) or _TOTAL,
                stratum.questions,
                stratum.clusters,
                _display.number(stratum.score.estimate, 3, signed=True),
                _display.interval(stratum.score.low, stratum.score.high, 3, signed=True),
            ]
            for arm in arms:
                rate = getattr(stratum, arm)
                row += [
                    _display.number(rate.estimate, 3),
                    _display.interval(rate.low, rate.high, 3),
                ]
            rows.append(row)
        return f"Mean score and flip rates by {headers[0]} ({self.interval})", headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


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
    clusters. It is `mean_score` and `flip_rates` of the stratum. With 20 videos and some 50
    questions in a stratum the 95 % t intervals cover .93 to .96
    (`simulations/study_strata_coverage.py`).

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
    strata = []
    # The first name runs fastest, as coverage does within correctness in the paper's table.
    for backwards in product(*reversed(values)):
        chosen = dict(zip(names, reversed(backwards), strict=True))
        mask = known.copy()
        for name, value in chosen.items():
            mask &= columns[name] == value
        strata.append(_stratum(data, mask, chosen, request))
    total = _stratum(data, known, {}, request)
    return StratifiedScores(
        by=names,
        strata=tuple(strata),
        total=total,
        questions={
            **data.questions,
            "used": int(known.sum()),
            "left_out": {**data.questions["left_out"], **left_out},
        },
        interval=method,
        notes=tuple(dict.fromkeys([*data.notes, *_left_out(left_out), *_notes(strata, total)])),
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


def _notes(strata: list[Stratum], total: Stratum) -> list[str]:
    reasons: list[tuple[str, str | None]] = []
    for stratum in strata:
        arms = {"mean score": stratum.score, "SHAM": stratum.sham, "DESTROY": stratum.destroy}
        if total.self_questions:
            arms["SELF"] = stratum.self_
        own = {one.note for one in arms.values()}
        if len(own) == 1:  # what holds for all figures of a stratum is said once
            reasons.append((stratum.label, own.pop()))
        else:
            reasons += [(f"{stratum.label}: {name}", one.note) for name, one in arms.items()]
    # With that of all questions, what holds for every stratum is not said as if of all.
    reasons.append(("all questions", total.score.note))
    notes = explain(reasons) if total.questions else [NO_QUESTIONS]
    if total.questions and not total.self_questions:
        notes.append(NO_SELF)
    if total.questions and total.clusters is not None and total.clusters > 1:
        notes.append(INTERVALS)
    return notes


def _key(value: object) -> object:
    return str(value).lower() if isinstance(value, bool | np.bool_) else value


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
