"""The `openai` agent and a server that answers: what is asked, and what is kept of the reply."""

import asyncio
import json
import logging
import pickle
import threading

import pytest
from chat_server import ChatServer, Said, blind, failing, honest
from openai_runs import (
    OPTIONS,
    item,
    options,
    picture,
    pictured_questions,
    quick_agent,
    request,
    run,
    worded_questions,
)

from carve_stats.errors import AgentError, InputError
from carve_stats.replay.agents import load_agent
from carve_stats.replay.agents.openai import OpenAIAgent
from carve_stats.replay.trajectories import EvidenceItem, Trajectory, write_trajectories
from carve_stats.testing import verify_agent
from carve_stats.testing.conformance.requests import sample_requests

KEY = "sk-live-do-not-show-me-1234567890"
TEAM = "team-token-abcdef"


def asked_alone(agent, *requests):
    async def scenario():
        return [await agent(one) for one in requests]

    return asyncio.run(scenario())


def test_an_honest_server_makes_an_agent_that_keeps_the_contract():
    requests = sample_requests()[-1:]  # each time it is asked it has a client of its own
    with ChatServer(honest) as server:
        agent = load_agent("openai", model="m", base_url=server.url)
        verification = verify_agent(agent, requests=requests)
        assert verification.passed, verification
        assert not verification.notes
        assert server.all_closed()


def test_the_request_holds_the_options_and_a_seed_of_32_bits():
    extra = {"top_p": 0.9, "chat_template_kwargs": {"enable_thinking": False}}
    seeds = [0, 1, 2**31 - 2, 2**31 - 1, 2**53 - 1]
    with ChatServer() as server:
        agent = quick_agent(server, temperature=0.7, max_tokens=9, extra=extra)
        asked_alone(agent, *(request(seed=seed) for seed in seeds))
        bodies = [asked.body for asked in server.asked]
        headers = server.asked[0].headers
    assert {name: bodies[0][name] for name in bodies[0] if name not in ("messages", "seed")} == {
        "model": "small-model", "temperature": 0.7, "max_tokens": 9, **extra,
    }  # fmt: skip
    assert [body["seed"] for body in bodies] == [1, 2, 2**31 - 1, 1, 1 + (2**53 - 1) % (2**31 - 1)]
    assert headers["x-stainless-retry-count"] == "0"
    with ChatServer() as server:
        asked_alone(quick_agent(server), request())
        assert sorted(server.asked[0].body) == ["messages", "model", "seed"]


def test_a_run_shows_each_condition_its_frames_and_the_conversation_its_own(tmp_path):
    names = ["0.png", "1.png"]
    for i, name in enumerate(names):
        (tmp_path / name).write_bytes(picture(i).data)
    frozen = {
        "messages": [
            {"role": "system", "content": "You watch videos. Notes: {evidence:note}"},
            {"role": "user", "content": [
                {"type": "image_url", "image_url": "evidence:clip/1"},
                {"type": "text", "text": "Which animal? A, B or C."},
                {"type": "image_url", "image_url": {"url": "evidence:clip", "detail": "low"}},
            ]},
        ],
    }  # fmt: skip
    question = Trajectory(
        question_id="q1", question="unused", options=OPTIONS, answer="A", frozen=frozen,
        evidence=(EvidenceItem(id="clip", frames=tuple(names)),
                  EvidenceItem(id="note", text="A fox sleeps.")),
    )  # fmt: skip
    with ChatServer() as server:
        done = run(quick_agent(server), [question], tmp_path, k=2)
        asked = {a.body["seed"]: a for a in server.asked}
    shown = {}
    for record in done.records:
        one = asked[1 + record.seed % (2**31 - 1)]
        assert one.texts == ["You watch videos. Notes: A fox sleeps.", "Which animal? A, B or C."]
        assert [part["type"] for part in one.body["messages"][1]["content"]] == [
            "image_url", "text", "image_url", "image_url",
        ]  # fmt: skip
        assert one.images[0] == one.images[2]
        shown.setdefault(record.condition, []).append(tuple(one.images))
    assert len(set(shown["self"])) == 1
    assert len(set(shown["sham"] + shown["destroy"])) == 4
    assert not set(shown["self"]) & set(shown["sham"] + shown["destroy"])


def test_a_conversation_without_a_place_for_its_evidence_is_refused_before_any_request(tmp_path):
    (question, other) = pictured_questions(tmp_path)
    wrong = Trajectory(
        question_id="q9", options=OPTIONS, answer="A", evidence=other.evidence,
        frozen={"messages": [{"role": "user", "content": "Which?"}]},
    )  # fmt: skip
    with ChatServer() as server:
        with pytest.raises(InputError, match="question 'q9': frozen messages show evidence 'clip'"):
            run(quick_agent(server), [question, wrong], tmp_path)
        assert not server.asked
    assert not (tmp_path / "run").exists()


def test_records_keep_what_the_server_said(tmp_path):
    with ChatServer(lambda asked: Said("B", headers={"x-cache": "MISS"})) as server:
        done = run(quick_agent(server), pictured_questions(tmp_path), tmp_path)
    assert done.status.valid == 12
    for record in done.records:
        assert (record.model, record.finish_reason) == ("small-model-0613", "stop")
        assert record.usage == {
            "prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25, "cached_tokens": 16,
        }  # fmt: skip
        assert record.from_cache is False
        (entry,) = record.transport
        assert (entry["status"], entry["error"], entry["waited"]) == (200, None, 0)
        assert entry["system_fingerprint"] == "fp_44709d6fcb"


def test_a_reply_from_a_cache_is_recorded_as_one(tmp_path):
    kept = {}

    def caching(asked):
        key = json.dumps(asked.body["messages"])
        hit = key in kept
        said = kept.setdefault(key, honest(asked))
        return Said(said.text, headers={"x-litellm-cache-hit": str(hit)})

    with ChatServer(caching) as server:
        done = run(quick_agent(server), worded_questions(2), tmp_path, k=3, workers=1)
    assert [record.from_cache for record in done.records].count(True) == 18 - 2
    assert len({(r.question_id, r.answer) for r in done.records}) == 2


def test_a_server_that_ignores_the_picture_answers_two_pictures_alike():
    same, other = (request(evidence=(item(frames=[picture(s).data]),)) for s in (1, 2))
    many = [request(evidence=(item(frames=[picture(s).data]),)) for s in range(2, 12)]
    for behave, differ in ((blind, False), (honest, True)):
        with ChatServer(behave) as server:
            first, second, *others = asked_alone(quick_agent(server), same, other, *many)
            assert len({asked.images[0] for asked in server.asked}) == 11
        assert any(reply.text != first.text for reply in (second, *others)) is differ


def test_many_requests_are_in_flight_at_once_and_share_connections(tmp_path):
    together = threading.Barrier(32)

    def behave(asked):
        if asked.number < 32:
            together.wait(timeout=30)
        return honest(asked)

    with ChatServer(behave) as server:
        done = run(quick_agent(server), worded_questions(40), tmp_path, workers=32)
        assert server.all_closed()
        assert len(server.asked) == 240
        assert server.connections <= 32
    assert done.status.valid == 240


def test_a_client_lives_as_long_as_its_event_loop_or_until_it_is_closed():
    with ChatServer() as server:
        agent = quick_agent(server)
        texts = {asked_alone(agent, request())[0].text for _ in range(3)}
        assert len(texts) == 1
        assert server.all_closed()

        async def scenario():
            await agent(request())
            assert server.open_connections == 1
            await agent.aclose()
            await asyncio.to_thread(server.all_closed)
            closed = server.open_connections
            await agent.aclose()
            await agent(request())
            return closed

        assert asyncio.run(scenario()) == 0
        assert server.all_closed()


def test_a_copy_from_another_process_asks_the_same():
    with ChatServer() as server:
        agent = OpenAIAgent(options(base_url=server.url, temperature=0.5))
        copy = pickle.loads(pickle.dumps(agent))
        assert copy.fingerprint() == agent.fingerprint()
        (first,), (second,) = asked_alone(agent, request()), asked_alone(copy, request())
    assert first.text == second.text


SECRET_ANSWERS = [
    lambda shown: failing(401, {"message": f"Incorrect API key provided: {shown}"}),
    lambda shown: failing(400, {"message": f"bad request of {shown}"}),
    lambda shown: failing(400, {"message": f"seed is unknown to {shown}", "param": "seed"}),
    lambda shown: failing(429, {"message": f"limit of {shown}"}, retry_after="99"),
    lambda shown: failing(500, {"message": f"crash of {shown}"}),
    lambda shown: Said(status=502, raw=f"<p>{shown}</p>".encode()),
    lambda shown: Said(raw=shown.encode()),
    lambda shown: Said(f"The answer is A. {shown}"),
]


@pytest.mark.parametrize("answer", SECRET_ANSWERS)
def test_no_key_reaches_the_store_a_log_or_an_error(answer, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("GATEWAY", KEY)  # a name that does not speak of keys
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Team: {TEAM}")
    caplog.set_level(logging.DEBUG)

    def echo(asked):
        return answer(f"{asked.headers['authorization']} and {asked.headers['x-team']}")

    with ChatServer(echo) as server:
        agent = quick_agent(server, api_key_env="GATEWAY", patience=5)
        shown = [repr(agent)]
        try:
            done = run(agent, worded_questions(2), tmp_path, k=1)
        except AgentError as error:
            while error is not None:
                shown.append(f"{error!r} {error}")
                error = error.__cause__ or error.__context__
        else:
            shown.append(repr(done.records))
            assert {record.status for record in done.records} in ({"transport_error"}, {"ok"})
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
        assert server.asked[0].headers["x-team"] == TEAM
    stored = [path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert stored
    for secret in (KEY, TEAM):
        assert not any(secret.encode() in content for content in stored)
        assert not any(secret in text for text in shown)
        assert secret not in caplog.text


def test_the_command_line_stores_and_shows_no_key_either(tmp_path, monkeypatch, command):
    monkeypatch.setenv("GATEWAY", KEY)
    write_trajectories(tmp_path / "questions.jsonl", worded_questions(1))

    def config(server, more):
        (tmp_path / "run.toml").write_text(
            "[run]\nstore = 'run'\nseed = 1\nk = 1\n[input]\ntrajectories = 'questions.jsonl'\n"
            f"[agent]\nuse = 'openai'\nmodel = 'm'\nbase_url = '{server.url}'\n{more}\n"
        )
        return str(tmp_path / "run.toml")

    def echo(asked):
        return failing(401, {"message": f"bad key: {asked.headers['authorization']}"})

    with ChatServer(echo) as server:
        status, out, err = command("replay", config(server, f"api_key = '{KEY}'"))
        assert status == 2
        assert "api_key_env" in err
        assert not (tmp_path / "run").exists()
        status, more_out, more_err = command("replay", config(server, "api_key_env = 'GATEWAY'"))
        assert status == 1
        assert "check the key in GATEWAY" in more_err
    stored = [path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert KEY not in out + err + more_out + more_err
    assert not any(KEY.encode() in content for content in stored)
