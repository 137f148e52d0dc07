import json

import pandas
import pytest

from carve_stats.errors import RecordError
from carve_stats.logs.benchmarks import read_benchmark

FLAT = {
    "video_id": "001",
    "duration": "short",
    "domain": "Knowledge",
    "sub_category": "Gardening",
    "url": "https://example.org/watch?v=a-_1",
    "videoID": "a-_1",
    "question_id": "001-1",
    "task_type": "Counting Problem",
    "question": "How many pots are watered?",
    "options": ["A. Two.", "B. Three.", "C. No. 4 only.", "D. None of them."],
    "answer": "C",
}
TEMPLATE = """[
    {
        "video_id": "001",
        "duration": "short",
        "domain": "Knowledge",
        "sub_category": "Gardening",
        "questions": [
            {
                "question_id": "001-1",
                "task_type": "Counting Problem",
                "question": "How many pots, [a,] or \\"{b,}\\", are watered?",
                "options": [
                    "A. Two.",
                    "B. Three, ] or so.",
                    "C. Four.",
                    "D. None."
                ],
                "answer": "C",
                "response": "The answer is B.",
            },
        ]
    },
]
"""


def flat(tmp_path, form):
    rows = [FLAT, FLAT | {"question_id": "001-2", "answer": "a"}]
    path = tmp_path / f"test.{form}"
    if form == "parquet":
        pandas.DataFrame(rows).to_parquet(path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text(json.dumps(rows))
    return path


@pytest.mark.parametrize("form", ["parquet", "json", "jsonl"])
def test_a_flat_file(tmp_path, form):
    benchmark = read_benchmark(flat(tmp_path, form))
    assert benchmark.name == "videomme"
    question = benchmark["001-1"]
    assert question.video_id == "001"  # the cluster; not the id at YouTube
    assert question.attributes["videoID"] == "a-_1"
    assert question.attributes["duration"] == "short"  # a class, not a time
    assert question.text == "How many pots are watered?"
    assert question.options == {
        "A": "Two.", "B": "Three.", "C": "No. 4 only.", "D": "None of them.",
    }  # fmt: skip
    assert [one.answer for one in benchmark] == ["C", "A"]
    assert question.interval is None
    assert set(question.attributes) == {
        "duration", "domain", "sub_category", "url", "videoID", "task_type",
    }  # fmt: skip


def test_the_official_template_with_its_trailing_commas(tmp_path):
    path = tmp_path / "output_test_template.json"
    path.write_text(TEMPLATE)
    benchmark = read_benchmark(path)
    question = benchmark["001-1"]
    # Commas within texts stay, whatever stands after them.
    assert question.text == 'How many pots, [a,] or "{b,}", are watered?'
    assert question.options["B"] == "Three, ] or so."
    assert (question.video_id, question.answer) == ("001", "C")
    assert question.attributes == {
        "duration": "short", "domain": "Knowledge", "sub_category": "Gardening",
        "task_type": "Counting Problem",
    }  # fmt: skip
    assert benchmark.ledger.notes == (
        f"{path}: 3 commas before a closing bracket, which JSON does not allow",
    )


def test_the_first_version_of_the_template(tmp_path):
    asked = {
        "question_id": "001-1",
        "question": "Who?",
        "choices": ["A. I.", "B. You."],
        "answer": "B",
    }
    video = {"video_id": "001", "duration_category": "long", "video_category": "Sports",
             "video_subcategory": "Ball", "questions": [asked]}  # fmt: skip
    path = tmp_path / "template.json"
    path.write_text(json.dumps([video]))
    question = read_benchmark(path)["001-1"]
    assert question.options == {"A": "I.", "B": "You."}
    assert question.attributes == {"duration": "long", "domain": "Sports", "sub_category": "Ball"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": ["B. x", "A. y"]}, "record 1: the option 'B. x' must begin with 'A.'"),
        ({"options": ["x", "y"]}, "record 1: the option 'x' must begin with 'A.'"),
        ({"options": "A. x"}, "record 1: options='A. x' must be a list of two texts or more"),
        ({"options": ["A. x"]}, "record 1: options=.* must be a list of two texts or more"),
        ({"answer": "E"}, "record 1: answer='E' is none of the options A, B, C, D"),
        ({"question_id": None}, "record 1: no question_id"),
        ({"video_id": ""}, "record 1: no video_id"),
    ],
)
def test_a_wrong_question_is_named(tmp_path, change, message):
    path = tmp_path / "test.json"
    path.write_text(json.dumps([FLAT | change]))
    with pytest.raises(RecordError, match=message):
        read_benchmark(path)


def test_a_wrong_video_is_named(tmp_path):
    path = tmp_path / "test.json"
    path.write_text(json.dumps([{"video_id": "001", "questions": "none"}]))
    with pytest.raises(RecordError, match="json record 1: questions must be a list of questions"):
        read_benchmark(path)
