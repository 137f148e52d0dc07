"""`QuestionSample`: what replays of some questions took, and what replays to come will."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError

__all__ = ["QuestionSample"]

_LEVEL = 0.95
_GRID = np.linspace(-20.0, 20.0, 81)  # logits of probabilities, so that the tails are there too
_HALVINGS = 50
_WIDEST = 2.0  # deviations of the widest law: beyond, less than 2.3 % of any is left


@dataclass(frozen=True, slots=True)
class QuestionSample:
    r"""One figure, of replays of several questions.

    Parameters
    ----------
    questions : tuple of (str or None)
        Their ids, each once; None where no replays of it are to come.
    counts : ndarray of float, shape (questions,)
        Replays of each.
    means : ndarray of float, shape (questions,)
        Mean of each.
    within : float
        Sum of the squares of the replays' distances from the means of their questions.

    Notes
    -----
    Replay j of question i takes :math:`\mu + a_i + e_{ij}`, with variances :math:`\sigma_a^2`
    between questions and :math:`\sigma_e^2` between the replays of one. By moments, with
    :math:`n_i` replays of Q questions, N in all, and :math:`m = \frac1Q \sum 1/n_i`,

    .. math:: \hat\sigma_e^2 = \frac{\text{within}}{N - Q}, \qquad
              \hat\tau = \frac{\sum (\bar y_i - \bar{\bar y})^2}{Q - 1}
              \approx \sigma_a^2 + m \sigma_e^2.

    The mean of the means has no weights there: most of the replays may be of one question. A
    replay to come of a new question is expected to take the weighted mean :math:`\hat\mu` of the
    questions, and one of question i of the sample :math:`w_i \bar y_i + (1 - w_i) \hat\mu` with
    :math:`w_i = \sigma_a^2 / (\sigma_a^2 + \sigma_e^2 / n_i)`. Given the weights, the variance of
    the error of their total, in which the replays to come vary too, is linear in
    :math:`\sigma_a^2` and :math:`\sigma_e^2`. Those are not known: the interval is that of the
    mixture of normal laws over what the scaled chi-squared laws of :math:`\hat\sigma_e^2` and
    :math:`\hat\tau` leave possible, with :math:`\tau \ge m \sigma_e^2`. Where one of the two
    decides alone that is Student's t interval.

    Where no question has two replays it cannot be told what varies: the wider interval is taken,
    that of all between questions or that of all within them.

    It is assumed that the questions, those of the sample and new ones, are drawn at random from the
    same ones, and that both parts are roughly normal and vary alike in each question.

    References
    ----------
    .. [1] J. D. Thomas and R. A. Hultquist, "Interval estimation for the unbalanced case of the
       one-way random effects model", Annals of Statistics 6 (1978), for :math:`\hat\tau`.
    .. [2] G. E. P. Box and G. C. Tiao, *Bayesian Inference in Statistical Analysis* (1973), section
       5.2, for the mixture.

    Examples
    --------
    >>> sample = QuestionSample.of({"q1": [90, 110, 100], "q2": [120, 118], "q3": [99]})
    >>> expected, half = sample.predict({"q1": 1, "q4": 2})
    >>> round(expected), half > 0
    (314, True)
    """

    questions: tuple[str | None, ...]
    counts: NDArray[np.float64]
    means: NDArray[np.float64]
    within: float

    @classmethod
    def of(cls, values: Mapping[str, Iterable[float]]) -> QuestionSample:
        """Collect a sample.

        Parameters
        ----------
        values : mapping of str to iterable of float
            What the replays of each question took; at least one of each.

        Returns
        -------
        QuestionSample
            The sample.
        """
        lists = {question: [float(v) for v in of_it] for question, of_it in values.items()}
        if not lists or not all(lists.values()):
            raise InputError("values must have a question, and a replay of each")
        means = {question: math.fsum(of_it) / len(of_it) for question, of_it in lists.items()}
        return cls(
            questions=tuple(lists),
            counts=np.array([len(of_it) for of_it in lists.values()], dtype=np.float64),
            means=np.array(list(means.values())),
            within=math.fsum((v - means[q]) ** 2 for q, of_it in lists.items() for v in of_it),
        )

    @property
    def replays(self) -> int:
        """How many replays there are."""
        return int(self.counts.sum())

    def of_questions(self, asked: Container[str]) -> QuestionSample:
        """The same sample, of which replays of some questions only are to come."""
        questions = tuple(q if q is not None and q in asked else None for q in self.questions)
        return replace(self, questions=questions)

    def predict(self, to_come: Mapping[str, float]) -> tuple[float, float | None]:
        """What replays to come will take together.

        Parameters
        ----------
        to_come : mapping of str to float
            How many of each question; those of the sample are known by their id.

        Returns
        -------
        (float, float or None)
            The total, and how far the ends of the 95 % prediction interval are from it. None where
            a sample does not tell: one question says nothing of others, nor one replay of itself.
        """
        known = np.array([0.0 if q is None else to_come.get(q, 0.0) for q in self.questions])
        inside = frozenset(self.questions)
        new = np.array([n for q, n in to_come.items() if q not in inside])
        number, loose = len(self.questions), self.replays - len(self.questions)
        apart = float(np.var(self.means, ddof=1)) if number > 1 else 0.0
        noise = self.within / loose if loose else apart / 2  # half of it each, where it is not told
        inverse = float(np.mean(1 / self.counts))
        between = max(0.0, apart - inverse * noise)
        expected, on_between, on_noise = self._error(known, new, between, noise)
        if number == 1:
            if new.sum() or not loose:
                return expected, None
            noises, weights = _possible(noise, loose)
            return expected, _half(on_noise * noises, weights)
        taus, of_tau = _possible(apart, number - 1)
        if not loose:
            return expected, _half(max(on_between, on_noise) * taus, of_tau)
        noises, of_noise = _possible(noise, loose)
        left = taus[:, None] - inverse * noises
        weights = of_tau[:, None] * of_noise * (left >= 0)
        if not weights.any():  # questions are nearer to one another than noise lets them be
            return expected, _half(on_noise * noises, of_noise)
        variances = on_between * np.maximum(left, 0) + on_noise * noises
        return expected, _half(variances, weights)

    def _error(
        self, known: NDArray[np.float64], new: NDArray[np.float64], between: float, noise: float
    ) -> tuple[float, float, float]:
        """What is expected, and the variance of its error for one of each variance."""
        variances = between + noise / self.counts
        if len(known) == 1:
            own = shares = np.ones(1)
        elif variances.all():
            own = between / variances
            shares = 1 / variances / np.sum(1 / variances)
        else:
            own = np.zeros(len(known))
            shares = np.full(len(known), 1 / len(known))
        of_mean = new.sum() + np.sum(known * (1 - own))
        taken = of_mean * shares + known * own
        on_between = np.sum((taken - known) ** 2) + np.sum(new**2)
        on_noise = np.sum(taken**2 / self.counts) + known.sum() + new.sum()
        return float(np.sum(taken * self.means)), float(on_between), float(on_noise)


def _possible(mean_square: float, freedom: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variances that a mean square leaves possible, and their weights."""
    from scipy.special import chdtri, expit

    chances = expit(_GRID)
    return mean_square * freedom / chdtri(freedom, chances), chances * (1 - chances)


def _half(variances: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Half of the interval of a mixture of normal laws around 0."""
    from scipy.special import ndtr

    kept = weights > 0
    deviations, chances = np.sqrt(variances[kept]), weights[kept] / weights[kept].sum()
    low, high = 0.0, _WIDEST * float(deviations.max())
    deviations = np.maximum(deviations, np.finfo(float).tiny)  # without any, all is inside
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = np.sum(chances * ndtr(middle / deviations))
        low, high = (middle, high) if inside < (1 + _LEVEL) / 2 else (low, middle)
    return high
