"""The headline: flip rates of the three conditions, and the mean score with its test."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    Estimate,
    IntervalMethod,
    count_clusters,
    explain,
    interval_method,
    t_interval,
    t_test,
)
from carve_stats.counts import ReplayCounts, check_counts

__all__ = ["ArmRate", "FlipRates", "MeanScore", "flip_rates", "mean_score"]

Codes = NDArray[np.int64] | None

_INVALID = (
    "{invalid} of {made} replays gave no valid answer and count in no rate. If whether a reply is"
    " valid depends on the condition, the rates stand as rates of the valid replays; if it depends"
    " on the answer itself, nothing closer than the worst-case bounds is identified"
)
_BOUNDS = (
    "worst-case bounds take every invalid replay as a non-flip, then as a flip: for SELF, over the"
    " questions with a replay made in it; for SHAM, DESTROY and the mean score, over those with a"
    " replay made in both SHAM and DESTROY"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRate(Estimate):
    """The flip rate of one condition: the mean of the questions' own rates.

    Parameters
    ----------
    estimate, se, low, high, note
        As in `Estimate`.
    questions, clusters : int, int or None
        The questions that the estimate is over, and their clusters: for SHAM and DESTROY the
        questions scored (a valid replay in both), for SELF those with a valid SELF replay.
    replays, flips : int
        Valid replays of those questions, and how many of them flipped.
    attempted : int
        Questions with a replay made in this condition, valid or not.
    invalid : int
        Invalid replays of those.
    lowest, highest : float or None
        The mean rate if every invalid replay were a non-flip, and if every one were a flip; over
        the attempted questions, and for SHAM and DESTROY those attempted in both, since one
        without the other is not finished rather than invalid. None where there are none.
    """

    questions: int
    clusters: int | None
    replays: int
    flips: int
    attempted: int
    invalid: int
    lowest: float | None
    highest: float | None

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value."""
        names = (
            "questions", "clusters", "replays", "flips", "attempted", "invalid", "lowest", "highest"
        )  # fmt: skip
        return Estimate.to_dict(self) | {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, repr=False)
class FlipRates:
    """Flip rates of the three conditions, from `flip_rates`.

    Parameters
    ----------
    self_, sham, destroy : ArmRate
        One a condition.
    interval : IntervalMethod
        How the intervals were made; its df is that of SHAM and DESTROY.
    notes : tuple of str
        What is not estimable and why, and what invalid replays allow.
    """

    self_: ArmRate
    sham: ArmRate
    destroy: ArmRate
    interval: IntervalMethod
    notes: tuple[str, ...]

    def reasons(self) -> list[tuple[str, str | None]]:
        """Each condition and why its rate is incomplete, for `explain`."""
        arms = [("SHAM", self.sham), ("DESTROY", self.destroy)]
        if self.self_.attempted:  # where no SELF replay was made, none is missing
            arms.append(("SELF", self.self_))
        return [(name, arm.note) for name, arm in arms]

    def to_dict(self) -> dict[str, Any]:
        """``self``, ``sham``, ``destroy``, ``interval`` and ``notes`` as plain values."""
        return {
            "self": self.self_.to_dict(),
            "sham": self.sham.to_dict(),
            "destroy": self.destroy.to_dict(),
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        headers = ["condition", "flip rate", "interval", "questions", "replays", "invalid"]
        headers.append("worst case")
        arms = {"self": self.self_, "sham": self.sham, "destroy": self.destroy}
        rows: list[list[object]] = [
            [
                name,
                _display.number(arm.estimate),
                _display.interval(arm.low, arm.high),
                arm.questions,
                arm.replays,
                arm.invalid,
                _display.interval(arm.lowest, arm.highest),
            ]
            for name, arm in arms.items()
        ]
        return f"Flip rates ({self.interval})", headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MeanScore(Estimate):
    """The mean score Δ̂ and the test of no effect, from `mean_score`.

    Parameters
    ----------
    estimate, se, low, high, note
        As in `Estimate`; over the questions scored.
    p_value : float or None
        Two-sided, of the hypothesis that the mean score is zero: cluster t, with
        clusters − 1 degrees of freedom.
    questions : int
        Questions scored: a valid replay in both arms.
    attempted : int
        Questions with a replay made in both arms, valid or not: those of the bounds.
    lowest, highest : float or None
        The mean score over the attempted questions if every invalid replay had answered so as
        to lower it most (SHAM flips, DESTROY does not), and so as to raise it most.
    interval : IntervalMethod
        How the interval was made.
    notes : tuple of str
        What is not estimable and why, and what invalid replays allow.
    """

    p_value: float | None
    questions: int
    attempted: int
    lowest: float | None
    highest: float | None
    interval: IntervalMethod
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value, with ``interval`` and ``notes``."""
        names = ("p_value", "questions", "attempted", "lowest", "highest")
        figures = Estimate.to_dict(self) | {name: getattr(self, name) for name in names}
        return figures | {"interval": self.interval.to_dict(), "notes": list(self.notes)}

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        headers = ["", "estimate", "interval", "p-value", "questions", "worst case"]
        row: list[object] = [
            "mean score",
            _display.number(self.estimate, signed=True),
            _display.interval(self.low, self.high, signed=True),
            _display.p_value(self.p_value),
            self.questions,
            _display.interval(self.lowest, self.highest, signed=True),
        ]
        caption = f"Mean score: destroy − sham flip rate ({self.interval})"
        return caption, headers, [row]

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def flip_rates(counts: ReplayCounts, *, level: float = 0.95) -> FlipRates:
    """Flip rates under SELF, SHAM and DESTROY, with cluster intervals.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    level : float
        Confidence level.

    Returns
    -------
    FlipRates
        A rate, its interval, and the worst-case bounds that invalid replays allow, for each
        condition. Rates without questions, and intervals without at least two clusters that
        differ, are undefined, and `notes` says why.

    Raises
    ------
    InputError
        A level outside (0, 1).

    See Also
    --------
    mean_score : the difference of the two rates, and its test.

    Notes
    -----
    A rate is the mean over questions of flips/replays: p̂ = Σ_i (x_i/k_i)/n. SHAM and DESTROY
    are over the same questions, those with a valid replay in both, so that their difference
    is exactly the mean score. A ratio of sums would weight each question by its valid replays,
    and go wrong where validity depends on the condition. Influence function: x_i/k_i − p̂.

    References
    ----------
    - `proofs/thm_pooled_rates.py`: why rates are means over questions, and their difference the
      mean score.
    - `proofs/thm_cluster_variance.py`: what the standard error estimates.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts(["a", "b", "c", "d"], [1, 0, 1, 2], [3, 3, 3, 3], [3, 2, 2, 1],
    ...     [3, 3, 2, 3], destroy_invalid=[0, 0, 1, 0], cluster=["v1", "v1", "v2", "v3"])
    >>> rates = flip_rates(counts)
    >>> round(rates.sham.estimate, 4), round(rates.destroy.estimate, 4)
    (0.3333, 0.75)
    >>> round(rates.destroy.lowest, 4), round(rates.destroy.highest, 4)
    (0.6667, 0.75)
    """
    check_counts(counts)
    return estimate_flip_rates(counts, counts.cluster_codes, level)


def mean_score(counts: ReplayCounts, *, level: float = 0.95) -> MeanScore:
    """Mean score, its cluster interval, and the test of no effect.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    level : float
        Confidence level.

    Returns
    -------
    MeanScore
        The mean of Δ̂ over the questions scored, with interval, p-value and the worst-case
        bounds that invalid replays allow.

    Raises
    ------
    InputError
        A level outside (0, 1).

    Notes
    -----
    The influence function is Δ̂_i − mean Δ̂; the test refers mean Δ̂ / SE to Student's t with
    clusters − 1 degrees of freedom. There is no p-value where there is no standard error: with
    all clusters alike the ratio is 0/0 or infinite, and neither is evidence.

    References
    ----------
    - `proofs/thm_pooled_rates.py`: why it is the difference of the rates.
    - `proofs/thm_cluster_variance.py`: what the standard error estimates.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts(["a", "b", "c", "d"], [1, 0, 1, 2], [3] * 4, [3, 2, 3, 1], [3] * 4,
    ...     cluster=["v1", "v2", "v3", "v4"])
    >>> result = mean_score(counts)
    >>> round(result.estimate, 4), round(result.p_value, 4)
    (0.4167, 0.1942)
    """
    check_counts(counts)
    return estimate_mean_score(counts, counts.cluster_codes, level)


def estimate_flip_rates(counts: ReplayCounts, codes: Codes, level: float) -> FlipRates:
    """`flip_rates`, with the cluster codes already at hand."""
    scored = counts.scored
    self_ = _arm(counts, "self", counts.self_replays > 0, codes, level)
    sham = _arm(counts, "sham", scored, codes, level)
    destroy = _arm(counts, "destroy", scored, codes, level)
    method = interval_method("t", level, _at(codes, scored))
    rates = FlipRates(self_, sham, destroy, method, ())
    notes = (*explain(rates.reasons()), *describe_validity(counts))
    return replace(rates, notes=notes)


def estimate_mean_score(counts: ReplayCounts, codes: Codes, level: float) -> MeanScore:
    """`mean_score`, with the cluster codes already at hand."""
    scored = counts.scored
    codes = _at(codes, scored)
    score = counts.score[scored]
    mean = _mean(score)
    estimate = t_interval(mean, score - mean, codes, level=level, within=(-1.0, 1.0))
    method = interval_method("t", level, codes)
    sham_made, sham_low, sham_high = _extremes(counts, "sham")
    destroy_made, destroy_low, destroy_high = _extremes(counts, "destroy")
    attempted = (sham_made > 0) & (destroy_made > 0)
    # Where nothing is invalid both ends are the score itself, to the last bit.
    certain = scored & (counts.sham_invalid + counts.destroy_invalid == 0)
    low = np.where(certain, counts.score, destroy_low - sham_high)
    high = np.where(certain, counts.score, destroy_high - sham_low)
    return MeanScore(
        estimate=estimate.estimate,
        se=estimate.se,
        low=estimate.low,
        high=estimate.high,
        note=estimate.note,
        p_value=t_test(estimate, method.df),
        questions=int(scored.sum()),
        attempted=int(attempted.sum()),
        lowest=_display.plain(_mean(low[attempted])),
        highest=_display.plain(_mean(high[attempted])),
        interval=method,
        notes=(*explain([("mean score", estimate.note)]), *describe_validity(counts)),
    )


def _arm(
    counts: ReplayCounts, arm: str, used: NDArray[np.bool_], codes: Codes, level: float
) -> ArmRate:
    flips, replays = getattr(counts, f"{arm}_flips")[used], getattr(counts, f"{arm}_replays")[used]
    codes = _at(codes, used)
    rates = flips / replays
    mean = _mean(rates)
    estimate = t_interval(mean, rates - mean, codes, level=level, within=(0.0, 1.0))
    made, low, high = _extremes(counts, arm)
    attempted = bounded = made > 0
    if arm != "self":
        bounded = attempted & (_extremes(counts, "destroy" if arm == "sham" else "sham")[0] > 0)
    return ArmRate(
        estimate=estimate.estimate,
        se=estimate.se,
        low=estimate.low,
        high=estimate.high,
        note=estimate.note,
        questions=int(used.sum()),
        clusters=None if codes is None else count_clusters(codes),
        replays=int(replays.sum()),
        flips=int(flips.sum()),
        attempted=int(attempted.sum()),
        invalid=int(getattr(counts, f"{arm}_invalid").sum()),
        lowest=_display.plain(_mean(low[bounded])),
        highest=_display.plain(_mean(high[bounded])),
    )


def _extremes(
    counts: ReplayCounts, arm: str
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Replays made of each question, and its lowest and highest possible rate."""
    flips, invalid = getattr(counts, f"{arm}_flips"), getattr(counts, f"{arm}_invalid")
    made = getattr(counts, f"{arm}_replays") + invalid
    whole = np.maximum(made, 1)  # questions without a replay are left out by whoever averages
    return made, flips / whole, (flips + invalid) / whole


def describe_validity(counts: ReplayCounts) -> list[str]:
    """What invalid replays allow, as notes; none where every replay is valid."""
    arms = ("self", "sham", "destroy")
    invalid = sum(int(getattr(counts, f"{arm}_invalid").sum()) for arm in arms)
    if not invalid:
        return []
    made = invalid + sum(int(getattr(counts, f"{arm}_replays").sum()) for arm in arms)
    return [_INVALID.format(invalid=invalid, made=made), _BOUNDS]


def _at(codes: Codes, used: NDArray[np.bool_]) -> Codes:
    return None if codes is None else codes[used]


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else math.nan
