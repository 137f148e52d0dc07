"""Agents: right ones pass, and each fault is named by its check."""

import itertools
import random
import sys
import threading

import numpy as np
import pytest

from carve_stats.errors import InputError
from carve_stats.replay.evidence.frames import decode_picture
from carve_stats.replay.protocols import ReplayReply
from carve_stats.testing.conformance import verify_agent
from carve_stats.testing.conformance.requests import other_evidence, png, sample_requests


def failed(verification):
    return {check.name for check in verification.failed}


def looks(request):
    seen = "".join(item.text or str(len(item.frames[0].data)) for item in request.evidence)
    return "ABCD"[(sum(map(ord, seen)) + request.seed) % 4]


async def waits(request):
    return ReplayReply(text=looks(request), usage={"tokens": 3, "cached": False}, model="m")


class Whole:
    def __call__(self, request, /):
        return ReplayReply(text="?", answer=looks(request))

    def fingerprint(self):
        return {"name": "whole", "sizes": [1, 2], "temperature": None}

    def render(self, evidence, *, seed):
        return f"{len(evidence.frames)} frames, {seed}"


@pytest.mark.parametrize("agent", [looks, waits, Whole()], ids=["function", "coroutine", "object"])
def test_right_agents_pass(agent):
    verification = verify_agent(agent)
    assert verification.passed, str(verification)
    assert not verification.notes
    assert verification["pickle"].passed
    assert verification["fingerprint"].passed is (True if type(agent) is Whole else None)


calls = itertools.count()


def counts_calls(request):
    return "ABCDB"[next(calls) % 5]


def spoils_options(request):
    request.options["E"] = "none of these"
    return looks(request)


def spoils_frozen(request):
    request.frozen["notes"].append("again")
    return looks(request)


class Changing(Whole):
    def __init__(self):
        self.answered = 0

    def __call__(self, request, /):
        self.answered += 1
        return looks(request)

    def fingerprint(self):
        return {"answered": self.answered}


class Unwritable(Whole):
    def fingerprint(self):
        return {"path": {1, 2}}


class Unreadable(Whole):
    def fingerprint(self):
        return {"sizes": (1, 2)}


class Rendering(Whole):
    def render(self, evidence, *, seed):
        return ["a frame"]


class Dreaming(Whole):
    def render(self, evidence, *, seed):
        return f"dream {next(calls)}"


class ThreadBound:
    def __init__(self):
        self.home = threading.get_ident()

    def __call__(self, request):
        if threading.get_ident() != self.home:
            raise RuntimeError("made in another thread")
        return looks(request)


class Forgetful(Whole):
    """Its copy has lost what it answers from."""

    def __init__(self):
        self.letters = "ABCD"

    def __call__(self, request, /):
        return self.letters[request.seed % 2]

    def __getstate__(self):
        return {"letters": "DDDD"}


class Caching(Whole):
    """Answers once for each key, by what it is shown then."""

    def __init__(self, key, answer):
        self.key, self.answer, self.replies = key, answer, {}

    def __call__(self, request, /):
        return self.replies.setdefault(self.key(request), self.answer(request))


def sees_the_fox(request):
    seen = "".join(item.text or str(len(item.frames[0].data)) for item in request.evidence)
    return "B" if "fox" in seen else "ACD"[len(seen) % 3]


def draws_by_seed(request):
    return random.Random(request.seed).choice("ABCD")


class Tiring(Whole):
    """Another answer from the hundredth on."""

    def __init__(self):
        self.calls = 0

    def __call__(self, request, /):
        self.calls += 1
        return "A" if self.calls < 100 else "B"

    def __getstate__(self):
        return {"calls": 0}


class NoMapping(Whole):
    def fingerprint(self):
        return None


class Opaque(Whole):
    def fingerprint(self):
        return {"client": object()}


NO_REPLY = {"replies", "usage", "repeatable", "condition", "repetition", "threads"}
WRONG_AGENTS = {
    "reads the repetition": (lambda request: "AB"[request.repetition > 0], {"repetition"}),
    "reads the attempt": (lambda request: "AB"[request.attempt > 0], {"repetition"}),
    "a fingerprint that is no mapping": (NoMapping(), {"fingerprint"}),
    "a fingerprint with an object": (Opaque(), {"fingerprint"}),
    "exits": (lambda request: sys.exit(3), {*NO_REPLY, "request"}),
    "no reply": (lambda request: 7, NO_REPLY),
    "usage in words": (
        lambda request: ReplayReply(text="A", usage={"tokens": "many"}),
        NO_REPLY,
    ),
    "usage below 0": (lambda request: ReplayReply(text="A", usage={"tokens": -1}), {"usage"}),
    "reads the condition": (
        lambda request: "A" if request.condition == "destroy" else "B", {"condition"},
    ),
    "counts its calls": (counts_calls, {"repeatable"}),
    "draws globally": (
        lambda request: random.choice(["A"] * 9 + ["B"]) and "A", {"generators"},
    ),
    "spoils the options": (spoils_options, {"request"}),
    "spoils the frozen state": (spoils_frozen, {"request"}),
    "a fingerprint that changes": (Changing(), {"fingerprint"}),
    "a fingerprint that is no JSON": (Unwritable(), {"fingerprint"}),
    "a fingerprint that JSON changes": (Unreadable(), {"fingerprint"}),
    "renders no text": (Rendering(), {"render"}),
    "renders at random": (Dreaming(), {"render"}),
    "bound to a thread": (ThreadBound(), {"threads"}),
    "forgets when pickled": (Forgetful(), {"pickle"}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_AGENTS)
def test_each_wrong_agent_is_caught(name):
    agent, expected = WRONG_AGENTS[name]
    verification = verify_agent(agent)
    assert failed(verification) == expected, str(verification)
    assert not verification.passed


def test_a_counterexample_names_its_request():
    verification = verify_agent(WRONG_AGENTS["reads the condition"][0])
    assert verification["condition"].counterexample == (
        "question 'texts', sham, repetition 0, seed 0: it answers 'B', and 'A' in destroy; an agent"
        " that reads the condition is not being audited"
    )


def test_an_agent_that_does_not_look_is_told_and_not_failed():
    verification = verify_agent(lambda request: "A")
    assert verification.passed
    assert "it may not look at the evidence" in verification.notes[0]


def test_of_an_agent_that_draws_less_is_asked():
    verification = verify_agent(counts_calls, deterministic=False)
    assert verification.passed
    unasked = ("repeatable", "condition", "pickle")
    assert [verification[name].passed for name in unasked] == [None] * 3


CACHES = {
    "by question text": lambda request: request.question,
    "by ids": lambda request: (request.question_id, *(one.id for one in request.evidence)),
    "by question and condition": lambda request: (request.question, request.condition),
}


@pytest.mark.parametrize("answer", [sees_the_fox, draws_by_seed])
@pytest.mark.parametrize("key", CACHES)
def test_an_agent_with_a_cache_by_less_than_the_request_is_caught(key, answer):
    found = verify_agent(Caching(CACHES[key], answer))["memory"]
    assert found.passed is False
    assert "as from a cache by question or ids" in found.counterexample


def test_a_cache_by_the_whole_request_passes():
    verification = verify_agent(Caching(repr, sees_the_fox))
    assert verification.passed, str(verification)


@pytest.mark.parametrize(
    "blind", [draws_by_seed, lambda request: "ABCD"[len(request.question) % 4]]
)
def test_what_does_not_look_has_no_memory(blind):
    assert verify_agent(blind)["memory"].passed


def test_an_agent_that_changes_after_many_requests_is_asked_again_at_the_end():
    verification = verify_agent(Tiring())
    assert verification["order"].passed is False
    assert "it answered 'A' at first, and 'B' after other requests" in (
        verification["order"].counterexample
    )


def test_a_fingerprint_with_an_object_is_said_to_be_no_json():
    shown = verify_agent(Opaque())["fingerprint"].counterexample
    assert "cannot be JSON" in shown


def test_of_a_random_agent_nothing_is_said_but_that():
    verification = verify_agent(lambda request: str(np.random.default_rng().random()))
    assert failed(verification) == {"repeatable"}
    unasked = [
        c.name for c in verification.checks if c.note == "its replies differ from call to call"
    ]
    assert unasked == ["condition", "repetition", "memory", "threads", "pickle", "order"]


def test_of_an_agent_said_to_draw_that_does_not_the_condition_is_checked():
    verification = verify_agent(lambda r: "AB"[r.condition == "sham"], deterministic=False)
    assert failed(verification) == {"condition"}
    assert verification["repeatable"].passed is None


def test_no_request_is_refused():
    with pytest.raises(InputError, match="requests is empty"):
        verify_agent(looks, requests=[])


def test_the_sample_pictures_are_pictures(rng):
    pixels = rng.integers(0, 256, (3, 5, 3), np.uint8)
    np.testing.assert_array_equal(decode_picture(png(pixels), name="one"), pixels)
    request = sample_requests()[-1]
    frames = [
        f.pixels() for one in (request, other_evidence(request)) for f in one.evidence[0].frames
    ]
    assert {frame.shape for frame in frames} == {(32, 32, 3)}
    assert (frames[0] != frames[2]).any()


@pytest.mark.parametrize("wrong", [5, None, "agent", Whole])
def test_what_cannot_be_called_is_refused(wrong):
    with pytest.raises(InputError, match=r"must be callable|give an instance") as refusal:
        verify_agent(wrong)
    assert "\n" not in str(refusal.value)
