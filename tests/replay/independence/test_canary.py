"""The canary: who fails it, with which reason and after how many calls, and where it is kept."""

import asyncio
import logging
import random
import threading

import numpy as np
import pytest

from carve_stats.errors import AgentError, StoreError
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.independence.canary import canary, send_canary
from carve_stats.replay.independence.canary_report import (
    CanaryReport,
    keep_canary,
    keep_spent,
    read_canaries,
    read_canary,
)
from carve_stats.replay.operators import load_operator
from carve_stats.replay.plan import RunPlan
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.rendering import EvidenceRenderer
from carve_stats.replay.replaying import Replayer
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

OPTIONS = {"A": "yes", "B": "no", "C": "maybe"}
LONG = "What the pictures show leads me to think that, all in all, the answer is A"


@pytest.fixture
def media(tmp_path, rng):
    """Two small photographs, so to say, and one of a single colour."""
    for name in ("0", "1"):
        pixels = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
        pixels = np.repeat(np.repeat(pixels, 8, axis=0), 8, axis=1)
        (tmp_path / f"{name}.png").write_bytes(Encoder("png").encode(pixels).data)
    grey = np.full((48, 64, 3), 128, dtype=np.uint8)
    (tmp_path / "grey.png").write_bytes(Encoder("png").encode(grey).data)
    return tmp_path


def asked(name="q1", *frames, text=None, **fields):
    item = EvidenceItem(id="clip", frames=frames or ("0.png", "1.png"), text=text, times=())
    note = EvidenceItem(id="note", text="said by somebody")
    return Trajectory(
        question_id=name, answer="A", options=OPTIONS, evidence=(item, note), **fields
    )


def replayer(agent, media, *, operator="phase", captions=False):
    renderer = EvidenceRenderer(
        run_seed=5,
        operator=load_operator(operator) if isinstance(operator, str) else operator,
        encoder=Encoder("png"),
        crop=0.02,
        media=media,
        captions=captions,
    )
    return Replayer(agent=agent, renderer=renderer, run_id="r", seed=5)


def seen_by(request):
    return b"".join(f.data for item in request.evidence for f in item.frames)


class Looking:
    """Answers by what it sees, and keeps its requests."""

    def __init__(self):
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        return f"{LONG}, {random.Random(seen_by(request)).random()}"


def test_an_agent_that_looks_passes_after_two_calls(media):
    agent = Looking()
    report = canary(replayer(agent, media), [asked(frozen={"messages": []}), asked("q2")])
    assert (report.passed, report.calls, report.reasons, report.notes) == (True, 2, [], [])
    first, second = agent.requests
    assert seen_by(first) != seen_by(second)
    for part in ("question_id", "condition", "repetition", "seed", "options", "question", "frozen"):
        assert getattr(first, part) == getattr(second, part)
    assert first.frozen is not second.frozen
    for a, b in zip(first.evidence, second.evidence, strict=True):
        assert (a.id, a.text, len(a.frames)) == (b.id, b.text, len(b.frames))
        for one, other in zip(a.frames, b.frames, strict=True):
            assert one.pixels().shape == other.pixels().shape
            assert (one.media_type, one.time) == (other.media_type, other.time)
    assert report.pairs[0].replies[0].startswith(LONG)


def same_reply(request):
    return LONG


def by_text(request):
    """What a cache keyed by all but the pictures gives."""
    return f"{LONG}, {random.Random(f'{request.question_id} {request.seed}').random()}"


@pytest.mark.parametrize("agent", [same_reply, by_text])
def test_an_agent_that_does_not_see_the_pictures_fails(media, agent):
    report = canary(replayer(agent, media), [asked(), asked("q2"), Trajectory(
        question_id="q0", answer="A", options=OPTIONS)])  # fmt: skip
    assert (report.passed, report.calls) == (False, 40)
    assert "the same reply to each of 20 pairs of requests that differ" in report.reasons[0]
    assert len({pair.seed for pair in report.pairs}) == 20


@pytest.mark.parametrize("words", ["{}", "Looking carefully at the frames shown, the answer is {}"])
def test_an_agent_with_a_favourite_answer_passes_in_any_words(media, words):
    report = canary(replayer(lambda r: "B", media), [asked(f"q{i}") for i in range(30)])
    assert [pair.question_id for pair in report.pairs] == [f"q{i}" for i in range(20)]

    def letter(request):
        return words.format(random.Random(seen_by(request)).choice("AAAAAAAB"))

    for seed in range(5):
        report = canary(replayer(letter, media), [asked(f"q{seed}"), asked()])
        assert report.passed, report.calls


@pytest.mark.parametrize(
    ("p", "words"), [(0.9, "Looking carefully at the frames shown, the answer is {}"), (0.95, "{}")]
)
def test_how_often_an_agent_is_stopped_that_gives_one_answer_with_probability_p(media, p, words):
    rng = random.Random(7)

    def letter(request):
        return words.format("AB"[rng.random() >= p])

    runs = 100
    stopped = sum(not canary(replayer(letter, media), [asked()]).passed for _ in range(runs))
    expected = runs * (p * p + (1 - p) ** 2) ** 20  # 1.9 and 13.6
    assert abs(stopped - expected) <= 3 * expected**0.5


def test_for_a_declared_deterministic_agent_that_is_a_note(media):
    report = canary(replayer(same_reply, media), [asked()], declared=False)
    assert report.passed
    assert "declared deterministic" in report.notes[0]


def nothing(pixels, *, seed):
    return pixels


def test_an_operator_that_does_nothing_fails_without_a_call(media):
    agent = Looking()
    report = canary(replayer(agent, media, operator=nothing), [asked(), asked("q2")])
    assert (report.passed, report.calls, agent.requests) == (False, 0, [])
    assert "byte for byte, in 2 questions" in report.reasons[0]


def test_one_question_of_one_colour_is_not_enough_to_fail(media):
    grey = asked("q0", "grey.png")
    assert canary(replayer(Looking(), media), [grey, asked()]).passed
    assert canary(replayer(Looking(), media), [grey]).passed is False


@pytest.mark.parametrize("cached", [0, 1])
def test_a_reply_from_a_cache_fails(media, cached):
    replies = []

    def agent(request):
        replies.append(ReplayReply(text=f"{len(replies)}", from_cache=len(replies) == cached,
                                   usage={"tokens": 7}))  # fmt: skip
        return replies[-1]

    report = canary(replayer(agent, media), [asked()])
    assert (report.passed, report.calls) == (False, cached + 1)
    assert report.reasons == ["a reply says that it comes from a cache"]
    assert report.usage == {"tokens": 7 * (cached + 1)}


def test_without_pictures_there_is_nothing_to_check(media):
    agent = Looking()
    report = canary(replayer(agent, media), [Trajectory(question_id="q", answer="A")])
    assert (report.passed, report.calls, agent.requests) == (True, 0, [])
    assert report.notes == ["no pictures: there is nothing to check"]


def test_an_agent_that_cannot_be_reached_is_asked_once(media):
    def agent(request):
        raise ConnectionError("refused")

    report = canary(replayer(agent, media), [asked(), asked("q2")])
    assert (report.passed, report.calls) == (None, 1)
    assert "could not be reached" in report.notes[0]


def test_an_agent_that_fails_stops_as_in_a_replay(media):
    def agent(request):
        raise RuntimeError("no such model")

    with pytest.raises(AgentError, match="no such model"):
        canary(replayer(agent, media), [asked()])


class Captioning(Looking):
    """Answers from captions alone; `blind` ones do not depend on the frames."""

    def __init__(self, *, blind=False, error=None):
        super().__init__()
        self.blind, self.error = blind, error

    def render(self, evidence, *, seed):
        assert evidence.text is None
        if self.error is not None:
            raise self.error
        seen = 0 if self.blind else random.Random(evidence.frames[0].data).random()
        return f"a picture like {seen}"

    def __call__(self, request):
        return f"{LONG}: {[item.text for item in request.evidence]}"


def test_captions_are_made_of_each_set_of_pictures(media):
    captioned = asked(text="the frozen caption")
    report = canary(replayer(Captioning(), media, captions=True), [captioned])
    assert (report.passed, report.calls, report.captions) == (True, 2, 3)
    report = canary(replayer(Captioning(blind=True), media, captions=True), [captioned])
    assert report.passed is False
    failing = Captioning(error=TimeoutError("slow"))
    assert canary(replayer(failing, media, captions=True), [captioned]).passed is None
    failing = Captioning(error=ValueError("bad"))
    with pytest.raises(AgentError, match=r"'q1'.*bad"):
        canary(replayer(failing, media, captions=True), [captioned])


def test_a_coroutine_agent_has_an_event_loop_and_is_closed_in_it(media):
    class Asynchronous(Looking):
        loops = None

        async def __call__(self, request):
            self.loops = [asyncio.get_running_loop()]
            await asyncio.sleep(0)
            return super().__call__(request)

        async def aclose(self):
            self.loops.append(asyncio.get_running_loop())

    agent = Asynchronous()
    there = replayer(agent, media)
    waiting = there.waiting

    async def within_a_loop():  # as in a notebook
        return canary(there, [asked()])

    assert asyncio.run(within_a_loop()).passed
    assert agent.loops[0] is agent.loops[1]
    assert there.waiting is waiting


def open_run(path, *, stochastic=None):
    agent = {"name": "mine"} | ({} if stochastic is None else {"stochastic": stochastic})
    plan = RunPlan(
        seed=5, conditions=("sham", "destroy"), attempts=1, agent=agent, operator=None,
        encoder=None, crop=None, parser_version="1",
    )  # fmt: skip
    k = {"sham": 1, "destroy": 1}
    return RunStore.open(path, plan, k=k, trajectories=[Trajectory(question_id="q", answer="A")])


def test_what_was_found_is_kept_and_not_asked_for_again(media, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "hush-hush-hush")
    agent = Looking()

    def telling(request):
        return "hush-hush-hush " * 40 + agent(request)

    with open_run(tmp_path / "run") as run:
        found = send_canary(run, replayer(telling, media), [asked()], mode="stop")
        again = send_canary(run, replayer(telling, media), [asked()], mode="stop")
    assert found == again == read_canary(run.path)
    assert len(agent.requests) == 2
    kept = (run.path / "canary.json").read_text()
    assert "hush" not in kept
    assert max(len(reply) for reply in found.pairs[0].replies) == 200
    with open_run(tmp_path / "run"):  # the store does not mind the file
        pass


def test_one_that_fails_stops_warns_or_is_not_sent(media, tmp_path, caplog):
    caplog.set_level(logging.WARNING, "carve_stats.replay")
    bad = replayer(same_reply, media)
    with open_run(tmp_path / "run") as run:
        assert send_canary(run, bad, [asked()], mode="off") is None
        with pytest.raises(AgentError, match=r"^the canary failed: .*--canary warn") as told:
            send_canary(run, bad, [asked()], mode="stop")
        assert "\n" not in str(told.value)
        assert read_canary(run.path) is None  # mended, it is sent again
        assert [report.calls for report in read_canaries(run.path)] == [40]
        assert caplog.messages == []
        assert send_canary(run, bad, [asked()], mode="warn").passed is False
        assert "canary: failed (40 calls): " in caplog.text
        good = Looking()
        with pytest.raises(AgentError, match="the run began in spite of it"):
            send_canary(run, replayer(good, media), [asked()], mode="stop")
        assert send_canary(run, replayer(good, media), [asked()], mode="warn").passed is False
        assert good.requests == []


def test_the_declaration_is_the_plans(media, tmp_path):
    with open_run(tmp_path / "run", stochastic=False) as run:
        assert send_canary(run, replayer(same_reply, media), [asked()], mode="stop").passed


def test_that_there_is_nothing_to_check_is_neither_kept_nor_told(media, tmp_path, caplog):
    bare = Trajectory(question_id="q", answer="A", options=OPTIONS)
    agent = Looking()
    with open_run(tmp_path / "run") as run:
        assert send_canary(run, replayer(agent, media), [bare], mode="stop").calls == 0
        assert (read_canary(run.path), caplog.messages) == (None, [])
        assert send_canary(run, replayer(agent, media), [bare, asked()], mode="stop").calls == 2


def test_one_that_reaches_nobody_ends_the_run_and_is_sent_again(media, tmp_path):
    def agent(request):
        raise ConnectionError("refused")

    with open_run(tmp_path / "run") as run:
        for _ in range(2):
            with pytest.raises(AgentError, match=r"could not be reached.*refused"):
                send_canary(run, replayer(agent, media), [asked()], mode="warn")
        assert read_canary(run.path) is None
        assert [report.calls for report in read_canaries(run.path)] == [1, 1]
        good = Looking()
        assert send_canary(run, replayer(good, media), [asked()], mode="stop").passed
        assert [report.calls for report in read_canaries(run.path)] == [1, 1, 2]


@pytest.mark.parametrize("error", [RuntimeError("no such model"), KeyboardInterrupt()])
def test_what_was_spent_before_an_error_is_kept(media, tmp_path, error):
    made = []

    def agent(request):
        made.append(request)
        if len(made) == 4:
            raise error
        return ReplayReply(text="A", usage={"tokens": 7})

    with open_run(tmp_path / "run") as run:
        with pytest.raises((AgentError, KeyboardInterrupt)):
            send_canary(run, replayer(agent, media), [asked()], mode="stop")
        [report] = read_canaries(run.path)
        assert (report.passed, report.calls, report.usage) == (None, 3, {"tokens": 21})
        assert read_canary(run.path) is None


@pytest.mark.parametrize("room", [0, 1, 7])
def test_it_makes_no_more_calls_than_can_be_afforded(media, tmp_path, room):
    made = []
    with open_run(tmp_path / "run") as run:
        with pytest.raises(AgentError, match=r"leaves no room for the canary.*--canary off"):
            send_canary(run, replayer(lambda r: made.append(r) or "A", media), [asked()],
                        mode="stop", affords=lambda sent: sent.calls < room)  # fmt: skip
        assert len(made) == room
        assert [report.calls for report in read_canaries(run.path)] == [room]


def test_spent_canaries_are_read_in_their_order(tmp_path):
    for calls in range(12):
        keep_spent(tmp_path, CanaryReport(passed=False, calls=calls))
    keep_canary(tmp_path, CanaryReport(passed=True, calls=99))
    assert [report.calls for report in read_canaries(tmp_path)] == [*range(12), 99]


def test_of_several_processes_the_first_ones_is_kept(tmp_path):
    reports = [CanaryReport(passed=True, calls=n) for n in range(8)]
    kept = []
    threads = [
        threading.Thread(target=lambda r=r: kept.append(keep_canary(tmp_path, r))) for r in reports
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(map(str, kept)) == {str(read_canary(tmp_path))}
    assert [path.name for path in tmp_path.iterdir()] == ["canary.json"]


@pytest.mark.parametrize("content", [b"", b"{}", b'{"passed": 3}', b"\xff", b"[" * 100_000])
def test_a_damaged_file_is_named(tmp_path, content):
    (tmp_path / "canary.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"canary\.json: damaged") as told:
        read_canary(tmp_path)
    assert "\n" not in str(told.value)
