"""`carve-stats status`: independence, the canary and the network, from the store alone."""

import pytest

from carve_stats.replay.independence.canary_report import CanaryReport, keep_canary
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

QUESTIONS = [
    Trajectory(question_id=f"q{i:02d}", answer="A", options={"A": "yes", "B": "no"})
    for i in range(20)
]


def make_run(path, agent=lambda request: "B", **options):
    run_replays(agent, QUESTIONS, k=3, store=path, seed=1, **options)
    return path


def test_it_tells_an_alarm_and_so_does_what_reads_the_counts(tmp_path, command, command_json):
    run = make_run(tmp_path)
    found = command_json("status", run)["independence"]
    assert found["declared"] is None
    [alarm] = found["alarms"]
    assert alarm["rule"] == "repeated_answers"
    assert found["conditions"]["destroy"]["effective_k"] == 1
    text = " ".join(command("status", run)[1].split())
    assert "independence of the replays: 1 alarm " in text
    assert f"* alarm (repeated_answers): {alarm['text']}" in text
    for name in ("excess", "score"):
        told = " ".join(command(name, run, "--video-pattern", "(q.).")[1].split())
        assert f"{run}: alarm (repeated_answers): {alarm['text']}" in told


def test_a_declared_deterministic_agent_is_reported_as_such(tmp_path, command, command_json):
    run = make_run(tmp_path, stochastic=False)
    assert command_json("status", run)["independence"]["alarms"] == []
    text = command("status", run)[1]
    assert "independence of the replays: no alarm" in text
    assert "deterministic given the prompt" in text
    assert "\nself              20       60            1        20       0\n" in text


def test_the_network_is_summed_up(tmp_path, command, command_json):
    def entry(status=200, error=None, waited=0.0):
        return {"status": status, "error": error, "seconds": 0.1, "waited": waited}

    refused, broken = entry(429, "slow down", 1.5), entry(None, "reset by peer", 2.0)
    tries = {"q03": [refused, refused, entry()], "q04": [entry(503, "busy", 4.0), broken, entry()]}

    def agent(request):
        first = request.condition == "self" and request.repetition == 0
        sent = tries.get(request.question_id, [entry()]) if first else [entry()]
        return ReplayReply(text="B", transport=sent)

    run = make_run(tmp_path, agent)
    assert command_json("status", run)["transport"] == {
        "requests": 184, "failed": 4, "rate_limit_waits": 2, "rate_limit_seconds": 3.0,
    }  # fmt: skip
    line = "network: 184 requests sent, 4 failed; 2 waits on rate limits, 3.0 s\n"
    assert line in command("status", run)[1]


def test_without_a_network_or_a_canary_neither_is_told(tmp_path, command, command_json):
    run = make_run(tmp_path)
    assert command_json("status", run)["canary"] is None
    text = command("status", run)[1]
    assert "canary" not in text
    assert "network" not in text


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (CanaryReport(passed=True, calls=2), "canary: passed (2 calls)\n"),
        (CanaryReport(passed=False, calls=1, captions=3, reasons=["a cache"]),
         "canary: failed (1 call, 3 captions): a cache\n"),
    ],
)  # fmt: skip
def test_the_canary_is_told(tmp_path, command, command_json, report, line):
    run = make_run(tmp_path)
    keep_canary(run, report)
    assert line in command("status", run)[1]
    assert command_json("status", run)["canary"] == report.to_dict()


def test_a_damaged_canary_is_refused_in_one_line(tmp_path, refused):
    run = make_run(tmp_path)
    (run / "canary.json").write_text("{")
    assert "canary.json: damaged" in refused("status", run)


def test_a_run_without_records_is_told_in_one_line(tmp_path, command, command_json):
    plan = RunStore.load(make_run(tmp_path / "other")).plan
    k = dict.fromkeys(plan.conditions, 3)
    RunStore.open(tmp_path / "run", plan, k=k, trajectories=QUESTIONS).close()
    code, out, _ = command("status", tmp_path / "run")
    assert (code, out) == (0, "0 of 180 replays done (0 valid, 0 invalid)\n")
    assert command_json("status", tmp_path / "run")["independence"]["conditions"] == {}


def test_it_says_in_which_condition_and_why_there_is_no_answer(tmp_path, command, command_json):
    def answer(request):
        if request.condition == "destroy" and request.repetition < 2:
            return "" if request.repetition else "I cannot tell, sorry."
        return "B"

    run = make_run(tmp_path, answer)
    assert command_json("status", run)["statuses"] == {
        "self": {"ok": 60}, "sham": {"ok": 60}, "destroy": {"ok": 20, "refusal": 20, "empty": 20},
    }  # fmt: skip
    lines = command("status", run)[1].splitlines()
    assert lines[1] == "without an answer: destroy 40 of 60 (66.7 %: 20 refusal, 20 empty)"
    assert sum("without an answer" in line for line in lines) == 1
