"""The examples of docs/agents.md run as they stand."""

import json
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from carve_stats.errors import InputError
from carve_stats.replay.agents import agent_names, load_agent
from carve_stats.replay.agents._chat_messages import check_conversation
from carve_stats.replay.agents._json_lines import write_request
from carve_stats.replay.agents.command import build
from carve_stats.replay.trajectories import EvidenceItem, Trajectory
from carve_stats.testing.conformance import verify_agent
from carve_stats.testing.conformance.requests import sample_requests

PAGE = (Path(__file__).parents[3] / "docs/agents.md").read_text()
FILES = dict(re.findall(r"```\w+\n# (\w+\.(?:py|sh))\n(.*?)```", PAGE, flags=re.S))
TOML = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, flags=re.S)]
REQUEST, CONVERSATION = re.findall(r"```json\n(.*?)```", PAGE, flags=re.S)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the page's files, as the current directory."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("my_agent", None)


def test_the_page_has_these_files():
    assert sorted(FILES) == ["my_agent.py", "my_program.py", "my_program.sh"]


@pytest.mark.parametrize("spec", ["my_agent:answer", "my_agent:Agent"])
def test_the_python_agent_keeps_the_contract(here, spec):
    verification = verify_agent(load_agent(f"python:{spec}"))
    assert verification.passed, str(verification)
    assert verification["stochastic"].passed is (True if "Agent" in spec else None)


@pytest.mark.parametrize("program", ["my_program.py", "my_program.sh"])
def test_the_programs_keep_the_contract(here, program):
    run = "sh" if program.endswith("sh") else sys.executable
    agent = load_agent(f"command:{run} {program}")
    verification = verify_agent(agent)
    assert verification.passed, str(verification)
    [shown, *_] = sample_requests()
    seen = {agent(request).text for request in (shown, _with_rabbit(shown))}
    assert "The answer is A." in seen
    agent.close()


def _with_rabbit(request):
    [item] = request.evidence
    return replace(request, evidence=(replace(item, text="It is a rabbit."),))


def test_the_configurations_name_agents_and_their_options(here, monkeypatch):
    python, command, openai = (entry["agent"] for entry in TOML)
    options = {name: value for name, value in python.items() if name != "use"}
    assert load_agent(python["use"], **options).boldness == 0.7
    (here / "agent").mkdir()
    options = {name: value for name, value in command.items() if name != "use"}
    agent = build(command["use"].removeprefix("command:").replace("python3", "sh"), **options)
    assert agent.stochastic is True
    monkeypatch.setenv("MY_SERVER_KEY", "a key of mine")
    options = {name: value for name, value in openai.items() if name != "use"}
    assert load_agent("openai", **options).stochastic is True


def test_the_conversation_is_one_that_can_be_asked():
    evidence = [EvidenceItem(id="0", frames=("a.png",)), EvidenceItem(id="1", text="a caption"),
                EvidenceItem(id="2", text="another")]  # fmt: skip
    asked = dict(question_id="q", answer="A", options={"A": "a rabbit", "B": "a fox"})
    conversation = json.loads(CONVERSATION)
    check_conversation(Trajectory(**asked, evidence=evidence, frozen=conversation))
    evidence.append(EvidenceItem(id="3", text="one that has no place"))
    with pytest.raises(InputError, match="'3'"):
        check_conversation(Trajectory(**asked, evidence=evidence, frozen=conversation))


def test_the_request_has_the_fields_that_a_program_is_given(here):
    told = json.loads(REQUEST)
    given = write_request(sample_requests()[-1], here)
    assert list(told) == ["id", *given]
    assert list(told["evidence"][0]) == list(given["evidence"][0])
    assert list(told["evidence"][0]["frames"][0]) == list(given["evidence"][0]["frames"][0])


def test_all_agents_are_named():
    assert all(f'"{name}"' in PAGE for name in agent_names())
