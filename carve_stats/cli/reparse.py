"""``carve-stats reparse``: the stored replies of a run judged by this version's parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from carve_stats.cli._output import echo_json, json_option

if TYPE_CHECKING:
    from carve_stats.replay.reparse import Estimates, ReparsedRun

__all__ = ["reparse"]

_SHOWN = 20
_TEXT = 60


@click.command()
@click.argument("run")
@click.option(
    "--out",
    metavar="NEW",
    help="Write the same records, judged anew, as a run directory that can be resumed.",
)
@json_option
def reparse(run: str, out: str | None, as_json: bool) -> None:
    """Which flips of the RUN directory change when its replies are judged anew.

    The records hold the raw replies, so that no agent is called. Nothing on the disk changes
    without --out. The tables show each condition's records by what becomes of them, the share
    of invalid replays and the mean score before and after, and the first records that change.
    """
    from carve_stats.replay.reparse import reparse_run

    reparsed = reparse_run(run, out=out)
    if as_json:
        echo_json({**reparsed.to_dict(), "out": out})
        return
    click.echo(_describe(reparsed))
    if out is not None:
        click.echo(f"\n{out}: run {reparsed.new_run}, {reparsed.after.status}")


def _describe(reparsed: ReparsedRun) -> str:
    from carve_stats._display import text_block, text_table, visible
    from carve_stats.replay.reparse import CHANGES

    rows = [
        [condition, sum(n.values()), *(n[change] for change in CHANGES)]
        for condition, n in reparsed.changes.items()
    ]
    caption = (
        f"Run {reparsed.run}: parser {reparsed.parser_before}, judged anew by parser"
        f" {reparsed.parser_after}"
    )
    parts = [text_block(caption, ["condition", "records", *CHANGES], rows, reparsed.notes)]
    estimates = [(reparsed.before, "before"), (reparsed.after, "after")]
    if sum(made for _, made in reparsed.before.invalid.values()):
        lines = [line for one, when in estimates for line in _figures(one, when)]
        headers = ["", "", "invalid", "of", "share", "estimate", "worst case"]
        parts.append(text_table(headers, lines, words=2))
    if reparsed.changed:
        shown = reparsed.changed[:_SHOWN]
        more = len(reparsed.changed) - len(shown)
        head = f"{len(reparsed.changed)} records change" + (f"; the first {_SHOWN}" if more else "")
        changes = [
            [visible(v.question_id), v.condition, v.repetition, v.attempt, visible(v.before),
             visible(v.after), visible(_clip(v.text))]
            for v in shown
        ]  # fmt: skip
        headers = ["question", "condition", "repetition", "attempt", "before", "after", "reply"]
        parts.append(text_block(head, headers, changes, words=2))
    return "\n\n".join(parts)


def _figures(estimates: Estimates, when: str) -> list[list[Any]]:
    """Rows of the table: each condition's invalid share and flip rate, and the mean score."""
    from carve_stats._display import interval, number

    rates, score = estimates.rates, estimates.score
    rows: list[list[Any]] = []
    for condition, (invalid, made) in estimates.invalid.items():
        arm = None if rates is None else getattr(rates, condition.replace("self", "self_"))
        rows.append(
            [
                "" if rows else when,
                condition,
                invalid,
                made,
                number(invalid / made if made else None),
                number(arm and arm.estimate),
                interval(arm and arm.lowest, arm and arm.highest),
            ]
        )
    if score is not None:
        worst = interval(score.lowest, score.highest, signed=True)
        estimate = number(score.estimate, signed=True)
        rows.append(["", "mean score", None, None, None, estimate, worst])
    return rows


def _clip(text: str) -> str:
    text = text[: _TEXT + 1]
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
