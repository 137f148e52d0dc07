"""Questions and options as records of benchmarks have them; `carve_stats.logs` reads whole files.

LVBench has its options as lines ``(A) …`` within `question`; Video-MME as ``["A. Apples.", …]``;
EgoSchema as ``option 0`` to ``option 4``; LongVideoBench as `candidates`, of which there are not
always as many.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Mapping
from typing import Any, NamedTuple

from carve_stats.errors import RecordError

__all__ = [
    "OPTION_COLUMNS",
    "OPTION_FIELDS",
    "Placed",
    "candidate_options",
    "inline_options",
    "label_at",
    "labelled_in_order",
    "needed",
    "numbered_options",
    "prefixed_options",
    "text_in",
]

_LABELS = string.ascii_uppercase
_INLINE = re.compile(r"^[ \t]*\(([A-Z])\)[ \t]*", re.MULTILINE)
_PREFIX = re.compile(r"\s*([A-Z])\s*[.:)]\s*")
_NO_OPTION = "N/A"

OPTION_FIELDS = tuple(f"option {number}" for number in range(5))
"""EgoSchema's."""

OPTION_COLUMNS = tuple(f"option{number}" for number in range(5))
"""LongVideoBench's, in Parquet."""


class Placed(NamedTuple):
    """A record of a file and where it stands, for messages."""

    place: str
    record: Mapping[str, Any]


def needed(placed: Placed, name: str) -> Any:
    """The value of a field that a record must have."""
    value = placed.record.get(name)
    if value is None or value == "":
        raise RecordError(
            f"{placed.place}: no {name}: it has {', '.join(placed.record) or 'nothing'}; is it the"
            " official file?"
        )
    return value


def text_in(placed: Placed, name: str) -> str:
    """The text of a field that a record must have; a number as it is written."""
    value = needed(placed, name)
    if isinstance(value, bool | list | dict):
        raise RecordError(f"{placed.place}: {name}={value!r} must be a text")
    return value if isinstance(value, str) else json.dumps(value)


def label_at(position: int) -> str:
    """The label of an option: A for position 0, B for 1, and so on."""
    return _LABELS[position]


def labelled_in_order(texts: Any, placed: Placed, name: str) -> dict[str, str]:
    """Options that stand in a list, by label.

    Parameters
    ----------
    texts : object
        What the record holds; two texts or more.
    placed : Placed
        The record.
    name : str
        The field, for messages.

    Returns
    -------
    dict of str to str
        Label to text.
    """
    right = isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts)
    if not right or not 2 <= len(texts) <= len(_LABELS):
        raise RecordError(f"{placed.place}: {name}={texts!r} must be a list of two texts or more")
    return {label_at(i): text for i, text in enumerate(texts)}


def inline_options(text: str) -> tuple[str, dict[str, str]]:
    """A question and the options inline in it; none unless their labels are A, B, … in order."""
    marks = list(_INLINE.finditer(text))
    if len(marks) < 2 or any(mark[1] != label_at(i) for i, mark in enumerate(marks)):
        return text.strip(), {}
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    options = {
        mark[1]: text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)
    }
    return text[: marks[0].start()].strip(), options


def prefixed_options(placed: Placed, field: str) -> dict[str, str]:
    """The options without the labels they begin with, which must be A, B, … in order."""
    options = labelled_in_order(needed(placed, field), placed, field)
    for label, text in options.items():
        match = _PREFIX.match(text)
        if match is None or match[1] != label:
            raise RecordError(
                f"{placed.place}: the option {text!r} must begin with '{label}.': options are"
                " labelled in order"
            )
        options[label] = text[match.end() :].rstrip()
    return options


def numbered_options(placed: Placed) -> dict[str, str]:
    """The options of the fields ``option 0`` to ``option 4``."""
    texts = [text_in(placed, name) for name in OPTION_FIELDS]
    return labelled_in_order(texts, placed, OPTION_FIELDS[0])


def candidate_options(placed: Placed) -> dict[str, str]:
    """The options of `candidates`, or of ``option0`` to ``option4``, of which some are ``N/A``."""
    candidates = placed.record.get("candidates")
    if candidates is None:
        candidates = [placed.record.get(name) for name in OPTION_COLUMNS]
        candidates = [text for text in candidates if text not in (None, _NO_OPTION)]
    return labelled_in_order(candidates, placed, "candidates")
