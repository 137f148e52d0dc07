"""Random controls against every choice there is, the published figures, and their invariances."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.routing.controls import NO_CHANCE, random_control, strata_codes
from carve_stats.routing.random_net import net_distribution

# Repaired and harmed by the published rule and not: 98 + 64, 57 + 41; 538 of 1,258 deferred.
COUNTS = [98, 64, 57, 41, 538 - 98 - 57, 1258 - 538 - 64 - 41]
VALUE = np.repeat([1, 1, -1, -1, 0, 0], COUNTS)
DEFERRED = np.repeat([1, 0, 1, 0, 1, 0], COUNTS)


def laws_of_choices(value, propensities, strata):
    """Law of the net over all choices, each stratum by itself, in fractions."""
    total = {0: Fraction(1)}
    for stratum in sorted(set(strata)):
        rows = [i for i, s in enumerate(strata) if s == stratum]
        selected = sum(propensities[i] for i in rows)
        below = math.floor(selected)
        law = {}
        for m, weight in ((below, 1 - selected + below), (below + 1, selected - below)):
            choices = list(combinations(rows, m)) if weight else []
            for chosen in choices:
                net = sum(value[i] for i in chosen)
                law[net] = law.get(net, 0) + weight / len(choices)
        wider = {}
        for (x, p), (y, q) in product(total.items(), law.items()):
            wider[x + y] = wider.get(x + y, 0) + p * q
        total = wider
    return total


questions = st.lists(
    st.tuples(
        st.sampled_from([1, 0, -1]),
        st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 3), Fraction(2, 7)]),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=9,
)


@given(questions)
@settings(max_examples=60)
def test_a_control_is_the_average_over_all_choices(rows):
    value, propensities, strata = zip(*rows, strict=True)
    exact = laws_of_choices(value, propensities, strata)
    net = sum(e * d for e, d in zip(propensities, value, strict=True))
    control = random_control(value, [float(e) for e in propensities], strata)
    mean = sum(x * p for x, p in exact.items())
    assert control.net_mean == pytest.approx(float(mean), abs=1e-12)
    assert control.mean == pytest.approx(100 * float(mean) / len(rows), abs=1e-12)
    p_value = sum(p for x, p in exact.items() if x >= net)
    assert control.p_value == pytest.approx(float(p_value), abs=1e-12)
    assert control.strata == len(set(strata))
    if calls := sum(propensities):
        assert control.yield_per_100 == pytest.approx(100 * float(mean / calls), abs=1e-10)
    # The expected number in each stratum is kept, and with it the mean.
    kept = 0
    for s in set(strata):
        values = [d for d, stratum in zip(value, strata, strict=True) if stratum == s]
        selected = sum(e for e, stratum in zip(propensities, strata, strict=True) if stratum == s)
        kept += selected * Fraction(sum(values), len(values))
    assert mean == kept


@given(questions, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_neither_row_order_nor_the_names_of_strata_change_a_bit(rows, random):
    def control(rows, names):
        value, propensities, strata = zip(*rows, strict=True)
        result = random_control(value, np.array(propensities, float), [names[s] for s in strata])
        return result.to_dict(), result.note, result.distribution.probabilities.tobytes()

    before = control(rows, [0, 1, 2])
    random.shuffle(rows)
    assert control(rows, [0, 1, 2]) == before
    assert control(rows, [17, 4, 9]) == before


def test_the_published_random_deferral():
    control = random_control(VALUE, DEFERRED)
    assert round(control.p_value, 8) == 0.04885689
    assert [round(x, 2) for x in (control.mean, control.low, control.high)] == [2.18, 0.95, 3.42]
    assert (control.net_low, control.net_high) == (12, 43)
    assert round(control.yield_per_100, 2) == 5.09
    assert (control.strata, control.note) == (1, None)
    assert control.to_dict() == {
        "mean": control.mean,
        "low": 1200 / 1258,
        "high": 4300 / 1258,
        "p_value": control.p_value,
        "net": {"mean": control.net_mean, "low": 12, "high": 43},
        "yield_per_100": control.yield_per_100,
        "strata": 1,
    }


def test_the_level_is_that_of_the_range():
    wide, narrow = (random_control(VALUE, DEFERRED, level=level) for level in (0.95, 0.5))
    assert wide.net_low < narrow.net_low < narrow.net_mean < narrow.net_high < wide.net_high


def test_a_control_in_strata_chooses_in_each_as_many_as_the_rule(rng):
    value, deferred = rng.choice([1, 0, -1], 200), rng.integers(0, 2, 200)
    videos = rng.integers(0, 25, 200)
    control = random_control(value, deferred, videos)
    table = [
        [int(np.sum(column[videos == v])) for v in range(25)]
        for column in (value == 1, value == -1, np.ones(200), deferred)
    ]
    law = net_distribution(*table)
    assert control.distribution.probabilities.tobytes() == law.probabilities.tobytes()
    assert control.p_value == law.at_least(int(value @ deferred))
    assert control.note is None


def test_a_stratum_a_question_leaves_nothing_to_chance():
    control = random_control(VALUE, DEFERRED, np.arange(VALUE.size))
    assert (control.net_low, control.net_high, control.p_value) == (41, 41, 1)
    assert control.net_mean == 41


@pytest.mark.parametrize("strata", [None, VALUE + 1])
def test_all_deferred_and_none_deferred(strata):
    every = random_control(VALUE, np.ones(1258), strata)
    assert (every.net_low, every.net_mean, every.net_high, every.p_value) == (64, 64, 64, 1)
    assert round(every.yield_per_100, 2) == 5.09
    none = random_control(VALUE, np.zeros(1258), strata)
    assert (none.net_low, none.net_mean, none.net_high, none.p_value) == (0, 0, 0, 1)
    assert math.isnan(none.yield_per_100)
    assert none.to_dict()["yield_per_100"] is None


def test_ties_split_at_random_in_one_stratum_have_a_whole_number():
    # 372 tied at 172/372 are 172 chosen among them, whatever 372 rounded numbers add up to.
    propensities = np.repeat([1.0, 172 / 372, 0.0], [366, 372, 520])
    assert sum(propensities.tolist()) != 538
    split, whole = (random_control(VALUE, e) for e in (propensities, DEFERRED))
    assert split.note is None
    assert split.distribution.probabilities.tobytes() == whole.distribution.probabilities.tobytes()
    assert split.yield_per_100 == whole.yield_per_100


def test_ties_split_between_strata_are_noted():
    control = random_control([1, 0, 1, -1], [0.5, 0.5, 0.5, 0.0], [0, 0, 1, 1])
    assert "in 1 of 2 strata (ties split at random)" in control.note
    # Stratum 0: one of (1, 0). Stratum 1: in half of the cases one of (1, −1).
    nets = dict(enumerate(control.distribution.probabilities.tolist(), control.distribution.lowest))
    assert nets == pytest.approx({-1: 1 / 8, 0: 3 / 8, 1: 3 / 8, 2: 1 / 8})
    assert control.p_value == pytest.approx(1 / 2)  # the rule's expected net is 1


def test_an_expected_net_that_is_whole_but_for_rounding_counts_as_whole():
    value, propensities = np.array([1] * 10 + [0] * 10), np.full(20, 0.1)
    for below in (0.1, np.nextafter(0.1, 0), np.nextafter(0.1, 1)):
        propensities[:10] = below  # ten of them are 0.9999999999999999 or 1.0000000000000002
        control = random_control(value, propensities)
        assert control.p_value == net_distribution(10, 0, 20, 2).at_least(1)
        assert control.yield_per_100 == 50


def test_a_fractional_expected_net_counts_nets_that_are_no_lower():
    control = random_control([1, 1, 0, 0], [0.5, 0.25, 1, 0.25])
    law = net_distribution(2, 0, 4, 2)
    assert control.p_value == law.at_least(1) == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [0, 1]), r"value\[1\]=2 must be 1, 0 or −1"),
        (([1, 0.5], [0, 1]), r"value\[1\]=0.5 must be"),
        (([1, math.nan], [0, 1]), r"value\[1\]=nan must be"),
        ((["a"], [0]), "value .* must be 1, 0 or −1"),
        (([1, 0], [0, 1.5]), r"propensities\[1\]=1.5 must be a probability"),
        (([1, 0], [0, 1, 1]), r"have shapes \(2,\), \(3,\) and \(2,\)"),
        (([1, 0], [0, 1], [0]), r"have shapes \(2,\), \(2,\) and \(1,\)"),
        (([1, 0], [0, 1], [0, -1]), r"strata\[1\]=-1 must be a whole number"),
        (([], []), "value is empty"),
        ((1, 1), "give each one entry a question"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        random_control(*arguments)


def test_a_level_that_is_none_is_refused():
    with pytest.raises(InputError, match=r"level=1\.5"):
        random_control([1, 0], [0, 1], level=1.5)


def test_strata_are_the_combinations_of_the_columns():
    videos = np.array(["b", "a", "a", "b", "a", "a"])
    share = np.array([0.5, math.nan, 0.5, 0.5, math.nan, 1.0])
    known = np.array([True, False, True, True, False, True])
    codes = strata_codes(videos, share, known)
    assert codes.tolist() == [3, 2, 0, 3, 2, 1]
    assert codes.dtype == np.int64
    assert strata_codes(videos).tolist() == [1, 0, 0, 1, 0, 0]
    assert strata_codes([], []).tolist() == []


def test_many_wide_columns_do_not_overflow():
    wide = np.arange(70_000)
    codes = strata_codes(wide, wide[::-1], wide, wide, wide)
    assert (codes == wide).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), "at least one column"),
        ((["a", "b"], ["a"]), r"column 1 has shape \(1,\) and the first \(2,\)"),
        (([["a"], ["b"]],), "give each one entry a question"),
        ((["a", "b"], np.array(["a", None], object)), "column 1 mixes types"),
    ],
)
def test_wrong_columns_are_refused(columns, message):
    with pytest.raises(InputError, match=message):
        strata_codes(*columns)


@pytest.mark.parametrize(
    ("deferred", "strata", "chance"),
    [
        ([1, 0, 1, 0], [0, 0, 0, 0], None),
        ([1, 1, 1, 1], [0, 0, 0, 0], NO_CHANCE),
        ([1, 1, 0, 0], [0, 0, 1, 1], NO_CHANCE),
        ([1, 0, 1, 0], [0, 1, 2, 3], NO_CHANCE),
        ([1, 0, 1, 1], [0, 0, 1, 1], None),
        ([1, 0, 1, 1], [0, 0, 1, 2], "nothing is left to chance in 2 of 3 strata, "),
    ],
)
def test_where_nothing_is_left_to_chance(deferred, strata, chance):
    control = random_control([1, -1, 0, 1], deferred, strata)
    assert (control.chance or "").startswith(chance or "")
    assert (control.chance is None) == (chance is None)
    assert (control.chance == NO_CHANCE) == (control.net_low == control.net_high)
    if chance == NO_CHANCE:
        assert control.p_value == 1
