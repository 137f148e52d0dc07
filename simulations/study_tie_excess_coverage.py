"""Study: the cluster t interval of the tie excess covers the truth about as often as it says.

Claim. On the paper-like population with video effects, and on a homogeneous one, the coverage
of the 95 % interval of each excess of `tie_excess` lies between .92 and .98, at every budget and
number of videos of the grid. (Not claimed where a sign is rare: with a handful of questions of
that sign the interval is rough, and `tie_excess` says so.)

Acceptance. A cell is accepted when its estimate lies inside (.92, .98) by more than two
Monte-Carlo standard errors at the nearer bound, √(c(1−c)/R) with c = .92 or .98: a cell with true
coverage at a bound is then accepted with probability .023. A data set without an interval counts
as not covered.

Run `python simulations/study_tie_excess_coverage.py [R]`; exit status 1 unless every cell is
accepted. R = 2000 takes a minute; with R under 400 nothing can be accepted. `quick` in the place of
R, which CI runs, is the same 2000: fewer cannot be accepted surely.
"""

import sys

import numpy as np

import carve_stats as cs

QUICK = 2000

GRID = [(1, 1249, 103), (3, 1249, 103), (10, 1249, 103), (3, 300, 25), (3, 240, 10)]
LOWEST, HIGHEST = 0.92, 0.98
SIGNS = ("negative", "zero", "positive")


def true_excess(population, k):
    """Negative, zero and positive, from the population's own law."""
    p_sham = float(population.weights @ population.p_sham)
    p_destroy = float(population.weights @ population.p_destroy)
    homogeneous = cs.FiniteReplayLaw(p_sham, p_destroy, k=k).signs()
    return np.subtract(population.signs(k=k), homogeneous)


def coverage(population, icc, k, n, videos, repetitions, seed):
    """Share of data sets whose interval covers the truth, for each sign."""
    truth = true_excess(population, k)
    rng = np.random.default_rng(seed)
    covered = np.zeros(3)
    for _ in range(repetitions):
        counts = population.sample(n=n, k=k, clusters=videos, icc=icc, rng=rng)
        for place, interval in enumerate(cs.tie_excess(counts).excess):
            covered[place] += interval.low is not None and (
                interval.low <= truth[place] <= interval.high
            )
    return covered / repetitions


def main(repetitions=2000):
    """Print a row a cell; 0 if all of them are accepted."""
    lowest, highest = (
        bound + sign * 2 * np.sqrt(bound * (1 - bound) / repetitions)
        for bound, sign in ((LOWEST, 1), (HIGHEST, -1))
    )
    print(f"accepted where the coverage is above {lowest:.4f} and below {highest:.4f}")
    populations = {
        "paper": (cs.Population.paper(), 0.1),
        "homogeneous": (cs.Population.homogeneous(0.344, 0.642), 0.0),
    }
    accepted = True
    for name, (population, icc) in populations.items():
        for cell, (k, n, videos) in enumerate(GRID):
            shares = coverage(population, icc, k, n, videos, repetitions, seed=cell)
            good = bool(((shares > lowest) & (shares < highest)).all())
            accepted &= good
            shown = ", ".join(f"{s} {c:.3f}" for s, c in zip(SIGNS, shares, strict=True))
            print(
                f"{name:12s} k={k:<3d} n={n:<5d} videos={videos:<4d} {shown}"
                f"  {'accepted' if good else 'REJECTED'}"
            )
    return 0 if accepted else 1


if __name__ == "__main__":
    sys.exit(main(*([QUICK] if sys.argv[1:] == ["quick"] else map(int, sys.argv[1:]))))
