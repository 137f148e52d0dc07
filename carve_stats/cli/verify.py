"""``carve-stats verify``: whether a function from flips to a score is the score."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import click

from carve_stats.cli._output import echo_json, json_option, progress_bar
from carve_stats.errors import InputError

__all__ = ["verify"]


@click.command()
@click.argument("target", metavar="MODULE:FUNCTION")
@click.option(
    "--signature", metavar="NAME", help="How it takes flips, where its parameters do not say it."
)
@click.option("--rule", is_flag=True, help="It is a routing rule, not an estimator.")
@click.option("--k", type=int, help="Replays an arm to try all of.  [default: 5; 3 with --rule]")
@json_option
@click.pass_context
def verify(
    ctx: click.Context,
    target: str,
    signature: str | None,
    rule: bool,
    k: int | None,
    as_json: bool,
) -> None:
    """Verify an estimator of the score: MODULE:FUNCTION, from a question's flips to a number.

    The score is the DESTROY flip rate minus the SHAM flip rate over valid replays, and undefined
    where an arm has none. The function is called with all small sequences of flips, and with longer
    ones: all counts up to 12 replays an arm, and some that are drawn. What fails is shown with the
    smallest counterexample, or with one that may not be the smallest, which is then said; the exit
    status is 1. What the function prints is dropped. Modules of the working directory are found.

    A difference of two means in floats fails the check of thresholds: 1/1 - 1/3 <= 2/3 is False.
    That is no blunder but a rule here, that whole numbers decide what is a tie.

    \b
    The parameters' names and annotations say how flips are given; if not, NAME is one of
      lists          a list an arm: 1 a flip, 0 none, None an invalid replay
      arrays         a NumPy array an arm, NaN an invalid replay
      series         a pandas Series an arm, NaN an invalid replay
      counts         flips and valid replays of each arm, four whole numbers
      replay_counts  carve_stats.ReplayCounts of one question
      fields         one dataclass, NamedTuple or TypedDict with the arms as fields
      records        a list of such, one record a replay: condition, flip
      mapping        {"sham": [...], "destroy": [...]}
      rows           [{"condition": "sham", "flip": true}, ...]

    \b
    Examples:
      carve-stats verify my_analysis:compute_delta
      carve-stats verify my_package.scores:delta --signature arrays --k 4 --json
      carve-stats verify my_analysis:defer_if_unmoved --rule
    """  # noqa: D301 (click wants the character, not the letters)
    if rule and signature is not None:
        raise InputError("--signature says how an estimator takes flips: leave it out with --rule")
    size: dict[str, Any] = {} if k is None else {"k": k}
    # What the function prints is no part of the result.
    with contextlib.redirect_stdout(sys.stderr):
        import carve_stats.testing  # says which extra is missing

        shown = progress_bar("questions") if sys.stderr.isatty() else contextlib.nullcontext()
        with shown as progress:
            if rule:
                result = carve_stats.testing.verify_rule(target, progress=progress, **size)
            else:
                result = _verified(target, signature=signature, progress=progress, **size)
    if as_json:
        echo_json(result.to_dict())
    else:
        click.echo(str(result))
    ctx.exit(0 if result.passed else 1)


def _verified(target: str, **options: Any) -> Any:
    from carve_stats.testing import verify_estimator
    from carve_stats.testing.signatures import ADAPT

    try:
        return verify_estimator(target, **options)
    except InputError as error:  # adapt= is for Python alone
        mend = "verify a function of (sham, destroy) that calls it"
        raise InputError(str(error).replace(ADAPT, mend)) from error
