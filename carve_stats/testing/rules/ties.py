"""Ties: questions that a rule cannot tell apart are decided alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from carve_stats.testing.rules.asking import AskedRule, Propensities
from carve_stats.testing.rules.questions import Question, Table, describe, size
from carve_stats.testing.rules.verdicts import ROUNDING, Broken, Verdict, given

__all__ = ["decides_ties_alike", "ignores_rounding"]


def decides_ties_alike(rule: AskedRule, table: Table) -> Verdict:
    """Questions that the rule cannot tell apart have equal propensities."""
    answer = rule(table)
    if not given(answer):
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
    words = f"{describe(table)}: {same}{_of(table, a, b)}, and the propensities {answer[a]:.9g} and"
    return Broken(f"{words} {answer[b]:.9g}; {mend}", (a, b))


def ignores_rounding(rule: AskedRule, table: Table) -> Verdict:
    """So have equal scores that floats subtract to unequal ones."""
    answer = rule.ask_subtracted(table)
    if not given(answer):
        return False
    found = _unlike(table, answer, _KEYS["score"])
    if not isinstance(found, tuple):
        return found
    a, b = found
    floats = [one[2] / one[3] - one[0] / one[1] for one in (table[a], table[b])]
    words = (
        f"{describe(table)}: both scores{_of(table, a, b)} are {table[a].score}, y/k − x/k in"
        f" floats {floats[0]!r} and {floats[1]!r}, and the propensities {answer[a]:.9g} and"
        f" {answer[b]:.9g}; take counts and compare y·k_sham − x·k_destroy as whole numbers"
    )
    return Broken(words, (a, b))


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
        others = [row for row in alike if abs(answer[row] - answer[first]) > ROUNDING]
        if others:
            found.append((first, min(others, key=lambda row: size([table[row]]))))
    if found:
        return min(found, key=lambda pair: size(_pair(table, *pair)))
    return any(len(alike) > 1 for alike in rows.values())


def _pair(table: Table, a: int, b: int) -> Table:
    return table[a], table[b]


def _of(table: Table, a: int, b: int) -> str:
    return f" (questions {a + 1} and {b + 1})" if len(table) > 2 else ""
