"""`read_intervals`: when evidence was retrieved, and when it is annotated; `Intervals` out."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from carve_stats._columns import is_missing
from carve_stats._display import visible
from carve_stats.counts import Ledger
from carve_stats.errors import InputError, RecordError, check_name
from carve_stats.logs.benchmarks import Benchmark, read_benchmark
from carve_stats.logs.interval_texts import FORMATS, parse_intervals
from carve_stats.logs.intervals import SIDES, Cell, Intervals, describe_intervals, those
from carve_stats.logs.outcome_rows import Questions, distinct_rows
from carve_stats.logs.records import NULL
from carve_stats.logs.scan import connect
from carve_stats.logs.tables import Table, open_table
from carve_stats.replay.trajectories import Trajectory, read_trajectories
from carve_stats.temporal import Interval, check_duration, check_intervals

__all__ = ["read_intervals"]

TRAJECTORIES = "trajectories"
"""The format of a file of frozen trajectories, whose evidence says when it is."""

_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")

_UNTIMED = (
    "{those}: evidence that does not say when it is (neither start and end nor times), so that what"
    " was retrieved is not known"
)


def read_intervals(
    source: Any,
    *,
    format: str | Mapping[str, str],
    gold: str | os.PathLike[str] | Benchmark | None = None,
    columns: Mapping[str, str] | None = None,
    durations: Any = None,
) -> Intervals:
    """Read when evidence was retrieved and when it is annotated.

    Parameters
    ----------
    source : path or data frame
        A CSV, JSONL, JSON or Parquet file or a data frame with one row a question and the columns
        ``question_id``, ``retrieved`` and ``gold`` (or LVBench's ``time_reference``); or a file
        of frozen trajectories.
    format : str or mapping
        How intervals are written; never guessed. One for both sides, or a mapping with
        ``retrieved`` and ``gold``.

        - ``seconds``: ``12.5-30``; ``12:30`` means seconds 12 to 30.
        - ``clock``: ``12:30-12:45``; ``12:30`` is the moment twelve minutes and a half into it.
        - ``pairs``: ``[[12.5, 30], [41, 47]]`` in seconds, as JSON, lists or tuples.
        - ``trajectories``: the evidence of `read_trajectories`: start and end of each item, or
          the times of its frames as moments. `gold` has then to be given.

        Several intervals of a question stand between ``;`` or ``,``, of which one may follow the
        last; ``12.5-`` and ``[12.5, null]`` last to the end of the video; ``[]`` says that there
        are none. An empty field is not known.
    gold : path or Benchmark, optional
        The official file of a benchmark that has the annotated intervals, as `read_benchmark`
        reads it, where the source does not.
    columns : mapping of str to str, optional
        Our names of the columns to theirs, where they differ.
    durations : mapping, path or data frame, optional
        Seconds of each question's video, where open intervals end, and all others: by question
        id, or a table with the columns ``question_id`` and ``duration``; missing where not known.

    Returns
    -------
    Intervals
        With a ledger; what is not known, and why, is in its notes.

    Raises
    ------
    InputError
        A source, an option or a column that cannot be right.
    RecordError
        An interval that is reversed, not of the format declared, or starts a second or more after
        its video's end; names the place.

    See Also
    --------
    temporal_overlap : what is made of them.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"question_id": ["q1", "q2"],
    ...     "retrieved": ["0-10; 40-50", "[]"], "gold": ["5-20", "3-4"]})
    >>> intervals = read_intervals(table, format="seconds")
    >>> intervals.overlaps()[0]
    Overlap(covered=True, recall=0.333, iou=0.166)
    >>> intervals.overlap()["covered"]
    [True, False]
    """
    benchmark = gold if gold is None or isinstance(gold, Benchmark) else read_benchmark(gold)
    formats = _formats(format, [side for side in SIDES if side != "gold" or benchmark is None])
    if TRAJECTORIES in formats.values() and (
        formats["retrieved"] != TRAJECTORIES or benchmark is None
    ):
        raise InputError(
            f"format={TRAJECTORIES!r} is how evidence is retrieved: give gold=, the benchmark's"
            " file, with the annotated intervals"
        )
    notes: list[str] = []
    sides: dict[str, list[Cell]] = {}
    with connect() as connection:
        if formats["retrieved"] == TRAJECTORIES:
            if columns is not None:
                raise InputError(
                    f"columns= names columns of a table: format={TRAJECTORIES!r} has none"
                )
            if not isinstance(source, str | os.PathLike):
                raise InputError(
                    f"source is a {type(source).__name__}: format={TRAJECTORIES!r} needs the path"
                    " of a JSONL file"
                )
            trajectories = read_trajectories(source)
            ids = [one.question_id for one in trajectories]
            read, repeated, place = len(ids), 0, str(source)
            seconds = _read_durations(connection, durations, ids, place)
            sides["retrieved"] = _retrieved(trajectories, notes)
        else:
            table = open_table(connection, source, name="intervals", argument="source")
            ours = _name_columns(table, columns or {}, benchmark)
            asked = distinct_rows(table, ours.pop("question_id"))
            ids, read, repeated, place = asked.ids, table.rows, asked.repeated, table.place
            seconds = _read_durations(connection, durations, ids, place)
            if benchmark is not None and "gold" in table.columns:
                notes.append(f"{place}: the column 'gold' is not read, since gold= is given")
            for side, column in ours.items():
                sides[side] = _parse_column(table, column, asked, formats[side], seconds)
        if benchmark is not None:
            sides["gold"] = _published(ids, benchmark, place, notes)
    if repeated:
        notes.append(f"{repeated} rows repeat another word for word: the first of each is kept")
    inputs = (place, *(benchmark.ledger.inputs if benchmark else ()))
    try:
        found = Intervals(ids, sides["retrieved"], sides["gold"], durations=seconds)
    except InputError as error:  # of a benchmark or of trajectories: rows of tables are checked
        raise RecordError(f"{', '.join(inputs)}: {error}") from None
    ledger = Ledger(
        read=read,
        used=read - repeated,
        left_out=dict(+Counter(duplicate=repeated)),
        notes=(*notes, *describe_intervals(found)),
        inputs=inputs,
    )
    object.__setattr__(found, "ledger", ledger)
    return found


def _formats(format: object, needed: list[str]) -> dict[str, str]:
    known = (*FORMATS, TRAJECTORIES)
    if not isinstance(format, Mapping):
        check_name("format", format, known)
        return {"retrieved": str(format), "gold": str(format) if format in FORMATS else "pairs"}
    for side, one in format.items():
        check_name("side of format", side, SIDES)
        check_name("format", one, known)
    missing = [side for side in needed if side not in format]
    if missing:
        raise InputError(f"format={dict(format)!r} does not say that of {missing[0]!r}: name it")
    return dict(format)


def _name_columns(
    table: Table, mapping: Mapping[str, str], benchmark: Benchmark | None
) -> dict[str, str]:
    """The columns of ids and of the sides that the table has to have."""
    if not isinstance(mapping, Mapping):
        raise InputError(
            f"columns is a {type(mapping).__name__}: give a mapping from our names to those in the"
            " table"
        )
    needed = ["question_id", "retrieved", *(["gold"] if benchmark is None else [])]
    for name in mapping:
        check_name("column", name, ["question_id", "retrieved", "gold"])
        if name not in needed:
            raise InputError(f"columns={name!r}: gold= gives the annotated intervals: keep one")
    names = {name: mapping.get(name, name) for name in needed}
    if "gold" in names and "gold" not in mapping and "gold" not in table.columns:
        names["gold"] = "time_reference"
    for name, theirs in names.items():
        if theirs not in table.columns:
            shown = f"{name} or time_reference" if theirs == "time_reference" else theirs
            mend = f"name yours with columns={{{name!r}: …}}"
            if name == "gold":
                mend += ", or give gold=, the benchmark's file"
            raise InputError(
                f"{table.place}: no column {visible(shown)}; it has"
                f" {visible(', '.join(table.columns))}: {mend}"
            )
    return names


def _parse_column(
    table: Table, column: str, asked: Questions, format: str, seconds: list[float] | None
) -> list[Cell]:
    texts = table.texts(column)
    cells: list[Cell] = []
    for i, (question, row) in enumerate(zip(asked.ids, asked.rows.tolist(), strict=True)):
        text = texts[row]
        if text.strip().lower() in NULL:
            cells.append(None)
            continue
        try:
            found = parse_intervals(text, format)
            duration = None if seconds is None or is_missing(seconds[i]) else seconds[i]
            cells.append(tuple(check_intervals("intervals", found, duration)))
        except InputError as error:
            raise RecordError(
                f"{table.locate(row)}: {visible(column)} of question {question!r}: {error}"
            ) from None
    return cells


def _retrieved(trajectories: list[Trajectory], notes: list[str]) -> list[Cell]:
    """When the evidence of each question is; None where one item does not say it."""
    cells: list[Cell] = []
    untimed = []
    for one in trajectories:
        found: list[Interval] = []
        whole = True
        for item in one.evidence:
            if item.start is not None and item.end is not None:
                found.append((item.start, item.end))
            elif item.times:
                found += [(time, time) for time in item.times]
            else:
                whole = False
        cells.append(tuple(found) if whole else None)
        untimed += [] if whole else [one.question_id]
    if untimed:
        notes.append(_UNTIMED.format(those=those(untimed)))
    return cells


def _published(ids: list[str], benchmark: Benchmark, place: str, notes: list[str]) -> list[Cell]:
    strange = [one for one in ids if one not in benchmark]
    if len(strange) == len(ids):
        raise InputError(
            f"{place}: none of its questions is in {benchmark.name}: ids are such as {ids[0]!r}"
            f" here and {next(iter(benchmark)).question_id!r} there"
        )
    if strange:
        notes.append(f"{those(strange)}: not in {benchmark.name}")
    known = [benchmark.questions.get(one) for one in ids]
    return [None if one is None or one.interval is None else (one.interval,) for one in known]


def _read_durations(
    connection: Any, durations: Any, ids: list[str], place: str
) -> list[float] | None:
    """Seconds of each question's video, NaN where they are not known; None where none are given."""
    if durations is None:
        return None
    given: dict[str, float] = {}
    if isinstance(durations, Mapping):
        for one, seconds in durations.items():
            if np.ndim(seconds) == 0 and is_missing(seconds):
                continue
            checked = check_duration(f"durations[{one!r}]", seconds)
            if given.setdefault(str(one), checked) != checked:
                raise InputError(f"durations: question {str(one)!r} is there twice: keep one")
        where = "durations"
    else:
        table = open_table(connection, durations, name="durations", argument="durations")
        where = table.place
        for name in ("question_id", "duration"):
            if name not in table.columns:
                raise InputError(
                    f"{where}: no column {name}; it has {visible(', '.join(table.columns))}: rename"
                    " yours"
                )
        asked = distinct_rows(table, "question_id")
        texts = table.texts("duration")
        for one, row in zip(asked.ids, asked.rows.tolist(), strict=True):
            text = texts[row].strip()
            if text.lower() not in NULL:
                number = float(text) if _NUMBER.fullmatch(text) else text
                given[one] = check_duration(f"{table.locate(row)}: duration", number)
    if given and not any(one in given for one in ids):
        raise InputError(
            f"{where}: no question in common with {place}: ids are such as {next(iter(given))!r}"
            f" here and {ids[0]!r} there"
        )
    return [given.get(one, float("nan")) for one in ids]
