"""The figures of a report: one public function each, from a result to a Matplotlib figure.

Colour never carries a meaning alone: what was observed is filled, what the law predicts is
hollow, in every figure. The colours keep apart in the common colour-vision deficiencies and in
grey.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from carve_stats.report.distribution import ScoreDistribution
from carve_stats.report.text import percent, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from carve_stats.inference.tie_excess import TieExcess

__all__ = [
    "BANDS",
    "COLOURS",
    "bare_axes",
    "drawing_style",
    "new_figure",
    "score_distribution_figure",
    "sign_shares_figure",
    "titled_legend",
]

COLOURS = {
    "ink": "#1d2126",
    "muted": "#59626d",
    "rule": "#d5dae0",
    "paper": "#fefefe",
    "observed": "#0b66b0",
    "law": "#c2500a",
}
"""Name to colour on white paper; `svg.inline_svg` turns each into a CSS variable."""

BANDS = {"interval": 0.16, "identified": 0.42}
"""Name to opacity of what a figure leaves open; the lighter one is drawn first."""

_INK, _MUTED, _RULE = COLOURS["ink"], COLOURS["muted"], COLOURS["rule"]
_PAPER, _OBSERVED, _LAW = COLOURS["paper"], COLOURS["observed"], COLOURS["law"]

# Keeps lines from running through words.
_PATCH = {"facecolor": _PAPER, "edgecolor": "none", "pad": 1.5}

_SIGNS = {
    "negative": "negative\nscore < 0",
    "zero": "tied\nscore = 0",
    "positive": "positive\nscore > 0",
}


_DRAWING = threading.RLock()


@contextmanager
def drawing_style() -> Iterator[None]:
    """Matplotlib's own defaults with this report's type, whatever the user's settings are."""
    import matplotlib

    # Matplotlib's settings belong to the process: two threads must not draw at once.
    with _DRAWING, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "font.family": ["DejaVu Sans"],
                "font.size": 11.5,
                "axes.labelsize": 11.5,
                "xtick.labelsize": 11,
                "ytick.labelsize": 11.5,
                "legend.fontsize": 11,
                "axes.unicode_minus": True,
                "svg.fonttype": "none",
                "text.color": _INK,
                "axes.labelcolor": _MUTED,
                "axes.edgecolor": _RULE,
                "xtick.color": _RULE,
                "ytick.color": _RULE,
                "xtick.labelcolor": _MUTED,
                "ytick.labelcolor": _INK,
            }
        )
        yield


def sign_shares_figure(excess: TieExcess, *, narrow: bool = False) -> Figure:
    """Draw observed beside predicted shares of the three signs, and their difference.

    Parameters
    ----------
    excess : TieExcess
        The result to draw. Intervals that are not estimable are not drawn.
    narrow : bool
        Whether to stack the two panels, for a telephone.

    Returns
    -------
    matplotlib.figure.Figure
        Shares on the left (or above), excess in percentage points on the right (or below).
    """
    with drawing_style():
        if narrow:
            figure = new_figure(340, 470)
            shares, difference = figure.subplots(2, 1, height_ratios=(1.2, 1))
        else:
            figure = new_figure(760, 270)
            shares, difference = figure.subplots(1, 2, width_ratios=(1.25, 1), sharey=True)
        for axes in (shares, difference):
            bare_axes(axes)
            axes.set_yticks([0, 1, 2], list(_SIGNS.values()), linespacing=1.35)
            axes.set_ylim(2.5, -0.5)  # negative on top
            axes.tick_params(axis="y", length=0, pad=12)
        _draw_shares(shares, excess)
        _draw_excess(difference, excess)
        if not narrow:
            difference.tick_params(axis="y", labelleft=False)
        figure.set_layout_engine("constrained", wspace=0.06, hspace=0.04)
        figure.legend(
            *shares.get_legend_handles_labels(),
            loc="outside upper left",
            ncols=2,
            frameon=False,
            handletextpad=0.5,
            columnspacing=1.6,
            borderpad=0.2,
        )
        return figure


def _draw_shares(axes: Axes, excess: TieExcess) -> None:
    for row, sign in enumerate(_SIGNS):
        observed, predicted = getattr(excess.observed, sign), getattr(excess.predicted, sign)
        interval = getattr(excess.observed_intervals, sign)
        label = ("observed", "predicted by the law") if row == 0 else (None, None)
        above, below = row - 0.14, row + 0.14
        _whisker(axes, above, interval)
        axes.plot([observed], [above], "o", ms=8, mfc=_OBSERVED, mec=_OBSERVED, label=label[0],
                  clip_on=False)  # fmt: skip
        axes.plot([predicted], [below], "D", ms=7, mfc=_PAPER, mec=_LAW, mew=1.8, label=label[1],
                  clip_on=False, zorder=4)  # fmt: skip
        low = observed if interval.low is None else interval.low
        high = observed if interval.high is None else interval.high
        _note(axes, low, high, above, percent(observed))
        _note(axes, predicted, predicted, below, percent(predicted))
    axes.set_xlim(0, 1)
    axes.margins(x=0)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("share of the scored questions")


def _draw_excess(axes: Axes, excess: TieExcess) -> None:
    reach = 2.0
    axes.axvline(0, color=_MUTED, lw=1, zorder=1)
    for row, sign in enumerate(_SIGNS):
        difference = getattr(excess.excess, sign)
        ends = [v for v in (difference.estimate, difference.low, difference.high) if v is not None]
        reach = max([reach, *(abs(100 * v) for v in ends if math.isfinite(v))])
        _whisker(axes, row, difference, scale=100)
        axes.plot([100 * difference.estimate], [row], "o", ms=8, mfc=_OBSERVED, mec=_OBSERVED)
        axes.annotate(
            points(difference.estimate),
            (100 * difference.estimate, row),
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            color=_INK,
            bbox=_PATCH,
        )
    axes.set_xlim(-1.15 * reach, 1.15 * reach)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("excess: observed − predicted\n(percentage points)", linespacing=1.35)


def score_distribution_figure(distribution: ScoreDistribution, *, narrow: bool = False) -> Figure:
    """Draw the share of questions at each possible score, beside the exact law.

    Parameters
    ----------
    distribution : ScoreDistribution
        What `score_distribution` gave.
    narrow : bool
        Whether to draw for a telephone.

    Returns
    -------
    matplotlib.figure.Figure
        Bars for the questions, hollow diamonds for the law, one a lattice point.
    """
    support = distribution.support
    gap = float((support[1:] - support[:-1]).min())
    with drawing_style():
        figure = new_figure(340, 300) if narrow else new_figure(760, 330)
        axes = figure.subplots()
        bare_axes(axes)
        bars = axes.bar(support, distribution.observed, width=0.72 * gap, color=_OBSERVED)
        size = 7 if support.size <= (12 if narrow else 30) else 4
        (markers,) = axes.plot(
            support,
            distribution.predicted,
            "D",
            ms=size,
            mfc=_PAPER,
            mec=_LAW,
            mew=1.8 if size == 7 else 1.2,
            clip_on=False,
            zorder=4,
        )
        top = 1.3 * max(distribution.observed.max(), distribution.predicted.max())
        axes.set_ylim(0, top)
        axes.set_xlim(-1 - gap / 2 - 0.02, 1 + gap / 2 + 0.02)
        _name_regions(axes, distribution)
        if support.size <= 9:
            axes.set_xticks(support, [_lattice_label(v, distribution) for v in support])
        else:
            axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−½", "0", "½", "1"])
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.locator_params(axis="y", nbins=5)
        axes.grid(axis="y", color=_RULE, lw=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0, labelcolor=_MUTED)
        axes.set_xlabel("score: DESTROY flip rate − SHAM flip rate")
        axes.set_ylabel("share of questions")
        figure.legend(
            [bars.patches[0], markers],
            ["observed", "exact law at the pooled flip rates"],
            loc="outside upper left",
            ncols=1 if narrow else 2,
            frameon=False,
            handletextpad=0.6,
            columnspacing=1.6,
            borderpad=0.2,
        )
        return figure


def _name_regions(axes: Axes, distribution: ScoreDistribution) -> None:
    """Say over the bars which side is which, and what each holds."""
    support, observed = distribution.support, distribution.observed
    sides = {
        "negative": (-0.62, observed[support < 0].sum()),
        "tied": (0.0, observed[support == 0].sum()),
        "positive": (0.62, observed[support > 0].sum()),
    }
    for name, (x, share) in sides.items():
        axes.text(
            x, 0.985, f"{name}\n{percent(share)}", transform=axes.get_xaxis_transform(),
            ha="center", va="top", color=_MUTED, linespacing=1.3,
            bbox=_PATCH,
        )  # fmt: skip


def _lattice_label(score: float, distribution: ScoreDistribution) -> str:
    """The score as a fraction of the budget, where both arms have the same k."""
    k = distribution.k_sham
    numerator = round(score * k)
    if distribution.k_destroy != k or numerator in (-k, 0, k) or k == 1:
        return f"{score:.2g}".replace("-", "−")
    return f"{numerator}/{k}".replace("-", "−")


def new_figure(width: float, height: float) -> Figure:
    """A figure of that many CSS pixels, through which the page shows."""
    from matplotlib.figure import Figure

    # One point of the figure is one CSS pixel of the page.
    figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
    figure.patch.set_alpha(0)
    return figure


def bare_axes(axes: Axes) -> None:
    """Leave of the frame the axis below."""
    axes.patch.set_alpha(0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _whisker(axes: Axes, y: float, interval: Any, *, scale: float = 1) -> None:
    if interval.low is not None and interval.high is not None:
        axes.plot(
            [scale * interval.low, scale * interval.high], [y, y], "-", color=_OBSERVED, lw=2.2,
            solid_capstyle="butt", marker="|", ms=8, mew=1.6,
        )  # fmt: skip


def _note(axes: Axes, low: float, high: float, y: float, text: str) -> None:
    """Words to the right of a mark, or to its left where there is no room."""
    right = high < 0.8
    axes.annotate(
        text,
        (high if right else low, y),
        xytext=(9 if right else -9, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        color=_INK,
    )


def titled_legend(
    figure: Figure, pairs: Iterable[tuple[Any, str]], title: str, *, columns: int
) -> None:
    """Title and legend in one block above the axes, from handles and their labels."""
    handles, labels = zip(*pairs, strict=True)
    figure.legend(
        handles,
        labels,
        title=title,
        title_fontsize=12,
        alignment="left",
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        handletextpad=0.6,
        columnspacing=1.4,
        borderpad=0.2,
    )
