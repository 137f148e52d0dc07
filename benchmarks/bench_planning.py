"""Benchmark: the dynamic program of the optimal order of replays, and the counting of its paths.

The peer is the recursion as one would write it in Python with NumPy arrays: the same states, one
at a time, each with its predictive probabilities from the population's moments. At k = 20 that
is 53,361 states. That both arrive at the same expected replays is checked. The whole plan, with
the masses of all states from 10,766 atoms, is shown beside it; its target, less than 2 s, is the
project's; the ratios are of a population with 3 atoms, where the masses take no time.
"""

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

import carve_stats as cs
from carve_stats.law.path_counting import path_shares
from carve_stats.planning.curtailment import curtailment, stopping_plan

ROUNDS = 3
ROW = "{:44} {:>12} {:>12} {:>10} {:>10}  {}"


def seconds(work):
    start = time.thread_time()
    work()
    return time.thread_time() - start


def median(work):
    work()  # compiles
    return float(np.median([seconds(work) for _ in range(ROUNDS)]))


def moments(population, k):
    """E[p^a (1 − p)^b r^c (1 − r)^d] for a + b, c + d up to k."""
    powers = np.arange(k + 1)[:, None]
    sham = population.p_sham**powers, (1 - population.p_sham) ** powers
    destroy = population.p_destroy**powers, (1 - population.p_destroy) ** powers
    rows = {(i, x): sham[0][x] * sham[1][i - x] for i in range(k + 1) for x in range(i + 1)}
    columns = {
        (j, y): destroy[0][y] * destroy[1][j - y] for j in range(k + 1) for y in range(j + 1)
    }
    table = (np.array(list(rows.values())) * population.weights) @ np.array(
        list(columns.values())
    ).T
    return table, {s: n for n, s in enumerate(rows)}, {s: n for n, s in enumerate(columns)}


def plain_program(k, table, rows, columns):
    """Expected replays of the optimal order for score <= 0, without a minimum."""
    value = np.zeros(table.shape)
    for i in range(k, -1, -1):
        for j in range(k, -1, -1):
            for x in range(i + 1):
                for y in range(j + 1):
                    if y + k - j <= x or y > x + k - i:
                        continue
                    row, column = rows[i, x], columns[j, y]
                    mass, costs = table[row, column], []
                    if i < k:
                        after = rows[i + 1, x + 1], rows[i + 1, x]
                        p = table[after[0], column] / mass
                        costs.append(
                            p * value[after[0], column] + (1 - p) * value[after[1], column]
                        )
                    if j < k:
                        flip, stay = columns[j + 1, y + 1], columns[j + 1, y]
                        p = table[row, flip] / mass
                        costs.append(p * value[row, flip] + (1 - p) * value[row, stay])
                    value[row, column] = 1 + min(costs)
    return value[0, 0]


def report(what, peer, ours, target="-", measured="-", met=True):
    peer, ours = ("–" if t is None else f"{t * 1e3:,.1f} ms" for t in (peer, ours))
    print(ROW.format(what, peer, ours, target, measured, "met" if met else "NOT MET"))


def report_order(population, k, name, target):
    peer = median(lambda: plain_program(k, *moments(population, k)))
    ours = median(lambda: stopping_plan(k, population=population, minimum=(0, 0)))
    expected = plain_program(k, *moments(population, k))
    total = curtailment(population, k=k, minimum=(0, 0)).total
    if abs(expected - total) > 1e-6:
        raise SystemExit(f"k = {k}: {total} replays expected, by the peer {expected}")
    what = f"optimal order, k = {k}, {name}"
    if target is None:
        report(what, peer, ours, measured=f"{peer / ours:.3g}x")
    else:
        report(what, peer, ours, f"< {target} s", f"{ours:.3f} s", ours < target)


def main():
    paper = cs.Population.paper()
    few = cs.Population([0.1, 0.3, 0.7], [0.5, 0.7, 0.9])
    print(ROW.format("", "peer", "ours", "target", "measured", ""))
    for k in (10, 20):
        report_order(few, k, "3 atoms", None)
    report_order(paper, 20, "10,766 atoms", 2)
    for k in (10, 20):
        plan = stopping_plan(k, population=paper)
        ours = median(lambda plan=plan: path_shares(plan, *plan.guaranteed))
        report(f"path counting, k = {k} to {plan.guaranteed[0]}", None, ours)
    ours = median(lambda: stopping_plan(10, population=paper, changed=0.01))
    report("1 % of decisions changed, k = 10", None, ours)


if __name__ == "__main__":
    main()
