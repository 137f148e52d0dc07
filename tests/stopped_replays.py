"""Outcomes of every call, what a stopping plan makes of them, and what a full run would have."""

import numpy as np

from carve_stats.counts import ReplayCounts
from carve_stats.law.stopping import FIXED_ORDERS, fixed_plan
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population

ORDERS = (*FIXED_ORDERS, "optimal")

INVALID = -1  # beside 1, a flip, and 0, none


def make_plan(k, order="optimal", minimum=(1, 1), *, rule="score <= 0"):
    """A plan with the budget k = (SHAM, DESTROY)."""
    if order != "optimal":
        return fixed_plan(*k, rule, order, minimum)
    return stopping_plan(
        k_sham=k[0], k_destroy=k[1], rule=rule, minimum=minimum, population=Population.paper()
    )


def play(plan, sham, destroy):
    """Where each question stops: columns i, x, j, y and invalid SHAM and DESTROY replays.

    Row q of `sham` and `destroy` holds the outcomes that the calls of question q would have.
    """
    sham, destroy = np.asarray(sham), np.asarray(destroy)
    most = [int((arm == INVALID).sum(axis=1).max(initial=0)) for arm in (sham, destroy)]
    action = np.full((most[0] + 1, most[1] + 1, *plan.action.shape), -1, np.int8)
    for a in range(min(most[0] + 1, plan.k_sham)):
        for b in range(min(most[1] + 1, plan.k_destroy)):
            left = plan.reduced(a, b).action
            action[a, b, : left.shape[0], : left.shape[1]] = left
    state = np.zeros((6, len(sham)), int)
    i, x, j, y, a, b = state
    open_ = np.arange(len(sham))
    arms = ((sham, i, x, a), (destroy, j, y, b))
    while open_.size:
        places = [(n[open_] * (n[open_] + 1) // 2 + f[open_]) for n, f in ((i, x), (j, y))]
        following = action[a[open_], b[open_], *places]
        for number, (outcomes, valid, flips, invalid) in enumerate(arms):
            rows = open_[following == number]
            outcome = outcomes[rows, valid[rows] + invalid[rows]]
            valid[rows] += outcome != INVALID
            flips[rows] += outcome == 1
            invalid[rows] += outcome == INVALID
        open_ = open_[following >= 0]
    return state


def ids(n):
    return [f"q{number:06d}" for number in range(n)]


def counts_of(state, *, plan=None, **more):
    i, x, j, y, a, b = state
    return ReplayCounts(
        ids(len(i)), x, i, y, j, sham_invalid=a, destroy_invalid=b, stopping=plan, **more
    )


def stopped_counts(plan, sham, destroy, **more):
    """What a run that follows the plan counts."""
    return counts_of(play(plan, sham, destroy), plan=plan, **more)


def full_counts(sham, destroy, **more):
    """What a run without a plan counts of the same calls."""
    state = [
        column
        for arm in (np.asarray(sham), np.asarray(destroy))
        for column in ((arm != INVALID).sum(axis=1), (arm == 1).sum(axis=1))
    ]
    invalid = [(np.asarray(arm) == INVALID).sum(axis=1) for arm in (sham, destroy)]
    return counts_of([*state, *invalid], **more)


def draw_outcomes(rng, p_sham, p_destroy, k, *, invalid=0.0):
    """The outcomes of k calls in each arm of each question."""
    drawn = []
    for p in (p_sham, p_destroy):
        outcomes = (rng.random((len(p), k)) < np.asarray(p)[:, None]).astype(int)
        outcomes[rng.random(outcomes.shape) < invalid] = INVALID
        drawn.append(outcomes)
    return drawn
