"""Exact tests against exact fractions, SymPy, SciPy, published values and their own symmetries."""

from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import comb

import numpy as np
import pytest
import scipy.stats
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.law.exact_tests import (
    ALTERNATIVES,
    TESTS,
    TWO_SIDED,
    exact_p_values,
    exact_test,
)

HALF = Fraction(1, 2)
MIRROR = {"two-sided": "two-sided", "greater": "less", "less": "greater"}


def p_value(x, m, y, n, **options):
    return exact_test(m, n, **options).p_values[x, y]


# --- an oracle that shares nothing with the code: fractions, from the definitions


def tables(m, n):
    return list(product(range(m + 1), range(n + 1)))


def ways(m, n, x, y):
    return comb(m, x) * comb(n, y)


def fisher(m, n, x, y, alternative):
    """Fisher's p-value: a sum over the tables with as many flips in all."""
    s = x + y
    same = [(a, b) for a, b in tables(m, n) if a + b == s]
    if alternative == "two-sided":
        extreme = [t for t in same if ways(m, n, *t) <= ways(m, n, x, y)]
    elif alternative == "greater":
        extreme = [t for t in same if t[1] >= y]
    else:
        extreme = [t for t in same if t[1] <= y]
    return Fraction(sum(ways(m, n, *t) for t in extreme), comb(m + n, s))


def z_squared(m, n, x, y, test):
    """The signed square of z, and infinity where the standard error is 0."""
    a, b = Fraction(x, m), Fraction(y, n)
    if test == "barnard":
        pooled = Fraction(x + y, m + n)
        variance = pooled * (1 - pooled) * (Fraction(1, m) + Fraction(1, n))
    else:
        variance = a * (1 - a) / m + b * (1 - b) / n
    if a == b:
        return Fraction(0)
    sign = 1 if b > a else -1
    return sign * (b - a) ** 2 / variance if variance else sign * float("inf")


def extremeness(m, n, x, y, test, alternative):
    if test == "boschloo":
        return -fisher(m, n, x, y, alternative)
    z = z_squared(m, n, x, y, test)
    return {"two-sided": abs(z), "greater": z, "less": -z}[alternative]


@cache
def largest(tail):
    """The largest Σ c_s π^s (1 − π)^(N − s), from below by < 1e-25; and whether it is at ½."""
    t, degree = sympy.Symbol("t"), len(tail) - 1

    def chance(p):
        return sum(c * p**s * (1 - p) ** (degree - s) for s, c in enumerate(tail))

    derivative = sympy.Poly(sympy.expand(chance(t)), t).diff(t)
    points = [Fraction(0), Fraction(1)]
    if derivative.degree() > 0:
        for (low, high), _ in derivative.intervals(eps=sympy.Rational(1, 10**25), inf=0, sup=1):
            points += [Fraction(int(e.p), int(e.q)) for e in (low, high)]
    maximum = max(chance(point) for point in points)
    return max(maximum, chance(HALF)), maximum <= chance(HALF)


def null_tail(m, n, x, y, test, alternative):
    here = extremeness(m, n, x, y, test, alternative)
    tail = [0] * (m + n + 1)
    for a, b in tables(m, n):
        if extremeness(m, n, a, b, test, alternative) >= here:
            tail[a + b] += ways(m, n, a, b)
    return tuple(tail)


@pytest.mark.parametrize("test", ["barnard", "barnard-unpooled", "boschloo"])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 3), (3, 2), (3, 3), (4, 4), (2, 5)])
def test_p_values_are_the_certified_maximum_over_the_nuisance_parameter(m, n, test):
    for alternative in ALTERNATIVES:
        result = exact_test(m, n, test=test, alternative=alternative)
        for x, y in tables(m, n):
            p, lower = result.p_values[x, y], result.lower[x, y]
            maximum, at_half = largest(null_tail(m, n, x, y, test, alternative))
            if at_half:
                assert p == lower == float(maximum)  # which rounds to nearest
            else:
                assert Fraction(lower) <= maximum <= Fraction(p)
                assert p - lower <= 1e-13


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (4, 4), (7, 5), (10, 10)])
def test_fisher_is_the_correctly_rounded_fraction(m, n):
    for alternative in ALTERNATIVES:
        result = exact_test(m, n, test="fisher", alternative=alternative)
        expected = [
            [float(fisher(m, n, x, y, alternative)) for y in range(n + 1)] for x in range(m + 1)
        ]
        assert result.p_values.tolist() == result.lower.tolist() == expected


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(("m", "n"), [(3, 3), (2, 5), (6, 6)])
def test_doubling_takes_twice_the_smaller_one_sided_p_value(m, n, test):
    doubled = exact_test(m, n, test=test, two_sided="doubling")
    one_sided = [exact_test(m, n, test=test, alternative=a) for a in ("greater", "less")]
    for x, y in tables(m, n):
        smaller = min(side.p_values[x, y] for side in one_sided)
        assert doubled.p_values[x, y] == min(1.0, 2 * smaller)


# --- values from elsewhere


def test_a_maximum_that_a_search_can_miss():
    """7/15 v 12/15: supremum 0.0682183093231946 (the project's METHODS); SciPy prints 0.0681534."""
    result = exact_test(15, 15)
    assert result.lower[7, 12] <= 0.0682183093231946 <= result.p_values[7, 12]
    assert result.p_values[7, 12] == pytest.approx(0.0682183093231946, abs=1e-14)


def test_equal_statistics_that_floats_tell_apart():
    """2/6 v 5/7 and 4/6 v 2/7 have opposite z, and SciPy 1.17 says .2549 where both count.

    The maximum is at ½, where every one of the 8192 outcomes is equally probable.
    """
    for test in ("barnard", "barnard-unpooled"):
        assert z_squared(6, 7, 2, 5, test) == -z_squared(6, 7, 4, 2, test)
    assert p_value(2, 6, 5, 7) == p_value(4, 6, 2, 7) == 2228 / 8192


def test_maxima_at_one_half_are_exact():
    """1/1 v 1/3 by |z| is exactly 1/2, and 0/3 v 3/3 exactly 1/32."""
    for test in ("barnard", "barnard-unpooled", "boschloo"):
        assert p_value(0, 3, 3, 3, test=test) == 1 / 32
        assert p_value(0, 3, 3, 3, test=test, alternative="greater") == 1 / 64
        assert p_value(0, 12, 12, 12, test=test) == 2.0**-23
    for test in ("barnard", "barnard-unpooled"):
        assert p_value(1, 1, 1, 3, test=test) == 0.5
        assert p_value(0, 1, 3, 3, test=test) == 1 / 8  # flat to the third order there


def test_published_p_values():
    """Vaccine trial, 7/15 v 12/15 (Mehta and Senchaudhuri, *Conditional versus unconditional
    exact tests for comparing two binomials*, 2003): Barnard .0341, Fisher .0641, one-sided.
    """
    assert p_value(7, 15, 12, 15, alternative="greater") == pytest.approx(0.0341, abs=5e-5)
    fishers = p_value(7, 15, 12, 15, test="fisher", alternative="greater")
    assert fishers == pytest.approx(0.0641, abs=5e-5)


SCIPY_CASES = [(0, 4, 3, 5), (1, 5, 4, 4), (2, 6, 4, 7), (3, 8, 1, 6)]


@pytest.mark.parametrize(("x", "m", "y", "n"), SCIPY_CASES)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_scipy_agrees_where_its_floats_do_not_tie(x, m, y, n, alternative):
    """SciPy samples the nuisance parameter: its maximum is at most ours, and near it."""
    table = [[x, y], [m - x, n - y]]
    theirs = MIRROR[alternative]  # SciPy's difference is the first arm less the second
    for test, pooled in (("barnard", True), ("barnard-unpooled", False)):
        peer = scipy.stats.barnard_exact(table, theirs, pooled=pooled, n=64).pvalue
        assert p_value(x, m, y, n, test=test, alternative=alternative) == pytest.approx(
            peer, abs=1e-9
        )
    peer = scipy.stats.boschloo_exact(table, theirs, n=64).pvalue
    ours = p_value(x, m, y, n, test="boschloo", alternative=alternative, two_sided="doubling")
    assert ours == pytest.approx(peer, abs=1e-9)
    peer = scipy.stats.fisher_exact(table, theirs).pvalue
    ours = p_value(x, m, y, n, test="fisher", alternative=alternative)
    assert ours == pytest.approx(peer, rel=1e-12)


# --- properties


@given(
    st.integers(0, 8),
    st.integers(0, 8),
    st.sampled_from(TESTS),
    st.sampled_from(ALTERNATIVES),
    st.sampled_from(TWO_SIDED),
)
@settings(max_examples=60)
def test_exchanging_arms_or_flips_keeps_every_bit(m, n, test, alternative, two_sided):
    options = {"test": test, "two_sided": two_sided}
    here = exact_test(m, n, alternative=alternative, **options)
    arms = exact_test(n, m, alternative=MIRROR[alternative], **options)
    flips = exact_test(m, n, alternative=MIRROR[alternative], **options)
    for name in ("p_values", "lower"):
        table = getattr(here, name)
        np.testing.assert_array_equal(table, getattr(arms, name).T, strict=True)
        np.testing.assert_array_equal(table, getattr(flips, name)[::-1, ::-1], strict=True)


@given(
    st.integers(0, 7),
    st.integers(0, 7),
    st.sampled_from(TESTS),
    st.sampled_from(ALTERNATIVES),
    st.sampled_from(TWO_SIDED),
)
@settings(max_examples=60)
def test_every_table_is_finite_and_its_bounds_are_close(m, n, test, alternative, two_sided):
    result = exact_test(m, n, test=test, alternative=alternative, two_sided=two_sided)
    assert result.p_values.shape == result.lower.shape == (m + 1, n + 1)
    assert (result.lower <= result.p_values).all()
    assert (result.p_values - result.lower <= 1e-12).all()
    assert (result.lower > 0).all()
    assert (result.p_values <= 1).all()
    assert result.p_values[0, 0] == result.p_values[m, n] == 1
    if m == 0 or n == 0:
        assert (result.p_values == 1).all()


@pytest.mark.parametrize("test", ["barnard", "barnard-unpooled", "boschloo"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("m", "n"), [(5, 5), (12, 9), (4, 19)])
def test_a_less_extreme_table_never_has_a_smaller_p_value(m, n, alternative, test):
    result = exact_test(m, n, test=test, alternative=alternative)
    ordered = sorted(
        (-extremeness(m, n, x, y, test, alternative), result.p_values[x, y], result.lower[x, y])
        for x, y in tables(m, n)
    )
    for (key, p, lower), (next_key, next_p, next_lower) in pairwise(ordered):
        assert p <= next_p
        assert lower <= next_lower
        assert key < next_key or (p, lower) == (next_p, next_lower)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("two_sided", TWO_SIDED)
def test_no_test_rejects_more_often_than_its_level(test, alternative, two_sided):
    p = np.linspace(0, 1, 201)
    for m, n in product(range(1, 7), repeat=2):
        result = exact_test(m, n, test=test, alternative=alternative, two_sided=two_sided)
        sham = scipy.stats.binom.pmf(np.arange(m + 1)[:, None], m, p)
        destroy = scipy.stats.binom.pmf(np.arange(n + 1)[:, None], n, p)
        for level in (0.01, 0.05, 0.2, 0.5):
            size = np.einsum("xp,xy,yp->p", sham, result.rejects(level), destroy)
            assert size.max() <= level * (1 + 1e-12)


def test_boschloo_is_never_above_fisher_one_sided():
    for alternative in ("greater", "less"):
        boschloo = exact_test(9, 7, test="boschloo", alternative=alternative)
        fishers = exact_test(9, 7, test="fisher", alternative=alternative)
        assert (boschloo.lower <= fishers.p_values).all()
        assert (boschloo.p_values < fishers.p_values - 1e-3).any()


# --- questions


def test_questions_of_mixed_budgets_look_their_table_up(rng):
    m, n = rng.integers(0, 5, (2, 300))
    x, y = rng.integers(0, m + 1), rng.integers(0, n + 1)
    found = exact_p_values(x, m, y, n, test="boschloo", alternative="less")
    for i in range(300):
        expected = p_value(x[i], m[i], y[i], n[i], test="boschloo", alternative="less")
        assert found[i] == expected
    shape = (20, 15)
    square = exact_p_values(*(v.reshape(shape) for v in (x, m, y, n)), test="fisher")
    assert square.shape == shape
    assert exact_p_values([], [], [], []).shape == (0,)


def test_one_question_gives_a_float_and_counts_broadcast():
    found = exact_p_values(0, 3, 3, 3)
    assert isinstance(found, float)
    assert found == 1 / 32
    assert exact_p_values([[0], [3]], 3, [0, 3], 3).tolist() == [[1, 1 / 32], [1 / 32, 1]]
    assert exact_p_values(0, 0, 2, 3) == exact_p_values(2, 3, 0, 0) == 1


def test_the_table_is_kept_and_cannot_be_changed():
    result = exact_test(2, 3)
    assert exact_test(np.int64(2), 3.0, test="barnard") is result
    for table in (result.p_values, result.lower):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 0] = 0.0


def test_rejection_is_p_at_most_the_level():
    result = exact_test(3, 3)
    assert result.rejects(1 / 32).sum() == 2
    assert result.rejects(np.nextafter(1 / 32, 0)).sum() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact_test(3.5, 3), "k_sham=3.5 must be a whole number of at least 0"),
        (lambda: exact_test(3, -1), "k_destroy=-1 must be a whole number of at least 0"),
        (
            lambda: exact_test(3, 3, test="barnards"),
            "unknown test 'barnards': the known ones are barnard, barnard-unpooled, boschloo, "
            "fisher; did you mean 'barnard'?",
        ),
        (
            lambda: exact_test(3, 3, alternative="more"),
            "unknown alternative 'more': the known ones are two-sided, greater, less",
        ),
        (
            lambda: exact_p_values([], [], [], [], two_sided="double"),
            "unknown two_sided 'double': the known ones are statistic, doubling; "
            "did you mean 'doubling'?",
        ),
        (
            lambda: exact_p_values([1, 4], 3, 2, 3),
            "sham_flips=4 of question 1 must not exceed sham_replays=3",
        ),
        (
            lambda: exact_p_values([1, 3], 3, 2, [3, 1]),
            "destroy_flips=2 of question 1 must not exceed destroy_replays=1",
        ),
        (
            lambda: exact_p_values([1, 2], 3, [1, 2, 3], 3),
            "the shapes do not broadcast together: sham_flips (2,), sham_replays (), "
            "destroy_flips (3,), destroy_replays ()",
        ),
        (lambda: exact_p_values(-1, 3, 2, 3), "sham_flips=-1 must be a whole number of at least 0"),
        (
            lambda: exact_test(3, 3).rejects(5),
            "significance=5.0 must lie between 0 and 1, such as .05",
        ),
    ],
)
def test_wrong_input_is_refused_in_one_line(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


def test_very_many_replays_are_refused_at_once():
    for call in (lambda: exact_test(10_000, 10), lambda: exact_p_values(1, 10_000, 1, 10)):
        with pytest.raises(InputError, match="110011 outcomes"):
            call()


def test_a_test_shows_itself_on_one_line():
    assert repr(exact_test(3, 4, alternative="less")) == (
        "<ExactTest barnard, less, k_sham=3, k_destroy=4, smallest p-value 0.00839>"
    )


def test_an_empty_arm_is_answered_at_once_however_large_the_other():
    assert exact_p_values([0, 0, 3], [0, 3, 3], [5, 0, 0], [10**8, 0, 3]).tolist() == [1, 1, 1 / 32]


def test_names_are_texts_and_counts_have_no_masks():
    with pytest.raises(InputError, match="unknown test"):
        exact_test(3, 3, test=np.array(["barnard", "fisher"]))
    with pytest.raises(InputError, match="sham_flips has masked entries"):
        exact_p_values(np.ma.array([0, 2], mask=[0, 1]), 3, 3, 3)
