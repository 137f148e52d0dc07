"""The `command:` agent: what a program is given, and what becomes of its replies."""

import json
import logging
import os
import shlex
import sys

import numpy as np
import pytest
from command_programs import FAILING, agent_of, kept, questions, replay, sh

from carve_stats.errors import AgentError, InputError
from carve_stats.replay.agents import agent_names, load_agent, resolve_options
from carve_stats.replay.agents._json_lines import read_reply
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.loop import run_replays
from carve_stats.replay.trajectories import EvidenceItem, Trajectory, write_trajectories
from carve_stats.testing.conformance import verify_agent
from carve_stats.testing.conformance.requests import sample_requests

# Replies with the request that it was given, and what it finds on disk.
TELLING = """
import json, os, stat, sys
for line in sys.stdin:
    request = json.loads(line)
    evidence = request["evidence"]
    frames = [f for item in (evidence if isinstance(evidence, list) else [evidence])
              for f in item["frames"]]
    for frame in frames:
        with open(frame["path"], "rb") as file:
            frame["data"] = file.read().hex()
        folder = os.stat(os.path.dirname(frame["path"]))
        frame["mode"] = stat.S_IMODE(folder.st_mode)
    print(json.dumps({"id": request["id"], "text": json.dumps(request)}))
"""
# Looks at its evidence, and draws by the seed.
RIGHT = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    seen = sum(len(item["text"] or "") for item in request["evidence"])
    for item in request["evidence"]:
        for frame in item["frames"]:
            with open(frame["path"], "rb") as file:
                seen += len(file.read())
    letter = "ABCD"[(seen + request["seed"]) % 4]
    {fault}
    print(json.dumps({{"id": request["id"], "text": letter}}))
"""


def python(source):
    return shlex.join([sys.executable, "-S", "-c", source])


@pytest.fixture
def agents():
    """A function that makes agents which end with the test."""
    made = []

    def make(command, **options):
        made.append(agent_of(command, **options))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


def test_a_program_is_given_the_whole_request(agents):
    agent = agents(python(TELLING))
    for request in sample_requests():
        told = json.loads(agent(request).text)
        assert told.pop("type") == "answer"
        assert next(iter(told)) == "id"
        assert told.pop("id") > 0
        [item] = told.pop("evidence")
        [shown] = request.evidence
        frames = [
            (bytes.fromhex(f["data"]), f["media_type"], f["time"]) for f in item.pop("frames")
        ]
        assert frames == [(f.data, f.media_type, f.time) for f in shown.frames]
        assert item == {n: getattr(shown, n) for n in ("id", "start", "end", "query", "text")}
        assert told == {
            name: getattr(request, name) for name in type(request).__slots__ if name != "evidence"
        }


def test_frames_are_files_of_nobody_elses_under_new_names_each_time(agents):
    agent = agents(python(TELLING))
    request = sample_requests()[-1]
    told = [json.loads(agent(request).text) for _ in range(2)]
    frames = [f for one in told for f in one["evidence"][0]["frames"]]
    assert {f["mode"] for f in frames} == {0o700}
    assert len({os.path.basename(f["path"]) for f in frames}) == 4
    assert len({os.path.dirname(f["path"]) for f in frames}) == 2
    assert all(f["path"].endswith(".png") for f in frames)
    assert not any(os.path.exists(os.path.dirname(f["path"])) for f in frames)


@pytest.mark.parametrize(
    "deed", ["string", "whole", "nulls", "chats", "long", "half a character", "anything else"]
)
def test_replies(agents, tmp_path, deed):
    [record] = replay(agents(FAILING), questions(deed), tmp_path)[deed]
    assert (record.status, record.answer, record.flip) == ("ok", "B", 1)
    if deed == "whole":
        assert (record.finish_reason, record.usage, record.from_cache) == (
            "stop", {"tokens": 3}, False,
        )  # fmt: skip
        assert int(record.model) > 0
    if deed == "long":
        assert len(record.text) > 10**7


def test_what_a_program_notes_is_logged_without_secrets(agents, tmp_path, caplog, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "very-secret-1")
    caplog.set_level(logging.INFO, logger="carve_stats")
    script = r"""read -r line; printf 'using %s\nhalf \033[31mred\r' "$MY_API_KEY" >&2
        printf '"A"\n'; read -r line"""
    agent = agents(sh(script))
    replay(agent, questions("q"), tmp_path)
    agent.close()
    assert [r.getMessage() for r in caplog.records] == [
        "sh: using [secret]", r"sh: half \x1b[31mred",
    ]  # fmt: skip


def test_workers_have_a_process_each_or_as_many_as_are_let(agents, tmp_path):
    for processes, most in ((1, 1), (2, 2), (None, 4)):
        agent = agents(FAILING, processes=processes)
        names = ["whole"]
        [asked] = questions(*names)
        records = replay(agent, [asked], tmp_path / str(processes), k=40, workers=4)["whole"]
        assert {r.status for r in records} == {"ok"}
        assert 1 <= len({r.model for r in records}) <= most


def test_a_program_that_answers_once_and_leaves_is_started_for_each(agents, tmp_path):
    agent = agents(sh("""read -r line; printf '"A"\\n'"""))
    records = replay(agent, questions("q"), tmp_path, k=20)["q"]
    assert {r.status for r in records} == {"ok"}


def test_captions(agents, tmp_path, rng):
    source = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    text = request["type"]
    if text == "render":
        text = f"{sorted(request)}: {request['evidence']['text']} {request['seed'] > 0}"
    else:
        text = request["evidence"][0]["text"]
    print(json.dumps({"id": request["id"], "text": text}))
"""
    frame = Encoder("png").encode(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
    (tmp_path / "0.png").write_bytes(frame.data)
    item = EvidenceItem(id="e", frames=("0.png",), text="as it was")
    asked = Trajectory(question_id="q", answer="A", options={"A": "x", "B": "y"}, evidence=[item])
    agent = agents(python(source), render=True)
    run_replays(agent, [asked], k=1, store=tmp_path / "run", seed=1, media=tmp_path,
                canary="off")  # fmt: skip
    told = {r.condition: r.text for r in kept(tmp_path / "run")["q"]}
    caption = "['evidence', 'id', 'seed', 'type']: None True"
    assert told == {"self": "as it was", "sham": caption, "destroy": caption}
    with pytest.raises(InputError, match=r"the agent has no render\(\)"):
        run_replays(agents(python(source)), [asked], k=1, store=tmp_path / "b", seed=1,
                    media=tmp_path)  # fmt: skip


FAULTS = {
    None: "pass",
    "condition": 'letter = "A" if request["condition"] == "destroy" else "B"',
    "repetition": 'letter = "AB"[request["attempt"] > 0]',
    "memory": 'letter = kept.setdefault(request["question"], letter)',
    "usage": 'print(json.dumps({"id": request["id"], "text": "A", "usage": {"n": -1}})); continue',
}


@pytest.mark.parametrize("check", FAULTS)
def test_conformance(agents, check):
    source = "kept = {}\n" + RIGHT.format(fault=FAULTS[check])
    verification = verify_agent(agents(python(source)))
    failed = {c.name for c in verification.failed}
    # What is remembered by one process another does not know.
    assert failed - {"threads", "pickle", "order"} == ({check} if check else set()), str(
        verification
    )
    assert check == "memory" or len(failed) <= 1
    assert verification["fingerprint"].passed


def test_the_fingerprint_changes_with_the_script_and_not_with_where_it_lies(tmp_path):
    prints = []
    for folder, text in (("a", "cat"), ("b", "cat"), ("c", "tac")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "s.sh").write_text(text)
        agent = agent_of(
            "sh s.sh --fast", directory=str(tmp_path / folder), timeout=len(prints) + 1
        )
        prints.append(agent.fingerprint())
    assert prints[0] == prints[1] != prints[2]
    assert prints[0]["command"] == ["sh", "s.sh", "--fast"]
    assert list(prints[0]["files"]) == ["s.sh"]
    assert prints[0] != agent_of(
        "sh s.sh --fast", directory=str(tmp_path / "a"), render=True
    ).fingerprint()  # fmt: skip
    assert agent_of("sh", stochastic=True).stochastic is True
    assert agent_of("sh").stochastic is None
    assert repr(agent_of("sh  -c 'a b'")) == "<CommandAgent: sh -c 'a b'>"


def test_a_configuration_runs_the_program_beside_it(command, tmp_path, monkeypatch):
    (tmp_path / "answer.sh").write_text("""while read -r line; do printf '"B"\\n'; done""")
    write_trajectories(tmp_path / "questions.jsonl", questions("q1", "q2"))
    (tmp_path / "run.toml").write_text(
        '[run]\nstore = "run"\nseed = 1\nk = 2\nworkers = 2\n[input]\n'
        'trajectories = "questions.jsonl"\n[agent]\nuse = "command:sh answer.sh"\nprocesses = 1\n'
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    status, out, err = command("replay", tmp_path / "run.toml")
    assert status == 0, err
    assert "12 of 12 replays done (12 valid, 0 invalid)" in out
    status, out, err = command("replay", tmp_path / "run.toml", "--k", 3)
    assert "18 of 18" in out
    (tmp_path / "answer.sh").write_text("""while read -r line; do printf '"A"\\n'; done""")
    status, out, err = command("replay", tmp_path / "run.toml", "--k", 4)
    assert status == 2
    assert "fingerprint" in err


def test_directories_are_those_of_the_configuration(tmp_path):
    assert resolve_options("command:sh", {}, tmp_path) == {"directory": str(tmp_path)}
    given = {"directory": "a", "timeout": 3}
    assert resolve_options("command:sh", given, tmp_path)["directory"] == str(tmp_path / "a")
    assert resolve_options("command:sh", {"directory": "/a"}, tmp_path) == {"directory": "/a"}


BAD = [
    ("", {}, "agent 'command:' needs a program"),
    ("''", {}, "needs a program"),
    ("no-such-program-at-all x", {}, "no program 'no-such-program-at-all' that can be run"),
    ("./none.sh", {}, r"no program './none.sh' that can be run"),
    ("sh 'x", {}, r"cannot be split into words \(No closing quotation\)"),
    ("sh", {"timeout": 0}, "timeout=0 must be a number of seconds above 0"),
    ("sh", {"timeout": float("nan")}, "timeout=nan must be"),
    ("sh", {"timeout": float("inf")}, "timeout=inf must be"),
    ("sh", {"timeout": "1"}, "timeout='1' must be"),
    ("sh", {"timeout": True}, "timeout=True must be"),
    ("sh", {"processes": 0}, "processes=0 must be a whole number"),
    ("sh", {"processes": 1.0}, r"processes=1\.0 must be a whole number"),
    ("sh", {"directory": "/none/at/all"}, "directory='/none/at/all' is no folder"),
    ("sh", {"directory": 3}, "directory=3 must be a path"),
    ("sh", {"render": "yes"}, "render='yes' must be true or false"),
    ("sh", {"stochastic": 1}, "stochastic=1 must be true or false"),
    ("sh", {"tiemout": 1}, "no option 'tiemout': its options are timeout, processes, directory"),
    ("sh --api-key sk-abcdefgh1234", {}, "has what looks like a secret in it"),
]


@pytest.mark.parametrize(("line", "options", "message"), BAD)
def test_what_cannot_be_an_agent_is_one_clear_line(line, options, message):
    with pytest.raises(InputError, match=message) as caught:
        agent_of(line, **options)
    assert "\n" not in str(caught.value)
    assert "sk-abc" not in str(caught.value)


def test_names():
    assert "command" not in agent_names()
    for wrong in ("command", "comand:sh"):
        with pytest.raises(InputError, match=r"unknown agent .*command:PROGRAM"):
            load_agent(wrong)


NO_REPLIES = {
    "no text": 'its reply {"id": 1} has no text: give one, or an error',
    "number": "its reply 3 must be an object with a text, or a string",
    "no such field": "unknown field 'finsh_reason'.*did you mean 'finish_reason'",
    "text is a number": "text is int, it must be a str",
    "usage in words": "usage 'tokens'='many' must be a number",
}


@pytest.mark.parametrize("deed", NO_REPLIES)
def test_json_that_is_no_reply_stops_the_run(agents, tmp_path, deed):
    with pytest.raises(AgentError, match=NO_REPLIES[deed]) as caught:
        replay(agents(FAILING), questions(deed), tmp_path)
    assert "\n" not in str(caught.value)


def test_a_reply_in_plain_json():
    read = read_reply(b'{"text": "a", "id": 4}', 4)
    assert (read.text, read.answer, dict(read.usage)) == ("a", None, {})
