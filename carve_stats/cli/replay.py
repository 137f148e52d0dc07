"""``carve-stats replay``: run or resume the replays that a configuration asks for."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from carve_stats.cli._output import echo_json, json_option, progress_bar, resumable
from carve_stats.cli._stopping import announcement, plan_run, plan_summary
from carve_stats.errors import InputError

__all__ = ["replay"]


@click.command()
@click.argument("config")
@click.option("--k", type=int, help="Replays of each question in each condition.")
@click.option("--seed", type=int, help="The run's seed.")
@click.option("--workers", type=int, help="Threads; they change nothing in the records.")
@click.option("--attempts", type=int, help="How often an invalid replay is tried at most.")
@click.option("--store", metavar="DIR", help="The run's directory.")
@click.option("--limit", type=int, metavar="N", help="Only the first N questions.")
@click.option(
    "--stop-when-decided",
    "rule",
    metavar="RULE",
    help="Stop each question once no replay to come can change what RULE, such as 'score <= 0',"
    " or 'sign' says of it.",
)
@click.option(
    "--order",
    help="Of such replays: optimal (the default), alternate, alternate-destroy-first or"
    " destroy-first.",
)
@click.option(
    "--minimum",
    metavar="SHAM,DESTROY",
    help="Replays that every question gets before it stops; three tenths of k if not given.",
)
@click.option(
    "--pilot", metavar="LOGS", help="Replay logs of like questions, to find the optimal order for."
)
@json_option
@resumable()
def replay(
    config: str, limit: int | None, minimum: str | None, as_json: bool, **overrides: Any
) -> None:
    """Run or resume the replays that CONFIG asks for.

    CONFIG is a TOML file. The same command resumes a run that was stopped; a larger --k or
    --limit tops it up. The options win over the file.

    With --stop-when-decided the SHAM and DESTROY replays of a question are made one after
    another, and no more once it is decided: fewer replays, the same decisions. Such a run keeps
    its k; more questions top it up.
    """
    from carve_stats.replay.agents import load_agent, resolve_options
    from carve_stats.replay.config import read_config
    from carve_stats.replay.loop import run_replays
    from carve_stats.replay.operators import load_operator
    from carve_stats.replay.trajectories import read_trajectories

    settings = read_config(config, minimum=_pair(minimum), **overrides)
    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit} must be at least 1")
    trajectories = read_trajectories(settings.trajectories)[:limit]
    expected = plan_run(settings)
    # The user's module stands beside the configuration, as the paths in it do.
    folder = Path(config).resolve().parent
    sys.path.insert(0, str(folder))
    options = resolve_options(settings.agent.name, settings.agent.options, folder)
    # What the agent prints is not what the command answers.
    with contextlib.redirect_stdout(sys.stderr):
        agent = load_agent(settings.agent.name, **options)
        if expected is not None and settings.stopping is not None:
            click.echo(announcement(expected, pilot=settings.stopping.pilot is not None), err=True)
        with progress_bar("replays") as progress:
            status = run_replays(
                agent,
                trajectories,
                k=settings.k,
                store=settings.store,
                seed=settings.seed,
                conditions=settings.conditions,
                attempts=settings.attempts,
                workers=settings.workers,
                operator=load_operator(settings.operator.name, **settings.operator.options),
                encoder=settings.encoder,
                crop=settings.crop,
                media=settings.media,
                agent_spec={"use": settings.agent.name, **settings.agent.options},
                progress=progress,
                stopping=None if expected is None else expected.plan,
            )
    if as_json:
        stopping = {} if expected is None else {"stopping": plan_summary(expected.plan)}
        echo_json({"store": str(settings.store), **status.to_dict(), **stopping})
    else:
        click.echo(f"{settings.store}: {status}")


def _pair(minimum: str | None) -> list[int] | None:
    if minimum is None:
        return None
    try:
        return [int(part) for part in minimum.split(",")]
    except ValueError:
        raise InputError(
            f"--minimum {minimum} must be two whole numbers, SHAM,DESTROY, such as 3,3"
        ) from None
