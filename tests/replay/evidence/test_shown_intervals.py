"""Which part of a video an interval shows, and at which moments: exact, and for all intervals."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.replay.evidence.intervals import ZERO_LENGTH, shown_interval, spread_times


@pytest.mark.parametrize(
    ("start", "end", "seconds", "policy", "expected"),
    [
        # A moment in the middle, near an end, at an end; the span is kept.
        (30, 30, 60, "10s", (25, 35)),
        (30, None, 60, "10s", (25, 35)),
        (5, 5, 60, "10s", (0, 10)),
        (4.75, 4.75, 60, "10s", (0, 10)),
        (2, 2, 60, "10s", (0, 10)),
        (0, 0, 60, "10s", (0, 10)),
        (55, 55, 60, "10s", (50, 60)),
        (58, 58, 60, "10s", (50, 60)),
        (60, 60, 60, "10s", (50, 60)),
        (0, 0, 60, "1s", (0, 1)),
        (0.25, 0.25, 60, "1s", (0, 1)),
        (12, 12, 60, "1s", (11.5, 12.5)),
        (59.75, 59.75, 60, "1s", (59, 60)),
        (60, 60, 60, "1s", (59, 60)),
        # Videos as long as the span, or shorter.
        (3, 3, 10, "10s", (0, 10)),
        (3, 3, 7.5, "10s", (0, 7.5)),
        (7.5, 7.5, 7.5, "10s", (0, 7.5)),
        (0.25, 0.25, 0.5, "1s", (0, 0.5)),
        # The moment alone.
        (12, 12, 60, "none", (12, 12)),
        (0, 0, 60, "none", (0, 0)),
        (60, 60, 60, "none", (60, 60)),
        # Intervals with a length are themselves, whatever the policy, but for what is outside.
        (12, 15, 60, None, (12, 15)),
        (12, 15, 60, "10s", (12, 15)),
        (12, 12.25, 60, "10s", (12, 12.25)),
        (-2, 3, 60, None, (0, 3)),
        (58, 70, 60, None, (58, 60)),
        (-5, 70, 60, "1s", (0, 60)),
    ],
)
def test_what_an_interval_shows(start, end, seconds, policy, expected):
    assert shown_interval(start, end, seconds=seconds, zero_length=policy) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (12, 12, 60, None),
            r"start=12 is the end too: .* shows \(none, 1s, 10s\) by zero_length in",
        ),
        ((12, None, 60, None), "start=12 is the end too"),
        ((60.5, 60.5, 60, "1s"), "start=60.5 and end=60.5 are outside the video, which has 60 s"),
        ((61, 70, 60, None), "outside the video"),
        ((-3, -1, 60, None), "outside the video"),
        ((15, 12, 60, None), "start=15 must not be after end=12"),
        ((float("nan"), 12, 60, None), "start=nan must not be after"),
        ((12, 15, 60, "2s"), "unknown zero_length '2s'"),
        ((12, 15, 0, None), "seconds=0 must be a positive number"),
        ((12, 15, float("inf"), None), "seconds=inf must be"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(arguments, message):
    start, end, seconds, policy = arguments
    with pytest.raises(InputError, match=message) as caught:
        shown_interval(start, end, seconds=seconds, zero_length=policy)
    assert "\n" not in str(caught.value)


@given(
    # Whole numbers of quarters of a second are exact as floats.
    moment=st.integers(0, 400), length=st.integers(1, 400), policy=st.sampled_from(["1s", "10s"])
)  # fmt: skip
def test_a_moments_span_is_kept_within_the_video_and_holds_the_moment(moment, length, policy):
    moment, seconds = min(moment, length) / 4, length / 4
    begin, end = shown_interval(moment, moment, seconds=seconds, zero_length=policy)
    assert 0 <= begin <= moment <= end <= seconds
    assert end - begin == min(ZERO_LENGTH[policy], seconds)
    # No span of that length is nearer to the moment's own.
    centre = Fraction(begin + end) / 2
    assert centre == moment or begin == 0 or end == seconds


@given(start=st.floats(0, 1e5), length=st.floats(0, 1e4), frames=st.integers(1, 64))
def test_times_are_in_order_within_the_interval(start, length, frames):
    end = start + length
    times = spread_times(start, end, frames)
    assert len(times) == (frames if end > start else 1)
    assert list(times) == sorted(times)
    assert start <= times[0]
    assert times[-1] < end or length < 1e-6


@given(start=st.integers(0, 1000), parts=st.integers(1, 50), frames=st.sampled_from([1, 2, 4, 8]))
def test_times_are_the_middles_of_equal_parts(start, parts, frames):
    times = spread_times(start, start + parts, frames)
    step = Fraction(parts, frames)
    assert [Fraction(t) for t in times] == [start + step / 2 + i * step for i in range(frames)]


@pytest.mark.parametrize("frames", [0, -1, 2.0, True, "4"])
def test_an_impossible_number_of_frames_is_refused(frames):
    with pytest.raises(InputError, match=r"frames=.* must be a whole number of at least 1"):
        spread_times(0, 1, frames)
