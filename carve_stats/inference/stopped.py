"""Figures of a full run from replays that were stopped early, without the bias of their rates."""

from __future__ import annotations

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
    t_interval,
    t_test,
)
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.inference.rates import estimate_flip_rates
from carve_stats.inference.sign_excess import SignData, predict
from carve_stats.inference.sign_intervals import IntervalRequest, plain_shares, sign_intervals
from carve_stats.inference.tie_excess import DESCRIPTOR, RATES_BY_T
from carve_stats.law._arguments import replay_budget
from carve_stats.law._flip_states import state_places
from carve_stats.law.finite_replay import SignShares
from carve_stats.law.path_counting import GOES_ON, NEVER, PathShares, equal_budget, path_shares
from carve_stats.law.stopping import StoppingPlan

__all__ = ["StoppedSigns", "stopped_decisions", "stopped_signs", "unfinished"]

Floats = NDArray[np.float64]

UNFINISHED = "not finished: the stopping plan goes on"
TOO_FEW = "too many invalid replays for {sham} SHAM and {destroy} DESTROY"
WHAT = (
    "every figure is that of a full run with {sham} SHAM and {destroy} DESTROY replays of each"
    " question, estimated without bias by counting the paths to where each question stopped; rates"
    " of the replays as they were made would be biased"
)
INVALID = (
    "{invalid} invalid SHAM and DESTROY replays were spent: that whether a replay is valid does not"
    " depend on its flip, given the question and the condition, is assumed"
)
INEXACT = (
    "the plan may stop where a replay to come could change the decision: a small share of the"
    " decisions is not that of the full budget; the figures here do not depend on it"
)
UNFINISHED_NOTE = (
    "{n} not finished and left out: finish the run, since a question that takes long is more likely"
    " to be among them"
)
NO_ARM = (
    "some questions of the stopping plan ({rule}, order {order}) get no {arm} replay at all, so"
    " nothing about both arms can be estimated; another run can ask for a minimum in each arm"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoppedSigns:
    """Sign shares, rates and mean score of a full run, from `stopped_signs`.

    Parameters
    ----------
    observed, predicted : SignShares of float
        Shares of negative, zero and positive scores at (k_sham, k_destroy), and those of questions
        that all had the same two flip rates.
    excess, observed_intervals : SignShares of Estimate
        Observed − predicted, and the observed shares, with their intervals.
    k : dict
        ``sham`` and ``destroy``: the replays of the full run that the figures speak of.
    flip_rates : dict of str to Estimate
        ``self``, ``sham`` and ``destroy``.
    mean_score : Estimate
        DESTROY − SHAM flip rate.
    p_value : float or None
        Two-sided, of the hypothesis that the mean score is zero; cluster t.
    questions : dict
        ``read``, ``scored`` and ``left_out`` (reason: count).
    records : dict or None
        The reader's ``read``, ``used`` and ``left_out``.
    clusters : int or None
        Clusters of the questions used; None where they are not known.
    plan : StoppingPlan
        By which the questions were stopped.
    interval : IntervalMethod
        How the intervals were made; those of rates and mean score are always t intervals.
    notes : tuple of str
        What is not estimable and why, and what else a reader has to know.
    """

    observed: SignShares
    predicted: SignShares
    excess: SignShares
    observed_intervals: SignShares
    k: Mapping[str, int]
    flip_rates: Mapping[str, Estimate]
    mean_score: Estimate
    p_value: float | None
    questions: Mapping[str, Any]
    records: Mapping[str, Any] | None
    clusters: int | None
    plan: StoppingPlan
    interval: IntervalMethod
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that `TieExcess.to_dict` has, and ``stopping``."""
        guaranteed = self.plan.guaranteed
        return {
            "questions": dict(self.questions),
            "records": None if self.records is None else dict(self.records),
            "clusters": self.clusters,
            "k": dict(self.k),
            "flip_rates": {arm: rate.to_dict() for arm, rate in self.flip_rates.items()},
            "mean_score": {**self.mean_score.to_dict(), "p_value": _display.plain(self.p_value)},
            "observed": plain_shares(self.observed),
            "predicted": plain_shares(self.predicted),
            "excess": {n: e.to_dict() for n, e in self.excess._asdict().items()},
            "interval": self.interval.to_dict(),
            "observed_intervals": {
                n: e.to_dict() for n, e in self.observed_intervals._asdict().items()
            },
            "stopping": {
                "rule": str(self.plan.rule),
                "order": self.plan.order,
                "k": {"sham": self.plan.k_sham, "destroy": self.plan.k_destroy},
                "guaranteed": {"sham": guaranteed[0], "destroy": guaranteed[1]},
                "sha256": self.plan.sha256,
            },
            "notes": list(self.notes),
        }

    def _tables(self) -> list[tuple[str, list[str], list[list[object]]]]:
        signs: list[list[object]] = [
            [
                sign,
                _display.number(getattr(self.observed, sign)),
                _display.number(getattr(self.predicted, sign)),
                _display.number(excess.estimate, signed=True),
                _display.interval(excess.low, excess.high, signed=True),
            ]
            for sign, excess in self.excess._asdict().items()
        ]
        rates: list[list[object]] = [
            [
                name,
                _display.number(rate.estimate, signed=signed),
                _display.interval(rate.low, rate.high, signed=signed),
            ]
            for name, rate, signed in (
                ("SELF flip rate", self.flip_rates["self"], False),
                ("SHAM flip rate", self.flip_rates["sham"], False),
                ("DESTROY flip rate", self.flip_rates["destroy"], False),
                ("mean score", self.mean_score, True),
            )
        ]
        used = _display.counted(self.questions["scored"], "question") + ", "
        used += (
            "unknown clusters"
            if self.clusters is None
            else _display.counted(self.clusters, "cluster")
        )
        caption = (
            f"Tie excess: k_sham = {self.k['sham']}, k_destroy = {self.k['destroy']} ({used};"
            f" {self.interval})\nfrom replays stopped early by {self.plan.rule!s}"
        )
        p = _display.p_value(self.p_value)
        return [
            (caption, ["sign of score", "observed", "predicted", "excess", "interval"], signs),
            (f"Rates (p-value of no effect: {p})", ["", "estimate", "interval"], rates),
        ]

    def __str__(self) -> str:
        signs, rates = self._tables()
        return f"{_display.text_block(*signs)}\n\n{_display.text_block(*rates, self.notes)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        signs, rates = self._tables()
        return f"{_display.html_block(*signs)}\n{_display.html_block(*rates, self.notes)}"


def stopped_signs(
    counts: ReplayCounts,
    *,
    k_sham: int | None = None,
    k_destroy: int | None = None,
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> StoppedSigns:
    """Tie excess and headline rates from replays that were stopped early.

    Parameters
    ----------
    counts : ReplayCounts
        With a stopping plan, as the reader of a run that stops its questions gives them.
    k_sham, k_destroy : int, optional
        The full run that the figures are to speak of: no more than every question gets. By
        default the same number in both arms, as many as possible.
    interval, level, resamples, rng
        As for `tie_excess`.

    Returns
    -------
    StoppedSigns
        The figures that a full run with (k_sham, k_destroy) replays would have given, up to
        sampling error.

    Raises
    ------
    InputError
        Counts that were not stopped early or are of another plan; a budget that not every question
        reaches; a plan by which some questions get no replay in an arm; and what `tie_excess`
        refuses.

    Notes
    -----
    The cell (u, v) of a question, its flips among the first k_sham and k_destroy replays, is
    replaced by its expectation given where the question stopped (`path_shares`). Observed shares,
    rates and the mean score are means of functions of the cell, and so unbiased; the prediction
    is the law at the rates, as in `tie_excess`, whose intervals these are.

    References
    ----------
    - `proofs/thm_path_counting.py`: why counting paths is unbiased, and where nothing is.

    Examples
    --------
    >>> from carve_stats.law.stopping import fixed_plan
    >>> plan = fixed_plan(3, 3, "score <= 0", "alternate", minimum=(1, 1))
    >>> counts = ReplayCounts(["a", "b", "c", "d"], [2, 0, 0, 1], [2, 2, 3, 3], [0, 2, 0, 2],
    ...     [1, 2, 3, 2], cluster=["v", "v", "w", "w"], stopping=plan)
    >>> signs = stopped_signs(counts)
    >>> signs.k, [round(share, 3) for share in signs.observed]
    ({'sham': 1, 'destroy': 1}, [0.25, 0.375, 0.375])
    """
    plan = _plan_of(counts)
    rng = bootstrap_generator(interval, rng)
    paths = _paths(plan, counts, k_sham, k_destroy)
    rows = _rows(paths, counts)
    finished = rows >= 0
    used = finished & ~np.isnan(paths.shares[rows, 0])
    cells = paths.shares[rows[used]]
    codes = counts.cluster_codes
    codes_used = None if codes is None else codes[used]
    method = interval_method(interval, level, codes_used)
    data = _sign_data(cells, paths)
    observed, predicted = np.full((2, 3), np.nan)
    estimates = [Estimate(np.nan, note=NO_QUESTIONS)] * 6
    if used.any():
        observed, predicted = data.shares.mean(axis=0), predict(data)[0][0]
        request = IntervalRequest(interval, level, resamples, rng)
        estimates = sign_intervals(data, codes_used, observed, predicted, request)
    sham, destroy = data.rates.T
    mean = _mean(destroy - sham, codes_used, level, (-1.0, 1.0))
    rates = {
        "self": estimate_flip_rates(counts, codes, level).self_,
        "sham": _mean(sham, codes_used, level, (0.0, 1.0)),
        "destroy": _mean(destroy, codes_used, level, (0.0, 1.0)),
    }
    ledger = counts.ledger
    left_out = {
        UNFINISHED: int((~finished).sum()),
        TOO_FEW.format(sham=paths.to_k_sham, destroy=paths.to_k_destroy): int(
            (finished & ~used).sum()
        ),
    }
    result = StoppedSigns(
        observed=SignShares(*observed.tolist()),
        predicted=SignShares(*predicted.tolist()),
        excess=SignShares(*estimates[3:]),
        observed_intervals=SignShares(*estimates[:3]),
        k={"sham": paths.to_k_sham, "destroy": paths.to_k_destroy},
        flip_rates=rates,
        mean_score=mean,
        p_value=t_test(mean, interval_method("t", level, codes_used).df),
        questions={
            "read": len(counts),
            "scored": int(used.sum()),
            "left_out": {reason: n for reason, n in left_out.items() if n},
        },
        records=None if ledger is None else ledger.to_dict(),
        clusters=None if codes_used is None else count_clusters(codes_used),
        plan=plan,
        interval=method,
        notes=() if ledger is None else ledger.notes,
    )
    notes = [*result.notes, *_notes(result, counts)]
    return replace(result, notes=tuple(dict.fromkeys(notes)))


def stopped_decisions(counts: ReplayCounts) -> NDArray[np.float64]:
    """What the stopping plan has decided of each question.

    Parameters
    ----------
    counts : ReplayCounts
        With a stopping plan.

    Returns
    -------
    ndarray, shape (n,)
        1 where the plan's rule selects the question and 0 where not, or for ``"sign"`` the sign
        −1, 0 or 1 of the score of the full budget; NaN where there is no score, and where the
        question is not finished.

    Raises
    ------
    InputError
        Counts that were not stopped early, or are of another plan.

    Examples
    --------
    >>> from carve_stats.law.stopping import fixed_plan
    >>> plan = fixed_plan(3, 3, "score <= 0", "alternate", minimum=(1, 1))
    >>> counts = ReplayCounts(["a", "b", "c"], [2, 0, 0], [2, 2, 2], [0, 2, 0], [1, 2, 1],
    ...     stopping=plan)
    >>> stopped_decisions(counts)                              # c is not finished
    array([ 1.,  0., nan])
    """
    plan = _plan_of(counts)
    rows = _rows(path_shares(plan, 0, 0, invalid=_most_invalid(counts)), counts)
    decisions = np.full(len(counts), np.nan)
    invalid = np.column_stack([counts.sham_invalid, counts.destroy_invalid])
    states = np.column_stack(
        [counts.sham_replays, counts.sham_flips, counts.destroy_replays, counts.destroy_flips]
    )
    for spent in np.unique(invalid, axis=0):
        if (spent >= (plan.k_sham, plan.k_destroy)).any():
            continue  # no valid replay in an arm: no score
        those = np.flatnonzero((rows >= 0) & (invalid == spent).all(axis=1))
        left = plan.reduced(*spent.tolist())
        verdict = left.verdict[state_places(states[those])]
        decisions[those] = verdict - (plan.rule == "sign")
    return decisions


def unfinished(counts: ReplayCounts) -> NDArray[np.bool_]:
    """Whether the stopping plan goes on with each question.

    Parameters
    ----------
    counts : ReplayCounts
        With a stopping plan.

    Returns
    -------
    ndarray of bool, shape (n,)
        True where a replay is still to come.
    """
    paths = path_shares(_plan_of(counts), 0, 0, invalid=_most_invalid(counts))
    return _rows(paths, counts) == GOES_ON


def _plan_of(counts: ReplayCounts) -> StoppingPlan:
    check_counts(counts, stopped=True)
    if counts.stopping is None:
        raise InputError(
            "counts were not stopped early: use tie_excess(counts), or name their plan in"
            " ReplayCounts(stopping=)"
        )
    return counts.stopping


def _most_invalid(counts: ReplayCounts) -> tuple[int, int]:
    return int(counts.sham_invalid.max(initial=0)), int(counts.destroy_invalid.max(initial=0))


def _paths(
    plan: StoppingPlan, counts: ReplayCounts, k_sham: int | None, k_destroy: int | None
) -> PathShares:
    invalid = _most_invalid(counts)
    if k_sham is not None or k_destroy is not None:
        sham, destroy = replay_budget(None, k_sham, k_destroy)
        return path_shares(plan, int(sham), int(destroy), invalid=invalid)
    k = equal_budget(plan, invalid=invalid)
    if k == 0:
        arm = "SHAM" if plan.guaranteed[0] == 0 else "DESTROY"
        raise InputError(NO_ARM.format(rule=plan.rule, order=plan.order, arm=arm))
    return path_shares(plan, k, k, invalid=invalid)


def _rows(paths: PathShares, counts: ReplayCounts) -> NDArray[np.int64]:
    """The row of each question, −1 for unfinished ones."""
    rows = paths.rows(
        counts.sham_replays, counts.sham_flips, counts.destroy_replays, counts.destroy_flips,
        counts.sham_invalid, counts.destroy_invalid,
    )  # fmt: skip
    wrong = np.flatnonzero(rows == NEVER)
    if wrong.size:
        at = wrong[0]
        raise InputError(
            f"question={str(counts.question[at])!r}: {counts.sham_flips[at]} of"
            f" {counts.sham_replays[at]} SHAM and {counts.destroy_flips[at]} of"
            f" {counts.destroy_replays[at]} DESTROY replays flipped, to which the stopping plan"
            " does not lead: the counts are of another plan"
        )
    return rows


def _sign_data(cells: Floats, paths: PathShares) -> SignData:
    """Expected signs and rates of each question's first replays."""
    k_sham, k_destroy = paths.to_k_sham, paths.to_k_destroy
    u, v = np.divmod(np.arange(cells.shape[1]), k_destroy + 1)
    numerator = v * k_sham - u * k_destroy
    signs = np.stack([numerator < 0, numerator == 0, numerator > 0], axis=1).astype(float)
    rates = np.stack([u / k_sham, v / k_destroy], axis=1)
    budget = np.array([[k_sham, k_destroy]])
    return SignData(cells @ signs, cells @ rates, np.zeros(len(cells), np.int64), budget, budget)


def _mean(
    values: Floats, codes: NDArray[np.int64] | None, level: float, within: tuple[float, float]
) -> Estimate:
    mean = float(values.mean()) if values.size else np.nan
    return t_interval(mean, values - mean, codes, level=level, within=within)


def _notes(result: StoppedSigns, counts: ReplayCounts) -> list[str]:
    reasons = [(f"{arm.upper()}", rate.note) for arm, rate in result.flip_rates.items()]
    if not counts.self_replays.any():  # none was asked for: nothing is missing
        reasons = reasons[1:]
    reasons.append(("mean score", result.mean_score.note))
    reasons += [(f"{sign} excess", e.note) for sign, e in result.excess._asdict().items()]
    notes = [WHAT.format(**result.k), *explain(reasons)]
    unfinished = result.questions["left_out"].get(UNFINISHED, 0)
    if unfinished:
        notes.append(UNFINISHED_NOTE.format(n=_display.counted(unfinished, "question")))
    invalid = int(counts.sham_invalid.sum() + counts.destroy_invalid.sum())
    if invalid:
        notes.append(INVALID.format(invalid=invalid))
    if not result.plan.exact:
        notes.append(INEXACT)
    if result.interval.method == "bootstrap":
        notes.append(RATES_BY_T)
    return [*notes, DESCRIPTOR]
