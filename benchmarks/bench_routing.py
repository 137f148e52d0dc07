"""Benchmark: the exact law of random deferral, against simulating it.

The peers choose questions at random 10,000 times, by NumPy's hypergeometric generator: how many
questions with a value, and how many of these are repairs, in all strata at once; of a million
questions in 100,000 videos they do it 10 times and their time is scaled. For one stratum there
is also SciPy's multivariate hypergeometric law at every cell. Both get the numbers of each
stratum; what it takes to make them from the questions is shown apart. To simulate one
stratum costs two random numbers a draw, whatever its size: no target there. Prints ratios from
interleaved rounds, beside their targets.
"""

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from scipy import stats

from carve_stats.routing.controls import random_control
from carve_stats.routing.random_net import net_distribution

DRAWS = 10_000
ROUNDS = 5
ROW = "{:46} {:>14} {:>12} {:>10} {:>10}  {}"


def seconds(work):
    start = time.thread_time()
    work()
    return time.thread_time() - start


def medians(*works):
    """Median seconds of each work, in interleaved rounds."""
    for work in works:
        work()  # compiles, and loads the pages
    return np.median([[seconds(work) for work in works] for _ in range(ROUNDS)], axis=0)


def report(what, peer, ours, target, met, measured="-"):
    shown = ["–" if t is None else f"{t * 1e3:,.2f} ms" for t in (peer, ours)]
    print(ROW.format(what, *shown, measured, target, "met" if met else "NOT MET"))


def report_ratio(what, peer, ours, target):
    ratio = peer / ours
    wanted = "-" if target is None else f">= {target}x"
    report(what, peer, ours, wanted, target is None or ratio >= target, f"{ratio:,.3g}x")


def simulate(repairs, harms, questions, selected, draws):
    """The net of so many choices at random."""
    rng = np.random.default_rng(1)
    valued = repairs + harms
    shape = draws, valued.size
    chosen = rng.hypergeometric(valued, questions - valued, selected, shape)
    return (2 * rng.hypergeometric(repairs, harms, chosen) - chosen).sum(axis=1)


def scipy_law(repairs, harms, questions, selected):
    a, b = np.indices((repairs + 1, harms + 1)).reshape(2, -1)
    counts = np.column_stack([a, b, selected - a - b])
    totals = [repairs, harms, questions - repairs - harms]
    p = stats.multivariate_hypergeom.pmf(counts, totals, selected)
    return np.bincount(a - b + harms, weights=p)


def report_control(questions, videos, draws, target):
    rng = np.random.default_rng(1)
    value = rng.choice([1, -1, 0], questions, p=[0.13, 0.08, 0.79])
    propensities = (rng.random(questions) < 0.43).astype(float)
    strata = rng.integers(0, videos, questions)
    table = [
        np.bincount(strata[rows], minlength=videos)
        for rows in (value == 1, value == -1, value < 2, propensities == 1)
    ]
    name = f"{questions:,} in {videos:,}"
    peer, ours, whole = medians(
        lambda: simulate(*table, draws),
        lambda: net_distribution(*table),
        lambda: random_control(value, propensities, strata),
    )
    peer *= DRAWS / draws
    report_ratio(f"law, {name}: simulated", peer, ours, target)
    report("  control from the questions", None, whole, "< 1 s", whole < 1, f"{whole:.4f} s")


def report_plain(repairs, harms, questions, selected, target):
    table = repairs, harms, questions, selected
    peer, ours = medians(lambda: scipy_law(*table), lambda: net_distribution(*table))
    report_ratio(f"law, {questions:,} in 1: SciPy's", peer, ours, target)


def main():
    print(ROW.format("", "peer", "ours", "measured", "target", ""))
    report_plain(162, 98, 1258, 538, 10)
    report_control(1258, 1, DRAWS, None)
    report_control(1258, 103, DRAWS, 50)
    report_control(1_000_000, 1, DRAWS, None)
    report_control(1_000_000, 100_000, 10, 50)


if __name__ == "__main__":
    main()
