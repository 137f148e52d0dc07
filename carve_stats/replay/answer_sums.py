"""Sums in a reply, where options are numbers: what a sum makes is said, its summands are not.

"Answer: 2 + 4 = 6" names 6, and "Answer: 2 + 4", "2-4" or "4 or more" no number at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

__all__ = ["ReadsSums"]

_UNREAD = "§"  # stands for what is no single number: neither a label nor a word

_SPOKEN = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
           "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
           "eighteen", "nineteen", "twenty"]  # fmt: skip
_NUMBER = (
    r"(?<![A-Za-z0-9_.,:$€£¥])[-−]?[$€£¥]?(?:\d[\d,]{0,20}(?<!,)(?:\.\d{1,20})?"
    rf"|(?:{'|'.join(_SPOKEN)})(?=\W|$))(?![\w]|[.,:]\d)"
)
_GAP = r"[^\S\n]{0,3}"
# "2 dogs", "2 (front)", "2 in the kitchen"
_UNIT = (
    rf"(?:{_GAP}\([^()\d\n]{{1,40}}\)|[^\S\n](?!(?:plus|minus|times|to|x|makes?|gives?|equals?"
    r"|is|are|so|and|or|for|answer|option|choice)\b)[a-z]{1,20}){0,4}%?"
)
_SIGN = (
    rf"{_GAP}(?:[-+−*×⋅·•∙÷/^%]|\\(?:times|cdot|div|pm)\b|(?<=\d)–(?=\d)"
    rf"|(?<=[\s)])(?:x|plus|minus|times|to|divided[^\S\n]by|multiplied[^\S\n]by)\b){_GAP}"
)
_DASHED = rf"(?:{_SIGN}|{_GAP}–{_GAP})"
_MAKES = (
    rf"(?:{_GAP}(?:=>?|≈|→|⇒|->)"
    r"|,?[^\S\n]?\(?(?:=|(?:which|that|this|it)[^\S\n](?:is|makes|gives|equals|totals)|(?:and[^\S\n])?so|i\.e\.,?"
    r"|hence|therefore|thus|equals|equal[^\S\n]to|is|are|makes?|gives?|giving|making|totall?ing|for|or|(?:in[^\S\n])?total|altogether|adds?[^\S\n]up[^\S\n]to)(?!\w))"
    rf"{_GAP}(?:a[^\S\n]|the[^\S\n])?(?:total[^\S\n](?:of[^\S\n]|is[^\S\n])?)?{_GAP}"
)
_SUM = rf"{_NUMBER}{_UNIT}(?:{_SIGN}{_NUMBER}{_UNIT}){{1,12}}"
_WIDE_SUM = _SUM.replace(_SIGN, _DASHED)
_SUMS = re.compile(_SUM)
_EQUATIONS = re.compile(
    rf"{_WIDE_SUM}(?:{_MAKES}{_WIDE_SUM}){{0,4}}{_MAKES}(?P<made>{_NUMBER})(?!{_SIGN}{_NUMBER})"
    rf"|(?P<given>{_NUMBER}{_UNIT}){_GAP}={_GAP}{_SUM}"
)
_IN_BRACKETS = re.compile(rf"(?P<given>{_NUMBER}[*_]{{0,3}}){_GAP}\({_GAP}{_SUM}{_GAP}\)")
_BETWEEN = r"[^\d\n.;!?=]{0,40}"
_LISTED = re.compile(
    rf"{_NUMBER}(?:{_BETWEEN}(?:\b(?:and|plus|then)\b|[,&+]){_BETWEEN}{_NUMBER}){{1,5}}"
    rf"{_BETWEEN}?{_MAKES}(?P<made>{_NUMBER})"
    r"(?=(?:[^\S\n]\w{1,20}){0,3}[)\"'*_$}<]{0,4}(?:[.;!,\n]|$))"
)
_OPEN_ENDED = re.compile(
    rf"{_NUMBER}{_UNIT}{_GAP}\+(?!{_GAP}[\w$(])"
    rf"|(?:[≥≤≈≠±]|(?<![\w/\"'=)*|-])[<>]=?(?!{_GAP}\d[\d.]{{0,9}}{_GAP}>)){_GAP}{_NUMBER}"
    rf"|{_NUMBER}%?[^\S\n](?:or[^\S\n](?:more|less|fewer|so|above|below|greater|over|under)"
    r"|and[^\S\n](?:a|an|up|above|more|over)|at[^\S\n](?:least|most)|plus)\b"
)
_CUE = re.compile(r"\b(?:answer|option|choice|pick|choose)\b|答案|选", re.IGNORECASE)
_PLACE = (
    rf"(?:{_GAP}\([^()\d\n]{{1,40}}\)|[^\S\n](?:in|for|from|on|at|inside|outside|behind|before|after|by|near)\b"
    r"[^\d\n.;!?,()]{0,40}?)"
)
# "5 in the house and 2 outside", "2, then 5", "5 with 2 more"
_PARTS = re.compile(
    rf"{_NUMBER}(?:{_PLACE}{_GAP}(?:,|&|,?[^\S\n](?:and|then|with)\b){_GAP}{_NUMBER}{_PLACE}"
    rf"|,?[^\S\n](?:then|with)[^\S\n]{_NUMBER}(?:[^\S\n]more\b|(?={_GAP}(?:[.;!\n]|$))))"
)
_NUMBERS = re.compile(_NUMBER)
_OF_ALL = re.compile(
    r"(?P<option>\b(?:option|choice|number)[^\S\n]\(?\d{1,3}\)?)"
    r"[^\S\n](?:out[^\S\n])?of[^\S\n](?P<all>\d{1,3})(?!\w|[.,:]\d|[^\S\n]\w)",
    re.IGNORECASE,
)


class ReadsSums:
    """Reads the sums in replies to one question.

    Parameters
    ----------
    options : mapping of str to str
        Label to text, normalized.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._count = len(options)
        # A number may be a label or a text there, and is not what the sum makes.
        self._numbered = all(label.isdecimal() for label in options)
        texts = list(options.values())
        said_as_sums = any(
            _EQUATIONS.search(text) or _SUMS.search(text) or _OPEN_ENDED.search(text)
            for text in texts
        )
        numbers = any(_NUMBERS.search(text.casefold()) for text in texts)
        self._reads = self._numbered or (numbers and not said_as_sums)

    def without_sums(self, text: str) -> str:
        """The text with each sum as what it makes, or as nothing that could be read.

        Parameters
        ----------
        text : str
            A reply.

        Returns
        -------
        str
            The same text where no option is a number, or options are sums themselves.
        """
        if not self._reads:
            return text
        if self._numbered:
            text = _OF_ALL.sub(self._of_all, text)
            return _EQUATIONS.sub(_UNREAD, text)
        text = _IN_BRACKETS.sub(r"\g<given>", text)
        text = _EQUATIONS.sub(lambda sum_: sum_["made"] or sum_["given"], text)
        text = _LISTED.sub(_made, text)
        return _OPEN_ENDED.sub(_UNREAD, _PARTS.sub(_UNREAD, _SUMS.sub(_UNREAD, text)))

    def _of_all(self, match: re.Match[str]) -> str:
        return match["option"] if int(match["all"]) == self._count else match[0]


def _made(listed: re.Match[str]) -> str:
    """What a list of numbers makes if they add up, and else the list."""
    if _CUE.search(listed[0]):
        return listed[0]
    found = [*_NUMBERS.finditer(listed[0])]
    *parts, total = (_value(number[0]) for number in found)
    for first in range(len(parts) - 1):
        if total in (sum(parts[first:]), prod(parts[first:])):
            return listed[0][: found[first].start()] + listed["made"]
    return listed[0]


def _value(number: str) -> float:
    plain = number.casefold().strip("$€£¥-−")
    return float(_SPOKEN.index(plain) if plain in _SPOKEN else plain.replace(",", ""))
