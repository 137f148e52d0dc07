"""Certified maxima of polynomials in Bernstein form."""

from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from carve_stats._kernels.bernstein import peaks_at_half, supremum

POLYNOMIALS = st.lists(st.integers(0, 64), min_size=1, max_size=9)  # coefficients in 64ths
HALF = Fraction(1, 2)


def value(coefficients, t):
    """The polynomial at t, in exact fractions, from its definition."""
    degree = len(coefficients) - 1
    return sum(
        b * comb(degree, s) * t**s * (1 - t) ** (degree - s) for s, b in enumerate(coefficients)
    )


def highest(coefficients):
    """The maximum over [0, 1], from below by less than 1e-25, and exact at 0, ½ and 1.

    SymPy isolates the roots of the derivative between fractions.
    """
    t = sympy.Symbol("t")
    derivative = sympy.Poly(value([sympy.Rational(b) for b in coefficients], t), t).diff(t)
    points = [Fraction(0), HALF, Fraction(1)]
    if derivative.degree() > 0:
        for (low, high), _ in derivative.intervals(eps=sympy.Rational(1, 10**25), inf=0, sup=1):
            points += [Fraction(int(e.p), int(e.q)) for e in (low, high)]
    return max(value(coefficients, point) for point in points)


def as_fractions(sixty_fourths):
    return [Fraction(b, 64) for b in sixty_fourths]


def as_floats(fractions):
    return np.array([float(b) for b in fractions])


@settings(max_examples=50)
@given(POLYNOMIALS)
@example([0, 64, 0, 64, 0])  # slope and curvature vanish at the maximum
@example([0, 0, 0, 0])
@example([7])
@example([0, 0, 64, 56])  # where Newton's step from the largest coefficient leaves [0, 1]
@example([64, 0, 0, 0, 64, 0, 0, 0, 64])
def test_the_bounds_enclose_the_maximum_and_only_rounding_separates_them(sixty_fourths):
    coefficients = as_fractions(sixty_fourths)
    lower, upper = supremum(as_floats(coefficients), np.nan, 0.0)
    maximum = highest(coefficients)
    assert Fraction(lower) <= maximum <= Fraction(upper)
    assert upper - lower <= 1e-13 * upper


@settings(max_examples=50)
@given(POLYNOMIALS, st.integers(1, 63))
def test_it_stops_once_it_knows_on_which_side_of_a_number_the_maximum_is(sixty_fourths, bar):
    coefficients = as_fractions(sixty_fourths)
    enough = bar / 64 + 1e-6
    lower, upper = supremum(as_floats(coefficients), enough, 0.0)
    maximum = highest(coefficients)
    assert Fraction(lower) <= maximum <= Fraction(upper)
    assert lower > enough if maximum > Fraction(enough) else upper <= enough


@settings(max_examples=50)
@given(POLYNOMIALS)
def test_a_tolerance_is_kept(sixty_fourths):
    coefficients = as_fractions(sixty_fourths)
    lower, upper = supremum(as_floats(coefficients), np.nan, 1 / 16)
    assert Fraction(lower) <= highest(coefficients) <= Fraction(upper)
    assert upper - lower <= 1 / 16


@pytest.mark.parametrize(("degree", "s"), [(7, 3), (20, 1), (60, 29), (200, 150)])
def test_one_basis_polynomial_is_highest_at_its_share(degree, s):
    coefficients = np.zeros(degree + 1)
    coefficients[s] = 1.0
    lower, upper = supremum(coefficients, np.nan, 0.0)
    share = Fraction(s, degree)
    maximum = comb(degree, s) * share**s * (1 - share) ** (degree - s)
    assert Fraction(lower) <= maximum <= Fraction(upper)
    assert upper - lower <= 5e-13 * upper


def test_small_maxima_are_as_accurate_as_large_ones():
    large = np.array([0.25, 0.75, 0.0, 0.5, 0.125])
    scale = 2.0**-900
    assert supremum(large * scale, np.nan, 0.0) == tuple(
        bound * scale for bound in supremum(large, np.nan, 0.0)
    )


def test_correct_rounding_of_the_coefficients_is_in_the_bounds():
    coefficients = [Fraction(s * (13 - s), 3**4) for s in range(13)]  # none is a double
    lower, upper = supremum(as_floats(coefficients), np.nan, 0.0)
    maximum = highest(coefficients)
    assert Fraction(lower) <= maximum <= Fraction(upper)


def vanishing_derivatives(coefficients):
    """How many derivatives vanish at ½, from the first on, by repeated differences."""
    differences, order = coefficients, -1
    while True:
        differences = [b - a for a, b in pairwise(differences)]
        order += 1
        if not differences or value(differences, HALF) != 0:
            return order


@settings(max_examples=50)
@given(st.lists(st.integers(0, 64), min_size=2, max_size=5), st.booleans())
@example([0, 64, 0], False)  # flat to the third order at ½
@example([10, 0, 64, 0], False)  # a hill at ½
@example([64, 0, 0, 50], True)  # a lower hill at ½ than at the ends
def test_a_symmetric_polynomial_is_known_to_peak_at_half_exactly_when_it_does(half, doubled):
    coefficients = as_fractions(half + half[::-1][0 if doubled else 1 :])
    flat = vanishing_derivatives(coefficients)
    certain = peaks_at_half(as_floats(coefficients), flat)
    at_half = value(coefficients, HALF)
    elsewhere = max(value(coefficients, Fraction(i, 40)) for i in range(20))
    assert certain == (highest(coefficients) == at_half) or elsewhere == at_half


@pytest.mark.parametrize(
    ("sixty_fourths", "certain"),
    [
        ([0, 0, 64, 0, 0], True),
        ([0, 24, 32, 20, 8], True),
        ([8, 64, 0, 40, 56], False),  # a hill elsewhere
        ([0, 64, 0, 64, 0], True),  # flat to the third order
        ([0, 16, 64, 0, 0, 64, 16, 0], False),  # a valley
        ([60, 0, 0, 0, 64, 0, 0, 0, 60], False),  # a hill, and higher ends
        ([64, 0, 64], False),
        ([0, 64, 0, 64], False),  # a saddle
        ([5, 5, 5], True),
    ],
)
def test_peaks_at_half(sixty_fourths, certain):
    coefficients = as_fractions(sixty_fourths)
    flat = vanishing_derivatives(coefficients)
    assert flat >= 1
    assert peaks_at_half(as_floats(coefficients), flat) is certain
    assert certain == (highest(coefficients) == value(coefficients, HALF))
