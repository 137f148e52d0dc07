"""``carve-stats status``: what a run directory holds."""

from __future__ import annotations

import click

from carve_stats.cli._output import echo_json, json_option
from carve_stats.cli._stopping import describe_plan, plan_summary, tell_saving

__all__ = ["status"]


@click.command()
@click.argument("run")
@json_option
def status(run: str, as_json: bool) -> None:
    """What the RUN directory holds: replays planned, done, spared, valid and invalid.

    Of a run that stops its questions early it tells the plan, too, and what is saved.
    It reads the store only, also while another process is writing to it.
    """
    from carve_stats.replay.store import RunStore

    store = RunStore.load(run)
    result = store.progress.status()
    if as_json:
        stopping = {} if store.stopping is None else {"stopping": plan_summary(store.stopping)}
        echo_json({**result.to_dict(), **stopping})
    else:
        click.echo(str(result))
        if store.stopping is not None:
            click.echo(f"stopping: {describe_plan(store.stopping)}")
            click.echo(tell_saving(store.stopping, result))
