"""Runs that stop questions once they are decided: fewer calls, the same decisions, any order."""

import csv
import dataclasses
import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from carve_stats.errors import InputError, PlanError, StoreError
from carve_stats.law.score_rule import ScoreRule
from carve_stats.law.stopping import fixed_plan
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population
from carve_stats.replay.agents.scripted import ScriptedAgent
from carve_stats.replay.loop import run_replays
from carve_stats.replay.store import RunStore, read_plan
from carve_stats.replay.trajectories import Trajectory

# All 432 replays of the demo (`make demo`: the built-in agent on its 48 questions, k = 3, seed 1).
DEMO = Path(__file__).parents[1] / "data" / "demo_replays.csv"
OPTIONS = dict.fromkeys("ABCD", "an answer")
TIMES = ("started_at", "seconds")
ARMS = ("sham", "destroy")
RULE = ScoreRule.parse("score <= 0")


def plan_of(k=3, **options):
    return stopping_plan(k, population=Population.paper(), **options)


def questions(n):
    return [Trajectory(question_id=f"q{i}", answer="A", options=OPTIONS) for i in range(n)]


def noisy(request):
    """A pure function of the request's seed; four in ten answers are no flip, one in ten none."""
    return random.Random(request.seed).choice("AAAABBCCD?")


def records(store):
    """The records of a run by key, without what depends on the clock."""
    return {
        r.key: {n: v for n, v in r.to_dict().items() if n not in TIMES}
        for r in RunStore.load(store).records()
    }


def selections(store):
    """Whether the rule selects each question, by the valid replays of a run with all of them."""
    flips = defaultdict(list)
    for record in RunStore.load(store).records():
        if record.valid:
            flips[record.question_id, record.condition].append(record.flip)
    found = {}
    for name in {question for question, _ in flips}:
        sham, destroy = (flips.get((name, arm), []) for arm in ARMS)
        numerator = sum(destroy) * len(sham) - sum(sham) * len(destroy)
        scored = sham and destroy
        found[name] = bool(RULE.selects(numerator, len(sham) * len(destroy))) if scored else None
    return found


def decisions(store):
    run = RunStore.load(store)
    return {t.question_id: run.progress.walk(t.question_id).decision for t in run.trajectories()}


class Counting:
    """An agent that notes what it is asked, and is interrupted at one of its calls."""

    def __init__(self, agent, *, interrupted_at=None):
        self.agent = agent
        self.asked = []
        self.interrupted_at = interrupted_at

    def __call__(self, request):
        if len(self.asked) == self.interrupted_at:
            raise KeyboardInterrupt
        self.asked.append((request.question_id, request.condition, request.repetition))
        return self.agent(request)

    def fingerprint(self):
        return {"name": "counting"}

    def calls(self, *conditions):
        return sum(condition in conditions for _, condition, _ in self.asked)


@pytest.mark.parametrize(
    ("order", "saved"),
    [("optimal", 65), ("alternate", 54), ("alternate-destroy-first", 51), ("destroy-first", 54)],
)
def test_the_demo_makes_15_percent_fewer_calls_with_the_same_decisions(tmp_path, order, saved):
    with open(DEMO, newline="") as file:
        recorded = list(csv.DictReader(file))
    script = ScriptedAgent({
        (row["question_id"], row["condition"], int(row["repetition"])): row["answer"]
        for row in recorded
    })  # fmt: skip
    asked = [
        Trajectory(question_id=name, answer=answer, options=OPTIONS)
        for name, answer in {r["question_id"]: r["reference_answer"] for r in recorded}.items()
    ]
    full, stopped = Counting(script), Counting(script)
    run_replays(full, asked, k=3, store=tmp_path / "full", seed=1)
    status = run_replays(
        stopped, asked, k=3, store=tmp_path / "stopped", seed=1, stopping=plan_of(order=order)
    )
    assert len(full.asked) == 432
    assert full.calls(*ARMS) == 288
    assert stopped.calls(*ARMS) <= 0.85 * full.calls(*ARMS)
    assert status.spared == 288 - stopped.calls(*ARMS) == saved
    assert stopped.calls("self") == full.calls("self") == 144
    assert status.planned == 432
    assert status.done == len(stopped.asked) == 432 - status.spared
    selected = selections(tmp_path / "full")
    assert decisions(tmp_path / "stopped") == selected
    assert 0 < sum(selected.values()) < 48


def test_what_is_asked_follows_the_plan(tmp_path):
    texts = {("sham", 0): "B", ("destroy", 0): "A", ("sham", 1): "B", ("self", 0): "A",
             ("self", 1): "B"}  # fmt: skip
    agent = Counting(lambda r: texts[r.condition, r.repetition])
    plan = fixed_plan(3, 3, RULE, "alternate")
    k = {"self": 2, "sham": 3, "destroy": 3}
    status = run_replays(agent, questions(1), k=k, store=tmp_path, seed=1, stopping=plan)
    # 2 of 3 SHAM flipped: 2 of 3 DESTROY cannot exceed them.
    assert agent.asked == [("q0", *key) for key in (("self", 0), ("self", 1), ("sham", 0),
                                                    ("destroy", 0), ("sham", 1))]  # fmt: skip
    assert status.to_dict() == {
        "planned": 8, "done": 5, "valid": 5, "invalid": 0, "attempts": 5, "duplicates": 0,
        "torn_lines": 0, "spared": 3, "stopped": 1, "questions": 1, "lost": 0, "finished": True,
    }  # fmt: skip
    assert str(status) == (
        "5 of 8 replays done (5 valid, 0 invalid); 3 spared: 1 question stopped early"
    )


def test_an_invalid_replay_is_spent(tmp_path):
    texts = {("sham", 0): "?", ("sham", 1): "B", ("destroy", 0): "A", ("destroy", 1): "A",
             ("sham", 2): "A"}  # fmt: skip
    agent = Counting(lambda r: texts[r.condition, r.repetition])
    status = run_replays(agent, questions(1), k=3, store=tmp_path, seed=1, conditions=ARMS,
                         stopping=fixed_plan(3, 3, RULE, "alternate"))  # fmt: skip
    # One of the two SHAM left flips, 1/2. After one DESTROY 2/3 can still come; after two, 1/3.
    assert [key[1:] for key in agent.asked] == [
        ("sham", 0), ("sham", 1), ("destroy", 0), ("sham", 2), ("destroy", 1)
    ]  # fmt: skip
    assert (status.valid, status.invalid, status.spared) == (4, 1, 1)
    walk = RunStore.load(tmp_path).progress.walk("q0")
    assert (walk.sham, walk.destroy, walk.decision) == (3, 2, True)


@pytest.mark.parametrize("attempts", [1, 2])
def test_decisions_are_those_of_the_full_run_whatever_is_invalid(tmp_path, attempts):
    asked = questions(60)
    common = {"k": 4, "seed": 5, "attempts": attempts}
    full, stopped = Counting(noisy), Counting(noisy)
    run_replays(full, asked, store=tmp_path / "full", **common)
    status = run_replays(stopped, asked, store=tmp_path / "few", stopping=plan_of(4), **common)
    assert decisions(tmp_path / "few") == selections(tmp_path / "full")
    assert status.invalid > 0
    assert status.spared > 0
    assert status.done + status.spared == status.planned == 60 * 12
    # What was made is what the full run made of it, and leaves no gaps.
    few, whole = records(tmp_path / "few"), records(tmp_path / "full")
    assert few.keys() < whole.keys()
    sha256 = RunStore.load(tmp_path / "few").stopping.sha256
    assert all(
        {**record, "run": None, "stopping": None} == {**whole[key], "run": None, "stopping": None}
        for key, record in few.items()
    )
    assert {record["stopping"] for record in few.values()} == {sha256}
    assert all("stopping" not in record for record in whole.values())
    for question, condition, repetition, _ in few:
        assert repetition == 0 or (question, condition, repetition - 1, 0) in few


def test_interruptions_and_workers_change_nothing(tmp_path):
    asked = questions(12)
    plan = plan_of(4)

    def run(store, agent, **options):
        return run_replays(agent, asked, k=4, store=tmp_path / store, seed=5, attempts=2,
                           stopping=plan, **options)  # fmt: skip

    whole = Counting(noisy)
    run("whole", whole)
    assert run("two", Counting(noisy), workers=2) == run("whole", Counting(noisy))
    assert records(tmp_path / "two") == records(tmp_path / "whole")
    made = 0
    for calls in (1, 7, 2, 20, 11):
        agent = Counting(noisy, interrupted_at=calls)
        with pytest.raises(KeyboardInterrupt):
            run("resumed", agent)
        made += calls
        status = RunStore.load(tmp_path / "resumed").progress.status()
        assert status.attempts == made
        assert status.done + status.spared < status.planned
    rest = Counting(noisy)
    run("resumed", rest)
    assert made + len(rest.asked) == len(whole.asked)
    assert records(tmp_path / "resumed") == records(tmp_path / "whole")
    again = Counting(noisy)
    run("resumed", again)
    assert again.asked == []


def test_progress_counts_what_is_spared_as_done(tmp_path):
    seen = []

    def run(n, **options):
        seen.clear()
        run_replays(noisy, questions(n), k=4, store=tmp_path, seed=5, stopping=plan_of(4),
                    progress=lambda *numbers: seen.append(numbers), **options)  # fmt: skip

    run(5)
    assert (seen[0], seen[-1]) == ((0, 60), (60, 60))
    assert {total for _, total in seen} == {60}
    assert all(before < after for (before, _), (after, _) in pairwise(seen))
    run(8, workers=2)
    assert (seen[0], seen[-1]) == ((60, 96), (96, 96))
    run(8)
    assert seen == [(96, 96)]


def test_the_same_settings_from_another_population_say_what_to_give(tmp_path):
    def run(population):
        plan = stopping_plan(10, population=population)
        run_replays(noisy, questions(1), k=10, store=tmp_path, seed=5, stopping=plan)

    run(Population.paper())
    with pytest.raises(PlanError) as caught:
        run(Population.homogeneous(0.9, 0.2))
    assert "give stopping=RunStore.load(store).stopping" in str(caught.value)
    assert "sha256" not in str(caught.value)
    run_replays(noisy, questions(2), k=10, store=tmp_path, seed=5,
                stopping=RunStore.load(tmp_path).stopping)  # fmt: skip


def test_a_share_of_the_decisions_may_change(tmp_path):
    asked = questions(60)
    plan = plan_of(10, changed=0.05)
    assert not plan.exact
    run_replays(noisy, asked, k=10, store=tmp_path / "full", seed=5)
    exact = run_replays(noisy, asked, k=10, store=tmp_path / "exact", seed=5, stopping=plan_of(10))
    status = run_replays(noisy, asked, k=10, store=tmp_path / "few", seed=5, stopping=plan)
    assert status.spared > exact.spared
    assert status.finished
    assert RunStore.load(tmp_path / "few").stopping.changed == 0.05
    full, few = selections(tmp_path / "full"), decisions(tmp_path / "few")
    assert sum(few[name] == full[name] for name in full) >= 50
    with pytest.raises(PlanError, match=r"changed 0.05.* and is .*changed 0.01"):
        run_replays(noisy, asked, k=10, store=tmp_path / "few", seed=5,
                    stopping=plan_of(10, changed=0.01))  # fmt: skip


def test_a_plan_is_read_without_the_run(tmp_path):
    assert read_plan(tmp_path / "none") is None
    run_replays(noisy, questions(1), k=3, store=tmp_path / "run", seed=5, stopping=plan_of())
    plan = read_plan(tmp_path / "run")
    assert plan == RunStore.load(tmp_path / "run").plan
    (tmp_path / "run/plan.json").write_text("{")
    with pytest.raises(StoreError, match=r"plan.json: damaged"):
        read_plan(tmp_path / "run")


def test_a_run_keeps_its_stopping_plan(tmp_path):
    plan = plan_of()

    def run(stopping, k=3):
        return run_replays(noisy, questions(2), k=k, store=tmp_path, seed=5, stopping=stopping)

    run(plan)
    kept = RunStore.load(tmp_path).stopping
    assert kept.to_dict() == plan.to_dict()
    run(kept)
    for other, k, words in [
        (None, 3, "and is not given; give"),
        (plan_of(order="alternate"), 3, "order optimal.* and is .*order alternate"),
        (plan_of(rule="sign"), 3, 'score <= 0, .* and is "sign, '),
        (plan_of(4), 4, r"k 3 and 3, .* k 4 and 4"),
    ]:
        with pytest.raises(PlanError, match=words) as caught:
            run(other, k)
        assert plan.sha256[:12] in str(caught.value)
        assert plan.to_dict()["table"] not in str(caught.value)
    run_replays(noisy, questions(1), k=3, store=tmp_path / "full", seed=5)
    with pytest.raises(PlanError, match='stopping was not given and is "score <= 0, order opt'):
        run_replays(noisy, questions(1), k=3, store=tmp_path / "full", seed=5, stopping=plan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stopping": "score <= 0"}, "stopping='score <= 0' must be a StoppingPlan"),
        ({"stopping": plan_of(4)}, "k of sham is 3, the stopping plan's is 4"),
        ({"stopping": plan_of(), "conditions": ["sham"]}, "must have 'destroy'"),
        ({"stopping": plan_of(rule="score = 0")}, "'score = 0' cannot be decided early"),
    ],
)
def test_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        run_replays(noisy, questions(1), k=3, store=tmp_path / "run", seed=5, **options)
    assert not (tmp_path / "run").exists()


def test_replays_that_the_plan_did_not_ask_for_are_not_looked_at(tmp_path):
    # As two processes at once may leave them, whose agents answered differently.
    asked, plan = questions(30), plan_of(4)
    run_replays(noisy, asked, k=4, store=tmp_path / "full", seed=5)
    run_replays(noisy, asked, k=4, store=tmp_path / "few", seed=5, stopping=plan)
    few = RunStore.load(tmp_path / "few")
    k = dict.fromkeys(("self", *ARMS), 4)
    with RunStore.open(tmp_path / "few", few.plan, k=k, trajectories=asked) as store:
        for record in RunStore.load(tmp_path / "full").records():
            if record.key not in few.progress.completed() and record.repetition < 3:
                store.append(dataclasses.replace(record, run=few.run_id))
        status = store.progress.status()
        assert [store.progress.walk(t.question_id) for t in asked] == [
            few.progress.walk(t.question_id) for t in asked
        ]
    assert 0 < status.spared < few.progress.status().spared
    assert status.done + status.spared == status.planned
    assert run_replays(noisy, asked, k=4, store=tmp_path / "few", seed=5, stopping=plan) == status
