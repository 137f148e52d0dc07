import gzip
import json

import log_writers as w
import pytest
from log_writers import record

from carve_stats.errors import RecordError
from carve_stats.logs.reader import read_replays

GOOD = [record("q", "SHAM", i, "AB"[i % 2]) for i in range(5)]


def test_a_torn_last_line_is_left_out_and_counted(tmp_path):
    text = "\n".join(map(json.dumps, GOOD))
    path = tmp_path / "log.jsonl"
    path.write_text(text[:-20])
    counts = read_replays(path)
    assert counts.sham_replays.tolist() == [4]
    assert counts.ledger.to_dict() == {"read": 5, "used": 4, "left_out": {"torn line": 1}}
    assert counts.ledger.notes == (f"{path}: the last line breaks off and is left out",)


def test_a_line_torn_inside_a_letter_of_many_bytes(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(json.dumps(GOOD[0]).encode() + b'\n{"question_id": "\xc3')
    assert read_replays(path).ledger.left_out == {"torn line": 1}


def test_torn_and_whole_files_together(tmp_path):
    whole = w.write_jsonl(tmp_path / "whole.jsonl", GOOD[:2])
    torn = w.write_jsonl(tmp_path / "torn.jsonl", GOOD[2:], end="\n{")
    bad = w.write_jsonl(tmp_path / "bad.jsonl", [GOOD[0] | {"flip": 7}], end='\n{"')
    assert read_replays([whole, torn]).ledger.to_dict() == {
        "read": 6, "used": 5, "left_out": {"torn line": 1},
    }  # fmt: skip
    with pytest.raises(RecordError, match=r"bad\.jsonl line 1: flip=7"):
        read_replays([torn, bad])


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("ahead", [1, 200])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question_id": "q", "condi', "not JSON: "),
        ("[1, 2]", "not a JSON object"),
        ('{"question_id": "q1"} {"question_id": "q2"}', "not JSON: "),
    ],
)
def test_a_malformed_middle_line_is_named(tmp_path, torn, ahead, line, message):
    lines = [json.dumps(record("q", "SHAM", i)) for i in range(ahead)]
    after = ['{"question_id'] if torn else [json.dumps(record("p"))]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, "", line, json.dumps(record("o")), *after]))
    with pytest.raises(RecordError, match=rf"log\.jsonl line {ahead + 2}: {message}") as raised:
        read_replays(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("ahead", [1, 200])
def test_a_last_line_that_is_whole_and_no_record_is_not_torn(tmp_path, ahead):
    lines = [json.dumps(record("q", "SHAM", i)) for i in range(ahead)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, "[1, 2]"]))
    with pytest.raises(RecordError, match=rf"line {ahead + 1}: not a JSON object"):
        read_replays(path)


def test_a_record_without_an_id_in_a_torn_file_is_not_taken_for_the_torn_line(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(GOOD[0]) + '\n{"other": 1}\n{"question')
    with pytest.raises(RecordError, match="line 2: there is no question_id"):
        read_replays(path)


def test_only_a_torn_line_is_no_log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"question_id": "q"')
    with pytest.raises(ValueError, match="a single record that breaks off"):
        read_replays(path)


def test_an_empty_part_is_noted(tmp_path):
    whole = w.write_jsonl(tmp_path / "a.jsonl", GOOD)
    (tmp_path / "b.jsonl").touch()
    counts = read_replays([whole, tmp_path / "b.jsonl"])
    assert counts.ledger.used == 5
    assert f"{tmp_path / 'b.jsonl'}: no records" in counts.ledger.notes


def test_gzip_blank_lines_carriage_returns_and_a_byte_order_mark(tmp_path):
    text = "\ufeff" + "\r\n\r\n".join(map(json.dumps, GOOD)) + "\r\n   \r\n"
    plain, packed = tmp_path / "log.jsonl", tmp_path / "log.jsonl.gz"
    plain.write_bytes(text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed):
        assert w.as_counted(read_replays(path)) == w.count_slowly(GOOD)


def test_a_gzip_file_that_breaks_off_is_refused(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, GOOD)).encode())[:-12])
    with pytest.raises(RecordError, match="the compressed file breaks off"):
        read_replays(path)


def test_line_numbers_count_blank_lines(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n\n" + json.dumps(GOOD[0]) + "\n\n" + json.dumps(GOOD[1] | {"flip": 9}))
    with pytest.raises(RecordError, match="line 5: flip=9"):
        read_replays(path)


def test_long_last_lines_are_found(tmp_path):
    long = record("q", "SHAM", 0, text="x" * 100_000)
    path = w.write_jsonl(tmp_path / "log.jsonl", [record("q", "SHAM", 1), long])
    assert read_replays(path).ledger.to_dict() == {"read": 2, "used": 2, "left_out": {}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question_id": "q", "condition": "\\ud800"}', "cannot be read"),
        ('{"question_id": "q"} {"question_id": "q"}', "not JSON"),
        ('{"question_id": "q",', "not JSON"),
    ],
)
def test_a_torn_line_hides_no_other(tmp_path, line, message):
    lines = [json.dumps(record("q", "SHAM", i)) for i in range(150)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, "", line, lines[0], '{"question']))
    with pytest.raises(RecordError, match=rf"log\.jsonl line 152: {message}"):
        read_replays(path)


@pytest.mark.parametrize(
    "last",
    [
        json.dumps(GOOD[1]) + json.dumps(GOOD[2]),  # two records
        json.dumps(GOOD[1])[:-1] + ",}",  # DuckDB reads it
        json.dumps(GOOD[1])[:-9] + "\n",  # the line has an end, so that it was written so
    ],
)
def test_a_last_line_that_did_not_break_off_is_refused(tmp_path, last):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(GOOD[0]) + "\n" + last)
    with pytest.raises(RecordError, match=r"log\.jsonl line 2: not JSON"):
        read_replays(path)


def test_a_line_of_many_bytes(tmp_path):
    long = record("q", "SHAM", 0, text="x" * 40_000_000)
    path = w.write_jsonl(tmp_path / "log.jsonl", [record("q", "SHAM", 1), long])
    assert read_replays(path).ledger.used == 2


def test_a_line_of_too_many_bytes_is_named(tmp_path):
    long = record("q", "SHAM", 0, text="x" * 70_000_000)
    path = w.write_jsonl(tmp_path / "log.jsonl", [record("q", "SHAM", 1), long])
    with pytest.raises(RecordError, match=r"log\.jsonl line 2: 66 MiB long, and 64 MiB are read"):
        read_replays(path)
