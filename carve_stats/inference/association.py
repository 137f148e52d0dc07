"""What goes with the score and with correct answers: correlations, and ROC-AUC with ties."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    NO_QUESTIONS,
    Estimate,
    IntervalMethod,
    count_clusters,
    explain,
    interval_method,
    t_interval,
)
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError, unknown_name
from carve_stats.inference.judged import CORRECT, JudgedQuestions, join_outcomes
from carve_stats.outcomes import Outcomes

__all__ = ["Association", "Associations", "associations", "pearson", "roc_auc"]

CONSTANT = "not estimable: one of the two does not vary, and correlates with nothing"
ONE_CLASS = "not estimable: all questions are of one class, and there is nothing to tell apart"
TEXTS = (
    "{names}: texts, which have no order, and so neither a correlation nor an ROC-AUC; use them in"
    " stratified_scores(by=…)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """How two figures of the questions go together.

    Parameters
    ----------
    predictor, target : str
        Their names: ``score``, ``correct`` (of the original answer), or covariates.
    questions : int
        Scored questions of which both are known.
    clusters : int or None
        Their clusters; None where not known.
    pearson : Estimate
        Correlation, with a cluster interval; NaN, with a note, where undefined.
    roc_auc : Estimate or None
        How well the predictor tells where the target is true: the chance that of two questions,
        one of them true and one false, it is larger for the true one, plus half the chance that it
        is equal. None for a target that is not true or false.
    """

    predictor: str
    target: str
    questions: int
    clusters: int | None
    pearson: Estimate
    roc_auc: Estimate | None

    def to_dict(self) -> dict[str, Any]:
        """Every figure as a plain value."""
        return {
            "predictor": self.predictor,
            "target": self.target,
            "questions": self.questions,
            "clusters": self.clusters,
            "pearson": self.pearson.to_dict(),
            "roc_auc": None if self.roc_auc is None else self.roc_auc.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Associations:
    """Correlations and ROC-AUC, from `associations`.

    Parameters
    ----------
    rows : tuple of Association
        The score with `correct`, then with each covariate, then each covariate with `correct`.
    questions : dict
        ``read``, ``used`` (scored, with an outcome that may be unknown), ``left_out`` (reason:
        count).
    interval : IntervalMethod
        How the intervals were made; its df is that of all the questions used.
    notes : tuple of str
        What is not estimable and why, and what else a reader has to know.
    """

    rows: tuple[Association, ...]
    questions: Mapping[str, Any]
    interval: IntervalMethod
    notes: tuple[str, ...]

    def __getitem__(self, pair: tuple[str, str]) -> Association:
        for row in self.rows:
            if (row.predictor, row.target) == pair:
                return row
        known = [f"{row.predictor}, {row.target}" for row in self.rows]
        raise InputError(unknown_name("pair", ", ".join(map(str, pair)), known))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; undefined figures are None."""
        return {
            "questions": dict(self.questions),
            "associations": [row.to_dict() for row in self.rows],
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        rows: list[list[object]] = [
            [
                f"{row.predictor} → {row.target}",
                row.questions,
                _display.number(row.pearson.estimate, 3, signed=True),
                _display.interval(row.pearson.low, row.pearson.high, 3, signed=True),
                None if row.roc_auc is None else _display.number(row.roc_auc.estimate, 3),
                None
                if row.roc_auc is None
                else _display.interval(row.roc_auc.low, row.roc_auc.high, 3),
            ]
            for row in self.rows
        ]
        headers = ["", "questions", "correlation", "interval", "ROC-AUC", "interval"]
        return f"What goes with what ({self.interval})", headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def associations(
    counts: ReplayCounts,
    outcomes: Outcomes,
    *,
    names: Iterable[str] | None = None,
    level: float = 0.95,
    allow_mismatch: bool = False,
) -> Associations:
    """Correlations of the score with correctness and covariates, and ROC-AUC of either.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        Which original answers are right, and covariates such as gold coverage.
    names : iterable of str, optional
        The covariates: numbers, or true and false. All that are of these kinds where not given.
    level : float
        Confidence level.
    allow_mismatch : bool
        Whether ids that only one side has are allowed; such questions are left out and counted.

    Returns
    -------
    Associations
        Each pair over the scored questions of which both are known, with cluster t intervals.

    Raises
    ------
    InputError
        Ids that do not fit each other, an unknown name or one whose values are other texts, counts
        that were stopped early, or a level outside (0, 1).

    See Also
    --------
    stratified_scores : the mean score by strata.

    Notes
    -----
    ROC-AUC is the Mann–Whitney statistic with midranks, decided exactly on ties. Influence
    functions, for n questions of which n₁ are true and n₀ false: of the AUC A, n/n₁ (V₁ − A) for a
    true question, V₁ the share of false ones below it (half of those equal), and n/n₀ (V₀ − A) for
    a false one, V₀ the share of true ones above it; of Pearson's r, ab − r (a² + b²)/2 with
    standardised a and b.

    References
    ----------
    - N. A. Obuchowski, "Nonparametric analysis of clustered ROC curve data", Biometrics 53 (1997).
    - `proofs/thm_correlation_influence.py`: the influence function of r.
    - `proofs/thm_roc_auc.py`: the AUC by midranks, and its influence function.

    Examples
    --------
    >>> counts = ReplayCounts(list("abcd"), [0, 1, 2, 0], [3] * 4, [3, 2, 2, 0], [3] * 4,
    ...     cluster=list("uuvw"))
    >>> recall = {"recall": [1, 0.5, 0.25, 0]}
    >>> outcomes = Outcomes(list("abcd"), [1, 0, 1, 0], {}, covariates=recall)
    >>> result = associations(counts, outcomes)
    >>> result["score", "correct"].roc_auc.estimate          # 1 and 0 against 1/3 and 0
    0.625
    >>> result["recall", "correct"].roc_auc.estimate
    0.75
    """
    data = join_outcomes(counts, outcomes, allow_mismatch=allow_mismatch)
    method = interval_method("t", level, data.codes)
    texts = []
    if names is None:
        given = [name for name in outcomes.covariates if name != CORRECT]
        numeric = [name for name in given if data.is_number(name)]
        texts = [name for name in given if name not in numeric]
    else:
        numeric = [names] if isinstance(names, str) else list(dict.fromkeys(names))
        for name in numeric:
            data.check_known(name)
            if name != CORRECT and not data.is_number(name):
                raise InputError(f"names={name!r} is a text: {TEXTS.format(names=name)}")
        numeric = [name for name in numeric if name != CORRECT]
    pairs = [("score", CORRECT), *(("score", name) for name in numeric)]
    pairs += [(name, CORRECT) for name in numeric]
    rows = tuple(_associate(data, predictor, target, level) for predictor, target in pairs)
    reasons = [
        (f"{row.predictor} → {row.target} ({what})", estimate.note)
        for row in rows
        for what, estimate in (("correlation", row.pearson), ("ROC-AUC", row.roc_auc))
        if estimate is not None
    ]
    notes = [*data.notes, *explain(reasons)]
    if texts:
        notes.append(TEXTS.format(names=", ".join(texts)))
    return Associations(
        rows=rows, questions=data.questions, interval=method, notes=tuple(dict.fromkeys(notes))
    )


def _associate(data: JudgedQuestions, predictor: str, target: str, level: float) -> Association:
    a, b = data.number(predictor), data.number(target)
    known = ~(np.isnan(a) | np.isnan(b))
    codes = None if data.codes is None else data.codes[known]
    a, b = a[known], b[known]
    auc = None
    if data.is_binary(target):
        auc = roc_auc(a, b == 1.0, codes, level)
    return Association(
        predictor=predictor,
        target=target,
        questions=int(known.sum()),
        clusters=None if codes is None else count_clusters(codes),
        pearson=pearson(a, b, codes, level, constant=CONSTANT),
        roc_auc=auc,
    )


def pearson(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    codes: NDArray[np.int64] | None,
    level: float,
    *,
    constant: str,
) -> Estimate:
    """Pearson's r with a cluster t interval.

    Parameters
    ----------
    a, b : ndarray, shape (n,)
        Two figures of each question.
    codes : ndarray of int or None
        The clusters.
    level : float
        Confidence level.
    constant : str
        The note where one of the two does not vary.

    Returns
    -------
    Estimate
        NaN, with a note, where undefined.
    """
    if not a.size:
        return Estimate(math.nan, note=NO_QUESTIONS)
    # Equal scores are equal floats: each is the quotient of two whole numbers, rounded once.
    if (a == a[0]).all() or (b == b[0]).all():
        return Estimate(math.nan, note=constant)
    a, b = _standardised(a), _standardised(b)
    r = float(np.clip(np.mean(a * b), -1.0, 1.0))
    return t_interval(r, a * b - r * (a * a + b * b) / 2, codes, level=level, within=(-1.0, 1.0))


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = values - values.mean()
    centred /= np.abs(centred).max()  # squares of any unit stay within range
    return centred / centred.std()


def roc_auc(
    predictor: NDArray[np.float64],
    true: NDArray[np.bool_],
    codes: NDArray[np.int64] | None,
    level: float,
) -> Estimate:
    """ROC-AUC with ties counted half, and a cluster t interval.

    Parameters
    ----------
    predictor : ndarray, shape (n,)
        A figure of each question, without NaN.
    true : ndarray of bool, shape (n,)
        What it is to tell.
    codes : ndarray of int or None
        The clusters.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        NaN, with a note, where all questions are of one class.
    """
    n, positive = true.size, int(true.sum())
    if not n:
        return Estimate(math.nan, note=NO_QUESTIONS)
    if positive in (0, n):
        return Estimate(math.nan, note=ONE_CLASS)
    value = np.unique(predictor, return_inverse=True)[1]
    above, below = (np.bincount(value[side], minlength=n) for side in (true, ~true))
    # Twice the number of questions of the other class that are smaller, and larger; ties once.
    smaller = 2 * np.cumsum(below) - below
    larger = 2 * positive - 2 * np.cumsum(above) + above
    twice = int((above * smaller).sum())
    auc = twice / (2 * positive * (n - positive))
    influence = np.where(
        true,
        (smaller[value] / (2 * (n - positive)) - auc) * (n / positive),
        (larger[value] / (2 * positive) - auc) * (n / (n - positive)),
    )
    return t_interval(auc, influence, codes, level=level, within=(0.0, 1.0))
