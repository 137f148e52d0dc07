"""Unbiased figures from replays that were stopped early: counting the paths to where they stopped.

When its flips decide when a question stops, its own rates lean; pooled flips lean as well, since
some questions get more replays than others; no number of questions helps. The first replays do not
lean: they would have been made whatever they showed. Where only the state is known in which a
question stopped, all paths to that state are equally likely, whatever its flip probabilities; how
many of them begin in a certain way is a count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError
from carve_stats.law._arguments import one_whole_number, whole_number
from carve_stats.law._flip_states import state_places
from carve_stats.law.stopping import StoppingPlan

__all__ = ["PathShares", "path_shares"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PathShares:
    """How the paths to each state that a question can stop in begin, from `path_shares`.

    Parameters
    ----------
    to_k_sham, to_k_destroy : int
        The first replays looked at.
    terminals : ndarray of int, shape (T, 4)
        The states (i, x, j, y): replays and flips of SHAM, then of DESTROY.
    shares : ndarray, shape (T, (to_k_sham + 1)·(to_k_destroy + 1))
        Column u·(to_k_destroy + 1) + v: the share of the paths whose first replays had u SHAM and
        v DESTROY flips. Rows sum to 1.
    """

    to_k_sham: int
    to_k_destroy: int
    terminals: NDArray[np.int64]
    shares: NDArray[np.float64]

    def rows(self, i: ArrayLike, x: ArrayLike, j: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
        """The row of each question.

        Parameters
        ----------
        i, x, j, y : array_like of int, shape (n,)
            Replays and flips of SHAM, and of DESTROY.

        Returns
        -------
        ndarray of int, shape (n,)
            Indices of rows of `shares`.

        Raises
        ------
        InputError
            A question in a state that the plan does not stop in.
        """
        states = np.column_stack(
            [whole_number(n, v, least=0) for n, v in zip("ixjy", (i, x, j, y), strict=True)]
        )
        within = (states <= self.terminals.max(axis=0)).all(axis=1)
        within &= (states[:, 1] <= states[:, 0]) & (states[:, 3] <= states[:, 2])
        rows, columns = state_places(self.terminals)
        table = np.full((rows.max() + 1, columns.max() + 1), -1)
        table[rows, columns] = np.arange(rows.size)
        # Where x is at most the largest x, and i the largest i, the place may still be beyond.
        rows, columns = state_places(np.where(within[:, None], states, 0))
        within &= (rows < table.shape[0]) & (columns < table.shape[1])
        found = np.where(within, table[np.where(within, rows, 0), np.where(within, columns, 0)], -1)
        wrong = np.flatnonzero(found < 0)
        if wrong.size:
            made, flips, made_destroy, flips_destroy = states[wrong[0]].tolist()
            raise InputError(
                f"question {wrong[0]} has {flips} of {made} SHAM and {flips_destroy} of"
                f" {made_destroy} DESTROY replays flipped: the plan does not stop there, so it is"
                " unfinished or of another plan"
            )
        return found


def path_shares(plan: StoppingPlan, to_k_sham: int, to_k_destroy: int) -> PathShares:
    """How the first replays went, given where a question stopped.

    Parameters
    ----------
    plan : StoppingPlan
        The plan that the replays followed.
    to_k_sham, to_k_destroy : int
        The first replays to look at, up to `StoppingPlan.guaranteed`; 0 leaves an arm out.

    Returns
    -------
    PathShares
        For each state that a question can stop in, the share of its paths with each beginning.

    Raises
    ------
    InputError
        More replays than every question gets.

    Notes
    -----
    A path to (i, x, j, y) has probability p_s^x q_s^(i−x) p_d^y q_d^(j−y), whichever path it is.
    The expected share is therefore P(the first replays have (u, v)) = b(u; k′_s, p_s) b(v; k′_d,
    p_d), the cell of a run with that budget: any average over questions of any function of the
    cell is unbiased, and what the state does not tell about the order is averaged out
    (Rao and Blackwell).

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
    kept = (
        one_whole_number("to_k_sham", to_k_sham, least=0),
        one_whole_number("to_k_destroy", to_k_destroy, least=0),
    )
    guaranteed = plan.guaranteed
    if kept[0] > guaranteed[0] or kept[1] > guaranteed[1]:
        raise InputError(
            f"(to_k_sham, to_k_destroy)={kept} must not exceed {guaranteed}: the SHAM and DESTROY"
            f" replays that every question of this plan gets; a plan with a larger minimum has more"
        )
    terminals = plan.terminals
    rows, columns = state_places(terminals)
    begun = [
        plan.count_paths((kept[0], u), (kept[1], v))[rows, columns]
        for u in range(kept[0] + 1)
        for v in range(kept[1] + 1)
    ]
    shares = np.column_stack(begun) / plan.paths[rows, columns][:, None]
    shares.flags.writeable = terminals.flags.writeable = False
    return PathShares(to_k_sham=kept[0], to_k_destroy=kept[1], terminals=terminals, shares=shares)
