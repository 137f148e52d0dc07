"""Rules from texts: ``score <= 0``, ``lowest 538``, ``always`` and the others."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import carve_stats.routing.rules as folder
from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.routing.rules.base import Rule, check_rule
from carve_stats.routing.rules.comparing import check_comparison
from carve_stats.routing.rules.score_comparison import ScoreComparison

__all__ = ["as_routing_rule"]


def as_routing_rule(rule: Rule | ScoreRule | str) -> Rule:
    """The rule itself, or the one that a text or a `ScoreRule` says.

    Parameters
    ----------
    rule : Rule, ScoreRule or str
        A text is a comparison of the score, of a posterior or of a covariate with a number
        (``score <= 0``, ``posterior mean <= 0``, ``posterior probability >= 0.5``, ``confidence <
        0.5``), ``lowest 538`` or ``lowest 538 confidence``, ``random 538``, ``always`` or
        ``never``.

    Returns
    -------
    Rule
        ``str()`` of a rule from a text means the same as the text.

    Raises
    ------
    InputError
        Anything else; the message lists what exists.

    Notes
    -----
    A module of this folder with a function `parse` and an example `TEXT` is a rule: there is no
    list to keep.

    Examples
    --------
    >>> as_routing_rule("lowest 538")
    LowestScores(m=538)
    >>> as_routing_rule("confidence<.5")
    CovariateComparison(name='confidence', comparison='<', threshold=0.5)
    >>> print(as_routing_rule("Δ < 1/3"))
    score < 1/3
    """
    if isinstance(rule, ScoreRule):
        return ScoreComparison(rule)
    if not isinstance(rule, str):
        check_rule(rule)
        return rule
    try:
        return _parsed(rule)
    except InputError as error:
        raise InputError(_LONG.sub(r"\1…", str(error))) from None


_LONG = re.compile(r"([^\s']{40})[^\s']{20,}")
"""What no message shows whole, such as a threshold of a thousand digits."""


def _parsed(text: str) -> Rule:
    check_comparison(text.strip())
    for module in _rules():
        found: Rule | None = module.parse(text.strip())
        if found is not None:
            return found
    known = ", ".join(repr(module.TEXT) for module in _rules())
    raise InputError(f"rule={text!r} is unknown: the known ones are {known}")


@cache
def _rules() -> list[Any]:
    """The modules with a rule, those that take any name last."""
    modules = [import_module(f"{folder.__name__}.{m.name}") for m in iter_modules(folder.__path__)]
    rules = [module for module in modules if hasattr(module, "parse")]
    return sorted(rules, key=lambda module: hasattr(module, "ANY_NAME"))
