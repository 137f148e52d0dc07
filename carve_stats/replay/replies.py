"""What becomes of an agent's reply: plain values, and the answer that it gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import msgspec
import numpy as np

from carve_stats.replay.parsing import ParsedAnswer, parse_answer, parse_open_answer
from carve_stats.replay.protocols import ReplayReply

__all__ = ["OWN_ANSWER", "judge_reply", "plain_reply", "plain_text", "plain_transport"]

OWN_ANSWER = "the reply's own answer"
"""The rule that decides where an agent gave an answer beside its text."""


def judge_reply(reply: ReplayReply, options: Mapping[str, str]) -> ParsedAnswer:
    """What a reply answers: its own `answer` if it has one, or what its text says.

    Parameters
    ----------
    reply : ReplayReply
        What the agent gave.
    options : mapping of str to str
        Label to text; empty for an open question.

    Returns
    -------
    ParsedAnswer
        Answer, status and rule.
    """
    if reply.answer is not None:
        if options and reply.answer not in options:
            return ParsedAnswer(None, "out_of_set", OWN_ANSWER)
        return ParsedAnswer(reply.answer, "ok", OWN_ANSWER)
    if reply.finish_reason == "length":
        return ParsedAnswer(None, "truncated", "finish reason")
    return parse_answer(reply.text, options) if options else parse_open_answer(reply.text)


_NO_USAGE: dict[str, float] = {}
_EXACT = 2**53
_OPTIONAL_FIELDS: dict[str, type] = {
    "answer": str,
    "finish_reason": str,
    "model": str,
    "from_cache": bool,
}


def plain_reply(reply: object) -> ReplayReply:
    """The reply in plain values, if every part of it can be stored and read again.

    Parameters
    ----------
    reply : object
        What an agent gave.

    Returns
    -------
    ReplayReply
        Its texts are Python's own, and its numbers those that JSON has.

    Raises
    ------
    TypeError, ValueError
        Something else, or a part that cannot be stored; says what it is.
    """
    if isinstance(reply, str):
        return ReplayReply(text=plain_text(reply), usage=_NO_USAGE)
    if not isinstance(reply, ReplayReply):
        raise TypeError(f"it gave {type(reply).__name__}, it must give a ReplayReply or a str")
    if not isinstance(reply.text, str):
        raise TypeError(f"its reply's text is {type(reply.text).__name__}, it must be a str")
    values: dict[str, Any] = {}
    for name, kind in _OPTIONAL_FIELDS.items():
        value = getattr(reply, name)
        if isinstance(value, np.bool_):
            value = bool(value)
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"its reply's {name}={value!r} must be a {kind.__name__} or None")
        values[name] = plain_text(value) if isinstance(value, str) else value
    if not isinstance(reply.usage, Mapping):
        raise TypeError(f"its reply's usage={reply.usage!r} must be a mapping")
    usage = {}
    for name, value in reply.usage.items():
        if not isinstance(name, str):
            raise TypeError(f"its reply's usage {name!r}={value!r} must have a str for its name")
        usage[plain_text(name)] = _plain_number(name, value)
    return ReplayReply(
        text=plain_text(reply.text),
        usage=usage,
        transport=plain_transport(reply.transport),
        **values,
    )


def plain_transport(entries: Iterable[Mapping[str, Any]]) -> list[Any]:
    """What was sent for a reply, in plain values.

    Parameters
    ----------
    entries : iterable of mapping
        One a request.

    Returns
    -------
    list of dict
        As JSON can hold them.

    Raises
    ------
    TypeError
        It cannot.
    """
    if not entries:
        return []
    try:
        told = [{n: plain_text(v) if isinstance(v, str) else v for n, v in e.items()}
                for e in entries]  # fmt: skip
        plain: list[Any] = msgspec.json.decode(msgspec.json.encode(told))
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(
            "its reply's transport must be a sequence of mappings that JSON can hold"
            f" ({type(error).__name__})"
        ) from None
    return plain


def _plain_number(name: str, value: object) -> float:
    """Python's own int or float: other numbers, flags too, cannot be read back as a number."""
    if not isinstance(value, Real | np.bool_):
        raise TypeError(f"its reply's usage {name!r}={value!r} must be a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"its reply's usage {name!r} is too large for a number") from None
    if not math.isfinite(number):
        raise ValueError(f"its reply's usage {name!r}={value!r} must be finite")
    whole = isinstance(value, Integral | np.bool_) and abs(number) < _EXACT
    return int(number) if whole else number


def plain_text(text: str) -> str:
    """Python's own str, without halves of characters, which a cut-off reply may end in.

    Parameters
    ----------
    text : str
        Perhaps of a class of its own.

    Returns
    -------
    str
        What UTF-8 can hold.
    """
    text = str.__str__(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
