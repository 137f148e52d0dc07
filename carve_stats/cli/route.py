"""``carve-stats route``: what deferring to a fallback gains, from replay logs and outcomes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from carve_stats.cli._budgets import read_budgets
from carve_stats.cli._figure_folder import check_folder, write_figures
from carve_stats.cli._logs import log_options, read_logs
from carve_stats.cli._outcomes import (
    check_backbone,
    outcome_options,
    read_outcome_table,
    read_pairs,
)
from carve_stats.cli._output import echo_json, json_option
from carve_stats.errors import InputError

if TYPE_CHECKING:
    from carve_stats.counts import ReplayCounts
    from carve_stats.outcomes import Outcomes
    from carve_stats.routing.comparison import RuleComparison
    from carve_stats.routing.curve_result import RoutingCurve
    from carve_stats.routing.evaluate import RoutingEvaluation
    from carve_stats.routing.frontier import DeferralFrontier
    from carve_stats.routing.score_values import ScoreValues

__all__ = ["route"]

NO_SCORE = "no question has a score: there is no curve over k and no frontier"
NO_FULL_SCORES = (
    "no curve over k, no frontier: the scores of replays that were stopped early are not known"
)
BY_SCORE = "the frontier and the figures are by the score, not by {rule!r}"
NO_FIGURE = "--figures: there is nothing to draw"
NO_CURVE = "no curve over k: {rule!r} is no comparison of the score with a number"


class _Results(NamedTuple):
    evaluation: RoutingEvaluation
    curve: RoutingCurve | None
    frontier: DeferralFrontier | None
    values: ScoreValues | None
    comparisons: list[RuleComparison]
    notes: list[str]


@click.command()
@log_options
@click.argument("outcomes")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    default=["score <= 0"],
    show_default=True,
    help="Which questions to defer; further ones are each compared with the first.",
)
@outcome_options
@click.option(
    "--k",
    metavar="NUMBERS",
    help="Replays of the curve, e.g. 1-10 or 1,3,10. Not given: up to 12 of those made, and"
    " twice as many if at most 5 were made.",
)
@click.option(
    "--model",
    type=click.Choice(["em", "npmle", "copula"]),
    help="What predicts beyond the replays made; beyond twice as many, name it.",
)
@click.option(
    "--interval",
    type=click.Choice(["t", "bootstrap"]),
    default="t",
    show_default=True,
    help="Of the rules: cluster t, or cluster bootstrap (needs --seed). The curve's are t.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option(
    "--resamples", type=int, default=10_000, show_default=True, help="Bootstrap resamples."
)
@click.option("--seed", type=int, help="Seed of the bootstrap.")
@click.option(
    "--allow-mismatch",
    is_flag=True,
    help="Questions may lack replays (no score then) or outcomes (left out then).",
)
@click.option("--figures", metavar="DIR", help="Write figures there, each as PNG and SVG.")
@json_option
def route(
    outcomes: str,
    rules: tuple[str, ...],
    gold: str | None,
    answers: tuple[str, ...],
    outcome_map: tuple[str, ...],
    k: str | None,
    figures: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """What deferring by a RULE gains, from replay LOGS and a table of OUTCOMES.

    LOGS is a folder in the CARVE layout, a run directory, or JSONL, CSV or Parquet files.
    OUTCOMES, the last argument, has one row a question: question_id, original_correct, and
    NAME_correct of each fallback.

    RULE is for example 'score <= 0', 'lowest 538', 'posterior mean <= 0', 'confidence < 0.5',
    'random 538', 'always' or 'never'.

    \b
    Examples:
      carve-stats route results/ outcomes.csv --k 1-10 --figures figures/
      carve-stats route replays.jsonl outcomes.csv --rule "score <= 0" --rule "lowest 300" --json
    """  # noqa: D301 (click wants the character, not the letters)
    settings = {name: options.pop(name) for name in _SETTINGS}
    match, model, interval = (options.pop(name) for name in ("match", "model", "interval"))
    bootstrap = {"resamples": options.pop("resamples"), "rng": options.pop("seed")}
    if interval == "bootstrap" and bootstrap["rng"] is None:
        raise InputError("--interval bootstrap needs --seed, so that it can be repeated")
    if bootstrap["rng"] is not None and bootstrap["rng"] < 0:
        raise InputError(f"--seed {bootstrap['rng']} must be at least 0")
    budgets = None if k is None else read_budgets(k)
    named = read_pairs("--answers", "NAME=FILE", "strong=strong.csv", answers)
    files = [outcomes, *filter(None, [gold, options["videos"]]), *named.values()]
    folder = None if figures is None else check_folder(figures, [*options["logs"], *files])

    from carve_stats.routing.rules.parsing import as_routing_rule

    parsed = [as_routing_rule(rule) for rule in rules]
    counts = read_logs(**options)
    table = read_outcome_table(
        outcomes, gold=gold, answers=answers, outcome_map=outcome_map, videos=options["videos"]
    )
    check_backbone(
        options["logs"],
        outcomes,
        table,
        gold=gold,
        answers=answers,
        outcome_map=outcome_map,
        columns=options["columns"],
        run=options["run"],
    )
    results = _evaluate(
        counts,
        table,
        parsed,
        rule_settings={**settings, "interval": interval, **bootstrap},
        match=match or None,
        curve_settings={**settings, "k": budgets, "model": model},
        value_settings={n: v for n, v in settings.items() if n != "level"},
    )
    written = []
    if folder is not None:
        figures_of = _figures(results)
        written = write_figures(folder, figures_of, FIGURES)
        if not figures_of:
            results = results._replace(notes=[*results.notes, NO_FIGURE])
    if as_json:
        echo_json({**_as_dict(results), "figures": written})
        return
    for block in _as_text(results):
        click.echo(block + "\n")
    for path in written:
        click.echo(f"figure: {path}")


FIGURES = ("curve", "transitions", "frontier", "score_values")
_SETTINGS = ("fallback", "level", "allow_mismatch")


def _evaluate(
    counts: ReplayCounts,
    outcomes: Outcomes,
    rules: list[Any],
    *,
    rule_settings: dict[str, Any],
    match: tuple[str, ...] | None,
    curve_settings: dict[str, Any],
    value_settings: dict[str, Any],
) -> _Results:
    """Everything that the command shows; what cannot be has a note in its place."""
    from carve_stats.routing.comparison import compare_rules
    from carve_stats.routing.curve import routing_curve
    from carve_stats.routing.evaluate import evaluate_rule
    from carve_stats.routing.frontier import deferral_frontier
    from carve_stats.routing.rules.lowest_scores import LowestScores
    from carve_stats.routing.rules.score_comparison import ScoreComparison
    from carve_stats.routing.score_values import score_values

    first, *others = rules
    evaluation = evaluate_rule(counts, outcomes, first, match=match, **rule_settings)
    comparisons = [compare_rules(counts, outcomes, first, one, **rule_settings) for one in others]
    if counts.stopping is not None:
        return _Results(evaluation, None, None, None, comparisons, [NO_FULL_SCORES])
    if not evaluation.scored:
        return _Results(evaluation, None, None, None, comparisons, [NO_SCORE])
    settings = {name: curve_settings[name] for name in _SETTINGS}
    frontier = deferral_frontier(counts, outcomes, **settings)
    values = score_values(counts, outcomes, **value_settings)
    if not isinstance(first, ScoreComparison):
        notes = [NO_CURVE.format(rule=str(first))]
        if not isinstance(first, LowestScores):
            notes.append(BY_SCORE.format(rule=str(first)))
        return _Results(evaluation, None, frontier, values, comparisons, notes)
    curve = routing_curve(counts, outcomes, first.rule, **curve_settings)
    return _Results(evaluation, curve, frontier, values, comparisons, [])


def _figures(results: _Results) -> dict[str, Any]:
    """What draws each figure that there are figures for, by name."""
    from carve_stats.report import routing_figures as draw

    curve, frontier, values = results.curve, results.frontier, results.values
    figures: dict[str, Any] = {}
    if curve is not None:
        figures["curve"] = partial(draw.routing_curve_figure, curve)
        if curve.transitions is not None:
            figures["transitions"] = partial(draw.transition_figure, curve.transitions)
    if frontier is not None:
        figures["frontier"] = partial(draw.frontier_figure, frontier)
    if values is not None:
        figures["score_values"] = partial(draw.score_value_figure, values)
    return figures


def _as_dict(results: _Results) -> dict[str, Any]:
    curve, frontier, values = results.curve, results.frontier, results.values
    curve_dict = {} if curve is None else curve.to_dict()
    shown = [one.notes for one in (results.evaluation, curve, frontier) if one is not None]
    return {
        **results.evaluation.to_dict(),
        **{name: curve_dict.get(name) for name in ("curve", "made_k", "model", "transitions")},
        "frontier": None if frontier is None else frontier.to_dict()["rows"],
        "score_values": None if values is None else values.to_dict(),
        "comparisons": [one.to_dict() for one in results.comparisons],
        "notes": list(dict.fromkeys(chain(*shown, results.notes))),
    }


def _as_text(results: _Results) -> list[str]:
    """Each result as it prints itself, but no note a second time."""
    told: set[str] = set()
    blocks = []
    evaluation = replace(results.evaluation, notes=(*results.evaluation.notes, *results.notes))
    for one in (evaluation, results.curve, results.frontier, *results.comparisons):
        if one is not None:
            blocks.append(str(replace(one, notes=tuple(n for n in one.notes if n not in told))))
            told.update(one.notes)
    return blocks
