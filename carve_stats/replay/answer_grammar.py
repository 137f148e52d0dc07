"""How replies name an option: labels, option texts, declarations and their negation.

`parsing` asks these questions in its order of rules; `answer_phrases` has the words. The hard
part is what is *not* an answer: the article in "a man", the letter in "Vitamin C", an option
that is ruled out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from carve_stats.replay.answer_phrases import (
    A_THING,
    AS_AN_EXAMPLE,
    ASKED_FOR,
    CLAUSE_FOLLOWS,
    CLOSE,
    CLOSE_MARK,
    CONCLUSIONS,
    CONTRAST,
    CUES,
    DELIMITED,
    EITHER,
    FRAME,
    FRAME_END,
    HEDGED_AFTER,
    HESITATION,
    IF_AFTER,
    LABEL_END,
    LIST_JOINT,
    MINUS,
    NEGATED_AFTER,
    NO_ANSWER_KEY,
    NO_MARKS,
    NOT_IN_WORD,
    NOUN,
    NUMBERED_THINGS,
    OPEN,
    OPENING,
    OR,
    POINTED_AT,
    PREDICATE,
    PRONOUN,
    REFUSAL,
    SENTENCE_END,
    SENTENCES,
    SET_OFF,
    SEVERAL_FOLLOW,
    SPACE,
    TAKEN_BACK,
    TAKEN_BACK_AT_ONCE,
    UNSURE,
    WRONG_ASKED,
    YES_MARKS,
)
from carve_stats.replay.answer_stance import (
    NEAR,
    is_final,
    is_inferior,
    is_questioned,
    is_supposed,
    is_withdrawn,
    sentence_before,
)
from carve_stats.replay.answer_sums import ReadsSums
from carve_stats.replay.answer_text import bare_label, bare_text, normalize

__all__ = [
    "AMBIGUOUS",
    "NO_COMMITMENT",
    "OUT_OF_SET",
    "Grammar",
    "Named",
    "grammar_of",
]

AMBIGUOUS = "ambiguous"
OUT_OF_SET = "out_of_set"
NO_COMMITMENT = "no_commitment"


class Named(NamedTuple):
    """An option that a piece of text names.

    Parameters
    ----------
    label : str
        The option's label; where `odd` is True, `AMBIGUOUS`, `OUT_OF_SET` or `NO_COMMITMENT`.
    odd : bool
        Whether `label` is one of those three.
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
        self.sums = ReadsSums({normalize(k): normalize(text) for k, text in options.items()})
        for label, text in options.items():
            self.texts.setdefault(bare_text(text), set()).add(label)
        self.texts.pop("", None)
        forms = sorted(self.labels, key=len, reverse=True)
        if all(re.fullmatch("[a-z]", form) for form in forms):
            self._core, strong = "[A-Za-z]", "[B-HJ-Z]"
        elif all(form.isdecimal() for form in forms):
            self._core, strong = r"\d{1,3}", r"(?!)"
        else:
            alternatives = "|".join(map(_own_script, forms))
            self._core, strong = f"(?i:{alternatives})", r"(?!)"
        self._strong = re.compile(strong)
        # "1. First I looked at the frames" counts the steps.
        strong_core = not self._core.startswith(r"\d")
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
            rf"(?:^|\n|[.!?:;,]\s|[。！？：；，])\s*(?:(?i:only|just|definitely|certainly|probably)\s+)?"
            rf"(?:(?i:{NOUN})\s*)?(?P<open>{OPEN})"
            rf"(?P<label>{self._core})(?P<close>{CLOSE})\s*[.!。)]{{0,8}}\s*$"
        )
        self._in_brackets = re.compile(rf"\s?\((?P<label>{self._core})\)")
        self._lines = re.compile(
            rf"^(?:[^\n:]{{0,40}}:\s?|\d{{1,2}}[.)]\s)?{OPEN}(?P<label>{prose}){CLOSE}[.!。)]{{0,4}}$",
            re.MULTILINE,
        )
        self._leading = re.compile(
            rf"\s*{OPEN}(?P<label>{self._core})"
            rf"(?:(?P<line>[.:]?{CLOSE}[.:]?[^\S\n]*(?:\n|$))"
            rf"|(?:[.:)\]*]{{1,8}}(?=\s)|\s+[-–—]{{1,2}}\s){'' if strong_core else '(?!)'}"
            r"|[)\]*]{0,8},?\s(?=(?:because|since|due)\b"
            r"|(?i:I\s+(?:think|believe|guess)|for\s+sure|all\s+the\s+way|definitely|clearly)[.!]*$)"
            rf"|,\s{'' if all(map(_is_word, forms)) else '(?!)'})"
        )
        self._checked = re.compile(
            rf"^[^\S\n]*(?:[-*+]\s+)?\[[xX✓✔]\]\s*{OPEN}(?P<box>{self._core}){CLOSE}(?=[\s.:]|$)"
            rf"|^[^\S\n]*\|\s*{OPEN}(?P<row>{self._core})[.)]?{CLOSE}\s*\|(?:[^|\n]{{0,200}}\|)?"
            rf"\s*[*_]{{0,2}}(?:correct|right|true|yes|{YES_MARKS})[*_]{{0,2}}\s*\|"
            rf"|^[^\S\n]*{YES_MARKS}[^\S\n]?{OPEN}(?P<after>{self._core}){CLOSE}(?=[\s.:]|$)"
            rf"(?![^\n]*(?:{YES_MARKS}|{NO_MARKS}))"
            rf"|{NOT_IN_WORD}(?P<mark>{prose})[.):]?{CLOSE}[^\S\n]?{YES_MARKS}",
            re.MULTILINE,
        )
        words = sorted(self.texts, key=len, reverse=True)
        phrase = "|".join(map(_whole_words, words)) or r"(?!)"
        self._text = re.compile(
            rf"(?:(?<![\w])(?<!\d[.,:])(?:a|an|the)\s+)?(?P<text>{phrase})", re.IGNORECASE
        )

    def whole(self, text: str) -> Named | None:
        """What a text names that is nothing but a label, or nothing but an option's text."""
        if text.lstrip()[:1] in ("!", "~", "¬") or UNSURE.search(text):
            return None
        bare = bare_label(text)
        folded = bare.casefold()
        if folded in self.labels and not (folded.isdecimal() and MINUS.match(text)):
            return Named(self.labels[folded], False, len(text))
        found = self.texts.get(bare_text(text))
        if not found and not (bare[:1].isdecimal() and MINUS.match(text)):
            found = self.texts.get(bare_text(bare))
        if found:
            return _one_of(found, len(text))
        both = re.fullmatch(rf"{OPEN}({self._core})[\s.:,)\]*_–—-]+(\S.*)", bare, re.DOTALL)
        label = self.labels.get(both[1].casefold()) if both else None
        if both and label is not None and bare_text(both[2]) in self.texts:
            if label in self.texts[bare_text(both[2])]:
                return Named(label, False, len(text))
            return Named(AMBIGUOUS, True, len(text))
        short = re.fullmatch(rf"(?:(?i:{NOUN})|[Ll]a\s)?\s*{OPEN}(\w{{1,2}}){CLOSE}", bare)
        if short is None or (short[1].isdecimal() and MINUS.match(text)):
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
            return self._spelled_only(text, spelled) if spelled is not None else None
        if NEGATED_AFTER.match(text, first.end):
            return None
        own = self._spelled(text, _skip(text, first.end))
        if not is_final(text, first.end) and (own is None or own.label != first.label):
            return None
        if first.odd:
            return first
        if (
            own is not None
            and own.label != first.label
            and first.label not in self.texts.get(bare_text(text[_skip(text, first.end) :]), ())
            and SENTENCE_END.match(text, own.end)
        ):
            return Named(AMBIGUOUS, True, own.end)
        several = self._joined(text, first)
        if several.label == AMBIGUOUS:
            # "Answer with A, B, C or D: A"
            colon = ASKED_FOR.match(text, several.end)
            chosen = self._label(text, colon.end()) if colon else None
            if (
                chosen is not None
                and is_final(text, chosen.end)
                and not NEGATED_AFTER.match(text, chosen.end)
            ):
                return self._joined(text, chosen)
        return several

    def _spelled_only(self, text: str, spelled: Named) -> Named | None:
        """`spelled` where nothing but an end follows; ambiguous where another text is joined."""
        joint = LIST_JOINT.match(text, spelled.end)
        other = self._spelled(text, joint.end()) if joint and joint["word"] else None
        if other is not None and other.label != spelled.label:
            return Named(AMBIGUOUS, True, other.end)
        several = self._listed(text, spelled)
        if several is not None:
            return several
        if joint and joint["word"] and other is None and A_THING.match(text, joint.end()):
            return None  # "the dog and the man" is more than the option
        return spelled if is_final(text, spelled.end) else None

    def _listed(self, text: str, first: Named) -> Named | None:
        """Ambiguous where nothing but texts of options follows, as in "3, 5, 8"."""
        other: Named | None = first
        end = first.end
        while other is not None:
            end = other.end
            joint = LIST_JOINT.match(text, end)
            other = self._spelled(text, joint.end()) if joint and joint["mark"] else None
            if other is not None and other.label == first.label:
                return None
        if end > first.end and SENTENCE_END.match(text, end):
            return Named(AMBIGUOUS, True, end)
        return None

    def declarations(self, text: str) -> Named | None:
        """The last option that the text declares to be the answer, and does not take back."""
        lasts = [
            next(found, None)
            for found in (
                self._after_cues(text),
                self._after_conclusions(text),
                self._with_predicates(text),
            )
        ]
        found = [last for last in lasts if last is not None]
        if not found:
            return None
        last = max(found, key=lambda pair: pair[0])[1]
        return self.after_second_thought(text, last.end) or last

    def _after_cues(self, text: str) -> Iterator[tuple[int, Named]]:
        for cue in reversed(list(CUES.finditer(text))):
            named = self.declared(text, cue.end())
            if named is not None and not (
                is_withdrawn(text, cue.start())
                or is_supposed(text, cue.start(), cue.end())
                or is_inferior(text, cue.start())
                or AS_AN_EXAMPLE.search(text, max(0, cue.start() - NEAR), cue.start())
                # "It is red, but the question is about the bus"
                or (POINTED_AT.match(cue[0]) and CONTRAST.search(text, named.end))
            ):
                yield cue.end(), named

    def _after_conclusions(self, text: str) -> Iterator[tuple[int, Named]]:
        for cue in reversed(list(CONCLUSIONS.finditer(text))):
            named = self.declared(text, cue.end())
            if (
                named is not None
                and SENTENCE_END.match(text, named.end)
                and not is_supposed(text, cue.start(), cue.start())
                and text[cue.end() : named.end] != "I"
            ):
                yield cue.end(), named

    def _with_predicates(self, text: str) -> Iterator[tuple[int, Named]]:
        for predicate in reversed(list(self._predicates.finditer(text))):
            start, end = predicate.start("label"), predicate.end()
            if (
                is_withdrawn(text, start)
                or is_supposed(text, start, start)
                or is_questioned(text, end)
                or ("would" in predicate[0] and IF_AFTER.match(text, end))
                or HEDGED_AFTER.match(text, end)
                or NUMBERED_THINGS.search(text, max(0, start - NEAR), start)
            ):
                continue
            label = self.labels.get(predicate["label"].casefold())
            if label is not None and self._is_joined_before(text, start, label):
                yield start, Named(AMBIGUOUS, True, end)
            else:
                yield start, Named(label or OUT_OF_SET, label is None, end)

    def after_second_thought(self, text: str, start: int) -> Named | None:
        """What holds instead of an answer that is taken back after `start`; None if it is not."""
        thought = TAKEN_BACK.search(text, start) or TAKEN_BACK_AT_ONCE.match(text, start)
        if thought is None:
            return None
        # From the thought on, since its own words may lead to the label: "no, B".
        tail = text[thought.start() :]
        return (
            self.declarations(tail.lstrip(" .!?;,(\n–—-"))
            or self.lone_label(text[thought.end() :])
            or Named(NO_COMMITMENT, True, len(text))
        )

    def checked(self, text: str) -> Named | None:
        """The one option that a list, a table or a mark of approval checks off."""
        found = set()
        for match in self._checked.finditer(text):
            if match["mark"] and re.search(YES_MARKS, _line_before(text, match.start())[:2]):
                continue  # "✅ B ❌ C ✅": whose mark is the last one?
            label = next(filter(None, match.groups()))
            found.add(self.labels.get(label.casefold(), OUT_OF_SET))
        if not found:
            return None
        label = found.pop()
        if found or label == OUT_OF_SET:
            return Named(AMBIGUOUS if found else OUT_OF_SET, True, len(text))
        return Named(label, False, len(text))

    def label_with_text(self, text: str) -> Named | None:
        """The one option whose label stands before its own text, or in brackets after it."""
        found: set[str] = set()
        for match in self._text.finditer(text):
            after = self._in_brackets.match(text, match.end())
            label = self.labels.get(after["label"].casefold()) if after else None
            if (
                after
                and label in self.texts.get(bare_text(match["text"]), ())
                and not self._denied(text, match.start(), after.end())
                and not is_questioned(text, after.end())
            ):
                found.add(str(label))
        for mention in self._at_words(text):
            label = self.labels.get(mention["label"].casefold())
            spelled = self._spelled(text, _skip(text, mention.end()))
            if (
                label is not None
                and spelled is not None
                and label in self.texts.get(bare_text(_text_of(text, spelled, mention.end())), ())
                and not self._denied(text, mention.start(), spelled.end)
                and not is_supposed(text, mention.start(), mention.start())
                and not is_questioned(text, spelled.end)
            ):
                found.add(label)
        return Named(found.pop(), False, len(text)) if len(found) == 1 else None

    def option_text(self, text: str) -> Named | None:
        """The one option whose text is what the reply says, not something that it mentions.

        The text stands alone in the last sentence or the first line, or is a word set off at
        the beginning, as in "Yes, he does"; and the reply holds no other option's text.
        """
        named: set[str] = set()
        held: set[str] = set()
        last = next(
            (m.end() for m in reversed(list(SENTENCES.finditer(text.rstrip(" .!?;。！？；\n"))))), 0
        )
        for match in self._text.finditer(text):
            if self._denied(text, match.start(), match.end()):
                continue
            plain = bare_text(match["text"])
            found = self.texts.get(plain, set())
            # "3" or "No" says little within a sentence.
            if len(plain) > 2 or DELIMITED.match(text, match.end()):
                held |= found
            if is_questioned(text, match.end()):
                continue
            start, end = match.span()
            begin = last if start >= last else 0
            framed = FRAME.fullmatch(text, begin, start) or not text[begin:start].strip(
                " *_`\"'“‘("
            )
            ends = FRAME_END.match(text, end)
            closed = ends is not None and (ends.end() == len(text) or "\n" in ends[0])
            opens = (
                begin == 0
                and start == match.start("text")
                and not text[:start].strip(" *_`\"'")
                and match["text"].isalpha()
                and re.match(rf"{CLOSE}[.,!。，]", text[end : end + 12]) is not None
                and not CONTRAST.search(text, end)
                and not _refuses(text[end:])
            )
            if (framed and closed) or opens:
                named |= found
        return Named(named.pop(), False, len(text)) if len(named) == 1 and held == named else None

    def lone_label(self, text: str) -> Named | None:
        """A label that ends the reply as a sentence of its own."""
        match = self._trailing.search(text)
        if match is None:
            return None
        before = text[: match.start("open")]
        if len(self.mentioned(text)) > 1 and not self._mentions.sub("", text).strip(" .,;:\n"):
            return None
        own_line = not before.rsplit("\n", 1)[-1].strip()
        raw = match["label"]
        # "Prediction: B\nGround truth: A", or the bare list of the labels, names no answer.
        if any(m["label"].casefold() != raw.casefold() for m in self._lines.finditer(before)):
            return None
        if not (own_line or (match["open"] and match["close"]) or not raw.islower()):
            return None
        if NO_ANSWER_KEY.search(sentence_before(text, match.start("open"))) or WRONG_ASKED.search(
            before, max(0, len(before) - NEAR)
        ):
            return None
        # After a comma a bare label may end a list of mentions: "not A, B".
        if before.rstrip().endswith((",", "，")) or is_withdrawn(text, match.start("open")):
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
            if NEGATED_AFTER.match(rest) or HESITATION.match(rest) or _refuses(rest):
                return None
            # "**A** dog is seen"
            if match["label"] in "aAiI" and match[0].endswith("*") and rest.lstrip()[:1].islower():
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
            if first is None or first.odd:
                continue
            several = self._joined(text, first)
            past = several.end
            if (
                not several.odd
                or NEGATED_AFTER.match(text, several.end)
                or is_withdrawn(text, start)
            ):
                continue
            joint = text[first.end : several.end]
            either = EITHER.search(text[max(0, start - NEAR) : start])
            either = either or OR.search(joint)
            if either or not (
                text[:start].strip(" .!。*()") or text[several.end :].strip(" .!。*()")
            ):
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
        closed = match["close"].strip()
        if raw == "a" and not closed and not text[end:].strip():
            return None  # a reply cut off after the article
        delimited = closed[:1] == ")" or (match["open"] and closed) or DELIMITED.match(text, end)
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
        found = self.texts.get(bare_text(match["text"])) if match else None
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
        for mention in self._mentions.finditer(text, max(0, start - NEAR), start):
            joint = LIST_JOINT.fullmatch(text, mention.end(), start)
            other = self.labels.get(mention["label"].casefold())
            if joint and (joint["mark"] or joint["word"]) and other not in (None, label):
                return not is_withdrawn(text, mention.start())
        return False

    def _denied(self, text: str, start: int, end: int) -> bool:
        return is_withdrawn(text, start) or bool(NEGATED_AFTER.match(text, end))


def _refuses(rest: str) -> bool:
    """Whether the one who replies goes on to say that they cannot: "No, I cannot tell"."""
    return re.match(r"\W*(?:\w+\W+){0,2}I\b", rest) is not None and bool(REFUSAL.search(rest[:80]))


def _is_word(label: str) -> bool:
    """Whether a label is said as a word is: "No, he stays"."""
    return label.isalpha() and len(label) > 1 and not re.fullmatch("[ivx]+", label)


_ALPHABETS = (
    "\u0400-\u052f", "\u0590-\u05ff", "\u0600-\u063f\u0641-\u06d3", "\u0900-\u0963\u0966-\u097f",
    "\u30a1-\u30ff", "\u3041-\u309f", "\u4e00-\u9fff", "\uac00-\ud7af",
)  # fmt: skip
_GLUING = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]")


def _own_script(label: str) -> str:
    """A pattern of a label that is no part of a word in its own alphabet.

    A Korean label may have the copula behind it.
    """
    pattern = re.escape(label)
    for letters in _ALPHABETS:
        if re.fullmatch(f"[{letters}]+", label):
            return rf"(?<![{letters}]){pattern}(?:(?![{letters}])|(?=입니다|이다|이에요|예요))"
    return pattern


def _whole_words(text: str) -> str:
    """A pattern of an option's text that is no part of a longer word, where words have ends."""
    pattern = r"\s+".join(map(re.escape, text.split()))
    # No other alphabet's letters are part of a number: "答案是6".
    word = "A-Za-z0-9_" if text[0].isdecimal() else r"\w"
    before = "" if _GLUING.match(text[0]) else rf"(?<![{word}])(?<!\d[.,:])"
    after = "" if _GLUING.match(text[-1]) else r"(?![\w\u0900-\u0963]|[-'’]\w|[.,:]\d)"
    return before + pattern + after


@lru_cache(maxsize=4096)
def _grammar(options: tuple[tuple[str, str], ...]) -> Grammar:
    return Grammar(dict(options))


def grammar_of(options: Mapping[str, str]) -> Grammar:
    """The grammar of one question's options; made once."""
    return _grammar(tuple(options.items()))


def _line_before(text: str, start: int) -> str:
    return text[text.rfind("\n", 0, start) + 1 : start].lstrip()


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
