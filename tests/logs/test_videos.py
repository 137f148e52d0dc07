import gzip
import json
import os

import pandas
import polars
import pytest
from log_writers import record, without

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.reader import read_replays

BARE = pandas.DataFrame(
    [without(record(q, "SHAM", 0), "video_id") for q in ("Cm7_0", "a_b_7", "601-2")]
)
VIDEOS = {"Cm7_0": "Cm7", "a_b_7": "a_b", "601-2": "601", "elsewhere": "v"}
TABLE = pandas.DataFrame({"question_id": VIDEOS.keys(), "video_id": VIDEOS.values(), "other": 1})


def test_without_videos_there_are_no_clusters_and_a_note_says_how_to_give_them():
    counts = read_replays(BARE)
    assert counts.cluster is None
    assert len(counts.ledger.notes) == 1
    for mend in ("--videos", "--video-pattern"):
        assert mend in counts.ledger.notes[0]


@pytest.mark.parametrize(
    "name", ["v.csv", "v;.csv", "v.jsonl", "v.json", "v.parquet", "dict", "pandas", "polars"]
)
def test_a_mapping_in_every_form(tmp_path, name):
    path = tmp_path / name
    if name.endswith(".csv"):
        TABLE.to_csv(path, index=False, sep=";" if ";" in name else ",")
    elif name.endswith("parquet"):
        TABLE.to_parquet(path)
    elif "json" in name:
        TABLE.to_json(path, orient="records", lines=name == "v.jsonl")
    videos = {"dict": VIDEOS, "pandas": TABLE, "polars": polars.from_pandas(TABLE)}
    counts = read_replays(BARE, videos=videos.get(name, path))
    assert dict(zip(counts.question, counts.cluster, strict=True)) == {
        "Cm7_0": "Cm7", "a_b_7": "a_b", "601-2": "601",
    }  # fmt: skip
    assert counts.ledger.notes == ()


@pytest.mark.parametrize(
    ("videos", "message"),
    [
        ({"Cm7_0": "Cm7"}, "no video for question '601-2': add it to the mapping"),
        ({"Cm7_0": None}, "question 'Cm7_0' has video None"),
        (pandas.DataFrame({"question_id": ["a"]}), "no column video_id; it has question_id"),
        (pandas.DataFrame({"question_id": [], "video_id": []}), "no rows"),
        (pandas.DataFrame({"question_id": ["a", "a"], "video_id": ["v", "w"]}),
         "question 'a' is in video 'v' and in 'w'"),
        ("nowhere.csv", "nowhere.csv': no such file"),
        (__file__, "must be a CSV, JSONL or Parquet file"),
        (7, "cannot be scanned"),
    ],
)  # fmt: skip
def test_wrong_mappings_are_refused(videos, message):
    with pytest.raises(InputError, match=message) as raised:
        read_replays(BARE, videos=videos)
    assert "\n" not in str(raised.value)


def test_a_damaged_mapping_is_refused_by_name(tmp_path):
    path = tmp_path / "videos.jsonl"
    path.write_text('{"question_id": "a", "video')
    with pytest.raises(InputError, match=r"videos\.jsonl: cannot be read"):
        read_replays(BARE, videos=path)


def test_a_folder_of_frozen_trajectories_is_a_mapping(tmp_path):
    for question, video in VIDEOS.items():
        frozen = {"question_id": question, "messages": [{"x": 1}], "video_id": video}
        (tmp_path / f"{question}.json").write_text(json.dumps(frozen, indent=1))
    assert read_replays(BARE, videos=tmp_path).cluster.tolist() == ["601", "Cm7", "a_b"]


def test_ids_of_a_mapping_stay_as_they_are_written(tmp_path):
    path = tmp_path / "videos.jsonl"
    path.write_text('{"question_id": "Cm7_0", "video_id": "2024-1-2"}\n'
                    '{"question_id": "a_b_7", "video_id": "007"}\n'
                    '{"question_id": "601-2", "video_id": 7}\n')  # fmt: skip
    assert read_replays(BARE, videos=path).cluster.tolist() == ["7", "2024-1-2", "007"]


@pytest.mark.parametrize("pattern", [r"(.+)[_-]\d+", r"(?P<video>.+)[_-](\d+)"])
def test_a_pattern_matches_whole_ids(pattern):
    counts = read_replays(BARE, video_pattern=pattern)
    assert dict(zip(counts.question, counts.cluster, strict=True)) == {
        "Cm7_0": "Cm7", "a_b_7": "a_b", "601-2": "601",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(.+)_\d+", "does not match question '601-2' as a whole"),
        (r"(\d+)", "does not match question '601-2' as a whole"),
        (r"x?(y?).*", "does not match question"),
        (r".+", "has 0 groups"),
        (r"(.+)_(.+)", "has 2 groups"),
        (r"(", "is not a regular expression"),
    ],
)
def test_wrong_patterns_are_refused(pattern, message):
    with pytest.raises(InputError, match=message):
        read_replays(BARE, video_pattern=pattern)


def test_records_that_contradict_the_mapping_or_the_pattern_are_refused():
    log = BARE.assign(video_id=["Cm7", "a_b", "601"])
    assert read_replays(log, videos=VIDEOS).cluster.tolist() == ["601", "Cm7", "a_b"]
    wrong = BARE.assign(video_id=["Cm7", "x", "601"])
    message = "question 'a_b_7' is in video 'x' by its records and in 'a_b' by "
    for options in ({"videos": VIDEOS}, {"video_pattern": r"(.+)[_-]\d+"}):
        with pytest.raises(RecordError, match=message):
            read_replays(wrong, **options)


def test_videos_of_some_questions_only_are_refused_and_a_mapping_fills_them():
    log = BARE.assign(video_id=[None, "a_b", "601"])
    with pytest.raises(InputError, match="question 'Cm7_0' has no video_id and others have"):
        read_replays(log)
    assert read_replays(log, videos={"Cm7_0": "c"}).cluster.tolist() == ["601", "c", "a_b"]


def test_one_record_with_a_video_names_it_for_its_question(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [record("q", "SHAM", 0, video_id=None), record("q", "DESTROY", 0)]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_replays(path).cluster.tolist() == ["v1"]


def test_frozen_trajectories_may_be_hidden_and_larger_than_duckdb_takes(tmp_path):
    for question, video in VIDEOS.items():
        frozen = {"question_id": question, "messages": ["x" * (17 << 20)], "video_id": video}
        (tmp_path / f".{question}.json").write_text(json.dumps(frozen))
    assert read_replays(BARE, videos=tmp_path).cluster.tolist() == ["601", "Cm7", "a_b"]


def test_what_is_no_frozen_trajectory_is_named(tmp_path):
    wrong = tmp_path / "x.json"
    makers = {
        "a folder where a file": wrong.mkdir,
        "a link to nothing": lambda: wrong.symlink_to("nowhere"),
        "not a regular file": lambda: os.mkfifo(wrong),
        "not JSON": wrong.touch,
        "no video_id": lambda: wrong.write_text('{"question_id": "a"}'),
        "no question_id": lambda: wrong.write_text('{"question_id": null, "video_id": "v"}'),
    }
    for message, make in makers.items():
        make()
        with pytest.raises(InputError, match=rf"^{wrong}: {message}") as raised:
            read_replays(BARE, videos=tmp_path)
        assert "\n" not in str(raised.value)
        wrong.rmdir() if message.startswith("a folder") else wrong.unlink()
    with pytest.raises(InputError, match=rf"^{tmp_path}: no frozen trajectories"):
        read_replays(BARE, videos=tmp_path)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_compressed_mapping_with_a_wrong_checksum_is_damaged(tmp_path, kind):
    path = tmp_path / f"v.{kind}.gz"
    text = TABLE.to_csv(index=False) if kind == "csv" else TABLE.to_json(orient="records", lines=1)
    data = bytearray(gzip.compress(text.encode()))
    data[-6] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"^{path}: the compressed file is damaged"):
        read_replays(BARE, videos=path)


def test_a_ragged_mapping_says_what_is_wrong(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("question_id,video_id\na,v,3\n")
    with pytest.raises(InputError, match=rf"^{path}: .*Line: 2; .*a,v,3; Expected .* 2 Found: 3"):
        read_replays(BARE, videos=path)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "json", "csv.gz"])
def test_a_pipe_is_neither_a_mapping_nor_a_log(tmp_path, kind):
    pipe = tmp_path / f"pipe.{kind}"
    os.mkfifo(pipe)
    for options in ({"source": pipe}, {"source": tmp_path}, {"source": BARE, "videos": pipe}):
        with pytest.raises(InputError, match=rf"^{pipe}: not a regular file"):
            read_replays(**options)


def test_names_that_the_reader_would_change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("~v.csv", "[v]*.csv", "v\\v.csv"):
        TABLE.to_csv(f"./{name}", index=False)
        assert read_replays(BARE, videos=name).cluster.tolist() == ["601", "Cm7", "a_b"]
        BARE.assign(video_id="v").to_csv(f"./{name}", index=False)
        assert read_replays(name).question.size == 3
    for name, message in (("a\\*.csv", "backslash"), (b"\xff.csv", "not UTF-8")):
        path = os.fsdecode(name)
        with open(path, "w") as file:
            TABLE.to_csv(file, index=False)
        for options in ({"source": path}, {"source": BARE, "videos": path}):
            with pytest.raises(InputError, match=message):
                read_replays(**options)


def test_an_empty_path_is_not_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    BARE.to_csv("a.csv", index=False)
    with pytest.raises(InputError, match="source is an empty path"):
        read_replays("")
    with pytest.raises(InputError, match="videos=''"):
        read_replays(BARE, videos="")


@pytest.mark.parametrize("field", ["question_id", "video_id"])
def test_ids_that_end_in_nul_are_refused(tmp_path, field):
    path = tmp_path / "log.jsonl"
    rows = [record("q", "SHAM", 0), record("q", "DESTROY", 0) | {field: "q\0"}]
    path.write_text("\n".join(map(json.dumps, rows[field == "video_id" :])))
    line = 1 if field == "video_id" else 2
    with pytest.raises(RecordError, match=rf"^{path} line {line}: {field}='q\\x00' ends in"):
        read_replays(path)
    with pytest.raises(InputError, match="ends in the character NUL"):
        read_replays(BARE, videos=VIDEOS | {"a": "v\0"})
