import gzip
import json

import pytest

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.benchmarks import read_benchmark

VIDEO = {"key": "v", "qa": [{"uid": "1", "question": "Which?\n(A) x\n(B) y", "answer": "A"}]}


def write(path, text):
    path.write_text(text)
    return path


def test_a_compressed_file(tmp_path):
    path = tmp_path / "meta.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(VIDEO).encode()))
    assert read_benchmark(str(path))["1"].answer == "A"


def test_the_name_may_be_given(tmp_path):
    path = write(tmp_path / "meta.jsonl", json.dumps(VIDEO))
    assert read_benchmark(path, name="lvbench").name == "lvbench"
    with pytest.raises(
        RecordError, match="line 1: no video_id: it has key, qa; is it the official"
    ):
        read_benchmark(path, name="videomme")
    with pytest.raises(InputError, match=r"unknown benchmark 'lvbnch': .* did you mean 'lvbench'"):
        read_benchmark(path, name="lvbnch")


def test_questions_twice(tmp_path):
    path = write(tmp_path / "meta.jsonl", f"{json.dumps(VIDEO)}\n{json.dumps(VIDEO)}\n")
    benchmark = read_benchmark(path)
    assert len(benchmark) == 1
    assert benchmark.ledger.to_dict() == {"read": 2, "used": 1, "left_out": {"duplicate": 1}}
    assert benchmark.ledger.notes == (
        "1 questions repeat another word for word: the first of each is kept",
    )
    path = write(path, f"{json.dumps(VIDEO)}\n{json.dumps(VIDEO | {'key': 'w'})}\n")
    with pytest.raises(
        RecordError, match=r"line 2 question 1: question '1' differs from .* line 1 qu"
    ):
        read_benchmark(path)


def test_a_question_is_asked_for_by_id(tmp_path):
    benchmark = read_benchmark(write(tmp_path / "meta.jsonl", json.dumps(VIDEO)))
    assert "1" in benchmark
    assert "v_1" not in benchmark
    assert repr(benchmark) == "<Benchmark lvbench: 1 questions, 1 with a gold answer, 1 videos>"
    with pytest.raises(InputError, match="lvbench has no question 'v_1'; its ids are such as '1'"):
        benchmark["v_1"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.jsonl",
            '{"prompt": 1}',
            r"a.jsonl line 1: of no known benchmark \(lvbench, videomme, ",
        ),
        ("a.jsonl", '{"key": "v"\n', r"a.jsonl line 1: not JSON \(.*\): fetch the file again"),
        ("a.json", "[1]", "a.json record 1: not a JSON object: a record has named values"),
        ("a.json", "[{]", r"a.json: not JSON \("),
        ("a.json", "[]", "a.json: no records: is it the right file"),
        ("a.jsonl", '{"key": "v", "qa": []}', "a.jsonl: no questions in it"),
        ("a.txt", "x", "a.txt: must end in .json, .jsonl or .parquet"),
        ("a.parquet", "x", "a.parquet: cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, name, text, message):
    path = write(tmp_path / name, text)
    with pytest.raises(InputError, match=message) as error:
        read_benchmark(path)
    assert "\n" not in str(error.value)


def test_a_path_that_is_no_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        read_benchmark(tmp_path / "none.json")
    with pytest.raises(InputError, match="a folder: give the benchmark's file in it"):
        read_benchmark(tmp_path)
    with pytest.raises(InputError, match="path is a list: give the path of an official file"):
        read_benchmark([])
