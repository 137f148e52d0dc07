"""Comparisons of floating-point figures with a number, by name."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carve_stats.errors import InputError
from carve_stats.law._arguments import Rational, as_fraction
from carve_stats.law.score_rule import COMPARISONS

__all__ = ["as_threshold", "check_comparison", "compare", "parse_comparison", "shown_threshold"]

_SPELLINGS = {"==": "=", "≤": "<=", "≥": ">="}
_COMPARISON = re.compile(r"([^\s<>=≤≥][^<>=≤≥]*?)\s*(<=|>=|==|<|>|=|≤|≥)\s*(\S+)")
_UNEQUAL = re.compile(r"(.*?)\s*(?:!=|<>|≠)\s*(.*)")
_UNFINISHED = re.compile(r".*[<>=≤≥]")
_TURNED = re.compile(r"([-+]?[.\d][-+./\deE]*)\s*(<=|>=|==|<|>|=|≤|≥)\s*([^\s\d.+<>=≤≥-][^<>=≤≥]*)")
_TURN = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = dict(
    zip(COMPARISONS, (operator.lt, operator.le, operator.eq, operator.ge, operator.gt), strict=True)
)


def compare(values: NDArray[np.float64], comparison: str, threshold: float) -> NDArray[np.bool_]:
    """Which values stand in this relation to the threshold; NaN in none; shape (n,)."""
    return np.asarray(_OPERATORS[comparison](values, threshold))


def as_threshold(value: Rational) -> float:
    """The number that a text or a number says, as float; InputError for anything else."""
    try:
        return float(as_fraction("threshold", value))
    except OverflowError:
        raise InputError(f"threshold={value!r} is too large") from None


def check_comparison(text: str) -> None:
    """Refuse a comparison that is unequal, lacks its number, or has it first."""
    if _UNEQUAL.fullmatch(text):
        raise InputError(
            f"rule={text!r}: a rule compares with one of {', '.join(COMPARISONS)}, such as"
            " 'score < 0'"
        )
    if _UNFINISHED.fullmatch(text):
        raise InputError(f"rule={text!r} lacks a number at its end, such as 'score <= 0'")
    turned = _TURNED.fullmatch(text)
    if turned:
        number, sign, name = turned.groups()
        sign = _SPELLINGS.get(sign, sign)
        right = f"{name} {_TURN.get(sign, sign)} {number}"
        raise InputError(f"rule={text!r} has its number first: write {right!r}")


def parse_comparison(text: str) -> tuple[str, str, float] | None:
    """Name, comparison and threshold of a text such as ``confidence < 0.5``; else None.

    InputError where the threshold is no number.
    """
    found = _COMPARISON.fullmatch(text)
    if found is None:
        return None
    name, sign, number = found.groups()
    return name, _SPELLINGS.get(sign, sign), as_threshold(number)


def shown_threshold(threshold: float) -> str:
    """The shortest text that says this number: ``0`` and ``0.5``."""
    short = f"{threshold:g}"
    return short if float(short) == threshold else repr(threshold)
