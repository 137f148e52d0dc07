"""`verify_rule`: whether anyone's routing rule decides as a rule must."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from carve_stats.errors import InputError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.routing.rules.base import Rule
from carve_stats.testing.generators import generators_kept
from carve_stats.testing.rules.asking import AskedRule, Refused
from carve_stats.testing.rules.properties import PROPERTIES
from carve_stats.testing.rules.questions import all_tables
from carve_stats.testing.rules.reading import read_rule
from carve_stats.testing.rules.search import DRAWN, LARGEST, search
from carve_stats.testing.rules.verdicts import Broken, RuleProperty, Verdict
from carve_stats.testing.verification import Check, Verification

__all__ = ["verify_rule"]

_LARGEST_K = 4  # at 5 there would be a hundred thousand tables


def verify_rule(
    rule: Rule | ScoreRule | Callable[[Any], Any] | str,
    *,
    decides_on: str | None = None,
    k: int = 3,
    progress: Callable[[int, int], object] | None = None,
) -> Verification:
    """Verify a routing rule: ties, undefined scores, row order, and what else a rule must keep.

    Parameters
    ----------
    rule : Rule, ScoreRule, callable or str
        What `evaluate_rule` takes; ``"package.module:rule"``; or a function whose parameter is
        called ``questions`` (a `RuleInput`), ``counts`` (a `ReplayCounts`) or ``scores`` (an array of
        floats, NaN where undefined), or is one score, annotated with float. It returns
        propensities, or booleans.
    decides_on : str, optional
        What may tell two questions apart: the ``score``; the ``replays`` behind it as well, as for
        posteriors; or anything about the ``question``, for rules that need no score. Not given, the
        rule's own attribute `decides_on`, or ``score``.
    k : int
        Up to how many replays an arm all tables of one and two questions are tried; 1 to 4.
    progress : callable, optional
        Called with what is done and what there is to do.

    Returns
    -------
    Verification
        A check a property, each failed one with a counterexample. Among tables of one and two
        questions it is the smallest there is: the fewest questions, then the fewest replays in all,
        then the fewest flips. One found in a larger table says so, and is reduced: no question,
        replay or flip can be left out of it alone.

    Raises
    ------
    InputError
        Nothing that could be a rule.
    MissingExtraError
        Hypothesis is not installed.

    Notes
    -----
    Where the name of a rule is a comparison such as ``score <= 0``, it must decide every question as
    the comparison of fractions does. A rule that decides on the score is also tried with invalid and
    with SELF replays beside, which must change nothing; its attribute `conditions` may name ``self``.
    Clusters must change nothing of a rule that decides on the score or the replays. Covariates of any name are there, and all numbers. A rule that
    refuses questions by an `InputError`, as ``random 538`` does where there are fewer, is not held
    to anything on those.

    See Also
    --------
    carve_stats.testing.verify.verify_estimator : the same for what computes a score.

    Examples
    --------
    >>> def careful(counts):
    ...     return counts.destroy_flips / counts.destroy_replays <= counts.sham_flips / counts.sham_replays
    >>> verify_rule(careful, k=1).passed
    True
    >>> def hasty(scores):
    ...     return ~(scores > 0)
    >>> print(verify_rule(hasty, k=1)["undefined scores"].counterexample)
    one question, without a replay: no score, and the rule defers with probability 1; ...
    """  # noqa: E501 (one line of the example)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= _LARGEST_K:
        raise InputError(f"k={k!r} must be a whole number from 1 to {_LARGEST_K}")
    reading = read_rule(rule, decides_on)
    asked = AskedRule(reading)
    reasons = {one: one.applies(reading) for one in PROPERTIES}
    with warnings.catch_warnings(), generators_kept():
        warnings.simplefilter("ignore")  # of 0/0, say: what is returned decides
        verdicts = search(
            [o for o, reason in reasons.items() if reason is None], asked, k, progress
        )
    checks = tuple(
        _as_check(one, verdicts[one]) if reason is None else Check(one.name, None, None, reason)
        for one, reason in reasons.items()
    )
    tables = all_tables(k)
    refusals = [answer for answer in map(asked, tables) if isinstance(answer, Refused)]
    notes = (
        [f"it refused {len(refusals):,} of the small tables, first with: {refusals[0].words}"]
        if refusals
        else []
    )
    notes.append(f"two questions are told apart by: {reading.decides_on}")
    return Verification(
        f"rule {reading.name}",
        reading.words,
        f"all {len(tables):,} tables of one and two questions with up to {k} replays an arm, all"
        f" questions with up to 2, 4 and {max(k, LARGEST)} together, and {DRAWN} drawn",
        checks,
        tuple(notes),
    )


def _as_check(one: RuleProperty, verdict: Verdict) -> Check:
    if isinstance(verdict, Broken):
        found = f" ({verdict.found})" if verdict.found else ""
        return Check(one.name, False, verdict.words + found, one.statement, smallest=not found)
    if not verdict:
        return Check(one.name, None, None, "there was nothing to look at")
    return Check(one.name, True, None, one.statement)
