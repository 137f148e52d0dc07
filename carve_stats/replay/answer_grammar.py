"""How replies name an option: labels, option texts, declarations and their negation.

`parsing` asks these questions in its order of rules; `answer_phrases` has the words. The hard
part is what is *not* an answer: the article in "a man", the letter in "Vitamin C", an option
that is ruled out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from carve_stats.replay.answer_phrases import (
    CLAUSE_FOLLOWS,
    CLOSE,
    CLOSE_MARK,
    CONCLUSIONS,
    CUES,
    DELIMITED,
    EITHER,
    HESITATION,
    LABEL_END,
    LIST_JOINT,
    NEGATED_AFTER,
    NEGATED_BEFORE,
    NOT_IN_WORD,
    NOUN,
    NUMBERED_THINGS,
    OPEN,
    OPENING,
    PREDICATE,
    PRONOUN,
    SENTENCE_END,
    SET_OFF,
    SEVERAL_FOLLOW,
    SPACE,
    SUPPOSED_BEFORE,
)

__all__ = ["AMBIGUOUS", "OUT_OF_SET", "Grammar", "Named", "grammar_of"]

_NEAR = 80  # how far back, in characters, a clause is read

AMBIGUOUS = "ambiguous"
OUT_OF_SET = "out_of_set"


class Named(NamedTuple):
    """An option that a piece of text names.

    Parameters
    ----------
    label : str
        The option's label, or `AMBIGUOUS` or `OUT_OF_SET` where `odd` is True.
    odd : bool
        Whether `label` is one of those two.
    end : int
        Where the naming ends in the text.
    """

    label: str
    odd: bool
    end: int


class Grammar:
    """Reads the labels and texts of one question's options.

    Parameters
    ----------
    options : mapping of str to str
        Label to text.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.labels = {normalize(label).strip().casefold(): label for label in options}
        self.texts: dict[str, set[str]] = {}
        for label, text in options.items():
            self.texts.setdefault(_plain(text), set()).add(label)
        self.texts.pop("", None)
        forms = sorted(self.labels, key=len, reverse=True)
        if all(re.fullmatch("[a-z]", form) for form in forms):
            self._core, strong = "[A-Za-z]", "[B-HJ-Z]"
        elif all(form.isdecimal() for form in forms):
            self._core, strong = r"\d{1,3}", r"(?!)"
        else:
            self._core, strong = f"(?i:{'|'.join(map(re.escape, forms))})", r"(?!)"
        self._strong = re.compile(strong)
        self._at = re.compile(
            rf"\s*(?:(?i:the\s+)?(?i:{NOUN})\s*)?(?:\\text|\\mathrm|\\mathbf)?"
            rf"(?P<open>{OPEN})\s*(?P<label>{self._core}){LABEL_END}"
            rf"(?P<close>(?:\s?{CLOSE_MARK}{{1,8}})?)"
        )
        prose = "[A-Z]" if self._core == "[A-Za-z]" else self._core
        self._predicates = re.compile(rf"{NOT_IN_WORD}(?P<label>{prose}){CLOSE}{PREDICATE}")
        self._mentions = re.compile(
            rf"{NOT_IN_WORD}(?P<open>{OPEN})(?P<label>{prose}){LABEL_END}(?P<close>{CLOSE})"
        )
        self._trailing = re.compile(
            rf"(?:^|\n|[.!?:;,]\s|[。！？：；，])\s*(?:(?i:{NOUN})\s*)?(?P<open>{OPEN})"
            rf"(?P<label>{self._core})(?P<close>{CLOSE})\s*[.!。)]*\s*$"
        )
        self._leading = re.compile(
            rf"\s*{OPEN}(?P<label>{self._core})"
            rf"(?:(?P<line>[.:]?{CLOSE}[.:]?[^\S\n]*(?:\n|$))|[.:)\]*]+(?=\s)|\s+[-–—]+\s)"
        )
        words = sorted(self.texts, key=len, reverse=True)
        phrase = "|".join(r"\s+".join(map(re.escape, w.split())) for w in words) or r"(?!)"
        self._text = re.compile(
            rf"(?<![\w])(?:(?:a|an|the)\s+)?(?P<text>{phrase})(?![\w])"
            if all(word.isascii() for word in words)
            else rf"(?P<text>{phrase})",
            re.IGNORECASE,
        )

    def whole(self, text: str) -> Named | None:
        """What a text names that is nothing but a label, or nothing but an option's text."""
        bare = _strip_marks(text)
        folded = bare.casefold()
        if folded in self.labels:
            return Named(self.labels[folded], False, len(text))
        found = self.texts.get(_plain(text)) or self.texts.get(_plain(bare))
        if found:
            return _one_of(found, len(text))
        both = re.fullmatch(rf"{OPEN}({self._core})[\s.:,)\]*_–—-]+(\S.*)", bare, re.DOTALL)
        label = self.labels.get(both[1].casefold()) if both else None
        if both and label is not None and _plain(both[2]) in self.texts:
            if label in self.texts[_plain(both[2])]:
                return Named(label, False, len(text))
            return Named(AMBIGUOUS, True, len(text))
        short = re.fullmatch(rf"(?i:{NOUN})?\s*{OPEN}(\w{{1,2}}){CLOSE}", bare)
        if short is None:
            return None
        if short[1].casefold() in self.labels:
            return Named(self.labels[short[1].casefold()], False, len(text))
        return Named(OUT_OF_SET, True, len(text)) if re.fullmatch(self._core, short[1]) else None

    def declared(self, text: str, start: int = 0) -> Named | None:
        """What is named where an answer must follow, as after "the answer is".

        A lower-case label counts here, if it cannot be a word of a sentence.
        """
        either = SEVERAL_FOLLOW.match(text, start)
        start = either.end() if either else start
        spelled = self._spelled(text, start)
        first = self._label(text, start)
        if first is None or (spelled is not None and spelled.end > first.end):
            return spelled
        if NEGATED_AFTER.match(text, first.end):
            return None
        if first.odd:
            return first
        contradicted = self._spelled(text, _skip(text, first.end))
        if (
            contradicted is not None
            and contradicted.label != first.label
            and first.label not in self.texts.get(_plain(text[_skip(text, first.end) :]), ())
            and SENTENCE_END.match(text, contradicted.end)
        ):
            return Named(AMBIGUOUS, True, contradicted.end)
        return self._joined(text, first)

    def declarations(self, text: str) -> Named | None:
        """The last option that the text declares to be the answer."""
        found: list[tuple[int, Named]] = []
        for cue in CUES.finditer(text):
            if not _withdrawn(text, cue.start()):
                self._keep(found, cue.end(), self.declared(text, cue.end()))
        for cue in CONCLUSIONS.finditer(text):
            named = self.declared(text, cue.end())
            if named is not None and SENTENCE_END.match(text, named.end):
                self._keep(found, cue.end(), named)
        for predicate in self._predicates.finditer(text):
            start = predicate.start("label")
            if _withdrawn(text, start) or NUMBERED_THINGS.search(text, 0, start):
                continue
            label = self.labels.get(predicate["label"].casefold())
            named = Named(label or OUT_OF_SET, label is None, predicate.end())
            if label is not None and self._is_joined_before(text, start, label):
                named = Named(AMBIGUOUS, True, predicate.end())
            self._keep(found, start, named)
        return max(found, key=lambda pair: pair[0])[1] if found else None

    def label_with_text(self, text: str) -> Named | None:
        """The one option whose label stands before its own text."""
        found: set[str] = set()
        for mention in self._at_words(text):
            label = self.labels.get(mention["label"].casefold())
            spelled = self._spelled(text, _skip(text, mention.end()))
            if (
                label is not None
                and spelled is not None
                and label in self.texts.get(_plain(_text_of(text, spelled, mention.end())), ())
                and not self._denied(text, mention.start(), spelled.end)
            ):
                found.add(label)
        return Named(found.pop(), False, len(text)) if len(found) == 1 else None

    def option_text(self, text: str) -> Named | None:
        """The one option whose text the reply holds; longer texts go before those within."""
        found: set[str] = set()
        for match in self._text.finditer(text):
            plain = _plain(match["text"])
            # "3" or "No" says little within a sentence; at its beginning it is the answer.
            telling = len(plain) > 2 or (
                not text[: match.start()].strip() and DELIMITED.match(text, match.end())
            )
            if telling and not self._denied(text, match.start(), match.end()):
                found |= self.texts.get(plain, set())
        return Named(found.pop(), False, len(text)) if len(found) == 1 else None

    def lone_label(self, text: str) -> Named | None:
        """A label that ends the reply as a sentence of its own."""
        match = self._trailing.search(text)
        if match is None:
            return None
        before = text[: match.start("open")]
        own_line = not before.rsplit("\n", 1)[-1].strip()
        raw = match["label"]
        if not (own_line or (match["open"] and match["close"]) or not raw.islower()):
            return None
        # After a comma a bare label may end a list of mentions: "not A, B".
        if before.rstrip().endswith((",", "，")) or _withdrawn(text, match.start("open")):
            return None
        label = self.labels.get(raw.casefold())
        return Named(label or OUT_OF_SET, label is None, len(text))

    def leading_label(self, text: str) -> Named | None:
        """A label that opens the reply, set off from a reply that names no other."""
        match = self._leading.match(text)
        label = self.labels.get(match["label"].casefold()) if match else None
        if match is None or label is None:
            return None
        rest = text[match.end() :]
        if match["line"] is None:
            if NEGATED_AFTER.match(rest) or HESITATION.match(rest):
                return None
            others = self.mentioned(rest)
        else:  # a label on a line of its own: only a list of such lines is no answer
            lines = (self._leading.match(line) for line in rest.splitlines())
            forms = {m["label"].casefold() for m in lines if m}
            others = {self.labels[form] for form in forms if form in self.labels}
        if others - {label}:
            return None
        return Named(label, False, len(text))

    def alternatives(self, text: str) -> bool:
        """Whether the text leaves several options open, as in "either B or C"."""
        past = 0
        for mention in self._at_words(text):
            start = mention.start()
            if start < past:
                continue
            first = self._label(text, start)
            if first is None or first.odd or _withdrawn(text, start):
                continue
            several = self._joined(text, first)
            past = several.end
            if not several.odd or NEGATED_AFTER.match(text, several.end):
                continue
            joint = text[first.end : several.end]
            either = EITHER.search(text[:start]) or re.search(r"\bor\b|或|/", joint, re.I)
            if either or not (text[:start] + text[several.end :]).strip(" .!。*()"):
                return True
        return False

    def mentioned(self, text: str) -> set[str]:
        """The labels that stand in a text as labels."""
        return {
            self.labels[m["label"].casefold()]
            for m in self._at_words(text)
            if m["label"].casefold() in self.labels
        }

    def _at_words(self, text: str) -> Iterator[re.Match[str]]:
        for mention in self._mentions.finditer(text):
            bracketed = mention["open"] and mention["close"]
            if (
                bracketed
                or self._strong.fullmatch(mention["label"])
                or DELIMITED.match(text, mention.end())
            ):
                yield mention

    def _label(self, text: str, start: int) -> Named | None:
        match = self._at.match(text, start)
        if match is None:
            return None
        raw, end = match["label"], match.end()
        if raw in "Ii" and PRONOUN.match(text, end):
            return None
        delimited = bool(match["open"] and match["close"].strip()) or DELIMITED.match(text, end)
        label = self.labels.get(raw.casefold())
        if not delimited and (label is None or not self._strong.fullmatch(raw)):
            own = self._spelled(text, end)
            if label is None or own is None or own.label != label or raw.islower():
                return None
        if label is None:
            # "x" or "i" may be a word; an option that is not there is written large.
            return Named(OUT_OF_SET, True, end) if not raw.islower() else None
        return Named(label, False, end)

    def _spelled(self, text: str, start: int) -> Named | None:
        # A mark may belong to the text, as in "$5", or stand around it.
        match = None
        for opening in (SPACE.match(text, start), OPENING.match(text, start)):
            match = match or (self._text.match(text, opening.end()) if opening else None)
        # Letters without case, such as İ, may match a text and still not be it.
        found = self.texts.get(_plain(match["text"])) if match else None
        return _one_of(found, match.end()) if match and found else None

    def _joined(self, text: str, first: Named) -> Named:
        """`first`, or ambiguous where another label is joined to it."""
        named, end = first, first.end
        while True:
            joint = LIST_JOINT.match(text, end)
            if joint is None or not (joint["mark"] or joint["word"]):
                return named
            other = self._label(text, joint.end())
            if other is None or other.odd or NEGATED_AFTER.match(text, other.end):
                # "B and C can be ruled out" denies both; "C, B is wrong" only the second.
                return named
            if not joint["word"] and CLAUSE_FOLLOWS.match(text, other.end):
                return named
            end = other.end
            if other.label != first.label:
                named = Named(AMBIGUOUS, True, end)
            else:
                named = Named(named.label, named.odd, end)

    def _is_joined_before(self, text: str, start: int, label: str) -> bool:
        for mention in self._mentions.finditer(text, max(0, start - _NEAR), start):
            joint = LIST_JOINT.fullmatch(text, mention.end(), start)
            other = self.labels.get(mention["label"].casefold())
            if joint and (joint["mark"] or joint["word"]) and other not in (None, label):
                return not _withdrawn(text, mention.start())
        return False

    def _denied(self, text: str, start: int, end: int) -> bool:
        return _withdrawn(text, start) or bool(NEGATED_AFTER.match(text, end))

    @staticmethod
    def _keep(found: list[tuple[int, Named]], start: int, named: Named | None) -> None:
        if named is not None:
            found.append((start, named))


@lru_cache(maxsize=4096)
def _grammar(options: tuple[tuple[str, str], ...]) -> Grammar:
    return Grammar(dict(options))


def grammar_of(options: Mapping[str, str]) -> Grammar:
    """The grammar of one question's options; made once."""
    return _grammar(tuple(options.items()))


def normalize(text: str) -> str:
    """Compatibility characters as plain ones (NFKC): Ｃ is C, ： is a colon."""
    return unicodedata.normalize("NFKC", text)


def _withdrawn(text: str, start: int) -> bool:
    before = re.split(r"[.;!?\n。；！？,，]", text[max(0, start - _NEAR) : start])[-1]
    return bool(NEGATED_BEFORE.search(before) or SUPPOSED_BEFORE.search(before))


def _strip_marks(text: str) -> str:
    bare = re.sub(r"\\(?:text|mathrm|mathbf|textbf)\s*", "", text)
    return bare.strip(" \t\r\n()[]{}<>\"'“”‘’*_`$「」【】.,:;!。，：；！#-=")


def _plain(text: str) -> str:
    """An option's text as it is compared: without case, article, marks and end stop."""
    bare = normalize(text).strip(" \t\r\n\"'“”‘’*_`.,;!。，；！")  # a minus or a bracket may matter
    words = " ".join(bare.casefold().split())
    return re.sub(r"^(?:a|an|the)\s+(?=\S)", "", words)


def _skip(text: str, start: int) -> int:
    """The place after the marks that set a label off from what follows."""
    match = SET_OFF.match(text, start)
    return match.end() if match else start


def _text_of(text: str, spelled: Named, start: int) -> str:
    return text[_skip(text, start) : spelled.end]


def _one_of(labels: set[str], end: int) -> Named:
    if len(labels) > 1:
        return Named(AMBIGUOUS, True, end)
    return Named(next(iter(labels)), False, end)
