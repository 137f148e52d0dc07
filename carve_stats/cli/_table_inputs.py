"""What ``carve-stats tables`` makes its tables of, read from the files that were named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from carve_stats.cli._logs import read_each_run, read_logs, read_mapping
from carve_stats.cli._outcomes import check_backbone, read_outcome_table
from carve_stats.cli._run_per_log import pool_logs, read_run_per_log
from carve_stats.cli._wording import say_options
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.outcomes import Outcomes
    from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs

__all__ = ["Reading", "read_inputs"]

_OF_OUTCOMES = {"source": "OUTCOMES", "columns": "--outcome-map"}
_OF_INTERVALS = {
    "source": "--intervals",
    "gold": "--interval-gold",
    "format": "--interval-format",
    "columns": "a header of that name",  # there is no option
}


class Reading(NamedTuple):
    """How logs and outcomes are read, those of a second backbone too."""

    videos: str | None
    video_pattern: str | None
    columns: tuple[str, ...]
    attempts: str
    gold: str | None
    outcome_map: tuple[str, ...]

    def of_logs(self) -> dict[str, Any]:
        """For `read_logs` and `read_each_run`."""
        names = ("videos", "video_pattern", "columns", "attempts")
        return {name: getattr(self, name) for name in names}

    def outcomes(
        self, logs: tuple[str, ...], path: str, *, answers: tuple[str, ...], run: str | None
    ) -> Outcomes:
        """The outcomes of the agent whose logs these are."""
        options: dict[str, Any] = {
            "gold": self.gold, "answers": answers, "outcome_map": self.outcome_map,
        }  # fmt: skip
        with say_options(_OF_OUTCOMES):
            try:
                outcomes: Outcomes = read_outcome_table(path, videos=self.videos, **options)
            except InputError as error:
                self._refuse_replays(path, error)
                raise
        check_backbone(logs, path, outcomes, columns=self.columns, run=run, **options)
        return outcomes

    def _refuse_replays(self, path: str, error: InputError) -> None:
        """Say so where what was named as outcomes holds replays."""
        try:
            read_each_run((path,), **self.of_logs())
        except InputError:
            return
        raise InputError(
            f"{path}: holds replays, and the last argument is OUTCOMES; if there are no outcomes,"
            " say --no-outcomes"
        ) from error


def read_inputs(
    logs: tuple[str, ...],
    outcomes_path: str | None,
    reading: Reading,
    *,
    run: str | None,
    pool_runs: bool,
    run_per_log: bool,
    answers: tuple[str, ...],
    intervals: str | None,
    interval_format: str | None,
    interval_gold: str | None,
    second_backbone: tuple[str, str] | None,
    names: tuple[str, str],
    self_consistency: bool,
    **settings: Any,
) -> PaperInputs:
    """Read everything that was given.

    Parameters
    ----------
    logs, outcomes_path
        The arguments LOGS and OUTCOMES.
    reading : Reading
        How they are read.
    run, pool_runs, run_per_log, answers, intervals, interval_format, interval_gold, \
second_backbone, names, self_consistency
        The options of these names.
    **settings
        Those that `PaperInputs` takes as they are.

    Returns
    -------
    PaperInputs
        What tables are made of.

    Raises
    ------
    InputError
        As the readers.
    """
    from carve_stats.report.paper_tables.inputs import PaperInputs

    pooled = None
    if run_per_log:
        runs = read_run_per_log(logs, added_up=pool_runs, **reading.of_logs())
        pooled = pool_logs(runs) if pool_runs else None
    else:
        runs = read_each_run(logs, **reading.of_logs())
        if pool_runs:
            # Reading them again together finds a run that is counted twice; counts cannot.
            pooled = read_logs(logs, run=None, pool_runs=True, **reading.of_logs())
    outcomes = None
    if outcomes_path is not None:
        checked = None if run_per_log else run
        outcomes = reading.outcomes(logs, outcomes_path, answers=answers, run=checked)
    if intervals is not None and outcomes is not None:
        allowed = settings["allow_mismatch"]
        outcomes = _with_overlap(outcomes, intervals, interval_format, interval_gold, allowed)
    second = None
    if second_backbone is not None:
        second = _read_second(second_backbone, names[1], reading, run=run, pool_runs=pool_runs)
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
        inputs, source, outcomes_path, reading, run=which, pool_runs=pool_runs
    )


def _with_overlap(
    outcomes: Outcomes, path: str, form: str | None, gold: str | None, allow_mismatch: bool
) -> Outcomes:
    from carve_stats.logs.evidence_intervals import read_intervals

    with say_options(_OF_INTERVALS):
        found = read_intervals(path, format=str(form), gold=gold)
    return outcomes.with_covariates(found.question, found.overlap(), allow_mismatch=allow_mismatch)


def _read_second(
    paths: tuple[str, str], name: str, reading: Reading, *, run: str | None, pool_runs: bool
) -> Backbone:
    """The other agent: its run of the same name, where it has one."""
    from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs
    from carve_stats.report.paper_tables.runs_apart import name_run

    logs, outcomes_path = (paths[0],), paths[1]
    runs = read_each_run(logs, **reading.of_logs())
    pooled = None
    if pool_runs:
        pooled = read_logs(logs, run=None, pool_runs=True, **reading.of_logs())
    try:
        theirs = PaperInputs(runs=runs, run=run if run in runs else None, pooled=pooled)
    except InputError as error:
        raise InputError(f"--second-backbone: {error}") from error
    outcomes = reading.outcomes(logs, outcomes_path, answers=(), run=theirs.run)
    which = "; ".join(theirs.which()) or (name_run(theirs.main_run) if theirs.main_run else "")
    return Backbone(name, theirs.main, outcomes, which=which)


def _with_self_consistency(
    inputs: PaperInputs,
    logs: tuple[str, ...],
    outcomes_path: str,
    reading: Reading,
    *,
    run: str | None,
    pool_runs: bool,
) -> PaperInputs:
    """The inputs with one alternative more, which nothing is deferred to unless it is named."""
    from carve_stats.logs.scan import connect
    from carve_stats.logs.self_answers import read_self_answers
    from carve_stats.logs.tables import open_table
    from carve_stats.routing.self_consistency import self_consistency

    assert inputs.outcomes is not None
    standard = reading.gold
    if standard is None:
        with connect() as connection:
            table = open_table(connection, outcomes_path, name="outcomes", argument="OUTCOMES")
            standard = outcomes_path if "gold_answer" in table.columns else None
    options = {**reading.of_logs(), "columns": read_mapping(reading.columns)}
    said = read_self_answers(
        list(logs) if len(logs) > 1 else logs[0],
        gold=standard,
        run=run,
        pool_runs=pool_runs,
        **options,
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
