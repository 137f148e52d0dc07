"""Answers that a reply only mentions: quoted as a format or from a sign, or set beside a key."""

from __future__ import annotations

import re

from carve_stats.replay.answer_text import bare_label

__all__ = ["graded_apart", "without_mentions"]

# What leads to words that are not the reply's own: "respond with", "the sign reads".
_LEADS = (
    r"(?:\b(?:format|form|template|example|instance|prompt|instructions?|placeholder"
    r"|pattern|style|syntax|sign|banner|caption|subtitle|slide|screen|board|whiteboard|poster|card"
    r"|label|note|paper|t-?shirt|text|title|page|book|voice|narrator|speaker|host|teacher|student"
    r"|man|woman|boy|girl|person|he|she|they|user|someone|somebody)\b[^\"“”«»\n.;!?]{0,60}"
    r"|\be\.g\.,?\s*|\bsuch\s+as\s*|(?:格式|例如|比如|写着|显示|输出|回复|写道)[^“”\"\n。]{0,20}"
    r"|\b(?:respond|reply|answer|end|begin|start|finish|conclude)\s+(?:\w+\s+){0,3}(?:with|as|by)\s*:?\s*"
    r"|\b(?:write|type|output|print|return|state|say|says|said|reads?|written|states|stated|shows?"
    r"|called|titled|entitled|wrote|writes)\s*(?:\w+\s+){0,3}[:,]?\s*)"
)
_QUOTE = (
    r"(?:(?<![^\s:(,\u4e00-\u9fff])\"[^\s\":,][^\"\n]{0,200}\""
    r"|“[^”\n]{1,200}”|«[^»\n]{1,200}»|「[^」\n]{1,200}」"
    r"|‘[^’\n]{1,200}’|(?<![^\s:(])'[^'\n]{1,200}'(?!\w))"
)
_MENTIONS = re.compile(rf"(?P<lead>{_LEADS})(?P<quote>{_QUOTE})", re.IGNORECASE)
# "'Option A is correct', the host claims"
_CLAIMED = re.compile(
    rf"(?P<lead>)(?P<quote>{_QUOTE}),?\s(?=(?:(?:the|a|an|one|his|her|their)\s)?(?:\w+\s)?"
    r"(?:says?|said|claims?|claimed|shouts?|shouted|whispers?|argues?|argued|asks?|asked|reads?|writes|wrote"
    r"|(?:is|was)\s(?:what|printed|written|shown|displayed|painted)|appears)\b)",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(
    r"(?P<lead>\b(?:use|follow|respond|reply|answer|write|output|print|must|should|please|your)\b[^.\n]{0,60}"
    r"\b(?:format|form|template|example)\b[^.\n]{0,20}?)"
    r"(?P<quote>\b(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s?[: ]\s?\W{0,3}"
    r"[A-Za-z0-9]{1,2}(?![\w'’]))",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:I|I['’](?:d|ll|m)|[Mm]y|[Ww]e|[Oo]ur)\b(?![^.\n;!?]*\b(?:if|asked|told)\b)[^.\n;!?]*$"
)
_SAYS_AN_ANSWER = re.compile(
    r"\b(?:answer|option|choice|ans|correct|boxed)\b|答案|选项", re.IGNORECASE
)
_CUE = re.compile(r"\b(?:answer|option|choice)\W{0,3}\s?(?:is\b|was\b|[:=])", re.IGNORECASE)
_NEAR = 120
_MARKS = "\"“”«»「」‘’'"


def without_mentions(text: str) -> str:
    """The text without answers that it quotes as a format or as somebody else's words.

    Parameters
    ----------
    text : str
        A reply.

    Returns
    -------
    str
        With nothing between those quotation marks.
    """
    for mentions in (_MENTIONS, _CLAIMED, _ASKED_FOR):
        text = mentions.sub(_without_quote, text)
    return text


def _without_quote(mention: re.Match[str]) -> str:
    quote = mention["quote"].strip(_MARKS)
    says = _SAYS_AN_ANSWER.search(quote) or len(bare_label(quote)) < 3 or quote.isdecimal()
    start = mention.start("quote")
    before = mention.string[max(0, start - _NEAR) : start]
    # "The person falls, so the answer is 'C'" is the reply's own again.
    if not says or _OWN.search(before) or _CUE.search(mention["lead"]):
        return mention[0]
    return mention[0].replace(mention["quote"], '""')


_GRADED = re.compile(
    r"(?:\b(?:(?P<key>(?:correct|true|right|gold|expected|reference|actual)\s+(?:answer|option|choice)"
    r"|ground[- ]truth(?:\s+answer)?|gold|reference|label|gt|target|expected|correct)"
    r"|(?:your|model(?:['’]s)?|predicted|student(?:['’]s)?|user(?:['’]s)?|given|submitted)"
    r"\s+(?:answer|option|choice)|prediction|predicted|pred|actual|output|model|got|response))[*_]{0,2}\s?[:=]\s?[*_]{0,2}\s?"
    r"[(\[]?(?P<label>[A-Za-z0-9]{1,2})(?=\s*(?:$|[.,;)\]*_\n]))",
    re.IGNORECASE,
)


def graded_apart(text: str) -> bool:
    """Whether the text grades an answer by a key that says another one.

    Parameters
    ----------
    text : str
        A reply.

    Returns
    -------
    bool
        True for "Correct answer: C, your answer: B".
    """
    keys: set[str] = set()
    given: set[str] = set()
    for match in _GRADED.finditer(text):
        (keys if match["key"] else given).add(match["label"].casefold())
    return bool(keys and given and keys != given)
