"""What commands that ask an agent ask and say of calls and money."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from carve_stats.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from carve_stats.replay.config import RunConfig
    from carve_stats.replay.costs.limits import SpendLimit

__all__ = ["limit_options", "make_limit", "read_limit", "spending_options", "spent", "tell_limit"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--dry-run",
        is_flag=True,
        help="Tell what the run will take: calls, tokens, frames, bytes, money, time. No call is"
        " made, and nothing is written.",
    ),
    click.option(
        "--like",
        metavar="RUN",
        help="With --dry-run: another run of the same agent, to measure tokens and time on.",
    ),
)

_LIMITS = (
    click.option("--prices", metavar="FILE", help="What models cost: a TOML file."),
    click.option(
        "--max-calls",
        type=int,
        metavar="N",
        help="Stop before the run has made more calls of the agent, those of earlier commands"
        " included.",
    ),
    click.option(
        "--max-cost",
        type=float,
        metavar="X",
        help="Stop before the run has cost more, in the currency of the prices.",
    ),
)


def spending_options(command: _Command) -> _Command:
    """Add the options ``dry_run``, ``like``, ``prices``, ``max_calls`` and ``max_cost``."""
    for option in reversed((*_OPTIONS, *_LIMITS)):
        command = option(command)
    return command


def limit_options(command: _Command) -> _Command:
    """Add the options ``prices``, ``max_calls`` and ``max_cost``."""
    for option in reversed(_LIMITS):
        command = option(command)
    return command


def read_limit(settings: RunConfig, *, dry_run: bool, like: str | None) -> SpendLimit | None:
    """What a run may spend; None where nothing limits it.

    Parameters
    ----------
    settings : RunConfig
        The configuration.
    dry_run : bool
        Whether nothing is to be spent.
    like : str or None
        The run that is to be measured on.

    Returns
    -------
    SpendLimit or None
        For `run_replays`.

    Raises
    ------
    InputError
        A limit or a price file that cannot be right; `like` without `dry_run`.
    """
    if like is not None and not dry_run:
        raise InputError(f"--like {like} is for --dry-run alone: add it, or leave --like out")
    return make_limit(settings.prices, settings.max_calls, settings.max_cost)


def make_limit(
    prices: Path | str | None, max_calls: int | None, max_cost: float | None
) -> SpendLimit | None:
    """A limit of what may be spent; None where nothing limits it."""
    if max_calls is None and max_cost is None:
        return None
    from carve_stats.replay.costs.limits import SpendLimit

    return SpendLimit(max_calls=max_calls, max_cost=max_cost, prices=prices)


def tell_limit(limit: SpendLimit) -> str | None:
    """One line of the limit that ended a run; None where none did."""
    if limit.reached is None:
        return None
    option = f"--{limit.reached.replace('_', '-')} "
    told = limit.tell(limit.reached, name=option)
    return f"stopped at {told}: raise it and the same command goes on"


def spent(limit: SpendLimit) -> dict[str, Any]:
    """What a run has spent, for JSON."""
    return {
        "calls": limit.calls,
        "cost": None if limit.cost is None else float(limit.cost),
        "currency": None if limit.prices is None else limit.prices.currency,
        "stopped_at": limit.reached,
    }
