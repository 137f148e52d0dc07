"""A store on bad disks and in clumsy hands: what is lost is said, and what is kept is right."""

import errno
import json
import os
import subprocess
import sys

import pytest

from carve_stats.errors import StoreError
from carve_stats.replay import files, segments
from carve_stats.replay.agents.synthetic import SyntheticAgent, synthetic_trajectories
from carve_stats.replay.loop import run_replays
from carve_stats.replay.store import RunStore

QUESTIONS = synthetic_trajectories([0.2, 0.5, 0.8], [0.9, 0.5, 0.1], p_self=0.1)
ALL = 3 * 3 * 4


def run(path, **settings):
    settings = {"k": 4, "seed": 5, "store": path} | settings
    return run_replays(SyntheticAgent(), settings.pop("questions", QUESTIONS), **settings)


def content(path):
    return {
        r.key: {n: v for n, v in r.to_dict().items() if n not in ("started_at", "seconds")}
        for r in RunStore.load(path).records()
    }


def tree(path):
    return {
        str(p.relative_to(path)): p.read_bytes() if p.is_file() else None for p in path.rglob("*")
    }


@pytest.fixture
def whole(tmp_path):
    """A finished run."""
    run(tmp_path / "run")
    return tmp_path / "run"


def only_segment(path):
    (segment,) = (path / "segments").iterdir()
    return segment


def fails(call, kind=StoreError):
    """The one line that a call fails with."""
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_tail_of_nul_characters_is_torn(whole):
    # Some file systems leave them where a machine lost its power.
    segment, expected = only_segment(whole), content(whole)
    data = segment.read_bytes()
    last = data.rindex(b"\n", 0, -1) + 1
    for keep in (last, last + 1, len(data) - 20, len(data) - 1):
        for end in (b"", b"\n"):
            segment.write_bytes(data[:keep] + bytes(4096) + end)
            status = RunStore.load(whole).progress.status()
            assert (status.done, status.torn_lines) == (ALL - 1, 1)
    assert run(whole).finished
    assert content(whole) == expected


def test_nul_characters_within_the_file_are_damage(whole):
    segment = only_segment(whole)
    data = segment.read_bytes()
    begin = data.index(b"\n") + 1
    segment.write_bytes(data[:begin] + bytes(200) + data[begin + 200 :])
    assert f"0001.jsonl: byte {begin}: " in fails(lambda: RunStore.load(whole))


def test_an_emptied_segment_is_made_again(whole):
    expected = content(whole)
    only_segment(whole).write_bytes(b"")
    assert RunStore.load(whole).progress.status().done == 0
    assert run(whole).finished
    assert content(whole) == expected


def test_a_segment_that_became_a_folder_is_named(whole):
    segment = only_segment(whole)
    segment.unlink()
    segment.mkdir()
    before = tree(whole)
    for again in (RunStore.load, run):
        assert "0001.jsonl: not a regular file" in fails(lambda again=again: again(whole))
    assert tree(whole) == before


def test_line_ends_of_another_system_are_named(whole):
    segment = only_segment(whole)
    segment.write_bytes(segment.read_bytes().replace(b"\n", b"\r\n"))
    before = tree(whole)
    for again in (RunStore.load, run):
        message = fails(lambda again=again: again(whole))
        assert "0001.jsonl: byte 0: its line ends were changed to CRLF" in message
    assert tree(whole) == before


@pytest.mark.parametrize("content", [b"", b"\0" * 300, b"\xff\xfe\x00", b"null"])
def test_a_plan_that_is_garbage_is_named_and_nothing_is_touched(whole, content):
    (whole / "plan.json").write_bytes(content)
    before = tree(whole)
    for again in (RunStore.load, run):
        assert "plan.json: damaged" in fails(lambda again=again: again(whole))
    assert tree(whole) == before


def test_a_deleted_plan_is_not_made_anew_over_records(whole):
    (whole / "plan.json").unlink()
    before = tree(whole)
    assert "no plan.json" in fails(lambda: RunStore.load(whole))
    assert "no plan.json: give a new or empty directory" in fails(lambda: run(whole))
    assert tree(whole) == before


@pytest.mark.parametrize(
    ("name", "value"), [("repetition", -1), ("attempt", -1), ("flip", 2), ("flip", True),
                        ("repetition", 10**12), ("repetition", 10**30)],
)  # fmt: skip
def test_a_record_with_impossible_numbers_is_refused(whole, name, value):
    segment = only_segment(whole)
    first, *rest = segment.read_bytes().splitlines(keepends=True)
    record = {**json.loads(first), name: value}
    del record["crc"]
    body = json.dumps(record, separators=(",", ":")).encode()[:-1]
    forged = body + segments._CRC % segments.crc32(body) + b"\n"
    segment.write_bytes(b"".join([forged, *rest]))
    message = fails(lambda: RunStore.load(whole))
    assert "byte 0: not a replay record" in message or "does not ask for question" in message


LIMITED = """
import resource, signal, sys
from test_store_faults import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
try:
    print(run("run"))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("room", [0, 300, 5000])
def test_files_that_may_not_grow_end_the_run_in_one_line_and_it_goes_on_later(tmp_path, room):
    here = os.path.dirname(__file__)
    limited = subprocess.run(
        [sys.executable, "-c", LIMITED, str(room)], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": here}, timeout=60, check=True,
    )  # fmt: skip
    (line,) = limited.stdout.splitlines()
    assert line.startswith("StoreError ")
    assert "cannot be written" in line
    assert "File too large" in line
    assert not list(tmp_path.rglob("*.part"))
    assert run(tmp_path / "run").finished
    run(tmp_path / "undisturbed")
    assert content(tmp_path / "run") == content(tmp_path / "undisturbed")


@pytest.mark.parametrize("room", [*range(0, 1500, 97)])
def test_a_disk_that_is_full_after_some_bytes_and_then_has_room(tmp_path, monkeypatch, room):
    left, real = [room], os.write

    def write(file, data):
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(file, data[: min(left[0], 70)])
        left[0] -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(segments.os, "write", write)
        message = fails(lambda: run(tmp_path / "run"))
    assert "0001.jsonl cannot be written (No space left on device): make room and run" in message
    status = RunStore.load(tmp_path / "run").progress.status()
    assert status.attempts == only_segment(tmp_path / "run").read_bytes().count(b"\n")
    assert run(tmp_path / "run").finished
    run(tmp_path / "undisturbed")
    assert content(tmp_path / "run") == content(tmp_path / "undisturbed")


def test_a_disk_that_fails_at_the_last_flush_is_named(tmp_path, monkeypatch):
    finished = RunStore.load(_finished(tmp_path))
    record = next(finished.records())
    opened = RunStore.open(
        tmp_path / "run", finished.plan, k={"sham": 4}, trajectories=finished.trajectories()
    )
    opened.append(record)

    def refuse(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(segments.os, "fsync", refuse)
        message = fails(opened.close)
    assert "0001.jsonl cannot be flushed to the disk (Input/output error)" in message
    with pytest.raises(StoreError, match="is closed"):
        opened.append(record)


def test_an_interrupt_within_a_line_leaves_it_the_last_of_its_file(tmp_path, monkeypatch):
    finished = RunStore.load(_finished(tmp_path))
    first, second, *_ = finished.records()
    real = os.write

    def interrupted(file, data):
        real(file, data[:40])
        raise KeyboardInterrupt

    trajectories = finished.trajectories()
    with RunStore.open(
        tmp_path / "run", finished.plan, k={"self": 4, "sham": 4}, trajectories=trajectories
    ) as store:
        with monkeypatch.context() as patch:
            patch.setattr(segments.os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.append(first)
        assert "is closed: run the same command again" in fails(lambda: store.append(second))
    assert RunStore.load(tmp_path / "run").progress.status().torn_lines == 1


def _finished(tmp_path):
    run(tmp_path / "finished")
    return tmp_path / "finished"


def test_the_first_failure_is_told_when_the_last_flush_fails_too(tmp_path, monkeypatch):
    opened = RunStore.load(_finished(tmp_path))
    record = next(opened.records())

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def add():
        with RunStore.open(
            tmp_path / "run", opened.plan, k={"sham": 4}, trajectories=QUESTIONS
        ) as s:
            s.append(record)
            monkeypatch.setattr(segments.os, "write", refuse)
            monkeypatch.setattr(segments.os, "fsync", refuse)
            s.append(record)

    assert "cannot be written (No space left" in fails(add)


def refuse_writing(monkeypatch, code):
    """A file system that can only be read, for whoever runs the tests."""
    real = os.open

    def read_only(path, flags, *mode, **settings):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(code, os.strerror(code), os.fspath(path))
        return real(path, flags, *mode, **settings)

    def no_new_file(path, mode="r", *settings, **more):
        if set(mode) & set("wxa+"):
            raise OSError(code, os.strerror(code), os.fspath(path))
        return open(path, mode, *settings, **more)

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(files, "open", no_new_file, raising=False)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_can_only_be_read(whole, monkeypatch, code):
    before, expected = tree(whole), content(whole)
    with monkeypatch.context() as patch:
        refuse_writing(patch, code)
        assert content(whole) == expected
        assert run(whole).finished  # there is nothing to do
        assert os.strerror(code) in fails(lambda: run(whole, k=5))
    assert tree(whole) == before
    only_segment(whole).write_bytes(b"")
    refuse_writing(monkeypatch, code)
    assert f"segments/0002.jsonl cannot be written ({os.strerror(code)})" in fails(
        lambda: run(whole)
    )


def test_a_file_system_without_hard_links_is_named(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(files.os, "link", refuse)
    message = fails(lambda: run(tmp_path / "run"))
    assert "plan.json cannot be created: Operation not permitted" in message
    assert "hard links" in message
    assert list((tmp_path / "run").iterdir()) == []


def test_more_replays_and_more_questions_later_are_what_they_would_have_been(tmp_path):
    run(tmp_path / "run", questions=QUESTIONS[:1], k=2)
    run(tmp_path / "run", questions=QUESTIONS, k={"self": 1, "sham": 3, "destroy": 2})
    run(tmp_path / "run", questions=QUESTIONS[::-1], k=4)
    status = run(tmp_path / "run", questions=QUESTIONS[:2], k=1)  # asks for nothing new
    assert (status.planned, status.done, status.duplicates) == (ALL, ALL, 0)
    run(tmp_path / "at once")
    assert content(tmp_path / "run") == content(tmp_path / "at once")


def test_a_resumption_with_another_plan_touches_nothing(whole):
    before = tree(whole)
    message = fails(lambda: run(whole, seed=6, attempts=2), Exception)
    assert "seed was 5 and is 6" in message
    assert "attempts was 1 and is 2" in message
    assert tree(whole) == before
