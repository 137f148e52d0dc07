"""Goals from texts: ``tie rate <= 0.1`` and the others."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import carve_stats.planning.goals as folder
from carve_stats.planning.goals.base import Goal, GoalKind, read_goal

__all__ = ["as_goal", "goal_kinds"]


def as_goal(goal: str) -> Goal:
    """The goal that a text says.

    Parameters
    ----------
    goal : str
        As `goal_kinds` shows them.

    Returns
    -------
    Goal
        ``str()`` of it means the same as the text.

    Raises
    ------
    InputError
        Anything else; the message lists what exists.

    Notes
    -----
    A module of this folder with a tuple `KINDS` brings goals: there is no list to keep.

    Examples
    --------
    >>> print(as_goal("Tie rate<=.10"))
    tie rate <= 0.1
    """
    return read_goal(list(goal_kinds()), goal)


@cache
def goal_kinds() -> tuple[GoalKind, ...]:
    """Every kind of goal, by name.

    Examples
    --------
    >>> for kind in goal_kinds():
    ...     print(kind.text)
    decided >= 0.5
    mean score width <= 0.05
    net repairs per 100 calls >= 5
    net repairs per 100 replays >= 1
    power >= 0.8
    reliability >= 0.8
    tie rate <= 0.1
    wrong sign <= 0.05
    """
    modules = [import_module(f"{folder.__name__}.{m.name}") for m in iter_modules(folder.__path__)]
    kinds = [kind for module in modules for kind in getattr(module, "KINDS", ())]
    return tuple(sorted(kinds, key=lambda kind: kind.text))
