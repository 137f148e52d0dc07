"""`carve-stats excess`: right figures, the promised keys, one line for bad input."""

import csv
import json
import random
from pathlib import Path

import numpy as np
import pytest

import carve_stats as cs
from carve_stats.law.stopping import fixed_plan

DATA = Path(__file__).parents[1] / "data"
SIGNS = ("negative", "zero", "positive")


@pytest.fixture
def flat_log(tmp_path):
    """Two questions of two videos, k = 2, as JSONL."""
    path = tmp_path / "replays.jsonl"
    flips = {"q1": ("v1", (0, 1), (1, 1)), "q2": ("v2", (0, 0), (0, 1))}
    records = [
        {"question_id": q, "video_id": v, "condition": c, "repetition": r, "flip": flip}
        for q, (v, sham, destroy) in flips.items()
        for c, arm in (("sham", sham), ("destroy", destroy))
        for r, flip in enumerate(arm)
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


# The project's reference shares (METHODS) of the paper-like population, computed apart from
# this package by quadrature of the continuous law.
PAPER_SHARES = {3: (0.13042, 0.29219, 0.57739), 10: (0.16548, 0.12417, 0.71036)}


@pytest.mark.parametrize("k", [3, 10])
def test_logs_of_the_paper_like_population_give_its_sign_shares(tmp_path, command_json, k):
    n = 20_000
    counts = cs.Population.paper().sample(n, k, clusters=2000, rng=k)
    path = tmp_path / "counts.csv"
    columns = {
        "question_id": counts.question,
        "video_id": counts.cluster,
        **{c: getattr(counts, c) for c in ("sham_flips", "sham_replays")},
        **{c: getattr(counts, c) for c in ("destroy_flips", "destroy_replays")},
    }
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    result = command_json("excess", path)
    for sign, share in zip(SIGNS, PAPER_SHARES[k], strict=True):
        assert abs(result["observed"][sign] - share) < 4 * np.sqrt(share * (1 - share) / n)
    assert result["k"] == {"sham": k, "destroy": k}
    assert result["clusters"] == 2000


def test_keys_are_those_that_others_may_rely_on(flat_log, command_json):
    result = command_json("excess", flat_log)
    for key in ("questions", "records", "clusters", "k", "flip_rates", "mean_score", "observed",
                "predicted", "excess", "interval", "notes"):  # fmt: skip
        assert key in result
    assert set(result["questions"]) >= {"read", "scored", "left_out"}
    assert set(result["records"]) == {"read", "used", "left_out"}
    assert set(result["flip_rates"]) == {"self", "sham", "destroy"}
    for sign in SIGNS:
        assert set(result["excess"][sign]) >= {"estimate", "se", "low", "high"}
    assert set(result["interval"]) == {"method", "level", "df"}
    assert result["records"] == {"read": 8, "used": 8, "left_out": {}}
    assert result["observed"] == {"negative": 0.0, "zero": 0.0, "positive": 1.0}


def test_bootstrap_is_repeatable_and_needs_a_seed(flat_log, command_json, refused):
    arguments = ("excess", flat_log, "--interval", "bootstrap", "--seed", 5, "--resamples", 200)
    assert command_json(*arguments) == command_json(*arguments)
    assert "needs --seed" in refused("excess", flat_log, "--interval", "bootstrap")


def test_carve_tree_with_videos(command_json):
    tree = DATA / "carve_tree"
    expected = json.loads((tree / "expected.json").read_text())
    result = command_json("excess", tree / "results", "--videos", tree / "videos.csv")
    assert result["questions"]["scored"] == expected["scored"]
    assert result["questions"]["read"] == len(expected["counts"])
    assert result["clusters"] == 5  # of scored questions; the unscored one has a sixth


def test_without_videos_there_are_estimates_no_intervals_and_a_note(command_json, command):
    tree = DATA / "carve_tree/results"
    result = command_json("excess", tree)
    assert result["excess"]["zero"]["estimate"] is not None
    assert result["excess"]["zero"]["low"] is None
    assert result["clusters"] is None
    assert any("--videos" in note for note in result["notes"])
    status, out, _ = command("excess", tree)
    assert status == 0
    assert "--videos" in out


def test_columns_are_mapped(flat_log, command_json, refused):
    renamed = flat_log.with_name("renamed.jsonl")
    renamed.write_text(flat_log.read_text().replace('"question_id"', '"qid"'))
    result = command_json("excess", renamed, "--map", "question_id=qid")
    assert result["observed"] == command_json("excess", flat_log)["observed"]
    assert "question_id" in refused("excess", renamed)
    assert "NAME=COLUMN" in refused("excess", renamed, "--map", "question_id")


def bad_logs(tmp_path):
    """Each kind of bad input, with a word that its line must hold."""
    record = {"question_id": "q", "condition": "SHAM", "repetition": 0, "answer": "B",
              "reference_answer": "A", "flip": 1, "valid": True}  # fmt: skip

    def tree(name, *texts):
        for i, text in enumerate(texts):
            path = tmp_path / name / "q" / "SHAM" / f"{i}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / name

    def jsonl(name, *records):
        path = tmp_path / name
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
        return path

    (tmp_path / "empty").mkdir()
    yield tmp_path / "empty", "empty"
    yield tmp_path / "absent", "absent"
    yield tree("cut", json.dumps(record), json.dumps(record)[:40]), "1.json"
    yield jsonl("two.jsonl", record, {**record, "flip": 0, "answer": "A"}), "two.jsonl"
    yield jsonl("unknown.jsonl", {**record, "condition": "SHAME"}), "did you mean"
    yield jsonl("disagree.jsonl", {**record, "flip": 0}), "flip"


@pytest.mark.parametrize("i", range(6))
def test_bad_input_is_one_line_and_changes_nothing(i, tmp_path, refused):
    path, word = list(bad_logs(tmp_path))[i]
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert word in refused("excess", path)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def make_run(path, *, stopping):
    """A run of 40 questions, k = 4, whose answers are a pure function of its seeds."""
    questions = [
        cs.Trajectory(question_id=f"q{i:02d}", answer="A", options=dict.fromkeys("ABCD", "?"),
                      video_id=f"v{i % 6}")
        for i in range(40)
    ]  # fmt: skip
    cs.run_replays(
        lambda request: random.Random(request.seed).choice("AAAABBCCD?"),
        questions, k=4, store=path, seed=5, stopping=stopping,
    )  # fmt: skip
    return path


@pytest.fixture
def stopped_run(tmp_path):
    plan = cs.stopping_plan(4, population=cs.Population.paper(), minimum=(2, 2))
    return make_run(tmp_path / "run", stopping=plan)


def test_a_run_that_stopped_early_has_the_figures_of_a_full_run(stopped_run, command_json):
    result = command_json("excess", stopped_run)
    counts = cs.read_replays(stopped_run)
    expected = cs.stopped_signs(counts)
    assert result == expected.to_dict()
    for key in ("questions", "records", "clusters", "k", "flip_rates", "mean_score", "observed",
                "predicted", "excess", "interval", "notes"):  # fmt: skip
        assert key in result
    assert set(result["questions"]) >= {"read", "scored", "left_out"}
    assert set(result["records"]) == {"read", "used", "left_out"}
    assert set(result["flip_rates"]) == {"self", "sham", "destroy"}
    for sign in SIGNS:
        assert set(result["excess"][sign]) >= {"estimate", "se", "low", "high"}
    assert set(result["interval"]) == {"method", "level", "df"}
    assert result["k"] == {"sham": 2, "destroy": 2}
    assert result["clusters"] == 6
    assert result["stopping"] == {
        "rule": "score <= 0", "order": "optimal", "k": {"sham": 4, "destroy": 4},
        "guaranteed": {"sham": 2, "destroy": 2}, "sha256": counts.stopping.sha256,
    }  # fmt: skip


def test_options_reach_the_figures_of_a_stopped_run(stopped_run, command_json, refused):
    options = ("--interval", "bootstrap", "--seed", 5, "--resamples", 200, "--level", 0.8)
    result = command_json("excess", stopped_run, *options)
    expected = cs.stopped_signs(
        cs.read_replays(stopped_run), interval="bootstrap", rng=5, resamples=200, level=0.8
    )
    assert result == expected.to_dict()
    assert "needs --seed" in refused("excess", stopped_run, "--interval", "bootstrap")


def test_the_terminal_says_that_a_run_stopped_early(stopped_run, command):
    status, out, err = command("excess", stopped_run)
    assert (status, err) == (0, "")
    # One question had three invalid replays of four in an arm.
    assert out.startswith("Tie excess: k_sham = 2, k_destroy = 2 (39 questions, 6 clusters;")
    assert "from replays stopped early by score <= 0\n" in out
    assert "estimated without bias by counting the paths" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 120


def test_a_stopped_run_that_can_tell_nothing_says_why(tmp_path, refused):
    run = make_run(tmp_path / "run", stopping=fixed_plan(4, 4, "score <= 0", "destroy-first"))
    line = refused("excess", run)
    assert "get no SHAM replay at all" in line
    assert "ask for a minimum in each arm" in line


@pytest.mark.parametrize("command_name", ["score", "plan"])
def test_commands_that_would_take_the_rates_as_they_are_refuse(stopped_run, refused, command_name):
    options = () if command_name == "score" else ("--goal", "tie rate <= 0.2")
    line = refused(command_name, stopped_run, *options)
    assert "the replays were stopped early (score <= 0)" in line
    assert "use stopped_signs(counts) (carve-stats excess)" in line


def test_records_of_a_stopped_run_elsewhere_are_refused(stopped_run, tmp_path, refused):
    copied = tmp_path / "copied.jsonl"
    copied.write_bytes(next((stopped_run / "segments").glob("*.jsonl")).read_bytes())
    line = refused("excess", copied)
    assert "copied.jsonl" in line
    assert "read the run's own directory" in line


def test_a_run_and_its_extension_are_not_added_up(tmp_path, command, refused):
    """The first three replays of the longer run are the shorter one's."""
    lines = [
        json.dumps(
            {"run": run, "question_id": f"q{i}", "video_id": f"v{i // 3}", "condition": condition,
             "repetition": j, "flip": (i * 5 + j * 3 + j * j * i) % 7 % 2}
        )
        for run, k in (("seed1", 3), ("seed1-k5", 5))
        for i in range(40)
        for condition in ("SHAM", "DESTROY")
        for j in range(k)
    ]  # fmt: skip
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(lines) + "\n")
    for line in (("excess", log, "--pool-runs"), ("tables", log, "--no-outcomes", "--pool-runs")):
        assert "run 'seed1' are in run 'seed1-k5' as well" in refused(*line)
    assert command("excess", log, "--run", "seed1")[0] == 0
