"""The figures of routing: what stands in them, and that nothing runs out of them."""

import dataclasses

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.outcomes import Outcomes
from carve_stats.population.mixing import Population
from carve_stats.report.figures import COLOURS
from carve_stats.report.routing_figures import (
    frontier_figure,
    routing_curve_figure,
    score_value_figure,
    transition_figure,
)
from carve_stats.routing.curve import routing_curve
from carve_stats.routing.frontier import deferral_frontier
from carve_stats.routing.score_values import score_values


@pytest.fixture(scope="module")
def log():
    rng = np.random.default_rng(4)
    counts = Population.paper().sample(300, 2, clusters=30, rng=rng)
    original, fallback = rng.binomial(1, [[0.5], [0.6]], (2, 300))
    confidence = rng.permutation(300) / 300
    return counts, Outcomes(
        counts.question, original, {"strong": fallback}, covariates={"confidence": confidence}
    )


@pytest.fixture(scope="module")
def curve(log):
    return routing_curve(*log, k=[5, 1, 2, 3])


def markers(axes, marker):
    (line,) = [line for line in axes.lines if line.get_marker() == marker]
    return line.get_xdata().tolist(), line.get_ydata().tolist()


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def inside(figure):
    """Whether everything that is drawn is within the figure."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = figure.get_tightbbox(canvas.get_renderer())
    width, height = figure.get_size_inches()
    return (
        box.x0 >= -0.01 and box.y0 >= -0.01 and box.x1 <= width + 0.01 and box.y1 <= height + 0.01
    )


def apart(labels, renderer):
    """Whether no two of the texts that are shown touch."""
    boxes = [label.get_window_extent(renderer) for label in labels if label.get_text()]
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_the_curve_with_bands_and_what_it_is_compared_with(curve):
    figure = routing_curve_figure(curve)
    (axes,) = figure.axes
    by_k = {point.k: point for point in curve.points}
    gains = {k: point.gain_points.estimate for k, point in by_k.items()}
    assert markers(axes, "o") == ([1, 2], [gains[1], gains[2]])
    assert markers(axes, "D") == ([3], [gains[3]])  # beyond twice the replays there is no point
    assert markers(axes, "^") == (
        [1, 2, 3],
        [by_k[k].retuned.gain_points.estimate for k in (1, 2, 3)],
    )
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert dashed.get_xdata().tolist() == [1, 2, 3]
    assert dashed.get_ydata().tolist() == [by_k[k].random_points for k in (1, 2, 3)]
    (always,) = [line for line in axes.lines if line.get_label() == "every question deferred"]
    assert set(always.get_ydata()) == {curve.always_points}
    for band, of in zip(axes.collections, ("gain_points", "identified"), strict=True):
        ends = band.get_paths()[0].vertices
        for k in (3, 5):
            heights = ends[ends[:, 0] == k][:, 1]
            assert heights.min() == pytest.approx(getattr(by_k[k], of).low)
            assert heights.max() == pytest.approx(getattr(by_k[k], of).high)
    whiskers = [line.get_ydata() for line in axes.lines if line.get_linewidth() == 2]
    assert [list(ends) for ends in whiskers] == [
        [by_k[k].gain_points.low, by_k[k].gain_points.high] for k in (1, 2)
    ]
    assert axes.get_xticks().tolist() == [1, 2, 3, 5]
    assert legend(figure)[:2] == ["score ≤ 0: exact, 95 % interval", "score ≤ 0: predicted"]
    assert inside(figure)


def test_ticks_are_at_every_k_and_their_names_do_not_touch(curve):
    many = [dataclasses.replace(curve.points[0], k=k) for k in (*range(1, 33), 64)]
    figure = routing_curve_figure(dataclasses.replace(curve, points=tuple(many), made_k=20))
    (axes,) = figure.axes
    assert inside(figure)
    assert set(axes.get_xticks()) >= {1, 20, 64}
    ticks = {*axes.get_xticks(), *axes.get_xticks(minor=True)}
    assert ticks == {*range(1, 33), 64}
    renderer = figure.canvas.get_renderer()
    assert apart(axes.get_xticklabels(), renderer)


def test_one_k_without_videos_or_thresholds(log):
    counts, outcomes = log
    loose = ReplayCounts(
        counts.question, counts.sham_flips, counts.sham_replays, counts.destroy_flips,
        counts.destroy_replays,
    )  # fmt: skip
    figure = routing_curve_figure(routing_curve(loose, outcomes, "score = 0", k=[2]))
    assert legend(figure) == ["score = 0: exact", "as many at random", "every question deferred"]
    assert inside(figure)


def test_a_prediction_alone_has_its_bands(log):
    figure = routing_curve_figure(routing_curve(*log, k=[3]))
    names = legend(figure)
    assert "identified" in names
    assert "95 % interval" in names
    assert inside(figure)


def bars(axes, label):
    (container,) = [one for one in axes.containers if one.get_label() == label]
    return container.patches


def test_transitions_that_change_the_net_and_all_ties():
    rng = np.random.default_rng(6)
    counts = Population.paper().sample(200, 3, rng=rng)
    original, fallback = rng.binomial(1, [[0.5], [0.6]], (2, 200))
    outcomes = Outcomes(counts.question, original, {"strong": fallback})
    transitions = routing_curve(counts, outcomes, k=[1, 3]).transitions
    figure = transition_figure(transitions)
    worth, change = figure.axes
    names = [label.get_text().splitlines()[0] for label in worth.get_yticklabels()]
    assert names == [
        "tie resolved upwards",
        "tie resolved downwards",
        "tie kept",
        "below, then above",
        "above, then below",
        "above, then at it",
        "change of the net",
    ]
    cells = [(1, 2), (1, 0), (1, 1), (0, 2), (2, 0), (2, 1)]
    for label, sign, table in (
        ("repairable", 1, transitions.repairs),
        ("harmable", -1, transitions.harms),
    ):
        widths = [sign * bar.get_width() for bar in bars(worth, label)]
        assert widths == pytest.approx([table[cell] for cell in cells])
    added = [patch.get_width() for patch in change.patches]
    total = transitions.change.sum()
    assert added == pytest.approx([*(transitions.change[cell] for cell in cells), total])
    assert sum(added[:-1]) == pytest.approx(total)
    assert inside(figure)


def test_what_is_predicted_is_hollow(curve, log):
    exact = transition_figure(routing_curve(*log, k=[1, 2]).transitions)
    predicted = transition_figure(routing_curve(*log, k=[1, 3]).transitions)
    assert "(exact)" in exact.legends[0].get_title().get_text()
    assert "(predicted)" in predicted.legends[0].get_title().get_text()
    for figure, paper in ((exact, False), (predicted, True)):
        for axes in figure.axes:
            hollow = [to_hex(p.get_facecolor()) == COLOURS["paper"] for p in axes.patches]
            assert hollow == [paper] * len(hollow)


def test_another_threshold_is_named(log):
    figure = transition_figure(routing_curve(*log, "score < -1/2", k=[1, 2]).transitions)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names[0] == "at the threshold, then above\nscore = −1/2 → score > −1/2"
    assert inside(figure)


def test_the_frontier_of_scores_has_a_dot_a_cut_off(log):
    frontier = deferral_frontier(*log)
    figure = frontier_figure(frontier)
    (axes,) = figure.axes
    assert markers(axes, "o") == (frontier.calls.tolist(), frontier.gain_points.tolist())
    assert markers(axes, "s") == ([300], [frontier.always_points])
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert dashed.get_xydata().tolist() == [[0, 0], [300, frontier.always_points]]
    (band,) = axes.collections
    ends = band.get_paths()[0].vertices
    heights = ends[ends[:, 0] == frontier.calls[2]][:, 1]
    assert heights.min() == pytest.approx(frontier.low[2])
    assert heights.max() == pytest.approx(frontier.high[2])
    names = [text.get_text() for text in axes.texts]
    assert "≤ 0" in names
    assert set(names) <= {"≤ −1", "≤ −1/2", "≤ 0", "≤ 1/2", "≤ 1"}
    assert inside(figure)
    assert apart(axes.texts, figure.canvas.get_renderer())


def test_the_frontier_of_a_covariate_is_a_line(log):
    frontier = deferral_frontier(*log, by="confidence")
    figure = frontier_figure(frontier)
    (axes,) = figure.axes
    (line,) = [line for line in axes.lines if line.get_label() == "by confidence, smallest first"]
    assert line.get_xdata().tolist() == [0, *frontier.calls]
    assert line.get_ydata().tolist() == [0, *frontier.gain_points]
    assert not axes.texts
    assert inside(figure)


def test_a_frontier_without_cut_offs_cannot_be_drawn():
    counts = ReplayCounts(["a", "b"], [0, 0], [0, 0], [0, 0], [0, 0])
    frontier = deferral_frontier(counts, Outcomes(["a", "b"], [0, 1], {"strong": [1, 1]}))
    with pytest.raises(InputError, match="no cut-off"):
        frontier_figure(frontier)


@pytest.mark.parametrize("k", [1, 2])
def test_values_at_each_score(log, k):
    values = score_values(*log, k=k)
    figure = score_value_figure(values)
    worth, others = figure.axes
    for axes, label, heights in (
        (worth, "repairable", values.repairs),
        (worth, "harmable", -values.harms),
        (others, "as right or wrong as before", values.neither),
    ):
        assert [bar.get_height() for bar in bars(axes, label)] == pytest.approx(heights.tolist())
    x, net = markers(worth, "o")
    assert x == values.score.tolist()
    assert net == pytest.approx((values.repairs - values.harms).tolist())
    title = figure.legends[0].get_title().get_text()
    assert title.endswith("k = 2" if k == 2 else "k = 1, by subsampling 2")
    assert legend(figure) == ["repairable", "harmable", "net", "as right or wrong as before"]
    assert inside(figure)


@pytest.mark.parametrize(
    "draw", [routing_curve_figure, transition_figure, frontier_figure, score_value_figure]
)
def test_anything_else_is_refused(draw):
    for wrong in (None, 3, "curve"):
        with pytest.raises(InputError, match=f"is a {type(wrong).__name__}: it must be a"):
            draw(wrong)
