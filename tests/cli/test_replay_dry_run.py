"""`carve-stats replay --dry-run`, `--max-calls` and `--max-cost`."""

import json
from fractions import Fraction

import pytest

from carve_stats.replay.trajectories import Trajectory, write_trajectories

CONFIG = """
[run]
seed = 7
k = 3
store = "run"
[input]
trajectories = "trajectories.jsonl"
[agent]
use = "python:paid_agent:answer"
[cost]
prices = "prices.toml"
"""
PRICES = """
currency = "EUR"
[models.sage]
input = 1.0
output = 10.0
"""
# 1000 tokens in and 100 out: 0.002 each. Each call leaves a mark.
AGENT = """
from carve_stats import ReplayReply

def answer(request):
    with open("calls", "a") as file:
        file.write("x")
    return ReplayReply(text="A", model="sage-20260101",
                       usage={"prompt_tokens": 1000, "completion_tokens": 100})

def silent(request):
    return "A"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Eight questions, seventy-two replays."""
    write_trajectories(
        tmp_path / "trajectories.jsonl",
        [Trajectory(question_id=f"q{i}", answer="A", options={"A": "yes", "B": "no"})
         for i in range(8)],
    )  # fmt: skip
    (tmp_path / "audit.toml").write_text(CONFIG)
    (tmp_path / "prices.toml").write_text(PRICES)
    (tmp_path / "paid_agent.py").write_text(AGENT)
    (tmp_path / "calls").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def calls(folder):
    return len((folder / "calls").read_text())


def test_a_dry_run_asks_nothing_and_writes_nothing(folder, command, command_json):
    before = sorted(p for p in folder.rglob("*") if "__pycache__" not in p.parts)
    code, out, _ = command("replay", "audit.toml", "--dry-run")
    assert code == 0
    assert "run: 8 questions; so far 0 calls made" in out
    assert "Run with --limit 2 first: the same store goes on" in " ".join(out.split())
    price = command_json("replay", "audit.toml", "--dry-run")
    assert price["total"]["calls"]["expected"] == 72
    assert price["total"]["cost"] is None
    assert sorted(p for p in folder.rglob("*") if "__pycache__" not in p.parts) == before
    assert calls(folder) == 0


def test_two_questions_measure_the_others(folder, command, command_json):
    command_json("replay", "audit.toml", "--limit", 2)
    price = command_json("replay", "audit.toml", "--dry-run", "--workers", 3)
    cost = float(54 * Fraction(2, 1000))
    assert price["total"]["cost"] == pytest.approx({"expected": cost, "low": cost, "high": cost})
    assert price["spent"] == {"calls": 18, "cost": pytest.approx(0.036)}
    assert price["currency"] == "EUR"
    assert price["duration"]["expected"] > 0
    _, out, _ = command("replay", "audit.toml", "--dry-run")
    assert "so far 18 calls made, 0.04 EUR spent" in out
    assert [line.split()[-4:] for line in out.splitlines() if line.startswith("EUR")] == [
        ["0.04", "0.04", "0.04", "0.11"]
    ]
    assert calls(folder) == 18


def test_another_run_is_measured_on(folder, command_json, refused):
    command_json("replay", "audit.toml", "--limit", 2, "--store", "other")
    price = command_json("replay", "audit.toml", "--dry-run", "--like", "other")
    assert price["total"]["tokens_in"]["expected"] == 72_000
    assert "--dry-run" in refused("replay", "audit.toml", "--like", "other")


@pytest.mark.parametrize("workers", [1, 8])
def test_the_number_of_calls_is_kept_over_several_commands(folder, command, command_json, workers):
    given = ("replay", "audit.toml", "--workers", workers, "--max-calls")
    code, out, _ = command(*given, 20)
    assert code == 0
    assert out == (
        "run: 20 of 72 replays done (20 valid, 0 invalid)\n"
        "stopped at --max-calls 20 (20 made): raise it and the same command goes on\n"
    )
    assert calls(folder) == 20
    command(*given, 20)
    assert calls(folder) == 20
    status = command_json(*given, 50)
    assert (status["done"], status["finished"]) == (50, False)
    assert status["spent"] == {
        "calls": 50, "cost": pytest.approx(0.1), "currency": "EUR", "stopped_at": "max_calls",
    }  # fmt: skip
    code, out, _ = command(*given, 72)
    assert (code, out) == (0, "run: 72 of 72 replays done (72 valid, 0 invalid)\n")
    assert calls(folder) == 72


def test_money_is_kept(folder, command, command_json):
    code, out, _ = command("replay", "audit.toml", "--max-cost", "0.0399", "--workers", 8)
    assert code == 0
    assert out.endswith(
        "stopped at --max-cost 0.0399 (0.038 EUR spent): raise it and the same command goes on\n"
    )
    assert calls(folder) == 19
    (folder / "audit.toml").write_text(CONFIG + "max_cost = 0.05\nmax_calls = 60\n")
    assert command_json("replay", "audit.toml")["spent"]["stopped_at"] == "max_cost"
    assert calls(folder) == 25
    assert command_json("replay", "audit.toml", "--max-cost", 1)["spent"]["stopped_at"] == (
        "max_calls"
    )
    assert calls(folder) == 60


def test_a_reply_without_tokens_stops_with_one_line(folder, command):
    (folder / "audit.toml").write_text(CONFIG.replace("answer", "silent"))
    (folder / "prices.toml").write_text(PRICES.replace("sage", "default"))
    code, _, err = command("replay", "audit.toml", "--max-cost", 1)
    assert code == 1
    assert "does not tell its tokens" in err.splitlines()[-1]
    # What was answered is kept, and calls can be limited all the same.
    code, out, _ = command("replay", "audit.toml", "--max-calls", 10)
    assert (code, out.splitlines()[0]) == (0, "run: 10 of 72 replays done (10 valid, 0 invalid)")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-calls", 0), "max_calls (--max-calls)=0"),
        (("--max-cost", 0), "max_cost (--max-cost)=0.0"),
        (("--max-cost", "nan"), "max_cost (--max-cost)=nan"),
        (("--max-cost", "5", "--prices", "absent.toml"), "absent.toml"),
        (("--dry-run", "--prices", "paid_agent.py"), "paid_agent.py: not a TOML file"),
        (("--dry-run", "--seed", "x"), "--seed"),
    ],
)
def test_impossible_options_are_one_line_and_nothing_is_written(folder, refused, options, said):
    assert said in refused("replay", "audit.toml", *options)
    assert not (folder / "run").exists()
    assert calls(folder) == 0


def test_money_needs_prices(folder, refused):
    (folder / "audit.toml").write_text(CONFIG.partition("[cost]")[0])
    assert "needs the entry prices (--prices)" in refused("replay", "audit.toml", "--max-cost", 5)
    assert "[cost]: unknown entry" in refused("replay", _with(folder, "max_call = 3"))
    assert "max_calls" in refused("replay", _with(folder, "max_calls = 2.5"))


def _with(folder, line):
    path = folder / "other.toml"
    path.write_text(CONFIG + line)
    return path


def test_a_dry_run_of_a_run_that_stops_questions_early(folder, command_json):
    price = command_json(
        "replay", "audit.toml", "--dry-run", "--stop-when-decided", "score <= 0",
        "--order", "alternate", "--minimum", "1,1",
    )  # fmt: skip
    sham = price["conditions"]["sham"]["replays"]
    assert sham["low"] <= sham["expected"] <= sham["high"] == 24
    assert price["conditions"]["self"]["replays"]["expected"] == 24
    assert json.dumps(price)
