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
from carve_stats.replay import answer_languages as languages
from carve_stats.replay.answer_grammar import (
    AMBIGUOUS,
    NO_COMMITMENT,
    OUT_OF_SET,
    Grammar,
    Named,
    grammar_of,
)
from carve_stats.replay.answer_mentions import graded_apart, without_mentions
from carve_stats.replay.answer_phrases import (
    AS_AN_EXAMPLE,
    AT_A_WORD,
    NEGATED_AFTER,
    REFUSAL,
    SENTENCES,
)
from carve_stats.replay.answer_stance import is_inferior
from carve_stats.replay.answer_text import clean, normalize

__all__ = ["PARSER_VERSION", "TRANSPORT_MARK", "ParsedAnswer", "parse_answer", "parse_open_answer"]

PARSER_VERSION = "3"

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
    3. the answer field of a JSON object, unless an answer is marked or declared after it;
    4. the last ``<answer>``, ``\boxed{}`` or ``ANSWER:``;
    5. the last declaration, such as "the answer is C";
    6. the one option that a list, a table or a mark such as ✅ checks off;
    7. the whole reply is a label;
    8. a label as the last sentence, or set off at the beginning with no other one after it;
    9. one label with its own option's text;
    10. the reply, its last sentence or its first line is one option's text.

    Declarations are known in English, Chinese, Spanish, Portuguese, French, Italian, German,
    Russian, Arabic, Hindi, Japanese and Korean. What follows the end of the model's turn is
    not read, nor what is struck out.

    Markers and declarations do not count where they are negated, asked, supposed, somebody
    else's or about the second-best answer. One that is taken back gives way to what follows,
    or to no answer. What is quoted as a format or from a sign is not read, and an answer that is
    graded by a key that says another one is ambiguous. Where options are numbers, a sum is what it
    makes ("2 + 4 = 6" is 6), and a sum without its result, a range or "4 or more" is no number.
    Labels in lower case count only where an answer must stand. Nothing
    takes the first capital letter that comes along, or a text that is only mentioned.

    Of a longer reply without its reasoning, the first 2000 and the last 6000 characters
    are read, to whole sentences; the time is linear in the reply's length.

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
    text = grammar.sums.without_sums(without_mentions(_window(clean(text))))
    if graded_apart(text):
        return ParsedAnswer(None, "ambiguous", "graded by a key")
    for rule, found in _candidates(text, grammar):
        if found is not None:
            if found.label == NO_COMMITMENT and found.odd and REFUSAL.search(text):
                return ParsedAnswer(None, "refusal", "refusal phrase")
            return _parsed(found, rule)
    if grammar.alternatives(text):
        return ParsedAnswer(None, "ambiguous", "alternatives")
    if REFUSAL.search(text):
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
    yield "checked option", grammar.checked(text)
    yield "whole reply", grammar.whole(text)
    yield "trailing label", grammar.lone_label(text)
    yield "leading label", grammar.leading_label(text)
    yield "label with its text", grammar.label_with_text(text)
    yield "option text", grammar.option_text(text)


def _parsed(found: Named, rule: str) -> ParsedAnswer:
    if found.odd:
        return ParsedAnswer(None, found.label, rule)
    return ParsedAnswer(found.label, "ok", rule)


# --- what is not an answer at all ---------------------------------------------------------------

_FAILURES = re.compile(
    rf"\s*(?:{re.escape(TRANSPORT_MARK)}|Failed to obtain answer via API"
    r"|\[LMMS_EVAL_REQUEST_FAILED|(?:HTTP(?:/[\d.]+)?\s*)?(?:Error|Status)(?:\s+code)?:? [45]\d\d\b"
    r"|HTTP(?:/[\d.]+)?\s+[45]\d\d\b|upstream connect error"
    r"|[45]\d\d (?:Bad Gateway|Service|Too Many|Internal|Gateway)"
    r"|(?:\[ERROR\]\s*)?Request timed out\.?\s*$"
    r"|(?:Connection|API|Internal server)[ _]error\.?\s*$|API (?:call|request) failed\b"
    r"|Too many requests\.?\s*$|Service unavailable\.?\s*$|Bad gateway\.?\s*$|CUDA out of memory"
    r"|Traceback \(most recent call last\)|(?:<!doctype html>\s*)?<html>.{0,200}<title>[45]\d\d"
    r"|\{\s*\"error\"\s*:\s*[{\"](?!.{0,2000}\"answer\")"
    # What client libraries call their exceptions
    r"|(?-i:(?:\w{1,40}\.){0,5}(?:RateLimit|APIConnection|APITimeout|APIStatus|APIResponse"
    r"|InternalServer|ServiceUnavailable|Connection|Connect|Read|Timeout|BadRequest|Authentication"
    r"|PermissionDenied|Overloaded|HTTP|HTTPStatus|ChunkedEncoding|SSL|MaxRetry|OutOfMemory)"
    r"(?:Timeout)?(?:Error|Exception)\b))",
    re.IGNORECASE,
)
_REASONING = r"(?:think|thinking|thought|thoughts|reasoning|analysis|reflection)"
_BLOCKS = re.compile(
    rf"(?P<opening><{_REASONING}>|\[THINK\]|◁think▷|<\|channel\|>analysis<\|message\|>)"
    rf"|</{_REASONING}>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)
_HEAD, _TAIL = 2000, 6000


def _final_text(text: str) -> tuple[str, ParsedAnswer | None]:
    text = normalize(text).strip()
    if not text:
        return text, ParsedAnswer(None, "empty", "empty reply")
    if _FAILURES.match(text):
        return text, ParsedAnswer(None, "transport_error", "failure text")
    text, closed = _without_reasoning(text)
    if not closed:
        return text, ParsedAnswer(None, "truncated", "reasoning never ends")
    if not text:
        return text, ParsedAnswer(None, "empty", "nothing but reasoning")
    return text, None


def _without_reasoning(text: str) -> tuple[str, bool]:
    """The text outside of reasoning blocks, and whether the last one is closed."""
    pieces: list[str] = []
    past = 0
    inside = False
    for tag in _BLOCKS.finditer(text):
        if tag["opening"]:
            if not inside:
                pieces.append(text[past : tag.start()])
            inside = True
            continue
        if not inside:  # closing tag only: the prompt had the opening one
            pieces.clear()
        inside = False
        past = tag.end()
    return " ".join([*pieces, text[past:]]).strip(), not inside


def _window(text: str) -> str:
    """The part that is read for an option, without runs of spaces or empty lines."""
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r" ?\n ?", "\n", text)).strip()
    if len(text) <= _HEAD + _TAIL:
        return text
    # Whole sentences: half of one may say what the whole does not, as in "not | B is right".
    head, tail = text[:_HEAD], text[-_TAIL:]
    ends = [end.end() for end in SENTENCES.finditer(head)]
    starts = SENTENCES.search(tail)
    return f"{head[: ends[-1]] if ends else ''}\n\n{tail[starts.end() :] if starts else ''}".strip()


# --- where an answer is marked as one -----------------------------------------------------------

_FIELDS = ("final_answer", "answer", "choice", "option", "prediction", "selected_option", "label",
           "letter", "selection", "correct_answer", "correct_option")  # fmt: skip
_TEXT_FIELDS = ("answer_text", "option_text", "choice_text", "text")
_MARKERS = re.compile(
    rf"(?:{AT_A_WORD}|(?=[<\\\\]))(?:"
    r"<(?:answer|option|choice)>(?P<tag>.*?)(?:</(?:answer|option|choice)>|$)"
    r"|\\boxed\s*\{(?P<boxed>(?:[^{}]|\{[^{}]*\}){0,400})\}"
    r"|\b(?:finish|submit|(?:submit_|final_)?answer)[\[(](?P<call>[^\])\n]{1,80})[\])](?!\s*[:=])"
    r"|(?:\bans(?:wer)?\b\.?(?:\s+(?:choice|option|letter|key|is))?\s*(?:\([^)\n]{0,60}\))?|\bfinal"
    r"|(?:最终|正确|最終|正確)?答案】?"
    rf"|(?:{languages.MARKERS})(?=[\"'*_`\s]{{0,8}}[:=]))"
    r"[\"'*_`\s]{0,8}(?:[:=]|(?<=】)|\s[-–—]{1,2}\s)"
    r"(?=(?P<line>[\s*_`\"']{0,12}[^\n]{0,400}))"
    r")",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT = re.compile(r'\{\s*"')
_OBJECTS = 100
_LAST_MARKERS = 20
_AS_NAME = re.compile(r"[\W_]*[A-Za-z]\b[\s]+[a-z]")


def _json_field(text: str, grammar: Grammar) -> Named | None:
    found = None
    decoder = json.JSONDecoder()
    past = end = 0
    # The last ones only, here and below: a reply of nothing but braces must not take for ever.
    for opening in list(_OBJECT.finditer(text))[-_OBJECTS:]:
        if opening.start() < past:
            continue
        try:
            value, past = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        named = _named_by_field(value, grammar)
        if named is not None:
            found, end = named, past
    if found is None:
        return None
    later = _marker(text[end:], grammar) or grammar.declarations(text[end:])
    return later or found


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
        named = _explicit(normalize(str(value)), grammar)
        if named is None:
            # A bare number among lettered options may count from 0 or from 1: never guess.
            status = OUT_OF_SET if isinstance(value, int) else NO_COMMITMENT
            return Named(status, True, 0)
        texts = (folded.get(field) for field in _TEXT_FIELDS if field != name)
        others = (grammar.whole(normalize(t)) for t in texts if isinstance(t, str))
        if any(other is not None and other.label != named.label for other in others):
            return Named(AMBIGUOUS, True, 0)
        return named
    for value in folded.values():
        named = _named_by_field(value, grammar) if isinstance(value, dict) else None
        if named is not None:
            return named
    return None


def _marker(text: str, grammar: Grammar) -> Named | None:
    """What the last marker says that is meant; of two lines in a row that differ, nothing."""
    markers = [
        (match, content)
        for match in list(_MARKERS.finditer(text))[-_LAST_MARKERS:]
        if (content := next(c for c in match.groups() if c is not None)).strip(" \n*_`\"'")
        and not is_inferior(text, match.start())
        and not AS_AN_EXAMPLE.search(text[max(0, match.start() - 60) : match.start()])
    ]
    while markers:
        match, content = markers.pop()
        if match["line"] is None and NEGATED_AFTER.match(text, match.end()):
            rest = text[match.end() :]
            return (
                grammar.declarations(rest)
                or grammar.lone_label(rest)
                or Named(NO_COMMITMENT, True, 0)
            )
        named = grammar.after_second_thought(text, match.end()) or _explicit(content, grammar)
        if named is None and match["line"] is not None and _AS_NAME.match(content):
            continue  # "Answer: C would need a bicycle" speaks of an option
        if named is not None and match["line"] is not None and markers:
            before, line = markers[-1]
            end = before.end() + len(line)
            in_a_row = before["line"] is not None and end <= match.start()
            if in_a_row and not text[end : match.start()].strip():
                other = _explicit(line, grammar)
                if other is not None and other.label != named.label:
                    return Named(AMBIGUOUS, True, 0)
        return named
    return None


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
