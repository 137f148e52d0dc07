"""`read_outcomes`: a table of which answers were right in, `Outcomes` out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import Ledger
from carve_stats.errors import InputError
from carve_stats.logs.answerers import gold_standard, judge_answerer
from carve_stats.logs.benchmarks import Benchmark, read_benchmark
from carve_stats.logs.outcome_columns import name_answerer, name_outcomes
from carve_stats.logs.outcome_rows import Questions, distinct_rows, match_rows
from carve_stats.logs.scan import connect
from carve_stats.logs.tables import Table, open_table
from carve_stats.logs.videos import assign_videos, read_mapping
from carve_stats.outcomes import ORIGINAL, Outcomes

__all__ = ["read_outcomes"]

NOT_ASKED = "question not among the outcomes"


def read_outcomes(
    source: Any,
    *,
    answers: Mapping[str, Any] | None = None,
    gold: str | os.PathLike[str] | Benchmark | None = None,
    columns: Mapping[str, str] | None = None,
    videos: Any = None,
) -> Outcomes:
    """Read which answers to a benchmark's questions were right.

    Parameters
    ----------
    source : path or data frame
        A CSV, JSONL, JSON or Parquet file or a data frame with one row a question and the columns

        - ``question_id``, and perhaps ``video_id``;
        - ``original_correct``: whether the frozen answer is right (1, 0, true, false or null), or
          ``original_answer``, to be compared with the gold answer;
        - ``<name>_correct`` or ``<name>_answer`` of any other answerer, such as ``strong_correct``;
        - ``<answerer>_tokens`` and ``<answerer>_tools``: what its answer took;
        - ``gold_answer``: the label of the right option, unless `gold` gives it.

        Any other column is a covariate: numbers if every value is one, else texts.
    answers : mapping of str to path or data frame, optional
        Answerers in files of their own, by name: ``question_id``, ``correct`` or ``answer``, and
        perhaps ``tokens`` and ``tools``.
    gold : path or Benchmark, optional
        The official file of the benchmark, as `read_benchmark` reads it.
    columns : mapping of str to str, optional
        Our names of columns in `source` to theirs, where they differ.
    videos : path, mapping or data frame, optional
        The video of each question, as for `read_replays`; not given, the one in the table, or
        else in the benchmark.

    Returns
    -------
    Outcomes
        With a ledger of the rows read and used. What is not known is NaN, and its number and
        reason are in the ledger's notes.

    Raises
    ------
    InputError
        A source, an option or a column that cannot be right, or ids that do not fit each other.
    RecordError
        A row that is damaged, or that contradicts itself or another; names the place.

    Notes
    -----
    An answer is read by `parse_answer` with the options of the benchmark. One that cannot be read
    (a refusal, a truncated reply, two options at once) is not known: neither wrong nor right.
    Without a benchmark only a label, such as ``C``, ``C.`` or ``(C)``, can be compared. Where
    both an outcome and an answer are there, they must agree. A row that repeats another word for
    word counts once.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({
    ...     "question_id": ["q1", "q2", "q3"], "video_id": ["v1", "v1", "v2"],
    ...     "gold_answer": ["A", "B", "C"], "original_answer": ["A", "C", "C"],
    ...     "strong_correct": [1, 1, None], "strong_tokens": [900, 1100, None],
    ...     "covered": [True, False, True]})
    >>> outcomes = read_outcomes(table)
    >>> outcomes
    <Outcomes: 3 questions, 2 clusters, original 2 of 3 right, strong 2 of 2 right>
    >>> outcomes.covariates
    {'covered': array(['true', 'false', 'true'], dtype='<U5')}
    >>> outcomes.ledger.notes
    ('strong: 1 of 3 outcomes are not known (1 not given)',)
    """
    if answers is not None and not isinstance(answers, Mapping):
        raise InputError(
            f"answers is a {type(answers).__name__}: give a mapping from names to tables"
        )
    benchmark = gold if gold is None or isinstance(gold, Benchmark) else read_benchmark(gold)
    with connect() as connection:
        table = open_table(connection, source, name="outcomes", argument="source")
        found = name_outcomes(table, columns or {})
        asked = distinct_rows(table, found.question_id)
        standard, notes = gold_standard(table, found.gold, asked, benchmark)
        notes = [*found.notes, *notes]
        answerers = {}
        for name, one in found.answerers.items():
            answerers[name] = judge_answerer(name, table, one, asked.rows, standard, notes)
        read, left_out, inputs = [table.rows], Counter(duplicate=asked.repeated), [table.place]
        for number, (name, given) in enumerate((answers or {}).items()):
            if name in answerers:
                raise InputError(f"answers={name!r}: {table.place} has columns of it too: keep one")
            own = open_table(
                connection, given, name=f"answers_{number}", argument=f"answers[{name!r}]"
            )
            question_id, one = name_answerer(own)
            its = distinct_rows(own, question_id)
            rows, unasked = match_rows(own, its, table, asked)
            answerers[name] = judge_answerer(name, own, one, rows, standard, notes)
            read.append(own.rows)
            left_out += Counter({"duplicate": its.repeated, NOT_ASKED: unasked})
            inputs.append(own.place)
        if ORIGINAL not in answerers:
            raise InputError(
                f"{table.place}: no column {ORIGINAL}_correct or {ORIGINAL}_answer; it has"
                f" {', '.join(table.columns)}: name yours with columns={{'{ORIGINAL}_correct': …}}"
                f" (--outcome-map {ORIGINAL}_correct=…), or give answers= (--answers)"
            )
        others = [one.known for name, one in answerers.items() if name != ORIGINAL]
        used = answerers[ORIGINAL].known & (np.any(others, axis=0) if others else True)
        cluster = _clusters(table, found.video_id, asked, used, benchmark, videos, notes)
        covariates = _covariates(table, found.covariates, asked.rows)
    if left_out["duplicate"]:
        notes.append(
            f"{left_out['duplicate']} rows repeat another word for word: the first of each is kept"
        )
    ledger = Ledger(
        read=sum(read),
        used=sum(read) - left_out.total(),
        left_out=dict(+left_out),
        notes=tuple(dict.fromkeys(notes)),
        inputs=(*inputs, *(benchmark.ledger.inputs if benchmark else ())),
    )
    original = answerers.pop(ORIGINAL)
    return Outcomes(
        np.array(asked.ids, np.str_),
        original.correct,
        answerers,
        cluster=None if cluster is None else np.array(cluster, np.str_),
        original_tokens=original.tokens,
        original_tools=original.tools,
        covariates=covariates,
        ledger=ledger,
    )


def _clusters(
    table: Table,
    column: str | None,
    asked: Questions,
    used: NDArray[np.bool_],
    benchmark: Benchmark | None,
    videos: Any,
    notes: list[str],
) -> list[str] | None:
    """The video of each question: said by `videos`, the table or the benchmark, or not known."""
    ids = asked.ids
    recorded: list[str | None] = [None] * len(ids)
    if column is not None:
        texts = table.texts(column)
        recorded = [texts[row] or None for row in asked.rows.tolist()]
    mapping = None if videos is None else read_mapping(table.connection, videos)
    if mapping is None and benchmark is not None:
        known = [benchmark.questions.get(one) for one in ids]
        published = [None if one is None else one.video_id for one in known]
        if not any(recorded):
            return _published(ids, published, used, benchmark, notes)
        pairs = zip(ids, recorded, published, strict=True)
        differing = [one for one, mine, theirs in pairs if theirs is not None and mine != theirs]
        if differing:
            notes.append(
                f"{len(differing)} questions, the first {differing[0]!r}, have another video in"
                f" {benchmark.name} than in {table.place}, whose is taken"
            )
    return assign_videos(ids, recorded, mapping=mapping, pattern=None)


def _published(
    ids: list[str],
    videos: list[str | None],
    used: NDArray[np.bool_],
    benchmark: Benchmark,
    notes: list[str],
) -> list[str] | None:
    """The benchmark's videos; a gap among questions whose outcomes are known is refused."""
    rows = np.flatnonzero(used).tolist()
    if not any(videos) or all(videos):
        return [one for one in videos if one is not None] or None
    without = [i for i in rows if videos[i] is None]
    if without and len(without) < len(rows):
        raise InputError(
            f"question {ids[without[0]]!r} has no video_id in {benchmark.name} and others have:"
            " give videos= (--videos FILE, with columns question_id and video_id), or a column"
            " video_id"
        )
    notes.append(
        f"the videos of {benchmark.name} are not taken, since it has none for question"
        f" {ids[videos.index(None)]!r}: give videos=, or a column video_id"
    )
    return None


def _covariates(
    table: Table, columns: Mapping[str, str], rows: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Each of the other columns: numbers if every value is one, else texts."""
    if not columns:
        return {}
    aliases = [table.columns[theirs] for theirs in columns.values()]
    # Numbers that are not finite are texts: what does not exist has another sign, an empty field.
    numbers = [f"try_cast({alias} AS DOUBLE)" for alias in aliases]
    flags = [f"lower({alias}) IN ('true', 'false')" for alias in aliases]
    facts = table.connection.execute(
        "SELECT "
        + ", ".join(
            f"count({alias}), count(*) FILTER (isfinite({number})), count(*) FILTER ({flag})"
            for alias, number, flag in zip(aliases, numbers, flags, strict=True)
        )
        + f" FROM {table.name}"
    ).fetchall()[0]
    selected = []
    for i, (alias, number) in enumerate(zip(aliases, numbers, strict=True)):
        there, finite, boolean = facts[3 * i : 3 * i + 3]
        if there and finite == there:
            selected.append(f"coalesce({number}, 'nan'::DOUBLE)")
        else:
            selected.append(
                f"coalesce({f'lower({alias})' if there and boolean == there else alias}, '')"
            )
    values = zip(columns, table.fetch(*selected), strict=True)
    return {
        name: column[rows] if column.dtype.kind == "f" else column[rows].astype(np.str_)
        for name, column in values
    }
