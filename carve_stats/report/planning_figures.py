"""The figure of a plan: the goal's figure against k, and what each k costs or leaves of signs.

As in every figure, what was observed is filled, what a model says is hollow.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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

    from carve_stats.planning.budget_plan import BudgetPlan, PlanRow

__all__ = ["plan_figure"]

_INK, _MUTED, _RULE = COLOURS["ink"], COLOURS["muted"], COLOURS["rule"]
_PAPER, _OBSERVED, _LAW = COLOURS["paper"], COLOURS["observed"], COLOURS["law"]

_SIGNS = {
    "negative": ("score < 0", ":"),
    "zero": ("score = 0", "-"),
    "positive": ("score > 0", "--"),
}
_SHARES = ("tie rate", "wrong sign", "decided", "power")
_OF_PILOT = "from the pilot's replays"
_NARROWEST = 1e-9  # a band that can be seen is wider
_SAME = 1e-3  # lines nearer than this hide each other
_TITLE = 118  # characters in a line


def plan_figure(plan: BudgetPlan) -> Figure:
    """Draw the figure of a plan's goal against k, with the k that it recommends.

    Parameters
    ----------
    plan : BudgetPlan
        From `plan_budget`.

    Returns
    -------
    matplotlib.figure.Figure
        On the left the goal's figure: filled dots from the pilot's own replays, hollow diamonds
        from a model or a given population, bands for what the pilot leaves open; the goal is a
        line, its good side shaded. On the right, for goals about the mean score, the questions
        that meet the goal at each k; for others the shares of the three signs.
    """
    from carve_stats.planning.budget_plan import BudgetPlan

    if not isinstance(plan, BudgetPlan):
        raise InputError(f"plan is a {type(plan).__name__}: give what plan_budget returns")
    with drawing_style():
        figure = new_figure(760, 380)
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        for axes in (left, right):
            bare_axes(axes)
            _ticks(axes, plan)
            axes.grid(axis="y", color=_RULE, lw=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(axis="y", length=0, labelcolor=_MUTED)
        _draw_goal(left, plan)
        if any(row.questions_needed is not None for row in plan.rows):
            _draw_questions(right, plan)
        else:
            _draw_signs(right, plan)
        for axes in (left, right):
            axes.set_xlabel("k, replays in each arm")
        figure.set_layout_engine("constrained", wspace=0.06)
        handles, names = left.get_legend_handles_labels()
        # The dots of the signs are explained where the goal's own figure has none.
        for handle, name in zip(*right.get_legend_handles_labels(), strict=True):
            if name == _OF_PILOT and name not in names:
                handles.append(handle)
                names.append(name)
        pairs = zip(handles, names, strict=True)
        titled_legend(figure, pairs, textwrap.fill(_title(plan), _TITLE), columns=3)
        return figure


def _draw_goal(axes: Axes, plan: BudgetPlan) -> None:
    goal, rows = plan.goal, plan.rows
    share = goal.name in _SHARES
    observed = [row for row in rows if row.value.observed and row.value.point is not None]
    modelled = [row for row in rows if not row.value.observed]
    named = _draw_bands(axes, plan, [*observed[-1:], *modelled])
    for row in observed:
        low, high = row.value.interval
        if low is not None and high is not None:
            label = "_" if "interval" in named else f"{100 * plan.level:g} % interval"
            axes.plot([row.k] * 2, [low, high], "-", color=_OBSERVED, lw=2, zorder=2.5, label=label)
            named.add("interval")
    _mark(axes, observed, "o", _OF_PILOT, mfc=_OBSERVED, mec=_OBSERVED)
    told = [row for row in modelled if row.value.point is not None]
    source = "predicted" if plan.made_k is not None else "expected, as given"
    _mark(axes, told, "D", source, mfc=_PAPER, mec=_LAW, mew=1.5)
    limit = plan.recommended.limit
    side = "at most" if goal.comparison == "<=" else "at least"
    wanted = f"goal: {side} {_shown(goal.number, share)}"
    if limit is not None and limit == goal.number:
        wanted += ", as k grows without end"
    elif limit is not None:
        label = f"as k grows without end: {_shown(limit, share)}"
        axes.axhline(limit, color=_MUTED, lw=1.2, ls=(0, (2, 2)), label=label)
    axes.axhline(goal.number, color=_INK, lw=1.4, label=wanted)
    axes.margins(y=0.08)
    bottom, top = axes.get_ylim()
    bottom = max(bottom, 0.0) if goal.number >= 0.0 and bottom > -0.1 else bottom
    axes.set_ylim(bottom, top)
    ends = (bottom, goal.number) if goal.comparison == "<=" else (goal.number, top)
    axes.axhspan(*ends, color=_RULE, alpha=0.35, lw=0, zorder=0)
    recommended = plan.recommended.k
    if recommended is not None:
        axes.axvline(recommended, color=_INK, lw=1, ls="--", zorder=1)
        axes.annotate(
            f"k = {recommended}",
            (recommended, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="left" if recommended == rows[0].k else "center",
            va="bottom",
            color=_INK,
            fontweight="bold",
        )
    if share:
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    axes.set_ylabel(goal.name)


def _draw_bands(axes: Axes, plan: BudgetPlan, rows: list[PlanRow]) -> set[str]:
    """Draw the bands that can be seen; which."""
    drawn = set()
    for which, opacity in BANDS.items():
        bounded = [row for row in rows if None not in getattr(row.value, which)]
        if plan.made_k is None or len(bounded) < 2:
            continue
        label = f"{100 * plan.level:g} % interval" if which == "interval" else which
        low, high = zip(*(getattr(row.value, which) for row in bounded), strict=True)
        if max(b - a for a, b in zip(low, high, strict=True)) < _NARROWEST:
            continue
        drawn.add(which)
        axes.fill_between([r.k for r in bounded], low, high, color=_LAW, alpha=opacity, lw=0,
                          label=label)  # fmt: skip
    return drawn


def _draw_questions(axes: Axes, plan: BudgetPlan) -> None:
    rows = [row for row in plan.rows if row.questions_needed is not None]
    needed = [row.questions_needed for row in rows if row.questions_needed is not None]
    axes.plot([row.k for row in rows], needed, "-", color=_LAW, lw=1.6)
    axes.plot([row.k for row in rows], needed, "D", ms=4, mfc=_PAPER, mec=_LAW, mew=1.3)
    axes.set_title("questions needed at each k", loc="left", fontsize=11.5, color=_INK)
    top = 1.12 * max(*needed, plan.questions or 0)
    axes.set_ylim(0, top)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if plan.questions is not None:
        axes.axhline(plan.questions, color=_INK, lw=1)
        # Not onto the labels below, nor onto the line of what is needed at the right.
        room = needed[-1] - plan.questions
        above = room < 0 or plan.questions < 0.1 * top or room > 0.12 * top
        axes.annotate(
            f"planned: {plan.questions:,}",
            (1.0, plan.questions),
            xycoords=("axes fraction", "data"),
            xytext=(0, 4 if above else -4),
            textcoords="offset points",
            ha="right",
            va="bottom" if above else "top",
            color=_INK,
            bbox={"facecolor": _PAPER, "edgecolor": "none", "pad": 1.0},
        )


def _draw_signs(axes: Axes, plan: BudgetPlan) -> None:
    told = [row for row in plan.rows if row.signs.zero.point is not None]
    withheld = len(told) < len(plan.rows)
    title = "signs, as far as told" if withheld else "signs of the scores"
    axes.set_title(title, loc="left", fontsize=11.5, color=_INK)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    observed = [row for row in told if row.signs.zero.observed]
    lines: list[tuple[list[float], list[str], str]] = []  # shares, names and style
    for sign, (name, style) in _SIGNS.items():
        points = [getattr(row.signs, sign).point for row in observed]
        label = _OF_PILOT if observed else "_"
        axes.plot([row.k for row in observed], points, "o", ms=5, color=_OBSERVED, label=label)
        shares = [getattr(row.signs, sign).point for row in told]
        alike = [one for one in lines if _coincide(one[0], shares)]
        if alike:
            alike[0][1].append(name)
        else:
            lines.append((shares, [name], style))
    handles = [
        axes.plot(
            [row.k for row in told], shares, style, color=_LAW, lw=1.6, label=" and ".join(names)
        )[0]
        for shares, names, style in lines
    ]
    _limits(axes, told)
    axes.legend(handles=handles, loc="best", frameon=False)


def _coincide(one: list[float], other: list[float]) -> bool:
    return all(abs(a - b) < _SAME for a, b in zip(one, other, strict=True))


def _mark(axes: Axes, rows: list[PlanRow], marker: str, label: str, **style: Any) -> None:
    if rows:
        heights = [row.value.point or 0.0 for row in rows]  # those without one are not given
        axes.plot([row.k for row in rows], heights, marker, ms=6,
                  label=label, clip_on=False, zorder=3, **style)  # fmt: skip


def _ticks(axes: Axes, plan: BudgetPlan) -> None:
    from matplotlib.ticker import MaxNLocator

    _limits(axes, plan.rows)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))


def _limits(axes: Axes, rows: Sequence[PlanRow]) -> None:
    if rows:
        room = max(0.03 * (rows[-1].k - rows[0].k), 0.5)
        axes.set_xlim(rows[0].k - room, rows[-1].k + room)


def _title(plan: BudgetPlan) -> str:
    whose = "" if plan.questions is None else f"; {plan.questions:,} questions"
    pilot = "" if plan.made_k is None else f", from a pilot of k = {plan.made_k}"
    found = plan.recommended
    if found.k is None:
        is_open = any(row.met is None for row in plan.rows)
        answer = "not known to be met" if is_open else "not met"
        if found.best_k is None and plan.made_k is None:
            answer = "undefined"
    elif found.stable_from_k is None:
        answer = f"k = {found.k} meets it, larger k may not"
    elif found.stable_from_k != found.k:
        answer = (
            f"k = {found.k} meets it, and every k from {found.stable_from_k} to {plan.rows[-1].k}"
        )
    else:
        answer = f"k = {found.k} meets it"
    if found.k_low is not None and found.k_low != found.k_high:
        upper = " and up" if found.k_high is None else f" to {found.k_high}"
        answer += f" (left open: k = {found.k_low}{upper})"
    return f"{plan.goal}: {answer}{whose}{pilot}".replace("<=", "≤").replace(">=", "≥")


def _shown(value: float, share: bool) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{100 * value:.3g} %" if share else f"{value:.3g}"
