"""``carve-stats tables``: every table of the paper, from one's own logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._figure_folder import check_folder
from carve_stats.cli._logs import log_options, read_each_run, read_logs, read_mapping
from carve_stats.cli._outcomes import (
    check_backbone,
    outcome_options,
    read_outcome_table,
    read_pairs,
)
from carve_stats.cli._output import echo_json, json_option
from carve_stats.cli._table_file import refuse_input
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.counts import ReplayCounts
    from carve_stats.outcomes import Outcomes
    from carve_stats.report.paper_tables.formats import Format
    from carve_stats.report.paper_tables.inputs import PaperInputs
    from carve_stats.report.paper_tables.paper_table import PaperTable

__all__ = ["tables"]


@click.command()
@log_options
@outcome_options
@click.option("--no-outcomes", is_flag=True, help="All arguments are LOGS: there are no OUTCOMES.")
@click.option("--run-per-log", is_flag=True, help="Each of the LOGS is a run, whatever it says.")
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
    outcomes = None
    if len(logs) > 1 and not options["no_outcomes"]:
        *rest, outcomes = logs
        logs = tuple(rest)
    if outcomes is None:
        for name in _OF_OUTCOMES:
            if options[name]:
                raise InputError(f"--{name.replace('_', '-')} needs OUTCOMES, the last argument")

    from carve_stats.report.paper_tables import build_tables, table_names
    from carve_stats.report.paper_tables.formats import FORMATS

    names = table_names() if names_of_tables is None else names_of_tables.split(",")
    folder = None
    if output is not None:
        named = read_pairs("--answers", "NAME=FILE", "strong=strong.csv", options["answers"])
        more = [
            outcomes,
            *(options[name] for name in ("gold", "videos", "intervals", "interval_gold")),
        ]
        second = options["second_backbone"] or ()
        read = [*logs, *filter(None, more), *named.values(), *second]
        folder = check_folder(output, read, option="--output")
        _check_targets(folder, names, FORMATS[form], read)
    inputs = _read_inputs(logs, outcomes, **options)
    made = build_tables(inputs, names, published=published)
    written = [] if folder is None else _write(folder, made, FORMATS[form])
    if as_json:
        echo_json({"tables": [table.to_dict() for table in made], "files": written})
    elif folder is None:
        click.echo("\n\n".join(_shown(made, form, FORMATS[form])))
    else:
        for line in [*written, *(table.title for table in made if table.missing is not None)]:
            click.echo(line)


_OF_OUTCOMES = (
    "intervals", "interval_gold", "self_consistency", "confidence", "fallback", "match", "gold",
    "answers", "outcome_map", "second_backbone",
)  # fmt: skip


def _read_inputs(
    logs: tuple[str, ...],
    outcomes_path: str | None,
    *,
    run: str | None,
    pool_runs: bool,
    run_per_log: bool,
    gold: str | None,
    answers: tuple[str, ...],
    outcome_map: tuple[str, ...],
    intervals: str | None,
    interval_format: str | None,
    interval_gold: str | None,
    second_backbone: tuple[str, str] | None,
    names: tuple[str, str],
    self_consistency: bool,
    **settings: Any,
) -> PaperInputs:
    """Everything that was given, read."""
    from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs

    if run is not None and pool_runs:
        raise InputError("--run names one run and --pool-runs means all of them: give one")
    reading = {name: settings.pop(name) for name in ("videos", "video_pattern", "columns")}
    reading["attempts"] = settings.pop("attempts")
    outcome_reading = dict(gold=gold, outcome_map=outcome_map, videos=reading["videos"])
    settings.pop("no_outcomes")
    runs = read_each_run(logs, per_log=run_per_log, **reading)
    pooled = None
    if pool_runs:
        # Reading them again together finds a run that is counted twice; counts alone cannot.
        pooled = (
            _pool(runs) if run_per_log else read_logs(logs, run=None, pool_runs=True, **reading)
        )
    outcomes = None
    if outcomes_path is not None:
        outcomes = _read_last_as_outcomes(
            outcomes_path, reading, answers=answers, **outcome_reading
        )
        check_backbone(
            logs,
            outcomes_path,
            outcomes,
            gold=gold,
            answers=answers,
            outcome_map=outcome_map,
            columns=reading["columns"],
            run=None if run_per_log else run,
        )
    if intervals is not None and outcomes is not None:
        outcomes = _with_overlap(
            outcomes, intervals, str(interval_format), interval_gold, settings["allow_mismatch"]
        )
    second = None
    if second_backbone is not None:
        theirs = PaperInputs(
            runs=(each := read_each_run((second_backbone[0],), per_log=False, **reading)),
            run=run if run in each else None,
            pooled=read_logs((second_backbone[0],), run=None, pool_runs=True, **reading)
            if pool_runs
            else None,
        )
        their_outcomes = read_outcome_table(second_backbone[1], answers=(), **outcome_reading)
        check_backbone(
            (second_backbone[0],),
            second_backbone[1],
            their_outcomes,
            gold=gold,
            answers=(),
            outcome_map=outcome_map,
            columns=reading["columns"],
            run=theirs.run,
        )
        second = Backbone(
            names[1],
            theirs.main,
            their_outcomes,
            which=_say_which(theirs),
        )
    inputs = PaperInputs(
        runs=runs,
        run=run,
        pooled=pooled,
        outcomes=outcomes,
        second=second,
        name=names[0],
        **settings,
    )
    if not self_consistency or outcomes_path is None:
        return inputs
    source = (inputs.main_run,) if run_per_log and not pool_runs else logs
    which = None if run_per_log or pool_runs else inputs.main_run or None
    return _with_self_consistency(
        inputs, source, outcomes_path, gold, run=which, pool_runs=pool_runs, **reading
    )


def _with_self_consistency(
    inputs: PaperInputs,
    logs: tuple[str, ...],
    outcomes_path: str,
    gold: str | None,
    *,
    columns: tuple[str, ...],
    **reading: Any,
) -> PaperInputs:
    """The inputs with one alternative more, which nothing is deferred to unless it is named."""
    from carve_stats.logs.scan import connect
    from carve_stats.logs.self_answers import read_self_answers
    from carve_stats.logs.tables import open_table
    from carve_stats.routing.self_consistency import self_consistency

    assert inputs.outcomes is not None
    standard = gold
    if gold is None:
        with connect() as connection:
            table = open_table(connection, outcomes_path, name="outcomes", argument="source")
            standard = outcomes_path if "gold_answer" in table.columns else None
    said = read_self_answers(
        list(logs) if len(logs) > 1 else logs[0],
        gold=standard,
        columns=read_mapping(columns),
        **reading,
    )
    result = self_consistency(said, inputs.outcomes, allow_mismatch=inputs.allow_mismatch)
    alternatives = list(inputs.outcomes.alternatives)
    fallback = alternatives[0] if len(alternatives) == 1 else None
    return replace(
        inputs,
        outcomes=result.outcomes,
        fallback=inputs.fallback or fallback,
        method_notes=tuple(f"{result.name}: {note}" for note in result.notes),
    )


def _read_last_as_outcomes(path: str, reading: dict[str, Any], **options: Any) -> Outcomes:
    """The last argument read as outcomes; if it holds replays instead, that is said."""
    try:
        outcomes: Outcomes = read_outcome_table(path, **options)
    except InputError as error:
        try:
            read_each_run((path,), per_log=False, **reading)
        except InputError:
            raise error from None
        raise InputError(
            f"{path}: holds replays, and the last argument is OUTCOMES; if there are no outcomes,"
            " say --no-outcomes"
        ) from None
    return outcomes


def _say_which(inputs: PaperInputs) -> str:
    """Which run a backbone's figures are of; empty where it has no name."""
    from carve_stats.report.paper_tables.runs_apart import name_run

    return "; ".join(inputs.which()) or (name_run(inputs.main_run) if inputs.main_run else "")


def _pool(runs: dict[str, ReplayCounts]) -> ReplayCounts:
    first, *others = runs.values()
    for other in others:
        first = first.pool(other)
    return first


def _with_overlap(
    outcomes: Outcomes, path: str, form: str, gold: str | None, allow_mismatch: bool
) -> Outcomes:
    from carve_stats.logs.evidence_intervals import read_intervals

    found = read_intervals(path, format=form, gold=gold)
    return outcomes.with_covariates(found.question, found.overlap(), allow_mismatch=allow_mismatch)


def _shown(made: list[PaperTable], form: str, write: Format) -> list[str]:
    """Each table, complete; several in CSV with their titles and notes in comments."""
    blocks = []
    for table in made:
        body = write.write(table)
        if form == "csv" and (len(made) > 1 or table.missing is not None):
            comments = [f"# {line}" for line in _title_and_notes(table)]
            body = "\n".join([*comments, *([body] if table.missing is None else [])])
        blocks.append(body)
    return blocks


def _title_and_notes(table: PaperTable) -> list[str]:
    return [" ".join(line.split()) for line in (table.title, *table.notes)]


def _targets(folder: Path, name: str, form: Format) -> dict[str, Path]:
    """The files of a table, by what is in them."""
    stem = f"table_{name.strip().lower()}"
    targets = {"table": folder / f"{stem}.{form.ending}"}
    if form.ending == "csv":
        targets["notes"] = folder / f"{stem}.notes.txt"
    return targets


def _check_targets(folder: Path, names: list[str], form: Format, read: list[str]) -> None:
    """Refuse files that will be read, and folders, before anything is read or written."""
    for name in names:
        for target in _targets(folder, name, form).values():
            named = f"--output: {str(target)!r}"
            if target.is_dir():
                raise InputError(f"{named} is a folder: name another folder for the tables")
            refuse_input(target, [path for path in read if Path(path).is_file()], named=named)


def _write(folder: Path, made: list[PaperTable], form: Format) -> list[str]:
    from carve_stats.replay.files import replace_file

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in made:
        if table.missing is not None:
            continue
        texts = {"table": form.write(table), "notes": "\n".join(_title_and_notes(table))}
        for what, target in _targets(folder, table.name, form).items():
            replace_file(target, (texts[what] + "\n").encode())
            written.append(str(target))
    return written
