"""The names that columns of a replay log go by, and what form of log they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from carve_stats.counts import CONDITIONS
from carve_stats.errors import InputError, unknown_name

__all__ = [
    "COMPACT_COLUMNS",
    "COUNT_COLUMNS",
    "RECORD_COLUMNS",
    "check_mapping",
    "form_of",
    "name_columns",
]

RECORD_COLUMNS = (
    "run",
    "question_id",
    "video_id",
    "condition",
    "repetition",
    "attempt",
    "answer",
    "reference_answer",
    "flip",
    "valid",
)
"""Of a log with one record a replay; `run_id` stands for `run` where there is no `run`."""

COUNT_COLUMNS = (
    "run",
    "question_id",
    "video_id",
    *(f"{arm}_{what}" for arm in CONDITIONS for what in ("flips", "replays", "invalid")),
)
"""Of a table already counted, with one row a question."""

COMPACT_COLUMNS = (
    "run",
    "question_id",
    "video_id",
    *(f"{arm}_flips" for arm in CONDITIONS),
    "delta",
)
"""Of a compact log: one record a question, its flips as lists of 0, 1 and null."""

_COLUMNS = {"records": RECORD_COLUMNS, "counts": COUNT_COLUMNS, "compact": COMPACT_COLUMNS}
_NEEDED = {
    "records": ("question_id", "condition", "repetition"),
    "counts": ("question_id",),
    "compact": ("question_id",),
}


def check_mapping(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The mapping that the caller gave, once each name in it is one of ours.

    Parameters
    ----------
    columns : mapping of str to str, optional
        Our name of a column to the name that it has in the log.

    Returns
    -------
    dict of str to str
        The same; empty where none was given.
    """
    known = dict.fromkeys(c for columns_of_form in _COLUMNS.values() for c in columns_of_form)
    for ours in columns or {}:
        if ours not in known:
            raise InputError(f"columns: {unknown_name('column', ours, known)}")
    return dict(columns or {})


def form_of(there: Iterable[str], mapping: Mapping[str, str]) -> str:
    """What a log with these columns is: ``records``, ``counts`` or ``compact``.

    Parameters
    ----------
    there : iterable of str
        The names of the columns of the log.
    mapping : mapping of str to str
        As `check_mapping` gives it.

    Returns
    -------
    str
        ``counts`` and ``compact`` where the flips of both arms are there, with and without
        the replays they are out of.
    """
    names = set(there)

    def has(ours: str) -> bool:
        return mapping.get(ours, ours) in names

    if not (has("sham_flips") and has("destroy_flips")):
        return "records"
    return "counts" if has("sham_replays") and has("destroy_replays") else "compact"


def name_columns(
    there: Iterable[str], mapping: Mapping[str, str], *, form: str, place: str
) -> dict[str, str]:
    """Find our columns among those of a log.

    Parameters
    ----------
    there : iterable of str
        The names of the columns of the log.
    mapping : mapping of str to str
        As `check_mapping` gives it.
    form : str
        As `form_of` gives it.
    place : str
        The file or data frame, for messages.

    Returns
    -------
    dict of str to str
        Our name to theirs, of each column that is there.

    Raises
    ------
    InputError
        A column that is needed, or that the mapping names, and is not there.
    """
    names = list(there)
    seen = ", ".join(names) if names else "nothing"
    found = {}
    for ours in _COLUMNS[form]:
        theirs = mapping.get(ours, ours)
        if ours == "run" and ours not in mapping and theirs not in names:
            theirs = "run_id"
        if theirs in names:
            found[ours] = theirs
        elif ours in mapping:
            raise InputError(
                f"{place}: no column {theirs!r}, which columns= (--map) names for {ours}; it has"
                f" {seen}"
            )
    missing = [c for c in _NEEDED[form] if c not in found]
    if form == "records" and "flip" not in found:
        if "answer" not in found and "reference_answer" not in found:
            missing.append("flip (or answer and reference_answer)")
        else:
            missing += [c for c in ("answer", "reference_answer") if c not in found]
    if missing:
        raise InputError(
            f"{place}: no column {', '.join(missing)}; it has {seen}: name yours with"
            f" columns={{{missing[0].split()[0]!r}: …}} (--map {missing[0].split()[0]}=…)"
        )
    return found
