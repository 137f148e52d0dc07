"""Finished videos: those with all replays the run was asked for, in the order of their times."""

import pytest

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError, StoreError
from carve_stats.law.stopping import fixed_plan
from carve_stats.logs.finished import FinishedVideos, finished_videos
from carve_stats.logs.reader import read_replays
from carve_stats.planning.monitoring import UNDER_WAY, monitor_mean_score
from carve_stats.replay.plan import RunPlan
from carve_stats.replay.records import Replay
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

# Question, condition, repetition, attempt, flip, when: v2's second question has its last replay at
# 9, and its first question, in v1, one at 7; v3 lacks a repetition; v4 an attempt; v5 everything.
VIDEOS = {"a": "v2", "b": "v2", "c": "v1", "d": "v3", "e": "v4", "f": "v5"}
RECORDS = [
    ("a", "sham", 0, 0, 1, 1.0), ("a", "destroy", 0, 0, 1, 2.0),
    ("a", "sham", 1, 0, 0, 3.0), ("a", "destroy", 1, 0, 1, 4.0),
    ("b", "sham", 0, 0, None, 1.5), ("b", "sham", 0, 1, None, 1.6), ("b", "sham", 1, 0, 0, 9.0),
    ("b", "destroy", 0, 0, 1, 2.5), ("b", "destroy", 1, 0, 1, 2.6),
    ("c", "sham", 0, 0, 0, 5.0), ("c", "sham", 1, 0, 0, 7.0),
    ("c", "destroy", 0, 0, 0, 5.5), ("c", "destroy", 1, 0, 1, 6.0),
    ("d", "sham", 0, 0, 0, 1.0), ("d", "sham", 1, 0, 0, 2.0), ("d", "destroy", 0, 0, 0, 3.0),
    ("e", "sham", 0, 0, 0, 0.0), ("e", "sham", 1, 0, 0, 0.1),
    ("e", "destroy", 0, 0, 0, 0.2), ("e", "destroy", 1, 0, None, 0.3),
]  # fmt: skip


def make_run(path, records=RECORDS, *, named=True, k=2, stopping=None):
    plan = RunPlan(
        seed=1, conditions=("sham", "destroy"), attempts=2, agent={"name": "mine"},
        operator=None, encoder=None, crop=None, parser_version="1", stopping=stopping,
    )  # fmt: skip
    questions = [
        Trajectory(question_id=q, answer="A", video_id=v if named else None)
        for q, v in VIDEOS.items()
    ]
    with RunStore.open(path, plan, k={"sham": k, "destroy": k}, trajectories=questions) as store:
        for question, condition, repetition, attempt, flip, when in records:
            store.append(
                Replay(
                    run=store.run_id, question_id=question,
                    video_id=VIDEOS[question] if named else None, condition=condition,
                    repetition=repetition, attempt=attempt, text="",
                    answer=None if flip is None else "AB"[flip], reference_answer="A",
                    status="empty" if flip is None else "ok", rule="none", flip=flip, seed=1,
                    started_at=when,
                )
            )  # fmt: skip
    return path


def test_videos_count_once_all_their_replays_are_made(tmp_path):
    run = make_run(tmp_path / "run")
    videos = finished_videos(run)
    assert videos == FinishedVideos(("v1", "v2"), ("v3", "v4", "v5"))
    counts = videos.select(read_replays(run))
    assert counts.question.tolist() == ["a", "b", "c"]
    assert videos.note.startswith("2 of the run's 5 videos")
    assert "3 are under way" in videos.note
    watch = monitor_mean_score(counts, order=videos.order)
    assert watch.videos == ("v1", "v2")
    assert UNDER_WAY not in watch.notes
    assert UNDER_WAY in monitor_mean_score(read_replays(run)).notes


def test_the_order_is_that_of_times_not_of_records_or_names(tmp_path):
    later = [(*r[:5], r[5] + 100.0 * (r[0] == "c")) for r in reversed(RECORDS)]
    assert finished_videos(make_run(tmp_path / "run", later)).order == ("v2", "v1")
    same = [(*r[:5], 1.0) for r in reversed(RECORDS)]
    assert finished_videos(make_run(tmp_path / "same", same)).order == ("v1", "v2")


def test_what_finishes_after_the_look_is_left_out(tmp_path):
    run = make_run(tmp_path / "run")
    videos = finished_videos(run)
    make_run(run, [("d", "destroy", 1, 0, 1, 11.0), ("e", "destroy", 1, 1, 1, 10.0)])
    assert videos.select(read_replays(run)).question.tolist() == ["a", "b", "c"]
    assert finished_videos(run).order == ("v1", "v2", "v4", "v3")


def test_a_run_that_asks_for_more_replays_has_them_to_make(tmp_path):
    run = make_run(tmp_path / "run")
    make_run(run, [], k=3)
    with pytest.raises(InputError, match="none of its 5 videos has all of its replays yet"):
        finished_videos(run)


@pytest.mark.parametrize("how", ["mapping", "pattern"])
def test_videos_may_be_named_apart(tmp_path, how):
    run = make_run(tmp_path / "run", named=False)
    with pytest.raises(InputError, match="share a video"):
        finished_videos(run)
    said = {"videos": VIDEOS} if how == "mapping" else {"video_pattern": "(.)"}
    videos = finished_videos(run, **said)
    assert videos.order == (("v1", "v2") if how == "mapping" else ("a", "c", "b"))
    assert len(videos.select(read_replays(run, **said))) == 3
    with pytest.raises(InputError, match="share a video"):
        videos.select(ReplayCounts(["a"], [0], [1], [0], [1]))
    with pytest.raises(InputError, match="give one of the two"):
        finished_videos(run, videos=VIDEOS, video_pattern="(.)")


def test_a_run_that_stops_questions_early_is_refused(tmp_path):
    plan = fixed_plan(2, 2, "score <= 0", "alternate")
    with pytest.raises(InputError, match="stopped early"):
        finished_videos(make_run(tmp_path / "run", [], stopping=plan.to_dict()))


def test_no_run_is_refused(tmp_path):
    with pytest.raises(StoreError, match="is not a run"):
        finished_videos(tmp_path)
