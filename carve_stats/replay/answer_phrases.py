"""The words and marks by which replies name an option, deny it, or leave it open.

English and Chinese, as regular expressions. `answer_grammar` puts them together.
"""

from __future__ import annotations

import re

# Letters of other scripts do not glue to a label: in "答案是C" the C stands alone.
NOT_IN_WORD = r"(?<![A-Za-z0-9_])"
# Bounded, so that a reply of nothing but marks is read in linear time.
OPEN = r"[(\[{<\"'“‘*_`$「【《\\]{0,8}"
CLOSE_MARK = r"[)\]}>\"'”’*_`$」】》]"
CLOSE = rf"{CLOSE_MARK}{{0,8}}"
LABEL_END = r"(?![A-Za-z0-9_]|[-'’][A-Za-z]|[.,:]\d|\.[A-Za-z]\b)"
# What may follow a label that could as well be a word or a number: "a", "A", "I", "3".
DELIMITED = re.compile(
    r"\s*(?:$|[.,;:!?)\]\n/&+|。，、；：！？）]|[-–—]{1,2}\s|=|→|[\u4e00-\u9fff])"
    r"|\s+(?:because|since|as|for|due|based|given|which|and|or|but|not|is|are|was|were|with"
    r"|where|from|would|can|cannot|could|seems?|instead|rather|option|choice)\b",
    re.IGNORECASE,
)
ADVERBS = r"(?:(?:\w+ly|also|both|all|just|quite|very|too|far|simply|most)\s+){0,2}"
NEGATED_AFTER = re.compile(
    r"\s*(?:option|choice|选项)?\s*(?:"
    r"(?:(?:is|are|was|were|can|could|does|do|did|would|should|must|may|seems?|looks?|appears?)\b"
    rf"\s*(?:to\s+be\s+|be\s+)?{ADVERBS}(?:not\b|n['’]t\b|ruled|excluded|eliminated|dismissed"
    r"|discarded|rejected|wrong\b|incorrect|false\b|out\b|impossible|unlikely|implausible"
    r"|irrelevant|contradicted|unsupported|hardly))"
    r"|(?:cannot|can['’]t|isn['’]t|aren['’]t|wasn['’]t|doesn['’]t|don['’]t|won['’]t|didn['’]t)\b"
    r"|(?:是|也|都|可以|可|就)*(?:不|错|排除|被排除|无法|没有)"
    r")",
    re.IGNORECASE,
)
NEGATED_BEFORE = re.compile(
    r"(?:\bnot|n['’]t|\bnever|\bneither|\bnor|\bcannot|\brather\s+than|\binstead\s+of|\bexcept"
    r"|\bexclud\w+|\beliminat\w+|\brul(?:e|es|ed|ing)\s+out|\breject\w*|\bdismiss\w*|\bunlikely"
    r"|(?<!\bno )(?<!without )\bdoubt\w*)\s+"
    r"(?:(?!(?:but|so|however|hence|thus|therefore|because|and|only|since)\b)[\w'’]+\s+){0,4}"
    rf"{OPEN}$|(?:不是|不选|不应选|不能选|不会选|不该选|并非|排除|不认为)(?:选项|答案是?)?$|(?:不|不应|不能|不该)$",
    re.IGNORECASE,
)
SUPPOSED_BEFORE = re.compile(
    r"\b(?:if|whether|suppose|supposing|assuming|assume|unless|were|had)\s+"
    rf"(?:(?:that|the|only|option|choice|correct|right|final|best)\s+){{0,3}}{OPEN}$"
    r"|(?:如果|假如|若|是否)(?:选项|正确)?$",
    re.IGNORECASE,
)
NUMBERED_THINGS = re.compile(
    r"\b(?:vitamin|plan|type|group|team|gate|grade|class|section|hepatitis|figure|camera)\s+$",
    re.IGNORECASE,
)
SENTENCE_END = re.compile(rf"{CLOSE}\s*(?:[.!?。！？;；]|$|\n)")
NOUN = r"(?:option|choice|letter|answer|number|选项)"
LIKELY = r"(?:most\s+likely|likely|probably|clearly|definitely|therefore|thus|indeed|actually)"

CUES = re.compile(
    # "the answer is", "my best choice would be", "the correct option: "
    r"\b(?:answer|option|choice|guess|pick|selection|conclusion)\s+(?:\w+\s+)?"
    rf"(?:to\s+be|is|was|must\s+be|should\s+be|would\s+be|will\s+be|might\s+be|may\s+be|could\s+be"
    rf"|has\s+to\s+be|seems\s+to\s+be|appears\s+to\s+be|remains)\s*{LIKELY}?\s*:?"
    r"|\banswer\s*(?:=|->|→)"
    # "so answer B", "I answer B"
    r"|\banswer(?:ing)?\s+(?:with\s+)?(?=(?:option\s+|choice\s+)?[(\[*\"'“]*[A-Za-z0-9]{1,2}\b)"
    # "I would choose", "we select", "let's go with"
    r"|\b(?:choose|chose|choosing|select|selected|selecting|pick|picked|picking|go\s+with"
    r"|going\s+with|went\s+with|opt\s+for|settle\s+on|vote\s+for|say|guess)\s*:?"
    r"|\b(?:final|my|best|correct)\s+(?:choice|option|guess|selection|pick)\s*[:–—-]"
    # "it is", "it must be"
    r"|\b(?:it|this|that)(?:['’]s|\s+is|\s+must\s+be|\s+has\s+to\s+be|\s+should\s+be"
    rf"|\s+would\s+be)\s+{LIKELY}?"
    r"|\bnot\s+(?:option\s+)?[(\[*]*[A-Za-z0-9]{1,2}[)\]*]*\s*,?\s*(?:but|rather)(?:\s+rather)?\b"
    r"|(?:答案|正确选项|正确的选项|正确的是)(?:应该|应当|应|就|可能|显然|最可能)?(?:是|为|选|:)*"
    r"|(?:应该|应当|应|故|所以|因此|我)?选(?!项)(?:择|的是|的)?(?:是|为|:)?"
    r"|而是",
    re.IGNORECASE,
)
# "hence B": only where the sentence ends there, since much else may follow these words.
CONCLUSIONS = re.compile(
    r"(?:\b(?:hence|therefore|thus|so|consequently|leaving|leaves)\b|=>|⇒|→|所以|因此|故)"
    r"\s*[,:，]?\s*(?:only\s+)?",
    re.IGNORECASE,
)
PREDICATE = (
    r"(?:(?i:\s+(?:option\s+|choice\s+)?(?:is|are|was|seems|appears|looks|remains|must\s+be"
    r"|has\s+to\s+be|would\s+be|should\s+be)\s+(?:to\s+be\s+)?"
    rf"(?:{LIKELY}\s+|both\s+)?(?:the\s+)?(?:only\s+|most\s+|best\s+|final\s+|one\s+)*"
    r"(?:correct|right(?!\s+(?:there|here|after|before|next|behind|beside|in|on|at|now|hand|side))"
    r"|(?:answer|choice|option)\b|accurate|appropriate|true\b|best\b|plausible|likely\b)"
    r"|\s+(?:best\s+(?:fits|matches)|(?:fits|matches)(?:\s+\w+)?\s+best)\b)"
    r"|(?:选项)?(?:是|为|最)?(?:正确|对的|最符合))"
)
PRONOUN = re.compile(r"\s+(?:would|can|cannot|could|was|were|do|am|seem)\b", re.IGNORECASE)
HESITATION = re.compile(
    r"\s*(?:seems?|looks?|appears?|might|may|could|no\b|not\b|wrong|incorrect|out\b)", re.IGNORECASE
)
LIST_JOINT = re.compile(
    r"\s*(?P<mark>[,/&+|、;])?\s*(?P<word>(?:and\s*/\s*or|and|or)(?![a-z])|和|或者|或|及)?\s*",
    re.IGNORECASE,
)
EITHER = re.compile(r"\b(?:either|between|both)\s+$|(?:或者|可能是|要么)$", re.IGNORECASE)
SEVERAL_FOLLOW = re.compile(r"\s*(?:either|both|between|still|clearly)\s+", re.IGNORECASE)
CLAUSE_FOLLOWS = re.compile(r"\s+(?:is|was|seems?|looks?|would|has|shows?)\b", re.IGNORECASE)
SPACE = re.compile(r"\s*")
OPENING = re.compile(rf"\s*{OPEN}")
# The marks between a label and what belongs to it: "C. A bicycle", "**C** - a bicycle".
SET_OFF = re.compile(r"[\s.:,)\]*_\-–—(\"'“`=]*")
