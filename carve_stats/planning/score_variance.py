"""The variance of the mean score, split into questions and replays: given, or from a pilot.

n·Var(mean score) = between + sham/k_sham + destroy/k_destroy. Videos add to the part between
questions and not to the replays', which are independent given their question.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats.clusters import ONE_CLUSTER, Estimate, cluster_sums, t_interval
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts
from carve_stats.inference.prediction import Range
from carve_stats.planning.known import NOTHING, Known
from carve_stats.population.mixing import Population
from carve_stats.population.patterns import reaches
from carve_stats.population.summary import score_variance

__all__ = ["PilotVariance", "ScoreVariance", "given_variance"]

Floats = NDArray[np.float64]

ONE_REPLAY = (
    "with one replay an arm, questions that differ and replays that differ look the same: how much"
    " more replays narrow the mean score, and the reliability, are known between bounds only"
)
NO_SPREAD_BETWEEN = (
    "the pilot's scores vary no more than their replays explain: the variance between questions is"
    " taken as 0, and may be small instead"
)
INDEPENDENT = (
    "which questions share a video is not known: widths and power are those of independent"
    " questions, and too good if videos matter; name the videos (--videos FILE or --video-pattern;"
    " in Python: videos=, video_pattern= or cluster=)"
)
NOTHING_ALIKE = (
    "no video of the pilot has two questions with a score: how alike questions of one video are is"
    " not shown, and they are taken as independent (--design-effect says otherwise; in Python:"
    " design_effect=)"
)


class ScoreVariance(NamedTuple):
    """Where the variance of the mean score comes from.

    Parameters
    ----------
    mean : float
        The mean score.
    questions : float
        Variance of p_destroy − p_sham over questions.
    between : float
        The same as it counts for the mean score, inflated by videos.
    sham, destroy : float
        Means of p·(1 − p) over questions.
    """

    mean: float
    questions: float
    between: float
    sham: float
    destroy: float

    @property
    def design_effect(self) -> float:
        """By how much videos inflate the part between questions; NaN where that is 0."""
        return self.between / self.questions if self.questions > 0.0 else math.nan

    def at(self, k_sham: int, k_destroy: int) -> float:
        """The variance of the mean score, times the number of questions."""
        return self.between + self.sham / k_sham + self.destroy / k_destroy

    def reliability(self, k: int) -> float | None:
        """Correlation of two runs; None where scores do not vary at all."""
        total = self.questions + (self.sham + self.destroy) / k
        return self.questions / total if total > 0.0 else None


def given_variance(population: Population, design_effect: float) -> ScoreVariance:
    """That of a population, its part between questions inflated by a given factor."""
    questions = score_variance(population, 1, 1)[0]
    sham, destroy = (
        float(population.weights @ (p * (1.0 - p)))
        for p in (population.p_sham, population.p_destroy)
    )
    mean = float(population.weights @ (population.p_destroy - population.p_sham))
    return ScoreVariance(mean, questions, design_effect * questions, sham, destroy)


class Sharing(NamedTuple):
    """How much of the variance between questions their videos share, and what a plan made of it.

    Parameters
    ----------
    rho : float
        Correlation of the true differences of two questions of one video; NaN where the pilot does
        not show it. At least 0.
    pilot_size, size : float
        Questions to a video, Σm²/Σm, of the pilot and of the plan.
    """

    rho: float
    pilot_size: float
    size: float


class PilotVariance:
    """The split that a pilot's replays show, without a model.

    Parameters
    ----------
    counts : ReplayCounts
        Questions with a score.
    population : Population
        Fitted to them; used only where one replay an arm cannot tell the parts apart.
    level : float
        Confidence level.
    per_cluster : float, optional
        Questions to a video in the plan; as many as in the pilot where not given.
    design_effect : float, optional
        By how much the plan's videos inflate the part between questions; in place of the pilot's.

    Notes
    -----
    With m questions to a video, the part between questions is σ²(1 + (m − 1)ρ). The pilot shows σ²
    by its single questions and the inflated part by its videos, and with m = Σm²/Σm of its videos
    what they share, ρ, which is taken to be at least 0. Of the plan m is 1 + (m̄ − 1)c, where m̄ is
    the mean and c = (m − 1)/(m̄ − 1) of the pilot: videos as uneven as the pilot's.

    A question with x of k flips has x(k − x)/(k(k − 1)) as an unbiased estimate of p(1 − p); what
    the squared deviations of the scores exceed theirs is the part between questions, by question
    or, with sums over videos, by video. The variance at k is then a mean over videos, with its
    linearised cluster t interval on the logarithm.
    """

    def __init__(
        self,
        counts: ReplayCounts,
        population: Population,
        level: float,
        *,
        per_cluster: float | None = None,
        design_effect: float | None = None,
    ) -> None:
        self.level, self.notes = level, [] if counts.cluster is not None else [INDEPENDENT]
        several = reaches(counts, (2, 2))
        self.identified = bool(2 * several.sum() >= several.size)
        used = counts.select(several) if self.identified else counts
        n = len(used)
        codes = used.cluster_codes
        self._interval_note = UNKNOWN_CLUSTERS if codes is None else None
        if codes is not None and codes.max() == codes.min():
            codes, self._interval_note = None, ONE_CLUSTER
            self.notes.append(ONE_CLUSTER)
        self._codes = np.arange(n) if codes is None else codes
        m, k = used.sham_replays, used.destroy_replays
        self.made = int(m.min()), int(k.min())
        score = used.destroy_flips / k - used.sham_flips / m
        mean = float(score.mean())
        deviation = score - mean
        sizes = np.bincount(self._codes)
        clusters = np.count_nonzero(sizes)
        sums = cluster_sums(deviation, self._codes)
        factor = clusters / (clusters - 1) if clusters > 1 else math.nan
        # A video's sum, squared and spread evenly over its questions.
        spread = np.repeat(np.nan, sizes.size)
        spread[sizes > 0] = factor * sums**2 / sizes[sizes > 0]
        shared = spread[self._codes]
        single = n / (n - 1) * deviation**2 if n > 1 else np.full(1, math.nan)
        if self.identified:
            sham = used.sham_flips * (m - used.sham_flips) / (m * (m - 1.0))
            destroy = used.destroy_flips * (k - used.destroy_flips) / (k * (k - 1.0))
        else:
            self.notes.append(ONE_REPLAY)
            sham, destroy = (
                np.full(n, population.weights @ (p * (1.0 - p)))
                for p in (population.p_sham, population.p_destroy)
            )
        own = sham / m + destroy / k
        self._arms = sham + destroy
        self._single = single - own
        self.sharing: Sharing | None = None
        self._most_inflated = 1.0 if design_effect is None else design_effect
        if design_effect is None:
            grown = self._growth(sizes[sizes > 0], per_cluster, float((shared - single).mean()))
            self._total = single + grown * (shared - single)
            self._between = self._total - own
        else:
            self._total, self._between = single, design_effect * self._single
        questions, between = (float(part.mean()) for part in (self._single, self._between))
        if questions <= 0.0 or between <= 0.0:
            self.notes.append(NO_SPREAD_BETWEEN)
        if self.sharing is not None and questions > 0.0 and self.sharing.pilot_size > 1.0:
            excess = max(float((shared - single).mean()), 0.0)
            rho = excess / questions / (self.sharing.pilot_size - 1.0)
            self.sharing = self.sharing._replace(rho=rho)
        self.split = ScoreVariance(
            mean,
            max(questions, 0.0),
            max(between, 0.0),
            float(sham.mean()),
            float(destroy.mean()),
        )

    def _growth(self, sizes: NDArray[np.int64], per_cluster: float | None, excess: float) -> float:
        """What videos add to the variance in the plan, as a multiple of what they add in the pilot.

        0 where they add nothing, or less: that is not carried over to other questions.
        """
        mean, weighted = float(sizes.mean()), float((sizes**2).sum() / sizes.sum())
        if weighted == 1.0:
            if per_cluster not in (None, 1.0) and self._interval_note is None:
                self.notes.append(NOTHING_ALIKE)
            size = 1.0 if per_cluster is None else per_cluster
            self.sharing = Sharing(math.nan, weighted, size)
            return 1.0
        grown = 1.0 if per_cluster is None else (per_cluster - 1.0) / (mean - 1.0)
        self.sharing = Sharing(math.nan, weighted, 1.0 + grown * (weighted - 1.0))
        return grown if excess > 0.0 else 0.0

    def at(self, k: int) -> Known:
        """The variance of the mean score at k, times the number of questions.

        Not known where no score differs from another: that does not make the next ones equal.
        """
        point = self.split.at(k, k)
        if not point > 0.0:
            return Known(None)
        if not self.identified:
            total = float(self._total.mean())
            # All of it may be replays', or all of it questions'.
            factors = self._most_inflated, *(one / k for one in self.made), 1.0
            ends = Range(min(factors) * total, max(factors) * total)
            around = self._log_interval(total, self._total)
            if around.low is None or around.high is None:
                return Known(point, ends)
            return Known(point, ends, Range(min(factors) * around.low, max(factors) * around.high))
        interval = self._log_interval(point, self._between + self._arms / k)
        return Known(point, Range(point, point), interval, k <= min(self.made))

    def reliability(self, k: int) -> Known:
        """Correlation of the scores of two runs at k."""
        point = self.split.reliability(k)
        if point is None:
            return Known(None)
        if not self.identified:
            return Known(point, Range(0.0, 1.0), Range(0.0, 1.0))
        total = float((self._single + self._arms / k).mean())
        influence = (self._single - point * (self._single + self._arms / k)) / total
        ends = self._interval(point, influence - influence.mean(), (0.0, 1.0))
        return Known(point, Range(point, point), Range(ends.low, ends.high), k <= min(self.made))

    def _log_interval(self, point: float, values: Floats) -> Range:
        ends = self._interval(point, values - values.mean(), (-math.inf, math.inf))
        if ends.low is None or ends.high is None or not point > 0.0:
            return NOTHING
        half = (ends.high - ends.low) / (2.0 * point)
        return Range(point * math.exp(-half), point * math.exp(half))

    def _interval(self, point: float, influence: Floats, within: tuple[float, float]) -> Estimate:
        codes = None if self._interval_note else self._codes
        return t_interval(point, influence, codes, level=self.level, within=within)
