"""The replay loop: what it asks, what it records, and what changes nothing."""

import asyncio
import contextlib
import functools
import json
import os
import random
import socket
import threading
from pathlib import Path
from urllib.error import HTTPError, URLError

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.errors import AgentError, InputError, PlanError
from carve_stats.replay import rendering
from carve_stats.replay.agents.scripted import ScriptedAgent
from carve_stats.replay.agents.synthetic import SyntheticAgent, synthetic_trajectories
from carve_stats.replay.evidence.frames import Encoder, Frame
from carve_stats.replay.evidence.media import load_frames
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.seeds import evidence_seed, rendering_seed, replay_seed
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

OPTIONS = {"A": "yes", "B": "no", "C": "maybe"}
# The canary has tests of its own; these count each request.
run_replays = functools.partial(run_replays, canary="off")
TIMES = ("started_at", "seconds")


def question(name="q1", **fields):
    return Trajectory(**{"question_id": name, "answer": "A", "options": OPTIONS, **fields})


def records(store, *, run=True):
    """The records of a run by key, without what depends on the clock."""
    left_out = (*TIMES, *([] if run else ["run"]))
    return {
        r.key: {n: v for n, v in r.to_dict().items() if n not in left_out}
        for r in RunStore.load(store).records()
    }


def noisy(request):
    """A pure function of the request's seed: some answers flip and some do not parse."""
    generator = random.Random(request.seed)
    return generator.choice(["A", "The answer is B.", "either A or B", "", "(C)"])


def test_requests_hold_the_question_and_its_key(tmp_path):
    seen = []
    asked = question(video_id="v", question="Is it?", frozen={"messages": [1]})
    run_replays(lambda r: seen.append(r) or "B", [asked], k=2, store=tmp_path, seed=7)
    assert [(r.condition, r.repetition, r.attempt) for r in seen] == [
        (c, r, 0) for r in (0, 1) for c in ("self", "sham", "destroy")
    ]
    for r in seen:
        assert (r.question_id, r.video_id, r.question) == ("q1", "v", "Is it?")
        assert r.options == OPTIONS
        assert r.evidence == ()
        assert r.frozen == {"messages": [1]}
        assert r.seed == replay_seed(7, "q1", r.condition, r.repetition, 0)


def test_a_record_says_what_was_answered(tmp_path):
    agent = ScriptedAgent({("q1", "sham", 0): "I choose B.", ("q1", "sham", 1): "(A)",
                           ("q1", "sham", 2): "I cannot tell."})  # fmt: skip
    run_replays(agent, [question(video_id="v")], k=3, store=tmp_path, seed=1, conditions=["sham"])
    store = RunStore.load(tmp_path)
    flipped, same, invalid = store.records()
    assert (flipped.answer, flipped.flip, flipped.status) == ("B", 1, "ok")
    assert (same.answer, same.flip, same.text) == ("A", 0, "(A)")
    assert (invalid.answer, invalid.flip, invalid.status) == (None, None, "refusal")
    assert {r.reference_answer for r in (flipped, same, invalid)} == {"A"}
    assert (flipped.video_id, flipped.run) == ("v", store.run_id)
    assert flipped.evidence_sha256 is None
    assert set(flipped.seconds) == {"render", "answer"}


REPLIES = [
    (ReplayReply(text="The answer is B", answer="C"), ("C", "ok", 1)),
    (ReplayReply(text="B", answer="A"), ("A", "ok", 0)),
    (ReplayReply(text="B", answer="Z"), (None, "out_of_set", None)),
    (ReplayReply(text="The answer is B", finish_reason="length"), (None, "truncated", None)),
    (ReplayReply(text="cut", answer="B", finish_reason="length"), ("B", "ok", 1)),
    (ReplayReply(text="B", finish_reason="stop"), ("B", "ok", 1)),
    (ReplayReply(text=""), (None, "empty", None)),
]


@pytest.mark.parametrize(("reply", "expected"), REPLIES)
def test_a_reply_is_judged_by_its_answer_then_its_end_then_its_text(tmp_path, reply, expected):
    run_replays(lambda r: reply, [question()], k=1, store=tmp_path, seed=1, conditions=["self"])
    [record] = RunStore.load(tmp_path).records()
    assert (record.answer, record.status, record.flip) == expected
    assert record.finish_reason == reply.finish_reason


def test_what_an_agent_says_of_its_reply_is_kept(tmp_path):
    reply = ReplayReply(text="B", usage={"tokens": 12, "cost": 0.5}, from_cache=True, model="m")
    run_replays(lambda r: reply, [question()], k=1, store=tmp_path, seed=1, conditions=["self"])
    [record] = RunStore.load(tmp_path).records()
    assert (record.usage, record.from_cache, record.model) == (reply.usage, True, "m")


def test_half_a_character_at_the_end_of_a_reply_is_replaced(tmp_path):
    run_replays(lambda r: "B \ud83d", [question()], k=1, store=tmp_path, seed=1)
    assert {r.text for r in RunStore.load(tmp_path).records()} == {"B ?"}


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError("reset by peer"), TimeoutError("30 s\npassed"),
     socket.gaierror(-2, "Name unknown"), TimeoutError(), URLError("no route"),
     # As openai and httpx define them, whose errors are not the system's.
     type("APIConnectionError", (type("APIError", (Exception,), {}),), {})("Connection error."),
     type("PoolReadTimeout", (type("ReadTimeout", (Exception,), {}),), {})("30 s")],
)  # fmt: skip
def test_transport_failures_are_records_and_may_be_tried_again(tmp_path, error):
    def agent(request):
        if request.attempt == 0:
            raise error
        return "B"

    status = run_replays(
        agent, [question()], k=1, store=tmp_path, seed=1, conditions=["sham"], attempts=2
    )
    first, second = RunStore.load(tmp_path).records()
    assert (first.status, first.answer, first.flip) == ("transport_error", None, None)
    assert type(error).__name__ in first.text
    assert (second.status, second.attempt) == ("ok", 1)
    assert (status.done, status.valid, status.attempts) == (1, 1, 2)


def test_only_invalid_answers_are_asked_again_and_every_attempt_is_kept(tmp_path):
    texts = {("q1", "sham", 0, 0): "", ("q1", "sham", 0, 1): "unclear", ("q1", "sham", 0, 2): "B",
             ("q1", "sham", 1, 0): "A",
             **{("q1", "sham", 2, attempt): "hm" for attempt in range(3)}}  # fmt: skip
    status = run_replays(
        ScriptedAgent(texts), [question()], k=3, store=tmp_path, seed=1, conditions=["sham"],
        attempts=3,
    )  # fmt: skip
    stored = {r.key: r.text for r in RunStore.load(tmp_path).records()}
    assert stored == texts
    assert (status.done, status.valid, status.invalid, status.attempts) == (3, 2, 1, 7)


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def raised(error):
    raise error


FAILING = [
    (lambda r: 1 / 0, r"ZeroDivisionError: division by zero"),
    (lambda r: None, r"it gave NoneType, it must give a ReplayReply or a str"),
    (lambda r: b"B", r"it gave bytes"),
    (lambda r: ReplayReply(text=None), r"its reply's text is NoneType"),
    (lambda r: ReplayReply(text="B", answer=2), r"answer=2 must be a str or None"),
    (lambda r: ReplayReply(text="B", from_cache="no"), r"from_cache='no' must be a bool"),
    (lambda r: ReplayReply(text="B", usage={"tokens": "12"}), r"usage 'tokens'='12'"),
    (lambda r: ReplayReply(text="B", usage={"tokens": None}), r"usage 'tokens'=None"),
    (lambda r: ReplayReply(text="B", usage={7: 12}), r"usage 7=12 must have a str for its name"),
    (lambda r: ReplayReply(text="B", usage={"cost": 10**5000}), r"usage 'cost' is too large"),
    (lambda r: raised(SystemExit(0)), r"SystemExit: 0"),
    (lambda r: raised(asyncio.CancelledError()), r"CancelledError"),
    (lambda r: raised(GeneratorExit()), r"GeneratorExit"),
    (lambda r: raised(Speechless()), r"Speechless \(its message cannot be read\)"),
    (lambda r: raised(HTTPError("http://x", 500, "broken", {}, None)), r"HTTPError.*500"),
    (lambda r: ReplayReply(text="B", usage={"cost": float("nan")}), r"usage 'cost'=nan"),
    (lambda r: ReplayReply(text="B", usage=None), r"usage=None must be a mapping"),
    (lambda r: Path("/no/such/model").read_text(), r"FileNotFoundError"),
]


@pytest.mark.parametrize(("reply", "message"), FAILING)
@pytest.mark.parametrize("workers", [1, 3])
def test_a_failing_agent_stops_the_run_and_what_was_finished_is_kept(
    tmp_path, reply, message, workers
):
    def agent(request):
        return reply(request) if request.question_id == "q2" else "A"

    asked = [question(f"q{i}") for i in range(3)]
    with pytest.raises(AgentError, match=message) as caught:
        run_replays(agent, asked, k=1, store=tmp_path, seed=1, conditions=["sham"],
                    workers=workers)  # fmt: skip
    assert "question 'q2', condition sham, repetition 0" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is not None
    if workers == 1:
        assert {r.question_id for r in RunStore.load(tmp_path).records()} == {"q0", "q1"}
    status = run_replays(agent_of_fixed_name(agent), asked, k=1, store=tmp_path, seed=1,
                         conditions=["sham"])  # fmt: skip
    assert (status.done, status.duplicates, status.torn_lines) == (3, 0, 0)


def agent_of_fixed_name(agent):
    """An agent that answers, under the name of the one that failed."""

    def mended(request):
        return "A"

    return functools.update_wrapper(mended, agent)


def test_coroutines(tmp_path):
    loops = set()

    async def agent(request):
        await asyncio.sleep(0)
        loops.add(id(asyncio.get_running_loop()))
        if request.repetition == 1:
            raise ConnectionError("gone")
        return ReplayReply(text="B")

    run_replays(agent, [question(f"q{i}") for i in range(4)], k=2, store=tmp_path, seed=1)
    found = list(RunStore.load(tmp_path).records())
    assert {(r.repetition, r.status) for r in found} == {(0, "ok"), (1, "transport_error")}
    assert len(found) == 24
    assert len(loops) == 1


def test_a_run_can_be_started_from_a_running_event_loop(tmp_path):
    async def agent(request):
        return "B"

    async def notebook():
        return run_replays(agent, [question()], k=1, store=tmp_path, seed=1)

    assert asyncio.run(notebook()).done == 3


def test_workers_are_threads_that_work_at_once(tmp_path):
    barrier = threading.Barrier(3, timeout=30)

    def agent(request):
        barrier.wait()
        return "A"

    asked = [question(f"q{i}") for i in range(3)]
    status = run_replays(agent, asked, k=1, store=tmp_path, seed=1, conditions=["sham"], workers=3)
    assert status.done == 3


@settings(max_examples=12)
@given(
    order=st.permutations(range(5)),
    workers=st.integers(1, 4),
    attempts=st.integers(1, 3),
    stop_after=st.integers(0, 40),
    first=st.integers(1, 5),
)
def test_order_workers_and_resumption_change_nothing(
    tmp_path_factory, order, workers, attempts, stop_after, first
):
    folder = tmp_path_factory.mktemp("runs")
    asked = [question(f"q{i}", video_id=f"v{i % 2}") for i in range(5)]
    k = {"self": 1, "sham": 2, "destroy": 3}
    arguments = {"k": k, "seed": 3, "attempts": attempts}
    run_replays(noisy, asked, store=folder / "plain", **arguments)

    calls = 0

    def stopping(request):
        nonlocal calls
        calls += 1
        if calls > stop_after:
            raise RuntimeError("stop")
        return noisy(request)

    shuffled = [asked[i] for i in order]
    same_name = functools.update_wrapper(stopping, noisy)
    less = {**arguments, "k": {"self": 1, "sham": 1, "destroy": 2}}
    with contextlib.suppress(AgentError):
        run_replays(same_name, shuffled[:first], store=folder / "other", workers=workers, **less)
    run_replays(noisy, shuffled, store=folder / "other", workers=workers, **arguments)
    assert records(folder / "other") == records(folder / "plain")
    assert (
        RunStore.load(folder / "other").progress.status()
        == RunStore.load(folder / "plain").progress.status()
    )


def test_only_what_is_missing_is_run(tmp_path):
    calls = []

    def agent(request):
        calls.append((request.question_id, request.condition, request.repetition))
        return "A"

    asked = [question("q0"), question("q1")]
    run = functools.partial(run_replays, agent, store=tmp_path, seed=1)
    run(asked[:1], k=1)
    assert len(calls) == 3
    calls.clear()
    run(asked[:1], k=1)
    assert calls == []
    run(asked, k={"self": 1, "sham": 2, "destroy": 1})
    assert sorted(calls) == [
        ("q0", "sham", 1),
        ("q1", "destroy", 0), ("q1", "self", 0), ("q1", "sham", 0), ("q1", "sham", 1),
    ]  # fmt: skip
    calls.clear()
    status = run(asked[:1], k=1)
    assert calls == []
    assert (status.planned, status.done) == (8, 8)


def test_progress_begins_with_what_is_there_and_ends_with_all(tmp_path):
    seen = []
    run = functools.partial(
        run_replays, noisy, seed=1, store=tmp_path, attempts=2,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    run([question()], k=1)
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    seen.clear()
    run([question()], k=2, workers=2)
    assert seen == [(3, 6), (4, 6), (5, 6), (6, 6)]
    seen.clear()
    run([question()], k=2)
    assert seen == [(6, 6)]


def test_an_interrupt_leaves_a_sound_store(tmp_path):
    def interrupt(done, total):
        if done == 4:
            raise KeyboardInterrupt

    asked = [question(f"q{i}") for i in range(4)]
    with pytest.raises(KeyboardInterrupt):
        run_replays(noisy, asked, k=1, store=tmp_path / "a", seed=1, progress=interrupt)
    assert RunStore.load(tmp_path / "a").progress.status().done == 4
    run_replays(noisy, asked, k=1, store=tmp_path / "a", seed=1)
    run_replays(noisy, asked, k=1, store=tmp_path / "b", seed=1)
    assert records(tmp_path / "a") == records(tmp_path / "b")


def test_open_questions_are_compared_by_the_callers_equality(tmp_path):
    asked = Trajectory(question_id="q1", answer="Two dogs")
    with pytest.raises(InputError, match="question 'q1' has no options: give run_replays equal="):
        run_replays(lambda r: "x", [question("q0"), asked], k=1, store=tmp_path / "x", seed=1)
    assert not (tmp_path / "x").exists()
    texts = {("q1", "sham", 0): "two dogs", ("q1", "sham", 1): "<think>?</think>three dogs",
             ("q1", "sham", 2): " "}  # fmt: skip
    run_replays(
        ScriptedAgent(texts), [asked], k=3, store=tmp_path / "run", seed=1, conditions=["sham"],
        equal=lambda a, b: a.casefold() == b.casefold(),
    )  # fmt: skip
    found = list(RunStore.load(tmp_path / "run").records())
    assert [(r.answer, r.flip, r.status) for r in found] == [
        ("two dogs", 0, "ok"), ("three dogs", 1, "ok"), (None, None, "empty"),
    ]  # fmt: skip


def test_what_an_agent_says_can_always_be_read_again(tmp_path):
    class Word(str):
        def __str__(self):
            return "something else"

    reply = ReplayReply(
        text=np.str_("The answer is B"), answer=Word("C"), model=Word("m\ud83d"),
        finish_reason=np.str_("stop"), from_cache=np.bool_(True),
        usage={"cached": True, "flag": np.bool_(False), Word("tokens"): np.int64(12),
               "cost": np.float32(0.5), "ticks": 10**30, "cut \ud83d": 1},
    )  # fmt: skip
    run_replays(lambda r: reply, [question()], k=1, store=tmp_path, seed=1, conditions=["self"])
    store = RunStore.load(tmp_path)
    assert store.progress.status().done == 1
    [record] = store.records()
    assert (record.text, record.answer, record.model) == ("The answer is B", "C", "m?")
    assert (record.finish_reason, record.from_cache) == ("stop", True)
    assert record.usage == {"cached": 1, "flag": 0, "tokens": 12, "cost": 0.5, "ticks": 1e30,
                            "cut ?": 1}  # fmt: skip


@pytest.mark.parametrize(
    "frozen", [{"memory": "as it was"}, {"messages": [{"role": "user"}]}, ["a", ["b"]]]
)
def test_what_an_agent_does_to_its_request_changes_no_other(tmp_path, frozen):
    seen = []

    def agent(request):
        seen.append((json.dumps(request.frozen), dict(request.options)))
        request.options.clear()
        request.options["Z"] = "anything"
        if isinstance(request.frozen, dict):
            for value in request.frozen.values():
                if isinstance(value, list):
                    value[0]["role"] = "changed"
            request.frozen["memory"] = "changed"
        else:
            request.frozen[1].append("changed")
        return "B"

    asked = question(frozen=frozen)
    before = json.dumps(frozen)
    run_replays(agent, [asked], k=2, store=tmp_path, seed=1)
    assert seen == [(before, OPTIONS)] * 6
    assert json.dumps(asked.frozen) == before
    assert {r.answer for r in RunStore.load(tmp_path).records()} == {"B"}


def test_an_exit_within_a_coroutine_is_the_agents_failure(tmp_path):
    async def agent(request):
        raise SystemExit(0)

    with pytest.raises(AgentError, match=r"question 'q1'.*SystemExit: 0"):
        run_replays(agent, [question()], k=1, store=tmp_path, seed=1)


def test_an_agents_own_interrupt_stays_one(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_replays(lambda r: raised(KeyboardInterrupt()), [question()], k=1, store=tmp_path,
                    seed=1)  # fmt: skip


@pytest.mark.parametrize("failure", [SystemExit(0), ValueError("x")])
def test_a_fingerprint_that_fails_is_an_agent_error_before_anything_is_written(tmp_path, failure):
    agent = ScriptedAgent({})
    agent.fingerprint = lambda: raised(failure)
    with pytest.raises(AgentError, match=r"fingerprint\(\) failed: (SystemExit|ValueError)"):
        run_replays(agent, [question()], k=1, store=tmp_path / "run", seed=1)
    assert not (tmp_path / "run").exists()


def test_an_equality_that_fails_is_named(tmp_path):
    asked = Trajectory(question_id="q1", answer="Two dogs")
    with pytest.raises(InputError, match=r"equal= failed on question 'q1', answer 'x': ZeroDiv"):
        run_replays(lambda r: "x", [asked], k=1, store=tmp_path, seed=1, equal=lambda a, b: 1 / 0)


def test_an_agent_may_change_the_current_directory(tmp_path, media, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    def agent(request):
        os.chdir(tmp_path / "elsewhere")
        return "A"

    asked = [question(f"q{i}", evidence=PICTURED) for i in range(2)]
    status = run_replays(
        agent, asked, k=1, store="run", seed=1, media="media", operator=Blank(),
        encoder=Encoder("png"),
    )  # fmt: skip
    assert (status.done, len(list(RunStore.load(tmp_path / "run").records()))) == (6, 6)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_million_replays_are_planned_without_counting_them(tmp_path):
    def agent(request):
        if request.repetition == 2:
            raise RuntimeError("enough")
        return "A"

    asked = [question(f"q{i}") for i in range(50)]
    with pytest.raises(AgentError, match="enough"):
        run_replays(agent, asked, k=10**6, store=tmp_path, seed=1)
    status = RunStore.load(tmp_path).progress.status()
    assert (status.planned, status.done) == (150 * 10**6, 6)


def test_a_synthetic_agent_needs_its_population(tmp_path):
    fine = synthetic_trajectories([0.1], [0.2])[0]
    for frozen, message in [
        (None, "question 'q1': frozen=None must hold answer"),
        ({"answer": "E", "p_sham": 0.1}, "frozen answer='E' must be one of the option labels"),
        ({"answer": "A", "p_sham": 0.1}, r"frozen p_destroy=None must be a number in \[0, 1\]"),
        ({"answer": "A", "p_sham": 2, "p_destroy": 1}, r"frozen p_sham=2 must be"),
    ]:
        with pytest.raises(InputError, match=message):
            run_replays(SyntheticAgent(), [fine, question(frozen=frozen)], k=1,
                        store=tmp_path / "run", seed=1, conditions=["sham", "destroy"])  # fmt: skip
        assert not (tmp_path / "run").exists()


BAD = [
    ({"k": 1_000_001}, "k must be at most 1000000"),
    ({"k": 10**400}, "k must be at most 1000000"),
    ({"conditions": 5}, "conditions=5 must be a list"),
    ({"trajectories": None}, "trajectories=None must be a list"),
    ({"trajectories": "q1"}, "it must hold Trajectory objects"),
    ({"operator": "phase"}, r"operator='phase' must be callable and have parameters\(\)"),
    ({"encoder": "png"}, r"encoder='png' must be an Encoder"),
    ({"equal": "exact"}, "equal='exact' must be callable"),
    ({"progress": 3}, "progress=3 must be callable"),
    ({"agent_spec": "mine"}, "agent_spec='mine' must map names"),
    ({"media": 5}, "media=5 must be a path"),
    ({"media": "a\0b"}, "media='a.*must be a path"),
    ({"media": "m" * 5000}, "cannot be used: File name too long"),
    ({"seed": 10**5000}, "seed cannot be kept in a run's plan"),
    ({"k": 0}, "k=0 must be a whole number of at least 1"),
    ({"k": 2.0}, "k=2.0 must be a whole number"),
    ({"k": True}, "k=True must be a whole number"),
    ({"k": {"sham": 1}}, "has no entry for condition 'self'"),
    ({"k": {"self": 1, "sham": 1, "destroy": 1, "shame": 1}}, "unknown condition of k 'shame'"),
    ({"k": {"self": 1, "sham": 0, "destroy": 1}}, "k of sham=0"),
    ({"conditions": ["shame"]}, "unknown condition 'shame'.*did you mean 'sham'"),
    ({"conditions": []}, "must be a list"),
    ({"conditions": "sham"}, "conditions='sham' must be a list"),
    ({"conditions": ["sham", "sham"]}, "must name each condition once"),
    ({"attempts": 0}, "attempts=0 must be"),
    ({"workers": 0}, "workers=0 must be"),
    ({"seed": -1}, "seed=-1 must be"),
    ({"seed": "1"}, "seed='1' must be"),
    ({"crop": 1.0}, "crop=1.0 must be"),
    ({"crop": float("nan")}, "crop=nan must be"),
    ({"trajectories": []}, "at least one question"),
    ({"trajectories": [question(), question()]}, "question_id='q1' stands in two"),
    ({"agent": "synthetic"}, "agent='synthetic' must be callable"),
    ({"agent_spec": {"use": object()}}, "cannot be kept in a run's plan"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_wrong_input_is_refused_before_anything_is_written(tmp_path, change, message):
    arguments = {"agent": noisy, "trajectories": [question()], "k": 1, "seed": 1, **change}
    with pytest.raises(InputError, match=message) as caught:
        run_replays(**arguments, store=tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_another_agent_or_seed_is_another_plan(tmp_path):
    run = functools.partial(run_replays, trajectories=[question()], k=1, store=tmp_path)
    run(noisy, seed=1)
    with pytest.raises(PlanError, match="seed was 1 and is 2"):
        run(noisy, seed=2)
    with pytest.raises(PlanError, match=r"agent.name was .*noisy.* and is .*ScriptedAgent"):
        run(ScriptedAgent({}), seed=1)
    with pytest.raises(PlanError, match=r'agent.spec.use was not given and is "mine"'):
        run(noisy, seed=1, agent_spec={"use": "mine"})


def test_conditions_in_another_order_are_the_same_plan(tmp_path):
    run = functools.partial(run_replays, noisy, [question()], k=1, store=tmp_path, seed=1)
    run(conditions=["destroy", "sham"])
    assert run(conditions=["sham", "destroy"]).done == 2


# --- evidence -----------------------------------------------------------------------------------


class Blank:
    """An operator that leaves nothing."""

    def __call__(self, pixels, *, seed):
        return np.zeros_like(pixels)

    def parameters(self):
        return {"name": "blank"}


@pytest.fixture
def media(tmp_path):
    pixels = np.random.default_rng(5).integers(0, 256, (24, 32, 3)).astype(np.uint8)
    folder = tmp_path / "media"
    folder.mkdir()
    for i in range(2):
        frame = Encoder("png").encode(np.roll(pixels, 5 * i, axis=1))
        (folder / f"{i}.png").write_bytes(frame.data)
    return folder


PICTURED = (
    EvidenceItem(id="clip", frames=("0.png", "1.png"), times=(1.0, 2.0), query="a cat"),
    EvidenceItem(id="note", text="said by somebody"),
)


def run_pictured(agent, store, media, evidence=PICTURED, **arguments):
    return run_replays(
        agent, [question(evidence=evidence)], store=store, seed=1, media=media,
        operator=Blank(), encoder=Encoder("png"), **{"k": 2, **arguments},
    )  # fmt: skip


def test_each_condition_is_shown_its_frames(tmp_path, media):
    shown = {}

    def agent(request):
        shown[request.condition, request.repetition] = request.evidence
        return "A"

    run_pictured(agent, tmp_path / "run", media)
    stored = tuple((media / f"{i}.png").read_bytes() for i in range(2))
    for (condition, _), (clip, note) in shown.items():
        assert (clip.id, clip.query, [f.time for f in clip.frames]) == ("clip", "a cat", [1.0, 2.0])
        assert (note.id, note.text, note.frames) == ("note", "said by somebody", ())
        content = tuple(frame.data for frame in clip.frames)
        assert (content == stored) == (condition == "self")
        black = not any(frame.pixels().any() for frame in clip.frames)
        assert black == (condition == "destroy")
    assert shown["self", 0] == shown["self", 1]
    assert shown["sham", 0] != shown["sham", 1]
    hashes = {r.key[1:3]: r.evidence_sha256 for r in RunStore.load(tmp_path / "run").records()}
    assert hashes["self", 0] == hashes["self", 1]
    assert len({hashes["self", 0], hashes["sham", 0], hashes["sham", 1]}) == 3


def test_sham_and_destroy_of_a_repetition_are_cropped_alike(tmp_path, media, monkeypatch):
    from carve_stats.replay.evidence import render

    calls = []

    def spy(frames, **settings):
        calls.append(settings)
        return frames

    monkeypatch.setattr(render, "render", spy)
    run_pictured(lambda r: "unclear", tmp_path / "run", media, crop=0.01, attempts=2)
    by_condition = {"sham": [], "destroy": []}
    for call in calls:
        by_condition[call["condition"]].append(call)
        assert call["crop"] == 0.01
        assert call["encoder"] == Encoder("png")
    for sham, destroy in zip(by_condition["sham"], by_condition["destroy"], strict=True):
        assert sham["rendering_seed"] == destroy["rendering_seed"]
        assert sham["replay_seed"] != destroy["replay_seed"]
    # Repetition 0 twice (two attempts), then repetition 1 twice.
    assert [c["rendering_seed"] for c in by_condition["sham"]] == [
        rendering_seed(1, "q1", repetition, "clip") for repetition in (0, 0, 1, 1)
    ]
    assert [c["replay_seed"] for c in by_condition["destroy"]] == [
        replay_seed(1, "q1", "destroy", r, a) for r in (0, 1) for a in (0, 1)
    ]


class Captioner:
    """Captions first, then answers from the captions."""

    def __init__(self):
        self.rendered = []
        self.read = {}

    def render(self, evidence, *, seed):
        self.rendered.append((evidence.text, seed))
        return f"caption {len(self.rendered)}"

    def __call__(self, request):
        self.read[request.condition, request.repetition] = [e.text for e in request.evidence]
        return "A"


def test_captions_are_frozen_in_self_and_made_anew_otherwise(tmp_path, media):
    captioned = EvidenceItem(id="clip", frames=("0.png",), text="the frozen caption")
    agent = Captioner()
    run_pictured(agent, tmp_path / "run", media, evidence=(captioned, PICTURED[1]))
    assert agent.read == {
        ("self", 0): ["the frozen caption", "said by somebody"],
        ("sham", 0): ["caption 1", "said by somebody"],
        ("destroy", 0): ["caption 2", "said by somebody"],
        ("self", 1): ["the frozen caption", "said by somebody"],
        ("sham", 1): ["caption 3", "said by somebody"],
        ("destroy", 1): ["caption 4", "said by somebody"],
    }
    # The captioner never sees the frozen caption, and draws from a seed of the replay's own.
    assert agent.rendered == [
        (None, evidence_seed(replay_seed(1, "q1", condition, repetition, 0), "clip"))
        for repetition in (0, 1)
        for condition in ("sham", "destroy")
    ]


def test_a_caption_that_is_no_text_is_an_agent_error(tmp_path, media):
    agent = Captioner()
    agent.render = lambda evidence, *, seed: 7
    with pytest.raises(AgentError, match=r"condition sham.*render\(\) gave int"):
        run_pictured(agent, tmp_path / "run", media)


def test_a_captioner_may_be_a_coroutine(tmp_path, media):
    agent = Captioner()

    async def render(evidence, *, seed):
        return "awaited"

    agent.render = render
    run_pictured(agent, tmp_path / "run", media)
    assert agent.read["destroy", 1] == ["awaited", "said by somebody"]


def test_a_caption_beside_frames_needs_an_agent_that_captions(tmp_path, media):
    captioned = (EvidenceItem(id="clip", frames=("0.png",), text="the frozen caption"),)
    with pytest.raises(InputError, match=r"question 'q1', evidence 'clip' has a text beside"):
        run_pictured(lambda r: "A", tmp_path / "run", media, evidence=captioned)
    assert not (tmp_path / "run").exists()
    status = run_pictured(
        lambda r: "A", tmp_path / "run", media, evidence=captioned, conditions=["self"]
    )
    assert status.done == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", r"0\.png' is empty"), (b"not a picture", r"0\.png' is no JPEG, PNG or WebP picture")],
)
def test_a_frame_that_is_no_picture_is_named_before_anything_is_run(
    tmp_path, media, content, message
):
    (media / "0.png").write_bytes(content)
    with pytest.raises(InputError, match=f"question 'q1', evidence 'clip': .*{message}"):
        run_pictured(lambda r: pytest.fail("called"), tmp_path / "run", media)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("failure", [ConnectionError("no GPU"), SystemExit(0)])
def test_an_operator_that_fails_is_not_the_agents_failure(tmp_path, media, failure):
    class Broken(Blank):
        def __call__(self, pixels, *, seed):
            raise failure

    with pytest.raises(
        InputError, match=r"question 'q1', evidence 'clip', condition destroy: its frames cannot"
    ) as caught:
        run_replays(lambda r: "A", [question(evidence=PICTURED)], k=1, store=tmp_path / "run",
                    seed=1, media=media, operator=Broken(), encoder=Encoder("png"))  # fmt: skip
    assert type(failure).__name__ in str(caught.value)


def test_a_crop_of_0_is_one_plan_however_it_is_written(tmp_path, media):
    agent = Captioner()
    run_pictured(agent, tmp_path / "run", media, crop=0)
    assert run_pictured(agent, tmp_path / "run", media, crop=0.0).done == 6


def test_a_missing_frame_is_named_before_anything_is_run(tmp_path, media):
    lost = (EvidenceItem(id="clip", frames=("0.png", "lost.png")),)
    with pytest.raises(InputError, match=r"question 'q1', evidence 'clip': no file .*lost\.png"):
        run_pictured(lambda r: pytest.fail("called"), tmp_path / "run", media, evidence=lost)
    assert not (tmp_path / "run").exists()


def test_frames_are_loaded_once_a_question(tmp_path, media, monkeypatch):
    from carve_stats.replay.evidence import media as media_module

    loaded = []
    real = media_module.load_frames
    monkeypatch.setattr(
        media_module, "load_frames", lambda item, root: loaded.append(item.id) or real(item, root)
    )
    run_pictured(lambda r: "A", tmp_path / "run", media)
    assert loaded == ["clip"]
    run_pictured(lambda r: pytest.fail("called"), tmp_path / "run", media)
    assert loaded == ["clip"]


def test_the_plan_says_how_frames_are_made(tmp_path, media):
    agent = Captioner()
    run_pictured(agent, tmp_path / "run", media, crop=0.01)
    plan = RunStore.load(tmp_path / "run").plan
    assert plan.operator == {"name": "blank"}
    assert plan.encoder == {"format": "png", "quality": 92}
    assert plan.crop == 0.01
    with pytest.raises(PlanError, match=r"crop was 0.01 and is 0.02"):
        run_pictured(agent, tmp_path / "run", media)


def test_frames_hash_by_content_and_cut():
    def evidence(*frames):
        return [rendering.Evidence(id="e", frames=tuple(Frame(f, "image/png") for f in frames))]

    assert rendering.hash_frames(evidence(b"ab", b"c")) != rendering.hash_frames(
        evidence(b"a", b"bc")
    )
    assert rendering.hash_frames(evidence()) is None


# --- the synthetic population -------------------------------------------------------------------


def test_a_callable_gives_the_records_of_the_synthetic_agent(tmp_path, rng):
    p_sham, p_destroy = rng.random((2, 60))
    asked = synthetic_trajectories(p_sham, p_destroy, p_self=0.1)
    own = SyntheticAgent()
    run_replays(own, asked, k=3, store=tmp_path / "synthetic", seed=4)
    run_replays(lambda r: own(r), asked, k=3, store=tmp_path / "callable", seed=4, workers=2)
    one, other = (records(tmp_path / name, run=False) for name in ("synthetic", "callable"))
    assert one == other
    assert len(one) == 60 * 9


def test_records_are_plain_values(tmp_path):
    run_replays(noisy, [question()], k=1, store=tmp_path, seed=1)
    for record in RunStore.load(tmp_path).records():
        assert msgspec.json.decode(msgspec.json.encode(record.to_dict())) == record.to_dict()


@pytest.mark.parametrize("field", ["frames", "video"])
@pytest.mark.parametrize("path", ["../secret.png", "a/../../secret.png", "{abs}", "link.png"])
def test_evidence_outside_the_media_root_is_neither_looked_for_nor_read(tmp_path, field, path):
    media = tmp_path / "media"
    media.mkdir()
    secret = tmp_path / "secret.png"
    secret.write_bytes(Encoder("png").encode(np.zeros((4, 4, 3), np.uint8)).data)
    (media / "link.png").symlink_to(secret)
    path = path.format(abs=secret)
    given = {"frames": (path,)} if field == "frames" else {"video": path, "times": (0.0,)}
    asked = question(evidence=[EvidenceItem(id="e", **given)])
    with pytest.raises(InputError, match=r"evidence 'e': path .* leads out of the folder"):
        run_replays(lambda r: "A", [asked], k=1, store=tmp_path / "run", seed=1, media=media)
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="leads out of the folder"):
        load_frames(asked.evidence[0], media)
