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


def main():
    rng = np.random.default_rng(0)
    p_sham, p_destroy = rng.random((2, QUESTIONS))
    few = slice(SCIPY_QUESTIONS)
    out = np.empty(QUESTIONS)
    print(f"{'k':>3} {'SciPy / ours':>13} {'ours / addition':>16} {'target':>8}")
    for k, target in ((3, 1.3), (10, 2.5)):
        law = cs.FiniteReplayLaw(p_sham, p_destroy, k=k)
        law.tie()  # compiles
        scipy_tie(p_sham[few], p_destroy[few], k)
        rounds = [
            (
                seconds(lambda: scipy_tie(p_sham[few], p_destroy[few], k)) / SCIPY_QUESTIONS,
                seconds(law.tie) / QUESTIONS,
                seconds(lambda: np.add(p_sham, p_destroy, out=out)) / QUESTIONS,
            )
            for _ in range(ROUNDS)
        ]
        scipy, ours, addition = np.median(rounds, axis=0)
        print(f"{k:3d} {scipy / ours:12.0f}x {ours / addition:15.2f}x {target:7.1f}x")


if __name__ == "__main__":
    main()
