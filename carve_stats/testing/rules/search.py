"""The search for questions on which a rule does not do what it must."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from carve_stats.testing.rules.asking import AskedRule
from carve_stats.testing.rules.questions import Question, Table, all_questions, all_tables
from carve_stats.testing.rules.reduction import reduce_table
from carve_stats.testing.rules.verdicts import Broken, RuleProperty, Verdict
from carve_stats.testing.smallest import draw_examples

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
    """Look at small tables, the smallest first; then at all questions together; then at drawn ones.

    What fails among the small ones is the smallest there is; what fails in a larger table is
    reduced as far as it goes.

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
    together = [tuple(all_questions(longest)) for longest in (2, 4, max(k, LARGEST))]
    for table in (*together, *draw_examples(_tables(), DRAWN)):
        for one, before in verdicts.items():
            if not isinstance(before, Broken):
                found = one.holds(rule, table)
                verdicts[one] = reduce_table(one, rule, table, found) or before
    return verdicts


def _tables() -> st.SearchStrategy[Table]:
    """Up to six questions with up to twelve replays, and a covariate that may be missing.

    A question is a list of its replays, each an arm and a flip: for numbers Hypothesis would keep
    a folder in the working directory.
    """
    replays = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12)
    question = st.builds(_question, replays, st.booleans(), st.booleans())
    return st.lists(question, min_size=1, max_size=6).map(tuple)


def _question(replays: list[tuple[bool, bool]], missing: bool, high: bool) -> Question:
    sham = [flip for destroy, flip in replays if not destroy]
    destroy = [flip for destroy, flip in replays if destroy]
    covariate = None if missing else 0.75 if high else 0.5
    return Question(sum(sham), len(sham), sum(destroy), len(destroy), covariate)
