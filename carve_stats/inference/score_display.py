"""How a score table shows itself: a summary, two plain sentences and the first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from carve_stats import _display

if TYPE_CHECKING:
    from carve_stats.inference.scores import ScoreTable

__all__ = ["first_rows", "sentences", "summary"]

Block = tuple[str, list[str], list[list[object]]]
"""Caption, headers and rows."""

_SHOWN = 10
_LONGEST_ID = 40


def summary(table: ScoreTable) -> Block:
    """How many questions are scored, of which sign, and established."""
    signs, scored = table.signs, table.questions["scored"]
    figures = {
        "score below 0": signs["negative"],
        "score 0": signs["zero"],
        "score above 0": signs["positive"],
        f"{100 * table.level:g} % interval excludes 0": int(table.excluding_zero.sum()),
        f"established ({table.adjust}, {table.significance:g})": int(table.established.sum()),
    }
    if table.selected is not None:
        figures[f"selected ({table.rule})"] = int(table.selected.sum())
    rows: list[list[object]] = [
        [what, count, _display.number(count / scored if scored else None)]
        for what, count in figures.items()
    ]
    sham, destroy = table.k["sham"], table.k["destroy"]
    if not scored:
        k = "no question has a valid replay in both arms"
    elif sham is None or destroy is None:
        k = "k differs between questions"
    else:
        k = f"k = {sham}" if sham == destroy else f"k_sham = {sham}, k_destroy = {destroy}"
    caption = (
        f"Scores, DESTROY − SHAM flip rate: {scored} of {table.questions['read']} questions scored"
        f" ({k})"
    )
    return caption, ["", "questions", "share of scored"], rows


def sentences(table: ScoreTable) -> list[str]:
    """How wide the intervals are, and how small the p-values."""
    test = f"{table.test} test, {table.alternative}"
    if table.alternative == "two-sided":
        test += f" by {table.two_sided}"
    return [
        f"Median width of the {100 * table.level:g} % intervals ({table.interval}):"
        f" {_display.number(table.median_width, 2)}; one of width 2 says nothing.",
        f"Smallest p-value ({test}): {_display.p_value(table.smallest_p_value)};"
        f" smallest possible at these k: {_display.p_value(table.smallest_possible_p_value)}.",
    ]


def first_rows(table: ScoreTable) -> Block:
    """The first questions, with flips/replays of each arm."""
    headers = ["question", "cluster", "sham", "destroy", "score", "interval", "p-value"]
    headers += ["adjusted", "established"]
    rows: list[list[object]] = [
        [
            _shown(table.question[i]),
            None if table.cluster is None else _shown(table.cluster[i]),
            f"{table.sham_flips[i]}/{table.sham_replays[i]}",
            f"{table.destroy_flips[i]}/{table.destroy_replays[i]}",
            _display.number(table.score[i], signed=True),
            _display.interval(table.low[i], table.high[i], signed=True),
            _display.p_value(table.p_value[i]),
            _display.p_value(table.adjusted_p_value[i]),
            _yes(table.established[i]),
        ]
        for i in range(min(len(table), _SHOWN))
    ]
    if table.selected is not None:
        headers.append("selected")
        for i, row in enumerate(rows):
            row.append(_yes(table.selected[i]))
    which = (
        "Questions" if len(rows) == len(table) else f"First {len(rows)} of {len(table)} questions"
    )
    return f"{which} (sham and destroy: flips/replays)", headers, rows


def _shown(name: str) -> str:
    """An id on one line of a table, cut where it would make the table unreadable."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(name))
    return text if len(text) <= _LONGEST_ID else f"{text[: _LONGEST_ID - 1]}…"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
