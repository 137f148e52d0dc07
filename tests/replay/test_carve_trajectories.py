"""Frozen trajectories in the CARVE layout: every form of them, and every trap of a folder."""

import json
import logging
import os
from pathlib import Path

import pytest

from carve_stats.errors import InputError, RecordError
from carve_stats.replay.agents._chat_messages import check_conversation, write_messages
from carve_stats.replay.files import inside
from carve_stats.replay.protocols import Evidence, ReplayRequest
from carve_stats.replay.trajectories import EvidenceItem, Trajectory, read_trajectories

MESSAGES = [
    {"role": "system", "content": "You answer questions."},
    {"role": "user", "content": [
        {"type": "text", "text": "What flies by?"},
        {"type": "text", "text": "A kite, says the frozen caption."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
    ]},
    {"role": "tool", "content": "The second caption."},
]  # fmt: skip
GOOD = {
    "question_id": "v1/7",
    "video_id": "v1",
    "raw_data": {"question": "What flies by?\n(A) A kite\n(B) A gull", "answer": "B", "uid": "7"},
    "messages": MESSAGES,
    "evidence_indices": [0, 3, 5],
    "reference_answer": "A",
    "prepped": [
        {"idx": 0, "clip": "clips/a.mp4", "query": "kite", "timestamps": [1.0, 2.5]},
        {"idx": 3, "clip": "frames/b", "query": "", "timestamps": [7, 8]},
        {"idx": 5, "clip": ["frames/b/frame-9.png"], "query": "gull", "timestamps": [7]},
    ],
    "evidence_slots": {"0": {"message": 1, "part": 1}, "3": {"message": 1, "part": 2},
                       "5": {"message": 2}},
}  # fmt: skip
MULTIPLE = {"question": "?", "options": ["A. Apples.", "B. Pears."], "answer": "B"}
EGO = {"q_uid": "u", "question": "?", **{f"option {i}": f"c{i}" for i in range(5)}, "answer": 4}
LONG = {"id": "l", "video_id": "w", "question": "?", "candidates": ["x", "y", "z"],
        "correct_choice": "@"}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A media root with clips, and a folder of trajectories in it."""
    (tmp_path / "frames/b").mkdir(parents=True)
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips/a.mp4").write_bytes(b"video")
    for name in ("frame-10.png", "frame-9.png", "notes.txt"):
        (tmp_path / "frames/b" / name).write_bytes(b"picture")
    (tmp_path / "trajectories").mkdir()
    return tmp_path / "trajectories"


def write(folder, *records, **changes):
    for record in records or [GOOD]:
        record = {**record, **changes}
        name = record["question_id"].replace("/", "_") + ".json"
        (folder / name).write_text(json.dumps(record))
    return folder


def read_one(folder, **changes):
    [trajectory] = read_trajectories(write(folder, **changes))
    return trajectory


def test_the_whole_record(folder):
    trajectory = read_one(folder)
    assert trajectory.question_id == "v1/7"
    assert (trajectory.video_id, trajectory.question) == ("v1", "What flies by?")
    assert trajectory.options == {"A": "A kite", "B": "A gull"}
    assert (trajectory.answer, trajectory.correct) == ("A", "B")
    assert trajectory.evidence == (
        EvidenceItem(
            id="0", video="clips/a.mp4", times=(1.0, 2.5), query="kite",
            text="A kite, says the frozen caption.",
        ),
        EvidenceItem(
            id="3", frames=("frames/b/frame-9.png", "frames/b/frame-10.png"), times=(7, 8)
        ),
        EvidenceItem(
            id="5", frames=("frames/b/frame-9.png",), times=(7,), query="gull",
            text="The second caption.",
        ),
    )  # fmt: skip
    assert trajectory.frozen["evidence_slots"] == GOOD["evidence_slots"]


def request_of(trajectory, texts, condition):
    evidence = tuple(Evidence(id=item, text=text) for item, text in texts.items())
    return ReplayRequest(
        question_id=trajectory.question_id, video_id=None, condition=condition, repetition=0,
        attempt=0, question=trajectory.question, options=trajectory.options, evidence=evidence,
        frozen=trajectory.frozen, seed=1,
    )  # fmt: skip


def test_captions_are_read_in_self_and_nowhere_else(folder):
    slots = {"0": {"message": 1, "part": 1}, "5": {"message": 2}}
    trajectory = read_one(folder, evidence_slots=slots, prepped=GOOD["prepped"][::2])
    check_conversation(trajectory)
    stored = {item.id: item.text for item in trajectory.evidence}
    assert write_messages(request_of(trajectory, stored, "self")) == MESSAGES
    anew = write_messages(request_of(trajectory, {"0": "new", "5": "newer"}, "destroy"))
    assert "caption" not in json.dumps(anew)
    assert anew[1]["content"][1] == {"type": "text", "text": "new"}
    # An agent that reads the frozen state itself finds neither a caption nor a frame.
    whole = read_one(folder)
    assert "caption" not in json.dumps(whole.frozen)
    assert "AAAA" not in json.dumps(whole.frozen)
    assert whole.frozen["messages"][1]["content"][2]["image_url"] == {
        "url": "evidence:3", "detail": "low",
    }  # fmt: skip


@pytest.mark.parametrize(
    "slots",
    [
        {"0": [1, 1], "3": [1, 2], "5": 2},
        {"0": [1, 1], "3": [1, 2], "5": [2]},
        [[1, 1], {"message": 1, "part": 2}, {"message": 2, "part": None}],
        {**GOOD["evidence_slots"], "9": [2]},  # an item that was not prepared stays as it is
    ],
)
def test_forms_of_slots(folder, slots):
    assert read_one(folder, evidence_slots=slots) == read_one(folder)


@pytest.mark.parametrize(
    ("raw", "reference", "options", "answer", "correct"),
    [
        (MULTIPLE, "A", {"A": "Apples.", "B": "Pears."}, "A", "B"),
        (MULTIPLE, "The answer is (B).", {"A": "Apples.", "B": "Pears."}, "B", "B"),
        ({**MULTIPLE, "options": ["Apples.", "Pears."]}, "B", {"A": "Apples.", "B": "Pears."}, "B",
         "B"),
        ({**MULTIPLE, "options": {"A": "x", "B": "y"}}, "A", {"A": "x", "B": "y"}, "A", "B"),
        (EGO, "C", {c: f"c{i}" for i, c in enumerate("ABCDE")}, "C", "E"),
        (EGO, 0, {str(i): f"c{i}" for i in range(5)}, "0", "4"),
        (EGO, "3", {str(i): f"c{i}" for i in range(5)}, "3", "4"),
        (LONG, "B", {"A": "x", "B": "y", "C": "z"}, "B", None),
        ({**LONG, "correct_choice": 1}, "2", {"0": "x", "1": "y", "2": "z"}, "2", "1"),
        ({"question": "Who?"}, "a man", {}, "a man", None),
    ],
)  # fmt: skip
def test_benchmarks(folder, raw, reference, options, answer, correct):
    trajectory = read_one(folder, raw_data=raw, reference_answer=reference)
    assert trajectory.options == options
    assert list(trajectory.options) == list(options)
    assert (trajectory.answer, trajectory.correct) == (answer, correct)


def test_the_video_of_the_benchmarks_record(folder):
    assert read_one(folder, video_id=None, raw_data=LONG).video_id == "w"
    assert read_one(folder, video_id=None, raw_data=EGO).video_id == "u"


def test_unreadable_frozen_answers_are_left_out_and_counted(folder, caplog):
    write(folder, {**GOOD, "question_id": "a"}, {**GOOD, "question_id": "b"})
    write(folder, {**GOOD, "question_id": "c"}, reference_answer=None)
    write(folder, {**GOOD, "question_id": "d"}, reference_answer="Failed to obtain answer via API.")
    with caplog.at_level(logging.WARNING, logger="carve_stats.replay"):
        read = read_trajectories(folder)
    assert [t.question_id for t in read] == ["a", "b"]
    [record] = caplog.records
    assert record.getMessage() == (
        f"{folder}: 2 of 4 questions are left out, since their frozen answer cannot be read:"
        " no reference_answer 1, transport_error 1"
    )


def test_none_with_a_frozen_answer(folder):
    write(folder, reference_answer="")
    with pytest.raises(InputError, match=r"1 of 1 questions are left out.*none is left"):
        read_trajectories(folder)


BAD = [
    ({"question_id": 7}, "question_id=7 must be a string"),
    ({"question_id": "v2_7"}, "its question_id is 'v2_7', and the name of the file"),
    ({"raw_data": None}, "raw_data=None must be the benchmark's record"),
    ({"raw_data": {"question": 7}}, "raw_data question=7 must be a string"),
    ({"raw_data": {**MULTIPLE, "options": "A. x"}}, "options='A. x' must be a list of two texts"),
    ({"reference_answer": ["A"]}, "reference_answer=.* must be a label or a text"),
    ({"prepped": {"0": {}}}, r"prepped=.* must be a list of items"),
    ({"prepped": [{"clip": "clips/a.mp4"}]}, r"prepped\[0\]: idx=None must be a number"),
    ({"prepped": [{"idx": 0, "clip": "clips/a.mp4"}]}, "prepped idx '0': .*needs times"),
    ({"prepped": [{"idx": 0, "clip": "clips/a.mp4", "timestamps": ["1:02"]}]},
     "prepped idx '0': times='1:02' must be a number of seconds"),
    ({"prepped": [{"idx": 0, "clip": 7}]}, "clip=7 must be a path"),
    ({"prepped": [{"idx": 0, "clip": "clips"}]}, "clip='clips' is a folder without pictures"),
    ({"prepped": [{"idx": 0, "clip": "../x.mp4", "timestamps": [1]}]}, "leads out of the folder"),
    ({"prepped": [{"idx": 0, "clip": "/etc/hosts", "timestamps": [1]}]}, "leads out of the folder"),
    ({"prepped": [{"idx": 0, "clip": "link.mp4", "timestamps": [1]}]}, "leads out of the folder"),
    ({"prepped": [{"idx": 0, "clip": ["frames/b/frame-9.png", "links/x.png"]}]}, "leads out"),
    ({"prepped": [{"idx": 0, "clip": "a\0.mp4", "timestamps": [1]}]}, "cannot be used"),
    ({"prepped": GOOD["prepped"][:1] * 2}, "evidence id='0' stands twice"),
    ({"messages": "hello"}, "messages='hello' must be a list of messages"),
    ({"messages": None}, "there are none"),
    ({"evidence_slots": "1"}, "evidence_slots='1' must map each idx"),
    ({"evidence_slots": [[1, 1]]}, "must be as long as evidence_indices"),
    ({"evidence_slots": {"0": [1, 2, 3]}}, "is no place: give {'message': m, 'part': p}"),
    ({"evidence_slots": {"0": {"msg": 1}}}, "is no place"),
    ({"evidence_slots": {"0": True}}, "is no place"),
    ({"evidence_slots": {"0": -1}}, "is no place"),
    ({"evidence_slots": {"0": 9}}, "message 9 is not there: there are 3 messages"),
    ({"evidence_slots": {"0": [1, 9]}}, "message 1, part 9 is not there"),
    ({"evidence_slots": {"0": 1}}, "has no text for its content: name the part"),
    ({"evidence_slots": {"0": [1, 1], "3": [1, 1]}}, "'3' and '0' have one place"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_file(folder, change, message):
    outside = folder.parents[1] / f"outside-{folder.parent.name}"
    outside.mkdir()
    (outside / "x.png").write_bytes(b"secret")
    (folder.parent / "link.mp4").symlink_to(outside / "x.png")
    (folder.parent / "links").symlink_to(outside)
    (folder / "v1_7.json").write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(RecordError, match=message) as caught:
        read_trajectories(folder)
    assert str(caught.value).startswith(f"{folder / 'v1_7.json'}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_not_a_json_object(folder, content):
    (folder / "q.json").write_bytes(content)
    with pytest.raises(RecordError, match=r"q\.json: not (?:JSON|a JSON object)"):
        read_trajectories(folder)


def test_two_files_of_one_question(folder):
    write(folder, {**GOOD, "question_id": "a/b"})
    (folder / "a-b.json").write_text((folder / "a_b.json").read_text())
    with pytest.raises(RecordError, match=r"a_b\.json: .*'a/b' stands in a-b\.json already"):
        read_trajectories(folder)


def test_files_that_lead_out_of_the_folder(folder, tmp_path):
    (tmp_path / "v1_7.json").write_text(json.dumps(GOOD))
    (folder / "v1_7.json").symlink_to(tmp_path / "v1_7.json")
    with pytest.raises(RecordError, match="leads out of the folder"):
        read_trajectories(folder)


def test_what_is_no_regular_file(folder):
    os.mkfifo(folder / "q.json")
    with pytest.raises(RecordError, match="not a regular file"):
        read_trajectories(folder)


def test_other_files_are_not_read(folder):
    write(folder)
    for name in (".hidden.json", "notes.txt"):
        (folder / name).write_text("no JSON")
    assert len(read_trajectories(folder)) == 1


def test_a_folder_without_trajectories(folder):
    with pytest.raises(InputError, match="holds no file <question id>"):
        read_trajectories(folder)


def test_another_media_root(folder, tmp_path):
    write(folder, prepped=[{"idx": 0, "clip": "b", "timestamps": [1]}])
    [trajectory] = read_trajectories(folder, media=tmp_path / "frames")
    assert trajectory.evidence[0].frames == ("b/frame-9.png", "b/frame-10.png")
    assert trajectory.evidence[0].times == ()


def test_inside(tmp_path):
    root = tmp_path / "root"
    (root / "below").mkdir(parents=True)
    (root / "link").symlink_to(root / "below")
    (root / "loop").symlink_to(root / "loop")
    assert inside(root, "below/../below/a") == root.resolve() / "below/a"
    assert inside(root, root / "below") == root.resolve() / "below"
    assert inside(root, "link/a") == root.resolve() / "below/a"
    assert inside(Path("."), "a") == Path("a").resolve()
    for path in ("..", "../rooted", "below/../../x", tmp_path, "/etc/hosts"):
        with pytest.raises(InputError, match="leads out of the folder"):
            inside(root, path)


def test_a_trajectory_can_be_stored(folder):
    trajectory = read_one(folder)
    assert Trajectory.from_dict(json.loads(json.dumps(trajectory.to_dict()))) == trajectory
