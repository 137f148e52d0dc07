"""The grid and its matrices, against fractions and another package."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import binomial
from oracles import signs as exact_signs
from scipy.stats import binom

from carve_stats.errors import InputError
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.population.grid import (
    GRID_POINTS,
    binomial_rows,
    cell_matrix,
    chebyshev_grid,
    grid_atoms,
)


@pytest.mark.parametrize("points", [2, 3, 8, 33, 61])
def test_grid_is_chebyshevs_and_its_upper_half_is_one_minus_the_lower(points):
    grid = chebyshev_grid(points)
    np.testing.assert_allclose(grid, (1 - np.cos(np.linspace(0, np.pi, points))) / 2, atol=1e-15)
    assert grid[0] == 0.0
    assert grid[-1] == 1.0
    assert (np.diff(grid) > 0).all()
    half = points // 2
    assert np.array_equal(grid[::-1][:half], 1 - grid[:half])
    assert points % 2 == 0 or grid[half] == 0.5


def test_atoms_are_all_pairs_with_sham_slow():
    p_sham, p_destroy = grid_atoms(5)
    grid = chebyshev_grid(5)
    assert [(a, b) for a in grid for b in grid] == list(zip(p_sham, p_destroy, strict=True))
    assert grid_atoms()[0].size == GRID_POINTS**2


@pytest.mark.parametrize("points", [1, 2.5])
def test_a_grid_needs_two_points(points):
    with pytest.raises(InputError, match=r"^points=.* must be a whole number of at least 2$"):
        chebyshev_grid(points)


@given(st.integers(1, 5), st.integers(1, 5), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=30)
def test_cells_are_products_of_exact_binomials(k_sham, k_destroy, p_sham, p_destroy):
    matrix = cell_matrix(k_sham, k_destroy, [p_sham, 0.5], [p_destroy, 1.0])
    assert matrix.shape == ((k_sham + 1) * (k_destroy + 1), 2)
    sham, sham_scale = binomial(k_sham, p_sham)
    destroy, destroy_scale = binomial(k_destroy, p_destroy)
    exact = [float(Fraction(a * b, sham_scale * destroy_scale)) for a in sham for b in destroy]
    np.testing.assert_allclose(matrix[:, 0], exact, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("k", [1, 10, 32, 33, 100])
def test_binomial_rows_at_every_size(k):
    grid = chebyshev_grid()
    expected = binom.pmf(np.arange(k + 1)[:, None], k, grid)
    np.testing.assert_allclose(binomial_rows(k, grid), expected, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize(("k_sham", "k_destroy"), [(3, 3), (2, 5)])
def test_signs_are_exact_and_sums_of_cells(k_sham, k_destroy):
    p_sham, p_destroy = grid_atoms(4)
    law = FiniteReplayLaw(p_sham, p_destroy, k_sham=k_sham, k_destroy=k_destroy)
    matrix = np.array(law.signs())
    for atom, pair in enumerate(zip(p_sham.tolist(), p_destroy.tolist(), strict=True)):
        exact = [float(share) for share in exact_signs(k_sham, k_destroy, *pair)]
        np.testing.assert_allclose(matrix[:, atom], exact, rtol=1e-13)
    x, y = np.divmod(np.arange((k_sham + 1) * (k_destroy + 1)), k_destroy + 1)
    numerator = y * k_sham - x * k_destroy
    cells = cell_matrix(k_sham, k_destroy, p_sham, p_destroy)
    for row, which in zip(matrix, (numerator < 0, numerator == 0, numerator > 0), strict=True):
        np.testing.assert_allclose(row, cells[which].sum(axis=0), atol=1e-14)
