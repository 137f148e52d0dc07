"""The arithmetic of two runs compared: paired differences, and signs at one k."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    NO_QUESTIONS,
    Estimate,
    bootstrap,
    cluster_sums,
    count_clusters,
    percentile_interval,
    t_interval,
    t_test,
)
from carve_stats.counts import ReplayCounts
from carve_stats.inference.sign_excess import observe
from carve_stats.inference.sign_intervals import IntervalRequest
from carve_stats.population.patterns import fullest_budget, reaches

__all__ = ["RunDifference", "SharedSigns", "run_differences", "signs_at_one_k"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifference(Estimate):
    """One figure in two runs over the same questions, and its difference, b − a.

    Parameters
    ----------
    estimate, se, low, high, note
        As in `Estimate`, of the difference b − a.
    a, b : float
        The figure in each run, over the same questions; NaN where there is none.
    p_value : float or None
        Two-sided, of no difference: cluster t, with clusters − 1 degrees of freedom.
    questions : int
        Questions that the figure is over.
    clusters : int or None
        Their clusters; None where these are not known.
    """

    a: float
    b: float
    p_value: float | None
    questions: int
    clusters: int | None

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value."""
        return {
            "a": _display.plain(self.a),
            "b": _display.plain(self.b),
            **Estimate.to_dict(self),
            "p_value": self.p_value,
            "questions": self.questions,
            "clusters": self.clusters,
        }


class SharedSigns(NamedTuple):
    """The signs of the scores of two runs, at one k.

    Parameters
    ----------
    k : int or None
        That of both arms and both runs; None without questions.
    kept : ndarray of bool, shape (n,)
        Which questions reach it.
    shares : list of two ndarray, shape (kept, 3)
        Negative, zero, positive in each run: 0 or 1, or their probabilities when subsampled.
    notes : list of str
        What was subsampled and what left out, if anything was.
    """

    k: int | None
    kept: NDArray[np.bool_]
    shares: list[Floats]
    notes: list[str]


def signs_at_one_k(a: ReplayCounts, b: ReplayCounts) -> SharedSigns:
    """The signs of questions scored in both runs, at the k at which most replays count.

    Parameters
    ----------
    a, b : ReplayCounts
        The same questions in the same order, each with a score in both.

    Returns
    -------
    SharedSigns
        Those with more replays are subsampled exactly, those with fewer are not kept.
    """
    if not len(a):
        return SharedSigns(None, np.zeros(0, np.bool_), [np.zeros((0, 3))] * 2, [])
    none = np.zeros(len(a), np.int64)
    fewest = ReplayCounts(
        a.question,
        none,
        np.minimum(a.sham_replays, b.sham_replays),
        none,
        np.minimum(a.destroy_replays, b.destroy_replays),
    )
    budget = fullest_budget(fewest, equal=True)
    kept, k = reaches(fewest, budget), budget[0]
    shares = [observe(run.select(kept), budget).shares for run in (a, b)]
    arms = (a.sham_replays, a.destroy_replays, b.sham_replays, b.destroy_replays)
    more = int((np.stack(arms)[:, kept] > k).any(axis=0).sum())
    fewer = int((~kept).sum())
    told = [
        f"{_display.counted(n, 'question')} with {what}"
        for n, what in (
            (more, f"more {'was' if more == 1 else 'were'} subsampled to it (exactly)"),
            (fewer, f"fewer {'was' if fewer == 1 else 'were'} left out"),
        )
        if n
    ]
    shared = f"signs are compared at {_display.counted(k, 'replay')} in each arm of both runs"
    return SharedSigns(k, kept, shares, [f"{shared}: {' and '.join(told)}"] if told else [])


def run_differences(
    values: list[Floats],
    codes: NDArray[np.int64] | None,
    request: IntervalRequest,
    widest: list[float],
) -> list[RunDifference]:
    """A row for each figure of two runs.

    Parameters
    ----------
    values : list of two ndarray, shape (n, figures)
        The values of the same questions in each run.
    codes : ndarray of int, shape (n,), or None
        Their clusters.
    request : IntervalRequest
        Which intervals.
    widest : list of float
        The largest difference that each figure can have.

    Returns
    -------
    list of RunDifference
        One a figure; without questions NaN, with a note.
    """
    a, b = values
    n = len(a)
    if not n:
        return [
            RunDifference(estimate=math.nan, note=NO_QUESTIONS, a=math.nan, b=math.nan,
                p_value=None, questions=0, clusters=None if codes is None else 0)
            for _ in widest
        ]  # fmt: skip
    difference = b - a
    clusters = None if codes is None else count_clusters(codes)
    resampled = None
    if request.rng is not None and codes is not None and clusters is not None and clusters > 1:
        resampled = bootstrap(
            cluster_sums(np.column_stack([np.ones(n), difference]), codes),
            lambda sums: sums[:, 1:] / sums[:, :1],
            rng=request.rng,
            resamples=request.resamples,
        )
    rows = []
    for place, most in enumerate(widest):
        column = difference[:, place]
        mean = float(column.mean())
        estimate = t_interval(mean, column - mean, codes, level=request.level, within=(-most, most))
        p_value = t_test(estimate, None if clusters is None else clusters - 1)
        if resampled is not None and estimate.se is not None:
            estimate = percentile_interval(mean, resampled[:, place], level=request.level)
        rows.append(
            RunDifference(estimate=mean, se=estimate.se, low=estimate.low, high=estimate.high,
                note=estimate.note, a=float(a[:, place].mean()), b=float(b[:, place].mean()),
                p_value=p_value, questions=n, clusters=clusters)
        )  # fmt: skip
    return rows
