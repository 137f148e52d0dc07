"""What is sent to a chat server: the frozen conversation with its evidence swapped, or a prompt.

The places of evidence in a conversation are named; `agents.openai` says how.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from carve_stats.errors import InputError
from carve_stats.replay.evidence.frames import Frame
from carve_stats.replay.parsing import parse_answer
from carve_stats.replay.protocols import ReplayRequest
from carve_stats.replay.trajectories import Trajectory

__all__ = ["PROMPT_VERSION", "check_conversation", "write_messages"]

PROMPT_VERSION = "1"
"""Of the prompt that is written where there is no frozen conversation."""

_TEXT_SLOT = re.compile(r"\{evidence:([^{}]*)\}")
_IMAGE_SLOT = "evidence:"


def write_messages(request: ReplayRequest) -> list[dict[str, Any]]:
    """Write the messages of one request.

    Parameters
    ----------
    request : ReplayRequest
        Whose `frozen` may hold a conversation.

    Returns
    -------
    list of dict
        For the body of a chat completion.

    Raises
    ------
    InputError
        A place that names no evidence, or evidence without a place.
    """
    place = f"question {request.question_id!r}"
    if not _has_conversation(request.frozen):
        return _prompt(request)
    shown = {item.id: _Shown(item.text, item.frames) for item in request.evidence}
    return _Filling(place, request.frozen, shown, _image_part).messages()


def check_conversation(trajectory: Trajectory) -> None:
    """Refuse a question that could not be asked.

    Parameters
    ----------
    trajectory : Trajectory
        The question and its frozen conversation, if it has one.
    """
    place = f"question {trajectory.question_id!r}"
    if not _has_conversation(trajectory.frozen):
        if not trajectory.question.strip():
            raise InputError(
                f"{place}: it has no text in question and no frozen messages: give one of them"
            )
        return
    shown = {item.id: _Shown(item.text, item.frames or item.times) for item in trajectory.evidence}
    messages = _Filling(place, trajectory.frozen, shown, lambda frame: {}).messages()
    last = messages[-1]
    said = last.get("content")
    if last["role"] == "assistant" and isinstance(said, str) and trajectory.options:
        label = parse_answer(said, trajectory.options).letter
        if label is not None:
            raise InputError(
                f"{place}: frozen messages end with the assistant's own answer {label!r}: take"
                " that message out, or the replays would only repeat it"
            )


def _has_conversation(frozen: Any) -> bool:
    return isinstance(frozen, Mapping) and "messages" in frozen


def _prompt(request: ReplayRequest) -> list[dict[str, Any]]:
    """The question, the options, the evidence in its order, and how to answer.

    Intervals and queries are left out: they would tell of the frames in words, in DESTROY too.
    """
    lines = [request.question, *(f"{label}. {text}" for label, text in request.options.items())]
    parts = [_text_part("\n".join(lines))]
    for item in request.evidence:
        parts += [_image_part(frame) for frame in item.frames]
        if item.text:
            parts.append(_text_part(item.text))
    parts.append(
        _text_part("Answer with the option's label." if request.options else "Answer briefly.")
    )
    if all(part["type"] == "text" for part in parts):  # text models take no list of parts
        return [{"role": "user", "content": "\n\n".join(part["text"] for part in parts)}]
    return [{"role": "user", "content": parts}]


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image_part(frame: Frame) -> dict[str, Any]:
    data = base64.b64encode(frame.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{frame.media_type};base64,{data}"}}


class _Shown(NamedTuple):
    """What an item of evidence has; its frames may be stood for by anything, one each."""

    text: str | None
    frames: Sequence[Any]


class _Filling:
    """One conversation, whose places are filled."""

    def __init__(
        self,
        place: str,
        frozen: Mapping[str, Any],
        shown: Mapping[str, _Shown],
        image_part: Callable[[Any], dict[str, Any]],
    ) -> None:
        self._place = f"{place}: frozen"
        self._shown = shown
        self._image_part = image_part
        self._frozen = frozen["messages"]
        self._slots = self._read_slots(frozen.get("evidence_slots") or {})
        self._named: set[str] = set()

    def messages(self) -> list[dict[str, Any]]:
        if not isinstance(self._frozen, list | tuple) or not self._frozen:
            raise InputError(f"{self._place} messages must be a list of messages")
        messages = [self._message(i, message) for i, message in enumerate(self._frozen)]
        for slot in self._slots:
            self._fail(f"evidence_slots names messages{list(slot)!r}, which is not there")
        for item in self._shown:
            if item not in self._named:
                self._fail(
                    f"messages show evidence {item!r} nowhere: put 'evidence:{item}' for the url"
                    f" of an image, {{evidence:{item}}} in a text, or an entry in evidence_slots"
                )
        return messages

    def _message(self, i: int, message: Any) -> dict[str, Any]:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            self._fail(f"messages[{i}] must be an object with a role")
        content = message.get("content")
        slot = self._slots.pop((i,), None)
        if slot is not None:
            return {**message, "content": self._item_text(slot)}
        if isinstance(content, str):
            return {**message, "content": self._text(content)}
        if not isinstance(content, list | tuple):
            return dict(message)  # an assistant's call of a tool has no content
        parts: list[Any] = []
        for j, part in enumerate(content):
            parts += self._part(part, self._slots.pop((i, j), None))
        return {**message, "content": parts}

    def _part(self, part: Any, slot: str | None) -> list[Any]:
        if not isinstance(part, Mapping):
            if slot is not None:
                return [_text_part(self._item_text(slot))]
            return [self._text(part) if isinstance(part, str) else part]
        if part.get("type") == "image_url":
            return self._image(part, slot)
        if slot is not None:
            return [{**part, "text": self._item_text(slot)}]
        if isinstance(part.get("text"), str):
            return [{**part, "text": self._text(part["text"])}]
        return [dict(part)]

    def _image(self, part: Mapping[str, Any], slot: str | None) -> list[Any]:
        # Ollama shows a plain string; all servers take the object.
        shape = part.get("image_url")
        shape = {"url": shape} if isinstance(shape, str) else dict(shape or {})
        url = shape.get("url")
        if slot is not None:
            frames = self._item_frames(slot)
        elif isinstance(url, str) and url.startswith(_IMAGE_SLOT):
            frames = self._named_frames(url.removeprefix(_IMAGE_SLOT))
        else:
            return [{**part, "image_url": shape}]
        # What else the part says, as the detail in which to look, holds for each frame.
        return [
            {**part, "image_url": {**shape, **self._image_part(frame).get("image_url", {})}}
            for frame in frames
        ]

    def _named_frames(self, name: str) -> Sequence[Any]:
        item, slash, number = name.rpartition("/")
        if name in self._shown or not slash:
            return self._item_frames(name)
        frames = self._item_frames(item)
        if not number.isdecimal() or int(number) >= len(frames):
            self._fail(
                f"messages name {_IMAGE_SLOT + name!r}: evidence {item!r} has the frames 0 to"
                f" {len(frames) - 1}"
            )
        return [frames[int(number)]]

    def _item_frames(self, name: str) -> Sequence[Any]:
        frames = self._item(name).frames
        if not frames:
            self._fail(f"messages show evidence {name!r} as an image, and it has no frames")
        return frames

    def _item_text(self, name: str) -> str:
        text = self._item(name).text
        if text is None:
            self._fail(f"messages show evidence {name!r} as a text, and it has none")
        return text

    def _text(self, text: str) -> str:
        return _TEXT_SLOT.sub(lambda slot: self._item_text(slot[1]), text)

    def _item(self, name: str) -> _Shown:
        if name not in self._shown:
            known = ", ".join(map(repr, self._shown)) or "none"
            self._fail(f"messages name evidence {name!r}: the question has {known}")
        self._named.add(name)
        return self._shown[name]

    def _read_slots(self, slots: Any) -> dict[tuple[int, ...], str]:
        if not isinstance(slots, Mapping):
            self._fail("evidence_slots must map evidence ids to places")
        read: dict[tuple[int, ...], str] = {}
        for item, slot in slots.items():
            known = isinstance(slot, Mapping) and set(slot) <= {"message", "part"}
            place = tuple(slot[k] for k in ("message", "part") if k in slot) if known else ()
            if not (known and "message" in slot and all(_is_index(p) for p in place)):
                self._fail(
                    f"evidence_slots {item!r} must be {{'message': i}} or {{'message': i, 'part':"
                    " j}, counted from 0"
                )
            if place in read:
                self._fail(f"evidence_slots {item!r} and {read[place]!r} have one place")
            read[place] = item
        return read

    def _fail(self, what: str) -> NoReturn:
        raise InputError(f"{self._place} {what}")


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
