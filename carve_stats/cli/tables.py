"""``carve-stats tables``: every table of the paper, from one's own logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._figure_folder import check_folder
from carve_stats.cli._logs import log_options, read_each_run, read_mapping
from carve_stats.cli._outcomes import outcome_options, read_outcome_table, read_pairs
from carve_stats.cli._output import echo_json, json_option
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
    speak of one run take --run, or else the first of those with the most common k. A table whose
    inputs are missing says which.

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
    inputs = _read_inputs(logs, outcomes, **options)
    made = build_tables(inputs, names, published=published)
    written = [] if folder is None else _write(folder, made, FORMATS[form], table_names())
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
    outcomes = None
    if outcomes_path is not None:
        outcomes = read_outcome_table(outcomes_path, answers=answers, **outcome_reading)
    if intervals is not None and outcomes is not None:
        outcomes = _with_overlap(
            outcomes, intervals, str(interval_format), interval_gold, settings["allow_mismatch"]
        )
    second = None
    if second_backbone is not None:
        theirs = read_each_run((second_backbone[0],), per_log=False, **reading)
        second = Backbone(
            names[1],
            PaperInputs(
                runs=theirs,
                run=run if run in theirs else None,
                pooled=_pool(theirs) if pool_runs else None,
            ).main,
            read_outcome_table(second_backbone[1], answers=(), **outcome_reading),
        )
    inputs = PaperInputs(
        runs=runs,
        run=run,
        pooled=_pool(runs) if pool_runs else None,
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
    """Each table; in text no note a second time, in CSV a title where there are several."""
    told: set[str] = set()
    blocks = []
    for table in made:
        one = table
        if form == "text":
            one = replace(table, notes=tuple(n for n in table.notes if n not in told))
            told.update(table.notes)
        body = write.write(one)
        if form == "csv" and (len(made) > 1 or table.missing is not None):
            body = f"# {table.title}" + (f"\n{body}" if table.missing is None else "")
        blocks.append(body)
    return blocks


def _write(folder: Path, made: list[PaperTable], form: Format, all_names: list[str]) -> list[str]:
    """Write the tables; older files of tables that are not made now are removed."""
    from carve_stats.replay.files import replace_file

    folder.mkdir(parents=True, exist_ok=True)
    there = {table.name: table for table in made if table.missing is None}
    written = []
    for name in all_names:
        target = folder / f"table_{name.lower()}.{form.ending}"
        if name in there:
            replace_file(target, (form.write(there[name]) + "\n").encode())
            written.append(str(target))
        elif target.is_file():
            target.unlink()
    return written
