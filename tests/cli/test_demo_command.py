"""`carve-stats demo` with the real agent, killed half-way and taken up again."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from carve_stats.replay.loop import run_replays
from carve_stats.replay.trajectories import Trajectory

ARGUMENTS = ("--questions", "3", "--k", "2", "--seed", "4", "--json")


def records(folder):
    return [
        json.loads(line)
        for path in sorted((folder / "run/segments").glob("*.jsonl"))
        for line in path.read_bytes().split(b"\n")[:-1]
    ]


def start(folder):
    return subprocess.Popen(
        [sys.executable, "-m", "carve_stats", "demo", "--store", str(folder), *ARGUMENTS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_killed_demo_is_finished_by_the_same_command(tmp_path):
    process = start(tmp_path)
    while process.poll() is None and (
        not (tmp_path / "run/segments").is_dir() or len(records(tmp_path)) < 5
    ):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    survived = records(tmp_path)
    assert 5 <= len(survived) < 18
    out, _ = start(tmp_path).communicate()
    result = json.loads(out)
    finished = records(tmp_path)
    assert finished[: len(survived)] == survived
    keys = [(r["question_id"], r["condition"], r["repetition"]) for r in finished]
    assert len(set(keys)) == len(keys) == 18
    assert result["status"]["done"] == 18
    assert result["status"]["duplicates"] == 0
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.count("data:image/jpeg") >= 3  # SELF, SHAM and DESTROY of some question


def test_bad_options_are_one_line_and_write_nothing(tmp_path, refused):
    assert "--questions 0" in refused("demo", "--questions", 0, "--store", tmp_path / "demo")
    assert "--k 0" in refused("demo", "--k", 0, "--store", tmp_path / "demo")
    assert "--seed -1" in refused("demo", "--seed", -1, "--store", tmp_path / "demo")
    assert "--seed 9223372036854775808" in refused("demo", "--seed", 2**63)
    assert "--workers 0" in refused("demo", "--workers", 0, "--store", tmp_path / "demo")
    assert "--store is empty" in refused("demo", "--store", "")
    assert not (tmp_path / "demo").exists()


def test_replays_of_another_seed_are_refused_before_anything_is_watched(tmp_path, refused):
    run_replays(
        lambda request: "A",
        [Trajectory(question_id="q", answer="A", options={"A": "yes", "B": "no"})],
        k=1,
        store=tmp_path / "run",
        seed=1,
    )
    message = refused("demo", "--seed", 2, "--store", tmp_path)
    assert "holds replays of --seed 1" in message
    assert f"delete all of {tmp_path}" in message
    assert not (tmp_path / "material").exists()
