"""The search for the smallest questions on which a rule does not do what it must."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hypothesis import strategies as st

from carve_stats.testing.rules.asking import AskedRule
from carve_stats.testing.rules.properties import Broken, RuleProperty, Verdict
from carve_stats.testing.rules.questions import Question, Table, all_questions, all_tables
from carve_stats.testing.smallest import find_smallest

__all__ = ["DRAWN", "LARGEST", "search"]

DRAWN = 50
"""How many larger tables are drawn."""

LARGEST = 10
"""Up to how many replays an arm all questions stand together in one table."""


def search(
    wanted: Iterable[RuleProperty],
    rule: AskedRule,
    k: int,
    progress: Callable[[int, int], object] | None = None,
) -> dict[RuleProperty, Verdict]:
    """Look at small tables, the smallest first; then at one of all questions; then at drawn ones.

    Parameters
    ----------
    wanted : iterable of RuleProperty
        What to look for.
    rule : AskedRule
        What is verified.
    k : int
        Up to how many replays an arm all tables of one and two questions are looked at.
    progress : callable, optional
        Called with what is done and what there is to do.

    Returns
    -------
    dict
        A verdict a property.
    """
    verdicts: dict[RuleProperty, Verdict] = dict.fromkeys(wanted, False)
    tables = all_tables(k)
    for done, table in enumerate(tables):
        if progress is not None and not done % 100:
            progress(done, len(tables))
        longest = max(max(one.sham_replays, one.destroy_replays) for one in table)
        for one, before in verdicts.items():
            if isinstance(before, Broken) or (len(table) > 1 and longest > one.pairs_to):
                continue
            verdicts[one] = one.holds(rule, table) or before
    if progress is not None:
        progress(len(tables), len(tables))
    everything = tuple(all_questions(max(k, LARGEST)))
    for one in _unbroken(verdicts):
        verdict = one.holds(rule, everything)
        broken = isinstance(verdict, Broken)
        verdicts[one] = (
            _reduce(one, rule, everything, verdict) if broken else verdict or verdicts[one]
        )
    still = _unbroken(verdicts)
    if find_smallest(_tables(), lambda t: any(_breaks(p, rule, t) for p in still), tries=DRAWN):
        for one in still:
            smallest = find_smallest(
                _tables(), lambda t, one=one: _breaks(one, rule, t), tries=DRAWN
            )
            if smallest is not None:
                verdicts[one] = one.holds(rule, smallest)
    return verdicts


def _unbroken(verdicts: dict[RuleProperty, Verdict]) -> list[RuleProperty]:
    return [one for one, verdict in verdicts.items() if not isinstance(verdict, Broken)]


def _breaks(one: RuleProperty, rule: AskedRule, table: Table) -> bool:
    return isinstance(one.holds(rule, table), Broken)


def _reduce(one: RuleProperty, rule: AskedRule, table: Table, found: Verdict) -> Verdict:
    """The rows concerned alone, if they show it; else with ever fewer others."""
    rows: Sequence[int] = found.rows if isinstance(found, Broken) else ()
    alone = one.holds(rule, tuple(table[row] for row in rows))
    if isinstance(alone, Broken) and len(rows) < len(table):
        return alone
    part = len(table) // 2
    while part:
        start = 0
        while start < len(table):
            fewer = table[:start] + table[start + part :]
            verdict = one.holds(rule, fewer) if fewer else False
            if isinstance(verdict, Broken):
                table, found = fewer, verdict
            else:
                start += part
        part //= 2
    return found


def _tables() -> st.SearchStrategy[Table]:
    """Up to six questions with up to twelve replays, and a covariate that may be missing.

    A question is a list of its replays, each an arm and a flip: it shrinks to fewer replays. For
    numbers Hypothesis would keep a folder in the working directory.
    """
    replays = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12)
    question = st.builds(_question, replays, st.booleans(), st.booleans())
    return st.lists(question, min_size=1, max_size=6).map(tuple)


def _question(replays: list[tuple[bool, bool]], missing: bool, high: bool) -> Question:
    sham = [flip for destroy, flip in replays if not destroy]
    destroy = [flip for destroy, flip in replays if destroy]
    covariate = None if missing else 0.75 if high else 0.5
    return Question(sum(sham), len(sham), sum(destroy), len(destroy), covariate)
