"""Questions drawn from a population: their ids, their clusters and their flip probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law._arguments import generator, one_number, one_whole_number, probability

__all__ = ["DrawnQuestions", "cluster_codes", "numbered"]

# Concentration of the Dirichlet law of the clusters' shares: sizes then vary by about a third
# of their mean, and no video is without a question.
_EVENNESS = 8.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DrawnQuestions:
    """Questions with the flip probabilities that a synthetic agent gives them.

    Parameters
    ----------
    question : ndarray of str, shape (n,)
        Ids, ``q000000`` onwards.
    p_sham, p_destroy : ndarray, shape (n,)
        Flip probabilities.
    cluster : ndarray of str, shape (n,), or None
        The video of each question, ``v000`` onwards; None where no clusters were asked for.
    stratum : ndarray of str, shape (n,), or None
        The stratum of each question; None where the population has none.
    """

    question: NDArray[np.str_]
    p_sham: NDArray[np.float64]
    p_destroy: NDArray[np.float64]
    cluster: NDArray[np.str_] | None
    stratum: NDArray[np.str_] | None

    def replay(
        self, k: int, *, p_self: float | None = None, rng: np.random.Generator | int
    ) -> ReplayCounts:
        """Replay each question: called again, another run over the same questions.

        Parameters
        ----------
        k : int
            Replays of each question in each condition.
        p_self : float, optional
            Flip probability of SELF replays; without it there are none.
        rng : numpy.random.Generator or int
            The source of randomness, or a seed for one.

        Returns
        -------
        ReplayCounts
            As from an agent that never gives an invalid answer.

        Examples
        --------
        >>> from carve_stats import Population
        >>> drawn = Population.homogeneous(.3, .6).draw(200, clusters=20, rng=1)
        >>> one, another = drawn.replay(3, rng=2), drawn.replay(3, rng=3)
        >>> bool((one.question == another.question).all())
        True
        """
        rng = generator(rng)
        replays = one_whole_number("k", k)
        if p_self is not None:
            p_self = one_number("p_self", probability("p_self", p_self))
        every = np.full(len(self), replays)
        return ReplayCounts(
            self.question,
            rng.binomial(replays, self.p_sham),
            every,
            rng.binomial(replays, self.p_destroy),
            every,
            self_flips=None if p_self is None else rng.binomial(replays, p_self, size=len(self)),
            self_replays=None if p_self is None else every,
            cluster=self.cluster,
        )

    def __len__(self) -> int:
        return int(self.question.size)

    def __repr__(self) -> str:
        videos = "no" if self.cluster is None else np.unique(self.cluster).size
        return f"<DrawnQuestions: {len(self)} questions, {videos} clusters>"


def cluster_codes(n: int, clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The cluster of each of n questions, ascending from 0; every cluster has at least one."""
    count = one_whole_number("clusters", clusters)
    if count > n:
        raise InputError(f"clusters={count} must not exceed n={n}: every cluster has a question")
    shares = rng.dirichlet(np.full(count, _EVENNESS))
    return np.repeat(np.arange(count), rng.multinomial(n - count, shares) + 1)


def numbered(prefix: str, numbers: NDArray[np.int64], *, width: int) -> NDArray[np.str_]:
    """Ids that sort as their numbers do, at least `width` digits wide."""
    width = max(width, len(str(int(numbers.max()))))
    return np.array([f"{prefix}{number:0{width}d}" for number in numbers.tolist()])
