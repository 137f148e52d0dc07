"""Rules from texts: ``score <= 0``, ``lowest 538``, ``always`` and the others."""

from __future__ import annotations

import re

from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.routing.rules.always import Always
from carve_stats.routing.rules.base import Rule, check_rule
from carve_stats.routing.rules.comparing import as_threshold
from carve_stats.routing.rules.covariate_comparison import CovariateComparison
from carve_stats.routing.rules.lowest_covariate import LowestCovariate
from carve_stats.routing.rules.lowest_scores import LowestScores
from carve_stats.routing.rules.never import Never
from carve_stats.routing.rules.posterior import POSTERIOR_FIGURES, PosteriorRule
from carve_stats.routing.rules.random_deferral import RandomDeferral
from carve_stats.routing.rules.score_comparison import ScoreComparison

__all__ = ["as_routing_rule"]

_KNOWN = (
    "'score <= 0', 'lowest 538', 'posterior mean <= 0', 'posterior probability >= 0.5',"
    " '<covariate> < 0.5', 'lowest 538 <covariate>', 'random 538', 'always' and 'never'"
)
_SPELLINGS = {"==": "=", "≤": "<=", "≥": ">="}
_LOWEST = re.compile(r"lowest\s+(\d{1,18})(?:\s+(\S.*))?")
_RANDOM = re.compile(r"random\s+(\d{1,18})")
_COMPARISON = re.compile(r"([^\s<>=≤≥][^<>=≤≥]*?)\s*(<=|>=|==|<|>|=|≤|≥)\s*(\S+)")
_SCORE = re.compile(r"score|delta|Δ̂?", re.IGNORECASE)
_POSTERIOR = re.compile(r"posterior\s+(\S+)")


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
    text = rule.strip()
    if text == "always":
        return Always()
    if text == "never":
        return Never()
    if found := _RANDOM.fullmatch(text):
        return RandomDeferral(int(found[1]))
    if found := _LOWEST.fullmatch(text):
        m, name = int(found[1]), found[2]
        return LowestScores(m) if name in (None, "score") else LowestCovariate(m, name)
    if found := _COMPARISON.fullmatch(text):
        name, sign, number = found.groups()
        if _SCORE.fullmatch(name):
            return ScoreComparison(ScoreRule.parse(text))
        comparison, threshold = _SPELLINGS.get(sign, sign), as_threshold(number)
        posterior = _POSTERIOR.fullmatch(name)
        if posterior and posterior[1] in POSTERIOR_FIGURES:
            return PosteriorRule(posterior[1], comparison, threshold)
        return CovariateComparison(name, comparison, threshold)
    raise InputError(f"rule={rule!r} is unknown: the known ones are {_KNOWN}")
