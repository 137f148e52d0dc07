"""`JudgedQuestions`: scored questions with what is known of their original answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats._columns import find_rows
from carve_stats.counts import UNKNOWN_CLUSTERS, ReplayCounts, check_counts
from carve_stats.errors import InputError, unknown_name
from carve_stats.inference.questions import count_questions
from carve_stats.inference.same_questions import check_mismatch, join_clusters
from carve_stats.outcomes import Outcomes, check_outcomes

__all__ = ["CORRECT", "JudgedQuestions", "join_outcomes"]

CORRECT = "correct"
"""The name under which the original answer's outcome goes."""

NO_OUTCOME = "replays without outcome"
NO_REPLAYS = "outcome without replays"
SAME_NAME = (
    "correct is whether the original answer is right; the covariate of that name is not looked at"
)

_FLAGS = {"true": 1.0, "false": 0.0, "": np.nan}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedQuestions:
    """The scored questions that outcomes speak of, in order of their ids.

    Parameters
    ----------
    counts : ReplayCounts
        Their replays.
    codes : ndarray of int, shape (n,), or None
        Their clusters; None where not known.
    columns : mapping of str to ndarray, shape (n,)
        ``correct`` (1, 0, NaN) and the covariates.
    questions : dict
        ``read`` (ids of either side), ``used`` and ``left_out`` (reason: count).
    notes : tuple of str
        What the readers said.
    """

    counts: ReplayCounts
    codes: NDArray[np.int64] | None
    columns: Mapping[str, NDArray[Any]]
    questions: Mapping[str, Any]
    notes: tuple[str, ...]

    def check_known(self, name: object) -> None:
        """Refuse what is neither ``correct`` nor a covariate."""
        if not isinstance(name, str) or name not in self.columns:
            raise InputError(unknown_name("covariate", name, self.columns))

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers, or true and false."""
        column = self.columns[name]
        return column.dtype.kind == "f" or set(np.unique(column).tolist()) <= set(_FLAGS)

    def is_binary(self, name: str) -> bool:
        """Whether a column holds nothing but 1 and 0, or true and false."""
        numbers = self.number(name)
        return bool(np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0)).all())

    def number(self, name: str) -> NDArray[np.float64]:
        """A column as numbers, true 1 and false 0, NaN where not known; or the ``score``."""
        if name == "score":
            return self.counts.score
        column = self.columns[name]
        if column.dtype.kind == "f":
            return column
        return np.array([_FLAGS[text] for text in column.tolist()], np.float64)


def join_outcomes(
    counts: ReplayCounts, outcomes: Outcomes, *, allow_mismatch: bool
) -> JudgedQuestions:
    """Join replays and outcomes by question id; no fallback is needed.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        What is known of each question.
    allow_mismatch : bool
        Whether ids that only one side has are allowed; they are left out and counted.

    Returns
    -------
    JudgedQuestions
        Of the questions with a score; what is known of them may still be missing.

    Raises
    ------
    InputError
        Ids that do not fit each other, a question with two clusters, counts of a stopped run.
    """
    check_counts(counts)
    check_outcomes(outcomes)
    row = find_rows(counts.question, outcomes.question)
    check_mismatch(counts, outcomes, row, allowed=allow_mismatch)
    both = row >= 0
    if counts.cluster is None:
        cluster = join_clusters(counts, outcomes, row)
        cluster = None if cluster is None else cluster[both]
    else:
        join_clusters(counts, outcomes, row)  # refuses contradictions
        cluster = counts.cluster[row[both]]
    mask = np.zeros(len(counts), bool)
    mask[row[both]] = True
    replayed = counts.select(mask)
    scored = replayed.scored
    codes = None
    if cluster is not None:
        codes = np.unique(cluster[scored], return_inverse=True)[1].astype(np.int64)
    columns = {
        CORRECT: outcomes.original.correct[both][scored],
        **{
            name: column[both][scored]
            for name, column in outcomes.covariates.items()
            if name != CORRECT
        },
    }
    left_out = {
        NO_OUTCOME: len(counts) - int(both.sum()),
        NO_REPLAYS: int((~both).sum()),
        **count_questions(replayed)["left_out"],
    }
    ledgers = [side.ledger for side in (counts, outcomes) if side.ledger is not None]
    notes = [note for ledger in ledgers for note in ledger.notes]
    # The clusters of a side are not the whole story: the other may have had them.
    notes = [note for note in notes if cluster is None or note != UNKNOWN_CLUSTERS]
    if CORRECT in outcomes.covariates:
        notes.append(SAME_NAME)
    return JudgedQuestions(
        counts=replayed.select(scored),
        codes=codes,
        columns=columns,
        questions={
            "read": len(outcomes) + left_out[NO_OUTCOME],
            "used": int(scored.sum()),
            "left_out": {reason: n for reason, n in left_out.items() if n},
        },
        notes=tuple(dict.fromkeys(notes)),
    )
