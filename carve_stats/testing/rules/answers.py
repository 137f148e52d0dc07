"""What the answer to any questions must be: propensities, and what the rule's name says."""

from __future__ import annotations

from carve_stats.law.score_rule import ScoreRule
from carve_stats.testing.rules.asking import AskedRule, Raised, Refused, Wrong
from carve_stats.testing.rules.questions import Question, Table, describe
from carve_stats.testing.rules.verdicts import Broken, Verdict, every_row, given, which

__all__ = ["does_what_it_says", "gives_propensities", "leaves_undefined", "runs"]


def runs(rule: AskedRule, table: Table) -> Verdict:
    """It raises nothing."""
    answer = rule(table)
    if isinstance(answer, Raised):
        return Broken(f"{describe(table)}: the rule raises {answer.words}", every_row(table))
    return not isinstance(answer, Refused)


def gives_propensities(rule: AskedRule, table: Table) -> Verdict:
    """One number in [0, 1] a question."""
    answer = rule(table)
    if isinstance(answer, Wrong):
        rows = every_row(table) if answer.row is None else (answer.row,)
        return Broken(f"{describe(table)}: the rule {answer.words}", rows)
    return given(answer)


def leaves_undefined(rule: AskedRule, table: Table) -> Verdict:
    """Nothing is deferred without a score."""
    answer = rule(table)
    unscored = [row for row, one in enumerate(table) if one.score is None]
    if not given(answer) or not unscored:
        return False
    for row in unscored:
        if answer[row] > 0:
            words = (
                f"{describe(table)}: no score, and the rule defers{which(table, row)} with"
                f" probability {answer[row]:.9g}; without a score keep the original answer,"
                " or declare decides_on='question'"
            )
            return Broken(words, (row,))
    return True


def does_what_it_says(rule: AskedRule, table: Table) -> Verdict:
    """The comparison that is its name, of fractions."""
    answer, comparison = rule(table), rule.reading.comparison
    scored = [row for row, one in enumerate(table) if one.score is not None]
    if comparison is None or not given(answer) or not scored:
        return False
    for row in scored:
        expected = float(_selects(comparison, table[row]))
        if answer[row] != expected:
            words = (
                f"{describe(table)}: the score is {table[row].score}, so that {comparison}"
                f" is {bool(expected)}, and the propensity{which(table, row)}"
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
