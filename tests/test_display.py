import math
from html.parser import HTMLParser

import numpy as np
import pytest

from carve_stats import _display


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, "0.5000"),
        (-0.25, "-0.2500"),
        (-0.00001, "0.0000"),
        (np.float64(1) / 3, "0.3333"),
        (1258, "1258"),
        (np.int64(7), "7"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_number(value, shown):
    assert _display.number(value) == shown


def test_signed_numbers_show_their_sign_unless_they_round_to_zero():
    assert _display.number(0.0623, 3, signed=True) == "+0.062"
    assert _display.number(-0.0623, 3, signed=True) == "-0.062"
    assert _display.number(0.0001, 3, signed=True) == "0.000"


def test_an_interval_needs_both_ends():
    assert _display.interval(-0.5, 0.25, 2) == "[-0.50, 0.25]"
    assert _display.interval(-0.5, 0.25, 2, signed=True) == "[-0.50, +0.25]"
    assert _display.interval(None, 0.25) == _display.interval(0.25, math.nan) == "–"


def test_small_p_values_are_a_bound_and_never_zero():
    assert _display.p_value(1e-12) == _display.p_value(0.0) == "< 0.0001"
    assert _display.p_value(0.0001) == "0.0001"
    assert _display.p_value(None) == "–"


def test_plain_figures_are_what_json_can_hold():
    assert [_display.plain(x) for x in (None, math.nan, -math.inf)] == [None] * 3
    assert type(_display.plain(np.float64(0.5))) is float


def test_columns_are_as_wide_as_what_a_terminal_shows():
    table = _display.text_table(["score", "n"], [["Δ̂", 5], ["影片", 1234], [None, "x"]])
    assert table == "score     n\n-----  ----\nΔ̂         5\n影片   1234\n–         x"


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="zip"):
        _display.text_table(["a", "b"], [["one"]])


class _Texts(HTMLParser):
    """The elements and texts of a page, in order."""

    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data)


def test_html_escapes_every_text():
    evil = "<script>alert('&\"')</script>"
    block = _display.html_block(evil, [evil, "n"], [[evil, evil]], [evil])
    page = _Texts()
    page.feed(block)
    assert page.texts == [evil, evil, "n", evil, evil, evil]
    assert "script" not in page.tags
    assert page.tags == [
        "table", "caption", "thead", "tr", "th", "th", "tbody", "tr", "th", "td", "ul", "li",
    ]  # fmt: skip


def test_blocks_leave_out_what_is_not_there():
    assert "<ul>" not in _display.html_block("c", ["a"], [["b"]])
    assert "<caption>" not in _display.html_table(["a"], [["b"]])
    assert _display.text_block("c", ["a"], [["b"]]) == "c\n\na\n-\nb"


def test_notes_are_wrapped():
    block = _display.text_block("c", ["a"], [["b"]], ["word " * 60])
    assert max(map(len, block.splitlines())) <= 100
    assert block.count("  * ") == 1
