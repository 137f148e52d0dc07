"""``carve-stats excess``: tie excess and headline rates from replay logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._logs import log_options, read_logs
from carve_stats.cli._output import echo_json, json_option
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.inference.stopped import StoppedSigns
    from carve_stats.inference.tie_excess import TieExcess

__all__ = ["excess"]


@click.command()
@log_options
@click.option(
    "--interval",
    type=click.Choice(["t", "bootstrap"]),
    default="t",
    show_default=True,
    help="Linearised cluster t interval, or percentile cluster bootstrap (needs --seed).",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option(
    "--resamples", type=int, default=10_000, show_default=True, help="Bootstrap resamples."
)
@click.option("--seed", type=int, help="Seed of the bootstrap.")
@json_option
def excess(
    interval: str, level: float, resamples: int, seed: int | None, as_json: bool, **reading: Any
) -> None:
    """Tie excess and headline rates from replay LOGS.

    LOGS is a folder in the CARVE layout, a run directory, or JSONL, CSV or Parquet files. Of a
    run that stopped its questions early it tells the figures of a full run with fewer replays.

    \b
    Examples:
      carve-stats excess results/ --videos videos.csv
      carve-stats excess replays.jsonl --map question_id=qid --json
    """  # noqa: D301 (click wants the character, not the letters)
    if interval == "bootstrap" and seed is None:
        raise InputError("--interval bootstrap needs --seed, so that it can be repeated")
    counts = read_logs(**reading)

    result: TieExcess | StoppedSigns
    if counts.stopping is None:
        from carve_stats.inference.tie_excess import tie_excess

        result = tie_excess(counts, interval=interval, level=level, resamples=resamples, rng=seed)
    else:
        from carve_stats.inference.stopped import stopped_signs

        result = stopped_signs(
            counts, interval=interval, level=level, resamples=resamples, rng=seed
        )
    if as_json:
        echo_json(result.to_dict())
    else:
        click.echo(str(result))
