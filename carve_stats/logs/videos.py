"""Which video a question asks about: from the records, a mapping, or a pattern; never guessed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

import msgspec

from carve_stats.errors import InputError, RecordError
from carve_stats.logs import delimited, frame, json_file, jsonl, parquet
from carve_stats.logs.paths import check_regular, readable_path
from carve_stats.logs.scan import as_text, check_gzip, duckdb_message, literal
from carve_stats.logs.tree_folder import RecordDecoder

__all__ = ["assign_videos", "check_pattern", "read_mapping"]

_MEND = (
    "give videos= (--videos FILE, with columns question_id and video_id) or video_pattern="
    " (--video-pattern)"
)


def check_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with one group, or a group named ``video``.

    Parameters
    ----------
    pattern : str
        A regular expression that a question id matches as a whole.

    Returns
    -------
    re.Pattern
        Its group, named or only, is the video.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InputError(
            f"video_pattern={pattern!r} is not a regular expression: {error}"
        ) from None
    if compiled.groups != 1 and "video" not in compiled.groupindex:
        raise InputError(
            f"video_pattern={pattern!r} has {compiled.groups} groups: it must have one, or one"
            " named video, such as '(.+)_\\d+'"
        )
    return compiled


def read_mapping(connection: Any, videos: object) -> dict[str, str]:
    """Question to video, from a file, a data frame or a mapping.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Reads files and data frames.
    videos : path, data frame or mapping
        Files and data frames have the columns ``question_id`` and ``video_id``; so do the
        files of a folder of frozen trajectories.

    Returns
    -------
    dict of str to str
        The mapping.

    Raises
    ------
    InputError
        A question with two videos or none, a missing column, or a file of an unknown kind.
    """
    if isinstance(videos, Mapping):
        rows, place = list(videos.items()), "videos"
    else:
        rows, place = _rows(connection, videos)
    mapping: dict[str, str] = {}
    for question, video in rows:
        if question is None or video is None or video == "" or video != video:
            raise InputError(f"{place}: question {question!r} has video {video!r}: give both ids")
        if str(question).endswith("\0") or str(video).endswith("\0"):
            raise InputError(
                f"{place}: question {question!r} or its video {video!r} ends in the character NUL:"
                " take it off"
            )
        if mapping.setdefault(str(question), str(video)) != str(video):
            raise InputError(
                f"{place}: question {str(question)!r} is in video {mapping[str(question)]!r} and in"
                f" {str(video)!r}: a question has one video"
            )
    return mapping


def _rows(connection: Any, videos: object) -> tuple[list[tuple[Any, Any]], str]:
    import duckdb

    place = "videos"
    if isinstance(videos, str | os.PathLike):
        path = _existing_path(videos)
        place = str(path)
        if path.is_dir():
            return _read_frozen(path), place
        table = _file_table(path)
    else:
        frame.register(connection, "videos", videos)
        table = "videos"
    try:
        names = [n for n, *_ in connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]
        missing = [c for c in ("question_id", "video_id") if c not in names]
        if missing:
            raise InputError(
                f"{place}: no column {', '.join(missing)}; it has {', '.join(names)}: a mapping"
                " needs question_id and video_id"
            )
        sql = f"SELECT question_id::VARCHAR, video_id::VARCHAR FROM {table}"
        rows = connection.execute(sql).fetchall()
    except duckdb.Error as error:
        message = duckdb_message(error)
        if message.startswith("CSV Error on Line"):  # what is wrong there stands on lines below
            message = "; ".join(str(error).split("Error: ", 1)[-1].split("\n")[:3])
        raise InputError(f"{place}: cannot be read: {message}") from None
    if not rows:
        raise InputError(f"{place}: no rows: a mapping needs one for each question")
    return rows, place


def _existing_path(videos: str | os.PathLike[str]) -> Path:
    path = Path(videos)
    if not os.fspath(videos) or not path.exists():
        raise InputError(f"videos={os.fspath(videos)!r}: no such file")
    return readable_path(path)


def _read_frozen(folder: Path) -> list[tuple[str, str]]:
    """Question and video of each frozen trajectory in a folder, hidden ones among them."""
    decoder = RecordDecoder({"question_id": "question_id", "video_id": "video_id"})
    rows = []
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".json")):
        path = folder / name
        check_regular(path)
        frozen = decoder.decode(path.read_bytes(), str(path))
        ids = []
        for field in ("question_id", "video_id"):
            value = getattr(frozen, field)
            if value is msgspec.UNSET or value is None or value == "":
                raise InputError(
                    f"{path}: no {field}: a folder of frozen trajectories needs it in each file"
                )
            ids.append(as_text(value))
        rows.append((ids[0], ids[1]))
    if not rows:
        raise InputError(f"{folder}: no frozen trajectories: expected <question id>.json")
    return rows


def _file_table(path: Path) -> str:
    """SQL of a file."""
    if delimited.is_mine(path):
        return delimited.table_sql(path, *delimited.header(path))
    if parquet.is_mine(path):
        return parquet.table_sql(path)
    if not (jsonl.is_mine(path) or json_file.is_mine(path)):
        raise InputError(
            f"videos={str(path)!r}: must be a CSV, JSONL or Parquet file, or a folder of frozen"
            " trajectories"
        )
    check_gzip(path)
    return (
        f"read_json([{literal(escape(str(path)))}], hive_partitioning=false,"
        " columns={question_id: 'VARCHAR', video_id: 'VARCHAR'})"
    )


def assign_videos(
    question: Sequence[str],
    recorded: Sequence[str | None],
    *,
    mapping: Mapping[str, str] | None,
    pattern: re.Pattern[str] | None,
) -> list[str] | None:
    """The video of each question, or None where nobody names any.

    Parameters
    ----------
    question, recorded : sequence of str, shape (n,)
        Ids, and the videos that the records name (None where they do not).
    mapping : mapping of str to str, optional
        As `read_mapping` gives it.
    pattern : re.Pattern, optional
        As `check_pattern` gives it.

    Returns
    -------
    list of str or None
        Of n videos.

    Raises
    ------
    InputError
        A question that the mapping lacks or the pattern does not match, or that alone has no
        video.
    RecordError
        A record whose video is another than the mapping or the pattern says.
    """
    videos: list[str | None] = []
    for question_id, video in zip(question, recorded, strict=True):
        said: str | None = None
        if mapping is not None:
            said = mapping.get(question_id)
            if said is None and video is None:
                raise InputError(
                    f"videos: no video for question {question_id!r}: add it to the mapping"
                )
        elif pattern is not None:
            match = pattern.fullmatch(question_id)
            said = match[_group(pattern)] if match else None
            if not said:
                raise InputError(
                    f"video_pattern={pattern.pattern!r} does not match question {question_id!r} as"
                    " a whole: mend the pattern, or give videos= (--videos)"
                )
        if said is not None and video is not None and said != video:
            raise RecordError(
                f"question {question_id!r} is in video {video!r} by its records and in {said!r} by"
                f" {'videos' if mapping is not None else 'video_pattern'}: mend one of them"
            )
        videos.append(said if said is not None else video)
    known = [video for video in videos if video is not None]
    if known and len(known) < len(videos):
        without = question[videos.index(None)]
        raise InputError(f"question {without!r} has no video_id and others have: {_MEND}")
    return known or None


def _group(pattern: re.Pattern[str]) -> int | str:
    return "video" if "video" in pattern.groupindex else 1
