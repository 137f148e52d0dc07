"""`parse_answer`: from a raw reply to an option, by rules that never guess.

The parser does not know the condition, and what it cannot read is invalid rather than some
option: a random one would be a flip most of the time. `PARSER_VERSION` stands in the plan of
a run, and the raw text in its records, so that answers can be read again later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from carve_stats.errors import InputError
from carve_stats.replay.answer_grammar import Grammar, Named, grammar_of, normalize

__all__ = ["PARSER_VERSION", "TRANSPORT_MARK", "ParsedAnswer", "parse_answer", "parse_open_answer"]

PARSER_VERSION = "1"

TRANSPORT_MARK = "[REPLAY_TRANSPORT_ERROR]"
"""Begins the text of a replay whose agent could not be reached."""


class ParsedAnswer(NamedTuple):
    """What a reply says.

    Parameters
    ----------
    letter : str or None
        The option's label; None unless `status` is ``ok``.
    status : str
        ``ok``, ``ambiguous``, ``out_of_set``, ``refusal``, ``truncated``, ``empty``,
        ``transport_error`` or ``no_commitment``.
    rule : str
        The rule that decided.
    """

    letter: str | None
    status: str
    rule: str


def parse_answer(text: str, options: Mapping[str, str]) -> ParsedAnswer:
    r"""Read which option a reply chooses.

    Parameters
    ----------
    text : str
        The raw reply.
    options : mapping of str to str
        Label to text, two or more.

    Returns
    -------
    ParsedAnswer
        The label, or why there is none.

    Raises
    ------
    InputError
        No options.

    Notes
    -----
    The rules, in order; the first that finds something decides:

    1. failure texts that harnesses store in the place of a reply; an empty reply;
    2. reasoning blocks are taken out; what is left of one that never closes is truncated;
    3. the answer field of a JSON object;
    4. the last ``<answer>``, ``\boxed{}`` or ``ANSWER:``, unless it is taken back after it;
    5. the last declaration, such as "the answer is C", that is not negated;
    6. the whole reply is a label;
    7. one label with its own option's text; one option's text;
    8. a label as the last sentence, or set off at the beginning with no other one after it.

    Labels in lower case count only where an answer must stand. Nothing takes the first
    capital letter that comes along.

    Examples
    --------
    >>> options = {"A": "A man in a red shirt", "B": "The dog", "C": "A bicycle"}
    >>> parse_answer("A man rides past, so the answer is C", options)
    ParsedAnswer(letter='C', status='ok', rule='declaration')
    >>> parse_answer("Either B or C", options)
    ParsedAnswer(letter=None, status='ambiguous', rule='alternatives')
    """
    if not options:
        raise InputError("options={} must hold at least two options: compare open answers instead")
    if text in options:
        return ParsedAnswer(text, "ok", "whole reply")
    text, failure = _final_text(text)
    if failure is not None:
        return failure
    grammar = grammar_of(options)
    for rule, found in _candidates(text, grammar):
        if found is not None:
            return _parsed(found, rule)
    if grammar.alternatives(text):
        return ParsedAnswer(None, "ambiguous", "alternatives")
    if _REFUSAL.search(text):
        return ParsedAnswer(None, "refusal", "refusal phrase")
    return ParsedAnswer(None, "no_commitment", "no rule applies")


def parse_open_answer(text: str) -> ParsedAnswer:
    """Read the answer to a question without options: the reply without its reasoning.

    Parameters
    ----------
    text : str
        The raw reply.

    Returns
    -------
    ParsedAnswer
        `letter` holds the answer's text.

    Examples
    --------
    >>> parse_open_answer("<think>Hm.</think> Two dogs.")
    ParsedAnswer(letter='Two dogs.', status='ok', rule='open answer')
    """
    text, failure = _final_text(text)
    return failure or ParsedAnswer(text, "ok", "open answer")


def _candidates(text: str, grammar: Grammar) -> Iterator[tuple[str, Named | None]]:
    yield "JSON field", _json_field(text, grammar)
    yield "answer marker", _marker(text, grammar)
    yield "declaration", grammar.declarations(text)
    yield "whole reply", grammar.whole(text)
    yield "label with its text", grammar.label_with_text(text)
    yield "option text", grammar.option_text(text)
    yield "trailing label", grammar.lone_label(text)
    yield "leading label", grammar.leading_label(text)


def _parsed(found: Named, rule: str) -> ParsedAnswer:
    if found.odd:
        return ParsedAnswer(None, found.label, rule)
    return ParsedAnswer(found.label, "ok", rule)


# --- what is not an answer at all ---------------------------------------------------------------

_FAILURES = re.compile(
    rf"\s*(?:{re.escape(TRANSPORT_MARK)}|Failed to obtain answer via API"
    r"|\[LMMS_EVAL_REQUEST_FAILED|Error code: [45]\d\d\b|Request timed out\.?\s*$"
    r"|Connection error\.?\s*$|API (?:call|request) failed\b)",
    re.IGNORECASE,
)
_REASONING = r"(?:think|thinking|thought|thoughts|reasoning|analysis|reflection)"
_CLOSED = re.compile(rf"<{_REASONING}>.*?</{_REASONING}>|◁think▷.*?◁/think▷", re.I | re.S)
_CLOSING = re.compile(rf"</{_REASONING}>|◁/think▷", re.I)
_OPENING = re.compile(rf"<{_REASONING}>|◁think▷", re.I)
_REFUSAL = re.compile(
    r"\bI['’]?m\s+(?:sorry|afraid)\b|\b(?:apologi[sz]e|as an ai\b)|\b(?:unable|not able)\s+to\b"
    r"|\b(?:cannot|can['’]t|can not|could not|couldn['’]t)\s+(?:be\s+)?(?:\w+ly\s+)?"
    r"(?:determine|answer|see|tell|identify|assist|help|provide|view|access|say|verify|know|decide)"
    r"|\b(?:insufficient|not\s+enough)\s+(?:information|evidence|context|detail)"
    r"|\bno\s+way\s+(?:to|of)\s+(?:tell|know)|\bdo(?:n['’]t| not)\s+know\b"
    r"|无法(?:确定|判断|回答|得知|看出)|抱歉|对不起|不能(?:确定|判断|回答)|不知道",
    re.IGNORECASE,
)


def _final_text(text: str) -> tuple[str, ParsedAnswer | None]:
    text = normalize(text).strip()
    if not text:
        return text, ParsedAnswer(None, "empty", "empty reply")
    if _FAILURES.match(text):
        return text, ParsedAnswer(None, "transport_error", "failure text")
    text = _CLOSED.sub(" ", text)
    text = _CLOSING.split(text)[-1].strip()
    if _OPENING.search(text):
        return text, ParsedAnswer(None, "truncated", "reasoning never ends")
    if not text:
        return text, ParsedAnswer(None, "empty", "nothing but reasoning")
    return text, None


# --- where an answer is marked as one -----------------------------------------------------------

_FIELDS = ("final_answer", "answer", "choice", "option", "prediction", "selected_option", "label",
           "letter", "selection", "correct_answer", "correct_option")  # fmt: skip
_MARKERS = re.compile(
    r"<answer>(?P<tag>.*?)(?:</answer>|$)"
    r"|\\boxed\s*\{(?P<boxed>(?:[^{}]|\{[^{}]*\})*)\}"
    r"|(?:\banswer(?:\s+(?:choice|option|letter|key|is))?\s*(?:\([^)\n]*\))?"
    r"|(?:最终|正确)?答案)[\"'*_`\s]*(?:[:=]|\s[-–—]+\s)(?=(?P<line>[\s*_`\"']*[^\n]*))",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT = re.compile(r'\{\s*"')
_OBJECTS = 100
_SECOND_THOUGHT = re.compile(
    r"\b(?:wait|actually|correction|scratch that|on second thought|let me (?:re|double))|不对|更正",
    re.IGNORECASE,
)


def _json_field(text: str, grammar: Grammar) -> Named | None:
    found = None
    decoder = json.JSONDecoder()
    past = 0
    # The last ones only: a reply that is nothing but braces must not take for ever.
    for opening in list(_OBJECT.finditer(text))[-_OBJECTS:]:
        if opening.start() < past:
            continue
        try:
            value, past = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        found = _named_by_field(value, grammar) or found
    return found


def _named_by_field(record: dict[str, Any], grammar: Grammar) -> Named | None:
    folded = {str(k).strip().casefold().replace(" ", "_"): v for k, v in record.items()}
    for name in _FIELDS:
        value = folded.get(name)
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            continue
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        # A bare number among lettered options may count from 0 or from 1: never guess.
        number = isinstance(value, int)
        named = _explicit(normalize(str(value)), grammar)
        return named or (Named("out_of_set", True, 0) if number else None)
    return None


def _marker(text: str, grammar: Grammar) -> Named | None:
    last = None
    for match in _MARKERS.finditer(text):
        content = next(c for c in match.groups() if c is not None)
        if content.strip(" \t\r\n*_`\"'"):
            last = match, content
    if last is None:
        return None
    match, content = last
    rest = text[match.end() :]
    thought = _SECOND_THOUGHT.search(rest)
    if thought is not None:
        tail = rest[thought.end() :]
        second = grammar.declarations(tail) or grammar.lone_label(tail)
        if second is not None:
            return second
    return _explicit(content, grammar)


def _explicit(content: str, grammar: Grammar) -> Named | None:
    content = content.strip(" \t\r\n*_`\"'")
    return (
        grammar.whole(content)
        or grammar.declared(content)
        or grammar.declarations(content)
        or grammar.label_with_text(content)
        or grammar.option_text(content)
        or grammar.lone_label(content)
    )
