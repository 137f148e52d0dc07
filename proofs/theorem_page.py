"""The page of all theorems, in HTML: what each says, its proof, and how its checks ended."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import sympy
from jinja2 import Environment, FileSystemLoader
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin
from theorem import FOLDER, Theorem

import carve_stats as cs

__all__ = ["ROOMS", "state_status", "write_page"]

ROOMS = ("law", "population", "inference", "routing", "planning", "replay")
"""The rooms of the package whose functions rest on theorems, in the order of the page."""


def state_status(theorem: Theorem, outcomes: Mapping[str, str]) -> tuple[str, str]:
    """How far a theorem is proved: in one word, and in a line.

    Parameters
    ----------
    theorem : Theorem
        A theorem.
    outcomes : mapping of str to str
        How each of its checks ended, by the name of the function; ``passed`` is good.

    Returns
    -------
    kind : str
        ``proved``, ``partly`` where a step is checked for some cases only, or ``broken``.
    status : str
        Such as ``proved, but step 3 in part for k ≤ 12 only``.
    """
    broken = [check for check in theorem.checks if outcomes.get(check.name) != "passed"]
    if broken:
        names = [f"step {c.step}" if c.step else c.name.removeprefix("test_") for c in broken]
        return "broken", f"broken: {', '.join(dict.fromkeys(names))}"
    restricted: dict[str, list[str]] = {}
    for check in theorem.checks:
        if check.only:
            restricted.setdefault(check.only, []).append(str(check.step))
    told = [
        f"but step{'s' if len(steps) > 1 else ''} {', '.join(steps)} in part for {only} only"
        for only, steps in restricted.items()
    ]
    return "partly" if told else "proved", ", ".join(["proved", *told])


def write_page(
    path: Path, theorems: Sequence[Theorem], outcomes: Mapping[str, Mapping[str, str]]
) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
        The file, replaced as a whole.
    theorems : sequence of Theorem
        Any; the page has those of one room together, in this order.
    outcomes : mapping
        By theorem and check, as `state_status` takes them.
    """
    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True)
    pages = []
    for theorem in theorems:
        ended = outcomes.get(theorem.name, {})
        kind, status = state_status(theorem, ended)
        pages.append(
            {
                "theorem": theorem,
                "title": Markup(_render(theorem.title, theorem).removeprefix("<p>").strip()[:-4]),
                "statement": Markup(_render(theorem.statement, theorem)),
                "proof": Markup(_render(theorem.proof, theorem)),
                "references": Markup(_render(theorem.references, theorem)),
                "place": ROOMS.index(_room(theorem)),
                "room": _room(theorem),
                "status": status,
                "kind": kind,
                "outcomes": ended,
            }
        )
    pages.sort(key=lambda page: page["place"])
    text = environment.get_template("page.html.j2").render(pages=pages, version=cs.__version__)
    written = path.with_name(f".{path.name}.part")
    written.write_text(text, encoding="utf-8")
    os.replace(written, path)


def _room(theorem: Theorem) -> str:
    """The room of the first function that rests on it."""
    name = theorem.used_by[0]
    public = name.split(".")[0]
    if public in ROOMS:
        return public
    room: str = getattr(cs, public).__module__.split(".")[1]
    return room


def _math(latex: str, options: Mapping[str, object]) -> str:
    return convert(latex, display="block" if options["display_mode"] else "inline")


_MARKDOWN = MarkdownIt("commonmark").use(dollarmath_plugin, renderer=_math)


def _render(text: str, theorem: Theorem) -> str:
    def show(match: re.Match[str]) -> str:
        return f"\n$$\n{sympy.latex(theorem.formulas[match[1]])}\n$$\n"

    shown = re.sub(r"\[\[(\w+)\]\]", show, text)
    linked = re.sub(r"(?<![\w/])(thm_\w+)\b", r"[\1](#\1)", shown)
    html: str = _MARKDOWN.render(linked)
    return html
