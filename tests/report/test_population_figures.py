"""The figures of populations: what stands in them, and that nothing runs out of them."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from carve_stats.errors import InputError
from carve_stats.inference.prediction import predict_signs
from carve_stats.population.mixing import Population
from carve_stats.report.figures import COLOURS
from carve_stats.report.population_figures import (
    population_figure,
    sign_prediction_figure,
    tie_rate_figure,
)


@pytest.fixture(scope="module")
def predictions():
    counts = Population.paper().sample(300, 2, clusters=30, rng=4)
    return [predict_signs(counts, k=k) for k in (5, 1, 2, 3)]  # in no order


def markers(axes, marker):
    (line,) = [line for line in axes.lines if line.get_marker() == marker]
    return line.get_xdata().tolist(), line.get_ydata().tolist()


def inside(figure):
    """Whether everything that is drawn is within the figure."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = figure.get_tightbbox(canvas.get_renderer())
    width, height = figure.get_size_inches()
    return (
        box.x0 >= -0.01 and box.y0 >= -0.01 and box.x1 <= width + 0.01 and box.y1 <= height + 0.01
    )


def test_signs_observed_and_predicted(predictions):
    figure = sign_prediction_figure(predictions)
    by_k = {p.k_sham: p for p in predictions}
    for axes, sign in zip(figure.axes, ("negative", "zero", "positive"), strict=True):
        assert markers(axes, "o") == ([1, 2], [getattr(by_k[k].point, sign) for k in (1, 2)])
        # At k = 5, beyond twice the replays, there is no point.
        assert markers(axes, "D") == ([3], [getattr(by_k[3].point, sign)])
        interval, identified = axes.collections
        low, high = getattr(by_k[5].interval, sign)
        ends = interval.get_paths()[0].vertices
        assert ends[ends[:, 0] == 5][:, 1].min() == pytest.approx(low)
        assert ends[ends[:, 0] == 5][:, 1].max() == pytest.approx(high)
        low, high = getattr(by_k[5].identified, sign)
        ends = identified.get_paths()[0].vertices
        assert ends[ends[:, 0] == 5][:, 1].max() == pytest.approx(high)
    assert inside(figure)


def test_tie_rates_with_their_elementary_bounds(predictions):
    figure = tie_rate_figure(predictions)
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    ordered = sorted(predictions, key=lambda p: p.k_sham)
    for line, end in zip(dashed, ("low", "high"), strict=True):
        assert line.get_ydata().tolist() == [getattr(p.tie_bounds, end) for p in ordered]
    assert inside(figure)


def test_a_population_is_discs_by_weight():
    population = Population([0.1, 0.5], [0.2, 0.9], [3, 1])
    figure = population_figure(population)
    discs, _ = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    assert np.asarray(discs.get_offsets()).tolist() == [[0.1, 0.2], [0.5, 0.9]]
    sizes = discs.get_sizes()
    assert sizes[0] == pytest.approx(3 * sizes[1])
    assert to_hex(discs.get_facecolor()[0]) == COLOURS["law"]
    assert markers(figure.axes[0], "+") == ([pytest.approx(0.2)], [pytest.approx(0.375)])
    assert inside(figure)


@pytest.mark.parametrize("wrong", [None, 3, [Population.homogeneous(0.1, 0.2)]])
def test_a_population_is_needed(wrong):
    with pytest.raises(InputError, match="must be a Population"):
        population_figure(wrong)


def test_curves_need_predictions_with_one_k():
    counts = Population.paper().sample(30, 2, clusters=3, rng=4)
    for draw in (sign_prediction_figure, tie_rate_figure):
        for wrong in ([], predict_signs(counts, k=1), iter([]), "abc"):
            with pytest.raises(InputError, match="must be a list"):
                draw(wrong)
        with pytest.raises(InputError, match="hold a int"):
            draw([1, 2])
        with pytest.raises(InputError, match="k_sham=1 and k_destroy=2"):
            draw([predict_signs(counts, k_sham=1, k_destroy=2)])
        fewer = counts.select(np.arange(30) > 0)
        with pytest.raises(InputError, match="of different logs"):
            draw([predict_signs(counts, k=1), predict_signs(fewer, k=2)])


def test_bands_that_are_not_there_are_not_in_the_legend():
    counts = Population.paper().sample(30, 2, rng=4)  # no videos, no intervals
    names = [text.get_text() for text in drawn_legend([predict_signs(counts, k=1)])]
    assert names == ["observed (subsampled)"]
    names = drawn_legend([predict_signs(counts, k=1), predict_signs(counts, k=3)])
    assert [text.get_text() for text in names] == [
        "identified",
        "observed (subsampled)",
        "the model's point",
    ]


def drawn_legend(predictions):
    return sign_prediction_figure(predictions).legends[0].get_texts()
