"""How far a run has come: what is done, spared and still to come, from keys and flips alone."""

import pytest

from carve_stats.errors import StoreError
from carve_stats.law.stopping import fixed_plan
from carve_stats.replay.extent import Extent
from carve_stats.replay.progress import RunProgress, RunStatus


def progress_of(records, *, k, attempts=1, stopping=None):
    """The progress of a run whose records are (question, condition, repetition, attempt, flip)."""
    progress = RunProgress(Extent(k=k), attempts=attempts, stopping=stopping)
    for *key, flip in records:
        progress.add(tuple(key), flip)
    return progress


def test_status_counts_replays_and_attempts():
    k = {f"q{i}": {"sham": 2, "destroy": 2} for i in range(3)}
    progress = progress_of(
        [
            ("q0", "sham", 0, 0, 0),
            ("q0", "sham", 1, 0, None),  # one attempt is left
            ("q1", "sham", 0, 0, None),
            ("q1", "sham", 0, 1, None),
            ("q2", "sham", 0, 0, None),
            ("q2", "sham", 0, 1, 1),
        ],
        k=k,
        attempts=2,
    )
    assert progress.status().to_dict() == dict(
        planned=12, done=3, valid=2, invalid=1, attempts=6, duplicates=0, torn_lines=0,
        spared=0, stopped=0, questions=3, lost=0, finished=False,
    )  # fmt: skip
    assert str(progress.status()) == "3 of 12 replays done (2 valid, 1 invalid)"
    assert progress.count_done(k) == (3, 2)
    assert progress.count_done({"q0": {"sham": 1}, "q1": {"sham": 2}}) == (2, 1)


def test_a_second_record_of_a_key_is_a_duplicate_and_changes_nothing():
    progress = progress_of([("q0", "sham", 0, 0, 1)], k={"q0": {"sham": 2}})
    progress.add(("q0", "sham", 0, 0), 0)
    progress.add_torn_line()
    assert progress.outcomes("q0", "sham") == [1]
    assert progress.completed() == {("q0", "sham", 0, 0)}
    assert str(progress.status()) == (
        "1 of 2 replays done (1 valid, 0 invalid); 1 duplicate records not used (two processes at"
        " once?);"
        " 1 unfinished line not used"
    )


def test_outcomes_are_the_first_valid_attempts_without_gaps():
    given = [
        (0, 0, 1),
        (1, 0, None),
        (1, 1, 0),
        (2, 0, None),
        (2, 1, None),
        (3, 0, None),
        (4, 0, 1),
    ]
    progress = progress_of(
        [("q0", "sham", *record) for record in given], k={"q0": {"sham": 6}}, attempts=2
    )
    # Of repetition 3 an attempt is left.
    assert progress.outcomes("q0", "sham") == [1, 0, None]
    assert progress.next_attempt("q0", "sham", 3) == 1
    assert progress.outcomes("q0", "destroy") == progress.outcomes("q1", "sham") == []


def test_a_decided_question_is_spared_what_it_was_asked_for_and_has_not():
    k = {name: {"self": 2, "sham": 3, "destroy": 3} for name in ("decided", "open")}
    plan = fixed_plan(3, 3, "score <= 0", "alternate")
    # 2 of 3 SHAM flipped: 2 of 3 DESTROY cannot exceed them.
    records = [
        ("decided", "sham", 0, 0, 1), ("decided", "sham", 1, 0, 1), ("decided", "destroy", 0, 0, 0),
        ("open", "sham", 0, 0, 1), ("open", "destroy", 0, 0, 0),
    ]  # fmt: skip
    progress = progress_of(records, k=k, stopping=plan)
    assert progress.walk("decided").decision is True
    assert progress.walk("open").next_condition == "sham"
    assert (progress.count_spared("decided"), progress.count_spared("open")) == (3, 0)
    status = progress.status()
    assert (status.planned, status.done, status.spared, status.stopped) == (16, 5, 3, 1)
    assert not status.finished
    assert str(status).endswith("; 3 spared: 1 question stopped early")
    # What another process made after the stop is done, and not spared.
    progress.add(("decided", "destroy", 1, 0), 1)
    assert progress.walk("decided").decision is True
    assert progress.count_spared("decided") == 2


def test_what_is_asked_for_later_is_still_to_come():
    extent = Extent(k={"q0": {"sham": 1}})
    progress = RunProgress(extent, attempts=1)
    progress.add(("q0", "sham", 0, 0), 0)
    assert progress.status().finished
    extent.k["q0"]["sham"] = 2
    assert not progress.status().finished


def test_only_a_run_that_stops_early_has_a_walk():
    progress = progress_of([("q0", "sham", 0, 0, 1)], k={"q0": {"sham": 1, "destroy": 1}})
    assert progress.count_spared("q0") == 0
    with pytest.raises(StoreError, match="question 'q0': its run has no stopping plan"):
        progress.walk("q0")


def test_a_run_is_finished_when_nothing_is_to_come():
    figures = dict(valid=3, invalid=1, attempts=4, duplicates=0, torn_lines=0)
    assert RunStatus(planned=6, done=4, spared=2, **figures).finished
    assert not RunStatus(planned=6, done=4, spared=1, **figures).finished
