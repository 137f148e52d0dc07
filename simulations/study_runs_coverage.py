"""Study: intervals of two runs compared, and of a mean over runs, cover about as often as they say.

Claim. On the paper-like population with video effects, the coverage of the 95 % cluster t
intervals of `compare_runs` (differences of SHAM, DESTROY, mean score and sign shares between two
runs over the same questions, the second with other flip probabilities and at another k) and of
`summarize_runs` (means over three runs) lies between .92 and .98, at every number of questions and
videos of the grid. It is not claimed for 10 videos: a first grid had that cell, which was run at
R = 2000 and rejected (means over runs .931 to .940, differences .939 to .952).

The second run of a comparison answers each question at p_destroy² in the place of p_destroy, as an
operator that disturbs less would. Truth is the mean over 400,000 questions drawn from the
population; its own error is below a twentieth of the smallest standard error of the grid.

Acceptance. A cell is accepted when its estimates lie inside (.92, .98) by more than two Monte-Carlo
standard errors at the nearer bound, √(c(1−c)/R) with c = .92 or .98: a figure with true coverage at
a bound is then accepted with probability .023. A data set without an interval counts as not
covered.

Run `python simulations/study_runs_coverage.py [R]`; exit status 1 unless every cell is accepted.
R = 2000 takes two minutes; with R under 400 nothing can be accepted. `quick` in the place of R,
which CI runs, is the cell with the fewest videos at R = 2000: fewer cannot be accepted surely.
"""

import sys
from dataclasses import replace

import numpy as np

import carve_stats as cs

QUICK = 2000
GRID = [(1249, 103), (300, 25), (240, 15)]
K_A, K_B = 3, 5
LOWEST, HIGHEST = 0.92, 0.98
DIFFERENCES = ("sham", "destroy", "mean score", "negative", "zero", "positive")
MEANS = ("SHAM", "DESTROY", "mean score")


def weakened(drawn):
    """The same questions under the second operator."""
    return replace(drawn, p_destroy=drawn.p_destroy**2)


def truths(population):
    """Differences b − a and means over runs, over a very large number of questions."""
    drawn = population.draw(400_000, rng=0)
    other = weakened(drawn)
    rates = drawn.p_sham.mean(), drawn.p_destroy.mean()
    change = other.p_destroy.mean() - rates[1]
    signs = [
        np.mean(cs.FiniteReplayLaw(d.p_sham, d.p_destroy, k=K_A).signs(), axis=1)
        for d in (drawn, other)
    ]
    return [0.0, change, change, *(signs[1] - signs[0])], [*rates, rates[1] - rates[0]]


def coverage(population, n, videos, repetitions, seed):
    """Share of data sets whose interval covers the truth, for each figure."""
    rng = np.random.default_rng(seed)
    differences, means = truths(population)
    covered = np.zeros(len(DIFFERENCES) + len(MEANS))
    for _ in range(repetitions):
        drawn = population.draw(n, clusters=videos, icc=0.1, rng=rng)
        one, *more = (drawn.replay(k=K_A, rng=rng) for _ in range(3))
        compared = cs.compare_runs(one, weakened(drawn).replay(k=K_B, rng=rng))
        summary = cs.summarize_runs({"1": one, "2": more[0], "3": more[1]})
        rows = [compared.sham, compared.destroy, compared.mean_score, *compared.signs]
        rows += [summary.sham, summary.destroy, summary.mean_score]
        covered += [
            row.low is not None and row.low <= truth <= row.high
            for row, truth in zip(rows, [*differences, *means], strict=True)
        ]
    return covered / repetitions


def main(repetitions=2000, cells=None):
    """Print a row a cell; 0 if all of them are accepted."""
    lowest, highest = (
        bound + sign * 2 * np.sqrt(bound * (1 - bound) / repetitions)
        for bound, sign in ((LOWEST, 1), (HIGHEST, -1))
    )
    print(f"accepted where the coverage is above {lowest:.4f} and below {highest:.4f}")
    accepted = True
    for cell in range(len(GRID)) if cells is None else cells:
        n, videos = GRID[cell]
        shares = coverage(cs.Population.paper(), n, videos, repetitions, seed=cell)
        good = bool(((shares > lowest) & (shares < highest)).all())
        accepted &= good
        print(f"n={n} videos={videos}  {'accepted' if good else 'REJECTED'}")
        for title, names, part in (
            ("b − a", DIFFERENCES, shares[: len(DIFFERENCES)]),
            ("mean over runs", MEANS, shares[len(DIFFERENCES) :]),
        ):
            shown = ", ".join(f"{s} {c:.3f}" for s, c in zip(names, part, strict=True))
            print(f"  {title}: {shown}")
    return 0 if accepted else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["quick"]:
        sys.exit(main(QUICK, cells=[len(GRID) - 1]))
    sys.exit(main(*map(int, sys.argv[1:])))
