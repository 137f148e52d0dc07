"""The smallest example that a strategy has of something, the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

__all__ = ["find_smallest"]

Example = TypeVar("Example")


def find_smallest(
    examples: SearchStrategy[Example], fails: Callable[[Example], object], *, tries: int
) -> Example | None:
    """Search for an example and shrink it.

    Parameters
    ----------
    examples : SearchStrategy
        Where to search.
    fails : callable
        What is sought.
    tries : int
        How many are drawn before there is taken to be none.

    Returns
    -------
    object or None
        The simplest one that was found.

    Notes
    -----
    Without a database nothing is written, and examples are the same on every machine.
    """
    quiet = settings(
        database=None,
        derandomize=True,
        deadline=None,
        max_examples=tries,
        phases=[Phase.generate, Phase.shrink],  # what else varies without failing is not asked
        suppress_health_check=list(HealthCheck),
    )
    try:
        return find(examples, lambda one: bool(fails(one)), settings=quiet)
    except NoSuchExample:
        return None
