"""Subsampling against every way to keep some of the replays."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import relative_error
from oracles import subsampled_signs as enumerated
from scipy.stats import hypergeom

from carve_stats.errors import InputError
from carve_stats.law.finite_replay import FiniteReplayLaw
from carve_stats.law.subsampling import subsampled_flips, subsampled_signs


def test_reference_value():
    # The project's METHODS reference values: (4, 6) at k = 10 -> 3.
    shares = subsampled_signs(10, 10, 3, 3)
    assert [float(s[4, 6]) for s in shares] == [13 / 90, 14 / 45, 49 / 90]


@pytest.mark.parametrize("budget", [(4, 4, 2, 2), (5, 3, 2, 3), (3, 5, 1, 4), (6, 4, 4, 2)])
def test_every_table(budget):
    shares = subsampled_signs(*budget)
    for x in range(budget[0] + 1):
        for y in range(budget[1] + 1):
            exact = enumerated(x, y, *budget)
            assert [float(s[x, y]) for s in shares] == [float(e) for e in exact]


@pytest.mark.parametrize(("k", "to_k"), [(1, 1), (5, 2), (10, 3), (40, 20)])
def test_flips_are_hypergeometric(k, to_k):
    table = subsampled_flips(k, to_k)
    for x in range(k + 1):
        np.testing.assert_allclose(
            table[x], hypergeom.pmf(np.arange(to_k + 1), k, x, to_k), rtol=1e-12
        )
    with pytest.raises(InputError, match=f"to_k={k + 1} must not exceed k={k}"):
        subsampled_flips(k, k + 1)


def test_nothing_left_out_is_the_table_itself():
    shares = subsampled_signs(4, 6, 4, 6)
    x, y = np.arange(5)[:, None], np.arange(7)
    assert np.array_equal(shares.negative, y * 4 < x * 6)
    assert np.array_equal(shares.zero, y * 4 == x * 6)


@given(st.tuples(st.integers(1, 8), st.integers(1, 8)), st.data())
@settings(max_examples=30)
def test_unbiased_for_the_signs_at_the_smaller_budget(made, data):
    kept = tuple(data.draw(st.integers(1, k)) for k in made)
    p_sham, p_destroy = data.draw(st.floats(0, 1)), data.draw(st.floats(0, 1))

    def binomial(k, p):
        return np.array([comb(k, j) * p**j * (1 - p) ** (k - j) for j in range(k + 1)])

    tables = np.outer(binomial(made[0], p_sham), binomial(made[1], p_destroy))
    smaller = FiniteReplayLaw(p_sham, p_destroy, k_sham=kept[0], k_destroy=kept[1]).signs()
    for share, expected in zip(subsampled_signs(*made, *kept), smaller, strict=True):
        assert (tables * share).sum() == pytest.approx(expected, abs=1e-13)


def test_budgets_whose_subsets_outgrow_64_bits():
    shares = subsampled_signs(100, 90, 50, 45)

    def kept(k, to_k, x):
        # comb(n, r) is 0 for r > n, as it should be here.
        return [
            Fraction(comb(x, j) * comb(k - x, to_k - j), comb(k, to_k)) for j in range(to_k + 1)
        ]

    sham, destroy = kept(100, 50, 37), kept(90, 45, 40)
    tie = sum(sham[10 * i] * destroy[9 * i] for i in range(6))
    assert relative_error(shares.zero[37, 40], tie) < 1e-14
    assert np.allclose(sum(shares), 1.0, rtol=1e-13)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (
            (3, 3, 4, 3),
            "to_k_sham=4 must not exceed k_sham=3: subsampling cannot add replays",
        ),
        (
            (3, 3, 3, 5),
            "to_k_destroy=5 must not exceed k_destroy=3: subsampling cannot add replays",
        ),
        ((3, 3, 0, 1), "to_k_sham=0 must be a whole number of at least 1"),
        ((3, [3], 1, 1), "k_destroy is an array: give one whole number"),
    ],
)
def test_refusals(budget, message):
    with pytest.raises(InputError) as refusal:
        subsampled_signs(*budget)
    assert str(refusal.value) == message


def test_very_many_replays_are_refused_at_once():
    with pytest.raises(InputError, match="2147483647 replays of a question are too many"):
        subsampled_flips(2**31 - 1, 3)
