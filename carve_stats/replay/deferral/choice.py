"""Which questions are deferred, where a rule says only how likely each is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.replay.seeds import replay_seed
from carve_stats.routing.value import whole_if_close

__all__ = ["choose_deferred", "default_seed"]


def choose_deferred(
    question: ArrayLike, propensities: NDArray[np.float64], *, seed: int
) -> NDArray[np.bool_]:
    """Decide of each question whether it is deferred, where a rule says only how likely.

    Parameters
    ----------
    question : array_like of str, shape (n,)
        Question ids.
    propensities : ndarray of float, shape (n,)
        The probability that each is deferred.
    seed : int
        Together with the ids it decides.

    Returns
    -------
    ndarray of bool, shape (n,)
        Over all seeds each question is chosen with its propensity. The order of the rows, and
        questions with other propensities, change nothing.

    Notes
    -----
    Of t questions with one propensity p, p·t are chosen: those that come first in an order that
    the seed draws. ``lowest 20`` therefore defers 20 questions. Where p·t is no whole number, the
    next one is chosen with the chance that is left. Since the order does not depend on p, a larger
    propensity of the same questions chooses the same ones, and more.

    Examples
    --------
    >>> choose_deferred(["a", "b", "c", "d"], np.array([1, 2 / 3, 2 / 3, 2 / 3]), seed=1)
    array([ True, False,  True,  True])
    """
    ids = np.asarray(question).tolist()
    chosen = propensities == 1.0
    for share in np.unique(propensities[(propensities > 0) & (propensities < 1)]):
        tied = np.flatnonzero(propensities == share).tolist()
        tied.sort(key=lambda row: replay_seed(seed, ids[row], "defer", 0, 0))
        expected = whole_if_close(float(share) * len(tied))
        whole = int(expected)
        if whole < expected:
            uniform = replay_seed(seed, ids[tied[whole]], "defer", 1, 0) * 2.0**-53
            whole += uniform < expected - whole
        chosen[tied[:whole]] = True
    return chosen


def default_seed(run_seed: int) -> int:
    """The seed of a deferral where none is given.

    Parameters
    ----------
    run_seed : int
        That of the first agent's run.

    Returns
    -------
    int
        Another one: with the same, two agents that draw by their seeds would draw alike.
    """
    return replay_seed(run_seed, "", "defer", 0, 0)
