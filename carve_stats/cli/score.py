"""``carve-stats score``: one row a question, from replay logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._logs import log_options, read_logs
from carve_stats.cli._output import echo_json, json_option
from carve_stats.cli._table_file import check_output, refuse_input, write_table

if TYPE_CHECKING:
    from carve_stats.counts import ReplayCounts
    from carve_stats.population.mixing import Population

__all__ = ["score"]


@click.command()
@log_options
@click.option(
    "--interval",
    type=click.Choice(
        [
            "agresti-min", "chan-zhang", "santner-snell",
            "miettinen-nurminen", "newcombe", "agresti-caffo",
        ]
    ),
    default="agresti-min",
    show_default=True,
    help="The first three are exact: they hold their level at every k.",
)  # fmt: skip
@click.option(
    "--level",
    type=float,
    default=0.95,
    show_default=True,
    help="Confidence level; a question is established at the significance 1 − level.",
)
@click.option(
    "--test",
    type=click.Choice(["barnard", "barnard-unpooled", "boschloo", "fisher"]),
    default="barnard",
    show_default=True,
    help="Exact test of no difference between the flip rates.",
)
@click.option(
    "--alternative",
    type=click.Choice(["two-sided", "greater", "less"]),
    default="two-sided",
    show_default=True,
    help="greater: DESTROY flips more often than SHAM.",
)
@click.option(
    "--two-sided",
    type=click.Choice(["statistic", "doubling"]),
    default="statistic",
    show_default=True,
    help="What makes a test two-sided: outcomes as extreme on either side, or twice one side.",
)
@click.option(
    "--adjust",
    type=click.Choice(["holm", "benjamini-hochberg", "none"]),
    default="holm",
    show_default=True,
    help="Adjustment of the p-values for the number of questions.",
)
@click.option("--rule", metavar="RULE", help="Mark what it selects, for example 'score <= 0'.")
@click.option(
    "--posterior",
    is_flag=True,
    help="Fit a population to these logs, and add each question's posterior under it.",
)
@click.option(
    "--output", metavar="FILE", help="Write all rows: .csv, .jsonl or .parquet, as the name ends."
)
@json_option
def score(
    interval: str,
    level: float,
    test: str,
    alternative: str,
    two_sided: str,
    adjust: str,
    rule: str | None,
    posterior: bool,
    output: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Score every question of replay LOGS: interval, p-value, decision.

    LOGS is a folder in the CARVE layout, a run directory, or JSONL, CSV or Parquet files.
    A summary is printed, and without --output the ten questions with the smallest p-values.

    \b
    Examples:
      carve-stats score results/ --rule "score <= 0" --output scores.csv
      carve-stats score replays.jsonl --adjust benjamini-hochberg --json
    """  # noqa: D301 (click wants the character, not the letters)
    target = None if output is None else check_output(output)

    from carve_stats.law.score_rule import ScoreRule

    parsed = None if rule is None else ScoreRule.parse(rule)
    if target is not None:
        refuse_input(target, [*reading["logs"], *filter(None, [reading["videos"]])])
    counts = read_logs(**reading)

    from carve_stats.inference.score_display import as_text
    from carve_stats.inference.scores import score_table

    table = score_table(
        counts,
        rule=parsed,
        population=_fitted(counts) if posterior else None,
        interval=interval,
        level=level,
        test=test,
        alternative=alternative,
        two_sided=two_sided,
        adjust=adjust,
    )
    shown = None if as_json else as_text(table, rows=target is None)
    if target is not None:
        write_table(target, table.columns())
    if shown is None:
        echo_json(table.to_dict())
        return
    if target is not None:
        click.echo(f"{target}: all {len(table)} questions\n")
    click.echo(shown)


def _fitted(counts: ReplayCounts) -> Population | None:
    """The population of the logs; None where nothing is scored, which the table then says."""
    from carve_stats.population.fit import fit_population

    return fit_population(counts) if counts.scored.any() else None
