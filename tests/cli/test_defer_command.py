"""`carve-stats defer`: a second agent, killed and taken up again, and a table for `route`."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from carve_stats.logs.outcomes import read_outcomes
from carve_stats.logs.reader import read_replays
from carve_stats.replay.agents.synthetic import SyntheticAgent, synthetic_trajectories
from carve_stats.replay.deferral.asking import defer_questions
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

# Notes each question that it is asked, and may kill its process before it answers.
STRONG = """
import os, signal
from carve_stats.replay.protocols import ReplayReply

def answer(request):
    with open("asked.txt", "a") as file:
        print(request.question_id, file=file)
    if request.question_id == os.environ.get("KILLED_AT"):
        os.kill(os.getpid(), signal.SIGKILL)
    print("this is not what the command answers")
    if request.question_id == "q05":
        return "I cannot answer this."
    return ReplayReply(text="The answer is B.", usage={"input_tokens": 40, "output_tokens": 2})
"""
CONFIG = """
[agent]
use = "python:strong_agent:answer"
"""
FALLBACK = ("--agent", "python:strong_agent:answer")

# All replays flip or none: q00 and every fourth have the score 1, the others 0, −1 and 0.
SHAM, DESTROY = [0, 1, 1, 0] * 4, [1, 1, 0, 0] * 4
DEFERRED = [f"q{i:02}" for i in range(16) if i % 4]
GOLD = "question_id,gold_answer\n" + "".join(f"q{i:02},{'ABB'[i % 3]}\n" for i in range(16))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a finished run of sixteen questions and a fallback, and the current one."""
    questions = synthetic_trajectories(SHAM, DESTROY, cluster=[f"v{i // 4}" for i in range(16)])
    run_replays(SyntheticAgent(), questions, k=2, store=tmp_path / "run", seed=5)
    (tmp_path / "strong_agent.py").write_text(STRONG)
    (tmp_path / "gold.csv").write_text(GOLD)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("strong_agent", None)


def asked(folder):
    return (folder / "asked.txt").read_text().split()


def same_outcomes(a, b):
    np.testing.assert_equal(a.to_dict(), b.to_dict())


def test_a_killed_deferral_is_finished_by_the_same_command(folder, command_json, command):
    arguments = ("defer", "run", *FALLBACK, "--gold", "gold.csv")
    killed = subprocess.run(
        [sys.executable, "-m", "carve_stats", *arguments],
        env={**os.environ, "KILLED_AT": "q07"},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert asked(folder) == ["q01", "q02", "q03", "q05", "q05", "q05", "q06", "q07"]
    finished = command_json(*arguments)
    # Only the one in flight is asked again.
    assert asked(folder)[8:] == ["q07", "q09", "q10", "q11", "q13", "q14", "q15"]
    assert finished["deferred_questions"] == DEFERRED
    assert (finished["deferred"], finished["answered"], finished["no_answer"]) == (12, 11, 1)
    # By hand: the first answers are ABCD and so on, the right ones ABB, all of the fallback's B.
    # It repairs q02, q07, q10, q11 and q14; no first answer A, which it could harm, is deferred.
    assert (finished["repairs"], finished["harms"], finished["net"]) == (5, 0, 5)
    assert finished["tokens"] == 11 * 42
    status, out, err = command(*arguments)
    assert status == 0
    assert "nothing to do, 12 of 12 are there already" in err
    assert "12" in out
    assert len(asked(folder)) == 15
    assert command_json("status", finished["store"])["done"] == 12
    assert command_json("status", "run")["done"] == 16 * 6


def test_the_table_is_read_back_equal_and_taken_by_route(folder, command_json):
    for ending in ("csv", "jsonl", "parquet"):
        result = command_json(
            "defer", "run", *FALLBACK, "--gold", "gold.csv", "--out", f"outcomes.{ending}"
        )
        deferral = defer_questions(
            folder / "run", read_replays(folder / "run"), answer_b, name=result["fallback"],
            store=folder / f"again-{ending}", gold=labels(),
        )  # fmt: skip
        read = read_outcomes(folder / f"outcomes.{ending}")
        same_outcomes(read, deferral.outcomes)
    routed = command_json("route", "run", "outcomes.csv")
    assert routed["fallback"] == result["fallback"] == "python-strong-agent-answer"
    # Of the questions whose both outcomes are known: those that were deferred and answered.
    assert routed["questions"]["used"] == 11
    assert (routed["repairs"], routed["harms"]) == (result["repairs"], result["harms"])


def answer_b(request):
    if request.question_id == "q05":
        return "I cannot answer this."
    return ReplayReply(text="B", usage={"prompt_tokens": 40, "completion_tokens": 2})


def labels():
    return dict(line.split(",") for line in GOLD.splitlines()[1:])


HOSTILE = ["a,b", 'say "hi"', " lead", "two\nlines", "=1+1", "007", "1e3", "../../etc/x", "{}",
           "<b>", "ｑ１", "q1", "\u202eq", "'; DROP TABLE x; --", "true", "🦊" * 9]  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_hostile_ids_survive_the_table(tmp_path, monkeypatch, command_json, ending):
    monkeypatch.chdir(tmp_path)
    options = {"A": "yes", "B": "no"}
    questions = [
        Trajectory(question_id=one, video_id=one, answer="A", options=options, correct="B")
        for one in HOSTILE
    ]
    run_replays(lambda request: "A", questions, k=1, store="run", seed=1)
    (tmp_path / "hostile_agent.py").write_text("def answer(request):\n    return 'B'\n")
    result = command_json(
        "defer", "run", "--agent", "python:hostile_agent:answer", "--out", f"o.{ending}"
    )
    assert result["deferred_questions"] == HOSTILE
    assert result["repairs"] == len(HOSTILE)
    read = read_outcomes(f"o.{ending}")
    assert read.question.tolist() == sorted(HOSTILE)
    assert read.cluster.tolist() == sorted(HOSTILE)
    assert read.alternatives[result["fallback"]].correct.all()
    sys.modules.pop("hostile_agent")


def test_two_fallbacks_and_two_settings_stand_beside_each_other(folder, command_json):
    (folder / "told_agent.py").write_text(
        "class Told:\n"
        "    def __init__(self, says, often=1): self.says = says * often\n"
        "    def __call__(self, request): return self.says\n"
        "    def fingerprint(self): return {'says': self.says}\n"
    )
    told = ("--agent", "python:told_agent:Told", "--option")
    stores = [
        command_json("defer", "run", *arguments)["store"]
        for arguments in (FALLBACK, (*told, "says=A"), (*told, "says=B"), (*told, "says='B'"),
                          (*told, "says=B", "--option", "often=1"))
    ]  # fmt: skip
    assert len(set(stores)) == 4
    assert stores[2] == stores[3]
    for store in stores:
        assert RunStore.load(store).progress.status().finished
    assert RunStore.load(stores[1]).plan.agent["spec"] == {
        "use": "python:told_agent:Told", "says": "A"
    }  # fmt: skip


def test_another_agent_on_the_same_store_is_refused_with_the_difference(
    folder, command_json, refused
):
    command_json("defer", "run", *FALLBACK, "--store", "there")
    sys.modules.pop("strong_agent")
    (folder / "strong_agent.py").write_text(STRONG.replace("is B", "is C"))
    assert "source_sha256 was" in refused("defer", "run", *FALLBACK, "--store", "there")
    assert "seed was" in refused("defer", "run", *FALLBACK, "--store", "there", "--seed", 3)


def test_a_configuration_names_the_fallback(folder, command_json, refused, monkeypatch):
    (folder / "beside").mkdir()
    (folder / "beside" / "strong.toml").write_text(CONFIG)
    (folder / "strong_agent.py").rename(folder / "beside" / "strong_agent.py")
    by_file = command_json("defer", "run", "--config", "beside/strong.toml", "--limit", 3)
    assert (by_file["answered"], by_file["not_asked"]) == (3, 9)
    assert by_file["fallback"] == "python-strong-agent-answer"
    message = refused("defer", "run", "--config", "beside/strong.toml", *FALLBACK)
    assert "give no --agent" in message
    for text, word in (("", "[agent]"), ("[agent]\nuse = 1", "[agent]"), ("[agent", "not a TOML")):
        (folder / "bad.toml").write_text(text)
        assert word in refused("defer", "run", "--config", "bad.toml")
    assert "absent.toml" in refused("defer", "run", "--config", "absent.toml")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "--agent or --config"),
        (("--agent", "syntetic"), "did you mean 'synthetic'"),
        (("--agent", "builtin", "--option", "temperature"), "NAME=VALUE"),
        (("--agent", "scripted", "--option", "colour=red"), "'colour'"),
        ((*FALLBACK, "--rule", "scor <= 0"), "scor"),
        ((*FALLBACK, "--gold", "absent.csv"), "absent.csv"),
        ((*FALLBACK, "--limit", "0"), "limit=0"),
        ((*FALLBACK, "--attempts", "0"), "attempts=0"),
        ((*FALLBACK, "--workers", "0"), "workers=0"),
        ((*FALLBACK, "--seed", "-1"), "seed=-1"),
        ((*FALLBACK, "--store", ""), "--store"),
        ((*FALLBACK, "--max-calls", "0"), "max_calls=0"),
        ((*FALLBACK, "--max-cost", "1"), "--max-cost 1 needs --prices"),
        ((*FALLBACK, "--prices", "absent.toml"), "--prices absent.toml limits nothing"),
        ((*FALLBACK, "--prices", "absent.toml", "--max-cost", "1"), "absent.toml"),
        ((*FALLBACK, "--out", "outcomes.txt"), ".csv"),
        ((*FALLBACK, "--out", "run/outcomes.csv"), "inside 'run'"),
        ((*FALLBACK, "--out", "gold.csv", "--gold", "gold.csv"), "one of the files read"),
        (("--agent", "synthetic"), "the synthetic agent needs"),  # its state is the first agent's
    ],
)
def test_wrong_input_is_one_line_and_writes_nothing(folder, refused, arguments, word):
    before = {p: p.read_bytes() for p in folder.rglob("*.*") if "pycache" not in str(p)}
    assert word in refused("defer", "run", *arguments)
    after = {p: p.read_bytes() for p in folder.rglob("*.*") if "pycache" not in str(p)}
    assert after == before


def test_what_is_no_run_is_refused(folder, refused):
    assert "gold.csv" in refused("defer", "gold.csv", *FALLBACK)
    (folder / "flat.csv").write_text("question_id,condition,repetition,flip\nq1,sham,0,1\n")
    assert "is not a run" in refused("defer", "flat.csv", *FALLBACK)


@pytest.mark.slow
def test_the_demo_defers_to_another_answering_step(tmp_path, command_json):
    store = tmp_path / "demo"
    command_json("demo", "--store", store, "--questions", 6, "--k", 1, "--seed", 4)
    arguments = ("defer", store / "run", "--media", store / "material", "--agent", "builtin",
                 "--option", "temperature=0.05", "--out", tmp_path / "outcomes.csv")  # fmt: skip
    some = command_json(*arguments, "--rule", "score <= 0")
    every = command_json(*arguments, "--rule", "always")
    assert some["deferred"] <= every["deferred"] == every["answered"] == 6
    assert every["store"] == some["store"]
    assert every["questions"]["used"] == 6
    records = list(RunStore.load(every["store"]).records())
    assert len(records) == 6  # nothing was asked twice
    shown = {
        r.question_id: r.evidence_sha256
        for r in RunStore.load(store / "run").records()
        if r.condition == "self"
    }
    assert {r.question_id: r.evidence_sha256 for r in records} == shown
    correct = {t.question_id: t.correct for t in RunStore.load(store / "run").trajectories()}
    right = sum(r.answer == correct[r.question_id] for r in records)
    assert round(6 * every["accuracy_after"]["estimate"]) == right
    assert command_json("status", every["store"])["done"] == 6
    assert (
        command_json("route", store / "run", tmp_path / "outcomes.csv", "--rule", "always")["net"]
        == every["net"]
    )


def test_a_limit_ends_it_cleanly_and_a_larger_one_goes_on(folder, command_json, command):
    arguments = ("defer", "run", *FALLBACK, "--gold", "gold.csv")
    status, out, _ = command(*arguments, "--max-calls", 4)
    assert (status, len(asked(folder))) == (0, 4)
    assert "stopped at --max-calls 4 (4 made): raise it and the same command goes on" in out
    finished = command_json(*arguments, "--max-calls", 100)
    assert finished["spent"] == {
        "calls": 14, "cost": None, "currency": None, "stopped_at": None,
    }  # fmt: skip
    assert (finished["deferred"], finished["answered"]) == (12, 11)


def test_a_limit_of_money_ends_it_cleanly_and_a_larger_one_goes_on(folder, command_json, command):
    (folder / "prices.toml").write_text(
        'currency = "USD"\n[models.default]\ninput = 2000.0\noutput = 10000.0\n'
    )
    # By hand: 40 tokens read and 2 written are 0.08 + 0.02; a reply without usage is the dearest.
    arguments = ("defer", "run", *FALLBACK, "--rule", "lowest 3", "--prices", "prices.toml")
    status, out, _ = command(*arguments, "--max-cost", 0.25)
    assert (status, len(asked(folder))) == (0, 2)
    assert "stopped at --max-cost 0.25 (0.2 USD spent): raise it" in out
    assert "1 question deferred and not asked yet" in out
    finished = command_json(*arguments, "--max-cost", 0.3)
    assert len(asked(folder)) == finished["answered"] == 3
    assert finished["spent"] == {
        "calls": 3, "cost": 0.3, "currency": "USD", "stopped_at": None,
    }  # fmt: skip
    # Nothing deferred: the store was not looked at, and what it has cost is not known.
    assert "spent" not in command_json("defer", "run", *FALLBACK, "--rule", "score > 5",
                                       "--max-calls", 1)  # fmt: skip


def test_frames_that_are_not_found_name_the_media_root(tmp_path, monkeypatch, command, refused):
    (tmp_path / "media").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "unseeing_agent.py").write_text("def answer(request):\n    return 'B'\n")
    picture = Encoder("png").encode(np.arange(3072, dtype=np.uint8).reshape(32, 32, 3))
    (tmp_path / "media" / "a.png").write_bytes(picture.data)
    whole = str(tmp_path / "media" / "a.png")
    for store, path in (("run", "a.png"), ("whole", whole)):
        question = Trajectory(question_id="q1", answer="A", options={"A": "yes", "B": "no"},
                              evidence=(EvidenceItem(id="0", frames=(path,)),))  # fmt: skip
        run_replays(lambda request: "A", [question], k=1, store=tmp_path / store, seed=1,
                    media=tmp_path / "media", canary="off")  # fmt: skip
    monkeypatch.chdir(tmp_path)
    fallback = ("--agent", "python:unseeing_agent:answer")
    message = refused("defer", "run", *fallback)
    assert "no file" in message
    assert "check the path and the media root (--media, " in message
    message = refused("defer", "whole", *fallback, "--media", "elsewhere")
    assert "paths are below the media root (--media, " in message
    assert "leads out of the folder" in message
    for store in ("run", "whole"):
        assert command("defer", store, *fallback, "--media", "media")[0] == 0
    sys.modules.pop("unseeing_agent")
