"""Differences of mean score and flip rates between strata that share clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import ONE_CLUSTER, Estimate, explain, interval_of_se, t_test
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts

__all__ = [
    "MEASURES",
    "MeanDifference",
    "Side",
    "StrataSums",
    "StratumDifference",
    "differences_table",
    "sum_strata",
]

MEASURES = ("score", "sham", "destroy", "self_")

EMPTY_SIDE = "no difference: one of its sides has no question"
ONE_SIDE = (
    "no interval: all questions of one side belong to a single cluster (video), which does not tell"
    " how far their mean could be off"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference(Estimate):
    """The difference of a mean between two sets of questions, a − b.

    Parameters
    ----------
    estimate, se, low, high, note
        As in `Estimate`.
    p_value : float or None
        Two-sided, of no difference; None where the standard error is not estimable.
    df : int or None
        Degrees of freedom: clusters of the side with fewer, less 1.
    """

    p_value: float | None = None
    df: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value."""
        return {**Estimate.to_dict(self), "p_value": self.p_value, "df": self.df}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StratumDifference:
    """What two sets of strata differ by, a − b.

    Parameters
    ----------
    a, b : str
        What the sides are called.
    questions : (int, int)
        Scored questions of either side.
    score, sham, destroy, self_ : MeanDifference
        Differences of the mean score and the flip rates; of SELF over the questions with a valid
        SELF replay.
    level : float
        Confidence level of the intervals.
    """

    a: str
    b: str
    questions: tuple[int, int]
    score: MeanDifference
    sham: MeanDifference
    destroy: MeanDifference
    self_: MeanDifference
    level: float

    @property
    def label(self) -> str:
        """How it is called: ``covered true − covered false``."""
        return f"{self.a} − {self.b}"

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value."""
        named = {name.rstrip("_"): getattr(self, name).to_dict() for name in MEASURES}
        questions = list(self.questions)
        return {"a": self.a, "b": self.b, "questions": questions, **named, "level": self.level}

    def _block(self) -> tuple[Any, ...]:
        arms = {"mean score": self.score, "SHAM": self.sham, "DESTROY": self.destroy}
        return *differences_table([self]), explain([(arm, of.note) for arm, of in arms.items()])

    def __str__(self) -> str:
        return _display.text_block(*self._block())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._block())


Side = tuple[str, list[int]]
"""What one side of a difference is called, and which strata it has."""


class StrataSums(NamedTuple):
    """Sums within the V clusters, from which any two sets of the strata can be compared.

    Parameters
    ----------
    questions, totals : ndarray of float, shape (V, strata, measures)
        Questions with each of `MEASURES`, and the sums of it.
    clustered : bool
        Whether clusters are known; if not there is one row.
    """

    questions: NDArray[np.float64]
    totals: NDArray[np.float64]
    clustered: bool

    def compare(self, a: Side, b: Side, level: float) -> StratumDifference:
        """The difference of two sets of strata.

        Parameters
        ----------
        a, b : (str, list of int)
            What either side is called, and which strata it has; none is on both.
        level : float
            Confidence level.

        Returns
        -------
        StratumDifference
            With cluster t intervals.
        """
        sides = [
            (self.questions[:, own].sum(axis=1), self.totals[:, own].sum(axis=1))
            for _, own in (a, b)
        ]
        return StratumDifference(
            a=a[0],
            b=b[0],
            questions=(int(sides[0][0][:, 0].sum()), int(sides[1][0][:, 0].sum())),
            **{
                name: _difference(
                    *((n[:, i], total[:, i]) for n, total in sides),
                    clustered=self.clustered,
                    level=level,
                    most=2.0 if name == "score" else 1.0,
                )
                for i, name in enumerate(MEASURES)
            },
            level=level,
        )


def differences_table(
    differences: Sequence[StratumDifference],
) -> tuple[str, list[str], list[list[object]]]:
    """Caption, headers and rows of differences, at least one, with intervals of one level."""
    arms = ["sham", "destroy"]
    if any(not math.isnan(one.self_.estimate) for one in differences):
        arms.append("self_")
    headers = ["difference", "questions", "mean score", "interval", "p-value"]
    for arm in arms:
        headers += [arm.rstrip("_"), "interval"]
    rows: list[list[object]] = []
    for one in differences:
        row: list[object] = [one.label, f"{one.questions[0]}, {one.questions[1]}"]
        for name in ("score", *arms):
            of = getattr(one, name)
            row += [
                _display.number(of.estimate, 3, signed=True),
                _display.interval(of.low, of.high, 3, signed=True),
            ]
            if name == "score":
                row.append(_display.p_value(of.p_value))
        rows.append(row)
    return f"Differences ({100 * differences[0].level:g} % cluster t intervals)", headers, rows


def sum_strata(
    counts: ReplayCounts,
    stratum: NDArray[np.int64],
    strata: int,
    codes: NDArray[np.int64] | None,
) -> StrataSums:
    """Sum the measures of scored questions within clusters and strata.

    Parameters
    ----------
    counts : ReplayCounts
        The n questions.
    stratum : ndarray of int, shape (n,)
        The stratum of each.
    strata : int
        How many there are.
    codes : ndarray of int, shape (n,), or None
        Their clusters.

    Returns
    -------
    StrataSums
        In order of the codes.
    """
    cluster = np.zeros(len(counts), np.int64)
    if codes is not None:
        cluster = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    rows = int(cluster.max(initial=0)) + 1
    place = cluster * strata + stratum
    asked = counts.self_replays > 0
    self_ = np.zeros(len(counts))
    np.divide(counts.self_flips, counts.self_replays, out=self_, where=asked)
    sham = counts.sham_flips / counts.sham_replays
    destroy = counts.destroy_flips / counts.destroy_replays

    def summed(weights: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.bincount(place, weights, rows * strata)
        return sums.reshape(rows, strata).astype(np.float64)

    one = np.ones(len(counts))
    return StrataSums(
        np.stack([summed(x) for x in (one, one, one, asked)], axis=2),
        np.stack([summed(x) for x in (counts.score, sham, destroy, self_)], axis=2),
        codes is not None,
    )


_Sums = tuple[NDArray[np.float64], NDArray[np.float64]]


def _difference(
    a: _Sums, b: _Sums, *, clustered: bool, level: float, most: float
) -> MeanDifference:
    """Of two means, from the questions and the sums of each cluster.

    A side's mean m̂ moves by (Σ_v x − m̂ n_v)/n with cluster v, times √(V/(V − 1)) for the V
    clusters of that side, as in its own standard error; a cluster moves both sides together.
    """
    n = [float(side[0].sum()) for side in (a, b)]
    if not all(n):
        return MeanDifference(estimate=math.nan, note=EMPTY_SIDE)
    means = [float(side[1].sum()) / size for side, size in zip((a, b), n, strict=True)]
    estimate = means[0] - means[1]
    if not clustered:
        return MeanDifference(estimate=estimate, note=UNKNOWN_CLUSTERS)
    clusters = [int((side[0] > 0).sum()) for side in (a, b)]
    if min(clusters) < 2:
        alone = int(((a[0] > 0) | (b[0] > 0)).sum()) < 2
        return MeanDifference(estimate=estimate, note=ONE_CLUSTER if alone else ONE_SIDE)
    moves = [
        math.sqrt(v / (v - 1)) * (side[1] - mean * side[0]) / size
        for side, size, mean, v in zip((a, b), n, means, clusters, strict=True)
    ]
    se = math.sqrt(float(((moves[0] - moves[1]) ** 2).sum()))
    df = min(clusters) - 1
    one = interval_of_se(estimate, se, df, level=level, within=(-most, most))
    return MeanDifference(
        estimate=estimate,
        se=one.se,
        low=one.low,
        high=one.high,
        note=one.note,
        p_value=t_test(one, df),
        df=df if one.se is not None else None,
    )
