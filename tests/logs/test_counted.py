import json

import pandas
import polars
import pyarrow
import pytest

from carve_stats.errors import RecordError
from carve_stats.logs.reader import read_replays

ROWS = {
    "question_id": ["q2", "q1"],
    "video_id": ["v", "v"],
    "sham_flips": [1, 0],
    "sham_replays": [3, 0],
    "destroy_flips": [2, 1],
    "destroy_replays": [3, 1],
    "sham_invalid": [0, 2],
}


def write(path, rows):
    frame = pandas.DataFrame(rows)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=path.suffix == ".jsonl")
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.parquet", "pandas", "polars",
                                  "arrow"])  # fmt: skip
def test_a_counted_table_in_every_form(tmp_path, name):
    frames = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pyarrow.table}
    counts = read_replays(frames[name](ROWS) if name in frames else write(tmp_path / name, ROWS))
    assert counts.question.tolist() == ["q1", "q2"]
    assert counts.cluster.tolist() == ["v", "v"]
    assert counts.sham_flips.tolist() == [0, 1]
    assert counts.sham_replays.tolist() == [0, 3]
    assert counts.destroy_flips.tolist() == [1, 2]
    assert counts.destroy_replays.tolist() == [1, 3]
    assert counts.self_replays.tolist() == [0, 0]
    assert counts.sham_invalid.tolist() == [2, 0]
    assert counts.ledger.to_dict() == {"read": 9, "used": 7, "left_out": {"invalid": 2}}


def test_an_empty_arm_may_be_left_empty(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("question_id,sham_flips,sham_replays,destroy_flips,destroy_replays\nq,,,1,2\n")
    assert read_replays(path).sham_replays.tolist() == [0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sham_flips": [1, -1]}, "line 3: sham_flips of question 'q1' must be a whole number"),
        ({"sham_replays": [2.5, 1]}, "line 2: sham_replays of question 'q2' must be a whole"),
        ({"destroy_replays": ["many", 1]}, "line 2: destroy_replays of question 'q2' must be"),
        ({"destroy_flips": [2, 2]}, "line 3: destroy_flips of question 'q1' must not exceed"),
        ({"sham_flips": [3, 1]}, "line 3: sham_flips of question 'q1' must not exceed"),
        (
            {"sham_flips": [1, None], "sham_replays": [3, 2]},
            "line 3: sham_flips of question 'q1' is empty",
        ),
        ({"sham_replays": [3, None]}, "line 3: sham_replays of question 'q1' is empty"),
        ({"self_flips": [0, None]}, "line 2: self_replays of question 'q2' is empty"),
        ({"question_id": ["q2", None]}, "line 3: there is no question_id"),
        ({"question_id": ["q2", "q2"]}, "line 3: question 'q2' differs from its row at .*line 2"),
    ],
)
def test_wrong_counts_are_refused_with_their_place(tmp_path, changed, message):
    with pytest.raises(RecordError, match=rf"t\.csv {message}"):
        read_replays(write(tmp_path / "t.csv", ROWS | changed))


def test_identical_rows_count_once():
    counts = read_replays(pandas.concat([pandas.DataFrame(ROWS)] * 2))
    assert counts.sham_replays.tolist() == [0, 3]
    assert counts.ledger.to_dict() == {
        "read": 18, "used": 7, "left_out": {"invalid": 2, "duplicate": 9},
    }  # fmt: skip


def test_runs_of_a_counted_table():
    table = pandas.concat([pandas.DataFrame(ROWS | {"run": r}) for r in ("a", "b")])
    with pytest.raises(ValueError, match="hold 2 runs"):
        read_replays(table)
    assert read_replays(table, run="a").ledger.left_out == {"invalid": 2, "other run": 9}
    assert read_replays(table, pool_runs=True).sham_replays.tolist() == [0, 6]


COMPACT = [
    {"question_id": "q1", "video_id": "v", "sham_flips": [0, 1, None], "destroy_flips": [1, 1, 1],
     "self_flips": [0], "delta": 0.5},
    {"question_id": "q2", "video_id": "v", "sham_flips": [], "destroy_flips": [0, True],
     "self_flips": None, "delta": None},
]  # fmt: skip


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.parquet", "c.csv", "folder", "arrow"])
def test_the_compact_form(tmp_path, name):
    path = tmp_path / name
    plain = [r | {"destroy_flips": [int(f) for f in r["destroy_flips"]]} for r in COMPACT]
    if name == "arrow":
        path = pyarrow.Table.from_pylist(plain)
    elif name == "c.parquet":
        pandas.DataFrame(plain).to_parquet(path)
    elif name == "c.csv":
        texts = [
            r | {a: json.dumps(r[a]) for a in ("sham_flips", "destroy_flips")} for r in COMPACT
        ]
        pandas.DataFrame(texts).to_csv(path, index=False)
    elif name == "folder":
        path.mkdir()
        for r in COMPACT:
            (path / f"{r['question_id']}.json").write_text(json.dumps(r))
    else:
        lines = "\n".join(map(json.dumps, COMPACT))
        path.write_text(lines if name == "c.jsonl" else json.dumps(COMPACT))
    counts = read_replays(path)
    assert counts.sham_flips.tolist() == [1, 0]
    assert counts.sham_replays.tolist() == [2, 0]
    assert counts.destroy_flips.tolist() == [3, 1]
    assert counts.destroy_replays.tolist() == [3, 2]
    assert counts.self_replays.tolist() == [1, 0]
    assert counts.cluster.tolist() == ["v", "v"]
    assert counts.ledger.to_dict() == {"read": 9, "used": 8, "left_out": {"invalid": 1}}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sham_flips": 2}, r"sham_flips=2 must be a list .* give sham_replays too"),
        ({"sham_flips": "many"}, r"sham_flips=many must be a list"),
        ({"delta": "half"}, r"delta=half disagrees with its flips"),
        ({"delta": 0.4}, r"delta=0.4 disagrees with its flips, whose rates differ by 0.5000"),
        ({"sham_flips": [None]}, r"delta=0.5 disagrees with its flips, .* undefined"),
        ({"sham_flips": [3]}, r"sham_flips=\[3\]: flip=3 must be 0, 1"),
    ],
)
def test_wrong_compact_records_are_refused_with_their_place(tmp_path, changed, message):
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(map(json.dumps, [COMPACT[1], COMPACT[0] | changed])))
    with pytest.raises(RecordError, match=rf"c\.jsonl line 2: {message}"):
        read_replays(path)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.parquet", "frame"])
def test_flips_that_are_missing_are_not_none(tmp_path, name):
    rows = ROWS | {"destroy_flips": [float("nan"), 1]}
    log = pandas.DataFrame(rows) if name == "frame" else write(tmp_path / name, rows)
    with pytest.raises(RecordError, match="destroy_flips of question 'q2' is empty: give it, or"):
        read_replays(log)


def test_other_runs_are_counted_and_not_looked_at():
    wrong = {"run": "b", "sham_flips": [9, -1], "destroy_replays": ["many", 5]}
    table = pandas.concat([pandas.DataFrame(ROWS | more) for more in ({"run": "a"}, wrong)])
    ledger = read_replays(table.astype(str), run="a").ledger
    assert ledger.used == 7
    assert ledger.left_out == {"invalid": 2, "other run": 10}
    assert ledger.read == ledger.used + sum(ledger.left_out.values())


COUNT_ROW = {"question_id": "p", "sham_flips": 1, "sham_replays": 2, "destroy_flips": 1,
             "destroy_replays": 2}  # fmt: skip
REPLAY = {"question_id": "q", "condition": "sham", "repetition": 0, "flip": 1}


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.parquet", "frame"])
@pytest.mark.parametrize("replays_first", [False, True])
def test_counts_and_records_in_one_log_are_refused(tmp_path, name, replays_first):
    replays = [REPLAY | {"repetition": i} for i in range(120)]
    counts = [COUNT_ROW | {"question_id": f"p{i}"} for i in range(120)]
    rows = replays + counts if replays_first else counts + replays
    log = pandas.DataFrame(rows) if name == "frame" else write(tmp_path / name, rows)
    if name in ("t.jsonl", "t.json"):  # keys that are missing, not null
        text = "\n".join(map(json.dumps, rows)) if name == "t.jsonl" else json.dumps(rows)
        log.write_text(text)
    message = (
        r"(line|record) (1|2|121|122): both counts .* are in this log: split it, or name the col"
    )
    with pytest.raises(RecordError, match=message):
        read_replays(log)


def test_rows_that_are_both_are_read_as_what_the_mapping_names():
    log = pandas.DataFrame([REPLAY | COUNT_ROW])
    with pytest.raises(RecordError, match="record 1: both counts"):
        read_replays(log)
    assert read_replays(log, columns={"condition": "condition"}).ledger.read == 1
    assert read_replays(log, columns={"sham_flips": "sham_flips"}).ledger.read == 4


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet", "c.csv"])
def test_a_question_with_empty_lists_is_there_and_not_scored(tmp_path, name):
    rows = [COMPACT[0] | {"destroy_flips": [1, 1, 1]},
            COMPACT[1] | {"question_id": "q0", "destroy_flips": []},
            COMPACT[1] | {"destroy_flips": None, "sham_flips": None}]  # fmt: skip
    if name == "c.csv":
        rows = [r | {a: json.dumps(r[a]) for a in ("sham_flips", "destroy_flips")} for r in rows]
    counts = read_replays(write(tmp_path / name, rows))
    assert counts.question.tolist() == ["q0", "q1", "q2"]
    assert counts.scored.tolist() == [False, True, False]
    assert counts.ledger.to_dict() == {"read": 7, "used": 6, "left_out": {"invalid": 1}}


def test_lists_that_differ_and_count_the_same_are_refused(tmp_path):
    rows = [COMPACT[0], COMPACT[0] | {"sham_flips": [1, 0, None]}]
    with pytest.raises(RecordError, match=r"line 2: question 'q1' differs from its row at .*1"):
        read_replays(write(tmp_path / "c.jsonl", rows))
    assert read_replays(write(tmp_path / "c.jsonl", [rows[0]] * 2)).ledger.left_out == {
        "invalid": 1, "duplicate": 7,
    }  # fmt: skip
