"""The states of a question that is replayed step by step, and what each of them has decided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats._kernels.stopping import sum_outcomes
from carve_stats.errors import InputError
from carve_stats.law._arguments import one_whole_number
from carve_stats.law.score_rule import ScoreRule, as_rule

__all__ = [
    "decision_classes",
    "final_decisions",
    "flip_states",
    "plan_budget_pair",
    "plan_rule",
    "state_places",
]

_LARGEST = 64  # replays in an arm: a plan then has 4.6 million states


def flip_states(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Replays and flips of every state of one arm, in the order of the tables.

    Parameters
    ----------
    k : int
        The most replays.

    Returns
    -------
    replays, flips : ndarray, shape ((k + 1)(k + 2)/2,)
        0, 1, 1, 2, 2, 2, … and 0, 0, 1, 0, 1, 2, ….
    """
    return np.tril_indices(k + 1)


def state_places(states: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where states stand in the tables.

    Parameters
    ----------
    states : ndarray of int, shape (n, 4)
        (i, x, j, y): replays and flips of SHAM, then of DESTROY.

    Returns
    -------
    rows, columns : ndarray of int, shape (n,)
        i(i + 1)/2 + x and j(j + 1)/2 + y.
    """
    i, x, j, y = states.T
    return i * (i + 1) // 2 + x, j * (j + 1) // 2 + y


def decision_classes(k_sham: int, k_destroy: int, rule: ScoreRule | str) -> NDArray[np.bool_]:
    """Which outcomes of the full budget bring each decision.

    Parameters
    ----------
    k_sham, k_destroy : int
        The full budget.
    rule : ScoreRule or str
        As in `StoppingPlan`.

    Returns
    -------
    ndarray of bool, shape (decisions, k_sham + 1, k_destroy + 1)
        Not selected and selected, or negative, zero and positive: each outcome is in one.
    """
    if isinstance(rule, ScoreRule):
        selected = rule.table(k_sham, k_destroy)
        return np.stack([~selected, selected])
    numerator = np.arange(k_destroy + 1) * k_sham - np.arange(k_sham + 1)[:, None] * k_destroy
    return np.stack([numerator < 0, numerator == 0, numerator > 0])


def final_decisions(classes: NDArray[np.bool_]) -> NDArray[np.int8]:
    """The decision that all sequences to come agree on.

    Parameters
    ----------
    classes : ndarray of bool, shape (decisions, k_sham + 1, k_destroy + 1)
        As `decision_classes` gives them, or any other partition of the outcomes.

    Returns
    -------
    ndarray of int8, shape (S, D)
        Its index; −1 where they do not agree.
    """
    _, rows, columns = classes.shape
    shape = rows * (rows + 1) // 2, columns * (columns + 1) // 2
    possible, last, sequences = np.zeros(shape, np.int8), np.zeros(shape, np.int8), np.empty(shape)
    for index, outcomes in enumerate(classes):
        sum_outcomes(rows - 1, columns - 1, outcomes.astype(float), sequences)
        possible += sequences > 0.0
        last[sequences > 0.0] = index
    return np.where(possible == 1, last, -1).astype(np.int8)


def plan_rule(rule: ScoreRule | str) -> ScoreRule | str:
    """The rule of a plan: ``"sign"``, or a rule on the score.

    Parameters
    ----------
    rule : ScoreRule or str
        The same, or the text of a rule.

    Returns
    -------
    ScoreRule or str
        InputError for anything else.
    """
    if isinstance(rule, str) and rule == "sign":
        return rule
    try:
        return as_rule(rule)
    except InputError as error:
        raise InputError(f"{error}; or 'sign', for the three signs") from None


def plan_budget_pair(k_sham: int, k_destroy: int) -> tuple[int, int]:
    """The full budget of a plan.

    Parameters
    ----------
    k_sham, k_destroy : int
        From 1 to 64.

    Returns
    -------
    (int, int)
        InputError for anything else.
    """
    both = one_whole_number("k_sham", k_sham), one_whole_number("k_destroy", k_destroy)
    for name, k in zip(("k_sham", "k_destroy"), both, strict=True):
        if k > _LARGEST:
            raise InputError(f"{name}={k} must be at most {_LARGEST} to plan every state")
    return both
