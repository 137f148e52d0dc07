"""`carve-stats score`: the same rows in every format, nothing written that was not asked for."""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pytest

import carve_stats as cs
from carve_stats.cli.score import score
from carve_stats.inference.multiplicity import ADJUSTMENTS
from carve_stats.inference.scores import score_table
from carve_stats.law.exact_tests import ALTERNATIVES, TESTS, TWO_SIDED
from carve_stats.law.intervals import INTERVALS

# Ids that spreadsheets, separators and quotes would spoil.
IDS = ["=1+1", "+q", "-q", "@q", "a,b", 'say "so"', " space ", "two\nlines", "影δ", "007"]
TEXTS = ("question", "cluster")
TRUTHS = ("established", "selected")
FIGURES = ("score", "low", "high", "p_value", "adjusted_p_value")


@pytest.fixture
def log(tmp_path):
    """Ten questions of one video; the last has no valid DESTROY replay."""
    path = tmp_path / "counts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["question_id", "video_id", "sham_flips", "sham_replays", "destroy_flips",
             "destroy_replays"]
        )  # fmt: skip
        for i, question in enumerate(IDS):
            rows.writerow([question, "v,1", i % 4, 3, (i * i) % 4 * (i < 9), 3 * (i < 9)])
    return path


@pytest.fixture
def expected(log):
    return score_table(cs.read_replays(log), rule="score <= 0", adjust="none")


def from_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for name, value in row.items():
            if name not in TEXTS:
                row[name] = json.loads(value) if value else None
    return rows


def from_jsonl(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def from_parquet(path):
    with duckdb.connect() as connection:
        found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


READERS = {".csv": from_csv, ".jsonl": from_jsonl, ".parquet": from_parquet}


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".CSV"])
def test_every_format_holds_the_same_rows(log, tmp_path, command, expected, ending):
    path = tmp_path / f"scores{ending}"
    arguments = ("score", log, "--rule", "score <= 0", "--adjust", "none", "--output", path)
    assert command(*arguments)[::2] == (0, "")
    rows = READERS[ending.lower()](path)
    assert rows == expected.rows()  # floats to the last bit
    assert {row["question"] for row in rows} == set(IDS)
    assert sum(row["score"] is None for row in rows) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["counts.csv", path.name])


def test_null_is_empty_in_csv_and_ids_are_quoted_only_where_needed(log, tmp_path, command):
    path = tmp_path / "scores.csv"
    command("score", log, "--output", path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("question,cluster,sham_flips,sham_replays,destroy_flips,")
    assert '\n=1+1,"v,1",0,3,' in text
    assert '\n"say ""so""","v,1",' in text
    assert '\n007,"v,1",1,3,0,0,,-1.0,1.0,1.0,1.0,false\n' in text
    assert text.endswith("\n")


@pytest.mark.parametrize("carriage_return", ["a\rb", "a\r\nb", "\ta", "a\x85b"])
def test_csv_ids_survive_other_ends_of_lines(tmp_path, command, carriage_return):
    log, path = tmp_path / "log.jsonl", tmp_path / "scores.csv"
    row = {"question_id": carriage_return, "sham_flips": 0, "sham_replays": 1, "destroy_flips": 1,
           "destroy_replays": 1}  # fmt: skip
    log.write_text(json.dumps(row) + "\n")
    assert command("score", log, "--output", path)[0] == 0
    (row,) = from_csv(path)
    assert row["question"] == carriage_return
    assert row["cluster"] == ""


def test_parquet_columns_are_typed_even_where_all_are_null(tmp_path, command):
    log, path = tmp_path / "log.csv", tmp_path / "scores.parquet"
    log.write_text("question_id,sham_flips,sham_replays,destroy_flips,destroy_replays\nq,0,0,1,2\n")
    assert command("score", log, "--rule", "score < 0", "--output", path)[0] == 0
    with duckdb.connect() as connection:
        rows = connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    kinds = {"VARCHAR": TEXTS, "DOUBLE": FIGURES, "BOOLEAN": TRUTHS}
    of = {name: kind for kind, names in kinds.items() for name in names}
    assert {name: kind for name, kind, *_ in rows} == {
        name: of.get(name, "BIGINT") for name, *_ in rows
    }
    (row,) = from_parquet(path)
    assert row["cluster"] is None
    assert row["score"] is None


def test_the_object_has_the_keys_that_others_may_rely_on(log, command_json, expected):
    result = command_json("score", log, "--rule", "score <= 0", "--adjust", "none")
    assert result == json.loads(json.dumps(expected.to_dict()))
    assert result["questions"] == {
        "read": 10, "scored": 9, "left_out": {"no valid destroy replay": 1}
    }  # fmt: skip
    assert set(result["records"]) == {"read", "used", "left_out"}
    assert result["k"] == {"sham": 3, "destroy": 3}
    assert result["interval"] == {"method": "agresti-min", "level": 0.95}
    assert result["test"] == {
        "name": "barnard", "alternative": "two-sided", "two_sided": "statistic",
        "significance": 0.05,
    }  # fmt: skip
    assert result["adjust"] == "none"
    assert result["smallest_p_value"] == min(row["p_value"] for row in result["rows"])
    assert result["established"] == sum(row["established"] for row in result["rows"])
    assert result["selected"] == sum(row["selected"] for row in result["rows"])


def test_with_a_file_everything_but_the_rows_is_printed(log, tmp_path, command):
    path = tmp_path / "scores.csv"
    status, out, _ = command("score", log, "--output", path)
    assert status == 0
    assert out.startswith(f"{path}: all 10 questions\n\nScores, DESTROY − SHAM flip rate: 9 of 10")
    lines = " ".join(out.split())
    table = score_table(cs.read_replays(log))
    for said in ("score above 0", "median width", "the smallest is", *table.notes):
        assert said in lines
    assert "flips/replays" in str(table)
    assert "flips/replays" not in out


def test_json_and_a_file_are_had_together(log, tmp_path, command_json):
    path = tmp_path / "scores.jsonl"
    result = command_json("score", log, "--output", path)
    assert from_jsonl(path) == result["rows"]


def test_options_reach_the_table(log, command_json):
    how = dict(interval="newcombe", level=0.9, test="boschloo", alternative="greater",
               two_sided="doubling", adjust="benjamini-hochberg")  # fmt: skip
    arguments = [x for n, v in how.items() for x in (f"--{n.replace('_', '-')}", v)]
    table = score_table(cs.read_replays(log), **how)
    result = command_json("score", log, *arguments)
    assert result["rows"] == json.loads(json.dumps(table.rows()))
    assert result["test"]["two_sided"] is None  # a one-sided test has no two-sided definition


def test_posteriors_are_those_of_the_population_fitted_to_the_log(log, command_json):
    counts = cs.read_replays(log)
    posteriors = cs.question_posteriors(counts, cs.fit_population(counts))
    rows = command_json("score", log, "--posterior")["rows"]
    for name in ("mean_difference", "probability_not_above"):
        assert [row[name] for row in rows] == getattr(posteriors, name).tolist()


def test_without_a_score_there_is_no_population_to_fit(tmp_path, command_json):
    path = tmp_path / "log.csv"
    path.write_text(
        "question_id,sham_flips,sham_replays,destroy_flips,destroy_replays\nq,0,0,1,3\n"
    )
    (row,) = command_json("score", path, "--posterior")["rows"]
    assert row["score"] is None
    assert "mean_difference" not in row


def test_the_choices_are_those_of_the_library():
    known = {"interval": INTERVALS, "test": TESTS, "alternative": ALTERNATIVES,
             "two_sided": TWO_SIDED, "adjust": ADJUSTMENTS}  # fmt: skip
    choices = {p.name: tuple(p.type.choices) for p in score.params if p.name in known}
    assert choices == known


def test_the_page_of_formats_names_every_column(expected):
    page = (Path(__file__).parents[2] / "docs/formats.md").read_text(encoding="utf-8")
    section = page.split("\n## Scores\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, flags=re.M)
    assert re.findall(r"`(\w+)`", " ".join(cells)) == [
        *expected.columns(),
        "mean_difference",
        "probability_not_above",
    ]


def test_without_a_file_the_summary_is_printed(log, command):
    status, out, err = command("score", log)
    assert (status, err) == (0, "")
    assert out == f"{score_table(cs.read_replays(log))}\n"


@pytest.mark.parametrize(
    ("output", "word"),
    [
        ("scores.txt", "must end in .csv, .jsonl, .parquet"),
        ("scores", "must end in"),
        ("", "must end in"),
        ("absent/scores.csv", "No such file or directory"),
        ("counts.csv/scores.csv", "Not a directory"),
        ("folder.csv", "a folder or a device"),
        (f"{'x' * 300}.csv", "File name too long"),
    ],
)
def test_a_wrong_output_is_refused_before_anything_is_read(
    log, tmp_path, monkeypatch, refused, output, word
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    before = sorted(tmp_path.rglob("*"))
    line = refused("score", "absent.csv", "--output", output)
    assert word in line
    assert "absent.csv" not in line
    assert sorted(tmp_path.rglob("*")) == before


def test_a_device_is_not_replaced(log, tmp_path, refused):
    os.mkfifo(tmp_path / "pipe.csv")
    assert "a device" in refused("score", log, "--output", tmp_path / "pipe.csv")
    assert (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.parametrize(
    ("rule", "word"),
    [("score", "rule='score'"), ("score <= x", "threshold='x'"), ("flips < 1", "rule='flips < 1'")],
)
def test_a_wrong_rule_is_refused_before_anything_is_read(refused, rule, word):
    assert word in refused("score", "absent.csv", "--rule", rule)


def test_no_log_is_written_over(log, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    before = log.read_bytes()
    videos = tmp_path / "videos.csv"
    videos.write_text("question_id,video_id\n")
    (tmp_path / "link.csv").symlink_to(log)
    assert "one of the files read" in refused("score", log, "--output", "./counts.csv")
    assert "one of the files read" in refused("score", "counts.*", "--output", log)
    assert "one of the files read" in refused("score", tmp_path / "link.csv", "--output", log)
    assert log.read_bytes() == before


@pytest.fixture
def folder(log, tmp_path):
    """A folder of logs; one of them is a link to a log elsewhere, and so is a folder in it."""
    path = tmp_path / "folder"
    (path / "inner").mkdir(parents=True)
    (path / "log.csv").write_bytes(log.read_bytes())
    (tmp_path / "other").mkdir()
    (tmp_path / "other/more.csv").write_text(log.read_text().replace("v,1", "v,2"))
    (path / "more.csv").symlink_to(tmp_path / "other/more.csv")
    (path / "linked").symlink_to(tmp_path / "other")
    (tmp_path / "way").symlink_to(path)
    (path / "out.csv").symlink_to(tmp_path / "elsewhere.csv")
    (tmp_path / "in.csv").symlink_to(path / "new.csv")
    return path


@pytest.mark.parametrize("given", ["folder", "way", "fold*", "./folder/../folder/"])
@pytest.mark.parametrize(
    ("output", "word"),
    [
        ("folder/scores.csv", "is inside"),
        ("folder/scores.jsonl", "is inside"),
        ("folder/log.csv", "is inside"),
        ("folder/inner/scores.csv", "is inside"),
        ("way/scores.csv", "is inside"),
        ("folder/out.csv", "is inside"),  # a link out of the folder, that would be replaced
        ("in.csv", "is inside"),  # a link into it
        ("other/scores.csv", "is inside"),
        ("other/more.csv", "is in"),
    ],
)
def test_nothing_is_written_into_a_folder_that_is_read(
    folder, tmp_path, monkeypatch, refused, given, output, word
):
    monkeypatch.chdir(tmp_path)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    monkeypatch.setattr("carve_stats.cli.score.read_logs", lambda **_: pytest.fail("was read"))
    line = refused("score", "counts.csv", given, "--output", output)
    assert word in line
    assert "name a" in line
    assert before == {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}


def test_a_log_that_a_folder_links_to_is_not_written_over(folder, tmp_path, refused):
    (folder / "linked").unlink()
    assert "one of the files read" in refused(
        "score", folder, "--output", tmp_path / "other/more.csv"
    )


def test_a_file_beside_the_folder_or_the_logs_may_be_written(folder, log, tmp_path, command):
    (folder / "more.csv").unlink()
    (folder / "out.csv").unlink()
    (folder / "circle").symlink_to(folder)
    (folder / "nowhere").symlink_to(tmp_path / "absent")
    assert command("score", folder, "--output", tmp_path / "folder.csv")[0] == 0
    assert command("score", log, "--output", log.parent / "scores.csv")[0] == 0
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    assert command("score", log, "--output", tmp_path / "loop.csv")[0] == 0


def test_no_segment_of_a_run_is_written_over(tmp_path, command, refused):
    run = tmp_path / "run"
    arguments = ("--seed", 1, "--questions", 4, "--clusters", 2, "--store", run)
    assert command("simulate", "paper", *arguments)[0] == 0
    (segment, *_) = sorted(run.rglob("segments/*.jsonl"))
    before = segment.read_bytes()
    for output in (segment, run / "scores.csv"):
        assert f"is inside {str(run)!r}, that is read" in refused("score", run, "--output", output)
    assert segment.read_bytes() == before


def test_no_table_of_videos_is_written_over(tmp_path, refused):
    log, videos = tmp_path / "log.jsonl", tmp_path / "videos.csv"
    row = {"question_id": "q", "sham_flips": 0, "sham_replays": 1, "destroy_flips": 1,
           "destroy_replays": 1}  # fmt: skip
    log.write_text(json.dumps(row) + "\n")
    videos.write_text("question_id,video_id\nq,v\n")
    assert "one of the files read" in refused("score", log, "--videos", videos, "--output", videos)
    assert videos.read_text() == "question_id,video_id\nq,v\n"


def test_an_older_table_is_replaced_as_a_whole(log, tmp_path, command, monkeypatch, refused):
    path = tmp_path / "scores.csv"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", fail)
        assert "No space left on device" in refused("score", log, "--output", path)
    assert path.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["counts.csv", "scores.csv"]
    assert command("score", log, "--output", path)[0] == 0
    assert len(from_csv(path)) == 10


def test_bad_logs_leave_no_file(tmp_path, refused):
    log = tmp_path / "log.csv"
    log.write_text("question_id,sham_flips,sham_replays,destroy_flips,destroy_replays\nq,5,3,1,2\n")
    assert "log.csv" in refused("score", log, "--output", tmp_path / "scores.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


def test_a_reader_that_went_away_is_told_nothing(log):
    end, start = os.pipe()
    os.close(end)
    program = "from carve_stats.cli.main import main; main()"
    with open(start, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", program, "score", log], stdout=pipe, stderr=-1, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_run_of_the_loop_is_scored(tmp_path, command, command_json):
    store = tmp_path / "run"
    arguments = ("--seed", 1, "--questions", 20, "--clusters", 5, "--store", store)
    assert command("simulate", "paper", *arguments)[0] == 0
    result = command_json("score", store)
    counts = cs.read_replays(store)
    assert [row["question"] for row in result["rows"]] == counts.question.tolist()
    np.testing.assert_array_equal([row["score"] for row in result["rows"]], counts.score)


def test_the_carve_layout_is_scored(command_json):
    tree = Path(__file__).parents[1] / "data/carve_tree"
    expected = json.loads((tree / "expected.json").read_text())
    result = command_json("score", tree / "results", "--videos", tree / "videos.csv")
    assert result["questions"]["scored"] == expected["scored"]
    assert len(result["rows"]) == len(expected["counts"])


def test_a_name_that_leaves_no_room_for_the_unfinished_file_is_refused(log, tmp_path, refused):
    path = tmp_path / f"{'a' * 248}.csv"
    assert "File name too long" in refused("score", log, "--output", path)
    assert [p.name for p in tmp_path.iterdir()] == ["counts.csv"]


def test_parquet_that_finds_no_room_is_one_line(log, tmp_path, refused, monkeypatch):
    class Gone(tempfile.TemporaryDirectory):
        def __enter__(self):
            name = super().__enter__()
            os.rmdir(name)
            return name

    monkeypatch.setattr(tempfile, "TemporaryDirectory", Gone)
    message = refused("score", log, "--output", tmp_path / "scores.parquet")
    assert "table.parquet cannot be written" in message
