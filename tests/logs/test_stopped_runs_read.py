"""Runs that stopped questions early: read as such from their directory, and refused elsewhere."""

import copy
import csv
import json
import pickle
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from log_writers import write_tree

from carve_stats.counts import CONDITIONS
from carve_stats.errors import CarveStatsError
from carve_stats.inference.stopped import UNFINISHED, stopped_signs
from carve_stats.logs.reader import read_replays
from carve_stats.logs.run_directory import FIRST_VALID
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population
from carve_stats.replay.loop import run_replays
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

PLAN = stopping_plan(4, population=Population.paper())
OPTIONS = dict.fromkeys("ABCD", "an answer")
QUESTIONS = [
    Trajectory(question_id=f"q{i:02d}", video_id=f"v{i % 7}", answer="A", options=OPTIONS)
    for i in range(30)
]
COUNTS = [f"{arm}_{what}" for arm in CONDITIONS for what in ("flips", "replays", "invalid")]


def noisy(request):
    """A pure function of the request's seed; a third of the answers are no flip, a quarter none."""
    return random.Random(request.seed).choice("AAAABBCCD???")


def make_run(path, *, stopping=PLAN, agent=noisy, seed=5, **options):
    run_replays(agent, QUESTIONS, k=4, store=path, seed=seed, stopping=stopping, **options)
    return path


def records_of(run):
    return [
        json.loads(line)
        for segment in sorted((run / "segments").glob("*.jsonl"))
        for line in segment.read_text().splitlines()
    ]


def refuse(message, *sources, **options):
    with pytest.raises(CarveStatsError, match=message) as told:
        read_replays(*sources, **options)
    assert "\n" not in str(told.value)
    return str(told.value)


STOPPED = "stopped its questions early: its rates would be biased; read the run's own directory"


def count_by_hand(run):
    """Flips, valid and invalid repetitions by question and condition: the first valid attempts."""
    repetitions = {}
    for r in records_of(run):
        key = r["question_id"], r["condition"], r["repetition"]
        repetitions.setdefault(key, []).append((r["attempt"], r["flip"]))
    counted = {name: Counter() for name in COUNTS}
    for (question, arm, _), tried in repetitions.items():
        flip = next((flip for _, flip in sorted(tried) if flip is not None), None)
        counted[f"{arm}_invalid"][question] += flip is None
        counted[f"{arm}_replays"][question] += flip is not None
        counted[f"{arm}_flips"][question] += flip == 1
    return counted


def check_counts_by_hand(counts, run):
    by_hand = count_by_hand(run)
    assert counts.question.tolist() == [t.question_id for t in QUESTIONS]
    for name in COUNTS:
        expected = [by_hand[name][q] for q in counts.question.tolist()]
        assert getattr(counts, name).tolist() == expected, name


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("asked", ["first", "first-valid"])
def test_a_directory_gives_the_counts_and_the_plan(tmp_path, attempts, asked):
    run = make_run(tmp_path / "run", attempts=attempts)
    counts = read_replays(run, attempts=asked)
    assert counts.stopping.sha256 == PLAN.sha256
    check_counts_by_hand(counts, run)
    assert counts.cluster.tolist() == [t.video_id for t in QUESTIONS]
    assert counts.sham_invalid.sum() > 0
    made = len(records_of(run))
    repetitions = sum(int(getattr(counts, f"{arm}_{what}").sum())
                      for arm in CONDITIONS for what in ("replays", "invalid"))  # fmt: skip
    invalid = sum(int(getattr(counts, f"{arm}_invalid").sum()) for arm in CONDITIONS)
    left_out = {"earlier attempt": made - repetitions, "invalid": invalid}
    assert counts.ledger.to_dict() == {
        "read": made, "used": made - sum(left_out.values()),
        "left_out": {reason: n for reason, n in left_out.items() if n},
    }  # fmt: skip
    assert (attempts == 2) == (made > repetitions)
    assert any(FIRST_VALID in note for note in counts.ledger.notes) == (attempts == 2)
    assert not any("unfinished" in note for note in counts.ledger.notes)
    found = stopped_signs(counts)
    assert found.questions["left_out"].get(UNFINISHED, 0) == 0
    assert found.records == counts.ledger.to_dict()


def test_a_full_run_has_no_plan(tmp_path):
    run = make_run(tmp_path / "run", stopping=None)
    counts = read_replays(run)
    assert counts.stopping is None
    assert "stopping" not in counts.to_dict()
    assert counts.score.shape == (30,)


def test_an_unfinished_run_is_read_with_a_note(tmp_path):
    class Interrupted:
        calls = 0

        def __call__(self, request):
            self.calls += 1
            if self.calls == 150:
                raise KeyboardInterrupt
            return noisy(request)

        def fingerprint(self):
            return {"name": "interrupted"}

    with pytest.raises(KeyboardInterrupt):
        make_run(tmp_path, agent=Interrupted())
    counts = read_replays(tmp_path)
    assert counts.stopping.sha256 == PLAN.sha256
    assert any("unfinished, 149 of" in note for note in counts.ledger.notes)
    assert sum(counts.to_dict()[f"{arm}_{what}"][q] for arm in CONDITIONS
               for what in ("replays", "invalid") for q in range(len(counts))) == 149  # fmt: skip
    found = stopped_signs(counts)
    assert found.questions["left_out"][UNFINISHED] >= 1
    assert found.questions["scored"] > 0


def test_what_was_made_after_the_stop_is_left_out_and_counted(tmp_path):
    # As two processes at once may leave it, whose agents answered differently.
    run = make_run(tmp_path / "few")
    before = read_replays(run)
    make_run(tmp_path / "full", stopping=None)
    few = RunStore.load(run)
    there = few.progress.completed()
    added = 0
    k = dict.fromkeys(CONDITIONS, 4)
    with RunStore.open(run, few.plan, k=k, trajectories=QUESTIONS) as store:
        for record in RunStore.load(tmp_path / "full").records():
            if record.key not in there:
                store.append(replace(record, run=few.run_id, stopping=PLAN.sha256))
                added += 1
    after = read_replays(run)
    assert added > 0
    assert after.to_dict() == before.to_dict()
    assert after.ledger.left_out["after the stop"] == added
    assert after.ledger.read == before.ledger.read + added
    assert stopped_signs(after).to_dict()["excess"] == stopped_signs(before).to_dict()["excess"]


def test_duplicates_and_torn_lines_are_counted_as_of_any_run(tmp_path):
    run = make_run(tmp_path)
    before = read_replays(run)
    segment = next((run / "segments").glob("*.jsonl"))
    lines = segment.read_text().splitlines(keepends=True)
    with segment.open("a") as file:
        file.write(lines[0])
        file.write(lines[1][:40])
    after = read_replays(run)
    assert after.to_dict() == before.to_dict()
    assert after.ledger.left_out["duplicate"] == after.ledger.left_out["torn line"] == 1
    assert not any("word for word" in note for note in after.ledger.notes)
    assert sum("further records of replays that have one" in n for n in after.ledger.notes) == 1


def test_it_is_read_alone(tmp_path):
    run, other = make_run(tmp_path / "run"), make_run(tmp_path / "other", seed=6)
    full = make_run(tmp_path / "full", stopping=None)
    alone = "a run that stopped its questions early cannot be added to other replays: read it alone"
    for sources in ([run, full], [full, run], [run, other]):
        refuse(alone, sources, pool_runs=True)
        assert "hold 2 runs" in refuse(".", sources)
    refuse(alone, [run, full], run=RunStore.load(full).run_id)
    refuse(".", [run, full / "segments"], pool_runs=True)
    assert read_replays(run, pool_runs=True).to_dict() == read_replays(run).to_dict()


def as_csv(path, records):
    names = list(dict.fromkeys(name for r in records for name in r))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(records)
    return path


def as_jsonl(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def as_json(path, records):
    path.write_text(json.dumps(records))
    return path


def as_parquet(path, records):
    pandas.DataFrame(records).to_parquet(path)
    return path


def as_pandas(path, records):
    return pandas.DataFrame(records)


def as_polars(path, records):
    return polars.DataFrame(records, infer_schema_length=None)


def as_arrow(path, records):
    return pyarrow.Table.from_pylist(records)


FORMS = {
    "csv": as_csv, "jsonl": as_jsonl, "json": as_json, "parquet": as_parquet,
    "pandas": as_pandas, "polars": as_polars, "arrow": as_arrow,
}  # fmt: skip


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that stopped its questions, and the records of it that a log would have."""
    run = make_run(tmp_path_factory.mktemp("stopped") / "run")
    names = ("run", "question_id", "video_id", "condition", "repetition", "attempt", "answer",
             "reference_answer", "flip", "stopping")  # fmt: skip
    return run, [{name: r[name] for name in names} for r in records_of(run)]


def test_segments_elsewhere_are_refused(stopped, tmp_path):
    run, _ = stopped
    segment = next((run / "segments").glob("*.jsonl"))
    copied = tmp_path / "copy.jsonl"
    copied.write_bytes(segment.read_bytes())
    for source in (segment, run / "segments", copied, tmp_path, str(tmp_path / "*.jsonl")):
        assert segment.name in refuse(STOPPED, source) or "copy.jsonl" in refuse(STOPPED, source)


@pytest.mark.parametrize("form", FORMS)
def test_records_in_any_form_are_refused(stopped, tmp_path, form):
    _, records = stopped
    refuse(STOPPED, FORMS[form](tmp_path / f"log.{form}", records))
    # One is enough, be it the last.
    some = [{**r, "stopping": None} for r in records[:-1]] + records[-1:]
    refuse(STOPPED, FORMS[form](tmp_path / f"some.{form}", some))


def test_records_in_the_reference_layout_are_refused(stopped, tmp_path):
    _, records = stopped
    told = [{**r, "condition": r["condition"].upper()} for r in records]
    plain = [{n: v for n, v in r.items() if n != "stopping"} for r in told]
    expected = read_replays(write_tree(tmp_path / "plain", plain)).to_dict()
    assert read_replays(write_tree(tmp_path / "yes", plain, stopping="yes")).to_dict() == expected
    place = f"{told[-1]['question_id']}/{told[-1]['condition']}/{told[-1]['repetition']}.json"
    some = write_tree(tmp_path / "some", [*plain[:-1], told[-1]])
    assert f"{some}/{place}" in refuse(STOPPED, some)
    refuse(STOPPED, write_tree(tmp_path / "all", told))


@pytest.mark.parametrize("form", ["csv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("place", [0, 1])
def test_one_file_of_a_folder_is_enough(stopped, tmp_path, form, place):
    _, records = stopped
    parts = [records[:50], records[50:]]
    parts[1 - place] = [{n: v for n, v in r.items() if n != "stopping"} for r in parts[1 - place]]
    for number, part in enumerate(parts):
        FORMS[form](tmp_path / f"{number}.{form}", part)
    assert f"{place}.{form}" in refuse(STOPPED, tmp_path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", ["yes", "", None, PLAN.sha256[:12], PLAN.sha256 + "0"])
def test_a_column_with_other_texts_is_nobodys_business(stopped, tmp_path, form, text):
    _, records = stopped
    plain = [{n: v for n, v in r.items() if n != "stopping"} for r in records]
    expected = read_replays(FORMS[form](tmp_path / f"plain.{form}", plain))
    told = FORMS[form](tmp_path / f"log.{form}", [{**r, "stopping": text} for r in plain])
    found = read_replays(told)
    assert found.stopping is None
    assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("renamed", [True, False])
def test_written_counts_are_refused(stopped, tmp_path, form, renamed):
    counts = read_replays(stopped[0])
    columns = counts.to_dict()
    assert columns["stopping"] == [PLAN.sha256] * 30
    mapping = {"question_id": "question", "video_id": "cluster"}
    if renamed:
        columns = {{"question": "question_id", "cluster": "video_id"}.get(n, n): c
                   for n, c in columns.items()}  # fmt: skip
        mapping = None
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    refuse(STOPPED, FORMS[form](tmp_path / f"counts.{form}", rows), columns=mapping)
    for row in rows:
        row["stopping"] = "no"
    found = read_replays(FORMS[form](tmp_path / f"other.{form}", rows), columns=mapping)
    assert {n: c for n, c in found.to_dict().items() if n in COUNTS} == {
        n: c for n, c in counts.to_dict().items() if n in COUNTS
    }


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet", "pandas"])
def test_compact_logs_are_refused(tmp_path, form):
    rows = [{"question_id": f"q{i}", "sham_flips": [0, 1], "destroy_flips": [1, None]}
            for i in range(4)]  # fmt: skip
    assert len(read_replays(FORMS[form](tmp_path / f"plain.{form}", rows))) == 4
    rows = [{**row, "stopping": PLAN.sha256 if i == 3 else None} for i, row in enumerate(rows)]
    refuse(STOPPED, FORMS[form](tmp_path / f"log.{form}", rows))


@pytest.mark.parametrize("form", ["jsonl", "json", "csv"])
def test_it_is_seen_however_late_it_comes(tmp_path, form):
    # Later than any look at the first records that would tell which columns there are.
    n = 60_000
    rows = [{"question_id": f"q{i}", "condition": "sham", "repetition": 0, "flip": 0}
            for i in range(n)]  # fmt: skip
    assert len(read_replays(FORMS[form](tmp_path / f"plain.{form}", rows))) == n
    rows[-1] = {**rows[-1], "stopping": PLAN.sha256}
    refuse(STOPPED, FORMS[form](tmp_path / f"log.{form}", rows))


def test_of_a_log_with_several_runs_the_full_ones_can_be_read(stopped, tmp_path):
    run, records = stopped
    full = make_run(tmp_path / "full", stopping=None)
    both = as_jsonl(tmp_path / "both.jsonl", [*records, *records_of(full)])
    run_ids = [RunStore.load(path).run_id for path in (run, full)]
    refuse(STOPPED, both, run=run_ids[0])
    refuse(STOPPED, both, pool_runs=True)
    found, expected = read_replays(both, run=run_ids[1]), read_replays(full)
    assert found.to_dict() == expected.to_dict()


def test_the_plan_stays_with_the_counts(stopped):
    counts = read_replays(stopped[0])
    keep = np.arange(30) % 3 == 0
    for kept in (
        counts.select(keep),
        counts.select(keep).select([True] * 10),
        pickle.loads(pickle.dumps(counts)),
        copy.copy(counts),
        copy.deepcopy(counts),
    ):
        assert kept.stopping.sha256 == PLAN.sha256
        assert set(kept.to_dict()["stopping"]) == {PLAN.sha256}
        with pytest.raises(CarveStatsError, match="stopped early"):
            kept.score  # noqa: B018
    assert stopped_signs(pickle.loads(pickle.dumps(counts))).to_dict() == (
        stopped_signs(counts).to_dict()
    )
