"""What a reader of a score table has to know: what it establishes, and what it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.inference.attainable import MOST_K, find_least_k, questions_needed
from carve_stats.law.intervals import EXACT_INTERVALS

if TYPE_CHECKING:
    from carve_stats.inference.scores import ScoreTable

__all__ = ["score_notes"]

WITHOUT_SCORE = (
    "{questions} without a valid replay in SHAM or in DESTROY: no score, interval [−1, 1], p-value"
    " 1, never established; p-values are not adjusted for such questions"
)
INVALID = (
    "{invalid} of {made} SHAM and DESTROY replays gave no valid answer and count nowhere; if"
    " whether a reply is valid depends on the answer, a score may be off either way"
)
ONE_SIDED = (
    "the test is one-sided and the intervals are two-sided: a question can be established and its"
    " interval hold 0, or the interval exclude 0 and the question not be established"
)
OWN_INTERVALS = (
    "intervals are not adjusted for the number of questions: expect up to {percent:g} % of them to"
    " miss the true difference of their question"
)
APPROXIMATE = (
    "{interval} intervals are approximate and at small k can miss more often than {percent:g} % of"
    " the time; {exact} hold their level at every k"
)

_DEPENDS = "its answer depends on the evidence"
_STEADIER = (
    "DESTROY flips its answer less often than SHAM does, which is no dependence on the evidence of"
    " the usual kind"
)
_MEANING = {
    "two-sided": (
        "established: that this very question's flip rates in SHAM and DESTROY differ. With a score"
        f" above 0 {_DEPENDS}; with one below 0 {_STEADIER}"
    ),
    "greater": (
        "established: that this very question's answer flips more often in DESTROY than in SHAM:"
        f" {_DEPENDS}"
    ),
    "less": f"established: that, for this very question, {_STEADIER}",
}
_NOT_ESTABLISHED = ". Of the other questions neither that nor the contrary is shown"
_ADJUSTED = {
    "holm": (
        "holm: the probability that any question is established wrongly is at most {significance:g}"
    ),
    "benjamini-hochberg": (
        "benjamini-hochberg: of the questions established an expected share of at most"
        " {significance:g} is established wrongly, if the p-values of different questions are"
        " independent or positively dependent; given their own flip rates they are independent if"
        " the replays are, whatever questions of one video have in common"
    ),
    "none": (
        "no adjustment: of every 100 questions without a difference up to {percent:g} are"
        " established wrongly on average; take these as candidates"
    ),
}


def score_notes(
    table: ScoreTable, counts: ReplayCounts, smallest: NDArray[np.float64]
) -> list[str]:
    """The notes of a score table, in the order of their reach.

    Parameters
    ----------
    table : ScoreTable
        The table, but for its notes.
    counts : ReplayCounts
        What it was made of.
    smallest : ndarray, shape (scored,)
        The smallest p-value that each question scored could have had.

    Returns
    -------
    list of str
        One sentence or two each.
    """
    notes = _invalid(counts)
    n, without = table.questions["scored"], len(table) - table.questions["scored"]
    if without:
        notes.append(WITHOUT_SCORE.format(questions=_questions(without)))
    if not n:
        return notes
    error = {"significance": table.significance, "percent": 100 * table.significance}
    notes.append(_MEANING[table.alternative] + _NOT_ESTABLISHED)
    notes.append(_ADJUSTED[table.adjust].format(**error))
    if not table.established.any():
        notes += _out_of_reach(table, smallest)
    if table.alternative != "two-sided":
        notes.append(ONE_SIDED)
    notes.append(OWN_INTERVALS.format(**error))
    if table.interval not in EXACT_INTERVALS:
        exact = ", ".join(EXACT_INTERVALS)
        notes.append(APPROXIMATE.format(interval=table.interval, exact=exact, **error))
    return notes


def _invalid(counts: ReplayCounts) -> list[str]:
    """A note on the replays without a valid answer in the arms that make the score."""
    invalid = int(counts.sham_invalid.sum() + counts.destroy_invalid.sum())
    made = invalid + int(counts.sham_replays.sum() + counts.destroy_replays.sum())
    return [INVALID.format(invalid=invalid, made=made)] if invalid else []


def _questions(n: int) -> str:
    return f"{n} question" if n == 1 else f"{n} questions"


def _out_of_reach(table: ScoreTable, smallest: NDArray[np.float64]) -> list[str]:
    """Why no question could be established at these budgets, or hardly any."""
    n, adjust, significance = smallest.size, table.adjust, table.significance
    needed = questions_needed(smallest, adjust, significance)
    if needed == 1:
        return []
    start = f"at these budgets the smallest possible p-value is {smallest.min():.4g}: with"
    start += f" {_questions(n)}"
    if needed is not None:
        return [f"{start}, one can be established under {adjust} only if {_together(needed)}"]
    least = find_least_k(
        n,
        adjust,
        significance,
        test=table.test,
        alternative=table.alternative,
        two_sided=table.two_sided,
    )
    if least is None:
        more = f"more than {MOST_K} replays in each arm would be needed"
    else:
        more = f"k = {least.k} in each arm would be the least that could"
        if least.needed > 1:
            more += f", and only if {_together(least.needed)}"
    return [f"{start} no question can be established under {adjust} at {significance:g}; {more}"]


def _together(questions: int) -> str:
    return f"{questions} of them have their smallest p-value together"
