"""Logs that are a run each: copies are found whatever their records call themselves."""

import random

import log_writers as w
import pandas
import pytest

from carve_stats.errors import InputError
from carve_stats.logs.copied_replays import find_copied_replays


def make(seed, k, run=None, questions=30):
    records = []
    for question in range(questions):
        for condition in ("SHAM", "DESTROY"):
            rng = random.Random(f"{seed} {question} {condition}")
            for i in range(k):
                answer = "B" if rng.random() < 0.4 else "A"
                records.append(w.record(f"q{question}", condition, i, answer, run=run))
    return records


def test_copies_are_found_between_forms_and_whatever_runs_are_called(tmp_path):
    fields = (*w.FIELDS, "run")
    logs = {
        "short": w.write_csv(tmp_path / "a.csv", make(1, 3, run="same"), fields),
        "long": w.write_jsonl(tmp_path / "b.jsonl", make(1, 5)),
        "other": pandas.DataFrame(make(2, 3, run="same")),
    }
    (one,) = find_copied_replays(logs)
    assert one == ("short", "long", 30, 30)
    assert one.complete
    del logs["long"]
    assert find_copied_replays(logs) == []


def test_counted_tables_hold_no_records():
    row = {"question_id": ["q1"], "sham_flips": [1], "sham_replays": [3],
           "destroy_flips": [2], "destroy_replays": [3]}  # fmt: skip
    counted = pandas.DataFrame(row)
    assert find_copied_replays({"a": counted, "b": counted.copy()}) == []
    records = pandas.DataFrame(make(1, 3))
    assert find_copied_replays({"a": counted, "b": records}) == []


def test_columns_are_named_as_for_reading():
    renamed = [pandas.DataFrame(make(1, 3)).rename(columns={"question_id": "qid"}) for _ in "ab"]
    logs = dict(zip("ab", renamed, strict=True))
    assert find_copied_replays(logs, columns={"question_id": "qid"})[0].complete
    with pytest.raises(InputError, match="question_id"):
        find_copied_replays(logs)
