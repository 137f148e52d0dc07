"""`Flips`: the replays of one question, its exact score, and all of them in order of size."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations_with_replacement, cycle, product
from typing import NamedTuple

__all__ = ["Arm", "Flips", "all_flips", "describe", "flips_beyond", "score_of", "size"]

Arm = tuple[int | None, ...]

_CODES = {0: 0, 1: 1, None: 2}


class Flips(NamedTuple):
    """The replays of one question: 1 a flip, 0 none, None an invalid replay."""

    sham: Arm
    destroy: Arm
    self_flips: Arm = (0,)

    @property
    def valid(self) -> bool:
        """Whether no SHAM or DESTROY replay is invalid."""
        return None not in self.sham and None not in self.destroy

    @property
    def without_invalid(self) -> Flips:
        """The same without its invalid replays."""
        return self._replace(sham=_valid(self.sham), destroy=_valid(self.destroy))


def score_of(flips: Flips) -> Fraction | None:
    """The score y/k_destroy − x/k_sham over valid replays; None without one in both arms.

    Parameters
    ----------
    flips : Flips
        The replays.

    Returns
    -------
    Fraction or None
        Exact.

    Examples
    --------
    >>> score_of(Flips((1, 0, None), (1,)))
    Fraction(1, 2)
    """
    return _score(*_counts(flips.sham), *_counts(flips.destroy))


@lru_cache(maxsize=4096)
def _score(x: int, k_sham: int, y: int, k_destroy: int) -> Fraction | None:
    return Fraction(y, k_destroy) - Fraction(x, k_sham) if k_sham and k_destroy else None


def size(flips: Flips) -> tuple[int, int, list[int], list[int]]:
    """What orders flips: replays in all, then flips, then SHAM, then DESTROY.

    Parameters
    ----------
    flips : Flips
        The replays.

    Returns
    -------
    tuple
        To be compared. In the sequences no flip comes before a flip, and an invalid replay last.
    """
    both = flips.sham + flips.destroy
    codes = [_CODES[f] for f in flips.sham], [_CODES[f] for f in flips.destroy]
    return len(both), both.count(1), *codes


def all_flips(k: int, *, invalid: bool, ordered: bool) -> list[Flips]:
    """All replays of a question with up to k in each arm, the smallest first.

    Parameters
    ----------
    k : int
        The most replays in an arm; the fewest are none.
    invalid : bool
        Whether replays may be invalid.
    ordered : bool
        Whether each arrangement of the same replays is one of its own.

    Returns
    -------
    list of Flips
        In the order of `size`.

    Examples
    --------
    >>> [len(all_flips(5, invalid=invalid, ordered=True)) for invalid in (True, False)]
    [132496, 3969]
    """
    symbols = (0, 1, None) if invalid else (0, 1)
    arms: Iterable[Arm] = chain.from_iterable(
        product(symbols, repeat=n) if ordered else combinations_with_replacement(symbols, n)
        for n in range(k + 1)
    )
    return sorted(
        (Flips(sham, destroy) for sham, destroy in product(list(arms), repeat=2)), key=size
    )


_LOST: tuple[tuple[Arm, Arm], ...] = (
    ((None,), ()), ((), (None,)), ((None,), (None,)), ((None, None), ()), ((), (None, None)),
)  # fmt: skip


def flips_beyond(k: int, largest: int, *, invalid: bool, ordered: bool) -> list[Flips]:
    """One question or a few for all x of k_sham and y of k_destroy beyond an enumeration.

    And those of one arm of k + 1 replays alone: then none of k + 1 replays in all is left out.

    Parameters
    ----------
    k : int
        Up to how many replays an arm all questions are enumerated already.
    largest : int
        The most valid replays in an arm.
    invalid : bool
        Whether each stands once more with one or two invalid replays, now of this arm, now of that.
    ordered : bool
        Whether each stands once more with its flips first.

    Returns
    -------
    list of Flips
        In the order of `size`; flips come last, then invalid replays, where nothing else is said.

    Examples
    --------
    >>> len(flips_beyond(5, 12, invalid=False, ordered=False))  # 91² − 21²
    7840
    """
    symbols = (0, 1, None) if invalid else (0, 1)
    arms = [((0,) * (n - x)) + (1,) * x for n in range(largest + 1) for x in range(n + 1)]
    lost = cycle(_LOST)
    found: dict[Flips, None] = {}  # without the second of two that are one
    for sham, destroy in product(arms, repeat=2):
        if max(len(sham), len(destroy)) <= k:
            continue
        found[Flips(sham, destroy)] = None
        if ordered:
            found[Flips(sham[::-1], destroy[::-1])] = None
        if invalid:
            first, second = next(lost)
            found[Flips(sham + first, destroy + second)] = None
    alone: Iterable[Arm] = (
        product(symbols, repeat=k + 1) if ordered else combinations_with_replacement(symbols, k + 1)
    )
    for arm in alone:
        found[Flips(arm, ())] = found[Flips((), arm)] = None
    return sorted(found, key=size)


def describe(flips: Flips, *, self_too: bool = False) -> str:
    """The replays in words.

    Parameters
    ----------
    flips : Flips
        The replays.
    self_too : bool
        Whether the SELF replays matter here.

    Returns
    -------
    str
        For the beginning of a counterexample.

    Examples
    --------
    >>> describe(Flips((1, 0), (None,)))
    'SHAM 1 of 2 flipped (1, 0), DESTROY no valid replay (invalid)'
    """
    arms = [("SHAM", flips.sham), ("DESTROY", flips.destroy)]
    arms += [("SELF", flips.self_flips)] if self_too else []
    return ", ".join(f"{name} {_arm_words(arm)}" for name, arm in arms)


def _arm_words(arm: Arm) -> str:
    x, k = _counts(arm)
    shown = ", ".join("invalid" if flip is None else str(flip) for flip in arm)
    if not arm:
        return "no replay ()"
    return f"{x} of {k} flipped ({shown})" if k else f"no valid replay ({shown})"


def _valid(arm: Arm) -> Arm:
    return tuple(flip for flip in arm if flip is not None)


def _counts(arm: Arm) -> tuple[int, int]:
    return arm.count(1), len(arm) - arm.count(None)
