"""``carve-stats verify``: exit status 0 passed, 1 a failed check, 2 wrong input."""

import json
import subprocess
import sys

import pytest

from carve_stats.testing.signatures import signatures

RIGHT = """
def delta(sham, destroy):
    print("called")
    sham, destroy = ([f for f in arm if f is not None] for arm in (sham, destroy))
    if not (sham and destroy):
        return None
    return (sum(destroy) * len(sham) - sum(sham) * len(destroy)) / (len(sham) * len(destroy))

def swapped(sham, destroy):
    return delta(destroy, sham)

def defer(scores):
    return scores <= 0

"""


@pytest.fixture(autouse=True)
def _theirs(tmp_path, monkeypatch):
    monkeypatch.setattr("carve_stats.testing.search.LARGEST", 3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "theirs", raising=False)
    (tmp_path / "theirs.py").write_text(RIGHT)


def test_a_right_estimator_passes(command):
    status, out, _ = command("verify", "theirs:delta", "--k", 2)
    assert status == 0
    assert out.startswith("estimator theirs:delta: passed: 14 checks\n")
    assert "called" not in out.splitlines()  # what it prints is no part of the result


def test_a_wrong_one_is_told_with_the_counterexample(command):
    status, out, _ = command("verify", "theirs:swapped", "--k", 2)
    assert status == 1
    assert "estimator theirs:swapped: FAILED: 5 of 14 checks" in out
    assert "value: SHAM 0 of 1 flipped (0), DESTROY 1 of 1 flipped (1): the score is" in out


def test_json_is_one_object(command):
    status, out, _ = command("verify", "theirs:swapped", "--k", 1, "--json")
    assert status == 1
    result = json.loads(out)
    assert result["passed"] is False
    assert {"name", "passed", "counterexample"} <= result["checks"][0].keys()
    failed = [check["name"] for check in result["checks"] if check["passed"] is False]
    assert failed == ["sign", "value", "unbiased", "distribution", "thresholds"]


def test_a_rule_is_verified_as_a_rule(command):
    status, out, _ = command("verify", "theirs:defer", "--rule", "--k", 1)
    assert out.startswith("rule theirs:defer: ")
    assert status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["theirs:dleta"], "did you mean 'delta'"),
        (["theirs"], "of the form"),
        (["theirs:delta", "--k", "9"], "k=9 must be a whole number from 1 to 6"),
        (["theirs:delta", "--signature", "lits"], "did you mean 'lists'"),
        (["theirs:defer", "--rule", "--signature", "lists"], "--signature"),
        (["json:dumps"], "name one of the signatures"),
        (["json:dumps"], "or verify a function of (sham, destroy) that calls it"),
    ],
)
def test_wrong_input_is_refused(refused, arguments, words):
    said = refused("verify", *arguments)
    assert words in said
    assert "adapt=" not in said  # which is for Python alone


def test_help_names_every_signature(command):
    _, out, _ = command("verify", "--help")
    for name in signatures():
        assert f"\n    {name} " in out


def test_without_hypothesis_one_line_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from carve_stats.cli.main import main\n"
        "sys.argv = ['carve-stats', 'verify', 'theirs:delta']\n"
        "sys.exit(main())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert "pip install 'carve-stats[testing]'" in run.stderr
