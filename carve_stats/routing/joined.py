"""Replays and outcomes of the same questions, joined by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats._columns import find_rows
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts, check_counts
from carve_stats.inference.same_questions import check_mismatch, join_clusters
from carve_stats.inference.stopped import stopped_decisions, unfinished
from carve_stats.outcomes import Answerer, Outcomes, check_outcomes
from carve_stats.routing.rules.base import RuleInput

__all__ = ["RoutingData", "join"]

UNFINISHED = "replays not finished: the stopping plan goes on"
NO_OUTCOME = "replays without outcome"
NOT_KNOWN = "original outcome not known"
FALLBACK_NOT_KNOWN = "fallback outcome not known"
NEITHER_KNOWN = "neither outcome known"
CONDITIONAL = (
    "all figures speak of the questions whose original and fallback outcomes are both known; if"
    " the fallback was put to some questions only, those are no random sample of them all"
)
FINISH = (
    "{n} not finished and left out: finish the run, since a question that takes long is more likely"
    " to be among them"
)
STOPPED_INEXACTLY = (
    "the replays were stopped early, by a plan that may decide {rule} otherwise than the full"
    " budget for a small share of the questions; other rules on scores cannot be evaluated"
)
STOPPED_EARLY = (
    "the replays were stopped early, when {rule} was decided: the decisions are those of the full"
    " budget, and other rules on scores cannot be evaluated"
)

_COUNTS = tuple(
    f"{condition}_{what}"
    for condition in ("self", "sham", "destroy")
    for what in ("flips", "replays", "invalid")
)


_COSTS = tuple(f"{who}_{what}" for who in ("original", "fallback") for what in ("tokens", "tools"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RoutingData:
    """The n questions whose original and fallback outcomes are known, in order of their ids.

    Parameters
    ----------
    counts : ReplayCounts
        Their replays; questions without a score are among them, and may have no replay at all.
    original, fallback : ndarray of bool, shape (n,)
        Whether the frozen answer and the fallback's answer are right.
    value : ndarray of int, shape (n,)
        fallback − original: 1 a repair, −1 a harm, if the question is deferred.
    codes : ndarray of int, shape (n,), or None
        The cluster of each question, numbered in order of the names; None where not known.
    covariates : mapping of str to ndarray, shape (n,)
        What else is known of the questions.
    original_tokens, original_tools, fallback_tokens, fallback_tools : ndarray, shape (n,), or None
        What each answer took; NaN where not known.
    fallback_name : str
        Which of the alternatives is the fallback.
    questions : dict
        ``read`` (ids of either side), ``used`` and ``left_out`` (reason: count).
    notes : tuple of str
        What the join found.
    """

    counts: ReplayCounts
    original: NDArray[np.bool_]
    fallback: NDArray[np.bool_]
    value: NDArray[np.int64]
    codes: NDArray[np.int64] | None
    covariates: Mapping[str, NDArray[Any]]
    original_tokens: NDArray[np.float64] | None
    original_tools: NDArray[np.float64] | None
    fallback_tokens: NDArray[np.float64] | None
    fallback_tools: NDArray[np.float64] | None
    fallback_name: str
    questions: Mapping[str, Any]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.value.size)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Whether each question has a score, or, stopped early, is decided; shape (n,)."""
        if self.counts.stopping is None:
            return self.counts.scored
        return ~np.isnan(stopped_decisions(self.counts))

    @property
    def rule_input(self) -> RuleInput:
        """What a rule may look at: replays and covariates."""
        return RuleInput(self.counts, self.covariates)

    def select(self, mask: NDArray[np.bool_]) -> RoutingData:
        """The questions where `mask` is True; `questions` and `notes` speak of the whole join."""
        counts = self.counts.select(mask)
        columns: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column[mask]
            for name in ("original", "fallback", "value", *_COSTS)
        }
        covariates = {name: column[mask] for name, column in self.covariates.items()}
        return replace(
            self, counts=counts, codes=counts.cluster_codes, covariates=covariates, **columns
        )

    def __repr__(self) -> str:
        return (
            f"<RoutingData: {len(self)} questions, {int(self.counts.scored.sum())} scored, fallback"
            f" {self.fallback_name}>"
        )


def join(
    counts: ReplayCounts,
    outcomes: Outcomes,
    *,
    fallback: str | None = None,
    allow_mismatch: bool = False,
    stopped: bool = False,
) -> RoutingData:
    """Join replays and outcomes by question id.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        What the original answer and the alternatives made of each question.
    fallback : str, optional
        Which alternative is the fallback; needed where there are several.
    allow_mismatch : bool
        Whether ids that only one side has are allowed. A question without replays then has no
        score, and replays without an outcome are left out; both are counted.
    stopped : bool
        Whether the caller can do with replays that were stopped early.

    Returns
    -------
    RoutingData
        The questions whose original and fallback outcomes are known; the others are left out
        and counted.

    Raises
    ------
    InputError
        Ids that only one side has, no id in common, a question with two different clusters, or
        an unknown fallback.

    Examples
    --------
    >>> counts = ReplayCounts(["a", "b"], [0, 2], [3, 3], [3, 1], [3, 3], cluster=["v", "w"])
    >>> outcomes = Outcomes(["b", "a"], [0, 1], {"strong": [1, 1]})
    >>> data = join(counts, outcomes)
    >>> data.value, data.fallback_name, data.questions
    (array([0, 1]), 'strong', {'read': 2, 'used': 2, 'left_out': {}})
    """
    check_counts(counts, stopped=stopped)
    check_outcomes(outcomes)
    name, answerer = outcomes.fallback(fallback)
    notes = [note for side in (counts, outcomes) if side.ledger for note in side.ledger.notes]
    row = find_rows(counts.question, outcomes.question)
    replayed = row >= 0
    without_outcome = len(counts) - int(replayed.sum())
    check_mismatch(counts, outcomes, row, allowed=allow_mismatch)
    cluster = join_clusters(counts, outcomes, row)

    original, deferred = outcomes.original.correct, answerer.correct
    unknown = np.isnan(original), np.isnan(deferred)
    left_out = {
        NO_OUTCOME: without_outcome,
        NOT_KNOWN: int((unknown[0] & ~unknown[1]).sum()),
        FALLBACK_NOT_KNOWN: int((~unknown[0] & unknown[1]).sum()),
        NEITHER_KNOWN: int((unknown[0] & unknown[1]).sum()),
    }
    kept = ~(unknown[0] | unknown[1])
    if counts.stopping is not None:
        goes_on = np.zeros(row.size, bool)
        goes_on[replayed] = unfinished(counts)[row[replayed]]
        left_out[UNFINISHED] = int((kept & goes_on).sum())
        kept &= ~goes_on
    joined = _align(counts, outcomes.question[kept], row[kept], cluster, kept)
    if (unknown[0] | unknown[1]).any():
        notes.append(CONDITIONAL)
    if left_out.get(UNFINISHED):
        notes.append(FINISH.format(n=_display.counted(left_out[UNFINISHED], "question")))
    without_replays = int((~replayed & kept).sum())
    if without_replays:
        shown = "1 question has" if without_replays == 1 else f"{without_replays} questions have"
        notes.append(f"{shown} an outcome and no replays, and so no score")
    if cluster is None and counts.cluster is not None:
        notes.append(
            "clusters are not known: they come with the replays, and there are questions without"
            " any; name their videos in the outcomes"
        )
    # The clusters of a side are not the whole story: the other may have had them.
    notes = [note for note in notes if cluster is None or note != UNKNOWN_CLUSTERS]
    if counts.stopping is not None:
        told = STOPPED_EARLY if counts.stopping.exact else STOPPED_INEXACTLY
        notes.append(told.format(rule=counts.stopping.rule))
    is_original, is_fallback = original[kept] == 1.0, deferred[kept] == 1.0
    return RoutingData(
        counts=joined,
        original=is_original,
        fallback=is_fallback,
        value=is_fallback.astype(np.int64) - is_original,
        codes=joined.cluster_codes,
        covariates={key: _rows_of(column, kept) for key, column in outcomes.covariates.items()},
        **_costs("original", outcomes.original, kept),
        **_costs("fallback", answerer, kept),
        fallback_name=name,
        questions={
            "read": without_outcome + len(outcomes),
            "used": int(kept.sum()),
            "left_out": {reason: count for reason, count in left_out.items() if count},
        },
        notes=tuple(dict.fromkeys(notes)),
    )


def _align(
    counts: ReplayCounts,
    question: NDArray[np.str_],
    row: NDArray[np.int64],
    cluster: NDArray[np.str_] | None,
    kept: NDArray[np.bool_],
) -> ReplayCounts:
    """The counts of the kept questions; zeros for those without replays."""
    columns: dict[str, Any] = {name: np.zeros(row.size, np.int64) for name in _COUNTS}
    found = row >= 0
    for name, column in columns.items():
        column[found] = getattr(counts, name)[row[found]]
    return ReplayCounts(
        question,
        **columns,
        cluster=None if cluster is None else cluster[kept],
        stopping=counts.stopping,
    )


def _costs(
    whose: str, answerer: Answerer, kept: NDArray[np.bool_]
) -> dict[str, NDArray[np.float64] | None]:
    given = {"tokens": answerer.tokens, "tools": answerer.tools}
    return {
        f"{whose}_{what}": None if column is None else _rows_of(column, kept)
        for what, column in given.items()
    }


def _rows_of(column: NDArray[Any], kept: NDArray[np.bool_]) -> NDArray[Any]:
    """The kept rows, read-only: no rule may change what the next one sees."""
    rows = column[kept]
    rows.flags.writeable = False
    return rows
