"""Preparing the demo with a stand-in for the agent: what is stored, resumed and refused."""

import dataclasses

import numpy as np
import pytest

from carve_stats.demo import rendering, run
from carve_stats.demo.clips import Work, find_clip
from carve_stats.demo.freeze import IndexedFrame, retrieve_frames
from carve_stats.demo.questions import QUESTIONS, Question
from carve_stats.demo.run import prepare_demo
from carve_stats.errors import InputError, MissingExtraError, PlanError, StoreError
from carve_stats.replay.agents.builtin import Sight
from carve_stats.replay.evidence.frames import Frame
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.trajectories import read_trajectories

TWO = tuple(
    dataclasses.replace(find_clip(name), scenes=find_clip(name).scenes[:2])
    for name in ("road", "cafe")
)
ASKED = tuple(q for q in QUESTIONS if q.clip in {"road", "cafe"})


class Watcher:
    """Sees how bright a frame is, answers by its seed; dies after so many looks if told to."""

    def __init__(self, dies_after=None):
        self.looks = 0
        self.dies_after = dies_after

    def look(self, frame):
        if self.looks == self.dies_after:
            raise KeyboardInterrupt
        self.looks += 1
        return Sight((f"brightness {frame.pixels().mean():.0f}",), ())

    def embed(self, text):
        return np.array([len(text) % 7 - 3.0, len(text) % 5 - 2.0])

    def fingerprint(self):
        return {"name": "watcher"}

    def __call__(self, request):
        assert request.condition == "self"
        assert all(isinstance(f, Frame) for item in request.evidence for f in item.frames)
        label = list(request.options)[request.seed % 4]
        return ReplayReply(text=label, answer=label)


@pytest.fixture(autouse=True)
def _two_short_clips(monkeypatch):
    monkeypatch.setattr(run, "CLIPS", TWO)
    monkeypatch.setattr(run, "QUESTIONS", ASKED)
    monkeypatch.setattr(rendering, "_SECONDS_PER_SCENE", 2)
    monkeypatch.setattr(rendering, "_FRAMES_PER_SECOND", 2)


def prepare(directory, *, agent=None, seed=1, **settings):
    return prepare_demo(directory, seed=seed, agent=agent or Watcher(), **settings)


def test_every_question_is_frozen_with_its_frames(tmp_path):
    steps = []
    trajectories = prepare(tmp_path, progress=lambda *step: steps.append(step))
    assert [t.question_id for t in trajectories] == [q.id for q in ASKED]
    assert read_trajectories(tmp_path / "trajectories.jsonl") == trajectories
    assert steps == [(0, 2), (1, 2), (2, 2)]
    for trajectory, question in zip(trajectories, ASKED, strict=True):
        assert trajectory.video_id == question.clip
        assert trajectory.correct == question.correct
        assert len(trajectory.evidence) == 4
        for item in trajectory.evidence:
            assert item.text is None  # a caption would tell what the frames no longer show
            (path,) = item.frames
            assert Frame((tmp_path / path).read_bytes(), "image/jpeg").pixels().shape == (
                360,
                640,
                3,
            )
            assert path.startswith(f"frames/{question.clip}-")


def test_frozen_answers_depend_on_the_seed_and_on_nothing_else(tmp_path):
    answers = [
        [t.answer for t in prepare(tmp_path / name, seed=seed, workers=workers)]
        for name, seed, workers in (("a", 1, 1), ("b", 1, 2), ("c", 2, 2))
    ]
    assert answers[0] == answers[1] != answers[2]


def test_a_finished_preparation_is_read_and_not_made_again(tmp_path):
    first = prepare(tmp_path)
    idle, steps = Watcher(), []
    assert prepare(tmp_path, agent=idle, progress=lambda *step: steps.append(step)) == first
    assert idle.looks == 0
    assert steps == [(2, 2)]


@pytest.mark.parametrize("looks", [0, 1, 4, 5, 7])
def test_an_interrupted_preparation_is_taken_up_again(tmp_path, looks):
    whole = prepare(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path / "cut", agent=Watcher(dies_after=looks), workers=1)
    assert not (tmp_path / "cut" / "trajectories.jsonl").exists()
    resumed, steps = Watcher(), []
    again = prepare(tmp_path / "cut", agent=resumed, progress=lambda *step: steps.append(step))
    assert again == whole
    assert steps == ([(0, 2), (1, 2), (2, 2)] if looks < 4 else [(1, 2), (2, 2)])
    assert resumed.looks == (8 if looks < 4 else 4)  # a clip that was done is not watched again


def test_half_written_files_are_no_obstacle(tmp_path):
    whole = prepare(tmp_path / "whole")
    cut = tmp_path / "cut"
    for folder in ("clips", "frames", "index"):
        (cut / folder).mkdir(parents=True)
    (cut / "clips" / ".road.mp4.part").write_bytes(b"half a clip")
    (cut / "frames" / "road-000.jpg").write_bytes(b"half a picture")
    assert prepare(cut) == whole


def test_another_seed_agent_or_set_of_questions_is_refused(tmp_path, monkeypatch):
    prepare(tmp_path)
    with pytest.raises(PlanError, match=r"demo\.json: was prepared with another seed"):
        prepare(tmp_path, seed=2)
    other = Watcher()
    other.fingerprint = lambda: {"name": "other"}
    with pytest.raises(PlanError, match="another agent"):
        prepare(tmp_path, agent=other)
    monkeypatch.setattr(run, "QUESTIONS", ASKED[:-1])
    with pytest.raises(PlanError, match="another material"):
        prepare(tmp_path)


def test_a_missing_package_is_found_before_anything_is_written(tmp_path, monkeypatch):
    absent = Work("t", "a", "CC0", "no-such-package", "clip.mp4", "pip install no-such-package")
    clip = dataclasses.replace(TWO[0], film=absent, scenes=())
    monkeypatch.setattr(run, "CLIPS", (*TWO, clip))
    with pytest.raises(MissingExtraError, match="pip install no-such-package"):
        prepare(tmp_path / "demo")
    assert not (tmp_path / "demo").exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        prepare(tmp_path / "file" / "demo")


def test_a_damaged_index_is_named(tmp_path):
    prepare(tmp_path)
    (tmp_path / "trajectories.jsonl").unlink()
    (tmp_path / "index" / "road.json").write_text("[{")
    with pytest.raises(StoreError, match=r"road\.json: cannot be read"):
        prepare(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["[]", "[1]", '{"a": 1}', '[{"path": "x"}]', '{"plan": "p", "frames": [{"path": 1}]}', "\xff"],
)
def test_an_index_of_another_shape_is_named(tmp_path, content):
    prepare(tmp_path)
    (tmp_path / "trajectories.jsonl").unlink()
    (tmp_path / "index" / "road.json").write_text(content, encoding="latin-1")
    with pytest.raises(StoreError, match=r"road\.json: cannot be read") as caught:
        prepare(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["[]", "{", '"x"'])
def test_a_damaged_plan_is_named(tmp_path, content):
    prepare(tmp_path)
    (tmp_path / "demo.json").write_text(content)
    with pytest.raises(StoreError, match=r"demo\.json: cannot be read"):
        prepare(tmp_path)


def test_nothing_is_used_under_another_plan(tmp_path):
    other = prepare(tmp_path / "other", seed=2)
    prepare(tmp_path / "demo", seed=1)
    (tmp_path / "demo" / "demo.json").unlink()
    assert prepare(tmp_path / "demo", seed=2) == other
    assert read_trajectories(tmp_path / "demo" / "trajectories.jsonl") == other


def test_clips_of_other_material_are_rendered_again(tmp_path, monkeypatch):
    prepare(tmp_path / "demo")
    swapped = tuple(
        dataclasses.replace(clip, scenes=other.scenes)
        for clip, other in zip(TWO, reversed(TWO), strict=True)
    )
    monkeypatch.setattr(run, "CLIPS", swapped)
    (tmp_path / "demo" / "demo.json").unlink()
    assert prepare(tmp_path / "demo") == prepare(tmp_path / "fresh")
    for clip in TWO:
        stored = [tmp_path / name / "clips" / f"{clip.id}.mp4" for name in ("demo", "fresh")]
        assert stored[0].read_bytes() == stored[1].read_bytes()


def test_trajectories_that_were_changed_are_made_again(tmp_path):
    whole = prepare(tmp_path)
    path = tmp_path / "trajectories.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    assert prepare(tmp_path) == whole


@pytest.mark.parametrize(
    "settings", [{"seed": -1}, {"seed": 1.5}, {"seed": True}, {"seed": 2**63}, {"workers": 0}]
)
def test_impossible_settings_are_refused_before_anything_is_written(tmp_path, settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}="):
        prepare(tmp_path / "demo", **settings)
    assert not (tmp_path / "demo").exists()


class Alike:
    """Texts are as similar as the numbers that they end in say."""

    def embed(self, text):
        number = text.split()[-1]
        return np.array([float(number) if number.isdigit() else 1.0])


def frames(*sentences):
    return [IndexedFrame(f"{i}.jpg", float(i), s) for i, s in enumerate(sentences)]


QUESTION = Question("q", "c", "which", {"A": "one", "B": "other"}, "A")


def test_retrieval_prefers_the_similar_and_the_new():
    index = frames("x 9", "x 9", "x 1", "x 8", "x 7", "x 2")
    chosen = retrieve_frames(QUESTION, index, agent=Alike())
    assert [f.path for f in chosen] == ["0.jpg", "3.jpg", "4.jpg", "5.jpg"]


def test_retrieval_fills_up_with_repetitions_by_similarity():
    index = frames("x 1", "x 5", "x 5", "x 5", "x 1")
    chosen = retrieve_frames(QUESTION, index, agent=Alike())
    assert [f.path for f in chosen] == ["0.jpg", "1.jpg", "2.jpg", "3.jpg"]


def test_a_short_clip_is_retrieved_whole():
    index = frames("x 1", "x 2")
    assert retrieve_frames(QUESTION, index, agent=Alike()) == index
