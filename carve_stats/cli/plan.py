"""``carve-stats plan``: how many replays are enough for a goal, and what they cost."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from typing import Any

import click

from carve_stats.cli._budgets import read_budgets
from carve_stats.cli._figure_folder import check_folder, write_figures
from carve_stats.cli._logs import log_options, read_logs
from carve_stats.cli._output import echo_json, json_option, progress_bar
from carve_stats.errors import InputError

__all__ = ["plan"]

FIGURES = ("plan",)
_PRICES = {
    "--question-cost": ("question", "A question before its replays: own answer, SELF, retrieval."),
    "--replay-cost": ("replay", "A replay, whatever is in it."),
    "--destroy-extra": ("destroy_extra", "What a DESTROY replay costs more than a SHAM replay."),
    "--frame-cost": ("frame", "A frame that a replay shows."),
    "--frames": ("frames", "Frames that a replay shows."),
    "--input-token-cost": ("input_token", "A million tokens read."),
    "--input-tokens": ("input_tokens", "Tokens that a replay reads."),
    "--output-token-cost": ("output_token", "A million tokens written."),
    "--output-tokens": ("output_tokens", "Tokens that a replay writes."),
}


def _price_options(command: Any) -> Any:
    for option, (name, text) in reversed(_PRICES.items()):
        command = click.option(option, name, type=float, help=text)(command)
    return command


@click.command()
@log_options
@click.option("--goal", required=True, metavar="GOAL", help="What is to be reached; see above.")
@click.option("--p-sham", type=float, help="SHAM flip probability, where LOGS is 'rates'.")
@click.option("--p-destroy", type=float, help="Its DESTROY flip probability.")
@click.option("--k", metavar="NUMBERS", help="Replays to look at, e.g. 1-32 or 3,5,10.")
@click.option("--questions", type=int, help="To be replayed; those of the logs where not given.")
@click.option("--clusters", type=int, help="Videos that they are from.")
@click.option(
    "--design-effect", type=float, help="Of videos, in place of what the logs show of them."
)
@click.option("--budget", type=float, help="Money to split; needs prices.")
@_price_options
@click.option("--outcomes", metavar="FILE", help="For net repairs: outcomes of these questions.")
@click.option("--rule", metavar="RULE", help="For net repairs.  [default: score <= 0]")
@click.option("--fallback", metavar="NAME", help="For net repairs, where there are several.")
@click.option(
    "--model",
    type=click.Choice(["em", "npmle", "copula"]),
    help="What predicts beyond the replays made; beyond twice as many, name it.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option("--figures", metavar="DIR", help="Write the figure there, as PNG and SVG.")
@json_option
def plan(
    goal: str,
    p_sham: float | None,
    p_destroy: float | None,
    k: str | None,
    outcomes: str | None,
    figures: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """How many replays are enough for a GOAL, from the LOGS of a pilot.

    LOGS is a folder in the CARVE layout, a run directory, or JSONL, CSV or Parquet files. In their
    place: 'paper' (a population shaped like the CARVE paper's questions), or 'rates' with
    --p-sham and --p-destroy.

    \b
    GOAL is one of, with a number of your own:
      'tie rate <= 0.1'            'mean score width <= 0.05'
      'wrong sign <= 0.05'         'power >= 0.8'  (test that the mean score is 0)
      'reliability >= 0.8'         'decided >= 0.5'  (questions with an exact p <= 1 - level)
      'net repairs per 100 calls >= 5'   'net repairs per 100 replays >= 1'

    A goal that cannot be met is answered with the best that can be.

    \b
    Examples:
      carve-stats plan pilot.jsonl --goal "tie rate <= 0.1" --replay-cost 0.01 --question-cost 0.05
      carve-stats plan paper --goal "reliability >= 0.9" --figures figures/
      carve-stats plan rates --p-sham 0.34 --p-destroy 0.64 --goal "power >= 0.9" --questions 200
    """  # noqa: D301 (click wants the character, not the letters)
    prices = {name: options.pop(name) for name, _ in _PRICES.values()}
    reading = {n: options.pop(n) for n in _READING}
    logs = reading["logs"]
    rule = options.pop("rule") or "score <= 0"
    budgets = None if k is None else read_budgets(k)
    files = [*logs, *filter(None, [reading["videos"], outcomes])]
    folder = None if figures is None else check_folder(figures, files)

    from carve_stats.clusters import check_level
    from carve_stats.law.score_rule import as_rule
    from carve_stats.planning.arguments import check_design_effect, check_money
    from carve_stats.planning.budget import plan_budget
    from carve_stats.planning.costs import Cost
    from carve_stats.planning.goals.parsing import as_goal

    wanted = as_goal(goal)  # before anything is read
    given = {name: price for name, price in prices.items() if price is not None}
    cost = Cost(**given) if given else None
    check_money(cost, options["budget"])
    check_design_effect(options["design_effect"])
    check_level(options["level"])
    if "outcomes" in wanted.kind.needs:
        as_rule(rule)
    if logs != ("rates",) and (p_sham, p_destroy) != (None, None):
        raise InputError(f"--p-sham and --p-destroy go with 'rates', not with {logs[0]!r}")
    if logs in (("rates",), ("paper",)):
        _refuse_reading(logs[0], reading)
    source: Any
    if logs == ("rates",):
        if p_sham is None or p_destroy is None:
            raise InputError("'rates' needs --p-sham and --p-destroy")
        source = (p_sham, p_destroy)
    elif logs == ("paper",):
        from carve_stats.population.mixing import Population

        source = Population.paper()
    else:
        source = read_logs(**reading)
    table = None
    if outcomes is not None:
        from carve_stats.logs.outcomes import read_outcomes

        table = read_outcomes(outcomes)
    # Only a pilot's plan takes seconds.
    slow = logs not in (("rates",), ("paper",)) and sys.stderr.isatty()
    with progress_bar("k looked at") if slow else nullcontext() as progress:
        result = plan_budget(
            source,
            goal=goal,
            cost=cost,
            k=budgets,
            outcomes=table,
            rule=rule,
            progress=progress,
            **options,
        )
    written = []
    if folder is not None:
        from carve_stats.report.planning_figures import plan_figure

        written = write_figures(folder, {"plan": partial(plan_figure, result)}, FIGURES)
    if as_json:
        echo_json({**result.to_dict(), "figures": written})
        return
    click.echo(str(result))
    for path in written:
        click.echo(f"figure: {path}")


_READING = ("logs", "videos", "video_pattern", "columns", "run", "pool_runs", "attempts")


def _refuse_reading(source: str, reading: dict[str, Any]) -> None:
    """Refuse options that say how logs are read where there are none."""
    unused = {"logs": (source,), "columns": (), "pool_runs": False, "attempts": "first"}
    for name in _READING:
        if reading[name] != unused.get(name):
            option = "--map" if name == "columns" else "--" + name.replace("_", "-")
            raise InputError(
                f"{option} says how logs are read, and {source!r} is no log: leave it out"
            )
