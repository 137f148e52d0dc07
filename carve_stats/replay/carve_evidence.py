"""The evidence of a frozen trajectory in the CARVE layout, taken out of its messages.

`carve_trajectories` describes the layout.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from carve_stats.errors import InputError
from carve_stats.replay.files import inside
from carve_stats.replay.trajectories import EvidenceItem

__all__ = ["read_evidence"]

_PICTURES = (".jpg", ".jpeg", ".png", ".webp")

Place = tuple[int, int | None]
"""Message, and part of its content; None for the whole."""


def read_evidence(
    record: Mapping[str, Any], media: Path
) -> tuple[tuple[EvidenceItem, ...], dict[str, Any] | None]:
    """The items that were prepared, and the messages without them.

    Parameters
    ----------
    record : mapping
        With `prepped`, `messages`, `evidence_slots` and `evidence_indices`.
    media : Path
        The media root.

    Returns
    -------
    items : tuple of EvidenceItem
        With the text that stood in each one's slot.
    frozen : dict or None
        ``messages`` with a mark in each slot, and ``evidence_slots``, as agents read them; None
        without messages.

    Raises
    ------
    InputError
        An item, a clip or a slot that is not as described; names the entry.
    """
    prepped = record.get("prepped") or []
    if not isinstance(prepped, list) or not all(isinstance(one, dict) for one in prepped):
        raise InputError(f"prepped={prepped!r:.40} must be a list of items {{idx, clip, …}}")
    ids = []
    for number, one in enumerate(prepped):
        idx = one.get("idx")
        if isinstance(idx, bool) or not isinstance(idx, str | int):
            raise InputError(f"prepped[{number}]: idx={idx!r:.40} must be a number or a string")
        ids.append(str(idx))
    messages = record.get("messages")
    slots = _slots(record.get("evidence_slots"), record.get("evidence_indices"))
    slots = {item: place for item, place in slots.items() if item in ids}
    frozen, texts = _without_evidence(messages, slots)
    items = tuple(
        _item(item, one, texts.get(item), media) for item, one in zip(ids, prepped, strict=True)
    )
    return items, frozen


def _item(item: str, one: Mapping[str, Any], text: str | None, media: Path) -> EvidenceItem:
    clip, times = one.get("clip"), one.get("timestamps")
    times = [] if times is None else times
    if not isinstance(times, list):
        times = [times]
    try:
        paths: dict[str, Any] = {}
        if isinstance(clip, list):
            paths["frames"] = [_below(media, path) for path in clip]
        elif clip is not None and clip != "":
            path = _below(media, clip)
            if inside(media, path).is_dir():
                paths["frames"] = _pictures_in(media, path)
            elif path.lower().endswith(_PICTURES):
                paths["frames"] = [path]
            else:
                paths["video"] = path
        if "video" in paths or len(times) == len(paths.get("frames", ())):
            paths["times"] = times
        return EvidenceItem(id=item, query=one.get("query") or None, text=text, **paths)
    except InputError as error:
        raise InputError(f"prepped idx {item!r}: {error}") from None


def _below(media: Path, path: object) -> str:
    if not isinstance(path, str) or not path:
        raise InputError(f"clip={path!r:.40} must be a path, or a list of paths")
    inside(media, path)
    return path


def _pictures_in(media: Path, path: str) -> list[str]:
    names = [p.name for p in inside(media, path).iterdir() if p.suffix.lower() in _PICTURES]
    if not names:
        raise InputError(f"clip={path!r} is a folder without pictures ({', '.join(_PICTURES)})")
    # frame-9 goes before frame-10
    names.sort(key=lambda name: [(int(d or 0), w) for d, w in re.findall(r"(\d*)(\D*)", name)])
    return [_below(media, f"{path.rstrip('/')}/{name}") for name in names]


def _slots(slots: Any, indices: Any) -> dict[str, Place]:
    """Where the items of evidence stand in the messages, by id."""
    if slots is None:
        return {}
    if isinstance(slots, list):
        if not isinstance(indices, list) or len(indices) != len(slots):
            raise InputError(
                f"evidence_slots is a list of {len(slots)}: it must be as long as evidence_indices"
            )
        slots = dict(zip(map(str, indices), slots, strict=True))
    if not isinstance(slots, dict):
        raise InputError(f"evidence_slots={slots!r:.40} must map each idx to a place in messages")
    return {str(item): _place(item, slot) for item, slot in slots.items()}


def _place(item: object, slot: Any) -> Place:
    place = slot
    if isinstance(slot, dict) and set(slot) in ({"message"}, {"message", "part"}):
        place = [slot["message"], *([slot["part"]] if slot.get("part") is not None else [])]
    if not isinstance(place, list):
        place = [place]
    if len(place) not in (1, 2) or not all(type(n) is int and n >= 0 for n in place):
        raise InputError(
            f"evidence_slots {item!r}: {slot!r:.60} is no place: give {{'message': m, 'part': p}},"
            " [m, p] or m, counted from 0"
        )
    return place[0], place[1] if len(place) == 2 else None


def _without_evidence(messages: Any, slots: Mapping[str, Place]) -> tuple[Any, dict[str, str]]:
    """The messages with a mark in each slot, as agents read them, and the texts of the slots."""
    if messages is None:
        if slots:
            raise InputError("evidence_slots names places in messages, and there are none")
        return None, {}
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise InputError(f"messages={messages!r:.40} must be a list of messages")
    messages = [dict(message) for message in messages]
    texts: dict[str, str] = {}
    taken: dict[Place, str] = {}
    for item, (m, p) in slots.items():
        for place in {(m, None), (m, p)} & set(taken):
            raise InputError(f"evidence_slots {item!r} and {taken[place]!r} have one place")
        taken[m, p] = item
        where = f"evidence_slots {item!r}: message {m}" + ("" if p is None else f", part {p}")
        if m >= len(messages):
            raise InputError(f"{where} is not there: there are {len(messages)} messages")
        content = messages[m].get("content")
        if p is None:
            if not isinstance(content, str):
                raise InputError(f"{where} has no text for its content: name the part of it")
            texts[item], messages[m]["content"] = content, f"{{evidence:{item}}}"
            continue
        if not isinstance(content, list) or p >= len(content):
            raise InputError(f"{where} is not there")
        part = content[p]
        content = messages[m]["content"] = list(content)
        if isinstance(part, str):
            texts[item], content[p] = part, f"{{evidence:{item}}}"
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts[item], content[p] = part["text"], {**part, "text": f"{{evidence:{item}}}"}
        elif isinstance(part, dict) and part.get("type") == "image_url":
            shape = part.get("image_url")
            shape = dict(shape) if isinstance(shape, dict) else {}
            content[p] = {**part, "image_url": {**shape, "url": f"evidence:{item}"}}
        else:
            raise InputError(f"{where} is neither a text nor an image_url part")
    places = {
        item: {"message": m} if p is None else {"message": m, "part": p}
        for item, (m, p) in slots.items()
    }
    return {"messages": messages, "evidence_slots": places}, texts
