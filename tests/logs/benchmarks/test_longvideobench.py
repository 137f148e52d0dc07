import json

import pandas
import pytest

from carve_stats.errors import RecordError
from carve_stats.logs.benchmarks import read_benchmark

RECORD = {
    "video_id": "Vid-1",
    "question": "When the cook turns, what boils?",
    "question_wo_referring_query": "What boils?",
    "candidates": ["soup", "milk", "tea", "water"],
    "correct_choice": 1,
    "position": [361, 520],
    "topic_category": "KC",
    "question_category": "S2E",
    "level": "L1-Perception",
    "id": "Vid-1_0",
    "video_path": "Vid-1.mp4",
    "subtitle_path": "Vid-1_en.json",
    "duration_group": 600,
    "starting_timestamp_for_subtitles": 0,
    "duration": 190.16,
    "view_count": 12,
}


def read(tmp_path, *records):
    path = tmp_path / "lvb_val.json"
    path.write_text(json.dumps(records))
    return read_benchmark(path)


def test_a_question(tmp_path):
    benchmark = read(tmp_path, RECORD)
    assert benchmark.name == "longvideobench"
    question = benchmark["Vid-1_0"]
    assert (question.video_id, question.answer) == ("Vid-1", "B")  # counted from 0
    assert question.options == {"A": "soup", "B": "milk", "C": "tea", "D": "water"}
    assert question.attributes["duration"] == 190.16


def test_positions_are_frames_and_make_no_interval(tmp_path):
    question = read(tmp_path, RECORD)["Vid-1_0"]
    assert question.attributes["position"] == (361, 520)
    assert question.interval is None


@pytest.mark.parametrize("options", [["a", "b"], list("abc"), list("abcde")])
def test_the_number_of_candidates_varies(tmp_path, options):
    record = RECORD | {"candidates": options, "correct_choice": len(options) - 1}
    question = read(tmp_path, record)["Vid-1_0"]
    assert list(question.options.values()) == options
    assert question.answer == "ABCDE"[len(options) - 1]


@pytest.mark.parametrize("gold", ["@", -1, None, ...])
def test_the_test_split_has_no_gold(tmp_path, gold):
    record = {k: v for k, v in (RECORD | {"correct_choice": gold}).items() if v is not ...}
    benchmark = read(tmp_path, RECORD | {"id": "other"}, record)
    assert benchmark["Vid-1_0"].answer is None
    assert benchmark.ledger.notes == ("1 of 2 questions have no gold answer",)


@pytest.mark.parametrize("gold", [4, -2, "B", 1.5, True])
def test_a_choice_that_cannot_be_right(tmp_path, gold):
    with pytest.raises(RecordError, match=r"json record 1: correct_choice=.* from 0 to 3, or '@'"):
        read(tmp_path, RECORD | {"correct_choice": gold})


def test_the_columns_of_the_parquet_file(tmp_path):
    plain = {k: v for k, v in RECORD.items() if k not in ("candidates", "position")}
    rows = [
        plain | {f"option{i}": text for i, text in enumerate(["x", "y", "z", "N/A", "N/A"])},
        plain | {"id": "b", "correct_choice": -1} | {f"option{i}": "pqrst"[i] for i in range(5)},
    ]
    path = tmp_path / "validation.parquet"
    pandas.DataFrame(rows).to_parquet(path)
    benchmark = read_benchmark(path)
    assert benchmark["Vid-1_0"].options == {"A": "x", "B": "y", "C": "z"}
    assert benchmark["Vid-1_0"].answer == "B"
    assert list(benchmark["b"].options) == list("ABCDE")
    assert benchmark["b"].answer is None
    assert "option0" not in benchmark["b"].attributes
