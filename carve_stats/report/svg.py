"""A Matplotlib figure as inline SVG: deterministic, themed by CSS, with a text alternative."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from carve_stats.report.figures import COLOURS, drawing_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["inline_svg"]


def inline_svg(figure: Figure, *, name: str, title: str, description: str, css: str = "") -> Markup:
    """Turn a figure into an ``<svg>`` element that can stand inside a page.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    name : str
        A word that no other figure of the page has: ids are made from it.
    title, description : str
        What the picture is and what it shows, for those who cannot see it.
    css : str
        Classes of the element.

    Returns
    -------
    Markup
        The same text for the same figure; the colours of `COLOURS` are CSS variables.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    with drawing_style():
        matplotlib.rcParams["svg.hashsalt"] = name
        FigureCanvasSVG(figure).print_svg(
            buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
    drawing = buffer.getvalue()
    box = re.search(r'viewBox="([^"]+)"', drawing)
    assert box is not None  # Matplotlib always writes one
    body = drawing[drawing.index(">", drawing.index("<svg")) + 1 :]
    body = re.sub(r"<!--.*?-->\n?|<metadata>.*?</metadata>\n?", "", body, flags=re.S)
    # Matplotlib numbers its groups from 1 in every figure: an id may stand once in a page.
    body = re.sub(r'(<g) id="[a-z_0-9.]+"', r"\1", body)
    # A style element would speak for the whole page, which also chooses the typeface.
    body = re.sub(r"<style.*?</style>\n?| font-family: [^;\"]*;", "", body, flags=re.S)
    for colour, value in COLOURS.items():
        body = body.replace(value, f"var(--{colour})")
    return Markup(
        f'<svg class="{escape(css)}" viewBox="{box[1]}" role="img"'
        f' aria-labelledby="{name}-title {name}-description" xmlns="http://www.w3.org/2000/svg"'
        ' xmlns:xlink="http://www.w3.org/1999/xlink">\n'
        f'<title id="{name}-title">{escape(title)}</title>\n'
        f'<desc id="{name}-description">{escape(description)}</desc>{body}'
    )
