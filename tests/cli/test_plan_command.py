"""`carve-stats plan`: the library's plan, the promised keys, one line for bad input."""

import csv
from contextlib import contextmanager

import numpy as np
import pytest

import carve_stats as cs


def write_csv(path, columns):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return path


@pytest.fixture
def logs(tmp_path):
    counts = cs.Population.paper().sample(80, 2, clusters=16, rng=3)
    columns = {"question_id": counts.question, "video_id": counts.cluster}
    for name in ("sham_flips", "sham_replays", "destroy_flips", "destroy_replays"):
        columns[name] = getattr(counts, name)
    return write_csv(tmp_path / "logs.csv", columns)


def test_json_is_the_librarys(logs, command_json, tmp_path):
    result = command_json(
        "plan", logs, "--goal", "tie rate <= 0.3", "--k", "1-3,4", "--question-cost", "2",
        "--replay-cost", "0.5", "--destroy-extra", "0.1", "--budget", "500", "--level", "0.9",
        "--model", "em", "--questions", "160", "--figures", tmp_path / "drawn",
    )  # fmt: skip
    plan = cs.plan_budget(
        cs.read_replays(logs), goal="tie rate <= 0.3", k=[1, 2, 3, 4], budget=500, level=0.9,
        cost=cs.Cost(question=2, replay=0.5, destroy_extra=0.1), model="em", questions=160,
    ).to_dict()  # fmt: skip
    figures = result.pop("figures")
    assert result == plan
    assert [entry["k"] for entry in result["k"]] == [1, 2, 3, 4]
    assert figures == [str(tmp_path / "drawn" / f"plan.{end}") for end in ("png", "svg")]


def test_populations_and_rates(command, command_json):
    paper = command_json("plan", "paper", "--goal", "reliability >= 0.9")
    assert paper["recommended"]["k"] == 22
    rates = command_json(
        "plan", "rates", "--p-sham", "0.34", "--p-destroy", "0.64", "--goal", "power >= 0.8",
        "--questions", "30", "--clusters", "15", "--design-effect", "1.5",
    )  # fmt: skip
    plan = cs.plan_budget(
        (0.34, 0.64), goal="power >= 0.8", questions=30, clusters=15, design_effect=1.5
    )
    assert rates["recommended"] == plan.recommended.to_dict()
    status, shown, _ = command("plan", "paper", "--goal", "tie rate <= 0.1", "--k", "12-15")
    assert status == 0
    assert shown.startswith("Make 14 SHAM and 14 DESTROY replays of each question")
    assert "yes, for good" in shown


def test_what_cannot_be_met_is_an_answer(command_json):
    result = command_json(
        "plan", "rates", "--p-sham", "0.3", "--p-destroy", "0.3", "--goal", "reliability >= 0.5"
    )
    assert result["recommended"]["k"] is None
    assert "No number of replays would do" in result["recommended"]["reason"]


def test_net_repairs(logs, command_json, tmp_path):
    rng = np.random.default_rng(2)
    counts = cs.read_replays(logs)
    columns = {
        "question_id": counts.question,
        "original_correct": rng.integers(0, 2, 80),
        "strong_correct": rng.integers(0, 2, 80),
    }
    path = write_csv(tmp_path / "outcomes.csv", columns)
    result = command_json(
        "plan", logs, "--goal", "net repairs per 100 calls >= 1", "--outcomes", path, "--k", "1,2",
        "--rule", "score < 0",
    )  # fmt: skip
    curve = cs.routing_curve(counts, cs.read_outcomes(path), "score < 0", k=[1, 2])
    told = [entry["goal"] for entry in result["k"]]
    assert told == [point.yield_per_100.estimate for point in curve.points]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["paper"], "Missing option '--goal'"),
        (["paper", "--goal", "ties"], "goal 'ties' is none of the known ones"),
        (["paper", "--goal", "power >= 0.8"], "needs --questions N"),
        (["no.csv", "--goal", "tie rate <= 0.1", "--replay-cost", "9", "--budget", "5"], "no two"),
        (["no.csv", "--goal", "tie rate <= 0.1", "--design-effect", "0"], "--design-effect"),
        (["paper", "--goal", "tie rate <= 0.1", "--p-sham", "0.3"], "go with 'rates'"),
        (["rates", "--goal", "tie rate <= 0.1", "--p-sham", "0.3"], "needs --p-sham and"),
        (["paper", "--goal", "tie rate <= 0.1", "--k", "5-1"], "runs backwards"),
        (["paper", "--goal", "tie rate <= 0.1", "--frame-cost", "-1"], "cost: frame=-1.0"),
        (["paper", "--goal", "tie rate <= 0.1", "--frame-cost", "1e308"], "at most 1e+30"),
        (["paper", "--goal", "tie rate <= 0.1", "--videos", "v.csv"], "'paper' is no log"),
        (["paper", "--goal", "tie rate <= 0.1", "--attempts", "first-valid"], "--attempts says"),
        (["paper", "--goal", "tie rate <= 0.1", "--budget", "5"], "needs prices above 0"),
        (["no_such_file.jsonl", "--goal", "tie rate <= 0.1"], "no_such_file.jsonl"),
    ],
)
def test_bad_input_is_one_line(arguments, told, refused):
    assert told in refused("plan", *arguments)


def test_a_pilots_plan_shows_its_progress_on_a_terminal_only(logs, command, monkeypatch):
    arguments = ("plan", logs, "--goal", "tie rate <= 0.3", "--k", "1-3")
    status, _, err = command(*arguments)
    assert (status, err) == (0, "")
    told = []

    @contextmanager
    def progress(what):
        yield lambda done, total: told.append((what, done, total))

    monkeypatch.setattr("carve_stats.cli.plan.progress_bar", progress)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    status, _, _ = command(*arguments)
    assert status == 0
    assert told == [("k looked at", k, 3) for k in range(4)]


def test_a_design_effect_goes_with_a_pilot_too(logs, command_json):
    result = command_json(
        "plan", logs, "--goal", "mean score width <= 0.1", "--k", "1,2", "--design-effect", "3"
    )
    plan = cs.plan_budget(
        cs.read_replays(logs), goal="mean score width <= 0.1", k=[1, 2], design_effect=3
    ).to_dict()
    assert result["k"] == plan["k"]
