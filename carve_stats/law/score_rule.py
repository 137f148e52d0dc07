"""`ScoreRule`: a comparison of the score with a rational, decided on integers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carve_stats.errors import InputError, check_name
from carve_stats.law._arguments import Rational, as_fraction, one_whole_number, whole_number

__all__ = ["COMPARISONS", "ScoreRule", "as_rule"]

COMPARISONS = ("<", "<=", "=", ">=", ">")

_SPELLINGS = {"==": "=", "≤": "<=", "≥": ">="}
_RULE = re.compile(r"\s*(?:score|delta|Δ̂?)\s*(<=|>=|==|<|>|=|≤|≥)\s*(\S+)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """Select the questions whose score stands in one relation to a threshold.

    Parameters
    ----------
    comparison : str
        One of ``<``, ``<=``, ``=``, ``>=`` and ``>``.
    threshold : Fraction, int, str or float
        What the score is compared with; kept as a Fraction. A float is the decimal that it prints.

    Notes
    -----
    A score is n/d with n = y·k_sham − x·k_destroy and d = k_sham·k_destroy. Whatever the
    comparison, the rule selects the whole numbers n between two ends (`ends`), so that no
    rounding can move a question: in floats ``score <= 0.1`` decides 2 of the 121 outcomes at
    k = 10 wrongly.

    Examples
    --------
    >>> rule = ScoreRule.parse("score <= 0.1")
    >>> rule
    ScoreRule(comparison='<=', threshold=Fraction(1, 10))
    >>> rule.selects([9, 10, 11], 100)              # n/100 at k = 10
    array([ True,  True, False])
    >>> print(ScoreRule.parse("Δ < 1/3"))
    score < 1/3
    """

    comparison: str
    threshold: Fraction

    def __post_init__(self) -> None:
        check_name("comparison", self.comparison, COMPARISONS)
        threshold: Rational = self.threshold
        if isinstance(threshold, float):
            threshold = repr(float(threshold))  # .1 is 1/10, as in a text
        object.__setattr__(self, "threshold", as_fraction("threshold", threshold))

    @classmethod
    def parse(cls, text: str) -> ScoreRule:
        """Read a rule such as ``score <= 0`` or ``score < 1/3``.

        Parameters
        ----------
        text : str
            ``score``, a comparison, and a rational; a decimal is the number that it says.

        Returns
        -------
        ScoreRule
            The rule; ``str()`` of it parses to the same.

        Raises
        ------
        InputError
            Anything else.
        """
        found = _RULE.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise InputError(
                f"rule={text!r} must be 'score', one of {', '.join(COMPARISONS)} and a number,"
                " such as 'score <= 0' or 'score < 1/3'"
            )
        comparison, threshold = found.groups()
        return cls(_SPELLINGS.get(comparison, comparison), as_fraction("threshold", threshold))

    def ends(self, denominator: int) -> tuple[int, int]:
        """The smallest and the largest numerator that the rule selects.

        Parameters
        ----------
        denominator : int
            k_sham·k_destroy, at least 1.

        Returns
        -------
        lowest, highest : int
            Within [−denominator, denominator], since no score is outside [−1, 1]; with
            lowest > highest where nothing can be selected.
        """
        cut = self.threshold * denominator
        lowest, highest = -denominator, denominator
        if self.comparison in ("<=", "="):
            highest = min(highest, math.floor(cut))
        elif self.comparison == "<":
            highest = min(highest, math.ceil(cut) - 1)
        if self.comparison in (">=", "="):
            lowest = max(lowest, math.ceil(cut))
        elif self.comparison == ">":
            lowest = max(lowest, math.floor(cut) + 1)
        return lowest, highest

    def selects(self, numerator: ArrayLike, denominator: ArrayLike) -> NDArray[np.bool_]:
        """Whether each score is selected.

        Parameters
        ----------
        numerator : array_like of int
            y·k_sham − x·k_destroy, as `ReplayCounts.score_numerator` has them.
        denominator : array_like of int
            k_sham·k_destroy; broadcasts with `numerator`. Where it is 0 there is no score, and
            nothing is selected.

        Returns
        -------
        ndarray of bool
            Of the broadcast shape.
        """
        n = whole_number("numerator", numerator, least=-(2**62), most=2**62)
        d = whole_number("denominator", denominator, least=0, most=2**62)
        n, d = np.broadcast_arrays(n, d)
        different, place = np.unique(d, return_inverse=True)
        # No numerator is between these two ends: where there is no score.
        ends = [self.ends(int(one)) if one else (1, 0) for one in different]
        lowest, highest = np.array(ends, np.int64).reshape(-1, 2).T[:, place.reshape(d.shape)]
        return (n >= lowest) & (n <= highest)

    def table(self, k_sham: int, k_destroy: int) -> NDArray[np.bool_]:
        """Which outcomes the rule selects.

        Parameters
        ----------
        k_sham, k_destroy : int
            Replays in each arm.

        Returns
        -------
        ndarray of bool, shape (k_sham + 1, k_destroy + 1)
            Entry (x, y): x SHAM and y DESTROY flips.

        Examples
        --------
        >>> ScoreRule.parse("score < 0").table(1, 2)
        array([[False, False, False],
               [ True,  True, False]])
        """
        k_sham = one_whole_number("k_sham", k_sham, least=0)
        k_destroy = one_whole_number("k_destroy", k_destroy, least=0)
        x, y = np.arange(k_sham + 1), np.arange(k_destroy + 1)
        return self.selects(y * k_sham - x[:, None] * k_destroy, k_sham * k_destroy)

    def __str__(self) -> str:
        return f"score {self.comparison} {self.threshold}"


def as_rule(rule: ScoreRule | str) -> ScoreRule:
    """The rule itself, or the one that a text says; InputError for anything else."""
    return rule if isinstance(rule, ScoreRule) else ScoreRule.parse(rule)
