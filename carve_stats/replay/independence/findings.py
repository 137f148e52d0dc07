"""`IndependenceReport`: what a run's records say of the independence of its replays."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from carve_stats._display import counted, number, text_block
from carve_stats.replay.independence.exchangeability import FrozenAnswerTest

__all__ = ["Alarm", "ConditionDraws", "IndependenceReport"]


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why replays of a run may not be independent.

    Parameters
    ----------
    rule : str
        ``from_cache``, ``repeated_answers`` or ``unvaried_replies``.
    text : str
        What was seen, and what it can come from.
    """

    rule: str
    text: str

    def __str__(self) -> str:
        return f"alarm ({self.rule}): {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionDraws:
    """The replays of one condition.

    Parameters
    ----------
    questions : int
        Questions with a reply.
    replays : int
        Replays with a reply; a failure to reach the agent is none.
    from_cache : int
        Replies that say that they come from a cache.
    effective_k : float
        New draws of a question, on average.
    fewest, most : int
        The least and the most new draws of a question.
    compared : int
        Questions with two valid replies or more, none from a cache.
    varied : int
        Of these, how many have replies whose texts differ.
    """

    questions: int
    replays: int
    from_cache: int
    effective_k: float
    fewest: int
    most: int
    compared: int
    varied: int

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependenceReport:
    """What a run's records say of the independence of its replays, from `independence`.

    Parameters
    ----------
    declared : bool or None
        Whether the agent declares that its replies to one prompt vary.
    conditions : dict of str to ConditionDraws
        Those with replies.
    frozen_answers : FrozenAnswerTest or None
        Whether the frozen answers could be any of the answers; None where the prompt is declared to
        decide the reply.
    alarms : tuple of Alarm
        Why the replays may not be independent.
    notes : tuple of str
        What else a reader has to know.
    """

    declared: bool | None
    conditions: dict[str, ConditionDraws]
    frozen_answers: FrozenAnswerTest | None
    alarms: tuple[Alarm, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        test = self.frozen_answers
        return {
            "declared": self.declared,
            "conditions": {name: draws.to_dict() for name, draws in self.conditions.items()},
            "frozen_answers": None if test is None else test.to_dict(),
            "alarms": [{"rule": alarm.rule, "text": alarm.text} for alarm in self.alarms],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        found = counted(len(self.alarms), "alarm") if self.alarms else "no alarm"
        return text_block(
            f"independence of the replays: {found}",
            ("condition", "questions", "replays", "effective k", "compared", "varied"),
            [
                (name, d.questions, d.replays, _spread(d), d.compared, d.varied)
                for name, d in self.conditions.items()
            ],
            [*map(str, self.alarms), *self.notes],
        )


def _spread(draws: ConditionDraws) -> str:
    """Mean, and range where there is one."""
    if draws.fewest == draws.most:
        return number(draws.most)
    return f"{number(draws.effective_k, 2)} ({draws.fewest} to {draws.most})"
