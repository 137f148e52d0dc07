"""A running probe under watch: intervals for the mean score that hold at all times together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats._columns import id_column
from carve_stats.clusters import NO_SPREAD, cluster_sums
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.inference.rates import describe_validity
from carve_stats.planning.confidence_sequence import (
    LEAST,
    ROUNDING,
    ConfidenceSequence,
    confidence_sequence,
)

__all__ = ["Monitoring", "monitor_mean_score"]

Floats = NDArray[np.float64]

_ROWS = 10  # of the path that are printed

HOLDS = (
    "stop whenever you like: the intervals hold at all times together. They are about the mean"
    " score in the source of the videos, if these are independent draws from it and their scores"
    " had no part in the order; exactly so where the sums of scores within videos are normal, and"
    " approximately elsewhere"
)
NOT_YET = (
    "too few videos yet, fewer than {least} with a score other than 0, or one video with most of"
    " the questions: the interval is still all of [-1, 1]"
)
REVISED = (
    "{n} of the videos counted before have changed since: the guarantee is for videos that count"
    " once all of their replays are made"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Monitoring:
    """The mean score of a running probe, from `monitor_mean_score`.

    Parameters
    ----------
    videos : tuple of str
        In their order of arrival; those with a scored question.
    questions : ndarray of int, shape (videos,)
        Scored questions of each.
    sums : ndarray, shape (videos,)
        Sums of their scores.
    path : ConfidenceSequence
        Estimate, interval and p-value after each video.
    level : float
        Probability that all intervals, together, hold the mean score.
    planned : int
        The number of videos at which the intervals are nearly as short as they can be.
    notes : tuple of str
        What a reader has to know.
    """

    videos: tuple[str, ...]
    questions: NDArray[np.int64]
    sums: Floats
    path: ConfidenceSequence
    level: float
    planned: int
    notes: tuple[str, ...]

    @property
    def estimate(self) -> float:
        """The mean score of all questions so far."""
        return float(self.path.estimate[-1])

    @property
    def low(self) -> float:
        """The lower end of the interval now."""
        return float(self.path.low[-1])

    @property
    def high(self) -> float:
        """The upper end of the interval now."""
        return float(self.path.high[-1])

    @property
    def p_value(self) -> float:
        """Of the hypothesis that the mean score is 0, valid whenever the run is stopped."""
        return float(self.path.p_value[-1])

    @property
    def excluded_after(self) -> int | None:
        """How many videos had come when an interval first excluded 0; None if none has."""
        outside = np.flatnonzero((self.path.low > 0.0) | (self.path.high < 0.0))
        return int(outside[0]) + 1 if outside.size else None

    def update(self, counts: ReplayCounts, *, order: Sequence[str] | None = None) -> Monitoring:
        """Monitor the same run when it has grown.

        Parameters
        ----------
        counts : ReplayCounts
            All of the run, not only what is new.
        order : sequence of str, optional
            The new videos in their order of arrival; by name where not given.

        Returns
        -------
        Monitoring
            The videos already seen keep their places, and new ones follow.
        """
        later = np.unique(_clusters(counts)) if order is None else order
        order = [*self.videos, *later]
        grown = monitor_mean_score(counts, order=order, level=self.level, planned=self.planned)
        now = {v: (n, s) for v, n, s in zip(grown.videos, grown.questions, grown.sums, strict=True)}
        before = zip(self.videos, self.questions, self.sums, strict=True)
        revised = sum(now.get(v) != (n, s) for v, n, s in before)
        notes = (*grown.notes, REVISED.format(n=revised)) if revised else grown.notes
        return replace(grown, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value, with the whole ``path``."""
        names = ("estimate", "low", "high", "p_value", "excluded_after", "level", "planned")
        path = {name: column.tolist() for name, column in self.path._asdict().items()}
        return {
            **{name: getattr(self, name) for name in names},
            "questions": int(self.questions.sum()),
            "videos": len(self.videos),
            "path": {"video": list(self.videos), "questions": self.questions.tolist(), **path},
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        since, done = self.excluded_after, np.cumsum(self.questions)
        shown = np.unique(np.linspace(0, len(self.videos) - 1, _ROWS).round().astype(int))
        shown = shown if since is None else np.union1d(shown, since - 1)
        rows: list[list[object]] = [
            [
                i + 1, int(done[i]), _display.number(self.path.estimate[i], signed=True),
                _display.interval(self.path.low[i], self.path.high[i], signed=True),
                _display.p_value(self.path.p_value[i]),
            ]
            for i in shown.tolist()
        ]  # fmt: skip
        when = "0 not excluded so far" if since is None else f"0 first excluded after {since}"
        caption = f"Mean score as videos arrive, {100 * self.level:g} % at all times: {when}"
        return caption, ["videos", "questions", "mean score", "interval", "p-value"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def monitor_mean_score(
    counts: ReplayCounts,
    *,
    order: Sequence[str] | None = None,
    level: float = 0.95,
    planned: int = 50,
) -> Monitoring:
    """Follow the mean score of a running probe, which may be stopped at any look.

    Parameters
    ----------
    counts : ReplayCounts
        The replays so far, with their videos; leave out a video whose replays are under way.
    order : sequence of str, optional
        The videos as they arrived, such as the video of each record in the log: the first
        mention counts, and videos without a scored question are skipped. By name where not given.
    level, planned
        As in `confidence_sequence`.

    Returns
    -------
    Monitoring
        Estimate and interval after each video.

    Raises
    ------
    InputError
        No clusters, no scored question, a video not in `order`, a wrong level or `planned`.

    See Also
    --------
    mean_score : the shorter interval of a run whose size was fixed beforehand.

    Notes
    -----
    The estimand is θ = E S_v / E n_v, the mean score with questions weighted alike, over the
    source that the videos (n_v questions, scores that sum to S_v) are independent draws from.
    Bets on bounded values hold for any law, but need the largest n_v beforehand, and came out some
    2.6 and 5.6 times as wide at 103 and 25 videos. This is exact for normal S_v − θ·n_v, and
    otherwise the closer the later the first look.

    References
    ----------
    H. Wang, A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means with
    unknown variance", arXiv:2310.03722. I. Waudby-Smith et al., "Time-uniform central limit theory
    and asymptotic confidence sequences", Annals of Statistics 52 (2024).

    Examples
    --------
    >>> from carve_stats.population.mixing import Population
    >>> counts = Population.paper().sample(1258, 3, clusters=103, icc=.1, rng=1)
    >>> watch = monitor_mean_score(counts)
    >>> watch.low < 0.298 < watch.high, watch.excluded_after < 30
    (True, True)
    """
    clusters = _clusters(counts)
    scored = counts.scored
    if not scored.any():
        raise InputError("no question has a valid replay in both arms: there is nothing to monitor")
    names, codes = np.unique(clusters[scored], return_inverse=True)
    place: dict[str, int] = {}
    for name in names.tolist() if order is None else id_column("order", order).tolist():
        place.setdefault(name, len(place))
    missing = [name for name in names.tolist() if name not in place]
    if missing:
        raise InputError(f"order does not name the video {missing[0]!r}: name every video")
    arrival = np.argsort([place[name] for name in names.tolist()])
    sums = cluster_sums(counts.score[scored], codes)[arrival]
    questions = np.bincount(codes)[arrival]
    path = confidence_sequence(sums, questions, level=level, planned=planned)
    notes = [HOLDS, *describe_validity(counts)]
    if path.low[-1] <= -1.0 and path.high[-1] >= 1.0:
        alike = names.size > 1 and np.ptp(sums / questions) <= ROUNDING
        notes.append(NO_SPREAD if alike else NOT_YET.format(least=LEAST))
    return Monitoring(
        videos=tuple(names[arrival].tolist()), questions=questions, sums=sums, path=path,
        level=float(level), planned=int(planned), notes=tuple(notes),
    )  # fmt: skip


def _clusters(counts: ReplayCounts) -> NDArray[np.str_]:
    check_counts(counts)
    if counts.cluster is None:
        raise InputError(UNKNOWN_CLUSTERS)
    return counts.cluster
