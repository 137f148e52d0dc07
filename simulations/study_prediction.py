"""Study: what k = 3 replays say about k = 5 and k = 10.

Claims, at n = 1,249 questions, on four truths: the paper-like population, the same without its
insensitive part, a homogeneous one, and a discrete one of ten atoms that the published sign
shares at both budgets fit exactly.

1. The 95 % interval of `predict_signs` covers the true share of every sign at least 95 % of the
   time, and its mean width exceeds the widths of METHODS by no more than 15 %.
2. The worst root-mean-square error of the point prediction at k = 10 over the four truths is at
   most .0185, .017 and .0195 for negative, zero and positive.

Acceptance. Coverage: at least .95 − 2√(.95·.05/R). Error: at most the bound plus two
Monte-Carlo standard errors of the RMSE, √(Var e²/R)/(2·RMSE). Width: the mean is compared as it
is; its Monte-Carlo error is below 1 %.

Run `python simulations/study_prediction.py [R]`; exit status 1 unless every claim is accepted.
R = 200 takes twenty minutes on two cores. `quick` in the place of R, which CI runs, is R = 6 and
finds what is grossly wrong.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process a core, and no threads in them

import numpy as np

import carve_stats as cs

QUICK = 6

N, VIDEOS, FROM_K = 1249, 103, 3
SIGNS = ("negative", "zero", "positive")
ERRORS = (0.0185, 0.017, 0.0195)
# Mean widths at n = 1,249 that are not to be exceeded by more than 15 %.
WIDTHS = {
    ("paper", 10): (0.12, 0.145, 0.17),
    ("discrete", 10): (0.10, 0.125, 0.145),
    ("homogeneous", 10): (0.04, 0.03, 0.05),
    ("paper", 5): (0.06, 0.09, 0.09),
}

# Ten atoms (p_sham, p_destroy, weight) whose signs are the published ones at k = 3 and k = 10.
DISCRETE = """
0.0006852326227130834 0.08066471602728797 0.09351995786659428
0.0006852326227130834 0.2276804824924864 0.03245080543729275
0.0006852326227130834 0.9993147673772869 0.08532453041257218
0.06698729810778065 0.0006852326227130834 0.0319464199431734
0.18533980447508125 0.0006852326227130834 0.028988467052284497
0.18533980447508125 0.6791839747726501 0.25042189912521606
0.3208160252273498 0.8146601955249186 0.1652570184612942
0.6791839747726501 0.8345653031794289 0.10256228124138561
0.7938926261462365 0.7499999999999999 0.19779491845255176
0.9993147673772869 0.0006852326227130834 0.011733702007635337
"""


def copula_only():
    """The paper-like population without an insensitive part, over the paper's strata."""
    shares = np.array([275, 293, 245, 436]) / 1249
    rates = [(0.215, 0.668), (0.281, 0.606), (0.420, 0.612), (0.424, 0.666)]
    parts = [cs.Population.beta(s, 2.139, d, 1.154, correlation=0.525) for s, d in rates]
    return cs.Population(
        np.concatenate([part.p_sham for part in parts]),
        np.concatenate([part.p_destroy for part in parts]),
        np.concatenate([w * part.weights for w, part in zip(shares, parts, strict=True)]),
    )


def truths():
    """Name to population and the share of variance that is the videos'."""
    atoms = np.array([line.split() for line in DISCRETE.split("\n") if line], dtype=float)
    return {
        "paper": (cs.Population.paper(), 0.1),
        "copula only": (copula_only(), 0.0),
        "homogeneous": (cs.Population.homogeneous(0.344, 0.642), 0.0),
        "discrete": (cs.Population(*atoms.T), 0.0),
    }


def one_data_set(name, k, seed):
    """Point error, whether each interval covers, and its width."""
    population, icc = truths()[name]
    truth = np.array(population.signs(k=k))
    counts = population.sample(
        n=N, k=FROM_K, clusters=VIDEOS, icc=icc, rng=np.random.default_rng(seed)
    )
    prediction = cs.predict_signs(counts, k=k, model="em")
    low, high = np.array(prediction.interval).T
    return np.array(prediction.point) - truth, (low <= truth) & (truth <= high), high - low


def main(repetitions=200):
    """Print a row a cell; 0 if every claim is accepted."""
    lowest = 0.95 - 2 * np.sqrt(0.95 * 0.05 / repetitions)
    print(f"coverage accepted from {lowest:.4f}; R = {repetitions}")
    accepted, errors = True, []
    with ProcessPoolExecutor() as pool:
        for k in (5, 10):
            for name in truths():
                seeds = [(k, number) for number in range(repetitions)]
                rows = pool.map(one_data_set, repeat(name), repeat(k), seeds, chunksize=4)
                error, covered, width = map(np.array, zip(*rows, strict=True))
                coverage, widths = covered.mean(0), width.mean(0)
                good = bool((coverage >= lowest).all())
                limit = WIDTHS.get((name, k))
                if limit is not None:
                    good &= bool((widths <= 1.15 * np.array(limit)).all())
                accepted &= good
                rmse = np.sqrt((error**2).mean(0))
                spread = (error**2).std(0) / np.sqrt(repetitions) / (2 * rmse)
                if k == 10:
                    errors.append((rmse, spread))
                print(
                    f"3 -> {k:<3d} {name:12s} coverage {coverage.round(3)} width {widths.round(3)}"
                    f" rmse {rmse.round(4)}  {'accepted' if good else 'REJECTED'}"
                )
    for place, sign in enumerate(SIGNS):
        rmse, spread = max((r[place], s[place]) for r, s in errors)
        good = rmse <= ERRORS[place] + 2 * spread
        accepted &= bool(good)
        print(
            f"worst rmse {sign:8s} {rmse:.4f} (Monte-Carlo error {spread:.4f}), bound"
            f" {ERRORS[place]}  {'accepted' if good else 'REJECTED'}"
        )
    return 0 if accepted else 1


if __name__ == "__main__":
    sys.exit(main(*([QUICK] if sys.argv[1:] == ["quick"] else map(int, sys.argv[1:]))))
