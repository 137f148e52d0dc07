"""Benchmark: tie probabilities of a million questions, against SciPy and against adding two arrays.

Prints ratios from interleaved rounds; single times mean nothing on a shared machine.
"""

import time

import numpy as np
from scipy.stats import binom

import carve_stats as cs

QUESTIONS = 1_000_000
SCIPY_QUESTIONS = 20_000
ROUNDS = 9


def scipy_tie(p_sham, p_destroy, k):
    j = np.arange(k + 1)
    return (binom.pmf(j, k, p_sham[:, None]) * binom.pmf(j, k, p_destroy[:, None])).sum(1)


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(p_sham, p_destroy, k):
    """Medians of interleaved rounds, in seconds a question: SciPy, ours, adding the arrays."""
    law = cs.FiniteReplayLaw(p_sham, p_destroy, k=k)
    few_sham, few_destroy = p_sham[:SCIPY_QUESTIONS], p_destroy[:SCIPY_QUESTIONS]
    out = np.empty(p_sham.size)
    works = [
        (lambda: scipy_tie(few_sham, few_destroy, k), SCIPY_QUESTIONS),
        (law.tie, p_sham.size),
        (lambda: np.add(p_sham, p_destroy, out=out), p_sham.size),
    ]
    for work, _ in works:
        work()  # compiles, and loads the pages
    rounds = [[seconds(work) / n for work, n in works] for _ in range(ROUNDS)]
    return np.median(rounds, axis=0)


def main():
    p_sham, p_destroy = np.random.default_rng(0).random((2, QUESTIONS))
    print(f"{'k':>3} {'SciPy / ours':>13} {'ours / addition':>16} {'target':>8}")
    for k, target in ((3, 1.3), (10, 2.5)):
        scipy, ours, addition = measure(p_sham, p_destroy, k)
        print(f"{k:3d} {scipy / ours:12.0f}x {ours / addition:15.2f}x {target:7.1f}x")


if __name__ == "__main__":
    main()
