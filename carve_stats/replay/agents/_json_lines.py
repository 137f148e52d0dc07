"""The lines that a `command:` agent and its program exchange: requests, and replies to them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.errors import unknown_name
from carve_stats.replay.agents._program import ProgramError, shown
from carve_stats.replay.protocols import Evidence, ReplayReply, ReplayRequest

__all__ = ["read_reply", "write_evidence", "write_line", "write_request"]

_FIELDS = ("id", "text", "answer", "finish_reason", "usage", "model", "from_cache", "error")


def write_request(request: ReplayRequest, folder: Path) -> dict[str, Any]:
    """A request as JSON has it, its frames as files.

    Parameters
    ----------
    request : ReplayRequest
        The request.
    folder : Path
        Where the frames are written.

    Returns
    -------
    dict
        For `write_line`.
    """
    return {
        "type": "answer",
        "question_id": request.question_id,
        "video_id": request.video_id,
        "condition": request.condition,
        "repetition": request.repetition,
        "attempt": request.attempt,
        "question": request.question,
        "options": dict(request.options),
        "evidence": [write_evidence(item, folder) for item in request.evidence],
        "frozen": request.frozen,
        "seed": request.seed,
    }


def write_evidence(item: Evidence, folder: Path) -> dict[str, Any]:
    """One item as JSON has it, its frames as files of a name that was never there before.

    Parameters
    ----------
    item : Evidence
        The item.
    folder : Path
        Where the frames are written.

    Returns
    -------
    dict
        Its fields.
    """
    frames = []
    for frame in item.frames:
        path = folder / f"{secrets.token_hex(12)}.{_suffix(frame.media_type)}"
        path.write_bytes(frame.data)
        frames.append({"path": str(path), "media_type": frame.media_type, "time": frame.time})
    return {
        "id": item.id,
        "start": item.start,
        "end": item.end,
        "query": item.query,
        "text": item.text,
        "frames": frames,
    }


def write_line(identity: int, fields: Mapping[str, Any]) -> bytes:
    """A line of JSON.

    Parameters
    ----------
    identity : int
        What the reply has to repeat.
    fields : mapping
        The request's.

    Returns
    -------
    bytes
        With its newline, which is the only one in it; `id` comes first.
    """
    return msgspec.json.encode({"id": identity, **fields}) + b"\n"


def read_reply(line: bytes, identity: int) -> ReplayReply:
    """A program's reply.

    Parameters
    ----------
    line : bytes
        What it wrote.
    identity : int
        Of the request.

    Returns
    -------
    ReplayReply
        Its fields are checked by the loop.

    Raises
    ------
    ProgramError
        No JSON, or the reply to another request: the program must be stopped.
    ConnectionError
        The program says that it has no reply.
    TypeError, ValueError
        JSON, but no reply.
    """
    try:
        reply = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise ProgramError(
            f"the program wrote a line that is no JSON, {shown(line)!r}: only replies belong on"
            " stdout, all else on stderr"
        ) from None
    if isinstance(reply, str):
        return ReplayReply(text=reply)
    if not isinstance(reply, dict):
        raise TypeError(f"its reply {shown(line)} must be an object with a text, or a string")
    for name in reply:
        if name not in _FIELDS:
            raise ValueError(f"its reply has an {unknown_name('field', name, _FIELDS)}")
    told = reply.get("id", identity)
    if isinstance(told, bool) or told != identity:
        raise ProgramError(
            f"the program replied to request {reply['id']!r:.40}, it was asked {identity}"
        )
    if (error := reply.get("error")) is not None:
        raise ConnectionError(f"the program says: {shown(str(error))}")
    if "text" not in reply:
        raise ValueError(f"its reply {shown(line)} has no text: give one, or an error")
    text = reply.pop("text")
    reply.pop("id", None)
    return ReplayReply(text=text, **{n: value for n, value in reply.items() if value is not None})


def _suffix(media_type: str) -> str:
    return "".join(c for c in media_type.rpartition("/")[2] if c.isalnum()) or "bin"
