"""The likelihood against a sum over questions and atoms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from carve_stats.counts import ReplayCounts
from carve_stats.population.cells import PatternCells, pattern_cells
from carve_stats.population.likelihood import observed_cells


@given(st.integers(0, 2**32), st.integers(1, 25))
@settings(max_examples=25)
def test_ragged_likelihood_is_the_sum_over_questions(seed, n):
    rng = np.random.default_rng(seed)
    k_sham, k_destroy = rng.integers(1, 5, (2, n))
    x, y = rng.binomial(k_sham, 0.4), rng.binomial(k_destroy, 0.6)
    p_sham, p_destroy, weights = rng.random(3), rng.random(4), rng.random((3, 4))
    weights /= weights.sum()
    expected = np.mean(
        [
            np.log(
                sum(
                    weights[i, j] * binom.pmf(a, ka, p_sham[i]) * binom.pmf(b, kb, p_destroy[j])
                    for i in range(3)
                    for j in range(4)
                )
            )
            for a, ka, b, kb in zip(x, k_sham, y, k_destroy, strict=True)
        ]
    )
    counts = ReplayCounts([f"q{i}" for i in range(n)], x, k_sham, y, k_destroy)
    cells = observed_cells(pattern_cells(counts))
    assert cells.log_likelihood(p_sham, p_destroy, weights) == pytest.approx(expected, rel=1e-12)


def test_what_cannot_happen_has_no_likelihood():
    cells = observed_cells([PatternCells(1, 1, np.array([0, 0, 1, 1]))])
    never = np.array([0.0])
    assert cells.log_likelihood(never, np.array([0.5]), np.ones((1, 1))) == -np.inf
