"""Benchmark: fitting a population, bounds at other budgets, and the cluster bootstrap.

Fits and bounds cost what the cells cost: counting a million questions is timed apart. The
bootstrap draws 10,000 resamples of sums over videos, six columns for both, and applies the same
function of whole arrays; of 100,000 videos SciPy draws 100 resamples and its time is scaled. Its
statistics are the tie excess, and the share of ties, which costs next to nothing: of few videos
the excess itself, and the percentiles, take a good part of our time, which is shown apart.
Prints times or ratios from interleaved rounds, beside their targets.
"""

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # ours multiplies matrices; others would be left spinning

import numpy as np
from scipy import stats

import carve_stats as cs
from carve_stats.clusters import bootstrap, percentile_interval
from carve_stats.inference.sign_excess import observe, resampled_excess, resampling_sums
from carve_stats.population.bounds import identification_bounds, sampling_bounds
from carve_stats.population.cells import budget_cells, pattern_cells
from carve_stats.population.fit import fit_cells
from carve_stats.population.fit_result import FIT_METHODS
from carve_stats.population.npmle import npmle

RESAMPLES = 10_000
SCIPY_RESAMPLES = {103: 10_000, 100_000: 100}
ROUNDS = 5
ROW = "{:46} {:>12} {:>12} {:>12} {:>10}  {}"


def seconds(work):
    start = time.thread_time()
    work()
    return time.thread_time() - start


def medians(*works):
    """Median seconds of each work, in interleaved rounds."""
    for work in works:
        work()  # compiles, and loads the pages
    return np.median([[seconds(work) for work in works] for _ in range(ROUNDS)], axis=0)


def report(what, peer, ours, measured, target, met):
    shown = ["–" if t is None else f"{t * 1e3:,.2f} ms" for t in (peer, ours)]
    print(ROW.format(what, *shown, measured, target, "met" if met else "NOT MET"))


def report_fits(questions, videos, k, to_k):
    counts = cs.Population.paper().sample(questions, k, clusters=videos, icc=0.1, rng=1)
    patterns, cells = pattern_cells(counts), budget_cells(counts, k, k)
    (fitted,) = npmle(patterns).fitted
    known = cells.share, cells.covariance, cells.n, cells.design_effect
    print(f"n = {questions:,}, k = {k}")
    for name, ours in zip(
        ("  count the cells", "  the same, and their covariance"),
        medians(lambda: pattern_cells(counts), lambda: budget_cells(counts, k, k)),
        strict=True,
    ):
        report(name, None, ours, "-", "-", True)
    works = {
        f"  fit by {method}": lambda method=method: fit_cells(patterns, method=method)
        for method in FIT_METHODS
    }
    if to_k is not None:
        to = to_k, to_k
        works |= {
            f"  identification bounds at {to_k}": lambda: identification_bounds(k, k, fitted, *to),
            f"  sampling bounds at {to_k}": lambda: sampling_bounds(k, k, *known, *to),
        }
    for name, ours in zip(works, medians(*works.values()), strict=True):
        report(name, None, ours, f"{ours:.3f} s", "< 1 s", ours < 1)


def report_bootstrap(questions, videos, target, most):
    counts = cs.Population.paper().sample(questions, 3, clusters=videos, icc=0.1, rng=1)
    data = observe(counts)
    sums = resampling_sums(data, counts.cluster_codes)
    columns = tuple(np.ascontiguousarray(column) for column in sums.T)
    repeats = SCIPY_RESAMPLES[videos]
    drawn = bootstrap(sums, lambda total: total, rng=1, resamples=RESAMPLES)
    statistics = {
        "tie excess": lambda total: resampled_excess(data, total)[:, 4],
        "share of ties": lambda total: total[:, 1] / total[:, 5],
    }
    for name, statistic in statistics.items():

        def of_columns(*resampled, axis, statistic=statistic):
            total = np.stack([column.sum(axis=axis) for column in resampled], axis=-1)
            return statistic(total.reshape(-1, len(columns))).reshape(total.shape[:-1])

        def scipy(of_columns=of_columns):
            stats.bootstrap(
                columns,
                of_columns,
                paired=True,
                vectorized=True,
                method="percentile",
                n_resamples=repeats,
                batch=min(repeats, 10_000_000 // videos),
                rng=np.random.default_rng(1),
            )

        def ours(statistic=statistic):
            resampled = bootstrap(sums, statistic, rng=1, resamples=RESAMPLES)
            percentile_interval(0.0, resampled)

        def statistic_alone(statistic=statistic):
            percentile_interval(0.0, statistic(drawn))

        peer_time, our_time, alone = medians(scipy, ours, statistic_alone)
        peer_time *= RESAMPLES / repeats
        ratio = peer_time / our_time
        report(
            f"bootstrap {name}, {questions:,} in {videos:,}",
            peer_time,
            our_time,
            f"{ratio:,.0f}x",
            f">= {target}x",
            ratio >= target and our_time < most,
        )
        report("  its statistic and percentiles alone", None, alone, "-", "-", True)


def main():
    print(ROW.format("", "SciPy", "ours", "measured", "target", ""))
    for k, to_k in ((3, 10), (10, None)):
        report_fits(1258, 103, k, to_k)
        report_fits(1_000_000, 100_000, k, to_k)
    report_bootstrap(1258, 103, 25, np.inf)
    report_bootstrap(1_000_000, 100_000, 50, 2.0)


if __name__ == "__main__":
    main()
