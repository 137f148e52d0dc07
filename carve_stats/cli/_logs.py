"""The options with which every command that reads replay logs is told how to read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.counts import ReplayCounts

__all__ = ["log_options", "read_each_run", "read_logs", "read_mapping"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("logs", nargs=-1, required=True),
    click.option(
        "--videos",
        metavar="FILE",
        help="Table with the columns question_id and video_id, where the records name no video.",
    ),
    click.option(
        "--video-pattern",
        metavar="REGEX",
        help="Take the video from the question id: the group named 'video', or the only group.",
    ),
    click.option(
        "--map",
        "columns",
        metavar="NAME=COLUMN",
        multiple=True,
        help="Read the field NAME from COLUMN, e.g. --map question_id=qid; may be repeated.",
    ),
    click.option("--run", metavar="ID", help="Which run to read, where the logs hold several."),
    click.option("--pool-runs", is_flag=True, help="Add the replays of all runs together."),
    click.option(
        "--attempts",
        type=click.Choice(["first", "first-valid"]),
        default="first",
        show_default=True,
        help="Which attempt at a repetition counts.",
    ),
)


def log_options(command: _Command) -> _Command:
    """Add the argument LOGS and the options that say how to read them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_logs(
    logs: tuple[str, ...],
    videos: str | None,
    video_pattern: str | None,
    columns: tuple[str, ...],
    run: str | None,
    pool_runs: bool,
    attempts: str,
) -> Any:
    """Read the counts as the options of `log_options` say."""
    from carve_stats.logs.reader import read_replays

    return read_replays(
        list(logs) if len(logs) > 1 else logs[0],
        videos=videos,
        video_pattern=video_pattern,
        columns=read_mapping(columns),
        run=run,
        pool_runs=pool_runs,
        attempts=attempts,
    )


def read_each_run(
    logs: tuple[str, ...],
    *,
    videos: str | None,
    video_pattern: str | None,
    columns: tuple[str, ...],
    attempts: str,
) -> dict[str, ReplayCounts]:
    """Read every run apart, by the records' own ids."""
    from carve_stats.logs.runs import read_runs

    try:
        return read_runs(
            list(logs) if len(logs) > 1 else logs[0],
            videos=videos,
            video_pattern=video_pattern,
            columns=read_mapping(columns),
            attempts=attempts,
        )
    except InputError as error:
        # Runs are apart before they can be added up: what helps is to say what they are.
        mended = str(error).replace(ADD_UP, f"give each run a log of its own and {PER_LOG}")
        raise type(error)(mended) from error


ADD_UP = "read with pool_runs=True (--pool-runs)"
PER_LOG = "say --run-per-log"


def read_mapping(columns: tuple[str, ...]) -> dict[str, str] | None:
    """Our names of columns to theirs, as the option ``--map`` gives them."""
    mapping = {}
    for pair in columns:
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise InputError(f"--map {pair!r} must be NAME=COLUMN, e.g. --map question_id=qid")
        mapping[name] = column
    return mapping or None
