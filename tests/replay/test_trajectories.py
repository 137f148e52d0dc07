"""Trajectories files: what is read comes back, and what is wrong is named by file and line."""

import functools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carve_stats.errors import InputError, RecordError, StoreError
from carve_stats.replay.trajectories import (
    EvidenceItem,
    Trajectory,
    read_trajectories,
    write_trajectories,
)

GOOD = {
    "question_id": "q1",
    "video_id": "v1",
    "question": "Which animal comes out?",
    "options": {"A": "a rabbit", "B": "a fox"},
    "answer": "A",
    "correct": "B",
    "evidence": [
        {"id": "0", "frames": ["frames/q1-0.jpg"], "times": [12.0], "start": 12.0, "end": 13.0,
         "query": "animal", "text": None},
        {"text": "a caption"},
        {"video": "clip.mp4", "times": [0, 1.5]},
    ],
    "frozen": {"anything": [1, None, {"deep": True}]},
}  # fmt: skip


def write_lines(path, *records):
    path.write_text("".join(f"{json.dumps(r)}\n" for r in records))
    return path


def test_documented_example(tmp_path):
    [trajectory] = read_trajectories(write_lines(tmp_path / "t.jsonl", GOOD))
    assert trajectory.question_id == "q1"
    assert trajectory.options == {"A": "a rabbit", "B": "a fox"}
    assert trajectory.correct == "B"
    assert trajectory.frozen == GOOD["frozen"]
    first, second, third = trajectory.evidence
    assert first == EvidenceItem(
        id="0", frames=("frames/q1-0.jpg",), times=(12.0,), start=12.0, end=13.0, query="animal"
    )
    assert (second.id, second.text, second.pictured) == ("1", "a caption", False)
    assert (third.id, third.video, third.times, third.pictured) == ("2", "clip.mp4", (0, 1.5), True)


labels = st.sampled_from([{"A": "x", "B": "y"}, {"1": "a", "2": "", "3": "c"}])
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
texts = st.text(min_size=1, max_size=9).filter(str.strip)


@st.composite
def trajectories(draw):
    options = draw(st.just({}) | labels)
    answer = draw(st.sampled_from(sorted(options)) if options else texts)
    items = draw(st.lists(st.sampled_from(range(9)), unique=True, max_size=3))
    return Trajectory(
        question_id=draw(texts),
        video_id=draw(st.none() | texts),
        question=draw(st.text(max_size=9)),
        options=options,
        answer=answer,
        evidence=tuple(EvidenceItem(id=str(i), text="t", start=0.0) for i in items),
        frozen=draw(plain),
    )


@settings(max_examples=40)
@given(st.lists(trajectories(), unique_by=lambda t: t.question_id, min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("written") / "t.jsonl"
    write_trajectories(path, written)
    read = read_trajectories(path)
    assert read == written
    assert [t.sha256 for t in read] == [t.sha256 for t in written]


def test_hash_tells_the_order_of_options_apart():
    one = Trajectory(question_id="q", answer="A", options={"A": "x", "B": "y"})
    other = Trajectory(question_id="q", answer="A", options={"B": "y", "A": "x"})
    assert one.sha256 != other.sha256


BAD = [
    ({"question_id": None}, "question_id is missing"),
    ({"evidence": [{"video": "a.mp4", "times": [10**400]}]}, r"times=1000.* must be a finite"),
    ({"evidence": [{"text": "a", "start": -(10**400)}]}, r"start=-1000.* must be a finite"),
    ({"answer": None}, "answer is missing"),
    ({"question_id": 601}, "question_id=601 must be a string, in quotes"),
    ({"question_id": " "}, "question_id=' ' must not be empty"),
    ({"answer": "C"}, "answer='C' must be one of the option labels A, B"),
    ({"correct": "a"}, "correct='a' must be one of the option labels A, B"),
    ({"anwser": "A"}, "unknown field 'anwser'.*did you mean 'answer'"),
    ({"options": ["a", "b"]}, "options=.* must map each label to its text"),
    ({"options": {"A": "x"}}, "must be at least two, or none"),
    ({"options": {"A": "x", "a": "y"}}, "'A' and 'a' cannot be told apart"),
    ({"options": {"A": "x", "Ａ": "y"}}, "cannot be told apart"),
    ({"options": {"A": 1, "B": "y"}}, "option 'A'=1 must be a string"),
    ({"question_id": "q\0"}, "question_id='q.x00' must not end in a NUL"),
    ({"video_id": "v\0"}, "video_id='v.x00' must not end in a NUL"),
    ({"evidence": "frames"}, "evidence='frames' must be a list"),
    ({"evidence": [{"id": "0"}]}, r"evidence\[0\]: it has no text, no frames and no video"),
    ({"evidence": [{"txt": "a"}]}, r"evidence\[0\]: unknown field 'txt'.*did you mean 'text'"),
    ({"evidence": [{"text": "a"}, 7]}, r"evidence\[1\]: .*must be a JSON object, not int"),
    ({"evidence": [{"id": "x", "text": "a"}] * 2}, "evidence id='x' stands twice"),
    ({"evidence": [{"video": "v.mp4"}]}, "neither times nor a start"),
    ({"evidence": [{"frames": ["a"], "times": [1, 2]}]}, "1 frames and 2 times"),
    ({"evidence": [{"frames": ["a"], "video": "v", "times": [1]}]}, "keep one of the two"),
    ({"evidence": [{"frames": "a.png"}]}, "frames='a.png': no folder .* to read"),
    ({"evidence": [{"text": "a", "start": 2, "end": 1}]}, "start=2 must not be after end=1"),
    ({"evidence": [{"text": "a", "start": "0:12"}]}, "start='0:12' must be a number of seconds"),
    ({"evidence": [{"video": "v", "times": [True]}]}, "times=True must be a number of seconds"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_line(tmp_path, change, message):
    path = write_lines(tmp_path / "t.jsonl", {**GOOD, "question_id": "q0"}, {**GOOD, **change})
    with pytest.raises(RecordError, match=message) as caught:
        read_trajectories(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert "\n" not in str(caught.value)


def test_a_question_twice_names_both_lines(tmp_path):
    path = write_lines(tmp_path / "t.jsonl", GOOD, {**GOOD, "question_id": "q2"}, GOOD)
    with pytest.raises(RecordError, match=r"t\.jsonl:3: question_id='q1' stands in line 1"):
        read_trajectories(path)


@pytest.mark.parametrize(
    "content", [b'{"question_id": "q1"', b"\xff\xfe{}", b"question_id,answer", b"[1]", b'"q1"']
)
def test_not_an_object(tmp_path, content):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"t\.jsonl:1: .*JSON object"):
        read_trajectories(path)


def test_blank_lines_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\n\n  \n")
    assert len(read_trajectories(path)) == 1


FROM_PYTHON = [
    ({"frozen": object()}, "frozen cannot be stored as JSON .*object is unsupported"),
    ({"frozen": {"p": np.float64(0.5)}}, "frozen cannot be stored as JSON"),
    ({"frozen": {"p": 10**5000}}, "frozen cannot be stored as JSON"),
    (
        {"frozen": functools.reduce(lambda inner, _: [inner], range(9999), 1)},
        "frozen cannot be stored",
    ),
    ({"question": "cut \ud83d"}, "question cannot be stored as JSON .*surrogates"),
    ({"answer": np.str_("A")}, "answer cannot be stored as JSON"),
    ({"evidence": [{"text": "x"}]}, "it must hold EvidenceItem objects"),
    ({"evidence": "x"}, "evidence='x' must be a list of EvidenceItem"),
]


@pytest.mark.parametrize(("change", "message"), FROM_PYTHON)
def test_what_a_store_could_not_hold_is_refused(change, message):
    with pytest.raises(InputError, match=message) as caught:
        Trajectory(**{"question_id": "q1", "answer": "A", **change})
    assert "\n" not in str(caught.value)


def test_frames_and_times_are_lists():
    with pytest.raises(InputError, match=r"frames='a\.jpg' must be a list"):
        EvidenceItem(id="0", frames="a.jpg")
    with pytest.raises(InputError, match=r"times=3 must be a list"):
        EvidenceItem(id="0", video="a.mp4", times=3)
    one, other = (EvidenceItem(id="0", video="a", times=times) for times in ([1.0], (1.0,)))
    assert one == other


def test_too_deep_a_line_is_one_error(tmp_path):
    (tmp_path / "t.jsonl").write_text("[" * 100_000)
    with pytest.raises(RecordError, match=r"t\.jsonl:1: not a JSON object"):
        read_trajectories(tmp_path / "t.jsonl")


def test_nothing_to_read(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match="holds no question"):
        read_trajectories(tmp_path / "empty.jsonl")
    with pytest.raises(InputError, match=r"cannot be read.*No such file"):
        read_trajectories(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="holds no file <question id>"):
        read_trajectories(tmp_path)


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path):
    path = write_lines(tmp_path / "t.jsonl", GOOD)
    before = path.read_bytes()
    same = Trajectory(question_id="q", answer="x")
    with pytest.raises(InputError, match="question_id='q' stands in two trajectories"):
        write_trajectories(path, [same, same])
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["t.jsonl"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=r"folder cannot be written: .*directory"):
        write_trajectories(tmp_path / "folder", [same])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "t.jsonl"]
