"""Naming an agent: files of the folder, and callables of the user's own."""

import sys

import pytest

from carve_stats.errors import InputError
from carve_stats.replay.agents import (
    agent_names,
    describe_agent,
    load_agent,
    opened_agent,
    resolve_options,
)

MODULE = """
def answer(request):
    return "A"

class Agent:
    def __init__(self, *, temperature=1.0):
        self.temperature = temperature
    def __call__(self, request):
        return "A"
    class Inner:
        answer = staticmethod(answer)

class Closing:
    closed = False
    def __call__(self, request):
        return "A"
    def close(self):
        self.closed = True

def make(*, letter):
    if letter == "?":
        raise ValueError("no\\nsuch letter")
    return lambda request: letter

def leave(**options):
    raise SystemExit(0)

def take(*, spec, target):
    return lambda request: spec + target

number = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a module, as the current directory and not on the path."""
    (tmp_path / "my_agent_module.py").write_text(MODULE)
    (tmp_path / "leaving_agent_module.py").write_text("import sys; sys.exit(0)")
    (tmp_path / "broken_agent_module.py").write_text("import no_such_package_at_all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    yield tmp_path
    for name in ("my_agent_module", "broken_agent_module", "leaving_agent_module"):
        sys.modules.pop(name, None)


def test_a_function_is_the_agent(here):
    assert load_agent("python:my_agent_module:answer")(None) == "A"
    assert load_agent("python:my_agent_module:Agent.Inner.answer")(None) == "A"


def test_a_class_is_made_with_its_options(here):
    assert load_agent("python:my_agent_module:Agent").temperature == 1.0
    assert load_agent("python:my_agent_module:Agent", temperature=0.5).temperature == 0.5


def test_a_function_with_options_makes_the_agent(here):
    assert load_agent("python:my_agent_module:make", letter="C")(None) == "C"


def test_options_may_have_any_name(here):
    agent = load_agent("python:my_agent_module:take", spec="A", target="B")
    assert agent(None) == "AB"


def test_only_paths_of_agents_of_our_own_are_taken_relative_to_a_folder(tmp_path):
    options = {"script": "s.jsonl", "replies": None}
    assert resolve_options("scripted", options, tmp_path) == {
        "script": str(tmp_path / "s.jsonl"), "replies": None,
    }  # fmt: skip
    assert resolve_options("scripted", {"script": "/s.jsonl"}, tmp_path) == {"script": "/s.jsonl"}
    assert resolve_options("python:mine:make", options, tmp_path) == options
    assert resolve_options("no such agent", options, tmp_path) == options


def test_what_changes_no_reply_is_no_part_of_the_plan():
    given = {"model": "small", "temperature": 1.0, "timeout": 3, "patience": 5}
    assert describe_agent("openai", given) == {
        "use": "openai", "model": "small", "temperature": 1.0,
    }  # fmt: skip
    command = {"timeout": 3, "processes": 2, "render": True}
    assert describe_agent("command:cat", command) == {"use": "command:cat", "render": True}
    assert describe_agent("python:mine:make", given) == {"use": "python:mine:make", **given}


def test_an_agent_is_closed_in_the_end(here):
    with opened_agent("python:my_agent_module:Closing") as agent:
        assert not agent.closed
    assert agent.closed
    with pytest.raises(ZeroDivisionError), opened_agent("python:my_agent_module:Closing") as agent:
        1 / 0  # noqa: B018
    assert agent.closed


BAD = [
    ("python:leaving_agent_module:x", {}, "cannot import 'leaving_agent_module': SystemExit: 0"),
    ("python:my_agent_module:leave", {"a": 1}, "cannot be made .*SystemExit: 0"),
    ("synthetic", {"spec": 1, "target": 2}, "agent 'synthetic' has no option 'spec'"),
    ("python:my_agent_module:Agent", {"target": 1}, "unexpected keyword argument 'target'"),
    ("scripted", {"script": 3}, "script='3' cannot be read"),
    ("scripted", {"script": "a\0b"}, "script='a.*cannot be read: embedded null byte"),
    ("scripted", {"replies": {"q1": "A"}}, "replies={'q1': 'A'} must map"),
    ("scripted", {"replies": "A"}, "replies='A' must map"),
    ("python:my_agent_modul:answer", {}, "cannot import 'my_agent_modul': ModuleNotFoundError"),
    ("python:broken_agent_module:x", {}, "No module named 'no_such_package_at_all'"),
    ("python:my_agent_module:anwser", {}, "unknown name 'anwser'.*did you mean 'answer'"),
    ("python:my_agent_module:number", {}, "is int, which cannot be called"),
    ("python:my_agent_module:number", {"a": 1}, "takes no options"),
    ("python:my_agent_module:Agent", {"temprature": 1}, "unexpected keyword argument"),
    ("python:my_agent_module:make", {"letter": "?"}, "ValueError: no such letter"),
    ("python:my_agent_module", {}, "must be of the form"),
    ("python:", {}, "must be of the form"),
    ("sythetic", {}, "unknown agent 'sythetic'.*did you mean 'synthetic'"),
    ("synthetic:x", {}, "unknown agent 'synthetic:x'"),
    ("synthetic", {"p": 1}, "agent 'synthetic' has no option 'p': its options are none"),
    ("scripted", {"scrpt": "x"}, "has no option 'scrpt': its options are script, replies"),
    ("_models", {}, "unknown agent '_models'"),
    (7, {}, "agent=7 must be a string"),
]


@pytest.mark.parametrize(("spec", "options", "message"), BAD)
def test_what_cannot_be_loaded_is_one_clear_line(here, spec, options, message):
    with pytest.raises(InputError, match=message) as caught:
        load_agent(spec, **options)
    assert "\n" not in str(caught.value)


def test_names():
    assert {"scripted", "synthetic"} <= set(agent_names())
    assert "python" not in agent_names()
