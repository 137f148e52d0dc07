"""Official files of benchmarks, one format a module: gold answers, options, videos, intervals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from carve_stats.counts import Ledger
from carve_stats.errors import InputError, RecordError, check_name
from carve_stats.logs.benchmarks import egoschema, longvideobench, lvbench, videomme
from carve_stats.logs.benchmarks.base import (
    Benchmark,
    BenchmarkFormat,
    BenchmarkQuestion,
    Placed,
    Read,
)
from carve_stats.logs.benchmarks.files import load_records

__all__ = ["FORMATS", "Benchmark", "BenchmarkQuestion", "read_benchmark"]

FORMATS = tuple(
    cast(BenchmarkFormat, module) for module in (lvbench, videomme, egoschema, longvideobench)
)
"""One format a module, with `is_mine` and `read`; the first that says "mine" reads a file."""


def read_benchmark(path: str | os.PathLike[str], *, name: str | None = None) -> Benchmark:
    r"""Read the official file of a benchmark.

    Parameters
    ----------
    path : path
        LVBench's ``video_info.meta.jsonl``; Video-MME's Parquet file or a JSON file in the form
        of its template; EgoSchema's ``questions.json`` (with ``subset_answers.json`` beside it),
        or their folder; LongVideoBench's ``lvb_val.json`` or Parquet file.
    name : str, optional
        ``lvbench``, ``videomme``, ``egoschema`` or ``longvideobench``; not given, the names of
        the fields tell.

    Returns
    -------
    Benchmark
        The questions by id. One whose gold answer is not published has None for it.

    Raises
    ------
    InputError
        A file of no known benchmark.
    RecordError
        A record that is not as the benchmark's are; names the place.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> video = {"key": "v1", "qa": [{
    ...     "uid": "7", "question": "What flies by?\n(A) A kite\n(B) A gull", "answer": "B",
    ...     "question_type": ["entity recognition"], "time_reference": "01:05-01:19"}]}
    >>> path = pathlib.Path(tempfile.mkdtemp(), "video_info.meta.jsonl")
    >>> _ = path.write_text(json.dumps(video))
    >>> benchmark = read_benchmark(path)
    >>> benchmark
    <Benchmark lvbench: 1 questions, 1 with a gold answer, 1 videos>
    >>> benchmark["7"].options, benchmark["7"].answer, benchmark["7"].interval
    ({'A': 'A kite', 'B': 'A gull'}, 'B', (65.0, 79.0))
    """
    by_name = {one.NAME: one for one in FORMATS}
    if name is not None:
        check_name("benchmark", name, by_name)
    files = _files(path)
    records, notes = [], []
    for file in files:
        more, what = load_records(file)
        records += more
        notes += what
    chosen = by_name[name] if name is not None else _format_of(records[0])
    found = chosen.read(records)
    questions, twice = _by_id(found)
    if not questions:
        raise InputError(f"{files[0]}: no questions in it")
    notes += found.notes
    if twice:
        notes.append(f"{twice} questions repeat another word for word: the first of each is kept")
    if without := sum(question.answer is None for question in questions.values()):
        notes.append(f"{without} of {len(questions)} questions have no gold answer")
    ledger = Ledger(
        read=len(found.questions),
        used=len(questions),
        left_out={"duplicate": twice} if twice else {},
        notes=tuple(notes),
        inputs=tuple(map(str, files)),
    )
    return Benchmark(chosen.NAME, dict(sorted(questions.items())), ledger)


def _files(given: str | os.PathLike[str]) -> list[Path]:
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"path is a {type(given).__name__}: give the path of an official file")
    path = Path(given)
    if not os.fspath(given) or not path.exists():
        raise InputError(f"{os.fspath(given) or 'path'}: no such file")
    files = egoschema.files_of(path)
    if not files:
        raise InputError(f"{path}: a folder: give the benchmark's file in it")
    return files


def _format_of(placed: Placed) -> BenchmarkFormat:
    for one in FORMATS:
        if one.is_mine(placed.record):
            return one
    raise InputError(
        f"{placed.place}: of no known benchmark ({', '.join(one.NAME for one in FORMATS)}): it has"
        f" {', '.join(list(placed.record)[:8]) or 'nothing'}; say which with name="
    )


def _by_id(found: Read) -> tuple[dict[str, BenchmarkQuestion], int]:
    """The questions by id, and how many are there a second time."""
    first: dict[str, tuple[str, BenchmarkQuestion]] = {}
    twice = 0
    for place, question in found.questions:
        before, same = first.setdefault(question.question_id, (place, question))
        if same is question:
            continue
        if same != question:
            raise RecordError(
                f"{place}: question {question.question_id!r} differs from the one at {before}:"
                " keep one"
            )
        twice += 1
    return {uid: question for uid, (_, question) in first.items()}, twice
