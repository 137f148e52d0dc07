"""The answer parser, on the project's table of model outputs and on harder ones of our own.

`answers.jsonl` is the project's table of real and realistic outputs with the right parse;
`hard_answers.jsonl` holds outputs made to mislead, with the letter a careful reader finds, and
`answers_more.jsonl` phrasings, languages, kinds of labels, marks and failure texts, judged by a
reader before the parser saw them. Those marked as missed are known to be: they must give no letter.
"""

import inspect
import json
import string
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.replay.answer_text import normalize
from carve_stats.replay.parsing import (
    PARSER_VERSION,
    TRANSPORT_MARK,
    parse_answer,
    parse_open_answer,
)
from carve_stats.replay.records import STATUSES

OPTIONS = {"A": "A man in a red shirt", "B": "The dog", "C": "A bicycle", "D": "None of the above"}
NUMBERED = {"1": "one dog", "2": "two dogs", "3": "three dogs", "4": "four dogs", "5": "five dogs"}
YES_NO = {"A": "Yes", "B": "No"}
LETTER_TEXTS = {"A": "B", "B": "A", "C": "dog", "D": "hot dog"}
NUMBER_TEXTS = {"A": "2", "B": "3", "C": "10", "D": "1990"}
NINE = {letter: f"thing {letter.lower() * 2}" for letter in "ABCDEFGHI"}
LOWER = {"a": "red", "b": "blue", "c": "green"}
WORDS = {"yes": "it happens", "no": "it does not"}
CHINESE = {"A": "一只狗", "B": "一只猫", "C": "自行车", "D": "以上都不是"}
UNDECIDABLE = {"A": "red", "B": "blue", "C": "Cannot be determined"}

TABLE = Path(__file__).parents[1] / "data" / "answers.jsonl"
PUBLISHED = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
HARD_TABLE = TABLE.with_name("hard_answers.jsonl")
MISLEADING = [json.loads(line) for line in HARD_TABLE.read_text(encoding="utf-8").splitlines()]
MORE_TABLE = TABLE.with_name("answers_more.jsonl")
MORE = [json.loads(line) for line in MORE_TABLE.read_text(encoding="utf-8").splitlines()]

# Replies with the label that a careful reader finds in them, or the status of having none.
OPTIONS_CASES = [
    ("so answer B is wrong.", "no_commitment"),
    ("The answer is C (The dog).", "ambiguous"),
    ("There is nothing to see. b", "no_commitment"),
    ("A.\nB.\nthese are shown", "no_commitment"),
    ("The answer is C, B is there too.", "C"),
    ("Option B is wrong; C is right", "C"),
    ("a man rides a bike", "no_commitment"),
    ("A man is standing near the road.", "no_commitment"),
    ("I think it shows a bicycle", "C"),
    ("The answer is A bicycle.", "C"),
    ("The answer is a.", "A"),
    ("The answer is a man who walks.", "no_commitment"),
    ("The answer is A because he is red.", "A"),
    ("It's not the dog but a bicycle.", "C"),
    ("It is not the dog.", "no_commitment"),
    ('{"answer": 2}', "out_of_set"),
    ('{"answer": true}', "no_commitment"),
    ('{"answer": null}', "no_commitment"),
    ('```json\n{"reasoning": "A is wrong", "answer": "B"}\n```', "B"),
    ('{"answer": ["B", "C"]}', "ambiguous"),
    ('{"answer": ["B"]}', "B"),
    ("{'answer': 'C'}", "C"),
    ('{"answer": "C', "C"),
    ("\\boxed{A} then \\boxed{\\text{C}}", "C"),
    ("$\\boxed{(B)}$", "B"),
    ("\\boxed{E}", "out_of_set"),
    ("I don't think the answer is A.", "no_commitment"),
    ("I would not choose B. I would choose C.", "C"),
    ("If A is correct, he would be red.", "no_commitment"),
    ("If the answer is A, he would be red. So the answer is B.", "B"),
    ("B is correct.", "B"),
    ("B and C are correct.", "ambiguous"),
    ("B is not correct.", "no_commitment"),
    ("The correct option is **B**.", "B"),
    ("My final choice would be (D).", "D"),
    ("**C**", "C"),
    ("*C*", "C"),
    ("`C`", "C"),
    ("### C", "C"),
    ("C.", "C"),
    ("[C]", "C"),
    ("Final Answer:\n\nC", "C"),
    ("Answer:\nC. A bicycle", "C"),
    ("Answer (A/B/C/D): B", "B"),
    ("Answer: C, not B", "C"),
    ("Answer: C, A man is seen too", "C"),
    ("The answer is C, B is wrong.", "C"),
    ("Answer: None of the above", "D"),
    ("C. The dog", "ambiguous"),
    ("C. The bicycle appears in the last frame.", "C"),
    ("B) because there is one", "B"),
    ("A. seems plausible", "no_commitment"),
    ("A. no\nB. no\nC. yes", "no_commitment"),
    ("I cannot determine it, but my best guess is B.", "B"),
    ("As an AI I can't view videos.", "refusal"),
    ("Vitamin C is right there on the label.", "no_commitment"),
    ("Answer: A. Wait, that is wrong. It must be C.", "C"),
    ("Final answer: C\n\nOne might think the answer is A, but no.", "C"),
    ("<think>hm</think>", "empty"),
    ("<think>A</think><think>B", "truncated"),
    ("<thinking>A</thinking>\n\nThe answer: D", "D"),
    ("The answer is neither A nor B, it is C.", "C"),
    ("Not A.", "no_commitment"),
    ("not A or B", "no_commitment"),
    ("Rule out A. Rule out B. Rule out D. Therefore C.", "C"),
    ("It could be B or C.", "ambiguous"),
    ("B/C", "ambiguous"),
    ("B, C", "ambiguous"),
    ("A, B, C, D", "ambiguous"),
    ("The answer is Z.", "out_of_set"),
    ("E", "out_of_set"),
    ("Option B", "B"),
    ("option b", "B"),
    ("A man and a bus appear.", "no_commitment"),
    ("The man in a red shirt", "A"),
    ("I choose B", "B"),
    ("I'd go with option C.", "C"),
    ("Let's select (A).", "A"),
    ("Error code: 429 - rate limited", "transport_error"),
    ("The video shows T-shirts. A-frame houses.", "no_commitment"),
    ("So A man rides.", "no_commitment"),
    ("The best answer is\n\n(C) A bicycle", "C"),
    ("Ａ", "A"),
    ("（Ｂ）", "B"),
    ("C\n\nThe man rides a bike, so B and A are wrong.", "C"),
    ("I'm not sure the answer is C", "no_commitment"),
    ("There is no doubt the answer is C", "C"),
    ("It is A.", "A"),
    ("It is a dog", "B"),
    ("The answer cannot be A. The answer must be D.", "D"),
    ("Thus, the answer is definitely option (B).", "B"),
    ("A: he wears red", "A"),
    ("Question about option A? The dog.", "B"),
    ("Answer:", "no_commitment"),
    ("The answer is", "no_commitment"),
    ("<answer></answer>", "no_commitment"),
    ("<answer>b</answer>", "B"),
    ("<answer>B. The dog</answer>", "B"),
    ("<ANSWER>B", "B"),
    ("Answer - C", "C"),
    ("Answer is: C", "C"),
    ("ANSWER IS C", "C"),
    ("answer C", "C"),
    ("THE ANSWER IS A MAN", "no_commitment"),
    ("I say A man did it", "no_commitment"),
    ("The first option is correct.", "no_commitment"),
    ("Both A and B are possible.", "ambiguous"),
    ("Looking at B, the dog is not there.", "no_commitment"),
    ("It is clearly the dog, so B.", "B"),
    ("A bicycle is visible, not the dog. The answer is C.", "C"),
    ("The answer isn't A. It's C.", "C"),
    ("ANSWER: C (A bicycle)", "C"),
    ("ANSWER: A (A man in a red shirt)", "A"),
    ("The correct answer is option A: A man in a red shirt.", "A"),
    ("I believe the answer to be B.", "B"),
    ("My answer: I would say B", "B"),
    ("The answer is not B.", "no_commitment"),
    ("Answer: not B", "no_commitment"),
    ("Answer: I don't know", "refusal"),
    ("The correct answer is C. A, B and D are wrong.", "C"),
    ("The answer would be C since A is wrong", "C"),
    ("B, because the dog barks", "B"),
    ("B because the dog barks", "B"),
    ("(B) because it barks", "B"),
    ("B - it barks", "B"),
    ("Let me see. The answer is therefore D.\n", "D"),
    ("The answer is C) A bicycle", "C"),
    ("Choose between A and B.", "ambiguous"),
    ("selected answer: **D. None of the above**", "D"),
    ("The answer is B.\n\nExplanation: Option A shows a man, option C a bicycle.", "B"),
    (
        "Let's analyze:\nA. A man in a red shirt - not visible\nB. The dog - visible\n"
        "C. A bicycle - not visible\nTherefore, the answer is B.",
        "B",
    ),
    ("Looking at the frames, I can see a dog.", "no_commitment"),
    ("The person is A. Smith.", "no_commitment"),
    ("The correct answer is: B) The dog", "B"),
    ("The answer is **(B) The dog**.", "B"),
    ("Answer: **B**\nReason: the dog is there, A and C are absent.", "B"),
    ("B\n", "B"),
    ("  (b)  ", "B"),
    ("I'm sorry, but the answer is B", "B"),
    ("Sorry, I can't help with that.", "refusal"),
    ("None of the options is right, the answer is D", "D"),
    ("The video does not show enough information.", "no_commitment"),
    ("There is not enough information to answer.", "refusal"),
    ("The answer is B or C.", "ambiguous"),
    ("The answer is either A or D.", "ambiguous"),
    ("The answer is B. Or maybe C.", "B"),
    ("<think>maybe B</think> Answer: A", "A"),
    ("<think>unfinished Answer: A", "truncated"),
    ("<answer>A</answer> <answer>B</answer>", "B"),
    ("Answer: A\nAnswer: B", "ambiguous"),
    ("The dog is option B, the bicycle is option C.", "no_commitment"),
    ("B is wrong, C is wrong, A is the correct answer", "A"),
    ("A is the best choice", "A"),
    ("Clearly C fits best.", "C"),
    ("A is incorrect. B is incorrect. D is incorrect.", "no_commitment"),
    ("A: no. B: no. C: yes.", "no_commitment"),
    ("The answer is CD", "no_commitment"),
    ("AB", "no_commitment"),
    ("I choose A man", "no_commitment"),
    ("In frame B the man rides.", "no_commitment"),
    ("answer is d", "D"),
    ("The right answer must be (a)", "A"),
    ("It's definitely not C.", "no_commitment"),
    ("Without doubt, B is the answer.", "B"),
    ("Not sure, but I'd guess C.", "C"),
    ("My guess: C", "C"),
    ("Prediction: C", "C"),
    ("Choice: C", "C"),
    ("Final choice - C", "C"),
    ("The options are A, B, C and D.", "no_commitment"),
    ('{"A": 0.1, "B": 0.9}', "no_commitment"),
    ('{"answer": "The dog"}', "B"),
    ('{"answer": "E"}', "out_of_set"),
    ('{"answer": "A man in a red shirt"}', "A"),
    ('{"answer": "b"}', "B"),
    ('["C"]', "C"),
    ('"C"', "C"),
    ('{"thought": "the answer is A", "final_answer": "(C)"}', "C"),
    ('{"answer": "A"} oh wait {"answer": "B"}', "B"),
    ('{"result": {"answer": "C"}}', "C"),
]
OPTIONS_CASES += [
    # A label set off at an end of the reply goes before a text that is mentioned.
    ("B. The dog\n\nA man in a red shirt is visible at first.", "B"),
    ("I see a bicycle.", "no_commitment"),
    ("A bicycle is leaning on the wall.", "no_commitment"),
    ("Is it a bicycle?", "no_commitment"),
    ("There is no evidence for a bicycle", "no_commitment"),
    # What is taken back, supposed, asked, or somebody else's.
    ("The answer is B. Hold on. It is C.", "C"),
    ("Answer: B\n\nWait, that's the first frame. Let me recheck.", "no_commitment"),
    ("My guess was B; I now think C.", "C"),
    ("I thought the answer was B.", "no_commitment"),
    ("If the dog barks, I would choose B.", "no_commitment"),
    ("If you look at frame 3, the dog is there, so the answer is B.", "B"),
    ("The answer is B only if the dog barks.", "no_commitment"),
    ("They say B is correct, but C is right.", "C"),
    ("The teacher's answer is B.", "no_commitment"),
    ("So the answer is B, right?", "no_commitment"),
    ("\\boxed{B} would be wrong.", "no_commitment"),
    ("<answer>B</answer> is incorrect.", "no_commitment"),
    ('{"answer": "A"} was the format. The answer is C.', "C"),
    ('{"answer": "unsure", "guess": "A"}', "no_commitment"),
    ('{"answer": "C", "text": "The dog"}', "ambiguous"),
    ("The answer is B. I retract that.", "no_commitment"),
    ("The answer is B. My mistake: C.", "C"),
    ("I almost chose B.", "no_commitment"),
    ("I refuse to pick B.", "no_commitment"),
    ("If asked about the start, the answer is B.", "no_commitment"),
    ("B is the answer to a different question.", "no_commitment"),
    ("!B", "no_commitment"),
    ("The player chose B.", "no_commitment"),
    ("The sign says the answer is B.", "no_commitment"),
    ("It is a bicycle, but the question is about the man.", "no_commitment"),
    ("It's a bicycle rack.", "no_commitment"),
    ("1. B\n2. C", "no_commitment"),
    ("Eliminated: B", "no_commitment"),
    ("Second choice: B", "no_commitment"),
    # Other marks and languages.
    ("Die richtige Antwort ist nicht A, sondern C.", "C"),
    ("La respuesta correcta es la opción B.", "B"),
    ("[THINK]A, then[/THINK]B", "B"),
    ("[THINK]A, then", "truncated"),
    ("The answer is $\\mathrm{B}$.", "B"),
    ("ans: b", "B"),
    ("【答案】B", "B"),
    ("The answer is B\u200b.", "B"),
]
NINE_CASES = [
    ("I think the answer is I", "I"),
    ("I am not sure.", "no_commitment"),
]
NUMBERED_CASES = [
    ('{"answer": 3}', "3"),
    ('{"answer": 3.0}', "3"),
    ("3", "3"),
    ("7", "out_of_set"),
    ("There are 3 dogs near 2 cars.", "no_commitment"),
    ("The answer is 3.", "3"),
    ("The answer is 3 dogs.", "no_commitment"),
    ("The answer is three dogs.", "3"),
    ("Option 4", "4"),
    ("2. two dogs", "2"),
    ("Answer: 3", "3"),
    ("answer 3 because", "3"),
    ("Choice 2 is correct.", "2"),
    ("1, 2", "ambiguous"),
    ("The answer is 9.", "out_of_set"),
    ("(4)", "4"),
    ("At 12:30 the 3 dogs come.", "no_commitment"),
    ("The answer is 3.5", "no_commitment"),
    ("three dogs", "3"),
]
YES_NO_CASES = [
    ("Yes", "A"),
    ("No, the man does not.", "B"),
    ("Yes, he does.", "A"),
    ("B", "B"),
    ("C", "out_of_set"),
    ("The answer is No", "B"),
    ("Answer: Yes.", "A"),
    ('The answer is not "Yes".', "no_commitment"),
]
LETTER_TEXTS_CASES = [
    ("A", "A"),
    ("A. B", "A"),
    ("hot dog", "D"),
    ("It is a hot dog.", "D"),
    ("a dog", "C"),
]
NUMBER_TEXTS_CASES = [
    ("3", "B"),
    ("The answer is 3", "B"),
    ("It was 1990.", "D"),
    ("At 3 seconds I see 2", "no_commitment"),
]
LOWER_CASES = [
    ("b", "b"),
    ("The answer is b", "b"),
    ("a man is there", "no_commitment"),
    ("blue", "b"),
]
WORDS_CASES = [
    ("yes", "yes"),
    ("The answer is yes.", "yes"),
    ("There is no doubt.", "no_commitment"),
]
CHINESE_CASES = [
    ("选C", "C"),
    ("我选择B。", "B"),
    ("选项A不正确，选项B正确", "B"),
    ("答案不是A，而是C", "C"),
    ("应该是一只猫", "B"),
    ("不选A", "no_commitment"),
    ("A和B都可以排除", "no_commitment"),
    ("答案是A或B", "ambiguous"),
    ("故选：D", "D"),
    ("无法确定", "refusal"),
    ("答案是E", "out_of_set"),
    ("选项A错误", "no_commitment"),
    ("答案：C。自行车", "C"),
    ("根据画面，选项C是正确的。", "C"),
    ("我认为答案应该是B", "B"),
    ("正确答案：（D）以上都不是", "D"),
    ("A不对，B不对，所以选C。", "C"),
    ("如果A正确，那么狗会出现。", "no_commitment"),
    ("应选B", "B"),
    ("B。", "B"),
    ("一只狗", "A"),
    ("视频里有自行车。", "no_commitment"),
    ("抱歉，我无法判断。", "refusal"),
    ("答案可能是A或者C", "ambiguous"),
]
UNDECIDABLE_CASES = [
    ("Cannot be determined", "C"),
    ("It cannot be determined from the video.", "C"),
]
CASES = [
    (text, options, expected)
    for options, cases in [
        (OPTIONS, OPTIONS_CASES),
        (NINE, NINE_CASES),
        (NUMBERED, NUMBERED_CASES),
        (YES_NO, YES_NO_CASES),
        (LETTER_TEXTS, LETTER_TEXTS_CASES),
        (NUMBER_TEXTS, NUMBER_TEXTS_CASES),
        (LOWER, LOWER_CASES),
        (WORDS, WORDS_CASES),
        (CHINESE, CHINESE_CASES),
        (UNDECIDABLE, UNDECIDABLE_CASES),
    ]
    for text, expected in cases
]


def outcome(text, options):
    parsed = parse_answer(text, options)
    assert (parsed.letter is not None) == (parsed.status == "ok")
    assert parsed.status in STATUSES
    assert parsed.rule
    return parsed.letter or parsed.status


def test_the_table_is_whole():
    assert len(PUBLISHED) == 33
    assert len(MISLEADING) == 84
    assert len(MORE) == 1299
    assert sum("missed" in case for case in MORE) == 21


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case["text"][:40])
def test_published_case(case):
    parsed = parse_answer(case["text"], case.get("options", OPTIONS))
    assert (parsed.letter, parsed.status) == (case["letter"], case["status"])


@pytest.mark.parametrize("case", MISLEADING, ids=lambda case: case["text"][:40])
def test_misleading_case(case):
    assert parse_answer(case["text"], case["options"]).letter == case["letter"]


@pytest.mark.parametrize("case", MORE, ids=lambda case: case["text"][:40])
def test_further_case(case):
    parsed = parse_answer(case["text"], case["options"])
    if case.get("missed"):
        assert (parsed.letter, parsed.status) == (None, "no_commitment")
    else:
        assert (parsed.letter, parsed.status) == (case["letter"], case["status"])


@pytest.mark.parametrize(("text", "options", "expected"), CASES)
def test_hard_case(text, options, expected):
    assert outcome(text, options) == expected


FORMS = ["{}", "({})", "{}.", "**{}**", "Answer: {}", "The answer is {}.", "\\boxed{{{}}}",
         "<answer>{}</answer>", '{{"answer": "{}"}}', "答案是{}", "So the answer is ({}).",
         "I choose {}.", "{} is correct.", "Nothing else fits.\n{}"]  # fmt: skip


@pytest.mark.parametrize("label", list("ABCD"))
@pytest.mark.parametrize("form", FORMS)
def test_every_label_reads_alike(form, label):
    assert outcome(form.format(label), OPTIONS) == label


@pytest.mark.parametrize("label", list("ABCD"))
@pytest.mark.parametrize("form", ["Not {}.", "The answer is not {}.", "{} is wrong.", "不选{}"])
def test_a_denied_label_is_no_answer(form, label):
    assert outcome(form.format(label), OPTIONS) == "no_commitment"


@given(st.text(max_size=200), st.sampled_from([OPTIONS, NUMBERED, WORDS, CHINESE]))
def test_any_text_gives_a_label_or_a_reason_and_always_the_same(text, options):
    first = outcome(text, options)
    assert first in options or first in STATUSES
    assert outcome(text, options) == first


@given(st.text(alphabet=string.ascii_lowercase + " ", max_size=200))
def test_lower_case_prose_names_no_label(text):
    # The labels' own texts apart, which hold words that this alphabet does not chance upon.
    assert outcome(f"we saw {text} somewhere", OPTIONS) != "ok"
    assert parse_answer(f"we saw {text} somewhere", OPTIONS).letter is None


SUMS = ["Answer: {} + {} = {}", "The answer is {} plus {}, which is {}.", "\\boxed{{{}+{}={}}}",
        "<answer>{} + {} makes {}</answer>", "Answer: {} (left) and {} (right), so {}",
        '{{"answer": "{} + {} = {}"}}', "Answer: ${} + {}$, for a total of {}"]  # fmt: skip


@given(st.sampled_from(SUMS), st.integers(1, 9), st.integers(1, 9))
def test_a_sum_says_what_it_makes_and_never_a_summand(form, one, other):
    options = {"A": str(one), "B": str(one + other), "C": str(one + other + 1)}
    options |= {"D": str(other)} if other != one else {}
    assert outcome(form.format(one, other, one + other), options) == "B"
    del options["B"]
    assert parse_answer(form.format(one, other, one + other), options).letter is None


SIGNS = ["+", "-", "−", "–", "*", "×", "·", "/", "÷", "%", "^", "plus", "minus", "times", "to"]


@given(st.sampled_from(SIGNS), st.integers(1, 9), st.integers(1, 9))
def test_a_sum_or_a_range_alone_is_no_number(sign, one, other):
    options = {"A": str(one), "B": str(one + 20), "C": str(other + 40)}
    space = "" if sign == "–" else " "
    assert parse_answer(f"Answer: {one}{space}{sign}{space}{other}", options).letter is None


WORDS_OF_PROSE = ["a", "man", "rides", "dogs", "I", "A", "visible", "on", "screen", "DNA", "TV",
                  "the", "saw", "Vitamin C", "T-shirt", "3"]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS_OF_PROSE), max_size=12))
def test_capitals_within_prose_are_not_taken(words):
    assert outcome(" ".join([*words, "somewhere"]), OPTIONS) == "no_commitment"


DEGENERATE = ["{" * 20_000, "A, " * 5_000, "a " * 9_000, "(" * 20_000, "The answer is " * 1_000,
              '{"' * 9_000, "*" * 20_000]  # fmt: skip


@pytest.mark.parametrize("reply", DEGENERATE, ids=lambda reply: reply[:3])
def test_degenerate_replies_are_invalid(reply):
    assert outcome(reply, OPTIONS) == "no_commitment"


LONG = ["x" + " " * 40_000 + "x", "A, B. " * 6_666, "A is correct. " * 5_000, "<think>" * 20_000,
        "answer (" * 20_000, "\\boxed{" * 9_000, "<answer>" * 9_000, "答案" * 20_000,
        "B是" * 20_000, "\n" * 40_000 + "A x", "A\n" * 20_000, "the answer is " * 5_000,
        "it is " * 9_000, "Answer: B no, " * 4_000, "you say " * 9_000,
        "if " * 20_000, '{"a":' * 9_000, "<|im_end|>" * 20_000, "~~a" * 30_000, "✅ " * 30_000,
        "a" + "\u0301\u0316" * 50_000, "| A " * 30_000, "<del>" * 20_000, "si se " * 20_000,
        "答えは" * 20_000, "не " * 20_000, "Answer: " * 9_000, "1 + " * 9_000,
        "2 (a) and " * 4_000, "2 a b c + " * 4_000, "1 = 2 - " * 4_000, "the sign says " * 4_000,
        'write "answer ' * 4_000, "Correct answer: " * 4_000, "please use the form " * 2_000,
        "Answer: " + "A or B: " * 4_000, "Answer: " + "red, blue, " * 4_000]  # fmt: skip


def test_long_replies_do_not_hang():
    # In a process of its own, so that a hang can be ended; linear, they take about a second.
    program = "import json, sys; from carve_stats.replay.parsing import parse_answer as parse\n"
    program += (
        "for text in json.load(sys.stdin): print(parse(text, {'A': 'red', 'B': 'blue'}).status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(LONG),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert len(done.stdout.split()) == len(LONG)


HOSTILE = ['{"', "\n", "answer is ", "e\u0301\u0316"]


def test_ten_megabytes_of_anything_are_read():
    program = "import sys; from carve_stats.replay.parsing import parse_answer as parse\n"
    program += f"for unit in {HOSTILE!r}:\n"
    program += "    text = unit * (10_000_000 // len(unit.encode()))\n"
    program += "    print(parse(text, {'A': 'red', 'B': 'blue'}).status)\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["no_commitment", "empty", "no_commitment", "no_commitment"]


def test_pieces_of_a_long_text_are_read_as_the_whole():
    prose = "语" * 190 + "か\u3099 é\u0316" + "x" * 9_000
    assert normalize(prose) == unicodedata.normalize("NFKC", prose)
    assert outcome(f"{prose} {prose}\n答えはＣです。", OPTIONS) == "C"


def test_both_ends_of_a_long_reply_are_read():
    prose = "The man walks on. " * 5_000
    assert outcome(f"B\n\n{prose}", OPTIONS) == "B"
    assert outcome(f"{prose} The answer is C.", OPTIONS) == "C"
    assert outcome(f"<think>{prose} The answer is A.</think> D", OPTIONS) == "D"
    assert outcome(f"The answer is not{' ' * 9_000}B.", OPTIONS) == "no_commitment"
    # A sentence that is cut is not read.
    cut = f"It is wrong that {'very ' * 80}B is correct. "
    assert outcome(f"{prose}{cut}{prose[: 6_000 - 20]}", OPTIONS) == "no_commitment"


def test_texts_that_cannot_be_told_apart_are_ambiguous():
    assert outcome("a dog", {"A": "a dog", "B": "The dog", "C": "a cat"}) == "ambiguous"


def test_texts_that_differ_in_a_sign_are_told_apart():
    options = {"A": "5", "B": "-5", "C": "$5", "D": "5%"}
    for label, text in options.items():
        assert outcome(text, options) == label
        assert outcome(f"The answer is {text}.", options) == label


def test_letters_without_case_do_not_confuse_texts():
    assert outcome("I see İce on it", {"A": "ice", "B": "snow"}) == "no_commitment"


def test_the_parser_does_not_see_the_condition():
    assert list(inspect.signature(parse_answer).parameters) == ["text", "options"]


def test_rules_are_named():
    assert parse_answer("B", OPTIONS).rule == "whole reply"
    assert parse_answer(" B ", OPTIONS).rule == "whole reply"
    assert parse_answer("The answer is B", OPTIONS).rule == "declaration"
    assert parse_answer("A ❌ B ✅", OPTIONS).rule == "checked option"
    assert PARSER_VERSION == "3"


def test_the_loops_own_failure_text_is_a_transport_error():
    assert outcome(f"{TRANSPORT_MARK} ConnectionError: answer: B", OPTIONS) == "transport_error"


def test_no_options():
    with pytest.raises(InputError, match="at least two options"):
        parse_answer("A", {})


OPEN = [("two dogs", "two dogs"), ("<think>one</think> two ", "two"), ("", "empty"),
        ("<think>one", "truncated"),
        ("Failed to obtain answer via API.", "transport_error")]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), OPEN)
def test_open_answers(text, expected):
    parsed = parse_open_answer(text)
    assert (parsed.letter or parsed.status) == expected
