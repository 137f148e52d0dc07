"""Study: the cluster t interval of the tie excess covers the truth as often as it says.

Claim. On the paper-like population with video effects, and on a homogeneous one, the 95 %
interval of `tie_excess` covers the population's tie excess in at least 92 % of data sets, at
every budget and number of videos of the grid.

Acceptance. With R data sets a cell the coverage has a Monte-Carlo standard error of
√(.95·.05/R). A cell is rejected where the estimate is below .92 by more than two of them.

Run `python simulations/study_tie_excess_coverage.py [R]`; exit status 1 if a cell is rejected.
"""

import sys

import numpy as np

import carve_stats as cs

GRID = [(3, 1249, 103), (10, 1249, 103), (3, 300, 25)]


def true_excess(population, k):
    rates = (
        float(np.sum(population.weights * population.p_sham)),
        float(np.sum(population.weights * population.p_destroy)),
    )
    return population.signs(k=k).zero - cs.FiniteReplayLaw(*rates, k=k).tie()


def coverage(population, icc, k, n, videos, repetitions, seed):
    truth = true_excess(population, k)
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(repetitions):
        counts = population.sample(n=n, k=k, clusters=videos, icc=icc, rng=rng)
        interval = cs.tie_excess(counts).excess.zero
        covered += interval.low <= truth <= interval.high
    return covered / repetitions


def main(repetitions=400):
    error = np.sqrt(0.95 * 0.05 / repetitions)
    rejected = 0
    populations = {
        "paper": (cs.Population.paper(), 0.1),
        "homogeneous": (cs.Population.homogeneous(0.344, 0.642), 0.0),
    }
    for name, (population, icc) in populations.items():
        for cell, (k, n, videos) in enumerate(GRID):
            share = coverage(population, icc, k, n, videos, repetitions, seed=cell)
            bad = share < 0.92 - 2 * error
            rejected += bad
            print(
                f"{name:12s} k={k:<3d} n={n:<5d} videos={videos:<4d} coverage {share:.3f}"
                f" ± {error:.3f}  {'REJECTED' if bad else 'accepted'}"
            )
    return 1 if rejected else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
