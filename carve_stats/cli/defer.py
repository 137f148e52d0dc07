"""``carve-stats defer``: put the questions that a rule selects to a second agent."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._outcomes import read_pairs
from carve_stats.cli._output import echo_json, json_option, progress_bar, resumable
from carve_stats.cli._spending import limit_options, make_limit, spent, tell_limit
from carve_stats.cli._table_file import check_output, refuse_input, write_table
from carve_stats.errors import ConfigError, InputError

if TYPE_CHECKING:
    from carve_stats.outcomes import Outcomes

__all__ = ["defer"]


@click.command()
@click.argument("run")
@click.option("--agent", metavar="FALLBACK", help="Who answers, e.g. python:my_module:answer.")
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="An option of the fallback, the value as in TOML or a text; may be repeated.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="Take the fallback from the table [agent] of a configuration; of no other table.",
)
@click.option("--rule", default="score <= 0", show_default=True, help="Which questions to defer.")
@click.option(
    "--gold",
    metavar="FILE",
    help="Right answers, beside those in the run: a benchmark's official file, or a table with the"
    " columns question_id and gold_answer.",
)
@click.option(
    "--media",
    metavar="DIR",
    default=".",
    show_default=True,
    help="What paths of frames and videos are relative to.",
)
@click.option(
    "--attempts",
    type=int,
    default=3,
    show_default=True,
    help="How often a question is asked at most, while the reply gives no answer.",
)
@click.option(
    "--workers", type=int, default=1, show_default=True, help="Questions asked at a time."
)
@click.option("--seed", type=int, help="Not given, one that follows from the run's.")
@click.option("--limit", type=int, metavar="N", help="Ask only the first N deferred questions.")
@limit_options
@click.option(
    "--store", metavar="DIR", help="Where the replies are kept; not given, in RUN/deferral/."
)
@click.option(
    "--out",
    "--output",
    "output",
    metavar="FILE",
    help="Write the outcomes: .csv, .jsonl or .parquet, as the name ends.",
)
@json_option
@resumable()
def defer(
    run: str,
    agent: str | None,
    options: tuple[str, ...],
    config: str | None,
    rule: str,
    gold: str | None,
    store: str | None,
    output: str | None,
    prices: str | None,
    max_calls: int | None,
    max_cost: float | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Put the questions of RUN that a RULE defers to a second agent, the FALLBACK.

    It is shown the question, the options and the same frames and texts as the first agent in SELF;
    not the first answer. The same command resumes; another --rule tops up: what is answered is not
    asked again. --max-calls and --max-cost end it cleanly, and a larger limit goes on. --out is a
    table for `carve-stats route RUN FILE`.

    \b
    Examples:
      carve-stats defer runs/demo/run --media runs/demo/material \\
          --agent builtin --option temperature=0.1 --out outcomes.csv
      carve-stats defer runs/mine --config strong.toml --rule "lowest 100" --gold gold.csv
    """  # noqa: D301 (click wants the character, not the letters)
    name, given, folder = _fallback(agent, options, config)
    label = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "fallback"
    if store == "":
        raise InputError("--store '' is an empty path: give a directory")
    target = None if output is None else check_output(output)
    if target is not None:
        files = [one for one in (run, gold, config, store) if one is not None]
        refuse_input(target, files)

    from carve_stats.logs.gold_answers import read_gold
    from carve_stats.logs.reader import read_replays
    from carve_stats.replay.agents import describe_agent, opened_agent, resolve_options
    from carve_stats.replay.deferral.asking import FOLDER, defer_questions
    from carve_stats.routing.rules.parsing import as_routing_rule

    parsed = as_routing_rule(rule)
    if prices is None and max_cost is not None:
        raise InputError(
            f"--max-cost {max_cost:g} needs --prices FILE, which says what models cost"
        )
    if prices is not None and max_cost is None and max_calls is None:
        raise InputError(f"--prices {prices} limits nothing: add --max-cost X, or leave it out")
    spending = make_limit(prices, max_calls, max_cost)
    counts = read_replays(run)
    labels = None if gold is None else {q: one.label for q, one in read_gold(gold).items()}
    spec = describe_agent(name, given)
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True, default=str).encode()).hexdigest()
    sys.path.insert(0, str(folder))
    # What the agent prints is not what the command answers.
    with (
        contextlib.redirect_stdout(sys.stderr),
        opened_agent(name, **resolve_options(name, given, folder)) as fallback,
        progress_bar("deferred questions") as progress,
    ):
        deferral = defer_questions(
            run,
            counts,
            fallback,
            rule=parsed,
            name=label,
            store=store or Path(run) / FOLDER / f"{label}-{digest[:8]}",
            gold=labels,
            agent_spec=spec,
            progress=progress,
            spending=spending,
            **settings,
        )
    if target is not None:
        write_table(target, _columns(deferral.outcomes))
    if as_json:
        told = {} if spending is None or deferral.store is None else {"spent": spent(spending)}
        echo_json({**deferral.to_dict(), "output": output, **told})
        return
    click.echo(str(deferral))
    if deferral.store is not None:
        click.echo(f"\nreplies: {deferral.store}")
    if target is not None:
        click.echo(f"outcomes: {target}")
    if spending is not None and (line := tell_limit(spending)):
        click.echo(line)


def _fallback(
    agent: str | None, options: tuple[str, ...], config: str | None
) -> tuple[str, dict[str, Any], Path]:
    """The fallback's name, its options, and the folder that paths among them are relative to."""
    pairs = read_pairs("--option", "NAME=VALUE", "temperature=0.1", options)
    given = {name: _value(text) for name, text in pairs.items()}
    if config is None:
        if agent is None:
            raise InputError("--agent or --config is needed: it says who answers")
        return agent, given, Path.cwd()
    if agent is not None or given:
        raise InputError("--config names the fallback: give no --agent and no --option beside it")
    entries = _agent_table(Path(config))
    return entries.pop("use"), entries, Path(config).resolve().parent


def _value(text: str) -> Any:
    """A number, a truth value or a list, as a configuration would hold it; else the text."""
    import tomllib

    try:
        values = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return values["value"] if list(values) == ["value"] else text


def _agent_table(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file).get("agent")
    except OSError as error:
        raise ConfigError(f"config={str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from None
    if not isinstance(table, Mapping) or not isinstance(table.get("use"), str):
        raise ConfigError(
            f"{path}: it needs a table [agent] with the entry use, a string in quotes"
        )
    return dict(table)


def _columns(outcomes: Outcomes) -> dict[str, Any]:
    """The outcomes as the table that `read_outcomes` reads."""
    columns: dict[str, Any] = {"question_id": outcomes.question}
    if outcomes.cluster is not None:
        columns["video_id"] = outcomes.cluster
    columns["original_correct"] = outcomes.original.correct
    for name, one in outcomes.alternatives.items():
        columns[f"{name}_correct"] = one.correct
        if one.tokens is not None:
            columns[f"{name}_tokens"] = one.tokens
    return {**columns, **outcomes.covariates}
