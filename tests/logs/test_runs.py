"""Runs read apart: against a slow count of each run's records, and against one run at a time."""

import random

import log_writers as w
import pandas
import pytest
from test_run_directory import make_run as make_full_run
from test_stopped_runs_read import make_run

from carve_stats.counts import UNKNOWN_CLUSTERS
from carve_stats.errors import InputError, RecordError
from carve_stats.logs.reader import read_replays
from carve_stats.logs.runs import read_runs
from carve_stats.replay.store import RunStore

FIELDS = (*w.FIELDS, "run")


def many(seed=1, runs=("b", "a", "10")):
    """Records of some runs over the same questions, and of one question more in each run."""
    rng = random.Random(seed)
    records = []
    for run in runs:
        for question in ("q1", "q2", f"only {run}"):
            for condition in ("SELF", "SHAM", "DESTROY"):
                records += [
                    w.record(question, condition, i, rng.choice(["A", "B", None]), run=run)
                    for i in range(rng.randint(1, 4))
                ]
    return records


def of_run(records, run):
    return [w.without(r, "run") for r in records if r.get("run", "") == run]


@pytest.mark.parametrize("form", ["jsonl", "csv", "frame", "files"])
def test_each_run_is_what_its_own_records_make(tmp_path, form):
    records = many()
    random.Random(2).shuffle(records)
    source = {
        "jsonl": lambda: w.write_jsonl(tmp_path / "log.jsonl", records),
        "csv": lambda: w.write_csv(tmp_path / "log.csv", records, FIELDS),
        "frame": lambda: pandas.DataFrame(records),
        "files": lambda: [w.write_jsonl(tmp_path / f"{i}.jsonl", records[i::3]) for i in (2, 0, 1)],
    }[form]()
    runs = read_runs(source)
    assert list(runs) == ["10", "a", "b"]
    for run, counts in runs.items():
        own = of_run(records, run)
        assert w.as_counted(counts) == w.count_slowly(own)
        assert counts.cluster.tolist() == ["v1"] * 3
        valid = sum(r["valid"] for r in own)
        assert counts.ledger.to_dict() == {
            "read": len(records),
            "used": valid,
            "left_out": {"invalid": len(own) - valid, "other run": len(records) - len(own)},
        }
        assert counts.ledger.notes == ()


def test_one_run_at_a_time_is_the_same(tmp_path):
    log = w.write_jsonl(tmp_path / "log.jsonl", many())
    for run, counts in read_runs(log).items():
        alone = read_replays(log, run=run)
        assert counts.to_dict() == alone.to_dict()
        assert counts.ledger.to_dict() == alone.ledger.to_dict()


def test_the_order_of_files_and_records_changes_nothing(tmp_path):
    records = many()
    one = w.write_jsonl(tmp_path / "one.jsonl", records)
    parts = [w.write_jsonl(tmp_path / f"{i}.jsonl", records[::-1][i::2]) for i in range(2)]
    expected = {run: counts.to_dict() for run, counts in read_runs(one).items()}
    for source in (parts, parts[::-1]):
        assert {run: counts.to_dict() for run, counts in read_runs(source).items()} == expected


def test_records_without_a_run_are_a_run_and_said_to_be(tmp_path):
    records = [w.record("q", "SHAM", 0, "B"), w.record("q", "SHAM", 0, "A", run="r")]
    runs = read_runs(w.write_jsonl(tmp_path / "log.jsonl", records))
    assert list(runs) == ["", "r"]
    assert (runs[""].sham_flips.tolist(), runs["r"].sham_flips.tolist()) == ([1], [0])
    assert runs[""].ledger.notes == ("records without a run are the run ''",)
    assert runs["r"].ledger.notes == ()
    alone = read_runs(w.write_jsonl(tmp_path / "alone.jsonl", records[:1]))
    assert list(alone) == [""]
    assert "other run" not in alone[""].ledger.left_out


def test_sources_without_run_ids_are_no_runs(tmp_path):
    logs = [
        w.write_jsonl(tmp_path / f"{a}.jsonl", [w.record("q", "SHAM", 0, a)]) for a in ("A", "B")
    ]
    with pytest.raises(RecordError, match="name them in a column run"):
        read_runs(logs)


def test_tables_already_counted(tmp_path):
    table = pandas.DataFrame(
        {
            "question_id": ["p", "q", "p"], "run_id": ["1", "1", "2"], "video_id": "v",
            "sham_flips": [1, 0, 3], "sham_replays": 3, "destroy_flips": [2, 2, 0],
            "destroy_replays": [3, 2, 3], "destroy_invalid": [0, 1, 0],
        }
    )  # fmt: skip
    runs = read_runs(table)
    assert runs["1"].question.tolist() == ["p", "q"]
    assert runs["1"].destroy_invalid.tolist() == [0, 1]
    assert runs["2"].score.tolist() == [-1.0]
    assert runs["1"].ledger.left_out == {"invalid": 1, "other run": 6}
    assert runs["2"].ledger.left_out == {"other run": 12}


def test_options_are_those_of_one_run(tmp_path):
    records = [
        {"asked": "v7_1", "condition": "SHAM", "repetition": 0, "attempt": attempt, "run": run,
         "flip": flip}
        for run, flips in (("a", (None, 1)), ("b", (0, 1)))
        for attempt, flip in enumerate(flips)
    ]  # fmt: skip
    log = w.write_jsonl(tmp_path / "log.jsonl", records)
    names = {"question_id": "asked"}
    assert read_runs(log, columns=names)["a"].sham_invalid.tolist() == [1]
    assert UNKNOWN_CLUSTERS in read_runs(log, columns=names)["a"].ledger.notes
    by_pattern = read_runs(log, columns=names, video_pattern=r"(.+)_\d", attempts="first-valid")
    assert {run: c.sham_flips.tolist() for run, c in by_pattern.items()} == {"a": [1], "b": [0]}
    assert by_pattern["b"].cluster.tolist() == ["v7"]
    by_mapping = read_runs(log, columns=names, videos={"v7_1": "film"})
    assert by_mapping["a"].cluster.tolist() == ["film"]
    with pytest.raises(InputError, match="unknown attempts 'last'"):
        read_runs(log, attempts="last")
    with pytest.raises(InputError, match="give one of the two"):
        read_runs(log, videos={}, video_pattern="(.)")


def test_a_wrong_record_of_any_run_is_an_error(tmp_path):
    records = [w.record(run="one"), w.record(condition="NOISE", run="two")]
    log = w.write_jsonl(tmp_path / "log.jsonl", records)
    with pytest.raises(RecordError, match="line 2: unknown condition 'NOISE'"):
        read_runs(log)
    empty = w.write_csv(tmp_path / "empty.csv", [])
    with pytest.raises(InputError, match=r"empty\.csv.*no records"):
        read_runs(empty)


def test_one_frozen_answer_a_run(tmp_path):
    records = [w.record(reference="A", run="one"), w.record(reference="B", run="two")]
    runs = read_runs(w.write_jsonl(tmp_path / "log.jsonl", records))
    assert [counts.sham_flips.tolist() for counts in runs.values()] == [[0], [1]]


def test_what_a_run_directory_leaves_out_stays_with_its_run(tmp_path):
    paths = [make_full_run(tmp_path / str(seed), seed) for seed in (1, 2)]
    with (paths[0] / "segments" / "0001.jsonl").open("a") as segment:
        segment.write('{"run": "')
    ids = [RunStore.load(path).run_id for path in paths]
    runs = read_runs(paths)
    assert list(runs) == sorted(ids)
    first, second = (runs[run].ledger for run in ids)
    assert first.to_dict() == {
        "read": 11,
        "used": 2,
        "left_out": {
            "invalid": 1, "later attempt": 1, "duplicate": 1, "torn line": 1, "other run": 5
        },
    }  # fmt: skip
    assert second.left_out == {
        "invalid": 1, "later attempt": 1, "duplicate": 1, "other run": 6
    }  # fmt: skip
    for ledger, path in ((first, paths[0]), (second, paths[1])):
        assert all(note.startswith(str(path)) for note in ledger.notes)
        assert set(ledger.inputs) == set(map(str, paths))


def test_a_stopped_run_is_read_beside_a_full_one(tmp_path):
    paths = make_run(tmp_path / "stopped"), make_run(tmp_path / "full", stopping=None)
    runs = read_runs(list(paths))
    for path in paths:
        counts, alone = runs[RunStore.load(path).run_id], read_replays(path)
        assert counts.to_dict() == alone.to_dict()
        assert (counts.stopping is None) == (path == paths[1])
