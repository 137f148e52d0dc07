import csv
import gzip
import io

import log_writers as w
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_writers import record

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.delimited import header, locate
from carve_stats.logs.outcomes import read_outcomes
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
    message = r"log\.csv line 4: \d fields, and the header has 4"
    with pytest.raises(RecordError, match=message) as raised:
        read_replays(path)
    assert "\n" not in str(raised.value)


def test_an_open_quote_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('question_id,condition,repetition,flip\nq,sham,0,"0\nq,sham,1,0\n')
    said = r"log\.csv line 2: a quote in this record is not closed"
    with pytest.raises(InputError, match=said) as raised:
        read_replays(path)
    assert "\n" not in str(raised.value)


def test_an_open_quote_in_the_header_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('question_id,"condition,repetition,flip\nq,sham,0,0\nq,sham,1,0\n')
    with pytest.raises(RecordError, match=r"log\.csv line 1: a quote in the header is open"):
        read_replays(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_names_with_line_breaks(tmp_path, delimiter, end):
    columns = {"question_id": f"question{end}_id", "flip": f'the "flip"{end}{end}'}
    path = w.write_csv(tmp_path / "log.csv", RECORDS, delimiter=delimiter, lineterminator=end)
    text = path.read_bytes().decode()
    for name, theirs in columns.items():
        quoted = theirs.replace('"', '""')
        text = text.replace(name, f'"{quoted}"', 1)
    path.write_bytes(text.encode())
    assert w.as_counted(read_replays(path, columns=columns)) == w.count_slowly(RECORDS)
    with pytest.raises(InputError, match=r"no column question_id.*; it has .*n_id") as raised:
        read_replays(path)
    assert len(str(raised.value).splitlines()) == 1


def test_a_first_line_that_is_blank(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("\nquestion_id,condition,repetition,flip\nq,sham,0,0\n")
    with pytest.raises(InputError, match=r"log\.csv: the file is empty, or its first line is"):
        read_replays(path)


@pytest.mark.parametrize("size", [10**6, 10**7])
def test_a_long_field_hides_no_error(tmp_path, size):
    path = tmp_path / "log.csv"
    long = f'q,sham,0,0,"{"x" * (size // 2)}\n{"x" * (size // 2)}"\n'
    path.write_text(f"question_id,condition,repetition,flip,note\n{long}q,sham,1,0\n")
    said = "line 4: 4 fields" if size == 10**6 else "line 2: a record of 10000015 bytes, and 20000"
    with pytest.raises(RecordError, match=rf"log\.csv {said}") as raised:
        read_replays(path)
    assert len(str(raised.value)) < 300


CELLS = st.lists(st.tuples(*[st.text('ab",;\n ', max_size=5)] * 2), min_size=1, max_size=6)


@pytest.mark.parametrize("delimiter", [",", ";"])
@given(CELLS)
def test_records_are_placed_by_the_line_in_which_they_begin(tmp_path_factory, delimiter, rows):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([("a\nb", "c"), *rows])
    path = tmp_path_factory.mktemp("lines") / "log.csv"
    path.write_text(file.getvalue())
    reader, begins = csv.reader(io.StringIO(file.getvalue()), delimiter=delimiter), []
    before = 0
    for _ in reader:
        begins.append(before + 1)
        before = reader.line_num
    assert header(path) == (["a\nb", "c"], delimiter)
    found = [locate(path, row, 2, delimiter) for row in range(len(rows))]
    assert found == [f"{path} line {line}" for line in begins[1:]]


def test_a_blank_line_is_a_record_of_one_column_and_none_of_more(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("a\n1\n\n2\n")
    assert locate(path, 2, 1, ",") == f"{path} line 4"
    path.write_text("a,b\n1,1\n\n2,2\n")
    assert locate(path, 1, 2, ",") == f"{path} line 4"


def test_a_wrong_value_after_a_quoted_line_break_is_placed_by_line(tmp_path):
    path = w.write_csv(tmp_path / "log.csv", [*RECORDS, record("q", "SHAM", 2) | {"flip": "x"}])
    with pytest.raises(RecordError, match=r"log\.csv line 7: flip=x must be"):
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


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inner", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("place", [0, 2])
def test_line_breaks_in_the_header_are_not_those_of_the_records(tmp_path, end, inner, place):
    rows = [["question_id", "original_correct"], ["q1", "1"], ["q2", "0"]]
    for row, cell in zip(rows, (f'"a{inner}note"', f'"x{inner}y"', "z"), strict=True):
        row.insert(place, cell)
    path = tmp_path / "outcomes.csv"
    path.write_bytes("".join(",".join(row) + end for row in rows).encode())
    outcomes = read_outcomes(path)
    assert outcomes.original_correct.tolist() == [1, 0]
    assert outcomes.covariates[f"a{inner}note"].tolist() == [f"x{inner}y", "z"]


def test_a_byte_order_mark_before_a_name_with_a_line_break_is_refused(tmp_path):
    path = tmp_path / "outcomes.csv"
    text = 'question_id,"original\n(0/1)"\nq1,1\n'
    path.write_text("\ufeff" + text)
    columns = {"original_correct": "original\n(0/1)"}
    assert read_outcomes(path, columns=columns).original_correct.tolist() == [1]
    first, second = text.split("\nq1")[0].split(",")
    path.write_text(f"\ufeff{second},{first}\n1,q1\n")
    with pytest.raises(InputError, match="after a byte order mark: take one of them out"):
        read_outcomes(path, columns=columns)
