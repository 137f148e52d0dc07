"""Agents of the user's own, of every kind that can be called, through the loop."""

import asyncio
import functools
import sys

import numpy as np
import pytest

from carve_stats.errors import AgentError, InputError
from carve_stats.replay.agents import load_agent
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

MODULE = """
import asyncio, functools
from carve_stats.replay.protocols import ReplayReply

def answer(request):
    return f"The answer is {'AB'[request.seed % 2]}."

async def waits(request):
    await asyncio.sleep(0)
    return ReplayReply(text=answer(request))

class Object:
    def __init__(self, *, shift=0):
        self.shift = shift
    def __call__(self, request):
        return f"The answer is {'AB'[(request.seed + self.shift) % 2]}."
    def method(self, request):
        return self(request)
    async def waiting_method(self, request):
        return self(request)
    @staticmethod
    def static(request):
        return answer(request)

class AsyncObject(Object):
    async def __call__(self, request):
        await asyncio.sleep(0)
        return Object.__call__(self, request)

def shifted(request, *, shift):
    return f"The answer is {'AB'[(request.seed + shift) % 2]}."

async def waits_shifted(request, *, shift):
    return shifted(request, shift=shift)

def gives_coroutine(request):
    return waits(request)

class Future:
    def __init__(self, request):
        self.request = request
    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return answer(self.request)

partial = functools.partial(shifted, shift=0)
async_partial = functools.partial(waits_shifted, shift=0)
method = Object().method
waiting_method = Object().waiting_method

def make(*, shift):
    return functools.partial(waits_shifted, shift=shift)
"""
KINDS = [
    ("answer", {}), ("waits", {}), ("Object", {}), ("Object", {"shift": 2}), ("AsyncObject", {}),
    ("AsyncObject", {"shift": 4}), ("Object.static", {}), ("partial", {}), ("async_partial", {}),
    ("method", {}), ("waiting_method", {}), ("gives_coroutine", {}), ("make", {"shift": 6}),
]  # fmt: skip
OPTIONS = {"A": "yes", "B": "no"}


@pytest.fixture
def module(tmp_path, monkeypatch):
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "agent_kinds_module.py").write_text(MODULE)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "python:agent_kinds_module"
    sys.modules.pop("agent_kinds_module", None)


def questions(n=3, **fields):
    return [
        Trajectory(question_id=f"q{i}", answer="A", options=OPTIONS, **fields) for i in range(n)
    ]


def kept(store):
    return {r.key: r for r in RunStore.load(store).records()}


def texts(agent, store, workers):
    run_replays(agent, questions(), k=4, store=store, seed=1, workers=workers)
    return {key: r.text for key, r in kept(store).items()}


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(("name", "options"), KINDS)
def test_all_that_can_be_called_is_an_agent(module, tmp_path, name, options, workers):
    given = texts(load_agent(f"{module}:{name}", **options), tmp_path / "run", workers)
    assert given == {
        key: f"The answer is {'AB'[r.seed % 2]}." for key, r in kept(tmp_path / "run").items()
    }
    assert len(given) == 36


@pytest.mark.parametrize("workers", [1, 4])
def test_a_future_of_ones_own_is_waited_for(module, tmp_path, workers):
    load_agent(f"{module}:answer")
    future = sys.modules["agent_kinds_module"].Future
    given = texts(lambda request: future(request), tmp_path / "run", workers)
    assert len(given) == 36


def leaves(request):
    sys.exit("enough")


def raises(request):
    raise KeyError("label\n")


def generator(request):
    yield "A"


async def async_generator(request):
    yield "A"


async def leaves_later(request):
    await asyncio.sleep(0)
    sys.exit("enough")


async def gives_none_later(request):
    return None


async def cancelled(request):
    raise asyncio.CancelledError("by itself")


class AsyncGenerator:
    async def __call__(self, request):
        yield "A"


MISTAKES = [
    (lambda request: None, "it gave NoneType, it must give a ReplayReply or a str"),
    (gives_none_later, "it gave NoneType"),
    (generator, "it gave generator"),
    (async_generator, "it gave async_generator"),
    (AsyncGenerator(), "it gave async_generator"),
    (lambda request: b"A", "it gave bytes"),
    (lambda request: {"text": "A"}, "it gave dict"),
    (lambda request: ReplayReply, "it gave type"),
    (lambda request: (ReplayReply(text="A"),), "it gave tuple"),
    (raises, r"KeyError: 'label\\n'"),
    (leaves, "SystemExit: enough"),
    (leaves_later, "SystemExit: enough"),
    (cancelled, "CancelledError: by itself"),
    (lambda: "A", "takes 0 positional arguments but 1 was given"),
]


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("place", range(len(MISTAKES)))
def test_a_mistake_stops_the_run_with_one_line_that_names_the_question(tmp_path, place, workers):
    agent, said = MISTAKES[place]
    with pytest.raises(AgentError, match=said) as caught:
        run_replays(agent, questions(), k=2, store=tmp_path / "run", seed=1, workers=workers)
    assert str(caught.value).startswith("agent failed on question 'q")
    assert "\n" not in str(caught.value)
    assert all(r.status == "ok" for r in kept(tmp_path / "run").values())


class Unreachable:
    """Every third replay fails, in one of the ways of clients."""

    kinds = (
        ConnectionError,
        TimeoutError,
        ConnectionResetError,
        type("ReadTimeout", (OSError,), {}),
    )

    def fails(self, request):
        if request.seed % 3 == 0:
            raise self.kinds[request.seed % len(self.kinds)]("gone\nfor now")
        return "A"


class Plain(Unreachable):
    def __call__(self, request):
        return self.fails(request)


class Waiting(Unreachable):
    async def __call__(self, request):
        await asyncio.sleep(0)
        return self.fails(request)


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("kind", [Plain, Waiting])
def test_what_cannot_be_reached_is_a_failed_attempt(tmp_path, kind, workers):
    run_replays(kind(), questions(), k=5, store=tmp_path, seed=1, workers=workers, attempts=2)
    records = kept(tmp_path)
    for record in records.values():
        assert record.status == ("transport_error" if record.seed % 3 == 0 else "ok")
    failed = [r for r in records.values() if r.status != "ok"]
    assert len(failed) > 3
    assert all("gone for now" in r.text for r in failed)
    again = {(q, c, r, 1) for q, c, r, attempt in (f.key for f in failed) if attempt == 0}
    assert {key for key in records if key[3] == 1} == again


class Captions:
    def __call__(self, request):
        return f"The answer is A. {request.evidence[0].text}"

    def render(self, evidence, *, seed):
        return f"{evidence.text} {len(evidence.frames)} frames"


class AsyncCaptions(Captions):
    async def render(self, evidence, *, seed):
        await asyncio.sleep(0)
        return Captions.render(self, evidence, seed=seed)


class AllAsyncCaptions(AsyncCaptions):
    async def __call__(self, request):
        await asyncio.sleep(0)
        return Captions.__call__(self, request)


class FailingCaptions(Captions):
    def render(self, evidence, *, seed):
        raise TimeoutError("captioner gone")


class NoCaptions(Captions):
    async def render(self, evidence, *, seed):
        return None


@pytest.fixture
def pictured(tmp_path):
    rng = np.random.default_rng(1)
    frame = Encoder("png").encode(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
    (tmp_path / "0.png").write_bytes(frame.data)
    item = EvidenceItem(id="e", frames=("0.png",), text="as it was")
    return questions(2, evidence=[item])


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("kind", [Captions, AsyncCaptions, AllAsyncCaptions])
def test_captions(tmp_path, pictured, kind, workers):
    run_replays(kind(), pictured, k=2, store=tmp_path / "run", seed=1, workers=workers,
                media=tmp_path, canary="off")  # fmt: skip
    for (_, condition, _, _), record in kept(tmp_path / "run").items():
        caption = "as it was" if condition == "self" else "None 1 frames"
        assert record.text == f"The answer is A. {caption}"


@pytest.mark.parametrize("workers", [1, 4])
def test_captions_that_do_not_come(tmp_path, pictured, workers):
    options = {"k": 1, "seed": 1, "workers": workers, "media": tmp_path, "canary": "off"}
    run_replays(FailingCaptions(), pictured, store=tmp_path / "a", conditions=["sham"], **options)
    assert {r.status for r in kept(tmp_path / "a").values()} == {"transport_error"}
    with pytest.raises(AgentError, match=r"render\(\) gave NoneType, it must give a str"):
        run_replays(NoCaptions(), pictured, store=tmp_path / "b", **options)


class Client:
    """Has a connection that belongs to the event loop in which it was made."""

    def __init__(self):
        self.loop, self.closed = None, 0

    async def __call__(self, request):
        self.loop = self.loop or asyncio.get_running_loop()
        assert self.loop is asyncio.get_running_loop()
        return "A"

    async def aclose(self):
        assert self.loop is asyncio.get_running_loop()
        self.loop, self.closed = None, self.closed + 1


@pytest.mark.parametrize("workers", [1, 4])
def test_a_coroutine_agent_is_closed_with_each_event_loop(tmp_path, workers):
    agent = Client()
    for name in ("first", "second"):
        run_replays(agent, questions(), k=2, store=tmp_path / name, seed=1, workers=workers)
    assert agent.closed == 2


@pytest.mark.parametrize("wrong", [None, "python:my_agent:answer", functools.partial])
def test_what_is_no_agent(tmp_path, wrong):
    with pytest.raises((InputError, AgentError)) as caught:
        run_replays(wrong, questions(), k=1, store=tmp_path / "run", seed=1)
    assert "\n" not in str(caught.value)
