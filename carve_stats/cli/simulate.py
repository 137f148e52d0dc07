"""``carve-stats simulate``: a synthetic population through the loop that real agents use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._output import echo_json, json_option, progress_bar, resumable
from carve_stats.cli._stopping import (
    plan_run,
    plan_summary,
    read_minimum,
    stopping_options,
    tell_saving,
)
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.cli._stopping import RunStopping
    from carve_stats.inference.stopped import StoppedSigns
    from carve_stats.inference.tie_excess import TieExcess
    from carve_stats.population.mixing import Population
    from carve_stats.replay.config import StoppingOptions
    from carve_stats.replay.progress import RunStatus

__all__ = ["simulate"]


@click.command()
@click.argument("population")
@click.option("--p-sham", type=float, help="SHAM flip probability of the homogeneous population.")
@click.option("--p-destroy", type=float, help="Its DESTROY flip probability.")
@click.option("--p-self", type=float, default=0.1767, show_default=True, help="Of SELF replays.")
@click.option("--questions", type=int, default=1258, show_default=True)
@click.option("--clusters", type=int, default=103, show_default=True, help="Videos.")
@click.option("--icc", type=float, help="Share of variance that is common to a video.")
@click.option("--k", type=int, default=3, show_default=True, help="Replays in each condition.")
@click.option("--seed", type=int, required=True, help="Draws the questions and their answers.")
@click.option(
    "--questions-seed",
    type=int,
    help="Draws the questions in its place: with another --seed, another run over the same ones.",
)
@stopping_options
@click.option("--store", metavar="DIR", help="Keep the run here; it can then be resumed.")
@json_option
def simulate(population: str, store: str | None, as_json: bool, **settings: Any) -> None:
    """Replay a synthetic POPULATION through the same loop as a real agent.

    POPULATION is 'paper' (shaped like the CARVE paper's questions), 'homogeneous' (with
    --p-sham and --p-destroy), or a CSV file of atoms with the columns p_sham, p_destroy and
    weight.

    Runs with one seed share their first replays, as where k is raised later.

    With --stop-when-decided each question is replayed until it is decided, in the order that
    costs least in this population: fewer replays, the same decisions.

    \b
    Examples:
      carve-stats simulate paper --seed 1 --k 10
      carve-stats simulate paper --questions-seed 1 --seed 2 --store runs/again
      carve-stats simulate paper --seed 1 --k 10 --stop-when-decided "score <= 0"
    """  # noqa: D301 (click wants the character, not the letters)
    from tempfile import TemporaryDirectory

    if store == "":
        raise InputError("--store '' is an empty path: give a directory")
    drawn_from = _population(population, settings["p_sham"], settings["p_destroy"])
    if settings["icc"] is None:
        settings["icc"] = 0.1 if population == "paper" else 0.0
    asked = _stopping(settings)
    if store is None:
        with TemporaryDirectory(prefix="carve-stats-") as folder:
            status, excess, stopping = _replay(drawn_from, folder, settings, asked)
    else:
        with resumable():
            status, excess, stopping = _replay(drawn_from, store, settings, asked)
    # A kept run may hold more replays than were asked for now.
    k = excess.k["sham"] or settings["k"]
    truth = drawn_from.signs(k)
    if as_json:
        summary = {} if stopping is None else {"stopping": plan_summary(stopping.plan)}
        echo_json(
            {
                "population": truth._asdict(),
                "status": status.to_dict(),
                "excess": excess.to_dict(),
                **summary,
            }
        )
        return
    click.echo(str(excess))
    click.echo(
        f"\nThe population's own shares at k = {k}: negative {truth.negative:.4f},"
        f" zero {truth.zero:.4f}, positive {truth.positive:.4f}"
    )
    if stopping is not None:
        click.echo(tell_saving(stopping.plan, status, expected=stopping.expected))
    if store:
        click.echo(f"{store}: {status}")


def _stopping(settings: dict[str, Any]) -> StoppingOptions | None:
    """What is asked of stopping early; None where every replay is to be made."""
    from carve_stats.replay.config import read_stopping_options

    settings["minimum"] = read_minimum(settings["minimum"])
    asked = {name: settings[name] for name in ("rule", "order", "minimum", "changed")}
    given = {name: value for name, value in asked.items() if value is not None}
    return read_stopping_options(given) if given else None


def _population(name: str, p_sham: float | None, p_destroy: float | None) -> Population:
    from carve_stats.population.mixing import Population

    rates = (p_sham, p_destroy)
    if name == "homogeneous":
        if None in rates:
            raise InputError("the homogeneous population needs --p-sham and --p-destroy")
        return Population.homogeneous(*rates)  # type: ignore[arg-type]
    if rates != (None, None):
        raise InputError(f"--p-sham and --p-destroy go with 'homogeneous', not with {name!r}")
    if name == "paper":
        return Population.paper()
    return _read_atoms(name)


def _read_atoms(path: str) -> Population:
    import csv

    from carve_stats.population.mixing import Population

    columns: dict[str, list[float]] = {"p_sham": [], "p_destroy": [], "weight": []}
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            for row in rows:
                for name, values in columns.items():
                    values.append(float(row[name]))
    except OSError as error:
        raise InputError(
            f"{path!r}: {error.strerror}; POPULATION is 'paper', 'homogeneous' or a CSV file"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text: give a CSV file of atoms") from None
    except KeyError as error:
        raise InputError(
            f"{path}: has no column {error}: the columns are {', '.join(columns)}"
        ) from None
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: cannot be read: {error}") from None
    except (TypeError, ValueError):
        raise InputError(
            f"{path}, line {rows.line_num}: {name}={row[name]!r} must be a number"
        ) from None
    try:
        return Population(columns["p_sham"], columns["p_destroy"], columns["weight"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _replay(
    population: Population, store: str, settings: dict[str, Any], asked: StoppingOptions | None
) -> tuple[RunStatus, TieExcess | StoppedSigns, RunStopping | None]:
    from carve_stats.counts import CONDITIONS
    from carve_stats.inference.stopped import stopped_signs
    from carve_stats.inference.tie_excess import tie_excess
    from carve_stats.logs.reader import read_replays
    from carve_stats.replay.agents.synthetic import build, synthetic_trajectories
    from carve_stats.replay.extent import check_replays
    from carve_stats.replay.loop import run_replays

    drawn = population.draw(
        settings["questions"],
        clusters=settings["clusters"],
        icc=settings["icc"],
        rng=settings["seed" if settings["questions_seed"] is None else "questions_seed"],
    )
    trajectories = synthetic_trajectories(
        drawn.p_sham,
        drawn.p_destroy,
        p_self=settings["p_self"],
        question=drawn.question.tolist(),
        cluster=None if drawn.cluster is None else drawn.cluster.tolist(),
    )
    k = check_replays("k", settings["k"])
    stopping = plan_run(
        asked, dict.fromkeys(CONDITIONS, k), store, lambda: population, "in this population"
    )
    if stopping is not None:
        if not all(stopping.plan.guaranteed):
            raise InputError(
                "nothing about both conditions could be estimated, since some questions would get"
                " no replay of one: give --minimum 1,1 or more"
            )
        click.echo(stopping.announce(), err=True)
    with progress_bar("replays" if stopping is None else "replays made or spared") as progress:
        status = run_replays(
            build(),
            trajectories,
            k=k,
            store=store,
            seed=settings["seed"],
            progress=progress,
            stopping=None if stopping is None else stopping.plan,
        )
    counts = read_replays(store)
    excess = tie_excess(counts) if stopping is None else stopped_signs(counts)
    return status, excess, stopping
