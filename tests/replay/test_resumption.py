"""Killing a run at any moment loses no finished replay and repeats none."""

import os
import signal
import subprocess
import sys
import time

import pytest

from carve_stats.replay.agents.synthetic import synthetic_trajectories
from carve_stats.replay.loop import run_replays
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import read_trajectories, write_trajectories

AGENT = """
import os, time
from carve_stats.replay.agents.synthetic import SyntheticAgent
synthetic = SyntheticAgent()
def answer(request):
    key = f"{request.question_id} {request.condition} {request.repetition}\\n"
    os.write(calls, key.encode())
    time.sleep(0.0005)
    return synthetic(request)
calls = os.open("calls.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
"""
RUN = """
import sys
from carve_stats.replay.agents import load_agent
from carve_stats.replay.loop import run_replays
from carve_stats.replay.trajectories import read_trajectories
run_replays(load_agent("python:slow_agent:answer"), read_trajectories("questions.jsonl"),
            k=3, store="run", seed=9, workers=int(sys.argv[1]), agent_spec={"use": "slow"})
"""
PLANNED = 120 * 9


@pytest.fixture
def folder(tmp_path, rng):
    """A folder with a slow synthetic agent, its questions, and a script that runs them."""
    questions = synthetic_trajectories(rng.random(120), rng.random(120), p_self=0.2)
    write_trajectories(tmp_path / "questions.jsonl", questions)
    (tmp_path / "slow_agent.py").write_text(AGENT)
    (tmp_path / "run.py").write_text(RUN)
    return tmp_path


def start_and_wait(folder, workers, replays):
    """Start the run and come back when it has stored some replays."""
    process = subprocess.Popen(
        [sys.executable, "run.py", str(workers)], cwd=folder, stderr=subprocess.DEVNULL
    )
    begun = time.monotonic()
    segments = folder / "run" / "segments"
    while sum(p.read_bytes().count(b"\n") for p in segments.glob("*")) < replays:
        assert process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() - begun < 60
        time.sleep(0.002)
    return process


def content(store):
    return {
        r.key: {n: v for n, v in r.to_dict().items() if n not in ("started_at", "seconds")}
        for r in RunStore.load(store).records()
    }


@pytest.mark.parametrize("workers", [1, 3])
def test_sigkill_at_many_points(folder, rng, workers, monkeypatch):
    kept = {}
    # The fractions of the run at which it is killed; the last process is left to finish.
    for fraction in sorted(rng.uniform(0.02, 0.95, 3)):
        process = start_and_wait(folder, workers, fraction * PLANNED)
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
        now = content(folder / "run")
        assert now.items() >= kept.items()
        assert len(kept) < len(now) < PLANNED
        kept = now
    command = [sys.executable, "run.py", str(workers)]
    subprocess.run(command, cwd=folder, check=True, timeout=60)

    status = RunStore.load(folder / "run").progress.status()
    assert (status.planned, status.done, status.duplicates) == (PLANNED, PLANNED, 0)
    calls = (folder / "calls.txt").read_text().splitlines()
    # Of a killed process, each worker's replay in flight may be asked for once more.
    assert len(set(calls)) == PLANNED
    assert len(calls) - PLANNED <= 3 * workers

    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    import slow_agent

    run_replays(slow_agent.answer, read_trajectories("questions.jsonl"), k=3, store="whole",
                seed=9, agent_spec={"use": "slow"})  # fmt: skip
    os.close(slow_agent.calls)
    sys.modules.pop("slow_agent")
    assert content(folder / "run") == content(folder / "whole")


def test_an_interrupt_lets_replays_in_flight_finish(folder):
    process = start_and_wait(folder, 2, 50)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) != 0
    status = RunStore.load(folder / "run").progress.status()
    calls = (folder / "calls.txt").read_text().splitlines()
    assert 50 <= status.done < PLANNED
    assert (status.torn_lines, status.done) == (0, len(calls))
