"""What a report's tables say: results in, rows of text out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carve_stats.report.text import interval, p_value, percent, plural, points, score

if TYPE_CHECKING:
    from carve_stats.clusters import Estimate
    from carve_stats.counts import ReplayCounts
    from carve_stats.inference.tie_excess import TieExcess

__all__ = [
    "Cell",
    "KeyFigure",
    "Table",
    "account_table",
    "effect_sentence",
    "excess_table",
    "flip_rate_table",
    "interval_sentence",
    "key_figures",
    "no_effect_sentence",
    "replays_each",
]

_SIGNS = {"negative": "Negative", "zero": "Tied", "positive": "Positive"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table, and a smaller line under it."""

    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: `rows` are pairs of the row's name and its cells.

    `notes` are lines under it: reasons for what was left out or is not estimable.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One large figure at the head of the report."""

    label: str
    value: str
    detail: str


def key_figures(excess: TieExcess) -> tuple[KeyFigure, ...]:
    """The four figures that a reader should see first.

    Parameters
    ----------
    excess : TieExcess
        The result.

    Returns
    -------
    tuple of KeyFigure
        Tie excess, mean score, DESTROY and SHAM flip rates.
    """
    tie, mean, rates = excess.excess.zero, excess.mean_score, excess.flip_rates
    return (
        KeyFigure("Tie excess, points", points(tie.estimate), _ends(tie, points)),
        KeyFigure("Mean Δ̂", score(mean.estimate), _ends(mean, score)),
        KeyFigure("DESTROY flip rate", percent(rates.destroy.estimate), _ends(rates.destroy)),
        KeyFigure("SHAM flip rate", percent(rates.sham.estimate), _ends(rates.sham)),
    )


def excess_table(excess: TieExcess, caption: str) -> Table:
    """Observed and predicted shares of the three signs, and their differences.

    Parameters
    ----------
    excess : TieExcess
        The result, or its ``equal_k``.
    caption : str
        What the table shows.

    Returns
    -------
    Table
        One row a sign, in the order negative, tied, positive.
    """
    rows = []
    for sign, name in _SIGNS.items():
        difference = getattr(excess.excess, sign)
        observed = getattr(excess.observed_intervals, sign)
        rows.append(
            (
                name,
                (
                    Cell(percent(getattr(excess.observed, sign)), _ends(observed)),
                    Cell(percent(getattr(excess.predicted, sign))),
                    Cell(points(difference.estimate), _ends(difference, points)),
                    Cell(_unsigned_points(difference.se)),
                    Cell(_unsigned_points(getattr(excess.null_se, sign))),
                ),
            )
        )
    return Table(
        caption,
        ("Score", "Observed", "Predicted", "Excess, points", "SE", "Null SE"),
        tuple(rows),
        _reasons((*excess.excess, *excess.observed_intervals)),
    )


def flip_rate_table(excess: TieExcess) -> Table:
    """Flip rates by condition and the mean score, with what invalid replays could change.

    Parameters
    ----------
    excess : TieExcess
        The result.

    Returns
    -------
    Table
        Rows SELF, SHAM, DESTROY and mean Δ̂.
    """
    rates, mean = excess.flip_rates, excess.mean_score
    rows = []
    for name, arm in (("SELF", rates.self_), ("SHAM", rates.sham), ("DESTROY", rates.destroy)):
        if not arm.attempted:
            rows.append((name, (Cell("not run"), Cell(""), Cell(""), Cell(""))))
            continue
        rows.append(
            (
                name,
                (
                    Cell(percent(arm.estimate), _ends(arm)),
                    Cell(f"{arm.flips:,} of {arm.replays:,}"),
                    Cell(f"{arm.invalid:,}"),
                    Cell(_range(arm.lowest, arm.highest)),
                ),
            )
        )
    rows.append(
        (
            "Mean Δ̂",
            (
                Cell(score(mean.estimate), _ends(mean, score)),
                Cell(""),
                Cell(""),
                Cell(_range(mean.lowest, mean.highest, score)),
            ),
        )
    )
    arms = (rates.self_, rates.sham, rates.destroy)
    return Table(
        "Flip rates and mean score",
        ("Condition", "Estimate", "Flips of valid replays", "Invalid", "Worst case"),
        tuple(rows),
        _reasons((*(arm for arm in arms if arm.attempted), mean)),
    )


def account_table(counts: ReplayCounts, excess: TieExcess) -> Table:
    """What was read, what was used and what was left out, with the reasons.

    Parameters
    ----------
    counts : ReplayCounts
        The log.
    excess : TieExcess
        Its tie excess.

    Returns
    -------
    Table
        Rows questions and records; the latter only where a reader kept the account.
    """
    ledgers = [("Questions", excess.questions["read"], excess.questions["scored"])]
    left_out = [excess.questions["left_out"]]
    if counts.ledger is not None:
        ledgers.append(("Records", counts.ledger.read, counts.ledger.used))
        left_out.append(dict(counts.ledger.left_out))
    rows, notes = [], []
    for (name, read, used), reasons in zip(ledgers, left_out, strict=True):
        rows.append((name, (Cell(f"{read:,}"), Cell(f"{used:,}"), Cell(f"{read - used:,}"))))
        if reasons:
            listed = "; ".join(f"{reason}: {n:,}" for reason, n in reasons.items())
            notes.append(f"{name} left out: {listed}.")
    return Table("What was read", ("", "Read", "Used", "Left out"), tuple(rows), tuple(notes))


def interval_sentence(excess: TieExcess) -> str:
    """How the intervals were made.

    Parameters
    ----------
    excess : TieExcess
        The result.

    Returns
    -------
    str
        Method, level, clusters and degrees of freedom.
    """
    method = excess.interval
    if excess.clusters is None:
        return "Intervals need to know which video each question is about, and this log does not."
    kind = "linearised cluster t" if method.method == "t" else "percentile cluster bootstrap"
    degrees = "" if method.df is None else f", {plural(int(method.df), 'degree')} of freedom"
    return (
        f"Intervals: {kind}, {100 * method.level:g} %,"
        f" {plural(excess.clusters, 'cluster')} (videos){degrees}."
    )


def effect_sentence(excess: TieExcess) -> str:
    """What destroying the frames does to the answers.

    Parameters
    ----------
    excess : TieExcess
        The result, with at least one question scored.

    Returns
    -------
    str
        One sentence with both flip rates and their difference, its interval and p-value.
    """
    rates, mean = excess.flip_rates, excess.mean_score
    known = ""
    if mean.low is not None:
        ends = interval(mean.low, mean.high, score)
        known = f" ({100 * mean.interval.level:g} % interval {ends}, {p_value(mean.p_value)})"
    return (
        f"Answers flip in {percent(rates.destroy.estimate)} of replays with destroyed frames and in"
        f" {percent(rates.sham.estimate)} with intact ones: a mean Δ̂ of"
        f" {score(mean.estimate)}{known}."
    )


def no_effect_sentence(excess: TieExcess) -> str:
    """What the test of no effect says.

    Parameters
    ----------
    excess : TieExcess
        The result.

    Returns
    -------
    str
        One sentence with the p-value.
    """
    return f"Test of no effect (a mean Δ̂ of 0): {p_value(excess.mean_score.p_value)}."


def replays_each(excess: TieExcess) -> str:
    """How many replays a question has, in words.

    Parameters
    ----------
    excess : TieExcess
        The result.

    Returns
    -------
    str
        For example "3 SHAM and 3 DESTROY replays a question".
    """
    sham, destroy = excess.k["sham"], excess.k["destroy"]
    if sham is None or destroy is None:
        return "numbers of valid replays that differ between questions"
    return f"{sham} SHAM and {destroy} DESTROY replays a question"


def _ends(estimate: Estimate, write: Callable[[float | None], str] = percent) -> str:
    return interval(estimate.low, estimate.high, write)


def _range(
    low: float | None, high: float | None, write: Callable[[float | None], str] = percent
) -> str:
    """An interval, or one figure where both ends are the same."""
    return write(low) if low == high else interval(low, high, write)


def _unsigned_points(value: float | None) -> str:
    return points(value).lstrip("+")


def _reasons(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    """Why intervals that the table should hold are not there."""
    notes = (e.note for e in estimates if e.low is None and e.note is not None)
    return tuple(
        f"Not estimable: {note.removeprefix('not estimable: ')}." for note in dict.fromkeys(notes)
    )
