"""Plans, every sequence of flips, and what a person would do with them by hand."""

from fractions import Fraction
from itertools import product

import numpy as np

from carve_stats.law.stopping import FIXED_ORDERS, fixed_plan
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population

RULES = ("score <= 0", "score < 1/3", "score = 0", "score > -1/2", "score >= 2/5", "sign")
ORDERS = (*FIXED_ORDERS, "optimal")

LOPSIDED = Population([0.1, 0.5, 0.9], [0.6, 0.2, 0.95], [3, 2, 1])


def plan_of(k_sham, k_destroy, rule, order, minimum=(0, 0)):
    if order != "optimal":
        return fixed_plan(k_sham, k_destroy, rule, order, minimum)
    return stopping_plan(
        k_sham=k_sham, k_destroy=k_destroy, rule=rule, minimum=minimum, population=LOPSIDED
    )


def every_sequence(k):
    """All 2^k sequences of flips of one arm."""
    return np.array(list(product((0, 1), repeat=k)))


def every_pair(k_sham, k_destroy):
    """All sequences of both arms, a question each."""
    sham, destroy = every_sequence(k_sham), every_sequence(k_destroy)
    return np.repeat(sham, len(destroy), axis=0), np.tile(destroy, (len(sham), 1))


def full_decisions(rule, sham, destroy):
    """What all replays of each question decide, from the score itself."""
    exact = {
        (x, y): Fraction(y, destroy.shape[1]) - Fraction(x, sham.shape[1])
        for x in range(sham.shape[1] + 1)
        for y in range(destroy.shape[1] + 1)
    }
    if rule == "sign":
        decide = {cell: (score > 0) - (score < 0) for cell, score in exact.items()}
    else:
        _, comparison, threshold = rule.split()
        ask = {"<=": "__le__", "<": "__lt__", "=": "__eq__", ">": "__gt__", ">=": "__ge__"}
        cut = Fraction(threshold)
        decide = {c: int(getattr(s, ask[comparison])(cut)) for c, s in exact.items()}
    table = np.empty((sham.shape[1] + 1, destroy.shape[1] + 1), int)
    for cell, decision in decide.items():
        table[cell] = decision
    return table[sham.sum(axis=1), destroy.sum(axis=1)]


def play(plan, sham, destroy):
    """Replay every question by the plan; its last state (n, 4), and what is decided there."""
    n = len(sham)
    i, x, j, y = np.zeros((4, n), int)
    open_ = np.arange(n)
    while open_.size:
        action = plan.action[
            i[open_] * (i[open_] + 1) // 2 + x[open_], j[open_] * (j[open_] + 1) // 2 + y[open_]
        ]
        rows = open_[action == 0]
        x[rows] += sham[rows, i[rows]]
        i[rows] += 1
        rows = open_[action == 1]
        y[rows] += destroy[rows, j[rows]]
        j[rows] += 1
        open_ = open_[action >= 0]
    verdict = plan.verdict[i * (i + 1) // 2 + x, j * (j + 1) // 2 + y].astype(int)
    return np.column_stack([i, x, j, y]), verdict - (plan.rule == "sign")
