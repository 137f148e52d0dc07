import gzip

import log_writers as w
import pandas
import pytest
from log_writers import record

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.reader import read_replays

RECORDS = [
    record("q", "SHAM", 0, 'a "b",\n;c', "A"),
    record("q", "SHAM", 1, "A"),
    record("q", "DESTROY", 0, None),
    record("p;1", "DESTROY", 0, "B"),
]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_dialects(tmp_path, delimiter, mark, end):
    path = w.write_csv(tmp_path / "log.csv", RECORDS, delimiter=delimiter, lineterminator=end)
    path.write_bytes(mark.encode() + path.read_bytes())
    assert w.as_counted(read_replays(path)) == w.count_slowly(RECORDS)


def test_gzip(tmp_path):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(w.write_csv(tmp_path / "log.csv", RECORDS).read_bytes()))
    assert w.as_counted(read_replays(path)) == w.count_slowly(RECORDS)


def test_floats_that_pandas_makes_of_whole_numbers_with_gaps(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("question_id,condition,repetition,flip\nq,sham,0.0,1.0\nq,sham,1.0,\n")
    counts = read_replays(path)
    assert (counts.sham_flips[0], counts.sham_replays[0], counts.sham_invalid[0]) == (1, 1, 1)


@pytest.mark.parametrize("row", ["q,SHAM,2", "q,SHAM,2,0,x", 'q,"SHAM",2,0,"y"'])
def test_a_ragged_record_is_named(tmp_path, row):
    path = tmp_path / "log.csv"
    path.write_text(f"question_id,condition,repetition,flip\nq,sham,0,0\n\n{row}\nq,sham,3,0\n")
    message = r"log\.csv record 2: \d fields, and the header has 4"
    with pytest.raises(RecordError, match=message) as raised:
        read_replays(path)
    assert "\n" not in str(raised.value)


def test_an_open_quote_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('question_id,condition,repetition,flip\nq,sham,0,"0\nq,sham,1,0\n')
    with pytest.raises(InputError, match=r"log\.csv") as raised:
        read_replays(path)
    assert "\n" not in str(raised.value)


def test_a_wrong_value_after_a_quoted_line_break_is_placed_by_record(tmp_path):
    path = w.write_csv(tmp_path / "log.csv", [*RECORDS, record("q", "SHAM", 2) | {"flip": "x"}])
    with pytest.raises(RecordError, match=r"log\.csv record 5: flip=x must be"):
        read_replays(path)


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("question_id,flip,flip\nq,0,1\n")
    with pytest.raises(InputError, match="two columns are named 'flip'"):
        read_replays(path)


@pytest.mark.parametrize("good", [0, 5000])
def test_text_that_is_not_utf8_is_refused(tmp_path, good):
    path = tmp_path / "log.csv"
    rows = "".join(f"q,sham,{i},0\n" for i in range(good)).encode()
    path.write_bytes(b"question_id,condition,repetition,flip\n" + rows + b"q\xff,sham,0,0\n")
    with pytest.raises(InputError, match=r"log\.csv: not UTF-8 text: save it as UTF-8"):
        read_replays(path)


def test_a_gzip_file_that_breaks_off_is_refused(tmp_path):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(w.write_csv(tmp_path / "log.csv", RECORDS).read_bytes())[:-30])
    with pytest.raises(InputError, match=r"log\.csv\.gz: the compressed file breaks off"):
        read_replays(path)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_damaged_gzip_file_is_refused(tmp_path, suffix):
    path = (w.write_csv if suffix == "csv" else w.write_jsonl)(tmp_path / "log", RECORDS)
    packed = bytearray(gzip.compress(path.read_bytes()))
    packed[-6] ^= 1  # of the checksum
    path = tmp_path / f"log.{suffix}.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"log\.\w+\.gz: the compressed file is damaged \(CRC"):
        read_replays(path)


def test_the_unnamed_index_that_a_data_frame_is_written_with(tmp_path):
    pandas.DataFrame(RECORDS).to_csv(tmp_path / "log.csv")
    assert w.as_counted(read_replays(tmp_path / "log.csv")) == w.count_slowly(RECORDS)


def test_lines_that_end_in_two_ways_are_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"question_id,condition,repetition,flip\r\nq,sham,0,0\nq,sham,1,0\r\n")
    with pytest.raises(InputError, match=r"log\.csv: some lines end in a carriage") as raised:
        read_replays(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["NaN", "nan", ""])
def test_texts_of_pandas_for_what_is_missing(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(
        "run,question_id,video_id,condition,repetition,answer,reference_answer\n"
        f"{text},q,{text},sham,0,{text},A\n{text},q,v,sham,1,B,A\n,q,v,sham,2,B,{text}\n"
    )
    counts = read_replays(path)
    assert counts.cluster.tolist() == ["v"]
    assert counts.ledger.to_dict() == {
        "read": 3, "used": 1, "left_out": {"invalid": 1, "unparsed reference": 1},
    }  # fmt: skip
