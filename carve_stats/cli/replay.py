"""``carve-stats replay``: run or resume the replays that a configuration asks for."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._output import echo_json, json_option, progress_bar, resumable
from carve_stats.cli._spending import read_limit, spending_options, spent, tell_limit
from carve_stats.cli._stopping import (
    plan_run,
    plan_summary,
    read_minimum,
    stopping_options,
    tell_saving,
)
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.counts import ReplayCounts
    from carve_stats.population.mixing import Population

__all__ = ["replay"]


@click.command()
@click.argument("config")
@click.option("--k", type=int, help="Replays of each question in each condition.")
@click.option("--seed", type=int, help="The run's seed.")
@click.option(
    "--workers", type=int, help="Replays made at a time; they change nothing in the records."
)
@click.option("--engine", metavar="NAME", help="local, or ray for a Ray cluster.")
@click.option(
    "--canary", metavar="MODE", help="What a canary that fails does: stop (the default), warn; off."
)
@click.option("--attempts", type=int, help="How often an invalid replay is tried at most.")
@click.option("--store", metavar="DIR", help="The run's directory.")
@click.option("--limit", type=int, metavar="N", help="Only the first N questions.")
@click.option(
    "--shard",
    metavar="I/N",
    help="The I-th of N parts of the questions, from 1: jobs that share the store take one each.",
)
@spending_options
@stopping_options
@click.option(
    "--pilot",
    metavar="LOGS",
    help="Replay logs of like questions, to find the optimal order for; looked at when a run"
    " begins only.",
)
@json_option
@resumable()
def replay(
    config: str,
    limit: int | None,
    shard: str | None,
    dry_run: bool,
    like: str | None,
    minimum: str | None,
    as_json: bool,
    **overrides: Any,
) -> None:
    """Run or resume the replays that CONFIG asks for.

    CONFIG is a TOML file. The same command resumes a run that was stopped; a larger --k or
    --limit tops it up. The options win over the file.

    With --stop-when-decided the SHAM and DESTROY replays of a question are made one after
    another, and no more once it is decided: fewer replays, the same decisions. Such a run keeps
    its plan and so its k; more questions top it up.

    --max-calls and --max-cost end the command when the whole run has spent so much: what is in
    flight is finished, and a larger limit goes on. Jobs that share a store see what others have
    spent when they begin only.
    """
    from carve_stats.replay.agents import describe_agent, opened_agent, resolve_options
    from carve_stats.replay.config import read_config
    from carve_stats.replay.loop import run_replays
    from carve_stats.replay.operators import load_operator
    from carve_stats.replay.trajectories import read_trajectories

    settings = read_config(config, minimum=read_minimum(minimum), **overrides)
    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit} must be at least 1")
    spend_limit = read_limit(settings, dry_run=dry_run, like=like)
    part, parts = (1, 1) if shard is None else _read_shard(shard)
    trajectories = read_trajectories(
        settings.trajectories,
        media=settings.media,
        frames=settings.frames,
        zero_length=settings.zero_length,
    )[:limit]
    if parts > len(trajectories):
        raise InputError(f"--shard {shard}: there are {len(trajectories)} questions to share")
    trajectories = trajectories[part - 1 :: parts]
    k = settings.k
    pilot = None if settings.stopping is None else settings.stopping.pilot
    stopping = plan_run(
        settings.stopping,
        dict(k) if isinstance(k, Mapping) else dict.fromkeys(settings.conditions, k),
        settings.store,
        partial(_like_questions, pilot),
        "those of the pilot" if pilot else "in the paper; give a pilot to know better",
    )
    # The user's module stands beside the configuration, as the paths in it do.
    folder = Path(config).resolve().parent
    sys.path.insert(0, str(folder))
    options = resolve_options(settings.agent.name, settings.agent.options, folder)
    # What the agent prints is not what the command answers.
    with (
        contextlib.redirect_stdout(sys.stderr),
        opened_agent(settings.agent.name, **options) as agent,
    ):
        if stopping is not None:
            click.echo(stopping.announce(), err=True)
        given: dict[str, Any] = {
            "k": settings.k,
            "store": settings.store,
            "seed": settings.seed,
            "conditions": settings.conditions,
            "attempts": settings.attempts,
            "workers": settings.workers,
            "stochastic": settings.stochastic,
            "operator": load_operator(settings.operator.name, **settings.operator.options),
            "encoder": settings.encoder,
            "crop": settings.crop,
            "media": settings.media,
            "agent_spec": describe_agent(settings.agent.name, settings.agent.options),
            "stopping": None if stopping is None else stopping.plan,
        }
        if dry_run:
            from carve_stats.replay.costs.pricing import price_run

            price = price_run(
                agent,
                trajectories,
                **given,
                canary=settings.canary != "off",
                expected=None if stopping is None else stopping.expected_replays(),
                prices=settings.prices,
                like=like,
            )
        else:
            what = "replays" if stopping is None else "replays made or spared"
            with progress_bar(what) as progress:
                status = run_replays(
                    agent,
                    trajectories,
                    **given,
                    engine=settings.engine,
                    canary=settings.canary,
                    progress=progress,
                    limit=spend_limit,
                )
    if dry_run:
        echo_json(price.to_dict()) if as_json else click.echo(str(price))
        return
    if as_json:
        summary = {} if stopping is None else {"stopping": plan_summary(stopping.plan)}
        if spend_limit is not None:
            summary["spent"] = spent(spend_limit)
        echo_json({"store": str(settings.store), **status.to_dict(), **summary})
    else:
        click.echo(f"{settings.store}: {status}")
        if stopping is not None:
            click.echo(tell_saving(stopping.plan, status, expected=stopping.expected))
        if spend_limit is not None and (line := tell_limit(spend_limit)):
            click.echo(line)


def _read_shard(shard: str) -> tuple[int, int]:
    form = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", shard)
    if form is None or not 1 <= int(form[1]) <= int(form[2]):
        raise InputError(
            f"--shard {shard!r} must be I/N with I from 1 to N, as 1/16 for the first of sixteen"
        )
    return int(form[1]), int(form[2])


def _like_questions(pilot: Path | None) -> Population | ReplayCounts:
    """What the plan is made for: the pilot, or the questions of the paper."""
    if pilot is None:
        from carve_stats.population.mixing import Population

        return Population.paper()
    from carve_stats.logs.reader import read_replays

    counts: ReplayCounts = read_replays(pilot)
    return counts
