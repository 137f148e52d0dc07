"""Temporal overlap: against sets of moments and unit cells, and by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.temporal import Overlap, temporal_overlap

ENDS = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda pair: tuple(sorted(pair)))
SIDES = st.lists(ENDS, max_size=4)
MAYBE_OPEN = st.lists(
    st.one_of(ENDS, st.integers(0, 9).map(lambda start: (start, None))), min_size=1, max_size=3
)


def points_and_cells(side, end=None):
    """The whole moments of a union and the unit cells between them."""
    closed = [(a, end if b is None else b) for a, b in side]
    return (
        {t for a, b in closed for t in range(a, b + 1)},
        {t for a, b in closed for t in range(a, b)},
    )


def by_sets(retrieved, gold, end=None):
    if not gold:
        return Overlap(None, None, None)
    (points, cells), (gold_points, gold_cells) = (
        points_and_cells(side, end) for side in (retrieved, gold)
    )
    if gold_cells:
        recall = Fraction(len(cells & gold_cells), len(gold_cells))
    else:
        recall = Fraction(len(points & gold_points), len(gold_points))
    either = cells | gold_cells
    iou = float(Fraction(len(cells & gold_cells), len(either))) if either else None
    return Overlap(bool(points & gold_points), float(recall), iou)


@given(SIDES, SIDES)
def test_equals_counting_moments_and_unit_cells(retrieved, gold):
    assert temporal_overlap(retrieved, gold) == by_sets(retrieved, gold)


@given(SIDES, SIDES, st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(retrieved, gold, random):
    again = retrieved + retrieved[:1]
    random.shuffle(again)
    assert temporal_overlap(again, gold[::-1]) == temporal_overlap(retrieved, gold)


@given(st.one_of(SIDES, MAYBE_OPEN), MAYBE_OPEN)
def test_of_an_unknown_duration_only_what_holds_at_every_one_is_said(retrieved, gold):
    result = temporal_overlap(retrieved, gold)
    latest = max(t for pair in (*retrieved, *gold) for t in pair if t is not None)
    possible = [by_sets(retrieved, gold, latest + more) for more in (0, 1, 5, 50)]
    assert {one.covered for one in possible} == {result.covered}
    for name in ("recall", "iou"):
        if getattr(result, name) is not None:
            assert {getattr(one, name) for one in possible} == {getattr(result, name)}
    if all(end is not None for _, end in gold):
        assert result.recall is not None
    if any(end is None for _, end in (*retrieved, *gold)):
        assert result.iou is None


@given(st.one_of(SIDES, MAYBE_OPEN), MAYBE_OPEN, st.integers(9, 30))
def test_a_known_duration_ends_open_intervals(retrieved, gold, end):
    assert temporal_overlap(retrieved, gold, duration=end) == by_sets(retrieved, gold, end)


@pytest.mark.parametrize(
    ("retrieved", "gold", "expected"),
    [
        ([(0, 10), (5, 20)], [(15, 25)], (True, 0.5, 0.2)),  # overlapping: counted once
        ([(0, 5)], [(5, 10)], (True, 0.0, 0.0)),  # touching
        ([(0, 4)], [(5, 10)], (False, 0.0, 0.0)),
        ([], [(5, 10)], (False, 0.0, 0.0)),  # nothing retrieved
        ([], [(5, 5)], (False, 0.0, None)),
        ([(1, 2)], [], (None, None, None)),  # nothing annotated
        (None, [(1, 2)], (None, None, None)),  # not known
        ([(1, 2)], None, (None, None, None)),
        ([(0, 10)], [(3, 3), (12, 12), (3, 3)], (True, 0.5, 0.0)),  # two moments, one retrieved
        ([(7, 7)], [(7, 7)], (True, 1.0, None)),  # no length on either side
        ([(7, 7), (8, 8)], [(0, 10)], (True, 0.0, 0.0)),  # frames cover, and have no length
        ([(12, None)], [(0, 20)], (True, 0.4, None)),
        ([(0, 20)], [(12, None)], (True, None, None)),
        ([(0, 3)], [(12, None)], (False, 0.0, None)),
        ([(40, None)], [(30, None)], (True, None, None)),  # both hold the video's last moment
    ],
)
def test_by_hand(retrieved, gold, expected):
    assert temporal_overlap(retrieved, gold) == expected


@given(SIDES, SIDES, st.integers(8, 12), st.sampled_from([0, 0.5, 0.75]))
def test_what_is_past_the_end_does_not_count(retrieved, gold, end, less):
    def within(side):
        return [(min(a, end - less), min(b, end - less)) for a, b in side]

    assert temporal_overlap(retrieved, gold, duration=end - less) == temporal_overlap(
        within(retrieved), within(gold)
    )


def test_a_start_past_the_end():
    # A duration in whole seconds may be short by less than one.
    assert temporal_overlap([(60.9, 62)], [(50, None)], duration=60) == (True, 0.0, 0.0)
    for side in ([(61, 62)], [(61, 61)], [(61, None)]):
        with pytest.raises(InputError, match=r"retrieved\[0\]=.* after the video's end at 60 s"):
            temporal_overlap(side, [(0, 1)], duration=60)


def test_times_as_long_as_floats_go():
    longest = [(0, 1e308), (1.1e308, 1.7e308)]
    assert temporal_overlap(longest, longest) == (True, 1.0, 1.0)


def test_decimals_do_not_leak():
    # 0.1 + 0.2 and the like: what is wholly retrieved has a recall of exactly 1.
    gold = [(0.1, 0.7), (1.1, 1.3)]
    assert temporal_overlap([(0.1, 0.3), (0.3, 0.7), (1.1, 1.3)], gold) == (True, 1.0, 1.0)


def test_numpy_pairs_and_generators_are_taken():
    assert temporal_overlap(np.array([[0.0, 4.0]]), (pair for pair in [[2, 6]])) == (
        True, 0.5, pytest.approx(1 / 3),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("retrieved", "said"),
    [
        ([(1, 2), (5, 3)], r"retrieved\[1\]=\(5, 3\) is reversed"),
        ([(-1, 2)], r"retrieved\[0\]=\(-1, 2\): times must be seconds of at least 0"),
        ([(0, float("nan"))], "None for an open end"),
        ([(0, float("inf"))], "None for an open end"),
        ([(None, 3)], "times must be seconds"),
        ([(True, 3)], "times must be seconds"),
        ([("1", 3)], "times must be seconds"),
        ([(1, 2, 3)], r"must be a pair \(start, end\) in seconds"),
        ((12, 30), r"retrieved\[0\]=12 must be a pair"),
        ("12-30", "must be a list of pairs"),
        (["12"], "must be a pair"),
        (5, "must be a list of pairs"),
        ([(0, 10**400)], "None for an open end"),
        ([(0, 10**5000)], r"retrieved\[0\]=<tuple>: times must be seconds"),
        ([(0, "x" * 10**6)], r"retrieved\[0\]=\(0, 'x+…x+'\): times must be seconds"),
    ],
)
def test_what_is_no_interval_is_refused(retrieved, said):
    with pytest.raises(InputError, match=said) as error:
        temporal_overlap(retrieved, [(0, 1)])
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("duration", [0, -3, float("nan"), "60", True])
def test_what_is_no_duration_is_refused(duration):
    with pytest.raises(InputError, match=r"duration=.* must be a number of seconds above 0"):
        temporal_overlap([(0, 1)], [(0, 1)], duration=duration)


def test_an_open_interval_after_the_end_is_refused():
    with pytest.raises(InputError, match=r"gold\[0\]=\(61, None\) must not start after .* 60 s"):
        temporal_overlap([], [(61, None)], duration=60)
