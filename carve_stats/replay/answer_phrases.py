"""The words and marks by which replies name an option, deny it, or leave it open.

English and Chinese, and what `answer_languages` has, as regular expressions that `answer_grammar`
puts together. Every repetition is bounded, or is over one class of characters, so that they
take linear time.
"""

from __future__ import annotations

import re

from carve_stats.replay import answer_languages as languages

# Simplified Chinese is written here; the traditional characters are the same words.
_TRADITIONAL = {
    ord(simplified): f"[{simplified}{traditional}]"
    for simplified, traditional in zip(
        "选项应该确错误无断终为认觉对还说择", "選項應該確錯誤無斷終為認覺對還說擇", strict=True
    )
}


def _chinese(pattern: str) -> str:
    return pattern.translate(_TRADITIONAL)


def _compile(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(_chinese(pattern), flags)


# Letters of other scripts do not glue to a label: in "答案是C" the C stands alone.
NOT_IN_WORD = r"(?<![A-Za-z0-9_])"
# Bounded, so that a reply of nothing but marks is read in linear time.
OPEN = r"[(\[{<\"'“‘«*_`$「【《\\]{0,8}"
CLOSE_MARK = r"[)\]}>\"'”’»*_`$」】》]"
CLOSE = rf"{CLOSE_MARK}{{0,8}}"
LABEL_END = r"(?![A-Za-z0-9_]|[-'’][A-Za-z]|[.,:]\d|\.[A-Za-z]\b)"
# Chinese characters, kana and Hangul.
GLUED = r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
YES_MARKS = r"[✅✔☑✓👍🎯💯]"
NO_MARKS = r"[❌✗✘✖🚫⛔👎❎]"
REACTION = rf"(?:{YES_MARKS}|[🎉👈🙂😀😊])"
A_THING = _compile(r"(?:a|an|the)\s+\w+(?:\s+\w+)?\s*(?:[.,;!\n]|$)", re.IGNORECASE)
UNSURE = re.compile(rf"{NO_MARKS}|[❓❔🤔🤷]")
MINUS = re.compile(r"\s*[-–−]\d")
# What may follow a label that could as well be a word or a number: "a", "A", "I", "3".
DELIMITED = _compile(
    rf"\s*(?:$|[.,;:!?)\]\n/&+|。，、；：！？）।،؛؟]|[-–—]{{1,2}}\s|=|→|{GLUED}|{REACTION})"
    rf"|\s+(?:{languages.BECAUSE}|(?:{languages.JOINTS})\s)|\s*{languages.COPULA_AFTER}"
    r"|\s+(?:because|since|as|for|due|based|given|which|and|or|but|not|is|are|was|were|with"
    r"|where|from|would|can|cannot|could|seems?|instead|rather|option|choice)\b"
    r"|\s+over\s+(?:option\s+)?[(\[*]{0,3}(?-i:[A-Z]|\d{1,2})(?![\w'’])",
    re.IGNORECASE,
)
ADVERBS = r"(?:(?:\w+ly|also|both|all|just|quite|very|too|far|simply|most)\s+){0,2}"
NEGATED_AFTER = _compile(
    r"\s*(?:option|choice|选项)?\s*(?:"
    r"(?:(?:is|are|was|were|can|could|does|do|did|would|should|must|may|seems?|looks?|appears?)\b"
    rf"\s*(?:to\s+be\s+|be\s+)?{ADVERBS}(?:not\b|n['’]t\b|ruled|excluded|eliminated|dismissed"
    r"|discarded|rejected|wrong\b|incorrect|false\b|out\b|impossible|unlikely|implausible"
    r"|irrelevant|contradicted|unsupported|hardly))"
    r"|(?:cannot|can['’]t|isn['’]t|aren['’]t|wasn['’]t|doesn['’]t|don['’]t|won['’]t|didn['’]t)\b"
    r"|(?:是|也|都|可以|可|就){0,4}(?:不|错|排除|被排除|无法|没有)"
    r"|[-–—:(]\s*(?:wrong|incorrect|false|out|excluded|eliminated|(?:no|not)(?=\s*(?:[.,;)\n]|$)))\b"
    rf"|{NO_MARKS}|{languages.DENIED_AFTER})",
    re.IGNORECASE,
)
NEGATED_BEFORE = _compile(
    r"(?:\bnot|n['’]t|\bnever|\bneither|\bnor|\bcannot|\brather\s+than|\binstead\s+of|\bexcept"
    r"|\bimpossible|\b(?:wrong|incorrect|mistaken?)\s+to|\bhardly|\bfar\s+from"
    r"|\bno\s+(?:way|evidence|indication|sign|reason|proof|chance)|\b(?:nobody|no\s+one)(?!\s+would\s+(?:disagree|deny|doubt))"
    rf"|\bnicht|\bkein\w*|{languages.DENIED_BEFORE}|\banything\s+but"
    r"|\b(?:false|untrue|incorrect|wrong)\s+that"
    r"|\bexclud\w+|\beliminat\w+|\brul(?:e|es|ed|ing)\s+out|\breject\w*|\bdismiss\w*|\bunlikely"
    r"|(?<!\bno )(?<!without )\bdoubt\w*)\s+"
    r"(?:(?!(?:but|so|however|hence|thus|therefore|because|and|only|since)\b)[\w'’]+\s+){0,4}"
    rf"{OPEN}$|(?:不是|不选|不应选|不能选|不会选|不该选|并非|排除|不认为)(?:选项|答案是?)?$|(?:不|不应|不能|不该)$",
    re.IGNORECASE,
)
SUPPOSED_BEFORE = _compile(
    r"\b(?:if|whether|suppose|supposing|assuming|assume|unless|were|had)\s+"
    rf"(?:(?:that|the|only|option|choice|correct|right|final|best)\s+){{0,3}}{OPEN}$"
    r"|(?:如果|假如|若|是否)(?:选项|正确)?$",
    re.IGNORECASE,
)
NUMBERED_THINGS = _compile(
    r"\b(?:vitamin|plan|type|group|team|gate|grade|class|section|hepatitis|figure|camera)\s+$",
    re.IGNORECASE,
)
SENTENCE_END = _compile(
    rf"{CLOSE}(?:\s+then\b)?\s*(?:{languages.COPULA_AFTER}\s*)?(?:[.!。！;；।]|$|\n|{REACTION})"
)
# What may follow the label or the text of an answer. After "the answer is C", a verb or a noun
# says that C is a name, or the beginning of one: "C would need a bicycle", "B roll footage".
ANSWER_ENDS = _compile(
    rf"{CLOSE}\s*(?:$|[.,;!)\]\n/&+|。，、；！）(:：।،؛]|[-–—]{{1,2}}[\s>]|=|→|{GLUED}|{REACTION})"
    rf"|{CLOSE}\s+(?:{languages.BECAUSE}|(?:{languages.JOINTS})\s)|{CLOSE}\s*{languages.COPULA_AFTER}"
    rf"|{CLOSE}\s+(?:because|since|as|for|due|based|given|which|and|or|but|not|with|where|from"
    r"|instead|rather|over|option|choice|here|then|too|after|in\s+(?:this|the|all|total)|altogether|on\s+the"
    r"|according|however|although|though|while|so)\b",
    re.IGNORECASE,
)
QUESTIONED = _compile(r"[^.!?\n。！？;；(।]{0,120}[?？؟]|(?:です|でしょう|ます)?か(?:。|$)")
NOUN = (
    r"(?:option|opción|choice|letter|answer|number|index|no\.(?=\s?\d)|#(?=\d)|选项|選項"
    rf"|{languages.NOUNS})"
)
LIKELY = (
    r"(?:,?\s*I\s+(?:think|believe|guess)\b,?|most\s+likely|likely|probably|clearly|definitely"
    r"|therefore|thus|indeed|actually)"
)

# Tried first, since most places are within a word of ASCII.
AT_A_WORD = r"(?:\b(?=\w)|(?=[^\x00-\x7f]))"

CUES = _compile(
    rf"{AT_A_WORD}(?:"
    # "the answer is", "my best choice would be", "the correct option: "
    r"\b(?:answer|option|choice|guess|pick|selection|conclusion)\s+(?:\w+\s+)?"
    rf"(?:to\s+be|is|was|must\s+be|should\s+be|would\s+be|will\s+be|might\s+be|may\s+be|could\s+be"
    rf"|has\s+to\s+be|seems\s+to\s+be|appears\s+to\s+be|remains)\s*{LIKELY}?\s*:?"
    # "the best match is", "the correct one must be", "the most likely is"
    r"|\b(?:(?:correct|right|best|closest|strongest)\s+(?:one|match|fit|description|explanation|statement|summary|caption)"
    r"|most\s+(?:likely|probable|plausible|appropriate|accurate|suitable|fitting)(?:\s+(?:one|match|description|explanation|statement))?)"
    rf"\s+(?:is|must\s+be|has\s+to\s+be|would\s+be|should\s+be|seems\s+to\s+be)\s*{LIKELY}?\s*:?"
    r"|\banswer\s*(?:=|->|→)"
    # "so answer B", "I answer B"
    r"|\banswer(?:ing)?\s+(?:with\s+)?(?=(?:option\s+|choice\s+)?[(\[*\"'“]*[A-Za-z0-9]{1,2}\b)"
    # "I would choose", "we select", "let's go with"
    r"|\b(?:choose|chose|choosing|select|selected|selecting|pick|picked|picking|prefer|go\s+with"
    r"|going\s+with|went\s+with|opt\s+for|settle\s+on|lean(?:s|ing)?(?:\s+towards?)?|vote(?:\s+for)?|locking\s+in|say|guess)\s*:?"
    r"|\b(?:final|my|best|correct)\s+(?:choice|option|guess|selection|pick)\s*[:–—-]"
    # "it is", "it must be"
    r"|\b(?:it|this|that)(?:['’]s|\s+is|\s+must\s+be|\s+has\s+to\s+be|\s+should\s+be"
    rf"|\s+would\s+be)\s+{LIKELY}?"
    r"|\bnot\s+(?:option\s+)?[(\[*]*[A-Za-z0-9]{1,2}[)\]*]*\s*,?\s*(?:but|rather)(?:\s+rather)?\b"
    r"|(?:答案|正确选项|正确的选项|正确的是|最佳(?:选项|答案)|最合适的(?:选项|答案)?)(?:应该|应当|应|就|可能|显然|最可能)?(?:是|为|选(?!项)|:)*"
    r"|(?:应该|应当|应|故|所以|因此|我)?选(?!项)(?:择|的是|的)?(?:是|为|:)?"
    r"|(?:应该|应当)是(?=[(\s]{0,2}[A-Z0-9])"
    r"|\bI\s+now\s+(?:think|believe)\b|而是|只剩下?|(?:认为|觉得)(?:应该)?是"
    r"|\b(?:I\s+(?:actually\s+)?mean[t]?|chang(?:e|ed|ing)\s+(?:(?:it|that|this|my\s+answer)\s+)?to)\b\s*:?"
    r"|\bthe\s+(?:only\s+)?(?:one|option|choice)\s+that\s+(?:matches|fits)(?:\s+\w+){0,2}\s+is\b"
    rf"|{languages.CUES}"
    r")",
    re.IGNORECASE,
)
# "hence B": only where the sentence ends there, since much else may follow these words.
CONCLUSIONS = _compile(
    rf"(?:{AT_A_WORD}|(?=[=⇒→]))(?:"
    r"(?:\b(?:hence|therefore|thus|so|consequently|(?:leaving|leaves)(?:\s+(?:us|me|only|just|with)){0,3}"
    r"|(?:eliminat|exclud|ruling|ruled)[^.!?;\n]{0,80}?\s(?:gives|yields)(?:\s+(?:us|only))?|(?:hmm|wait|oh|well)[,.…]{0,3}\s*actually)\b"
    r"|\b(?:based\s+on|according\s+to|judging\s+by|from|given)\s+(?:the|this|these|what)(?:\s+\w+){1,4}(?=\s*,)|\bif\s+(?:pressed|forced|pushed)(?=\s*,)|=>|⇒|→"
    rf"|{languages.CONCLUSIONS}"
    r"|所以|因此|故"
    r"|\b(?:probably|most\s+likely|scratch\s+that|no(?=\s*,)|edit|correction|oops|sondern|sino"
    r"|on\s+(?:closer|second|further)\s+(?:look|inspection|thoughts?))\b"
    r"|(?<!anything )(?<!all )(?<!none )(?<!nothing )(?<!everything )(?<!options )"
    r"(?<!answer )(?<!option )(?<!choice )\bbut\b)"
    r"\s*[,:，]?\s*(?:only\s+|rather\s+)?"
    r")",
    re.IGNORECASE,
)
PREDICATE = _chinese(
    r"(?:(?i:\s+(?:option\s+|choice\s+)?(?:is|are|was|seems|appears|looks|remains|must\s+be"
    r"|has\s+to\s+be|would\s+be|should\s+be)\s+(?:to\s+be\s+)?"
    rf"(?:{LIKELY}\s+|both\s+)?(?:the\s+|my\s+)?(?:only\s+|most\s+|more\s+|best\s+|final\s+|one\s+){{0,3}}"
    r"(?:correct|right(?!\s+(?:there|here|after|before|next|behind|beside|in|on|at|now|hand|side))"
    r"|(?:answer|choice|option)\b|accurate|appropriate|true\b|best\b|better(?=\s*(?:[.,;!]|$))|plausible|likely\b)"
    r"|\s+it\s+is\b|\s+(?:best\s+(?:fits|matches)|(?:fits|matches)(?:\s+\w+)?\s+best)\b)"
    r"|\s+is\s+what\s+I(?:['’]d|\s+would)\s+(?:choose|pick|say|go\s+with|select)\b"
    rf"|{languages.PREDICATES}"
    r"|(?:选项)?(?:是|为|最)?(?:正确|对的|最符合|对(?=[。,，.;；!]|$)))"
)
PRONOUN = _compile(r"\s+(?:would|can|cannot|could|was|were|do|am|seem)\b", re.IGNORECASE)
HESITATION = _compile(
    r"\s*(?:seems?|looks?|appears?|might|may|could|no\b|not\b|wrong|incorrect|out\b)", re.IGNORECASE
)
LIST_JOINT = _compile(
    r"\s*(?P<mark>[,/&+|、;])?\s*(?P<word>(?:and\s*/\s*or|and|or)(?![a-z])|和|或者|或|及|"
    rf"{languages.JOINTS})?(?:\s+(?:maybe|perhaps|possibly|even)\b)?\s*",
    re.IGNORECASE,
)
ASKED_FOR = _compile(rf"{CLOSE}\s?:\s{{0,4}}")
EITHER = _compile(r"\b(?:either|between|both)\s+$|(?:或者|可能是|要么)$", re.IGNORECASE)
OR = _compile(rf"\bor\b|或|/|{languages.JOINTS}", re.IGNORECASE)
SEVERAL_FOLLOW = _compile(r"\s*(?:either|both|between|still|clearly)\s+", re.IGNORECASE)
CLAUSE_FOLLOWS = _compile(r"\s+(?:is|was|seems?|looks?|would|has|shows?)\b", re.IGNORECASE)
SPACE = _compile(r"\s*")
OPENING = _compile(rf"\s*{OPEN}")
# The marks between a label and what belongs to it: "C. A bicycle", "**C** - a bicycle".
SET_OFF = _compile(r"[\s.:,)\]*_\-–—(\"'“`=]{0,12}")

# --- what is said but not meant -----------------------------------------------------------------

# Where a sentence turns, what was supposed before it no longer holds.
TURN = _compile(
    r"\b(?:but|however|yet|so|therefore|thus|hence|whereas)\b|但|所以|因此|然而", re.IGNORECASE
)
SPEAKER = _compile(r"\b(?:I|[Ww]e|[Mm]y|[Oo]ur|[Mm]ine)\b|我")
HYPOTHETICAL = _compile(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|imagine|otherwise|provided\s+that)\b"
    r"(?!\s+(?:(?:I|we)(?:['’]m|['’]ve|\s+(?:had|have|must|am|were|was|are)\b(?!\s+not))|forced|pressed|pushed"
    r"|asked\s+to|required|anything))|^\s*(?:had|were|should)\b|如果|假如|倘若|若|否则|\b(?:wenn|falls)\b"
    rf"|{languages.SUPPOSED}",
    re.IGNORECASE,
)
OTHERS = _compile(
    r"(?:\b(?:students?|speakers?|narrators?|users?|people|someone|somebody|anyone|some|others"
    r"|viewers?|signs?|hosts?|voices?|texts?|critics?|annotators?|teachers?|friends?|subtitles?|captions?|you|they|he|she"
    r"|one\s+(?:might|may|could|would|can))\b.{0,60}?\b(?:say|says|said|think|thinks|thought"
    r"|claims?|claimed|argues?|argued|believes?|suggests?|suggested|reads?|asks?|asked|jokes?|tempted"
    r"|guess|guesses|chose|chooses?|picks?|picked|selects?|assumes?|concludes?))\b"
    r"|(?:有人|有些人|大家|别人|他们|他|她)(?:认为|说|觉得)"
    rf"|{languages.OTHERS}",
    re.IGNORECASE | re.DOTALL,
)
# What somebody does: only the one who replies answers by it.
DEED = _compile(
    r"(?:choos|chose|select|pick|prefer|go\b|going|went|opt\b|settle|vote|say\b|guess\b\s*:?$)",
    re.IGNORECASE,
)
ADDRESSED = _compile(r"\blet\b|\blet['’]s\b|\bplease\b", re.IGNORECASE)
POINTED_AT = _compile(r"(?:it|this|that)\b", re.IGNORECASE)
AT_FIRST = _compile(
    r"\bat\s+first\b|\bI\s+(?:had\s+|have\s+)?thought\b|\b(?:was|were)\s+going\s+to\b|\b(?:almost|nearly|(?:would|should)\s+have)\b"
    r"|\b(?:used|want|wanted|refuse|hesitate)\s+to\b|\btempting\b|\binitially\b|\boriginally\b|\bfirst\s+(?:thought|guess)|起初|最初|一开始|乍看",
    re.IGNORECASE,
)
# "the wrong answer is", "second-best answer:"
INFERIOR = _compile(
    r"(?:\b(?:wrong|incorrect|false|bad|worse|worst|poor|least|less|unlikely|improbable|implausible"
    r"|previous|earlier|initial|original|former|prior|first|old|obvious|expected|intuitive"
    r"|tempting|common|popular|naive|usual|alternative|alternate|second|second[- ]best|runner[- ]up"
    r"|other|another|(?<!only )possible|candidate|example|sample|reference|ground[- ]truth|falsche"
    r"|(?:user|student|speaker|narrator|teacher|annotator|assistant|model|viewer)s?['’]s?)"
    rf"|{languages.INFERIOR}|错误|之前的?|其他)\s*(?:(?<=\s)[\w-]+\s+)?$",
    re.IGNORECASE,
)
# "Eliminated: B" is a label behind a colon and no answer.
NO_ANSWER_KEY = _compile(
    r"\b(?:wrong|incorrect|false|not|never|eliminated?|removed?|rejected|ruled|excluded?"
    r"|discarded|dismissed|second|alternatives?|runner[- ]up|other|worst|least|less|unlikely"
    r"|impossible|initial|initially|first|previous|earlier|old|confidence|grade|score|truth|reference|gold"
    r"|example|question|sample|user|student|type|plan|level|frames?|clip|camera|segment|scene|part|step)\b"
    r"[^:：]{0,40}[:：]\s*$|(?:错误|排除|不选)[^:：]{0,40}[:：]\s*$"
    rf"|{languages.INFERIOR}[^:：]{{0,40}}[:：]\s*$",
    re.IGNORECASE,
)
HEDGED_AFTER = _compile(
    rf"{CLOSE}\s*,?\s*(?:(?:only\s+)?(?:if|unless)\b(?!\s+(?:I|anything|forced))|at\s+first\b"
    rf"|{languages.HEDGED_AFTER}"
    r"|I\s+(?:first|initially|originally)\s+thought|(?:if|when|were|was)\b"
    r"|(?:to|for|in)\s+(?:a\s+|the\s+)?(?:different|another|other|similar)\b)",
    re.IGNORECASE,
)
IF_AFTER = _compile(r"[^.;!?\n]{0,120}\b(?:if|unless|had)\b", re.IGNORECASE)
# "Which is wrong? A."
WRONG_ASKED = _compile(
    r"\b(?:wrong|incorrect|false|untrue|unlikely|implausible|impossible|worst|least|eliminated?|excluded?|ruled\s+out"
    r"|rejected|discarded)\b[^.!?\n]{0,60}\?\s*$",
    re.IGNORECASE,
)
AS_AN_EXAMPLE = _compile(
    r"(?:\b(?:format|example|template|such\s+as|form)\b|\be\.g\.)[^.\n]{0,30}$", re.IGNORECASE
)
# Begins a clause that takes back what was said before it.
TAKEN_BACK = _compile(
    r"(?:^|[.!?;,(\n–—-])\s*(?:(?:but|and|oh|hmm|uh|er|ok|okay|well)\b[,.]?\s*)?"
    r"(?:no,\s|no\s*[-–—]|no\s+wait|wait\b(?!\s+(?:for|until)\b)|actually,|oops|scratch\s+that|just\s+kidding|my\s+mistake|hold\s+on|edit:|correction\b"
    r"|sorry,\s*(?:I|no|that|it)\b|on\s+(?:closer|second|further|reflection)\b"
    r"|let\s+me\s+(?:re|double)|I\s+(?:now\b|(?:first|initially|originally)\s+thought|mis(?:read|took|saw|understood)"
    r"|meant|doubt|retract|take\s+(?:that|it)\s+back|was\s+wrong|stand\s+corrected|made\s+a\s+mistake"
    r"|changed?\s+my\s+mind)|不对|更正|不,)",
    re.IGNORECASE,
)
TAKEN_BACK_AT_ONCE = _compile(
    r"[^\n.;!?]{0,40}[.;!?,\s–—-]\s*(?:(?:but|no,|hmm,)\s+)?(?:that|this|it)(?:\s+(?:can['’]t|cannot"
    r"|doesn['’]t|does\s+not|isn['’]t)\b|(?:['’]s|\s+is|\s+was)\s+"
    r"(?:wrong|incorrect|false|a\s+mistake|not(?:\s+(?:right|correct|true|it))?\s*(?:[.!,;\n]|$)))",
    re.IGNORECASE,
)

# --- a reply that is the text of an option ------------------------------------------------------

# "I think it is a bicycle": what may stand before the text in the sentence that gives it.
FRAME = _compile(
    r"(?:(?:so|thus|therefore|hence|ok|okay|well|clearly|not\s+sure|it\s+is\s+unclear)\b[,:]?\s*)?"
    r"(?:(?:I\s+(?:think|believe|guess|suppose)|I(?:['’]d|\s+would)\s+say)(?:\s+that)?[,:]?\s+)?"
    r"(?:(?:it|this|that|he|she)(?:['’]s|\s+(?:is|was|shows|must\s+be|could\s+be|seems\s+to\s+be|may\s+be))?\s+)?"
    rf"(?:(?:the\s+)?(?:statement|claim)\s+is\s+|it\s+(?:happens|happened|occurs|occurred)\s+|{languages.FRAMES})?"
    r"(?:(?:maybe|probably|perhaps|likely|most\s+likely|clearly|definitely)\s+)?(?:(?:a|an|the)\s+)?"
    r"|(?:这|那|它|我认为|我觉得)?(?:应该|可能|就)?是?",
    re.IGNORECASE,
)
FRAME_END = _compile(
    rf"{CLOSE}(?:\s*{languages.COPULA_AFTER})?(?:\s+from\s+the\s+(?:video|frames|images?|clip)s?)?[.!。！।\s]{{0,6}}",
    re.IGNORECASE,
)
CONTRAST = _compile(
    r"\b(?:but|however|although|though|unclear|not\s+sure|unsure)\b|但|不过", re.IGNORECASE
)
SENTENCES = _compile(r"[.!?;\n。！？；।؟]\s*")
REFUSAL = _compile(
    r"\bI['’]?m\s+(?:sorry|afraid)\b|\b(?:apologi[sz]e|as an ai\b)|\b(?:unable|not able)\s+to\b"
    r"|\b(?:cannot|can['’]t|can not|could not|couldn['’]t)\s+(?:be\s+)?(?:\w+ly\s+)?"
    r"(?:determine|answer|see|tell|identify|assist|help|provide|view|access|say|verify|know|decide)"
    r"|\b(?:insufficient|not\s+enough)\s+(?:information|evidence|context|detail)"
    r"|\b(?:I|we)\s+(?:do\s+not|don['’]t)\s+have\s+(?:enough|sufficient|access)\b"
    r"|\bno\s+way\s+(?:to|of)\s+(?:tell|know)|\bdo(?:n['’]t| not)\s+know\b"
    r"|\bimpossible\s+to\s+(?:say|tell|know|determine|answer)\b"
    r"|无法(?:确定|判断|回答|得知|看出|观看)|抱歉|对不起|不能(?:确定|判断|回答)|不知道"
    rf"{languages.REFUSALS}",
    re.IGNORECASE,
)
