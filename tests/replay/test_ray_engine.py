"""`engine="ray"`: a local cluster, with a worker killed half-way."""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter

import pytest

from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory, write_trajectories

pytestmark = pytest.mark.slow

AGENT = """
import asyncio, json, os, random, time

def note(request):
    name = f"{os.environ['CALLS']}/{os.getpid()}-{time.time_ns()}.json"
    with open(name, "w") as file:
        key = [request.question_id, request.condition, request.repetition, request.attempt]
        json.dump({"pid": os.getpid(), "key": key}, file)

def answer(request):
    note(request)
    time.sleep(0.05)
    return random.Random(request.seed).choice(["A", "B", "none that I know"])

async def answer_later(request):
    note(request)
    await asyncio.sleep(0.05)
    return random.Random(request.seed).choice(["A", "B", "none that I know"])

def dies(request):
    if request.question_id == "q05":
        os._exit(3)
    return "A"

def raises(request):
    if request.question_id == "q05":
        raise RuntimeError("no memory left")
    return "A"

class Unpicklable:
    def __init__(self):
        import threading
        self.lock = threading.Lock()
    def __call__(self, request):
        return "A"
"""
CONFIG = """
[run]
seed = 5
k = 4
attempts = 2
store = "{store}"
engine = "{engine}"
workers = 3
[input]
trajectories = "questions.jsonl"
[agent]
use = "python:far_agent:{agent}"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "far_agent.py").write_text(AGENT)
    (tmp_path / "calls").mkdir()
    write_trajectories(
        tmp_path / "questions.jsonl",
        [Trajectory(question_id=f"q{i:02}", answer="A", options={"A": "yes", "B": "no"})
         for i in range(12)],
    )  # fmt: skip
    return tmp_path


def begin(folder, store, agent, engine="ray"):
    config = folder / f"{store}.toml"
    config.write_text(CONFIG.format(store=store, agent=agent, engine=engine))
    return subprocess.Popen(
        [sys.executable, "-m", "carve_stats", "replay", str(config)],
        env={**os.environ, "CALLS": str(folder / "calls")},
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def calls(folder):
    found = []
    for path in (folder / "calls").iterdir():
        text = path.read_text()
        if text:  # else it is being written
            found.append(json.loads(text))
    return found


def kept(store):
    times = ("started_at", "seconds", "run")
    return {
        r.key: {n: v for n, v in r.to_dict().items() if n not in times}
        for r in RunStore.load(store).records()
    }


def test_a_killed_worker_costs_its_task_in_flight_only(folder):
    process = begin(folder, "far", "answer")
    deadline = time.monotonic() + 120
    while len(calls(folder)) < 30:
        assert time.monotonic() < deadline, process.communicate(timeout=5)
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    os.kill(calls(folder)[-1]["pid"], 9)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    made = kept(folder / "far")
    asked = Counter(tuple(call["key"]) for call in calls(folder))
    assert set(asked) == set(made)
    assert sum(asked.values()) - len(asked) <= 1
    status = RunStore.load(folder / "far").progress.status()
    assert status.finished
    assert status.duplicates == status.torn_lines == 0
    local = begin(folder, "near", "answer", "local")
    assert local.wait(timeout=120) == 0, local.communicate()
    local.communicate()
    assert made == kept(folder / "near")
    later = begin(folder, "later", "answer_later")
    _, err = later.communicate(timeout=120)
    assert later.returncode == 0, err
    assert made == kept(folder / "later")


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("dies", "its Ray worker died again and again on question 'q05'"),
        ("raises", r"agent failed on question 'q05', condition \w+, repetition \d, attempt 0:"
         " RuntimeError: no memory left"),
    ],
)  # fmt: skip
def test_a_task_that_cannot_be_done_ends_the_run_in_one_line(folder, agent, message):
    process = begin(folder, "far", agent)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 1, err
    assert re.search(message, err.splitlines()[-1]), err
    assert RunStore.load(folder / "far").progress.status().valid >= 12


def test_an_agent_that_cannot_be_pickled_is_refused(folder):
    _, err = begin(folder, "far", "Unpicklable").communicate(timeout=60)
    assert "cannot be sent to other processes" in err.splitlines()[-1]
    assert not (folder / "far").exists()
