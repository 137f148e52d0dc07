"""How a rule of anyone's is read: from a text, an object, or a function of counts or scores."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from carve_stats.errors import InputError, check_name
from carve_stats.law.score_rule import ScoreRule
from carve_stats.replay.agents.python import import_object
from carve_stats.routing.rules.base import RuleInput, rule_conditions
from carve_stats.routing.rules.parsing import as_routing_rule

__all__ = ["DECIDES_ON", "RuleReading", "read_rule"]

DECIDES_ON = ("score", "replays", "question")

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_TAKES = {
    "questions": ("questions", "rule_input", "data"),
    "counts": ("counts", "replay_counts"),
    "scores": ("scores", "deltas", "score", "delta"),
}
_WORDS = {
    "questions": "questions: a RuleInput of counts and covariates",
    "counts": "counts: a ReplayCounts",
    "scores": "scores: an array of floats, NaN where undefined",
    "score": "the score of one question at a time, a float, NaN where undefined",
    "optional score": "the score of one question at a time, a float, None where undefined",
}


class RuleReading(NamedTuple):
    """How to call a rule.

    Parameters
    ----------
    name : str
        What it is called in results.
    words : str
        How it is called.
    call : callable
        From a `RuleInput`, or from an array of scores, to propensities.
    takes_scores : bool
        Which of the two.
    decides_on : str
        One of `DECIDES_ON`.
    comparison : ScoreRule or None
        What its name says it does.
    conditions : tuple of str
        The conditions whose replays it says it looks at.
    """

    name: str
    words: str
    call: Callable[[Any], Any]
    takes_scores: bool
    decides_on: str
    comparison: ScoreRule | None
    conditions: tuple[str, ...]


def read_rule(rule: Any, decides_on: str | None = None) -> RuleReading:
    """Read a rule.

    Parameters
    ----------
    rule : str, ScoreRule, Rule or callable
        As for `verify_rule`.
    decides_on : str, optional
        One of `DECIDES_ON`; not given, what the rule itself says, or ``score``.

    Returns
    -------
    RuleReading
        How to call it.

    Raises
    ------
    InputError
        Nothing that could be a rule, or a function whose parameter says nothing.

    Examples
    --------
    >>> def keep_unsure(scores): return scores <= 0
    >>> read_rule(keep_unsure).words
    'scores: an array of floats, NaN where undefined'
    >>> read_rule("score<=0").comparison
    ScoreRule(comparison='<=', threshold=Fraction(0, 1))
    """
    found: Any = rule
    name = ""
    if isinstance(rule, str) and _REFERENCE.fullmatch(rule.strip()):
        name = rule.strip()
        found = import_object(name, what=f"rule {name!r}", form="package.module:rule")
    function = inspect.isroutine(found) or (callable(found) and not hasattr(found, "propensities"))
    if function and not isinstance(found, type):
        name = name or getattr(found, "__qualname__", type(found).__name__)
        takes = _parameter(found, name)
        call, declared, comparison = _caller(found, takes), getattr(found, "decides_on", None), None
    else:
        found = as_routing_rule(found)
        takes, call, declared = "questions", found.propensities, getattr(found, "decides_on", None)
        comparison = _comparison(str(found))
        name = f"{name}, {found!s}" if name else str(found)
    chosen = decides_on or declared or "score"
    check_name("decides_on", chosen, DECIDES_ON)
    looks_at = rule_conditions(found)
    return RuleReading(name, _WORDS[takes], call, "score" in takes, chosen, comparison, looks_at)


def _comparison(name: str) -> ScoreRule | None:
    try:
        return ScoreRule.parse(name)
    except InputError:
        return None


def _parameter(function: Callable[..., Any], name: str) -> str:
    """What the first parameter of a function is, by its annotation or its name."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    first = parameters[0] if parameters else None
    if first is not None:
        written = first.annotation
        written = (
            getattr(written, "__name__", str(written))
            if isinstance(written, type)
            else str(written)
        )
        if "ReplayCounts" in written:
            return "counts"
        if "RuleInput" in written:
            return "questions"
        if "float" in written and not re.search("ndarray|NDArray|Sequence|list", written):
            return "optional score" if re.search("None|Optional", written) else "score"
        for takes, names in _TAKES.items():
            if first.name in names:
                return takes
    shown = "no parameter" if first is None else f"the parameter {first.name!r}"
    raise InputError(
        f"rule {name!r} has {shown}: call it questions (a RuleInput), counts (ReplayCounts)"
        " or scores (an array), or annotate it with float to be called for one score at a time"
    )


def _caller(function: Callable[[Any], Any], takes: str) -> Callable[[Any], Any]:
    if takes == "counts":
        return lambda questions: function(_counts(questions))
    if takes in ("score", "optional score"):
        missing = None if takes == "optional score" else math.nan
        return lambda scores: [function(missing if math.isnan(s) else s) for s in _floats(scores)]
    return function


def _counts(questions: RuleInput) -> Any:
    return questions.counts


def _floats(scores: np.ndarray[Any, Any]) -> Sequence[float]:
    return [float(score) for score in scores]
