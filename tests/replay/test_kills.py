"""A hundred kills at random points, and many processes at once, change nothing in a run."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from carve_stats.replay.agents.synthetic import synthetic_trajectories
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import write_trajectories

QUESTIONS = 60
PLANNED = QUESTIONS * 9
KILLED = -signal.SIGKILL


@pytest.fixture
def run(tmp_path, rng):
    """Run the questions in processes at once, each of which may be killed; gives how they end."""
    questions = synthetic_trajectories(rng.random(QUESTIONS), rng.random(QUESTIONS), p_self=0.2)
    write_trajectories(tmp_path / "questions.jsonl", questions)
    command = [sys.executable, Path(__file__).with_name("kill_server.py")]
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)

    def processes(*orders):
        server.stdin.write(json.dumps(orders) + "\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline())

    with (
        open(tmp_path / "errors.txt", "wb") as errors,
        subprocess.Popen(command, cwd=tmp_path, stderr=errors, text=True, **pipes) as server,
    ):
        yield processes
        server.stdin.close()
        assert server.wait(30) == 0


def content(store):
    """All that a record holds but its times, by key."""
    return {
        r.key: {n: v for n, v in r.to_dict().items() if n not in ("started_at", "seconds")}
        for r in RunStore.load(store).records()
    }


def lines(store):
    """How many lines are whole and how many are torn, without the package's reader."""
    whole = torn = 0
    for segment in sorted((store / "segments").glob("*.jsonl")):
        *ended, rest = segment.read_bytes().split(b"\n")
        # A line that lacks only its newline is whole.
        complete = rest.endswith(b'"}')
        whole += len(ended) + complete
        torn += bool(rest) and not complete
    return whole, torn


def check_whole(run, folder, **order):
    """Let the run go on to its end: it then is what it had been without any trouble."""
    assert run({"how": "never", **order}) == [0]
    assert run({"how": "never", "store": "undisturbed"}) == [0]
    assert content(folder / "run") == content(folder / "undisturbed")
    status = RunStore.load(folder / "run").progress.status()
    assert (status.done, status.planned, status.finished) == (PLANNED, PLANNED, True)
    assert (status.attempts + status.duplicates, status.torn_lines) == lines(folder / "run")
    return status


@pytest.mark.parametrize(
    ("workers", "kills"),
    [(1, 12), (3, 12), pytest.param(1, 100, marks=pytest.mark.slow),
     pytest.param(3, 100, marks=pytest.mark.slow)],
)  # fmt: skip
def test_sigkill_within_the_writing_of_a_record(run, tmp_path, rng, workers, kills):
    kept = {}
    for _ in range(kills):
        room = int(rng.integers(1, 120_000 // kills))
        assert run({"how": "bytes", "at": room, "workers": workers}) == [KILLED]
        now = content(tmp_path / "run")
        assert now.items() >= kept.items()
        kept = now
    assert 50 < len(kept) < PLANNED
    status = check_whole(run, tmp_path, workers=workers)
    assert status.duplicates == 0
    assert status.torn_lines > kills / 2  # the kills were where they should be


def test_sigkill_before_everything_that_is_asked_of_the_file_system(run, tmp_path):
    ends = []
    while ends[-1:] != [0]:
        order = {"store": f"new/run{len(ends)}/run"}
        ends += run({"how": "event", "at": len(ends) + 1, **order})
        assert run({"how": "never", **order}) == [0]
        status = RunStore.load(tmp_path / order["store"]).progress.status()
        assert (status.done, status.planned, status.duplicates) == (PLANNED, PLANNED, 0)
    assert ends == [KILLED] * (len(ends) - 1) + [0]
    assert len(ends) > 10


def test_sigkill_at_random_times(run, tmp_path, rng):
    times = [0.001, *rng.uniform(0.001, 0.02, 12)]  # nobody has run all of it after the first
    ends = [run({"how": "seconds", "at": at, "workers": 2}) for at in times]
    assert ends[0] == [KILLED]
    assert check_whole(run, tmp_path).duplicates == 0


@pytest.mark.parametrize("processes", [2, 8])
def test_processes_that_run_the_same_at_once(run, tmp_path, rng, processes):
    orders = [{"how": "bytes", "at": int(at)} for at in rng.integers(1, 90_000, processes - 1)]
    assert run(*orders, {"how": "never"})[-1] == 0
    status = check_whole(run, tmp_path)
    assert status.duplicates == lines(tmp_path / "run")[0] - PLANNED


def test_of_processes_with_different_plans_one_has_the_run(run, tmp_path):
    ends = run(*({"how": "never", "seed": seed % 3} for seed in range(8)))
    seed = RunStore.load(tmp_path / "run").plan.seed
    assert ends == [int(i % 3 != seed) for i in range(8)]
    refused = (tmp_path / "errors.txt").read_text().splitlines()
    assert len(refused) == ends.count(1)
    assert all(f"seed was {seed} and is" in line for line in refused)
    assert len(content(tmp_path / "run")) == PLANNED


def test_a_clock_that_goes_back_changes_only_times(run, tmp_path):
    assert run({"how": "clock"}) == [0]
    starts = [r.started_at for r in RunStore.load(tmp_path / "run").records()]
    assert starts == sorted(starts, reverse=True)  # the clock was what it should be
    assert check_whole(run, tmp_path).duplicates == 0
