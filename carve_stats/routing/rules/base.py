"""What a routing rule is: an object that returns propensities and never sees outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError

__all__ = [
    "ON_SCORES",
    "Rule",
    "RuleInput",
    "check_rule",
    "looks_at_scores",
    "rule_conditions",
    "rule_notes",
    "rule_propensities",
]

ON_SCORES = ("sham", "destroy")
"""The conditions that a score is made of."""


class RuleInput(NamedTuple):
    """All that a rule may look at: replays and covariates, no answer's correctness.

    Parameters
    ----------
    counts : ReplayCounts
        Flips and replays of the n questions, in order of their ids; some may have no score.
    covariates : mapping of str to ndarray, shape (n,)
        What else is known before deferring, by name: texts, "" where missing, or numbers, NaN
        where missing.
    """

    counts: ReplayCounts
    covariates: Mapping[str, NDArray[Any]]


class Rule(Protocol):
    """Which questions to defer to the fallback.

    Anything with this method will do; ``str()`` of it is its name in results. A method
    ``notes(questions)`` may add lines to the notes of a result, such as what a rule left alone. An
    attribute ``conditions`` may name those of ``self``, ``sham`` and ``destroy`` whose replays it
    looks at, for the costs; without it they are SHAM and DESTROY. An attribute ``decides_on`` tells
    `verify_rule` what may tell two questions apart: the ``score`` (also where there is no such
    attribute), the ``replays`` behind it, or anything about the ``question``, where the rule needs
    no score.

    Examples
    --------
    >>> class FewReplays:
    ...     def propensities(self, questions):
    ...         return (questions.counts.sham_replays < 3).astype(float)
    ...     def __str__(self):
    ...         return "fewer than 3 SHAM replays"
    >>> counts = ReplayCounts(["a", "b"], [0, 0], [3, 2], [1, 1], [3, 3])
    >>> rule_propensities(FewReplays(), RuleInput(counts, {}))
    array([0., 1.])
    """

    def propensities(self, questions: RuleInput) -> NDArray[np.float64]:
        """The probability that each question is deferred.

        Parameters
        ----------
        questions : RuleInput
            The questions.

        Returns
        -------
        ndarray of float, shape (n,)
            Between 0 and 1; 0 where the rule needs a score and there is none. They must not
            depend on the order of the questions.
        """
        ...


def check_rule(rule: object) -> None:
    """Refuse anything without a method `propensities`."""
    if isinstance(rule, type) or not callable(getattr(rule, "propensities", None)):
        shown = rule.__name__ if isinstance(rule, type) else type(rule).__name__
        kind = "class" if isinstance(rule, type) else "object"
        raise InputError(
            f"rule is the {kind} {shown}: it must be a text such as 'score <= 0', a ScoreRule, or"
            " an object with a method propensities(questions)"
        )


def rule_propensities(rule: Rule, questions: RuleInput) -> NDArray[np.float64]:
    """The propensities of a rule, checked.

    Parameters
    ----------
    rule : Rule
        The rule.
    questions : RuleInput
        The n questions.

    Returns
    -------
    ndarray of float, shape (n,)
        A copy of what the rule says.

    Raises
    ------
    InputError
        Not one number a question, or one outside [0, 1]; the message names the rule.
    """
    n = len(questions.counts)
    given = rule.propensities(questions)
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"rule {str(rule)!r}: its propensities must be {n} numbers, one a question"
        ) from None
    if values.shape != (n,):
        raise InputError(
            f"rule {str(rule)!r}: its propensities have shape {values.shape} and must have ({n},),"
            " one a question"
        )
    wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))  # NaN is wrong as well
    if wrong.size:
        raise InputError(
            f"rule {str(rule)!r}: propensity {values[wrong[0]]} of question"
            f" {str(questions.counts.question[wrong[0]])!r} must lie between 0 and 1"
        )
    return values


def rule_notes(rule: Rule, questions: RuleInput) -> list[str]:
    """What a rule has to say of these questions: of its optional method ``notes(questions)``.

    Parameters
    ----------
    rule : Rule
        The rule.
    questions : RuleInput
        The questions.

    Returns
    -------
    list of str
        For the notes of a result; empty where the rule has no such method.
    """
    notes = getattr(rule, "notes", None)
    return list(notes(questions)) if callable(notes) else []


def rule_conditions(rule: Rule) -> tuple[str, ...]:
    """The conditions whose replays a rule looks at: of its optional attribute ``conditions``.

    Parameters
    ----------
    rule : Rule
        The rule.

    Returns
    -------
    tuple of str
        ``sham`` and ``destroy`` where the rule does not say.
    """
    return tuple(getattr(rule, "conditions", ON_SCORES))


def looks_at_scores(rule: Rule) -> bool:
    """Whether a rule says that it looks at scores, and so can select no question without one."""
    return tuple(getattr(rule, "conditions", ())) == ON_SCORES
