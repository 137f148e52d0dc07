"""Study: the intervals of a monitored run hold at all times together as often as they say.

Claim. The 95 % intervals of `monitor_mean_score`, looked at after every video, all cover the mean
score with probability at least .95, at 1,249 questions, k = 3, in 103 and 25 videos: on the
paper-like population with video effects, on a homogeneous one (which can have none), and where
only one flip in fifty comes, all in DESTROY. The same in a fixed set of videos that come in random
order, for the mean score of that set.

Truth. The population's mean score; in the fixed set, the mean of the drawn p_destroy − p_sham.

Acceptance. A cell is accepted when its share of paths that cover throughout is at least .95 less
two Monte-Carlo standard errors. Also printed: the mean width at the end, against that of the
cluster t interval, which holds at that one time only.

Run `python simulations/study_monitoring.py [R]`; exit status 1 unless every cell is accepted.
R = 2000 (Monte-Carlo error .005) takes a minute on two cores; `quick` in its place is R = 500.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process a core, and no threads in them

import numpy as np

import carve_stats as cs

QUICK = 500

N, K, LEVEL = 1249, 3, 0.95
BATCH = 50
POPULATIONS = {
    "paper": (cs.Population.paper(), 0.1),
    "homogeneous": (cs.Population.homogeneous(0.344, 0.642), 0.0),
    "rare": (cs.Population.homogeneous(0.0, 0.02), 0.0),
    "fixed set": (cs.Population.paper(), 0.1),
}


def batch(name, videos, seed):
    """Whether each path covers throughout, its last width, and that of the t interval."""
    (population, icc), rng = POPULATIONS[name], np.random.default_rng(seed)
    truth = float(population.weights @ (population.p_destroy - population.p_sham))
    found = np.empty((BATCH, 3))
    for row in found:
        drawn = population.draw(N, clusters=videos, icc=icc, rng=rng)
        counts = drawn.replay(K, rng=rng)
        order = rng.permutation(np.unique(counts.cluster))
        if name == "fixed set":
            truth = float((drawn.p_destroy - drawn.p_sham).mean())
        watch, fixed = cs.monitor_mean_score(counts, order=order), cs.mean_score(counts)
        covered = (watch.path.low <= truth) & (truth <= watch.path.high)
        row[:] = covered.all(), watch.high - watch.low, fixed.high - fixed.low
    return found


def main(repetitions=2000):
    """Print a row a cell; 0 if all of them are accepted."""
    error = np.sqrt(LEVEL * (1 - LEVEL) / repetitions)
    lowest = LEVEL - 2 * error
    print(f"accepted where the coverage is at least {lowest:.4f}; R = {repetitions}")
    accepted = True
    with ProcessPoolExecutor() as pool:
        for cell, (name, videos) in enumerate((p, v) for p in POPULATIONS for v in (103, 25)):
            seeds = [(cell, number) for number in range(-(-repetitions // BATCH))]
            found = np.concatenate([*pool.map(batch, repeat(name), repeat(videos), seeds)])
            coverage, width, fixed = found[:repetitions].mean(axis=0)
            good = bool(coverage >= lowest)
            accepted &= good
            print(
                f"{name:11s} videos={videos:<4d} coverage {coverage:.4f}, width {width:.4f} at the"
                f" end, {width / fixed:.2f} times the t interval's"
                f"  {'accepted' if good else 'REJECTED'}"
            )
    return 0 if accepted else 1


if __name__ == "__main__":
    sys.exit(main(QUICK) if sys.argv[1:] == ["quick"] else main(*map(int, sys.argv[1:])))
