"""Selective prediction: how wrong the answers are that a score trusts most."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.clusters import (
    NO_QUESTIONS,
    Estimate,
    IntervalMethod,
    bootstrap,
    bootstrap_generator,
    count_clusters,
    explain,
    interval_method,
    percentile_interval,
    t_interval,
    t_test,
)
from carve_stats.errors import InputError
from carve_stats.law._arguments import as_fraction, two_names
from carve_stats.routing.ranked_risk import (
    COVERAGES,
    RankedErrors,
    influence_functions,
    rank_errors,
    risks,
)
from carve_stats.routing.selective_input import SelectiveInput, selective_input
from carve_stats.routing.selective_result import (
    ACCURACIES,
    FIGURES,
    RiskCoverage,
    SelectiveComparison,
    labelled,
)

__all__ = ["compare_selective", "risk_coverage"]

Range = tuple[Fraction, Fraction]

_ALL = "accuracy_at_100"
_SIGNS = np.array([1.0] * 3 + [-1.0] * len(COVERAGES))
"""Accuracies are 1 − risk."""

NO_ORDER = (
    "{name} is the same for all questions: it tells none from another, and every figure is that of"
    " a random order"
)
ALL_KEPT = "0 by itself: at coverage 1 every question is kept, whatever its score"
SAME_ORDER = "both scores put the questions in the same order: all differences are 0 by themselves"


def risk_coverage(
    score: ArrayLike,
    correct: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    name: str = "score",
    partial: tuple[float, float] = (0.7, 1.0),
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> RiskCoverage:
    """How wrong answers are when only those with the highest scores are given.

    Parameters
    ----------
    score : array_like of float, shape (n,)
        The higher, the more an answer is trusted: Δ̂, a confidence. Ties are equal numbers, as in
        `ReplayCounts.score`; y/3 − x/3 has rounding in it. None or NaN where there is none; such
        questions are left out and counted.
    correct : array_like, shape (n,)
        Whether the answer is right: 1 or 0, True or False; None or NaN where not known, left out
        and counted.
    cluster : array_like of str, shape (n,), optional
        The cluster (the video) of each question; without it there are no intervals.
    name : str
        What the score is called.
    partial : (float, float)
        The range of coverage of the partial area.
    interval : str
        ``t``: linearised cluster standard error and Student's t. ``bootstrap``: percentiles of
        the cluster bootstrap.
    level : float
        Confidence level.
    resamples : int
        Resamples of the bootstrap, at least 100.
    rng : numpy.random.Generator or int, optional
        The bootstrap's source of randomness, or a seed; the bootstrap needs one.

    Returns
    -------
    RiskCoverage
        What is not estimable is NaN or None, with a note.

    Raises
    ------
    InputError
        Lengths that differ, a score that is no number, an outcome other than 1, 0 and missing,
        a range outside [0, 1], a bootstrap without `rng`.

    See Also
    --------
    compare_selective : two scores on the same questions.

    Notes
    -----
    Questions of equal score cannot be told apart, so there is one point for each group of
    them, and every area is its expectation under random order within the groups: the order
    of the rows changes nothing. With S questions and E errors before a group of m with e errors,
    the group adds Σ_{t=1..m} (E + e t/m)/(S + t) to n·AURC and mE + e(m + 1)/2 to n²·AUGRC. The
    partial area is that of the same step function, divided by the length of the range, so
    that over (0, 1) it is the AURC. An accuracy keeps the whole number of questions that is
    closest to coverage × n, halves to the even one.

    References
    ----------
    - Y. Geifman, R. El-Yaniv, "Selective classification for deep neural networks", NeurIPS 2017. J.
      Traub et al., "Overcoming common flaws in the evaluation of selective classification systems",
      NeurIPS 2024 (AUGRC).
    - `proofs/thm_area_under_ties.py`: the areas as means over all orders of ties.

    Examples
    --------
    >>> tied = risk_coverage([0, 0, 0, 0], [1, 0, 0, 1])
    >>> tied.aurc.estimate, tied.augrc.estimate
    (0.5, 0.3125)
    >>> sharp = risk_coverage([3, 2, 2, 1], [1, 1, 0, 0], cluster=["v", "w", "v", "w"])
    >>> sharp.coverage, sharp.risk
    (array([0.25, 0.75, 1.  ]), array([0.        , 0.33333333, 0.5       ]))
    """
    rng = bootstrap_generator(interval, rng)
    given = selective_input({name: score}, correct, cluster)
    method = interval_method(interval, level, given.codes)
    return _risk_coverage(given, name, _range(partial), method, rng, resamples)


def compare_selective(
    score_a: ArrayLike,
    score_b: ArrayLike,
    correct: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    names: tuple[str, str] = ("score a", "score b"),
    partial: tuple[float, float] = (0.7, 1.0),
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> SelectiveComparison:
    """Which of two scores knows better what to trust, on the same questions.

    Parameters
    ----------
    score_a, score_b : array_like of float, shape (n,)
        As `score` of `risk_coverage`. Questions that lack either are left out and counted.
    names : (str, str)
        What the two are called.
    correct, cluster, partial, interval, level, resamples, rng
        As for `risk_coverage`.

    Returns
    -------
    SelectiveComparison
        Differences a − b with paired cluster intervals: negative areas, and positive accuracies,
        speak for a.

    Raises
    ------
    InputError
        As for `risk_coverage`; two equal names.

    References
    ----------
    - `proofs/thm_area_under_ties.py`: the areas as means over all orders of ties.

    Examples
    --------
    >>> result = compare_selective([4, 3, 2, 1], [1, 1, 1, 1], [1, 1, 0, 0])
    >>> round(result.differences["aurc"].estimate, 6)      # 5/24 − 1/2
    -0.291667
    """
    name_a, name_b = two_names(names)
    rng = bootstrap_generator(interval, rng)
    bounds = _range(partial)
    given = selective_input({name_a: score_a, name_b: score_b}, correct, cluster)
    method = interval_method(interval, level, given.codes)
    a, b = (_risk_coverage(given, n, bounds, method, rng, resamples) for n in (name_a, name_b))
    ranked = [rank_errors(given.scores[n], given.wrong) for n in (name_a, name_b)]
    if given.wrong.size and np.array_equal(ranked[0].group, ranked[1].group):
        estimates = [Estimate(0.0, note=SAME_ORDER)] * len(FIGURES)
    else:
        estimates = _estimates(ranked, given, bounds, method, rng, resamples)
        if given.wrong.size:
            estimates[FIGURES.index(_ALL)] = Estimate(0.0, note=ALL_KEPT)
    differences = dict(zip(FIGURES, estimates, strict=True))
    reasons = [(f"difference of {n}", e.note) for n, e in labelled(differences, a.partial_range)]
    return SelectiveComparison(
        questions=given.questions,
        a=a,
        b=b,
        differences=differences,
        p_values={n: t_test(e, method.df) for n, e in differences.items()},
        interval=method,
        notes=tuple(dict.fromkeys([*a.notes, *b.notes, *explain(reasons)])),
    )


def _risk_coverage(
    given: SelectiveInput,
    name: str,
    partial: Range,
    method: IntervalMethod,
    rng: np.random.Generator | None,
    resamples: int,
) -> RiskCoverage:
    wrong = given.wrong
    ranked = rank_errors(given.scores[name], wrong)
    figures = dict(
        zip(FIGURES, _estimates([ranked], given, partial, method, rng, resamples), strict=True)
    )
    kept = np.cumsum(ranked.items)
    shown_range = (float(partial[0]), float(partial[1]))
    notes = [*given.notes]
    if ranked.items.size == 1 and wrong.size > 1:
        notes.append(NO_ORDER.format(name=name))
    notes += explain((n, e.note) for n, e in labelled(figures, shown_range))
    return RiskCoverage(
        name=name,
        questions=given.questions,
        clusters=None if given.codes is None else count_clusters(given.codes),
        error_rate=int(wrong.sum()) / wrong.size if wrong.size else math.nan,
        score=ranked.score,
        coverage=kept / max(wrong.size, 1),
        risk=np.cumsum(ranked.errors) / kept,
        aurc=figures["aurc"],
        augrc=figures["augrc"],
        partial_range=shown_range,
        partial_risk=figures["partial_risk"],
        accuracy_at={
            float(coverage): figures[key]
            for coverage, key in zip(COVERAGES, ACCURACIES, strict=True)
        },
        interval=method,
        notes=tuple(dict.fromkeys(notes)),
    )


def _estimates(
    ranked: list[RankedErrors],
    given: SelectiveInput,
    partial: Range,
    method: IntervalMethod,
    rng: np.random.Generator | None,
    resamples: int,
) -> list[Estimate]:
    """The figures of one score, or those of the first less those of the second."""
    wrong, codes = given.wrong, given.codes
    if not wrong.size:
        return [Estimate(math.nan, note=NO_QUESTIONS)] * len(FIGURES)
    values = _figures([risks(r.items, r.errors, partial) for r in ranked])
    if rng is not None and codes is not None and count_clusters(codes) > 1:

        def resampled(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
            # Whole numbers, off by the rounding of single precision.
            copies = np.rint(drawn).astype(np.int64)
            return np.stack([_resampled(ranked, wrong, times[codes], partial) for times in copies])

        table = bootstrap(np.eye(codes.max() + 1), resampled, rng=rng, resamples=resamples)
        return [
            percentile_interval(float(value), column, level=method.level)
            for value, column in zip(values, table.T, strict=True)
        ]
    phi = _SIGNS[:, None] * _difference([influence_functions(r, wrong, partial) for r in ranked])
    within = (0.0, 1.0) if len(ranked) == 1 else (-1.0, 1.0)
    return [
        t_interval(float(value), influence, codes, level=method.level, within=within)
        for value, influence in zip(values, phi, strict=True)
    ]


def _resampled(
    ranked: list[RankedErrors], wrong: NDArray[np.bool_], copies: NDArray[np.int64], partial: Range
) -> NDArray[np.float64]:
    """The figures where each question is there so many times; copies are ties."""
    figures = []
    for one in ranked:
        items = np.bincount(one.group, copies, one.items.size).astype(np.int64)
        errors = np.bincount(one.group, copies * wrong, one.items.size).astype(np.int64)
        drawn = items > 0
        figures.append(risks(items[drawn], errors[drawn], partial))
    return _figures(figures)


def _figures(of_each: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Risks as figures: accuracies are their complements."""
    if len(of_each) == 1:
        return np.where(_SIGNS > 0, of_each[0], 1.0 - of_each[0])
    return np.asarray(_SIGNS * _difference(of_each))


def _difference(of_each: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return of_each[0] if len(of_each) == 1 else of_each[0] - of_each[1]


def _range(partial: object) -> Range:
    if not isinstance(partial, tuple | list) or len(partial) != 2:
        raise InputError(f"partial={partial!r} must be two coverages, such as (0.7, 1.0)")
    # The decimal that was written: the float 0.7 lies below it, and 0.7 × 10 is 7.
    low, high = (
        as_fraction("partial", repr(float(x)) if isinstance(x, float) else x) for x in partial
    )
    if not 0 <= low < high <= 1:
        raise InputError(
            f"partial={partial!r} must be a lower and a higher coverage between 0 and 1"
        )
    return low, high
