import json
import os
from pathlib import Path

import log_writers as w
import pytest
from log_writers import record, without

from carve_stats.errors import InputError, RecordError
from carve_stats.logs.reader import read_replays

# A small tree of the reference layout with what goes wrong in real ones, and its counts
# (from the project's published figures and cases).
CASES = Path(__file__).parents[1] / "data" / "carve_tree"
EXPECTED = json.loads((CASES / "expected.json").read_text())


@pytest.mark.parametrize("source", [CASES, CASES / "results"])
def test_the_case_tree_reads_as_expected(source):
    counts = read_replays(source, videos=CASES / "videos.csv")
    read = {q: {arm: cell[:2] for arm, cell in arms.items()}
            for q, arms in w.as_counted(counts).items()}  # fmt: skip
    assert read == EXPECTED["counts"]
    assert int(counts.scored.sum()) == EXPECTED["scored"]
    assert counts.question[~counts.scored].tolist() == EXPECTED["unscored"]
    lines = (CASES / "videos.csv").read_text().split()[1:]
    clusters = dict(line.rsplit(",", 1) for line in lines)
    assert dict(zip(counts.question, counts.cluster, strict=True)) == clusters
    assert counts.ledger.read == sum(1 for _ in (CASES / "results").rglob("*.json"))
    assert counts.ledger.left_out == {"invalid": 2}


TREE = [record("a/b", "SHAM", 0, "B"), record("a/b", "SHAM", 1), record("a/b", "DESTROY", 0, "C")]


def path_of(root, r):
    return root / r["question_id"].replace("/", "_") / r["condition"] / f"{r['repetition']}.json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"question_id": "a/b", "flip', "not JSON"),
        ("", "not JSON"),
        ("[1]", "not a JSON object"),
        (json.dumps(without(TREE[1], "question_id")), "there is no question_id"),
        (json.dumps(TREE[1] | {"question_id": "a_c"}), "question_id='a_c' is not the question of"),
        (json.dumps(TREE[1] | {"question_id": "a_b"}), "question 'a_b' is in one folder with 'a/b"),
        (
            json.dumps(TREE[1] | {"condition": "DESTROY"}),
            "condition='DESTROY' is not the condition",
        ),
        (json.dumps(TREE[1] | {"condition": "NOISE"}), "unknown condition 'NOISE': the known ones"),
        (json.dumps(TREE[1] | {"mode": "phase"}), "mode='phase' is not the condition of its"),
        (json.dumps(TREE[1] | {"repetition": 0}), "repetition=0 is not the one that the file is"),
        (json.dumps(TREE[1] | {"flip": 1}), "flip=1 disagrees with answer=A"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path, text, message):
    w.write_tree(tmp_path, TREE)
    path_of(tmp_path, TREE[1]).write_text(text)
    with pytest.raises(RecordError, match=rf"SHAM/1\.json: {message}") as raised:
        read_replays(tmp_path)
    assert "\n" not in str(raised.value)


def test_ids_that_share_a_folder_in_different_conditions_are_refused(tmp_path):
    w.write_tree(tmp_path, [record("a/b", "SHAM", 0, "B"), record("a_b", "DESTROY", 0, "B")])
    with pytest.raises(RecordError, match=r"SHAM/0\.json: question 'a/b' is in one folder with"):
        read_replays(tmp_path)


def test_one_id_as_a_number_and_as_a_text_is_one_question(tmp_path):
    w.write_tree(tmp_path, [record("7", "SHAM", 0, "B"), record("7", "DESTROY", 0, "B")])
    (tmp_path / "7" / "SHAM" / "0.json").write_text(json.dumps(record(7, "SHAM", 0, "B")))
    assert read_replays(tmp_path).question.tolist() == ["7"]


def test_the_path_gives_what_the_record_leaves_out(tmp_path):
    w.write_tree(tmp_path, TREE)
    for r in TREE:
        path_of(tmp_path, r).write_text(json.dumps(without(r, "condition", "repetition")))
    assert w.as_counted(read_replays(tmp_path)) == w.count_slowly(TREE)


def test_python_writes_nan_and_large_records(tmp_path):
    w.write_tree(tmp_path, TREE, mask_seconds=float("nan"), captions={"0": "x" * 200_000})
    assert w.as_counted(read_replays(tmp_path)) == w.count_slowly(TREE)


def test_an_unknown_condition_folder_is_refused(tmp_path):
    w.write_tree(tmp_path, [*TREE, record("a/b", "NOISE", 0)])
    with pytest.raises(InputError, match=r"a_b/NOISE: unknown condition 'NOISE': the known ones"):
        read_replays(tmp_path)


ELSEWHERE = [
    "a_b/SHAM/1.json.tmp", "a_b/SHAM/.2.json", "notes.txt", ".q0/SHAM/0.json", "a_b/SHAM.json",
    "a_b/7.json", "a_b/.hidden/0.json", "a_b/SHAM/more/0.json", "a_b/SHAM/more/deep/1.json",
    "a_b/DESTROY/link", "q7",
]  # fmt: skip


@pytest.mark.parametrize("names", [[name] for name in ELSEWHERE] + [ELSEWHERE])
def test_every_file_that_is_not_read_is_counted(tmp_path, names):
    w.write_tree(tmp_path, TREE)
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if "." in name or "more" in name:
            (tmp_path / name).write_text("{")
        else:
            (tmp_path / name).symlink_to("nowhere")
    counts = read_replays(tmp_path)
    assert counts.ledger.used == 3
    files = "1 file is" if len(names) == 1 else f"{len(names)} files are"
    first = min(names, key=lambda name: name.split("/"))
    assert len(counts.ledger.notes) == 1
    assert counts.ledger.notes[0] == (
        f"{tmp_path}: {files} not <question>/<CONDITION>/<repetition>.json, and not read:"
        f" {tmp_path / first}{', …' if len(names) > 1 else ''}"
    )


def test_folders_of_questions_without_records_are_noted(tmp_path):
    w.write_tree(tmp_path, TREE)
    for name in ("q8", "q9/SHAM", "q9/DESTROY"):
        (tmp_path / name).mkdir(parents=True)
    counts = read_replays(tmp_path)
    assert counts.question.tolist() == ["a/b"]
    assert counts.ledger.notes == (
        f"{tmp_path}: 2 questions are not counted, whose folders hold no records:"
        f" {tmp_path / 'q8'}, …",
    )


def test_what_cannot_be_read_as_a_record_is_named(tmp_path):
    w.write_tree(tmp_path, TREE)
    wrong = tmp_path / "a_b" / "SHAM" / "7.json"
    makers = {
        "a folder where a file": wrong.mkdir,
        "a link to nothing": lambda: wrong.symlink_to("nowhere"),
        "cannot be read: Too many levels": lambda: wrong.symlink_to(wrong),
        "not a regular file": lambda: os.mkfifo(wrong),
        "lists in lists too deep": lambda: wrong.write_text(
            '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}"
        ),
    }
    for message, make in makers.items():
        make()
        with pytest.raises(InputError, match=rf"^{wrong}: {message}"):
            read_replays(tmp_path)
        wrong.rmdir() if message.startswith("a folder") else wrong.unlink()


def test_a_record_that_may_not_be_read_is_named_with_its_folder(tmp_path, monkeypatch):
    w.write_tree(tmp_path, TREE)
    real = os.open

    def refuse(path, *arguments, **more):  # root may read everything, so chmod will not do
        if os.fspath(path).endswith("1.json"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments, **more)

    monkeypatch.setattr("os.open", refuse)
    monkeypatch.setattr("os.supports_dir_fd", {refuse})
    with pytest.raises(InputError, match=rf"^{tmp_path}/a_b/SHAM/1\.json: cannot be read: Perm"):
        read_replays(tmp_path)


def test_a_tree_without_records_is_refused(tmp_path):
    (tmp_path / "q" / "SHAM").mkdir(parents=True)
    with pytest.raises(InputError, match="no records: expected <question>/<CONDITION>/<rep"):
        read_replays(tmp_path)


def test_fields_can_have_other_names(tmp_path):
    w.write_tree(tmp_path, TREE)
    for r in TREE:
        renamed = without(r, "flip", "question_id") | {"flipped": r["flip"], "qid": "a/b"}
        path_of(tmp_path, r).write_text(json.dumps(renamed))
    counts = read_replays(tmp_path, columns={"flip": "flipped", "question_id": "qid"})
    assert w.as_counted(counts) == w.count_slowly(TREE)
    with pytest.raises(InputError, match="two of them are named 'flip'"):
        read_replays(tmp_path, columns={"answer": "flip"})


def test_files_may_have_names_of_their_own_and_records_a_run(tmp_path):
    folder = tmp_path / "q" / "SHAM"
    folder.mkdir(parents=True)
    for i in range(2):
        (folder / f"rep_{i}.json").write_text(json.dumps(record("q", "SHAM", i, run_id=f"r{i}")))
    assert read_replays(tmp_path, run="r1").ledger.left_out == {"other run": 1}


def test_the_condition_may_be_taken_from_the_mode(tmp_path):
    w.write_tree(tmp_path, TREE)
    for r in TREE:
        mode = {"SHAM": "sham", "DESTROY": "phase"}[r["condition"]]
        path_of(tmp_path, r).write_text(json.dumps(r | {"condition": "x", "mode": mode}))
    assert w.as_counted(read_replays(tmp_path, columns={"condition": "mode"})) == w.count_slowly(
        TREE
    )


def test_two_trees_are_two_runs_when_pooled(tmp_path):
    trees = [w.write_tree(tmp_path / n, TREE, completed_at=i) for i, n in enumerate("ab")]
    pooled = read_replays(trees, pool_runs=True)
    assert pooled.sham_replays.tolist() == [4]
    other = w.write_tree(tmp_path / "c", [TREE[0] | {"answer": "A", "flip": 0}])
    with pytest.raises(RecordError, match=r"c/a_b/SHAM/0\.json: .* at .*a/a_b/SHAM/0\.json: keep"):
        read_replays([trees[0], other])
