"""Named checks on single cases, the smallest first: what agents and operators are verified by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from carve_stats.errors import InputError, one_line
from carve_stats.testing.verification import Check

__all__ = ["Fact", "first_failure", "is_plain", "refuse_uncallable", "try_facts"]

Subject = TypeVar("Subject")


class Fact(NamedTuple):
    """One thing that must hold.

    Parameters
    ----------
    name, statement : str
        As in `Check`.
    fails : callable
        From what is verified to a counterexample in words, or None.
    """

    name: str
    statement: str
    fails: Callable[[Any], str | None]


def try_facts(
    facts: Iterable[Fact], subject: object, without: dict[str, str] | None = None
) -> tuple[Check, ...]:
    """A check a fact; what a fact raises is what fails.

    Parameters
    ----------
    facts : iterable of Fact
        What must hold.
    subject : object
        What each is called with.
    without : dict, optional
        Facts that do not apply, with the reason.

    Returns
    -------
    tuple of Check
        In their order.
    """
    checks = []
    for fact in facts:
        if without and fact.name in without:
            checks.append(Check(fact.name, None, None, without[fact.name]))
            continue
        try:
            failure = fact.fails(subject)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() in a plug-in is a failure like others
            failure = f"it raises {one_line(error)}"
        checks.append(Check(fact.name, failure is None, failure, fact.statement))
    return tuple(checks)


def first_failure(
    cases: Iterable[Subject], fails: Callable[[Subject], str | None], name: Callable[[Subject], str]
) -> str | None:
    """The first case that fails, in words.

    Parameters
    ----------
    cases : iterable
        The smallest first.
    fails : callable
        From a case to what is wrong, or None.
    name : callable
        From a case to its name.

    Returns
    -------
    str or None
        None where none fails.
    """
    for case in cases:
        try:
            failure = fails(case)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure = f"it raises {one_line(error)}"
        if failure is not None:
            return f"{name(case)}: {failure}"
    return None


def refuse_uncallable(what: str, given: object) -> None:
    """Refuse what is not called: no callable, or a class in the place of its instance.

    Parameters
    ----------
    what : str
        The argument.
    given : object
        What was given.

    Raises
    ------
    InputError
        It is none; the message says what it is.
    """
    if isinstance(given, type):
        raise InputError(f"{what} is the class {given.__name__}: give an instance of it")
    if not callable(given):
        raise InputError(f"{what}={given!r:.40} must be callable, it is {type(given).__name__}")


def is_plain(settings: Callable[[], Any]) -> str | None:
    """What is wrong with settings that a run's plan must hold: JSON, and the same each time.

    Parameters
    ----------
    settings : callable
        Such as `parameters` of an operator, or `fingerprint` of an agent.

    Returns
    -------
    str or None
        None where nothing is.
    """
    import json

    first, again = settings(), settings()
    if not isinstance(first, Mapping):
        return f"it is {first!r:.80}, it must be a mapping of names to plain values"
    try:
        read = json.loads(json.dumps(dict(first), allow_nan=False))
    except (TypeError, ValueError) as error:
        return f"{first!r:.80} cannot be JSON: {one_line(error)}"
    if read != dict(first):
        return f"{first!r:.80} is {read!r:.80} after JSON; use texts for names, and lists"
    if dict(again) != dict(first):
        return f"it is {first!r:.80}, and asked again {again!r:.80}"
    return None
