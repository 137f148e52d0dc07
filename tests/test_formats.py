"""The examples of docs/formats.md are read by the code they describe."""

import re
import sys
from pathlib import Path

import pytest

import carve_stats as cs
from carve_stats.logs.benchmarks import FORMATS, read_benchmark
from carve_stats.logs.outcomes import read_outcomes
from carve_stats.replay.config import read_config

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/formats.md").read_text()
LOG, TRAJECTORIES, LEAST = re.findall(r"```jsonl\n(.*?)```", PAGE, flags=re.S)
OUTCOMES, DEFERRAL = re.findall(r"```csv\n(.*?)```", PAGE, flags=re.S)
BENCHMARK, FROZEN = re.findall(r"```json\n(.*?)```", PAGE, flags=re.S)
README = (ROOT / "README.md").read_text()
TOML = re.findall(r"```toml\n(.*?)```", PAGE + README, flags=re.S)
(PRICES,) = [text for text in TOML if "[models" in text]
TOML.remove(PRICES)


def test_the_log_is_read(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(LOG)
    counts = cs.read_replays(path)
    assert (counts.sham_flips, counts.sham_replays) == ([0], [1])
    assert (counts.destroy_flips, counts.destroy_replays) == ([1], [1])
    assert counts.destroy_invalid == [1]
    assert counts.cluster.tolist() == ["601"]


def test_the_trajectories_are_read(tmp_path):
    path = tmp_path / "trajectories.jsonl"
    path.write_text(TRAJECTORIES)
    first, second = cs.read_trajectories(path)
    assert first.evidence[0].frames == ("frames/q1-0.jpg",)
    assert second.evidence[0].times == (3.0, 3.5)


def test_the_least_trajectory_is_the_readmes_and_can_be_replayed(tmp_path):
    assert re.findall(r"```jsonl\n(.*?)```", README, flags=re.S) == [LEAST]
    path = tmp_path / "trajectories.jsonl"
    path.write_text(LEAST)
    shown = []
    cs.run_replays(
        lambda request: shown.append(request.evidence[0].text) or "B",
        cs.read_trajectories(path),
        k=1,
        store=tmp_path / "run",
        seed=1,
    )
    assert len(shown) == 3


def test_the_outcomes_are_read(tmp_path):
    path = tmp_path / "outcomes.csv"
    path.write_text(OUTCOMES)
    outcomes = read_outcomes(path)
    assert outcomes.original_correct.tolist() == [1, 0, 1]
    strong = outcomes.alternatives["strong"]
    assert strong.known.tolist() == [False, True, False]  # free text, and no answer
    assert strong.correct[1] == 1
    assert strong.tokens[:2].tolist() == [1450, 1210]
    assert outcomes.cluster.tolist() == ["601", "601", "602"]
    assert outcomes.covariates["covered"].tolist() == ["true", "false", "true"]


def test_a_deferral_writes_that_table(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "strong.py").write_text(
        "from carve_stats.replay.protocols import ReplayReply\n"
        "def answer(request):\n"
        "    text = 'B' if request.question_id == 'q1' else 'I cannot tell.'\n"
        "    return ReplayReply(text=text, usage={'prompt_tokens': 40, 'completion_tokens': 2})\n"
    )
    questions = [
        cs.Trajectory(
            question_id=q, video_id=v, answer="A", correct=c, options={"A": "yes", "B": "no"}
        )
        for q, v, c in (("q1", "v1", "B"), ("q2", "v1", "A"), ("q3", "v2", "B"))
    ]
    cs.run_replays(
        lambda asked: "B" if (asked.question_id, asked.condition) == ("q2", "destroy") else "A",
        questions,
        k=1,
        store="RUN",
        seed=1,
    )
    status, _, err = command("defer", "RUN", "--agent", "python:strong:answer", "--out", "FILE.csv")
    sys.modules.pop("strong")
    assert status == 0, err
    assert Path("FILE.csv").read_text() == DEFERRAL
    outcomes = read_outcomes("FILE.csv")
    assert outcomes.alternatives["python-strong-answer"].known.tolist() == [True, False, False]


def test_the_benchmark_file_is_read(tmp_path):
    path = tmp_path / "video_info.meta.jsonl"
    path.write_text(BENCHMARK)
    question = read_benchmark(path)["55"]
    assert (question.video_id, question.options) == ("Xy_3z", {"A": "A kite", "B": "A gull"})
    assert (question.answer, question.interval) == ("B", (65, 79))


def test_the_prices_are_read(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    prices = cs.read_prices(path)
    assert prices.currency == "USD"
    assert set(prices.models) == {"gpt-4o-mini", "default"}


def test_the_carve_layout_is_read(tmp_path):
    (tmp_path / "frozen").mkdir()
    (tmp_path / "frozen/601-2.json").write_text(FROZEN)
    [read] = cs.read_trajectories(tmp_path / "frozen")
    assert (read.question_id, read.video_id, read.answer, read.correct) == (
        "601-2",
        "601",
        "A",
        "B",
    )
    assert read.options == {"A": "A rabbit", "B": "A fox"}
    [item] = read.evidence
    assert (item.video, item.times, item.query) == ("clips/601.mp4", (12.0, 12.5), "animal")
    assert item.text == "An animal comes out."
    assert "An animal" not in str(read.frozen["messages"])


def test_every_benchmark_has_its_line():
    section = PAGE.partition("## Benchmark files")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (\w[\w-]*) \|", section, flags=re.M)[1:]
    assert {one.lower().replace("-", "") for one in lines} == {one.NAME for one in FORMATS}


@pytest.mark.parametrize("text", TOML)
def test_the_configuration_is_read(tmp_path, text):
    path = tmp_path / "audit.toml"
    path.write_text(text)
    config = read_config(path)
    assert config.seed == 1
    assert config.store == tmp_path / "runs/audit"


def test_every_table_entry_of_a_configuration_is_shown():
    from carve_stats.replay.config import _ENTRIES

    for entries in _ENTRIES.values():
        for entry in entries:
            assert re.search(rf"^{entry} = ", TOML[0], flags=re.M), entry
