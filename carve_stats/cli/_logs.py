"""The options with which every command that reads replay logs is told how to read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from carve_stats.errors import InputError

__all__ = ["log_options", "read_logs"]

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

    mapping = {}
    for pair in columns:
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise InputError(f"--map {pair!r} must be NAME=COLUMN, e.g. --map question_id=qid")
        mapping[name] = column
    return read_replays(
        list(logs) if len(logs) > 1 else logs[0],
        videos=videos,
        video_pattern=video_pattern,
        columns=mapping or None,
        run=run,
        pool_runs=pool_runs,
        attempts=attempts,
    )
