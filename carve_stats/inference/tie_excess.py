"""Tie excess: how many more scores are zero than if all questions had the same flip rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    NO_QUESTIONS,
    Estimate,
    IntervalMethod,
    bootstrap_generator,
    count_clusters,
    explain,
    interval_method,
)
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.inference.questions import count_questions
from carve_stats.inference.rates import (
    FlipRates,
    MeanScore,
    describe_validity,
    estimate_flip_rates,
    estimate_mean_score,
)
from carve_stats.inference.sign_excess import null_se, observe, predict
from carve_stats.inference.sign_intervals import IntervalRequest, plain_shares, sign_intervals
from carve_stats.law.finite_replay import SignShares
from carve_stats.population.patterns import fullest_budget, reaches

__all__ = ["TieExcess", "tie_excess"]

DESCRIPTOR = (
    "tie excess describes this log; it is no test of whether questions are alike: very different"
    " ones can have none"
)
STOPPED = (
    "no replay was invalid, and yet k differs: if flips decided when a question had enough, these"
    " figures are biased; read the run's own directory, whose plan says when it stopped"
)
FEW = "fewer than {n} questions tell {signs} scores from others: take the interval as rough"
FEW_QUESTIONS = 5
RATES_BY_T = "flip rates and mean score have cluster t intervals, whatever the others have"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TieExcess:
    """Observed and predicted sign shares and their difference, from `tie_excess`.

    Parameters
    ----------
    observed, predicted : SignShares of float
        The shares of negative, zero and positive scores; NaN where no question has a score.
    excess : SignShares of Estimate
        Observed − predicted, with its interval.
    observed_intervals : SignShares of Estimate
        The observed shares, with their intervals.
    null_se : SignShares of float
        Standard errors that the excesses would have if all questions had the same two rates.
    k : dict
        ``sham`` and ``destroy``: valid replays of each question; None where they differ.
    flip_rates : FlipRates
        With cluster t intervals.
    mean_score : MeanScore
        With cluster t interval and the test of no effect.
    equal_k : TieExcess or None
        Where k differs between questions or arms: the same at one k for both arms, the smaller
        of the pair (k_sham, k_destroy) that most questions have; questions with more replays are
        subsampled to it exactly, those with fewer left out.
    questions : dict
        ``read``, ``scored``, ``left_out`` (reason: count); in `equal_k` also ``subsampled``.
    records : dict or None
        The reader's ``read``, ``used`` and ``left_out``; None where no reader was involved.
    clusters : int or None
        Clusters of the scored questions; None where they are not known.
    interval : IntervalMethod
        How the intervals of `excess` and `observed_intervals` were made.
    notes : tuple of str
        What is not estimable and why, and what else a reader has to know.
    """

    observed: SignShares
    predicted: SignShares
    excess: SignShares
    observed_intervals: SignShares
    null_se: SignShares
    k: Mapping[str, int | None]
    flip_rates: FlipRates
    mean_score: MeanScore
    equal_k: TieExcess | None
    questions: Mapping[str, Any]
    records: Mapping[str, Any] | None
    clusters: int | None
    interval: IntervalMethod
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        rates, mean = self.flip_rates.to_dict(), self.mean_score.to_dict()
        return {
            "questions": dict(self.questions),
            "records": None if self.records is None else dict(self.records),
            "clusters": self.clusters,
            "k": dict(self.k),
            "flip_rates": {arm: rates[arm] for arm in ("self", "sham", "destroy")},
            "mean_score": {n: v for n, v in mean.items() if n not in ("interval", "notes")},
            "observed": plain_shares(self.observed),
            "predicted": plain_shares(self.predicted),
            "excess": {n: e.to_dict() for n, e in self.excess._asdict().items()},
            "null_se": plain_shares(self.null_se),
            "interval": self.interval.to_dict(),
            "observed_intervals": {
                n: e.to_dict() for n, e in self.observed_intervals._asdict().items()
            },
            "equal_k": None if self.equal_k is None else self.equal_k.to_dict(),
            "notes": list(self.notes),
        }

    def _tables(self) -> list[tuple[str, list[str], list[list[object]]]]:
        tables = [self._signs()]
        if self.equal_k is not None:
            tables.append(self.equal_k._signs())
        rates, mean = self.flip_rates, self.mean_score
        headline: list[list[object]] = [
            [
                name,
                _display.number(figure.estimate, signed=signed),
                _display.interval(figure.low, figure.high, signed=signed),
                _display.interval(figure.lowest, figure.highest, signed=signed),
            ]
            for name, figure, signed in (
                ("SELF flip rate", rates.self_, False),
                ("SHAM flip rate", rates.sham, False),
                ("DESTROY flip rate", rates.destroy, False),
                ("mean score", mean, True),
            )
        ]
        p = _display.p_value(mean.p_value)
        caption = f"Rates ({mean.interval}; p-value of no effect: {p})"
        tables.append((caption, ["", "estimate", "interval", "worst case"], headline))
        return tables

    def _signs(self) -> tuple[str, list[str], list[list[object]]]:
        sham, destroy = self.k["sham"], self.k["destroy"]
        if sham is not None and sham == destroy:
            k = f"k = {sham}"
        elif sham is not None and destroy is not None:
            k = f"k_sham = {sham}, k_destroy = {destroy}"
        else:
            k = "k differs between questions" if self.questions["scored"] else "no scores"
        detail = f"{_display.counted(self.questions['scored'], 'question')}, " + (
            "unknown clusters"
            if self.clusters is None
            else _display.counted(self.clusters, "cluster")
        )
        if self.questions.get("subsampled"):
            detail += f", {self.questions['subsampled']} of the questions subsampled"
        headers = ["sign of score", "observed", "predicted", "excess", "interval", "null SE"]
        rows: list[list[object]] = [
            [
                sign,
                _display.number(getattr(self.observed, sign)),
                _display.number(getattr(self.predicted, sign)),
                _display.number(estimate.estimate, signed=True),
                _display.interval(estimate.low, estimate.high, signed=True),
                _display.number(getattr(self.null_se, sign)),
            ]
            for sign, estimate in self.excess._asdict().items()
        ]
        return f"Tie excess: {k} ({detail}; {self.interval})", headers, rows

    def __str__(self) -> str:
        *first, last = self._tables()
        blocks = [_display.text_block(*table) for table in first]
        return "\n\n".join([*blocks, _display.text_block(*last, self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        *first, last = self._tables()
        blocks = [_display.html_block(*table) for table in first]
        return "\n".join([*blocks, _display.html_block(*last, self.notes)])


def tie_excess(
    counts: ReplayCounts,
    *,
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> TieExcess:
    """Observed sign shares of the scores, less those of a homogeneous population.

    Tie excess is a descriptor, not a test of homogeneity: heterogeneity can lower the ties at
    one k and raise them at another, or leave them as they are (see Notes).

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question. k may differ between questions.
    interval : str
        ``t``: linearised cluster standard error and Student's t, the default: its coverage is
        right down to ten clusters. ``bootstrap``: percentiles of the cluster bootstrap.
    level : float
        Confidence level.
    resamples : int
        Resamples of the bootstrap, at least 100.
    rng : numpy.random.Generator or int, optional
        The bootstrap's source of randomness, or a seed; the bootstrap needs one.

    Returns
    -------
    TieExcess
        Observed, predicted and excess shares of negative, zero and positive scores, with the
        headline rates. What is not estimable is None with a note: intervals without clusters,
        or with one, or with clusters that do not differ.

    Raises
    ------
    InputError
        An unknown `interval`, a level outside (0, 1), too few resamples, or a bootstrap
        without `rng`.

    See Also
    --------
    carve_stats.law.finite_replay.FiniteReplayLaw : the prediction.

    Notes
    -----
    τ̂ = T̄ − mean t_i(p̂_sham, p̂_destroy): each question is predicted at its own (k_sham,
    k_destroy) and at the pooled rates, which are means over the scored questions of their
    flips/replays. Standard errors come from the influence function (`sign_influence`), summed
    by cluster. At k = 1 the zero excess is 2·Cov(X, Y) and the other two are −Cov, for any
    data. `null_se` is the closed form under homogeneity (`null_se` of `sign_excess`).

    The population with mass 3/28 on each of (0, 0) and (1, 1) and 11/28 on each of (0, ½) and
    (1, ½) has tie excess 3/28, 1/28, 0 and 71301/1835008 at k = 1, 2, 3 and 10.

    The interval needs questions of each sign: with a handful it is rough (the note says so),
    and with none the log cannot show how far off the share could be, so there is none.

    Where k differs, one lost replay changes the ties much (10 against 9 replays tie at two
    points only), so the result at one k for all, `equal_k`, is there as well.

    References
    ----------
    - `proofs/thm_tie_excess_at_one.py`: what the excesses are at k = 1.
    - `proofs/thm_tie_excess_influence.py`: the standard error, also of ragged k, and `null_se`.
    - `proofs/thm_tie_excess_second_order.py`: the population without tie excess at k = 3.
    - `proofs/thm_subsampling.py`: `equal_k`.

    Examples
    --------
    >>> from carve_stats.counts import ReplayCounts
    >>> counts = ReplayCounts([f"q{i}" for i in range(8)], [0, 3, 0, 3, 1, 2, 0, 1], [3] * 8,
    ...     [0, 3, 0, 3, 3, 3, 2, 1], [3] * 8, cluster=list("aabbccdd"))
    >>> result = tie_excess(counts)
    >>> result.observed.zero, round(result.predicted.zero, 4), round(result.excess.zero.estimate, 4)
    (0.625, 0.2738, 0.3512)
    >>> round(result.excess.zero.low, 4), round(result.excess.zero.high, 4)
    (-0.2742, 0.9766)
    >>> result.k, result.interval.df
    ({'sham': 3, 'destroy': 3}, 3)
    """
    check_counts(counts)
    rng = bootstrap_generator(interval, rng)
    codes, scored = counts.cluster_codes, counts.scored
    request = IntervalRequest(interval, level, resamples, rng)
    main = _estimate(counts, codes, request)
    if scored.any() and (None in main.k.values() or main.k["sham"] != main.k["destroy"]):
        main = replace(main, equal_k=_at_equal_k(counts, codes, request))
    ledger = counts.ledger
    return replace(
        main,
        records=None if ledger is None else ledger.to_dict(),
        notes=tuple(
            dict.fromkeys([*(() if ledger is None else ledger.notes), *_notes(main, counts)])
        ),
    )


def _estimate(
    counts: ReplayCounts,
    codes: NDArray[np.int64] | None,
    request: IntervalRequest,
    at: tuple[int, int] | None = None,
) -> TieExcess:
    """Everything but `equal_k`, the ledger and the notes."""
    scored = counts.scored
    used = None if codes is None else codes[scored]
    method = interval_method(request.interval, request.level, used)
    observed, predicted, null = np.full((3, 3), math.nan)
    estimates = [Estimate(math.nan, note=NO_QUESTIONS)] * 6
    k: list[int | None] = [None, None]
    if scored.any():
        data = observe(counts.select(scored), at)
        observed, null = data.shares.mean(axis=0), null_se(data)
        predicted = data.weights @ predict(data)[0]
        estimates = sign_intervals(data, used, observed, predicted, request)
        k = [int(arm[0]) if (arm == arm[0]).all() else None for arm in data.law_replays.T]
    return TieExcess(
        observed=SignShares(*observed.tolist()),
        predicted=SignShares(*predicted.tolist()),
        excess=SignShares(*estimates[3:]),
        observed_intervals=SignShares(*estimates[:3]),
        null_se=SignShares(*null.tolist()),
        k={"sham": k[0], "destroy": k[1]},
        flip_rates=estimate_flip_rates(counts, codes, request.level),
        mean_score=estimate_mean_score(counts, codes, request.level),
        equal_k=None,
        questions=count_questions(counts),
        records=None,
        clusters=None if used is None else count_clusters(used),
        interval=method,
        notes=(),
    )


def _at_equal_k(
    counts: ReplayCounts, codes: NDArray[np.int64] | None, request: IntervalRequest
) -> TieExcess:
    scored = counts.scored
    k = fullest_budget(counts.select(scored), equal=True)[0]
    budget = (k, k)
    kept = scored & reaches(counts, budget)
    some = counts.select(kept)
    result = _estimate(some, None if codes is None else codes[kept], request, budget)
    replays = np.stack([some.sham_replays, some.destroy_replays], axis=1)
    smaller = int(scored.sum() - kept.sum())
    questions = count_questions(counts)
    left_out = questions["left_out"]
    if smaller:
        left_out[f"fewer valid replays than {budget[0]} sham and {budget[1]} destroy"] = smaller
    return replace(
        result,
        questions={
            "read": questions["read"],
            "scored": len(some),
            "left_out": left_out,
            "subsampled": int((replays != budget).any(axis=1).sum()),
        },
        notes=tuple(explain(_reasons(result))),
    )


def _reasons(result: TieExcess) -> list[tuple[str, str | None]]:
    return [
        *result.flip_rates.reasons(),
        ("mean score", result.mean_score.note),
        *((f"{sign} excess", e.note) for sign, e in result.excess._asdict().items()),
    ]


def _notes(result: TieExcess, counts: ReplayCounts) -> list[str]:
    notes = [*explain(_reasons(result)), *describe_validity(counts)]
    equal = result.equal_k
    if equal is not None:
        left_out = result.questions["scored"] - equal.questions["scored"]
        subsampled = equal.questions["subsampled"]
        parts = [
            f"{_display.counted(n, 'question')} with {what}"
            for n, what in (
                (subsampled, f"more {'was' if subsampled == 1 else 'were'} subsampled (exactly)"),
                (left_out, f"fewer {'was' if left_out == 1 else 'were'} left out"),
            )
            if n
        ]
        notes.append(
            "k differs, and each question is predicted at its own; at"
            f" {equal.k['sham']} replays in each arm {' and '.join(parts)}"
        )
        invalid = counts.sham_invalid.any() or counts.destroy_invalid.any()
        if None in result.k.values() and not invalid:
            notes.append(STOPPED)
    n = result.questions["scored"]
    few = [
        sign
        for sign, share in result.observed._asdict().items()
        if result.excess._asdict()[sign].low is not None
        and min(round(share * n), n - round(share * n)) < FEW_QUESTIONS
    ]
    if few:
        notes.append(FEW.format(n=FEW_QUESTIONS, signs=" and ".join(few)))
    if result.interval.method == "bootstrap":
        notes.append(RATES_BY_T)
    return [*notes, DESCRIPTOR]
