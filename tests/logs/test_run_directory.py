import os

import pytest

from carve_stats.errors import InputError, StoreError
from carve_stats.logs.reader import read_replays
from carve_stats.replay.plan import RunPlan
from carve_stats.replay.records import Replay
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory


def replay(run, condition, repetition, attempt=0, answer="A", question="q"):
    return Replay(
        run=run, question_id=question, video_id="v", condition=condition, repetition=repetition,
        attempt=attempt, text="", answer=answer, reference_answer="A",
        status="ok" if answer else "empty", rule="none", flip=None if not answer else
        int(answer != "A"), seed=1, started_at=0.0,
    )  # fmt: skip


def make_run(path, seed):
    plan = RunPlan(
        seed=seed, conditions=("sham", "destroy"), attempts=2, agent={"name": "mine"},
        operator=None, encoder=None, crop=None, parser_version="1",
    )  # fmt: skip
    question = Trajectory(question_id="q", answer="A")
    with RunStore.open(path, plan, k={"sham": 2, "destroy": 2}, trajectories=[question]) as store:
        run = store.run_id
        for one in (
            replay(run, "sham", 0, answer="B"),
            replay(run, "sham", 1, answer=None),
            replay(run, "sham", 1, attempt=1, answer="A"),
            replay(run, "destroy", 0, answer="C"),
            replay(run, "destroy", 0, answer="A"),  # a second writer's: the first counts
        ):
            store.append(one)
    return path


def test_a_run_is_counted_as_its_store_gives_it(tmp_path):
    path = make_run(tmp_path / "run", seed=1)
    with (path / "segments" / "0001.jsonl").open("a") as segment:
        segment.write('{"run": "')
    counts = read_replays(path)
    assert (counts.sham_flips[0], counts.sham_replays[0], counts.sham_invalid[0]) == (1, 1, 1)
    assert (counts.destroy_flips[0], counts.destroy_replays[0]) == (1, 1)
    assert counts.cluster.tolist() == ["v"]
    assert counts.ledger.to_dict() == {
        "read": 6,
        "used": 2,
        "left_out": {"invalid": 1, "later attempt": 1, "duplicate": 1, "torn line": 1},
    }
    assert read_replays(path, attempts="first-valid").sham_replays.tolist() == [2]


def test_runs_are_pooled_on_request(tmp_path):
    paths = [make_run(tmp_path / str(seed), seed) for seed in (1, 2)]
    with pytest.raises(InputError, match="hold 2 runs"):
        read_replays(paths)
    assert read_replays(paths, pool_runs=True).sham_replays.tolist() == [2]


def test_other_names_are_for_other_logs(tmp_path):
    with pytest.raises(InputError, match="is for other logs than a run directory"):
        read_replays(make_run(tmp_path, 1), columns={"flip": "changed"})


def test_a_run_of_other_things_than_files_is_refused(tmp_path):
    path = make_run(tmp_path, 1)
    segment = path / "segments" / "0002.jsonl"
    os.mkfifo(segment)
    with pytest.raises(StoreError, match=rf"^{segment}: not a regular file"):
        read_replays(path)
    (path / "plan.json").unlink()
    os.mkfifo(path / "plan.json")
    with pytest.raises(StoreError, match=r"plan\.json: not a regular file"):
        RunStore.load(path)


@pytest.mark.parametrize("path", ["", "x" * 300])
def test_a_path_that_cannot_be_is_refused(path):
    with pytest.raises(StoreError, match=r"^store='' is an empty path|x+.*: File name too long"):
        RunStore.load(path)
    with pytest.raises(StoreError, match=r"^store='' is an empty path|x+.*: File name too long"):
        RunStore.open(path, None, k={}, trajectories=[])
    with pytest.raises(InputError, match=r"^source is an empty path|^x+: .*File name too long"):
        read_replays(path)


def test_a_plan_that_nests_too_deep_is_damaged(tmp_path):
    path = make_run(tmp_path, 1)
    (path / "plan.json").write_text("[" * 100_000)
    with pytest.raises(StoreError, match=r"plan\.json: damaged"):
        read_replays(path)
