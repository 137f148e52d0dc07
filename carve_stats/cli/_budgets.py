"""Numbers of replays as an option says them: ``1-10``, ``1,3,10``."""

from __future__ import annotations

import re

from carve_stats.errors import InputError

__all__ = ["read_budgets"]


def read_budgets(text: str) -> list[int]:
    """The numbers of ``1-10``, ``1,3,10`` and mixtures of the two.

    Parameters
    ----------
    text : str
        What follows ``--k``.

    Returns
    -------
    list of int
        In the order of the text.

    Raises
    ------
    InputError
        Anything but numbers from 1 to 9999, and ranges of them that run forwards.

    Examples
    --------
    >>> read_budgets("1-3,10")
    [1, 2, 3, 10]
    """
    budgets: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*0*([0-9]+)(?:\s*-\s*0*([0-9]+))?\s*", part)
        fault = "must be numbers and ranges"
        if found:
            ends = [one for one in found.groups() if one is not None]
            if max(map(len, ends)) > 4:
                fault = "names more than 9999 replays"
            elif "0" in ends:
                fault = "names 0 replays, where there must be 1 or more"
            elif int(ends[0]) > int(ends[-1]):
                fault = f"has a range that runs backwards, {part.strip()}"
            else:
                budgets += range(int(ends[0]), int(ends[-1]) + 1)
                continue
        raise InputError(f"--k {text[:60]!r} {fault}: give e.g. 1-10 or 1,3,10")
    return budgets
