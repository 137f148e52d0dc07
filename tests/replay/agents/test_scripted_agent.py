"""The scripted agent: from a mapping, from a file, and from the records of a run."""

import json

import pytest

from carve_stats.errors import AgentError, InputError, RecordError
from carve_stats.replay.agents import load_agent
from carve_stats.replay.agents.scripted import ScriptedAgent, read_script
from carve_stats.replay.loop import run_replays
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory
from carve_stats.testing.conformance import verify_agent
from carve_stats.testing.conformance.requests import sample_requests

QUESTION = Trajectory(question_id="q1", answer="A", options={"A": "x", "B": "y"})
LINES = [
    {"question_id": "q1", "condition": "SHAM", "repetition": 0, "text": "B", "more": 1},
    {"question_id": "q1", "condition": "sham", "repetition": 1, "attempt": 2, "text": "?"},
]


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_it_keeps_the_contract_as_far_as_its_script_does():
    requests = sample_requests()
    replies = {
        (r.question_id, condition, repetition): "The answer is A."
        for r in requests
        for condition in ("self", "sham", "destroy")
        for repetition in range(4)
    }
    assert verify_agent(ScriptedAgent(replies), requests=requests).passed
    by_condition = {key: f"The answer is {'AB'[key[1] == 'destroy']}." for key in replies}
    by_repetition = {key: f"The answer is {'ABCA'[key[2]]}." for key in replies}
    for script, fault in ((by_condition, "condition"), (by_repetition, "repetition")):
        verification = verify_agent(ScriptedAgent(script), requests=requests)
        assert [check.name for check in verification.failed] == [fault]


def test_a_script_file(tmp_path):
    path = write(tmp_path / "s.jsonl", LINES)
    assert read_script(path) == {("q1", "sham", 0, 0): "B", ("q1", "sham", 1, 2): "?"}
    assert repr(load_agent("scripted", script=path)) == "<ScriptedAgent: 2 replies>"


def test_a_run_is_a_script_of_itself(tmp_path):
    agent = ScriptedAgent({("q1", c, r): "AB"[r % 2] for c in ("sham", "destroy") for r in (0, 1)})
    for name, replayed in (("first", agent), ("second", None)):
        if replayed is None:
            [segment] = (tmp_path / "first" / "segments").iterdir()
            replayed = load_agent("scripted", script=str(segment))
        run_replays(replayed, [QUESTION], k=2, store=tmp_path / name, seed=1,
                    conditions=["sham", "destroy"])  # fmt: skip
    first, second = (
        {r.key: (r.text, r.answer, r.flip) for r in RunStore.load(tmp_path / name).records()}
        for name in ("first", "second")
    )
    assert first == second
    assert first["q1", "sham", 1, 0] == ("B", "B", 1)


def test_a_reply_that_is_not_scripted_names_its_replay(tmp_path):
    agent = ScriptedAgent({("q1", "sham", 0): "A"})
    with pytest.raises(AgentError, match=r"no reply for \('q1', 'sham', 1, 0\)"):
        run_replays(agent, [QUESTION], k=2, store=tmp_path, seed=1, conditions=["sham"])


def test_another_script_is_another_agent():
    one, same, other = (ScriptedAgent({("q", "sham", 0): text}) for text in "AAB")
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    ("line", "message"),
    [({"question_id": "q1"}, "condition"), ({**LINES[0], "text": 3}, "text"), ([], "object"),
     ({**LINES[0], "text": "A"}, "another reply for")],
)  # fmt: skip
def test_a_bad_line(tmp_path, line, message):
    path = write(tmp_path / "s.jsonl", [LINES[0], line])
    with pytest.raises(RecordError, match=rf"s\.jsonl:2: .*{message}"):
        read_script(path)


def test_no_script(tmp_path):
    with pytest.raises(InputError, match=r"script=.* cannot be read"):
        load_agent("scripted", script=str(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match="needs the option script"):
        load_agent("scripted")
