"""Study: from k = 3 replays, whether the gain of `score <= 0` falls or rises towards k = 10.

Claims, at 1,249 questions in 103 videos of the paper-like population, for two fallbacks. Both are
the same but on questions whose p_destroy is the smaller or up to .35 the larger. One repairs
questions that respond a little (small positive p_destroy − p_sham): the rule gets them from wrong
signs and ties, which more replays resolve, and its gain falls. The other harms just these and
repairs those with p_destroy < p_sham, which the rule keeps: its gain rises.

1. The 95 % interval of `routing_curve` at k = 10 holds the true gain at least 95 % of the time.
2. The predicted change of the gain from k = 3 to k = 10 has the right sign at least 95 % of the
   time.

Widths of the interval and of the identified range are printed, not judged, and so is the table
of transitions of one data set of each fallback, which shows why.

Truth. The exact law of the score and the mean value, averaged over 500,000 questions drawn from
the population; its error is printed.

Acceptance. At least .95 − 2√(.95·.05/R), in each cell.

Run `python simulations/study_routing_curve.py [R]`; exit status 1 unless every claim is accepted.
R = 200 takes a few minutes on two cores. `quick` in the place of R, which CI runs, is R = 4: it
finds what is grossly wrong.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process a core, and no threads in them

import numpy as np

import carve_stats as cs

QUICK = 4

N, VIDEOS, ICC = 1249, 103, 0.1
FROM_K, TO_K = 3, 10
RULE = "score <= 0"
SMALL = 0.35
# Probabilities that a deferral repairs and harms a question, by p_destroy − p_sham: negative, zero,
# positive up to SMALL, larger. The first are near the paper's figures: 3.3 points for the rule at
# k = 3, and 5.1 for always deferring.
FALLBACKS = {
    "falls": [(0.08, 0.10), (0.08, 0.10), (0.30, 0.05), (0.10, 0.13)],
    "rises": [(0.45, 0.05), (0.15, 0.10), (0.05, 0.35), (0.10, 0.13)],
}
TRUTH_QUESTIONS = 500_000


def chances(name, drawn):
    """Probabilities of repair and harm, shape (2, n)."""
    difference = drawn.p_destroy - drawn.p_sham
    place = np.select([difference < 0, difference == 0, difference <= SMALL], [0, 1, 2], 3)
    return np.array(FALLBACKS[name])[place].T


def draw_curve(name, seed):
    """The curve of one data set."""
    rng = np.random.default_rng(seed)
    drawn = cs.Population.paper().draw(N, clusters=VIDEOS, icc=ICC, rng=rng)
    counts = drawn.replay(FROM_K, rng=rng)
    repair, harm = chances(name, drawn)
    place = rng.random(N)
    repaired, harmed = place < repair, place > 1 - harm
    original = np.where(repaired | harmed, harmed, rng.random(N) < 0.5)
    fallback = np.where(repaired | harmed, repaired, original)
    outcomes = cs.Outcomes(drawn.question, original, {"fallback": fallback})
    return cs.routing_curve(counts, outcomes, RULE, k=[FROM_K, TO_K], model="em")


def one_data_set(name, seed):
    """Both gains, the ends of the interval, the ends of the identified range."""
    made, predicted = draw_curve(name, seed).points
    gain = predicted.gain_points
    return made.gain_points.estimate, gain.estimate, gain.low, gain.high, *predicted.identified


def true_gains(name, drawn):
    """At both k, and their errors."""
    repair, harm = chances(name, drawn)
    gains, errors = [], []
    for k in (FROM_K, TO_K):
        deferred = cs.FiniteReplayLaw(drawn.p_sham, drawn.p_destroy, k=k).probability(RULE)
        net = 100 * deferred * (repair - harm)
        gains.append(net.mean())
        errors.append(net.std() / np.sqrt(len(drawn)))
    return gains, errors


def main(repetitions=200):
    """Print a row a claim; 0 if every one is accepted."""
    lowest = 0.95 - 2 * np.sqrt(0.95 * 0.05 / repetitions)
    print(f"shares accepted from {lowest:.4f}; R = {repetitions}")
    many = cs.Population.paper().draw(TRUTH_QUESTIONS, rng=0)
    accepted = True
    with ProcessPoolExecutor() as pool:
        for name in FALLBACKS:
            (before, after), errors = true_gains(name, many)
            seeds = [(1, number) for number in range(repetitions)]
            rows = np.array([*pool.map(one_data_set, repeat(name), seeds)], dtype=float)
            made, gain, low, high, least, most = rows.T
            print(
                f"\n{name}: true gain {before:.3f} at k = {FROM_K}, {after:.3f} at k = {TO_K}"
                f" (errors {errors[0]:.3f}, {errors[1]:.3f}); mean {made.mean():.3f}, and"
                f" predicted {gain.mean():.3f} (rmse {np.sqrt(((gain - after) ** 2).mean()):.3f});"
                f" mean width of the identified range {(most - least).mean():.2f}, of the interval"
                f" {(high - low).mean():.2f}; truth in the identified range"
                f" {((least <= after) & (after <= most)).mean():.3f}"
            )
            claims = {
                "interval holds the true gain": (low <= after) & (after <= high),
                "change has the right sign": np.sign(gain - made) == np.sign(after - before),
            }
            for claim, held in claims.items():
                good = bool(held.mean() >= lowest)
                accepted &= good
                print(f"{claim:29s} {held.mean():.3f}  {'accepted' if good else 'REJECTED'}")
            print(draw_curve(name, (1, 0)).transitions)
    return 0 if accepted else 1


if __name__ == "__main__":
    sys.exit(main(*([QUICK] if sys.argv[1:] == ["quick"] else map(int, sys.argv[1:]))))
