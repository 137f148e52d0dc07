"""What the columns of a table of outcomes mean: by their names, or as the caller says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from carve_stats import _display
from carve_stats.errors import InputError
from carve_stats.logs.tables import Table
from carve_stats.outcomes import ORIGINAL, check_covariate_name

__all__ = ["AnswererColumns", "OutcomeColumns", "name_answerer", "name_outcomes"]

_WHAT = ("correct", "answer", "tokens", "tools")
_JUDGED = _WHAT[:2]
_GOLD = "gold_answer"
_OTHER_NAMES = {
    "correct_answer": f"the gold answer is called {_GOLD}",
    "right_answer": f"the gold answer is called {_GOLD}",
    "true_answer": f"the gold answer is called {_GOLD}",
    "reference_answer": f"the frozen answer is called {ORIGINAL}_answer",
}
"""What stands in logs and benchmarks and would pass for an answerer that is always right."""


@dataclass(frozen=True, slots=True)
class AnswererColumns:
    """The columns of one answerer, by the names that they have in the table."""

    correct: str | None = None
    answer: str | None = None
    tokens: str | None = None
    tools: str | None = None


@dataclass(frozen=True, slots=True)
class OutcomeColumns:
    """The columns of a table of outcomes, by the names that they have in the table."""

    question_id: str
    video_id: str | None
    gold: str | None
    answerers: Mapping[str, AnswererColumns]
    covariates: Mapping[str, str]
    """Our name to theirs."""
    notes: tuple[str, ...]


def name_outcomes(table: Table, mapping: Mapping[str, str]) -> OutcomeColumns:
    """Sort the columns of a table of outcomes.

    Parameters
    ----------
    table : Table
        With a row a question.
    mapping : mapping of str to str
        Our names of columns to theirs, where they differ.

    Returns
    -------
    OutcomeColumns
        An answerer is what has a column ``<answerer>_correct`` or ``<answerer>_answer``.

    Raises
    ------
    InputError
        A column that is needed, or that the mapping names, and is not there; a covariate with
        the name of a built-in figure.
    """
    ours, notes = _our_names(table, mapping)
    question_id = _needed(table, ours, "question_id")
    for name, mend in _OTHER_NAMES.items():
        if name in ours:
            raise InputError(
                f"{table.place}: a column {name!r}: {mend}; rename it, or say so with columns="
                f"{{{mend.split()[-1]!r}: {name!r}}} (--outcome-map {mend.split()[-1]}={name})"
            )
    names = dict.fromkeys(
        name.rpartition("_")[0]
        for name in ours
        if name != _GOLD and name.rpartition("_")[2] in _JUDGED and name.rpartition("_")[0]
    )
    answerers = {
        name: AnswererColumns(**{what: ours.get(f"{name}_{what}") for what in _WHAT})
        for name in names
    }
    used = {f"{name}_{what}" for name in names for what in _WHAT}
    used |= {"question_id", "video_id", _GOLD}
    covariates = {name: theirs for name, theirs in ours.items() if name not in used}
    for name in covariates:
        check_covariate_name(name, table.place)
    return OutcomeColumns(
        question_id=question_id,
        video_id=ours.get("video_id"),
        gold=ours.get(_GOLD),
        answerers=answerers,
        covariates=covariates,
        notes=notes,
    )


def name_answerer(table: Table) -> tuple[str, AnswererColumns]:
    """The question ids and the columns of an answerer in a table of its own.

    Parameters
    ----------
    table : Table
        With ``question_id``, ``correct`` or ``answer``, and perhaps ``tokens`` and ``tools``.

    Returns
    -------
    question_id : str
        The column of ids.
    columns : AnswererColumns
        The others; whatever else is there is not looked at.
    """
    ours = {name: name for name in table.columns}
    question_id = _needed(table, ours, "question_id")
    if not any(what in ours for what in _JUDGED):
        raise InputError(
            f"{table.place}: no column {' or '.join(_JUDGED)}; it has {_listed(ours)}: rename yours"
        )
    return question_id, AnswererColumns(**{what: ours.get(what) for what in _WHAT})


def _our_names(table: Table, mapping: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Our names of all columns, to theirs, and what a person should know of it."""
    if not isinstance(mapping, Mapping):
        raise InputError(
            f"columns is a {type(mapping).__name__}: give a mapping from our names to those in the"
            " table"
        )
    for name, theirs in mapping.items():
        if not isinstance(name, str) or not isinstance(theirs, str):
            raise InputError(f"columns names {theirs!r} for {name!r}: give texts")
        if theirs not in table.columns:
            raise InputError(
                f"{table.place}: no column {theirs!r}, which columns= (--outcome-map) names for"
                f" {name}; it has {_listed(table.columns)}"
            )
    taken = set(mapping.values())
    hidden = [name for name in table.columns if name in mapping and name not in taken]
    ours = {name: name for name in table.columns if name not in taken and name not in mapping}
    notes = tuple(
        f"{table.place}: the column {name!r} is not read, since columns= (--outcome-map) names"
        f" {mapping[name]!r} for it"
        for name in hidden
    )
    return dict(mapping) | ours, notes


def _needed(table: Table, ours: Mapping[str, str], name: str) -> str:
    if name not in ours:
        raise InputError(
            f"{table.place}: no column {name}; it has {_listed(table.columns)}: name yours with"
            f" columns={{{name!r}: …}} (--outcome-map {name}=…)"
        )
    return ours[name]


def _listed(names: Iterable[str]) -> str:
    return _display.visible(", ".join(names)) or "nothing"
