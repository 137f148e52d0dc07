"""The tables of the paper, each in its own module ``table_….py``, found by looking here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from carve_stats.errors import InputError, unknown_name
from carve_stats.report.paper_tables.inputs import PaperInputs
from carve_stats.report.paper_tables.needs import what_is_missing
from carve_stats.report.paper_tables.paper_table import PaperTable, missing_table
from carve_stats.report.paper_tables.published import beside_published

__all__ = ["build_tables", "table_names"]

INTERVALS = "intervals are over videos (cluster t), unless a note says otherwise"


def table_names() -> list[str]:
    """The names of all tables, in the paper's order.

    Examples
    --------
    >>> table_names()
    ['1', '2', '3', '4', 'A1', 'A2', 'A3', 'A4', 'A5']
    """
    return list(_modules())


def build_tables(
    inputs: PaperInputs, names: str | Iterable[str] | None = None, *, published: bool = False
) -> list[PaperTable]:
    """Make tables of the paper from one's own logs.

    Parameters
    ----------
    inputs : PaperInputs
        What there is.
    names : str or iterable of str, optional
        Which tables, such as ``A2``: one name, or several; all where not given.
    published : bool
        Whether to put the published figures beside them.

    Returns
    -------
    list of PaperTable
        In the paper's order. A table whose inputs are missing says which, and has no rows.

    Raises
    ------
    InputError
        An unknown name, or inputs that contradict each other.

    See Also
    --------
    carve_stats.report.paper_tables.inputs.PaperInputs : what tables are made of.
    carve_stats.report.paper_tables.formats : tables as text, Markdown, LaTeX and CSV.

    Examples
    --------
    >>> from carve_stats.population.mixing import Population
    >>> from carve_stats.report.paper_tables.formats import as_csv, as_text
    >>> drawn = Population.paper().draw(300, clusters=30, rng=1)
    >>> runs = {f"seed {i}": drawn.replay(k=3, p_self=0.2, rng=i) for i in (1, 2)}
    >>> rates, signs = build_tables(PaperInputs(runs=runs), ["1", "A2"])
    >>> print(as_text(rates).splitlines()[4])
    SELF flip rate     0.2050  [0.1878, 0.2222]  0.0024
    >>> signs.figure("zero", "3", "observed").value
    0.3...
    >>> print(as_csv(signs).splitlines()[0])
    k,distribution,negative,negative_low,...
    """
    if not isinstance(inputs, PaperInputs):
        raise InputError(
            f"inputs is a {type(inputs).__name__}: it must be PaperInputs(runs={{id: counts}}, …)"
        )
    modules = _modules()
    chosen = list(modules) if names is None else _names(names)
    for name in chosen:
        if name not in modules:
            raise InputError(unknown_name("table", name, modules))
    made = []
    for name in (one for one in modules if one in chosen):
        module = modules[name]
        missing = what_is_missing(module.NEEDS, inputs)
        table = missing_table(name, module.CAPTION, missing) if missing else module.build(inputs)
        table = replace(table, level=inputs.level)
        if table.has_intervals:
            table = replace(table, notes=(INTERVALS, *table.notes))
        if published:
            labels = getattr(module, "published_labels", None)
            table = beside_published(table, module.PUBLISHED, module.PUBLISHED_OF, labels)
        made.append(table)
    return made


def _names(names: str | Iterable[str]) -> list[str]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, Iterable):
        raise InputError(f"names={names!r} must be the name of a table, or several in a list")
    return [str(name).strip().upper() for name in listed]


@cache
def _modules() -> dict[str, Any]:
    found = (m.name for m in iter_modules(__path__) if m.name.startswith("table_"))
    modules = [import_module(f"{__name__}.{name}") for name in sorted(found)]
    return {module.NAME: module for module in modules}
