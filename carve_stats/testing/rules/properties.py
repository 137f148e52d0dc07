"""What every routing rule must do: one function a property, and their list."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from carve_stats.law.score_rule import ScoreRule
from carve_stats.testing.rules.asking import AskedRule, Propensities, Raised, Refused, Wrong
from carve_stats.testing.rules.questions import Question, Table, describe, size
from carve_stats.testing.rules.reading import RuleReading

__all__ = ["PROPERTIES", "Broken", "RuleProperty", "Verdict"]

_ROUNDING = 1e-9  # of propensities such as (m − s)/t, added up in another order


class Broken(NamedTuple):
    """A table on which a property does not hold: what happens, and the rows concerned."""

    words: str
    rows: tuple[int, ...]


Verdict = Broken | bool
"""True where it holds, False where there is nothing to look at."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleProperty:
    """One thing that holds for a right rule.

    Parameters
    ----------
    name : str
        As in `Check`.
    statement : str
        What it says.
    holds : callable
        From a rule and a table of questions to a verdict.
    applies : callable
        From how a rule is read to None, or to the reason for which there is nothing to check.
    pairs_to : int
        Up to how many replays an arm all pairs of questions are looked at, where it costs calls of
        its own.
    """

    name: str
    statement: str
    holds: Callable[[AskedRule, Table], Verdict]
    applies: Callable[[RuleReading], str | None] = lambda _: None
    pairs_to: int = 99


def _runs(rule: AskedRule, table: Table) -> Verdict:
    answer = rule(table)
    if isinstance(answer, Raised):
        return Broken(f"{describe(table)}: the rule raises {answer.words}", _all(table))
    return not isinstance(answer, Refused)


def _gives_propensities(rule: AskedRule, table: Table) -> Verdict:
    answer = rule(table)
    if isinstance(answer, Wrong):
        rows = _all(table) if answer.row is None else (answer.row,)
        return Broken(f"{describe(table)}: the rule {answer.words}", rows)
    return _given(answer)


def _leaves_undefined(rule: AskedRule, table: Table) -> Verdict:
    answer = rule(table)
    unscored = [row for row, one in enumerate(table) if one.score is None]
    if not _given(answer) or not unscored:
        return False
    for row in unscored:
        if answer[row] > 0:
            words = (
                f"{describe(table)}: no score, and the rule defers{_which(table, row)} with"
                f" probability {answer[row]:.9g}; without a score keep the original answer,"
                " or declare"
                " decides_on='question'"
            )
            return Broken(words, (row,))
    return True


def _decides_ties_alike(rule: AskedRule, table: Table) -> Verdict:
    answer = rule(table)
    if not _given(answer):
        return False
    found = _unlike(table, answer, _KEYS[rule.reading.decides_on])
    if not isinstance(found, tuple):
        return found
    a, b = found
    same = {
        "score": f"the scores are equal, {table[a].score}",
        "replays": "flips and replays are equal",
        "question": "the questions are equal",
    }[rule.reading.decides_on]
    mend = (
        "compare y·k_sham − x·k_destroy as whole numbers, and split ties at a boundary by equal"
        " chances; a rule that looks at more than the score declares it in decides_on"
        if rule.reading.decides_on == "score"
        else "split ties at a boundary by equal chances"
    )
    words = f"{describe(_pair(table, a, b))}: {same}, and the propensities {answer[a]:.9g} and"
    return Broken(f"{words} {answer[b]:.9g}; {mend}", (a, b))


def _ignores_rounding(rule: AskedRule, table: Table) -> Verdict:
    answer = rule.ask_subtracted(table)
    if not _given(answer):
        return False
    found = _unlike(table, answer, _KEYS["score"])
    if not isinstance(found, tuple):
        return found
    a, b = found
    floats = [one[2] / one[3] - one[0] / one[1] for one in (table[a], table[b])]
    words = (
        f"{describe(_pair(table, a, b))}: both scores are {table[a].score}, y/k − x/k in floats"
        f" {floats[0]!r} and {floats[1]!r}, and the propensities {answer[a]:.9g} and"
        f" {answer[b]:.9g}; take counts and compare y·k_sham − x·k_destroy as whole numbers"
    )
    return Broken(words, (a, b))


def _ignores_row_order(rule: AskedRule, table: Table) -> Verdict:
    answer = rule(table)
    if not _given(answer) or len(table) < 2:
        return False
    backwards, turned = range(len(table))[::-1], [*range(1, len(table)), 0]
    for order in (backwards, turned) if len(table) > 2 else (backwards,):
        again = rule.ask(tuple(table[row] for row in order))
        if not _given(again):
            continue
        for place, row in enumerate(order):
            if abs(again[place] - answer[row]) > _ROUNDING:
                words = (
                    f"{describe(table)}: the propensities are {_listed(answer)}, and with the"
                    " rows in"
                    f" another order {_listed(_in_order(again, order))}"
                )
                return Broken(words, _all(table))
    return True


def _ignores_names(rule: AskedRule, table: Table) -> Verdict:
    answer = rule(table)
    if not _given(answer):
        return False
    again = rule.ask(table, renamed=True)
    if again == answer:
        return True
    words = f"the propensities are {_listed(answer)}, and under other question ids, with a ledger"
    return Broken(f"{describe(table)}: {words}, {_told(again)}", _all(table))


def _repeats(rule: AskedRule, table: Table) -> Verdict:
    answer = rule(table)
    if not _given(answer):
        return False
    for _ in range(2):  # twice, for a rule that has two answers by turns
        again = rule.ask(table)
        if again != answer:
            words = f"the propensities are {_listed(answer)}, and asked again {_told(again)}"
            mend = "give the probabilities and draw nothing"
            return Broken(f"{describe(table)}: {words}; {mend}", _all(table))
    return True


def _leaves_generators(rule: AskedRule, table: Table) -> Verdict:
    if isinstance(rule(table), Refused):
        return False
    if rule.draws(table):
        words = (
            "the rule draws from a global random generator; give the probabilities, draw nothing"
        )
        return Broken(f"{describe(table)}: {words}", _all(table))
    return True


def _leaves_input(rule: AskedRule, table: Table) -> Verdict:
    if isinstance(rule(table), Refused):
        return False
    if rule.changes_input(table):
        words = "the rule changes what it is given; work on a copy"
        return Broken(f"{describe(table)}: {words}", _all(table))
    return True


def _does_what_it_says(rule: AskedRule, table: Table) -> Verdict:
    answer, comparison = rule(table), rule.reading.comparison
    scored = [row for row, one in enumerate(table) if one.score is not None]
    if comparison is None or not _given(answer) or not scored:
        return False
    for row in scored:
        expected = float(_selects(comparison, table[row]))
        if answer[row] != expected:
            words = (
                f"{describe(table)}: the score is {table[row].score}, so that {comparison}"
                ""
                " is"
                f" {bool(expected)}, and the propensity{_which(table, row)}"
                f" {answer[row]:.9g}; compare"
                " y·k_sham − x·k_destroy as whole numbers"
            )
            return Broken(words, (row,))
    return True


def _selects(comparison: ScoreRule, one: Question) -> bool:
    """The comparison, of fractions."""
    score, threshold = one.score, comparison.threshold
    if score is None:
        return False
    return {
        "<": score < threshold,
        "<=": score <= threshold,
        "=": score == threshold,
        ">=": score >= threshold,
        ">": score > threshold,
    }[comparison.comparison]


_KEYS: dict[str, Callable[[Question], Hashable]] = {
    "score": lambda one: one.score,
    "replays": lambda one: one[:4] if one.score is not None else None,
    "question": lambda one: one,
}


def _unlike(
    table: Table, answer: Propensities, key: Callable[[Question], Hashable]
) -> tuple[int, int] | bool:
    """The smallest rows with one key and unlike propensities; else whether rows share a key."""
    rows: dict[Hashable, list[int]] = {}
    for row, one in enumerate(table):
        if key(one) is not None:
            rows.setdefault(key(one), []).append(row)
    found: list[tuple[int, int]] = []
    for alike in rows.values():
        first = min(alike, key=lambda row: size([table[row]]))
        others = [row for row in alike if abs(answer[row] - answer[first]) > _ROUNDING]
        if others:
            found.append((first, min(others, key=lambda row: size([table[row]]))))
    if found:
        return min(found, key=lambda pair: size(_pair(table, *pair)))
    return any(len(alike) > 1 for alike in rows.values())


def _pair(table: Table, a: int, b: int) -> Table:
    return table[a], table[b]


def _all(table: Table) -> tuple[int, ...]:
    return tuple(range(len(table)))


def _given(answer: object) -> TypeGuard[Propensities]:
    return type(answer) is tuple


def _which(table: Table, row: int) -> str:
    return f" question {row + 1}" if len(table) > 1 else ""


def _in_order(values: Propensities, order: Iterable[int]) -> Propensities:
    return tuple(value for _, value in sorted(zip(order, values, strict=True)))


def _listed(values: Propensities) -> str:
    shown = ", ".join(f"{value:.9g}" for value in values[:6])
    return f"({shown}{', …' if len(values) > 6 else ''})"


def _told(answer: object) -> str:
    if isinstance(answer, Raised | Wrong | Refused):
        return f"the rule says: {answer.words}"
    return _listed(tuple(answer)) if isinstance(answer, tuple) else str(answer)


def _of_scores(reading: RuleReading) -> str | None:
    return None if reading.takes_scores else "whole numbers come with the counts that it takes"


def _of_counts(reading: RuleReading) -> str | None:
    return "it sees scores, and no ids" if reading.takes_scores else None


def _needing_scores(reading: RuleReading) -> str | None:
    return "it says that it needs no score" if reading.decides_on == "question" else None


def _named(reading: RuleReading) -> str | None:
    return None if reading.comparison else "its name is no comparison such as 'score <= 0'"


_TIES = "equal scores, and what else is equal where it looks at more, have equal propensities"
PROPERTIES = (
    RuleProperty("runs", "gives an answer and raises nothing", _runs),
    RuleProperty("propensities", "is one number in [0, 1] a question", _gives_propensities),
    RuleProperty(
        "undefined scores", "a question without a score is not deferred", _leaves_undefined,
        _needing_scores,
    ),
    RuleProperty("ties", _TIES, _decides_ties_alike),
    RuleProperty(
        "thresholds", "decides as its name says, on whole numbers", _does_what_it_says, _named
    ),
    RuleProperty(
        "float scores", "scores that differ by rounding alone are decided alike",
        _ignores_rounding, _of_scores,
    ),
    RuleProperty(
        "row order", "the order of the questions changes nothing", _ignores_row_order, pairs_to=2
    ),
    RuleProperty(
        "names", "question ids and the ledger change nothing", _ignores_names, _of_counts, 1
    ),
    RuleProperty("repeatable", "is the same each time", _repeats, pairs_to=1),
    RuleProperty(
        "generators", "leaves the global random generators alone", _leaves_generators, pairs_to=1
    ),
    RuleProperty("input", "leaves what it is given as it is", _leaves_input, pairs_to=1),
)  # fmt: skip
"""In the order in which they are reported."""
