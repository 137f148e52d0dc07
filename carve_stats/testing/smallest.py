"""Examples that a strategy has, and how they are made smaller; the same on every machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

__all__ = ["draw_examples", "find_smallest", "reduce_example"]

Example = TypeVar("Example")


def find_smallest(
    examples: SearchStrategy[Example], fails: Callable[[Example], object], *, tries: int
) -> Example | None:
    """Search for an example and let Hypothesis shrink it.

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
        The simplest one that was found; there may be simpler ones.

    Notes
    -----
    Without a database nothing is written, and examples are the same on every machine.
    """
    try:
        return find(
            examples,
            lambda one: bool(fails(one)),
            settings=_quiet(tries, Phase.generate, Phase.shrink),
        )
    except NoSuchExample:
        return None


def draw_examples(examples: SearchStrategy[Example], n: int) -> list[Example]:
    """The first examples of a strategy.

    Parameters
    ----------
    examples : SearchStrategy
        Where they come from.
    n : int
        How many; fewer where there are not so many.

    Returns
    -------
    list
        In the order in which they are drawn, the simplest first.
    """
    drawn: list[Example] = []

    def keep(one: Example) -> bool:
        drawn.append(one)
        return False

    with suppress(NoSuchExample):
        find(examples, keep, settings=_quiet(n, Phase.generate))
    return drawn


def reduce_example(
    example: Example,
    smaller: Callable[[Example], Iterable[Example]],
    fails: Callable[[Example], object],
    *,
    budget: int,
    cost: Callable[[Example], int] = lambda _: 1,
) -> tuple[Example, bool]:
    """Make a failing example smaller, as long as it fails.

    Parameters
    ----------
    example : object
        It fails.
    smaller : callable
        From an example to what it can be reduced to in one step, the boldest steps first.
    fails : callable
        Whether an example fails; asked of each before it is taken.
    budget : int
        What all asking may cost together; it is always counted, never timed.
    cost : callable
        What it costs to ask about an example; not given, 1.

    Returns
    -------
    example : object
        It fails.
    reduced : bool
        Whether no single step more leads to one that fails; False where the budget ended first.

    Examples
    --------
    >>> def without_one(digits):
    ...     return (digits[:i] + digits[i + 1 :] for i in range(len(digits)))
    >>> reduce_example("31415926", without_one, lambda digits: digits.count("1") > 1, budget=100)
    ('11', True)
    """
    while True:
        for one in smaller(example):
            budget -= cost(one)
            if budget < 0:
                return example, False
            if fails(one):
                example = one
                break
        else:
            return example, True


def _quiet(tries: int, *phases: Phase) -> settings:
    return settings(
        database=None,
        derandomize=True,
        deadline=None,
        max_examples=tries,
        phases=phases,  # what else varies without failing is not asked
        suppress_health_check=list(HealthCheck),
    )
