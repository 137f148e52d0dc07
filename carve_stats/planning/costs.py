"""What replays cost: prices of a question, a replay, its frames and its tokens."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from carve_stats.errors import InputError
from carve_stats.law._arguments import one_number

__all__ = ["Cost"]

_MOST = 1e30  # so that no sum or product of prices overflows
_TOKENS = 1_000_000  # that prices of tokens are for


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Prices, in whatever money they are given in.

    Parameters
    ----------
    question : float
        What a question costs before its SHAM and DESTROY replays: the agent's own answer, its
        retrieval, and SELF replays if there are any.
    replay : float
        Of a replay, whatever is in it.
    frame : float
        Of a frame that a replay shows.
    frames : float
        Frames that a replay shows.
    input_token, output_token : float
        Of a million tokens read, and of a million written.
    input_tokens, output_tokens : float
        Tokens that a replay reads and writes.
    destroy_extra : float
        What a DESTROY replay costs more than a SHAM replay.

    Raises
    ------
    InputError
        An entry that is negative, NaN or above 1e30.

    Examples
    --------
    >>> cost = Cost(question=0.05, frame=0.0002, frames=16, input_token=3, input_tokens=4000)
    >>> round(cost.sham, 4), round(cost.of_question(3, 3), 4)
    (0.0152, 0.1412)
    """

    question: float = 0.0
    replay: float = 0.0
    frame: float = 0.0
    frames: float = 0.0
    input_token: float = 0.0
    output_token: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    destroy_extra: float = 0.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = one_number(f"cost: {entry.name}", getattr(self, entry.name))
            if not 0.0 <= value <= _MOST:
                raise InputError(
                    f"cost: {entry.name}={value} must be a number of at least 0 and at most"
                    f" {_MOST:g}"
                )
            object.__setattr__(self, entry.name, value)

    @property
    def sham(self) -> float:
        """Money of a SHAM replay."""
        tokens = self.input_token * self.input_tokens + self.output_token * self.output_tokens
        return self.replay + self.frame * self.frames + tokens / _TOKENS

    @property
    def destroy(self) -> float:
        """Money of a DESTROY replay."""
        return self.sham + self.destroy_extra

    def of_question(self, k_sham: int, k_destroy: int) -> float:
        """Money of a question with so many replays."""
        return self.question + k_sham * self.sham + k_destroy * self.destroy

    def to_dict(self) -> dict[str, Any]:
        """The prices, and what a replay of each arm comes to."""
        prices = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**prices, "sham": self.sham, "destroy": self.destroy}
