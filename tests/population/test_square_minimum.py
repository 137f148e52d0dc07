"""Certified minima on the unit square, against polynomials whose minima are known."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.population._square_minimum import elevated, minimum_on_square


def exact_value(coefficients, p, q):
    """Σ c b_i(p) b_j(q) in fractions."""
    k, m = (size - 1 for size in coefficients.shape)
    return sum(
        Fraction(float(coefficients[i, j]))
        * (comb(k, i) * p**i * (1 - p) ** (k - i))
        * (comb(m, j) * q**j * (1 - q) ** (m - j))
        for i in range(k + 1)
        for j in range(m + 1)
    )


def bowl(a, b, depth):
    """(p − a)² + (q − b)² − depth, in Bernstein form of bidegree (2, 2)."""
    p = np.array([a * a, a * a - a, (1 - a) ** 2])
    q = np.array([b * b, b * b - b, (1 - b) ** 2])
    return p[:, None] + q - depth


@given(st.floats(0, 1), st.floats(0, 1), st.floats(-1, 1))
def test_minimum_of_a_bowl(a, b, depth):
    found = minimum_on_square(bowl(a, b, depth))
    assert -depth - 2e-6 <= found <= -depth


@given(st.floats(-0.5, 1.5))
def test_minimum_along_one_axis(a):
    coefficients = np.array([[a * a], [a * a - a], [(1 - a) ** 2]])
    least = min(max(a, 0.0), 1.0) - a
    assert minimum_on_square(coefficients) == pytest.approx(least**2, abs=2e-6)
    assert minimum_on_square(coefficients.T) == pytest.approx(least**2, abs=2e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 5))
def test_no_value_is_below_and_some_value_is_near(seed, k, m):
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(k + 1, m + 1))
    found = minimum_on_square(coefficients)
    for p, q in rng.integers(0, 17, (10, 2)):
        assert exact_value(coefficients, Fraction(int(p), 16), Fraction(int(q), 16)) >= found
    x = np.linspace(0, 1, 401)
    weights = [
        np.array([comb(n, i) * x**i * (1 - x) ** (n - i) for i in range(n + 1)]) for n in (k, m)
    ]
    assert found >= (weights[0].T @ coefficients @ weights[1]).min() - 1e-3


def test_a_valley_of_minima_still_ends():
    """(p − q)² is 0 along the diagonal, and at 12 more degrees no box is settled early."""
    coefficients = elevated(np.array([[0, 0, 1], [0, -0.5, 0], [1, 0, 0.0]]), 14, 14)
    assert -2e-6 <= minimum_on_square(coefficients) <= 0.0


@given(st.integers(0, 2**32 - 1))
def test_a_larger_degree_is_the_same_polynomial(seed):
    coefficients = np.random.default_rng(seed).normal(size=(3, 2))
    raised = elevated(coefficients, 5, 4)
    for p in (Fraction(0), Fraction(1, 3), Fraction(1)):
        for q in (Fraction(2, 7), Fraction(1)):
            expected = float(exact_value(coefficients, p, q))
            assert float(exact_value(raised, p, q)) == pytest.approx(expected, abs=1e-13)
