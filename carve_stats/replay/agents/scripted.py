"""The scripted agent: says what it was told to, for tests and for replaying logs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.errors import AgentError, InputError, RecordError
from carve_stats.replay.protocols import ReplayReply, ReplayRequest

__all__ = ["ScriptedAgent", "build", "read_script"]

PATHS = ("script",)

Key = tuple[str, str, int] | tuple[str, str, int, int]


class ScriptedAgent:
    """Looks its replies up.

    Parameters
    ----------
    replies : mapping
        From (question id, condition, repetition), or (question id, condition, repetition,
        attempt), to the text of the reply. A key without an attempt stands for all of them.

    Examples
    --------
    >>> agent = ScriptedAgent({("q1", "sham", 0): "A"})
    >>> agent.reply("q1", "sham", 0, attempt=1)
    'A'
    """

    def __init__(self, replies: Mapping[Key, str]) -> None:
        self._replies = dict(replies)

    def __call__(self, request: ReplayRequest, /) -> ReplayReply | str:
        """Answer one replay from the script."""
        return self.reply(
            request.question_id, request.condition, request.repetition, attempt=request.attempt
        )

    def reply(self, question_id: str, condition: str, repetition: int, *, attempt: int) -> str:
        """The scripted text of one replay."""
        key = (question_id, condition, repetition)
        text = self._replies.get((*key, attempt), self._replies.get(key))
        if text is None:
            raise AgentError(f"the script has no reply for {(*key, attempt)}: add it")
        return text

    def fingerprint(self) -> dict[str, Any]:
        """A hash of the script."""
        lines = sorted(msgspec.json.encode([*key, text]) for key, text in self._replies.items())
        return {"name": "scripted", "sha256": hashlib.sha256(b"\n".join(lines)).hexdigest()}

    def __repr__(self) -> str:
        return f"<ScriptedAgent: {len(self._replies)} replies>"


def read_script(path: str | os.PathLike[str]) -> dict[Key, str]:
    """Read a script, or the records of a run, as JSONL.

    Parameters
    ----------
    path : path
        A file with `question_id`, `condition`, `repetition` and `text` in each line, and
        `attempt` if it is not 0; other fields are not looked at.

    Returns
    -------
    dict
        From (question id, condition, repetition, attempt) to text.

    Raises
    ------
    InputError
        No such file.
    RecordError
        A bad line, or two different replies for one replay.
    """
    try:
        lines = Path(path).read_bytes().splitlines()
    except (OSError, TypeError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise InputError(f"script={str(path)!r} cannot be read: {said}") from None
    replies: dict[Key, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = _decoder.decode(line)
        except msgspec.DecodeError as error:
            raise RecordError(f"{path}:{number}: not a scripted reply ({error})") from None
        key = (entry.question_id, entry.condition.lower(), entry.repetition, entry.attempt)
        if replies.setdefault(key, entry.text) != entry.text:
            raise RecordError(f"{path}:{number}: another reply for {key}: keep one of the two")
    return replies


def build(*, script: str | None = None, replies: Mapping[Key, str] | None = None) -> ScriptedAgent:
    """Make a scripted agent.

    Parameters
    ----------
    script : str, optional
        Path of a JSONL script.
    replies : mapping, optional
        The replies themselves, instead of a script.

    Returns
    -------
    ScriptedAgent
        The agent.
    """
    if (script is None) == (replies is None):
        raise InputError("agent 'scripted' needs the option script, or replies, and not both")
    if script is not None:
        replies = read_script(script)
    if not isinstance(replies, Mapping) or any(not isinstance(key, tuple) for key in replies):
        raise InputError(f"replies={replies!r:.40} must map (question id, condition, …) to texts")
    return ScriptedAgent(replies)


class _Entry(msgspec.Struct):
    question_id: str
    condition: str
    repetition: int
    text: str
    attempt: int = 0


_decoder = msgspec.json.Decoder(_Entry)
