"""What is sent to a chat server: places filled, and nothing else changed."""

import base64
import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai_runs import OPTIONS, item, request

from carve_stats.errors import InputError
from carve_stats.replay.agents._chat_messages import check_conversation, write_messages
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

SYSTEM = {"role": "system", "content": "You watch videos.", "name": "rules"}


def uri(data):
    return "data:image/png;base64," + base64.b64encode(data).decode()


def image(data, **more):
    return {"type": "image_url", "image_url": {"url": uri(data), **more}}


def named(url, **more):
    return {"type": "image_url", "image_url": {"url": url, **more}}


def text(said):
    return {"type": "text", "text": said}


def user(*parts):
    return {"role": "user", "content": list(parts)}


def written(messages, *items, **frozen):
    return write_messages(request(frozen={"messages": messages, **frozen}, evidence=items))


def trajectory(messages, *items, options=OPTIONS, **frozen):
    return Trajectory(
        question_id="q1", question="Which?", options=options, answer="A",
        evidence=items, frozen={"messages": messages, **frozen},
    )  # fmt: skip


FRAMES = item("0", frames=[b"one", b"two", b"three"])
CAPTION = item("1", text="A fox sleeps.")


def test_an_image_becomes_all_frames_of_the_item_and_what_it_says_beside_holds_for_each():
    asked = [SYSTEM, user(text("See:"), named("evidence:0", detail="low"), text("Which?"))]
    kept = copy.deepcopy(asked)
    shown = [image(data, detail="low") for data in (b"one", b"two", b"three")]
    assert written(asked, FRAMES) == [SYSTEM, user(text("See:"), *shown, text("Which?"))]
    assert asked == kept


def test_an_image_becomes_one_frame_counted_from_0():
    asked = [user(named("evidence:0/2"), named("evidence:0/0"))]
    assert written(asked, FRAMES) == [user(image(b"three"), image(b"one"))]


def test_a_plain_string_is_sent_as_an_object_and_other_images_stay():
    asked = [
        user({"type": "image_url", "image_url": "evidence:0/1"}),
        user({"type": "image_url", "image_url": "http://there/x.png"}, named(uri(b"map"))),
    ]
    assert written(asked, FRAMES) == [
        user(image(b"two")),
        user(named("http://there/x.png"), image(b"map")),
    ]


def test_a_slot_in_any_text_becomes_the_text_of_the_item():
    asked = [
        {"role": "user", "content": "First {evidence:1}, then {evidence:x y}. {not this}"},
        {"role": "tool", "tool_call_id": "c1", "content": [text("[{evidence:1}]")]},
    ]
    # A text that looks like a slot is no slot.
    assert written(asked, CAPTION, item("x y", text="{evidence:1}")) == [
        {"role": "user", "content": "First A fox sleeps., then {evidence:1}. {not this}"},
        {"role": "tool", "tool_call_id": "c1", "content": [text("[A fox sleeps.]")]},
    ]


def test_slots_beside_the_messages_name_a_part_or_the_whole_content():
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]}
    asked = [
        call,
        {"role": "tool", "content": "frozen caption"},
        user(text("frozen note"), named("http://old/frame.png"), "plain"),
    ]
    slots = {
        "a": {"message": 1},
        "b": {"message": 2, "part": 0},
        "0": {"message": 2, "part": 1},
        "c": {"message": 2, "part": 2},
    }
    items = (item("a", text="new caption"), item("b", text="new note"), item("c", text="new"))
    assert written(asked, *items, FRAMES, evidence_slots=slots) == [
        call,
        {"role": "tool", "content": "new caption"},
        user(text("new note"), image(b"one"), image(b"two"), image(b"three"), text("new")),
    ]


@given(st.text(alphabet="ab/0}{: ", min_size=1, max_size=6))
def test_ids_with_slashes_are_known_whole_first(name):
    shown = item(name, frames=[b"x", b"y"])
    assert written([user(named(f"evidence:{name}"))], shown) == [user(image(b"x"), image(b"y"))]
    assert written([user(named(f"evidence:{name}/1"))], shown) == [user(image(b"y"))]


def test_no_name_of_a_frame_is_sent():
    asked = written([SYSTEM, user(named("evidence:0"), text("{evidence:1}"))], FRAMES, CAPTION)
    assert "evidence" not in repr(asked)
    assert "q1" not in repr(asked)
    assert "v1" not in repr(asked)


@pytest.mark.parametrize(
    ("messages", "frozen", "said"),
    [
        ([], {}, "messages must be a list"),
        ("hello", {}, "messages must be a list"),
        (["hello"], {}, "messages[0] must be an object with a role"),
        ([SYSTEM, {"content": "x"}], {}, "messages[1] must be an object with a role"),
        ([SYSTEM], {}, "messages show evidence '0' nowhere"),
        ([user(named("evidence:0"))], {}, "messages show evidence '1' nowhere"),
        ([user(named("evidence:7"))], {}, "name evidence '7': the question has '0', '1'"),
        ([user(named("evidence:7/0"))], {}, "name evidence '7': the question has '0', '1'"),
        ([user(named("evidence:0/3"))], {}, "'evidence:0/3': evidence '0' has the frames 0 to 2"),
        ([user(named("evidence:0/x"))], {}, "'evidence:0/x'"),
        ([user(named("evidence:1"))], {}, "evidence '1' as an image, and it has no frames"),
        ([user(text("{evidence:0}"))], {}, "evidence '0' as a text, and it has none"),
        ([user(text("{evidence:}"))], {}, "name evidence ''"),
        ([SYSTEM], {"evidence_slots": ["0"]}, "evidence_slots must map"),
        ([SYSTEM], {"evidence_slots": {"0": 1}}, "evidence_slots '0' must be"),
        ([SYSTEM], {"evidence_slots": {"0": {"part": 1}}}, "evidence_slots '0' must be"),
        ([SYSTEM], {"evidence_slots": {"0": {"message": -1}}}, "evidence_slots '0' must be"),
        ([SYSTEM], {"evidence_slots": {"0": {"message": True}}}, "evidence_slots '0' must be"),
        ([SYSTEM], {"evidence_slots": {"9": {"message": 0}}}, "name evidence '9'"),
        ([SYSTEM], {"evidence_slots": {"1": {"message": 4}}}, "messages[4], which is not there"),
        (
            [user(text("x"))],
            {"evidence_slots": {"1": {"message": 0, "part": 3}}},
            "messages[0, 3], which is not there",
        ),
        (
            [SYSTEM],
            {"evidence_slots": {"0": {"message": 0}, "1": {"message": 0}}},
            "evidence_slots '1' and '0' have one place",
        ),
    ],
)
def test_places_and_evidence_that_do_not_fit_are_refused_before_a_run(messages, frozen, said):
    items = (EvidenceItem(id="0", frames=("a", "b", "c")), EvidenceItem(id="1", text="A fox."))
    with pytest.raises(InputError) as refusal:
        check_conversation(trajectory(messages, *items, **frozen))
    assert str(refusal.value).startswith("question 'q1': frozen ")
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)
    with pytest.raises(InputError) as refusal:
        written(messages, FRAMES, CAPTION, **frozen)
    assert said in str(refusal.value)


def test_a_video_has_as_many_frames_as_times():
    clip = EvidenceItem(id="0", video="clip.mp4", times=(1.0, 2.0))
    check_conversation(trajectory([user(named("evidence:0/1"))], clip))
    with pytest.raises(InputError, match="the frames 0 to 1"):
        check_conversation(trajectory([user(named("evidence:0/2"))], clip))


def test_a_conversation_that_ends_with_its_own_answer_is_refused():
    asked = {"role": "user", "content": "Which? A. a rabbit B. a fox C. a hedgehog"}
    answered = {"role": "assistant", "content": "The answer is B."}
    with pytest.raises(InputError, match="end with the assistant's own answer 'B'"):
        check_conversation(trajectory([asked, answered]))
    check_conversation(trajectory([asked, answered, {"role": "user", "content": "Are you sure?"}]))
    check_conversation(trajectory([asked, {"role": "assistant", "content": "The answer is ("}]))


def test_a_question_without_a_conversation_needs_a_text():
    check_conversation(Trajectory(question_id="q1", question="Which?", answer="x", frozen={"a": 1}))
    with pytest.raises(InputError, match="question 'q1': it has no text in question"):
        check_conversation(Trajectory(question_id="q1", answer="A", options=OPTIONS))


@pytest.mark.parametrize("frozen", [None, {"answer": "A", "notes": ["it dug"]}, "state"])
def test_the_plain_prompt_shows_the_question_and_the_evidence_and_no_interval_or_query(frozen):
    plain = write_messages(request(frozen=frozen, evidence=(FRAMES, CAPTION)))
    assert plain == [
        user(
            text("Which animal?\nA. a rabbit\nB. a fox\nC. a hedgehog"),
            image(b"one"),
            image(b"two"),
            image(b"three"),
            text("A fox sleeps."),
            text("Answer with the option's label."),
        )
    ]


def test_the_plain_prompt_is_a_string_where_there_are_no_pictures():
    assert write_messages(request(evidence=(CAPTION,), options={})) == [
        {"role": "user", "content": "Which animal?\n\nA fox sleeps.\n\nAnswer briefly."}
    ]


def test_only_the_evidence_differs_between_two_requests():
    asked = [SYSTEM, user(text("Which?"), named("evidence:0"))]
    first = written(asked, item("0", frames=[b"one"]))
    other = written(asked, item("0", frames=[b"eno"]))
    assert first != other
    assert repr(first).replace(uri(b"one"), "…") == repr(other).replace(uri(b"eno"), "…")
