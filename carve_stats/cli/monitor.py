"""``carve-stats monitor``: the mean score of a run that is still going on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._logs import log_options, read_logs
from carve_stats.cli._output import echo_json, json_option
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.logs.finished import FinishedVideos

__all__ = ["monitor"]


@click.command()
@log_options
@click.option(
    "--planned",
    type=int,
    default=50,
    show_default=True,
    help="About how many videos there will be: there the interval is shortest. Choose it before.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option(
    "--order",
    metavar="FILE",
    help="Videos in the order in which they came, one a line; of a run this is known.",
)
@json_option
def monitor(planned: int, level: float, order: str | None, as_json: bool, **reading: Any) -> None:
    """The mean score so far of a RUN, which may be stopped at any look.

    LOGS is a run directory, also while another process is writing to it: videos count once all of
    their replays are made, in the order in which that was. Or other logs of complete videos: a
    folder in the CARVE layout, or JSONL, CSV or Parquet files.

    The intervals hold at all times together, so that looking again costs nothing. A run that
    stops its questions early cannot be watched.

    \b
    Examples:
      carve-stats monitor runs/audit --planned 100
      carve-stats monitor replays.jsonl --order videos.txt --json
    """  # noqa: D301 (click wants the character, not the letters)
    from carve_stats.planning.monitoring import monitor_mean_score

    arrived: Sequence[str] | None = None if order is None else _read_order(order)
    finished = _finished_videos(**reading)
    counts = read_logs(**reading)
    if finished is not None:
        counts = finished.select(counts)
        arrived = finished.order if arrived is None else arrived
    watch = monitor_mean_score(counts, order=arrived, level=level, planned=planned)
    under_way = None
    if finished is not None:
        watch = replace(watch, notes=(finished.note, *watch.notes))
        under_way = list(finished.under_way)
    if as_json:
        echo_json({**watch.to_dict(), "under_way": under_way})
    else:
        click.echo(str(watch))


def _finished_videos(
    logs: tuple[str, ...], videos: str | None, video_pattern: str | None, **_: Any
) -> FinishedVideos | None:
    """Of a run directory; None where the logs are others."""
    from carve_stats.logs.run_directory import is_mine

    runs = [path for path in logs if is_mine(Path(path))]
    if not runs:
        return None
    if len(logs) > 1:
        raise InputError(f"{runs[0]}: is a run directory: one run is watched at a time, alone")
    from carve_stats.logs.finished import finished_videos

    return finished_videos(runs[0], videos=videos, video_pattern=video_pattern)


def _read_order(path: str) -> list[str]:
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"--order {path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"--order {path}: is not UTF-8 text: give one video a line") from None
    return [line.strip() for line in lines if line.strip()]
