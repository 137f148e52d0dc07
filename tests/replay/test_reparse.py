"""Replies judged anew: what changes is told, what cannot change stays, and a new run is whole."""

import json

import pytest

from carve_stats.errors import InputError, StoreError
from carve_stats.logs.reader import read_replays
from carve_stats.planning.curtailment import curtailment
from carve_stats.population.mixing import Population
from carve_stats.replay import loop, parsing, reparse, replies
from carve_stats.replay.loop import run_replays
from carve_stats.replay.parsing import ParsedAnswer, parse_answer
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.reparse import CHANGES, reparse_run
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

OPTIONS = {"A": "yes", "B": "no", "C": "maybe"}
QUESTIONS = [
    Trajectory(question_id=f"q{i}", video_id=f"v{i // 2}", answer="A", options=OPTIONS)
    for i in range(4)
]
SAID = {
    "q0": "The answer is A.",
    "q1": "I would not say B",  # the old parser takes the last capital letter
    "q2": "Die Antwort ist C.",
    "q3": "La respuesta es (A).",
}


def old_parser(text, options):
    """A parser of the kind that ours is not: the last capital letter anywhere."""
    if text.startswith("La"):
        return ParsedAnswer(None, "no_commitment", "old")
    found = [character for character in text if character in options]
    return ParsedAnswer(found[-1], "ok", "old")


@pytest.fixture
def old_run(tmp_path, monkeypatch):
    """A function that makes a run with another parser."""

    def make(agent, trajectories=QUESTIONS, **settings):
        with monkeypatch.context() as patch:
            patch.setattr(loop, "PARSER_VERSION", "0")
            patch.setattr(replies, "parse_answer", old_parser)
            run_replays(agent, trajectories, store=tmp_path / "old", seed=1, **settings)
        return tmp_path / "old"

    return make


def content(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_changes_by_condition(old_run):
    run = old_run(lambda request: SAID[request.question_id], k=3)
    before = content(run)
    reparsed = reparse_run(run)
    assert content(run) == before
    assert (reparsed.parser_before, reparsed.parser_after) == ("0", parsing.PARSER_VERSION)
    for condition in ("self", "sham", "destroy"):
        assert reparsed.changes[condition] == {
            "same": 6, "valid to invalid": 3, "invalid to valid": 3, "flip 0 to 1": 0,
            "flip 1 to 0": 0, "other": 0,
        }  # fmt: skip
    first = reparsed.changed[0]
    assert (first.question_id, first.condition, first.repetition) == ("q1", "self", 0)
    assert (first.before, first.after, first.text) == ("B", "no_commitment", SAID["q1"])
    assert reparsed.before.invalid["sham"] == reparsed.after.invalid["sham"] == (3, 12)
    assert reparsed.before.score.attempted == 4
    assert (reparsed.after.score.lowest, reparsed.after.score.highest) == (-0.25, 0.25)


def test_every_kind_of_change(old_run):
    said = {"sham": "Answer: A, not B", "destroy": "The answer is B. Not A", "self": "B or C"}
    reparsed = reparse_run(old_run(lambda request: said[request.condition], k=2))
    assert reparsed.changes["sham"]["flip 1 to 0"] == 8
    assert reparsed.changes["destroy"]["flip 0 to 1"] == 8
    assert reparsed.changes["self"]["valid to invalid"] == 8
    assert all(sum(n.values()) == 8 and tuple(n) == CHANGES for n in reparsed.changes.values())
    assert reparsed.before.score.estimate == -1
    assert reparsed.after.score.estimate == 1
    assert json.loads(json.dumps(reparsed.to_dict()))["after"]["score"]["estimate"] == 1


def test_another_option_that_flips_as_well(old_run):
    reparsed = reparse_run(old_run(lambda request: "The answer is B, not C", k=1))
    assert reparsed.changes["sham"]["other"] == 4
    assert {(v.before, v.after) for v in reparsed.changed} == {("C", "B")}


def test_what_does_not_depend_on_the_parser_stays(old_run):
    def agent(request):
        if request.question_id == "q0":
            return ReplayReply(text="I would not say B", answer="C")
        if request.question_id == "q1":
            return ReplayReply(text="nothing", answer="Z")
        if request.question_id == "q2":
            return ReplayReply(text="The answer is A", finish_reason="length")
        raise ConnectionError("gone, B")

    reparsed = reparse_run(old_run(agent, k=1))
    assert reparsed.own_answers == 6
    assert "6 records have an answer that the agent gave" in " ".join(reparsed.notes)
    statuses = {v.question_id: (v.before, v.after) for v in reparsed.changed}
    # The old parser read a failure as an answer.
    assert statuses == {"q3": ("B", "transport_error")}


def test_open_questions_are_left_and_counted(old_run):
    questions = [*QUESTIONS[:1], Trajectory(question_id="open", video_id="v", answer="a dog")]
    run = old_run(lambda request: "Not B", questions, k=2, equal=lambda one, other: one == other)
    reparsed = reparse_run(run)
    assert reparsed.open_records == 6
    assert "6 records are of questions without options" in reparsed.notes[0]
    assert {v.question_id for v in reparsed.changed} == {"q0"}


def test_only_first_attempts_are_estimated_from(old_run):
    def agent(request):
        return "La nada" if request.attempt == 0 else "A"

    reparsed = reparse_run(old_run(agent, k=2, attempts=2))
    assert reparsed.after.invalid["sham"] == (8, 8)
    assert reparsed.after.status.valid == 24


def test_a_new_run_is_read_and_resumed_with_this_parser(old_run, tmp_path):
    asked = []

    def agent(request):
        asked.append(request.question_id)
        return SAID[request.question_id]

    run = old_run(agent, k=3)
    old_run(agent, k=4, trajectories=QUESTIONS[:1])  # tops up one question
    before = content(run)
    reparsed = reparse_run(run, out=tmp_path / "new" / "run")
    assert content(run) == before
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["run"]
    with RunStore.load(tmp_path / "new/run") as new, RunStore.load(run) as old:
        assert new.run_id == reparsed.new_run != old.run_id == reparsed.run
        assert new.plan.parser_version == parsing.PARSER_VERSION
        kept, told = list(old.records()), list(new.records())
    assert [r.key for r in told] == [r.key for r in kept]
    assert [(r.text, r.seed, r.started_at) for r in told] == [
        (r.text, r.seed, r.started_at) for r in kept
    ]
    for record in told:
        assert record.answer == parse_answer(record.text, OPTIONS).letter
        assert record.flip == (None if record.answer is None else int(record.answer != "A"))
    counts = read_replays(tmp_path / "new/run")
    assert counts.sham_replays.tolist() == [4, 0, 3, 3]
    made = len(asked)
    status = run_replays(agent, QUESTIONS, k=5, store=tmp_path / "new/run", seed=1)
    assert status.finished
    assert len(asked) - made == 4 * 15 - len(kept)


def test_invalid_replays_with_attempts_left_are_made_when_resumed(old_run, tmp_path):
    run = old_run(lambda request: SAID[request.question_id], k=1, attempts=2)
    reparsed = reparse_run(run, out=tmp_path / "new")
    assert reparsed.before.status.finished
    assert reparsed.after.status.done == 9
    assert "3 replays that were done have no valid answer now" in reparsed.notes[-1]
    status = run_replays(
        lambda request: SAID[request.question_id],
        QUESTIONS, k=1, attempts=2, store=tmp_path / "new", seed=1,
    )  # fmt: skip
    # q1's second attempts are made; q3's, whose first are valid now, are there already.
    assert (status.done, status.valid, status.attempts) == (12, 9, 18)


def test_a_run_that_stops_early_goes_on_where_flips_change(old_run, tmp_path):
    plan = curtailment(Population.paper(), k=3).plan

    def agent(request):
        return "The answer is B. Not A" if request.condition == "destroy" else "A"

    run = old_run(agent, k=3, conditions=("sham", "destroy"), stopping=plan)
    reparsed = reparse_run(run, out=tmp_path / "new")
    assert reparsed.before.score is reparsed.after.score is None
    assert reparsed.before.status.finished
    assert "stops its questions early" in " ".join(reparsed.notes)
    with RunStore.load(tmp_path / "new") as store:
        assert store.progress.status().to_dict() == reparsed.after.status.to_dict()
        assert store.stopping.sha256 == RunStore.load(run).stopping.sha256
    status = run_replays(
        agent, QUESTIONS, k=3, conditions=("sham", "destroy"), stopping=plan,
        store=tmp_path / "new", seed=1,
    )  # fmt: skip
    assert status.finished
    assert read_replays(tmp_path / "new").destroy_flips.sum() > 0


def test_existing_folders_and_failures_leave_nothing(old_run, tmp_path, monkeypatch):
    run = old_run(lambda request: SAID[request.question_id], k=1)
    (tmp_path / "there").mkdir()
    with pytest.raises(StoreError, match=r"there exists \(--out\): give a folder that does not"):
        reparse_run(run, out=tmp_path / "there")
    monkeypatch.setattr(reparse, "create_file", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        reparse_run(run, out=tmp_path / "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old", "there"]


def test_the_same_parser_has_nothing_to_change(tmp_path):
    run_replays(lambda request: "A", QUESTIONS, k=1, store=tmp_path / "run", seed=1)
    reparsed = reparse_run(tmp_path / "run")
    assert reparsed.changed == ()
    assert reparsed.new_run == reparsed.run
    with pytest.raises(InputError, match="go on with the run itself"):
        reparse_run(tmp_path / "run", out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_no_run(tmp_path):
    with pytest.raises(StoreError, match="is not a run"):
        reparse_run(tmp_path / "nowhere")
