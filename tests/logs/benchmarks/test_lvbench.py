import json

import pytest

from carve_stats.errors import RecordError
from carve_stats.logs.benchmarks import read_benchmark

QUESTION = {
    "uid": "55",
    "question": "What does (A) stand for?\n(A) Ale\n(B) Arch\n(C) Ash\nand ember\n(D) Axe",
    "answer": "D",
    "question_type": ["key information retrieval", "reasoning"],
    "time_reference": "00:15-01:19",
}
VIDEO = {"key": "Xy_3z", "type": "cartoon", "video_info": {"duration_minutes": 41}}


def write(tmp_path, *videos):
    path = tmp_path / "video_info.meta.jsonl"
    path.write_text("".join(json.dumps(video) + "\n" for video in videos))
    return path


def read_one(tmp_path, **change):
    record = {name: value for name, value in (QUESTION | change).items() if value is not ...}
    return next(iter(read_benchmark(write(tmp_path, VIDEO | {"qa": [record]}))))


def test_a_question_of_a_video(tmp_path):
    question = read_one(tmp_path)
    assert (question.question_id, question.video_id, question.answer) == ("55", "Xy_3z", "D")
    assert question.text == "What does (A) stand for?"
    assert question.options == {"A": "Ale", "B": "Arch", "C": "Ash\nand ember", "D": "Axe"}
    assert question.attributes == {
        "type": "cartoon",
        "video_info": {"duration_minutes": 41},
        "question_type": ("key information retrieval", "reasoning"),
        "time_reference": "00:15-01:19",
    }


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("00:15-01:19", (15, 79)),  # clock times: not 15 to 1.19, nor 0.15 to 1.19
        ("12:30-12:30", (750, 750)),
        ("1:02:03-1:02:10", (3723, 3730)),
        ("59:50-1:00:20", (3590, 3620)),
        ("75:30 - 80:00", (4530, 4800)),  # minutes go on past the hour
        ("00:15.5–00:16", (15.5, 16)),
        ("00:15−01:19", (15, 79)),  # a minus sign
        ("٠٠:١٥-٠١:١٩", None),
        ("01:19-00:15", None),
        ("00:75-01:19", None),
        ("1:75:00-2:00:00", None),
        ("12-30", None),
        ("00:15", None),
        ("whole video", None),
    ],
)
def test_time_references_are_clock_times(tmp_path, text, interval):
    path = write(tmp_path, VIDEO | {"qa": [QUESTION | {"time_reference": text}]})
    benchmark = read_benchmark(path)
    assert benchmark["55"].interval == interval
    note = (
        "1 questions, the first '55', have a time_reference that is not an interval of clock times"
    )
    assert (note in benchmark.ledger.notes) == (interval is None)
    assert benchmark["55"].attributes["time_reference"] == text


def test_without_a_time_reference_nothing_is_said(tmp_path):
    benchmark = read_benchmark(
        write(tmp_path, VIDEO | {"qa": [QUESTION | {"time_reference": None}]})
    )
    assert benchmark["55"].interval is None
    assert benchmark.ledger.notes == ()


@pytest.mark.parametrize("question", ["Which?\n(A) one (B) two", "Which?", "Which?\n(B) x\n(A) y"])
def test_options_that_are_not_lines_are_not_guessed(tmp_path, question):
    benchmark = read_benchmark(
        write(tmp_path, VIDEO | {"qa": [QUESTION, QUESTION | {"uid": 7, "question": question}]})
    )
    assert benchmark["7"].options == {}
    assert benchmark["7"].text == question
    assert benchmark.ledger.notes == (
        "1 questions, the first '7', have no options as lines (A), (B), …: free text cannot be read"
        " for them",
    )


def test_ids_are_what_the_file_has(tmp_path):
    qa = [QUESTION, QUESTION | {"uid": 101, "answer": " a "}]
    benchmark = read_benchmark(write(tmp_path, VIDEO | {"qa": qa}, {"key": "v2", "qa": []}))
    assert list(benchmark.questions) == ["101", "55"]
    assert benchmark["101"].answer == "A"
    assert benchmark.ledger.to_dict() == {"read": 2, "used": 2, "left_out": {}}


def test_missing_gold_is_not_known_and_counted(tmp_path):
    qa = [
        QUESTION,
        QUESTION | {"uid": "56", "answer": None},
        QUESTION | {"uid": "57", "answer": ""},
    ]
    benchmark = read_benchmark(write(tmp_path, VIDEO | {"qa": qa}))
    assert [question.answer for question in benchmark] == ["D", None, None]
    assert benchmark.ledger.notes == ("2 of 3 questions have no gold answer",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "E"}, "jsonl line 1 question 1: answer='E' is none of the options A, B, C, D"),
        ({"answer": 3}, "line 1 question 1: answer=3 is none of the options A, B, C, D"),
        ({"uid": ...}, "line 1 question 1: no uid: it has question, answer, question_type, time_r"),
        ({"question": ["x"]}, r"line 1 question 1: question=\['x'\] must be a text"),
    ],
)
def test_a_wrong_question_is_named(tmp_path, change, message):
    with pytest.raises(RecordError, match=message):
        read_one(tmp_path, **change)


def test_a_wrong_video_is_named(tmp_path):
    good = VIDEO | {"qa": [QUESTION]}
    for bad in ({"key": "v", "qa": "none"}, {"key": "v", "qa": [1]}):
        with pytest.raises(RecordError, match="line 2: qa must be a list of questions"):
            read_benchmark(write(tmp_path, good, bad))
    with pytest.raises(RecordError, match="line 2: no key: it has qa; is it the official file"):
        read_benchmark(write(tmp_path, good, {"qa": []}))
