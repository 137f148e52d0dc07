"""`carve-stats monitor`: a run under way and other logs, in the order in which videos came."""

import json

import numpy as np
import pytest

from carve_stats.logs.finished import finished_videos
from carve_stats.logs.reader import read_replays
from carve_stats.planning.monitoring import monitor_mean_score
from carve_stats.population.mixing import Population
from carve_stats.replay.agents.synthetic import build, synthetic_trajectories
from carve_stats.replay.loop import run_replays


@pytest.fixture
def questions():
    drawn = Population.paper().draw(120, clusters=40, icc=0.1, rng=3)
    return synthetic_trajectories(
        drawn.p_sham, drawn.p_destroy, question=drawn.question, cluster=drawn.cluster
    )


class Interrupted(Exception):
    pass


@pytest.fixture
def run(tmp_path, questions):
    """A run that was interrupted in the middle of a question, its questions in another order."""
    path = tmp_path / "run"
    shuffled = [questions[i] for i in np.random.default_rng(1).permutation(len(questions))]
    shuffled.sort(key=lambda trajectory: hash_of(trajectory.video_id))

    def stop(done, total):
        if done == 800:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_replays(build(), shuffled, k=3, store=path, seed=1, progress=stop)
    return path


def hash_of(name):
    return sum(name.encode()) * 7919 % 101, name


@pytest.fixture
def log(tmp_path, run):
    """Its records of finished videos as a log of another kind."""
    videos = finished_videos(run)
    counts = videos.select(read_replays(run))
    path = tmp_path / "counts.jsonl"
    names = ("sham_flips", "sham_replays", "destroy_flips", "destroy_replays")
    columns = {"question_id": counts.question, "video_id": counts.cluster}
    columns |= {name: getattr(counts, name) for name in names}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    path.write_text("".join(json.dumps(dict(zip(columns, r, strict=True))) + "\n" for r in rows))
    return path


def test_a_run_under_way_is_watched_by_its_finished_videos(run, command_json, command):
    videos = finished_videos(run)
    counts = videos.select(read_replays(run))
    shown = command_json("monitor", run, "--planned", 40, "--level", 0.9)
    watch = monitor_mean_score(counts, order=videos.order, planned=40, level=0.9)
    assert shown["path"] == watch.to_dict()["path"]
    assert (shown["planned"], shown["level"], shown["by_name"]) == (40, 0.9, False)
    assert shown["under_way"] == list(videos.under_way)
    assert shown["notes"] == [videos.note, *watch.notes]
    assert len(videos.order) < 40 == len(videos.order) + len(videos.under_way)
    assert shown["path"]["video"] != sorted(shown["path"]["video"])
    status, out, _ = command("monitor", run)
    assert status == 0
    assert "as videos arrive" in out
    assert " ".join(out.split()).count("are under way or not begun, and left out") == 1


def test_other_logs_take_their_order_from_a_file(run, log, tmp_path, command_json, command):
    of_run = command_json("monitor", run)
    order = tmp_path / "order.txt"
    order.write_text("\n".join(["not in the log", *of_run["path"]["video"]]) + "\n\n")
    of_log = command_json("monitor", log, "--order", order)
    assert of_log["path"] == of_run["path"]
    assert of_log["under_way"] is None
    by_name = command_json("monitor", log)
    assert by_name["by_name"]
    assert by_name["path"]["video"] == sorted(of_run["path"]["video"])
    assert by_name["estimate"] == pytest.approx(of_run["estimate"], abs=1e-12)
    assert "in order of name" in command("monitor", log)[1]


def test_what_cannot_be_watched_is_one_line(run, log, tmp_path, refused, questions):
    assert "one run is watched at a time" in refused("monitor", run, log)
    assert "cannot be read" in refused("monitor", log, "--order", tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"v\xe4")
    assert "not UTF-8" in refused("monitor", log, "--order", tmp_path / "latin.txt")
    (tmp_path / "short.txt").write_text("v1\n")
    assert "does not name the video" in refused("monitor", log, "--order", tmp_path / "short.txt")
    assert "planned" in refused("monitor", run, "--planned", 0)
    assert "level" in refused("monitor", run, "--level", 1)
    assert "--map" in refused("monitor", run, "--map", "question_id=qid")


def test_a_run_without_a_finished_video_and_one_that_stops_early(tmp_path, refused, questions):
    from carve_stats.law.stopping import fixed_plan

    def stop(done, total):
        if done == 5:
            raise Interrupted

    begun = tmp_path / "begun"
    with pytest.raises(Interrupted):
        run_replays(build(), questions, k=3, store=begun, seed=1, progress=stop)
    assert "none of its 40 videos has all of its replays yet" in refused("monitor", begun)
    plan = fixed_plan(3, 3, "score <= 0", "alternate")
    run_replays(build(), questions, k=3, store=tmp_path / "stops", seed=1, stopping=plan)
    assert "stopped early" in refused("monitor", tmp_path / "stops")
