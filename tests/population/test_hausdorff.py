"""Bounds from tie rates alone: closed forms for one and two, populations' own ties, refusals."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.population.hausdorff import tie_rate_bounds
from carve_stats.population.mixing import Population

POPULATIONS = {
    "paper": Population.paper(),
    "homogeneous": Population.homogeneous(0.344, 0.642),
    "mixed": Population([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0], [3, 11, 11, 3]),
    "all ties": Population.homogeneous(0.0, 0.0),
    "no ties": Population.homogeneous(0.0, 1.0),
}


@cache
def ties(name):
    """A population's tie rates at 1 to 20 replays."""
    return [POPULATIONS[name].signs(k).zero for k in range(1, 21)]


@given(st.floats(0, 1), st.integers(2, 40))
@settings(max_examples=15)
def test_one_rate_leaves_its_power_and_itself(rate, k):
    assert tie_rate_bounds([rate], k) == pytest.approx((rate**k, rate), abs=1e-6)


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.integers(3, 40))
@settings(max_examples=15)
def test_two_rates_leave_the_principal_representations(first, between, k):
    """Karlin and Studden: atoms at 0 and one more point below, at 1 and one more above."""
    second = first**2 + between * (first - first**2)
    low = first * (second / first) ** (k - 1)
    atom = (first - second) / (1 - first)
    weight = (first - atom) / (1 - atom)
    high = weight + (1 - weight) * atom**k
    assert tie_rate_bounds([first, second], k) == pytest.approx((low, high), abs=1e-5)


@pytest.mark.parametrize("known", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("name", POPULATIONS)
def test_bounds_contain_the_populations_own_ties(name, known):
    rates = ties(name)
    for k in (known + 1, 20):
        low, high = tie_rate_bounds(rates[:known], k)
        assert low - 1e-9 <= rates[k - 1] <= high + 1e-9


def test_more_rates_leave_less_open():
    rates = ties("paper")
    widths = [np.ptp(tie_rate_bounds(rates[:known], 20)) for known in (1, 2, 3, 5, 8, 10)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.01 * widths[0]


def test_rounded_rates_need_their_error():
    exact = ties("paper")[:4]
    rounded = np.round(exact, 3)
    low, high = tie_rate_bounds(rounded, 10, error=0.0005)
    sharp = tie_rate_bounds(exact, 10)
    assert low < sharp[0] < sharp[1] < high
    assert tie_rate_bounds(rounded, 10, error=0.05)[1] > high + 0.02


@pytest.mark.parametrize(
    "rates",
    [[0.3, 0.31], [0.3, 0.08], [0.5, 0.3, 0.1], [0.5, 0.25, 0.24]],
    ids=["rising", "below the square", "falling faster", "past the one atom"],
)
def test_rates_of_no_population_are_refused(rates):
    with pytest.raises(InputError, match=r"tie rates of no population.*give the error"):
        tie_rate_bounds(rates, 6)
    assert tie_rate_bounds(rates, 6, error=0.2)[0] >= 0.0


@pytest.mark.parametrize(
    ("rates", "k", "error", "message"),
    [
        ([], 3, 0.0, "ties must be tie rates"),
        ([1.1], 3, 0.0, "ties must be tie rates"),
        ([np.nan], 3, 0.0, "ties must be tie rates"),
        ([0.5, 0.4], 2, 0.0, "k=2 must be from 3 to 100"),
        ([0.5, 0.4], 101, 0.0, "k=101 must be from 3 to 100"),
        ([0.5, 0.4], 3, -0.1, "error=-0.1 must be at least 0"),
    ],
)
def test_wrong_arguments(rates, k, error, message):
    with pytest.raises(InputError, match=message):
        tie_rate_bounds(rates, k, error=error)
