import json

import pytest

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.benchmarks import read_benchmark


def question(uid, **change):
    options = {f"option {i}": f"C does {what}." for i, what in enumerate("abcde")}
    return {
        "q_uid": uid,
        "google_drive_id": "g1",
        "question": f"What of {uid}?",
        **options,
    } | change


def write(folder, questions=("u1", "u2", "u3"), answers=None):
    if questions is not None:
        (folder / "questions.json").write_text(json.dumps([question(uid) for uid in questions]))
    if answers is not None:
        (folder / "subset_answers.json").write_text(json.dumps(answers))
    return folder


@pytest.mark.parametrize("named", ["", "questions.json"])
def test_questions_with_the_answers_beside_them(tmp_path, named):
    benchmark = read_benchmark(write(tmp_path, answers={"u3": 0, "u1": 4}) / named)
    assert benchmark.name == "egoschema"
    # Counted from 0: 4 is the last of five, and u2 is not among the 500 with a public answer.
    assert [one.answer for one in benchmark] == ["E", None, "A"]
    first = benchmark["u1"]
    assert first.options == {
        "A": "C does a.", "B": "C does b.", "C": "C does c.", "D": "C does d.", "E": "C does e.",
    }  # fmt: skip
    assert (first.text, first.video_id, first.interval) == ("What of u1?", "u1", None)
    assert first.attributes == {"google_drive_id": "g1"}
    assert benchmark.ledger.notes == ("1 of 3 questions have no gold answer",)
    assert len(benchmark.ledger.inputs) == 2


def test_questions_alone_have_no_gold(tmp_path):
    benchmark = read_benchmark(write(tmp_path) / "questions.json")
    assert {one.answer for one in benchmark} == {None}
    assert benchmark.ledger.notes == ("3 of 3 questions have no gold answer",)


def test_answers_alone_have_no_options(tmp_path):
    u1, u2 = (f"00000000-0000-4000-8000-00000000000{i}" for i in (1, 2))
    folder = write(tmp_path, questions=None, answers={u2: 1, u1: 3})
    benchmark = read_benchmark(folder / "subset_answers.json")
    assert [(one.question_id, one.answer) for one in benchmark] == [(u1, "D"), (u2, "B")]
    assert benchmark[u1].options == {}
    assert benchmark[u1].text is None
    assert benchmark.ledger.notes == ("no questions.json: gold answers without options",)


def test_the_question_may_be_left_out_of_the_file(tmp_path):
    record = {name: value for name, value in question("u1").items() if name != "question"}
    (tmp_path / "questions.json").write_text(json.dumps([record]))
    assert read_benchmark(tmp_path)["u1"].text is None


def test_answers_to_other_questions_are_counted(tmp_path):
    benchmark = read_benchmark(write(tmp_path, answers={"u1": 0, "x": 1}))
    assert benchmark.ledger.notes[0] == "1 gold answers are to questions that are not there"


def test_answers_to_none_of_the_questions(tmp_path):
    folder = write(tmp_path, answers={"x1": 0, "x2": 1})
    message = (
        "questions.json record 1: no question of these has a gold answer: ids are such as 'u1'"
    )
    with pytest.raises(InputError, match=f"{message} here and 'x1' there"):
        read_benchmark(folder)


@pytest.mark.parametrize("position", [5, -1, "D", True, 1.0, None])
def test_a_position_that_cannot_be_right(tmp_path, position):
    folder = write(tmp_path, answers={"u1": position})
    with pytest.raises(
        RecordError, match=r"answers.json: the answer .* to 'u1' must be a whole num"
    ):
        read_benchmark(folder)


def test_a_missing_option_is_named(tmp_path):
    (tmp_path / "questions.json").write_text(json.dumps([question("u1", **{"option 3": None})]))
    with pytest.raises(RecordError, match=r"questions.json record 1: no option 3: it has q_uid"):
        read_benchmark(tmp_path)
