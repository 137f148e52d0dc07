"""Whether a call draws from a global random generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

__all__ = ["draws_globally", "generators_kept"]


def draws_globally(call: Callable[[], Any]) -> bool:
    """Whether a call changes the state of `random` or of NumPy; it is put back.

    Parameters
    ----------
    call : callable
        What is called; what it raises counts as nothing drawn.

    Returns
    -------
    bool
        True where a global generator was drawn from, or seeded.

    Examples
    --------
    >>> draws_globally(lambda: np.random.default_rng(3).random()), draws_globally(random.random)
    (False, True)
    """
    with generators_kept():
        before = random.getstate(), np.random.get_state()  # noqa: NPY002
        with suppress(Exception, SystemExit):
            call()
        after = random.getstate(), np.random.get_state()  # noqa: NPY002
    return before[0] != after[0] or not _same(before[1], after[1])


@contextmanager
def generators_kept() -> Iterator[None]:
    """Put the states of the global generators back at the end, whatever was drawn between."""
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def _same(a: Any, b: Any) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))
