"""`carve-stats reparse`: tables, JSON, and a new run directory."""

import pytest

from carve_stats.replay import loop, replies
from carve_stats.replay.loop import run_replays
from carve_stats.replay.parsing import ParsedAnswer
from carve_stats.replay.trajectories import Trajectory


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of a parser that took the first letter of every reply."""
    questions = [
        Trajectory(
            question_id=f"q{i}\n", video_id=f"v{i}", answer="A", options={"A": "x", "B": "y"}
        )
        for i in range(3)
    ]
    with monkeypatch.context() as patch:
        patch.setattr(loop, "PARSER_VERSION", "0")
        patch.setattr(
            replies, "parse_answer", lambda text, options: ParsedAnswer(text[0], "ok", "first")
        )
        sham = "A\x1b[31m man\n" + "is there " * 20
        run_replays(
            lambda request: sham if request.condition == "sham" else "B",
            questions, k=2, store=tmp_path / "run", seed=1,
        )  # fmt: skip
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def test_tables(run, command):
    status, out, err = command("reparse", run)
    assert (status, err) == (0, "")
    assert "parser 0, judged anew by parser" in out
    assert "\x1b" not in out
    rows = [line.split() for line in out.splitlines()]
    assert ["sham", "6", "0", "6", "0", "0", "0", "0"] in rows
    assert ["destroy", "6", "6", "0", "0", "0", "0", "0"] in rows
    assert "6 records change" in out
    [first] = [line for line in out.splitlines() if line.startswith("q0\\n") and " 0  " in line][:1]
    assert "no_commitment" in first
    assert "\\x1b[31m man\\nis there" in first
    assert first.endswith("…")


def test_json(run, command_json):
    result = command_json("reparse", run)
    assert result["changes"]["sham"]["valid to invalid"] == 6
    assert len(result["changed"]) == 6
    assert result["before"]["score"]["estimate"] == 1
    assert result["after"]["score"]["estimate"] is None
    assert result["after"]["score"]["highest"] == 1
    assert result["after"]["score"]["lowest"] == 0
    assert result["out"] is None


def test_out(run, command, command_json, refused):
    _, out, _ = command("reparse", run, "--out", "new")
    assert out.splitlines()[-1].startswith("new: run ")
    assert command_json("status", "new")["invalid"] == 6
    assert "new exists" in refused("reparse", run, "--out", "new")
    assert "go on with the run itself" in refused("reparse", "new", "--out", "newer")


def test_no_run(tmp_path, refused):
    assert "is not a run" in refused("reparse", tmp_path)
