"""Goals from texts: what is read, what is refused, and when one is met."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.inference.prediction import Range
from carve_stats.planning.goals.parsing import as_goal, goal_kinds
from carve_stats.planning.known import Known


@pytest.mark.parametrize("kind", goal_kinds(), ids=lambda kind: kind.text)
@given(share=st.floats(0, 1))
def test_a_goal_is_read_as_it_is_written(kind, share):
    number = float(f"{kind.least + share * (kind.most - kind.least):.4g}")
    number = min(max(number, kind.least), kind.most)
    name = as_goal(kind.text).name
    goal = as_goal(f"  {name.upper()}{as_goal(kind.text).comparison} {number!r} ")
    assert (goal.kind, goal.number) == (kind, number)
    assert as_goal(str(goal)).name == name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ties <= 0.1", "'tie rate <= 0.1'"),
        ("", "'tie rate <= 0.1'"),
        ("tie rate >= 0.1", "must be 'tie rate <= NUMBER'"),
        ("tie rate < 0.1", "must be 'tie rate <= NUMBER'"),
        ("tie rate <= 10 %", "must be 'tie rate <= NUMBER'"),
        ("tie rate <= nan", "must be 'tie rate <= NUMBER'"),
        ("tie rate", "must be 'tie rate <= NUMBER'"),
        ("tie rate <= 1.1", "between 0 and 1"),
        ("tie rate <= -0.1", "between 0 and 1"),
        ("mean score width <= 2.5", "between 0 and 2"),
        ("power >= inf", "between 0 and 1"),
        ("net repairs per 100 calls >= 101", "between 0 and 100"),
    ],
)
def test_what_is_no_goal_is_refused_in_one_line(text, told):
    with pytest.raises(InputError) as caught:
        as_goal(text)
    assert told in str(caught.value)
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_goal_that_is_no_text_is_refused():
    with pytest.raises(InputError, match="goal is a float"):
        as_goal(0.1)


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        (Known(0.1), True),  # exactly at the number
        (Known(0.11), False),
        (Known(0.11, Range(0.0, 0.2), Range(0.0, 0.3)), False),  # a point decides by itself
        (Known(None, Range(0.02, 0.05), Range(0.01, 0.1)), True),
        (Known(None, Range(0.02, 0.05), Range(0.01, 0.2)), None),
        (Known(None, Range(0.2, 0.25), Range(0.15, 0.3)), False),
        (Known(None, Range(0.02, 0.05)), True),  # without clusters there is no interval
        (Known(None), None),
    ],
)
def test_verdicts(known, verdict):
    assert as_goal("tie rate <= 0.1").verdict(known) is verdict
    mirrored = Known(
        None if known.point is None else 1 - known.point,
        *(
            Range(None, None) if ends.low is None else Range(1 - ends.high, 1 - ends.low)
            for ends in known[1:3]
        ),
    )
    assert as_goal("power >= 0.9").verdict(mirrored) is verdict
