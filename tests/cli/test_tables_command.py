"""`carve-stats tables`: the library's tables, files, order of rows and runs, wrong input."""

import csv
import json
import random
import re

import numpy as np
import pytest

import carve_stats as cs
from carve_stats.cli._wording import in_options
from carve_stats.report.paper_tables import build_tables, table_names
from carve_stats.report.paper_tables.formats import as_csv, as_markdown, as_text
from carve_stats.report.paper_tables.inputs import Backbone, PaperInputs

N, VIDEOS = 60, 12


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def draw(seed):
    """Rows of counted logs of three runs, of outcomes and of intervals."""
    drawn = cs.Population.paper().draw(N, clusters=VIDEOS, rng=3)
    rng = np.random.default_rng(seed)
    logs = []
    for run in ("one", "three", "two"):
        counts = drawn.replay(k=3, p_self=0.2, rng=int(rng.integers(10**9))).to_dict()
        for i in range(N):
            row = {"run": run, "question_id": counts["question"][i]}
            row["video_id"] = counts["cluster"][i]
            for arm in ("self", "sham", "destroy"):
                row[f"{arm}_flips"] = counts[f"{arm}_flips"][i]
                row[f"{arm}_replays"] = 3
            logs.append(row)
    outcomes = [
        {
            "question_id": row["question_id"],
            "original_correct": int(rng.random() < 0.5),
            "strong_correct": int(rng.random() < 0.6),
            "sure": int(rng.integers(100)),
        }
        for row in logs[:N]
    ]
    intervals = [
        {"question_id": row["question_id"], "retrieved": f"{start}-{start + 9}", "gold": "12:20"}
        for row, start in zip(logs[:N], rng.integers(0, 25, N).tolist(), strict=True)
    ]
    return logs, outcomes, intervals


@pytest.fixture
def files(tmp_path):
    """The files of two backbones."""
    paths = {}
    for name, seed in (("a", 1), ("b", 2)):
        for what, rows in zip(("logs", "outcomes", "intervals"), draw(seed), strict=True):
            paths[what, name] = write(tmp_path / f"{what}_{name}.csv", rows)
    return paths


def arguments(files):
    return [
        "tables", files["logs", "a"], files["outcomes", "a"], "--intervals",
        files["intervals", "a"], "--interval-format", "seconds", "--confidence", "sure",
        "--second-backbone", files["logs", "b"], files["outcomes", "b"], "--seed", 4,
    ]  # fmt: skip


def expected_tables(files, **options):
    intervals = cs.read_intervals(files["intervals", "a"], format="seconds")
    outcomes = cs.read_outcomes(files["outcomes", "a"])
    inputs = PaperInputs(
        runs=cs.read_runs(files["logs", "a"]),
        outcomes=outcomes.with_covariates(intervals.question, intervals.overlap()),
        confidence="sure",
        second=Backbone(
            "second",
            cs.read_runs(files["logs", "b"])["one"],
            cs.read_outcomes(files["outcomes", "b"]),
            which="run 'one', one of 3 (--run names another)",
        ),
        seed=4,
    )
    return build_tables(inputs, **options)


def test_tables_are_the_librarys(files, command_json):
    result = command_json(*arguments(files), "--published")
    assert [table["table"] for table in result["tables"]] == table_names()
    assert all(table["missing"] is None for table in result["tables"])
    expected = expected_tables(files, published=True)
    assert result["tables"] == json.loads(json.dumps([table.to_dict() for table in expected]))


def test_order_of_rows_files_and_runs_changes_nothing(files, tmp_path, command_json):
    first = command_json(*arguments(files))
    logs, outcomes, intervals = draw(1)
    rng = random.Random(1)
    for rows in (logs, outcomes, intervals):
        rng.shuffle(rows)
    write(files["outcomes", "a"], outcomes)
    write(files["intervals", "a"], intervals)
    halves = [write(tmp_path / f"half_{i}.csv", logs[i::2]) for i in (1, 0)]
    again = ["tables", *halves, *arguments(files)[2:]]
    assert command_json(*again)["tables"] == first["tables"]


def test_formats_and_files(files, tmp_path, command):
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "table_a5.md").write_text("of an earlier call")
    (folder / "notes.md").write_text("mine")
    chosen = ["--format", "markdown", "--tables", "1, a2", "--output", folder]
    status, out, err = command(*arguments(files), *chosen)
    assert (status, err) == (0, "")
    assert out.splitlines() == [str(folder / "table_1.md"), str(folder / "table_a2.md")]
    expected = expected_tables(files, names=["1", "A2"])
    assert (folder / "table_a2.md").read_text() == as_markdown(expected[1]) + "\n"
    assert sorted(path.name for path in folder.iterdir()) == [
        "notes.md", "table_1.md", "table_a2.md", "table_a5.md",
    ]  # fmt: skip
    assert (folder / "table_a5.md").read_text() == "of an earlier call"
    status, out, _ = command(*arguments(files), "--format", "csv", "--tables", "A2")
    assert out == as_csv(expected[1]) + "\n"
    status, out, _ = command(*arguments(files), "--format", "csv", "--tables", "A2,1")
    assert out.startswith("# Table 1: ")
    assert "\n\n# Table A2: " in out


def test_each_table_is_complete_in_itself(files, command):
    status, out, _ = command(*arguments(files))
    assert status == 0
    assert out == "\n\n".join(map(as_text, expected_tables(files))) + "\n"


def test_notes_of_csv_stand_in_a_file_or_in_comments(files, tmp_path, command):
    folder = tmp_path / "made"
    chosen = ["--format", "csv", "--tables", "A1,A2"]
    assert command(*arguments(files), *chosen, "--output", folder)[0] == 0
    expected = expected_tables(files, names=["A1", "A2"])
    for table in expected:
        name = f"table_{table.name.lower()}"
        assert (folder / f"{name}.csv").read_text() == as_csv(table) + "\n"
        notes = (folder / f"{name}.notes.txt").read_text().splitlines()
        assert notes == [table.title, *table.notes]
    _, out, _ = command(*arguments(files), *chosen)
    comments = [line for line in out.splitlines() if line.startswith("#")]
    assert comments == [f"# {text}" for table in expected for text in (table.title, *table.notes)]


def test_no_table_is_written_over_what_is_read(files, tmp_path, refused):
    mine = tmp_path / "tables" / "table_1.csv"
    mine.parent.mkdir()
    mine.write_bytes(files["outcomes", "a"].read_bytes())
    before = mine.read_bytes()
    chosen = ["--tables", "1", "--format", "csv", "--output", mine.parent]
    message = refused("tables", files["logs", "a"], mine, *chosen)
    assert "table_1.csv" in message
    assert "is one of the files read" in message
    assert mine.read_bytes() == before
    (tmp_path / "made" / "table_a2.txt").mkdir(parents=True)
    chosen = ["--tables", "1,A2", "--output", tmp_path / "made"]
    assert "is a folder" in refused(*arguments(files), *chosen)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["table_a2.txt"]


def test_one_run_is_kept_to(files, command_json):
    made = command_json("tables", files["logs", "a"], files["outcomes", "a"], "--run", "two")
    tables = {table["table"]: table for table in made["tables"]}
    rate = np.mean(cs.read_runs(files["logs", "a"])["two"].sham_flips / 3)
    assert tables["1"]["rows"][1]["mean"] == pytest.approx(rate)
    assert tables["A1"]["missing"].startswith("a second run")


def test_missing_inputs_are_one_line_each_and_no_error(files, tmp_path, command):
    status, out, err = command("tables", files["logs", "a"])
    assert (status, err) == (0, "")
    lines = out.splitlines()
    missing = [line for line in lines if line.startswith("Table ") and " needs " in line]
    assert [line.split(":")[0].removeprefix("Table ") for line in missing] == [
        "2", "3", "4", "A3", "A4", "A5",
    ]  # fmt: skip
    assert "--second-backbone LOGS OUTCOMES" in missing[-1]
    logs, *_ = draw(1)
    halves = [write(tmp_path / f"half_{i}.csv", logs[i::2]) for i in (0, 1)]
    status, out, _ = command("tables", *halves, "--no-outcomes", "--tables", "2,A1")
    assert status == 0
    assert out.startswith("Table 2: needs outcomes")
    assert "\n\nTable A1: How well" in out


def test_logs_without_runs_that_overlap(tmp_path, files, command_json, refused):
    logs, *_ = draw(1)
    paths = []
    for run in ("one", "three"):
        rows = [{k: v for k, v in row.items() if k != "run"} for row in logs if row["run"] == run]
        paths.append(write(tmp_path / f"{run}.csv", rows))
    error = refused("tables", *paths, files["outcomes", "a"])
    assert logs[0]["question_id"] in error or str(paths[1]) in error
    result = command_json(
        "tables", *paths, files["outcomes", "a"], "--run-per-log", "--tables", "A1"
    )
    runs = [cs.read_replays(path) for path in paths]
    expected = cs.reproducibility(*runs).observed.pearson
    (row,) = result["tables"][0]["rows"]
    assert row["pearson_r"] == expected.estimate
    assert str(paths[0]) in refused("tables", paths[0], *paths, files["outcomes", "a"],
                                    "--run-per-log")  # fmt: skip


def test_majority_of_self_replays_is_a_method(tmp_path, command_json):
    rng = random.Random(2)
    replays, outcomes = [], []
    for i in range(20):
        gold, frozen = rng.choice("AB"), rng.choice("AB")
        outcomes.append(
            {"question_id": f"q{i}", "gold_answer": gold, "original_answer": frozen,
             "strong_correct": rng.randrange(2)}
        )  # fmt: skip
        for condition in ("SELF", "SHAM", "DESTROY"):
            replays += [
                {"question_id": f"q{i}", "video_id": f"v{i // 4}", "condition": condition,
                 "repetition": j, "answer": rng.choice("AAB"), "reference_answer": frozen}
                for j in range(2)
            ]  # fmt: skip
    logs = write(tmp_path / "replays.csv", replays)
    judged = write(tmp_path / "outcomes.csv", outcomes)
    result = command_json("tables", logs, judged, "--self-consistency", "--tables", "3,4")
    rows = {row["method"]: row for row in result["tables"][1]["rows"]}
    right = 0
    for one in outcomes:
        said = [r["answer"] for r in replays if r["question_id"] == one["question_id"]
                and r["condition"] == "SELF"]  # fmt: skip
        frozen = one["original_answer"]  # where both answers were given as often
        majority = frozen if said.count("A") == 1 else said[0]
        right += majority == one["gold_answer"]
    assert rows["self_consistency"]["accuracy_pct"] == pytest.approx(100 * right / 20)
    assert any("several answers that most SELF" in note for note in result["tables"][1]["notes"])
    assert result["tables"][0]["missing"] is None  # still deferred to the only other answerer
    assert result["tables"][0]["caption"].endswith("to strong")


def test_wrong_options_are_one_line(files, tmp_path, refused):
    logs, outcomes = files["logs", "a"], files["outcomes", "a"]
    assert "--interval-format" in refused("tables", logs, outcomes, "--intervals", logs)
    assert "OUTCOMES" in refused("tables", logs, "--confidence", "sure")
    assert "A7" in refused("tables", logs, outcomes, "--tables", "1,A7")
    assert "sur" in refused("tables", logs, outcomes, "--confidence", "sur")
    assert "nobody" in refused("tables", logs, outcomes, "--fallback", "nobody")
    assert "four" in refused("tables", logs, outcomes, "--run", "four")
    assert "--pool-runs" in refused("tables", logs, outcomes, "--run", "one", "--pool-runs")
    assert "--output" in refused("tables", logs, outcomes, "--output", logs)
    assert "--seed" in refused("tables", logs, outcomes, "--seed", -1)
    assert "--no-outcomes" in refused("tables", logs, logs)
    rows = draw(1)[1][1:]
    short = write(tmp_path / "short.csv", rows)
    assert repr(draw(1)[1][0]["question_id"]) in refused("tables", logs, short)


def records(run, seed, *, questions=40, k=3, answer=None):
    """Replay records of one run, the same for every call of one seed."""
    rows = []
    for i in range(questions):
        for condition in ("SHAM", "DESTROY"):
            rng = random.Random(f"{seed} {i} {condition}")
            rows += [
                {"run": run, "question_id": f"q{i:02}", "video_id": f"v{i // 4}",
                 "condition": condition, "repetition": j,
                 "answer": "B" if rng.random() < 0.4 else "A", "reference_answer": "A"}
                for j in range(k)
            ]  # fmt: skip
    return rows


def without_run(rows):
    return [{name: value for name, value in row.items() if name != "run"} for row in rows]


def test_one_file_is_not_two_runs(tmp_path, monkeypatch, refused):
    folder = tmp_path / "logs"
    folder.mkdir()
    write(folder / "x.csv", records("", 1))
    (tmp_path / "link.csv").symlink_to(folder / "x.csv")
    (tmp_path / "hard.csv").hardlink_to(folder / "x.csv")
    write(tmp_path / "y.csv", records("", 2))
    monkeypatch.chdir(tmp_path)
    options = ("--no-outcomes", "--run-per-log", "--tables", "1")
    for one, other in (
        ("logs/x.csv", "./logs/x.csv"),
        ("logs/x.csv", "logs/../logs/x.csv"),
        ("link.csv", "logs/x.csv"),
        ("logs/x.csv", "hard.csv"),
        ("logs", "logs/x.csv"),
        ("logs/*.csv", "link.csv"),
        ("y.csv", "y.csv"),
    ):
        message = refused("tables", one, other, *options)
        assert f"{one!r} and {other!r} hold the same file" in message


def test_copied_replays_in_two_logs_are_told(tmp_path, command_json, refused):
    a = write(tmp_path / "a.csv", records("same id", 1))
    longer = records("same id", 1, k=5)
    for row in longer[:30]:  # three questions are not the same
        row["answer"] = "C"
    b = write(tmp_path / "b.csv", longer)
    c = write(tmp_path / "c.csv", records("same id", 2))
    options = ("--no-outcomes", "--run-per-log", "--tables", "1,A1")
    for table in command_json("tables", a, b, c, *options)["tables"]:
        (note,) = [note for note in table["notes"] if "word for word" in note]
        assert f"the replays of run '{a}' are in run '{b}' as well" in note
        assert "for 37 of its 40 questions: these runs are not independent" in note
    for table in command_json("tables", a, c, *options)["tables"]:
        assert not any("word for word" in note for note in table["notes"])
    copy = write(tmp_path / "copy.csv", without_run(records("", 1)))
    for table in command_json("tables", a, copy, *options)["tables"]:
        assert any("word for word" in note for note in table["notes"])
        assert any("the same flips and replays" in note for note in table["notes"])
    assert "would count twice" in refused("tables", a, copy, *options, "--pool-runs")


def test_no_option_is_recommended_that_does_not_help(tmp_path, refused, command_json):
    both = write(tmp_path / "both.csv", records("one", 1) + records("two", 2))
    assert command_json("tables", both, "--tables", "1")["tables"][0]["missing"] is None
    other = write(tmp_path / "other.csv", without_run(records("", 3)))
    message = refused("tables", both, other, "--no-outcomes", "--run-per-log")
    assert "both.csv: holds 2 runs ('one', 'two')" in message
    assert "leave --run-per-log out" in message
    assert "--pool-runs" not in message
    # Records without a run that contradict each other: the same replays of two runs.
    mixed = write(tmp_path / "mixed.csv", without_run(records("", 1)))
    message = refused("tables", other, mixed, "--no-outcomes")
    assert "say --run-per-log" in message
    assert "--pool-runs" not in message
    damaged = write(tmp_path / "damaged.csv", records("one", 1)[:3])
    damaged.write_text(damaged.read_text() + "one,q00,v0,NEVER,0,A,A\n")
    assert "NEVER" in refused("tables", damaged, other, "--no-outcomes", "--run-per-log")


PYTHON = re.compile(r"\w+=|counts_|in Python|\bNone\b")


def test_messages_are_in_the_words_of_the_command_line(files, tmp_path, refused):
    logs, outcomes = files["logs", "a"], files["outcomes", "a"]
    rows, judged, intervals = draw(1)
    fewer = write(tmp_path / "fewer.csv", [row for row in rows if row["run"] != "two"][:-1])
    short = write(tmp_path / "short.csv", judged[1:])
    cut = write(tmp_path / "cut.csv", intervals[1:])
    empty = tmp_path / "none.csv"
    given = ["tables", logs, outcomes]
    second = ["--second-backbone", files["logs", "b"], files["outcomes", "b"]]
    for arguments, said in (
        ([*given, "--confidence", "sur"], "--confidence 'sur' is no column of the outcomes: they"),
        ([*given, "--match", "sur"], "--match 'sur' is no column of the outcomes: they have"),
        ([*given, "--level", "2"], "--level 2.0 must lie between"),
        (["tables", logs, short], "or give --allow-mismatch: a question"),
        (["tables", fewer, "--tables", "A1"], "or give --allow-mismatch: they are then"),
        ([*given, "--intervals", cut, "--interval-format", "seconds"], "give --allow-mismatch"),
        (["tables", logs, empty], "OUTCOMES 'NONE': no such file"),
        ([*given, "--intervals", empty, "--interval-format", "clock"], "--intervals 'NONE': no"),
        ([*given, "--intervals", short, "--interval-format", "clock"], "with a header of that"),
        ([*given, "--gold", empty], "NONE: no such file"),
        ([*given, "--outcome-map", "question_id=qid"], "--outcome-map names for"),
        (["tables", logs, "--map", "run=seed"], "--map names for"),
        ([*given, "--names", "same", "same"], "two different names (--names)"),
        ([*given, *second, "--names", "", "b"], "'' and 'b', and a name must not be empty: give"),
        (
            [*given, "--second-backbone", logs, "--tables", "A5"],
            "--second-backbone needs LOGS and OUTCOMES, and --tables stands in the place of one",
        ),
    ):
        message = refused(*arguments)
        assert said.replace("NONE", str(empty)) in message
        assert not PYTHON.search(message.replace("question_id=", "").replace("question=", ""))


def test_notes_are_in_the_words_of_the_command_line(tmp_path, command_json):
    bare = [
        {name: value for name, value in row.items() if name != "video_id"}
        for row in records("one", 1)
    ]
    logs = write(tmp_path / "bare.csv", bare)
    notes = command_json("tables", logs, "--tables", "1")["tables"][0]["notes"]
    assert any(note.endswith("with --videos FILE or --video-pattern") for note in notes)
    assert not any(PYTHON.search(note) for note in notes)


def test_names_of_files_are_not_taken_for_arguments():
    names = {"run": "--run", "level": "--level"}
    for text in ("run=1/part.csv: no records", "'run=1': none", "a/run=2.csv", "xrun= y"):
        assert in_options(text, names) == text
    assert in_options("give run= and level='x'.", names) == "give --run and --level 'x'."


def test_ids_that_break_lines_are_escaped(tmp_path, command):
    rows = [row for name, seed in (("a\nb", 1), ("c\u202e\r", 2)) for row in records(name, seed)]
    logs = write(tmp_path / "logs.csv", rows)
    for form in ("text", "markdown", "latex", "csv"):
        status, out, _ = command("tables", logs, "--tables", "1,A1,3", "--format", form)
        assert status == 0
        assert all(line.isprintable() for line in out.split("\n"))
        assert r"c\u202e\r" in out or "textbackslash{}u202e" in out or r"c\\u202e" in out
    folder = tmp_path / "made"
    assert command("tables", logs, "--format", "csv", "--output", folder)[0] == 0
    for path in folder.iterdir():
        assert all(line.isprintable() for line in path.read_text().split("\n"))


def extension(tmp_path):
    """A run that logs SELF, and its extension that does not."""
    rows = records("s1", 1)
    rows += [row | {"condition": "SELF"} for row in rows if row["condition"] == "SHAM"]
    return write(tmp_path / "s1.csv", rows), write(tmp_path / "more.csv", records("more", 1, k=4))


def test_an_extension_is_told_once_and_not_added_up(tmp_path, command_json, refused):
    logs = [*extension(tmp_path), "--no-outcomes"]
    for options in ([], ["--run-per-log"]):
        run = str(logs[0]) if options else "s1"
        table_1, a1 = command_json("tables", *logs, *options, "--tables", "1,A1")["tables"]
        assert "(1 run)" in table_1["caption"]
        assert sum(f"holds all replays of run {run!r}" in note for note in table_1["notes"]) == 1
        assert "is no run of its own here" in a1["missing"]
        for more in ([], ["--run", run]):
            made = command_json("tables", *logs, *options, *more, "--tables", "1,A2")["tables"]
            assert not any("word for word" in note for table in made for note in table["notes"])
    message = refused("tables", *logs, "--pool-runs")
    assert "would count twice; read one of the two with --run" in message
    assert f"leave {str(logs[0])!r} out" in refused("tables", *logs, "--pool-runs", "--run-per-log")


def test_a_line_break_in_the_header_of_outcomes(files, tmp_path, command_json):
    path = tmp_path / "broken.csv"
    lines = files["outcomes", "a"].read_text().splitlines()
    head = lines[0] + ',"a\nnote"'
    path.write_text("\r\n".join([head, *(line + ",x" for line in lines[1:])]) + "\r\n", newline="")
    given = [files["outcomes", "a"], path]
    plain, broken = (
        command_json("tables", files["logs", "a"], one, "--tables", "3,4")["tables"]
        for one in given
    )
    assert broken == plain


def test_only_runs_that_are_used_must_not_have_stopped_early(tmp_path, command_json, refused):
    stopped = tmp_path / "stopped"
    cs.run_replays(
        lambda request: random.Random(request.seed).choice("AAB"),
        [cs.Trajectory(question_id=f"q{i:02}", answer="A", options=dict.fromkeys("AB", "?"),
                       video_id=f"v{i // 4}") for i in range(12)],
        k=4, store=stopped, seed=5,
        stopping=cs.stopping_plan(4, population=cs.Population.paper(), minimum=(2, 2)),
    )  # fmt: skip
    one, two = (
        write(tmp_path / f"{i}.csv", without_run(records("", i, questions=12))) for i in (1, 2)
    )
    outcomes = write(
        tmp_path / "outcomes.csv",
        [{"question_id": f"q{i:02}", "original_correct": i % 2} for i in range(12)],
    )
    logs = [one, two, stopped, outcomes, "--run-per-log", "--tables", "1"]
    assert f"run '{stopped}': the replays were stopped early" in refused("tables", *logs)
    assert f"run '{stopped}': the" in refused("tables", *logs, "--run", stopped)
    (table,) = command_json("tables", *logs, "--run", two)["tables"]
    rate = np.mean(cs.read_replays(two).sham_flips / 3)
    assert table["rows"][1]["mean"] == pytest.approx(rate)
    second = ["--second-backbone", stopped, outcomes, "--tables", "1"]
    message = refused("tables", one, outcomes, *second)
    assert "--second-backbone: run " in message
    assert f"({stopped}): the replays were stopped early" in message
