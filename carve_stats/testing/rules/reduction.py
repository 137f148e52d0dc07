"""From a large table on which a rule fails to one that is as small as single steps lead to."""

from __future__ import annotations

from collections.abc import Iterator

from carve_stats.testing.rules.asking import AskedRule
from carve_stats.testing.rules.questions import Question, Table
from carve_stats.testing.rules.verdicts import Broken, RuleProperty, Verdict
from carve_stats.testing.smallest import reduce_example

__all__ = ["reduce_table", "smaller_questions", "smaller_tables"]

_BUDGET = 200_000  # questions that a rule is asked about
_PER_TABLE = 50  # what a table costs beside its questions

REDUCED = "a counterexample, reduced as far as it goes"
FOUND = "a counterexample, larger than it need be: its reduction was ended"


def reduce_table(one: RuleProperty, rule: AskedRule, table: Table, found: Verdict) -> Verdict:
    """The verdict on the smallest table that reduction leads to.

    Parameters
    ----------
    one : RuleProperty
        What does not hold.
    rule : AskedRule
        Of which.
    table : tuple of Question
        On which questions.
    found : Broken or bool
        What was said of these; returned where nothing is broken.

    Returns
    -------
    Broken or bool
        What is said of the table that is shown, asked about just that one.
    """
    if not isinstance(found, Broken):
        return found
    last = found

    def fails(smaller: Table) -> bool:
        nonlocal last
        verdict = one.holds(rule, smaller)
        if isinstance(verdict, Broken):
            last = verdict
            return True
        return False

    alone = tuple(table[row] for row in found.rows)
    start = alone if len(alone) < len(table) and fails(alone) else table
    _, reduced = reduce_example(
        start, smaller_tables, fails, budget=_BUDGET, cost=lambda t: len(t) + _PER_TABLE
    )
    return last._replace(found=REDUCED if reduced else FOUND)


def smaller_tables(table: Table) -> Iterator[Table]:
    """Tables with fewer questions, the fewest first; then with one replay or flip fewer.

    Parameters
    ----------
    table : tuple of Question
        The questions.

    Yields
    ------
    tuple of Question
        Smaller in one step.
    """
    part = len(table) // 2
    while part:
        for start in range(0, len(table), part):
            if fewer := table[:start] + table[start + part :]:
                yield fewer
        part //= 2
    for row, question in enumerate(table):
        for smaller in smaller_questions(question):
            yield (*table[:row], smaller, *table[row + 1 :])


def smaller_questions(question: Question) -> Iterator[Question]:
    """A question with a replay fewer, or a flip fewer, or with its covariate as it mostly is.

    Parameters
    ----------
    question : Question
        The question.

    Yields
    ------
    Question
        Smaller in one step.
    """
    x, n, y, m, _ = question
    for arm, flips, replays in (("sham", x, n), ("destroy", y, m)):
        if replays > flips:
            yield question._replace(**{f"{arm}_replays": replays - 1})
        if flips:
            yield question._replace(**{f"{arm}_flips": flips - 1, f"{arm}_replays": replays - 1})
            yield question._replace(**{f"{arm}_flips": flips - 1})
    usual = Question._field_defaults["covariate"]
    if question.covariate != usual:
        yield question._replace(covariate=usual)
