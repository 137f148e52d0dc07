"""The law of the net of a random choice, against enumeration, exact fractions and SciPy."""

import math
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.routing.random_net import net_distribution

PUBLISHED = 162, 98, 1258, 538
LEVELS = [0.95, 0.9, 0.5, 0.05, 0.999]


def counted_law(repairs, harms, questions, selected):
    """The exact law of one stratum: how many of the choices have each net."""
    others = questions - repairs - harms
    ways = {}
    for a in range(min(repairs, selected) + 1):
        for b in range(max(0, selected - a - others), min(harms, selected - a) + 1):
            here = comb(repairs, a) * comb(harms, b) * comb(others, selected - a - b)
            ways[a - b] = ways.get(a - b, 0) + here
    return {net: Fraction(w, comb(questions, selected)) for net, w in ways.items()}


def mixed_law(repairs, harms, questions, selected):
    """The same where `selected` is a fraction: the whole number below or above is chosen."""
    below = math.floor(selected)
    share, law = Fraction(selected) - below, {}
    for chosen, weight in ((below, 1 - share), (below + 1, share)):
        if weight:
            for net, p in counted_law(repairs, harms, questions, chosen).items():
                law[net] = law.get(net, 0) + weight * p
    return law


def exact_law(strata):
    total = {0: Fraction(1)}
    for stratum in strata:
        wider = {}
        for (x, p), (y, q) in product(total.items(), mixed_law(*stratum).items()):
            wider[x + y] = wider.get(x + y, 0) + p * q
        total = wider
    return total


def exact_moments(exact):
    mean = sum(net * p for net, p in exact.items())
    return mean, sum((net - mean) ** 2 * p for net, p in exact.items())


def by_net(law):
    return {law.lowest + i: p for i, p in enumerate(law.probabilities.tolist()) if p}


def relative_error(p, exact):
    return float(abs(Fraction(p) - exact) / exact)


def assert_is(law, exact, *, rounding):
    """Every probability is right but for rounding and for no more than `trimmed`."""
    kept = by_net(law)
    assert kept.keys() <= exact.keys()
    for net, p in kept.items():
        assert abs(Fraction(p) - exact[net]) <= exact[net] * Fraction(rounding) + Fraction(
            law.trimmed
        )
    left_out = sum(p for net, p in exact.items() if net not in kept)
    assert left_out <= Fraction(law.trimmed)
    mean, var = exact_moments(exact)
    assert law.mean == pytest.approx(float(mean), rel=1e-13, abs=1e-13)
    assert law.var == pytest.approx(float(var), rel=1e-12, abs=1e-13)


@st.composite
def strata(draw, most=9):
    repairs, harms = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    questions = repairs + harms + draw(st.integers(0, 4))
    quarters = draw(st.integers(0, 4 * questions) | st.integers(0, questions).map(lambda m: 4 * m))
    return repairs, harms, questions, quarters / 4


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def test_counted_laws_are_those_of_all_choices():
    value = [1, 1, 1, -1, -1, 0, 0]
    for selected in range(8):
        nets = [sum(chosen) for chosen in combinations(value, selected)]
        law = {net: Fraction(nets.count(net), len(nets)) for net in set(nets)}
        assert counted_law(3, 2, 7, selected) == law


def test_every_small_stratum_is_exact_but_for_rounding():
    shapes = [
        (repairs, harms, n, m)
        for n in range(8)
        for repairs in range(n + 1)
        for harms in range(n + 1 - repairs)
        for m in range(n + 1)
    ]
    assert len(shapes) > 700
    for shape in shapes:
        law = net_distribution(*shape)
        assert law.trimmed == 0
        exact = counted_law(*shape)
        assert by_net(law).keys() == exact.keys()
        assert max(relative_error(p, exact[net]) for net, p in by_net(law).items()) < 3e-16


@pytest.mark.parametrize(
    "shape",
    [
        (9, 7, 32, 11),  # the last size whose binomial laws are whole numbers over a power of two
        (9, 7, 33, 11),
        (9, 7, 33, 32),
        (20, 13, 33, 20),  # nothing but repairs and harms: every other net is impossible
        (40, 35, 76, 50),
        (0, 98, 1258, 538),
        (162, 0, 1258, 1200),
        (98, 162, 1258, 1),
        PUBLISHED,
        (700, 557, 1258, 720),
    ],
)
def test_larger_strata_keep_their_relative_accuracy(shape):
    law = net_distribution(*shape)
    assert_is(law, counted_law(*shape), rounding=2e-14)
    assert law.trimmed < 1e-29


def test_a_law_agrees_with_scipy():
    repairs, harms, n, m = 25, 18, 200, 77
    cells = np.array([(a, b) for a in range(26) for b in range(19)])
    counts = np.column_stack([cells, m - cells.sum(axis=1)])
    p = scipy.stats.multivariate_hypergeom.pmf(counts, [repairs, harms, n - 43], m)
    expected = np.bincount(cells[:, 0] - cells[:, 1] + harms, weights=p)
    law = net_distribution(repairs, harms, n, m)
    ours = np.zeros_like(expected)
    ours[law.lowest + harms :][: law.probabilities.size] = law.probabilities
    assert ours == pytest.approx(expected, rel=1e-9, abs=1e-28)


def test_without_harms_the_net_is_hypergeometric():
    law = net_distribution(60, 0, 5000, 1900)
    expected = scipy.stats.hypergeom(5000, 60, 1900)
    nets = np.arange(law.lowest, law.highest + 1)
    assert law.probabilities == pytest.approx(expected.pmf(nets), rel=1e-9)
    assert law.at_least(30) == pytest.approx(expected.sf(29), rel=1e-9)


def test_exchanging_repairs_and_harms_mirrors_the_law():
    law, mirrored = net_distribution(40, 25, 300, 90), net_distribution(25, 40, 300, 90)
    assert (mirrored.lowest, mirrored.highest) == (-law.highest, -law.lowest)
    assert mirrored.probabilities[::-1] == pytest.approx(law.probabilities, rel=1e-13)


@given(st.lists(strata(), min_size=1, max_size=5))
@settings(max_examples=60)
def test_strata_add_up_to_their_convolution(rows):
    law = net_distribution(*columns(rows))
    assert_is(law, exact_law(rows), rounding=3e-15)
    assert law.trimmed == 0


@given(st.lists(strata(), min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_the_strata_changes_nothing(rows, random):
    one = net_distribution(*columns(rows))
    random.shuffle(rows)
    other = net_distribution(*columns(rows))
    assert one.probabilities.tobytes() == other.probabilities.tobytes()
    assert (one.lowest, one.mean, one.var) == (other.lowest, other.mean, other.var)


@pytest.mark.parametrize("times", [60, 61])
def test_many_strata_keep_their_relative_accuracy_and_bound_what_they_trim(times):
    # The generating function of the counts, at a power of two: its power holds all the counts.
    shape = 3, 2, 10, 4
    law, bits = counted_law(*shape), 10 * times
    ways = {net: int(p * comb(10, 4)) for net, p in law.items()}
    power = sum(w << bits * (net + 2) for net, w in ways.items()) ** times
    exact = {}
    for place in range(5 * times + 1):
        count = power >> bits * place & (1 << bits) - 1
        if count:
            exact[place - 2 * times] = Fraction(count, comb(10, 4) ** times)
    assert sum(exact.values()) == 1
    total = net_distribution(3, 2, [10] * times, 4)
    assert 0 < total.trimmed < 1e-29
    assert total.probabilities.size < len(exact)
    assert_is(total, exact, rounding=1e-14)


def test_two_strata_are_not_the_one_that_they_merge_into():
    one, two = net_distribution(4, 0, 8, 4), net_distribution([4, 0], 0, [4, 4], [2, 2])
    assert one.mean == two.mean == 2
    assert (one.var, two.var) == (pytest.approx(4 / 7), 0)
    assert by_net(two) == {2: 1}


def test_the_published_random_deferral():
    law = net_distribution(*PUBLISHED)
    exact = counted_law(*PUBLISHED)
    p_value = float(sum(p for net, p in exact.items() if net >= 41))
    assert law.at_least(41) == pytest.approx(p_value, rel=1e-14)
    assert round(p_value, 8) == 0.04885689
    assert round(100 * law.mean / 1258, 2) == 2.18
    low, high = law.central_range(0.95)
    assert (low, high) == (12, 43)
    assert [round(100 * net / 1258, 2) for net in (low, high)] == [0.95, 3.42]
    mean_value = 64 / 1258
    assert law.mean == pytest.approx(538 * mean_value, rel=1e-15)
    spread = 260 / 1258 - mean_value**2
    assert law.var == pytest.approx(538 * spread * (1258 - 538) / 1257, rel=1e-14)


@pytest.mark.parametrize(("repairs", "harms", "p_value"), [(156, 92, 0.045), (167, 103, 0.052)])
def test_other_totals_that_the_published_range_allows(repairs, harms, p_value):
    law = net_distribution(repairs, harms, 1258, 538)
    assert round(law.at_least(41), 3) == p_value
    assert [round(100 * net / 1258, 2) for net in law.central_range()] == [0.95, 3.42]


@pytest.mark.parametrize("questions", [5, 40, 1258])
def test_choosing_none_or_all_leaves_nothing_to_chance(questions):
    for selected, net in ((0, 0), (questions, 2)):
        law = net_distribution(3, 1, questions, selected)
        assert by_net(law) == {net: 1}
        assert (law.mean, law.trimmed) == (pytest.approx(net), 0)
        assert law.var == pytest.approx(0, abs=1e-12)
        assert (law.at_least(net), law.at_least(net + 1)) == (1, 0)
        assert law.central_range() == (net, net)


def test_a_stratum_without_questions_adds_nothing():
    assert by_net(net_distribution([0, 1], 0, [0, 2], [0, 1])) == {0: 0.5, 1: 0.5}


@pytest.mark.parametrize(
    ("net", "choices"),  # of 66: 10 have net 1, 10 have net −1
    [(-9, 66), (-1, 66), (-0.5, 56), (0, 56), (Fraction(1, 10**30), 10), (1, 10), (1.01, 0)],
)
def test_a_fractional_net_counts_as_the_whole_number_above(net, choices):
    assert net_distribution(1, 1, 12, 2).at_least(net) == pytest.approx(choices / 66, rel=1e-15)


@pytest.mark.parametrize("shape", [(3, 2, 10, 4), (20, 13, 33, 20), (1, 0, 40, 1), (0, 1, 40, 1)])
def test_tails_and_quantiles_are_those_of_the_exact_law(shape):
    # The last two have P(net = ±1) = .025: which side of .95 that is on, rounding must not say.
    law, exact = net_distribution(*shape), counted_law(*shape)
    nets = range(min(exact) - 1, max(exact) + 2)
    up_to = {x: sum(p for net, p in exact.items() if net <= x) for x in nets}
    for x in nets:
        assert law.at_least(x) == pytest.approx(float(1 - up_to[x] + exact.get(x, 0)), rel=1e-14)
    for level in LEVELS:
        quantiles = [(1 + sign * Fraction(str(level))) / 2 for sign in (-1, 1)]
        expected = tuple(min(x for x in nets if up_to[x] >= q) for q in quantiles)
        assert law.central_range(level) == expected


def test_a_net_beyond_what_was_kept_has_the_bound_as_its_p_value():
    law = net_distribution(*PUBLISHED)
    beyond = law.at_least(law.highest + 1)
    exact = sum(p for net, p in counted_law(*PUBLISHED).items() if net > law.highest)
    assert exact <= Fraction(beyond)
    assert beyond == law.trimmed < 1e-29


def test_probabilities_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        net_distribution(1, 1, 4, 2).probabilities[0] = 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (2, 1, 2, 1),
            "stratum 0: repairs=2 and harms=1 must together be at most its questions, 2",
        ),
        (([1, 1], 0, [1, 0], 0), "stratum 1: repairs=1 and harms=0"),
        ((1, 1, 4, [2, 5]), "stratum 1: selected=5 must lie between 0 and its questions, 4"),
        ((1, 1, 4, math.nan), "stratum 0: selected=nan must lie"),
        ((1, 1, 4, -1), "stratum 0: selected=-1 must lie"),
        ((1.5, 1, 4, 2), "repairs=1.5 must be a whole number of at least 0"),
        ((1, -1, 4, 2), "harms=-1 must be a whole number of at least 0"),
        (([1, 1], 1, [4, 4, 4], 2), r"have shapes \(2,\), \(\), \(3,\), \(\)"),
        (([], [], [], []), "questions is empty"),
        ((1, 1, 4, "two"), "selected"),
    ],
)
def test_wrong_numbers_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        net_distribution(*arguments)


@pytest.mark.parametrize(("level", "net"), [(1.0, 0), (0.0, 0), (math.nan, 0), (0.9, math.nan)])
def test_a_level_or_net_that_is_none_is_refused(level, net):
    law = net_distribution(1, 1, 4, 2)
    with pytest.raises(InputError, match=r"^(level|net)="):
        (law.central_range(level), law.at_least(net))
