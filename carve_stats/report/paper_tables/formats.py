"""Tables of the paper as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Callable
from html import escape
from typing import NamedTuple

from carve_stats import _display
from carve_stats._display import visible
from carve_stats.report.paper_tables.paper_table import Figure, PaperTable, Row

__all__ = ["FORMATS", "Format", "as_csv", "as_html", "as_latex", "as_markdown", "as_text"]


def as_text(table: PaperTable) -> str:
    """The table as plain text, with its caption and notes.

    Parameters
    ----------
    table : PaperTable
        One whose inputs are missing is one line.

    Returns
    -------
    str
        Lines without a newline at the end; so do the other functions here.
    """
    if table.missing is not None:
        return visible(table.title)
    headers, rows = _cells(table)
    title = "\n".join(textwrap.wrap(visible(table.title), 100))
    notes = map(visible, table.notes)
    return _display.text_block(title, headers, rows, notes, words=_words(table))


def as_html(table: PaperTable) -> str:
    """The table in HTML, with its caption and notes, as a notebook shows it."""
    if table.missing is not None:
        return f"<p>{escape(visible(table.title))}</p>"
    notes = map(visible, table.notes)
    return _display.html_block(visible(table.title), *_cells(table), notes)


def as_markdown(table: PaperTable) -> str:
    """The table as a pipe table of GitHub's Markdown, numbers to the right."""
    if table.missing is not None:
        return _escape_markdown(table.title)
    headers, rows = _cells(table)
    words = _words(table)
    lines = [headers, ["---" if i < words else "---:" for i in range(len(headers))]]
    lines[0] = [_escape_markdown(cell) for cell in headers]
    for row in rows:
        shown = [cell or _display.MISSING for cell in row]
        lines.append([*map(_escape_markdown, shown[:words]), *shown[words:]])
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "\n".join(f"- {_escape_markdown(note)}" for note in table.notes)
    head = f"**Table {table.name}.** {_escape_markdown(table.caption)}"
    return "\n\n".join(part for part in (head, body, notes) if part)


def as_latex(table: PaperTable) -> str:
    r"""The table as a LaTeX ``table``, for the package booktabs."""
    if table.missing is not None:
        return f"% {_escape_latex(table.title)}"
    headers, rows = _cells(table)
    words = _words(table)
    lines = [
        rf"% Table {table.name}; needs \usepackage{{booktabs}}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escape_latex(table.caption)}}}",
        rf"\label{{tab:carve-{table.name.lower()}}}",
        rf"\begin{{tabular}}{{{'l' * words + 'r' * (len(headers) - words)}}}",
        r"\toprule",
        _latex_row(headers),
        r"\midrule",
        *(_latex_row([cell or _display.MISSING for cell in row]) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip{{\footnotesize {_escape_latex(note)}\par}}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines)


def as_csv(table: PaperTable) -> str:
    """The figures as CSV, unrounded, with the columns of the published file; a row is a line.

    Where published figures stand beside one's own, a column ``origin`` tells them apart.
    """
    names = [*(name for name, _ in table.labels), *table.shown_names]
    if table.has_published:
        names.append("origin")
    for column in table.columns:
        names += [column.name, *(() if column.ends_last else column.ends or ())]
    names += [end for column in table.columns if column.ends_last for end in column.ends or ()]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in table.to_dict()["rows"]:
        writer.writerow({n: visible(v) if isinstance(v, str) else v for n, v in row.items()})
    return text.getvalue().removesuffix("\n")


class Format(NamedTuple):
    """How a table is written, and how the names of such files end."""

    write: Callable[[PaperTable], str]
    ending: str


FORMATS = {
    "text": Format(as_text, "txt"),
    "markdown": Format(as_markdown, "md"),
    "latex": Format(as_latex, "tex"),
    "csv": Format(as_csv, "csv"),
}


def _words(table: PaperTable) -> int:
    """How many of the first columns are words."""
    return len(table.labels) + table.has_published


def _cells(table: PaperTable) -> tuple[list[str], list[list[str | None]]]:
    """Headings and cells, as all but CSV show them; intervals have a column of their own."""
    headers = [visible(heading) for _, heading in table.labels]
    rows: list[list[str | None]] = [[visible(text) for text in row.shown] for row in table.rows]
    if table.has_published:
        headers.append("")
        for row, cells in zip(table.rows, rows, strict=True):
            cells.append(row.source)
    for column in table.columns:
        headers.append(visible(column.heading))
        figures = [_figure(row, column.name) for row in table.rows]
        for cells, one in zip(rows, figures, strict=True):
            cells.append(_shown(one.value, column.digits, column.signed))
        if any(one.low is not None for one in figures):
            headers.append(f"{100 * table.level:g} % interval")
            for cells, one in zip(rows, figures, strict=True):
                cells.append(
                    None
                    if one.low is None
                    else _display.interval(one.low, one.high, column.digits, signed=column.signed)
                )
    return headers, rows


def _figure(row: Row, name: str) -> Figure:
    return row.figures.get(name, Figure())


def _shown(value: float | None, digits: int, signed: bool) -> str | None:
    if value is None:
        return None
    if digits == 0 and float(value).is_integer():
        return str(int(value))
    return _display.number(value, digits or 1, signed=signed)


# An underscore between letters is none, and an ampersand only where it begins an entity.
_MARKUP = re.compile(r"[\\`*\[\]<|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def _escape_markdown(text: str) -> str:
    """Nothing that a reader's text holds is markup; a cell is one line."""
    return _MARKUP.sub(lambda m: "\\" + m[0], visible(text))


_LATEX = {
    "\\": r"\textbackslash{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<=": r"$\le$",
    ">=": r"$\ge$",
    "--": "-{}-",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    '"': "''",
    "Δ̂": r"$\hat{\Delta}$",
    "Δ": r"$\Delta$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "±": r"$\pm$",
    "∩": r"$\cap$",
    "∪": r"$\cup$",
    "√": r"$\surd$",
    "→": r"$\to$",
    "·": r"$\cdot$",
    "′": "$'$",
    "…": r"\dots{}",
}
_TO_ESCAPE = re.compile("|".join(map(re.escape, sorted(_LATEX, key=len, reverse=True))))
_NUMBER = re.compile(r"[+-]\d[\d.]*")
_FIGURE = re.compile(r"[+-]?[\d.]+|\[[+-]?[\d.]+, [+-]?[\d.]+\]")


def _escape_latex(text: str) -> str:
    return _TO_ESCAPE.sub(lambda m: _LATEX[m[0]], visible(text))


def _latex_row(cells: list[str]) -> str:
    # After \\ a bracket or a star would be read as an argument of it.
    first, *others = cells
    start = _latex_cell(first)
    start = "{" + start + "}" if start.startswith(("[", "*")) else start
    return " & ".join([start, *map(_latex_cell, others)]) + r" \\"


def _latex_cell(cell: str) -> str:
    # A hyphen in text is no minus.
    if _FIGURE.fullmatch(cell):
        return _NUMBER.sub(lambda m: f"${m[0]}$", cell)
    return _escape_latex(cell)
