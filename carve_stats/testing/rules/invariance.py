"""What must change nothing: the order of rows, names, other replays, and what was asked before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from carve_stats.testing.rules.asking import AskedRule, Propensities, Refused
from carve_stats.testing.rules.beside import NAMES, OTHER_REPLAYS, Beside
from carve_stats.testing.rules.questions import Table, describe
from carve_stats.testing.rules.verdicts import (
    ROUNDING,
    Broken,
    Verdict,
    every_row,
    given,
    listed,
    told,
)

__all__ = [
    "ignores_names",
    "ignores_other_replays",
    "ignores_row_order",
    "leaves_generators",
    "leaves_input",
    "repeats",
]


def ignores_row_order(rule: AskedRule, table: Table) -> Verdict:
    """Rows in another order have the same propensities."""
    answer = rule(table)
    if not given(answer) or len(table) < 2:
        return False
    backwards, turned = range(len(table))[::-1], [*range(1, len(table)), 0]
    for order in (backwards, turned) if len(table) > 2 else (backwards,):
        again = rule.ask(tuple(table[row] for row in order))
        if not given(again):
            continue
        for place, row in enumerate(order):
            if abs(again[place] - answer[row]) > ROUNDING:
                words = (
                    f"{describe(table)}: the propensities are {listed(answer)}, and with the"
                    f" rows in another order {listed(_in_order(again, order))}"
                )
                return Broken(words, every_row(table))
    return True


def ignores_names(rule: AskedRule, table: Table) -> Verdict:
    """So have other ids, a ledger, and clusters where the rule goes by the score or the replays."""
    about_anything = rule.reading.decides_on == "question"
    return _ignores(rule, table, NAMES[:1] if about_anything else NAMES)


def ignores_other_replays(rule: AskedRule, table: Table) -> Verdict:
    """So have further replays that are invalid, and further ones in SELF."""
    looks_at = rule.reading.conditions
    return _ignores(rule, table, [one for one in OTHER_REPLAYS if one.condition not in looks_at])


def _ignores(rule: AskedRule, table: Table, besides: Sequence[Beside]) -> Verdict:
    answer = rule(table)
    if not given(answer) or not besides:
        return False
    for beside in besides:
        again = rule.ask(table, beside)
        if again != answer:
            words = f"the propensities are {listed(answer)}, and {beside.words}, {told(again)}"
            mend = f"; {beside.mend}" if beside.mend else ""
            return Broken(f"{describe(table)}: {words}{mend}", every_row(table))
    return True


def _in_order(values: Propensities, order: Iterable[int]) -> Propensities:
    return tuple(value for _, value in sorted(zip(order, values, strict=True)))


def repeats(rule: AskedRule, table: Table) -> Verdict:
    """The same questions have the same answer."""
    answer = rule(table)
    if not given(answer):
        return False
    for _ in range(2):  # twice, for a rule that has two answers by turns
        again = rule.ask(table)
        if again != answer:
            words = f"the propensities are {listed(answer)}, and asked again {told(again)}"
            mend = "give the probabilities and draw nothing"
            return Broken(f"{describe(table)}: {words}; {mend}", every_row(table))
    return True


def leaves_generators(rule: AskedRule, table: Table) -> Verdict:
    """Nothing is drawn from a global generator."""
    if isinstance(rule(table), Refused):
        return False
    if rule.draws(table):
        words = (
            "the rule draws from a global random generator; give the probabilities, draw nothing"
        )
        return Broken(f"{describe(table)}: {words}", every_row(table))
    return True


def leaves_input(rule: AskedRule, table: Table) -> Verdict:
    """What it is given is the same after the call."""
    if isinstance(rule(table), Refused):
        return False
    if rule.changes_input(table):
        words = "the rule writes to what it is given; work on a copy"
        return Broken(f"{describe(table)}: {words}", every_row(table))
    return True
