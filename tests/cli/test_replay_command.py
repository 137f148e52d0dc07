"""`carve-stats replay` and `status`: the user's own agent, resumed and topped up."""

import json
import sys

import pytest

from carve_stats.population.mixing import Population
from carve_stats.replay.agents.synthetic import synthetic_trajectories
from carve_stats.replay.trajectories import read_trajectories, write_trajectories

CONFIG = """
[run]
seed = 7
k = 3
store = "run"
[input]
trajectories = "trajectories.jsonl"
[agent]
use = "{use}"
"""

ADAPTER = """
from carve_stats.replay.agents.synthetic import SyntheticAgent

synthetic = SyntheticAgent()

def answer(request):
    return synthetic(request)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with forty synthetic questions, and the current one."""
    drawn = Population.paper().draw(40, clusters=8, rng=11)
    write_trajectories(
        tmp_path / "trajectories.jsonl",
        synthetic_trajectories(
            drawn.p_sham, drawn.p_destroy, question=drawn.question, cluster=drawn.cluster
        ),
    )
    (tmp_path / "synthetic_adapter.py").write_text(ADAPTER)
    (tmp_path / "audit.toml").write_text(CONFIG.format(use="synthetic"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_adapter_gives_the_counts_of_the_synthetic_agent(folder, command_json):
    command_json("replay", "audit.toml")
    (folder / "own.toml").write_text(CONFIG.format(use="python:synthetic_adapter:answer"))
    status = command_json("replay", "own.toml", "--store", "own")
    assert status["done"] == status["valid"] == 40 * 9
    assert command_json("excess", "own") == command_json("excess", "run")


def test_status_limit_top_up_and_nothing_to_do(folder, command_json, command):
    assert command_json("replay", "audit.toml", "--limit", 10)["done"] == 90
    assert command_json("replay", "audit.toml", "--k", 4)["done"] == 480
    status = command_json("status", "run")
    assert set(status) == {"planned", "done", "valid", "invalid", "attempts", "duplicates",
                           "torn_lines", "spared", "stopped", "questions", "lost", "finished",
                           "independence", "canary", "transport", "statuses"}  # fmt: skip
    assert status["planned"] == status["done"] == 480
    before = {p: p.read_bytes() for p in (folder / "run").rglob("*") if p.is_file()}
    code, out, _ = command("replay", "audit.toml")
    assert (code, out) == (0, "run: 480 of 480 replays done (480 valid, 0 invalid)\n")
    assert {p: p.read_bytes() for p in (folder / "run").rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("seed = 7", "seed = 7\nseeds = 8"), "did you mean 'seed'"),
        (("k = 3", "k = 0"), "k=0"),
        (('"synthetic"', '"syntetic"'), "did you mean 'synthetic'"),
        (('"synthetic"', '"python:synthetic_adapter:reply"'), "reply"),
        (('"trajectories.jsonl"', '"absent.jsonl"'), "absent.jsonl"),
        (("[run]", "[run"), "audit.toml"),
    ],
)
def test_bad_configuration_is_one_line_and_writes_nothing(folder, refused, change, word):
    path = folder / "audit.toml"
    path.write_text(path.read_text().replace(*change))
    assert word in refused("replay", "audit.toml")
    assert not (folder / "run").exists()


def test_another_seed_is_another_plan(folder, command_json, refused):
    command_json("replay", "audit.toml", "--limit", 2)
    before = {p: p.read_bytes() for p in (folder / "run").rglob("*") if p.is_file()}
    assert "seed" in refused("replay", "audit.toml", "--seed", 8)
    assert {p: p.read_bytes() for p in (folder / "run").rglob("*") if p.is_file()} == before


def test_status_of_no_run(tmp_path, refused):
    assert str(tmp_path) in refused("status", tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps({"seed": 1}))
    assert "plan.json" in refused("status", tmp_path)


def test_an_edited_agent_is_another_plan(folder, command_json, refused):
    (folder / "own.toml").write_text(CONFIG.format(use="python:edited_adapter:answer"))
    module = folder / "edited_adapter.py"
    module.write_text(ADAPTER)
    assert command_json("replay", "own.toml", "--limit", 2)["done"] == 18
    sys.modules.pop("edited_adapter")
    module.write_text(ADAPTER + "\n# another agent, for all that anybody knows\n")
    assert "source_sha256" in refused("replay", "own.toml", "--limit", 2)


def test_the_agent_is_found_beside_the_configuration(folder, command_json, monkeypatch, tmp_path):
    (folder / "beside_adapter.py").write_text(ADAPTER)
    (folder / "own.toml").write_text(CONFIG.format(use="python:beside_adapter:answer"))
    monkeypatch.chdir("/")
    assert command_json("replay", folder / "own.toml", "--limit", 1)["done"] == 9


def test_an_unfinished_run_is_said_to_be_so(folder, command_json, command):
    command_json("replay", "audit.toml")
    segment = next((folder / "run/segments").iterdir())
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:200]) + lines[200][:30])
    result = command_json("excess", "run")
    assert any("200 of 360 replays are done" in note for note in result["notes"])
    _, _, err = command("replay", "audit.toml")
    assert "replays: going on, 200 of 360 are there already" in err
    _, _, err = command("replay", "audit.toml")
    assert "replays: nothing to do, 360 of 360 are there already" in err


def test_a_folder_around_a_run_is_met_with_a_hint(folder, command_json, refused):
    around = folder / "around"
    command_json("replay", "audit.toml", "--limit", 1, "--store", around / "run")
    for name in ("status", "excess"):
        assert f"did you mean {around / 'run'}?" in refused(name, around)


def test_an_agent_that_prints_does_not_spoil_the_output(folder, command):
    (folder / "printing_adapter.py").write_text(
        "print('imported')\ndef answer(request):\n    print('asked')\n    return 'A'\n"
    )
    (folder / "own.toml").write_text(CONFIG.format(use="python:printing_adapter:answer"))
    code, out, err = command("replay", "own.toml", "--limit", 1, "--json")
    assert (code, json.loads(out)["done"]) == (0, 9)
    assert err.count("asked") == 9
    assert "imported" in err


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("import sys\nsys.exit(0)\n", 2),
        ("import sys\ndef answer(request):\n    sys.exit(0)\n", 1),
        ("class answer:\n    def __call__(self, r): pass\n    def fingerprint(self): exit(0)\n", 1),
    ],
)
def test_an_agent_that_exits_is_a_failure_of_the_command(folder, command, source, status):
    (folder / "exiting_adapter.py").write_text(source)
    (folder / "own.toml").write_text(CONFIG.format(use="python:exiting_adapter:answer"))
    sys.modules.pop("exiting_adapter", None)
    code, out, err = command("replay", "own.toml", "--limit", 1)
    assert (code, out) == (status, "")
    assert "SystemExit: 0" in err.splitlines()[-1]


def test_a_script_stands_beside_the_configuration(folder, command_json, monkeypatch):
    lines = [
        json.dumps({"question_id": f"q{i}", "condition": c, "repetition": r, "text": "A"})
        for i in range(2)
        for c in ("self", "sham", "destroy")
        for r in range(3)
    ]
    (folder / "script.jsonl").write_text("\n".join(lines))
    write_trajectories(folder / "trajectories.jsonl", synthetic_trajectories([0.1] * 2, [0.1] * 2))
    (folder / "own.toml").write_text(CONFIG.format(use="scripted") + 'script = "script.jsonl"\n')
    monkeypatch.chdir("/")
    assert command_json("replay", folder / "own.toml")["done"] == 18
    monkeypatch.chdir(folder)
    assert command_json("replay", "own.toml")["done"] == 18


def test_a_mistyped_k_is_refused_and_harms_nothing(folder, command_json, refused):
    command_json("replay", "audit.toml", "--limit", 1)
    assert "k must be at most 1000000" in refused("replay", "audit.toml", "--k", 3_000_000_000)
    assert command_json("status", "run")["planned"] == 9


def stopped(*more):
    return ("replay", "audit.toml", "--stop-when-decided", "score <= 0", *more)


def test_stopping_when_decided_makes_fewer_replays_and_says_so(folder, command, command_json):
    code, out, err = command(*stopped("--workers", 2))
    assert code == 0
    promised, expected = err.splitlines()[:2]
    assert "score <= 0 in order optimal" in promised
    assert "at least 1 of 3 SHAM and 1 of 3 DESTROY replays: figures for up to so many" in promised
    assert (
        "expected to save 25.0 % of the SHAM and DESTROY replays, if questions are as" in expected
    )
    assert "in the paper" in expected
    assert "never a decision" in expected
    assert "replays made or spared: 360 of 360" in err
    status = command_json(*stopped())
    assert status["done"] + status["spared"] == status["planned"] == 360
    assert 0 < status["stopped"] <= status["spared"]
    assert out == (
        f"run: {status['done']} of 360 replays done ({status['done']} valid, 0 invalid);"
        f" {status['spared']} spared: {status['stopped']} questions stopped early\n"
        f"stopping: finished: {240 - status['spared']} of 240 SHAM and DESTROY replays made,"
        f" {status['spared'] / 2.4:.1f} % saved (expected 25.0 %); {status['stopped']} of 40"
        " questions stopped early\n"
    )
    assert {**status["stopping"], "sha256": None} == {
        "rule": "score <= 0", "order": "optimal", "minimum": {"sham": 1, "destroy": 1},
        "guaranteed": {"sham": 1, "destroy": 1}, "changed": 0.0, "sha256": None,
    }  # fmt: skip
    segment = next((folder / "run/segments").iterdir())
    record = json.loads(segment.read_bytes().splitlines()[0])
    assert record["stopping"] == status["stopping"]["sha256"]
    del status["store"]
    assert command_json("status", "run").items() >= status.items()
    _, told, _ = command("status", "run")
    assert told.splitlines()[1] == (
        "stopping: score <= 0 in order optimal; every question gets at least 1 of 3 SHAM and 1 of 3"
        " DESTROY replays"
    )
    assert told.splitlines()[2] == out.splitlines()[1].replace(" (expected 25.0 %)", "")


def test_stopping_in_the_file_and_options_that_win(folder, command, command_json):
    command_json("replay", "audit.toml", "--store", "pilot", "--limit", 20)
    (folder / "stopping.toml").write_text(
        CONFIG.format(use="synthetic") + '[stopping]\nrule = "score <= 0"\n'
        'order = "destroy-first"\nminimum = [0, 1]\npilot = "pilot"\n'
    )
    status, _, err = command("replay", "stopping.toml")
    assert status == 0
    assert "score <= 0 in order destroy-first; every question gets at least 0 of 3 SHAM" in err
    assert (
        "nothing about both can be estimated from the stopped replays: give a minimum (--m" in err
    )
    assert "if questions are as those of the pilot" in err
    options = ("--stop-when-decided", "score < 1/3", "--order", "alternate", "--minimum", "2,3")
    status = command_json("replay", "stopping.toml", "--store", "other", *options)
    found = status["stopping"]
    assert (found["rule"], found["order"]) == ("score < 1/3", "alternate")
    assert found["minimum"] == {"sham": 2, "destroy": 3}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--order", "alternate"), "--stop-when-decided"),
        (("--stop-when-decided", "score = 0"), "'score = 0' cannot be decided early"),
        (("--stop-when-decided", "scores < 0"), "rule='scores < 0' must be"),
        (("--stop-when-decided", "sign", "--order", "optimum"), "did you mean 'optimal'"),
        (("--stop-when-decided", "lowest"), "or 'sign', for the three signs"),
        (
            ("--stop-when-decided", "sign", "--minimum", "3"),
            "--minimum 3 must be two whole numbers",
        ),
        (("--stop-when-decided", "sign", "--minimum", "3,-1"), "--minimum 3,-1 must be two whole"),
        (("--stop-when-decided", "sign", "--changed", "1"), "--changed"),
        (
            ("--stop-when-decided", "sign", "--changed", "0.1", "--order", "alternate"),
            "(--changed) needs the order optimal, not 'alternate'",
        ),
        (("--stop-when-decided", "sign", "--minimum", "a,b"), "--minimum a,b must be two whole"),
        (
            ("--stop-when-decided", "sign", "--minimum", "4,1"),
            "(--minimum, or [stopping]) must not exceed",
        ),
        (("--stop-when-decided", "sign", "--pilot", "absent.csv"), "absent.csv"),
        (("--stop-when-decided", "sign", "--k", 65), "k_sham=65 must be at most 64"),
    ],
)
def test_stopping_that_cannot_be_is_one_line_and_writes_nothing(folder, refused, options, words):
    assert words in refused("replay", "audit.toml", *options)
    assert not (folder / "run").exists()


def test_stopping_needs_both_conditions(folder, refused):
    path = folder / "audit.toml"
    path.write_text(path.read_text().replace("k = 3", 'k = 3\nconditions = ["self", "sham"]'))
    assert "must have 'destroy' to stop when decided" in refused(*stopped())


def test_a_stopped_run_goes_on_only_as_it_began(folder, command, command_json):
    command_json(*stopped("--limit", 5))
    before = {p: p.read_bytes() for p in (folder / "run").rglob("*") if p.is_file()}
    for options, words in [
        (stopped("--order", "alternate"), "order was 'optimal' and is 'alternate' (--order); give"),
        (stopped("--minimum", "2,2"), "minimum was (1, 1) and is (2, 2) (--minimum)"),
        (stopped("--k", 4), "k was (3, 3) and is (4, 4) (--k)"),
        (stopped("--changed", 0.01), "changed was 0.0 and is 0.01 (--changed)"),
        (("replay", "audit.toml", "--stop-when-decided", "sign"),
         "rule was 'score <= 0' and is 'sign' (--stop-when-decided)"),
        (("replay", "audit.toml"), "give --stop-when-decided 'score <= 0' as when it began"),
    ]:  # fmt: skip
        code, out, err = command(*options)
        assert (code, out) == (2, "")
        assert words in err.splitlines()[-1]
        assert "sha256" not in err
    assert {p: p.read_bytes() for p in (folder / "run").rglob("*") if p.is_file()} == before
    assert command_json(*stopped())["planned"] == 360
    command_json("replay", "audit.toml", "--store", "full", "--limit", 1)
    code, _, err = command(*stopped("--store", "full"))
    assert code == 2
    assert "every replay is made: leave out --stop-when-decided" in err.splitlines()[-1]


@pytest.mark.parametrize("change", ["absent", "changed", "not given", "renamed"])
def test_a_resumption_does_not_look_at_the_pilot(folder, command, command_json, change):
    command_json("simulate", "homogeneous", "--p-sham", 0.6, "--p-destroy", 0.1, "--seed", 1,
                 "--questions", 50, "--clusters", 5, "--store", "pilot")  # fmt: skip
    first = command_json(*stopped("--k", 10, "--pilot", "pilot", "--limit", 5))
    options = ("--k", 10, "--pilot", "pilot")
    if change == "absent":
        (folder / "pilot/plan.json").unlink()
    elif change == "changed":
        command_json("simulate", "paper", "--seed", 2, "--questions", 50, "--clusters", 5,
                     "--store", "other")  # fmt: skip
        (folder / "pilot").rename(folder / "old")
        (folder / "other").rename(folder / "pilot")
    elif change == "not given":
        options = ("--k", 10)
    else:
        options = ("--k", 10, "--pilot", "nowhere.jsonl")
    code, out, err = command(*stopped(*options, "--minimum", "3,3", "--json"))
    assert code == 0
    status = json.loads(out)
    assert status["stopping"] == first["stopping"]
    assert (status["questions"], status["finished"]) == (40, True)
    assert err.startswith("stopping: as the run began: score <= 0 in order optimal; every question")
    assert "expected" not in err


def test_a_share_of_changed_decisions_is_announced(folder, command, command_json):
    exact = command_json(*stopped("--k", 10, "--store", "exact"))
    code, _, err = command(*stopped("--k", 10, "--changed", "0.01"))
    assert code == 0
    expected, share = err.splitlines()[1:3]
    assert "which decisions change depends on that, too" in expected
    assert "never a decision" not in err
    assert share == (
        "stopping: up to 1 % of the decisions on such questions differ from those of all replays on"
        " average (0.97 % expected, more or fewer in one run); for other questions that is no bound"
    )
    status = command_json("status", "run")
    assert status["stopping"]["changed"] == 0.01
    assert status["spared"] > exact["spared"]
    code, _, err = command("replay", "audit.toml", "--k", 10)
    assert "--stop-when-decided 'score <= 0' --changed 0.01" in err
    code, _, err = command(*stopped("--k", 10, "--changed", "0.01"))
    assert code == 0
    assert "up to 1 % of the decisions on questions as it was planned for differ" in err


def test_an_unfinished_run_that_stops_early_says_so_everywhere(folder, command, command_json):
    command_json(*stopped())
    segment = next((folder / "run/segments").iterdir())
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:150]))
    status = command_json("status", "run")
    assert (status["done"], status["finished"]) == (150, False)
    told = command("status", "run")[1].splitlines()[2]
    assert told.startswith(
        f"stopping: unfinished: {status['spared']} of 240 SHAM and DESTROY replays spared so far; "
    )
    notes = command_json("excess", "run")["notes"]
    spared = f"unfinished, 150 of 360 replays are done and {status['spared']} spared; questions"
    assert any(spared in note for note in notes)
    (folder / "outcomes.csv").write_text(
        "question_id,original_correct,strong_correct\n"
        + "".join(f"{t.question_id},1,0\n" for t in read_trajectories("trajectories.jsonl"))
    )
    err = command("route", "run", "outcomes.csv")[2]
    assert spared in err
    assert "finish the run (the same command goes on with it), or give" in err
    assert "--allow-mismatch" in err
    _, _, err = command(*stopped())
    there = 150 + status["spared"]
    assert f"replays made or spared: going on, {there} of 360 are there already" in err


def test_shards_share_a_store_and_make_each_replay_once(folder, command_json):
    done = [
        command_json("replay", "audit.toml", "--shard", f"{i}/3", "--limit", 20)["done"]
        for i in (2, 1, 3)
    ]
    assert done == [63, 126, 180]
    status = command_json("replay", "audit.toml", "--limit", 20)
    assert (status["done"], status["attempts"], status["duplicates"]) == (180, 180, 0)
    command_json("replay", "audit.toml", "--limit", 20, "--store", "whole")
    assert command_json("excess", "run") == command_json("excess", "whole")


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "1/0", "a/b", "-1/3", "1/3/5", "41/41"])
def test_a_shard_that_is_none(folder, refused, shard):
    assert f"--shard {shard}" in refused("replay", "audit.toml", "--shard", shard).replace("'", "")
    assert not (folder / "run").exists()


def test_what_an_agent_has_to_say_is_shown_as_a_line(folder, command):
    (folder / "speaking.py").write_text(
        "import logging\nfrom synthetic_adapter import answer as quiet\n"
        "def answer(request):\n"
        "    logging.getLogger('carve_stats.replay.agents').warning('waiting\\x1b[31m 3 s')\n"
        "    return quiet(request)\n"
    )
    (folder / "own.toml").write_text(CONFIG.format(use="python:speaking:answer"))
    status, _, err = command("replay", "own.toml", "--limit", 1)
    assert status == 0, err
    assert err.count("waiting") == 9
    assert "\x1b" not in err
