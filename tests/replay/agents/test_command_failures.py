"""A `command:` program that fails costs the replay that it had, and nothing is left running."""

import logging
import os
import re
import signal
import subprocess
import sys

import pytest
from command_programs import FAILING, Watch, agent_of, kept, questions, replay, sh

from carve_stats.errors import AgentError
from carve_stats.replay.agents import _program
from carve_stats.replay.agents._program import Program, ProgramError, ProgramTimeoutError

FAILURES = {
    "closes": "ended: exit status 4",
    "deep": r"a line that is no JSON, '\[\[",
    "dies": "ended: killed by SIGSEGV",
    "exits": "ended: exit status 3",
    "half": """ended after half a line, {"id": 1, "te: exit status 0""",
    "is killed": "ended: killed by SIGKILL",
    "leaves": "ended: exit status 0",
    "long, no JSON": "a line that is no JSON, 'xxxxx",
    "NUL": "a line that is no JSON",
    "no JSON": r"a line that is no JSON, 'Loading .*x1b\[31mweights'",
    "no UTF-8": "a line that is no JSON",
    "other id": "replied to request [0-9]+, it was asked [0-9]+",
    "raises": r"exit status 1; its last line on stderr: MemoryError: no\\x1b\[31m room",
    "says": r"the program says: server is\\n down",
    "twice": "wrote more than one line for one request",
}


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


@pytest.fixture
def watch(tmp_path):
    watch = Watch(tmp_path)
    yield watch
    watch.close()


@pytest.mark.parametrize("deed", FAILURES)
def test_a_failure_is_a_failed_attempt_and_the_next_replay_has_a_new_process(
    agents, tmp_path, deed
):
    records = replay(agents(FAILING), questions("a", deed, "z"), tmp_path)
    [failed] = records[deed]
    assert (failed.status, failed.flip) == ("transport_error", None)
    assert re.search(FAILURES[deed], failed.text), failed.text
    assert len(failed.text) < 700
    assert [records[name][0].status for name in ("a", "z")] == ["ok", "ok"]


@pytest.mark.parametrize("deed", ["dies", "twice"])
def test_others_go_on_beside_a_failure(agents, tmp_path, deed):
    names = [f"q{i}" for i in range(20)]
    asked = questions(*names[:10], deed, *names[10:])
    records = replay(agents(FAILING), asked, tmp_path, k=2, workers=4)
    assert [r.status for r in records.pop(deed)] == ["transport_error"] * 2
    assert {r.status for name in names for r in records[name]} == {"ok"}


def test_a_line_that_nobody_asked_for_is_never_the_next_reply(agents, tmp_path):
    """Whether it comes before the next request or after, the records are those of the firsts."""
    records = replay(agents(FAILING), questions("late", "plain"), tmp_path, k=6)
    told = [r.text for name in ("late", "plain") for r in records[name] if r.status == "ok"]
    assert told
    assert set(told) == {"The answer is B."}


def test_a_program_that_hangs_is_stopped_with_what_it_started(agents, tmp_path, watch, monkeypatch):
    monkeypatch.setattr(_program, "GRACE", 0.2)
    script = f"""exec 3>{watch.path}; trap '' TERM; sleep 600 & read -r line; printf x >&3
        echo thinking >&2; sleep 600"""
    records = replay(agents(sh(script), timeout=0.5), questions("q"), tmp_path / "run")
    assert records["q"][0].text.endswith(
        "ProgramTimeoutError: sh gave no reply within 0.5 s, and was stopped; its last line on"
        " stderr: thinking"
    )
    assert watch.opened()
    assert watch.ended()


def test_notes_without_end_do_not_put_off_the_end_of_the_time(tmp_path):
    program = Program(["sh", "-c", "while :; do echo note >&2; done"], tmp_path)
    with pytest.raises(ProgramTimeoutError, match=r"no reply within 0\.2 s"):
        program.ask(b"{}\n", timeout=0.2)


def test_a_request_that_is_not_read_is_given_up(tmp_path):
    program = Program(["sleep", "600"], tmp_path)
    with pytest.raises(ProgramTimeoutError):
        program.ask(b"x" * 10**6 + b"\n", timeout=0.2)
    program = Program(["echo", '"A"'], tmp_path)
    with pytest.raises(ProgramError, match=r"replied before it had read|exit status 0"):
        program.ask(b"x" * 10**6 + b"\n", timeout=30)


def test_a_line_has_a_greatest_length(tmp_path, monkeypatch):
    monkeypatch.setattr(_program, "LONGEST_LINE", 2**20)
    program = Program(["sh", "-c", "read -r line; cat /dev/zero"], tmp_path)
    with pytest.raises(ProgramError, match="sh wrote a line of more than 1 MB"):
        program.ask(b"{}\n", timeout=30)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no such model >&2; exit 7", "exit status 7; its last line on stderr: no such model"),
        ("echo Welcome; read -r line; read -r line", "a line that is no JSON, 'Welcome'"),
    ],
)
def test_a_program_that_never_replies_stops_the_run(agents, tmp_path, script, said):
    with pytest.raises(
        AgentError, match="has failed 3 times without ever having replied"
    ) as caught:
        replay(agents(sh(script)), questions("q"), tmp_path, k=10)
    assert said in str(caught.value)
    assert "try it by hand" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [r.status for r in kept(tmp_path)["q"]] == ["transport_error"] * 2


def test_a_program_that_cannot_be_started_stops_the_run(agents, tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    with pytest.raises(AgentError, match=r"program cannot be started .*check the command"):
        replay(agents(str(program)), questions("q"), tmp_path / "run")
    assert kept(tmp_path / "run") == {}


def test_failures_are_told_in_the_log(agents, tmp_path, caplog):
    caplog.set_level(logging.WARNING, logger="carve_stats")
    replay(agents(FAILING), questions("a", "exits"), tmp_path)
    [record] = caplog.records
    assert "exit status 3; it is started again for the next request" in record.getMessage()


def test_at_the_end_programs_end_with_what_they_started(tmp_path, watch, monkeypatch):
    """Whether they end with their input, or only when they are killed."""
    monkeypatch.setattr(_program, "GRACE", 0.2)
    for trap in ("", "trap '' TERM; "):
        script = f"""exec 3>{watch.path}; {trap}sleep 600 & printf x >&3
            while read -r line; do printf '"A"\\n'; done; {trap and "sleep 600"}"""
        agent = agent_of(sh(script))
        records = replay(agent, questions("q"), tmp_path / f"run{len(trap)}")
        assert records["q"][0].status == "ok"
        assert watch.opened()
        agent.close()
        assert watch.ended()


def test_an_agent_can_be_asked_again_after_its_end(agents, tmp_path):
    agent = agents(FAILING)
    for name in ("first", "second"):
        assert replay(agent, questions("q"), tmp_path / name)["q"][0].status == "ok"
        agent.close()


OWNER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from command_programs import agent_of, sh
from carve_stats.testing.conformance.requests import sample_requests
script = f'''exec 3>{sys.argv[2]}; printf x >&3; while read -r line; do printf '"A"\\\\n'; done'''
agent = agent_of(sh(script))
assert agent(sample_requests()[0]).text == "A"
print("asked", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("end", [None, signal.SIGKILL])
def test_programs_end_with_the_python_that_asks_them(tmp_path, watch, end):
    owner = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", OWNER, os.path.dirname(__file__), watch.path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with owner:
        assert owner.stdout.readline() == b"asked\n"
        assert watch.opened()
        if end is not None:
            owner.send_signal(end)
        _, errors = owner.communicate()
        assert (owner.returncode, errors) == (0 if end is None else -end, b"")
    assert watch.ended()
