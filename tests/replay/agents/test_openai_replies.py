"""What a chat server answered, in all the forms that servers give it."""

import json

import pytest

from carve_stats.replay.agents._chat_replies import (
    read_body,
    read_complaint,
    read_reply,
    says_cached,
)
from carve_stats.replay.parsing import parse_answer

OPTIONS = {"A": "a rabbit", "B": "a fox"}


def completion(message, finish="stop", **more):
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


@pytest.mark.parametrize(
    ("message", "text", "status"),
    [
        ({"content": "The answer is B."}, "The answer is B.", "ok"),
        ({"content": "B", "reasoning_content": "A or B?"}, "B", "ok"),
        ({"content": None}, "", "empty"),
        ({}, "", "empty"),
        ({"content": " \n"}, " \n", "empty"),
        ({"content": None, "refusal": "I'm sorry, I can't help with that."},
         "I'm sorry, I can't help with that.", "refusal"),
        ({"content": [{"type": "text", "text": "The answer "}, {"type": "text", "text": "is A."}]},
         "The answer is A.", "ok"),
        ({"content": [{"type": "thinking", "thinking": []}, "?", {"type": "text", "text": "B"}]},
         "B", "ok"),
        ({"content": None, "tool_calls": [{"function": {"arguments": '{"answer": "B"}'}}]},
         '{"answer": "B"}', "ok"),
        ({"content": "", "tool_calls": [{"function": {"arguments": {"answer": "A"}}}]},
         '{"answer": "A"}', "ok"),
        ({"content": None, "tool_calls": [{"function": {"arguments": '{"query": "fox"}'}}]},
         '{"query": "fox"}', "no_commitment"),
        ({"content": None, "tool_calls": ["?", {"function": None}]}, "", "empty"),
        # A model that only thought has not answered.
        ({"content": "", "reasoning_content": "The answer is B."},
         "<think>The answer is B.</think>", "empty"),
        ({"content": None, "reasoning": "The answer is B."},
         "<think>The answer is B.</think>", "empty"),
    ],
)  # fmt: skip
def test_the_text_of_a_reply(message, text, status):
    reply = read_reply(completion(message), {})
    assert reply.text == text
    assert parse_answer(reply.text, OPTIONS).status == status


def test_what_else_a_reply_says():
    usage = {
        "prompt_tokens": 20, "completion_tokens": 5, "cost": 0.25, "is_byok": False, "tier": "x",
        "prompt_tokens_details": {"cached_tokens": 16, "audio_tokens": None},
        "completion_tokens_details": {"reasoning_tokens": 3, "prompt_tokens": 999},
    }  # fmt: skip
    body = completion({"content": "B"}, "length", model="m-0613", usage=usage)
    reply = read_reply(body, {})
    assert (reply.finish_reason, reply.model) == ("length", "m-0613")
    assert reply.usage == {
        "prompt_tokens": 20, "completion_tokens": 5, "cost": 0.25, "cached_tokens": 16,
        "reasoning_tokens": 3,
    }  # fmt: skip
    bare = read_reply(completion({"content": "B"}, None), {})
    assert (bare.finish_reason, bare.model, bare.usage, bare.from_cache) == (None, None, {}, None)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": ["B"]},
        {"choices": [{"text": "B"}]},
        {"choices": [{"message": "B"}]},
        completion({"content": "The answ"}, "error"),
    ],
)
def test_what_is_no_completion_is_no_reply(data):
    with pytest.raises(ValueError, match="the server's reply"):
        read_reply(data, {})


@pytest.mark.parametrize(
    "content", [b"", b'{"choices": [', b"<html>", b"[1]", b"[" * 100000, b"\xff"]
)
def test_a_body_that_is_no_json_object_is_an_error(content):
    with pytest.raises(ValueError, match="the server's reply"):
        read_body(content)


@pytest.mark.parametrize(
    ("headers", "flags", "cached"),
    [
        ({}, {}, None),
        ({"x-cache": "HIT"}, {}, True),
        ({"x-cache": "Miss from cloudfront"}, {}, False),
        ({"x-cache": "MISS, HIT"}, {}, True),
        ({"x-litellm-cache-hit": "True"}, {}, True),
        ({"x-litellm-cache-hit": "False", "x-litellm-cache-key": "a1"}, {}, False),
        ({"x-litellm-cache-key": "a1"}, {}, True),
        ({"helicone-cache": "HIT"}, {}, True),
        ({"cf-aig-cache-status": "MISS"}, {}, False),
        ({"x-portkey-cache-status": "SEMANTIC HIT"}, {}, True),
        ({"x-openrouter-cache-status": "HIT"}, {}, True),
        ({"x-cache-status": "Bypass"}, {}, False),
        ({"cache-status": "edge; fwd=uri-miss; stored"}, {}, False),
        ({"cache-status": "edge; hit; ttl=30"}, {}, True),
        ({}, {"cached": True}, True),
        ({}, {"cached": False}, False),
        ({}, {"cached": "yes"}, None),
        ({"x-cache": "MISS"}, {"cache_hit": True}, True),
        # The prefix of the prompt was cached, and not the reply.
        ({}, {"usage": {"prompt_tokens_details": {"cached_tokens": 16}}}, None),
    ],
)
def test_a_server_says_that_a_cache_answered(headers, flags, cached):
    assert says_cached(flags, headers) is cached


@pytest.mark.parametrize(
    ("body", "message", "code", "parameters"),
    [
        ({"error": {"message": "no\n such", "code": "model_not_found", "param": "model"}},
         "no such", "model_not_found", ("model",)),
        ({"error": {"message": "slow", "type": "rate_limit", "code": None}}, "slow", "rate_limit",
         ()),
        ({"error": {"message": "bad", "code": 502}}, "bad", "502", ()),
        ({"error": "just text"}, "just text", "", ()),
        ({"message": "bad", "object": "error"}, "bad", "", ()),
        ({"detail": "Not Found"}, "Not Found", "", ()),
        ({"detail": [{"loc": ["body", "seed"], "msg": "extra", "input": {"seed": 1}}]},
         "body.seed: extra", "", ("seed",)),
        (["what"], "['what']", "", ()),
    ],
)  # fmt: skip
def test_what_a_server_complains_of(body, message, code, parameters):
    assert read_complaint(json.dumps(body).encode()) == (message, code, parameters)


def test_a_complaint_is_short_and_may_be_no_json():
    assert read_complaint(b"<h1>Bad\n Gateway</h1>").message == "<h1>Bad Gateway</h1>"
    assert len(read_complaint(b"x" * 10**6).message) == 20_000
    assert read_complaint(b"\xff\xfe").message
