"""Benchmark: an exact p-value and an interval for each of a million questions at k = 10.

Against SciPy's exact tests and statsmodels' score interval, which take a question at a time.
Our time includes the table: what was computed before is forgotten first. Prints ratios from
interleaved rounds, and our time for the million beside the target, a second.
"""

import time

import numpy as np
from scipy.stats import barnard_exact, boschloo_exact, fisher_exact

from carve_stats.law import exact_tests, intervals

try:
    from statsmodels.stats.proportion import confint_proportions_2indep
except ImportError:
    confint_proportions_2indep = None

QUESTIONS = 1_000_000
PEER_QUESTIONS = 15
ROUNDS = 5
K = 10


def ours_test(x, y, test):
    exact_tests._exact_test.cache_clear()
    return exact_tests.exact_p_values(x, K, y, K, test=test)


def ours_interval(x, y, interval):
    intervals._table.cache_clear()
    return intervals.score_intervals(x, K, y, K, interval=interval)


def peer_test(x, y, function):
    for a, b in zip(x, y, strict=True):
        function([[a, b], [K - a, K - b]])


def peer_interval(x, y):
    for a, b in zip(x, y, strict=True):
        confint_proportions_2indep(b, K, a, K, method="score", compare="diff")


def seconds(work):
    start = time.thread_time()
    work()
    return time.thread_time() - start


def measure(ours, peer):
    """Medians of interleaved rounds, in seconds a question: the peer's and ours."""
    works = [(ours, QUESTIONS)] if peer is None else [(ours, QUESTIONS), (peer, PEER_QUESTIONS)]
    for work, _ in works:
        work()  # compiles, and loads the pages
    rounds = [[seconds(work) / n for work, n in works] for _ in range(ROUNDS)]
    return np.median(rounds, axis=0)


def main():
    rng = np.random.default_rng(0)
    x, y = rng.binomial(K, rng.random((2, QUESTIONS)))
    few = x[:PEER_QUESTIONS], y[:PEER_QUESTIONS]
    # statsmodels 0.15 raises on most of the 121 tables: on all where the rates lie far apart.
    close = np.flatnonzero((y - x >= 0) & (y - x <= 1) & (x >= 3) & (x <= 7))[:PEER_QUESTIONS]
    few_close = x[close], y[close]
    rows = [
        (test, peer.__name__, lambda t=test: ours_test(x, y, t), lambda p=peer: peer_test(*few, p))
        for test, peer in (
            ("barnard", barnard_exact),
            ("boschloo", boschloo_exact),
            ("fisher", fisher_exact),
        )
    ]
    score = confint_proportions_2indep
    rows += [
        (
            interval,
            "statsmodels score" if score else "statsmodels is not installed",
            lambda i=interval: ours_interval(x, y, i),
            (lambda: peer_interval(*few_close)) if score else None,
        )
        for interval in ("agresti-min", "chan-zhang", "miettinen-nurminen")
    ]
    print(f"{'':20} {'peer':30} {'peer / ours':>12} {'a million, ours':>16} {'target':>8}")
    for name, peer_name, ours, peer in rows:
        times = measure(ours, peer)
        ratio = f"{times[1] / times[0]:,.0f}x" if peer else "–"
        million = f"{times[0] * 1e6:.3f} s"
        print(f"{name:20} {peer_name:30} {ratio:>12} {million:>16} {'< 1 s':>8}")


if __name__ == "__main__":
    main()
