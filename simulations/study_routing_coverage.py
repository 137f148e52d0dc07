"""Study: the intervals of a rule's gain and yield cover the truth as often as they say.

Claim. With 1,249 questions and k = 3 on the paper-like population with video effects, the 95 %
intervals of gain and yield of `evaluate_rule` cover what the rule gains in other videos between
.93 and .97 of the time: Student's t at 103 and 25 videos, the bootstrap at 103, each for the rules
`score <= 0`, `score < 0` and `always`. What a deferral is worth goes with p_destroy − p_sham, and
with the video: net repairs of a question have an intraclass correlation of about .03.

Truth. The exact law of the score and the mean value, averaged over 500,000 questions drawn
from the population; its error is printed, and is below 1 % of a standard error at 103 videos.

Acceptance. A cell is accepted when its estimate lies inside (.93, .97) by more than two
Monte-Carlo standard errors at the nearer bound, √(c(1−c)/R) with c = .93 or .97. A data set
without an interval counts as not covered.

Run `python simulations/study_routing_coverage.py [R]`; exit status 1 unless every cell is accepted.
R = 4000 (Monte-Carlo error .0034) takes a few minutes on two cores; with R under 460 nothing can be
accepted. `quick` in the place of R, which CI runs, is R = 200, and a cell is accepted unless its
estimate lies more than two Monte-Carlo standard errors outside the bounds: it finds what is
grossly wrong.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process a core, and no threads in them

import numpy as np

import carve_stats as cs

QUICK = 200

N, K, ICC = 1249, 3, 0.1
RULES = ("score <= 0", "score < 0", "always")
FIGURES = ("gain_points", "yield_per_100")
GRID = [("t", 103), ("t", 25), ("bootstrap", 103)]
LOWEST, HIGHEST = 0.93, 0.97
SHIFT = 0.16  # of a video: the value of its questions is up to this much more or less
TRUTH_QUESTIONS = 500_000
BATCH = 50


def chances(p_sham, p_destroy):
    """Probabilities that a deferral repairs and harms a question, in the mean of all videos."""
    small = (p_sham < p_destroy) & (p_destroy < p_sham + 0.35)
    return np.where(small, 0.30, 0.13), np.where(small, 0.09, 0.13)


def draw_data_set(population, videos, rng):
    """Counts and outcomes."""
    drawn = population.draw(N, clusters=videos, icc=ICC, rng=rng)
    counts = drawn.replay(K, rng=rng)
    repaired, harmed = chances(drawn.p_sham, drawn.p_destroy)
    _, video = np.unique(drawn.cluster, return_inverse=True)
    shift = rng.uniform(-SHIFT / 2, SHIFT / 2, videos)[video]
    place = rng.random(N)
    repaired, harmed = place < repaired + shift, place > 1 - harmed + shift
    original = np.where(repaired | harmed, harmed, rng.random(N) < 0.5)
    fallback = np.where(repaired | harmed, repaired, original)
    return counts, cs.Outcomes(drawn.question, original, {"fallback": fallback})


def true_figures(population):
    """Gain and yield of each rule, and their errors, shape (2, rules, figures)."""
    drawn = population.draw(TRUTH_QUESTIONS, rng=0)
    repaired, harmed = chances(drawn.p_sham, drawn.p_destroy)
    law = cs.FiniteReplayLaw(drawn.p_sham, drawn.p_destroy, k=K)
    figures, errors = [], []
    for rule in RULES:
        deferred = np.ones(len(drawn)) if rule == "always" else law.probability(rule)
        net = deferred * (repaired - harmed)
        share, gain = deferred.mean(), net.mean()
        figures.append((100 * gain, 100 * gain / share))
        spreads = net.std(), (net - gain / share * deferred).std() / share
        errors.append(100 * np.array(spreads) / np.sqrt(TRUTH_QUESTIONS))
    return np.array([figures, errors])


def batch(method, videos, seed):
    """Estimates, and both ends of their intervals, shape (BATCH, rules, figures, 3)."""
    population, rng = cs.Population.paper(), np.random.default_rng(seed)
    found = np.full((BATCH, len(RULES), len(FIGURES), 3), np.nan)
    for one in found:
        counts, outcomes = draw_data_set(population, videos, rng)
        for row, rule in zip(one, RULES, strict=True):
            result = cs.evaluate_rule(counts, outcomes, rule, interval=method, rng=rng)
            for place, figure in enumerate(FIGURES):
                estimate = getattr(result, figure)
                row[place] = np.array([estimate.estimate, estimate.low, estimate.high], dtype=float)
    return found


def main(repetitions=4000, *, margin=2):
    """Print a row a cell; 0 if all of them are accepted."""
    lowest, highest = (
        bound + sign * margin * np.sqrt(bound * (1 - bound) / repetitions)
        for bound, sign in ((LOWEST, 1), (HIGHEST, -1))
    )
    error = np.sqrt(0.95 * 0.05 / repetitions)
    print(
        f"accepted where the coverage is above {lowest:.4f} and below {highest:.4f};"
        f" R = {repetitions}, Monte-Carlo error {error:.4f}"
    )
    truth, truth_error = true_figures(cs.Population.paper())
    accepted = True
    with ProcessPoolExecutor() as pool:
        for cell, (method, videos) in enumerate(GRID):
            seeds = [(cell, number) for number in range(-(-repetitions // BATCH))]
            found = np.concatenate([*pool.map(batch, repeat(method), repeat(videos), seeds)])
            estimate, low, high = np.moveaxis(found[:repetitions], -1, 0)
            shares = ((low <= truth) & (truth <= high)).mean(axis=0)
            for i, j in np.ndindex(shares.shape):
                good = bool(lowest < shares[i, j] < highest)
                accepted &= good
                print(
                    f"{method:9s} videos={videos:<4d} {RULES[i]:10s} {FIGURES[j]:13s} coverage"
                    f" {shares[i, j]:.4f} truth {truth[i, j]:6.3f} (error"
                    f" {truth_error[i, j]:.3f}), mean {estimate[:, i, j].mean():6.3f}, standard"
                    f" error {estimate[:, i, j].std():.3f}  {'accepted' if good else 'REJECTED'}"
                )
    return 0 if accepted else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["quick"]:
        sys.exit(main(QUICK, margin=-2))
    sys.exit(main(*map(int, sys.argv[1:])))
