"""How a reply means what it names: asserted, asked, supposed, denied, or somebody else's.

`answer_grammar` finds where an option is named; here is what the words around it make of it.
"""

from __future__ import annotations

import re

from carve_stats.replay.answer_phrases import (
    ADDRESSED,
    ANSWER_ENDS,
    AT_FIRST,
    DEED,
    HEDGED_AFTER,
    HYPOTHETICAL,
    INFERIOR,
    NEGATED_BEFORE,
    OTHERS,
    QUESTIONED,
    SPEAKER,
    SUPPOSED_BEFORE,
    TURN,
)

__all__ = [
    "NEAR",
    "is_final",
    "is_inferior",
    "is_questioned",
    "is_supposed",
    "is_withdrawn",
    "sentence_before",
]

NEAR = 80  # how far back, in characters, a clause is read
_FAR = 200  # and a sentence


def is_questioned(text: str, end: int) -> bool:
    """Whether the sentence that goes on at `end` is a question."""
    return QUESTIONED.match(text, end) is not None


def is_inferior(text: str, start: int) -> bool:
    """Whether what begins at `start` is the wrong, an earlier or the second-best answer."""
    return INFERIOR.search(sentence_before(text, start)) is not None


def is_final(text: str, end: int) -> bool:
    """Whether what ends at `end` is said without hedge or question."""
    return bool(
        (ANSWER_ENDS.match(text, end) or text[end - 1] in ")]")
        and not HEDGED_AFTER.match(text, end)
        and not is_questioned(text, end)
    )


def sentence_before(text: str, start: int) -> str:
    """What the sentence that `start` stands in says before it."""
    return re.split(r"[.;!?\n。；！？]", text[max(0, start - _FAR) : start])[-1]


def is_supposed(text: str, start: int, end: int) -> bool:
    """Whether what stands there is supposed only, someone else's, or a first impression."""
    clause = TURN.split(sentence_before(text, start))[-1]
    if DEED.match(text, start, end) and clause.strip(" ,:*_\"'"):
        by_another = not (SPEAKER.search(clause) or ADDRESSED.search(clause))
        if by_another and clause.isascii():
            return True
    return bool(
        HYPOTHETICAL.search(clause)
        or AT_FIRST.search(clause)
        or OTHERS.search(SPEAKER.split(clause + text[start:end])[-1])
    )


def is_withdrawn(text: str, start: int) -> bool:
    """Whether the clause before `start` denies or only supposes what follows."""
    before = re.split(r"[.;!?\n。；！？,，]", text[max(0, start - NEAR) : start])[-1]
    return bool(NEGATED_BEFORE.search(before) or SUPPOSED_BEFORE.search(before))
