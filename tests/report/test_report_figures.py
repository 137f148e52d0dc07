"""The figures: what they draw, that they do not change, and that a page can hold several."""

import re
from fractions import Fraction
from itertools import combinations
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from carve_stats.counts import ReplayCounts
from carve_stats.inference.tie_excess import tie_excess
from carve_stats.report.distribution import score_distribution
from carve_stats.report.figures import COLOURS, score_distribution_figure, sign_shares_figure
from carve_stats.report.svg import inline_svg


def counts_of(rows, *, clusters=True):
    x, m, y, n = np.array(rows).T
    names = [f"q{i}" for i in range(len(rows))]
    cluster = [f"v{i % 3}" for i in range(len(rows))] if clusters else None
    return ReplayCounts(names, x, m, y, n, cluster=cluster)


EQUAL = counts_of([(0, 3, 3, 3), (1, 3, 1, 3), (2, 3, 3, 3), (3, 3, 0, 3), (0, 3, 0, 3)])
RAGGED = counts_of(
    [(0, 3, 3, 3), (1, 3, 1, 3), (2, 3, 3, 3), (1, 3, 2, 3), (2, 4, 3, 5), (0, 3, 1, 2)]
)


def test_every_question_stands_at_its_score():
    spread = score_distribution(EQUAL, tie_excess(EQUAL))
    shares = dict(zip((spread.support * 3).round().astype(int), spread.observed, strict=True))
    assert shares == {-3: 0.2, -2: 0, -1: 0, 0: 0.4, 1: 0.2, 2: 0, 3: 0.2}
    assert (spread.questions, spread.subsampled, spread.left_out) == (5, 0, 0)


def test_the_law_is_the_convolution_at_the_pooled_rates():
    spread = score_distribution(EQUAL, tie_excess(EQUAL))
    p, q = Fraction(6, 15), Fraction(7, 15)
    law = dict.fromkeys(range(-3, 4), Fraction(0))
    for x in range(4):
        for y in range(4):
            ways = [1, 3, 3, 1][x] * [1, 3, 3, 1][y]
            law[y - x] += ways * p**x * (1 - p) ** (3 - x) * q**y * (1 - q) ** (3 - y)
    assert spread.predicted == pytest.approx([float(v) for v in law.values()], rel=1e-12)


def test_more_replays_count_by_every_subsample():
    spread = score_distribution(RAGGED, tie_excess(RAGGED))
    assert (spread.k_sham, spread.k_destroy) == (3, 3)
    assert (spread.questions, spread.subsampled, spread.left_out) == (5, 1, 1)
    expected = dict.fromkeys(range(-3, 4), Fraction(0))
    for numerator in (3, 0, 1, 1):
        expected[numerator] += Fraction(1, 5)
    draws = [
        sum(destroy) - sum(sham)
        for sham in combinations([1, 1, 0, 0], 3)
        for destroy in combinations([1, 1, 1, 0, 0], 3)
    ]
    for numerator in draws:
        expected[numerator] += Fraction(1, 5 * len(draws))
    assert spread.observed == pytest.approx([float(v) for v in expected.values()], abs=1e-15)


@pytest.mark.parametrize("counts", [EQUAL, RAGGED], ids=["equal", "ragged"])
def test_the_distribution_sums_to_the_table(counts):
    excess = tie_excess(counts)
    view = excess.equal_k or excess
    spread = score_distribution(counts, excess)
    for shares, table in ((spread.observed, view.observed), (spread.predicted, view.predicted)):
        sums = [shares[np.sign(spread.support) == sign].sum() for sign in (-1, 0, 1)]
        assert sums == pytest.approx(list(table), abs=1e-12)


def test_unequal_arms_have_their_own_lattice():
    counts = counts_of([(1, 2, 2, 3), (2, 2, 3, 3), (0, 2, 1, 3)])
    spread = score_distribution(counts, tie_excess(counts))
    possible = {Fraction(y, 3) - Fraction(x, 2) for x in range(3) for y in range(4)}
    assert spread.support == pytest.approx(sorted(map(float, possible)))
    assert spread.observed[np.isclose(spread.support, 1 / 6)] == pytest.approx(1 / 3)


def test_nothing_scored_has_no_distribution():
    counts = counts_of([(1, 3, 0, 0), (0, 0, 1, 3)])
    assert score_distribution(counts, tie_excess(counts)) is None


def lines_of(axes, marker):
    return [line for line in axes.lines if line.get_marker() == marker]


@pytest.mark.parametrize("narrow", [False, True])
def test_shares_are_drawn_where_the_result_says(narrow):
    excess = tie_excess(EQUAL)
    shares, difference = sign_shares_figure(excess, narrow=narrow).axes
    assert [m.get_xdata()[0] for m in lines_of(shares, "o")] == list(excess.observed)
    assert [m.get_xdata()[0] for m in lines_of(shares, "D")] == list(excess.predicted)
    whiskers = [list(m.get_xdata()) for m in lines_of(difference, "|")]
    assert whiskers == [[100 * e.low, 100 * e.high] for e in excess.excess]
    assert all(
        difference.get_xlim()[0] < low and high < difference.get_xlim()[1] for low, high in whiskers
    )


def test_observed_is_filled_and_predicted_is_hollow():
    shares = sign_shares_figure(tie_excess(EQUAL)).axes[0]
    assert lines_of(shares, "o")[0].get_markerfacecolor() == COLOURS["observed"]
    assert lines_of(shares, "D")[0].get_markerfacecolor() == COLOURS["paper"]


def test_intervals_that_are_not_estimable_are_not_drawn():
    counts = counts_of([(0, 3, 3, 3), (1, 3, 1, 3)], clusters=False)
    for axes in sign_shares_figure(tie_excess(counts)).axes:
        assert lines_of(axes, "|") == []
        assert len(lines_of(axes, "o")) == 3


@pytest.mark.parametrize("narrow", [False, True])
def test_bars_and_diamonds_are_the_distribution(narrow):
    spread = score_distribution(EQUAL, tie_excess(EQUAL))
    (axes,) = score_distribution_figure(spread, narrow=narrow).axes
    assert [bar.get_height() for bar in axes.patches] == list(spread.observed)
    (diamonds,) = lines_of(axes, "D")
    assert list(diamonds.get_ydata()) == list(spread.predicted)
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["−1", "−2/3", "−1/3", "0", "1/3", "2/3", "1"]


def svg_of(name="shares"):
    figure = sign_shares_figure(tie_excess(EQUAL))
    return inline_svg(figure, name=name, title="Shares <1>", description="Tied & more", css="wide")


def test_svg_is_the_same_whenever_and_whatever_the_users_settings():
    before = svg_of()
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "lines.linewidth": 9}):
        assert svg_of() == before
    assert not re.search(r"20\d\d-\d\d-\d\d", before)


def test_svg_names_itself():
    root = ElementTree.fromstring(svg_of())
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    title, description = root.find(f"{space}title"), root.find(f"{space}desc")
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert (title.text, description.text) == ("Shares <1>", "Tied & more")


def test_two_drawings_share_no_id_and_refer_to_their_own():
    ids = []
    for name in ("one", "two"):
        root = ElementTree.fromstring(svg_of(name))
        own = [e.get("id") for e in root.iter() if e.get("id")]
        used = re.findall(r'(?:href="|url\()#([^")]+)', svg_of(name))
        assert used
        assert set(used) <= set(own)
        ids += own
    assert len(ids) == len(set(ids))


def test_svg_leaves_type_and_colours_to_the_page():
    drawing = svg_of()
    assert "font-family" not in drawing
    assert "<style" not in drawing
    # Matplotlib's own black for what has no colour would vanish on a dark page.
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawing)) <= {"#000000"}
    assert {"--ink", "--observed", "--law"} <= set(re.findall(r"var\((--\w+)\)", drawing))


def test_a_fine_lattice_is_labelled_by_halves():
    counts = counts_of([(1, 10, 7, 10), (4, 10, 4, 10), (9, 10, 2, 10)])
    (axes,) = score_distribution_figure(score_distribution(counts, tie_excess(counts))).axes
    assert len(axes.patches) == 21
    assert [label.get_text() for label in axes.get_xticklabels()] == ["−1", "−½", "0", "½", "1"]


@pytest.mark.parametrize("narrow", [False, True])
def test_no_words_leave_the_figure_whatever_the_shares(narrow):
    counts = counts_of([(0, 3, 3, 3), (0, 3, 2, 3), (0, 3, 3, 3), (1, 3, 3, 3)])
    figure = sign_shares_figure(tie_excess(counts), narrow=narrow)
    figure.draw_without_rendering()
    page = figure.bbox
    for text in [t for axes in figure.axes for t in axes.texts]:
        box = text.get_window_extent()
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
    left = figure.axes[0].get_window_extent()
    assert all(t.get_window_extent().x1 < left.x1 + 10 for t in figure.axes[0].texts)
