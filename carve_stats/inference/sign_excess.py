"""Observed and predicted shares of the signs, and how precisely their difference is known.

Arrays in, arrays out; `carve_stats.inference.tie_excess` makes a result of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carve_stats.clusters import cluster_sums
from carve_stats.counts import ReplayCounts
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.law.subsampling import subsampled_signs
from carve_stats.population.patterns import group_patterns

__all__ = [
    "SignData",
    "null_se",
    "observe",
    "predict",
    "resampled_excess",
    "resampling_sums",
    "sign_influence",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SignData:
    """What the sign shares of n questions are computed from.

    Questions with the same numbers of valid replays share a pattern, of which there are P.

    Parameters
    ----------
    shares : ndarray, shape (n, 3)
        Negative, zero, positive: 1 for the sign of each question's score, or the probability
        of each sign when its replays are subsampled.
    rates : ndarray, shape (n, 2)
        Flips/replays, SHAM and DESTROY.
    pattern : ndarray of int, shape (n,)
        The pattern of each question.
    replays : ndarray of int, shape (P, 2)
        Valid replays of each pattern, SHAM and DESTROY.
    law_replays : ndarray of int, shape (P, 2)
        The replays that each pattern is predicted at: its own, or those it is subsampled to.
    tables : tuple of ndarray, each of shape (k_sham + 1, k_destroy + 1, 3), or None
        For each pattern the shares of each pair of flips; None where these are plain signs.
    """

    shares: Floats
    rates: Floats
    pattern: NDArray[np.int64]
    replays: NDArray[np.int64]
    law_replays: NDArray[np.int64]
    tables: tuple[Floats, ...] | None = None

    @property
    def weights(self) -> Floats:
        """The share of the questions that each pattern has, shape (P,)."""
        return np.bincount(self.pattern, minlength=len(self.replays)) / len(self.pattern)


def observe(counts: ReplayCounts, at: tuple[int, int] | None = None) -> SignData:
    """The signs of questions that all have a score.

    Parameters
    ----------
    counts : ReplayCounts
        At least one question, and a valid replay of each in both arms.
    at : (int, int), optional
        k_sham and k_destroy to subsample every question to, exactly; no more than it has.

    Returns
    -------
    SignData
        As is, or at equal k.
    """
    replays, pattern = group_patterns(counts)
    rates = np.stack(
        [counts.sham_flips / counts.sham_replays, counts.destroy_flips / counts.destroy_replays],
        axis=1,
    )
    if at is None:
        numerator = counts.score_numerator
        signs = np.stack([numerator < 0, numerator == 0, numerator > 0], axis=1)
        return SignData(signs.astype(float), rates, pattern, replays, replays)
    tables = tuple(
        np.stack(subsampled_signs(int(k_sham), int(k_destroy), *at), axis=-1)
        for k_sham, k_destroy in replays
    )
    shares = np.empty((len(counts), 3))
    for code, table in enumerate(tables):
        rows = pattern == code
        shares[rows] = table[counts.sham_flips[rows], counts.destroy_flips[rows]]
    return SignData(shares, rates, pattern, replays, np.tile(at, (len(replays), 1)), tables)


def predict(data: SignData) -> tuple[Floats, Floats]:
    """The homogeneous law at the pooled rates.

    Parameters
    ----------
    data : SignData
        The questions.

    Returns
    -------
    shares : ndarray, shape (P, 3)
        Probability of each sign at each pattern.
    gradient : ndarray, shape (P, 3, 2)
        Its derivatives by p_sham and p_destroy.
    """
    p_sham, p_destroy = data.rates.mean(axis=0)
    k_sham, k_destroy = data.law_replays.T
    law = FiniteReplayLaw(p_sham, p_destroy, k_sham=k_sham, k_destroy=k_destroy)
    by_sham, by_destroy = law.signs_gradient()
    gradient = np.stack([np.stack(by_sham, axis=-1), np.stack(by_destroy, axis=-1)], axis=-1)
    return np.stack(law.signs(), axis=-1), gradient


def sign_influence(data: SignData) -> Floats:
    """Influence function of the three excesses.

    Parameters
    ----------
    data : SignData
        The questions.

    Returns
    -------
    ndarray, shape (n, 3)
        With mean zero over the questions.

    Notes
    -----
    φ_i = (T_i − t_i(p̂)) − τ̂ − ḡ_sham (x_i/k_i − p̂_sham) − ḡ_destroy (y_i/k_i − p̂_destroy),
    where t_i is the prediction at the question's own replays and ḡ the mean gradient.
    """
    shares, gradient = predict(data)
    residual = data.shares - shares[data.pattern]
    mean_gradient = np.tensordot(data.weights, gradient, axes=1)
    rates = data.rates - data.rates.mean(axis=0)
    return residual - residual.mean(axis=0) - rates @ mean_gradient.T


def null_se(data: SignData) -> Floats:
    """Standard errors that the excesses would have if all questions had the same rates.

    Parameters
    ----------
    data : SignData
        The questions.

    Returns
    -------
    ndarray, shape (3,)
        Negative, zero, positive. Questions of one cluster are independent in this model.

    Notes
    -----
    n Var τ̂ = E[Var T_i] + Σ_arms p q (ḡ² E[1/k_i] − 2 ḡ E[t′_i/k_i]), the expectations over
    the questions. For plain signs Var T_i = t_i (1 − t_i), and with one k for all questions
    this is t (1 − t) − Σ_arms p q t′²/k. For subsampled questions Var T_i is less, and the
    covariance of T_i with the rate is still p q t′/k, k being the replays that were made: for
    a binomial X, d/dp E f(X) = Cov(f(X), X)/(p q).

    References
    ----------
    The delta method: A. W. van der Vaart, *Asymptotic Statistics*, Cambridge 1998, §3.
    """
    shares, gradient = predict(data)
    weights = data.weights
    p = data.rates.mean(axis=0)
    variance = weights @ _share_variance(data, shares, p)
    for arm in range(2):
        inverse = weights / data.replays[:, arm]
        mean_gradient = weights @ gradient[:, :, arm]
        covariance = inverse @ gradient[:, :, arm]
        variance = variance + p[arm] * (1 - p[arm]) * (
            mean_gradient**2 * inverse.sum() - 2 * mean_gradient * covariance
        )
    return np.sqrt(np.maximum(variance, 0) / len(data.pattern))


def resampling_sums(data: SignData, codes: NDArray[np.int64]) -> Floats:
    """The sums within each cluster that `resampled_excess` is a function of.

    Parameters
    ----------
    data : SignData
        The questions.
    codes : ndarray of int, shape (n,)
        The cluster of each question.

    Returns
    -------
    ndarray, shape (clusters, 5 + P)
        Shares, rates, and how many questions have each pattern.
    """
    patterns = len(data.replays)
    questions = np.bincount(codes * patterns + data.pattern, minlength=(codes.max() + 1) * patterns)
    questions = questions.reshape(-1, patterns)
    sums = cluster_sums(np.concatenate([data.shares, data.rates], axis=1), codes)
    return np.concatenate([sums, questions[questions.any(axis=1)]], axis=1)


def resampled_excess(data: SignData, sums: Floats) -> Floats:
    """Observed shares and excesses of bootstrap resamples.

    Parameters
    ----------
    data : SignData
        The questions.
    sums : ndarray, shape (resamples, 5 + P)
        Sums over the questions of each resample, as `resampling_sums` has them.

    Returns
    -------
    ndarray, shape (resamples, 6)
        Three observed shares, three excesses.
    """
    questions = sums[:, 5:].sum(axis=1, keepdims=True)
    means, weights = sums[:, :5] / questions, sums[:, 5:] / questions
    p_sham, p_destroy = np.clip(means[:, 3:], 0, 1).T  # rounding may step over an end
    predicted = np.zeros((len(sums), 3))
    for weight, (k_sham, k_destroy) in zip(weights.T, data.law_replays, strict=True):
        law = FiniteReplayLaw(p_sham, p_destroy, k_sham=int(k_sham), k_destroy=int(k_destroy))
        predicted += weight[:, None] * np.stack(law.signs(), axis=1)
    return np.concatenate([means[:, :3], means[:, :3] - predicted], axis=1)


def _share_variance(data: SignData, shares: Floats, p: Floats) -> Floats:
    """Variance of a question's share under the homogeneous law, shape (P, 3)."""
    if data.tables is None:
        return shares * (1 - shares)
    second = [
        np.einsum("x,y,xys->s", _flips_pmf(k_sham, p[0]), _flips_pmf(k_destroy, p[1]), table**2)
        for (k_sham, k_destroy), table in zip(data.replays, data.tables, strict=True)
    ]
    return np.stack(second) - shares**2


def _flips_pmf(k: int, p: float) -> Floats:
    """Probabilities of 0, …, k flips: the law of the score where SHAM never flips."""
    return FiniteReplayLaw(0.0, p, k_sham=1, k_destroy=int(k)).pmf()[-(int(k) + 1) :]
