"""``carve-stats status``: what a run directory holds."""

from __future__ import annotations

import textwrap
from collections import Counter

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
    statuses: dict[str, Counter[str]] = {c: Counter() for c in store.plan.conditions}
    for record in store.records():
        tally.add(record)
        transport.add(record)
        statuses[record.condition][record.status] += 1
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
                "statuses": {condition: dict(n) for condition, n in statuses.items()},
            }
        )
        return
    click.echo(str(result))
    if store.stopping is not None:
        click.echo(f"stopping: {describe_plan(store.stopping)}")
        click.echo(tell_saving(store.stopping, result))
    for condition, found in statuses.items():
        if line := _invalid(condition, found):
            click.echo(line)
    if transport.requests:
        click.echo(f"network: {transport}")
    if canary is not None:
        click.echo(textwrap.fill(str(canary), 100, subsequent_indent="  "))
    if result.attempts:
        click.echo(f"\n{report}")


def _invalid(condition: str, found: Counter[str]) -> str | None:
    """How many attempts of a condition gave no answer, and why."""
    total = found.total()
    reasons = [(status, n) for status, n in found.most_common() if status != "ok"]
    if not reasons:
        return None
    n = total - found["ok"]
    shown = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in reasons)
    return f"without an answer: {condition} {n} of {total} ({100 * n / total:.1f} %: {shown})"
