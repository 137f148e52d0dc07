"""The words of other languages by which replies name an option, deny it, or refuse to answer.

Spanish, Portuguese, French, Italian, German, Russian, Arabic, Hindi, Japanese and Korean.
`answer_phrases` joins them to the English and Chinese ones. Where a language glues its words,
or `re` does not know its letters, there is no word boundary; every repetition is bounded.
"""

from __future__ import annotations

__all__ = [
    "BECAUSE",
    "CONCLUSIONS",
    "COPULA_AFTER",
    "CUES",
    "DENIED_AFTER",
    "DENIED_BEFORE",
    "FRAMES",
    "HEDGED_AFTER",
    "INFERIOR",
    "JOINTS",
    "MARKERS",
    "NOUNS",
    "OTHERS",
    "PREDICATES",
    "REFUSALS",
    "SUPPOSED",
]

_LA = (
    r"(?:(?:la|el|le|l['’]|a|o|il|die)\s*"
    r"(?=[\s(\[*\"'“]|opci|option|opz|opç|letra|lettre|letter|alternativa))?"
)
_NOUN = r"(?:\s*(?:opción|opção|option|opzione|letra|lettre|lettera|alternativa|literal)\b)?"
_RIGHT = (
    r"(?:correcta|correcte|correta|certa|corretta|giusta|final|finale|definitiva|bonne|juste|buena"
    r"|adecuada|(?:más|mais|più|(?:la\s+)?plus)\s+\w{1,20})"
)
_ROMANCE_ANSWER = (
    rf"(?:respuesta|réponse|resposta|risposta|opción|opção|opzione|alternativa)(?:\s+{_RIGHT})?"
)

NOUNS = r"opção|opzione|alternativa|letra|lettre|lettera|вариант|विकल्प|選択肢|선택지|الخيار"
MARKERS = (
    r"(?<!\w)(?:respuesta|réponse|resposta|risposta|antwort|lösung|ответ|вариант|الإجابة|الاجابة|الجواب)"
    r"(?:\s+(?:correcta|final|correcte|finale|correta|corretta|الصحيحة|الصحيح|النهائية))?"
    r"|उत्तर|(?<![不誤])(?:答え|正解|回答|解答|正答)|(?<!오)(?:정답|답변|답)"
)
"""Words before a colon and the answer."""

CUES = (
    rf"\b{_ROMANCE_ANSWER}\s+(?:es|est|é|è|sería|seria|serait|sarebbe|debe\s+ser|deve\s+ser|doit\s+être)\b\s*:?\s*{_LA}{_NOUN}"
    rf"|\b(?:elijo|escojo|escolho|scelgo|choisis|seleccion[eo]|sélectionne)\s+{_LA}{_NOUN}"
    r"|\b(?:antwort|lösung|option)\s+(?:ist|lautet|wäre)\s*:?|\bist\s+die\s+(?:richtige\s+)?(?:antwort|lösung)\s*:?|\bwähle\b(?:\s+(?:die\s+)?(?:antwort|option)\b)?"
    rf"|\b(?:me\s+inclino|voto)\s+por\s+{_LA}{_NOUN}"
    rf"|\b(?:acho|creo|credo|penso|pienso)\s+que\s+(?:é|es|è)\s+{_LA}{_NOUN}"
    # "no es A sino C": the label that is denied is read over
    rf"|\b(?:no\s+es|não\s+é|non\s+è|pas|nicht|не)\s+{_LA}{_NOUN}\s*[(\[*]{{0,3}}\w{{1,2}}[)\]*]{{0,3}}\s*,?\s*"
    rf"(?:sino|mas(?:\s+sim)?|ma|bensì|mais|sondern|а)\s+{_LA}"
    r"|\bответ\s*(?:[—–-]|это|будет)?\s*(?=[(\[*\"«]{0,3}\w{1,2}(?!\w))|\bвариант\s*[—–-]"
    r"|\bвыбираю\s+(?:вариант|ответ)?"
    r"|(?:الإجابة|الاجابة|الجواب|الخيار)(?:\s+(?:الصحيحة|الصحيح|النهائية|الأصح))?\s*(?:هي|هو)\s*(?:الخيار)?"
    r"|[أا]ختار\s+(?:الخيار)?"
    r"|(?:सही\s+)?(?:उत्तर|जवाब|विकल्प)\s+(?:है\s+)?(?:विकल्प\s+)?"
    r"|(?<![不誤])(?:答え|正解|回答|解答|正答|正しい(?:選択肢|答え|もの)|(?:最も)?適切な(?:選択肢|答え|もの))"
    r"(?:は|が|としては)(?:選択肢)?|(?:では|じゃ)なく(?:て)?、?"
    r"|(?<!오)(?:정답|답변|답)(?:은|이)\s*(?:선택지\s*)?|(?:이|가)\s*아니라\s*"
)
"""What an answer follows."""

CONCLUSIONS = (
    r"\b(?:donc|somit|daher|portanto|quindi|entonces|por\s+(?:lo\s+)?tanto|следовательно|значит|поэтому)\b"
    r"|したがって|よって|おそらく|たぶん|따라서|그러므로|아마"
)
"""Words before an answer that ends the sentence."""

HEDGED_AFTER = (
    r"(?:wenn|falls|si|se(?!\s+ve)|s['’]il|если|अगर|यदि)\b|かもしれ|と(?:言|書|表示|話|述)"
)
"""What after an answer says that it is only supposed, or somebody else's."""

PREDICATES = (
    r"\s+(?:es|sería|é|seria|è|sarebbe)\s+(?:la\s+|a\s+)?(?:(?:respuesta|opción|resposta|opção|risposta|opzione)\s+)?"
    r"(?:correcta|correta|certa|corretta|giusta|adecuada)\b"
    r"|\s+est\s+(?:la\s+)?(?:(?:bonne|réponse)\s+){0,2}(?:bonne|réponse|correcte|juste|exacte)\b"
    r"|\s+ist\s+(?:die\s+)?(?:richtig|korrekt)\w{0,3}\b"
    r"|\s+(?:[—–-]\s*)?(?:верн|правильн)\w{1,3}\b"
    r"|\s*[がはを](?:正しい|最も適切|正解(?!で(?:は|も)な|じゃな|でな|ではあ)|選(?:びます|ぶ|んだ|択し(?:ます|た)|択する))"
    r"|\s*[이가을를](?:\s*가장)?\s*(?:정답(?![이은]?\s*(?:아니|아닙))|맞(?!지\s*않)|옳(?!지\s*않)|적절(?!하지)|선택(?:합니|했|한다|하겠)|고르겠|고릅니|골랐)"
    r"|\s+सही\s+(?:उत्तर|विकल्प|जवाब)?\s*है"
)
"""What after a label says that it is the answer."""

DENIED_AFTER = (
    r"(?:ist|sind|wäre)\s+(?:nicht|falsch|kein\w*)|(?:son|sont|são|sono)\s+(?:fals|incorrect|fauss|incorret|errad|errat|sbagliat)\w*|(?:no|não|non)\s+(?:es|son|é|è)\b"
    r"|(?:es|é|è|est|está|sería)\s+(?:la\s+)?(?:fals[ao]|incorrect[aoe]?|incorret[ao]|errad[ao]|errat[ao]|fausse?|sbagliat[ao]|descartad[ao])"
    r"|n['’]est\s+pas|не(?:верн|правильн|\s)|ليس|خطأ|خاطئ|नहीं|(?:ग़लत|गलत)"
    r"|(?:で(?:は|も)?|じゃ)(?:な[いくか]|ありません)|[がはも]?(?:間違|誤り|不正解|違[いう]|正しくな|除外|だ?とは(?:思|考え|言え|限ら))"
    r"|도\s+\w{1,2}도\s*(?:아니|아닙)|で?も\w{1,2}で?もな|[이가은는도을를]?\s*(?:아니|아닙|틀[렸리]|오답|제외|배제|맞지\s*않|옳지\s*않|정답[이은]?\s*(?:아니|아닙)|(?:이)?라고\s*(?:말|하는|쓰|적|생각하지|볼\s*수\s*없))"
)
"""What after a label says that it is not; white space before it is read over."""

DENIED_BEFORE = (
    r"\bno\s+(?:es|sea|sería|está|creo)|\bnão(?:\s+(?:é|seja|seria|acho|está))?|\bnon(?:\s+(?:è|sia|credo))?|\bpas\b"
    r"|\bdescart\w+|\bexclu[íiy]\w*|\bniente|\bkeine\w*|\bне|\bни|\bليس\w?|\bni\b|\bnem\b|\bné\b|\bnoch\b"
)
"""What before a label says that it is not."""

SUPPOSED = (
    r"\b(?:wenn|falls|если|бы|wäre|إذا|لو)(?!\w)|^\s*si\b|\bfuera\b|\bfosse\b|यदि|अगर|もし|ならば?|(?:라|이)면|만약"
    r"|не\s+(?:думаю|считаю|уверен)|لا\s+(?:أعتقد|أظن)|\b(?:no\s+creo|não\s+acho|non\s+(?:credo|penso))\b"
    r"|\bne\s+(?:pense|crois)\s+pas|\b(?:glaube|denke)\s+nicht"
)

JOINTS = r"(?:(?-i:[oyeи])|ou|oder|или|أو|und|et)(?!\w)|または|もしくは|あるいは|か|と|또는|혹은|या"
"""Between two labels."""

BECAUSE = (
    r"(?:porque|pues|ya\s+que|car|parce|puisque|weil|denn|da|pois|perché|poiché|потому|так\s+как|поскольку"
    r"|und|oder|o|y|ou|et|mais|sino|sondern|mas|لأن|حيث)\b|(?:क्योंकि|है|हैं)"
)
"""What may follow an answer in its sentence, after white space."""

COPULA_AFTER = r"(?:です|である|だ|でしょう|입니다|이다|이에요|예요|है)"
"""What ends a sentence after the answer."""

FRAMES = r"(?:es|c['’]est|es\s+ist|das\s+ist|é|è|это|هذا|هذه|यह|これは|それは|이것은)\s*"
"""What begins a sentence that gives the text of an option."""

OTHERS = (
    r"\b(?:dicen?|dijo|dizem|diz|disse|dicono|disent|dit|sagt|sagen|behaupte[tn])\b|говор[ия]т|утвержда[ею]т"
    r"|يقول|قال|कहते|最初は|初めは"
)
"""Somebody else's saying, or a first impression."""

INFERIOR = (
    r"(?:mauvaise?|fausse|falsche?[rsn]?|incorrecta?|incorreta|errada?|errata|sbagliat[ao]|otra|outra|autre|altra"
    r"|andere|неправильн\w{1,3}|неверн\w{1,3}|друг\w{2,3}|الخاطئة|خاطئة|ग़लत|गलत|間違った|誤った|不正解|오답|틀린)"
)
"""An answer that is not meant."""

REFUSALS = (
    r"|\b(?:lo\s+siento|desculpe|mi\s+dispiace|désolée?|je\s+regrette|es\s+tut\s+mir\s+leid|leider)\b"
    r"|\bno\s+(?:se\s+)?pued[eo]\s+(?:determinar|responder|saber|decir|ver|identificar)"
    r"|\bno\s+es\s+posible\s+(?:determinar|responder|saber)|\bno\s+(?:lo\s+)?sé\b"
    r"|\bnão\s+(?:é\s+possível|posso|consigo|sei)\b|\bnon\s+(?:è\s+possibile|posso|so)\b"
    r"|\bje\s+ne\s+(?:peux|sais|suis)\b|\bimpossible\s+de\s+(?:déterminer|répondre|savoir|dire)"
    r"|\b(?:kann|können)\s+(?:\w+\s+){0,3}nicht\s+(?:be)?(?:antworten|stimmen|urteilen|sagen|erkennen)"
    r"|\blässt\s+sich\s+nicht\b|\bweiß\s+(?:es\s+)?nicht\b"
    r"|к\s+сожалению|извините|не\s+(?:могу|знаю)|невозможно\s+(?:определить|ответить|сказать)"
    r"|لا\s+(?:يمكن|أستطيع|أعرف|أعلم)|آسف|عذر[اً]|नहीं\s+(?:बता|कह|जान)|क्षमा\s+करें|माफ़|पता\s+नहीं"
    r"|わかりません|分かりません|申し訳|判断できま|判断でき?ない|特定でき|答えられま|알\s*수\s*없|죄송|모르겠|판단할\s*수\s*없"
    r"|답변할\s*수\s*없|확인할\s*수\s*없"
)
