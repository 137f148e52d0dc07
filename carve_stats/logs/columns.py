"""The names that columns of a replay log go by, and what form of log they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from carve_stats import _display
from carve_stats.counts import CONDITIONS
from carve_stats.errors import InputError, unknown_name
from carve_stats.logs.scan import identifier, literal, text_of

__all__ = [
    "COMPACT_COLUMNS",
    "COUNT_COLUMNS",
    "OTHER_FORM",
    "RECORD_COLUMNS",
    "SHA256",
    "STOPPED",
    "STOPPING",
    "check_mapping",
    "form_of",
    "name_columns",
    "refuse_alike",
    "select_columns",
    "strange_columns",
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

STOPPING = "stopping"
"""A column in which a record of a run that stopped its questions early names the plan's sha256."""

SHA256 = "[0-9a-f]{64}"

OTHER_FORM, STOPPED = 10, 11
"""Keys of `records.PROBLEMS`: what the column `strange` says of a record."""

_COLUMNS = {"records": RECORD_COLUMNS, "counts": COUNT_COLUMNS, "compact": COMPACT_COLUMNS}
_MARKS = {"records": ("condition", "repetition"), "counts": COUNT_COLUMNS[3::3]}
"""What only a row of this form fills; a compact log has the marks of counts."""

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
        the replays they are out of; ``records`` where the mapping names their columns.
    """
    names = set(there)
    said = _said_form(mapping)

    def has(ours: str) -> bool:
        return mapping.get(ours, ours) in names

    if said == "records" or not (has("sham_flips") and has("destroy_flips")):
        return "records"
    return "counts" if has("sham_replays") and has("destroy_replays") else "compact"


def _said_form(mapping: Mapping[str, str]) -> str | None:
    """The form whose columns, and not those of the other, the mapping names."""
    said = [form for form, marks in _MARKS.items() if set(marks) & set(mapping)]
    return said[0] if len(said) == 1 else None


def strange_columns(
    found: Mapping[str, str], mapping: Mapping[str, str], *, form: str
) -> tuple[list[str], list[str]]:
    """The columns by which a row is told to be of another form than the log.

    Parameters
    ----------
    found : mapping of str to str
        As `name_columns` gives it.
    mapping : mapping of str to str
        As `check_mapping` gives it.
    form : str
        As `form_of` gives it.

    Returns
    -------
    strange, own : list of str
        Their names. A row is strange where one of the first is filled and none of the second,
        which is empty unless the mapping says the form.
    """
    mine = "records" if form == "records" else "counts"
    other = "counts" if form == "records" else "records"
    strange = [mapping.get(ours, ours) for ours in _MARKS[other]]
    own = [found[ours] for ours in _MARKS[mine] if ours in found]
    return (
        [name for name in strange if name not in found.values()],
        own if _said_form(mapping) == mine else [],
    )


def select_columns(
    found: Mapping[str, str],
    mapping: Mapping[str, str],
    *,
    form: str,
    there: Iterable[str] | None = None,
) -> str:
    """Write the SQL that selects our columns, and `strange`, from a table with theirs.

    Parameters
    ----------
    found, mapping, form
        As for `strange_columns`.
    there : iterable of str, optional
        The names of the columns of the table; not given, all that are asked for are there.

    Returns
    -------
    str
        What follows SELECT; `strange` is a key of `records.PROBLEMS`, or null. Where `run` and
        `run_id` are both there, the first that is filled.
    """
    names = None if there is None else set(there)

    def is_there(name: str) -> bool:
        return names is None or name in names

    def any_filled(columns: list[str]) -> str:
        filled = [f"{text_of(identifier(c))} IS NOT NULL" for c in columns if is_there(c)]
        return f"({' OR '.join(filled)})" if filled else "false"

    selected = {ours: identifier(theirs) for ours, theirs in found.items()}
    if "run" not in mapping and found.get("run") == "run" and is_there("run_id"):
        selected["run"] = f"coalesce({text_of('run')}, {text_of('run_id')})"
    strange, own = strange_columns(found, mapping, form=form)
    stopped = "false"
    if is_there(STOPPING):
        stopped = f"regexp_full_match({text_of(identifier(STOPPING))}, {literal(SHA256)})"
    selected["strange"] = (
        f"CASE WHEN {any_filled(strange)} AND NOT {any_filled(own)} THEN {OTHER_FORM}"
        f" WHEN {stopped} THEN {STOPPED} END"
    )
    return ", ".join(f"{sql} AS {ours}" for ours, sql in selected.items())


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
    seen = _display.visible(", ".join(names)) or "nothing"
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


def refuse_alike(names: Iterable[str], place: str) -> None:
    """Raise for names that are the same or differ only in case, which DuckDB does not tell."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.lower())
        if other == name:
            raise InputError(f"{place}: two columns are named {name!r}: rename one")
        if other is not None:
            raise InputError(
                f"{place}: the columns {other!r} and {name!r} differ only in case: rename one"
            )
        seen[name.lower()] = name
