"""``carve-stats status``: what a run directory holds."""

from __future__ import annotations

import click

from carve_stats.cli._output import echo_json, json_option
from carve_stats.cli._stopping import plan_summary

__all__ = ["status"]


@click.command()
@click.argument("run")
@json_option
def status(run: str, as_json: bool) -> None:
    """What the RUN directory holds: replays planned, done, spared, valid and invalid.

    It reads the store only, also while another process is writing to it.
    """
    from carve_stats.replay.store import RunStore

    store = RunStore.load(run)
    result = store.status()
    if as_json:
        stopping = {} if store.stopping is None else {"stopping": plan_summary(store.stopping)}
        echo_json({**result.to_dict(), **stopping})
    else:
        click.echo(str(result))
