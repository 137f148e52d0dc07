"""Which scores the questions have that a deferral would repair, harm or leave as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.law._arguments import one_whole_number
from carve_stats.outcomes import Outcomes
from carve_stats.routing.groups import VALUES
from carve_stats.routing.joined import join
from carve_stats.routing.subsampled import SubsampledCells, at_one_budget

__all__ = ["ScoreValues", "score_values"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScoreValues:
    """Expected questions at each score by what a deferral would do, from `score_values`.

    Parameters
    ----------
    k, made_k : int
        Replays in each arm; those that every question with a score has.
    fallback : str
        Who would answer the questions.
    score : ndarray, shape (2k + 1,)
        −1, −1 + 1/k, …, 1.
    repairs, harms, neither : ndarray, shape (2k + 1,)
        Questions that a deferral would repair, harm, and leave right or wrong as they are.
    unscored : int
        Questions without a score.
    """

    k: int
    made_k: int
    fallback: str
    score: Floats
    repairs: Floats
    harms: Floats
    neither: Floats
    unscored: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values; one entry a score."""
        columns = ("score", "repairs", "harms", "neither")
        rows = zip(*(getattr(self, name).tolist() for name in columns), strict=True)
        return {
            "k": self.k,
            "made_k": self.made_k,
            "fallback": self.fallback,
            "scores": [dict(zip(columns, row, strict=True)) for row in rows],
            "unscored": self.unscored,
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        headers = ["score", "questions", "repairable", "harmable", "net", "net per 100"]
        net, questions = self.repairs - self.harms, self.repairs + self.harms + self.neither
        rows: list[list[object]] = [
            [
                _display.number(self.score[i], 3, signed=True),
                *(_display.number(one[i], 1) for one in (questions, self.repairs, self.harms)),
                _display.number(net[i], 1, signed=True),
                _display.number(100 * net[i] / questions[i], 2, signed=True)
                if questions[i]
                else None,
            ]
            for i in range(self.score.size)
        ]
        how = "" if self.k == self.made_k else f", of {self.made_k} by subsampling"
        return f"What {self.fallback} is worth by score, k = {self.k}{how}", headers, rows

    def __str__(self) -> str:
        return _display.text_block(*self._table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table())


def score_values(
    counts: ReplayCounts,
    outcomes: Outcomes,
    *,
    k: int | None = None,
    fallback: str | None = None,
    allow_mismatch: bool = False,
) -> ScoreValues:
    """At which scores the questions stand that a deferral repairs, and those that it harms.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of each question.
    outcomes : Outcomes
        What the original answer and the fallback made of them.
    k : int, optional
        Replays in each arm, no more than were made; not given, as many.
    fallback, allow_mismatch
        As in `evaluate_rule`.

    Returns
    -------
    ScoreValues
        Of the questions that `routing_curve` speaks of.

    Raises
    ------
    InputError
        No question with a score, more replays than were made, and what `evaluate_rule` refuses.

    Notes
    -----
    At fewer replays than were made a question stands at each score with the probability that a
    random choice of its replays has that score: the numbers are expected ones.

    Examples
    --------
    >>> counts = ReplayCounts(list("abcd"), [0, 1, 1, 0], [1] * 4, [1, 1, 0, 0], [1] * 4)
    >>> outcomes = Outcomes(list("abcd"), [1, 0, 0, 1], {"strong": [0, 1, 1, 1]})
    >>> values = score_values(counts, outcomes)
    >>> values.score, values.repairs, values.harms
    (array([-1.,  0.,  1.]), array([1., 1., 0.]), array([0., 0., 1.]))
    """
    data = join(counts, outcomes, fallback=fallback, allow_mismatch=allow_mismatch)
    data, made, _ = at_one_budget(data)
    chosen = made if k is None else one_whole_number("k", k)
    if chosen > made:
        raise InputError(f"k={chosen} must be at most {made}, the replays that were made")
    flips = np.arange(chosen + 1)
    step = flips - flips[:, None]  # of a table: row SHAM, column DESTROY
    steps = np.arange(-chosen, chosen + 1)
    cells = SubsampledCells(data.counts)
    means = cells.means([step == one for one in steps], chosen)
    repairs, harms, neither = (
        means @ cells.tally((data.value == value).astype(np.int64)) for value in VALUES
    )
    return ScoreValues(
        k=chosen,
        made_k=made,
        fallback=data.fallback_name,
        score=steps / chosen,
        repairs=repairs,
        harms=harms,
        neither=neither,
        unscored=int((~data.counts.scored).sum()),
    )
