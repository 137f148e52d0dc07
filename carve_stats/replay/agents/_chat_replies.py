"""What a chat server answered: its reply, what it complains of, and whether a cache spoke."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from carve_stats.replay.protocols import ReplayReply

__all__ = ["Complaint", "complaint_of", "read_body", "read_complaint", "read_reply", "says_cached"]

# What LiteLLM, Helicone, Cloudflare, Portkey, OpenRouter, Kong, content networks, and any cache by
# RFC 9211 say of a reply. A cached prefix of the prompt is another thing, and no old reply.
_CACHE_HEADERS = (
    "x-litellm-cache-hit", "helicone-cache", "cf-aig-cache-status", "x-portkey-cache-status",
    "x-openrouter-cache-status", "x-cache-status", "x-cache", "cache-status",
)  # fmt: skip
_CACHE_FLAGS = ("cached", "from_cache", "cache_hit")
_LONGEST = 20_000  # of a message; what is shown of it is cut once its secrets are out
_MOST = 2**53  # no server counts so many tokens
_HIT = re.compile(r"\b(?:hit|true)\b", re.IGNORECASE)


class Complaint(NamedTuple):
    """Why a server did not answer.

    Parameters
    ----------
    message : str
        On one line.
    code : str
        Its name for it; empty where it has none.
    parameters : tuple of str
        The parameters of the request that it names.
    """

    message: str
    code: str = ""
    parameters: tuple[str, ...] = ()


def read_body(content: bytes) -> dict[str, Any]:
    """Read a body as JSON.

    Parameters
    ----------
    content : bytes
        The body.

    Returns
    -------
    dict
        A completion, or what the server sent instead.

    Raises
    ------
    ValueError
        No JSON object.
    """
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(f"the server's reply of {len(content)} bytes is no JSON") from None
    if not isinstance(data, dict):
        raise ValueError("the server's reply is no JSON object")
    return data


def read_reply(data: Mapping[str, Any], headers: Mapping[str, str]) -> ReplayReply:
    """Read the reply of a chat completion.

    Parameters
    ----------
    data : mapping
        The body.
    headers : mapping of str to str
        Of the response.

    Returns
    -------
    ReplayReply
        Its text is the content; where there is none, what the model refused with, the arguments
        of the tools that it called, or its reasoning as a closed block, which answers nothing.

    Raises
    ------
    ValueError
        No completion.
    """
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise ValueError("the server's reply has no choices[0].message")
    finish = choice.get("finish_reason")
    if finish == "error":
        raise ValueError("the server's reply broke off with an error")
    model = data.get("model")
    return ReplayReply(
        text=_reply_text(message),
        finish_reason=finish if isinstance(finish, str) else None,
        usage=dict(_usage(data.get("usage"))),
        from_cache=says_cached(data, headers),
        model=model if isinstance(model, str) else None,
    )


def says_cached(data: Mapping[str, Any], headers: Mapping[str, str]) -> bool | None:
    """Whether a server says that a cache answered.

    Parameters
    ----------
    data : mapping
        The body.
    headers : mapping of str to str
        Of the response, named in lower case.

    Returns
    -------
    bool or None
        None where it says nothing.

    Examples
    --------
    >>> says_cached({}, {"x-cache": "Hit from cloudfront"}), says_cached({}, {})
    (True, None)
    """
    told = [bool(_HIT.search(headers[name])) for name in _CACHE_HEADERS if name in headers]
    told += [data[name] for name in _CACHE_FLAGS if isinstance(data.get(name), bool)]
    if not told and headers.get("x-litellm-cache-key"):  # which stands beside a hit alone
        return True
    return any(told) if told else None


def read_complaint(content: bytes) -> Complaint:
    """Read the body of an error.

    Parameters
    ----------
    content : bytes
        The body: of OpenAI's form, of FastAPI's, or a text.

    Returns
    -------
    Complaint
        What of it is to be shown; the request that some servers send back is not.

    Examples
    --------
    >>> read_complaint(b'{"error": {"message": "Unknown parameter", "param": "seed"}}')
    Complaint(message='Unknown parameter', code='', parameters=('seed',))
    """
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return Complaint(_one_line(content.decode("utf-8", "replace")))
    return complaint_of(data)


def complaint_of(data: Any) -> Complaint:
    """The same, of a body that is read already.

    Parameters
    ----------
    data : any
        The body's JSON.
    """
    error = data.get("error", data) if isinstance(data, Mapping) else data
    if not isinstance(error, Mapping):
        return Complaint(_one_line(str(error)))
    code = error.get("code") or error.get("type")
    named = [error["param"]] if isinstance(error.get("param"), str) else []
    message = error.get("message", error.get("detail", ""))
    if isinstance(message, list):  # FastAPI's, an entry a parameter
        entries = [entry for entry in message if isinstance(entry, Mapping)]
        named += [str(loc[-1]) for e in entries if isinstance(loc := e.get("loc"), list) and loc]
        message = "; ".join(f"{_path(entry.get('loc'))}: {entry.get('msg')}" for entry in entries)
    return Complaint(
        _one_line(str(message)), code="" if code is None else str(code), parameters=tuple(named)
    )


def _path(loc: Any) -> str:
    return ".".join(map(str, loc)) if isinstance(loc, list) else str(loc)


def _one_line(text: str) -> str:
    return " ".join(text[:_LONGEST].split())


def _reply_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, Mapping)]
        content = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    if isinstance(content, str) and content.strip():
        return content
    if isinstance(refusal := message.get("refusal"), str) and refusal.strip():
        return refusal
    if called := "\n".join(_arguments(message.get("tool_calls"))):
        return called
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str) and message[name].strip():
            return f"<think>{message[name]}</think>"
    return content if isinstance(content, str) else ""


def _arguments(calls: Any) -> Iterator[str]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping) and function.get("arguments"):
            arguments = function["arguments"]
            yield arguments if isinstance(arguments, str) else json.dumps(arguments)


def _usage(usage: Any) -> Iterator[tuple[str, float]]:
    """Counts, with those of ``prompt_tokens_details`` and its like beside the others."""
    if not isinstance(usage, Mapping):
        return
    details = [value for value in usage.values() if isinstance(value, Mapping)]
    for counts in (*details, usage):
        for name, value in counts.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if number and abs(value) < _MOST:  # NaN is not
                yield name, value
