"""Engines: threads and one event loop make the same records, at a time as many as they are let."""

import asyncio
import random
import threading
import time
from dataclasses import replace

import pytest

from carve_stats.errors import AgentError, InputError
from carve_stats.logs.reader import read_replays
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import Evidence
from carve_stats.replay.reparse import reparse_run
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory
from carve_stats.replay.work import EvidenceShelf

OPTIONS = {"A": "yes", "B": "no", "C": "maybe"}


def questions(n, **fields):
    return [
        Trajectory(question_id=f"q{i}", answer="A", options=OPTIONS, **fields) for i in range(n)
    ]


def draw(request):
    return random.Random(request.seed).choice(["A", "B", "", "either A or C"])


class Coroutine:
    """A coroutine agent that notes how many of its calls are in flight."""

    def __init__(self):
        self.in_flight = self.most = 0

    async def __call__(self, request):
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(0.001)
        self.in_flight -= 1
        return draw(request)

    def fingerprint(self):
        return {"name": "drawing"}


class Function:
    """The same as a plain callable."""

    async_ = False

    def __init__(self):
        self.in_flight = self.most = 0
        self.lock = threading.Lock()

    def __call__(self, request):
        with self.lock:
            self.in_flight += 1
            self.most = max(self.most, self.in_flight)
        time.sleep(0.001)
        with self.lock:
            self.in_flight -= 1
        return draw(request)

    def fingerprint(self):
        return {"name": "drawing"}


def kept(store):
    times = ("started_at", "seconds", "run")
    return {
        r.key: {n: v for n, v in r.to_dict().items() if n not in times}
        for r in RunStore.load(store).records()
    }


@pytest.mark.parametrize("workers", [1, 2, 7, 1000])
@pytest.mark.parametrize("make", [Coroutine, Function])
def test_one_engine_makes_what_another_makes(tmp_path, make, workers):
    run_replays(draw, questions(3), k=5, store=tmp_path / "a", seed=3, attempts=2)
    agent = make()
    run_replays(agent, questions(3), k=5, store=tmp_path / "b", seed=3, attempts=2, workers=workers)
    assert kept(tmp_path / "a") == kept(tmp_path / "b")
    assert agent.most <= workers
    assert agent.most > 1 or workers == 1


def test_one_question_keeps_all_workers_busy(tmp_path):
    meet = threading.Barrier(6, timeout=30)

    def answer(request):
        meet.wait()  # breaks unless six replays are in flight at once
        return "A"

    status = run_replays(answer, questions(1), k=2, store=tmp_path, seed=1, workers=6)
    assert status.valid == 6


@pytest.mark.parametrize("make", [Coroutine, Function])
def test_evidence_is_loaded_once_for_all_replays_of_a_question(tmp_path, monkeypatch, make):
    import numpy as np

    rng = np.random.default_rng(1)
    for i in range(4):
        frame = Encoder("png").encode(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8), None)
        (tmp_path / f"{i}.png").write_bytes(frame.data)
    asked = [
        Trajectory(question_id=f"q{i}", answer="A", options=OPTIONS,
                   evidence=[EvidenceItem(id="e", frames=(f"{i}.png",))])
        for i in range(4)
    ]  # fmt: skip
    loaded = []
    from carve_stats.replay import rendering

    load = rendering.EvidenceRenderer.load
    monkeypatch.setattr(
        rendering.EvidenceRenderer, "load",
        lambda self, t: loaded.append(t.question_id) or load(self, t),
    )  # fmt: skip
    run_replays(make(), asked, k=3, store=tmp_path / "run", seed=1, workers=3, media=tmp_path,
                canary="off")  # fmt: skip
    assert sorted(loaded) == ["q0", "q1", "q2", "q3"]


def test_a_shelf_hands_a_failed_load_to_all_who_wait():
    calls = []

    def load(trajectory):
        calls.append(trajectory.question_id)
        raise InputError("no such file")

    shelf = EvidenceShelf(load, places=1)
    [asked] = questions(1, evidence=[EvidenceItem(id="e", text="a")])
    for _ in range(2):
        with pytest.raises(InputError, match="no such file"):
            shelf.take(asked)
    assert calls == ["q0"]


def test_a_shelf_keeps_as_many_questions_as_it_has_places():
    calls = []

    def load(trajectory):
        calls.append(trajectory.question_id)
        return (Evidence(id="e", text=trajectory.question_id),)

    shelf = EvidenceShelf(load, places=2)
    a, b, c = questions(3, evidence=[EvidenceItem(id="e", text="a")])
    for asked in (a, b, a, b, c, b, a):
        assert shelf.take(asked)[0].text == asked.question_id
    assert calls == ["q0", "q1", "q2", "q0"]


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_an_agent_out_of_reach_ends_the_run_after_twenty_in_a_row(tmp_path, kind, workers):
    def fail(request):
        raise ConnectionRefusedError(f"no server for {request.question_id}")

    async def fail_too(request):
        raise ConnectionRefusedError(f"no server for {request.question_id}")

    with pytest.raises(AgentError, match="could not be reached for 20 replays in a row"):
        run_replays(fail if kind == "function" else fail_too, questions(50), k=1, store=tmp_path,
                    seed=1, conditions=["sham"], workers=workers)  # fmt: skip
    status = RunStore.load(tmp_path).progress.status()
    assert (status.done, status.invalid) == (0, 0)
    assert 20 <= status.lost < 20 + workers


def test_one_that_is_reached_now_and_then_does_not(tmp_path):
    calls = []

    def answer(request):
        calls.append(request)
        if len(calls) % 20:
            raise TimeoutError
        return "A"

    status = run_replays(answer, questions(60), k=1, store=tmp_path, seed=1, conditions=["sham"])
    assert (status.valid, status.invalid, status.lost) == (3, 0, 57)
    assert not status.finished


@pytest.mark.parametrize("attempts", [1, 2])
def test_what_no_reply_came_to_is_asked_again_by_the_same_call(tmp_path, attempts):
    """An outage costs time and no replay; one call tries each no more often than it may."""
    down = True
    asked = []

    def answer(request):
        asked.append(request.repetition)
        if down and request.repetition != 1:
            raise ConnectionRefusedError("no server")
        return ["A", "B", "none of them"][request.repetition]

    def run():
        return run_replays(answer, questions(1), k=3, store=tmp_path, seed=1, attempts=attempts,
                           conditions=["sham"])  # fmt: skip

    status = run()
    assert (status.done, status.valid, status.lost) == (1, 1, 2)
    assert str(status) == (
        "1 of 3 replays done (1 valid, 0 invalid); 2 got no reply: the same command asks again"
    )
    assert asked == [0] * attempts + [1] + [2] * attempts
    asked.clear()
    assert run() == replace(status, attempts=4 * attempts + 1)
    down = False
    asked.clear()
    status = run()
    assert (status.done, status.valid, status.invalid, status.lost) == (3, 2, 1, 0)
    assert asked == [0] + [2] * attempts
    assert status.finished
    counts = read_replays(tmp_path)
    assert (counts.sham_flips.tolist(), counts.sham_replays.tolist()) == ([1], [2])
    assert counts.ledger.read == status.attempts
    rates = reparse_run(tmp_path)
    assert rates.after.invalid["sham"] == (1, 3)


def test_a_failed_request_keeps_what_it_took(tmp_path):
    def answer(request):
        error = TimeoutError("30 s passed")
        error.transport = [{"status": None, "error": "timed out", "seconds": 30.0, "waited": 0}]
        raise error

    run_replays(answer, questions(1), k=1, store=tmp_path, seed=1, conditions=["sham"])
    [record] = RunStore.load(tmp_path).records()
    assert record.status == "transport_error"
    assert record.transport == [
        {"status": None, "error": "timed out", "seconds": 30.0, "waited": 0}
    ]


def test_what_the_agent_declares_stands_in_the_plan(tmp_path):
    for name, declared, asked, expected in (
        ("a", None, None, {}),
        ("b", True, None, {"stochastic": True}),
        ("c", True, False, {"stochastic": False}),
        ("d", None, True, {"stochastic": True}),
    ):
        agent = Function()
        agent.stochastic = declared
        run_replays(agent, questions(1), k=1, store=tmp_path / name, seed=1, stochastic=asked)
        plan = RunStore.load(tmp_path / name).plan
        assert {n: v for n, v in plan.agent.items() if n == "stochastic"} == expected


def test_a_declaration_is_true_or_false(tmp_path):
    with pytest.raises(InputError, match="stochastic='yes' must be True, False or None"):
        run_replays(draw, questions(1), k=1, store=tmp_path / "r", seed=1, stochastic="yes")
    assert not (tmp_path / "r").exists()


def test_an_engine_that_nobody_knows(tmp_path):
    with pytest.raises(InputError, match=r"unknown engine 'rya'.*did you mean 'ray'"):
        run_replays(draw, questions(1), k=1, store=tmp_path / "r", seed=1, engine="rya")
    assert not (tmp_path / "r").exists()


def test_clients_are_closed_in_the_loop_that_they_were_made_in(tmp_path):
    class Client(Coroutine):
        closed_in = ()

        async def __call__(self, request):
            self.loop = asyncio.get_running_loop()
            return await super().__call__(request)

        async def aclose(self):
            self.closed_in += (asyncio.get_running_loop() is self.loop,)

    agent = Client()
    run_replays(agent, questions(2), k=1, store=tmp_path, seed=1)
    assert agent.closed_in == (True,)
