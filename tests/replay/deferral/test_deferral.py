"""Deferral for real: who is asked what, what is not shown, and what becomes of the answers."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from carve_stats.counts import ReplayCounts
from carve_stats.errors import AgentError, InputError, PlanError
from carve_stats.law.stopping import fixed_plan
from carve_stats.logs.reader import read_replays
from carve_stats.outcomes import Outcomes
from carve_stats.replay.agents.scripted import ScriptedAgent
from carve_stats.replay.agents.synthetic import SyntheticAgent, synthetic_trajectories
from carve_stats.replay.costs.limits import SpendLimit
from carve_stats.replay.deferral.asking import defer_questions
from carve_stats.replay.deferral.choice import choose_deferred, default_seed
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory
from carve_stats.routing.evaluate import evaluate_rule

# Flip probabilities of 0 and 1: scores 1, 0, −1, 0, 1, −1, 1, 0, and frozen answers A, B, C, D, ….
SHAM = [0, 1, 1, 0, 0, 1, 0, 0]
DESTROY = [1, 1, 0, 0, 1, 0, 1, 0]
VIDEOS = ["v0", "v0", "v1", "v1", "v2", "v2", "v3", "v3"]
GOLD = {"q0": "A", "q1": "C", "q2": "C", "q3": "A", "q4": "B", "q5": "B", "q7": "D"}
DEFERRED = ("q1", "q2", "q3", "q5", "q7")
SAYS = {"q1": "C", "q2": "ANSWER: A", "q3": "(A)", "q5": "I cannot answer this.", "q7": "D"}


def script(says):
    return ScriptedAgent({(question, "self", 0): text for question, text in says.items()})


class Asked:
    """Answers B, and remembers what it was asked; the same agent whatever it remembers."""

    def __init__(self, *, breaks_after=None):
        self.requests = []
        self.breaks_after = breaks_after

    def __call__(self, request):
        if len(self.requests) == self.breaks_after:
            raise RuntimeError("out of order")
        self.requests.append(request)
        return "B"

    def fingerprint(self):
        return {"name": "asked"}

    @property
    def questions(self):
        return [request.question_id for request in self.requests]


@pytest.fixture
def run(tmp_path):
    """A finished run of eight synthetic questions."""
    questions = synthetic_trajectories(SHAM, DESTROY, cluster=VIDEOS)
    run_replays(SyntheticAgent(), questions, k=2, store=tmp_path / "run", seed=5)
    return tmp_path / "run"


@pytest.fixture
def counts(run):
    return read_replays(run)


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_figures_by_hand(run, counts):
    before = files(run)
    deferral = defer_questions(run, counts, script(SAYS), name="strong", gold=GOLD)
    assert deferral.deferred == DEFERRED
    assert (deferral.answered, deferral.no_answer, deferral.not_asked) == (4, 1, 0)
    # q1 and q3 are repaired, q2 is harmed; q5 keeps its right answer; q6 is in no figure.
    assert (deferral.repairs, deferral.harms, deferral.net) == (2, 1, 1)
    assert deferral.questions == {
        "read": 8, "used": 7, "left_out": {"right answer not known": 1}
    }  # fmt: skip
    assert deferral.accuracy_before.estimate == float(Fraction(4, 7))
    assert deferral.accuracy_after.estimate == float(Fraction(5, 7))
    assert deferral.yield_per_100.estimate == 20
    assert deferral.gain_points.estimate == pytest.approx(float(Fraction(100, 7)), rel=1e-15)
    assert (deferral.scored, deferral.clusters, deferral.tokens) == (8, 4, None)
    outcomes = deferral.outcomes
    np.testing.assert_array_equal(outcomes.original_correct, [1, 0, 1, 0, 0, 1, math.nan, 1])
    np.testing.assert_array_equal(
        outcomes.alternatives["strong"].correct,
        [math.nan, 1, 0, 1, math.nan, math.nan, math.nan, 1],
    )
    assert outcomes.cluster.tolist() == VIDEOS
    chosen = ["true" if f"q{i}" in DEFERRED else "false" for i in range(8)]
    assert outcomes.covariates["deferred"].tolist() == chosen
    shown = str(deferral)
    assert "1 question that the fallback gave no answer to (1 refusal)" in shown.replace("\n", " ")
    assert "there would be 1 more harms" in " ".join(shown.split())
    assert json.loads(json.dumps(deferral.to_dict(), allow_nan=False))["deferred_questions"] == [
        *DEFERRED
    ]
    assert "<table>" in deferral._repr_html_()
    kept = {p: data for p, data in files(run).items() if run / "deferral" not in p.parents}
    assert kept == before


def test_figures_are_those_of_evaluate_rule_where_all_outcomes_are_known(tmp_path, rng):
    n = 60
    questions = synthetic_trajectories(
        rng.random(n), rng.random(n), cluster=[f"v{i % 9}" for i in range(n)]
    )
    right = dict(zip((t.question_id for t in questions), rng.choice(list("ABCD"), n), strict=True))
    gold = {question: str(label) for question, label in right.items()}
    says = dict(zip(gold, map(str, rng.choice(list("ABCD"), n)), strict=True))
    run_replays(SyntheticAgent(), questions, k=3, store=tmp_path / "run", seed=2)
    counts = read_replays(tmp_path / "run")
    deferral = defer_questions(tmp_path / "run", counts, script(says), gold=gold)
    every = Outcomes(
        list(gold),
        [t.answer == gold[t.question_id] for t in questions],
        {"fallback": [says[question] == gold[question] for question in gold]},
    )
    expected = evaluate_rule(counts, every, "score <= 0")
    assert 0 < expected.selected < n
    assert len(deferral.deferred) == deferral.answered == expected.selected
    for name in ("repairs", "harms", "net", "yield_per_100", "accuracy_before", "accuracy_after",
                 "gain_points", "clusters", "scored"):  # fmt: skip
        assert getattr(deferral, name) == getattr(expected, name), name


def picture(shade):
    pixels = np.full((24, 32, 3), shade, np.uint8)
    pixels[::3] //= 2
    return Encoder("png").encode(pixels).data


@pytest.fixture
def pictured(tmp_path):
    """Makes a run with frames and a text, by a first agent that answered and knew this."""
    for i in range(3):
        (tmp_path / f"{i}.png").write_bytes(picture(60 * i + 30))

    def make(name, *, answer, correct, frozen):
        questions = [
            Trajectory(
                question_id=f"q{i}",
                video_id="v",
                question="Which?",
                options={"A": "first", "B": "second", "C": "third"},
                answer=answer,
                correct=correct,
                frozen=frozen,
                evidence=(
                    EvidenceItem(id="0", start=1.0, end=2.0, query="what", frames=(f"{i}.png",)),
                    EvidenceItem(id="1", text=f"a text about {i}"),
                ),
            )
            for i in range(3)
        ]
        first = Asked()
        run_replays(first, questions, k=1, store=tmp_path / name, seed=3, media=tmp_path,
                    canary="off")  # fmt: skip
        return tmp_path / name, first

    return make


def test_nothing_of_the_first_agent_reaches_the_fallback(pictured, tmp_path):
    seen = {}
    for name, facts in {
        "one": {"answer": "A", "correct": "B", "frozen": {"answer": "A", "note": "SECRET-STATE"}},
        "two": {"answer": "C", "correct": None, "frozen": None},
    }.items():
        run, first = pictured(name, **facts)
        fallback = Asked()
        deferral = defer_questions(
            run, read_replays(run), fallback, rule="always", store=tmp_path / f"to {name}",
            media=tmp_path,
        )  # fmt: skip
        assert len(deferral.deferred) == 3
        seen[name] = fallback.requests
        shown = {r.question_id: r for r in first.requests if r.condition == "self"}
        for request in fallback.requests:
            # The very same frames and texts, and nothing else of it.
            assert request.evidence == shown[request.question_id].evidence
            assert request.frozen is None
            assert request.condition == "self"
            assert request.seed != shown[request.question_id].seed
        kept = b"".join(files(tmp_path / f"to {name}").values())
        assert b"SECRET-STATE" not in kept
        assert b'"correct"' not in kept
    # Two first agents that agree in nothing but the evidence: their fallback cannot tell.
    assert seen["one"] == seen["two"]
    assert len(seen["one"]) == 3


def test_the_same_call_goes_on_and_another_rule_tops_up(run, counts):
    failing, asked = Asked(breaks_after=1), Asked()
    plan = {"gold": GOLD, "agent_spec": {"use": "it"}, "store": run.parent / "there"}
    with pytest.raises(AgentError, match="out of order"):
        defer_questions(run, counts, failing, rule="score < 0", **plan)
    assert failing.questions == ["q2"]
    first = defer_questions(run, counts, asked, rule="score < 0", **plan)
    assert (asked.questions, first.deferred) == (["q5"], ("q2", "q5"))
    second = defer_questions(run, counts, asked, rule="score <= 0", **plan)
    assert asked.questions == ["q5", "q1", "q3", "q7"]
    assert second.deferred == DEFERRED
    before = files(run.parent / "there")
    again = defer_questions(run, counts, asked, rule="score < 0", **plan)
    assert len(asked.requests) == 4
    assert files(run.parent / "there") == before
    assert again.to_dict() == first.to_dict()


def test_a_limit_leaves_questions_unasked_until_it_is_raised(run, counts):
    asked = Asked()
    some = defer_questions(run, counts, asked, gold=GOLD, limit=2)
    assert asked.questions == ["q1", "q2"]
    assert (len(some.deferred), some.answered, some.not_asked) == (5, 2, 3)
    assert "3 questions deferred and not asked yet" in " ".join(some.notes)
    assert (some.net, some.yield_per_100.estimate) == (-1, -50)  # q2 is harmed, of two asked
    every = defer_questions(run, counts, asked, gold=GOLD)
    assert asked.questions == [*DEFERRED]
    fewer = defer_questions(run, counts, asked, gold=GOLD, limit=1)  # what is paid for counts
    assert fewer.to_dict() == every.to_dict()


def test_what_may_be_spent_is_of_the_whole_deferral(run, counts):
    asked = Asked()
    some = defer_questions(run, counts, asked, spending=SpendLimit(max_calls=2))
    assert asked.questions == ["q1", "q2"]
    assert (some.answered, some.not_asked) == (2, 3)
    spending = SpendLimit(max_calls=2)
    again = defer_questions(run, counts, asked, spending=spending)
    assert (len(asked.questions), spending.calls, spending.reached) == (2, 2, "max_calls")
    assert again.to_dict() == some.to_dict()
    defer_questions(run, counts, asked, spending=SpendLimit(max_calls=5))
    assert asked.questions == [*DEFERRED]


def test_another_agent_or_seed_on_the_same_store_is_refused(run, counts):
    asked = Asked()
    defer_questions(run, counts, asked)
    before = files(run)
    with pytest.raises(PlanError, match=r"agent\.fingerprint\.name was \"asked\" and is \"script"):
        defer_questions(run, counts, script(SAYS))
    with pytest.raises(PlanError, match="seed was"):
        defer_questions(run, counts, asked, seed=1)
    with pytest.raises(PlanError, match="attempts was 3 and is 1"):
        defer_questions(run, counts, asked, attempts=1)
    assert files(run) == before
    # Beside it is room for another one, and each can be looked at by itself.
    defer_questions(run, counts, script(SAYS), name="strong", attempts=1)
    assert sorted(p.name for p in (run / "deferral").iterdir()) == ["fallback", "strong"]
    status = RunStore.load(run / "deferral" / "strong").progress.status()
    assert (status.done, status.valid, status.invalid) == (5, 4, 1)
    assert RunStore.load(run).progress.status().finished


def test_the_first_answer_given_counts_and_every_attempt_is_paid_for(run, counts):
    def reply(request):
        text = "B" if request.attempt == 1 and request.question_id != "q5" else "No idea at all"
        return ReplayReply(text=text, usage={"prompt_tokens": 100, "completion_tokens": 7})

    deferral = defer_questions(run, counts, reply, attempts=2, gold={"q1": "B", "q2": "C"})
    assert (deferral.answered, deferral.no_answer) == (4, 1)
    assert deferral.outcomes.alternatives["fallback"].correct[[1, 2]].tolist() == [1, 0]
    tokens = deferral.outcomes.alternatives["fallback"].tokens
    np.testing.assert_array_equal(tokens, [math.nan, 214, 214, 214, math.nan, 214, math.nan, 214])
    assert deferral.tokens == 5 * 214


def test_why_there_is_no_answer_is_said_by_the_last_attempt(run, counts):
    deferral = defer_questions(
        run, counts, lambda request: "" if request.attempt == 2 else "I cannot answer this."
    )
    assert (deferral.answered, deferral.no_answer) == (0, 5)
    assert "gave no answer to (5 empty)" in " ".join(deferral.notes)
    assert "5 questions asked again" in " ".join(deferral.notes)


def test_a_question_without_a_score_is_deferred_only_if_the_rule_says_so(tmp_path):
    def silent(request):
        return "" if request.question_id == "q2" and request.condition == "sham" else "A"

    options = {"A": "yes", "B": "no"}
    questions = [Trajectory(question_id=f"q{i}", answer="A", options=options) for i in range(3)]
    run_replays(silent, questions, k=1, store=tmp_path / "run", seed=1)
    counts = read_replays(tmp_path / "run")
    by_score = defer_questions(tmp_path / "run", counts, Asked())
    assert by_score.deferred == ("q0", "q1")
    assert "1 question without a score: 0 deferred" in " ".join(by_score.notes)
    always = defer_questions(tmp_path / "run", counts, Asked(), rule="always")
    assert (always.deferred, always.scored) == (("q0", "q1", "q2"), 2)
    assert "1 question without a score: 1 deferred" in " ".join(always.notes)


def test_a_run_that_stops_early_defers_what_the_full_run_does(tmp_path, rng):
    questions = synthetic_trajectories(rng.random(40), rng.random(40))
    plan = fixed_plan(4, 4, "score <= 0", "alternate", minimum=(1, 1))
    deferred = {}
    for name, stopping in (("full", None), ("stopped", plan)):
        run = tmp_path / name
        run_replays(SyntheticAgent(), questions, k=4, store=run, seed=8, stopping=stopping)
        deferral = defer_questions(run, read_replays(run), Asked(), gold={"q00": "A"})
        deferred[name] = deferral.deferred
        assert deferral.scored == 40
        assert deferral.questions["used"] == 1
    assert deferred["full"] == deferred["stopped"]
    assert 0 < len(deferred["full"]) < 40
    spared = RunStore.load(tmp_path / "stopped").progress.status().spared
    assert spared > 40


def test_nothing_deferred_writes_nothing(run, counts):
    before = files(run)
    deferral = defer_questions(run, counts, Asked(), rule="never", gold=GOLD)
    assert (deferral.deferred, deferral.store, deferral.repairs, deferral.net) == ((), None, 0, 0)
    assert deferral.accuracy_before == deferral.accuracy_after
    assert math.isnan(deferral.yield_per_100.estimate)
    assert files(run) == before


def test_without_right_answers_there_are_replies_and_no_figures(run, counts):
    deferral = defer_questions(run, counts, Asked())
    assert (deferral.answered, deferral.repairs, deferral.net) == (5, None, None)
    assert math.isnan(deferral.accuracy_after.estimate)
    assert np.isnan(deferral.outcomes.original_correct).all()
    assert deferral.to_dict()["accuracy_after"]["estimate"] is None
    assert "8 questions whose right answer is not known" in " ".join(deferral.notes)


def test_right_answers_of_the_run_and_of_gold_are_joined(tmp_path):
    options = {"A": "yes", "B": "no"}
    questions = [
        Trajectory(question_id="q0", answer="A", options=options, correct="B"),
        Trajectory(question_id="q1", answer="A", options=options),
        Trajectory(question_id="q2", answer="A", options=options),
    ]
    run = tmp_path / "run"
    run_replays(lambda request: "A", questions, k=1, store=run, seed=1)
    counts = read_replays(run)
    gold = {"q0": "b", "q1": " ａ ", "q2": None, "elsewhere": "E"}
    right = defer_questions(run, counts, Asked(), gold=gold).outcomes
    np.testing.assert_array_equal(right.original_correct, [0, 1, math.nan])
    np.testing.assert_array_equal(right.alternatives["fallback"].correct, [1, 0, math.nan])
    asked = Asked()
    for wrong, message in (
        ({"q0": "A"}, r"'q0': its right answer is 'B' in the run's trajectory .* 'A' in gold"),
        ({"q1": "C"}, "'C' of question 'q1' is none of its options A, B"),
        ({"q1": 1}, "must be a text"),
        ({"p1": "A"}, "no question id in common with the run: ids are such as 'p1'"),
    ):
        with pytest.raises(InputError, match=message):
            defer_questions(run, counts, asked, gold=wrong, name="other")
    assert not asked.requests
    assert not (run / "deferral" / "other").exists()


def test_open_answers_are_judged_by_the_equality_that_is_given(tmp_path):
    def same(a, b):
        return a.casefold() == b.casefold()

    questions = [
        Trajectory(question_id="q0", question="Who?", answer="a fox", correct="A Rabbit"),
        Trajectory(question_id="q1", question="Who?", answer="A FOX", correct="a fox"),
    ]
    run = tmp_path / "run"
    run_replays(lambda request: "a fox", questions, k=1, store=run, seed=1, equal=same)
    deferral = defer_questions(
        run, read_replays(run), lambda request: "a rabbit", rule="always", equal=same
    )
    assert deferral.outcomes.original_correct.tolist() == [0, 1]
    assert deferral.outcomes.alternatives["fallback"].correct.tolist() == [1, 0]


def test_questions_without_any_replay_are_left_out_and_counted(run, counts):
    few = counts.select(np.arange(8) < 6)
    deferral = defer_questions(run, few, Asked(), rule="always", gold=GOLD)
    assert len(deferral.outcomes) == len(deferral.deferred) == 6
    assert "2 questions of the run without any replay" in " ".join(deferral.notes)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rule": "confidence < 1"}, "confidence"),
        ({"name": "../out"}, "it names a folder and columns"),
        ({"name": "original"}, "it names a folder and columns"),
        ({"limit": 0}, "limit=0"),
        ({"attempts": 0}, "attempts=0"),
        ({"level": 1.5}, "level"),
        ({"gold": ["A"]}, "gold is a list"),
    ],
)
def test_wrong_arguments_are_told_before_anybody_is_asked(run, counts, changed, message):
    asked, before = Asked(), files(run)
    with pytest.raises(InputError, match=message):
        defer_questions(run, counts, asked, **changed)
    assert not asked.requests
    assert files(run) == before


def test_counts_of_another_run_are_refused(run):
    other = ReplayCounts(["x"], [0], [1], [0], [1])
    with pytest.raises(InputError, match=r"counts hold question 'x' and .* does not"):
        defer_questions(run, other, Asked())


def test_ties_at_the_boundary_are_drawn_and_as_many_as_asked_for(run, counts):
    deferrals = [
        defer_questions(
            run, counts, Asked(), rule="lowest 4", seed=seed, store=run.parent / f"by {seed}"
        )
        for seed in range(12)
    ]
    chosen = [one.deferred for one in deferrals]
    # q2 and q5 have the lowest scores, and two of q1, q3 and q7 are drawn.
    assert all(len(ids) == 4 and {"q2", "q5"} < set(ids) for ids in chosen)
    assert len(set(chosen)) == 3
    assert "2 questions deferred by chance" in " ".join(deferrals[7].notes)
    assert "drawn by the seed 7" in " ".join(deferrals[7].notes)


def test_each_question_is_drawn_with_its_propensity():
    ids = [f"q{i}" for i in range(7)]
    shares = np.array([0, 1, 0.4, 0.4, 0.4, 0.25, 0.5])
    draws = np.stack([choose_deferred(ids, shares, seed=seed) for seed in range(4000)])
    # Within four standard errors of each share; exactly 0 and 1 where there is no chance.
    error = 4 * np.sqrt(shares * (1 - shares) / len(draws))
    assert (np.abs(draws.mean(axis=0) - shares) <= error).all()
    assert set(draws[:, 2:5].sum(axis=1)) == {1, 2}  # 1.2 of three on average
    # Independent between propensities.
    assert abs(np.corrcoef(draws[:, 5], draws[:, 6])[0, 1]) < 4 / math.sqrt(len(draws))


def test_the_draw_knows_no_order_and_a_larger_share_takes_no_question_back(rng):
    ids = np.array([f"q{i}" for i in range(30)])
    before = np.zeros(30, bool)
    for m in range(1, 31):
        chosen = choose_deferred(ids, np.full(30, m / 30), seed=9)
        assert chosen.sum() == m
        assert (chosen >= before).all()
        order = rng.permutation(30)
        assert (choose_deferred(ids[order], np.full(30, m / 30), seed=9) == chosen[order]).all()
        before = chosen


def test_the_seed_follows_from_the_runs_and_is_another(run, counts):
    deferral = defer_questions(run, counts, Asked())
    assert deferral.seed == default_seed(5) != 5
    assert default_seed(5) != default_seed(6)
    assert RunStore.load(deferral.store).plan.seed == deferral.seed
