"""Study: the test of homogeneity rejects as often as it says, and sees what tie excess cannot.

Claim. With 1,249 questions at the paper's rates, `homogeneity_test` at level .05 rejects a
homogeneous population with probability .05 ± .015, at k = 3 and k = 10. On each alternative
below, its power is at least that of the tie excess against its null standard error, and at most
.10 under that of the score triple max(z_sham, 0)² + max(z_destroy, 0)² + z_together², which
knows these kinds of heterogeneity beforehand. Theirs are referred to the homogeneous data sets.

Method. One bootstrap draw a data set: the draws of all R homogeneous data sets together are the
law that T is referred to (Giacomini, Politis and White, Econometric Theory 29, 2013). R/4 data
sets an alternative.

Acceptance. The size is accepted within .015 of .05, or within two Monte-Carlo standard errors,
√(2·.05·.95/R), if those are more: R data sets and a critical value from R draws. A power is
accepted unless it misses its bound by more than two Monte-Carlo standard errors of the paired
difference.

Run `python simulations/study_homogeneity.py [R]`; exit status 1 unless every row is accepted.
R = 2000 takes three minutes. `quick` in the place of R, which CI runs, is R = 200 and twenty
seconds: a check of the code more than of the claim.
"""

import sys

import numpy as np

import carve_stats as cs

QUICK = 200

RATES = 0.344, 0.642
QUESTIONS = 1249
LEVEL, TOLERANCE, LOSS = 0.05, 0.015, 0.10


def shrunk(share):
    """The paper-like population moved towards the rates, a share of its spread left."""
    paper = cs.Population.paper()
    arms = zip(RATES, (paper.p_sham, paper.p_destroy), strict=True)
    return cs.Population(*(rate + share * (p - rate) for rate, p in arms), paper.weights)


def shifted(sham, destroy):
    """Equally many questions at each pair of steps away from the rates."""
    return cs.Population(RATES[0] + np.array(sham), RATES[1] + np.array(destroy))


ALTERNATIVES = {
    "paper, .2 of its spread": shrunk(0.2),
    "paper, .3 of its spread": shrunk(0.3),
    "paper, .5 of its spread": shrunk(0.5),
    "SHAM ± .08": shifted([-0.08, 0.08], [0, 0]),
    "DESTROY ± .08": shifted([0, 0], [-0.08, 0.08]),
    "both ± .08, together": shifted([-0.08, 0.08], [-0.08, 0.08]),
    "both ± .08, opposite": shifted([-0.08, 0.08], [0.08, -0.08]),
    "both ± .08, independent": shifted([-0.08, -0.08, 0.08, 0.08], [-0.08, 0.08, -0.08, 0.08]),
    "no tie excess at k = 3": cs.Population([0, 1, 0, 1], [0, 1, 0.5, 0.5], [3, 3, 11, 11]),
}


def statistics(population, k, repetitions, rng):
    """Likelihood ratio, triple and tie excess of each data set, and one bootstrap draw each."""
    found, drawn = np.empty((repetitions, 3)), np.empty(repetitions)
    for place in range(repetitions):
        counts = population.sample(QUESTIONS, k, rng=rng)
        test, excess = cs.homogeneity_test(counts, resamples=1, rng=rng), cs.tie_excess(counts)
        sham, destroy, together = test.scores
        triple = max(sham, 0) ** 2 + max(destroy, 0) ** 2 + together**2
        tie = abs(excess.excess.zero.estimate) / excess.null_se.zero
        found[place] = test.statistic, triple, tie
        drawn[place] = test.null_statistics[0]
    return found, drawn


def accept_power(rejected):
    """Whether the first column's share is no less than the bounds set by the others."""
    ratio, triple, tie = rejected.T.astype(float)
    for other, loss in ((triple, LOSS), (tie, 0.0)):
        difference = ratio - other
        if difference.mean() + loss < -2 * difference.std() / np.sqrt(len(rejected)):
            return False
    return True


def main(repetitions=2000):
    """Print a row a cell; 0 if all of them are accepted."""
    allowed = max(TOLERANCE, 2 * np.sqrt(2 * LEVEL * (1 - LEVEL) / repetitions))
    print(f"size accepted within {allowed:.4f} of {LEVEL}")
    accepted = True
    for k in (3, 10):
        rng = np.random.default_rng(k)
        homogeneous = cs.Population.homogeneous(*RATES)
        found, drawn = statistics(homogeneous, k, repetitions, rng)
        critical = np.quantile(np.column_stack([drawn, found[:, 1:]]), 1 - LEVEL, axis=0)
        size = (found[:, 0] > critical[0]).mean()
        good = bool(abs(size - LEVEL) <= allowed)
        accepted &= good
        print(f"k={k:<3d} size {size:.4f}  {'accepted' if good else 'REJECTED'}")
        for name, population in ALTERNATIVES.items():
            found, _ = statistics(population, k, repetitions // 4, rng)
            rejected = found > critical
            good = accept_power(rejected)
            accepted &= good
            ratio, triple, tie = rejected.mean(axis=0)
            print(
                f"k={k:<3d} {name:24s} power {ratio:.3f}, triple {triple:.3f}, tie excess"
                f" {tie:.3f}  {'accepted' if good else 'REJECTED'}"
            )
    return 0 if accepted else 1


if __name__ == "__main__":
    sys.exit(main(*([QUICK] if sys.argv[1:] == ["quick"] else map(int, sys.argv[1:]))))
