"""The run store: what survives, what is refused, and what is left alone."""

import dataclasses
import functools
import hashlib
import json
import multiprocessing
import os
import zlib
from pathlib import Path

import msgspec
import pytest

from carve_stats.errors import InputError, PlanError, StoreError
from carve_stats.replay import files, segments
from carve_stats.replay.extent import Extent
from carve_stats.replay.plan import RunPlan
from carve_stats.replay.records import Replay
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

PLAN = RunPlan(
    seed=1,
    conditions=("sham", "destroy"),
    attempts=2,
    agent={"name": "mine", "fingerprint": {"temperature": 0.4, "tools": ["look"]}},
    operator={"name": "phase"},
    encoder={"format": "jpeg", "quality": 92},
    crop=0.02,
    parser_version="1",
)
K = {"sham": 2, "destroy": 2}
QUESTIONS = [Trajectory(question_id=f"q{i}", answer="A") for i in range(3)]


def replay(question="q0", condition="sham", repetition=0, attempt=0, *, status="ok", text="A"):
    valid = status == "ok"
    return Replay(
        run=PLAN.run_id,
        question_id=question,
        video_id=None,
        condition=condition,
        repetition=repetition,
        attempt=attempt,
        text=text,
        answer="A" if valid else None,
        reference_answer="A",
        status=status,
        rule="whole reply",
        flip=0 if valid else None,
        seed=2**53 - 1,
        started_at=1.5,
        seconds={"render": 0.0, "answer": 0.25},
        usage={"tokens": 7},
    )


def open_store(path, plan=PLAN, k=K, questions=QUESTIONS):
    return RunStore.open(path, plan, k=k, trajectories=questions)


def tree(path):
    return {
        str(p.relative_to(path)): p.read_bytes() if p.is_file() else None for p in path.rglob("*")
    }


def test_what_is_appended_is_read(tmp_path):
    records = [replay(), replay(repetition=1, status="empty", text=""), replay("q1", text='"\n\\ü')]
    with open_store(tmp_path) as store:
        for record in records:
            store.append(record)
    loaded = RunStore.load(tmp_path)
    assert list(loaded.records()) == records
    assert loaded.progress.completed() == {r.key for r in records}
    assert loaded.trajectories() == QUESTIONS
    assert loaded.plan == PLAN


def test_lines_are_plain_json_with_a_checksum(tmp_path):
    with open_store(tmp_path) as store:
        store.append(replay(text='","crc":"00000000"}'))
    [line] = (tmp_path / "segments" / "0001.jsonl").read_bytes().splitlines()
    record = json.loads(line)
    crc = record.pop("crc")
    suffix = b',"crc":"%s"}' % crc.encode()
    assert line.endswith(suffix)
    assert crc == f"{zlib.crc32(line.removesuffix(suffix)):08x}"
    assert record == replay(text='","crc":"00000000"}').to_dict()


def test_progress_is_that_of_what_was_appended_and_of_what_is_read(tmp_path):
    with open_store(tmp_path) as store:
        store.append(replay("q0", repetition=0))
        store.append(replay("q0", repetition=1, status="refusal"))  # one attempt is left
        store.append(replay("q1", repetition=0, status="refusal"))
        store.append(replay("q1", repetition=0, attempt=1, status="empty"))
        expected = dict(
            planned=12, done=2, valid=1, invalid=1, attempts=4, duplicates=0, torn_lines=0,
            spared=0, stopped=0, questions=3, lost=0, finished=False,
        )  # fmt: skip
        assert store.progress.status().to_dict() == expected
    loaded = RunStore.load(tmp_path).progress
    assert loaded.status().to_dict() == expected
    assert loaded.next_attempt("q0", "sham", 1) == 1
    assert loaded.next_attempt("q1", "sham", 0) is None


def test_a_plan_without_stopping_is_as_it_was_before_there_was_any(tmp_path):
    # Computed before plans could stop: another hash would be another run.
    assert PLAN.sha256 == "c33b1c0b34638b92b2e2f031e4ba70c11f83e6324074492b10093b65b02c406d"
    assert "stopping" not in PLAN.to_dict()
    with open_store(tmp_path) as store:
        store.append(replay())
    assert store.stopping is None
    assert not any(b"stopping" in p.read_bytes() for p in tmp_path.rglob("*.json*"))


def test_the_first_record_of_a_replay_counts(tmp_path):
    for text in ("first", "second"):
        with open_store(tmp_path) as store:
            store.append(replay(text=text))
    loaded = RunStore.load(tmp_path)
    assert [r.text for r in loaded.records()] == ["first"]
    assert loaded.progress.status().duplicates == 1
    assert "1 duplicate record" in str(loaded.progress.status())


def test_segments_are_read_in_the_order_of_their_numbers(tmp_path):
    with open_store(tmp_path):
        pass
    for number, text in ((9999, "earlier"), (10000, "later")):
        line = segments.encode_record(replay(text=text))
        (tmp_path / "segments" / f"{number}.jsonl").write_bytes(line)
    assert [r.text for r in RunStore.load(tmp_path).records()] == ["earlier"]
    with open_store(tmp_path) as store:
        store.append(replay("q1"))
    assert (tmp_path / "segments" / "10001.jsonl").exists()


def test_a_line_cut_anywhere_is_torn_and_the_others_are_kept(tmp_path):
    with open_store(tmp_path) as store:
        store.append(replay("q0"))
        store.append(replay("q1"))
    segment = tmp_path / "segments" / "0001.jsonl"
    whole = segment.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole) - 1):
        segment.write_bytes(whole[:cut])
        loaded = RunStore.load(tmp_path)
        assert loaded.progress.completed() == {("q0", "sham", 0, 0)}
        assert loaded.progress.status().torn_lines == (cut > first)
    with open_store(tmp_path) as store:
        store.append(replay("q1"))
    assert len(list(RunStore.load(tmp_path).records())) == 2


def test_a_record_that_lost_only_its_newline_is_whole(tmp_path):
    with open_store(tmp_path) as store:
        store.append(replay())
    segment = tmp_path / "segments" / "0001.jsonl"
    segment.write_bytes(segment.read_bytes().rstrip(b"\n"))
    status = RunStore.load(tmp_path).progress.status()
    assert (status.attempts, status.torn_lines) == (1, 0)


def test_any_damaged_bit_in_the_middle_is_found(tmp_path):
    with open_store(tmp_path) as store:
        for question in ("q0", "q1", "q2"):
            store.append(replay(question))
    segment = tmp_path / "segments" / "0001.jsonl"
    whole = segment.read_bytes()
    first = whole.index(b"\n") + 1
    for place in range(first, whole.index(b"\n", first)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        segment.write_bytes(damaged)
        with pytest.raises(StoreError, match=rf"0001\.jsonl: byte {first}: ") as caught:
            RunStore.load(tmp_path)
        assert "\n" not in str(caught.value)


def test_a_whole_line_of_something_else_is_named(tmp_path):
    with open_store(tmp_path) as store:
        store.append(replay())
    body = b'{"run":"r","question_id":"q0","repetition":0'
    line = body + b',"crc":"%08x"}\n' % zlib.crc32(body)
    segment = tmp_path / "segments" / "0001.jsonl"
    segment.write_bytes(line + segment.read_bytes())
    with pytest.raises(StoreError, match=r"byte 0: not a replay record .*condition"):
        RunStore.load(tmp_path)


CHANGES = [
    ({"seed": 2}, "seed was 1 and is 2"),
    ({"conditions": ("sham",)}, r'conditions was \["sham","destroy"\] and is \["sham"\]'),
    ({"attempts": 1}, "attempts was 2 and is 1"),
    ({"agent": {"name": "mine", "fingerprint": {"temperature": 0.7, "tools": ["look"]}}},
     "agent.fingerprint.temperature was 0.4 and is 0.7"),
    ({"operator": {"name": "phase", "rounds": 3}}, "operator.rounds was not given and is 3"),
    ({"operator": None}, 'operator.name was "phase" and is not given'),
    ({"encoder": {"format": "png", "quality": 92}}, 'encoder.format was "jpeg" and is "png"'),
    ({"crop": 0.0}, "crop was 0.02 and is 0.0"),
    ({"parser_version": "2"}, 'parser_version was "1" and is "2"'),
    ({"agent": {"name": "mine", "fingerprint": {"tools": ["look"]},
                "fingerprint.temperature": 0.4}},
     "entries are nested in another way"),
    ({"seed": 2, "attempts": 1, "crop": 0.5, "parser_version": "2", "operator": {"name": "x"}},
     "; and 1 more; give the earlier settings"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_another_plan_is_refused_and_nothing_is_touched(tmp_path, change, message):
    with open_store(tmp_path) as store:
        store.append(replay())
    before = tree(tmp_path)
    with pytest.raises(PlanError, match=message) as caught:
        open_store(tmp_path, dataclasses.replace(PLAN, **change), k={"sham": 9})
    assert "\n" not in str(caught.value)
    assert tree(tmp_path) == before


def test_a_plan_that_json_cannot_hold_is_refused():
    with pytest.raises(InputError, match="agent cannot be kept"):
        dataclasses.replace(PLAN, agent={"model": object()})


def test_the_same_plan_in_other_words_is_the_same():
    same = dataclasses.replace(
        PLAN, agent={"fingerprint": {"tools": ("look",), "temperature": 0.4}, "name": "mine"}
    )
    assert same == PLAN
    assert same.run_id == PLAN.run_id


def test_another_trajectory_of_a_question_is_refused(tmp_path):
    with open_store(tmp_path):
        pass
    before = tree(tmp_path)
    changed = [Trajectory(question_id="new", answer="A"), Trajectory(question_id="q1", answer="B")]
    with pytest.raises(PlanError, match=r"question 'q1' with another trajectory \(answer differ"):
        open_store(tmp_path, questions=changed)
    assert tree(tmp_path) == before


def test_the_extent_grows_and_never_shrinks(tmp_path):
    def planned(**arguments):
        with open_store(tmp_path, **arguments) as store:
            return store.progress.status().planned

    assert planned(questions=QUESTIONS[:1]) == 4
    assert planned(questions=QUESTIONS[:1], k={"sham": 5, "destroy": 2}) == 7
    assert planned(questions=QUESTIONS, k={"sham": 1, "destroy": 1}) == 7 + 2 * 2
    # Asking for less takes nothing back, and writes nothing.
    before = tree(tmp_path)
    assert planned(questions=QUESTIONS[1:2], k={"sham": 1, "destroy": 1}) == 11
    assert tree(tmp_path) == before
    assert RunStore.load(tmp_path).progress.status().planned == 11


def test_requests_that_cross_are_both_kept(tmp_path):
    # Two processes have read the same extent, and each then asks for more.
    one, other = Extent.read(tmp_path), Extent.read(tmp_path)
    one.grow(tmp_path, {"sham": 2}, QUESTIONS[:2])
    other.grow(tmp_path, {"sham": 3}, QUESTIONS[1:])
    expected = {"q0": {"sham": 2}, "q1": {"sham": 3}, "q2": {"sham": 3}}
    assert other.k == expected
    assert Extent.read(tmp_path).k == expected
    one.catch_up(tmp_path)
    assert one.k == expected


def test_requests_that_cross_must_not_disagree(tmp_path):
    one, other = Extent.read(tmp_path), Extent.read(tmp_path)
    one.grow(tmp_path, {"sham": 2}, QUESTIONS)
    with pytest.raises(PlanError, match="question 'q1' with another trajectory"):
        other.grow(tmp_path, {"sham": 2}, [Trajectory(question_id="q1", answer="B")])


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be made: Not a directory"):
        open_store(tmp_path / "file" / "run")

    def refuse(*arguments):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(files.os, "link", refuse)
    with pytest.raises(StoreError, match=r"plan\.json cannot be created: Read-only"):
        open_store(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []
    monkeypatch.setattr(files.os, "fsync", refuse)
    with pytest.raises(StoreError, match=r"plan\.json cannot be written: Read-only"):
        open_store(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match="holds other files"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match="is a file"):
        open_store(tmp_path / "thesis.tex")
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_process_that_died_while_creating_a_run_leaves_no_obstacle(tmp_path):
    (tmp_path / ".plan.json.1a2b3c4d.part").write_text('{"pl')
    with open_store(tmp_path) as store:
        assert store.progress.status().planned == 12


@pytest.mark.parametrize("content", ["{", '{"plan": {}}', "[]", '{"plan": 3, "sha256": ""}'])
def test_a_damaged_plan_is_named(tmp_path, content):
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(StoreError, match=r"plan\.json: damaged"):
        RunStore.load(tmp_path)


def test_a_plan_edited_by_hand_is_found(tmp_path):
    with open_store(tmp_path):
        pass
    plan = tmp_path / "plan.json"
    plan.write_text(plan.read_text().replace('"seed": 1', '"seed": 2'))
    with pytest.raises(PlanError, match="changed since it was written"):
        RunStore.load(tmp_path)


def test_a_damaged_extent_is_named(tmp_path):
    with open_store(tmp_path):
        pass
    (tmp_path / "extents" / "0001.json").write_text('{"k": 3')
    with pytest.raises(StoreError, match=r"0001\.json: damaged"):
        RunStore.load(tmp_path)


def rewrite_request(path, change, *, sign=True):
    """Change the first request of a run, with or without its checksum."""
    file = path / "extents" / "0001.json"
    content = json.loads(file.read_bytes())
    change(content["request"])
    if sign:
        data = msgspec.json.encode(content["request"])
        content["sha256"] = hashlib.sha256(data).hexdigest()
    file.write_bytes(msgspec.json.encode(content))


@pytest.mark.parametrize(
    ("k", "message"),
    [({"shame": 1}, "unknown condition 'shame'"), ({"sham": 0}, "k of sham=0 must be"),
     ({"sham": -3}, "k of sham=-3 must be"), ({"sham": 2.5}, "int"), ({"sham": True}, "int"),
     ({"sham": 3 * 10**9}, "k of sham must be at most")],
)  # fmt: skip
def test_an_extent_with_an_impossible_k_is_damaged(tmp_path, k, message):
    with open_store(tmp_path):
        pass
    rewrite_request(tmp_path, lambda request: request.update(k=k))
    with pytest.raises(StoreError, match=rf"0001\.json: damaged \(.*{message}"):
        RunStore.load(tmp_path)


def test_an_extent_edited_by_hand_is_found(tmp_path):
    with open_store(tmp_path):
        pass
    rewrite_request(tmp_path, lambda request: request["k"].update(sham=1), sign=False)
    with pytest.raises(StoreError, match=r"0001\.json: damaged \(it was changed"):
        RunStore.load(tmp_path)


@pytest.mark.parametrize("deleted", [1, 2])
def test_deleted_extents_of_a_run_with_records_are_missed(tmp_path, deleted):
    with open_store(tmp_path, k={"sham": 1, "destroy": 1}):
        pass
    with open_store(tmp_path) as store:
        store.append(replay(repetition=1))
    (tmp_path / "extents" / f"000{deleted}.json").unlink()
    for again in (RunStore.load, open_store):
        with pytest.raises(StoreError, match=r"0001\.json is missing|extents does not ask for"):
            again(tmp_path)


@pytest.mark.parametrize("folder", ["segments", "extents"])
def test_something_else_in_the_place_of_a_folder_is_named(tmp_path, folder):
    with open_store(tmp_path):
        pass
    (tmp_path / folder).rename(tmp_path / "aside")
    (tmp_path / folder).write_text("")
    before = tree(tmp_path)
    for again in (RunStore.load, open_store):
        with pytest.raises(StoreError, match=f"{folder} cannot be read .Not a directory"):
            again(tmp_path)
    assert tree(tmp_path) == before


def test_records_of_another_run_are_refused(tmp_path):
    other = dataclasses.replace(PLAN, seed=2)
    with open_store(tmp_path / "other", other) as store:
        store.append(dataclasses.replace(replay(), run=other.run_id))
        with pytest.raises(StoreError, match="it takes no record of run"):
            store.append(replay())
    with open_store(tmp_path / "own") as store:
        store.append(replay())
    stray = (tmp_path / "other" / "segments" / "0001.jsonl").read_bytes()
    own = tmp_path / "own" / "segments" / "0001.jsonl"
    copy = own.with_name("0002.jsonl")
    copy.write_bytes(own.read_bytes() + stray)
    with pytest.raises(StoreError, match=rf"0002\.jsonl: line 2: a record of run '{other.run_id}'"):
        RunStore.load(tmp_path / "own")


def test_options_in_another_order_are_another_trajectory(tmp_path):
    def asked(labels, frozen):
        options = {label: f"text {label}" for label in labels}
        return [Trajectory(question_id="q1", answer="A", options=options, frozen=frozen)]

    with open_store(tmp_path, questions=asked("AB", {"greedy": True})):
        pass
    with pytest.raises(PlanError, match=r"another trajectory \(order of options differ\)"):
        open_store(tmp_path, questions=asked("BA", {"greedy": True}))
    with pytest.raises(PlanError, match=r"another trajectory \(frozen differ\)"):
        open_store(tmp_path, questions=asked("AB", {"greedy": 1}))


def test_the_deepest_state_that_a_trajectory_takes_can_be_read_again(tmp_path):
    def nested(levels):
        frozen = functools.reduce(lambda inner, _: [inner], range(levels), 1)
        return Trajectory(question_id="q1", answer="A", frozen=frozen)

    with pytest.raises(InputError, match="frozen is nested more than 200 levels deep"):
        nested(200)
    taken = nested(199)
    with open_store(tmp_path, questions=[taken]):
        pass
    assert len(RunStore.load(tmp_path).trajectories()) == 1


def test_a_store_stays_where_it_is_when_the_directory_changes(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_store("run") as store:
        monkeypatch.chdir("elsewhere")
        store.append(replay())
    assert list(RunStore.load(tmp_path / "run").records()) == [replay()]


def test_no_run_there(tmp_path):
    with pytest.raises(StoreError, match="is not a run"):
        RunStore.load(tmp_path / "nowhere")


def test_reading_changes_nothing(tmp_path):
    with open_store(tmp_path) as store:
        store.append(replay())
    before = tree(tmp_path)
    loaded = RunStore.load(tmp_path)
    loaded.progress.status()
    list(loaded.records())
    with pytest.raises(StoreError, match="opened to be read"):
        loaded.append(replay())
    assert tree(tmp_path) == before


def test_a_full_disk_stops_the_writer_before_it_harms_the_segment(tmp_path, monkeypatch):
    with open_store(tmp_path) as store:
        store.append(replay("q0"))
        room = iter([50])
        real = os.write

        def nearly_full(file, data):
            for size in room:
                return real(file, data[:size])
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(segments.os, "write", nearly_full)
            with pytest.raises(StoreError, match=r"0001\.jsonl cannot be written \(No space left"):
                store.append(replay("q1"))
        with pytest.raises(StoreError, match="is closed: run the same command again"):
            store.append(replay("q2"))
    status = RunStore.load(tmp_path).progress.status()
    assert (status.attempts, status.torn_lines) == (1, 1)


def test_a_short_write_is_completed(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(segments.os, "write", lambda file, data: real(file, data[:50]))
    with open_store(tmp_path) as store:
        store.append(replay())
    assert list(RunStore.load(tmp_path).records()) == [replay()]


def test_the_disk_is_flushed_at_most_once_a_second_and_at_the_end(tmp_path, monkeypatch):
    clock, flushed = [100.0], []
    monkeypatch.setattr(segments.time, "monotonic", lambda: clock[0])
    with open_store(tmp_path) as store:
        monkeypatch.setattr(segments, "sync_directory", lambda path: None)
        monkeypatch.setattr(segments.os, "fsync", lambda file: flushed.append(clock[0]))
        for i in range(35):
            clock[0] = 100 + i / 10
            store.append(replay("q0", repetition=i))
        assert flushed == pytest.approx([100, 101, 102, 103])
    assert len(flushed) == 5


def _write_many(path, barrier, name, shared):
    barrier.wait(30)
    own = [Trajectory(question_id=f"{name}{i}", answer="A") for i in range(5)]
    with open_store(path, questions=[*QUESTIONS, *own], k={"sham": 200, "destroy": 2}) as store:
        barrier.wait(30)
        for repetition in range(200):
            for question in (f"{name}0", *(["q0"] if shared else [])):
                store.append(replay(question, repetition=repetition, text=name * 50))


@pytest.mark.parametrize("shared", [False, True])
def test_two_processes_write_at_once(tmp_path, shared):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    path = Path(tmp_path, "run")
    writers = [
        context.Process(target=_write_many, args=(path, barrier, name, shared)) for name in "ab"
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    store = RunStore.load(path)
    assert len(list(path.glob("segments/*.jsonl"))) == 2
    assert {(q, r) for q, _, r, _ in store.progress.completed()} == {
        (q, r) for q in ["a0", "b0", *(["q0"] if shared else [])] for r in range(200)
    }
    assert store.progress.status().duplicates == (200 if shared else 0)
    assert len(store.trajectories()) == 3 + 10
    assert store.progress.status().planned == 202 * 13


def test_records_read_with_another_tool(tmp_path):
    with open_store(tmp_path) as store:
        store.append(replay())
    line = (tmp_path / "segments" / "0001.jsonl").read_bytes()
    assert msgspec.json.decode(line)["valid"] is True
