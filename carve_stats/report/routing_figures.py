"""Figures of routing: what deferring gains by k, why that changes, and what each call brings.

As in every figure, what was observed is filled, what a model says is hollow.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from carve_stats import _display
from carve_stats.errors import InputError
from carve_stats.report.figures import (
    BANDS,
    COLOURS,
    bare_axes,
    drawing_style,
    new_figure,
    titled_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from carve_stats.law.score_rule import ScoreRule
    from carve_stats.routing.curve_result import CurvePoint, RoutingCurve
    from carve_stats.routing.frontier import DeferralFrontier
    from carve_stats.routing.score_values import ScoreValues
    from carve_stats.routing.transitions import ScoreTransitions

__all__ = ["frontier_figure", "routing_curve_figure", "score_value_figure", "transition_figure"]

_INK, _MUTED, _RULE = COLOURS["ink"], COLOURS["muted"], COLOURS["rule"]
_PAPER, _OBSERVED, _LAW = COLOURS["paper"], COLOURS["observed"], COLOURS["law"]

_NEAREST_TICKS = 0.035  # of the axis: the labels of two closer ones would touch
_MOST_NAMES = 9  # cut-offs with their names beside them
_NEAREST_NAMES = 0.06  # of the axis
_WORTH = ("repairable", "harmable")


def routing_curve_figure(curve: RoutingCurve) -> Figure:
    """Draw the gain of a rule against k.

    Parameters
    ----------
    curve : RoutingCurve
        From `routing_curve`.

    Returns
    -------
    matplotlib.figure.Figure
        Filled dots: exact, with intervals. Hollow diamonds: predicted; dark band: identified,
        light band: with sampling error. Triangles: re-tuned at each k. Dashes: as many calls at
        random; solid line: every question deferred.
    """
    from carve_stats.routing.curve_result import RoutingCurve

    _check("curve", curve, RoutingCurve)
    exact = [point for point in curve.points if not point.predicted]
    predicted = [point for point in curve.points if point.predicted]
    with drawing_style():
        figure = new_figure(760, 400)
        axes = figure.subplots()
        bare_axes(axes)
        axes.axhline(0, color=_MUTED, lw=1)
        # The bands begin where the replays end: at the largest budget that is known exactly.
        _draw_bands(axes, [*exact[-1:], *predicted], curve.interval.level, bool(predicted))
        axes.axhline(curve.always_points, color=_INK, lw=1.4, label="every question deferred")
        shown = [point for point in curve.points if not np.isnan(point.random_points)]
        axes.plot(
            [point.k for point in shown],
            [point.random_points for point in shown],
            "--",
            color=_MUTED,
            lw=1.4,
            marker=None if len(shown) > 1 else "_",
            ms=14,
            label="as many at random",
        )
        tuned = [p for p in shown if p.retuned and not np.isnan(p.retuned.gain_points.estimate)]
        if tuned:
            axes.plot(
                [point.k for point in tuned],
                [point.retuned.gain_points.estimate for point in tuned if point.retuned],
                "^",
                ms=6,
                mfc=_PAPER,
                mec=_MUTED,
                mew=1.2,
                label="threshold re-tuned at each k",
            )
        for point in exact:
            low, high = point.gain_points.low, point.gain_points.high
            if low is not None and high is not None:
                axes.plot([point.k] * 2, [low, high], "-", color=_OBSERVED, lw=2)
        rule = _typeset(curve.rule)
        level = f"{100 * curve.interval.level:g} % interval"
        known = any(point.gain_points.low is not None for point in exact)
        told_as = f"{rule}: exact, {level}" if known else f"{rule}: exact"
        _mark(axes, exact, "o", 8, told_as, mfc=_OBSERVED, mec=_OBSERVED)
        told = [point for point in predicted if point.selected is not None]
        _mark(axes, told, "D", 7, f"{rule}: predicted", mfc=_PAPER, mec=_LAW, mew=1.8)
        _ticks(axes, [point.k for point in curve.points], curve.made_k)
        axes.set_xlabel("k, replays in each arm")
        axes.set_ylabel("gain in accuracy (points)")
        _signed(axes)
        title = (
            f"Gain of deferring to {curve.fallback}, by k; {curve.questions['used']:,} questions"
        )
        axes.margins(y=0.08)
        order = [
            f"{rule}: exact",
            f"{rule}: predicted",
            "interval",
            "identified",
            "as many",
            "every",
        ]
        _legend(figure, [axes], title, columns=3, order=order)
        return figure


def transition_figure(transitions: ScoreTransitions) -> Figure:
    """Draw what each way of a score between two k adds to the net repairs of the rule.

    Parameters
    ----------
    transitions : ScoreTransitions
        Those of a `RoutingCurve`.

    Returns
    -------
    matplotlib.figure.Figure
        On the left the questions that go each way, on the right what that adds to the net.
        Those at the threshold before are emphasised.
    """
    from carve_stats.routing.transitions import ScoreTransitions

    _check("transitions", transitions, ScoreTransitions)
    ways = _ways(transitions)
    places = np.arange(len(ways))
    with drawing_style():
        figure = new_figure(760, 150 + 46 * len(ways))
        worth, change = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1))
        for axes in (worth, change):
            bare_axes(axes)
            axes.axvline(0, color=_MUTED, lw=1)
            axes.axhline(2.5, color=_RULE, lw=1)
            axes.axhline(len(ways) - 1.5, color=_RULE, lw=1)
            axes.tick_params(axis="y", length=0, pad=10)
        worth.set_yticks(places, [way[0] for way in ways], linespacing=1.3)
        worth.set_ylim(len(ways) - 0.4, -0.6)
        bold = [way[4] for way in ways]
        for label, strong in zip(worth.get_yticklabels(), bold, strict=True):
            label.set_fontweight("bold" if strong else "normal")
        change.tick_params(axis="y", labelleft=False)
        _draw_worth(worth, ways[:-1], transitions.predicted)
        for y, (_, _, _, added, strong) in enumerate(ways):
            last = y == len(ways) - 1
            colour = _INK if strong or last else _MUTED
            change.barh(y, added, height=0.55, **_bar(colour, transitions.predicted))
            _beside(change, added, y, _change(added), strong or last)
        span = max(1.0, *(abs(way[3]) for way in ways))
        change.set_xlim(-1.45 * span, 1.45 * span)
        change.locator_params(axis="x", nbins=5)
        change.set_xlabel("what that adds to the net repairs\nof the rule", linespacing=1.35)
        _signed(change, axis="x")
        how = "predicted" if transitions.predicted else "exact"
        title = (
            f"Where scores go from k = {transitions.from_k} to k = {transitions.to_k}, and what"
            f" that does to {_typeset(transitions.rule)} ({how})"
        )
        _legend(figure, [worth], title, columns=2)
        return figure


def frontier_figure(frontier: DeferralFrontier) -> Figure:
    """Draw the gain against the number of questions deferred.

    Parameters
    ----------
    frontier : DeferralFrontier
        From `deferral_frontier`, with a cut-off or more.

    Returns
    -------
    matplotlib.figure.Figure
        Dots (a line where they are many): one a cut-off. Band: the interval at one cut-off.
        Dashes: as many at random; square: every question deferred.
    """
    from carve_stats.routing.frontier import DeferralFrontier

    _check("frontier", frontier, DeferralFrontier)
    if not frontier.calls.size:
        raise InputError(f"frontier has no cut-off: no question has a value of {frontier.by!r}")
    n = frontier.questions["used"]
    calls, gain = _from_nothing(frontier.calls), _from_nothing(frontier.gain_points)
    with drawing_style():
        figure = new_figure(760, 400)
        axes = figure.subplots()
        bare_axes(axes)
        axes.axhline(0, color=_MUTED, lw=1)
        low, high = _from_nothing(frontier.low), _from_nothing(frontier.high)
        if not np.isnan(low[1:]).all():
            # Where the clusters do not differ there is no interval: the band skips that cut-off.
            there = ~np.isnan(low)
            level = f"{100 * frontier.interval.level:g} % interval at one cut-off"
            axes.fill_between(
                calls[there], low[there], high[there], color=_OBSERVED, alpha=0.16, lw=0,
                label=level,
            )  # fmt: skip
        axes.plot(
            [0, n], [0, frontier.always_points], "--", color=_MUTED, lw=1.4,
            label="as many at random",
        )  # fmt: skip
        few = frontier.calls.size <= _MOST_NAMES
        axes.plot(
            calls, gain, "-", color=_OBSERVED, lw=1.2 if few else 2,
            label=None if few else f"by {frontier.by}, smallest first",
        )  # fmt: skip
        if few:
            axes.plot(
                calls[1:], gain[1:], "o", ms=8, color=_OBSERVED, clip_on=False,
                label=f"by {frontier.by}, smallest first",
            )  # fmt: skip
            _name_cut_offs(axes, frontier)
        axes.plot(
            [n], [frontier.always_points], "s", ms=11, mfc="none", mec=_INK, mew=1.4,
            clip_on=False, label="every question deferred",
        )  # fmt: skip
        axes.set_xlim(0, 1.02 * n)
        axes.set_xlabel(f"questions deferred to {frontier.fallback}, of {n:,}")
        axes.set_ylabel("gain in accuracy (points)")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _signed(axes)
        _legend(figure, [axes], f"What deferring to {frontier.fallback} gains", columns=4)
        return figure


def score_value_figure(values: ScoreValues) -> Figure:
    """Draw at which scores the questions stand that a deferral repairs, and those it harms.

    Parameters
    ----------
    values : ScoreValues
        From `score_values`.

    Returns
    -------
    matplotlib.figure.Figure
        Above: repairable questions upwards, harmable ones downwards, and their difference. Below:
        the questions that a deferral leaves right or wrong as they are.
    """
    from carve_stats.routing.score_values import ScoreValues

    _check("values", values, ScoreValues)
    width = 0.72 / values.k
    with drawing_style():
        figure = new_figure(760, 440)
        worth, others = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        for axes in (worth, others):
            bare_axes(axes)
            axes.tick_params(axis="y", length=0, labelcolor=_MUTED)
            axes.grid(axis="y", color=_RULE, lw=0.6)
            axes.set_axisbelow(True)
            axes.locator_params(axis="y", nbins=6, integer=True)
        for label, height, sign in zip(
            _WORTH, (values.repairs, values.harms), (1, -1), strict=True
        ):
            worth.bar(values.score, sign * height, width=width, label=label, **_worth_bar(label))
        worth.axhline(0, color=_INK, lw=1)
        worth.plot(
            values.score, values.repairs - values.harms, "o-", color=_INK, ms=5, lw=1.2,
            label="net",
        )  # fmt: skip
        worth.set_ylabel("questions")
        worth.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
        others.bar(
            values.score, values.neither, width=width, color=_MUTED, alpha=0.5,
            label="as right or wrong as before",
        )  # fmt: skip
        others.set_ylabel("others")
        others.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        others.set_xlabel("score: DESTROY flip rate − SHAM flip rate")
        if values.k <= 4:
            others.set_xticks(values.score, [_fraction(one, values.k) for one in values.score])
        else:
            others.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−1/2", "0", "1/2", "1"])
        if values.made_k == values.k:
            source = ""
        else:
            source = f", by subsampling {values.made_k}"
        title = f"What {values.fallback} would do to the questions at each score, k = {values.k}"
        order = [*_WORTH, "net", "as right"]
        _legend(figure, [worth, others], title + source, columns=4, order=order)
        return figure


def _check(name: str, value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise InputError(f"{name} is a {type(value).__name__}: it must be a {wanted.__name__}")


def _draw_bands(axes: Axes, points: list[CurvePoint], level: float, predicted: bool) -> None:
    if not predicted:
        return
    k = [point.k for point in points]
    bands = {
        "interval": [(p.gain_points.low, p.gain_points.high) for p in points],
        "identified": [tuple(p.identified) for p in points],
    }
    for name, opacity in BANDS.items():
        ends = np.array(bands[name], dtype=float)
        if np.isnan(ends).any():
            continue
        label = f"{100 * level:g} % interval" if name == "interval" else name
        if len(points) == 1:  # nothing was observed at any k asked for: a band of one place
            axes.plot(k * 2, ends[0], "-", color=_LAW, alpha=opacity, lw=12, label=label)
        else:
            axes.fill_between(k, *ends.T, color=_LAW, alpha=opacity, lw=0, label=label)


def _mark(
    axes: Axes, points: Sequence[CurvePoint], marker: str, size: float, label: str, **style: Any
) -> None:
    if points:
        axes.plot(
            [point.k for point in points],
            [point.gain_points.estimate for point in points],
            marker,
            ms=size,
            label=label,
            zorder=4,
            **style,
        )


def _ticks(axes: Axes, k: list[int], made: int) -> None:
    """Ticks at the k asked for; the names of some are left out where they would touch."""
    span = max(k) - min(k)
    named: list[int] = []
    # The replays made and the ends are named before those between them.
    for one in sorted(k, key=lambda one: (one not in (made, k[0], k[-1]), one)):
        if all(abs(one - other) > _NEAREST_TICKS * span for other in named):
            named.append(one)
    axes.set_xticks(sorted(named))
    axes.set_xticks(k, minor=True)
    axes.tick_params(axis="x", which="both", color=_MUTED, length=4)
    margin = 0.04 * span if span else 1.0
    axes.set_xlim(min(k) - margin, max(k) + margin)


def _ways(transitions: ScoreTransitions) -> list[tuple[str, float, float, float, bool]]:
    """Name, repairable, harmable, added net and emphasis of each row; the last is the total."""
    threshold = str(transitions.rule.threshold).replace("-", "−")
    states = [f"score {sign} {threshold}" for sign in "<=>"]
    ties = [
        "at the threshold, then below",
        "at the threshold, kept",
        "at the threshold, then above",
    ]
    if transitions.rule.threshold == 0:
        ties = ["tie resolved downwards", "tie kept", "tie resolved upwards"]
    change = transitions.change

    def way(i: int, j: int, words: str, strong: bool) -> tuple[str, float, float, float, bool]:
        repairs, harms = transitions.repairs[i, j], transitions.harms[i, j]
        name = f"{words}\n{states[i]} → {states[j]}"
        return name, float(repairs), float(harms), float(change[i, j]), strong

    rows = [way(1, j, ties[j], True) for j in (2, 0, 1)]
    moves = [(0, 2, "below, then above"), (2, 0, "above, then below")]
    moves += [(0, 1, "below, then at it"), (2, 1, "above, then at it")]
    # Where the rule says the same before and after, nothing changes.
    selected = [sign in transitions.rule.comparison for sign in "<=>"]
    rows += [
        way(i, j, words, False)
        for i, j, words in moves
        if selected[i] != selected[j] and transitions.questions[i, j] > 0
    ]
    return [*rows, ("change of the net", 0.0, 0.0, float(change.sum()), False)]


def _draw_worth(
    axes: Axes, ways: list[tuple[str, float, float, float, bool]], predicted: bool
) -> None:
    places = np.arange(len(ways))
    repairs, harms = (np.array([way[column] for way in ways]) for column in (1, 2))
    for label, length, sign in zip(_WORTH, (repairs, harms), (1, -1), strict=True):
        axes.barh(places, sign * length, height=0.55, label=label, **_worth_bar(label, predicted))
        for y, way in enumerate(ways):
            shown = _display.number(length[y], 1)
            _beside(axes, sign * length[y], y, shown, way[4], left=sign < 0)
    span = max(1.0, repairs.max(), harms.max())
    axes.set_xlim(-1.35 * max(1.0, harms.max()) - 0.1 * span, 1.3 * span)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):.3g}")
    axes.set_xlabel("questions that go this way")


def _worth_bar(label: str, predicted: bool = False) -> dict[str, Any]:
    """Told apart by side, colour and, for print without colours, hatching."""
    if label == "repairable":
        return _bar(_OBSERVED, predicted)
    return {**_bar(_LAW, predicted), "hatch": "////", "edgecolor": _LAW if predicted else _PAPER}


def _bar(colour: str, predicted: bool) -> dict[str, Any]:
    if predicted:
        return {"facecolor": _PAPER, "edgecolor": colour, "lw": 1.6}
    return {"facecolor": colour, "lw": 0}


def _beside(
    axes: Axes, x: float, y: float, text: str, strong: bool, *, left: bool | None = None
) -> None:
    """Words beyond the end of a bar."""
    left = x < 0 if left is None else left
    axes.annotate(
        text,
        (x, y),
        xytext=(-6 if left else 6, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
        color=_INK,
        fontweight="bold" if strong else "normal",
    )


def _name_cut_offs(axes: Axes, frontier: DeferralFrontier) -> None:
    """The cut-offs beside their dots, on the side away from the random diagonal."""
    last = -np.inf
    rows = zip(
        frontier.calls, frontier.gain_points, frontier.advantage_points, frontier.cut_off,
        strict=True,
    )  # fmt: skip
    for x, y, advantage, cut_off in rows:
        room = _NEAREST_NAMES * frontier.questions["used"]
        if x - last < room:
            continue  # the names would touch
        left = advantage >= 0 and x > room
        last = x
        shown = _fraction(cut_off, 100) if frontier.by == "score" else f"{cut_off:.4g}"
        axes.annotate(
            f"≤ {shown}",
            (x, y),
            xytext=(-4 if left else 4, 12 if advantage >= 0 else -12),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            color=_INK,
        )


def _fraction(score: float, largest: int) -> str:
    return str(Fraction(score).limit_denominator(largest)).replace("-", "−")


def _from_nothing(values: NDArray[Any]) -> NDArray[np.float64]:
    """With the cut-off that defers no question before the others."""
    return np.concatenate([[0.0], values])


def _typeset(rule: ScoreRule) -> str:
    return str(rule).replace("<=", "≤").replace(">=", "≥").replace("-", "−")


def _change(net: float) -> str:
    return _display.number(net, 1, signed=True).replace("-", "−") if net else "0"


def _signed(axes: Axes, *, axis: str = "y") -> None:
    """Signs on an axis of gains, and lines to read them along."""
    ruler = axes.yaxis if axis == "y" else axes.xaxis
    ruler.set_major_formatter(lambda x, _: f"{x:+.3g}".replace("-", "−") if x else "0")
    axes.grid(axis=axis, color=_RULE, lw=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    if axis == "y":
        axes.tick_params(axis="y", length=0, labelcolor=_MUTED)


def _legend(
    figure: Figure, drawn: list[Axes], title: str, *, columns: int, order: Sequence[str] = ()
) -> None:
    """A legend above all; `order` holds parts of the labels, first things first."""
    pairs = [pair for axes in drawn for pair in zip(*axes.get_legend_handles_labels(), strict=True)]

    def place(pair: tuple[Any, str]) -> int:
        return next((i for i, part in enumerate(order) if part in pair[1]), len(order))

    pairs.sort(key=place)
    titled_legend(figure, pairs, title, columns=columns)
