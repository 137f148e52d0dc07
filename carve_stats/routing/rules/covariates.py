"""Numbers that are known of questions beside their replays, for the rules that use one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError, unknown_name
from carve_stats.routing.rules.base import RuleInput

__all__ = ["missing_note", "numeric_covariate"]

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
        raise InputError(f"covariate {name!r} holds texts: a rule compares numbers")
    return column


def missing_note(rule: object, values: NDArray[np.float64], name: str) -> list[str]:
    """How many questions a rule left alone because the covariate is missing."""
    missing = int(np.isnan(values).sum())
    if not missing:
        return []
    noun = "question has" if missing == 1 else "questions have"
    return [f"rule {str(rule)!r}: {missing} {noun} no {name} and keep the original answer"]
