"""`Property`: what every estimator of the score must do; each file of ``checks/`` brings some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from carve_stats.testing.estimator import Estimator
from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures.reading import Reading
from carve_stats.testing.verification import Check

__all__ = ["Property", "Verdict", "properties"]

Verdict = str | bool
"""True where it holds, False where there is nothing to look at, a text where it does not hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Property:
    """One thing that holds for a right estimator.

    Parameters
    ----------
    name : str
        As in `Check`.
    place : int
        Where it stands among the checks.
    statement : str
        What it says.
    holds : callable, optional
        From an estimator and the replays of a question to a verdict.
    holds_over_all : callable, optional
        From an estimator and all small questions without invalid replays to a verdict, where it
        speaks of probabilities.
    applies : callable, optional
        From a reading to None, or to the reason for which there is nothing to check.
    invalid_too : bool
        Whether it is looked at where replays are invalid. For those one property is enough: the
        invalid ones change nothing.
    largest : int, optional
        Up to how many replays an arm it is enumerated, where it costs several calls.
    arranged : bool
        Whether it compares arrangements of the same replays.
    """

    name: str
    place: int
    statement: str
    holds: Callable[[Estimator, Flips], Verdict] | None = None
    holds_over_all: Callable[[Estimator, Sequence[Flips]], Verdict] | None = None
    applies: Callable[[Reading], str | None] = lambda _: None
    invalid_too: bool = False
    largest: int | None = None
    arranged: bool = False

    def verdict(self, estimator: Estimator, flips: Flips) -> Verdict:
        """Whether it holds for the replays of one question."""
        if self.holds is None or not (self.invalid_too or flips.valid):
            return False
        return self.holds(estimator, flips)

    def as_check(self, verdict: Verdict, *, smallest: bool = True) -> Check:
        """What is reported of it, and whether no smaller counterexample can be."""
        if isinstance(verdict, str):
            return Check(self.name, False, verdict, self.statement, smallest)
        if not verdict:
            return Check(self.name, None, None, "the function gives nothing to look at")
        return Check(self.name, True, None, self.statement)


@cache
def properties() -> tuple[Property, ...]:
    """Every property in the files of ``checks/``: those in a tuple ``PROPERTIES`` there."""
    import carve_stats.testing.checks as folder

    modules = [import_module(f"{folder.__name__}.{m.name}") for m in iter_modules(folder.__path__)]
    found = [one for module in modules for one in getattr(module, "PROPERTIES", ())]
    return tuple(sorted(found, key=lambda one: one.place))
