"""Figures of populations: the fitted one, and what it predicts at other budgets.

As in every figure, a share that was observed is a filled mark, one that a model says is hollow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

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

    from carve_stats.inference.prediction import SignPrediction
    from carve_stats.population.mixing import Population

__all__ = ["population_figure", "sign_prediction_figure", "tie_rate_figure"]

_INK, _MUTED, _RULE = COLOURS["ink"], COLOURS["muted"], COLOURS["rule"]
_PAPER, _OBSERVED, _LAW = COLOURS["paper"], COLOURS["observed"], COLOURS["law"]

_PANELS = {"negative": "score < 0", "zero": "score = 0", "positive": "score > 0"}
_MOST_TICKS = 10


def sign_prediction_figure(predictions: Sequence[SignPrediction]) -> Figure:
    """Draw the share of each sign against k: what was observed, and what is predicted.

    Parameters
    ----------
    predictions : sequence of SignPrediction
        From `predict_signs` of the same counts, one a k; those at smaller k than were made
        show what was observed.

    Returns
    -------
    matplotlib.figure.Figure
        A panel a sign. Filled dots: exact, by subsampling, with intervals. Hollow diamonds: the
        model's point. Dark band: identified; light band: with sampling error.
    """
    ordered = _by_k(predictions)
    with drawing_style():
        figure = new_figure(760, 340)
        for axes, (sign, title) in zip(figure.subplots(1, 3), _PANELS.items(), strict=True):
            bare_axes(axes)
            _draw_sign(axes, ordered, sign)
            axes.set_title(title, loc="left", fontsize=11.5, color=_INK)
        _legend(figure, axes, _title("Signs of the scores", ordered), columns=4)
        return figure


def tie_rate_figure(predictions: Sequence[SignPrediction]) -> Figure:
    """Draw the tie rate against k, with what the observed tie rates alone allow.

    Parameters
    ----------
    predictions : sequence of SignPrediction
        As in `sign_prediction_figure`, with one k in both arms.

    Returns
    -------
    matplotlib.figure.Figure
        As there, with the elementary bounds as dashed lines: tie rates at k are moments of one
        law on [0, 1], whatever the population is.
    """
    ordered = _by_k(predictions)
    with drawing_style():
        figure = new_figure(560, 350)
        axes = figure.subplots()
        bare_axes(axes)
        _draw_sign(axes, ordered, "zero")
        bounded = [p for p in ordered if p.tie_bounds is not None]
        k = [p.k_sham for p in bounded]
        for place, end in enumerate(("low", "high")):
            axes.plot(
                k,
                [getattr(p.tie_bounds, end) for p in bounded],
                "--",
                color=_MUTED,
                lw=1.2,
                label="from the tie rates alone" if place == 0 else None,
            )
        axes.set_ylabel("share of questions tied")
        _legend(figure, axes, _title("Scores of zero", ordered), columns=3)
        return figure


def population_figure(population: Population) -> Figure:
    """Draw a population on the unit square: a disc an atom, its area the atom's weight.

    Parameters
    ----------
    population : Population
        Fitted or synthetic.

    Returns
    -------
    matplotlib.figure.Figure
        Questions above the diagonal flip more often in DESTROY than in SHAM.
    """
    from carve_stats.population.mixing import Population

    if not isinstance(population, Population):
        raise InputError(f"population is a {type(population).__name__}: it must be a Population")
    with drawing_style():
        figure = new_figure(430, 430)
        axes = figure.subplots()
        bare_axes(axes)
        axes.plot([0, 1], [0, 1], "-", color=_MUTED, lw=1)
        axes.scatter(
            population.p_sham,
            population.p_destroy,
            s=9000 * population.weights,
            facecolor=_LAW,
            alpha=0.35,
            lw=0,
            clip_on=False,
        )
        # A disc of its own for the legend, whatever the size of the first atom's.
        label = "a pair of flip probabilities; area: share of questions"
        axes.scatter([], [], s=60, facecolor=_LAW, alpha=0.35, lw=0, label=label)
        sham, destroy = (
            population.weights @ population.p_sham,
            population.weights @ population.p_destroy,
        )
        axes.plot([sham], [destroy], "+", ms=16, mew=2, color=_INK, label="mean flip probabilities")
        axes.annotate(
            "no difference",
            (0.97, 0.97),
            xytext=(-4, -16),
            textcoords="offset points",
            ha="right",
            va="top",
            color=_MUTED,
            rotation=45,
            rotation_mode="anchor",
        )
        axes.set_aspect("equal")
        axes.set_xlim(-0.06, 1.06)
        axes.set_ylim(-0.06, 1.06)
        axes.set_xlabel("SHAM flip probability")
        axes.set_ylabel("DESTROY flip probability")
        axes.tick_params(axis="y", length=0, labelcolor=_MUTED)
        figure.legend(loc="outside upper left", frameon=False, borderpad=0.2)
        return figure


def _title(what: str, ordered: list[SignPrediction]) -> str:
    """What is shown, of how many questions, and from which replays."""
    made = {(p.from_k_sham, p.from_k_destroy) for p in ordered if p.model is not None}
    source = "".join(f", from k = {a if a == b else f'{a} and {b}'}" for a, b in sorted(made))
    return f"{what} at k replays{source}; {ordered[0].questions['scored']:,} questions"


def _by_k(predictions: Sequence[SignPrediction]) -> list[SignPrediction]:
    from carve_stats.inference.prediction import SignPrediction

    if not isinstance(predictions, list | tuple) or not predictions:
        raise InputError("predictions must be a list: one SignPrediction for each k to be drawn")
    for prediction in predictions:
        if not isinstance(prediction, SignPrediction):
            raise InputError(
                f"predictions hold a {type(prediction).__name__}: give SignPredictions"
            )
        if prediction.k_sham != prediction.k_destroy:
            raise InputError(
                f"k_sham={prediction.k_sham} and k_destroy={prediction.k_destroy}: a curve over k"
                " needs one k in both arms"
            )
    logs = {prediction.questions["scored"] for prediction in predictions}
    made = {(p.from_k_sham, p.from_k_destroy) for p in predictions if p.model is not None}
    if len(logs) > 1 or len(made) > 1:
        raise InputError(
            f"predictions are of different logs, with {sorted(logs)} questions, from"
            f" {sorted(made)} replays: give those of one log"
        )
    return sorted(predictions, key=lambda prediction: prediction.k_sham)


def _draw_sign(axes: Axes, ordered: list[SignPrediction], sign: str) -> None:
    from matplotlib.ticker import MaxNLocator

    exact = [p for p in ordered if p.model is None]
    modelled = [p for p in ordered if p.model is not None]
    # The bands begin where the replays end: at the largest budget that is known exactly.
    from_here = [*exact[-1:], *modelled]
    k = np.array([p.k_sham for p in from_here])
    for which, opacity in BANDS.items():
        ends = np.array([getattr(getattr(p, which), sign) for p in from_here], dtype=float)
        if not modelled or np.isnan(ends).any():
            continue
        label = f"{100 * ordered[0].level:g} % interval" if which == "interval" else which
        axes.fill_between(k, *ends.T, color=_LAW, alpha=opacity, lw=0, label=label)
    for p in exact:
        low, high = getattr(p.interval, sign)
        if low is not None:
            axes.plot([p.k_sham] * 2, [low, high], "-", color=_OBSERVED, lw=2)
    axes.plot(
        [p.k_sham for p in exact],
        [getattr(p.point, sign) for p in exact],
        "o",
        ms=7,
        color=_OBSERVED,
        label="observed (subsampled)",
    )
    shown = [p for p in modelled if getattr(p.point, sign) is not None]
    axes.plot(
        [p.k_sham for p in shown],
        [getattr(p.point, sign) for p in shown],
        "D",
        ms=6,
        mfc=_PAPER,
        mec=_LAW,
        mew=1.6,
        label="the model's point" if shown else None,
    )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("k, replays in each arm")
    if len(ordered) <= _MOST_TICKS:
        axes.set_xticks([p.k_sham for p in ordered])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    axes.grid(axis="y", color=_RULE, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0, labelcolor=_MUTED)


def _legend(figure: Figure, axes: Axes, title: str, *, columns: int) -> None:
    pairs = zip(*axes.get_legend_handles_labels(), strict=True)
    titled_legend(figure, pairs, title, columns=columns)
