"""What differs between two runs over the same questions: paired by question, video by video."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.clusters import (
    IntervalMethod,
    bootstrap_generator,
    count_clusters,
    explain,
    interval_method,
)
from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.inference.joined_runs import (
    check_same_questions,
    common_k,
    count_pairs,
    join_clusters,
    ledger_notes,
    same_counts,
    validity_notes,
)
from carve_stats.inference.run_differences import (
    RunDifference,
    run_differences,
    signs_at_one_k,
)
from carve_stats.inference.sign_intervals import IntervalRequest
from carve_stats.law._arguments import two_names
from carve_stats.law.finite_replay import SignShares

__all__ = ["RunsComparison", "compare_runs"]

NO_SELF = "not estimable: no question has a valid SELF replay in both runs"
SAME_COUNTS = (
    "every question has the same flips and replays in both runs: if they are one log read twice,"
    " nothing is compared here"
)
P_VALUES = "each p-value stands alone: none is adjusted for there being several"
P_BY_T = "p-values are those of the cluster t test, whatever the intervals are"

_SIGNS = ("negative", "zero", "positive")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunsComparison:
    """What differs between two runs, from `compare_runs`; differences are b − a.

    Parameters
    ----------
    self_, sham, destroy : RunDifference
        Flip rates: SHAM and DESTROY over the questions scored in both runs, SELF over those with
        a valid SELF replay in both.
    mean_score : RunDifference
        Over the questions scored in both.
    signs : SignShares of RunDifference
        Shares of negative, zero and positive scores, at `signs_k` replays.
    signs_k : int or None
        The one k, of both arms and both runs, that the signs are at; None without questions.
    k : dict
        ``sham_a``, ``destroy_a``, ``sham_b``, ``destroy_b``: valid replays of each question
        scored in both; None where they differ.
    questions : dict
        ``read``, ``scored`` (in both runs), ``left_out`` (reason: count).
    records : dict
        For ``a`` and ``b`` the reader's ``read``, ``used`` and ``left_out``; None where no reader
        was involved.
    clusters : int or None
        Clusters of the scored questions; None where they are not known.
    interval : IntervalMethod
        How the intervals were made.
    notes : tuple of str
        What is not estimable and why, and what else a reader has to know.
    names : (str, str)
        What the two runs are called where the result is shown.
    """

    self_: RunDifference
    sham: RunDifference
    destroy: RunDifference
    mean_score: RunDifference
    signs: SignShares
    signs_k: int | None
    k: Mapping[str, int | None]
    questions: Mapping[str, Any]
    records: Mapping[str, Mapping[str, Any] | None]
    clusters: int | None
    interval: IntervalMethod
    notes: tuple[str, ...]
    names: tuple[str, str] = ("a", "b")

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that JSON can hold; undefined figures are None."""
        return {
            "difference": "b - a",
            "names": list(self.names),
            "questions": dict(self.questions),
            "records": {n: None if r is None else dict(r) for n, r in self.records.items()},
            "clusters": self.clusters,
            "k": dict(self.k),
            "self": self.self_.to_dict(),
            "sham": self.sham.to_dict(),
            "destroy": self.destroy.to_dict(),
            "mean_score": self.mean_score.to_dict(),
            "signs_k": self.signs_k,
            "signs": {sign: d.to_dict() for sign, d in self.signs._asdict().items()},
            "interval": self.interval.to_dict(),
            "notes": list(self.notes),
        }

    def rows(self) -> dict[str, RunDifference]:
        """The figures by the names that the table gives them, in its order."""
        at = "" if self.signs_k is None else f" (k = {self.signs_k})"
        return {
            "SELF flip rate": self.self_,
            "SHAM flip rate": self.sham,
            "DESTROY flip rate": self.destroy,
            "mean score": self.mean_score,
            **{f"{sign} scores{at}": d for sign, d in self.signs._asdict().items()},
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        a, b = map(_display.visible, self.names)
        headers = ["", a, b, f"{b} − {a}", "SE", "interval", "p-value", "questions"]
        rows: list[list[object]] = [
            [
                name,
                _display.number(row.a, signed=row is self.mean_score),
                _display.number(row.b, signed=row is self.mean_score),
                _display.number(row.estimate, signed=True),
                _display.number(row.se),
                _display.interval(row.low, row.high, signed=True),
                _display.p_value(row.p_value),
                row.questions,
            ]
            for name, row in self.rows().items()
        ]
        clusters = (
            "unknown clusters"
            if self.clusters is None
            else _display.counted(self.clusters, "cluster")
        )
        scored = _display.counted(self.questions["scored"], "question")
        caption = f"Two runs, {b} − {a} ({scored} scored in both, {clusters}; {self.interval})"
        return caption, headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table(), self.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), self.notes)


def compare_runs(
    counts_a: ReplayCounts,
    counts_b: ReplayCounts,
    *,
    names: tuple[str, str] = ("a", "b"),
    interval: str = "t",
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator | int | None = None,
    allow_mismatch: bool = False,
) -> RunsComparison:
    """What a second run does differently, paired by question: b − a of each figure.

    For two seeds, backbones, prompts or operators over the same questions. How well two runs
    agree question by question is `reproducibility`.

    Parameters
    ----------
    counts_a, counts_b : ReplayCounts
        The two runs, joined by question id. k may differ between questions, arms and runs.
    names : (str, str)
        What the two are called in tables and notes.
    interval : str
        ``t``: cluster t intervals; ``bootstrap``: percentiles of the cluster bootstrap.
    level : float
        Confidence level.
    resamples : int
        Resamples of the bootstrap, at least 100.
    rng : numpy.random.Generator or int, optional
        The bootstrap's source of randomness, or a seed; the bootstrap needs one.
    allow_mismatch : bool
        Whether questions that only one run holds are counted and left out; else they are an
        error.

    Returns
    -------
    RunsComparison
        Flip rates, mean score and shares of the signs in both runs, and their differences with
        standard errors, intervals and p-values.

    Raises
    ------
    InputError
        A question that only one run has (see `allow_mismatch`), or none that both have; a question
        in two clusters, or clusters in one run only; two equal names; a wrong
        `interval`, level or `resamples`, or a bootstrap without `rng`.

    Notes
    -----
    The difference is the mean over questions of d_i = b_i − a_i, with influence function
    d_i − d̄ and standard errors clustered by video: what the questions and videos of both runs have
    in common cancels. The signs of scores depend on k, so their shares are compared at one k, the
    same for both arms and runs: where replays differ it is the one at which most of them count;
    questions with more are subsampled to it exactly, and those with fewer left out. Rates and mean
    scores do not depend on k and use every valid replay.

    The interval is about other questions and replays of the same two runs. What is common to all
    replays of a run, such as one seed of an engine, cannot be told from what the runs were meant to
    differ in: `summarize_runs` of several runs of each shows how large it is.

    References
    ----------
    - `proofs/thm_cluster_variance.py`: what the standard error of a mean difference estimates.

    Examples
    --------
    >>> from carve_stats.population.mixing import Population
    >>> drawn = Population.paper().draw(600, clusters=60, rng=1)
    >>> result = compare_runs(drawn.replay(k=3, rng=2), drawn.replay(k=5, rng=3))
    >>> result.signs_k, result.questions["scored"], result.interval.df
    (3, 600, 59)
    >>> print(result.mean_score)
    0.0066 [-0.0257, 0.0388]
    """
    called = two_names(names)
    check_counts(counts_a)
    check_counts(counts_b)
    generator = bootstrap_generator(interval, rng)
    a, b, mismatch = _pair(counts_a, counts_b, called, allow_mismatch)
    runs = dict(zip(called, (a, b), strict=True))
    codes = join_clusters(runs)[1]
    scored = a.scored & b.scored
    has_self = (a.self_replays > 0) & (b.self_replays > 0)
    scored_codes = None if codes is None else codes[scored]
    method = interval_method(interval, level, scored_codes)
    request = IntervalRequest(interval, level, resamples, generator)

    (self_,) = run_differences([_self_rates(run.select(has_self)) for run in (a, b)],
        None if codes is None else codes[has_self], request, [1.0])  # fmt: skip
    if not has_self.any():
        self_ = replace(self_, note=NO_SELF)
    sham, destroy, mean = run_differences(
        [_rates(run.select(scored)) for run in (a, b)], scored_codes, request, [1.0, 1.0, 2.0]
    )
    at = signs_at_one_k(a.select(scored), b.select(scored))
    signs = run_differences(
        at.shares, None if scored_codes is None else scored_codes[at.kept], request, [1.0] * 3
    )
    named = [("SELF", self_), ("SHAM", sham), ("DESTROY", destroy), ("mean score", mean)]
    named += [(f"{sign} scores", d) for sign, d in zip(_SIGNS, signs, strict=True)]
    questions = count_pairs(a, b, called)
    questions["read"] += sum(mismatch.values())
    questions["left_out"] |= mismatch
    notes = [
        *ledger_notes(dict(zip(called, (counts_a, counts_b), strict=True))),
        *explain((name, row.note) for name, row in named),
        *validity_notes(runs),
        *([SAME_COUNTS] if scored.any() and same_counts(a, b) else []),
        *at.notes,
        *([P_BY_T] if interval == "bootstrap" else []),
        P_VALUES,
    ]
    return RunsComparison(
        self_=self_,
        sham=sham,
        destroy=destroy,
        mean_score=mean,
        signs=SignShares(*signs),
        signs_k=at.k,
        k={
            f"{arm}_{name}": common_k(getattr(run, f"{arm}_replays")[scored])
            for name, run in (("a", a), ("b", b))
            for arm in ("sham", "destroy")
        },
        questions=questions,
        records={
            name: None if counts.ledger is None else counts.ledger.to_dict()
            for name, counts in (("a", counts_a), ("b", counts_b))
        },
        clusters=None if scored_codes is None else count_clusters(scored_codes),
        interval=method,
        notes=tuple(dict.fromkeys(notes)),
        names=called,
    )


def _pair(
    a: ReplayCounts, b: ReplayCounts, names: tuple[str, str], allow_mismatch: bool
) -> tuple[ReplayCounts, ReplayCounts, dict[str, int]]:
    """The questions of both runs, and how many only one of them holds."""
    if not allow_mismatch:
        check_same_questions(a, b, otherwise="compare those of both with allow_mismatch=True")
        return a, b, {}
    in_both = np.isin(a.question, b.question), np.isin(b.question, a.question)
    if not in_both[0].any() and len(a) and len(b):
        raise InputError(
            f"no question is in both runs: ids are such as {str(a.question[0])!r} in counts_a and"
            f" {str(b.question[0])!r} in counts_b"
        )
    alone = {
        f"only in run {name}": int((~kept).sum()) for name, kept in zip(names, in_both, strict=True)
    }
    return (
        a.select(in_both[0]),
        b.select(in_both[1]),
        {reason: n for reason, n in alone.items() if n},
    )


def _self_rates(run: ReplayCounts) -> Floats:
    return (run.self_flips / run.self_replays)[:, None]


def _rates(run: ReplayCounts) -> Floats:
    sham, destroy = run.sham_flips / run.sham_replays, run.destroy_flips / run.destroy_replays
    return np.stack([sham, destroy, run.score], axis=1)
