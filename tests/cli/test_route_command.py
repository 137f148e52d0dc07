"""`carve-stats route`: the library's figures, the promised keys, one line for bad input."""

import csv
import json
import random
from pathlib import Path

import numpy as np
import pytest

import carve_stats as cs

FLIPS = ("sham_flips", "sham_replays", "destroy_flips", "destroy_replays")


def write_csv(path, columns):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return path


@pytest.fixture
def tables(tmp_path):
    """Logs and outcomes of 60 questions in 12 videos, k = 2, and the columns of both."""
    rng = np.random.default_rng(5)
    n = 60
    ids = [f"q{i:02d}" for i in range(n)]
    flips = {name: rng.integers(0, 3, n).tolist() for name in ("sham_flips", "destroy_flips")}
    logs = {"question_id": ids, "video_id": [f"v{i % 12}" for i in range(n)], **flips}
    logs |= {"sham_replays": [2] * n, "destroy_replays": [2] * n}
    outcomes = {
        "question_id": ids[::-1],
        "original_correct": rng.integers(0, 2, n).tolist(),
        "strong_correct": rng.integers(0, 2, n).tolist(),
        "confidence": rng.integers(0, 9, n).tolist(),
        "covered": rng.choice(["yes", "no"], n).tolist(),
    }
    write_csv(tmp_path / "logs.csv", logs)
    write_csv(tmp_path / "outcomes.csv", outcomes)
    return tmp_path / "logs.csv", tmp_path / "outcomes.csv", logs, outcomes


def test_figures_are_the_librarys_and_keys_are_those_promised(tables, command_json):
    logs, outcomes, *_ = tables
    result = command_json(
        "route", logs, outcomes, "--rule", "score <= 0", "--rule", "confidence < 4",
        "--rule", "always", "--match", "covered", "--match", "confidence", "--k", "1-2,3",
        "--level", "0.9",
    )  # fmt: skip
    counts, table = cs.read_replays(logs), cs.read_outcomes(outcomes)
    evaluation = cs.evaluate_rule(
        counts, table, "score <= 0", match=["covered", "confidence"], level=0.9
    ).to_dict()
    curve = cs.routing_curve(counts, table, k=[1, 2, 3], level=0.9).to_dict()
    notes = evaluation.pop("notes")
    assert {name: result[name] for name in evaluation} == evaluation
    for name in ("curve", "made_k", "model", "transitions"):
        assert result[name] == curve[name]
    assert [point["k"] for point in result["curve"]] == [1, 2, 3]
    frontier = cs.deferral_frontier(counts, table, level=0.9).to_dict()
    assert result["frontier"] == frontier["rows"]
    compared = [cs.compare_rules(counts, table, "score <= 0", rule, level=0.9).to_dict()
                for rule in ("confidence < 4", "always")]  # fmt: skip
    assert result["comparisons"] == compared
    assert set(notes) | set(curve["notes"]) | set(frontier["notes"]) == set(result["notes"])
    assert len(result["notes"]) == len(set(result["notes"]))
    for key in ("rule", "questions", "scored", "selected", "repairs", "harms", "net",
                "yield_per_100", "accuracy_before", "accuracy_after", "gain_points",
                "always_defer", "controls", "curve", "costs", "interval", "notes"):  # fmt: skip
        assert key in result
    for control in ("plain", "by_cluster", "matched"):
        assert set(result["controls"][control]) >= {"mean", "low", "high", "p_value"}
    assert result["figures"] == []


def test_counts_by_hand(tables, command_json):
    logs, outcomes, columns, answers = tables
    result = command_json("route", logs, outcomes, "--k", 2)
    before = dict(zip(answers["question_id"], answers["original_correct"], strict=True))
    after = dict(zip(answers["question_id"], answers["strong_correct"], strict=True))
    deferred = [q for q, x, y in zip(columns["question_id"], columns["sham_flips"],
                                     columns["destroy_flips"], strict=True) if y <= x]  # fmt: skip
    repairs = sum(after[q] > before[q] for q in deferred)
    harms = sum(after[q] < before[q] for q in deferred)
    assert (result["selected"], result["repairs"], result["harms"]) == (
        len(deferred), repairs, harms,
    )  # fmt: skip
    assert result["gain_points"]["estimate"] == pytest.approx(100 * (repairs - harms) / 60)
    assert [p["selected"] for p in result["curve"]] == [len(deferred)]
    assert sum(row["repairs"] for row in result["score_values"]["scores"]) == sum(
        after[q] > before[q] for q in before
    )
    assert result["transitions"] is None


def test_answers_gold_and_other_names_of_columns(tables, tmp_path, command_json):
    logs, outcomes, _, answers = tables
    expected = command_json("route", logs, outcomes, "--k", "1,2")
    options = {"A": "yes", "B": "no"}
    gold = {
        "key": "v",
        "qa": [
            {"uid": q, "question": "Is it?\n(A) yes\n(B) no", "answer": "A",
             "question_type": ["t"], "time_reference": "00:01-00:02"}
            for q in answers["question_id"]
        ],
    }  # fmt: skip
    benchmark = tmp_path / "video_info.meta.jsonl"
    benchmark.write_text(json.dumps(gold) + "\n")
    spoken = [f"The answer is {options['A' if x else 'B']}" for x in answers["original_correct"]]
    renamed = write_csv(
        tmp_path / "renamed.csv",
        {"qid": answers["question_id"], "original_answer": spoken,
         "video_id": [f"v{int(q[1:]) % 12}" for q in answers["question_id"]]},
    )  # fmt: skip
    strong = write_csv(
        tmp_path / "strong.csv",
        {"question_id": answers["question_id"], "correct": answers["strong_correct"]},
    )
    weak = write_csv(
        tmp_path / "weak.csv", {"question_id": answers["question_id"], "correct": [0] * 60}
    )
    result = command_json(
        "route", logs, renamed, "--gold", benchmark, "--answers", f"strong={strong}",
        "--answers", f"weak={weak}", "--fallback", "strong", "--outcome-map", "question_id=qid",
        "--k", "1,2",
    )  # fmt: skip
    for name in ("net", "gain_points", "controls", "curve", "frontier"):
        assert result[name] == expected[name]


def test_bootstrap_is_repeatable_and_needs_a_seed(tables, command_json, refused):
    logs, outcomes, *_ = tables
    arguments = ("route", logs, outcomes, "--k", "2", "--interval", "bootstrap")
    seeded = (*arguments, "--seed", 3, "--resamples", 200)
    result = command_json(*seeded)
    assert result == command_json(*seeded)
    assert result["interval"]["method"] == "bootstrap"
    assert "needs --seed" in refused(*arguments)


def test_the_terminal_shows_each_result_and_no_note_twice(tables, command):
    logs, outcomes, *_ = tables
    status, out, err = command(
        "route", logs, outcomes, "--rule", "score <= 0", "--rule", "lowest 20", "--k", "1-3"
    )
    assert (status, err) == (0, "")
    captions = [
        "Routing to strong",
        "Deferring at random",
        "Gain in points of deferring",
        "Scores from k = 2 to k = 3",
        "Deferring to strong by score",
        "a: score <= 0",
    ]
    places = [out.index(caption) for caption in captions]
    assert places == sorted(places)
    notes = [line for line in out.splitlines() if line.startswith("  * ")]
    assert len(notes) == len(set(notes))
    assert max(map(len, out.splitlines())) <= 120


@pytest.mark.parametrize("rule", ["always", "never", "lowest 5", "confidence < 3", "random 9"])
def test_a_rule_that_is_no_comparison_of_the_score_has_no_curve(tables, command_json, rule):
    logs, outcomes, *_ = tables
    result = command_json("route", logs, outcomes, "--rule", rule)
    assert result["curve"] is None
    assert result["transitions"] is None
    assert any("no curve over k" in note for note in result["notes"])
    note = f"the frontier and the figures are by the score, not by {rule!r}"
    assert (note in result["notes"]) == (rule != "lowest 5")
    assert result["frontier"]


def test_what_cannot_be_estimated_is_null_with_a_note(tables, tmp_path, command_json, command):
    logs, outcomes, columns, answers = tables
    del columns["video_id"]
    no_videos = write_csv(tmp_path / "no_videos.csv", columns)
    result = command_json("route", no_videos, outcomes, "--k", "1-3")
    assert result["gain_points"]["low"] is None
    assert result["controls"]["by_cluster"] is None
    assert all(point["gain_points"]["low"] is None for point in result["curve"][:2])
    nothing = {name: [0] * 60 if name.endswith("replays") else column
               for name, column in columns.items()} | {"sham_flips": [0] * 60,
                                                       "destroy_flips": [0] * 60}  # fmt: skip
    no_score = write_csv(tmp_path / "no_score.csv", nothing)
    result = command_json("route", no_score, outcomes, "--k", "1-3", "--figures", tmp_path / "none")
    assert "--figures: there is nothing to draw" in result["notes"]
    assert result["selected"] == 0
    assert result["curve"] is result["frontier"] is result["score_values"] is None
    assert any("no question has a score" in note for note in result["notes"])
    assert result["figures"] == []
    unknown = write_csv(tmp_path / "unknown.csv", {**answers, "strong_correct": [None] * 60})
    result = command_json("route", logs, unknown)
    assert result["questions"]["used"] == 0
    assert result["curve"] is None
    for table in (no_videos, no_score):
        assert command("route", table, outcomes, "--k", "1,2")[0] == 0


def test_figures_are_written_the_same_each_time(tables, tmp_path, command_json):
    logs, outcomes, *_ = tables
    folder = tmp_path / "deep" / "figures"
    arguments = ("route", logs, outcomes, "--k", "1-2", "--figures", folder)
    written = command_json(*arguments)["figures"]
    names = ("curve", "transitions", "frontier", "score_values")
    assert written == [str(folder / f"{n}.{e}") for n in names for e in ("png", "svg")]
    before = {path: Path(path).read_bytes() for path in written}
    assert all(before[path].startswith(b"\x89PNG") for path in written[::2])
    assert all(b"</svg>" in before[path] for path in written[1::2])
    assert sorted(map(str, folder.iterdir())) == sorted(written)
    command_json(*arguments)
    assert {path: Path(path).read_bytes() for path in written} == before
    (folder / "mine.png").write_bytes(b"")
    fewer = command_json("route", logs, outcomes, "--rule", "always", "--figures", folder)
    assert fewer["figures"] == written[4:]
    assert sorted(map(str, folder.iterdir())) == sorted([*written[4:], str(folder / "mine.png")])


def wrong(tmp_path, logs, outcomes, columns, answers):
    """Each kind of wrong input, with a word that its line must hold."""
    fewer = {name: column[1:] for name, column in answers.items()}
    two = {**answers, "weak_correct": answers["strong_correct"]}
    twice = {name: [*column, 1 - column[0] if name == "strong_correct" else column[0]]
             for name, column in answers.items()}  # fmt: skip
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "logs.csv").write_bytes(logs.read_bytes())
    yield (logs,), "Missing argument"
    yield (logs, tmp_path / "absent.csv"), "absent.csv"
    yield (logs, write_csv(tmp_path / "fewer.csv", fewer)), "--allow-mismatch"
    yield (logs, write_csv(tmp_path / "two.csv", two)), "strong, weak"
    yield (logs, write_csv(tmp_path / "twice.csv", twice)), "twice.csv"
    yield (logs, outcomes, "--fallback", "strng"), "did you mean"
    yield (logs, outcomes, "--rule", "scor"), "known ones"
    yield (logs, outcomes, "--rule", "confidnce < 1"), "did you mean"
    yield (logs, outcomes, "--rule", "score <= x"), "threshold"
    yield (logs, outcomes, "--match", "nothing"), "nothing"
    yield (logs, outcomes, "--k", "0-2"), "0 replays"
    yield (logs, outcomes, "--k", "3-1"), "backwards, 3-1: give e.g. 1-10"
    yield (logs, outcomes, "--k", "1-1000000000"), "more than 9999 replays"
    yield (logs, outcomes, "--k", "9" * 5000), "more than 9999 replays"
    yield (logs, outcomes, "--seed", "-1"), "--seed -1 must be at least 0"
    yield (logs, write_csv(tmp_path / "named.csv", {**answers, "score": [1] * 60})), "'score'"
    yield (logs, outcomes, "--k", "two"), "1-10"
    yield (logs, outcomes, "--k", ""), "1-10"
    yield (logs, outcomes, "--k", "65"), "64"
    yield (logs, outcomes, "--level", "95"), "level"
    yield (logs, outcomes, "--answers", "strong"), "NAME=FILE"
    yield (logs, outcomes, "--answers", "a=b", "--answers", "a=c"), "twice"
    yield (logs, outcomes, "--outcome-map", "question_id"), "NAME=COLUMN"
    yield (logs, outcomes, "--gold", tmp_path / "no.jsonl"), "no.jsonl"
    yield (folder, outcomes, "--figures", folder), "is read"
    yield (folder, outcomes, "--figures", folder / "new" / "figures"), "is read"
    yield (logs, outcomes, "--figures", outcomes), "not a folder"
    yield (logs, outcomes, "--figures", outcomes / "x"), "not a folder"
    yield (logs, outcomes, "--figures", ""), "not a folder"


@pytest.mark.parametrize("i", range(29))
def test_wrong_input_is_one_line_and_changes_nothing(i, tables, tmp_path, refused):
    arguments, word = list(wrong(tmp_path, *tables))[i]
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert word in refused("route", *arguments)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_mismatch_is_allowed_on_request(tables, tmp_path, command_json):
    logs, _, _, answers = tables
    fewer = write_csv(
        tmp_path / "fewer.csv", {name: column[1:] for name, column in answers.items()}
    )
    result = command_json("route", logs, fewer, "--allow-mismatch", "--k", "1,2")
    assert result["questions"]["used"] == 59
    assert result["questions"]["left_out"] == {"replays without outcome": 1}


def test_videos_fill_a_gap_of_the_benchmark(tables, tmp_path, command_json, refused):
    _, outcomes, columns, answers = tables
    del columns["video_id"]
    logs = write_csv(tmp_path / "no_videos.csv", columns)
    benchmark = tmp_path / "video_info.meta.jsonl"
    qa = [{"uid": q, "question": "?\n(A) yes\n(B) no", "answer": "A"}
          for q in answers["question_id"][1:]]  # fmt: skip
    benchmark.write_text(json.dumps({"key": "v", "qa": qa}) + "\n")
    arguments = ("route", logs, outcomes, "--gold", benchmark, "--k", "2")
    assert f"question '{answers['question_id'][0]}' has no video_id" in refused(*arguments)
    ids = columns["question_id"]
    videos = write_csv(
        tmp_path / "videos.csv",
        {"question_id": ids, "video_id": [f"v{i % 12}" for i in range(60)]},
    )
    assert command_json(*arguments, "--videos", videos)["clusters"] == 12


@pytest.fixture
def stopped_and_full(tables, tmp_path):
    """A run of the questions that stopped them early, the full run, and the outcomes."""
    _, outcomes, columns, _ = tables
    questions = [
        cs.Trajectory(question_id=q, video_id=v, answer="A", options=dict.fromkeys("ABCD", "?"))
        for q, v in zip(columns["question_id"], columns["video_id"], strict=True)
    ]
    plan = cs.stopping_plan(4, population=cs.Population.paper())
    for name, stopping in (("stopped", plan), ("full", None)):
        cs.run_replays(
            lambda request: random.Random(request.seed).choice("AAAABBCCD?"),
            questions, k=4, store=tmp_path / name, seed=5, stopping=stopping,
        )  # fmt: skip
    return tmp_path / "stopped", tmp_path / "full", outcomes


WHY_NO_CURVE = (
    "no curve over k, no frontier: the scores of replays that were stopped early are not known"
)


def test_a_run_that_stopped_early_is_evaluated_as_the_full_one(stopped_and_full, command_json):
    stopped, full, outcomes = stopped_and_full
    options = ("--match", "covered", "--rule", "score <= 0", "--rule", "confidence < 4", "--k", 2)
    found = command_json("route", stopped, outcomes, *options)
    expected = command_json("route", full, outcomes, *options)
    for name in ("rule", "questions", "scored", "selected", "repairs", "harms", "net",
                 "yield_per_100", "accuracy_before", "accuracy_after", "gain_points",
                 "always_defer", "controls", "interval"):  # fmt: skip
        assert found[name] == expected[name]
    assert found["scored"] == 60
    assert 0 < found["selected"] < 60
    assert found["costs"]["replays"] < expected["costs"]["replays"] == 8.0
    assert expected["curve"]
    assert expected["frontier"]
    for name in ("curve", "made_k", "model", "transitions", "frontier", "score_values"):
        assert found[name] is None
    assert WHY_NO_CURVE in found["notes"]
    (a,), (b,) = found["comparisons"], expected["comparisons"]
    assert {**a, "notes": None, "costs": None} == {**b, "notes": None, "costs": None}


def test_the_terminal_says_why_there_is_no_curve(stopped_and_full, tmp_path, command):
    stopped, _, outcomes = stopped_and_full
    status, out, err = command("route", stopped, outcomes, "--figures", tmp_path / "figures")
    assert (status, err) == (0, "")
    assert out.startswith("Routing to strong: 60 questions, 60 scored, 12 clusters")
    words = " ".join(out.split())
    assert WHY_NO_CURVE in words
    assert "the replays were stopped early, when score <= 0 was decided" in words
    assert "--figures: there is nothing to draw" in words
    assert "Gain in points" not in out
    assert "figure:" not in out
    assert max(map(len, out.splitlines())) <= 120


def test_of_a_run_that_stopped_early_other_rules_on_the_score_are_refused(
    stopped_and_full, refused
):
    stopped, _, outcomes = stopped_and_full
    line = refused("route", stopped, outcomes, "--rule", "score < 0")
    assert "stopped when 'score <= 0' was decided; give that rule, or full replays" in line
    assert "stopped early" in refused("route", stopped, outcomes, "--rule", "lowest 20")


def test_outcomes_of_another_backbone_are_refused(tmp_path, command, refused):
    """Both sides know the frozen answer, and they differ."""
    ids = ["q1", "q2"] * 4
    log = {"question_id": ids, "condition": ["SHAM"] * 4 + ["DESTROY"] * 4,
           "repetition": [0, 0, 1, 1] * 2, "answer": list("AABBABBA"),
           "reference_answer": list("ABABABAB")}  # fmt: skip
    outcomes = {"question_id": ["q1", "q2"], "original_answer": ["A", "D"],
                "original_correct": [1, 0], "strong_correct": [1, 1]}  # fmt: skip
    logs = write_csv(tmp_path / "logs.csv", log)
    wrong = write_csv(tmp_path / "wrong.csv", outcomes)
    right = write_csv(tmp_path / "right.csv", outcomes | {"original_answer": ["(A)", "B"]})
    for line in (("route", logs, wrong), ("tables", logs, wrong, "--tables", "3")):
        error = refused(*line)
        assert "question 'q2': its frozen answer is 'b' in the logs" in error
        assert "'D' in the outcomes (original_answer)" in error
        assert "wrong.csv" in error
        assert command(*(right if one == wrong else one for one in line))[0] == 0
    line = ("tables", logs, right, "--tables", "A5", "--second-backbone", logs)
    assert "question 'q2'" in refused(*line, wrong)
    assert command(*line, right)[0] == 0
