"""Where the questions of a rule go when there are more replays: why its gain changes with k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.subsampling import subsampled_flips
from carve_stats.routing.groups import VALUES, ValueGroups
from carve_stats.routing.joined import RoutingData
from carve_stats.routing.subsampled import SubsampledCells

__all__ = ["ScoreTransitions", "score_transitions"]

Floats = NDArray[np.float64]

_CLASSES = ("<", "=", ">")
_NAMES = ("below", "at", "above")
_TIES = (" (resolved downwards)", " (kept)", " (resolved upwards)")

MODELLED = (
    "where the questions go is what populations fitted to the repaired, the harmed and the other"
    " questions say; the bands of the gain say how little of it is known"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScoreTransitions:
    """How many questions have a score below, at or above a threshold, at one k and at a larger one.

    The replays at the smaller k are among those at the larger, as where a log is extended.

    Parameters
    ----------
    rule : ScoreRule
        Its threshold is the one.
    from_k, to_k : int
        Replays in each arm.
    predicted : bool
        Whether `to_k` is more than was made, and the figures come from fitted populations.
    questions, repairs, harms : ndarray, shape (3, 3)
        Expected scored questions; those that a deferral would repair and harm. Row: below, at,
        above at `from_k`; column: the same at `to_k`.
    """

    rule: ScoreRule
    from_k: int
    to_k: int
    predicted: bool
    questions: Floats
    repairs: Floats
    harms: Floats

    @property
    def change(self) -> Floats:
        """What each transition adds to the net repairs of the rule, shape (3, 3)."""
        selected = _selected(self.rule)
        return (self.repairs - self.harms) * (selected - selected[:, None])

    def to_dict(self) -> dict[str, Any]:
        """Plain values; one entry a transition."""
        change = self.change
        return {
            "rule": str(self.rule),
            "from_k": self.from_k,
            "to_k": self.to_k,
            "predicted": self.predicted,
            "transitions": [
                {
                    "from": _NAMES[i],
                    "to": _NAMES[j],
                    "questions": float(self.questions[i, j]),
                    "repairs": float(self.repairs[i, j]),
                    "harms": float(self.harms[i, j]),
                    "change_of_net": float(change[i, j]),
                }
                for i in range(3)
                for j in range(3)
            ],
            "change_of_net": float(change.sum()),
        }

    def _table(self) -> tuple[str, list[str], list[list[object]]]:
        shown = [f"score {sign} {self.rule.threshold}" for sign in _CLASSES]
        change = self.change
        rows: list[list[object]] = [
            [
                f"{shown[i]} → {shown[j]}{_TIES[j] if i == 1 else ''}",
                _display.number(self.questions[i, j], 1),
                _display.number(self.repairs[i, j], 1),
                _display.number(self.harms[i, j], 1),
                _display.number(change[i, j], 1, signed=True) if change[i, j] else "",
            ]
            for i in range(3)
            for j in range(3)
        ]
        total = _display.number(change.sum(), 1, signed=True)
        rows.append(["all", *(_display.number(a.sum(), 1) for a in self._arrays()), total])
        how = "predicted" if self.predicted else "exact, by subsampling"
        caption = f"Scores from k = {self.from_k} to k = {self.to_k} ({how})"
        return caption, ["", "questions", "repairable", "harmable", "change of net"], rows

    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.questions, self.repairs, self.harms

    def __str__(self) -> str:
        return _display.text_block(*self._table(), [MODELLED] if self.predicted else [])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _display.html_block(*self._table(), [MODELLED] if self.predicted else [])


def score_transitions(
    rule: ScoreRule,
    from_k: int,
    to_k: int,
    *,
    data: RoutingData,
    groups: ValueGroups | None,
) -> ScoreTransitions:
    """Follow the scores of all questions from one k to a larger one.

    Parameters
    ----------
    rule : ScoreRule
        Its threshold is followed.
    from_k, to_k : int
        Replays in each arm, `from_k` < `to_k`.
    data : RoutingData
        The questions; those with a score have `to_k` replays in both arms, or there are `groups`.
    groups : ValueGroups or None
        Fitted populations, for more replays than were made; None where they were made.

    Returns
    -------
    ScoreTransitions
        Expected numbers of questions.

    Notes
    -----
    Given x of k′ and y of k′ flips at the larger k′, the class at the smaller k is that of a
    random choice of the replays; and the flips at k′ are those of a random choice of the
    replays that were made, or binomial under a fitted population.
    """
    classes = [ScoreRule(comparison, rule.threshold) for comparison in _CLASSES]
    earlier = [one.table(from_k, from_k).astype(float) for one in classes]
    later = [one.table(to_k, to_k).astype(float) for one in classes]
    if groups is None:
        before = _kept(earlier, to_k, from_k)
        cells = SubsampledCells(data.counts)
        means = cells.means([a * b for a in before for b in later], to_k)
        tallies = [cells.tally((data.value == value).astype(np.int64)) for value in VALUES]
        figures = means @ np.stack(tallies, axis=1)
    elif from_k <= groups.made:
        # Given the flips at the replays made, fewer of them say nothing of the next ones.
        before = [one.ravel() for one in _kept(earlier, groups.made, from_k)]
        after = [groups.by_cell(one) for one in later]
        figures = np.array([(groups.observed * a * b).sum(axis=1) for a in before for b in after])
    else:
        figures = np.array([groups.expected(b, before=a) for a in earlier for b in later])
    repairs, harms, neither = figures.T.reshape(3, 3, 3)
    return ScoreTransitions(
        rule=rule,
        from_k=from_k,
        to_k=to_k,
        predicted=groups is not None,
        questions=repairs + harms + neither,
        repairs=repairs,
        harms=harms,
    )


def _kept(tables: list[Floats], k: int, to_k: int) -> list[Floats]:
    """Means of tables over a random choice of the replays, for every outcome at k."""
    keep = subsampled_flips(k, to_k)
    return [keep @ one @ keep.T for one in tables]


def _selected(rule: ScoreRule) -> Floats:
    """Whether the rule selects a score below, at and above its threshold."""
    return np.array(["<" in rule.comparison, "=" in rule.comparison, ">" in rule.comparison], float)
