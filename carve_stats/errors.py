"""The exceptions that carve_stats raises on purpose.

Every message is one line that names the place (the argument, or the file and the record)
and the mend. The command line prints it on stderr; `exit_status` is what it then exits with.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "AgentError",
    "CarveStatsError",
    "ConfigError",
    "InputError",
    "MissingExtraError",
    "PlanError",
    "RecordError",
    "SolverError",
    "StoreError",
    "check_name",
    "one_line",
    "unknown_name",
]


class CarveStatsError(Exception):
    """Base of every exception raised on purpose; one line, naming the place and the mend."""

    exit_status = 1


class InputError(CarveStatsError, ValueError):
    """An argument, a file or a combination of both that cannot be right."""

    exit_status = 2


class RecordError(InputError):
    """A record of a replay log that is damaged or contradicts itself or another record."""


class ConfigError(InputError):
    """A configuration file with a missing, unknown or impossible entry."""


class PlanError(InputError):
    """A run directory whose plan is not the plan that was asked for."""


class StoreError(InputError):
    """A run directory that is missing, incomplete or damaged."""


class MissingExtraError(CarveStatsError, ImportError):
    """A package of an optional extra that is needed and not installed."""

    exit_status = 2


class AgentError(CarveStatsError):
    """An agent that raised, or returned something that is not a reply."""


class SolverError(CarveStatsError):
    """A convex program that the solver could not solve."""


def one_line(error: BaseException) -> str:
    r"""What kind of error it is and what it says, on one line.

    Parameters
    ----------
    error : BaseException
        Somebody else's error.

    Returns
    -------
    str
        For the end of a message of our own.

    Examples
    --------
    >>> one_line(ValueError("two\nlines"))
    'ValueError: two lines'
    """
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:  # somebody else's __str__ may raise
        return f"{type(error).__name__} (its message cannot be read)"


def unknown_name(kind: str, value: object, known: Iterable[str]) -> str:
    """One line that refuses an unknown name, lists the known ones and offers the nearest.

    Parameters
    ----------
    kind : str
        What the name names, for example ``"condition"``.
    value : object
        The name that was given.
    known : iterable of str
        The names that exist.

    Returns
    -------
    str
        The message.

    Examples
    --------
    >>> unknown_name("condition", "shame", ["self", "sham", "destroy"])
    "unknown condition 'shame': the known ones are self, sham, destroy; did you mean 'sham'?"
    """
    names = list(known)
    message = f"unknown {kind} {value!r}: the known ones are {', '.join(names)}"
    by_folded_name = {name.casefold(): name for name in names}
    nearest = difflib.get_close_matches(str(value).casefold(), by_folded_name, n=1)
    return f"{message}; did you mean {by_folded_name[nearest[0]]!r}?" if nearest else message


def check_name(kind: str, value: object, known: Iterable[str]) -> None:
    """Refuse anything but one of the known names.

    Parameters
    ----------
    kind, value, known
        As in `unknown_name`.

    Raises
    ------
    InputError
        Another name, or no text at all.
    """
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise InputError(unknown_name(kind, value, names))
