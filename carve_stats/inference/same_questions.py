"""Whether replays and outcomes are of the same questions, and of the same videos."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes

__all__ = ["check_mismatch", "join_clusters"]


def check_mismatch(
    counts: ReplayCounts, outcomes: Outcomes, row: NDArray[np.int64], *, allowed: bool
) -> None:
    """Refuse ids that only one side has.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        Which answers were right.
    row : ndarray of int, shape (n,)
        The row of the counts for each question of the outcomes, −1 where there is none.
    allowed : bool
        Whether they are allowed, so long as some id is in both.

    Raises
    ------
    InputError
        Names the first of them, and how many there are.
    """
    alone = np.flatnonzero(row < 0)
    without_outcome = len(counts) - (row.size - alone.size)
    if not without_outcome and not alone.size:
        return
    sides = []
    if without_outcome:
        has_outcome = np.zeros(len(counts), bool)
        has_outcome[row[row >= 0]] = True
        first = str(counts.question[np.argmin(has_outcome)])
        sides.append(f"{without_outcome} with replays and no outcome (the first: {first!r})")
    if alone.size:
        first = str(outcomes.question[alone[0]])
        sides.append(f"{alone.size} with an outcome and no replays (the first: {first!r})")
    what = " and ".join(sides)
    if len(counts) and len(outcomes) and alone.size == len(outcomes):
        raise InputError(
            f"counts and outcomes have no question id in common: {what}; are they of the same"
            " benchmark, with the same ids?"
        )
    if not allowed:
        mend = "mend the ids"
        if alone.size and counts.ledger is not None and counts.ledger.unfinished:
            what = "; ".join([what, *counts.ledger.unfinished])
            mend = "finish the run (the same command goes on with it)"
            if without_outcome:
                mend += " and mend the ids"
        raise InputError(
            f"counts and outcomes do not have the same question ids: {what}; {mend}, or give"
            " allow_mismatch=True (--allow-mismatch): a question without replays then has no score,"
            " and replays without an outcome are left out"
        )


def join_clusters(
    counts: ReplayCounts, outcomes: Outcomes, row: NDArray[np.int64]
) -> NDArray[np.str_] | None:
    """The cluster of each question of the outcomes, of whichever side has it.

    Parameters
    ----------
    counts, outcomes, row
        As in `check_mismatch`.

    Returns
    -------
    ndarray of str, shape (n,), or None
        None where neither side has them, or where only the counts have some.

    Raises
    ------
    InputError
        A question with two different clusters.
    """
    if counts.cluster is None:
        return outcomes.cluster
    both = np.flatnonzero(row >= 0)
    of_counts = counts.cluster[row[both]]
    if outcomes.cluster is None:
        return of_counts if both.size == row.size else None
    differ = np.flatnonzero(of_counts != outcomes.cluster[both])
    if differ.size:
        i = differ[0]
        raise InputError(
            f"question={str(outcomes.question[both[i]])!r} is in cluster {str(of_counts[i])!r} in"
            f" the replays and in {str(outcomes.cluster[both[i]])!r} in the outcomes: a question"
            " has one video"
        )
    return outcomes.cluster
