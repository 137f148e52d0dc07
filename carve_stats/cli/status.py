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

    It tells whether the replays are independent, too: how many of a question are new draws, and
    what speaks against it. Of a run that stops its questions early it tells the plan and what is
    saved. It reads the store only, also while another process is writing to it.
    """
    from carve_stats.replay.independence.canary_report import read_canary
    from carve_stats.replay.independence.report import IndependenceTally
    from carve_stats.replay.store import RunStore
    from carve_stats.replay.transport import TransportFigures

    store = RunStore.load(run)
    result = store.progress.status()
    canary = read_canary(store.path)
    transport = TransportFigures()
    tally = IndependenceTally(store)
    for record in store.records():
        tally.add(record)
        transport.add(record)
    report = tally.report()
    if as_json:
        stopping = {} if store.stopping is None else {"stopping": plan_summary(store.stopping)}
        echo_json(
            {
                **result.to_dict(),
                **stopping,
                "independence": report.to_dict(),
                "canary": None if canary is None else canary.to_dict(),
                "transport": transport.to_dict(),
            }
        )
        return
    click.echo(str(result))
    if store.stopping is not None:
        click.echo(f"stopping: {describe_plan(store.stopping)}")
        click.echo(tell_saving(store.stopping, result))
    if transport.requests:
        click.echo(f"network: {transport}")
    if canary is not None:
        click.echo(str(canary))
    if result.attempts:
        click.echo(f"\n{report}")
