"""How a score table shows itself: a summary, the smallest p-values and the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from carve_stats import _display
from carve_stats.law.intervals import EXACT_INTERVALS

if TYPE_CHECKING:
    from carve_stats.inference.scores import ScoreTable

__all__ = ["as_html", "as_text"]

Block = tuple[str, list[str], list[list[object]]]
"""Caption, headers and rows."""

_SHOWN = 10
_LONGEST_ID = 40


def as_text(table: ScoreTable, *, rows: bool = True) -> str:
    """The table as plain text.

    Parameters
    ----------
    table : ScoreTable
        The table.
    rows : bool
        Whether to show the questions with the smallest p-values.

    Returns
    -------
    str
        Summary, rows and notes. Without a score there are no rows.
    """
    if not (rows and table.questions["scored"]):
        return _display.text_block(*_summary(table), [*_sentences(table), *table.notes])
    blocks = [
        _display.text_block(*_summary(table), _sentences(table)),
        _display.text_block(*_smallest(table), table.notes),
    ]
    return "\n\n".join(blocks)


def as_html(table: ScoreTable) -> str:
    """The same in HTML, as a notebook shows it."""
    if not table.questions["scored"]:
        return _display.html_block(*_summary(table), table.notes)
    blocks = [
        _display.html_block(*_summary(table), _sentences(table)),
        _display.html_block(*_smallest(table), table.notes),
    ]
    return "\n".join(blocks)


def _summary(table: ScoreTable) -> Block:
    """How many questions are scored, of which sign, and established."""
    signs, scored, read = table.signs, table.questions["scored"], table.questions["read"]
    caption = f"Scores, DESTROY − SHAM flip rate: {scored} of {read} questions scored"
    if not scored:
        return caption, ["", "questions"], [*map(list, table.questions["left_out"].items())]
    figures = {
        "score below 0": signs["negative"],
        "score 0": signs["zero"],
        "score above 0": signs["positive"],
        f"{100 * table.level:g} % interval excludes 0": int(table.excluding_zero.sum()),
        f"established ({table.adjust}, {table.significance:g})": int(table.established.sum()),
        "established, score above 0": table.established_above,
        "established, score below 0": table.established_below,
    }
    if table.selected is not None:
        figures[f"selected ({table.rule})"] = int(table.selected.sum())
    rows: list[list[object]] = [
        [what, count, _display.number(count / scored)] for what, count in figures.items()
    ]
    sham, destroy = table.k["sham"], table.k["destroy"]
    if sham is None or destroy is None:
        k = "k differs between questions"
    else:
        k = f"k = {sham}" if sham == destroy else f"k_sham = {sham}, k_destroy = {destroy}"
    return f"{caption} ({k})", ["", "questions", "share of scored"], rows


def _sentences(table: ScoreTable) -> list[str]:
    """How wide the intervals are, and how small the p-values."""
    if not table.questions["scored"]:
        return []
    if table.alternative != "two-sided":
        sides = f"one-sided: {table.alternative}"
    else:
        sides = "two-sided by doubling" if table.two_sided == "doubling" else "two-sided"
    kind = "exact" if table.interval in EXACT_INTERVALS else "approximate"
    return [
        f"{100 * table.level:g} % intervals ({table.interval}, {kind}): median width"
        f" {_display.number(table.median_width, 2)}; one of width 2 says nothing",
        f"p-values ({table.test} test, {sides}, exact): the smallest is"
        f" {_p_value(table.smallest_p_value)}; the smallest possible at these k is"
        f" {_p_value(table.smallest_possible_p_value)}",
    ]


def _smallest(table: ScoreTable) -> Block:
    """The questions with the smallest p-values, with flips/replays of each arm."""
    headers = ["question", "cluster", "sham", "destroy", "score", "interval", "p-value"]
    headers += ["adjusted", "established"]
    shown = np.lexsort((table.p_value, ~table.scored))[:_SHOWN]  # stable
    rows: list[list[object]] = [
        [
            _shown(table.question[i]),
            None if table.cluster is None else _shown(table.cluster[i]),
            f"{table.sham_flips[i]}/{table.sham_replays[i]}",
            f"{table.destroy_flips[i]}/{table.destroy_replays[i]}",
            _display.number(table.score[i], signed=True),
            _display.interval(table.low[i], table.high[i], signed=True),
            _p_value(table.p_value[i]),
            _p_value(table.adjusted_p_value[i]),
            _yes(table.established[i]),
        ]
        for i in shown
    ]
    if table.selected is not None:
        headers.append("selected")
        for i, row in zip(shown, rows, strict=True):
            row.append(_yes(table.selected[i]))
    posteriors = (table.mean_difference, table.probability_not_above)
    if posteriors[0] is not None and posteriors[1] is not None:
        headers += ["E[Δ]", "P(Δ <= 0)"]
        for i, row in zip(shown, rows, strict=True):
            row += [_display.number(posteriors[0][i], signed=True)]
            row += [_display.number(posteriors[1][i])]
    if len(rows) == len(table):
        caption = "Questions by p-value; sham, destroy: flips/replays"
    else:
        caption = (
            f"The {len(rows)} smallest p-values of {len(table)} (all: --output FILE, or .rows());"
            " sham, destroy: flips/replays"
        )
    return caption, headers, rows


def _p_value(p: float | None) -> str:
    """A p-value to four decimals, and below 0.001 to two significant digits."""
    return f"{p:.1e}" if p and p < 0.001 else _display.p_value(p)


def _shown(name: str) -> str:
    """An id on one line of a table, cut where it would make the table unreadable."""
    text = _display.visible(str(name))
    return text if len(text) <= _LONGEST_ID else f"{text[: _LONGEST_ID - 1]}…"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
