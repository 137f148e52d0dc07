"""The figure of a plan: what stands in it, and that nothing runs out of it."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import carve_stats as cs
from carve_stats.errors import InputError
from carve_stats.report.planning_figures import plan_figure


def inside(figure):
    """Whether everything that is drawn is within the figure."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = figure.get_tightbbox(canvas.get_renderer())
    width, height = figure.get_size_inches()
    return (
        box.x0 >= -0.01 and box.y0 >= -0.01 and box.x1 <= width + 0.01 and box.y1 <= height + 0.01
    )


def points(axes, marker):
    return [
        (line.get_xdata().tolist(), line.get_ydata().tolist())
        for line in axes.lines
        if line.get_marker() == marker
    ]


def texts(figure):
    legend = figure.legends[0]
    told = [legend.get_title().get_text(), *(text.get_text() for text in legend.get_texts())]
    for axes in figure.axes:
        told += [text.get_text() for text in axes.texts]
        told += [axes.get_title(loc="left"), axes.get_ylabel()]
        if axes.get_legend():
            told += [text.get_text() for text in axes.get_legend().get_texts()]
    return told


def horizontals(axes):
    return [line.get_ydata()[0] for line in axes.lines if list(line.get_xdata()) == [0, 1]]


def test_a_pilots_plan_has_dots_diamonds_and_bands():
    counts = cs.Population.paper().sample(300, 2, clusters=30, rng=4)
    plan = cs.plan_budget(counts, goal="tie rate <= 0.3", k=[1, 2, 3, 5, 7])
    figure = plan_figure(plan)
    left, right = figure.axes
    rows = {row.k: row.value for row in plan.rows}
    assert points(left, "o") == [([1, 2], [rows[1].point, rows[2].point])]
    assert points(left, "D") == [([3], [rows[3].point])]  # withheld beyond twice the replays
    interval, identified = left.collections
    for band, which in ((interval, "interval"), (identified, "identified")):
        ends = band.get_paths()[0].vertices
        low, high = getattr(rows[7], which)
        assert ends[ends[:, 0] == 7][:, 1].max() == pytest.approx(high)
        assert ends[ends[:, 0] == 7][:, 1].min() == pytest.approx(low)
    assert 0.3 in horizontals(left)
    told = texts(figure)
    found = plan.recommended
    assert f"k = {found.k}" in told
    upper = f" to {found.k_high}" if found.k_high else " and up"
    assert any(f"left open: k = {found.k_low}{upper}" in one for one in told)
    assert "signs, as far as told" in told
    assert right.get_xlim()[1] < 4
    assert inside(figure)


def test_a_populations_plan_is_hollow_and_names_its_limit():
    plan = cs.plan_budget(cs.Population.paper(), goal="reliability >= 0.6", k=range(1, 9))
    figure = plan_figure(plan)
    left, right = figure.axes
    assert points(left, "o") == []
    assert points(left, "D") == [
        ([row.k for row in plan.rows], [row.value.point for row in plan.rows])
    ]
    assert not left.collections
    assert horizontals(left) == [1.0, 0.6]
    assert "as k grows without end: 1" in texts(figure)
    assert {"score < 0", "score = 0", "score > 0"} <= set(texts(figure))
    assert [line.get_linestyle() for line in right.lines if line.get_label()[:5] == "score"] == [
        ":", "-", "--"
    ]  # fmt: skip
    assert inside(figure)


@pytest.mark.parametrize("number", [0.2, 0.02])
def test_goals_about_the_mean_show_the_questions_needed(number):
    plan = cs.plan_budget(
        (0.3, 0.5), goal=f"mean score width <= {number}", questions=400, k=range(1, 7)
    )
    figure = plan_figure(plan)
    _, right = figure.axes
    assert points(right, "D") == [
        ([row.k for row in plan.rows], [row.questions_needed for row in plan.rows])
    ]
    assert "planned: 400" in texts(figure)
    assert horizontals(right) == [400]
    assert inside(figure)


def test_a_goal_out_of_reach_has_no_k():
    plan = cs.plan_budget((0.3, 0.5), goal="reliability >= 0.9", k=[1])
    told = texts(plan_figure(plan))
    assert any("reliability ≥ 0.9: not met" in one for one in told)
    assert not any(one.startswith("k = ") for one in told)


def test_only_plans_are_drawn():
    with pytest.raises(InputError, match="plan is a str"):
        plan_figure("plan")


def test_title_and_text_agree_on_what_is_open():
    counts = cs.Population.paper().sample(300, 2, clusters=30, rng=4)
    plan = cs.plan_budget(counts, goal="tie rate <= 0.2", k=[1, 2, 5])
    assert plan.rows[-1].met is None
    assert "not known to be met" in plan.recommended.reason
    assert any("not known to be met" in one for one in texts(plan_figure(plan)))
    undefined = cs.plan_budget((0.3, 0.3), goal="wrong sign <= 0.1", k=[1])
    assert any(": undefined" in one for one in texts(plan_figure(undefined)))
    cut = cs.plan_budget((0.34, 0.64), goal="decided >= 0.5", k=[22, 23])
    assert any("k = 22 meets it, larger k may not" in one for one in texts(plan_figure(cut)))


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_legend_lists_what_is_drawn():
    counts = cs.Population.paper().sample(300, 3, clusters=30, rng=4)
    width = plan_figure(cs.plan_budget(counts, goal="mean score width <= 0.1", k=[1, 2, 3, 4, 5]))
    assert "95 % interval" in legend(width)
    assert "identified" not in legend(width)  # no wider than the points
    made = plan_figure(cs.plan_budget(counts, goal="tie rate <= 0.1", k=[1, 2, 3]))
    assert legend(made).count("95 % interval") == 1  # the bars, without a band
    wrong = plan_figure(cs.plan_budget(counts, goal="wrong sign <= 0.1", k=[1, 2, 3]))
    assert legend(wrong).count("from the pilot's replays") == 1  # the dots on the right


def test_lines_that_coincide_are_one():
    equal = plan_figure(cs.plan_budget((0.3, 0.3), goal="decided >= 0.5", k=[1, 2, 3]))
    assert "score < 0 and score > 0" in texts(equal)
    assert len([line for line in equal.axes[1].lines if line.get_linestyle() != "None"]) == 2
    sure = plan_figure(cs.plan_budget((0.3, 0.5), goal="power >= 1", questions=9, k=[1, 2]))
    assert "goal: at least 100 %, as k grows without end" in texts(sure)
    assert horizontals(sure.axes[0]) == [1.0]


def test_nothing_is_written_over_dots_or_labels():
    first = plan_figure(cs.plan_budget((0.3, 0.5), goal="tie rate <= 0.6", k=[1, 2, 3]))
    left = first.axes[0]
    (line,) = [one for one in left.lines if list(one.get_xdata()) == [1, 1]]
    dots = [one for one in left.lines if one.get_marker() == "D"]
    assert line.get_zorder() < dots[0].get_zorder()
    (label,) = [text for text in left.texts if text.get_text() == "k = 1"]
    canvas = FigureCanvasAgg(first)
    canvas.draw()
    box = label.get_window_extent(canvas.get_renderer())
    assert box.y0 >= left.get_window_extent().y1
    few = plan_figure(cs.plan_budget((0.3, 0.5), goal="mean score width <= 0.02", questions=100))
    right = few.axes[1]
    canvas = FigureCanvasAgg(few)
    canvas.draw()
    (planned,) = [text for text in right.texts if text.get_text() == "planned: 100"]
    assert planned.get_window_extent(canvas.get_renderer()).y0 >= right.get_window_extent().y0
    assert right.get_title(loc="left") == "questions needed at each k"
    assert inside(few)
