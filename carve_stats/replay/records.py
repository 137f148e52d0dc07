"""`Replay`: one record of a run, and what makes it a flip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LOST", "STATUSES", "Replay", "ReplayKey"]

STATUSES = (
    "ok",
    "ambiguous",
    "out_of_set",
    "refusal",
    "truncated",
    "empty",
    "transport_error",
    "no_commitment",
)

LOST = "transport_error"
"""The status of a record of which no reply came."""

ReplayKey = tuple[str, str, int, int]
"""What identifies a replay in a run: question id, condition, repetition, attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One replay of one question, as it is stored. Every parse status but ``ok`` is invalid.

    The names are those of flat replay logs, so that a segment of a run reads like any other
    JSONL log.

    Parameters
    ----------
    run : str
        The run that the record belongs to.
    question_id, video_id : str
        The question, and the video it asks about (None where unknown).
    condition : str
        ``self``, ``sham`` or ``destroy``.
    repetition, attempt : int
        Both from 0; a later attempt repeats a repetition whose answer did not parse.
    text : str
        The raw reply, so that flips can be derived again with another parser; what went wrong,
        after a mark that parsers know, where the agent could not be reached.
    answer, reference_answer : str or None
        The parsed and the frozen answer; `answer` is None unless `status` is ``ok``.
    status, rule : str
        The parse status, one of `STATUSES`, and the parser's rule that gave it.
    flip : int or None
        1 where the answer differs from the frozen one, 0 where not, None when invalid.
    seed : int
        The seed of this replay, derived from the run's seed and the record's key.
    started_at : float
        Unix time, in seconds, at which the replay began.
    seconds : mapping of str to float
        How long each part took: ``render`` and ``answer``.
    evidence_sha256 : str or None
        Hash of the encoded frames that the agent was shown.
    finish_reason, model : str or None
        What the agent said of its reply.
    from_cache : bool or None
        Whether the agent said the reply came from a cache.
    usage : mapping of str to number
        Tokens or whatever else the agent counts; a flag is 1 or 0.
    stopping : str or None
        The sha256 of the stopping plan of a run that stops questions early. The records of other
        runs are stored without it.
    transport : sequence of mapping
        The requests that were sent over a network for the reply, the failed ones too, as
        `ReplayReply` has them. Records without any are stored without it.
    """

    run: str
    question_id: str
    video_id: str | None
    condition: str
    repetition: int
    attempt: int
    text: str
    answer: str | None
    reference_answer: str
    status: str
    rule: str
    flip: int | None
    seed: int
    started_at: float
    seconds: Mapping[str, float] = field(default_factory=dict)
    evidence_sha256: str | None = None
    finish_reason: str | None = None
    model: str | None = None
    from_cache: bool | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    stopping: str | None = None
    transport: Sequence[Mapping[str, Any]] = ()

    @property
    def valid(self) -> bool:
        """Whether the replay gave an answer."""
        return self.status == "ok"

    @property
    def key(self) -> ReplayKey:
        """Question id, condition, repetition and attempt."""
        return (self.question_id, self.condition, self.repetition, self.attempt)

    def to_dict(self) -> dict[str, Any]:
        """The record as it is stored, with `valid` spelled out."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.stopping is None:
            del record["stopping"]
        if not self.transport:
            del record["transport"]
        record["valid"] = self.valid
        return record
