"""The `openai` agent and a server that fails: what is waited out, is lost, or stops a run."""

import asyncio
import json
import pickle
import socket
import threading

import pytest
from chat_server import HANG, RESET, STALL, ChatServer, Said, failing, honest
from openai_runs import (
    QuickClock,
    pictured_questions,
    quick_agent,
    request,
    run,
    worded_questions,
)

from carve_stats.errors import AgentError
from carve_stats.replay.agents import _chat_connection
from carve_stats.replay.agents._chat_exchange import LostReplyError
from carve_stats.replay.agents._rate_limit import GateClosedError, RequestGate

SLOW_DOWN = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
UNKNOWN_SEED = {"message": "Unrecognized request argument supplied: seed", "param": None}
NEWER = {
    "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
    " 'max_completion_tokens' instead.",
    "param": "max_tokens",
    "code": "unsupported_parameter",
}


def ask(agent, **fields):
    return asyncio.run(agent(request(**fields)))


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.name.startswith("carve_stats")]


@pytest.mark.parametrize(
    ("trouble", "status", "error", "waits", "said"),
    [
        (failing(500, {"message": "oops"}), 500, "oops", [1, 2], "server in trouble"),
        (Said(status=502, raw=b"<html>Bad Gateway"), 502, "<html>Bad", [1, 2], "server in trouble"),
        (failing(503, {"message": "busy"}), 503, "busy", [1, 2], "server in trouble"),
        (failing(529, {"message": "full"}), 529, "full", [1, 2], "server in trouble"),
        (failing(500, {}, retry_after="5"), 500, "", [5, 5], "server in trouble"),
        (failing(408, {"message": "slow"}), 408, "slow", [1, 2], "server in trouble"),
        (Said(raw=b'{"error": {"code": 502, "message": "up"}}'), 200, "up", [1, 2], "502: up"),
        (Said(raw=b'{"error": {"message": "up"}}'), 200, "up", [1, 2], "500: up"),
        (failing(429, SLOW_DOWN), 429, "Rate limit", [1, 2], "waiting on rate limit: 1 s (429)"),
        (failing(429, SLOW_DOWN, retry_after="12"), 429, "Rate limit", [12, 12],
         "waiting on rate limit: 12 s (429), 1 request at a time"),
        (failing(503, {"message": "busy"}, retry_after="3"), 503, "busy", [3, 3],
         "waiting on rate limit: 3 s (503)"),
        (Said(raw=b'{"error": {"code": 429, "message": "up"}}'), 200, "up", [1, 2],
         "waiting on rate limit: 1 s (429)"),
    ],
)  # fmt: skip
def test_trouble_is_waited_out_and_every_request_is_recorded(
    trouble, status, error, waits, said, caplog
):
    with ChatServer([trouble, trouble]) as server:
        reply = ask(quick_agent(server))
        assert len(server.asked) == 3
        assert server.all_closed()
    assert "The answer is" in reply.text
    assert [entry["status"] for entry in reply.transport] == [status, status, 200]
    assert [entry["waited"] for entry in reply.transport] == [*waits, 0]
    assert all(entry["error"].startswith(error) for entry in reply.transport[:2])
    assert reply.transport[2]["error"] is None
    assert reply.transport[2]["system_fingerprint"] == "fp_44709d6fcb"
    assert said in warnings(caplog)[0]


@pytest.mark.parametrize(
    ("loss", "kind", "status", "said"),
    [
        (RESET, ConnectionError, None, "the connection failed"),
        (Said(cut=20), ConnectionError, 200, "the connection failed"),
        (Said(raw=b'{"choices": [{'), ConnectionError, 200, "the server's reply of 14 bytes is no"),
        (Said(raw=b'{"object": "list"}'), ConnectionError, 200, "no choices[0].message"),
        (Said(headers={"content-encoding": "gzip"}), ConnectionError, 200, "DecodingError"),
        (HANG, TimeoutError, None, "no reply within 0.7 s"),
        (STALL, TimeoutError, 200, "no reply within 0.7 s"),
    ],
)
def test_a_reply_that_may_have_been_made_is_not_asked_for_again(loss, kind, status, said, tmp_path):
    timed = kind is TimeoutError
    with ChatServer([loss, loss]) as server:
        agent = quick_agent(server, timeout=0.7 if timed else 30)
        with pytest.raises(kind) as failure:
            ask(agent)
        assert len(server.asked) == 1
        assert isinstance(failure.value, LostReplyError)
        (entry,) = failure.value.transport
        assert (entry["status"], entry["waited"]) == (status, 0)
        assert said in entry["error"]
        copy = pickle.loads(pickle.dumps(failure.value))  # as it comes from another process
        assert (str(copy), copy.transport) == (str(failure.value), [entry])
        # In a run it is a failed attempt, which another may follow.
        done = run(agent, worded_questions(1), tmp_path, k=1, conditions=["sham"],
                   attempts=1 if timed else 2)  # fmt: skip
    first, *others = done.records
    assert (first.status, first.flip) == ("transport_error", None)
    assert said in first.text
    assert [entry["status"] for entry in first.transport] == [status]
    assert [record.status for record in others] == ([] if timed else ["ok"])


def test_a_server_that_is_not_there_is_waited_for_as_long_as_the_patience_lasts(caplog):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        agent = quick_agent(type("Nowhere", (), {"url": address}), patience=10)
        with pytest.raises(ConnectionError, match=r"no reply in 4 requests and 10 s") as failure:
            ask(agent)
    assert [entry["waited"] for entry in failure.value.transport] == [1, 2, 4, 3]
    assert {entry["status"] for entry in failure.value.transport} == {None}
    assert "ConnectError" in warnings(caplog)[0]


def test_a_limit_longer_than_the_patience_fails_its_replays_at_once(tmp_path):
    with ChatServer(then=lambda asked: failing(429, SLOW_DOWN, retry_after="1e9"), behave=[]) as s:
        agent = quick_agent(s, patience=20)
        done = run(agent, worded_questions(3), tmp_path, k=1, conditions=["self"])
        assert len(s.asked) <= 3
    assert {record.status for record in done.records} == {"transport_error"}
    assert done.status.lost == 3
    texts = " ".join(record.text for record in done.records)
    assert "no reply in 1 request and 0 s of waiting, the last with 429: Rate" in texts
    assert agent._clock.slept == []


def test_the_gate_opens_again_for_replays_that_come_later():
    async def go():
        gate = RequestGate(QuickClock())
        gate.limit(await gate.enter(), 30.0, "429")
        gate.leave()
        with pytest.raises(GateClosedError):
            await gate.enter(20.0)
        await gate.enter(40.0)
        assert gate.in_flight == 1

    asyncio.run(go())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirection_is_refused_and_nothing_goes_to_another_host(status, monkeypatch):
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Extra-Auth: custom-header-secret")
    with ChatServer() as other:
        moved = Said(status=status, headers={"location": f"{other.url}/chat/completions"})
        with (
            ChatServer([moved]) as server,
            pytest.raises(AgentError, match=rf"status {status} .*as base_url"),
        ):
            ask(quick_agent(server))
        assert other.asked == []


@pytest.mark.parametrize("place", ["model", "finish_reason", "system_fingerprint", "usage"])
def test_a_key_that_a_server_repeats_in_any_field_is_not_stored(place, tmp_path, monkeypatch):
    key = "zq9-topsecret-123456"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    choice = {"message": {"content": "The answer is A."}, "finish_reason": "stop"}
    body = {"choices": [choice], "usage": {"prompt_tokens": 3}}
    if place == "finish_reason":
        choice[place] = key
    elif place == "usage":
        body["usage"][key] = 1
    else:
        body[place] = f"for {key}"
    with ChatServer(then=lambda asked: Said(raw=json.dumps(body).encode()), behave=[]) as server:
        done = run(quick_agent(server), worded_questions(1), tmp_path, k=1, conditions=["self"])
    assert done.status.valid == 1
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"topsecret" not in file.read_bytes()


def test_a_key_is_taken_out_before_a_message_is_cut(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "zq9-topsecret-123456")
    refusal = failing(401, {"message": "x" * 282 + "zq9-topsecret-123456"})
    with ChatServer([refusal]) as server, pytest.raises(AgentError) as told:
        ask(quick_agent(server))
    assert "zq9" not in str(told.value)


@pytest.mark.parametrize(
    "said",
    [
        failing(422, {}), Said(status=422, raw=b'{"detail": [{"loc": 5, "msg": "x"}]}'),
        Said(status=422, raw=b'{"detail": [{"loc": {"a": 1}, "msg": "x"}]}'),
    ],
)  # fmt: skip
def test_a_complaint_of_any_form_is_shown(said):
    with ChatServer([said]) as server, pytest.raises(AgentError, match="with status 422"):
        ask(quick_agent(server))


@pytest.mark.parametrize(
    "odd",
    [
        {"system_fingerprint": "\ud800"},
        {"usage": {"prompt_tokens": 10**400, "completion_tokens": 2}},
        {"model": "\ud800m"},
    ],
    ids=["fingerprint", "usage", "model"],
)
def test_an_odd_field_does_not_end_a_run(odd, tmp_path):
    body = {"choices": [{"message": {"content": "A"}}], **odd}
    with ChatServer(then=lambda asked: Said(raw=json.dumps(body).encode()), behave=[]) as server:
        done = run(quick_agent(server), worded_questions(1), tmp_path, k=1, conditions=["self"])
    assert done.status.valid == 1


def test_half_a_character_in_an_error_is_a_failed_attempt(tmp_path):
    trouble = Said(status=500, raw=b'{"error": {"message": "\\ud800\\u001b[31m"}}')
    with ChatServer(then=lambda asked: trouble, behave=[]) as server:
        done = run(quick_agent(server, patience=1), worded_questions(1), tmp_path, k=1,
                   conditions=["self"])  # fmt: skip
    assert done.status.lost == 1


def test_a_body_that_does_not_end_is_cut_off(monkeypatch):
    monkeypatch.setattr(_chat_connection, "_LONGEST_BODY", 10_000)
    long = json.dumps({"choices": [{"message": {"content": "A" * 20_000}}]}).encode()
    with ChatServer([Said(raw=long)]) as server, pytest.raises(ConnectionError, match="more than"):
        ask(quick_agent(server))


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (failing(400, {"message": "image too large"}), "change the agent's options"),
        (failing(401, {"message": "bad key"}), "check the key in OPENAI_API_KEY"),
        (failing(402, {"message": "pay"}), "status 402 (pay)"),
        (failing(403, {"message": "no"}), "check the key in OPENAI_API_KEY"),
        (failing(404, {"message": "model small-model not found"}), "check model and base_url"),
        (failing(413, {}), "status 413 (it says no more): show fewer or smaller frames"),
        (failing(422, {"message": "bad"}), "status 422 (bad)"),
        (failing(429, {"message": "over", "code": "insufficient_quota"}), "account's quota"),
        (Said(raw=b'{"error": {"code": 401, "message": "who"}}'), "status 401 (who)"),
        (Said(status=304, raw=b""), "status 304 (it says no more)"),
    ],
)
def test_a_request_that_is_refused_for_good_stops_the_run_on_one_line(refusal, said, tmp_path):
    with ChatServer(then=lambda asked: refusal, behave=[]) as server:
        with pytest.raises(AgentError) as stop:
            ask(quick_agent(server))
        assert len(server.asked) == 1
        assert server.all_closed()
        with pytest.raises(AgentError, match="agent failed on question 'q0'") as stopped:
            run(quick_agent(server), worded_questions(1), tmp_path)
        assert server.all_closed()
    for error in (stop, stopped):
        assert said in str(error.value)
        assert "\n" not in str(error.value)


def test_a_prompt_that_the_servers_filter_refuses_is_a_reply_without_an_answer(tmp_path):
    filtered = failing(400, {"message": "The prompt was filtered", "code": "content_filter"})
    with ChatServer([filtered]) as server:
        done = run(quick_agent(server), worded_questions(1), tmp_path, conditions=["sham"],
                   workers=1)  # fmt: skip
    assert [record.status for record in done.records] == ["empty", "ok"]
    assert done.records[0].finish_reason == "content_filter"


@pytest.mark.parametrize(
    "refusal",
    [
        failing(400, UNKNOWN_SEED),
        failing(400, {"message": "Unsupported", "param": "seed"}),
        Said(status=422, raw=json.dumps(
            {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
        ).encode()),
    ],
)  # fmt: skip
def test_a_server_that_refuses_seeds_gets_none_and_one_warning_says_so(refusal, tmp_path, caplog):
    def behave(asked):
        return refusal if "seed" in asked.body else honest(asked)

    with ChatServer(behave) as server:
        done = run(quick_agent(server), worded_questions(6), tmp_path, workers=6)
        # At first some are on their way already.
        assert 1 <= sum("seed" in asked.body for asked in server.asked) <= 6
        assert done.sent == len(server.asked)
    assert done.status.finished
    assert done.status.valid == 36
    assert {record.usage["seed_refused"] for record in done.records} == {1}
    assert warnings(caplog) == [
        "the server refuses the parameter seed: replays are sent without, and are as independent"
        " as the server makes them"
    ]


def test_a_refusal_that_only_shows_the_request_again_drops_no_seed():
    shown = {"detail": [{"loc": ["body", "model"], "msg": "unknown", "input": {"seed": 3}}]}
    refusal = Said(status=422, raw=json.dumps(shown).encode())
    with ChatServer([refusal]) as server:
        with pytest.raises(AgentError, match=r"body\.model: unknown"):
            ask(quick_agent(server))
        assert len(server.asked) == 1


def test_a_model_that_wants_max_completion_tokens_gets_them(caplog):
    def behave(asked):
        return failing(400, NEWER) if "max_tokens" in asked.body else honest(asked)

    with ChatServer(behave) as server:
        agent = quick_agent(server, max_tokens=40)
        assert "seed_refused" not in ask(agent).usage
        ask(agent)
        sent = [{n: a.body.get(n) for n in ("max_tokens", "max_completion_tokens")}
                for a in server.asked]  # fmt: skip
    assert sent == [
        {"max_tokens": 40, "max_completion_tokens": None},
        *[{"max_tokens": None, "max_completion_tokens": 40}] * 2,
    ]
    assert len(warnings(caplog)) == 1


def test_a_rate_limit_shrinks_what_is_in_flight_and_loses_nothing(tmp_path, caplog):
    together = threading.Barrier(8)

    def behave(asked):
        if asked.number < 8:
            together.wait(timeout=30)
            return failing(429, SLOW_DOWN, retry_after="4")
        if 48 <= asked.number < 56:
            together.wait(timeout=30)  # there is no limit any more
        return honest(asked)

    with ChatServer(behave) as server:
        done = run(quick_agent(server), worded_questions(16), tmp_path, workers=8)
        assert server.all_closed()
        flights = [asked.in_flight for asked in server.asked]
        assert done.sent == len(server.asked)
    assert done.status.valid == done.status.planned == 96
    assert flights[:8] == list(range(1, 9))
    assert max(flights[8:12]) <= 4  # the first successes come later
    assert max(flights[8 : 8 + 4 + 5 + 6 + 7]) < 8
    limited = [r for r in done.records if r.transport[0]["status"] == 429]
    assert len(limited) == 8
    assert {record.transport[0]["waited"] for record in limited} == {4}
    assert warnings(caplog) == ["waiting on rate limit: 4 s (429), 4 requests at a time"]


def test_a_mixture_of_failures_ends_in_a_whole_run(tmp_path):
    failures = [
        failing(429, SLOW_DOWN, retry_after="1"), failing(500, {"message": "oops"}), RESET,
        Said(cut=9), Said(raw=b"{"), failing(503, {"message": "busy"}), None, None, None,
    ]  # fmt: skip

    def behave(asked):
        return failures[asked.number % len(failures)] or honest(asked)

    with ChatServer(behave) as server:
        questions = pictured_questions(tmp_path)
        done = run(quick_agent(server), questions, tmp_path, k=4, attempts=8, workers=8)
        assert server.all_closed()
        assert done.sent == len(server.asked)
        answered = [a for a in server.asked if failures[a.number % len(failures)] is None]
    assert done.status.valid == done.status.planned == 24
    assert len(answered) == 24
    lost = [record for record in done.records if record.status == "transport_error"]
    assert len(lost) == done.status.attempts - 24
    assert all("LostReplyError" in record.text for record in lost)
