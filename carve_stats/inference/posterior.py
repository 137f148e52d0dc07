"""What a question's own replays say of its flip probabilities, given a population of questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.population.mixing import Population

__all__ = ["QuestionPosteriors", "question_posteriors"]

Floats = NDArray[np.float64]

_COLUMNS = ("sham_flips", "sham_replays", "destroy_flips", "destroy_replays")
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)

# Numbers of a block of outcomes × atoms: some megabytes.
_BLOCK_NUMBERS = 1 << 18

# In the place of log 0: nothing possible comes near, and no flips times it are 0, not NaN.
_NEVER = -1e300

PARTLY_IDENTIFIED = (
    "k replays an arm fix the population's moments up to degree k only, and these posteriors need"
    " more of it: populations that fit the log equally well can give others, the more so the"
    " smaller k is. Take them as the posteriors under this one population"
)
EQUALITY = (
    "P(p_destroy <= p_sham) includes p_destroy = p_sham. Where the population is a set of atoms"
    " (as a fitted one is), few or none of them lie exactly there, and questions that respond to"
    " both conditions alike count with the atoms on either side: if there are such questions, the"
    " probability is too low, by about half of theirs"
)
PRIOR = (
    "{questions} without a valid replay: their posterior is the population itself; an arm without"
    " valid replays says nothing, and the other one counts"
)
IMPOSSIBLE = (
    "{questions} with flips that this population cannot give (the first: {first}): no posterior"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class QuestionPosteriors:
    """Posteriors of every question, from `question_posteriors`; the columns are read-only.

    Parameters
    ----------
    question : ndarray of str, shape (n,)
        Question ids, in order.
    cluster : ndarray of str, shape (n,), or None
        The cluster (the video) of each; None where it is not known.
    sham_flips, sham_replays, destroy_flips, destroy_replays : ndarray of int, shape (n,)
        Valid replays of each arm and how many of them flipped.
    score : ndarray of float, shape (n,)
        Δ̂, for comparison; NaN where an arm has no valid replay.
    mean_difference : ndarray of float, shape (n,)
        E[p_destroy − p_sham | counts]: the score, shrunk.
    probability_not_above : ndarray of float, shape (n,)
        P(p_destroy <= p_sham | counts).
    population : Population
        The population of the questions.
    notes : tuple of str
        What a reader has to know.
    """

    question: NDArray[np.str_]
    cluster: NDArray[np.str_] | None
    sham_flips: NDArray[np.int64]
    sham_replays: NDArray[np.int64]
    destroy_flips: NDArray[np.int64]
    destroy_replays: NDArray[np.int64]
    score: Floats
    mean_difference: Floats
    probability_not_above: Floats
    population: Population
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        for values in self.columns().values():
            if values is not None:
                values.flags.writeable = False

    def __len__(self) -> int:
        return int(self.question.size)

    def columns(self) -> dict[str, NDArray[Any] | None]:
        """The columns by name, ready for a data frame; `cluster` is None where not known."""
        names = ("question", "cluster", *_COLUMNS, "score", *_figures())
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Population and rows as plain values that JSON can hold; undefined figures are None."""
        columns: Mapping[str, list[Any]] = {
            name: [None] * len(self) if values is None else values.tolist()
            for name, values in self.columns().items()
        }
        undefined = {
            name: [_display.plain(value) for value in columns[name]]
            for name in ("score", *_figures())
        }
        whole = {**columns, **undefined}
        rows = [dict(zip(whole, row, strict=True)) for row in zip(*whole.values(), strict=True)]
        return {"population": repr(self.population), "rows": rows, "notes": list(self.notes)}

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        headers = ["", "smallest", "lower quartile", "median", "upper quartile", "largest"]
        names = (
            "score",
            "mean_difference: E[p_destroy − p_sham]",
            "probability_not_above: P(p_destroy <= p_sham)",
        )
        rows: list[list[object]] = []
        for name, values in zip(
            names, (self.score, self.mean_difference, self.probability_not_above), strict=True
        ):
            known = values[~np.isnan(values)]
            quantiles = np.quantile(known, _QUANTILES) if known.size else [None] * len(_QUANTILES)
            signed = values is not self.probability_not_above
            rows.append([name, *(_display.number(q, signed=signed) for q in quantiles)])
        caption = (
            f"Posteriors of {_questions(len(self))} under {self.population!r}; here their spread"
            " over the questions, in .columns() a row each"
        )
        return caption, headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def question_posteriors(counts: ReplayCounts, population: Population) -> QuestionPosteriors:
    """Posterior mean of p_destroy − p_sham, and P(p_destroy <= p_sham), of each question.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question. k may differ between questions and arms.
    population : Population
        The distribution of (p_sham, p_destroy) over questions, as `fit_population` gives it.

    Returns
    -------
    QuestionPosteriors
        A row for every question of the counts, in their order. Where an arm has no valid replay
        the other one alone counts; without any, the posterior is the population itself. NaN where
        the population cannot give the flips at all.

    Raises
    ------
    InputError
        Another type of argument.

    Notes
    -----
    With atoms (a, b) of weight w, E[f | x, y] is Σ w f L/Σ w L, where L = a^x (1 − a)^(k_sham − x)
    b^y (1 − b)^(k_destroy − y): an exact sum, once for each outcome that occurs. It is taken in
    logarithms, so that no number of replays underflows.

    The posterior mean of p_destroy under x and y needs a moment of degree k_destroy + 1 in
    p_destroy, and k_destroy replays fix those up to k_destroy: it is partially identified, however
    many questions there are. P(p_destroy <= p_sham) is no polynomial at all.

    References
    ----------
    - H. Robbins, "An empirical Bayes approach to statistics", Proceedings of the Third Berkeley
      Symposium on Mathematical Statistics and Probability 1 (1956) 157–163, who needs one more
      trial of a binomial for this very reason.
    - `proofs/thm_identified_moments.py`: why moments of a higher degree are not identified.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b", "c"], [0, 2, 0], [3, 3, 0], [3, 1, 0], [3, 3, 0])
    >>> posteriors = question_posteriors(counts, Population([.2, .5], [.8, .5]))
    >>> posteriors.score.round(3)
    array([ 1.   , -0.333,    nan])
    >>> posteriors.mean_difference.round(3), posteriors.probability_not_above.round(3)
    (array([0.566, 0.037, 0.3  ]), array([0.056, 0.938, 0.5  ]))
    """
    check_counts(counts)
    if not isinstance(population, Population):
        raise InputError(
            f"population is a {type(population).__name__}: it must be a Population, as"
            " fit_population(counts) gives one"
        )
    arms = {name: getattr(counts, name) for name in _COLUMNS}
    sham, of_sham = _outcomes(counts.sham_flips, counts.sham_replays)
    destroy, of_destroy = _outcomes(counts.destroy_flips, counts.destroy_replays)
    pairs, place = np.unique(of_sham * len(destroy) + of_destroy, return_inverse=True)
    figures = _posteriors(population, sham, destroy, *np.divmod(pairs, max(len(destroy), 1)))
    mean, not_above = figures[place].T
    return QuestionPosteriors(
        question=counts.question,
        cluster=counts.cluster,
        **arms,
        score=counts.score,
        mean_difference=mean.copy(),
        probability_not_above=not_above.copy(),
        population=population,
        notes=_notes(counts, mean),
    )


def _outcomes(
    flips: NDArray[np.int64], replays: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct (flips, non-flips) of an arm, and which of them each question has."""
    base = int(replays.max(initial=0)) + 1
    keys, place = np.unique(flips * base + (replays - flips), return_inverse=True)
    return np.stack(np.divmod(keys, base), axis=1), place


def _posteriors(
    population: Population,
    sham: NDArray[np.int64],
    destroy: NDArray[np.int64],
    of_sham: NDArray[np.int64],
    of_destroy: NDArray[np.int64],
) -> Floats:
    """Both figures of each pair of an outcome of SHAM and one of DESTROY, shape (pairs, 2)."""
    kept = population.weights > 0.0
    p_sham, p_destroy = population.p_sham[kept], population.p_destroy[kept]
    rates = np.stack([p_sham, 1.0 - p_sham, p_destroy, 1.0 - p_destroy])
    logs = np.full(rates.shape, _NEVER)
    np.log(rates, out=logs, where=rates > 0.0)
    prior = np.log(population.weights[kept])
    functions = np.stack([np.ones(prior.size), p_destroy - p_sham, p_destroy <= p_sham], axis=1)
    figures = np.full((of_sham.size, 2), np.nan)
    block = max(1, _BLOCK_NUMBERS // prior.size)
    for first in range(0, of_sham.size, block):
        rows = slice(first, first + block)
        outcomes = np.concatenate([sham[of_sham[rows]], destroy[of_destroy[rows]]], axis=1)
        log_joint = outcomes.astype(float) @ logs + prior
        largest = log_joint.max(axis=1)
        possible = largest > _NEVER / 2
        joint = np.exp(log_joint[possible] - largest[possible, None])
        sums = joint @ functions
        figures[rows][possible] = sums[:, 1:] / sums[:, :1]
    return figures


def _notes(counts: ReplayCounts, mean: Floats) -> tuple[str, ...]:
    notes = []
    without = int(((counts.sham_replays == 0) & (counts.destroy_replays == 0)).sum())
    if without:
        notes.append(PRIOR.format(questions=_questions(without)))
    impossible = np.flatnonzero(np.isnan(mean))
    if impossible.size:
        first = repr(str(counts.question[impossible[0]]))
        notes.append(IMPOSSIBLE.format(questions=_questions(impossible.size), first=first))
    return (*notes, PARTLY_IDENTIFIED, EQUALITY)


def _questions(n: int) -> str:
    return f"{n} question" if n == 1 else f"{n} questions"


def _figures() -> tuple[str, str]:
    return "mean_difference", "probability_not_above"
