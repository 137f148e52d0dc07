"""Counts of a run: what is no new draw is left out and told, and alarms are notes."""

import random
from dataclasses import replace

import pytest

from carve_stats.counts import CONDITIONS
from carve_stats.errors import InputError
from carve_stats.inference.stopped import stopped_signs
from carve_stats.inference.tie_excess import tie_excess
from carve_stats.logs.reader import read_replays
from carve_stats.logs.runs import read_runs
from carve_stats.planning.curtailment import stopping_plan
from carve_stats.population.mixing import Population
from carve_stats.replay.independence.new_draws import (
    ASKED_AGAIN,
    FROM_CACHE,
    REPEATED_PROMPT,
    REPEATED_REPLY,
    find_copies,
)
from carve_stats.replay.independence.report import check_independence
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.records import Replay
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

OPTIONS = dict.fromkeys("ABCD", "an answer")
QUESTIONS = [
    Trajectory(question_id=f"q{i:02d}", video_id=f"v{i % 7}", answer="A", options=OPTIONS)
    for i in range(30)
]
PLAN = stopping_plan(4, population=Population.paper())
K = 4


def noisy(request):
    return random.Random(request.seed).choice("AAAABBCCD???")


def of_the_prompt(request, answers="AAB?"):
    return random.Random(f"{request.question_id} {request.condition}").choice(answers)


def always_valid(request):
    return of_the_prompt(request, "AAB")


def make_run(path, *, agent=noisy, **options):
    run_replays(agent, QUESTIONS, k=K, store=path, seed=5, **options)
    return path


def changed_run(path, change, *, stopping=None, **options):
    """The run whose records `change` has changed."""
    made = make_run(path / "made", stopping=stopping, **options)
    with RunStore.load(made) as store:
        records = list(store.records())
        k = dict.fromkeys(CONDITIONS, K)
        with RunStore.open(path / "run", store.plan, k=k, trajectories=QUESTIONS) as copy:
            for record in records:
                copy.append(change(record))
    return path / "run", records


def total(counts, what):
    return sum(int(getattr(counts, f"{arm}_{what}").sum()) for arm in CONDITIONS)


def test_of_a_declared_deterministic_agent_a_prompt_counts_once(tmp_path):
    run = make_run(tmp_path, agent=of_the_prompt, stochastic=False)
    counts = read_replays(run)
    assert counts.ledger.left_out[REPEATED_PROMPT] == 30 * 3 * (K - 1)
    assert counts.ledger.read == 30 * 3 * K
    assert counts.ledger.used + counts.ledger.left_out["invalid"] == 30 * 3
    per_question = counts.sham_replays + counts.sham_invalid
    assert set(per_question.tolist()) == {1}
    with RunStore.load(run) as store:
        assert {d.effective_k for d in check_independence(store).conditions.values()} == {1}
    assert counts.ledger.notes == ()
    assert tie_excess(counts).records == counts.ledger.to_dict()
    assert read_runs(run)[RunStore.load(run).run_id].ledger == counts.ledger


@pytest.mark.parametrize("attempts", ["first", "first-valid"])
def test_the_kept_replay_is_the_earliest_reply(tmp_path, attempts):
    def change(record):
        if record.condition == "self" and record.key[2:] == (0, 0):
            record = replace(record, status="transport_error", answer=None, flip=None)
        return replace(record, evidence_sha256=f"{record.seed}" * (record.condition == "destroy"))

    run, records = changed_run(tmp_path, change, stochastic=False, attempts=2)
    counts = read_replays(run, attempts=attempts)
    by_key = {r.key: change(r) for r in records}
    for i, q in enumerate(counts.question.tolist()):
        # The first was not reached: the first reply is its second attempt, or the next replay's.
        tried = next(
            by_key[key]
            for key in [(q, "self", 0, 1), (q, "self", 1, 0)]
            if key in by_key
        )  # fmt: skip
        assert counts.self_flips[i] == (tried.flip or 0)
        assert counts.self_replays[i] == (tried.flip is not None)
        assert counts.destroy_replays[i] + counts.destroy_invalid[i] == K
    made = len(by_key)
    assert counts.ledger.read == made == counts.ledger.used + sum(counts.ledger.left_out.values())


@pytest.mark.parametrize("stochastic", [None, True, False])
def test_replies_from_a_cache_are_left_out_of_any_run(tmp_path, stochastic):
    def change(record):
        return replace(record, from_cache=record.repetition > 0 or record.question_id == "q03",
                       evidence_sha256=f"{record.seed}")  # fmt: skip

    run, records = changed_run(tmp_path, change, stochastic=stochastic)
    counts = read_replays(run)
    assert counts.ledger.left_out[FROM_CACHE] == 29 * 3 * (K - 1) + 3 * K
    assert counts.question.tolist() == [t.question_id for t in QUESTIONS if t.question_id != "q03"]
    by_key = {r.key: r for r in records}
    for i, q in enumerate(counts.question.tolist()):
        assert counts.sham_flips[i] == (by_key[q, "sham", 0, 0].flip or 0)
    [note] = counts.ledger.notes
    assert note.startswith(f"{run}: alarm (from_cache): 273 of 360 replies say")
    assert note in tie_excess(counts).notes


def test_a_run_that_is_all_from_a_cache_is_refused(tmp_path):
    run = make_run(tmp_path, agent=lambda r: ReplayReply(text="B", from_cache=True))
    with pytest.raises(InputError, match=f"^{run}: no replay of it is a new draw, all") as told:
        read_replays(run)
    assert "\n" not in str(told.value)


def test_an_alarm_of_the_answers_is_a_note_and_changes_no_count(tmp_path):
    run = make_run(tmp_path, agent=lambda r: "ABCD"[int(r.question_id[1:]) % 4])
    counts = read_replays(run)
    [note] = counts.ledger.notes
    assert note.startswith(f"{run}: alarm (repeated_answers): SELF answers repeat each other")
    assert counts.ledger.used == 30 * 3 * K
    assert note in tie_excess(counts).notes


def test_an_honest_run_is_read_as_ever(tmp_path):
    counts = read_replays(make_run(tmp_path, stochastic=True))
    assert counts.ledger.notes == ()
    assert counts.ledger.left_out == {"invalid": total(counts, "invalid")}


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_stopped_run_keeps_what_stopped_it(tmp_path, attempts):
    def change(record):
        return replace(record, from_cache=record.repetition == 1)

    run, records = changed_run(tmp_path, change, stopping=PLAN, attempts=attempts)
    before, after = read_replays(tmp_path / "made"), read_replays(run)
    for arm in ("sham", "destroy"):
        for what in ("flips", "replays", "invalid"):
            name = f"{arm}_{what}"
            assert getattr(after, name).tolist() == getattr(before, name).tolist()
    assert after.ledger.left_out[FROM_CACHE] == 30  # of SELF, whose replays are all made
    assert set((after.self_replays + after.self_invalid).tolist()) == {K - 1}
    kept = len({r.key[:3] for r in records if r.repetition == 1 and r.condition != "self"})
    [note] = [n for n in after.ledger.notes if "count all the same" in n]
    assert f"{kept} replays that are no new draws" in note
    assert any("alarm (from_cache)" in n for n in after.ledger.notes)
    found = stopped_signs(after)
    assert found.to_dict()["excess"] == stopped_signs(before).to_dict()["excess"]
    assert set(after.ledger.notes) <= set(found.notes)


def test_a_stopped_run_of_a_deterministic_agent_is_read(tmp_path):
    run = make_run(tmp_path, agent=of_the_prompt, stochastic=False, stopping=PLAN)
    counts = read_replays(run)
    assert counts.ledger.left_out[REPEATED_PROMPT] == 30 * (K - 1)
    assert any("count all the same" in note for note in counts.ledger.notes)
    assert stopped_signs(counts).records == counts.ledger.to_dict()


def test_copies_do_not_depend_on_the_order_of_the_records(tmp_path):
    run = make_run(tmp_path, agent=of_the_prompt, stochastic=False)
    with RunStore.load(run) as store:
        records = list(store.records())
    expected = {r.key for r in records if r.repetition > 0}
    for seed in range(3):
        random.Random(seed).shuffle(records)
        copies = find_copies(records, copied=lambda: "prompt").reasons
        assert {records[place].key for place in copies} == expected
        assert set(copies.values()) == {REPEATED_PROMPT}
        for arms in ("self", "all"):
            copies = find_copies(records, copied=lambda arms=arms: arms).reasons
            keys = {records[place].key for place in copies}
            assert keys == {key for key in expected if key[1] == "self" or arms == "all"}
            assert set(copies.values()) == {REPEATED_REPLY}
        assert find_copies(records, copied=lambda: None) == ({}, frozenset())


def test_of_a_cache_that_the_declaration_gives_away_a_reply_counts_once(tmp_path):
    """The SELF replies of an agent that says that they vary, and whose never do."""
    run = make_run(tmp_path, agent=always_valid, stochastic=True)
    counts = read_replays(run)
    report = check_independence(run)
    assert "unvaried_replies" in [alarm.rule for alarm in report.alarms]
    assert counts.ledger.left_out[REPEATED_REPLY] == 30 * 3 * (K - 1)
    assert set(counts.self_replays.tolist()) == {1}
    assert any("the agent declares that its replies" in note for note in counts.ledger.notes)


def make_runs(path, *, questions=(QUESTIONS, QUESTIONS), stochastic=False):
    runs = []
    for seed, asked in enumerate(questions):
        runs.append(path / f"run{seed}")
        run_replays(always_valid, asked, k=K, store=runs[-1], seed=seed, stochastic=stochastic)
    return runs


@pytest.mark.parametrize("stochastic", [False, True])
def test_runs_of_which_one_holds_copies_of_the_other_are_not_pooled(tmp_path, stochastic):
    runs = make_runs(tmp_path, stochastic=stochastic)  # declared, or found since no two differ
    with pytest.raises(InputError, match=r"run0 and .*run1 are runs of agents whose.*'q00'") as no:
        read_replays(runs, pool_runs=True)
    assert "is the first of 90: " in str(no.value)
    assert "\n" not in str(no.value)
    assert len(read_runs(runs)) == 2
    other = make_run(tmp_path / "other")
    assert read_replays([runs[0], other], pool_runs=True).ledger.read == 2 * 30 * 3 * K


def test_runs_that_share_no_prompt_are_pooled(tmp_path):
    runs = make_runs(tmp_path, questions=(QUESTIONS[:12], QUESTIONS[12:]))
    pooled = read_replays(runs, pool_runs=True)
    ledgers = [read_replays(run).ledger for run in runs]
    assert pooled.question.tolist() == [t.question_id for t in QUESTIONS]
    assert pooled.ledger.used == sum(ledger.used for ledger in ledgers)
    assert pooled.ledger.left_out[REPEATED_PROMPT] == 30 * 3 * (K - 1)


@pytest.mark.parametrize("attempts", ["first", "first-valid"])
def test_an_attempt_that_follows_a_copy_is_no_first_one(tmp_path, attempts):
    def answer(request):
        if request.attempt == 0 and request.repetition == 0:
            return ReplayReply(text="none of these", from_cache=True)
        return "B"

    run = make_run(tmp_path, agent=answer, attempts=2)
    counts = read_replays(run, attempts=attempts)
    assert set(counts.sham_replays.tolist()) == {K - 1}
    assert counts.ledger.left_out == {"from a cache": 30 * 3 * 2}
    assert counts.ledger.read == 30 * 3 * (K + 1)


def attempt_of(repetition, attempt, *, shown="the same", status="ok", cached=False):
    ok = status == "ok"
    return Replay(
        run="r", question_id="q", video_id=None, condition="sham", repetition=repetition,
        attempt=attempt, text="A", answer="A" if ok else None, reference_answer="A", status=status,
        rule="mark", flip=0 if ok else None, seed=1, started_at=0.0, evidence_sha256=shown,
        from_cache=cached,
    )  # fmt: skip


def test_what_follows_a_repeated_prompt_is_left_out_and_what_follows_a_new_draw_is_not():
    records = [
        attempt_of(0, 0, status="invalid"),
        attempt_of(0, 1),  # shown what the first attempt was shown
        attempt_of(0, 2, shown="others"),  # a new draw, after one
        attempt_of(1, 0, status="invalid"),
        attempt_of(1, 1, shown="left out", status="invalid"),
        attempt_of(1, 2, cached=True),
        attempt_of(2, 0, shown="left out"),  # nothing that counts was shown them
        attempt_of(3, 0, shown="new", status="transport_error"),
        attempt_of(3, 1, shown="new", cached=True),
        attempt_of(3, 2, shown="new"),
        attempt_of(4, 0, shown="new", status="invalid"),
        attempt_of(4, 1, shown="newer", status="invalid", cached=True),
        attempt_of(4, 2, shown="newer"),
    ]
    expected = {
        1: REPEATED_PROMPT, 3: REPEATED_PROMPT, 4: REPEATED_PROMPT, 5: FROM_CACHE,
        7: ASKED_AGAIN, 8: FROM_CACHE, 9: FROM_CACHE, 11: FROM_CACHE,
    }  # fmt: skip
    found = find_copies(records, copied=lambda: "prompt")
    assert found.reasons == expected
    assert {shown for *_, shown in found.prompts} == {
        "the same", "others", "left out", "new", "newer"
    }  # fmt: skip
    backwards = find_copies(records[::-1], copied=lambda: "prompt").reasons
    assert {len(records) - 1 - place: reason for place, reason in backwards.items()} == expected
    caches = {place: reason for place, reason in expected.items() if reason != REPEATED_PROMPT}
    assert find_copies(records, copied=lambda: None) == (caches, frozenset())
