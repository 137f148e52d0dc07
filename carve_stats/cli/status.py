"""``carve-stats status``: what a run directory holds."""

from __future__ import annotations

import click

from carve_stats.cli._output import echo_json, json_option

__all__ = ["status"]


@click.command()
@click.argument("run")
@json_option
def status(run: str, as_json: bool) -> None:
    """What the RUN directory holds: replays planned, done, valid and invalid.

    It reads the store only, also while another process is writing to it.
    """
    from carve_stats.replay.store import RunStore

    result = RunStore.load(run).status()
    if as_json:
        echo_json(result.to_dict())
    else:
        click.echo(str(result))
