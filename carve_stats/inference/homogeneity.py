"""Do all questions have the same two flip probabilities? A likelihood ratio test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import NO_QUESTIONS, Estimate
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.inference.questions import count_questions
from carve_stats.inference.tie_excess import tie_excess
from carve_stats.law._arguments import generator, one_whole_number
from carve_stats.population._constrained_newton import GAP
from carve_stats.population.cells import PatternCells, pattern_cells
from carve_stats.population.grid import cell_matrix
from carve_stats.population.mixing import Population
from carve_stats.population.npmle import GridLikelihood

__all__ = ["HomogeneityTest", "ScoreTriple", "homogeneity_test"]

_TOO_EVEN = 3.0  # standard errors

EVEN = (
    "{arm} flips are more even over the questions than independent replays of any rates would be."
    " That is no heterogeneity, but replays that are not independent: look for shared seeds, or a"
    " cache"
)
ONE_REPLAY = (
    "{arm} rates: no z-score, because no question has two valid replays: one cannot show whether"
    " questions differ in an arm"
)
NO_SPREAD = "{arm} rates: no z-score, because {none} replay flips, and nothing can vary"
NO_CROSS = "rates together: no z-score, because nothing varies in one of the arms"


class ScoreTriple(NamedTuple):
    """Where heterogeneity shows: z-scores, each about standard normal if there is none.

    Parameters
    ----------
    sham, destroy : float
        Tarone's Z of each arm: above 0 where questions differ more in their flips than replays
        at one rate would; NaN where it is undefined.
    together : float
        Of the covariance between the arms: above 0 where questions that flip more under SHAM
        also flip more under DESTROY.
    """

    sham: float
    destroy: float
    together: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HomogeneityTest:
    """The likelihood ratio test of one pair of rates for all questions, from `homogeneity_test`.

    Parameters
    ----------
    statistic : float
        Twice the log likelihood ratio of the best population to the best homogeneous one; NaN
        without a scored question.
    p_value : float or None
        By parametric bootstrap; at least 1/(resamples + 1). None without a scored question.
    null_statistics : ndarray, shape (resamples,)
        The statistics of the bootstrap's data sets.
    rates : dict
        ``sham`` and ``destroy``: pooled flips/replays, the best homogeneous population; NaN
        without a scored question.
    population : Population or None
        The best population: the nonparametric maximum likelihood estimate.
    scores : ScoreTriple
        What the heterogeneity is like.
    tie_excess : Estimate
        Of the zero scores, from `tie_excess`: what it shows of the heterogeneity.
    questions : dict
        ``read``, ``scored``, ``left_out`` (reason: count).
    notes : tuple of str
        What is undefined and why.
    """

    statistic: float
    p_value: float | None
    null_statistics: NDArray[np.float64]
    rates: Mapping[str, float]
    population: Population | None
    scores: ScoreTriple
    tie_excess: Estimate
    questions: Mapping[str, Any]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "statistic": _display.plain(self.statistic),
            "p_value": _display.plain(self.p_value),
            "resamples": len(self.null_statistics),
            "rates": {arm: _display.plain(rate) for arm, rate in self.rates.items()},
            "scores": {name: _display.plain(z) for name, z in self.scores._asdict().items()},
            "tie_excess": self.tie_excess.to_dict(),
            "questions": dict(self.questions),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        kinds = ("SHAM rates differ", "DESTROY rates differ", "rates move together")
        p_value = _display.p_value(self.p_value)
        if self.p_value == 1 / (len(self.null_statistics) + 1):
            p_value = f"≤ {p_value}"  # the least that so many resamples can show
        rows: list[list[object]] = [["likelihood ratio", _display.number(self.statistic), p_value]]
        for kind, z in zip(kinds, self.scores, strict=True):
            rows.append([f"z: {kind}", _display.number(z, signed=True), ""])
        rows.append(
            [
                "excess of zero scores (no test)",
                _display.number(self.tie_excess.estimate, signed=True),
                "",
            ]
        )
        caption = (
            f"Homogeneity: all questions at {_display.number(self.rates['sham'])} under SHAM and"
            f" {_display.number(self.rates['destroy'])} under DESTROY"
            f" ({self.questions['scored']} questions, {len(self.null_statistics)} resamples)"
        )
        return caption, ["", "figure", "p-value"], rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def homogeneity_test(
    counts: ReplayCounts, *, resamples: int = 999, rng: np.random.Generator | int
) -> HomogeneityTest:
    """Test that all questions have the same two flip probabilities.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question. k may differ between questions and arms.
    resamples : int
        Data sets of the parametric bootstrap.
    rng : numpy.random.Generator or int
        The bootstrap's source of randomness, or a seed. The order of the questions changes
        nothing.

    Returns
    -------
    HomogeneityTest
        Statistic, p-value, and what the heterogeneity is like. Without heterogeneity that can
        be seen (a single question, no flips, all flips) the p-value is 1; without a scored
        question it is None, with a note.

    Raises
    ------
    InputError
        Fewer than one resample, or an `rng` that is none.

    See Also
    --------
    carve_stats.inference.tie_excess.tie_excess : a descriptor, no test.
    carve_stats.population.npmle.npmle : the best population.

    Notes
    -----
    T = 2n (ℓ − ℓ₀) with ℓ the largest mean log likelihood of any population on a grid of the
    unit square and the pooled rates, and ℓ₀ the one of the pooled rates alone, Σ flips/Σ replays
    of each arm. T >= 0, and its limit law has no usable form: the mixing weights lie on their
    boundary. So it is referred to data sets drawn at the pooled rates, with the same numbers of
    questions of each (k_sham, k_destroy): p = (1 + #{T* >= T})/(resamples + 1). T is 0 with
    positive probability, and floats do not tell ties: a T* counts as no less where it is within
    2n·1e-10 of T, what the fits may lack, so that ties raise the p-value.

    *Cost.* A fit a resample, whose time is set by the cells that hold questions. On one core, 999
    resamples of 1,250 questions take 1 s at one pattern, 3 s at nine with k from 8 to 10, and 20 s
    at a thousand with k up to 50.

    *Clusters.* Under the hypothesis all replays of all questions are independent, so videos play
    no part in the law of T. Rates that differ between videos are heterogeneity, and are meant to
    be found.

    *Explanation.* `scores` are the derivatives of the likelihood towards heterogeneity. Tarone's
    Z of an arm is (Σ (x_i − k_i p̂)²/(p̂q̂) − Σ k_i)/√(2 Σ k_i (k_i − 1)); the third is
    Σ (x_i − k_i p̂)(y_i − k′_i p̂′)/√(p̂q̂ p̂′q̂′ Σ k_i k′_i). They tell kinds of heterogeneity, with
    no p-values of their own. A Z far below 0 means flips more even over the questions than
    independent replays can be, which no population explains.

    *Tie excess is not this test.* It can be 0 for questions that differ very much: the
    population with mass 3/28 on each of (0, 0) and (1, 1) and 11/28 on each of (0, ½) and (1, ½)
    has tie excess 3/28, 1/28, 0 and 71301/1835008 at k = 1, 2, 3 and 10. Near the paper's rates
    independent heterogeneity lowers the ties at k = 3 and raises them at k = 10, so that some
    mixed kind shows nothing.

    References
    ----------
    - R. E. Tarone, *Testing the goodness of fit of the binomial distribution*, Biometrika 66
      (1979). G. J. McLachlan, *On bootstrapping the likelihood ratio test statistic for the number
      of components in a normal mixture*, Applied Statistics 36 (1987). The counterexample is
      checked in exact fractions in tests/inference/test_homogeneity.py.
    - `proofs/thm_duality_gap.py`: how far the likelihood in T is from the greatest, at most.
    - `proofs/thm_heterogeneity_scores.py`: the scores.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts([f"q{i}" for i in range(8)], [0, 3, 0, 3, 1, 2, 0, 1], [3] * 8,
    ...     [0, 3, 0, 3, 3, 3, 2, 1], [3] * 8, cluster=list("aabbccdd"))
    >>> result = homogeneity_test(counts, resamples=199, rng=1)
    >>> round(result.statistic, 3), result.p_value
    (21.47, 0.005)
    >>> [round(z, 2) for z in result.scores]
    [2.38, 3.16, 4.57]
    """
    check_counts(counts)
    replicates = one_whole_number("resamples", resamples)
    rng = generator(rng)
    patterns = pattern_cells(counts)
    questions = count_questions(counts)
    excess = tie_excess(counts).excess.zero
    if not patterns:
        return HomogeneityTest(
            statistic=math.nan,
            p_value=None,
            null_statistics=np.empty(0),
            rates={"sham": math.nan, "destroy": math.nan},
            population=None,
            scores=ScoreTriple(math.nan, math.nan, math.nan),
            tie_excess=excess,
            questions=questions,
            notes=(NO_QUESTIONS,),
        )
    likelihood = GridLikelihood([(cells.k_sham, cells.k_destroy) for cells in patterns])
    observed = np.concatenate([cells.counts for cells in patterns])
    rates = likelihood.pooled_rates(observed)
    statistic = likelihood.likelihood_ratio(observed)
    drawn = _draw_homogeneous(patterns, rates, replicates, rng)
    null = np.array([likelihood.likelihood_ratio(counts) for counts in drawn])
    as_large = np.count_nonzero(null >= statistic - 2 * questions["scored"] * GAP)
    p_sham, p_destroy, weights, *_ = likelihood.maximise(observed)
    scores, notes = _score_triple(patterns, rates)
    return HomogeneityTest(
        statistic=statistic,
        p_value=(1 + int(as_large)) / (1 + replicates),
        null_statistics=null,
        rates={"sham": rates[0], "destroy": rates[1]},
        population=Population(p_sham, p_destroy, weights),
        scores=scores,
        tie_excess=excess,
        questions=questions,
        notes=notes,
    )


def _draw_homogeneous(
    patterns: Sequence[PatternCells],
    rates: tuple[float, float],
    resamples: int,
    rng: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """The cells of one homogeneous data set after another, those of all patterns together.

    They are kept sparse: at large k and many patterns most cells hold no question.
    """
    from scipy import sparse  # loads slowly

    drawn = []
    for k_sham, k_destroy, counts in patterns:
        chances = cell_matrix(k_sham, k_destroy, rates[:1], rates[1:])[:, 0]
        drawn.append(sparse.csr_array(rng.multinomial(counts.sum(), chances, size=resamples)))
    stacked = sparse.hstack(drawn, format="csr")
    for start, stop in itertools.pairwise(stacked.indptr):
        cells = np.zeros(stacked.shape[1], np.int64)
        cells[stacked.indices[start:stop]] = stacked.data[start:stop]
        yield cells


def _score_triple(
    patterns: Sequence[PatternCells], rates: tuple[float, float]
) -> tuple[ScoreTriple, tuple[str, ...]]:
    """The z-scores, and why some are undefined."""
    squares, replays, pairs = np.zeros((3, 2))
    product = both = 0.0
    for k_sham, k_destroy, counts in patterns:
        table = counts.reshape(k_sham + 1, k_destroy + 1)
        n = int(table.sum())
        budget = np.array([k_sham, k_destroy])
        beyond = [np.arange(k + 1) - k * rate for k, rate in zip(budget, rates, strict=True)]
        squares += [table.sum(axis=1) @ beyond[0] ** 2, table.sum(axis=0) @ beyond[1] ** 2]
        product += beyond[0] @ table @ beyond[1]
        replays += n * budget
        pairs += n * budget * (budget - 1)
        both += n * k_sham * k_destroy
    variance = np.array([rate * (1 - rate) for rate in rates])
    z, notes = [math.nan] * 3, []
    for arm, name in enumerate(("SHAM", "DESTROY")):
        if variance[arm] == 0:
            notes.append(NO_SPREAD.format(arm=name, none="no" if rates[arm] == 0 else "every"))
        elif pairs[arm] == 0:
            notes.append(ONE_REPLAY.format(arm=name))
        else:
            z[arm] = (squares[arm] / variance[arm] - replays[arm]) / math.sqrt(2 * pairs[arm])
            if z[arm] < -_TOO_EVEN:
                notes.append(EVEN.format(arm=name))
    if variance.all():
        z[2] = product / math.sqrt(variance.prod() * both)
    else:
        notes.append(NO_CROSS)
    return ScoreTriple(*map(float, z)), tuple(notes)
