"""Unbiased figures from replays that were stopped early: counting the paths to where they stopped.

When its flips decide when a question stops, its own rates lean; pooled flips lean as well, since
some questions get more replays than others; no number of questions helps. The first replays do not
lean: they would have been made whatever they showed. Where only the state is known in which a
question stopped, all paths to that state are equally likely, whatever its flip probabilities; how
many of them begin in a certain way is a count.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats._kernels.stopping import count_paths
from carve_stats.errors import InputError
from carve_stats.law._arguments import one_whole_number, whole_number
from carve_stats.law._flip_states import flip_states
from carve_stats.law.stopping import StoppingPlan

__all__ = ["GOES_ON", "NEVER", "PathShares", "equal_budget", "path_shares"]

_MOST_STATES = 2**26  # half a gigabyte of path counts

GOES_ON, NEVER = -1, -2
"""In the place of a row: a state that the plan goes on from, and one that it does not lead to."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PathShares:
    """How the paths to each state that a question can stop in begin, from `path_shares`.

    Parameters
    ----------
    to_k_sham, to_k_destroy : int
        The first valid replays looked at.
    terminals : ndarray of int, shape (T, 4)
        The states (i, x, j, y): valid replays and flips of SHAM, then of DESTROY.
    invalid : ndarray of int, shape (T, 2)
        Invalid SHAM and DESTROY replays of those states.
    shares : ndarray, shape (T, (to_k_sham + 1)·(to_k_destroy + 1))
        Column u·(to_k_destroy + 1) + v: the share of the paths whose first replays had u SHAM and
        v DESTROY flips. Rows sum to 1; NaN where so many replays were invalid that an arm cannot
        have the first replays looked at, or any, whatever its flips.
    """

    to_k_sham: int
    to_k_destroy: int
    terminals: NDArray[np.int64]
    invalid: NDArray[np.int64]
    shares: NDArray[np.float64]
    _table: NDArray[np.int32] = field(repr=False)

    def rows(
        self,
        i: ArrayLike,
        x: ArrayLike,
        j: ArrayLike,
        y: ArrayLike,
        invalid_sham: ArrayLike = 0,
        invalid_destroy: ArrayLike = 0,
    ) -> NDArray[np.int64]:
        """The row of each question.

        Parameters
        ----------
        i, x, j, y : array_like of int, shape (n,)
            Valid replays and flips of SHAM, and of DESTROY.
        invalid_sham, invalid_destroy : array_like of int, shape (n,)
            Replays that gave no valid answer.

        Returns
        -------
        ndarray of int, shape (n,)
            Indices of rows of `shares`; `GOES_ON` (−1) where the plan does, so that the question
            is unfinished, and `NEVER` (−2) in a state that the plan does not lead to.
        """
        names = ("i", "x", "j", "y", "invalid_sham", "invalid_destroy")
        given = [
            whole_number(name, value, least=0)
            for name, value in zip(names, (i, x, j, y, invalid_sham, invalid_destroy), strict=True)
        ]
        i, x, j, y, a, b = (np.atleast_1d(part) for part in np.broadcast_arrays(*given))
        row, column = i * (i + 1) // 2 + x, j * (j + 1) // 2 + y
        shape = self._table.shape
        within = (x <= i) & (y <= j) & (a < shape[0]) & (b < shape[1])
        within &= (row < shape[2]) & (column < shape[3])
        found = np.full(i.shape, NEVER)
        found[within] = self._table[a[within], b[within], row[within], column[within]]
        return found


def path_shares(
    plan: StoppingPlan, to_k_sham: int, to_k_destroy: int, *, invalid: tuple[int, int] = (0, 0)
) -> PathShares:
    """How the first replays went, given where a question stopped.

    Parameters
    ----------
    plan : StoppingPlan
        The plan that the replays followed.
    to_k_sham, to_k_destroy : int
        The first valid replays to look at, up to `StoppingPlan.guaranteed`; 0 leaves an arm out.
    invalid : (int, int)
        The most invalid SHAM and DESTROY replays that a question has; such a replay is spent, see
        `StoppingPlan.reduced`.

    Returns
    -------
    PathShares
        For each state that a question can stop in, the share of its paths with each beginning.

    Raises
    ------
    InputError
        More replays than every question gets whose invalid replays leave room for them.

    Notes
    -----
    A path to (i, x, j, y) has probability p_s^x q_s^(i−x) p_d^y q_d^(j−y), whichever path it is.
    The expected share is therefore P(the first replays have (u, v)) = b(u; k′_s, p_s) b(v; k′_d,
    p_d), the cell of a run with that budget: any average over questions of any function of the
    cell is unbiased, and what the state does not tell about the order is averaged out
    (Rao and Blackwell).

    With invalid replays the paths are those of flips, other answers and invalid ones. That whether
    a replay is valid does not depend on its flip, given the question and the arm, is assumed, as
    everywhere; and that any order of valid and invalid ones is as likely as any other. A question
    that cannot have k′ valid replays would not have them without stopping either, so that leaving
    it out selects nothing by its flips.

    References
    ----------
    Girshick, Mosteller and Savage, *Unbiased estimates for certain binomial sampling problems with
    applications*, Annals of Mathematical Statistics 17 (1946) 13–23.

    Examples
    --------
    >>> from carve_stats.law.stopping import fixed_plan
    >>> paths = path_shares(fixed_plan(3, 3, "score <= 0", "alternate"), 1, 1)
    >>> paths.shares[paths.rows([3], [1], [2], [2])]  # cells (0, 0), (0, 1), (1, 0), (1, 1)
    array([[0. , 0.5, 0. , 0.5]])
    """
    to = (
        one_whole_number("to_k_sham", to_k_sham, least=0),
        one_whole_number("to_k_destroy", to_k_destroy, least=0),
    )
    _check_within(to, plan.guaranteed, "every question of this plan gets")
    action = _actions(plan, invalid)
    sham, destroy = flip_states(plan.k_sham), flip_states(plan.k_destroy)
    # Of an arm too short for the first replays looked at nothing has to be counted.
    paths = _count(plan, action, (0, 0), (0, 0))
    table = np.where(paths > 0.0, GOES_ON, NEVER).astype(np.int32)
    stops = np.nonzero((action < 0) & (paths > 0.0))
    a, b, row, column = stops
    table[stops] = np.arange(a.size)
    terminals = np.column_stack(
        [sham[0][row], sham[1][row], destroy[0][column], destroy[1][column]]
    )
    invalid_replays = np.column_stack([a, b])
    enough = _enough(plan, invalid_replays, to)
    made = terminals[enough][:, [0, 2]].min(axis=0)
    _check_within(to, (int(made[0]), int(made[1])), "every question gets, with invalid ones spent,")
    begun = [
        _count(plan, action, (to[0], u), (to[1], v))[stops]
        for u in range(to[0] + 1)
        for v in range(to[1] + 1)
    ]
    shares = np.column_stack(begun) / paths[stops][:, None]
    shares[~enough] = np.nan
    for array in (shares, terminals, invalid_replays, table):
        array.flags.writeable = False
    return PathShares(
        to_k_sham=to[0],
        to_k_destroy=to[1],
        terminals=terminals,
        invalid=invalid_replays,
        shares=shares,
        _table=table,
    )


def equal_budget(plan: StoppingPlan, *, invalid: tuple[int, int] = (0, 0)) -> int:
    """The largest number of replays in both arms that `path_shares` can look at.

    Parameters
    ----------
    plan, invalid
        As for `path_shares`.

    Returns
    -------
    int
        0 where some questions get no replay in an arm, so that nothing about both can be said.

    Examples
    --------
    >>> from carve_stats.law.stopping import fixed_plan
    >>> equal_budget(fixed_plan(10, 10, "score <= 0", "alternate"))
    5
    """
    paths = path_shares(plan, 0, 0, invalid=invalid)
    made = paths.terminals[:, [0, 2]].min(axis=1)
    for k in range(min(plan.guaranteed), 0, -1):
        if (made[_enough(plan, paths.invalid, (k, k))] >= k).all():
            return k
    return 0


def _enough(
    plan: StoppingPlan, invalid: NDArray[np.int64], to: tuple[int, int]
) -> NDArray[np.bool_]:
    """Where the invalid replays leave room for the first ones looked at.

    A question stops at once where an arm has no valid replay to come: it has no score.
    """
    room = np.array([plan.k_sham, plan.k_destroy]) - invalid
    least: NDArray[np.bool_] = room >= np.maximum(to, 1)
    return least[:, 0] & least[:, 1]


def _actions(plan: StoppingPlan, invalid: tuple[int, int]) -> NDArray[np.int8]:
    """What follows in each state after each number of invalid replays, shape (A+1, B+1, S, D)."""
    most = (
        min(one_whole_number("invalid", invalid[0], least=0), plan.k_sham),
        min(one_whole_number("invalid", invalid[1], least=0), plan.k_destroy),
    )
    shape = (most[0] + 1, most[1] + 1, *plan.action.shape)
    if np.prod(shape, dtype=float) > _MOST_STATES:
        raise InputError(
            f"up to {most[0]} SHAM and {most[1]} DESTROY replays of a question are invalid, and"
            f" k_sham={plan.k_sham}, k_destroy={plan.k_destroy}: too many states to count paths in"
        )
    action = np.full(shape, -1, np.int8)
    for a in range(min(most[0], plan.k_sham - 1) + 1):
        for b in range(min(most[1], plan.k_destroy - 1) + 1):
            left = plan.reduced(a, b).action
            action[a, b, : left.shape[0], : left.shape[1]] = left
    return action


def _count(
    plan: StoppingPlan,
    action: NDArray[np.int8],
    first_sham: tuple[int, int],
    first_destroy: tuple[int, int],
) -> NDArray[np.float64]:
    out = np.empty(action.shape)
    count_paths(plan.k_sham, plan.k_destroy, action, first_sham, first_destroy, out)
    return out


def _check_within(to: tuple[int, int], most: tuple[int, int], whose: str) -> None:
    if to[0] > most[0] or to[1] > most[1]:
        raise InputError(
            f"replays looked at (SHAM, DESTROY)={to} must not exceed {most}, the valid ones that"
            f" {whose} at least; a plan with a larger minimum has more"
        )
