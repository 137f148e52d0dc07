"""What holds whatever a log is stored as."""

import json
import random
from pathlib import Path

import log_writers as w
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_writers import record, without
from pyarrow import csv, parquet

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.reader import read_replays
from carve_stats.logs.sources import READERS

RECORDS = [
    record("a/b_7", "SELF", 0, "A", video_id="v 1"),
    record("a/b_7", "SHAM", 0, "B", video_id="v 1"),
    record("a/b_7", "SHAM", 1, "A", video_id="v 1"),
    record("a/b_7", "DESTROY", 0, "C", video_id="v 1"),
    record("a/b_7", "DESTROY", 1, None, video_id="v 1"),
    record("601-2", "SHAM", 0, 'd\n, "x"; é', "D", video_id="601"),
    record("601-2", "DESTROY", 0, None, "D", video_id="601"),
    record("601-2", "DESTROY", 1, None, "D", video_id="601"),
    record("solo", "SELF", 0, "A", video_id="v'2"),
]


def forms(folder, records):
    table = pyarrow.Table.from_pylist(records)
    pandas.DataFrame(records).to_parquet(folder / "log.parquet")
    return {
        "tree": w.write_tree(folder / "results", records),
        "jsonl": w.write_jsonl(folder / "log.jsonl", records),
        "csv": w.write_csv(folder / "log.csv", records),
        "json": (folder / "log.json").write_text(json.dumps(records)) and folder / "log.json",
        "parquet": folder / "log.parquet",
        "pandas": pandas.DataFrame(records),
        "polars": polars.DataFrame(records),
        "arrow": table,
    }


def same(a, b):
    return (
        a.to_dict() == b.to_dict()
        and a.ledger.to_dict() == b.ledger.to_dict()
        and a.ledger.notes == b.ledger.notes
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_every_form_in_any_order_gives_the_same_counts(tmp_path, seed):
    records = list(RECORDS)
    random.Random(seed).shuffle(records)
    read = {name: read_replays(source) for name, source in forms(tmp_path, records).items()}
    assert w.as_counted(read["jsonl"]) == w.count_slowly(RECORDS)
    assert dict(zip(read["jsonl"].question, read["jsonl"].cluster, strict=True)) == {
        "601-2": "601", "a/b_7": "v 1", "solo": "v'2",
    }  # fmt: skip
    assert read["jsonl"].ledger.to_dict() == {"read": 9, "used": 6, "left_out": {"invalid": 3}}
    for name, counts in read.items():
        assert same(counts, read["jsonl"]), name


ANSWERS = st.sampled_from(
    ["A", "b", " B", "Ｂ", "ß", "SS", "B\n", "", None, "Failed to obtain answer via API.",
     "[LMMS_EVAL_REQUEST_FAILED after 5 retries] timeout", "the dog", "\u00a0The Dog "]
)  # fmt: skip


@st.composite
def logs(draw):
    """Records with attempts, invalid replays, repetitions beyond 126, and copies."""
    keys = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["q1", "q2", "q 3"]),
                st.sampled_from(["self", "SHAM", "Destroy", " phase"]),
                st.sampled_from([0, 1, 2, 126, 127, 5000]),
                st.sampled_from([0, 0, 0, 1, 2]),
            ),
            min_size=1,
            max_size=25,
            unique_by=lambda k: (k[0], k[1].strip().lower().replace("phase", "destroy"), *k[2:]),
        )
    )
    reference = {q: draw(st.sampled_from(["A", "b", "SS", "the dog"])) for q, *_ in keys}
    records = [
        {
            "question_id": q,
            "video_id": "v",
            "condition": c,
            "repetition": r,
            "attempt": a,
            "answer": draw(ANSWERS),
            "reference_answer": reference[q],
            "valid": draw(st.sampled_from([None, None, True, False])),
        }
        for q, c, r, a in keys
    ]
    copies = draw(st.lists(st.sampled_from(records), max_size=4))
    return draw(st.permutations(records + copies)), len(copies)


@settings(max_examples=40)
@given(log=logs(), attempts=st.sampled_from(["first", "first-valid"]))
def test_counts_are_those_of_a_slow_count_and_the_ledger_adds_up(log, attempts):
    records, copies = log
    counts = read_replays(pyarrow.Table.from_pylist(records), attempts=attempts)
    stripped = [r | {"condition": r["condition"].strip()} for r in records]
    assert w.as_counted(counts) == w.count_slowly(stripped, attempts)
    ledger = counts.ledger
    assert ledger.read == len(records)
    assert ledger.left_out.get("duplicate", 0) == copies
    invalid = sum(int(getattr(counts, f"{arm}_invalid").sum()) for arm in w.ARMS)
    assert ledger.left_out.get("invalid", 0) == invalid


def test_every_reader_module_is_among_the_readers():
    modules = {
        path.stem
        for path in Path(READERS[0].__file__).parent.glob("*.py")
        if "def is_mine(" in path.read_text()
    }
    assert modules == {reader.__name__.rpartition(".")[2] for reader in READERS}


@pytest.mark.parametrize("name", ["o'brien [1]*?.jsonl", "sp ace.csv", "ünï.parquet", "x[a].json"])
def test_file_names_are_taken_literally(tmp_path, name):
    for decoy in ("o'brien 1xx.jsonl", "xa.json"):
        (tmp_path / decoy).write_text('{"not": "this"}\n')
    path = tmp_path / name
    if path.suffix == ".parquet":
        pandas.DataFrame(RECORDS).to_parquet(path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(RECORDS))
    else:
        (w.write_csv if path.suffix == ".csv" else w.write_jsonl)(path, RECORDS)
    counts = read_replays(str(path))
    assert w.as_counted(counts) == w.count_slowly(RECORDS)
    assert counts.ledger.inputs == (str(path),)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_folder_named_like_a_partition_adds_no_column(tmp_path, suffix):
    folder = tmp_path / "video_id=7" / "condition=SELF"
    folder.mkdir(parents=True)
    table, videos = pandas.DataFrame(RECORDS), pandas.DataFrame(
        {"question_id": sorted({r["question_id"] for r in RECORDS}), "video_id": "v1"}
    )  # fmt: skip
    for name, frame in (("log", table.drop(columns="video_id")), ("videos", videos)):
        path = folder / f"{name}.{suffix}"
        if suffix == "parquet":
            frame.to_parquet(path)
        elif suffix == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_json(path, orient="records", lines=True)
    counts = read_replays(folder / f"log.{suffix}", videos=folder / f"videos.{suffix}")
    assert w.as_counted(counts) == w.count_slowly(RECORDS)
    assert set(counts.cluster) == {"v1"}


def test_globs_lists_and_folders_are_parts_of_one_log(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    w.write_jsonl(folder / "1.jsonl", RECORDS[:4])
    w.write_jsonl(folder / "2.jsonl", RECORDS[4:])
    whole = read_replays(w.write_jsonl(tmp_path / "whole.jsonl", RECORDS))
    mixed = [w.write_csv(tmp_path / "a.csv", RECORDS[:4]), pandas.DataFrame(RECORDS[4:])]
    for source in (folder, str(folder / "*.jsonl"), sorted(folder.iterdir()), mixed):
        assert same(read_replays(source), whole)


def test_a_folder_of_several_kinds_is_refused(tmp_path):
    w.write_jsonl(tmp_path / "1.jsonl", RECORDS)
    w.write_csv(tmp_path / "videos.csv", [], fields=["question_id", "video_id"])
    with pytest.raises(InputError, match=r"several kinds \(1\.jsonl, videos\.csv\): name those"):
        read_replays(tmp_path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d, "no replay logs in it: expected <question>/<CONDITION>/<repetition>.json"),
        (lambda d: d / "none.jsonl", "none.jsonl: no such file or folder"),
        (lambda d: d / "*.csv", "no such file or folder"),
        (lambda d: [], "source is an empty list"),
        (lambda d: 7, "a int: not a replay log"),
        (lambda d: _touch(d / "log.txt"), "log.txt: not a replay log: expected a folder"),
        (lambda d: _touch(d / "log.jsonl"), "log.jsonl: no records"),
        (lambda d: _touch(d / "log.csv"), "log.csv: the file is empty"),
        (lambda d: _touch(d / "log.json"), "log.json: not JSON"),
        (lambda d: _write(d / "log.json", "[]"), "log.json: no records"),
        (lambda d: _write(d / "log.json", "[{}, 3]"), "log.json record 2: not a JSON object"),
        (lambda d: _touch(d / "log.parquet"), "log.parquet: cannot be read: .*too small"),
        (lambda d: pandas.DataFrame(RECORDS).head(0), "data frame: no records"),
        (lambda d: w.write_csv(d / "head.csv", []), "head.csv: no records"),
        (lambda d: pandas.DataFrame({"a": [1]}), "no column question_id, condition, repetition,"
         r" flip \(or answer and reference_answer\); it has a: name yours with columns="),
        (lambda d: w.write_jsonl(d / "x.jsonl", [{"qid": 1, "condition": "sham", "flip": 1}]),
         r"x.jsonl: no column question_id, repetition; it has qid, condition, flip: .*--map"),
    ],
)  # fmt: skip
def test_what_is_no_log_is_refused_in_one_line(tmp_path, make, message):
    with pytest.raises(InputError, match=message) as raised:
        read_replays(make(tmp_path))
    assert "\n" not in str(raised.value)


def _write(path, text):
    path.write_text(text)
    return path


def _touch(path):
    path.touch()
    return path


def test_an_unreadable_file_is_refused_by_name(tmp_path):
    path = tmp_path / "folder.jsonl"
    path.mkdir()
    with pytest.raises(InputError, match=r"folder\.jsonl: cannot be read"):
        read_replays(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attempts": "last"}, "unknown attempts 'last': the known ones are first, first-valid"),
        ({"run": "r", "pool_runs": True}, "give one of the two"),
        ({"videos": {}, "video_pattern": "(.)"}, "give one of the two"),
        ({"columns": {"question": "q"}}, "unknown column 'question': .*mean 'question_id'"),
        ({"columns": {"flip": "changed"}}, "no column 'changed', which columns= .* for flip; it"),
        ({"run": "r"}, "unknown run 'r'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        read_replays(pandas.DataFrame(RECORDS), **options)


def test_columns_can_have_other_names():
    renamed = {"question_id": "qid", "flip": "changed", "condition": "mode", "repetition": "i"}
    log = pandas.DataFrame(RECORDS).rename(columns=renamed)
    assert same(read_replays(log, columns=renamed), read_replays(pandas.DataFrame(RECORDS)))


def test_nothing_is_written_beside_the_logs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sources = forms(tmp_path, RECORDS)
    before = sorted(tmp_path.rglob("*"))
    for source in sources.values():
        read_replays(source)
    assert sorted(tmp_path.rglob("*")) == before


def test_records_and_counted_tables_are_not_mixed(tmp_path):
    counted = pandas.DataFrame(
        {"question_id": ["q"], "sham_flips": [0], "sham_replays": [1], "destroy_flips": [0],
         "destroy_replays": [1]}
    )  # fmt: skip
    with pytest.raises(InputError, match="some hold records and some counts: read them apart"):
        read_replays([pandas.DataFrame(RECORDS), counted])


def test_a_wrong_record_is_named_across_sources(tmp_path):
    good = w.write_jsonl(tmp_path / "good.jsonl", RECORDS)
    bad = w.write_jsonl(tmp_path / "bad.jsonl", [record("q9"), record("q9", "SHAME", 1)])
    message = r"bad\.jsonl line 2: unknown condition 'SHAME': the known ones are self, sham"
    with pytest.raises(RecordError, match=message):
        read_replays([good, bad])


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas", "polars", "arrow"])
def test_names_that_differ_only_in_case_are_refused(tmp_path, form):
    table = pyarrow.Table.from_pylist(RECORDS)
    table = table.append_column("Flip", table["flip"])
    parquet.write_table(table, tmp_path / "log.parquet")
    csv.write_csv(table, tmp_path / "log.csv")
    logs = {"pandas": table.to_pandas(), "polars": polars.from_arrow(table), "arrow": table}
    with pytest.raises(InputError, match="'flip' and 'Flip' differ only in case: rename one"):
        read_replays(logs.get(form, tmp_path / f"log.{form}"))


def test_json_names_are_taken_as_they_are(tmp_path):
    other = [r | {"Flip": 7} for r in RECORDS]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(other))
    for log in (path, w.write_jsonl(tmp_path / "log.jsonl", other)):
        assert w.as_counted(read_replays(log)) == w.count_slowly(RECORDS)


def test_flips_as_decimal_numbers():
    table = pyarrow.Table.from_pylist([without(r, "answer", "reference_answer") for r in RECORDS])
    decimals = table["flip"].cast(pyarrow.decimal128(21, 2))
    table = table.set_column(table.column_names.index("flip"), "flip", decimals)
    assert w.as_counted(read_replays(table)) == w.count_slowly(RECORDS)


@pytest.mark.parametrize("seed", [0, 1])
def test_missing_flips_read_the_same_in_every_form(tmp_path, seed):
    rng = random.Random(seed)
    records = [record(f"q{i}", "SHAM", 0, rng.choice("AB1"), "A") for i in range(9)]
    for r in records[::2]:
        r["flip"] = None
    read = {name: read_replays(source) for name, source in forms(tmp_path, records).items()}
    assert w.as_counted(read["jsonl"]) == w.count_slowly(records)
    for name, counts in read.items():
        assert same(counts, read["jsonl"]), name
