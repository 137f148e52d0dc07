"""Intervals as they are written: each declared format, and what it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.logs.interval_texts import DASHES, FORMATS, clock_seconds, parse_intervals


@pytest.mark.parametrize(
    ("text", "format", "expected"),
    [
        ("12.5-30", "seconds", [(12.5, 30)]),
        ("12:30", "seconds", [(12, 30)]),  # VideoExplorer's
        ("12:30", "clock", [(750, 750)]),
        (" 1 – 2 ;3—4,5 - 6 ", "seconds", [(1, 2), (3, 4), (5, 6)]),
        ("0-10,10-20", "seconds", [(0, 10), (10, 20)]),
        ("7", "seconds", [(7, 7)]),
        ("7; 9.25", "seconds", [(7, 7), (9.25, 9.25)]),
        (".5-1.", "seconds", [(0.5, 1)]),
        ("7-", "seconds", [(7, None)]),
        ("00:15-01:19", "clock", [(15, 79)]),
        ("75:30 - 1:16:00.5", "clock", [(4530, 4560.5)]),
        ("1:02:03-", "clock", [(3723, None)]),
        ("0:01;0:05-0:06", "clock", [(1, 1), (5, 6)]),
        ("[[12.5, 30], [41, 47]]", "pairs", [(12.5, 30), (41, 47)]),
        ("[(12.5, 30), (41, None)]", "pairs", [(12.5, 30), (41, None)]),
        ("((1, 2), (3, 4))", "pairs", [(1, 2), (3, 4)]),
        ("[[1.0, NULL]]", "pairs", [(1, None)]),
        ("[1, 2]", "pairs", [(1, 2)]),
        ("(1, None)", "pairs", [(1, None)]),
        ("(1, 2), (3, 4)", "pairs", [(1, 2), (3, 4)]),
        ("((1, 2),)", "pairs", [(1, 2)]),  # Python's tuple of one pair
        ("[[1, 2], [3, null], ]", "pairs", [(1, 2), (3, None)]),
        ("5-10;", "seconds", [(5, 10)]),
        ("5-10, 20 , ", "seconds", [(5, 10), (20, 20)]),
        ("0:05-0:10 ;", "clock", [(5, 10)]),
        ("90:00-91:30", "clock", [(5400, 5490)]),
        (" " * 10**6 + "1 - 2" + " " * 10**6 + ";3", "seconds", [(1, 2), (3, 3)]),
        *[("[]", one, []) for one in FORMATS],
    ],
)
def test_by_hand(text, format, expected):
    assert parse_intervals(text, format) == expected


@pytest.mark.parametrize(
    ("text", "format", "said"),
    [
        ("30-12", "seconds", "'30-12' is reversed"),
        ("12:05", "seconds", "reversed.*if these are clock times, the format is 'clock'"),
        ("00:12:30", "seconds", "not of format='seconds': expected intervals such as 12.5-30"),
        ("-5-10", "seconds", "not of format='seconds'"),
        ("12,5-30", "seconds", "may hold decimal commas"),
        ("12,5", "seconds", "a semicolon between moments"),
        ("1e3-2e3", "seconds", "not of format"),
        ("1-2;;3-4", "seconds", "'1-2;;3-4': interval 2 of 3 is empty: take the separator out"),
        ("1-2;;", "seconds", "interval 2 of 2 is empty"),
        (";1-2", "seconds", "interval 1 of 2 is empty"),
        (" , ", "clock", "interval 1 of 1 is empty"),
        ("[,]", "pairs", "not of format='pairs'"),
        ("[[1, 2],,]", "pairs", "not of format='pairs'"),
        ("٥-٧", "seconds", "'٥-٧' is not of format='seconds'.* in the digits 0 to 9$"),
        ("５-７", "seconds", "in the digits 0 to 9$"),
        ("٠:٠٥", "clock", "in the digits 0 to 9$"),
        ("[[٥, ٧]]", "pairs", "in the digits 0 to 9$"),
        ("5-10−", "seconds", "not of format='seconds'"),
        ("−5-10", "seconds", "not of format='seconds'"),
        ("0-" + "9" * 400, "seconds", "'0-9+…9+' is not of format='seconds'"),
        ("9" * 400 + ":00:00-", "clock", "not of format='clock'"),
        ("0:00-" + "9" * 5000 + ":00", "clock", "not of format='clock'"),
        ("[[0, 1e400]]", "pairs", "times must be seconds"),
        ("[[0, " + "9" * 400 + "]]", "pairs", "times must be seconds"),
        ("[[0, " + "9" * 5000 + "]]", "pairs", "not of format='pairs'"),
        ("1:75", "clock", "not of format='clock'"),
        ("2:00-1:00:00; 1:30-1:00", "clock", "'1:30-1:00' is reversed"),
        *[("x" * 10**6, one, "'x+…x+' is not of format") for one in FORMATS],
        *[("1" + " " * 10**6 + "2", one, "'1 +… +2' is not of format") for one in FORMATS],
        ("12.5-30", "clock", "'12.5-30' is not of format='clock'"),
        ("00:15-00:75", "clock", "not of format='clock'"),
        ("1:75:00-2:00:00", "clock", "not of format='clock'"),
        ("00:12,500", "clock", "'500' is not of format='clock'"),
        ("01:00-00:30", "clock", "is reversed"),
        ("12-30", "pairs", "not of format='pairs': expected intervals such as .*41, 47"),
        ('["00:12", "00:30"]', "pairs", "times must be seconds"),
        ("[[3, 1]]", "pairs", "is reversed"),
        ("[1, 2, 3]", "pairs", "must be a pair"),
        ("[[0, NaN]]", "pairs", "times must be seconds"),
        ("[" * 5000, "pairs", "not of format='pairs'"),
    ],
)
def test_what_is_written_otherwise_is_refused(text, format, said):
    with pytest.raises(InputError, match=said) as error:
        parse_intervals(text, format)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "dash", "-–—\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{MINUS SIGN}"
)
def test_every_dash_is_one(dash):
    assert dash in DASHES
    assert parse_intervals(f"5{dash}10; 12 {dash} 13; 20{dash}", "seconds") == [
        (5, 10), (12, 13), (20, None),
    ]  # fmt: skip
    assert parse_intervals(f"0:05{dash}1:10", "clock") == [(5, 70)]


PAIRS = st.lists(
    st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)).map(lambda pair: tuple(sorted(pair))),
    min_size=1,
    max_size=4,
)


def clock(seconds):
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


@given(PAIRS)
def test_one_meaning_in_three_formats(pairs):
    assert parse_intervals("; ".join(f"{a}-{b}" for a, b in pairs), "seconds") == pairs
    assert parse_intervals(", ".join(f"{clock(a)}-{clock(b)}" for a, b in pairs), "clock") == pairs
    assert parse_intervals(str(pairs), "pairs") == pairs


@given(st.integers(0, 5_000), st.integers(0, 59))
def test_clock_times(minutes, seconds):
    assert clock_seconds(f"{minutes}:{seconds:02d}") == 60 * minutes + seconds
    assert clock_seconds(f"{minutes // 60}:{minutes % 60}:{seconds:02d}") == 60 * minutes + seconds
    assert clock_seconds(f"{minutes}:{seconds + 60}") is None


@pytest.mark.parametrize("text", ["٠:٠٥", "９:00", "9" * 400 + ":00:00", "9" * 5000 + ":00"])
def test_what_is_no_clock_time(text):
    assert clock_seconds(text) is None
