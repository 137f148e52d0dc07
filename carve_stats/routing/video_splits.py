"""Random halves of videos: a rule is chosen on one, and its gain looked at on the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["SideSums", "SplitOutcomes", "choose_rule", "split_outcomes"]

Floats = NDArray[np.float64]

_ENTRIES = 2**22
"""Splits are worked on in blocks of about so many numbers."""


class SideSums(NamedTuple):
    """Sums within the V videos of one side, in the order of the videos of both.

    Parameters
    ----------
    questions : ndarray of float, shape (V,)
        Questions of each video; 0 for a video of the other side.
    net, calls : ndarray of float, shape (V, rules)
        Net repairs and questions deferred, by each rule.
    """

    questions: Floats
    net: Floats
    calls: Floats


class SplitOutcomes(NamedTuple):
    """What each split gave.

    Parameters
    ----------
    chosen : ndarray of int, shape (splits,)
        The rule that was chosen.
    source, target : ndarray of float, shape (splits,)
        Its gain in points on the half of the source that it was not chosen on, and on the half
        of the target; NaN where that half has no question.
    """

    chosen: NDArray[np.int64]
    source: Floats
    target: Floats


def split_outcomes(
    source: SideSums,
    target: SideSums,
    order: NDArray[np.int64],
    splits: int,
    rng: np.random.Generator,
) -> SplitOutcomes:
    """Choose a rule on half of the source's videos and evaluate it on the others, again and again.

    Parameters
    ----------
    source, target : SideSums
        Of the same V videos.
    order : ndarray of int, shape (rules,)
        As in `choose_rule`.
    splits : int
        How many splits.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    SplitOutcomes
        Of every split.
    """
    parts = []
    for chosen_on, source_held_out, target_held_out in _halves(source, target, splits, rng):
        chosen = choose_rule(chosen_on @ source.net, chosen_on @ source.calls, order)
        held_out = (source_held_out, source), (target_held_out, target)
        parts.append((chosen, *(_gain(videos, side, chosen) for videos, side in held_out)))
    return SplitOutcomes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def choose_rule(net: Floats, calls: Floats, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rule with the largest net in each split; of equal ones the one with the fewest calls.

    Parameters
    ----------
    net, calls : ndarray of float, shape (splits, rules)
        On the half that the rule is chosen on; all rules have the same questions there.
    order : ndarray of int, shape (rules,)
        The rules, in the order in which those that are equal in both are taken.

    Returns
    -------
    ndarray of int, shape (splits,)
        Which rule, by its place in `net`.

    Examples
    --------
    >>> choose_rule(np.array([[2.0, 2.0, 0.0], [-1.0, 0.0, 0.0]]),
    ...             np.array([[5.0, 4.0, 0.0], [3.0, 0.0, 0.0]]), np.array([2, 0, 1]))
    array([1, 2])
    """
    # Sums of propensities may be off by their rounding, which must not decide a tie.
    net, calls = np.round(net, 9), np.round(calls, 9)
    best = net == net.max(axis=1, keepdims=True)
    return order[np.where(best, calls, np.inf)[:, order].argmin(axis=1)]


def _halves(
    source: SideSums, target: SideSums, splits: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Blocks of splits: which videos are chosen on, and which are held out of either side.

    Half of the source's videos are chosen on, the smaller half of an odd number; the rest of the
    source is held out. Of the target those of its videos are held out that are not chosen on,
    and, of those that the source does not have, half, the larger one.
    """
    of_source = source.questions > 0
    alone = ~of_source & (target.questions > 0)
    videos = of_source.size
    block = max(1, _ENTRIES // videos)
    for start in range(0, splits, block):
        # One key a video and split, in this order: blocks of another size change no split.
        keys = rng.random((min(block, splits - start), videos))
        chosen_on = _lowest(keys, of_source, int(of_source.sum()) // 2)
        own = _lowest(keys, alone, (int(alone.sum()) + 1) // 2)
        source_held_out = of_source & ~chosen_on
        target_held_out = (source_held_out & (target.questions > 0)) | own
        yield chosen_on.astype(float), source_held_out.astype(float), target_held_out.astype(float)


def _lowest(keys: Floats, among: NDArray[np.bool_], m: int) -> NDArray[np.bool_]:
    """The m videos with the lowest keys among some, in each split."""
    order = np.where(among, keys, np.inf).argsort(axis=1, kind="stable")[:, :m]
    taken = np.zeros(keys.shape, bool)
    np.put_along_axis(taken, order, True, axis=1)
    return taken


def _gain(held_out: Floats, side: SideSums, chosen: NDArray[np.int64]) -> Floats:
    """100·net/questions of the chosen rule; NaN without a question."""
    questions = held_out @ side.questions
    net = np.take_along_axis(held_out @ side.net, chosen[:, None], axis=1)[:, 0]
    gain = np.full(net.size, np.nan)
    np.divide(100.0 * net, questions, out=gain, where=questions > 0)
    return gain
