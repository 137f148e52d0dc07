"""``carve-stats tables``: every table of the paper, from one's own logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from carve_stats._display import visible
from carve_stats.cli._figure_folder import check_folder
from carve_stats.cli._logs import log_options
from carve_stats.cli._outcomes import outcome_options, read_pairs
from carve_stats.cli._output import echo_json, json_option
from carve_stats.cli._paper_table_files import check_targets, shown_tables, write_tables
from carve_stats.cli._table_inputs import Reading, read_inputs
from carve_stats.cli._wording import in_options, say_options
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.report.paper_tables.paper_table import PaperTable

__all__ = ["tables"]


@click.command()
@log_options
@outcome_options
@click.option("--no-outcomes", is_flag=True, help="All arguments are LOGS: there are no OUTCOMES.")
@click.option(
    "--run-per-log",
    is_flag=True,
    help="Each of the LOGS is a run, whatever it says; --run then takes its path.",
)
@click.option(
    "--second-backbone",
    metavar="LOGS OUTCOMES",
    nargs=2,
    help="Another agent, read with the same options: for table A5.",
)
@click.option(
    "--names",
    metavar="NAME NAME",
    nargs=2,
    default=("first", "second"),
    show_default=True,
    help="What the two are called.",
)
@click.option(
    "--intervals",
    metavar="FILE",
    help="Retrieved and annotated intervals of each question: gold coverage.",
)
@click.option(
    "--interval-format",
    type=click.Choice(["seconds", "clock", "pairs", "trajectories"]),
    help="How they are written; it is never guessed.",
)
@click.option(
    "--interval-gold",
    metavar="FILE",
    help="Official file of the benchmark: annotated intervals, where FILE has the retrieved ones.",
)
@click.option(
    "--self-consistency",
    is_flag=True,
    help="Add the majority of the SELF replays as an answerer; --gold, or a column gold_answer of"
    " OUTCOMES, judges it.",
)
@click.option(
    "--confidence",
    metavar="COLUMN",
    help="Of OUTCOMES, the higher the surer. Not given: confidence, or what SELF replays keep.",
)
@click.option("--tables", "names_of_tables", metavar="NAMES", help="Which, such as 1,A2. All.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "latex", "csv"]),
    default="text",
    show_default=True,
)
@click.option("--published", is_flag=True, help="Put the paper's figures beside them.")
@click.option("--output", metavar="DIR", help="Write each table to a file there.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the splits of table A5.")
@click.option(
    "--allow-mismatch",
    is_flag=True,
    help="Questions may lack replays in a run, or outcomes.",
)
@json_option
def tables(
    logs: tuple[str, ...],
    names_of_tables: str | None,
    form: str,
    published: bool,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """The paper's tables 1 to 4 and A1 to A5, from replay LOGS and a table of OUTCOMES.

    LOGS is a folder in the CARVE layout, a run directory, or JSONL, CSV or Parquet files.
    OUTCOMES, the last argument, has one row a question: question_id, original_correct, and
    NAME_correct of each other answerer. Runs are told apart by the records' own run; tables that
    speak of one run take the first of those with the most common k. With --run every table is of
    that run alone, with --pool-runs of all runs added up (and A1, of pairs of runs, is not made).
    A run that holds all replays of another extends it and counts once in tables 1 and A1. A table
    whose inputs are missing says which. If all arguments are LOGS, say --no-outcomes.

    With --output, CSV has its notes in table_….notes.txt; several CSV tables on the screen have
    them in lines that begin with #.

    \b
    Examples:
      carve-stats tables results/ outcomes.csv --published
      carve-stats tables runs.jsonl outcomes.csv --tables 1,A2 --format latex --output tables/
    """  # noqa: D301 (click wants the character, not the letters)
    if options["seed"] < 0:
        raise InputError(f"--seed {options['seed']} must be at least 0")
    if (options["intervals"] is None) != (options["interval_format"] is None):
        raise InputError(
            "--intervals and --interval-format belong together: give both, since how intervals are"
            " written is never guessed"
        )
    if options["run"] is not None and options["pool_runs"]:
        raise InputError("--run names one run and --pool-runs means all of them: give one")
    second = options["second_backbone"]
    if second is not None and (option := next((a for a in second if a.startswith("--")), None)):
        raise InputError(
            f"--second-backbone needs LOGS and OUTCOMES, and {option} stands in the place of one"
        )
    outcomes = None
    no_outcomes = options.pop("no_outcomes")
    if len(logs) > 1 and not no_outcomes:
        *rest, outcomes = logs
        logs = tuple(rest)
    if outcomes is None:
        for name in _OF_OUTCOMES:
            if options[name]:
                raise InputError(f"--{name.replace('_', '-')} needs OUTCOMES, the last argument")

    from carve_stats.report.paper_tables import build_tables, table_names
    from carve_stats.report.paper_tables.formats import FORMATS
    from carve_stats.report.paper_tables.inputs import check_names

    with say_options(_ARGUMENTS):
        check_names(*options["names"])
    names = table_names() if names_of_tables is None else names_of_tables.split(",")
    folder = None
    if output is not None:
        files = _files(logs, outcomes, options)
        folder = check_folder(output, files, option="--output")
        check_targets(folder, names, FORMATS[form], files)
    reading = Reading(**{name: options.pop(name) for name in Reading._fields})
    with say_options(_ARGUMENTS):
        inputs = read_inputs(logs, outcomes, reading, **options)
        made = build_tables(inputs, names, published=published)
    made = [_in_options(table) for table in made]
    written = [] if folder is None else write_tables(folder, made, FORMATS[form])
    if as_json:
        echo_json({"tables": [table.to_dict() for table in made], "files": written})
    elif folder is None:
        click.echo(shown_tables(made, FORMATS[form]))
    else:
        for line in [*written, *(table.title for table in made if table.missing is not None)]:
            click.echo(visible(line))


_OF_OUTCOMES = (
    "intervals", "interval_gold", "self_consistency", "confidence", "fallback", "match", "gold",
    "answers", "outcome_map", "second_backbone",
)  # fmt: skip
_ARGUMENTS = {
    "rng": "--seed",
    "columns": "--map",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "allow_mismatch", "answers", "confidence", "fallback", "gold", "level", "match",
            "names", "pool_runs", "run", "video_pattern", "videos", "attempts",
        )
    },
}  # fmt: skip


def _files(logs: tuple[str, ...], outcomes: str | None, options: Mapping[str, Any]) -> list[str]:
    """Everything that will be read."""
    named = read_pairs("--answers", "NAME=FILE", "strong=strong.csv", options["answers"])
    others = [options[name] for name in ("gold", "videos", "intervals", "interval_gold")]
    second = options["second_backbone"] or ()
    return [*logs, *filter(None, [outcomes, *others]), *named.values(), *second]


def _in_options(table: PaperTable) -> PaperTable:
    """The same table, whose notes speak of options."""
    missing = None if table.missing is None else in_options(table.missing, _ARGUMENTS)
    notes = tuple(in_options(note, _ARGUMENTS) for note in table.notes)
    return replace(table, notes=notes, missing=missing)
