"""What every command prints: one JSON object, or text for a person."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import click

from carve_stats._display import visible

__all__ = ["Progress", "echo_json", "json_option", "progress_bar", "resumable"]

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)


class Progress(Protocol):
    """Called with what is done and what there is to do."""

    def __call__(self, done: int, total: int, /) -> None:
        """Show the progress."""


def echo_json(result: Mapping[str, Any]) -> None:
    """Print one JSON object, in ASCII, which every terminal and file can take.

    NaN and infinity are refused, since JSON has neither.
    """
    click.echo(json.dumps(result, allow_nan=False))


@contextmanager
def resumable() -> Iterator[None]:
    """Let an interruption say that what is done is kept; also a decorator of a command."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command goes on with what is left") from None


@contextmanager
def progress_bar(what: str) -> Iterator[Progress]:
    """Show progress on stderr: a bar on a terminal, a plain line every tenth elsewhere.

    Parameters
    ----------
    what : str
        What is being done, for example ``"replays"``.

    Yields
    ------
    Progress
        To be called with what is done and what there is to do.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        with _logs_shown(lambda line: click.echo(line, err=True)):
            yield _announced(what, _plain_lines(what))
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    shown = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    with Bar(*columns, console=console) as bar, _logs_shown(shown):
        task = bar.add_task(what, total=None)
        yield _announced(what, lambda done, total: bar.update(task, completed=done, total=total))


@contextmanager
def _logs_shown(show: Callable[[str], Any]) -> Iterator[None]:
    """Show what the replay loop and its agents have to say while they work, each as a line."""
    import logging

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(visible(record.getMessage()))

    logger = logging.getLogger("carve_stats")
    handler = Shown(logging.WARNING)
    logger.addHandler(handler)
    propagated, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated


def _announced(what: str, show: Progress) -> Progress:
    """Say first what an earlier call of the same command has done already."""
    first = True

    def announce(done: int, total: int) -> None:
        nonlocal first
        if first and done:
            mood = "nothing to do" if done == total else "going on"
            click.echo(f"{what}: {mood}, {done} of {total} are there already", err=True)
        first = False
        show(done, total)

    return announce


def _plain_lines(what: str) -> Progress:
    tenth_shown = -1

    def show(done: int, total: int) -> None:
        nonlocal tenth_shown
        tenth = 10 * done // total if total else 10
        if tenth > tenth_shown:
            tenth_shown = tenth
            click.echo(f"{what}: {done} of {total}", err=True)

    return show
