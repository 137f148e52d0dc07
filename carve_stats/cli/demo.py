"""``carve-stats demo``: the whole job on the built-in real agent and real video."""

from __future__ import annotations

from pathlib import Path

import click

from carve_stats.cli._output import echo_json, json_option, progress_bar, resumable

__all__ = ["demo"]


@click.command()
@click.option("--store", default="runs/demo", show_default=True, help="Where everything goes.")
@click.option("--k", type=int, default=3, show_default=True, help="Replays in each condition.")
@click.option("--questions", type=int, metavar="N", help="Only the first N questions.")
@click.option("--seed", type=int, default=1, show_default=True, help="The run's seed.")
@click.option("--workers", type=int, default=2, show_default=True, help="Threads.")
@json_option
@resumable()
def demo(store: str, k: int, questions: int | None, seed: int, workers: int, as_json: bool) -> None:
    """Audit the built-in agent, ending in an HTML report.

    The clips are three films and eight that are rendered from photographs and text cards.
    The agent watches the clips, answers every question once, and is then replayed under
    SELF, SHAM and DESTROY. Stop it whenever you like: the same command goes on. Everything
    goes into one folder: material/ (clips and frames), run/ (the replays) and report.html.
    """
    from carve_stats.demo.clips import attributions
    from carve_stats.demo.questions import QUESTIONS
    from carve_stats.demo.run import prepare_demo
    from carve_stats.errors import InputError, PlanError
    from carve_stats.inference.tie_excess import tie_excess
    from carve_stats.logs.reader import read_replays
    from carve_stats.replay.agents.builtin import build
    from carve_stats.replay.loop import run_replays
    from carve_stats.replay.store import RunStore
    from carve_stats.report.html import write_report

    for name, value, least in (
        ("--k", k, 1),
        ("--questions", questions, 1),
        ("--seed", seed, 0),
        ("--workers", workers, 1),
    ):
        if value is not None and not least <= value < 2**63:
            raise InputError(f"{name} {value} must be at least {least} and less than 2**63")
    if not store:
        raise InputError("--store is empty: name a folder")
    if questions is not None and questions > len(QUESTIONS):
        raise InputError(f"--questions {questions}: the demo has {len(QUESTIONS)}")
    folder = Path(store).resolve()
    material, run = folder / "material", folder / "run"
    # Before the clips are watched: these replays would refuse the new answers in the end.
    if (run / "plan.json").exists() and (found := RunStore.load(run).plan.seed) != seed:
        raise PlanError(
            f"{run}: holds replays of --seed {found}: give that seed or another --store, or"
            f" delete all of {folder}"
        )
    agent = build()
    with progress_bar("clips watched") as progress:
        trajectories = prepare_demo(
            material, seed=seed, agent=agent, workers=workers, progress=progress
        )
    with progress_bar("replays") as progress:
        status = run_replays(
            agent,
            trajectories[:questions],
            k=k,
            store=run,
            seed=seed,
            workers=workers,
            media=material,
            agent_spec={"use": "builtin"},
            progress=progress,
        )
    counts = read_replays(run)
    excess = tie_excess(counts)
    report = write_report(
        folder / "report.html",
        counts=counts,
        excess=excess,
        title="CARVE audit of the built-in agent",
        run=RunStore.load(run),
        media=material,
        attributions=attributions(),
    )
    if as_json:
        echo_json({"report": str(report), "status": status.to_dict(), "excess": excess.to_dict()})
    else:
        click.echo(str(excess))
        click.echo(f"\n{run}: {status}\nOpen the report in a browser: {report}")
