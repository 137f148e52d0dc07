"""The options with which a command that reads outcomes is told how to read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from carve_stats.cli._logs import read_mapping
from carve_stats.errors import InputError

__all__ = ["check_backbone", "outcome_options", "read_outcome_table", "read_pairs"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--fallback",
        metavar="NAME",
        help="Who answers deferred questions, where OUTCOMES has several.",
    ),
    click.option(
        "--match",
        metavar="COLUMN",
        multiple=True,
        help="Defer at random within the strata of this column; may be repeated.",
    ),
    click.option("--gold", metavar="FILE", help="Official file of the benchmark: gold answers."),
    click.option(
        "--answers",
        metavar="NAME=FILE",
        multiple=True,
        help="An answerer in a file of its own; may be repeated.",
    ),
    click.option(
        "--outcome-map",
        metavar="NAME=COLUMN",
        multiple=True,
        help="As --map, for the columns of OUTCOMES.",
    ),
)


def outcome_options(command: _Command) -> _Command:
    """Add the options that say how to read outcomes, and who answers deferred questions."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_outcome_table(
    path: str,
    *,
    gold: str | None,
    answers: tuple[str, ...],
    outcome_map: tuple[str, ...],
    videos: str | None,
) -> Any:
    """Read the outcomes as the options of `outcome_options` say."""
    from carve_stats.logs.outcomes import read_outcomes

    named = read_pairs("--answers", "NAME=FILE", "strong=strong.csv", answers)
    columns = read_pairs("--outcome-map", "NAME=COLUMN", "question_id=qid", outcome_map)
    return read_outcomes(
        path,
        answers=named or None,
        gold=gold,
        columns=columns or None,
        videos=None if gold is None else videos,
    )


def check_backbone(
    logs: tuple[str, ...],
    path: str,
    outcomes: Any,
    *,
    gold: str | None,
    answers: tuple[str, ...],
    outcome_map: tuple[str, ...],
    columns: tuple[str, ...],
    run: str | None,
) -> None:
    """Refuse outcomes of other frozen answers than those of the logs, where both know them."""
    from carve_stats.logs.frozen_answers import check_frozen_answers

    check_frozen_answers(
        list(logs),
        outcomes,
        path,
        gold=gold,
        answers=read_pairs("--answers", "NAME=FILE", "strong=strong.csv", answers),
        outcome_columns=read_pairs("--outcome-map", "NAME=COLUMN", "question_id=qid", outcome_map),
        columns=read_mapping(columns),
        run=run,
    )


def read_pairs(option: str, form: str, example: str, given: tuple[str, ...]) -> dict[str, str]:
    """The pairs NAME=VALUE of an option that may be repeated, by name."""
    pairs: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise InputError(f"{option} {pair!r} must be {form}, e.g. {option} {example}")
        if name in pairs:
            raise InputError(f"{option} {pair!r}: {name!r} stands there twice: give it once")
        pairs[name] = value
    return pairs
