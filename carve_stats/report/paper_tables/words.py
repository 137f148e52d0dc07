"""Notes of the library in the words of a table: its own labels, and nothing twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["RULES", "in_labels", "say_once"]

RULES = {f"score {sign} 0": f"Δ̂ {shown} 0" for sign, shown in (("<", "<"), ("=", "="), ("<=", "≤"))}
"""What tables call the rules on the score."""


def in_labels(notes: Iterable[str], labels: Mapping[str, str]) -> list[str]:
    """The notes, with what the library calls a row replaced by the label that it has.

    Parameters
    ----------
    notes : iterable of str
        As the library says them.
    labels : mapping of str to str
        By the library's names.

    Returns
    -------
    list of str
        In their order.

    Examples
    --------
    >>> in_labels(["random 9: as many as score <= 0", "random 90"], {**RULES, "random 9": "luck"})
    ['luck: as many as Δ̂ ≤ 0', 'random 90']
    """
    if not labels:
        return list(notes)
    names = sorted(labels, key=len, reverse=True)
    any_name = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
    return [any_name.sub(lambda m: labels[m[0]], note) for note in notes]


def say_once(notes: Iterable[str]) -> list[str]:
    """The notes without those that say of some figures or runs what another says of all.

    Parameters
    ----------
    notes : iterable of str
        In any order.

    Returns
    -------
    list of str
        Each of the others once.

    Examples
    --------
    >>> say_once(["no intervals", "SHAM, DESTROY: no intervals", "SHAM: few", "no intervals"])
    ['no intervals', 'SHAM: few']
    """
    told = dict.fromkeys(notes)
    return [
        note
        for note in told
        if not any(other != note and note.endswith(f": {other}") for other in told)
    ]
