"""The walk of a question that stops once it is decided: what to replay next, from its outcomes.

An outcome is 1 for a flip, 0 for none, and None for a repetition that gave no valid answer, which
is spent all the same. The walk begins without any, looks up the next repetition of the condition
that the stopping plan names, and goes on until the plan stops or a repetition is not made yet.
Since it depends on outcomes alone, resuming a run is walking again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from carve_stats.errors import InputError

if TYPE_CHECKING:  # its kernels are compiled: a run without one need not load them
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["Decider", "Outcome", "Walk", "check_stopping"]

Outcome = int | None

_MOST_STATES = 2**26  # of all plans kept, two bytes each


@dataclass(frozen=True, slots=True)
class Walk:
    """How far the outcomes of a question lead.

    Parameters
    ----------
    sham, destroy : int
        Repetitions that were looked at, valid or not: the first so many of each condition.
    next_condition : str or None
        ``sham`` or ``destroy``: the condition whose next repetition is not made yet; None where
        the question stops.
    decision : bool, int or None
        What the question is decided to be, as `StoppingPlan.decision` says it; None while it is
        open, and where a condition has no valid replay left to come and so there is no score.
    """

    sham: int
    destroy: int
    next_condition: str | None
    decision: bool | int | None


class Decider:
    """Says what a question is to be replayed under next.

    Parameters
    ----------
    plan : StoppingPlan
        Of the full budget. After a SHAM and b DESTROY repetitions without a valid answer it is
        ``plan.reduced(a, b)`` that is followed, from the valid ones.

    Notes
    -----
    The decision at the stop is that of the full budget, if the plan is exact, whatever replays are
    still to come, valid or not: the score is largest, and smallest, where all of them are valid. A
    rule with ``=`` is the exception, which `check_stopping` refuses. With a minimum of 0 a question
    may stop without a valid replay in a condition; its decision then holds if there is a score at
    all.

    Examples
    --------
    >>> from carve_stats.law.stopping import fixed_plan
    >>> decider = Decider(fixed_plan(3, 3, "score <= 0", "alternate"))
    >>> decider.walk([1], [0])
    Walk(sham=1, destroy=1, next_condition='sham', decision=None)
    >>> decider.walk([1, 1], [0])
    Walk(sham=2, destroy=1, next_condition=None, decision=True)
    >>> decider.walk([1, None], [0])
    Walk(sham=2, destroy=1, next_condition='sham', decision=None)
    """

    def __init__(self, plan: StoppingPlan) -> None:
        # At 64 replays a plan has millions of states, and there is one for each pair (a, b).
        most = 1 + _MOST_STATES // plan.action.size
        self._reduced = lru_cache(most)(partial(_reduce, plan))

    def walk(self, sham: Sequence[Outcome], destroy: Sequence[Outcome]) -> Walk:
        """Follow the plan through the outcomes of a question.

        Parameters
        ----------
        sham, destroy : sequence of 1, 0 or None
            The outcomes of the repetitions 0, 1, … of each condition. What the plan does not ask
            for, as when two processes added to one run, is not looked at.

        Returns
        -------
        Walk
            Where the outcomes end.
        """
        arms = {"sham": _Arm(sham), "destroy": _Arm(destroy)}
        first, second = arms.values()
        while True:
            plan = self._reduced(first.invalid, second.invalid)
            if plan is None:
                return Walk(first.used, second.used, None, None)
            state = first.valid, first.flips, second.valid, second.flips
            following = plan.next_condition(*state)
            if following is None or not arms[following].advance():
                return Walk(first.used, second.used, following, plan.decision(*state))


class _Arm:
    """The outcomes of one condition, looked at one after another."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._outcomes = outcomes
        self.used = self.invalid = self.flips = 0

    @property
    def valid(self) -> int:
        return self.used - self.invalid

    def advance(self) -> bool:
        """Look at the next one; False where it is not made yet."""
        if self.used == len(self._outcomes):
            return False
        flip = self._outcomes[self.used]
        self.used += 1
        self.invalid += flip is None
        self.flips += flip or 0
        return True


def _reduce(plan: StoppingPlan, sham: int, destroy: int) -> StoppingPlan | None:
    """The plan that holds after invalid replays; None where there can be no score."""
    if sham == plan.k_sham or destroy == plan.k_destroy:
        return None
    return plan.reduced(sham, destroy)


def check_stopping(stopping: object, k: Mapping[str, int]) -> StoppingPlan:
    """Refuse a stopping plan that a run cannot follow.

    Parameters
    ----------
    stopping : object
        What was given for it.
    k : mapping of str to int
        Replays of each question, by condition.

    Returns
    -------
    StoppingPlan
        The same.

    Raises
    ------
    InputError
        Something else; a run without SHAM or DESTROY, or with other numbers of them than the
        plan's; a rule with ``=``.
    """
    from carve_stats.law.score_rule import ScoreRule
    from carve_stats.law.stopping import StoppingPlan

    if not isinstance(stopping, StoppingPlan):
        raise InputError(f"stopping={stopping!r:.40} must be a StoppingPlan: give stopping_plan(k)")
    for condition, planned in (("sham", stopping.k_sham), ("destroy", stopping.k_destroy)):
        if condition not in k:
            raise InputError(f"conditions={tuple(k)} must have {condition!r} to stop when decided")
        if k[condition] != planned:
            raise InputError(
                f"k of {condition} is {k[condition]}, the stopping plan's is {planned}: give both"
                " the same"
            )
    if isinstance(stopping.rule, ScoreRule) and stopping.rule.comparison == "=":
        raise InputError(
            f"stopping: the rule {str(stopping.rule)!r} cannot be decided early, since an invalid"
            " replay moves the score to values that the full budget has not: take <, <=, >=, > or"
            " 'sign'"
        )
    return stopping
