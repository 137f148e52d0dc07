"""Numbers that are known of questions beside their replays, for the rules that use one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, unknown_name
from carve_stats.routing.rules.base import RuleInput
from carve_stats.routing.self_consistency import AGREEMENT

__all__ = ["covariate_conditions", "first_text", "missing_note", "numeric_covariate"]

BUILT_IN = ("score", "posterior mean", "posterior probability")


def numeric_covariate(name: str, questions: RuleInput) -> NDArray[np.float64]:
    """A covariate of numbers.

    Parameters
    ----------
    name : str
        Its name.
    questions : RuleInput
        The n questions.

    Returns
    -------
    ndarray of float, shape (n,)
        NaN where missing.

    Raises
    ------
    InputError
        No such covariate (the message lists what a rule can compare), or one of texts.
    """
    covariates = questions.covariates
    if name not in covariates:
        numeric = [key for key, column in covariates.items() if column.dtype.kind == "f"]
        raise InputError(unknown_name("score", name, [*BUILT_IN, *numeric]))
    column = covariates[name]
    if column.dtype.kind != "f":
        such = first_text(column, questions.counts.question)
        raise InputError(f"covariate {name!r} holds texts{such}: a rule compares finite numbers")
    return column


def first_text(column: NDArray[Any], question: NDArray[np.str_]) -> str:
    """The first of some texts that is no finite number, and its question, for a message.

    Parameters
    ----------
    column : ndarray of str, shape (n,)
        A covariate; empty where missing.
    question : ndarray of str, shape (n,)
        Ids.

    Returns
    -------
    str
        Empty where there is none.

    Examples
    --------
    >>> first_text(np.array(["0.5", "", "inf"]), np.array(["q1", "q2", "q3"]))
    ", such as 'inf' of question 'q3'"
    """
    for text, one in zip(column.tolist(), question.tolist(), strict=True):
        try:
            finite = not text or math.isfinite(float(text))
        except ValueError:
            finite = False
        if not finite:
            return f", such as {text!r} of question {one!r}"
    return ""


def covariate_conditions(name: str) -> tuple[str, ...]:
    """The conditions that a covariate is made of: SELF for ``self_agreement``, else none."""
    return ("self",) if name == AGREEMENT else ()


def missing_note(rule: object, values: NDArray[np.float64], name: str) -> list[str]:
    """How many questions a rule left alone because the covariate is missing."""
    missing = int(np.isnan(values).sum())
    if not missing:
        return []
    noun = "question has" if missing == 1 else "questions have"
    return [f"rule {str(rule)!r}: {missing} {noun} no {name} and keep the original answer"]
